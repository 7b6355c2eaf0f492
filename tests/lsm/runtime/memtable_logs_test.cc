#include "lsm/runtime/memtable_logs.h"

#include <gtest/gtest.h>

#include <memory>

#include "lsm/version/manifest.h"

namespace lsm {
namespace {

class MemtableLogsTest : public testing::Test {
 protected:
  MemtableLogsTest() { view_.memtable = std::make_shared<Memtable>(); }

  uint64_t Bytes() const { return view_.memtable->memory_bytes(); }

  ReadView view_;
  MemtableLogs logs_ = MemtableLogs::StartingWith(5, 42);
};

TEST_F(MemtableLogsTest, SealedMemtablesKeepTheirLog) {
  EXPECT_EQ(logs_.oldest().number, 5u);
  logs_.Seal(100, FlushReason::kRequest, 8);
  logs_.Seal(200, FlushReason::kMemtable, 9);
  EXPECT_EQ(logs_.oldest().number, 5u);
  EXPECT_EQ(logs_.oldest().last_sequence, 100u);
  EXPECT_EQ(logs_.oldest().reason, FlushReason::kRequest);
  EXPECT_EQ(logs_.number_after_oldest(), 8u);
  logs_.RemoveOldest();
  EXPECT_EQ(logs_.oldest().last_sequence, 200u);
  EXPECT_EQ(logs_.number_after_oldest(), 9u);
}

TEST_F(MemtableLogsTest, IdsFollowFromTheSeed) {
  EXPECT_EQ(logs_.FileIdOf(7), LogFileId(42, 7));
  EXPECT_NE(logs_.FileIdOf(7), logs_.FileIdOf(8));
}

TEST_F(MemtableLogsTest, NextLogIsDueAtHalfAMemtable) {
  EXPECT_FALSE(logs_.IsNextDue(view_, 2 * Bytes() + 2));
  EXPECT_TRUE(logs_.IsNextDue(view_, 2 * Bytes()));
  EXPECT_FALSE(logs_.IsNextNeeded(view_)) << "an empty memtable is not sealed";
}

TEST_F(MemtableLogsTest, NextLogIsDueAfterASealedMemtable) {
  view_.sealed.push_back(view_.memtable);
  view_.memtable = std::make_shared<Memtable>();
  EXPECT_TRUE(logs_.IsNextDue(view_, 2 * Bytes()));
}

TEST_F(MemtableLogsTest, TriesTheNextLogOncePerMemtable) {
  EXPECT_FALSE(logs_.is_next_being_made());
  logs_.BeginNext();
  EXPECT_TRUE(logs_.is_next_being_made());
  EXPECT_FALSE(logs_.IsNextDue(view_, 2 * Bytes()));
  logs_.EndNext(/*is_made=*/true);
  EXPECT_FALSE(logs_.is_next_being_made());
  EXPECT_FALSE(logs_.IsNextDue(view_, 2 * Bytes())) << "it is there, or the writer makes it";
  logs_.Seal(100, FlushReason::kMemtable, 8);
  EXPECT_TRUE(logs_.IsNextDue(view_, 2 * Bytes()));
}

TEST_F(MemtableLogsTest, EarlySealsMakeTheNextLog) {
  view_.memtable->Add(1, EntryKind::kDelete, "key", "");
  EXPECT_FALSE(logs_.is_seal_wanted());
  logs_.WantSeal();
  EXPECT_TRUE(logs_.is_seal_wanted());
  EXPECT_TRUE(logs_.IsNextNeeded(view_));
  logs_.BeginNext();
  EXPECT_FALSE(logs_.IsNextNeeded(view_));
  logs_.EndNext(/*is_made=*/true);
  EXPECT_TRUE(logs_.is_next_made());
  logs_.LeaveSeal();
  EXPECT_FALSE(logs_.is_seal_wanted());
  EXPECT_TRUE(logs_.is_seal_left());
  logs_.Seal(100, FlushReason::kTombstones, 8);
  EXPECT_FALSE(logs_.is_seal_left());
  EXPECT_FALSE(logs_.is_next_made());
}

TEST_F(MemtableLogsTest, EarlySealsEndWithoutALog) {
  view_.memtable->Add(1, EntryKind::kDelete, "key", "");
  logs_.BeginNext();
  logs_.EndNext(/*is_made=*/false);
  EXPECT_FALSE(logs_.IsNextNeeded(view_));
  logs_.WantSeal();
  EXPECT_TRUE(logs_.IsNextNeeded(view_)) << "another attempt";
  logs_.LeaveSeal();
  EXPECT_FALSE(logs_.is_seal_wanted());
  EXPECT_FALSE(logs_.is_seal_left());
}

// A writer sealed the memtable while the job made the log.
TEST_F(MemtableLogsTest, EarlySealsConcernOneMemtable) {
  logs_.WantSeal();
  logs_.Seal(100, FlushReason::kMemtable, 8);
  logs_.BeginNext();
  logs_.EndNext(/*is_made=*/true);
  logs_.LeaveSeal();
  EXPECT_FALSE(logs_.is_seal_left());
}

}  // namespace
}  // namespace lsm
