#include "bloom/variants/standard.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bloom/core/filter_format.h"

namespace bloom {
namespace {

// An absent key fails one of its first three probes seven times out of eight, so a query looks at
// those together and seldom at the others.  Within each of the two parts no branch stands between
// the probes: the CPU loads them at the same time, which costs one miss instead of several where
// the filter is not in cache.
constexpr uint32_t kFirstProbes = 3;

// Of the next `count` probes.
bool HasAll(const uint8_t* payload, Probes& probes, uint32_t count) {
  uint32_t all = 1;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t position = probes.Next();
    all &= uint32_t{payload[position >> 3]} >> (position & 7);
  }
  return (all & 1) != 0;
}

// Always inlined: GCC 12 takes a function that only prefetches for one without effect, and drops
// calls to it.
[[gnu::always_inline]] inline void Fetch(const uint8_t* payload, Probes& probes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) __builtin_prefetch(payload + (probes.Next() >> 3));
}

Probes ProbesOf(const FilterView& view, Digest digest) {
  return {Remix(digest, view.seed), view.shape.size};
}

// The functions for kProbes probes, unrolled; for as many as the view says where kProbes is 0.
template <uint32_t kProbes>
struct Query {
  static uint32_t Count(const FilterView& view) {
    return kProbes != 0 ? kProbes : view.shape.probes;
  }
  static uint32_t First(const FilterView& view) { return std::min(Count(view), kFirstProbes); }

  static bool MayContain(const FilterView& view, Digest digest) {
    Probes probes = ProbesOf(view, digest);
    const uint32_t first = First(view);
    return HasAll(view.payload, probes, first) && HasAll(view.payload, probes, Count(view) - first);
  }

  static void Prefetch(const FilterView& view, Digest digest) {
    Probes probes = ProbesOf(view, digest);
    Fetch(view.payload, probes, First(view));
  }

  static void MayContainBatch(const FilterView& view, const Digest* digests, size_t count,
                              bool* results) {
    if (Standard::PayloadBytes(view.shape) <= kNearPayloadBytes) {
      for (size_t i = 0; i < count; ++i) {
        Probes probes = ProbesOf(view, digests[i]);
        results[i] = HasAll(view.payload, probes, Count(view));
      }
      return;
    }
    for (size_t begin = 0; begin < count; begin += kBatchGroup) {
      FarGroup(view, digests + begin, std::min(count - begin, kBatchGroup), results + begin);
    }
  }

  // Fetches the first probes of all, tests them, then the same for the other probes of those that
  // passed.
  static void FarGroup(const FilterView& view, const Digest* digests, size_t count, bool* results) {
    const uint32_t first = First(view);
    const uint32_t rest = Count(view) - first;
    Probes passed[kBatchGroup];
    bool* passed_results[kBatchGroup];
    size_t passed_count = 0;
    for (size_t i = 0; i < count; ++i) {
      Probes probes = ProbesOf(view, digests[i]);
      Fetch(view.payload, probes, first);
    }
    for (size_t i = 0; i < count; ++i) {
      Probes& probes = passed[passed_count] = ProbesOf(view, digests[i]);
      passed_results[passed_count] = &results[i];
      results[i] = HasAll(view.payload, probes, first);
      passed_count += results[i];
    }
    for (size_t i = 0; i < passed_count; ++i) {
      Probes probes = passed[i];
      Fetch(view.payload, probes, rest);
    }
    for (size_t i = 0; i < passed_count; ++i)
      *passed_results[i] = HasAll(view.payload, passed[i], rest);
  }
};

template <uint32_t... kProbes>
constexpr auto FunctionTable(std::integer_sequence<uint32_t, kProbes...>) {
  return std::array{FilterFunctions{&Query<kProbes>::MayContain, &Query<kProbes>::Prefetch,
                                    &Query<kProbes>::MayContainBatch}...};
}

// By number of probes up to 16 (an FPP of 2^-16); entry 0 serves all others.
constexpr auto kFunctions = FunctionTable(std::make_integer_sequence<uint32_t, 17>{});

// Bit i of the result is bit 2i or bit 2i + 1: four bits.
uint8_t OrPairs(uint8_t byte) {
  uint32_t bits = (byte | byte >> 1) & 0x55u;
  bits = (bits | bits >> 1) & 0x33u;
  return static_cast<uint8_t>((bits | bits >> 2) & 0x0fu);
}

}  // namespace

double Standard::CurrentFpp(const FilterView& view) {
  const uint64_t ones = CountOnes(view.payload, PayloadBytes(view.shape));
  return std::pow(static_cast<double>(ones) / static_cast<double>(view.shape.size),
                  view.shape.probes);
}

std::string Standard::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.size == 0 || shape.size > kMaxSizeBits || PayloadBytes(shape) != payload.size()) {
    return absl::StrCat("has ", payload.size(), " bytes for ", shape.size, " bits");
  }
  if (shape.size % 8 != 0 && payload.back() >> (shape.size % 8) != 0) {
    return "has ones behind its last bit";
  }
  return "";
}

void Standard::Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                     std::span<const Digest> digests) {
  for (const Digest digest : digests) Add(payload, shape, Remix(digest, seed));
}

void Standard::FoldInHalf(const uint8_t* payload, const Shape& shape, uint8_t* half) {
  for (uint64_t i = 0; i < PayloadBytes(shape); ++i) {
    half[i / 2] = static_cast<uint8_t>(half[i / 2] | OrPairs(payload[i]) << 4 * (i % 2));
  }
}

FilterFunctions Standard::Functions(const FilterView& view) {
  return kFunctions[view.shape.probes < kFunctions.size() ? view.shape.probes : 0];
}

}  // namespace bloom
