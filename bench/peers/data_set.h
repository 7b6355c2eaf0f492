// What is stored, asked for and expected: keys by their number, values by key and version, orders.
//
//   number i of n      key, 16 decimal digits      is there
//   present            2 i                         from the fill on
//   absent             2 i + 1, i < n - 1          never: it lies between two that are
//
// Keys are made from numbers where they are needed, so that a loop over any number of them has
// nothing to fetch from memory but the numbers, in the order in which they lie there.
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

// A key in a place of its own.
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

// Numbers of keys in the order in which they are written or asked for.
using Numbers = std::vector<uint32_t>;

// 0 ... n - 1: in turn, or each once in random order.
Numbers InTurn(uint64_t n);
Numbers InRandomOrder(uint64_t n, uint64_t seed);

// `length` draws of [0, n) with Zipf's frequencies: the r-th most popular with probability
// proportional to 1 / r^theta; which number is how popular is random (as YCSB's scrambled
// generator).  The method is Gray et al., "Quickly generating billion-record synthetic databases",
// SIGMOD 1994.  theta in (0, 1).
Numbers Zipfian(uint64_t n, size_t length, double theta, uint64_t seed);

// The zipfian of YCSB's workloads.
inline constexpr double kTheta = 0.99;

// What one store holds: of the numbers in [0, size) some version of the value, or nothing.
//
// Threads: one writes and any number read, if they expect what Since says.
class Contents {
 public:
  explicit Contents(size_t value_bytes) : values_(value_bytes) {}

  // Empty, or all of [0, size) with their first values.
  void Clear() { Reset(0, 0); }
  void FillUpTo(uint64_t size) { Reset(size, 1); }

  uint64_t size() const { return size_; }
  size_t value_bytes() const { return values_.value_bytes(); }
  // Of all numbers; each access costs a cache miss once they differ.
  bool is_uniform() const { return versions_ == nullptr; }

  // Room for numbers up to here, and versions that differ.
  void Diversify(uint64_t capacity);
  // What the next version of a number is written as; then, once that is done, Wrote.
  void MakeNext(uint64_t number, std::string* value) const;
  // The value that is there.
  void Make(uint64_t number, std::string* value) const {
    values_.Make(DigitKey::Present(number), value, VersionOf(number));
  }
  void Wrote(uint64_t number);
  void Removed(uint64_t number);
  // Each of these was written once more.
  void WroteAllOf(const Numbers& numbers);

  // Version of a number, 0: none.
  uint8_t VersionOf(uint64_t number) const {
    if (versions_ == nullptr) return number < size_ ? uniform_ : 0;
    // Acquire: whoever sees a version as written sees the size that goes with it.
    return number < capacity_ ? versions_[number].load(std::memory_order_acquire) : 0;
  }

  // Whether this is what a store may answer.  With a writer beside: any version from that of
  // `before`, taken before asking, to the one that is being written now.
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
