#include "lsm/pinned_value.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace lsm {
namespace {

// Counts its releases.
struct Pin {
  int released = 0;
  static void Release(void* pin) { ++static_cast<Pin*>(pin)->released; }
};

TEST(PinnedValueTest, IsEmptyAtFirst) {
  const PinnedValue value;
  EXPECT_EQ(value.view(), "");
}

TEST(PinnedValueTest, ReleasesItsPinOnce) {
  Pin pin;
  const std::string bytes = "bytes";
  {
    PinnedValue value;
    value.AssignPinned(bytes, &pin, &Pin::Release);
    EXPECT_EQ(value.view().data(), bytes.data());
    value.Reset();
    EXPECT_EQ(pin.released, 1);
    EXPECT_EQ(value.view(), "");
    value.Reset();
  }
  EXPECT_EQ(pin.released, 1);
}

TEST(PinnedValueTest, ReleasesOnDestructionAndAssignment) {
  Pin first;
  Pin second;
  {
    PinnedValue value;
    value.AssignPinned("a", &first, &Pin::Release);
    value.AssignPinned("b", &second, &Pin::Release);
    EXPECT_EQ(first.released, 1);
    EXPECT_EQ(second.released, 0);
  }
  EXPECT_EQ(second.released, 1);
  Pin third;
  PinnedValue value;
  value.AssignPinned("c", &third, &Pin::Release);
  value.AssignCopy("copy");
  EXPECT_EQ(third.released, 1);
  EXPECT_EQ(value.view(), "copy");
}

TEST(PinnedValueTest, MovesItsPin) {
  Pin pin;
  PinnedValue a;
  a.AssignPinned("bytes", &pin, &Pin::Release);
  PinnedValue b(std::move(a));
  EXPECT_EQ(b.view(), "bytes");
  EXPECT_EQ(a.view(), "");  // NOLINT: what is left is empty
  PinnedValue c;
  c.AssignCopy("old");
  c = std::move(b);
  EXPECT_EQ(c.view(), "bytes");
  EXPECT_EQ(pin.released, 0);
  c.Reset();
  EXPECT_EQ(pin.released, 1);
}

TEST(PinnedValueTest, MovesItsCopy) {
  for (const std::string& bytes : {std::string(), std::string("short"), std::string(1000, 'l')}) {
    PinnedValue a;
    a.AssignCopy(bytes);
    PinnedValue b(std::move(a));
    EXPECT_EQ(b.view(), bytes);
    EXPECT_EQ(a.view(), "");  // NOLINT: what is left is empty
    PinnedValue c;
    Pin pin;
    c.AssignPinned("pinned", &pin, &Pin::Release);
    c = std::move(b);
    EXPECT_EQ(pin.released, 1);
    EXPECT_EQ(c.view(), bytes);
    a.AssignCopy("again");
    EXPECT_EQ(a.view(), "again");
  }
}

TEST(PinnedValueTest, MovesWhenEmpty) {
  PinnedValue a;
  a.AssignCopy("used before");
  a.Reset();
  PinnedValue b(std::move(a));
  EXPECT_EQ(b.view(), "");
}

TEST(PinnedValueTest, SelfAssignmentChangesNothing) {
  PinnedValue value;
  value.AssignCopy("bytes");
  PinnedValue& same = value;
  value = std::move(same);
  EXPECT_EQ(value.view(), "bytes");
}

TEST(PinnedValueTest, PinsEmptyValues) {
  Pin pin;
  PinnedValue value;
  value.AssignPinned({}, &pin, &Pin::Release);
  PinnedValue other(std::move(value));
  other.Reset();
  EXPECT_EQ(pin.released, 1);
}

}  // namespace
}  // namespace lsm
