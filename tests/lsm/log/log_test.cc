// Undamaged logs: the written records are read back, and the bytes are those that log_format.h
// draws.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/log/log_reader.h"
#include "lsm/log/log_writer.h"
#include "tests/lsm/log/string_files.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::Dice;
using testing_support::StatusIs;

constexpr uint64_t kFileId = 0x1234567890abcdef;

class LogTest : public testing::Test {
 protected:
  void Start(LogKind kind = LogKind::kWriteAhead) {
    auto writer = LogWriter::Create(std::make_unique<StringAppendFile>(state_), kind, kFileId);
    ASSERT_OK(writer.status());
    writer_ = *std::move(writer);
  }
  void Append(std::string_view payload) { ASSERT_OK(writer_->Append(payload)); }
  void Sync() { ASSERT_OK(writer_->Sync()); }
  void Close(bool sync = true) { ASSERT_OK(writer_->Close(sync)); }
  const std::string& bytes() const { return state_->bytes; }

  std::shared_ptr<AppendFileState> state_ = std::make_shared<AppendFileState>();
  std::unique_ptr<LogWriter> writer_;
};

std::string RandomBytes(Dice& dice, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(dice.Next());
  return bytes;
}

TEST_F(LogTest, NewLogsAreEmptyAndOpen) {
  Start();
  const LogContents contents = ReadLog(bytes());
  EXPECT_OK(contents.status);
  EXPECT_EQ(contents.payloads.size(), 0u);
  EXPECT_EQ(contents.end, LogEnd::kOpen);
}

TEST_F(LogTest, StartsWritebackEvery256KiB) {
  Start();
  for (int i = 0; i < 6; ++i) Append(std::string(100 << 10, 'x'));
  EXPECT_EQ(state_->writebacks, 2);
  EXPECT_EQ(state_->syncs, 1) << "that of the header";
}

TEST_F(LogTest, ClosedLogsEndWithAnEndRecord) {
  for (const bool sync : {false, true}) {
    state_ = std::make_shared<AppendFileState>();
    Start();
    Append("one");
    Close(sync);
    const LogContents contents = ReadLog(bytes());
    EXPECT_OK(contents.status);
    EXPECT_EQ(contents.payloads, std::vector<std::string>{"one"});
    EXPECT_EQ(contents.end, LogEnd::kClosed);
    EXPECT_EQ(state_->closes, 1);
    EXPECT_EQ(state_->durable_bytes == bytes().size(), sync);
  }
}

TEST_F(LogTest, ReadsRecordsOfEverySizeAndPlace) {
  Dice dice(1);
  std::vector<size_t> sizes{0,   1,   2,   9,   10,  494,  495,  496,
                            503, 504, 989, 990, 991, 1979, 1980, 1981};
  for (size_t size = 425; size < 481; ++size) sizes.push_back(size);
  for (size_t first = 0; first < kSectorBytes; ++first) {
    state_ = std::make_shared<AppendFileState>();
    Start();
    std::vector<std::string> payloads{RandomBytes(dice, first)};
    Append(payloads.back());
    for (size_t i = 0; i < 4; ++i) {
      payloads.push_back(RandomBytes(dice, sizes[dice.Roll(sizes.size())]));
      Append(payloads.back());
      ASSERT_GE(SectorRoom(bytes().size()), kRecordRoomBytesMin);
    }
    Close();
    const LogContents contents = ReadLog(bytes());
    ASSERT_OK(contents.status) << "first record of " << first;
    ASSERT_EQ(contents.payloads, payloads) << "first record of " << first;
    ASSERT_EQ(contents.end, LogEnd::kClosed);
  }
}

TEST_F(LogTest, ReadsLargeRecords) {
  Dice dice(2);
  std::vector<std::string> payloads;
  for (const size_t size : {65536u, 65536u - 512u, 70001u, 3u << 20, (5u << 20) + 1, 7u}) {
    payloads.push_back(RandomBytes(dice, size));
  }
  Start();
  for (const std::string& payload : payloads) Append(payload);
  const LogContents contents = ReadLog(bytes());
  ASSERT_OK(contents.status);
  EXPECT_TRUE(contents.payloads == payloads);
  EXPECT_EQ(contents.end, LogEnd::kOpen);
}

