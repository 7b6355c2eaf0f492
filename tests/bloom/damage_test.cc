// A damaged filter answers "maybe" to everything and reports the problem, whatever bytes were
// changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/core/filter_format.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "bloom/inspect.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"

namespace {

using bloom::FilterDescription;
using bloom::FilterReader;
using bloom::FilterState;
using testing::HasSubstr;
using testing_support::BuildFilter;
using testing_support::CountPassing;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::DigestsOfKeys;
using testing_support::RepairChecksum;

// The digests to look up: of keys that every filter here has, and of keys that none has.
constexpr uint64_t kAsked = 60;
constexpr uint64_t kAbsent = 1'000'000;

// Opens a copy of exactly the right size, so that AddressSanitizer detects reads outside it.  Makes
// every kind of query.  Returns the description, and whether any answer was "no".
struct Answers {
  FilterDescription description;
  bool denied = false;
};
Answers Ask(std::string_view bytes) {
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const FilterReader reader = FilterReader::Open({copy.get(), bytes.size()});
  Answers answers;
  answers.description = reader.Describe();
  EXPECT_EQ(answers.description.state, reader.state());
  EXPECT_EQ(answers.description.problem.empty(), reader.state() == FilterState::kUsable);
  for (const uint64_t from : {uint64_t{0}, kAbsent}) {
    for (uint64_t i = from; i < from + kAsked; ++i) {
      reader.Prefetch(DigestOfKey(i));
      answers.denied |= !reader.MayContain(DigestOfKey(i));
    }
    answers.denied |= CountPassing(reader, from, kAsked) != kAsked;
  }
  bloom::FillByPart(reader, 10);
  if (reader.state() != FilterState::kUsable) {
    EXPECT_TRUE(reader.payload().empty());
    EXPECT_EQ(reader.size_bits(), 0u);
  }
  return answers;
}

void ExpectMaybe(std::string_view bytes, FilterState state, std::string_view problem = "") {
  const Answers answers = Ask(bytes);
  EXPECT_FALSE(answers.denied);
  EXPECT_EQ(answers.description.state, state) << answers.description.problem;
  EXPECT_THAT(answers.description.problem, HasSubstr(std::string(problem)));
}

class DamageTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto digests = DigestsOfKeys(0, GetParam() == "empty" ? 0 : testing_support::kFewKeys);
    filter_ = BuildFilter(GetParam() == "empty" ? "standard" : GetParam(),
                          {.target_fpp = testing_support::kFewKeysFpp, .seed = 0x1234567890abcdef},
                          digests);
    // The undamaged filter denies absent keys.  A damaged one must not.
    ASSERT_TRUE(Ask(filter_).denied);
    ASSERT_EQ(Ask(filter_).description.kind, GetParam());
  }

  bool HasDetail() const {
    return bloom::FindKind(static_cast<uint8_t>(filter_[8]))->rules.has_detail;
  }

  std::string filter_;
};

