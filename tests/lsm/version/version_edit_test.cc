#include "lsm/version/version_edit.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>

#include "lsm/base/internal_key.h"
#include "lsm/bytes/coding.h"
#include "lsm/write_batch.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::StatusIs;

TableMeta FullMeta(uint64_t number, uint32_t run = 0) {
  return {number, 0x1234567890abcdef,         4096,
          17,     InternalKey(PutOf("a", 9)), InternalKey(PutOf(std::string("z\0", 2), 3)),
          run};
}

VersionEdit FullEdit() {
  VersionEdit edit;
  edit.is_snapshot = true;
  edit.next_file_number = 1'000'000;
  edit.last_sequence = kSequenceMax;
  edit.oldest_log = 0;
  edit.digest_seed = UINT64_MAX;
  edit.log_seed = UINT64_MAX - 1;
  edit.log_directory = std::string("/logs of\0\n", 10);
  edit.synced_logs = {4, UINT64_MAX};
  edit.closed_logs = {{4, 92}, {UINT64_MAX, UINT64_MAX}};
  edit.added = {{0, FullMeta(5)}, {6, FullMeta(UINT64_MAX)}, {1, FullMeta(8, UINT32_MAX)}};
  edit.removed = {{3, 4}, {0, 0}};
  return edit;
}

absl::StatusOr<VersionEdit> Decode(std::string_view bytes) {
  return VersionEdit::Decode(bytes, "dir/M", 77);
}

// The bytes of an edit with one field.
std::string OneField(uint32_t tag, std::string_view field) {
  std::string bytes(1, '\x01');
  AppendVarint32(&bytes, tag);
  AppendLengthPrefixed(&bytes, field);
  return bytes;
}

std::string Varint(uint64_t value) {
  std::string bytes;
  AppendVarint64(&bytes, value);
  return bytes;
}

std::string AddedField(uint32_t level, std::string_view smallest, std::string_view largest,
                       std::optional<uint32_t> run = std::nullopt) {
  std::string bytes;
  if (run) AppendVarint32(&bytes, *run);
  AppendVarint32(&bytes, level);
  AppendVarint64(&bytes, 5);
  AppendFixed64(&bytes, 6);
  AppendVarint64(&bytes, 7);
  AppendVarint64(&bytes, 8);
  AppendLengthPrefixed(&bytes, smallest);
  AppendLengthPrefixed(&bytes, largest);
  return bytes;
}

TEST(VersionEditTest, ReadsBackWhatWasWritten) {
  VersionEdit edit = FullEdit();
  ASSERT_OK_AND_ASSIGN(VersionEdit decoded, Decode(edit.Encode()));
  EXPECT_EQ(decoded, edit);
  edit.digest_seed = {bloom::DigestHash::kSipHash, 1, UINT64_MAX};
  ASSERT_OK_AND_ASSIGN(decoded, Decode(edit.Encode()));
  EXPECT_EQ(decoded, edit);
}

TEST(VersionEditTest, AnEditOfNothingReadsBack) {
  ASSERT_OK_AND_ASSIGN(const VersionEdit decoded, Decode(VersionEdit().Encode()));
  EXPECT_EQ(decoded, VersionEdit());
}

// Pins the format: lsm/version/version_edit.h draws it.
TEST(VersionEditTest, TheBytesAreThoseOfTheFormat) {
  VersionEdit edit;
  edit.next_file_number = 300;
  edit.digest_seed = 1;
  edit.log_seed = 2;
  edit.log_directory = "/l";
  edit.synced_logs = {2};
  edit.closed_logs = {{2, 300}};
  edit.removed = {{1, 3}};
  EXPECT_EQ(edit.Encode(), std::string("\x01"
                                       "\x01\x02\xac\x02"
                                       "\x04\x08\x01\0\0\0\0\0\0\0"
                                       "\x0a\x08\x02\0\0\0\0\0\0\0"
                                       "\x0d\x02/l"
                                       "\x08\x01\x02"
                                       "\x09\x03\x02\xac\x02"
                                       "\x06\x02\x01\x03",
                                       1 + 4 + 10 + 10 + 4 + 3 + 5 + 4));
  edit = {};
  edit.is_snapshot = true;
  edit.added = {{2, {5, 6, 7, 8, InternalKey(PutOf("a", 1)), InternalKey(PutOf("b", 1))}}};
  EXPECT_EQ(edit.Encode(), OneField(7, "") + OneField(5, AddedField(2, InternalKey(PutOf("a", 1)),
                                                                    InternalKey(PutOf("b", 1))))
                                                 .substr(1));
  edit.is_snapshot = false;
  edit.added[0].table.run = 300;
  EXPECT_EQ(edit.Encode(), OneField(12, AddedField(2, InternalKey(PutOf("a", 1)),
                                                   InternalKey(PutOf("b", 1)), 300)));
}

