#include "lsm/version/manifest.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::StatusIs;

constexpr uint64_t kFileId = 0xabcdef0123456789;

TableMeta MetaOf(uint64_t number, uint32_t run = 0) {
  return {number,
          1000 + number,
          4096,
          17,
          InternalKey(PutOf("a", 9)),
          InternalKey(PutOf("z", 3)),
          run,
          {},
          {}};
}

VersionEdit EmptyStore() {
  VersionEdit edit;
  edit.is_snapshot = true;
  edit.next_file_number = 3;
  edit.last_sequence = 0;
  edit.oldest_log = 2;
  edit.digest_seed = 77;
  return edit;
}

VersionEdit FlushOf(uint64_t table, uint64_t oldest_log) {
  VersionEdit edit;
  edit.next_file_number = table + 1;
  edit.last_sequence = 10 * table;
  edit.oldest_log = oldest_log;
  edit.added = {{0, MetaOf(table)}};
  return edit;
}

VersionEdit CompactionOf(std::vector<uint64_t> inputs, uint64_t output) {
  VersionEdit edit;
  edit.next_file_number = output + 1;
  for (const uint64_t input : inputs) edit.removed.push_back({0, input});
  edit.added = {{1, MetaOf(output, /*run=*/3)}};
  return edit;
}

std::vector<VersionEdit> Script() {
  VersionEdit synced;
  synced.synced_logs = {6};
  VersionEdit closed;
  closed.closed_logs = {{6, 500}};
  return {EmptyStore(), FlushOf(4, 3), FlushOf(5, 6), synced, CompactionOf({4, 5}, 7), closed};
}

bool SameState(const ManifestState& a, const ManifestState& b) {
  return a.ToSnapshot() == b.ToSnapshot();
}

// The state after the first `edits` edits of the script.
ManifestState StateAfter(size_t edits) {
  ManifestState state;
  const std::vector<VersionEdit> script = Script();
  for (size_t i = 0; i < edits; ++i) EXPECT_OK(state.Apply(script[i], "M", i));
  return state;
}

class ManifestTest : public testing::Test {
 protected:
  ManifestTest() : directory_(files_.OpenDirectory("store", true).value()) {}

  // Writes the script as manifest 1 and leaves it open or closed.
  void WriteScript(bool close) {
    const std::vector<VersionEdit> script = Script();
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         ManifestWriter::Create(*directory_, 1, kFileId, script[0], std::nullopt));
    for (size_t i = 1; i < script.size(); ++i) ASSERT_OK(writer->Append(script[i]));
    if (close) {
      ASSERT_OK(writer->Close());
    }
  }

  const std::string manifest_path_ = "store/" + ManifestFileName(1);
  const std::string current_path_ = "store/CURRENT";
  MemoryFileSystem files_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(ManifestTest, ReadsBackTheSumOfItsEdits) {
  WriteScript(/*close=*/true);
  size_t seen = 0;
  ASSERT_OK_AND_ASSIGN(const ManifestContents contents,
                       ReadManifest(*directory_, [&seen](uint64_t, const VersionEdit& edit) {
                         EXPECT_EQ(edit, Script()[seen++]);
                       }));
  EXPECT_EQ(seen, Script().size());
  EXPECT_EQ(contents.edit_count, Script().size());
  EXPECT_EQ(contents.end, LogEnd::kClosed);
  EXPECT_EQ(contents.file_name, ManifestFileName(1));
  EXPECT_EQ(contents.current.manifest_number, 1u);
  EXPECT_EQ(contents.current.manifest_file_id, kFileId);
  EXPECT_EQ(contents.current_bytes, files_.FileBytes(current_path_));
  EXPECT_TRUE(SameState(contents.state, StateAfter(Script().size())));
  EXPECT_EQ(contents.state.levels[0].size(), 0u);
  EXPECT_EQ(contents.state.levels[1].at(7), MetaOf(7, /*run=*/3));
  EXPECT_EQ(contents.state.next_file_number, 8u);
  EXPECT_EQ(contents.state.last_sequence, 50u);
  EXPECT_EQ(contents.state.oldest_log, 6u);
  EXPECT_EQ(contents.state.digest_seed, 77u);
  EXPECT_EQ(contents.state.synced_logs, std::set<uint64_t>({6}));
  EXPECT_EQ(contents.state.closed_logs, (std::map<uint64_t, uint64_t>{{6, 500}}));
}

