#include "lsm/runtime/memtable_logs.h"

#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {

MemtableLogs MemtableLogs::StartingWith(uint64_t number, uint64_t seed) {
  MemtableLogs logs;
  logs.seed_ = seed;
  logs.logs_.push_back({number});
  return logs;
}

uint64_t MemtableLogs::FileIdOf(uint64_t number) const { return LogFileId(seed_, number); }

void MemtableLogs::Seal(Sequence last_sequence, FlushReason reason, uint64_t next) {
  logs_.back().last_sequence = last_sequence;
  logs_.back().reason = reason;
  logs_.push_back({next});
  next_ = Next::kNotBegun;
  seal_ = EarlySeal::kNone;
}

bool MemtableLogs::IsNextDue(const ReadView& view, uint64_t write_buffer_bytes) const {
  const auto is_half_full = [&](const Memtable& memtable) {
    return memtable.memory_bytes() >= write_buffer_bytes / 2;
  };
  return next_ == Next::kNotBegun && (is_half_full(*view.memtable) ||
                                      (!view.sealed.empty() && is_half_full(*view.sealed.front())));
}

}  // namespace lsm
