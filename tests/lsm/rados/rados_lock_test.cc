#include "lsm/rados/rados_lock.h"

#include <gtest/gtest.h>

#include <string>

namespace lsm {
namespace {

// Ceph's cls_lock_lock_op and cls_lock_unlock_op, version 1.
TEST(RadosLockTest, RequestsAreThoseOfTheClass) {
  const auto bytes = [](const char* text, size_t size) { return std::string(text, size); };
  EXPECT_EQ(RadosLockRequest("ck", "me", 5'000'000'007, false), bytes("\1\1\x25\0\0\0"
                                                                      "\7\0\0\0trellis"
                                                                      "\1"
                                                                      "\2\0\0\0ck"
                                                                      "\0\0\0\0"
                                                                      "\2\0\0\0me"
                                                                      "\5\0\0\0\7\0\0\0"
                                                                      "\0",
                                                                      6 + 37));
  EXPECT_EQ(RadosLockRequest("ck", "me", 5'000'000'007, true).back(), '\2');
  EXPECT_EQ(RadosUnlockRequest("ck"), bytes("\1\1\x11\0\0\0\7\0\0\0trellis\2\0\0\0ck", 6 + 17));
}

TEST(RadosLockTest, EveryLockExpires) {
  const std::string shortest = RadosLockRequest("", "", 0, false);
  EXPECT_EQ(shortest, RadosLockRequest("", "", 1, false));
  EXPECT_NE(shortest, RadosLockRequest("", "", 2, false));
}

}  // namespace
}  // namespace lsm
