#include "lsm/base/fences.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "lsm/base/key_head.h"
#include "lsm/bytes/shared_prefix.h"

namespace lsm::inline TRELLIS_ABI {

Fences::Fences(std::span<const std::string_view> keys) {
  std::string bytes;
  std::vector<uint64_t> ends;
  size_t total_bytes = 0;
  for (const std::string_view key : keys) total_bytes += key.size();
  bytes.reserve(total_bytes);
  ends.reserve(keys.size() + 1);
  ends.push_back(0);
  for (const std::string_view key : keys) {
    bytes.append(key);
    ends.push_back(bytes.size());
  }
  *this = Fences(std::move(bytes), std::move(ends));
}

Fences::Fences(std::string bytes, std::vector<uint64_t> ends)
    : ends_(std::move(ends)), bytes_(std::move(bytes)) {
  assert(!ends_.empty() && ends_.front() == 0 && ends_.back() == bytes_.size());
  const size_t count = ends_.size() - 1;
  if (count == 0) return;
  bytes_.shrink_to_fit();
  ends_.shrink_to_fit();
  // The keys ascend, so a common prefix of the first and the last is common to all.
  prefix_bytes_ = SharedPrefixBytes((*this)[0], (*this)[count - 1]);
  heads_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    assert(i == 0 || (*this)[i - 1] <= (*this)[i]);
    heads_.push_back(KeyHead((*this)[i], prefix_bytes_));
  }
  samples_.reserve(count / kStretch);
  for (size_t i = kStretch; i <= count; i += kStretch) samples_.push_back(heads_[i - 1]);
}

inline bool Fences::HasPrefix(std::string_view key, size_t* at) const {
  if (key.size() >= prefix_bytes_ && AreEqual(key.data(), bytes_.data(), prefix_bytes_)) [[likely]]
    return true;
  *at = FindWithoutPrefix(key);
  return false;
}

size_t Fences::FindWithoutPrefix(std::string_view key) const {
  const std::string_view prefix(bytes_.data(), prefix_bytes_);
  const size_t shared = SharedPrefixBytes(key, prefix);
  const bool before = shared == key.size() ||
                      static_cast<uint8_t>(key[shared]) < static_cast<uint8_t>(prefix[shared]);
  return before ? 0 : size();
}

inline size_t Fences::ApproachHead(uint64_t head) const {
  const size_t begin = CountHeadsBelow(samples_.data(), samples_.size(), head) * kStretch;
  const uint64_t* const stretch = heads_.data() + begin;
  const size_t count = std::min(kStretch, heads_.size() - begin);
  constexpr size_t kHeadsInLine = 64 / sizeof(uint64_t);
  for (size_t i = 0; i < count; i += kHeadsInLine) __builtin_prefetch(stretch + i);
  return begin;
}

inline Fences::Place Fences::FindHead(size_t begin, uint64_t head, std::string_view key) const {
  assert(begin <= heads_.size());
  const size_t first = begin + CountHeadsBelow(heads_.data() + begin,
                                               std::min(kStretch, heads_.size() - begin), head);
  if (first == size() || heads_[first] != head) return {first, false};
  return FindAmongEqual(first, head, key);
}

Fences::Place Fences::FindAmongEqual(size_t first, uint64_t head, std::string_view key) const {
  bool is_there = false;
  size_t low = first;
  size_t high = static_cast<size_t>(
      std::upper_bound(heads_.begin() + static_cast<ptrdiff_t>(first), heads_.end(), head) -
      heads_.begin());
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int fence_order = (*this)[middle].compare(key);
    is_there |= fence_order == 0;
    if (fence_order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, is_there};
}

bool Fences::IsFoundAt(size_t at, std::string_view key) const {
  size_t unused = 0;
  if (at >= heads_.size() || !HasPrefix(key, &unused)) return false;
  const uint64_t head = KeyHead(key, prefix_bytes_);
  return head < heads_[at] && (at == 0 || heads_[at - 1] < head);
}

size_t Fences::Approach(std::string_view key) const {
  size_t at = 0;
  if (heads_.empty() || !HasPrefix(key, &at)) return at;
  return ApproachHead(KeyHead(key, prefix_bytes_));
}

Fences::Place Fences::FindFrom(size_t approached, std::string_view key) const {
  size_t at = 0;
  if (heads_.empty() || !HasPrefix(key, &at)) return {at, false};
  return FindHead(approached, KeyHead(key, prefix_bytes_), key);
}

Fences::Place Fences::Find(std::string_view key) const {
  size_t at = 0;
  if (heads_.empty() || !HasPrefix(key, &at)) return {at, false};
  const uint64_t head = KeyHead(key, prefix_bytes_);
  return FindHead(ApproachHead(head), head, key);
}

size_t Fences::memory_bytes() const {
  // The object itself has room for a short string.
  const size_t of_keys = bytes_.capacity() > std::string().capacity() ? bytes_.capacity() : 0;
  return (heads_.capacity() + samples_.capacity() + ends_.capacity()) * sizeof(uint64_t) + of_keys;
}

}  // namespace lsm
