#include "bloom/policy/kind_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::Digest;
using bloom::KindBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::DigestsOfKeys;
using testing_support::StatusIs;

// A standard filter that is built without the last of its digests.
struct Forgetful : bloom::Standard {
  static void Build(uint8_t* payload, const bloom::Shape& shape, uint64_t seed,
                    std::span<const Digest> digests) {
    bloom::Standard::Build(payload, shape, seed, digests.first(digests.size() - 1));
  }
};

// A standard filter whose bytes no reader accepts.
struct Unreadable : bloom::Standard {
  static constexpr uint8_t kVersion = 77;
};

template <typename Kind>
absl::StatusOr<std::string> Build(const std::vector<Digest>& digests) {
  KindBuilder<Kind> builder({.target_fpp = 0.0001});
  for (const Digest digest : digests) builder.Add(digest);
  return builder.Finish();
}

TEST(KindBuilderTest, RefusesFiltersThatMissADigest) {
  for (const uint64_t keys : {2, 255, 256, 257, 1000}) {
    const std::vector<Digest> digests = DigestsOfKeys(0, keys);
    EXPECT_OK(Build<bloom::Standard>(digests));
    EXPECT_THAT(
        Build<Forgetful>(digests),
        StatusIs(absl::StatusCode::kInternal,
                 AllOf(HasSubstr("just built misses the digest"),
                       HasSubstr((std::ostringstream() << std::hex << digests.back()).str()))));
  }
}

TEST(KindBuilderTest, RefusesUnreadableFilters) {
  EXPECT_THAT(Build<Unreadable>(DigestsOfKeys(0, 100)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("a filter that was just built")));
}

}  // namespace
