#include "bloom/variants/split_block.h"

#include "bloom/core/concat.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/variants/split_block_avx2.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

void Prefetch(const FilterView& view, Digest digest) {
  SplitBlock::Fetch(view.payload, view.shape, Remix(digest, view.seed));
}

// A path is a struct with
//   MayContain(view, digest)
//   TestGroup(view, group, results)     the same for many hashes (bloom/core/fetch_ahead.h)
//   AddGroup(payload, shape, group)     sets their bits
// Its code never inlines into code for another CPU.
template <class Path>
void MayContainBatch(const FilterView& view, const Digest* digests, size_t count, bool* results) {
  TakeInGroupsOf<SplitBlock>(
      view.payload, view.shape, view.seed, {digests, count},
      [&](const HashGroup& group) { Path::TestGroup(view, group, results + group.begin); });
}

template <class Path>
void BuildBy(uint8_t* payload, const Shape& shape, uint64_t seed, std::span<const Digest> digests) {
  TakeInGroupsOf<SplitBlock>(payload, shape, seed, digests, [&](const HashGroup& group) {
    Path::AddGroup(payload, shape, group);
  });
}

struct Portable {
  static bool MayContain(const FilterView& view, Digest digest) {
    return SplitBlock::HasAll(view.payload, view.shape, Remix(digest, view.seed));
  }
  static void TestGroup(FilterView view, const HashGroup& group, bool* results) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) SplitBlock::Fetch(view.payload, view.shape, group.next[i]);
      results[i] = SplitBlock::HasAll(view.payload, view.shape, group.hashes[i]);
    }
  }
  static void AddGroup(uint8_t* payload, Shape shape, const HashGroup& group) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) SplitBlock::Fetch(payload, shape, group.next[i]);
      SplitBlock::Add(payload, shape, group.hashes[i]);
    }
  }
};

#if defined(__x86_64__)

struct Avx2 {
  TRELLIS_AVX2 static bool MayContain(const FilterView& view, Digest digest) {
    return SplitBlockAvx2::HasAll(view, Remix(digest, view.seed));
  }
  TRELLIS_AVX2 static void TestGroup(FilterView view, const HashGroup& group, bool* results) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) SplitBlock::Fetch(view.payload, view.shape, group.next[i]);
      results[i] = SplitBlockAvx2::HasAll(view, group.hashes[i]);
    }
  }
  TRELLIS_AVX2 static void Add(uint8_t* payload, const Shape& shape, uint64_t hash) {
    SplitBlockAvx2::Add(payload, shape, hash);
  }
  TRELLIS_AVX2 static void AddGroup(uint8_t* payload, Shape shape, const HashGroup& group) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) SplitBlock::Fetch(payload, shape, group.next[i]);
      Add(payload, shape, group.hashes[i]);
    }
  }
};

#endif  // defined(__x86_64__)

template <class Path>
constexpr FilterFunctions kFunctions = {&Path::MayContain, &Prefetch, &MayContainBatch<Path>};

}  // namespace

double SplitBlock::CurrentFpp(const FilterView& view) {
  double sum = 0;
  for (uint64_t line = 0; line < view.shape.size; ++line) {
    const uint8_t* const words = view.payload + line * kLineBytes;
    double product = 1;
    for (uint32_t i = 0; i < kProbes; ++i)
      product *= static_cast<double>(CountOnes(words + 4 * i, 4)) / kSplitBlockWordBits;
    sum += product;
  }
  return sum / static_cast<double>(view.shape.size);
}

std::string SplitBlock::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (shape.probes != kProbes) {
    return Concat("has ", shape.probes, " probes, not ", kProbes);
  }
  if (shape.size == 0) return "has no lines";
  if (shape.size > kMaxLines || PayloadBytes(shape) != payload.size()) {
    return Concat("has ", payload.size(), " bytes for ", shape.size, " lines");
  }
  return "";
}

void SplitBlock::Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                       std::span<const Digest> digests, Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx2) return BuildBy<Avx2>(payload, shape, seed, digests);
#endif
  static_cast<void>(simd);
  BuildBy<Portable>(payload, shape, seed, digests);
}

AddFunction SplitBlock::Adder(const Shape&) {
#if defined(__x86_64__)
  if (BestSimd() == Simd::kAvx2) return &Avx2::Add;
#endif
  return &Add;
}

FilterFunctions SplitBlock::Functions(const FilterView&, Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx2) return kFunctions<Avx2>;
#endif
  static_cast<void>(simd);
  return kFunctions<Portable>;
}

}  // namespace bloom
