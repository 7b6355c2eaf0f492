#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lsm/rados.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::StatusIs;

TEST(RadosUriTest, HasAPoolAndAPath) {
  const auto parsed = [](const std::string& uri) {
    const absl::StatusOr<RadosPlace> place = ParseRadosUri(uri);
    return place.ok() ? place->user + (place->user.empty() ? "" : " | ") + place->pool + " | " +
                            place->path
                      : place.status().ToString();
  };
  EXPECT_EQ(parsed("rados://pool/store"), "pool | store");
  EXPECT_EQ(parsed("rados://pool/a/b/000001.table"), "pool | a/b/000001.table");
  EXPECT_EQ(parsed("rados://pool/store/"), "pool | store/");
  EXPECT_EQ(parsed("rados://pool//store"), "pool | /store");
  EXPECT_EQ(parsed("rados://my.pool-1/my store"), "my.pool-1 | my store");
  EXPECT_EQ(parsed("rados://me@pool/store@2"), "me | pool | store@2");
}

TEST(RadosUriTest, NamesTheMissingPart) {
  const auto refused = [](const std::string& uri, const std::string& why) {
    EXPECT_THAT(ParseRadosUri(uri), StatusIs(absl::StatusCode::kInvalidArgument,
                                             AllOf(HasSubstr("\"" + uri + "\""), HasSubstr(why),
                                                   HasSubstr("rados://POOL/STORE"))));
  };
  for (const char* other : {"", "/pool/store", "rados:/pool/store", "RADOS://pool/store",
                            " rados://pool/store", "http://pool/store"}) {
    refused(other, "does not begin with rados://");
  }
  refused("rados://", "names no pool");
  refused("rados:///store", "names no pool");
  refused("rados://me@/store", "names no pool");
  refused("rados://@pool/store", "names no user");
  refused("rados://pool", "names no store");
  refused("rados://pool/", "names no store");
  refused("rados://pool//./", "names no store");
  refused(std::string("rados://pool/a\0b", 16), "contains a zero byte");
}

}  // namespace
}  // namespace lsm
