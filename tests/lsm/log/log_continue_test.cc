// LogReader::Continue: reads a log while its writer appends to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lsm/log/log_reader.h"
#include "tests/lsm/log/log_script.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

// A file of which a test shows more and more.
class GrowingFile final : public ReadFile {
 public:
  explicit GrowingFile(std::shared_ptr<std::string> bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (offset >= bytes_->size()) return 0;
    return bytes_->copy(buffer.data(), buffer.size(), static_cast<size_t>(offset));
  }
  absl::StatusOr<uint64_t> Size() const override { return bytes_->size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::shared_ptr<std::string> bytes_;
  const std::string path_ = "dir/000001.log";
};

class LogContinueTest : public testing::Test {
 protected:
  // Records in one sector, over several sectors, and with padding at the end of a sector.
  LogContinueTest() {
    script_.Append("a").Append("").Append(Text(1200)).Sync().Append(Text(390)).Append("b");
    script_.Append(Text(70)).Append(Text(511)).Close();
  }

  std::unique_ptr<LogReader> Open(size_t bytes) {
    *shown_ = script_.bytes().substr(0, bytes);
    absl::StatusOr<std::unique_ptr<LogReader>> reader =
        LogReader::Open(std::make_unique<GrowingFile>(shown_), LogKind::kWriteAhead);
    EXPECT_OK(reader);
    return *std::move(reader);
  }

  // Adds what can be read to `payloads`.
  void ReadOn(LogReader* reader, std::vector<std::string>* payloads) {
    LogReader::Record record;
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next(&record);
      ASSERT_OK(more);
      if (!*more) return;
      payloads->emplace_back(record.payload);
    }
  }

  // The records that are whole in the first `bytes`.
  size_t WholeIn(size_t bytes) const {
    size_t count = 0;
    while (count < script_.payloads().size() && script_.end_of(count) <= bytes) ++count;
    return count;
  }

  void ExpectAllIn(size_t bytes, const LogReader& reader, const std::vector<std::string>& found) {
    const size_t whole = WholeIn(bytes);
    ASSERT_EQ(found.size(), whole);
    EXPECT_TRUE(IsPrefix(found, script_.payloads()));
    const size_t end = whole == 0 ? kLogHeaderBytes : script_.end_of(whole - 1);
    if (bytes == script_.bytes().size()) {
      EXPECT_EQ(reader.end(), LogEnd::kClosed);
    } else if (bytes == end) {
      EXPECT_EQ(reader.end(), LogEnd::kOpen);
    } else {
      EXPECT_EQ(reader.end(), LogEnd::kTorn);
      EXPECT_TRUE(reader.ends_within_record());
    }
  }

  Script script_;
  std::shared_ptr<std::string> shown_ = std::make_shared<std::string>();
};

TEST_F(LogContinueTest, ReadsOnAfterEachByte) {
  const std::unique_ptr<LogReader> reader = Open(0);
  std::vector<std::string> found;
  for (size_t bytes = 0; bytes <= script_.bytes().size(); ++bytes) {
    SCOPED_TRACE(bytes);
    *shown_ = script_.bytes().substr(0, bytes);
    ASSERT_OK(reader->Continue());
    ReadOn(reader.get(), &found);
    ExpectAllIn(bytes, *reader, found);
  }
}

TEST_F(LogContinueTest, ReadsTheRestAfterEachCut) {
  for (size_t cut = 0; cut <= script_.bytes().size(); ++cut) {
    SCOPED_TRACE(cut);
    const std::unique_ptr<LogReader> reader = Open(cut);
    std::vector<std::string> found;
    ReadOn(reader.get(), &found);
    ExpectAllIn(cut, *reader, found);
    *shown_ = script_.bytes();
    ASSERT_OK(reader->Continue());
    ReadOn(reader.get(), &found);
    ExpectAllIn(script_.bytes().size(), *reader, found);
  }
}

// As if a page of the file came later than its size.
TEST_F(LogContinueTest, ReadsBytesThatWereZeros) {
  for (size_t from = kLogHeaderBytes; from < script_.bytes().size(); ++from) {
    SCOPED_TRACE(from);
    const std::unique_ptr<LogReader> reader = Open(from);
    std::vector<std::string> found;
    ReadOn(reader.get(), &found);
    shown_->resize(std::min(from + 700, script_.bytes().size()), '\0');
    ASSERT_OK(reader->Continue());
    LogReader::Record record;
    for (bool more = true; more;) {
      const absl::StatusOr<bool> next = reader->Next(&record);
      more = next.ok() && *next;  // an error may say that bytes are damaged
      if (more) found.emplace_back(record.payload);
    }
    *shown_ = script_.bytes();
    ASSERT_OK(reader->Continue());
    ReadOn(reader.get(), &found);
    ExpectAllIn(script_.bytes().size(), *reader, found);
  }
}

TEST_F(LogContinueTest, TellsWrongBytesFromMissingOnes) {
  const std::unique_ptr<LogReader> reader = Open(script_.end_of(3));
  std::vector<std::string> found;
  ReadOn(reader.get(), &found);
  shown_->append(4000, '\0');
  ASSERT_OK(reader->Continue());
  ReadOn(reader.get(), &found);
  EXPECT_EQ(reader->end(), LogEnd::kTorn);
  EXPECT_FALSE(reader->ends_within_record());
}

TEST_F(LogContinueTest, KeepsTheLastPayload) {
  const std::unique_ptr<LogReader> reader = Open(script_.end_of(2));
  LogReader::Record record;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader->Next(&record).value());
  *shown_ = script_.bytes();
  ASSERT_OK(reader->Continue());
  EXPECT_EQ(record.payload, script_.payloads()[2]);
  ASSERT_TRUE(reader->Next(&record).value());
  EXPECT_EQ(record.payload, script_.payloads()[3]);
}

TEST_F(LogContinueTest, AShorterFileIsDamage) {
  const std::unique_ptr<LogReader> reader = Open(script_.end_of(2));
  shown_->pop_back();
  EXPECT_THAT(reader->Continue(), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(LogContinueTest, BytesAfterTheEndRecordAreDamage) {
  const std::unique_ptr<LogReader> reader = Open(script_.bytes().size());
  std::vector<std::string> found;
  ReadOn(reader.get(), &found);
  ASSERT_OK(reader->Continue());
  shown_->append("x");
  EXPECT_THAT(reader->Continue(), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace lsm
