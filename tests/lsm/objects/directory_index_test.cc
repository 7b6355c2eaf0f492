#include "lsm/objects/directory_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

IndexedFile Table() {
  IndexedFile file;
  file.kind = IndexedKind::kTable;
  file.id = std::string(16, '0') + std::string(16, 'a');
  file.tag = std::string(32, 'f');
  file.chunk_bytes = 4096;
  file.chunks = 300;
  file.size_bytes = 299 * 4096 + 7;
  return file;
}

TEST(IndexedFileTest, ReadsBackItsBytes) {
  IndexedFile log = Table();
  log.kind = IndexedKind::kLog;
  log.size_bytes = 0;
  IndexedFile small, empty;
  small.kind = empty.kind = IndexedKind::kSmall;
  small.small_bytes = std::string("a\0b", 3);
  for (const IndexedFile& file : {Table(), log, small, empty}) {
    EXPECT_FALSE(file.Encode().empty());
    ASSERT_OK_AND_ASSIGN(const IndexedFile decoded, IndexedFile::Decode(file.Encode(), "/s/f"));
    EXPECT_EQ(decoded, file);
  }
}

TEST(IndexedFileTest, NamesDamage) {
  const std::string whole = Table().Encode();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_THAT(IndexedFile::Decode(whole.substr(0, bytes), "/s/f"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/s/f")))
        << bytes;
  }
  const auto damaged = StatusIs(absl::StatusCode::kDataLoss);
  EXPECT_THAT(IndexedFile::Decode(whole + "x", "/s/f"), damaged);
  std::string no_digit = whole;
  no_digit[5] = 'A';
  EXPECT_THAT(IndexedFile::Decode(no_digit, "/s/f"), damaged);
  IndexedFile no_bytes = Table();
  no_bytes.chunk_bytes = 0;
  EXPECT_THAT(IndexedFile::Decode(no_bytes.Encode(), "/s/f"), damaged);
  IndexedFile no_chunk = Table();
  no_chunk.kind = IndexedKind::kLog;
  no_chunk.chunks = 0;
  EXPECT_THAT(IndexedFile::Decode(no_chunk.Encode(), "/s/f"), damaged);
  IndexedFile empty = Table();
  empty.size_bytes = 0;
  EXPECT_THAT(IndexedFile::Decode(empty.Encode(), "/s/f"), damaged);
  for (const uint64_t chunks : {0, 1}) {  // not synced, and synced
    empty.chunks = chunks;
    EXPECT_OK(IndexedFile::Decode(empty.Encode(), "/s/f"));
  }
  EXPECT_THAT(IndexedFile::Decode("x" + whole.substr(1), "/s/f"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("/s/f")));
}

TEST(OwnerTest, LaterOwnersAreGreater) {
  const Owner first{9, UINT64_MAX, "z"}, second{10, 0, ""};
  EXPECT_LT(first.Encode(), second.Encode());
  constexpr uint64_t kSignBit = uint64_t{1} << 63;
  EXPECT_LT((Owner{kSignBit - 1, UINT64_MAX, ""}).Encode(), (Owner{kSignBit, 0, ""}).Encode());
  // Two owners of one counter differ.
  EXPECT_LT((Owner{9, kSignBit - 1, ""}).Encode(), (Owner{9, kSignBit, ""}).Encode());
  ASSERT_OK_AND_ASSIGN(const Owner decoded, Owner::Decode(first.Encode(), "/s"));
  EXPECT_EQ(decoded.counter, 9u);
  EXPECT_EQ(decoded.random, UINT64_MAX);
  EXPECT_EQ(decoded.holder, "z");
  EXPECT_THAT(Owner::Decode("", "/s"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Owner::Decode(first.Encode().substr(0, 32), "/s"),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(IndexNameTest, DependsOnTheDirectoryAlone) {
  EXPECT_EQ(IndexName("/a//b/"), IndexName("/a/b"));
  EXPECT_NE(IndexName("/a"), IndexName("/a/b"));
}

}  // namespace
}  // namespace lsm