TEST_F(LogTest, RecordsStateTheirOffsetAndDurability) {
  Start();
  Append("a");
  const uint64_t behind_first = writer_->size_bytes();
  EXPECT_TRUE(writer_->has_unsynced());
  Sync();
  EXPECT_FALSE(writer_->has_unsynced());
  Append(std::string(600, 'b'));
  Append("c");

  auto reader =
      LogReader::Open(std::make_unique<StringReadFile>(bytes()), LogKind::kWriteAhead).value();
  EXPECT_EQ(reader->file_id(), kFileId);
  EXPECT_EQ(reader->size_bytes(), bytes().size());
  LogReader::Record record;
  ASSERT_TRUE(reader->Next(&record).value());
  EXPECT_EQ(record.offset, kLogHeaderBytes);
  EXPECT_EQ(record.size_bytes, kRecordHeaderBytes + kChunkFramingBytes + 1);
  EXPECT_EQ(record.durable_offset, kLogHeaderBytes) << "the log's header is synced at once";
  ASSERT_TRUE(reader->Next(&record).value());
  EXPECT_EQ(record.offset, behind_first);
  EXPECT_EQ(record.durable_offset, behind_first);
  ASSERT_TRUE(reader->Next(&record).value());
  EXPECT_EQ(record.durable_offset, behind_first);
  EXPECT_EQ(reader->durable_offset(), behind_first);
  ASSERT_FALSE(reader->Next(&record).value());
  ASSERT_FALSE(reader->Next(&record).value()) << "the end stays the end";
}

TEST_F(LogTest, EndRecordsVouchForSyncedRecords) {
  Start();
  Append("not synced");
  const uint64_t end_record = writer_->size_bytes();
  Close(true);
  RecordHeader header;
  ASSERT_TRUE(LoadRecordHeader(std::string_view(bytes()).substr(end_record, kRecordHeaderBytes),
                               kFileId, end_record, &header));
  EXPECT_EQ(header.type, RecordType::kEnd);
  EXPECT_EQ(header.durable_offset, end_record);
}

// The drawing in log_format.h, byte by byte.
TEST_F(LogTest, BytesMatchTheDrawing) {
  Start(LogKind::kManifest);
  Append("hi");
  std::string expected = "TRLSLOG\n";
  expected += std::string("\x02\0\x02\0", 4);
  AppendFixed64(&expected, kFileId);
  expected += std::string(3, '\0');
  AppendFixed64(&expected, Checksum(expected, 0, 0));
  expected += '\xa5';
  ASSERT_EQ(expected.size(), 32u);

  std::string header = "RGOL";
  header += '\x01';
  AppendFixed32(&header, 2);
  AppendFixed32(&header, 0);
  AppendFixed64(&header, 32);
  AppendFixed64(&header, Checksum(header, kFileId, 32));
  header += '\xa5';
  ASSERT_EQ(header.size(), 30u);
  expected += header;

  AppendFixed64(&expected, Checksum("hi", kFileId, 62));
  expected += "hi\xa5";
  EXPECT_EQ(bytes(), expected);

  Append(std::string(1000, 'x'));
  std::string tag;
  AppendFixed32(&tag, 2);
  AppendFixed32(&tag, static_cast<uint32_t>(Checksum(tag, kFileId, 1024)));
  EXPECT_EQ(bytes().substr(1024, kSectorTagBytes), tag);
}

