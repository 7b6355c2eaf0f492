// How the entries of a block compare with a key that is sought, one after another, without putting
// their keys together.
//
// Entries of a data block say how much of their key is that of the entry before.  The walk
// remembers how many bytes the last entry's key and the sought one begin with in common.  If the
// next entry shares more than that with the last, it differs from the sought key in the same byte;
// else the comparison goes on where what they share ends.
#ifndef TRELLIS_LSM_BLOCK_KEY_WALK_H_
#define TRELLIS_LSM_BLOCK_KEY_WALK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/shared_prefix.h"
#include "lsm/block/block_entry.h"

namespace lsm::inline TRELLIS_ABI {

class KeyWalk {
 public:
  // Before an entry whose key is whole.
  explicit KeyWalk(std::string_view user_key) : sought_(user_key) {}

  // On an entry with an internal key of `key_bytes` that is before the sought user key, and differs
  // from it first in the byte at `matched`, which is `differing_byte`.
  KeyWalk(std::string_view user_key, size_t key_bytes, size_t matched, uint8_t differing_byte)
      : sought_(user_key),
        matched_(matched),
        key_bytes_(key_bytes),
        differing_byte_(differing_byte) {}

  // By user key.
  enum class Order { kBefore, kSame, kAfter, kDamaged };

  // So many bytes of the last entry's internal key are those of the sought user key.
  size_t matched() const { return matched_; }

  // Goes on to the next entry and says where it is.
  Order Advance(const BlockEntry& entry) {
    const size_t key_bytes = size_t{entry.shared} + entry.key_tail.size();
    if (entry.shared > key_bytes_ || key_bytes < kInternalKeySuffixBytes) return Order::kDamaged;
    key_bytes_ = key_bytes;
    const size_t user_key_bytes = key_bytes - kInternalKeySuffixBytes;
    // These are the bytes of internal keys: what matches may reach into the suffix, which does no
    // harm, for whether a byte is still the user key's is asked where it decides.
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
    // One is the beginning of the other.
    if (user_key_bytes == sought_.size()) return Order::kSame;
    return user_key_bytes < sought_.size() ? Order::kBefore : Order::kAfter;
  }

 private:
  std::string_view sought_;
  size_t matched_ =
      0;  // bytes that the last entry's internal key and the sought user key both begin with
  size_t key_bytes_ = 0;        // of the last entry's internal key
  uint8_t differing_byte_ = 0;  // its byte at `matched_`, if it is that long
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_KEY_WALK_H_
