#include "lsm/follow/followed_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_writer.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/write_batch.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::StatusIs;
using Kind = KeyspaceChange::Kind;

constexpr uint64_t kSeed = 77;

class FollowedLogsTest : public testing::Test {
 protected:
  FollowedLogsTest() {
    state_.started = true;
    state_.log_seed = kSeed;
    state_.oldest_log = 2;
    Begin(2);
    logs_.StartOver(state_);
  }

  void Begin(uint64_t number, uint64_t seed = kSeed) {
    absl::StatusOr<std::unique_ptr<AppendFile>> file =
        directory_->CreateExclusive(LogFileName(number));
    ASSERT_OK(file);
    absl::StatusOr<std::unique_ptr<LogWriter>> writer =
        LogWriter::Create(*std::move(file), LogKind::kWriteAhead, LogFileId(seed, number));
    ASSERT_OK(writer);
    writers_[number] = *std::move(writer);
  }
  // Appends a record of `count` puts, the first of which has this number.
  void Append(uint64_t log, Sequence first, int count = 1) {
    WriteBatch batch;
    for (int i = 0; i < count; ++i)
      batch.Put(Concat("key", first + static_cast<Sequence>(i)), Concat("value", first));
    AppendBatch(log, first, &batch);
  }
  void AppendBatch(uint64_t log, Sequence first, WriteBatch* batch) {
    EncodedBatch::SetFirstSequence(batch, first);
    ASSERT_OK(writers_[log]->Append(EncodedBatch::Of(*batch)));
  }
  void AppendChange(uint64_t log, Sequence number, const KeyspaceChange& change) {
    WriteBatch batch;
    EncodedBatch::Change(&batch, change);
    AppendBatch(log, number, &batch);
  }
  std::shared_ptr<const KeyspaceRecords> Keyspaces() {
    absl::StatusOr<std::shared_ptr<const KeyspaceRecords>> keyspaces = logs_.KeyspacesFor(state_);
    EXPECT_OK(keyspaces);
    return keyspaces.ok() ? *keyspaces : std::make_shared<const KeyspaceRecords>();
  }
  void Remove(uint64_t log) { ASSERT_OK(directory_->Remove(LogFileName(log))); }
  std::string PathOf(uint64_t log) { return "logs/" + LogFileName(log); }

  absl::Status ReadOn() { return logs_.ReadOn(*directory_, state_, ++refresh_); }
  // The numbers of entries in the memtables, newest first.
  std::vector<uint64_t> Entries() {
    std::vector<uint64_t> counts;
    for (const auto& memtable : logs_.MemtablesFor(state_))
      counts.push_back(memtable->entry_count());
    return counts;
  }
  using Counts = std::vector<uint64_t>;

  MemoryFileSystem files_;
  std::unique_ptr<Directory> directory_ = files_.OpenDirectory("logs", true).value();
  std::map<uint64_t, std::unique_ptr<LogWriter>> writers_;
  ManifestState state_;
  FollowedLogs logs_;
  uint64_t refresh_ = 0;
};

TEST_F(FollowedLogsTest, TakesEachRecordOnce) {
  Append(2, 1, 3);
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 3u);
  Append(2, 4);
  ASSERT_OK(ReadOn());
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 4u);
  EXPECT_EQ(Entries(), Counts{4});
}

TEST_F(FollowedLogsTest, TakesRangeDeletes) {
  Append(2, 1, 3);
  WriteBatch batch;
  batch.DeleteRange("key1", "key2");
  batch.DeleteRange("key3", std::nullopt);
  AppendBatch(2, 4, &batch);
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 5u);
  EXPECT_EQ(Entries(), Counts{5});
  const std::shared_ptr<const Memtable> memtable = logs_.MemtablesFor(state_)[0];
  std::string_view value;
  EXPECT_EQ(memtable->Get(LookupKey("key1", 5, 0), &value), MemtableAnswer::kRangeDeleted);
  EXPECT_EQ(memtable->Get(LookupKey("key1", 3, 0), &value), MemtableAnswer::kFound);
  EXPECT_EQ(memtable->Get(LookupKey("key2", 5, 0), &value), MemtableAnswer::kFound);
  EXPECT_EQ(memtable->Get(LookupKey("key3", 5, 0), &value), MemtableAnswer::kRangeDeleted);
}