TEST(VersionEditTest, AnotherFormatOrTagIsRefusedByName) {
  EXPECT_THAT(Decode("\x02"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("dir/M: offset 77"), HasSubstr("format 2"))));
  EXPECT_THAT(Decode(OneField(14, "x")),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("dir/M: offset 77"), HasSubstr("field 14"))));
  EXPECT_THAT(Decode(OneField(0, "")), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(VersionEditTest, WhatCannotBeIsDamage) {
  const std::string a = InternalKey(PutOf("a", 1));
  const std::string b = InternalKey(PutOf("b", 1));
  const std::string bad_kind = "a" + std::string("\x05\0\0\0\0\0\0\0", 8);
  const std::string long_key = InternalKey(PutOf(std::string(kKeyBytesMax + 1, 'x'), 1));
  const struct {
    std::string bytes;
    std::string message;
  } cases[] = {
      {"", "empty"},
      {"\x01\x01", "cut off"},
      {OneField(1, ""), "next file number"},
      {OneField(1, "\x80"), "next file number"},
      {OneField(1, std::string("\x01\0", 2)), "next file number"},
      {OneField(1, "\x05") + OneField(1, "\x05").substr(1), "twice"},
      {OneField(2, Varint(kSequenceMax + 1)), "last sequence"},
      {OneField(3, ""), "oldest log"},
      {OneField(4, "1234567"), "digest seed"},
      {OneField(4, "123456789"), "digest seed"},
      {OneField(4, "12345678") + OneField(4, "12345678").substr(1), "twice"},
      {OneField(11, "1234567"), "digest seed"},
      {OneField(11, "123456789012345"), "16 bytes"},
      {OneField(11, "12345678901234567"), "too long"},
      {OneField(4, "12345678") + OneField(11, "1234567890123456").substr(1), "twice"},
      {OneField(10, "1234567"), "log seed"},
      {OneField(10, "12345678") + OneField(10, "12345678").substr(1), "log seed stands twice"},
      {OneField(5, ""), "level"},
      {OneField(5, AddedField(7, a, b)), "level 7"},
      {OneField(5, AddedField(UINT32_MAX, a, b)), "level 4294967295"},
      {OneField(5, AddedField(0, "a", b)), "smallest key is no internal key"},
      {OneField(5, AddedField(0, a, "")), "largest key is no internal key"},
      {OneField(5, AddedField(0, a, bad_kind)), "no internal key"},
      {OneField(5, AddedField(0, a, long_key)), "longer than keys may be"},
      {OneField(5, AddedField(0, b, a)), "behind its largest"},
      {OneField(5, AddedField(0, a, b) + "x"), "too long"},
      {OneField(5, AddedField(0, a, b).substr(0, 20)), "cut off"},
      {OneField(12, ""), "run"},
      {OneField(12, AddedField(1, a, b, 0)), "said to be of run 0"},
      {OneField(12, AddedField(0, a, b, 1)), "table 5 of level 0 is said to be of run 1"},
      {OneField(12, AddedField(7, a, b, 1)), "level 7"},
      {OneField(6, "\x07\x01"), "level 7"},
      {OneField(6, "\x01"), "cut off"},
      {OneField(6, "\x01\x01\x01"), "too long"},
      {OneField(7, "x"), "snapshot"},
      {OneField(7, "") + OneField(7, "").substr(1), "snapshot"},
      {OneField(8, ""), "synced log"},
      {OneField(8, "\x01\x01"), "synced log"},
      {OneField(9, ""), "closed log"},
      {OneField(9, "\x01"), "closed log"},
      {OneField(9, "\x01\x01\x01"), "closed log"},
      {OneField(9, "\x01\x02") + OneField(9, "\x01\x02").substr(1), "closed log 1 stands twice"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Decode(c.bytes),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("dir/M: offset 77: "), HasSubstr(c.message))));
  }
}

TEST(VersionEditTest, EveryTruncationIsDamageOrAShorterEdit) {
  const std::string whole = FullEdit().Encode();
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto decoded = Decode(whole.substr(0, length));
    if (decoded.ok()) {
      // Cut between two fields: records of the log are whole, so this is no loss; but it must not
      // be the same edit.
      EXPECT_NE(*decoded, FullEdit());
      EXPECT_EQ(decoded->Encode(), whole.substr(0, length));
    } else {
      EXPECT_THAT(decoded, StatusIs(absl::StatusCode::kDataLoss));
    }
  }
}

TEST(VersionEditTest, HostileBytesGiveAnErrorOrAnEditThatReadsBack) {
  const uint64_t seed = 99;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string whole = FullEdit().Encode();
  for (int round = 0; round < 100000; ++round) {
    std::string bytes = whole;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto decoded = Decode(bytes);
    if (!decoded.ok()) {
      EXPECT_THAT(decoded,
                  testing::AnyOf(
                      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("dir/M: offset 77")),
                      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("dir/M: offset 77"))));
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const VersionEdit again, Decode(decoded->Encode()));
    EXPECT_EQ(again, *decoded);
  }
}

}  // namespace
}  // namespace lsm
