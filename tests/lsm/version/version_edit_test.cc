#include "lsm/version/version_edit.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/bytes/coding.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/dice.h"
#include "tests/support/document_table.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::StatusIs;

// This and FullEdit name every field, so that a new one does not compile before it has a value
// here.
TableMeta FullMeta(uint64_t number, uint32_t run = 0) {
  TableMeta meta;
  auto& [number_of_file, file_id, file_bytes, entries, smallest, largest, number_of_run, dead,
         ranges, keyspace, times] = meta;
  number_of_file = number;
  file_id = 0x1234567890abcdef;
  file_bytes = 4096;
  entries = 17;
  smallest = InternalKey(PutOf("a", 9));
  largest = InternalKey(PutOf(std::string("z\0", 2), 3));
  number_of_run = run;
  if (number % 2 == 0) dead = {3, 300, 4, 1'600'000'000};
  if (number % 4 == 0) ranges = {3, "b", std::string("zz\0", 3)};
  if (number % 8 == 0) keyspace = 300;
  if (number % 8 == 0) times = {14, 0, UINT32_MAX, 1'600'000'000};
  return meta;
}

VersionEdit FullEdit() {
  VersionEdit edit;
  auto& [is_snapshot, next_file_number, last_sequence, oldest_log, digest_seed, log_seed,
         log_directory, synced_logs, closed_logs, added_tables, removed_tables, next_keyspace_id,
         dropped_keyspaces, keyspaces] = edit;
  is_snapshot = true;
  next_file_number = 1'000'000;
  last_sequence = kSequenceMax;
  oldest_log = 0;
  digest_seed = UINT64_MAX;
  log_seed = UINT64_MAX - 1;
  log_directory = std::string("/logs of\0\n", 10);
  synced_logs = {4, UINT64_MAX};
  closed_logs = {{4, 92}, {UINT64_MAX, UINT64_MAX}};
  added_tables = {{0, FullMeta(5)}, {6, FullMeta(UINT64_MAX)}, {1, FullMeta(8, UINT32_MAX)}};
  removed_tables = {{3, 4}, {0, 0}};
  next_keyspace_id = KeyspaceRecords::kIdEnd;
  dropped_keyspaces = {7, UINT32_MAX};
  const KeyspaceOptions options = {"ribbon", 0.25, Compression::kNone, CompactionStyle::kTiered,
                                   UINT32_MAX};
  keyspaces = {{0, true, {.expire_after = 1}, "default"},
               {300, true, options, "a", {1'600'000'000, 1'500'000'000}},
               {UINT32_MAX - 1, false, {}, std::string(255, '\0')}};
  return edit;
}

absl::StatusOr<VersionEdit> Decode(std::string_view bytes) {
  return VersionEdit::Decode(bytes, "dir/M", 77);
}

TEST(TableMetaTest, EndsWhereItsSpanEnds) {
  TableMeta entries, both, only_ranges;
  entries.smallest = both.smallest = InternalKey(PutOf("b", 9));
  entries.largest = both.largest = InternalKey(PutOf("d", 3));
  both.ranges = {1, "a", "f"};
  only_ranges.ranges = {1, "a", "c"};
  TableMeta without_end = both;
  without_end.ranges.end = std::nullopt;
  for (const TableMeta& meta : {entries, both, only_ranges, without_end}) {
    for (const std::string& key : {std::string(), "a"s, "b"s, "c"s, "d"s, "d\0"s, "e"s, "f"s, "g"s})
      EXPECT_EQ(meta.EndsBy(key), meta.span().EndsBy(key)) << meta.ranges.begin << " " << key;
  }
  EXPECT_FALSE(entries.EndsBy("d"));
  EXPECT_TRUE(entries.EndsBy("d\0"s));
}

TEST(VersionEditTest, ReadsBackItsBytes) {
  VersionEdit edit = FullEdit();
  ASSERT_OK_AND_ASSIGN(VersionEdit decoded, Decode(edit.Encode()));
  EXPECT_EQ(decoded, edit);
  edit.digest_seed = {bloom::DigestHash::kSipHash, 1, UINT64_MAX};
  ASSERT_OK_AND_ASSIGN(decoded, Decode(edit.Encode()));
  EXPECT_EQ(decoded, edit);
}

TEST(VersionEditTest, FormatPageHasItsTags) {
  std::vector<std::string> known, documented;
  for (uint32_t tag = 0; tag < 1000; ++tag) {
    std::string bytes = FullEdit().Encode().substr(0, 1);  // the format
    AppendVarint32(&bytes, tag);
    AppendLengthPrefixed(&bytes, "");
    if (!absl::IsUnimplemented(Decode(bytes).status())) known.push_back(std::to_string(tag));
  }
  for (const auto& row : testing_support::TableBelow("lsm/FORMAT.md", "## Manifests"))
    documented.push_back(row.at(0));
  EXPECT_EQ(documented, known);
}

TEST(VersionEditTest, SnapshotsKeepEveryField) {
  VersionEdit edit = FullEdit();
  edit.oldest_log = 3;
  edit.added = {{0, FullMeta(5)}, {6, FullMeta(8, UINT32_MAX)}};
  edit.removed.clear();
  edit.dropped_keyspaces.clear();
  ManifestState state;
  ASSERT_OK(state.Apply(edit, "M", 0));
  EXPECT_EQ(state.ToSnapshot(), edit);
}

TEST(VersionEditTest, EveryTruncationIsDamageOrAShorterEdit) {
  const std::string whole = FullEdit().Encode();
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto decoded = Decode(whole.substr(0, length));
    if (decoded.ok()) {
      // The cut is between two fields.  That is no error, because records of a log are whole; but
      // it must not give the same edit.
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
  Dice dice(seed);
  const std::string whole = FullEdit().Encode();
  for (int round = 0; round < 100000; ++round) {
    std::string bytes = whole;
    for (uint64_t changes = 1 + dice.Roll(4); changes > 0; --changes) {
      bytes[dice.Roll(bytes.size())] = static_cast<char>(dice.Next());
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
