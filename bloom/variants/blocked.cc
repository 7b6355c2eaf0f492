#include "bloom/variants/blocked.h"

#include <cmath>
#include <utility>

#include "bloom/core/concat.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/filter_format.h"
#include "bloom/variants/blocked_avx2.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

void Prefetch(const FilterView& view, Digest digest) {
  Blocked::Fetch(view.payload, view.shape, Remix(digest, view.seed));
}

// A path is a struct with
//   MayContain(view, digest)
//   TestGroup(view, group, results)   the same for many hashes (bloom/core/fetch_ahead.h)
// It has these small functions because its code never inlines into code for another CPU.
template <class Path>
void MayContainBatch(const FilterView& view, const Digest* digests, size_t count, bool* results) {
  TakeInGroupsOf<Blocked>(
      view.payload, view.shape, view.seed, {digests, count},
      [&](const HashGroup& group) { Path::TestGroup(view, group, results + group.begin); });
}

[[gnu::always_inline]] inline void PrefetchEach(const FilterView& view, Payloads payloads,
                                                uint64_t hash) {
  const uint64_t offset = Blocked::LineOffset(view.shape, hash);
  for (const uint8_t* const payload : payloads) __builtin_prefetch(payload + offset);
}

// As above, for several filters of one shape: AnyMayContain(view, payloads, digest), and
// TestGroupInAny.
template <class Path>
void AnyMayContainBatch(const FilterView& view, Payloads payloads, std::span<const Digest> digests,
                        bool* results) {
  TakeInGroups<kBatchGroup>(
      digests, view.seed, payloads.size() * Blocked::PayloadBytes(view.shape),
      [&](uint64_t hash) __attribute__((always_inline)) { PrefetchEach(view, payloads, hash); },
      [&](const HashGroup& group) {
        Path::TestGroupInAny(view, payloads, group, results + group.begin);
      });
}

using AddGroupFn = void (*)(uint8_t* payload, Shape shape, const HashGroup& group);

void AddGroup(uint8_t* payload, Shape shape, const HashGroup& group) {
  for (size_t i = 0; i < group.hashes.size(); ++i) {
    if (i < group.next.size()) Blocked::Fetch(payload, shape, group.next[i]);
    Blocked::Add(payload, shape, group.hashes[i]);
  }
}

struct Portable {
  static bool HasAll(const FilterView& view, uint64_t hash) {
    const uint8_t* const line = view.payload + Blocked::LineOffset(view.shape, hash);
    const uint64_t in_line = Blocked::InLine(hash);
    uint32_t all = 1;
    for (uint32_t i = 0; i < view.shape.probes; ++i) {
      const uint32_t position = Blocked::Position(in_line, i);
      all &= uint32_t{line[position >> 3]} >> (position & 7);
    }
    return (all & 1) != 0;
  }

  static bool MayContain(const FilterView& view, Digest digest) {
    return HasAll(view, Remix(digest, view.seed));
  }

  static void TestGroup(FilterView view, const HashGroup& group, bool* results) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) Blocked::Fetch(view.payload, view.shape, group.next[i]);
      results[i] = HasAll(view, group.hashes[i]);
    }
  }

  static bool AnyHasAll(const FilterView& view, Payloads payloads, uint64_t hash) {
    for (const uint8_t* const payload : payloads) {
      if (HasAll({payload, view.shape, view.seed}, hash)) return true;
    }
    return false;
  }

  static bool AnyMayContain(const FilterView& view, Payloads payloads, Digest digest) {
    const uint64_t hash = Remix(digest, view.seed);
    PrefetchEach(view, payloads, hash);
    return AnyHasAll(view, payloads, hash);
  }

  static void TestGroupInAny(FilterView view, Payloads payloads, const HashGroup& group,
                             bool* results) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) PrefetchEach(view, payloads, group.next[i]);
      results[i] = AnyHasAll(view, payloads, group.hashes[i]);
    }
  }
};

template <class Path>
constexpr FilterFunctions kFunctions = {&Path::MayContain, &Prefetch, &MayContainBatch<Path>};

template <class Path>
constexpr SiblingFunctions kSiblingFunctions = {&Path::AnyMayContain, &AnyMayContainBatch<Path>};

#if defined(__x86_64__)

struct Avx2 {
  TRELLIS_AVX2 static bool MayContain(const FilterView& view, Digest digest) {
    return BlockedAvx2::HasAll(view, Remix(digest, view.seed));
  }

  TRELLIS_AVX2 static void TestGroup(FilterView view, const HashGroup& group, bool* results) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) Blocked::Fetch(view.payload, view.shape, group.next[i]);
      results[i] = BlockedAvx2::HasAll(view, group.hashes[i]);
    }
  }

  TRELLIS_AVX2 static bool AnyMayContain(const FilterView& view, Payloads payloads, Digest digest) {
    return BlockedAvx2::AnyHasAll(view, payloads, Remix(digest, view.seed));
  }

  TRELLIS_AVX2 static void TestGroupInAny(FilterView view, Payloads payloads,
                                          const HashGroup& group, bool* results) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) PrefetchEach(view, payloads, group.next[i]);
      results[i] = BlockedAvx2::AnyHasAll(view, payloads, group.hashes[i]);
    }
  }
};

