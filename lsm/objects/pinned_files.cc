#include "lsm/objects/pinned_files.h"

#include <algorithm>
#include <utility>

#include "lsm/objects/object_writes.h"

namespace lsm::inline TRELLIS_ABI {

absl::StatusOr<uint64_t> PinnedFiles::LowestPin(IndexHandle& index) {
  uint64_t lowest = UINT64_MAX;
  if (index.counts().pins.empty()) return lowest;
  TRELLIS_ASSIGN_OR_RETURN(const ObjectValues pins, index.ReadPins());
  for (const auto& [entry, value] : pins) {
    // A damaged pin covers everything until it lapses.
    const IndexedPin pin = IndexedPin::Decode(value, index.path()).value_or(IndexedPin());
    if (HasLapsed(index.object(), entry, value, pin.duration_nanos)) {
      ObjectWrite write;
      write.entries_equal[entry] = value;
      write.remove_entries.push_back(entry);
      if (WriteObject(index.pool(), index.object(), write).ok()) continue;
    }
    lowest = std::min(lowest, pin.removals);
  }
  MutexLock lock(&mutex_);
  std::erase_if(seen_[index.object()], [&](const auto& one) { return !pins.contains(one.first); });
  return lowest;
}

bool PinnedFiles::HasLapsed(const std::string& index, const std::string& entry,
                            const std::string& value, uint64_t duration_nanos) {
  const uint64_t now = clock_.MonotonicNanos();
  MutexLock lock(&mutex_);
  Seen& seen = seen_[index][entry];
  if (seen.value != value) seen = {value, now};
  return (now - seen.since_nanos) / 2 >= duration_nanos && now != seen.since_nanos;
}

void PinnedFiles::Add(const std::shared_ptr<IndexHandle>& index, const GoneFile& gone) {
  MutexLock lock(&mutex_);
  files_[index].push_back(gone);
}

PinnedFiles::Files PinnedFiles::TakeAll() {
  MutexLock lock(&mutex_);
  return std::exchange(files_, Files());
}

}  // namespace lsm
