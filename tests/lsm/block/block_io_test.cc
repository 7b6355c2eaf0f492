#include "lsm/block/block_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/sanitizer.h"
#include "lsm/bytes/status.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::HasSubstr;
using ::testing_support::StatusIs;

constexpr uint64_t kFileId = 99;

// The same half twice, so that LZ4 halves it.
std::string Compressible(size_t size_bytes) {
  Dice dice(size_bytes);
  std::string half(size_bytes / 2, '\0');
  for (char& byte : half) byte = static_cast<char>(dice.Next());
  return half + half;
}

class BlockIoTest : public ::testing::Test {
 protected:
  BlockHandle Write(std::string_view block, Compression compression) {
    StringAppendFile file(written_);
    std::string scratch = "left over";
    return WriteBlock(&file, kFileId, block, compression, &scratch).value();
  }
  absl::StatusOr<std::string> Read(BlockHandle handle) {
    file_ = FileOf(written_->bytes);
    BlockRooms rooms;
    TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes,
                             ReadBlock(CountingReadFile(file_), kFileId, handle, &rooms));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
    return std::string(bytes);
  }

  const std::shared_ptr<WrittenState> written_ = std::make_shared<WrittenState>();
  std::shared_ptr<FileState> file_;
};

TEST_F(BlockIoTest, ReadsBlocksWithOneRead) {
  for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
    for (const size_t size_bytes :
         {0, 1, 8, 100, 4096, 8183, 8184, 8192, 8193, 16'000, 17'000, 100'000, 5'000'000}) {
      const std::string block = Compressible(size_bytes);
      const BlockHandle handle = Write(block, compression);
      EXPECT_EQ(handle.offset + handle.stored_bytes + kBlockTrailerBytes, written_->bytes.size());
      ASSERT_OK_AND_ASSIGN(const std::string read, Read(handle));
      EXPECT_EQ(read, block);
      EXPECT_EQ(file_->reads, 1u);
      EXPECT_EQ(file_->read_bytes, handle.stored_bytes + kBlockTrailerBytes);
    }
  }
}

TEST_F(BlockIoTest, KeepsCompressionThatSavesAnEighth) {
  Dice dice(3);
  std::string noise(4096, '\0');
  for (char& byte : noise) byte = static_cast<char>(dice.Next());
  EXPECT_EQ(Write(noise, Compression::kLz4).stored_bytes, noise.size());
  EXPECT_EQ(Write(Compressible(4096), Compression::kNone).stored_bytes, 4096u);
  EXPECT_LT(Write(Compressible(4096), Compression::kLz4).stored_bytes, 2500u);
  // Savings grow with the share of zeros; around an eighth the choice changes.
  size_t stored_raw = 0;
  size_t stored_compressed = 0;
  for (size_t zeros = 0; zeros < 1500; zeros += 50) {
    std::string block = noise;
    block.replace(0, zeros, zeros, '\0');
    const uint64_t stored = Write(block, Compression::kLz4).stored_bytes;
    EXPECT_TRUE(stored == block.size() || stored <= block.size() - block.size() / 8) << zeros;
    ++(stored == block.size() ? stored_raw : stored_compressed);
  }
  EXPECT_GT(stored_raw, 5u);
  EXPECT_GT(stored_compressed, 5u);
}

TEST_F(BlockIoTest, TrailerMatchesTheDrawing) {
  const BlockHandle first = Write("first", Compression::kNone);
  const BlockHandle second = Write("second", Compression::kNone);
  EXPECT_EQ(first, (BlockHandle{0, 5}));
  EXPECT_EQ(second, (BlockHandle{14, 6}));
  using std::string_literals::operator""s;
  std::string expected = "first\0"s;
  AppendFixed64(&expected, Checksum("first\0"s, kFileId, 0));
  expected += "second\0"s;
  AppendFixed64(&expected, Checksum("second\0"s, kFileId, 14));
  EXPECT_EQ(written_->bytes, expected);
}