// A lane is a 32-bit word of the line (bit p of a line is bit p - 32 i of its word i, on a
// little-endian CPU).  A lane gets the bits of all positions that lie in it: a shift by the lane's
// width or more gives zero, also if the difference is negative.  This takes four fifths of the time
// that reading and writing the words one by one takes, since each of those waits for the one
// before.
template <uint32_t kProbes>
TRELLIS_AVX2 void AddAvx2(uint8_t* payload, const Shape& shape, uint64_t hash) {
  alignas(32) uint32_t positions[(kProbes + 7) / 8 * 8];
  const __m256i in_line = _mm256_set1_epi64x(static_cast<long long>(Blocked::InLine(hash)));
  for (uint32_t i = 0; i < kProbes; i += 8) {
    const __m256i multipliers =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(Blocked::kMultipliers.data() + i));
    _mm256_store_si256(reinterpret_cast<__m256i*>(positions + i),
                       _mm256_srli_epi32(_mm256_mullo_epi32(in_line, multipliers), 23));
  }
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i low_starts = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
  const __m256i high_starts = _mm256_setr_epi32(256, 288, 320, 352, 384, 416, 448, 480);
  auto* const line = reinterpret_cast<__m256i*>(payload + Blocked::LineOffset(shape, hash));
  __m256i low = _mm256_loadu_si256(line), high = _mm256_loadu_si256(line + 1);
#pragma GCC unroll 16
  for (uint32_t i = 0; i < kProbes; ++i) {
    const __m256i position = _mm256_set1_epi32(static_cast<int>(positions[i]));
    low = _mm256_or_si256(low, _mm256_sllv_epi32(one, _mm256_sub_epi32(position, low_starts)));
    high = _mm256_or_si256(high, _mm256_sllv_epi32(one, _mm256_sub_epi32(position, high_starts)));
  }
  _mm256_storeu_si256(line, low);
  _mm256_storeu_si256(line + 1, high);
}

template <uint32_t kProbes>
TRELLIS_AVX2 void AddGroupAvx2(uint8_t* payload, Shape shape, const HashGroup& group) {
  for (size_t i = 0; i < group.hashes.size(); ++i) {
    if (i < group.next.size()) Blocked::Fetch(payload, shape, group.next[i]);
    AddAvx2<kProbes>(payload, shape, group.hashes[i]);
  }
}

struct Adders {
  AddFunction one;
  AddGroupFn group;
};
template <uint32_t... kProbes>
constexpr auto AdderTable(std::integer_sequence<uint32_t, kProbes...>) {
  return std::array{Adders{&AddAvx2<kProbes + 1>, &AddGroupAvx2<kProbes + 1>}...};
}
// By number of probes minus one, up to 16 probes.
constexpr auto kAddersAvx2 = AdderTable(std::make_integer_sequence<uint32_t, 16>{});

#endif  // defined(__x86_64__)

AddGroupFn ChooseAddGroup(uint32_t probes, Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx2 && probes <= kAddersAvx2.size()) return kAddersAvx2[probes - 1].group;
#endif
  static_cast<void>(probes);
  static_cast<void>(simd);
  return &AddGroup;
}

}  // namespace

double Blocked::CurrentFpp(const FilterView& view) {
  std::array<uint64_t, kLineBits + 1> lines_with_ones{};
  for (uint64_t line = 0; line < view.shape.size; ++line) {
    ++lines_with_ones[CountOnes(view.payload + line * kLineBytes, kLineBytes)];
  }
  double sum = 0;
  for (uint32_t ones = 1; ones <= kLineBits; ++ones) {
    sum += static_cast<double>(lines_with_ones[ones]) *
           std::pow(static_cast<double>(ones) / kLineBits, view.shape.probes);
  }
  return sum / static_cast<double>(view.shape.size);
}

std::string Blocked::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.size == 0) return "has no lines";
  if (SizeBits(shape) > kMaxSizeBits || PayloadBytes(shape) != payload.size()) {
    return Concat("has ", payload.size(), " bytes for ", shape.size, " lines");
  }
  return "";
}

void Blocked::Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                    std::span<const Digest> digests, Simd simd) {
  const AddGroupFn add_group = ChooseAddGroup(shape.probes, simd);
  TakeInGroupsOf<Blocked>(payload, shape, seed, digests,
                          [&](const HashGroup& group) { add_group(payload, shape, group); });
}

AddFunction Blocked::Adder(const Shape& shape) {
#if defined(__x86_64__)
  if (BestSimd() == Simd::kAvx2 && shape.probes <= kAddersAvx2.size())
    return kAddersAvx2[shape.probes - 1].one;
#endif
  static_cast<void>(shape);
  return &Add;
}

FilterFunctions Blocked::Functions(const FilterView&, Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx2) return kFunctions<Avx2>;
#endif
  static_cast<void>(simd);
  return kFunctions<Portable>;
}

SiblingFunctions Blocked::FunctionsOfSiblings([[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx2) return kSiblingFunctions<Avx2>;
#endif
  return kSiblingFunctions<Portable>;
}

}  // namespace bloom
