#include "bloom/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/counting.h"
#include "bloom/filter.h"
#include "bloom/filter_policy.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::AddHeader;
using bloom::PayloadFilter;
using bloom::PayloadParameters;
using bloom::PayloadParts;
using bloom::RemoveHeader;
using bloom::Shape;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::DigestsOfKeys;
using testing_support::kSomeProbes;
using testing_support::StatusIs;

// --- with and without a header ---

template <class Kind>
class HeaderlessTest : public testing::Test {};
TYPED_TEST_SUITE(HeaderlessTest, testing_support::KeyedKindTypes, testing_support::KindNames);

TYPED_TEST(HeaderlessTest, HeaderCanBeRemovedAndAddedAgain) {
  const auto digests = DigestsOfKeys(0, testing_support::kFewKeys);
  const std::string bytes = testing_support::BuildFilter(
      TypeParam::kName, {.target_fpp = testing_support::kFewKeysFpp, .seed = 7}, digests);
  ASSERT_OK_AND_ASSIGN(const PayloadParts parts, RemoveHeader(bytes));
  EXPECT_EQ(parts.payload, bytes.substr(64));
  EXPECT_EQ(parts.parameters.kind, TypeParam::kTag);
  EXPECT_EQ(parts.parameters.seed, 7u);
  EXPECT_EQ(parts.parameters.key_count, digests.size());
  EXPECT_EQ(parts.parameters.target_fpp, testing_support::kFewKeysFpp);
  ASSERT_OK_AND_ASSIGN(const std::string again, AddHeader(parts.parameters, parts.payload));
  EXPECT_TRUE(again == bytes);
}

TYPED_TEST(HeaderlessTest, WrongSizesAreErrors) {
  const std::string bytes = testing_support::BuildFilter(
      TypeParam::kName, {.target_fpp = testing_support::kFewKeysFpp, .seed = 7},
      DigestsOfKeys(0, testing_support::kFewKeys));
  ASSERT_OK_AND_ASSIGN(const PayloadParts parts, RemoveHeader(bytes));
  const std::string payload(parts.payload);
  for (const std::string& wrong : {std::string(), payload.substr(1), payload + '\0'})
    EXPECT_THAT(AddHeader(parts.parameters, wrong), StatusIs(absl::StatusCode::kDataLoss));
  PayloadParameters parameters = parts.parameters;
  parameters.shape.size = 0;
  EXPECT_THAT(AddHeader(parameters, payload), StatusIs(absl::StatusCode::kDataLoss));
  parameters.shape = {UINT64_MAX, parts.parameters.shape.probes};
  EXPECT_THAT(AddHeader(parameters, payload), StatusIs(absl::StatusCode::kDataLoss));
  parameters = parts.parameters;
  parameters.shape.probes = 33;
  EXPECT_THAT(AddHeader(parameters, payload), StatusIs(absl::StatusCode::kDataLoss));
  parameters = parts.parameters;
  parameters.target_fpp = 1;
  EXPECT_THAT(AddHeader(parameters, payload),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("target_fpp")));
}

TEST(PayloadTest, EmptyFilterHasNoPayload) {
  const std::string bytes = testing_support::BuildFilter("blocked", {}, {});
  ASSERT_OK_AND_ASSIGN(const PayloadParts parts, RemoveHeader(bytes));
  EXPECT_EQ(parts.payload, "");
  EXPECT_EQ(AddHeader(parts.parameters, "").value(), bytes);
}

TEST(PayloadTest, UnknownKindsAndDamageAreNamed) {
  EXPECT_THAT(AddHeader({.kind = 9, .shape = {64, 3}}, std::string(8, '\0')),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("kind 9 is unknown")));
  const auto counting = bloom::CountingFilter::Make(10, 0.01).value();
  EXPECT_THAT(RemoveHeader(counting.Serialize()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("kind 64 is unknown")));
  std::string bytes = bloom::Filter<bloom::Standard>::Make(10, 0.01)->Serialize();
  bytes.back() = 1;
  EXPECT_THAT(RemoveHeader(bytes), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum")));
  EXPECT_THAT(RemoveHeader(""), StatusIs(absl::StatusCode::kDataLoss));
}