TEST_F(ManifestTest, UnclosedWritersLoseNothing) {
  WriteScript(/*close=*/false);
  ASSERT_OK_AND_ASSIGN(const ManifestContents contents, ReadManifest(*directory_));
  EXPECT_EQ(contents.end, LogEnd::kOpen);
  EXPECT_TRUE(SameState(contents.state, StateAfter(Script().size())));
}

TEST_F(ManifestTest, SnapshotsReplaceEarlierEdits) {
  WriteScript(/*close=*/true);
  ASSERT_OK_AND_ASSIGN(const ManifestContents first, ReadManifest(*directory_));
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       ManifestWriter::Create(*directory_, 9, kFileId + 1, first.state.ToSnapshot(),
                                              first.current_bytes));
  EXPECT_EQ(writer->number(), 9u);
  ASSERT_OK_AND_ASSIGN(const ManifestContents second, ReadManifest(*directory_));
  EXPECT_EQ(second.current.manifest_number, 9u);
  EXPECT_EQ(second.current_bytes, writer->current_bytes());
  EXPECT_EQ(second.edit_count, 1u);
  EXPECT_TRUE(SameState(second.state, first.state));
}

TEST_F(ManifestTest, KeepsAnUnexpectedCurrent) {
  WriteScript(/*close=*/true);
  EXPECT_THAT(ManifestWriter::Create(*directory_, 9, kFileId, EmptyStore(), "something else"),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(ManifestWriter::Create(*directory_, 10, kFileId, EmptyStore(), std::nullopt),
              StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK_AND_ASSIGN(const ManifestContents contents, ReadManifest(*directory_));
  EXPECT_EQ(contents.current.manifest_number, 1u);
}

TEST_F(ManifestTest, OnlyAMissingCurrentMeansNoStore) {
  EXPECT_THAT(ReadManifest(*directory_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("CURRENT")));
  WriteScript(/*close=*/true);
  ASSERT_OK(directory_->Remove(ManifestFileName(1)));
  EXPECT_THAT(ReadManifest(*directory_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(manifest_path_), HasSubstr("no such file"))));
}

TEST_F(ManifestTest, ManifestsWithoutEditsAreDamage) {
  WriteScript(/*close=*/true);
  const std::string whole = files_.FileBytes(manifest_path_);
  for (const size_t length : {size_t{0}, size_t{7}, kLogHeaderBytes}) {
    files_.SetFileBytes(manifest_path_, whole.substr(0, length));
    EXPECT_THAT(ReadManifest(*directory_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(manifest_path_)))
        << length;
  }
}

TEST_F(ManifestTest, OtherFilesUnderItsNameAreDamage) {
  WriteScript(/*close=*/true);
  const std::string manifest = files_.FileBytes(manifest_path_);
  // Another manifest.  CURRENT names a different id.
  files_.SetFileBytes(current_path_, Current{1, kFileId + 1}.Encode());
  EXPECT_THAT(ReadManifest(*directory_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("another manifest")));
  files_.SetFileBytes(current_path_, Current{1, kFileId}.Encode());
  // No log at all.
  files_.SetFileBytes(manifest_path_,
                      "This is a letter to a friend, and quite long enough to be one.");
  EXPECT_THAT(ReadManifest(*directory_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(manifest_path_)));
  // A write-ahead log.
  ASSERT_OK_AND_ASSIGN(auto file, directory_->CreateExclusive("000002.log"));
  ASSERT_OK_AND_ASSIGN(const auto log,
                       LogWriter::Create(std::move(file), LogKind::kWriteAhead, kFileId));
  ASSERT_OK(log->Append("payload"));
  files_.SetFileBytes(manifest_path_, files_.FileBytes("store/000002.log"));
  EXPECT_THAT(ReadManifest(*directory_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(manifest_path_)));
}

TEST_F(ManifestTest, EveryFlippedBitOfCurrentIsANamedError) {
  WriteScript(/*close=*/true);
  const std::string whole = files_.FileBytes(current_path_);
  ASSERT_EQ(whole.size(), kCurrentBytes);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    files_.SetFileBytes(current_path_, bytes);
    EXPECT_THAT(ReadManifest(*directory_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(current_path_)))
        << bit;
  }
}