TEST_F(BlockIoTest, BlocksOfOtherPlacesAreDamage) {
  const BlockHandle first = Write("same", Compression::kNone);
  const BlockHandle second = Write("same", Compression::kNone);
  const std::string& bytes = written_->bytes;
  const auto stored = [&](BlockHandle handle) {
    return bytes.substr(handle.offset, 4 + kBlockTrailerBytes);
  };
  EXPECT_OK(VerifyBlock(stored(first), first, kFileId, "f").status());
  EXPECT_THAT(VerifyBlock(stored(first), second, kFileId, "f"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f: offset 13")));
  EXPECT_THAT(VerifyBlock(stored(first), first, kFileId + 1, "f"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum")));
  // The block is shorter or longer than its handle says.
  for (size_t size_bytes = 0; size_bytes < 13; ++size_bytes) {
    EXPECT_THAT(VerifyBlock(stored(first).substr(0, size_bytes), first, kFileId, "f"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f: offset 0")));
  }
  EXPECT_THAT(VerifyBlock(bytes.substr(0, 14), first, kFileId, "f"),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(BlockIoTest, HandlesBeyondTheFileAreDamage) {
  const BlockHandle handle = Write("block", Compression::kNone);
  for (const BlockHandle wrong :
       {BlockHandle{handle.offset + 1, 5}, BlockHandle{1000, 5}, BlockHandle{0, 6},
        BlockHandle{~uint64_t{0}, 5}, BlockHandle{0, ~uint64_t{0}}}) {
    EXPECT_THAT(Read(wrong), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kTablePath)));
  }
  EXPECT_THAT(Read({0, ~uint64_t{0}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a block is too large")));
}

TEST_F(BlockIoTest, IgnoresOldBytesOfARoom) {
  for (const size_t size_bytes : {100, 100'000}) {
    const BlockHandle handle = Write(Compressible(size_bytes), Compression::kNone);
    BlockRooms rooms;
    const auto status = [&] {
      return ReadBlock(CountingReadFile(file_), kFileId, handle, &rooms).status();
    };
    file_ = FileOf(written_->bytes);
    EXPECT_OK(status());
    // The buffer still holds the last byte of the earlier read.
    file_ = FileOf(written_->bytes.substr(0, written_->bytes.size() - 1));
    EXPECT_THAT(status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ends within a block")));
  }
}

TEST_F(BlockIoTest, ReturnsErrorsOfReadsAndWrites) {
  const BlockHandle handle = Write("block", Compression::kNone);
  file_ = FileOf(written_->bytes);
  file_->fault = absl::UnavailableError("EIO");
  BlockRooms rooms;
  EXPECT_THAT(ReadBlock(CountingReadFile(file_), kFileId, handle, &rooms).status(),
              StatusIs(absl::StatusCode::kUnavailable, "EIO"));
  written_->fault_at = written_->calls;
  written_->fault = absl::ResourceExhaustedError("ENOSPC");
  StringAppendFile file(written_);
  std::string scratch;
  EXPECT_THAT(WriteBlock(&file, kFileId, "block", Compression::kNone, &scratch).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, "ENOSPC"));
}

TEST(BlockRoomTest, UsesLentMemoryFirst) {
  alignas(64) std::array<char, 128> lent;
  BlockRoom room(lent);
  EXPECT_EQ(room.Give(128), lent.data());
  char* const larger = room.Give(129);
  EXPECT_NE(larger, lent.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(larger) % 64, 0u);
  std::memset(larger, 'x', 129);  // for AddressSanitizer
  EXPECT_EQ(room.Give(1), lent.data());
  BlockRoom without;
  std::memset(without.Give(1), 'x', 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(without.Give(4096)) % 64, 0u);
}

TEST_F(BlockIoTest, ReadsUsualBlocksWithoutTheHeap) {
  if (kHasAddressSanitizer) return;
  const BlockHandle raw = Write(Compressible(8183), Compression::kNone);
  const BlockHandle larger = Write(Compressible(8184), Compression::kNone);
  const BlockHandle packed = Write(Compressible(8192), Compression::kLz4);
  const BlockHandle larger_packed = Write(Compressible(8194), Compression::kLz4);
  file_ = FileOf(written_->bytes);
  BlockRooms rooms;
  const auto data = [&](BlockHandle handle) {
    return ReadBlock(CountingReadFile(file_), kFileId, handle, &rooms).value().data();
  };
  EXPECT_EQ(data(raw), rooms.stored_bytes.data());
  EXPECT_NE(data(larger), rooms.stored_bytes.data());
  EXPECT_EQ(data(packed), rooms.expanded_bytes.data());
  EXPECT_NE(data(larger_packed), rooms.expanded_bytes.data());
}

TEST(BlockBufferTest, MovesAndFrees) {
  BlockBuffer a(100);
  char* const data = a.data();
  BlockBuffer b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.size(), 100u);
  BlockBuffer c(7);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  c.Truncate(3);
  EXPECT_EQ(c.view().size(), 3u);
}

}  // namespace
}  // namespace lsm
