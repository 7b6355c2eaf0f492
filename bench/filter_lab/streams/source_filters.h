// KNOWN-BAD baselines, for the lab alone: filters with the hash of a public program whose rankings
// of filters this lab looks into.
//
//     H = the key's bytes as digits of a number, modulo P = 1,610,612,741
//     probe i = ((H + constant_i) mod P) mod m
//
// All k "hashes" are one, so that the k probes of two keys meet together or not at all:
//
//   - Keys with the same H are the same key: an absent key passes with n / P, whatever k and m are.
//   - Keys whose H differ by a multiple of m meet in all probes, but for those whose sum wraps
//     around P for one of them and not for the other.
//
// The layout of the filters is sound, and that of the library's.  What base and constants the
// program has makes little difference; those here are of no meaning.
#ifndef TRELLIS_BENCH_FILTER_LAB_STREAMS_SOURCE_FILTERS_H_
#define TRELLIS_BENCH_FILTER_LAB_STREAMS_SOURCE_FILTERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace bench {

inline constexpr uint64_t kSourceModulus = 1'610'612'741;

inline constexpr uint32_t kSourceProbesMax = 16;

uint64_t SourceHash(std::string_view key);
// (hash + constant) mod P.  REQUIRES: hash < P, probe < kSourceProbesMax.
uint64_t SourceProbe(uint64_t hash, uint32_t probe);

// How filters answer and take a key in one: whether it passes, and then it is in.
class SourceBloom {
 public:
  SourceBloom(uint64_t cells, uint32_t probes) : cells_(cells), probes_(probes), bits_(cells) {}
  bool TestAndAdd(std::string_view key);

 private:
  const uint64_t cells_;
  const uint32_t probes_;
  std::vector<bool> bits_;
};

// Half of the probes, and behind each of them a second bit at an offset from the same hash.
// REQUIRES: probes is even.  With `doubled`, a second array in which a key has one more bit.
class SourceShifting {
 public:
  static constexpr uint64_t kOffsets = 56;

  SourceShifting(uint64_t cells, uint32_t probes, bool doubled)
      : cells_(cells), probes_(probes), bits_(cells + kOffsets), second_(doubled ? cells : 0) {}
  bool TestAndAdd(std::string_view key);

 private:
  const uint64_t cells_;
  const uint32_t probes_;
  std::vector<bool> bits_;
  std::vector<bool> second_;
};

// Labels of 16 bits; the key's own hash says which area it belongs to, and it passes if that is the
// lowest label that it finds.
class SourceSpatial {
 public:
  static constexpr uint64_t kAreas = 65'535;

  SourceSpatial(uint64_t cells, uint32_t probes) : cells_(cells), probes_(probes), labels_(cells) {}
  bool TestAndAdd(std::string_view key);

 private:
  const uint64_t cells_;
  const uint32_t probes_;
  std::vector<uint16_t> labels_;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STREAMS_SOURCE_FILTERS_H_