TEST_F(FollowedLogsTest, RefusesKeyspacesThatWereNotCreated) {
  Append(2, 1, 3);
  WriteBatch batch;
  EncodedBatch::Put(&batch, 7, "key", "value");
  AppendBatch(2, 4, &batch);
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kDataLoss,
                                 AllOf(HasSubstr(PathOf(2) + ": record at offset "),
                                       HasSubstr("a key of keyspace 7, which was not created"))));
  EXPECT_EQ(logs_.last(), 3u);
  EXPECT_EQ(Entries(), Counts{3});
}

TEST_F(FollowedLogsTest, TakesKeyspacesInTheOrderOfTheLog) {
  AppendChange(2, 1, {Kind::kCreated, 2, "a", {}});
  ASSERT_OK(ReadOn());
  const std::shared_ptr<const KeyspaceRecords> first = Keyspaces();
  EXPECT_TRUE(first->Has(2, "a"));
  WriteBatch batch;
  EncodedBatch::Put(&batch, 2, "key", "value");
  AppendBatch(2, 2, &batch);
  ASSERT_OK(ReadOn());
  EXPECT_EQ(Keyspaces(), first) << "no keyspace has changed";
  EXPECT_NE(logs_.MemtablesFor(state_)[0]->Find(2), nullptr);
  Begin(5);
  AppendChange(5, 3, {Kind::kOptions, 2, "", {.target_fpp = 0.25}});
  ASSERT_OK(ReadOn());
  EXPECT_EQ(Keyspaces()->all().at(2).options.target_fpp, 0.25);
  AppendChange(5, 4, {Kind::kDropped, 2, "", {}});
  AppendChange(5, 5, {Kind::kCreated, 3, "a", {}});
  ASSERT_OK(ReadOn());
  EXPECT_FALSE(Keyspaces()->Has(2));
  EXPECT_TRUE(Keyspaces()->Has(3, "a"));
  EXPECT_TRUE(first->Has(2, "a")) << "another view has it";
}

// Edits may be ahead of the logs that were read, and hold what logs do not.
TEST_F(FollowedLogsTest, TakesKeyspacesOfNewEdits) {
  AppendChange(2, 1, {Kind::kCreated, 2, "a", {}});
  Begin(5);
  AppendChange(5, 2, {Kind::kCreated, 3, "b", {}});
  ASSERT_OK(ReadOn());
  const std::shared_ptr<const KeyspaceRecords> before = Keyspaces();
  state_.oldest_log = 5;
  state_.last_sequence = 1;
  ASSERT_EQ(state_.keyspaces.Replay({Kind::kCreated, 2, "a", {}}), "");
  logs_.NoteEdits();
  EXPECT_EQ(Keyspaces(), before) << "the edits say what the log said";
  KeyspaceRecord own = state_.keyspaces.all().at(2);
  own.has_own_tree = true;
  ASSERT_EQ(state_.keyspaces.Put(own), "");
  logs_.NoteEdits();
  EXPECT_TRUE(Keyspaces()->HasTree(2));
  EXPECT_TRUE(Keyspaces()->Has(3, "b"));
  AppendChange(5, 3, {Kind::kDropped, 2, "", {}});
  ASSERT_OK(ReadOn());
  EXPECT_FALSE(Keyspaces()->Has(2));
  EXPECT_TRUE(Keyspaces()->Has(3, "b"));
  // Another manifest: what the logs said is forgotten.
  logs_.StartOver(state_);
  EXPECT_TRUE(Keyspaces()->Has(2, "a"));
  EXPECT_FALSE(Keyspaces()->Has(3));
}

