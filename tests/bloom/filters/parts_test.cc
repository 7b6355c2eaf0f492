#include "bloom/filters/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/bits.h"
#include "tests/support/status_matchers.h"

namespace {

using testing::HasSubstr;
using testing_support::IsOk;
using testing_support::StatusIs;

// Reads a copy of exactly these bytes, so that AddressSanitizer sees a read after them.
absl::StatusOr<std::vector<std::string>> PartsOfCopy(std::string_view bytes) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const auto parts = bloom::ReadParts({copy.get(), bytes.size()});
  if (!parts.ok()) return parts.status();
  return std::vector<std::string>(parts->begin(), parts->end());
}

TEST(PartsTest, ReadsAppendedParts) {
  const std::vector<std::string> parts = {"apple", "", std::string(300, '\0'), "pear"};
  std::string payload;
  for (const std::string& part : parts) bloom::AppendPart(part, payload);
  EXPECT_EQ(payload.size(), 4 * 8 + 5 + 300 + 4u);
  EXPECT_EQ(payload.substr(0, 13), std::string("\5\0\0\0\0\0\0\0apple", 13));
  EXPECT_EQ(PartsOfCopy(payload).value(), parts);
  EXPECT_TRUE(PartsOfCopy("").value().empty());
}

TEST(PartsTest, WrongLengthsAreDataLoss) {
  std::string payload;
  bloom::AppendPart("apple", payload);
  bloom::AppendPart("pear", payload);
  for (size_t size = 1; size < payload.size(); ++size) {
    if (size == 13) {  // after the first part
      EXPECT_THAT(PartsOfCopy(payload.substr(0, size)), IsOk());
    } else {
      EXPECT_THAT(PartsOfCopy(payload.substr(0, size)),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr(size < 13 ? "part 0" : "part 1")))
          << size;
    }
  }
  for (const uint64_t length : {uint64_t{5}, uint64_t{13}, uint64_t{1} << 32, uint64_t{1} << 63,
                                UINT64_MAX - 7, UINT64_MAX}) {
    std::string forged = payload;
    bloom::Store64(&forged[13], length);
    EXPECT_THAT(PartsOfCopy(forged), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("part 1")))
        << length;
  }
}

}  // namespace
