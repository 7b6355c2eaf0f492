// Shared by the tests of filters that consist of filters (rows).  Splits their bytes into parts and
// joins them again.
#ifndef TRELLIS_TESTS_BLOOM_FILTERS_ROWS_H_
#define TRELLIS_TESTS_BLOOM_FILTERS_ROWS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/filter.h"
#include "bloom/filters/parts.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace testing_support {

using BlockedRow = bloom::Filter<bloom::Blocked>;
using StandardRow = bloom::Filter<bloom::Standard>;

// A row whose allocation fails when the test wants it to.
class ScarceRow : public StandardRow {
 public:
  static inline int rows_left = 0;

  static absl::StatusOr<ScarceRow> Make(uint64_t key_count, double target_fpp, uint64_t seed = 0) {
    return Of(StandardRow::Make(key_count, target_fpp, seed));
  }
  static absl::StatusOr<ScarceRow> MakeOfShape(const bloom::Shape& shape, double target_fpp,
                                               uint64_t seed = 0) {
    return Of(StandardRow::MakeOfShape(shape, target_fpp, seed));
  }
  static absl::StatusOr<ScarceRow> Load(std::string_view bytes) {
    return Of(StandardRow::Load(bytes));
  }

 private:
  explicit ScarceRow(StandardRow row) : StandardRow(std::move(row)) {}

  static absl::StatusOr<ScarceRow> Of(absl::StatusOr<StandardRow> row) {
    if (rows_left == 0) return absl::ResourceExhaustedError("no memory for a row");
    --rows_left;
    return ScarceRow(*std::move(row));
  }
};

// The parts of a filter's bytes, which a test can change.
inline std::vector<std::string> PartsOf(const std::string& bytes) {
  const auto parts = bloom::ReadParts(bloom::BytesOf(std::string_view(bytes).substr(64)));
  return {parts->begin(), parts->end()};
}

// The bytes of a filter with the same header, other parts, and the right checksum.
inline std::string WithParts(const std::string& bytes, const std::vector<std::string>& parts) {
  std::string changed = bytes.substr(0, 64);
  for (const std::string& part : parts) bloom::AppendPart(part, changed);
  RepairChecksum(changed);
  return changed;
}

// The bytes with another number at an offset, and with the right checksum.
inline std::string WithNumberAt(std::string bytes, size_t at, uint64_t number) {
  bloom::Store64(&bytes[at], number);
  RepairChecksum(bytes);
  return bytes;
}

template <class F>
uint64_t CountKeys(const F& filter, uint64_t from, uint64_t to) {
  uint64_t passing = 0;
  for (uint64_t i = from; i < to; ++i) passing += filter.MayContainDigest(DigestOfKey(i));
  return passing;
}

template <class F>
void AddKeys(F& filter, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; ++i) filter.AddDigest(DigestOfKey(i));
}

// Loads a filter from a copy of exactly this size, so that AddressSanitizer detects reads outside
// it.  Uses the filter if it loads.
template <class F>
absl::Status LoadRowsAndUse(std::string_view bytes) {
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  absl::StatusOr<F> filter = F::Load({copy.get(), bytes.size()});
  if (!filter.ok()) return filter.status();
  AddKeys(*filter, 0, 50);
  EXPECT_GT(CountKeys(*filter, 0, 50), 0u);
  filter->PredictedFpp(1000);
  filter->CurrentFpp();
  filter->EstimatedKeyCount();
  EXPECT_THAT(F::Load(filter->Serialize()), IsOk());
  absl::StatusOr<F> other = F::Load({copy.get(), bytes.size()});
  if (filter->Merge(*other).ok()) {
    EXPECT_THAT(F::Load(filter->Serialize()), IsOk());
  }
  filter->Clear();
  EXPECT_EQ(CountKeys(*filter, 0, 50), 0u);
  return absl::OkStatus();
}

// Forges rows under right checksums.  Each forgery is refused or loads as a working filter.
// Returns the number of rounds in which one loaded.
template <class F>
int LoadWithForgedParts(const std::string& sound, uint64_t seed, int rounds) {
  Dice dice(seed);
  const uint64_t edges[] = {0,   1,    2,          7,          8,          57,
                            512, 4096, 1ull << 32, 1ull << 56, 1ull << 60, UINT64_MAX};
  int loaded = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string outer = sound;
    std::vector<std::string> parts = PartsOf(outer);
    for (uint64_t changes = 1 + dice.Roll(3); changes > 0; --changes) {
      std::string& part = parts[dice.Roll(parts.size())];
      const uint64_t edge = edges[dice.Roll(std::size(edges))];
      switch (dice.Roll(7)) {
        case 0:  // a number of a row's header
          if (part.size() > 64) bloom::Store64(&part[16 + 8 * dice.Roll(5)], edge);
          break;
        case 1:
          if (part.size() > 64) part[8 + dice.Roll(5)] = static_cast<char>(dice.Roll(80));
          break;
        case 2:
          part.resize(dice.Roll(2 * part.size() + 2));
          break;
        case 3:
          if (!part.empty()) part[dice.Roll(part.size())] = static_cast<char>(dice.Roll(5));
          break;
        case 4:
          parts.push_back(parts[dice.Roll(parts.size())]);
          break;
        case 5:
          if (parts.size() > 1)
            parts.erase(parts.begin() + static_cast<int>(dice.Roll(parts.size())));
          break;
        case 6:  // a number of the filter's own header
          bloom::Store64(&outer[16 + 8 * dice.Roll(5)], edge);
          break;
      }
    }
    for (std::string& part : parts) {
      if (part.size() >= 64) RepairChecksum(part);
    }
    loaded += LoadRowsAndUse<F>(WithParts(outer, parts)).ok();
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "in round " << round;
      break;
    }
  }
  return loaded;
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_FILTERS_ROWS_H_
