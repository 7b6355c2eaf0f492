#include "lsm/runtime/early_seal.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/write_batch.h"
#include "tests/lsm/version/table_text.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// Which keyspaces count.
class EarlySealTest : public testing::Test {
 protected:
  // Level 1 has 64 MiB, of which [a, c) has 4 MiB.
  EarlySealTest() {
    view_.memtable = std::make_shared<Memtable>(/*number_before=*/100, /*recent_max=*/16);
    view_.version = Version::Create(tables_.Levels({"L1  1[a b]/4096  2[k m]/61440"})).value();
  }

  // Keyspace 7 has 1,200 KiB in a tree of its own, and the common tree has 60 MiB in level 1.
  void MakeTreeOf7() {
    std::array<OpenTables, kLevels> levels = tables_.Levels({"L1  3[a b]/1200  4[a b]/61440"});
    for (auto& table : levels[1]) {
      std::const_pointer_cast<OpenTable>(table)->meta.keyspace =
          table->meta.number == 3 ? 7 : kCommonTree;
    }
    view_.version = Version::Create(std::move(levels)).value();
  }

  void Put(KeyspaceId keyspace) {
    WriteBatch batch;
    EncodedBatch::Put(&batch, keyspace, "x", "value");
    Write(batch);
  }
  // Writes a range delete as a group.  Returns whether it makes the memtable due.
  bool MakesDue(KeyspaceId keyspace, std::optional<std::string_view> to) {
    WriteBatch batch;
    EncodedBatch::DeleteRange(&batch, keyspace, "a", to);
    const bool is_due = AreRangesDue(view_, Write(batch), {}, options_);
    EXPECT_EQ(IsSealDue(view_, last_, {}, /*now_nanos=*/0, TableMaker::kDigestSeed, options_),
              is_due);
    return is_due;
  }

  bool IsDropOf(KeyspaceId keyspace) { return IsDropDue(view_, keyspace, options_); }

 private:
  RangeMap Write(WriteBatch batch) {
    std::optional<RangeMap> ranges;
    EncodedBatch::SetFirstSequence(&batch, last_ + 1);
    EXPECT_OK(view_.memtable->PrepareBatch(EncodedBatch::Of(batch), &ranges));
    view_.memtable->AddPrepared();
    last_ += batch.count();
    return ranges.value_or(RangeMap());
  }

  const Options options_;
  TextTables tables_{/*kib=*/10};
  ReadView view_;
  Sequence last_ = 100;
};

TEST_F(EarlySealTest, RangesOverTablesPay) { EXPECT_TRUE(MakesDue(kDefaultKeyspace, "c")); }

// The table of the flush would take part in a merge with level 1.
TEST_F(EarlySealTest, EntriesRaiseThePrice) {
  Put(kDefaultKeyspace);
  EXPECT_FALSE(MakesDue(kDefaultKeyspace, "c"));
  EXPECT_TRUE(MakesDue(kDefaultKeyspace, std::nullopt));
}

TEST_F(EarlySealTest, EntriesOfOtherKeyspacesDoNot) {
  Put(7);
  EXPECT_FALSE(MakesDue(8, "b"));
  EXPECT_TRUE(MakesDue(kDefaultKeyspace, "c"));
}

// The flush writes nothing to the tree of a keyspace that is dropped.
TEST_F(EarlySealTest, ATreeDoesNotRaiseThePriceOfItsDrop) {
  MakeTreeOf7();
  Put(7);
  EXPECT_TRUE(IsDropOf(7));
}

// The table for the common tree would take part in a merge there.
TEST_F(EarlySealTest, EntriesInTheCommonTreeRaiseThePrice) {
  MakeTreeOf7();
  Put(8);
  EXPECT_FALSE(IsDropOf(7));
}

TEST_F(EarlySealTest, RangesOfOtherKeyspacesPayNothing) { EXPECT_FALSE(MakesDue(7, std::nullopt)); }

}  // namespace
}  // namespace lsm
