// Decodes the header of an entry.  Only for lsm/block/block*.
#ifndef TRELLIS_LSM_BLOCK_BLOCK_ENTRY_H_
#define TRELLIS_LSM_BLOCK_BLOCK_ENTRY_H_

#include <cstdint>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/bytes/coding.h"

namespace lsm::inline TRELLIS_ABI {

struct BlockEntry {
  uint32_t shared = 0;        // bytes in common with the key before
  std::string_view key_tail;  // the rest of its key
  std::string_view value;

  const char* end() const { return value.data() + value.size(); }
};

// The three lengths at the start of an entry.
struct EntryLengths {
  uint32_t shared = 0;
  uint32_t tail_bytes = 0;
  uint32_t value_bytes = 0;
};

// Reads the lengths if one of them takes more than a byte.  Returns the position after them, or
// nullptr.  A separate function, so that ReadBlockEntry keeps its values in registers.
const char* ReadLongLengths(const char* from, const char* limit, EntryLengths* lengths);

// Reads the entry at `from`; false if it extends beyond `limit`.  Does not check whether `shared`
// is possible.
inline bool ReadBlockEntry(const char* from, const char* limit, BlockEntry* entry) {
  if (limit - from < 3) return false;
  uint32_t shared = static_cast<uint8_t>(from[0]);
  uint32_t tail_bytes = static_cast<uint8_t>(from[1]);
  uint32_t value_bytes = static_cast<uint8_t>(from[2]);
  if ((shared | tail_bytes | value_bytes) < 0x80) [[likely]] {
    from += 3;
  } else {
    EntryLengths lengths;
    from = ReadLongLengths(from, limit, &lengths);
    if (from == nullptr) return false;
    shared = lengths.shared;
    tail_bytes = lengths.tail_bytes;
    value_bytes = lengths.value_bytes;
  }
  if (static_cast<uint64_t>(limit - from) < uint64_t{tail_bytes} + value_bytes) return false;
  entry->shared = shared;
  entry->key_tail = {from, tail_bytes};
  entry->value = {from + tail_bytes, value_bytes};
  return true;
}

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_BLOCK_ENTRY_H_