TEST_F(ManifestTest, EveryOtherLengthOfCurrentIsANamedError) {
  WriteScript(/*close=*/true);
  const std::string whole = files_.FileBytes(current_path_);
  for (size_t length = 0; length < 100; ++length) {
    if (length == whole.size()) continue;
    std::string bytes = whole;
    bytes.resize(length, '\0');
    files_.SetFileBytes(current_path_, bytes);
    EXPECT_THAT(ReadManifest(*directory_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(current_path_)))
        << length;
  }
  files_.SetFileBytes(current_path_, std::string(1 << 20, 'x'));
  EXPECT_THAT(ReadManifest(*directory_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("1048576 bytes")));
}

// A closed manifest is known to be synced, so nothing may be dropped.  In an unclosed one, a
// flipped bit in the last edit is also distinguished from a torn write, because one bit explains
// it.
TEST_F(ManifestTest, EveryFlippedBitOfAManifestIsANamedErrorOrTheRightState) {
  const ManifestState right = StateAfter(Script().size());
  for (const bool close : {true, false}) {
    if (!close) {
      ASSERT_OK(directory_->Remove(ManifestFileName(1)));
      ASSERT_OK(directory_->Remove("CURRENT"));
    }
    WriteScript(close);
    const std::string whole = files_.FileBytes(manifest_path_);
    size_t right_states = 0;
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      files_.SetFileBytes(manifest_path_, bytes);
      const auto contents = ReadManifest(*directory_);
      if (contents.ok()) {
        ++right_states;
        EXPECT_TRUE(SameState(contents->state, right)) << "bit " << bit << ", closed " << close;
        continue;
      }
      EXPECT_THAT(
          contents,
          testing::AnyOf(StatusIs(absl::StatusCode::kDataLoss, HasSubstr(manifest_path_)),
                         StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(manifest_path_))))
          << "bit " << bit << ", closed " << close;
    }
    EXPECT_LT(right_states, 8 * whole.size() / 2);
  }
}

// A truncated file may look like one that a crash cut off.  It then gives an earlier state, but
// never a state that did not exist.
TEST_F(ManifestTest, EveryTruncationIsANamedErrorOrAnEarlierState) {
  WriteScript(/*close=*/true);
  const std::string whole = files_.FileBytes(manifest_path_);
  for (size_t length = 0; length < whole.size(); ++length) {
    files_.SetFileBytes(manifest_path_, whole.substr(0, length));
    const auto contents = ReadManifest(*directory_);
    if (!contents.ok()) {
      EXPECT_THAT(contents, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(manifest_path_)));
      continue;
    }
    EXPECT_NE(contents->end, LogEnd::kClosed) << length;
    ASSERT_LE(contents->edit_count, Script().size());
    EXPECT_TRUE(SameState(contents->state, StateAfter(contents->edit_count))) << length;
  }
}

// An unsynced edit may be present in part.  The edits before it count, and the torn one is
// reported.
TEST_F(ManifestTest, DropsATornLastEdit) {
  const std::vector<VersionEdit> script = Script();
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       ManifestWriter::Create(*directory_, 1, kFileId, script[0], std::nullopt));
  ASSERT_OK(writer->Append(script[1]));
  const size_t before = files_.FileBytes(manifest_path_).size();
  ASSERT_OK(writer->Append(script[2]));
  const std::string whole = files_.FileBytes(manifest_path_);
  for (size_t length = before + 1; length < whole.size(); ++length) {
    files_.SetFileBytes(manifest_path_, whole.substr(0, length));
    ASSERT_OK_AND_ASSIGN(const ManifestContents contents, ReadManifest(*directory_));
    EXPECT_EQ(contents.end, LogEnd::kTorn);
    EXPECT_EQ(contents.torn_bytes, length - before);
    EXPECT_TRUE(SameState(contents.state, StateAfter(2)));
  }
}

TEST_F(ManifestTest, FileSystemErrorsPass) {
  WriteScript(/*close=*/true);
  files_.SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    const bool fails = operation == FileOperation::kReadAt && path.ends_with(".manifest");
    return fails ? absl::UnavailableError(path + ": EIO") : absl::OkStatus();
  });
  EXPECT_THAT(ReadManifest(*directory_), StatusIs(absl::StatusCode::kUnavailable));
}