// Otherwise the second call would find the creation done, and take the record.
TEST_F(FollowedLogsTest, ARecordThatIsRefusedChangesNoKeyspace) {
  const Sequence first = 2;
  const auto named_a = HasSubstr("keyspace 3 is added with the name \"a\"");
  const auto not_created = HasSubstr("a key of keyspace 9, which was not created");
  for (const bool is_change : {true, false}) {
    SCOPED_TRACE(is_change);
    Begin(is_change ? 5 : 6, is_change ? 1 : 2);
    FollowedLogs logs;
    ManifestState state = state_;
    state.oldest_log = is_change ? 5 : 6;
    state.log_seed = is_change ? 1 : 2;
    logs.StartOver(state);
    AppendChange(state.oldest_log, 1, {Kind::kCreated, 2, "a", {}});
    WriteBatch batch;
    EncodedBatch::Change(&batch, {Kind::kCreated, 3, is_change ? "a" : "b", {}});
    if (!is_change) EncodedBatch::Put(&batch, 9, "key", "value");
    AppendBatch(state.oldest_log, first, &batch);
    for (int pass = 0; pass < 3; ++pass) {
      const absl::Status status = logs.ReadOn(*directory_, state, ++refresh_);
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss));
      EXPECT_THAT(MessageOf(status), testing::Conditional(is_change, named_a, not_created));
      ASSERT_OK_AND_ASSIGN(const auto keyspaces, logs.KeyspacesFor(state));
      EXPECT_FALSE(keyspaces->Has(3));
      EXPECT_TRUE(keyspaces->Has(2, "a"));
      EXPECT_EQ(logs.last(), 1u);
    }
  }
}

TEST_F(FollowedLogsTest, KeyspacesThatDoNotFitTheManifestAreDamage) {
  AppendChange(2, 1, {Kind::kCreated, 3, "a", {}});
  ASSERT_OK(ReadOn());
  ASSERT_EQ(state_.keyspaces.Replay({Kind::kCreated, 2, "a", {}}), "");
  logs_.NoteEdits();
  const auto damage = StatusIs(absl::StatusCode::kDataLoss,
                               AllOf(HasSubstr(PathOf(2)), HasSubstr("which keyspace 2 has")));
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(logs_.KeyspacesFor(state_), damage);
    EXPECT_THAT(ReadOn(), damage);
  }
}

TEST_F(FollowedLogsTest, EachLogHasItsMemtable) {
  Append(2, 1, 3);
  Begin(5);
  Append(5, 4, 2);
  ASSERT_OK(ReadOn());
  EXPECT_EQ(Entries(), (Counts{2, 3}));
  state_.oldest_log = 5;
  state_.last_sequence = 3;
  EXPECT_EQ(Entries(), Counts{2});
  Remove(2);
  ASSERT_OK(ReadOn());
  EXPECT_EQ(Entries(), Counts{2});
  EXPECT_EQ(logs_.last(), 5u);
}

TEST_F(FollowedLogsTest, TablesMayBeAheadOfTheLogs) {
  Append(2, 1);
  ASSERT_OK(ReadOn());
  Append(2, 2, 4);
  Begin(5);
  Append(5, 6);
  Remove(2);
  state_.oldest_log = 5;
  state_.last_sequence = 5;
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 6u);
  EXPECT_EQ(Entries(), Counts{1});
}

// The writer goes on between two reads.
TEST_F(FollowedLogsTest, TheNextCallFillsAGap) {
  Append(2, 1);
  Begin(5);
  Append(5, 3);
  bool appended = false;
  files_.SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kOpenRead && path == PathOf(5) && !appended) {
      appended = true;
      Append(2, 2);
    }
    return absl::OkStatus();
  });
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 1u);
  EXPECT_TRUE(logs_.is_at_gap());
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 3u);
  EXPECT_FALSE(logs_.is_at_gap());
  EXPECT_EQ(Entries(), (Counts{1, 2}));
}

TEST_F(FollowedLogsTest, StopsBeforeAGapThatACrashLeft) {
  Append(2, 1);
  Begin(5);
  Append(5, 3);
  ASSERT_OK(ReadOn());
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 1u);
  Append(2, 2);
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 3u);
}

