#include "lsm/engine/job_events.h"

#include <utility>
#include <vector>

#include "lsm/bytes/status.h"

namespace lsm {
namespace {

void AddInfo(const OpenTables& tables, int level, std::vector<TableInfo>* infos) {
  for (const auto& table : tables) {
    const TableProperties& properties = table->table->properties();
    infos->push_back({table->meta.number, level, table->meta.file_bytes, table->meta.entries,
                      properties.filter_kind, properties.target_fpp});
  }
}

}  // namespace

absl::Status WithFlushEvents(EventQueue* events, Clock* clock, FlushReason reason,
                             const Memtable& memtable, const Job& job) {
  JobResult result;
  const auto run = [&] { return CatchOutOfMemory([&] { return job(&result); }); };
  if (!events->on()) return run();
  FlushBegin begin;
  begin.job = events->NewJob();
  begin.reason = reason;
  begin.entries = memtable.entry_count();
  begin.memtable_bytes = memtable.memory_bytes();
  FlushEnd end;
  end.job = begin.job;
  end.reason = reason;
  end.entries = begin.entries;
  events->Add(std::move(begin));
  events->Deliver();
  const uint64_t from = clock->MonotonicNanos();
  end.status = run();
  end.nanos = clock->MonotonicNanos() - from;
  end.bytes_written = result.bytes_written;
  absl::Status status = end.status;
  if (status.ok()) AddInfo(result.outputs, 0, &end.outputs);
  events->Add(std::move(end));
  events->Deliver();
  return status;
}

absl::Status WithCompactionEvents(EventQueue* events, Clock* clock, CompactionReason reason,
                                  const CompactionPlan& plan, const Job& job) {
  JobResult result;
  const auto run = [&] { return CatchOutOfMemory([&] { return job(&result); }); };
  if (!events->on()) return run();
  CompactionBegin begin;
  begin.job = events->NewJob();
  begin.reason = reason;
  begin.level = plan.level;
  begin.output_level = plan.output_level;
  AddInfo(plan.inputs, plan.level, &begin.inputs);
  AddInfo(plan.overlapped, plan.output_level, &begin.inputs);
  CompactionEnd end;
  end.job = begin.job;
  end.reason = reason;
  end.level = plan.level;
  end.output_level = plan.output_level;
  end.inputs = begin.inputs;
  events->Add(std::move(begin));
  events->Deliver();
  const uint64_t from = clock->MonotonicNanos();
  end.status = run();
  end.nanos = clock->MonotonicNanos() - from;
  end.bytes_read = result.bytes_read;
  end.bytes_written = result.bytes_written;
  end.entries_dropped = result.entries_dropped;
  absl::Status status = end.status;
  // A job that wrote nothing and dropped nothing has moved its inputs.
  end.moved = status.ok() && result.bytes_read == 0;
  if (status.ok())
    AddInfo(end.moved ? plan.inputs : result.outputs, plan.output_level, &end.outputs);
  events->Add(std::move(end));
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
  events_.Add(std::move(event));
  return true;
}

void StallEvents::End() {
  if (!cause_) return;
  StallEnd event;
  event.cause = *cause_;
  event.nanos = clock_.MonotonicNanos() - from_;
  events_.Add(std::move(event));
  cause_.reset();
}

}  // namespace lsm
