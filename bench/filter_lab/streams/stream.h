// The rows of the streaming experiment, and which of them are repeated.
#ifndef TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_H_
#define TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bloom/hash.h"

namespace bench {

enum class Distribution : uint8_t {
  kNormal,       // normal(0, 1), times 10^8
  kUniform,      // uniform(0, 10), times 10^7: 10^8 values
  kExponential,  // exponential(100), of mean 0.01, times 10^7
};
inline constexpr Distribution kDistributions[] = {Distribution::kNormal, Distribution::kUniform,
                                                  Distribution::kExponential};
const char* NameOf(Distribution distribution);
const char* DescriptionOf(Distribution distribution);

// Endless: the numbers that libstdc++ draws with a fresh default_random_engine of seed 2022,
// truncated to integers.  Other standard libraries draw other numbers.
class ValueStream {
 public:
  explicit ValueStream(Distribution distribution);
  int64_t Next() { return next_(); }

 private:
  std::function<int64_t()> next_;
};

// The exact set of earlier values: one bit for each value in (-2^35, 2^35), in pages made on
// demand.
class SeenValues {
 public:
  // Returns whether the value was added before, and adds it.
  bool TestAndAdd(int64_t value);
  uint64_t distinct() const { return distinct_; }

 private:
  static constexpr int kPageBits = 20;
  static constexpr uint64_t kPages = uint64_t{1} << 16;
  using Page = std::vector<uint64_t>;

  std::vector<Page> pages_ = std::vector<Page>(kPages);
  uint64_t distinct_ = 0;
};

// A part of a stream, as given to the filters.
struct StreamChunk {
  std::string texts;           // decimal, concatenated
  std::vector<uint32_t> ends;  // ends of the texts
  std::vector<uint8_t> seen;   // whether the value occurred before
  std::vector<bloom::Digest> digests;
  uint64_t distinct_before = 0;  // distinct values before the chunk
  uint64_t distinct_after = 0;

  size_t size() const { return ends.size(); }
  std::string_view text(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(texts).substr(begin, ends[i] - begin);
  }
};

// Seconds of processor time for making the rows themselves.
struct StreamSeconds {
  double draw = 0;  // numbers and their decimal text
  double hash = 0;  // a digest of each text
};

// Returns one chunk after another.
class RowStream {
 public:
  RowStream(Distribution distribution, uint64_t seed) : values_(distribution), seed_(seed) {}

  // The next `rows` rows; valid until the next call.
  const StreamChunk& Next(size_t rows);
  const StreamSeconds& seconds() const { return seconds_; }

 private:
  ValueStream values_;
  const uint64_t seed_;  // of the digests
  SeenValues seen_;
  std::vector<int64_t> drawn_;
  StreamChunk chunk_;
  StreamSeconds seconds_;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_H_
