#include "lsm/events/job_events.h"

#include <new>
#include <optional>
#include <vector>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

std::vector<TableInfo> InfoOf(const OpenTables& tables, int level) {
  std::vector<TableInfo> infos;
  for (const auto& table : tables) {
    const TableProperties& properties = table->table->properties();
    infos.push_back({table->meta.number, level, table->meta.file_bytes, table->meta.entries,
                     properties.filter_kind, properties.target_fpp});
  }
  return infos;
}

std::vector<TableInfo> InputsOf(const CompactionPlan& plan) {
  std::vector<TableInfo> infos = InfoOf(plan.inputs, plan.level);
  const std::vector<TableInfo> overlapped = InfoOf(plan.overlapped, plan.output_level);
  infos.insert(infos.end(), overlapped.begin(), overlapped.end());
  return infos;
}

}  // namespace

absl::Status WithFlushEvents(EventQueue* events, Clock* clock, FlushReason reason,
                             const Memtable& memtable, const Job& job) {
  JobResult result;
  const auto run = [&] { return CatchOutOfMemory([&] { return job(&result); }); };
  if (!events->on()) return run();
  const uint64_t number = events->NewJob();
  events->AddMade([&] {
    FlushBegin begin;
    begin.job = number;
    begin.reason = reason;
    begin.entries = memtable.entry_count();
    begin.memtable_bytes = memtable.memory_bytes();
    return begin;
  });
  events->Deliver();
  const uint64_t from = clock->MonotonicNanos();
  absl::Status status = run();
  events->AddMade([&, nanos = clock->MonotonicNanos() - from] {
    FlushEnd end;
    end.job = number;
    end.reason = reason;
    end.entries = memtable.entry_count();
    end.status = status;
    end.nanos = nanos;
    end.bytes_written = result.bytes_written;
    if (status.ok()) {
      end.outputs = InfoOf(result.outputs, 0);
      for (size_t i = 0; i < result.outputs_of_leaver; ++i) end.outputs[i].level = 1;
    }
    return end;
  });
  events->Deliver();
  return status;
}

absl::Status WithCompactionEvents(EventQueue* events, Clock* clock, CompactionReason reason,
                                  const CompactionPlan& plan, const Job& job) {
  JobResult result;
  const auto run = [&] { return CatchOutOfMemory([&] { return job(&result); }); };
  if (!events->on()) return run();
  const uint64_t number = events->NewJob();
  const int level = plan.level, output_level = plan.output_level;
  const bool drops = plan.drops;
  std::optional<std::vector<TableInfo>> inputs;  // nullopt: there was no memory for it
  events->AddMade([&] {
    CompactionBegin begin;
    begin.job = number;
    begin.reason = reason;
    begin.level = level;
    begin.output_level = output_level;
    begin.inputs = InputsOf(plan);
    inputs = begin.inputs;
    return begin;
  });
  events->Deliver();
  const uint64_t from = clock->MonotonicNanos();
  absl::Status status = run();
  events->AddMade([&, nanos = clock->MonotonicNanos() - from] {
    CompactionEnd end;
    end.job = number;
    end.reason = reason;
    end.level = level;
    end.output_level = output_level;
    if (!inputs) throw std::bad_alloc();  // the begin event was lost, so the end is lost too
    end.inputs = *inputs;
    end.status = status;
    end.nanos = nanos;
    end.bytes_read = result.bytes_read;
    end.bytes_written = result.bytes_written;
    end.entries_dropped = result.entries_dropped;
    // A job that wrote and dropped nothing has moved its inputs.
    end.moved = status.ok() && result.bytes_read == 0 && !drops;
    if (end.moved) {
      end.outputs = *inputs;
      for (TableInfo& table : end.outputs) table.level = output_level;
    } else if (status.ok()) {
      end.outputs = InfoOf(result.outputs, output_level);
    }
    return end;
  });
  events->Deliver();
  return status;
}

bool StallEvents::Begin(StallCause cause) {
  if (!events_.on() || cause_ == cause) return false;
  End();
  cause_ = cause;
  from_ = clock_.MonotonicNanos();
  StallBegin event;
  event.cause = cause;
  events_.Add(event);
  return true;
}

void StallEvents::End() {
  if (!cause_) return;
  StallEnd event;
  event.cause = *cause_;
  event.nanos = clock_.MonotonicNanos() - from_;
  events_.Add(event);
  cause_.reset();
}

}  // namespace lsm
