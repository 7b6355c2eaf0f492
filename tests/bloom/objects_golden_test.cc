// The bytes of the filters that are objects, for ever: what a release has written, all later ones
// read.  (Where each has what, their own tests and headers say.)
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/filter_format.h"
#include "bloom/family.h"
#include "bloom/filters/counting.h"
#include "bloom/filters/parquet.h"
#include "bloom/filters/prefix.h"
#include "bloom/filters/shifting_association.h"
#include "bloom/filters/shifting_multiplicity.h"
#include "bloom/filters/spatial.h"
#include "bloom/filters/vectors.h"
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

template <class T, class Base>
std::string VectorLine() {
  using F = bloom::VectorFilter<T, Base>;
  F filter = F::Make(20, 0.01, {.dimension = 3, .seed = kObjectSeed}).value();
  for (int i = 0; i < 20; ++i) {
    const std::vector<T> vector = {T{1}, static_cast<T>(i), T{7}};
    EXPECT_TRUE(filter.Add(vector).ok());
  }
  return ObjectLine(F::kName, filter.Serialize());
}

TEST(ObjectsGoldenTest, TheirBytesAreFrozen) {
  std::string text = FamilyLines(bloom::Family());
  auto spatial = bloom::SpatialFilter::Make(30, 0.01, {.areas = 5, .seed = kObjectSeed}).value();
  auto sets = bloom::ShiftingAssociationFilter::Make(30, 0.01, kObjectSeed).value();
  auto counts = bloom::ShiftingMultiplicityFilter::Make(30, 9, 0.01, kObjectSeed).value();
  auto prefixes =
      bloom::PrefixFilter::Make(30, 0.01, {.extractor = "delimiter:y", .seed = kObjectSeed})
          .value();
  auto parquet = bloom::ParquetFilter::Make(30, 0.01).value();
  for (int i = 0; i < 30; ++i) {
    const std::string key = ObjectKey(i);
    const auto number = static_cast<uint32_t>(i);
    EXPECT_TRUE(spatial.Add(key, 1 + number % 5).ok());
    sets.Add(key, i % 3 != 0, i % 3 != 1);
    EXPECT_TRUE(counts.Add(key, 1 + number % 9).ok());
    prefixes.Add(std::to_string(i) + key);
    parquet.Add(int64_t{i});
  }
  text += ObjectLine("spatial", spatial.Serialize());
  text += ObjectLine("shifting-association", sets.Serialize());
  text += ObjectLine("shifting-multiplicity", counts.Serialize());
  text += ObjectLine("prefix", prefixes.Serialize());
  text += ObjectLine("parquet", parquet.Serialize());
  text += VectorLine<int32_t, bloom::Filter<bloom::Blocked>>();
  text += VectorLine<float, bloom::Filter<bloom::Blocked>>();
  text += VectorLine<uint8_t, bloom::CountingFilter>();
  testing_support::ExpectGolden("bloom/objects.golden", text);
}

}  // namespace
