// Space amplification while a snapshot keeps what a range delete hides.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "lsm/statistics.h"
#include "tests/lsm/engine/ranges/large_values_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class HiddenSpaceTest : public LargeValuesTest {
 protected:
  // So large that indexes are whole, and tell all blocks apart.
  HiddenSpaceTest() { options_.block_cache_bytes = 64 << 20; }
  double Amplification() { return db_->GetStatistics().space_amplification(); }
  uint64_t Hidden() { return db_->GetStatistics().total.hidden_bytes; }
};

TEST_F(HiddenSpaceTest, CountsDataThatASnapshotHolds) {
  Open();
  Fill();
  EXPECT_NEAR(Amplification(), 1, 0.01);
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  DeleteRange(Key(0), Key(180));
  EXPECT_NEAR(Amplification(), 1, 0.01) << "a range in a memtable hides nothing yet";
  Flush();
  EXPECT_NEAR(Amplification(), 10, 0.5);
  EXPECT_NEAR(static_cast<double>(Hidden()), 180.0 * kValueBytes, 0.01 * kKeys * kValueBytes);
  EXPECT_EQ(db_->GetStatistics().total.freeable_bytes, 0u);

  // No compaction follows from it.
  EXPECT_EQ(LevelsAfterALook(), "1 4");
  EXPECT_TRUE(listener_->reasons.empty());

  // The range moves into the tables of the entries.
  CompactAll();
  EXPECT_EQ(Levels(), "0 4");
  EXPECT_NEAR(Amplification(), 10, 0.5);
  // Then each table has newer entries, too.
  for (int i = 0; i < kKeys; i += 10) Put(Key(i), ValueOf(i));
  CompactAll();
  ASSERT_EQ(db_->GetStatistics().levels[0].tables, 0u);
  EXPECT_GT(Amplification(), 4);

  snapshot.reset();
  CompactAll();
  EXPECT_NEAR(Amplification(), 1, 0.01);
  EXPECT_EQ(Hidden(), 0u);
}

TEST_F(HiddenSpaceTest, CountsTheEndsOfARange) {
  Open();
  Fill();
  DeleteRange(Key(10), Key(190));
  EXPECT_EQ(LevelsAfterALook(), "1 2") << "the tables at both ends stay";
  const Statistics statistics = db_->GetStatistics();
  const auto stored = static_cast<double>(statistics.total.table_bytes);
  EXPECT_NEAR(Amplification(), stored / (20.0 * kValueBytes), 0.3);
  CompactAll();
  EXPECT_NEAR(Amplification(), 1, 0.01);
}

}  // namespace
}  // namespace lsm