// Untrusted parameters and payloads are refused, or give a filter that every reader accepts.
TYPED_TEST(HeaderlessTest, ForgedParametersAndPayloadsAreHarmless) {
  const std::string bytes = testing_support::BuildFilter(
      TypeParam::kName, {.target_fpp = testing_support::kFewKeysFpp, .seed = 7},
      DigestsOfKeys(0, testing_support::kFewKeys));
  ASSERT_OK_AND_ASSIGN(const PayloadParts parts, RemoveHeader(bytes));
  Dice dice(9);
  const auto forge = [&](uint64_t value) {
    const uint64_t odd[] = {value + 1,
                            value - 1,
                            dice.Roll(64),
                            dice.Next() >> dice.Roll(64),
                            UINT64_MAX - value,
                            UINT64_MAX,
                            uint64_t{1} << dice.Roll(64)};
    return dice.OneIn(4) ? odd[dice.Roll(std::size(odd))] : value;
  };
  const double rates[] = {0.5, 0, -1, 1, std::nan(""), HUGE_VAL, 1e-300};
  int taken = 0;
  for (int i = 0; i < 4000; ++i) {
    PayloadParameters forged = parts.parameters;
    forged.shape = {forge(forged.shape.size), static_cast<uint32_t>(forge(forged.shape.probes)),
                    forge(forged.shape.detail)};
    forged.seed = dice.Next();
    forged.key_count = forge(forged.key_count);
    if (dice.OneIn(8)) forged.target_fpp = rates[dice.Roll(std::size(rates))];
    std::string payload(parts.payload);
    if (dice.OneIn(8)) payload.resize(forge(payload.size()) % (2 * payload.size()), '\xff');
    for (uint64_t flips = dice.Roll(4); flips > 0 && !payload.empty(); --flips)
      payload[dice.Roll(payload.size())] = static_cast<char>(dice.Next());
    const auto whole = AddHeader(forged, payload);
    if (!whole.ok()) {
      EXPECT_THAT(whole, StatusIs(absl::StatusCode::kDataLoss));
      continue;
    }
    ++taken;
    ASSERT_OK_AND_ASSIGN(const PayloadParts again, RemoveHeader(*whole));
    EXPECT_EQ(again.parameters, forged);
    EXPECT_TRUE(again.payload == payload);
    const bloom::FilterReader reader = bloom::FilterReader::Open(*whole);
    EXPECT_EQ(reader.state(), bloom::FilterState::kUsable);
    for (uint64_t key = 0; key < 50; ++key) reader.MayContain(DigestOfKey(key));
  }
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 3500);
}

TYPED_TEST(HeaderlessTest, DamagedBytesKeepTheirHeader) {
  const std::string bytes = testing_support::BuildFilter(
      TypeParam::kName, {.target_fpp = testing_support::kFewKeysFpp, .seed = 7},
      DigestsOfKeys(0, testing_support::kFewKeys));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(RemoveHeader(std::string_view(bytes).substr(0, size)).ok()) << size;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(RemoveHeader(flipped).ok()) << bit;
  }
}

// --- in place ---

template <class Layout>
class PayloadFilterTest : public testing::Test {
 protected:
  static constexpr Shape kShape = {12, kSomeProbes<Layout>};
};
TYPED_TEST_SUITE(PayloadFilterTest, testing_support::BitKindTypes, testing_support::KindNames);

