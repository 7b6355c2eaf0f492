#include "bench/filter_lab/streams/stream.h"

#include <cassert>
#include <charconv>
#include <random>
#include <utility>

#include "bench/filter_lab/stopwatch.h"

namespace bench {
namespace {

constexpr unsigned kStreamSeed = 2022;

template <class Drawn>
std::function<int64_t()> Drawing(Drawn drawn, double times) {
  return [engine = std::default_random_engine(kStreamSeed), drawn, times]() mutable {
    return static_cast<int64_t>(drawn(engine) * times);
  };
}

}  // namespace

const char* NameOf(Distribution distribution) {
  switch (distribution) {
    case Distribution::kNormal:
      return "normal";
    case Distribution::kUniform:
      return "uniform";
    case Distribution::kExponential:
      return "exponential";
  }
  return "?";
}

const char* DescriptionOf(Distribution distribution) {
  switch (distribution) {
    case Distribution::kNormal:
      return "normal(0, 1) times 10^8";
    case Distribution::kUniform:
      return "uniform(0, 10) times 10^7";
    case Distribution::kExponential:
      return "exponential(100) times 10^7";
  }
  return "?";
}

ValueStream::ValueStream(Distribution distribution) {
  switch (distribution) {
    case Distribution::kNormal:
      next_ = Drawing(std::normal_distribution<double>(0, 1), 1e8);
      break;
    case Distribution::kUniform:
      next_ = Drawing(std::uniform_real_distribution<double>(0, 10), 1e7);
      break;
    case Distribution::kExponential:
      next_ = Drawing(std::exponential_distribution<double>(100), 1e7);
      break;
  }
}

bool SeenValues::TestAndAdd(int64_t value) {
  const uint64_t bit = static_cast<uint64_t>(value) + (kPages << (kPageBits - 1));
  assert(bit >> kPageBits < kPages);
  Page& page = pages_[bit >> kPageBits];
  if (page.empty()) page.resize((uint64_t{1} << kPageBits) / 64);
  uint64_t& word = page[(bit & ((uint64_t{1} << kPageBits) - 1)) / 64];
  const uint64_t mask = uint64_t{1} << (bit & 63);
  const bool seen = (word & mask) != 0;
  word |= mask;
  distinct_ += !seen;
  return seen;
}

const StreamChunk& RowStream::Next(size_t rows) {
  constexpr size_t kTextMax = 20;
  drawn_.resize(rows);
  chunk_.texts.resize(rows * kTextMax);
  chunk_.ends.resize(rows);
  {
    const Timed timed(&seconds_.draw);
    for (int64_t& value : drawn_) value = values_.Next();
    char* const begin = chunk_.texts.data();
    char* at = begin;
    for (size_t i = 0; i < rows; ++i) {
      at = std::to_chars(at, at + kTextMax, drawn_[i]).ptr;
      chunk_.ends[i] = static_cast<uint32_t>(at - begin);
    }
  }
  chunk_.seen.resize(rows);
  chunk_.distinct_before = seen_.distinct();
  for (size_t i = 0; i < rows; ++i) chunk_.seen[i] = seen_.TestAndAdd(drawn_[i]);
  chunk_.distinct_after = seen_.distinct();
  chunk_.digests.resize(rows);
  const Timed timed(&seconds_.hash);
  for (size_t i = 0; i < rows; ++i) chunk_.digests[i] = bloom::DigestOf(chunk_.text(i), seed_);
  return chunk_;
}

}  // namespace bench