// If an operation fails while a manifest is being created, CURRENT names the old or the new
// manifest, and that one is whole.
TEST_F(ManifestTest, FailedCreationLeavesAReadableStore) {
  WriteScript(/*close=*/true);
  const ManifestState before = StateAfter(Script().size());
  const std::string current = files_.FileBytes(current_path_);
  for (uint64_t operation = 0;; ++operation) {
    ASSERT_LT(operation, 100u);
    for (const auto unsynced :
         {MemoryFileSystem::Unsynced::kLost, MemoryFileSystem::Unsynced::kKept}) {
      const std::unique_ptr<MemoryFileSystem> files = files_.Clone();
      ASSERT_OK_AND_ASSIGN(auto directory, files->OpenDirectory("store", false));
      files->ResetCounts();
      files->CrashAt(operation);
      const auto writer =
          ManifestWriter::Create(*directory, 9, kFileId + 1, before.ToSnapshot(), current);
      const bool crashed = files->crashed();
      files->Restart(unsynced);
      ASSERT_OK_AND_ASSIGN(directory, files->OpenDirectory("store", false));
      ASSERT_OK_AND_ASSIGN(const ManifestContents contents, ReadManifest(*directory));
      EXPECT_TRUE(SameState(contents.state, before));
      if (writer.ok()) {
        EXPECT_EQ(contents.current.manifest_number, 9u);
      }
      if (!crashed) return;
    }
  }
}

TEST_F(ManifestTest, FailedAppendsAreFinal) {
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       ManifestWriter::Create(*directory_, 1, kFileId, EmptyStore(), std::nullopt));
  files_.SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kSyncFile ? absl::UnavailableError("EIO") : absl::OkStatus();
  });
  EXPECT_THAT(writer->Append(FlushOf(4, 3)), StatusIs(absl::StatusCode::kUnavailable));
  files_.SetFault(nullptr);
  EXPECT_THAT(writer->Append(FlushOf(5, 3)), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ManifestTest, ReaderReadsOnAfterEachEdit) {
  const std::vector<VersionEdit> script = Script();
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       ManifestWriter::Create(*directory_, 1, kFileId, script[0], std::nullopt));
  ASSERT_OK_AND_ASSIGN(const auto reader, ManifestReader::Open(*directory_, {1, kFileId}));
  EXPECT_EQ(*reader->ReadOn(), 1u);
  for (size_t i = 1; i < script.size(); ++i) {
    EXPECT_EQ(*reader->ReadOn(), 0u);
    ASSERT_OK(writer->Append(script[i]));
    EXPECT_EQ(*reader->ReadOn(), 1u);
    EXPECT_TRUE(SameState(reader->state(), StateAfter(i + 1)));
  }
  EXPECT_EQ(reader->edit_count(), script.size());
  EXPECT_EQ(reader->first_sequence(), script[0].last_sequence);
}

TEST_F(ManifestTest, ReaderReadsOnAfterEachByte) {
  WriteScript(/*close=*/true);
  const std::string whole = files_.FileBytes(manifest_path_);
  std::unique_ptr<ManifestReader> reader;
  size_t edits = 0;
  for (size_t bytes = kLogHeaderBytes; bytes <= whole.size(); ++bytes) {
    files_.SetFileBytes(manifest_path_, whole.substr(0, bytes));
    if (reader == nullptr) {
      // A manifest without an edit is damage: CURRENT names none.
      if (!ReadManifestOf(*directory_, {1, kFileId}).ok()) continue;
      ASSERT_OK_AND_ASSIGN(reader, ManifestReader::Open(*directory_, {1, kFileId}));
    }
    ASSERT_OK_AND_ASSIGN(const uint64_t more, reader->ReadOn());
    edits += static_cast<size_t>(more);
    ASSERT_TRUE(SameState(reader->state(), StateAfter(edits))) << bytes;
    ASSERT_EQ(reader->edit_count(), ReadManifestOf(*directory_, {1, kFileId})->edit_count);
  }
  EXPECT_EQ(edits, Script().size());
}

