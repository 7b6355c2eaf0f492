#include "lsm/store/memtable_filler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/log/log_writer.h"
#include "lsm/memory_file_system.h"
#include "lsm/write_batch.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::Dice;
using testing_support::StatusIs;

class MemtableFillerTest : public testing::Test {
 protected:
  MemtableFillerTest() {
    writer_ = *LogWriter::Create(directory_->CreateExclusive("log").value(), LogKind::kWriteAhead,
                                 /*file_id=*/1);
  }
  // Appends a record with the next numbers.
  void Append(WriteBatch batch) {
    EncodedBatch::SetFirstSequence(&batch, last_ + 1);
    ASSERT_OK(writer_->Append(EncodedBatch::Of(batch)));
    last_ += batch.count();
  }
  void AppendRange(std::string_view from, std::optional<std::string_view> to) {
    WriteBatch batch;
    batch.DeleteRange(from, to);
    Append(batch);
  }
  void AppendPut(std::string_view key, std::string_view value) {
    WriteBatch batch;
    batch.Put(key, value);
    Append(batch);
  }

  // The memtables of the log, oldest first.
  std::vector<std::shared_ptr<const Memtable>> Replay(size_t memory_bytes_max,
                                                      const KeyspaceRecords* keyspaces = nullptr) {
    std::vector<std::shared_ptr<const Memtable>> memtables;
    MemtableFiller filler(memory_bytes_max, [&](std::shared_ptr<const Memtable> memtable) {
      EXPECT_FALSE(memtable->empty());
      memtables.push_back(std::move(memtable));
      return absl::OkStatus();
    });
    const std::unique_ptr<LogReader> log =
        LogReader::Open(directory_->OpenRead("log", ReadMode::kBuffered).value(),
                        LogKind::kWriteAhead)
            .value();
    for (;;) {
      EXPECT_OK(filler.MakeRoomForNext(log.get()));
      LogReader::Record record;
      const absl::StatusOr<bool> more = log->Next(&record);
      EXPECT_OK(more.status());
      if (!more.ok() || !*more) break;
      EXPECT_OK(filler.Add(
          record.payload, log.get(),
          [&](KeyspaceId id) { return keyspaces == nullptr || keyspaces->Has(id); },
          [&](KeyspaceId id) { return keyspaces != nullptr && keyspaces->AreTimed(id); }));
    }
    EXPECT_OK(filler.HandOver());
    return memtables;
  }

  MemoryFileSystem files_;
  std::unique_ptr<Directory> directory_ = files_.OpenDirectory("logs", true).value();
  std::unique_ptr<LogWriter> writer_;
  Sequence last_ = 0;
};

std::string AnswerFor(const std::vector<std::shared_ptr<const Memtable>>& memtables,
                      std::string_view key) {
  const LookupKey lookup(key, kSequenceMax, 0);
  for (auto memtable = memtables.rbegin(); memtable != memtables.rend(); ++memtable) {
    std::string_view value;
    const MemtableAnswer answer = (*memtable)->Get(lookup, &value);
    if (answer == MemtableAnswer::kFound) return std::string(value);
    if (answer == MemtableAnswer::kDeleted) return "deleted";
    const RangeList* const ranges = (*memtable)->ranges();
    if (ranges != nullptr && ranges->NewestAt(lookup.internal_key(), kSequenceMax) > 0)
      return "deleted";
  }
  return "absent";
}

TEST_F(MemtableFillerTest, ALogOfRangesFillsAMemtable) {
  AppendRange("a", "c");
  AppendRange("x", std::nullopt);
  const auto memtables = Replay(1 << 20);
  ASSERT_EQ(memtables.size(), 1u);
  EXPECT_EQ(memtables[0]->entry_count(), 2u);
  EXPECT_EQ(AnswerFor(memtables, "b"), "deleted");
  EXPECT_EQ(AnswerFor(memtables, "c"), "absent");
  EXPECT_EQ(AnswerFor(memtables, "zzz"), "deleted");
}

// A range belongs to the memtable of its time: the entries before it are there or in earlier ones,
// those after it there or in later ones.
TEST_F(MemtableFillerTest, RangesStayBetweenTheirNeighbors) {
  const std::string large(100 << 10, 'v');
  AppendPut("a", large);
  AppendRange("a", "c");
  AppendPut("b", large);
  // In one record, too.
  WriteBatch batch;
  batch.Put("d", large);
  batch.DeleteRange("d", "f");
  batch.Put("e", large);
  batch.DeleteRange("e", "ea");
  Append(batch);
  const auto memtables = Replay(120 << 10);
  ASSERT_GE(memtables.size(), 4u);
  Sequence last = 0;
  for (const auto& memtable : memtables) {
    Sequence first_here = kSequenceMax, last_here = 0;
    const std::unique_ptr<Iterator> entries = memtable->NewIterator();
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      const Sequence sequence = SequenceOf(SuffixOf(entries->key()));
      first_here = std::min(first_here, sequence);
      last_here = std::max(last_here, sequence);
    }
    if (memtable->ranges() != nullptr) {
      const RangeMap ranges = memtable->ranges()->ToMap();
      first_here = std::min(first_here, ranges.smallest_sequence());
      last_here = std::max(last_here, ranges.largest_sequence());
    }
    EXPECT_GT(first_here, last);
    last = last_here;
  }
  EXPECT_EQ(last, last_);
  EXPECT_EQ(AnswerFor(memtables, "a"), "deleted");
  EXPECT_EQ(AnswerFor(memtables, "b"), large);
  EXPECT_EQ(AnswerFor(memtables, "d"), "deleted");
  EXPECT_EQ(AnswerFor(memtables, "e"), "deleted");
}

