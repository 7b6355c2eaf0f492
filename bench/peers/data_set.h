// Keys by number, values by key and version, and the orders of operations.
//
//   number i of n      key, 16 decimal digits      in the store
//   present            2 i                         after the fill
//   absent             2 i + 1, i < n - 1          never; lies between two present keys
//
// Keys are made from numbers on use, so a loop fetches nothing from memory but the numbers, in the
// order in which they are stored.
#ifndef TRELLIS_BENCH_PEERS_DATA_SET_H_
#define TRELLIS_BENCH_PEERS_DATA_SET_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload.h"

namespace bench::peers {

inline constexpr size_t kKeyBytes = 16;

// A key with its own buffer.
class DigitKey {
 public:
  DigitKey() = default;
  static DigitKey Present(uint64_t number) { return DigitKey(2 * number); }
  static DigitKey Absent(uint64_t number) { return DigitKey(2 * number + 1); }

  operator std::string_view() const { return {digits_.data(), digits_.size()}; }

 private:
  explicit DigitKey(uint64_t value);
  std::array<char, kKeyBytes> digits_;
};

// Numbers of keys in the order of operations.
using Numbers = std::vector<uint32_t>;

// 0 ... n - 1: in turn, or each once in random order.
Numbers InTurn(uint64_t n);
Numbers InRandomOrder(uint64_t n, uint64_t seed);

// `length` draws of [0, n) with Zipf's frequencies: the r-th most popular has a probability
// proportional to 1 / r^theta.  Popularity is assigned to numbers at random (as in YCSB's scrambled
// generator).  The method is Gray et al., "Quickly generating billion-record synthetic databases",
// SIGMOD 1994.  theta in (0, 1).
Numbers Zipfian(uint64_t n, size_t length, double theta, uint64_t seed);

// YCSB's theta.
inline constexpr double kTheta = 0.99;

// The expected contents of one store: for each number in [0, size) a version of the value, or none.
//
// Threads: one writer and any number of readers, if the readers check values with MatchesSince.
class Contents {
 public:
  explicit Contents(size_t value_bytes) : values_(value_bytes) {}

  // Expects nothing, or all of [0, size) with their first values.
  void Clear() { Reset(0, 0); }
  void FillUpTo(uint64_t size) { Reset(size, 1); }

  uint64_t size() const { return size_; }
  size_t value_bytes() const { return values_.value_bytes(); }
  // True if all numbers have the same version.  Otherwise each access costs a cache miss.
  bool is_uniform() const { return versions_ == nullptr; }

  // Makes room for numbers below `capacity`, and for differing versions.
  void Diversify(uint64_t capacity);
  // Makes the next version of a number's value.  Call Wrote after writing it.
  void MakeNext(uint64_t number, std::string* value) const;
  // Makes the current value.
  void Make(uint64_t number, std::string* value) const {
    values_.Make(DigitKey::Present(number), value, VersionOf(number));
  }
  void Wrote(uint64_t number);
  void Removed(uint64_t number);
  // Each of these numbers was written once more.
  void WroteAllOf(const Numbers& numbers);

  // The version of a number; 0: absent.
  uint8_t VersionOf(uint64_t number) const {
    if (versions_ == nullptr) return number < size_ ? uniform_ : 0;
    // Acquire: a reader that sees a version as written also sees the size that belongs to it.
    return number < capacity_ ? versions_[number].load(std::memory_order_acquire) : 0;
  }

  // True if a store may answer this.  With a concurrent writer: any version from `before`, taken
  // before the lookup, up to the one that is being written.
  bool Matches(uint64_t number, std::string_view value) const {
    return values_.Matches(DigitKey::Present(number), value, VersionOf(number));
  }
  bool MatchesSince(uint64_t number, std::string_view value, uint8_t before) const;

 private:
  void Reset(uint64_t size, uint8_t version);

  const ValueMaker values_;
  uint64_t size_ = 0, capacity_ = 0;
  uint8_t uniform_ = 0;
  std::unique_ptr<std::atomic<uint8_t>[]> versions_;
};

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_DATA_SET_H_
