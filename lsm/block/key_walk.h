// Compares the entries of a block with a sought key, in order, without building their keys.
//
// An entry of a data block tells how many bytes its key shares with the entry before.  The walk
// remembers how many bytes the last entry's key has in common with the sought key.  If the next
// entry shares more than that with the last one, it differs from the sought key in the same byte.
// Otherwise the comparison continues after the shared bytes.
#ifndef TRELLIS_LSM_BLOCK_KEY_WALK_H_
#define TRELLIS_LSM_BLOCK_KEY_WALK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/block/block_entry.h"
#include "lsm/bytes/shared_prefix.h"

namespace lsm::inline TRELLIS_ABI {

class KeyWalk {
 public:
  // Starts before an entry with a full key.
  explicit KeyWalk(std::string_view user_key) : sought_(user_key) {}

  // Starts at an entry whose internal key has `key_bytes` bytes and is before the sought user key.
  // The byte at `matched` is the first in which the two keys differ; in the entry it is
  // `differing_byte`.
  KeyWalk(std::string_view user_key, size_t key_bytes, size_t matched, uint8_t differing_byte)
      : sought_(user_key),
        matched_(matched),
        key_bytes_(key_bytes),
        differing_byte_(differing_byte) {}

  // Position of the entry relative to the sought user key.
  enum class Order { kBefore, kSame, kAfter, kDamaged };

  // Number of bytes that the last entry's internal key has in common with the sought user key.
  size_t matched() const { return matched_; }

  // Moves to the next entry and returns its position.
  Order Advance(const BlockEntry& entry) {
    const size_t key_bytes = size_t{entry.shared} + entry.key_tail.size();
    if (entry.shared > key_bytes_ || key_bytes < kInternalKeySuffixBytes) return Order::kDamaged;
    key_bytes_ = key_bytes;
    const size_t user_key_bytes = key_bytes - kInternalKeySuffixBytes;
    // Compares bytes of internal keys, so the match may extend into the suffix.  That is harmless:
    // the comparison below checks whether a byte belongs to the user key.
    if (entry.shared <= matched_) {
      const size_t more = SharedPrefixBytes(entry.key_tail, sought_.substr(entry.shared));
      matched_ = entry.shared + more;
      if (more < entry.key_tail.size())
        differing_byte_ = static_cast<uint8_t>(entry.key_tail[more]);
    }
    if (matched_ < user_key_bytes && matched_ < sought_.size()) {
      return differing_byte_ < static_cast<uint8_t>(sought_[matched_]) ? Order::kBefore
                                                                       : Order::kAfter;
    }
    // One of the two is a prefix of the other.
    if (user_key_bytes == sought_.size()) return Order::kSame;
    return user_key_bytes < sought_.size() ? Order::kBefore : Order::kAfter;
  }

 private:
  std::string_view sought_;
  // Length of the common prefix of the last internal key and the sought user key.
  size_t matched_ = 0;
  size_t key_bytes_ = 0;        // of the last entry's internal key
  uint8_t differing_byte_ = 0;  // the byte of the last key at `matched_`, if it has one
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_KEY_WALK_H_