TEST(CurrentTest, BytesMatchTheFormat) {
  const std::string bytes = Current{0x0102, 0x0304}.Encode();
  ASSERT_EQ(bytes.size(), kCurrentBytes);
  EXPECT_EQ(bytes.substr(0, 32), std::string("TRLSCUR\n"
                                             "\x01\0\0\0\0\0\0\0"
                                             "\x02\x01\0\0\0\0\0\0"
                                             "\x04\x03\0\0\0\0\0\0",
                                             32));
  EXPECT_EQ(LoadFixed64(bytes.data() + 32), Checksum(bytes.substr(0, 32), 0, 0));
}

TEST(CurrentTest, RefusesOtherVersions) {
  std::string bytes = Current{1, 2}.Encode();
  bytes[8] = 2;
  StoreFixed64(bytes.data() + 32, Checksum(bytes.substr(0, 32), 0, 0));
  EXPECT_THAT(Current::Decode(bytes, "dir/CURRENT"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("dir/CURRENT"), HasSubstr("version 2"))));
}

TEST(CurrentTest, RefusesReservedBytes) {
  std::string bytes = Current{1, 2}.Encode();
  bytes[13] = 2;
  StoreFixed64(bytes.data() + 32, Checksum(bytes.substr(0, 32), 0, 0));
  EXPECT_THAT(Current::Decode(bytes, "dir/CURRENT"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("reserved bytes")));
}

class ManifestStateTest : public testing::Test {
 protected:
  ManifestStateTest() {
    EXPECT_OK(state_.Apply(EmptyStore(), "M", 0));
    EXPECT_OK(state_.Apply(FlushOf(4, 3), "M", 1));
  }
  ManifestState state_;
};

TEST_F(ManifestStateTest, SeedDeterminesLogIds) {
  EXPECT_OK(state_.CheckLogId(3, "dir/000003.log", 1, 500)) << "without a seed any may be right";
  VersionEdit edit = EmptyStore();
  edit.log_seed = 5;
  ManifestState state;
  ASSERT_OK(state.Apply(edit, "M", 0));
  EXPECT_EQ(state.ToSnapshot().log_seed, 5u);
  EXPECT_EQ(LogFileId(5, 3), Checksum(std::string("\3\0\0\0\0\0\0\0", 8), 5, 0));
  EXPECT_OK(state.CheckLogId(3, "dir/000003.log", LogFileId(5, 3), 500));
  for (const uint64_t id : {LogFileId(5, 4), LogFileId(6, 3), uint64_t{0}}) {
    EXPECT_THAT(state.CheckLogId(3, "dir/000003.log", id, kLogHeaderBytes + 1),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("dir/000003.log: offset 0: this is another log")));
    EXPECT_OK(state.CheckLogId(3, "dir/000003.log", id, kLogHeaderBytes)) << "holds nothing";
    EXPECT_THAT(
        state.CheckLogId(2, "dir/000002.log", id, kLogHeaderBytes),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr(id == 0 ? "no header" : "another log")))
        << "must be there";
  }
}

// Edits with arbitrary contents, in sound records.  Hostile bytes may give a wrong state, but must
// not crash the reader.
TEST_F(ManifestTest, HostileEditsInSoundRecordsNeverCrashTheReader) {
  const uint64_t seed = 4711;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  const std::vector<VersionEdit> script = Script();
  for (int round = 0; round < 2000; ++round) {
    MemoryFileSystem files;
    ASSERT_OK_AND_ASSIGN(const auto directory, files.OpenDirectory("store", true));
    ASSERT_OK_AND_ASSIGN(auto file, directory->CreateExclusive(ManifestFileName(1)));
    ASSERT_OK_AND_ASSIGN(const auto log,
                         LogWriter::Create(std::move(file), LogKind::kManifest, kFileId));
    for (const VersionEdit& edit : script) {
      std::string bytes = edit.Encode();
      if (dice.OneIn(2)) bytes[dice.Roll(bytes.size())] = static_cast<char>(dice.Next());
      ASSERT_OK(log->Append(bytes));
    }
    files.SetFileBytes("store/CURRENT", Current{1, kFileId}.Encode());
    const auto contents = ReadManifest(*directory);
    if (!contents.ok()) {
      EXPECT_THAT(contents.status().ToString(), HasSubstr(ManifestFileName(1)));
    }
  }
}

}  // namespace
}  // namespace lsm
