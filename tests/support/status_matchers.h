// Checks on absl::Status and absl::StatusOr:
//
//   EXPECT_OK(file->Sync());
//   EXPECT_THAT(directory->Stat("x"), StatusIs(absl::StatusCode::kNotFound));
//   EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 12")));
//   ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*directory, "x", 100));
#ifndef TRELLIS_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define TRELLIS_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace testing_support {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename Value>
const absl::Status& GetStatus(const absl::StatusOr<Value>& status_or) {
  return status_or.status();
}

inline std::string MessageString(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const absl::Status& status = GetStatus(arg);
  if (!status.ok()) *result_listener << "which is " << status.ToString();
  return status.ok();
}

// A status of this code, whose message matches.  Holds the matcher of the message by value.
class StatusIsMatcher {
 public:
  StatusIsMatcher(absl::StatusCode code, testing::Matcher<std::string> message)
      : code_(code), message_(std::move(message)) {}

  using is_gtest_matcher = void;

  template <typename StatusLike>
  bool MatchAndExplain(const StatusLike& status_like,
                       testing::MatchResultListener* listener) const {
    const absl::Status& status = GetStatus(status_like);
    *listener << "which is " << status.ToString();
    return status.code() == code_ && message_.Matches(MessageString(status));
  }

  void DescribeTo(std::ostream* out) const {
    *out << "has code " << absl::StatusCodeToString(code_) << " and a message that ";
    message_.DescribeTo(out);
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not have code " << absl::StatusCodeToString(code_) << ", or a message that ";
    message_.DescribeNegationTo(out);
  }

 private:
  absl::StatusCode code_;
  testing::Matcher<std::string> message_;
};

inline StatusIsMatcher StatusIs(absl::StatusCode code,
                                testing::Matcher<std::string> message = testing::_) {
  return StatusIsMatcher(code, std::move(message));
}

}  // namespace testing_support

// GoogleTest would print the bytes of a StatusOr.
namespace absl {
template <typename Value>
void PrintTo(const StatusOr<Value>& status_or, std::ostream* out) {
  *out << (status_or.ok() ? std::string("OK with a value") : status_or.status().ToString());
}
}  // namespace absl

#define EXPECT_OK(expression) EXPECT_THAT((expression), ::testing_support::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT((expression), ::testing_support::IsOk())

#define TESTING_SUPPORT_CONCAT_INNER(a, b) a##b
#define TESTING_SUPPORT_CONCAT(a, b) TESTING_SUPPORT_CONCAT_INNER(a, b)

// Declares or assigns `target` from a StatusOr, or fails the test with its status.
#define ASSERT_OK_AND_ASSIGN(target, expression)                                             \
  TESTING_SUPPORT_ASSERT_OK_AND_ASSIGN(TESTING_SUPPORT_CONCAT(status_or_, __LINE__), target, \
                                       expression)
#define TESTING_SUPPORT_ASSERT_OK_AND_ASSIGN(temporary, target, expression)              \
  auto temporary = (expression);                                                         \
  ASSERT_TRUE(temporary.ok()) << #expression << " is " << temporary.status().ToString(); \
  target = std::move(temporary).value()

#endif  // TRELLIS_TESTS_SUPPORT_STATUS_MATCHERS_H_
