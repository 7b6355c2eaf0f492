// A key that changes with every step of a walk.  Short keys stay in the object and need no other
// memory.  Pieces of usual length are copied inline: a step changes some ten bytes, for which a
// call would cost more than the copy.
#ifndef TRELLIS_LSM_BASE_KEY_BUFFER_H_
#define TRELLIS_LSM_BASE_KEY_BUFFER_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/bytes/coding.h"

namespace lsm::inline TRELLIS_ABI {

class KeyBuffer {
 public:
  KeyBuffer() = default;
  KeyBuffer(const KeyBuffer&) = delete;
  KeyBuffer& operator=(const KeyBuffer&) = delete;

  std::string_view view() const { return {data_, size_bytes_}; }
  operator std::string_view() const { return view(); }
  size_t size() const { return size_bytes_; }
  bool empty() const { return size_bytes_ == 0; }
  void clear() { size_bytes_ = 0; }

  // `key` and `tail` must not point into the buffer.  If memory runs out, the buffer stays
  // unchanged.
  void assign(std::string_view key) { Splice(0, key); }
  void append(std::string_view tail) { Splice(size_bytes_, tail); }
  // Keeps the first `kept` bytes and appends `tail`.  REQUIRES: kept <= size().
  [[gnu::always_inline]] void Splice(size_t kept, std::string_view tail) {
    assert(kept <= size_bytes_);
    const size_t size_bytes = kept + tail.size();
    if (size_bytes > capacity_bytes_) [[unlikely]]
      Grow(kept, size_bytes);
    Copy(data_ + kept, tail.data(), tail.size());
    size_bytes_ = size_bytes;
  }

 private:
  static constexpr size_t kInPlaceBytes = 64;

  [[gnu::always_inline]] static void Copy(char* to, const char* from, size_t count) {
    // Two loads of fixed size, which may overlap.
    if (count >= 8 && count <= 16) [[likely]] {
      uint64_t first, last;
      std::memcpy(&first, from, 8);
      std::memcpy(&last, from + count - 8, 8);
      std::memcpy(to, &first, 8);
      std::memcpy(to + count - 8, &last, 8);
    } else if (count > 16 && count <= 32) {
      uint64_t words[4];
      std::memcpy(words, from, 16);
      std::memcpy(words + 2, from + count - 16, 16);
      std::memcpy(to, words, 16);
      std::memcpy(to + count - 16, words + 2, 16);
    } else if (count > 0) {
      std::memcpy(to, from, count);
    }
  }

  [[gnu::noinline]] void Grow(size_t kept, size_t size_bytes) {
    std::unique_ptr<char[]> larger(new char[2 * size_bytes]);
    if (kept > 0) std::memcpy(larger.get(), data_, kept);
    heap_ = std::move(larger);
    data_ = heap_.get();
    capacity_bytes_ = 2 * size_bytes;
  }

  char* data_ = in_place_;
  size_t size_bytes_ = 0;
  size_t capacity_bytes_ = kInPlaceBytes;
  std::unique_ptr<char[]> heap_;
  char in_place_[kInPlaceBytes];
};

inline void AppendInternalKey(KeyBuffer* out, std::string_view user_key, Sequence sequence,
                              EntryKind kind) {
  char suffix[kInternalKeySuffixBytes];
  StoreFixed64(suffix, PackSuffix(sequence, kind));
  out->append(user_key);
  out->append({suffix, sizeof(suffix)});
}

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_KEY_BUFFER_H_
