// The contents of a store with a follower after each of its writes (followers.cc).
#ifndef TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWED_HISTORY_H_
#define TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWED_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"

namespace reliability {

inline constexpr char kFollowedDefault[] = "default";

// Contents have a key "name/key" for each key of a keyspace, and the id of each keyspace except the
// default one under "#name".
inline std::string KeyIn(const std::string& keyspace, std::string_view key) {
  return lsm::Concat(keyspace, "/", key);
}
inline std::string IdKeyOf(const std::string& keyspace) { return lsm::Concat("#", keyspace); }

// The entries of a store in the order of their sequence numbers, and where its batches end.
struct FollowedHistory {
  using Contents = std::map<std::string, std::string>;
  enum class Kind : uint8_t { kPut, kDelete, kDeleteRange, kCreate, kDrop };
  struct Entry {
    std::string key;                               // the first one of a range
    std::string value = {};                        // of a put
    std::optional<std::string> to = std::nullopt;  // of a range; nullopt: it has no end
    std::string keyspace = kFollowedDefault;
    Kind kind = Kind::kPut;
  };
  std::vector<Entry> entries;
  std::set<size_t> ends = {0};

  // Whether there is such a keyspace after the last entry.
  bool Has(const std::string& keyspace) const {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (entry->keyspace != keyspace) continue;
      if (entry->kind == Kind::kCreate || entry->kind == Kind::kDrop)
        return entry->kind == Kind::kCreate;
    }
    return false;
  }
  Contents At(size_t sequence) const {
    Contents contents;
    uint64_t next_id = 2;
    for (size_t i = 0; i < sequence; ++i) {
      const Entry& entry = entries[i];
      const std::string key = KeyIn(entry.keyspace, entry.key);
      const auto from = contents.lower_bound(key);
      // All keys of the keyspace come before the end.
      const auto end = contents.lower_bound(lsm::Concat(entry.keyspace, "0"));
      switch (entry.kind) {
        case Kind::kPut:
          contents[key] = entry.value;
          break;
        case Kind::kDelete:
          contents.erase(key);
          break;
        case Kind::kDeleteRange:
          contents.erase(from,
                         entry.to ? contents.lower_bound(KeyIn(entry.keyspace, *entry.to)) : end);
          break;
        case Kind::kCreate:
          contents[IdKeyOf(entry.keyspace)] = std::to_string(next_id++);
          break;
        case Kind::kDrop:
          contents.erase(from, end);
          contents.erase(IdKeyOf(entry.keyspace));
          break;
      }
    }
    return contents;
  }
  void Truncate(size_t sequence) {
    entries.resize(sequence);
    ends.erase(ends.upper_bound(sequence), ends.end());
  }
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWED_HISTORY_H_