TEST_F(LogTest, PiecesEndWithTheirSector) {
  Start();
  // 441 bytes: the chunk ends at 512 exactly, and needs no padding.
  Append(std::string(441, 'x'));
  EXPECT_EQ(bytes().size(), 512u);
  EXPECT_EQ(bytes().back(), '\xa5');
  // 472 - 47: 40 bytes are left after it, which a record can use.
  Append(std::string(425, 'x'));
  EXPECT_EQ(bytes().size(), 512u + 472);
  Append("");
  EXPECT_EQ(bytes().size(), 1024u) << "10 bytes are too few for another record";
  EXPECT_EQ(bytes().substr(1014), std::string(10, '\0'));
  // One more byte leaves 39, which a record cannot use.
  Append(std::string(426, 'x'));
  EXPECT_EQ(bytes().size(), 1536u);
  EXPECT_EQ(bytes().substr(1536 - 39), std::string(39, '\0'));
  // One byte more than fits the sector needs another chunk.
  Append(std::string(466, 'x'));
  EXPECT_EQ(bytes().size(), 2048u + 18);
  EXPECT_EQ(ReadLog(bytes()).payloads.size(), 5u);
}

TEST_F(LogTest, WritesARecordAtOnce) {
  Start();
  EXPECT_EQ(state_->appends, 1);
  EXPECT_EQ(state_->syncs, 1);
  Append(std::string(100000, 'x'));
  EXPECT_EQ(state_->appends, 2);
  Sync();
  Sync();
  EXPECT_EQ(state_->syncs, 2) << "there was nothing to sync the second time";
}

TEST_F(LogTest, RefusesLongRecordsAndStaysUnchanged) {
  Start();
  Append("a");
  const std::string_view too_long(bytes().data(), kRecordBytesMax + 1);  // never read
  EXPECT_THAT(writer_->Append(too_long),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("335544321 bytes")));
  Append("b");
  EXPECT_EQ(ReadLog(bytes()).payloads, (std::vector<std::string>{"a", "b"}));
}