TEST_F(MemtableFillerTest, AgreesWithTheOrderOfWrites) {
  Dice dice(1);
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back(Concat("key", 10 + i));
  std::vector<std::string> expected(keys.size(), "absent");
  for (int record = 0; record < 300; ++record) {
    WriteBatch batch;
    for (size_t i = 1 + dice.Roll(4); i > 0; --i) {
      const size_t from = dice.Roll(keys.size());
      if (dice.OneIn(3)) {
        const size_t to = dice.OneIn(8) ? keys.size() : dice.Roll(keys.size());
        batch.DeleteRange(keys[from], to == keys.size()
                                          ? std::nullopt
                                          : std::optional<std::string_view>(keys[to]));
        for (size_t key = from; key < to; ++key) expected[key] = "deleted";
      } else {
        const std::string value(dice.Roll(2000), static_cast<char>('a' + dice.Roll(26)));
        batch.Put(keys[from], value);
        expected[from] = value;
      }
    }
    Append(batch);
  }
  for (const size_t most : {size_t{16} << 10, size_t{64} << 10, size_t{8} << 20}) {
    const auto memtables = Replay(most);
    EXPECT_EQ(memtables.size() == 1, most == size_t{8} << 20);
    uint64_t entries = 0;
    for (const auto& memtable : memtables) {
      entries += memtable->entry_count();
      EXPECT_LE(memtable->memory_bytes(), most + most / 4) << "a block more, at most";
    }
    EXPECT_EQ(entries, last_);
    for (size_t key = 0; key < keys.size(); ++key)
      EXPECT_EQ(AnswerFor(memtables, keys[key]), expected[key]) << keys[key];
  }
}

// Also the ranges, which are added last.
TEST_F(MemtableFillerTest, FillsTheListOfEachKeyspace) {
  const std::string large(100 << 10, 'v');
  WriteBatch batch;
  EncodedBatch::DeleteRange(&batch, 9, "a", "b");
  EncodedBatch::Put(&batch, 2, "a", large);
  batch.DeleteRange("a", "b");
  EncodedBatch::DeleteRange(&batch, 2, "a", std::nullopt);
  EncodedBatch::Delete(&batch, 9, "d");
  EncodedBatch::DeleteRange(&batch, 9, "c", "d");
  Append(batch);
  WriteBatch more;
  EncodedBatch::Put(&more, 2, "a", large);
  Append(more);
  const auto memtables = Replay(1 << 20);
  ASSERT_EQ(memtables.size(), 1u);
  const auto covering = [&](KeyspaceId keyspace, std::string_view key) {
    const RangeList* const ranges = memtables[0]->Find(keyspace)->ranges();
    return ranges == nullptr
               ? 0
               : ranges->NewestAt(LookupKey(key, kSequenceMax, 0).internal_key(), kSequenceMax);
  };
  EXPECT_EQ(covering(0, "a"), 3u);
  EXPECT_EQ(covering(0, "c"), 0u);
  EXPECT_EQ(covering(2, "a"), 4u);
  EXPECT_EQ(covering(9, "a"), 1u);
  EXPECT_EQ(covering(9, "c"), 6u);
  EXPECT_EQ(covering(9, "d"), 0u);
  EXPECT_EQ(memtables[0]->Find(2)->newest_entry(), 7u);
  EXPECT_EQ(memtables[0]->Find(9)->newest_entry(), 5u);
  EXPECT_EQ(memtables[0]->entry_count(), 7u);
  uint64_t entries = 0;
  for (const auto& memtable : Replay(120 << 10)) {
    EXPECT_LT(memtable->entry_count(), 7u);
    entries += memtable->entry_count();
  }
  EXPECT_EQ(entries, 7u);
}

TEST(CheckBatchTest, RefusesKeyspacesThatDoNotExist) {
  KeyspaceRecords keyspaces;
  WriteBatch batch;
  batch.Put("a", "1");
  EXPECT_OK(CheckBatch(EncodedBatch::Of(batch), &keyspaces));
  WriteBatch put = batch, deletes = batch, range = batch;
  EncodedBatch::Put(&put, 300, "b", "");
  EncodedBatch::Delete(&deletes, 2, "b");
  EncodedBatch::SetFirstSequence(&range, 1);
  EncodedBatch::DeleteRange(&range, ~KeyspaceId{0}, "b", std::nullopt);
  EXPECT_THAT(CheckBatch(EncodedBatch::Of(put), &keyspaces),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("write batch: offset 21: a key of keyspace 300, which was not")));
  EXPECT_THAT(
      CheckBatch(EncodedBatch::Of(deletes), &keyspaces),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("keyspace 2, which was not created")));
  EXPECT_THAT(CheckBatch(EncodedBatch::Of(range), &keyspaces),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("keyspace 4294967295, which was")));
}

