// Pins the bytes of filter objects.  Every later release must read what a release wrote.  (The
// layouts are in the headers of the filters and in their own tests.)
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bloom/family.h"
#include "bloom/hash.h"
#include "tests/support/golden.h"

namespace {

constexpr uint64_t kObjectSeed = 0x0123456789abcdef;

std::string ObjectKey(int i) { return "key " + std::to_string(i); }

// Name, size and checksum of all bytes; the first 80 of them in hexadecimal digits.
std::string ObjectLine(std::string_view name, std::string_view bytes) {
  char line[100];
  std::snprintf(line, sizeof line, ": %zu bytes, XXH3-64 %016llx", bytes.size(),
                static_cast<unsigned long long>(bloom::ChecksumOf(bytes, "")));
  std::string text = std::string(name) + line;
  for (size_t i = 0; i < bytes.size() && i < 80; ++i) {
    std::snprintf(line, sizeof line, "%02x", static_cast<unsigned char>(bytes[i]));
    text += (i % 16 == 0 ? "\n    " : "") + std::string(line);
  }
  return text + "\n";
}

template <class... Filters>
std::string FamilyLines(bloom::FilterList<Filters...>) {
  std::string text;
  const auto add = [&text]<class F>(F filter) {
    for (int i = 0; i < 40; ++i) filter.Add(ObjectKey(i));
    text += ObjectLine(F::kName, filter.Serialize());
  };
  (add(Filters::Make(30, 0.01, kObjectSeed).value()), ...);
  return text;
}

// --- one function for each of OtherFilters ---

constexpr int kObjectKeys = 30;

std::string LinesOf(std::type_identity<bloom::SpatialFilter>) {
  auto filter =
      bloom::SpatialFilter::Make(kObjectKeys, 0.01, {.areas = 5, .seed = kObjectSeed}).value();
  for (int i = 0; i < kObjectKeys; ++i) {
    EXPECT_TRUE(filter.Add(ObjectKey(i), 1 + static_cast<uint32_t>(i) % 5).ok());
  }
  return ObjectLine("spatial", filter.Serialize());
}

std::string LinesOf(std::type_identity<bloom::ShiftingAssociationFilter>) {
  auto filter = bloom::ShiftingAssociationFilter::Make(kObjectKeys, 0.01, kObjectSeed).value();
  for (int i = 0; i < kObjectKeys; ++i) filter.Add(ObjectKey(i), i % 3 != 0, i % 3 != 1);
  return ObjectLine("shifting-association", filter.Serialize());
}

std::string LinesOf(std::type_identity<bloom::ShiftingMultiplicityFilter>) {
  auto filter = bloom::ShiftingMultiplicityFilter::Make(kObjectKeys, 9, 0.01, kObjectSeed).value();
  for (int i = 0; i < kObjectKeys; ++i) {
    EXPECT_TRUE(filter.Add(ObjectKey(i), 1 + static_cast<uint32_t>(i) % 9).ok());
  }
  return ObjectLine("shifting-multiplicity", filter.Serialize());
}

std::string LinesOf(std::type_identity<bloom::PrefixFilter>) {
  auto filter = bloom::PrefixFilter::Make(kObjectKeys, 0.01,
                                          {.extractor = "delimiter:y", .seed = kObjectSeed})
                    .value();
  for (int i = 0; i < kObjectKeys; ++i) filter.Add(std::to_string(i) + ObjectKey(i));
  return ObjectLine("prefix", filter.Serialize());
}

std::string LinesOf(std::type_identity<bloom::ParquetFilter>) {
  auto filter = bloom::ParquetFilter::Make(kObjectKeys, 0.01).value();
  for (int i = 0; i < kObjectKeys; ++i) filter.Add(int64_t{i});
  return ObjectLine("parquet", filter.Serialize());
}

template <class T, class Base = bloom::Filter<bloom::Blocked>>
std::string VectorLine() {
  using F = bloom::VectorFilter<T, Base>;
  F filter = F::Make(20, 0.01, {.dimension = 3, .seed = kObjectSeed}).value();
  for (int i = 0; i < 20; ++i) {
    const std::vector<T> vector = {T{1}, static_cast<T>(i), T{7}};
    EXPECT_TRUE(filter.Add(vector).ok());
  }
  return ObjectLine(F::kName, filter.Serialize());
}

std::string LinesOf(std::type_identity<bloom::VectorFilter<float>>) {
  return VectorLine<int32_t>() + VectorLine<float>();
}

std::string LinesOf(std::type_identity<bloom::VectorFilter<float, bloom::CountingFilter>>) {
  return VectorLine<uint8_t, bloom::CountingFilter>();
}

template <class... Filters>
std::string LinesOfAll(bloom::ObjectList<Filters...>) {
  std::string text;
  ((text += LinesOf(std::type_identity<Filters>{})), ...);
  return text;
}

TEST(ObjectsGoldenTest, BytesAreFrozen) {
  testing_support::ExpectGolden("bloom/objects.golden",
                                FamilyLines(bloom::Family()) + LinesOfAll(bloom::OtherFilters()));
}

}  // namespace
