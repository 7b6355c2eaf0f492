#include "bench/filter_lab/streams/source_filters.h"

#include <algorithm>
#include <array>

#include "bench/workload.h"

namespace bench {
namespace {

constexpr uint64_t kBase = 131;

constexpr std::array<uint64_t, kSourceProbesMax> kConstants = [] {
  std::array<uint64_t, kSourceProbesMax> constants{};
  for (size_t i = 0; i < constants.size(); ++i) constants[i] = Mix(i + 1) % kSourceModulus;
  return constants;
}();

}  // namespace

uint64_t SourceHash(std::string_view key) {
  uint64_t hash = 0;
  for (const char c : key) hash = (hash * kBase + static_cast<unsigned char>(c)) % kSourceModulus;
  return hash;
}

uint64_t SourceProbe(uint64_t hash, uint32_t probe) {
  return (hash + kConstants[probe]) % kSourceModulus;
}

bool SourceBloom::TestAndAdd(std::string_view key) {
  const uint64_t hash = SourceHash(key);
  bool passes = true;
  for (uint32_t i = 0; i < probes_; ++i) {
    const uint64_t cell = SourceProbe(hash, i) % cells_;
    if (bits_[cell]) continue;
    passes = false;
    bits_[cell] = true;
  }
  return passes;
}

bool SourceShifting::TestAndAdd(std::string_view key) {
  const uint64_t hash = SourceHash(key);
  const uint64_t offset = 1 + SourceProbe(hash, probes_ / 2) % kOffsets;
  bool passes = true;
  const auto test_and_set = [&passes](std::vector<bool>& bits, uint64_t cell) {
    passes = passes && bits[cell];
    bits[cell] = true;
  };
  for (uint32_t i = 0; i < probes_ / 2; ++i) {
    const uint64_t base = SourceProbe(hash, i) % cells_;
    test_and_set(bits_, base);
    test_and_set(bits_, base + offset);
  }
  if (!second_.empty()) test_and_set(second_, SourceProbe(hash, probes_ / 2 + 1) % cells_);
  return passes;
}

bool SourceSpatial::TestAndAdd(std::string_view key) {
  const uint64_t hash = SourceHash(key);
  const auto area = static_cast<uint16_t>(1 + SourceProbe(hash, probes_) % kAreas);
  uint16_t lowest = UINT16_MAX;
  for (uint32_t i = 0; i < probes_; ++i) {
    uint16_t& label = labels_[SourceProbe(hash, i) % cells_];
    lowest = std::min(lowest, label);
    label = std::max(label, area);
  }
  return lowest == area;
}

}  // namespace bench
