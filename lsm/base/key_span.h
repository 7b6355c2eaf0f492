// Spans of user keys.  A span is half-open: it holds the keys k with begin <= k < end, or all keys
// from `begin` on if it has no end.
//
//   the keys from a to c, both included   [a, c\0)   c\0, the next possible key, is not included
//   a range delete of [a, c)              [a, c)
//
// So two spans meet, but do not overlap, if one ends where the other begins.  A table whose last
// key is c ends at c\0 (TableMeta::span).
//
// Cost: a span is a view of two keys, which must outlive it.  Nothing here allocates, except for
// the copies that KeyBound makes.  Each question takes one or two comparisons of keys.
//
// Threads: values without hidden state.
#ifndef TRELLIS_LSM_BASE_KEY_SPAN_H_
#define TRELLIS_LSM_BASE_KEY_SPAN_H_

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"

namespace lsm::inline TRELLIS_ABI {

// A key, or the next possible key after one: that key and a zero byte.  The zero byte is not
// stored.  Apart from that, both forms of a key are the same.
class KeyBound {
 public:
  template <std::convertible_to<std::string_view> Key>
  KeyBound(const Key& key) : bytes_(key) {}  // NOLINT(google-explicit-constructor): a key is one
  static KeyBound After(std::string_view key) {
    KeyBound bound(key);
    bound.then_zero_ = true;
    return bound;
  }

  void AppendTo(std::string* out) const {
    out->append(bytes_);
    if (then_zero_) *out += '\0';
  }
  std::string ToString() const {
    std::string key;
    AppendTo(&key);
    return key;
  }

  // In the order of keys.
  friend bool operator<(const KeyBound& a, const KeyBound& b) {
    const int order = CompareUserKeys(a.bytes_, b.bytes_);
    if (a.then_zero_ == b.then_zero_) return order < 0;
    // No key lies between a key and the next possible one.
    return b.then_zero_ ? order <= 0 : order < 0 && !IsNext(a.bytes_, b.bytes_);
  }
  friend bool operator<=(const KeyBound& a, const KeyBound& b) { return !(b < a); }
  friend bool operator==(const KeyBound& a, const KeyBound& b) {
    if (a.then_zero_ == b.then_zero_) return a.bytes_ == b.bytes_;
    return a.then_zero_ ? IsNext(a.bytes_, b.bytes_) : IsNext(b.bytes_, a.bytes_);
  }

 private:
  static bool IsNext(std::string_view key, std::string_view other) {
    return other.size() == key.size() + 1 && other.back() == '\0' && other.starts_with(key);
  }

  std::string_view bytes_;
  bool then_zero_ = false;
};

// The end of a span; nullopt lies after all keys.
using KeyEnd = std::optional<KeyBound>;

inline bool IsBefore(const KeyEnd& a, const KeyEnd& b) { return a && (!b || *a < *b); }

struct KeySpan {
  std::string_view begin;  // a span without further words holds all keys
  KeyEnd end;

  // The keys from `first` to `last`, both included.
  static KeySpan OfKeys(std::string_view first, std::string_view last) {
    return {first, KeyBound::After(last)};
  }

  bool empty() const { return EndsBy(begin); }
  // Whether all its keys are below `key`.
  bool EndsBy(std::string_view key) const { return end && *end <= key; }
  bool Holds(std::string_view key) const { return begin <= key && !EndsBy(key); }
  // False for spans that meet.  REQUIRES: neither is empty.
  bool Overlaps(const KeySpan& other) const { return !EndsBy(other.begin) && !other.EndsBy(begin); }
  bool Covers(const KeySpan& other) const {
    return begin <= other.begin && !IsBefore(end, other.end);
  }

  bool operator==(const KeySpan&) const = default;
};

// The keys from `from`, included, to `to`, excluded; nullopt: unbounded.
inline KeySpan SpanOf(std::optional<std::string_view> from, std::optional<std::string_view> to) {
  return {from.value_or(""), to ? KeyEnd(*to) : std::nullopt};
}

// The smallest span that covers both.
inline KeySpan HullOf(const KeySpan& a, const KeySpan& b) {
  return {a.begin < b.begin ? a.begin : b.begin, IsBefore(a.end, b.end) ? b.end : a.end};
}

// The keys of both; empty if there are none.
inline KeySpan CutTo(const KeySpan& a, const KeySpan& b) {
  return {a.begin < b.begin ? b.begin : a.begin, IsBefore(a.end, b.end) ? a.end : b.end};
}

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_KEY_SPAN_H_
