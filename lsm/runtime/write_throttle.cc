#include "lsm/runtime/write_throttle.h"

#include <algorithm>
#include <cstddef>

namespace lsm::inline TRELLIS_ABI {
namespace {

// From this number of tables in level 0 on, writes are slowed down: half-way between the number at
// which it is compacted and the one at which writes stop.
size_t Level0TablesToSlowDown(const Options& options) {
  const auto first = static_cast<size_t>(options.level0_compaction_tables);
  const auto last = static_cast<size_t>(options.level0_stop_tables);
  return first + (last - first + 1) / 2;
}

// The cost of a byte if `room_bytes` must last for `nanos`.  A sixteenth of a memtable is kept
// back, for jobs that take longer than estimated.
double NanosPerByte(double nanos, uint64_t room_bytes, uint64_t write_buffer_bytes) {
  const uint64_t reserve = write_buffer_bytes / 16;
  const uint64_t room = room_bytes > reserve ? room_bytes - reserve : 0;
  return nanos / static_cast<double>(std::max(room, write_buffer_bytes / 64));
}

}  // namespace

// Many short waits now are better than a long one later, for a flush or a full level 0.
uint64_t WriteThrottle::NanosToWait(const ReadView& view, const Tree& tree, bool has_compactions) {
  const size_t level0_tables = tree.level0_tables() + view.sealed.size();
  const bool is_level0_slow = level0_tables >= Level0TablesToSlowDown(options_) && has_compactions;
  if (view.sealed.empty() && !is_level0_slow) return pace_.Begin(0, 0);
  const uint64_t now = clock_.MonotonicNanos();
  const uint64_t buffer = options_.write_buffer_bytes;
  const uint64_t room = buffer - std::min<uint64_t>(buffer, view.memtable->memory_bytes());
  double nanos_per_byte = 0;
  if (!view.sealed.empty()) nanos_per_byte = NanosPerByte(flush_room_.NanosToGo(now), room, buffer);
  if (is_level0_slow) {
    const auto stop = static_cast<size_t>(options_.level0_stop_tables);
    const uint64_t tables = stop - std::min(stop, level0_tables);
    const bool is_merged = level0_room_.runs() && level0_keyspace_ == tree.keyspace();
    const double nanos = is_merged
                             ? level0_room_.NanosToGo(now)
                             : level0_room_.NanosFor(tree.level_bytes(0) + tree.level_bytes(1));
    nanos_per_byte = std::max(nanos_per_byte, NanosPerByte(nanos, tables * buffer + room, buffer));
  }
  return pace_.Begin(now, nanos_per_byte);
}

void WriteThrottle::BeginFlush(const Memtable& memtable) {
  flush_room_.Begin(clock_.MonotonicNanos(), memtable.memory_bytes());
}

void WriteThrottle::EndFlush(bool made_room) {
  if (flush_room_.runs()) flush_room_.End(clock_.MonotonicNanos(), made_room);
}

void WriteThrottle::BeginCompaction(const CompactionSchedule::Job* job, const Tree& tree) {
  const CompactionPlan* const plan = job->plan.get();
  const KeyspaceId keyspace = tree.keyspace();
  if (plan == nullptr || !plan->merges_level0(keyspace) || plan->trivial_move) return;
  if (level0_job_ != nullptr && level0_keyspace_ == keyspace) return;
  level0_job_ = job;
  level0_keyspace_ = keyspace;
  level0_room_.Begin(clock_.MonotonicNanos(), BytesTakenBy(*plan));
}

void WriteThrottle::EndCompaction(const CompactionSchedule::Job* job, bool made_room) {
  if (job != level0_job_) return;
  level0_job_ = nullptr;
  level0_room_.End(clock_.MonotonicNanos(), made_room);
}

}  // namespace lsm