TEST_F(LogTest, RefusesFilesWithBytesForNewLogs) {
  state_->bytes = "x";
  EXPECT_THAT(LogWriter::Create(std::make_unique<StringAppendFile>(state_), LogKind::kManifest, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dir/000001.log")));
}

TEST_F(LogTest, FailedAppendsAreFinal) {
  Start();
  Append("a");
  state_->next_append = absl::ResourceExhaustedError("full");
  EXPECT_THAT(writer_->Append("b"), StatusIs(absl::StatusCode::kResourceExhausted));
  state_->next_append = absl::OkStatus();
  const std::string before = bytes();
  EXPECT_THAT(writer_->Append("c"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(writer_->Sync(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(writer_->Close(true), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(state_->closes, 1);
  EXPECT_EQ(state_->syncs, 1) << "of the header only";
  EXPECT_EQ(ReadLog(bytes()).payloads, std::vector<std::string>{"a"});
}

TEST_F(LogTest, FailedSyncsAreFinal) {
  Start();
  Append("a");
  state_->next_sync = absl::UnavailableError("EIO");
  EXPECT_THAT(writer_->Sync(), StatusIs(absl::StatusCode::kUnavailable));
  state_->next_sync = absl::OkStatus();
  EXPECT_THAT(writer_->Sync(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(writer_->Append("b"), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(writer_->Close(true), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(state_->syncs, 2);
  EXPECT_EQ(state_->closes, 1);
}

TEST_F(LogTest, ReportsFailedCloses) {
  Start();
  state_->next_close = absl::UnavailableError("EIO");
  EXPECT_THAT(writer_->Close(false), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(LogTest, ReportsFailedCreation) {
  state_->next_append = absl::ResourceExhaustedError("full");
  EXPECT_THAT(LogWriter::Create(std::make_unique<StringAppendFile>(state_), LogKind::kManifest, 1),
              StatusIs(absl::StatusCode::kResourceExhausted));
  state_ = std::make_shared<AppendFileState>();
  state_->next_sync = absl::UnavailableError("EIO");
  EXPECT_THAT(LogWriter::Create(std::make_unique<StringAppendFile>(state_), LogKind::kManifest, 1),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(LogTest, RetriesFailedReads) {
  Start();
  Append("a");
  Append(std::string(100000, 'b'));
  absl::Status fault = absl::UnavailableError("EIO");
  auto open = [&] { return std::make_unique<StringReadFile>(bytes(), &fault); };
  EXPECT_THAT(LogReader::Open(open(), LogKind::kWriteAhead),
              StatusIs(absl::StatusCode::kUnavailable));
  fault = absl::OkStatus();
  auto reader = LogReader::Open(open(), LogKind::kWriteAhead).value();
  LogReader::Record record;
  ASSERT_TRUE(reader->Next(&record).value());
  fault = absl::UnavailableError("EIO");
  EXPECT_THAT(reader->Next(&record), StatusIs(absl::StatusCode::kUnavailable));
  fault = absl::OkStatus();
  ASSERT_TRUE(reader->Next(&record).value());
  EXPECT_EQ(record.payload.size(), 100000u);
  EXPECT_FALSE(reader->Next(&record).value());
  EXPECT_EQ(reader->end(), LogEnd::kOpen);
}

TEST_F(LogTest, RefusesOtherKindsVersionsAndFiles) {
  Start(LogKind::kManifest);
  Append("a");
  EXPECT_THAT(ReadLog(bytes(), LogKind::kWriteAhead).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kind 2, not 1")));
  EXPECT_OK(ReadLog(bytes(), LogKind::kManifest).status);

  std::string newer = bytes();
  StoreLogHeader(newer.data(), {.version = 7, .kind = LogKind::kManifest, .file_id = 1});
  EXPECT_THAT(ReadLog(newer, LogKind::kManifest).status,
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 7")));

  // Manifests keep their version.
  StoreLogHeader(newer.data(), {.version = 3, .kind = LogKind::kManifest, .file_id = kFileId});
  EXPECT_THAT(ReadLog(newer, LogKind::kManifest).status,
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("version 3 is not known; this program reads version 2")));

  std::string another_kind = bytes();
  StoreLogHeader(another_kind.data(), {.kind = static_cast<LogKind>(9), .file_id = kFileId});
  for (const LogKind wanted : {LogKind::kWriteAhead, LogKind::kManifest}) {
    EXPECT_THAT(ReadLog(another_kind, wanted).status,
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("kind 9 is not known")));
  }

  EXPECT_THAT(ReadLog("#!/bin/sh\necho this is a shell script, no log\n").status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a log")));
}

TEST_F(LogTest, ReadsWriteAheadLogsOfBothVersions) {
  Start();
  Append("a");
  LogHeader header;
  ASSERT_TRUE(LoadLogHeader(bytes().substr(0, kLogHeaderBytes), &header));
  EXPECT_EQ(header.version, 3);
  for (const uint16_t version : {1, 2, 3, 4}) {
    std::string log = bytes();
    StoreLogHeader(log.data(),
                   {.version = version, .kind = LogKind::kWriteAhead, .file_id = kFileId});
    const LogContents contents = ReadLog(log);
    if (version == 2 || version == 3) {
      EXPECT_OK(contents.status);
      EXPECT_EQ(contents.payloads, std::vector<std::string>{"a"});
    } else {
      EXPECT_THAT(contents.status, StatusIs(absl::StatusCode::kUnimplemented,
                                            HasSubstr("this program reads version 2 to 3")));
    }
  }
}

// A later release may give them a meaning, which this release must not ignore.
TEST_F(LogTest, RefusesReservedBytesOfTheHeader) {
  Start();
  Append("a");
  for (size_t at = 20; at < 23; ++at) {
    std::string newer = bytes();
    newer[at] = 7;
    std::string checksum;
    AppendFixed64(&checksum, Checksum(newer.substr(0, 23), 0, 0));
    newer.replace(23, 8, checksum);
    EXPECT_THAT(ReadLog(newer).status,
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("reserved bytes")))
        << "byte " << at;
  }
}

}  // namespace
}  // namespace lsm
