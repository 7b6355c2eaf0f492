#include "lsm/runtime/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SequencesTest, ListsSnapshotsOnceInOrder) {
  Sequences sequences;
  sequences.Start(7);
  EXPECT_THAT(sequences.Snapshots(), IsEmpty());
  EXPECT_EQ(sequences.oldest_snapshot(), kSequenceMax);
  EXPECT_EQ(sequences.Take(), 7u);
  EXPECT_EQ(sequences.Take(), 7u);
  sequences.Advance(2);
  EXPECT_EQ(sequences.Take(), 9u);
  EXPECT_THAT(sequences.Snapshots(), ElementsAre(7, 9));
  sequences.Release(7);
  EXPECT_THAT(sequences.Snapshots(), ElementsAre(7, 9)) << "one of two";
  EXPECT_EQ(sequences.oldest_snapshot(), 7u);
  sequences.Release(7);
  EXPECT_THAT(sequences.Snapshots(), ElementsAre(9));
  EXPECT_EQ(sequences.oldest_snapshot(), 9u);
}

TEST(SequencesTest, NeverUsesTheHighestNumber) {
  Sequences sequences;
  sequences.Start(kSequenceMax - 3);
  EXPECT_TRUE(sequences.HaveRoomFor(2));
  EXPECT_FALSE(sequences.HaveRoomFor(3));
}

}  // namespace
}  // namespace lsm
