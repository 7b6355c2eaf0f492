// Keys, values and query orders for benchmarks.
//
// Everything follows from seeds: the same seed gives the same work on every machine.
#ifndef TRELLIS_BENCH_WORKLOAD_H_
#define TRELLIS_BENCH_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/split_mix.h"

namespace bench {

using lsm::Mix;
using lsm::SplitMix;

// The seed of what a store draws when it is created and loaded (the seed of its digests, the ids of
// its files), from the seed of the run and the store's name.
uint64_t StoreSeed(uint64_t seed, std::string_view name);

// The numbers below `count` in random order.
std::vector<uint64_t> Shuffled(uint64_t count, uint64_t seed);

// 16 hexadecimal digits; different numbers under one seed give different keys.
std::string SyntheticKey(uint64_t number, uint64_t seed);

// `number` in 16 hexadecimal digits.
std::string HexKey(uint64_t number);

// `number` in 16 decimal digits.
std::string DecimalKey(uint64_t number);

// Keys stored one after another in one piece of memory, so walking them costs next to nothing.
// Views are valid until the next Add.
class KeyList {
 public:
  KeyList() : ends_(1, 0) {}

  void Add(std::string_view key);
  size_t size() const { return ends_.size() - 1; }
  bool empty() const { return size() == 0; }
  uint64_t key_bytes() const { return bytes_.size(); }
  std::string_view operator[](size_t i) const {
    return std::string_view(bytes_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;  // [0] is 0
};

// The value of each key.  A benchmark can check an answer without storing values.
//
//   value = R R, cut to the wanted length; R is half of it, random, and follows from the key
//
// A compressor that finds repetitions halves it.  If a key is written more than once, its value
// also depends on the version.
class ValueMaker {
 public:
  explicit ValueMaker(size_t value_bytes) : value_bytes_(value_bytes) {}

  size_t value_bytes() const { return value_bytes_; }
  void Make(std::string_view key, std::string* value, uint64_t version = 1) const;
  bool Matches(std::string_view key, std::string_view value, uint64_t version = 1) const;

 private:
  size_t value_bytes_;
};

// Kinds of lookup streams.
enum class Workload : uint8_t { kPresent, kAbsent, kMixed };
const char* NameOf(Workload workload);

// Endless: keys in random order, each once before any is repeated.
class QueryStream {
 public:
  struct Query {
    std::string_view key;
    bool present = false;
  };

  // At most `length` queries before it repeats.  kMixed draws present keys with probability
  // `present_share`.  The lists that the workload draws from must not be empty.
  QueryStream(Workload workload, const KeyList& present, const KeyList& absent,
              double present_share, size_t length, uint64_t seed);

  Workload workload() const { return workload_; }
  size_t length() const { return keys_.size(); }

  // Moves to a position that follows from `seed`, plus `share` of the length, in [0, 1).
  void Restart(uint64_t seed, double share = 0) {
    const auto ahead = static_cast<size_t>(share * static_cast<double>(keys_.size()));
    at_ = (Mix(seed) % keys_.size() + ahead) % keys_.size();
  }

  Query Next() {
    const size_t i = at_;
    at_ = i + 1 == keys_.size() ? 0 : i + 1;
    return {keys_[i], present_[i] != 0};
  }

 private:
  Workload workload_;
  KeyList keys_;
  std::vector<uint8_t> present_;
  size_t at_ = 0;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_WORKLOAD_H_
