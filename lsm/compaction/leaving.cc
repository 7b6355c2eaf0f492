#include "lsm/compaction/leaving.h"

#include <algorithm>

namespace lsm::inline TRELLIS_ABI {

size_t OwnTreesMax(uint64_t write_buffer_bytes) {
  constexpr uint64_t kTableBytes = uint64_t{1} << 20;
  constexpr uint64_t kTreesMax = 64;
  return static_cast<size_t>(std::clamp(write_buffer_bytes / kTableBytes, uint64_t{1}, kTreesMax));
}

std::optional<KeyspaceId> ChooseLeaver(const Version& version,
                                       std::span<const KeyspaceId> keyspaces,
                                       uint64_t write_buffer_bytes,
                                       const std::function<bool(KeyspaceId)>& may_leave) {
  const Tree* const common = version.TreeOf(kCommonTree);
  if (common == nullptr || common->bytes() < write_buffer_bytes) return std::nullopt;
  const auto own_trees =
      std::count_if(version.trees().begin(), version.trees().end(),
                    [](const auto& entry) { return entry.id >= kOtherKeyspaceMin; });
  if (static_cast<size_t>(own_trees) >= OwnTreesMax(write_buffer_bytes)) return std::nullopt;
  std::optional<KeyspaceId> largest;
  uint64_t largest_bytes = write_buffer_bytes - 1;
  for (const KeyspaceId keyspace : keyspaces) {
    if (version.TreeOf(keyspace) != nullptr || !version.members()->Has(keyspace)) continue;
    const uint64_t bytes = version.ApproximateBytes(keyspace, "", std::nullopt);
    if (bytes <= largest_bytes || bytes > 4 * write_buffer_bytes || !may_leave(keyspace)) continue;
    largest = keyspace;
    largest_bytes = bytes;
  }
  return largest;
}

}  // namespace lsm