TEST_P(DamageTest, EveryFlippedBitIsNoticed) {
  for (size_t bit = 0; bit < 8 * filter_.size(); ++bit) {
    std::string damaged = filter_;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ExpectMaybe(damaged, FilterState::kDamaged);
    ASSERT_FALSE(HasFailure()) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST_P(DamageTest, EveryTruncationIsNoticed) {
  for (size_t size = 0; size < filter_.size(); ++size) {
    ExpectMaybe(std::string_view(filter_).substr(0, size), FilterState::kDamaged);
    ExpectMaybe(std::string_view(filter_).substr(size + 1), FilterState::kDamaged);
    ASSERT_FALSE(HasFailure()) << size;
  }
}

TEST_P(DamageTest, EveryExtensionIsNoticed) {
  std::string longer = filter_;
  for (int i = 0; i < 130; ++i) {
    longer += i % 2 == 0 ? '\0' : 'x';
    ExpectMaybe(longer, FilterState::kDamaged);
  }
  ExpectMaybe(filter_ + filter_, FilterState::kDamaged);
}

TEST_P(DamageTest, ZerosInPlaceOfThePayloadAreNoticed) {
  if (GetParam() == "empty") return;
  std::string damaged = filter_;
  std::fill(damaged.begin() + 64, damaged.end(), '\0');
  ExpectMaybe(damaged, FilterState::kDamaged, "checksum");
}

TEST_P(DamageTest, NewerVersionsAreUnknown) {
  const auto with = [this](size_t at, int value) {
    std::string bytes = filter_;
    bytes[at] = static_cast<char>(value);
    RepairChecksum(bytes);
    return bytes;
  };
  ExpectMaybe(with(8, 77), FilterState::kUnknown, "kind 77");
  ExpectMaybe(with(8, 0), FilterState::kUnknown, "kind 0");
  ExpectMaybe(with(9, 2), FilterState::kUnknown, "version 2");
  ExpectMaybe(with(12, 2), FilterState::kUnknown, "hash id 2");
  for (size_t reserved = 13; reserved < (HasDetail() ? 16 : 56); ++reserved) {
    if (reserved >= 16 && reserved < 48) continue;
    ExpectMaybe(with(reserved, 1), FilterState::kUnknown, "reserved");
  }
  EXPECT_EQ(Ask(with(8, 77)).description.kind, "kind 77");
}

TEST_P(DamageTest, ImpossibleGeometryIsDamage) {
  const auto with_byte = [this](size_t at, int value) {
    std::string bytes = filter_;
    bytes[at] = static_cast<char>(value);
    RepairChecksum(bytes);
    return bytes;
  };
  const auto with_number = [this](size_t at, uint64_t value) {
    std::string bytes = filter_;
    bloom::Store64(&bytes[at], value);
    RepairChecksum(bytes);
    return bytes;
  };
  ExpectMaybe(with_byte(10, 33), FilterState::kDamaged);
  ExpectMaybe(with_byte(10, 255), FilterState::kDamaged);
  ExpectMaybe(with_byte(11, 9), FilterState::kDamaged, "lines");
  for (const uint64_t size :
       {uint64_t{1} << 20, uint64_t{1} << 55, uint64_t{1} << 58, UINT64_MAX}) {
    ExpectMaybe(with_number(32, size), FilterState::kDamaged);
  }
  for (const double fpp : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    ExpectMaybe(with_number(40, std::bit_cast<uint64_t>(fpp)), FilterState::kDamaged, "target_fpp");
  }
  if (GetParam() == "empty") {
    ExpectMaybe(with_number(24, 60), FilterState::kDamaged, "60 keys");
    return;
  }
  ExpectMaybe(with_byte(10, 0), FilterState::kDamaged, "probes");
  ExpectMaybe(with_number(32, 0), FilterState::kDamaged);
  // A filter with keys must not be taken for an empty one.
  ExpectMaybe(with_byte(8, bloom::Empty::kTag),
              bloom::Load64(&filter_[48]) != 0 ? FilterState::kUnknown : FilterState::kDamaged);
}

TEST_P(DamageTest, RandomHeadersWithRightChecksumsNeverReadOutside) {
  Dice dice(20'220'101);
  const uint64_t edges[] = {0,
                            1,
                            2,
                            63,
                            64,
                            511,
                            512,
                            513,
                            filter_.size() - 64,
                            8 * (filter_.size() - 64),
                            UINT64_MAX,
                            UINT64_MAX / 64 + 1,
                            UINT64_MAX / 512 + 2,
                            uint64_t{1} << 56};
  int usable = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = filter_;
    for (uint64_t changes = 1 + dice.Roll(4); changes > 0; --changes) {
      switch (dice.Roll(4)) {
        case 0:
          bytes[8 + dice.Roll(5)] = static_cast<char>(dice.Roll(40));
          break;
        case 1:
          bloom::Store64(&bytes[16 + 8 * dice.Roll(5)], edges[dice.Roll(std::size(edges))]);
          break;
        case 2:
          bloom::Store64(&bytes[16 + 8 * dice.Roll(5)], dice.Next() >> dice.Roll(64));
          break;
        case 3:
          bytes.resize(64 + dice.Roll(2 * filter_.size()));
          break;
      }
    }
    RepairChecksum(bytes);
    usable += Ask(bytes).description.state == FilterState::kUsable;
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(usable, 0);  // some forgeries pass the checks
}

TEST_P(DamageTest, RandomBytesAreNoFilter) {
  Dice dice(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(dice.Roll(200), '\0');
    for (char& byte : bytes) byte = static_cast<char>(dice.Next());
    if (round % 2 == 0) bytes.replace(0, std::min<size_t>(bytes.size(), 8), filter_, 0, 8);
    ExpectMaybe(bytes, FilterState::kDamaged);
  }
}

std::vector<std::string> KindsOfFiles() {
  std::vector<std::string> kinds;
  bloom::FileKinds::ForEach([&]<class K>(K) { kinds.emplace_back(K::kName); });
  return kinds;
}
std::string TestNameOf(std::string kind) {
  std::replace(kind.begin(), kind.end(), '-', '_');
  return kind;
}
INSTANTIATE_TEST_SUITE_P(Kinds, DamageTest, testing::ValuesIn(KindsOfFiles()),
                         [](const auto& kind) { return TestNameOf(kind.param); });

TEST(NoFilterTest, AnAbsentFilterSaysMaybe) {
  const FilterReader reader;
  EXPECT_EQ(reader.state(), FilterState::kDamaged);
  EXPECT_TRUE(reader.MayContain(1));
  reader.Prefetch(1);
  EXPECT_FALSE(reader.Describe().problem.empty());
  EXPECT_TRUE(reader.payload().empty());
  EXPECT_EQ(CountPassing(reader, 0, 100), 100u);
}

TEST(StandardTest, OnesAfterTheLastBitAreDamage) {
  std::string bytes = BuildFilter("standard", {.target_fpp = 0.01}, DigestsOfKeys(0, 1001));
  const uint64_t bits = FilterReader::Open(bytes).size_bits();
  ASSERT_NE(bits % 8, 0u) << "choose another number of keys";
  bytes.back() = static_cast<char>(static_cast<uint8_t>(bytes.back()) | 0x80);
  RepairChecksum(bytes);
  ExpectMaybe(bytes, FilterState::kDamaged, "after its last bit");
}

}  // namespace