TEST(CheckBatchTest, FollowsTheChangesOfKeyspaces) {
  using Kind = KeyspaceChange::Kind;
  KeyspaceRecords keyspaces;
  const auto check = [&](const KeyspaceChange& change) {
    WriteBatch batch;
    EncodedBatch::Change(&batch, change);
    return CheckBatch(EncodedBatch::Of(batch), &keyspaces);
  };
  const auto put = [&](KeyspaceId id) {
    WriteBatch batch;
    EncodedBatch::Put(&batch, id, "key", "value");
    return CheckBatch(EncodedBatch::Of(batch), &keyspaces);
  };
  const auto damaged = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kDataLoss, HasSubstr("write batch: offset 12: " + text));
  };
  EXPECT_THAT(put(2), StatusIs(absl::StatusCode::kDataLoss));
  ASSERT_OK(check({Kind::kCreated, 2, "a", {.target_fpp = 0.25}}));
  ASSERT_OK(check({Kind::kCreated, 5, "b", {}}));
  EXPECT_OK(put(2));
  EXPECT_OK(put(5));
  EXPECT_OK(put(4)) << "one that is gone";
  EXPECT_THAT(put(6), StatusIs(absl::StatusCode::kDataLoss));
  // Changes that the manifest knows already do nothing.
  ASSERT_OK(check({Kind::kCreated, 2, "a", {}}));
  ASSERT_OK(check({Kind::kCreated, 3, "c", {}}));
  ASSERT_OK(check({Kind::kOptions, 3, "", {.target_fpp = 0.5}}));
  ASSERT_OK(check({Kind::kDropped, 3, "", {}}));
  EXPECT_EQ(keyspaces.all().at(2).options.target_fpp, 0.25);
  EXPECT_EQ(keyspaces.all().size(), 2u);
  ASSERT_OK(check({Kind::kOptions, 2, "", {.target_fpp = 0.5}}));
  EXPECT_EQ(keyspaces.all().at(2).options.target_fpp, 0.5);
  EXPECT_EQ(keyspaces.all().at(2).name, "a");
  ASSERT_OK(check({Kind::kDropped, 2, "", {}}));
  EXPECT_FALSE(keyspaces.Has(2));
  EXPECT_OK(put(2));
  ASSERT_OK(check({Kind::kCreated, 6, "a", {}}));
  EXPECT_EQ(keyspaces.next_id(), 7u);
  for (const Kind kind : {Kind::kOptions, Kind::kDropped}) {
    EXPECT_THAT(check({kind, 7, "", {}}), damaged("a change of keyspace 7, which was not created"));
  }
  EXPECT_THAT(check({Kind::kCreated, 7, "a", {}}), damaged("keyspace 7 is added with the name"));
}

// Entries of keyspaces that are gone are skipped, and their numbers count.
TEST_F(MemtableFillerTest, SkipsKeyspacesThatAreGone) {
  using Kind = KeyspaceChange::Kind;
  KeyspaceRecords keyspaces;
  ASSERT_EQ(keyspaces.Replay({Kind::kCreated, 3, "a", {}}), "");
  WriteBatch batch;
  EncodedBatch::Put(&batch, 2, "a", "1");
  EncodedBatch::DeleteRange(&batch, 2, "a", std::nullopt);
  EncodedBatch::Put(&batch, 3, "a", "3");
  EncodedBatch::Change(&batch, {Kind::kOptions, 3, "", {.expire_after = 9}});
  batch.Put("a", "5");
  Append(batch);
  const auto memtables = Replay(1 << 20, &keyspaces);
  ASSERT_EQ(memtables.size(), 1u);
  const Memtable& memtable = *memtables[0];
  EXPECT_EQ(memtable.Find(2), nullptr);
  EXPECT_EQ(memtable.Find(3)->newest_entry(), 3u);
  EXPECT_EQ(memtable.newest_entry(), 5u);
  EXPECT_EQ(memtable.entry_count(), 3u);
  EXPECT_EQ(memtable.changes(),
            std::vector<KeyspaceChange>({{Kind::kOptions, 3, "", {.expire_after = 9}}}));
}

// Added one by one they would take 50 million nodes.
TEST_F(MemtableFillerTest, NestedRangesInALogTakeLittleMemory) {
  constexpr size_t kRanges = 10'000;
  for (size_t i = kRanges; i-- > 0;) AppendRange("a", Concat("key", 10'000'000 + i));
  const auto memtables = Replay(64 << 20);
  ASSERT_EQ(memtables.size(), 1u);
  EXPECT_EQ(memtables[0]->ranges()->ToMap().size(), kRanges + 1);
  EXPECT_LT(memtables[0]->memory_bytes(), 240 * kRanges);
  EXPECT_GT(Replay(1 << 20).size(), 3u) << "ranges count as memory";
}

}  // namespace
}  // namespace lsm
