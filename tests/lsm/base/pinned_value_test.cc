#include "lsm/pinned_value.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lsm/table/pinned_value_filler.h"

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
    PinnedValueFiller::AssignPinned(bytes, &pin, &Pin::Release, &value);
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
    PinnedValueFiller::AssignPinned("a", &first, &Pin::Release, &value);
    PinnedValueFiller::AssignPinned("b", &second, &Pin::Release, &value);
    EXPECT_EQ(first.released, 1);
    EXPECT_EQ(second.released, 0);
  }
  EXPECT_EQ(second.released, 1);
  Pin third;
  PinnedValue value;
  PinnedValueFiller::AssignPinned("c", &third, &Pin::Release, &value);
  PinnedValueFiller::AssignCopy("copy", &value);
  EXPECT_EQ(third.released, 1);
  EXPECT_EQ(value.view(), "copy");
}

TEST(PinnedValueTest, MovesItsPin) {
  Pin pin;
  PinnedValue a;
  PinnedValueFiller::AssignPinned("bytes", &pin, &Pin::Release, &a);
  PinnedValue b(std::move(a));
  EXPECT_EQ(b.view(), "bytes");
  EXPECT_EQ(a.view(), "");  // NOLINT: what is left is empty
  PinnedValue c;
  PinnedValueFiller::AssignCopy("old", &c);
  c = std::move(b);
  EXPECT_EQ(c.view(), "bytes");
  EXPECT_EQ(pin.released, 0);
  c.Reset();
  EXPECT_EQ(pin.released, 1);
}

TEST(PinnedValueTest, MovesItsCopy) {
  for (const std::string& bytes : {std::string(), std::string("short"), std::string(1000, 'l')}) {
    PinnedValue a;
    PinnedValueFiller::AssignCopy(bytes, &a);
    PinnedValue b(std::move(a));
    EXPECT_EQ(b.view(), bytes);
    EXPECT_EQ(a.view(), "");  // NOLINT: what is left is empty
    PinnedValue c;
    Pin pin;
    PinnedValueFiller::AssignPinned("pinned", &pin, &Pin::Release, &c);
    c = std::move(b);
    EXPECT_EQ(pin.released, 1);
    EXPECT_EQ(c.view(), bytes);
    PinnedValueFiller::AssignCopy("again", &a);
    EXPECT_EQ(a.view(), "again");
  }
}

TEST(PinnedValueTest, MovesWhenEmpty) {
  PinnedValue a;
  PinnedValueFiller::AssignCopy("used before", &a);
  a.Reset();
  PinnedValue b(std::move(a));
  EXPECT_EQ(b.view(), "");
}

TEST(PinnedValueTest, SelfAssignmentChangesNothing) {
  PinnedValue value;
  PinnedValueFiller::AssignCopy("bytes", &value);
  PinnedValue& same = value;
  value = std::move(same);
  EXPECT_EQ(value.view(), "bytes");
}

TEST(PinnedValueTest, PinsEmptyValues) {
  Pin pin;
  PinnedValue value;
  PinnedValueFiller::AssignPinned({}, &pin, &Pin::Release, &value);
  PinnedValue other(std::move(value));
  other.Reset();
  EXPECT_EQ(pin.released, 1);
}

}  // namespace
}  // namespace lsm