TYPED_TEST(PayloadFilterTest, HasTheBitsOfAFilterWithHeader) {
  bloom::Filter<TypeParam> framed =
      bloom::Filter<TypeParam>::MakeOfShape(this->kShape, 0.01, 5).value();
  const uint64_t bytes = TypeParam::PayloadBytes(this->kShape);
  // At every alignment, between bytes of another owner.
  for (size_t at = 0; at < 8; ++at) {
    framed.Clear();
    std::vector<uint8_t> packet(at + bytes + 3, 0xA5);
    const std::span<uint8_t> field = std::span(packet).subspan(at, bytes);
    std::fill(field.begin(), field.end(), uint8_t{0});
    ASSERT_OK_AND_ASSIGN(auto filter, PayloadFilter<TypeParam>::Over(field, this->kShape, 5));
    EXPECT_FALSE(filter.MayContain("a"));
    for (uint64_t i = 0; i < 3; ++i) {
      const bloom::Digest digest = DigestOfKey(i);
      EXPECT_EQ(filter.AddDigestIfAbsent(digest), framed.AddDigestIfAbsent(digest));
      EXPECT_FALSE(filter.AddDigestIfAbsent(digest));
    }
    filter.Add("a");
    framed.Add("a");
    EXPECT_TRUE(filter.MayContain("a"));
    EXPECT_TRUE(std::string(field.begin(), field.end()) == framed.Serialize().substr(64));
    EXPECT_EQ(filter.CountOnes(), framed.CountOnes());
    EXPECT_EQ(filter.CurrentFpp(), framed.CurrentFpp());
    EXPECT_EQ(filter.PredictedFpp(4), framed.PredictedFpp(4));
    for (uint64_t i = 0; i < 1000; ++i)
      EXPECT_EQ(filter.MayContainDigest(DigestOfKey(i)), framed.MayContainDigest(DigestOfKey(i)));
    std::fill(field.begin(), field.end(), uint8_t{0xA5});
    EXPECT_EQ(packet, std::vector<uint8_t>(packet.size(), 0xA5));
  }
}

TYPED_TEST(PayloadFilterTest, WrongSizesAreErrors) {
  using Filter = PayloadFilter<TypeParam>;
  std::vector<uint8_t> field(TypeParam::PayloadBytes(this->kShape) + 1);
  const auto over = [&](size_t bytes, const Shape& shape) {
    return Filter::Over(std::span(field).first(bytes), shape);
  };
  EXPECT_TRUE(over(field.size() - 1, this->kShape).ok());
  for (const size_t bytes : {size_t{0}, field.size() - 2, field.size()})
    EXPECT_THAT(over(bytes, this->kShape), StatusIs(absl::StatusCode::kDataLoss)) << bytes;
  EXPECT_THAT(over(0, {0, kSomeProbes<TypeParam>}), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(over(field.size() - 1, {UINT64_MAX, kSomeProbes<TypeParam>}),
              StatusIs(absl::StatusCode::kDataLoss));
  for (const uint32_t probes : {0u, 33u})
    EXPECT_THAT(over(field.size() - 1, {this->kShape.size, probes}),
                StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(over(field.size() - 1, {this->kShape.size, kSomeProbes<TypeParam>, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// Untrusted shapes and fields are refused, or queries and additions stay within the field.
TYPED_TEST(PayloadFilterTest, ForgedShapesStayWithinTheField) {
  Dice dice(9);
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t size = dice.OneIn(2) ? dice.Roll(200) : dice.Next() >> dice.Roll(64);
    const Shape shape{size, static_cast<uint32_t>(dice.Roll(34)), dice.OneIn(8) ? dice.Next() : 0};
    const uint64_t fitting = TypeParam::PayloadBytes(shape);
    // Exactly as long as the field, so that a sanitizer sees what lies outside.
    std::vector<uint8_t> field(fitting < 20'000 && !dice.OneIn(4) ? fitting : dice.Roll(500));
    for (uint8_t& byte : field) byte = static_cast<uint8_t>(dice.Next());
    auto filter = PayloadFilter<TypeParam>::Over(field, shape, dice.Next());
    if (!filter.ok()) continue;
    ++taken;
    ASSERT_EQ(field.size(), fitting);
    for (uint64_t key = 0; key < 20; ++key) {
      filter->MayContainDigest(DigestOfKey(key));
      filter->AddDigest(DigestOfKey(key));
      EXPECT_TRUE(filter->MayContainDigest(DigestOfKey(key)));
    }
    EXPECT_LE(filter->CurrentFpp(), 1);
  }
  EXPECT_GT(taken, 200);
}

// Must never change, because another program may have such a field in its packets.
TEST(PayloadTest, FieldOf128BitsIsFrozen) {
  std::vector<uint8_t> field(16);
  auto seen = PayloadFilter<bloom::Standard>::Over(field, {.size = 128, .probes = 4}, 42).value();
  for (const char* router : {"router 1", "router 2", "router 3"}) seen.Add(router);
  std::string hex;
  for (const uint8_t byte : field) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  EXPECT_EQ(hex, "20040404080080000000000808004402");
  EXPECT_EQ(seen.CountOnes(), 11u);  // two routers share one
}

}  // namespace
