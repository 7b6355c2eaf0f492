#include "tests/reliability/workload/walker.h"

#include <algorithm>

namespace reliability {
namespace {

uint32_t FirstFrom(const State& state, uint32_t rank, uint32_t end) {
  for (; rank < end; ++rank) {
    if (state[rank].exists()) return rank;
  }
  return kNowhere;
}

uint32_t LastBefore(const State& state, uint32_t first, uint32_t end) {
  while (end > first) {
    if (state[--end].exists()) return end;
  }
  return kNowhere;
}

}  // namespace

uint32_t Walker::After(const Move& move) const {
  const State& state = *view.state;
  const auto [first, end, has_lower, has_upper] = bounds;
  switch (move.kind) {
    case Move::kNext:
      return FirstFrom(state, at + 1, end);
    case Move::kPrev:
      return LastBefore(state, first, at);
    case Move::kSeekToFirst:
      return FirstFrom(state, first, end);
    case Move::kSeekToLast:
      return LastBefore(state, first, end);
    case Move::kSeek:
      return FirstFrom(state, std::max(move.rank, first), end);
    case Move::kSeekForPrev:
      return LastBefore(state, first, std::min(move.rank + 1, end));
  }
  return kNowhere;
}

void SeekWhileReadsFail(lsm::Keyspace& keyspace, lsm::MemoryFileSystem* files, Draws& draws) {
  if (!draws.OneIn(3)) return;
  uint64_t reads = draws.Roll(6);
  files->SetFault([reads](lsm::FileOperation operation, const std::string& path, uint64_t) mutable {
    if (operation != lsm::FileOperation::kReadAt || reads-- != 0) return absl::OkStatus();
    return absl::UnavailableError(path + ": fails (made up)");
  });
  lsm::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<lsm::Iterator> iterator = keyspace.NewIterator(options);
  draws.OneIn(3) ? iterator->SeekToLast() : iterator->SeekToFirst();
  files->SetFault(nullptr);
}

}  // namespace reliability