TEST_F(FollowedLogsTest, AGapBeforeASyncedLogIsDamage) {
  Append(2, 1);
  Begin(5);
  Append(5, 3);
  state_.synced_logs = {5};
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("begins with number 3")));
}

TEST_F(FollowedLogsTest, AMissingLogIsUnavailable) {
  Append(2, 1);
  Remove(2);
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(LogFileName(2))));
}

TEST_F(FollowedLogsTest, AnOpenLogMayLoseItsName) {
  Append(2, 1);
  ASSERT_OK(ReadOn());
  Append(2, 2);
  Remove(2);
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 2u);
}

TEST_F(FollowedLogsTest, IgnoresLogsThatAreBeingMade) {
  Append(2, 1);
  files_.SetFileBytes(PathOf(5), "");
  ASSERT_OK(ReadOn());
  Begin(6, /*seed=*/99);  // by an opening that has not changed CURRENT yet
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 1u);
}

TEST_F(FollowedLogsTest, RecordsOfAnotherOpeningAreNotTaken) {
  Append(2, 1);
  Begin(5, /*seed=*/99);
  Append(5, 2);
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("another log")));
  EXPECT_EQ(logs_.last(), 1u);
}

TEST_F(FollowedLogsTest, ARecordIsTakenWholeOrNotAtAll) {
  Append(2, 1);
  Append(2, 2, 20);
  const std::string whole = files_.FileBytes(PathOf(2));
  files_.SetFileBytes(PathOf(2), "");
  for (size_t bytes = kLogHeaderBytes; bytes <= whole.size(); ++bytes) {
    files_.SetFileBytes(PathOf(2), whole.substr(0, bytes));
    ASSERT_OK(ReadOn());
    ASSERT_EQ(logs_.last(), bytes == whole.size() ? 21u : Entries().empty() ? 0u : 1u) << bytes;
  }
  EXPECT_EQ(Entries(), Counts{21});
}

// --- whole records that cannot be read ---

class UnreadableTest : public FollowedLogsTest {
 protected:
  UnreadableTest() {
    Append(2, 1, 3);
    kept_ = files_.FileBytes(PathOf(2)).size();
    Append(2, 4, 40);
    whole_ = files_.FileBytes(PathOf(2));
    torn_ = whole_.substr(0, kept_) + std::string(whole_.size() - kept_, '\0');
  }
  void Show(std::string bytes) { files_.SetFileBytes(PathOf(2), std::move(bytes)); }

  size_t kept_ = 0;
  std::string whole_, torn_;
};

TEST_F(UnreadableTest, IsReadOnceItsBytesAreThere) {
  Show(torn_);
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(logs_.last(), 3u);
  Show(whole_);
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 43u);
}

TEST_F(UnreadableTest, IsATornTailIfTheFileStays) {
  Show(torn_);
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(ReadOn());
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 3u);
}

TEST_F(UnreadableTest, IsDamageIfTheFileGrows) {
  Show(torn_);
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kAborted));
  Show(torn_ + std::string(10, '\0'));
  // In the same refresh the bytes may still come.
  EXPECT_THAT(logs_.ReadOn(*directory_, state_, refresh_), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(Concat(kept_))));
  EXPECT_EQ(logs_.last(), 3u);
}

TEST_F(UnreadableTest, ProvedDamageIsReported) {
  std::string damaged = whole_;
  damaged[kept_ + 60] ^= 1;
  Show(damaged);
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(ReadOn(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(logs_.last(), 3u);
}

TEST_F(UnreadableTest, AClosedLogMustEndAsItDid) {
  ASSERT_OK(writers_[2]->Close(/*sync=*/true));
  const std::string closed = files_.FileBytes(PathOf(2));
  state_.closed_logs = {{2, closed.size()}};
  ASSERT_OK(ReadOn());
  EXPECT_EQ(logs_.last(), 43u);
  FollowedLogs others;
  others.StartOver(state_);
  Show(closed.substr(0, closed.size() - 1));
  EXPECT_THAT(others.ReadOn(*directory_, state_, 1), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace lsm
