// KNOWN-BAD baselines, for the lab only: filters with the hash function of a public program (the
// source) whose ranking of filters the lab examines.
//
//     H = the key's bytes as digits of a number, modulo P = 1,610,612,741
//     probe i = ((H + constant_i) mod P) mod m
//
// All k "hashes" are the same function, so the k probes of two keys collide together or not at all:
//
// - Keys with the same H are indistinguishable: an absent key passes with n / P, for any k and m.
// - Keys whose H differ by a multiple of m collide in all probes, except those whose sum wraps
//   around P for only one of the two.
//
// The layouts are sound and are the library's.  The program's base and constants matter little;
// those used here are arbitrary.
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

// Tests and adds a key in one call: returns whether it passed, and adds it.
class SourceBloom {
 public:
  SourceBloom(uint64_t cells, uint32_t probes) : cells_(cells), probes_(probes), bits_(cells) {}
  bool TestAndAdd(std::string_view key);

 private:
  const uint64_t cells_;
  const uint32_t probes_;
  std::vector<bool> bits_;
};

// Half of the probes, each with a second bit at an offset from the same hash.  REQUIRES: probes is
// even.  With `doubled`, a key has one more bit in a second array.
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

// Labels of 16 bits.  The key's own hash determines its area; it passes if that is the smallest
// label among its cells.
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
