#include "lsm/bytes/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>

#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

TEST(StatusTest, ConcatenatesTextCharactersAndNumbers) {
  const std::string name = "000012.table";
  EXPECT_EQ(Concat(name, ": ", std::string_view("block"), ' ', 12, " of ", uint64_t{1} << 63, -5),
            "000012.table: block 12 of 9223372036854775808-5");
  EXPECT_EQ(Concat(), "");
}

TEST(StatusTest, NamesFileAndOffsetOfDamage) {
  EXPECT_THAT(
      DamageAt("db/000012.table", 4096, "checksum differs"),
      StatusIs(absl::StatusCode::kDataLoss, "db/000012.table: offset 4096: checksum differs"));
}

TEST(StatusTest, PutsContextBeforeTheMessageAndKeepsTheKind) {
  EXPECT_THAT(WithContext(absl::NotFoundError("CURRENT"), "open"),
              StatusIs(absl::StatusCode::kNotFound, "open: CURRENT"));
  EXPECT_OK(WithContext(absl::OkStatus(), "open"));
  absl::Status with_payload = absl::AbortedError("x");
  with_payload.SetPayload("kind", absl::Cord("bytes"));
  EXPECT_TRUE(WithContext(with_payload, "y").GetPayload("kind").has_value());
}

TEST(StatusTest, TellsAFullDiskFromOtherLimits) {
  EXPECT_THAT(DiskFull("a: full"), StatusIs(absl::StatusCode::kResourceExhausted, "a: full"));
  EXPECT_TRUE(IsDiskFull(DiskFull("full")));
  EXPECT_TRUE(IsDiskFull(WithContext(DiskFull("full"), "open")));
  EXPECT_FALSE(IsDiskFull(absl::ResourceExhaustedError("full")));
  EXPECT_FALSE(IsDiskFull(OutOfMemory()));
  EXPECT_FALSE(IsDiskFull(absl::OkStatus()));
}

TEST(StatusTest, AnExceptionForOutOfMemoryBecomesAStatus) {
  const absl::StatusOr<int> none =
      CatchOutOfMemory([]() -> absl::StatusOr<int> { throw std::bad_alloc(); });
  EXPECT_EQ(none.status(), absl::ResourceExhaustedError("out of memory"));
  EXPECT_EQ(CatchOutOfMemory([] { return absl::StatusOr<int>(7); }).value(), 7);
}

TEST(StatusTest, ReturnsTheFirstErrorAndNothingElse) {
  const auto pass_on = [](const absl::Status& status) -> absl::Status {
    TRELLIS_RETURN_IF_ERROR(status);
    return absl::UnknownError("went on");
  };
  EXPECT_THAT(pass_on(absl::DataLossError("x")), StatusIs(absl::StatusCode::kDataLoss, "x"));
  EXPECT_THAT(pass_on(absl::OkStatus()), StatusIs(absl::StatusCode::kUnknown, "went on"));
}

TEST(StatusTest, AssignsValuesThatCanOnlyBeMoved) {
  using Pointer = std::unique_ptr<int>;
  const auto take = [](absl::StatusOr<Pointer> from) -> absl::StatusOr<int> {
    TRELLIS_ASSIGN_OR_RETURN(const Pointer pointer, std::move(from));
    return *pointer;
  };
  ASSERT_OK_AND_ASSIGN(const int value, take(std::make_unique<int>(7)));
  EXPECT_EQ(value, 7);
  EXPECT_THAT(take(absl::NotFoundError("none")), StatusIs(absl::StatusCode::kNotFound, "none"));
}

}  // namespace
}  // namespace lsm
