// Several reads of files that are submitted together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lsm/file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

// Chunks of logs have 10 bytes, those of tables 8.
class ReadsTogetherTest : public ObjectFixture {
 protected:
  static constexpr char kOtherTable[] = "000003.table";

  void SetUp() override {
    ObjectFixture::SetUp();
    ASSERT_OK_AND_ASSIGN(directory_, files_.OpenDirectory(kStore, /*create=*/false));
    Write(kTable, "0123456789abcdefghij");
    Write(kOtherTable, "ABCDEFGHIJKLMNOPQRST");
    Write(kLog, "zyxwvutsrqponmlkjihg");
    ASSERT_OK(directory_->AtomicReplace("small", "the bytes of a small file", std::nullopt));
    for (const char* name : {kTable, kOtherTable, kLog, "small"})
      files_read_.push_back(directory_->OpenRead(name, ReadMode::kBuffered).value());
  }

  void Add(const ReadFile& file, uint64_t offset, size_t bytes) {
    buffers_.push_back(std::make_unique<std::string>(bytes, '?'));
    requests_.push_back({&file, offset, *buffers_.back(), absl::OkStatus(), 0});
  }
  // Each outcome is the same as that of ReadAt, and is told once.
  void ReadAndCompare() {
    pool_.reads_together.clear();
    std::vector<size_t> told;
    const std::thread::id here = std::this_thread::get_id();
    files_.ReadMany(requests_, [&](size_t number) {
      told.push_back(number);
      EXPECT_EQ(std::this_thread::get_id(), here);
    });
    EXPECT_THAT(told, testing::WhenSorted(testing::SizeIs(requests_.size())));
    const std::vector<size_t> reads = pool_.reads_together;
    for (size_t i = 0; i < requests_.size(); ++i) {
      const ReadRequest& request = requests_[i];
      std::string bytes(request.buffer.size(), '?');
      const absl::StatusOr<size_t> alone = request.file->ReadAt(request.offset, bytes);
      EXPECT_EQ(request.status, alone.status()) << i;
      if (!alone.ok()) continue;
      EXPECT_EQ(request.bytes_read, *alone) << i;
      EXPECT_EQ(std::string_view(request.buffer.data(), request.bytes_read),
                std::string_view(bytes).substr(0, *alone))
          << i;
    }
    EXPECT_EQ(pool_.reads_together, reads);
  }

  CountingPool pool_{&a_.pool};
  ObjectFileSystem files_{
      &pool_, &a_.random, {.has_threads = false, .log_chunk_bytes = 10, .table_chunk_bytes = 8}};
  std::vector<std::unique_ptr<ReadFile>> files_read_;
  std::vector<std::unique_ptr<std::string>> buffers_;
  std::vector<ReadRequest> requests_;
};

TEST_F(ReadsTogetherTest, OneCallReadsSeveralFiles) {
  Add(*files_read_[0], 1, 7);  // one chunk
  Add(*files_read_[1], 6, 4);  // two
  Add(*files_read_[2], 12, 3);
  Add(*files_read_[0], 0, 20);  // three
  ReadAndCompare();
  EXPECT_THAT(pool_.reads_together, ElementsAre(7));
  EXPECT_EQ(*buffers_[0], "1234567");
  EXPECT_EQ(*buffers_[1], "GHIJ");
  EXPECT_EQ(*buffers_[2], "nml");
  EXPECT_EQ(*buffers_[3], "0123456789abcdefghij");
}

TEST_F(ReadsTogetherTest, AllRangesHaveTheOutcomeOfReadAt) {
  for (const std::unique_ptr<ReadFile>& file : files_read_) {
    for (uint64_t offset = 0; offset < 30; ++offset) {
      for (const size_t bytes : {0, 1, 2, 9, 25}) Add(*file, offset, bytes);
    }
    Add(*file, UINT64_MAX, 2);
  }
  ReadAndCompare();
  EXPECT_EQ(pool_.reads_together.size(), 1u);
}

// The error of one request is not that of the others.
TEST_F(ReadsTogetherTest, DamageHasTheErrorOfReadAt) {
  RemoveChunk(kTable, 1);
  ASSERT_OK_AND_ASSIGN(const IndexedFile other, FileOf(kOtherTable));
  ObjectWrite longer;
  longer.offset = 8;
  longer.bytes = "!";
  ASSERT_OK(checker_.pool.Write(ChunkName(other.id, 0), longer));
  Add(*files_read_[0], 0, 4);
  Add(*files_read_[0], 6, 4);
  Add(*files_read_[1], 0, 4);
  Add(*files_read_[1], 8, 4);
  ReadAndCompare();
  EXPECT_OK(requests_[0].status);
  EXPECT_THAT(requests_[1].status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/store/000002.table: chunk 1")));
  EXPECT_THAT(requests_[2].status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("9 bytes")));
  EXPECT_OK(requests_[3].status);
}

TEST_F(ReadsTogetherTest, SupersededOwnersLearnIt) {
  const std::unique_ptr<FileLock> a = TakeOver(*directory_);
  Add(*files_read_[0], 0, 4);
  Add(*files_read_[1], 0, 4);
  Add(*files_read_[2], 0, 4);
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  const std::unique_ptr<FileLock> b = TakeOver(*of_b);
  ASSERT_OK(of_b->Remove(kTable));
  ReadAndCompare();
  EXPECT_TRUE(IsTakenOver(requests_[0].status));
  EXPECT_OK(requests_[1].status);
  EXPECT_TRUE(IsTakenOver(requests_[2].status));
}

TEST_F(ReadsTogetherTest, OtherFilesAreReadAlone) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> other,
                       OpenAs(b_)->OpenRead(kTable, ReadMode::kBuffered));
  Add(*other, 0, 4);
  Add(*files_read_[3], 0, 4);
  Add(*files_read_[2], 18, 4);  // beyond the chunks that the log had
  ReadAndCompare();
  EXPECT_THAT(pool_.reads_together, IsEmpty());
  files_.ReadMany({});
  EXPECT_THAT(pool_.reads_together, IsEmpty());
}

}  // namespace
}  // namespace lsm
