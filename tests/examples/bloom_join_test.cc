#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/filter_format.h"
#include "bloom/core/sizing.h"
#include "bloom/examples/csv.h"
#include "tests/examples/programs.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"

namespace {

using testing::HasSubstr;
using testing_support::Dice;

using Records = std::vector<std::vector<std::string>>;

// --- the reader ---

// nullopt if the text is invalid.
std::optional<Records> Read(std::string_view text) {
  examples::CsvReader reader(text);
  examples::CsvRecord record;
  Records records;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(&record);
    if (!more.ok()) return std::nullopt;
    if (!*more) return records;
    records.push_back(record.fields);
  }
}

// The grammar of RFC 4180 (also with LF), one character at a time.
std::optional<Records> ReadByState(std::string_view text) {
  enum { kBegin, kPlain, kQuoted, kQuote, kReturn } state = kBegin;
  Records records;
  bool is_new = true;
  for (const char c : text) {
    if (is_new) records.push_back({""});
    is_new = false;
    if (state == kQuoted) {
      if (c == '"') {
        state = kQuote;
      } else {
        records.back().back() += c;
      }
    } else if (state == kReturn && c != '\n') {
      return std::nullopt;
    } else if (c == '\n') {
      is_new = true;
      state = kBegin;
    } else if (c == '\r') {
      state = kReturn;
    } else if (c == ',') {
      records.back().emplace_back();
      state = kBegin;
    } else if (c == '"') {
      if (state == kPlain) return std::nullopt;
      if (state == kQuote) records.back().back() += '"';
      state = kQuoted;
    } else {
      if (state == kQuote) return std::nullopt;
      records.back().back() += c;
      state = kPlain;
    }
  }
  if (state == kQuoted || state == kReturn) return std::nullopt;
  return records;
}

TEST(CsvTest, ReadsShortTextsByTheGrammar) {
  constexpr std::string_view kLetters = "a,\"\r\n";
  int sound = 0, count = 0;
  for (size_t length = 0; length <= (testing_support::kIsSanitized ? 5 : 7); ++length) {
    std::vector<size_t> digits(length, 0);
    for (;;) {
      std::string text;
      for (const size_t digit : digits) text += kLetters[digit];
      const std::optional<Records> expected = ReadByState(text);
      ASSERT_EQ(Read(text), expected) << testing::PrintToString(text);
      sound += expected.has_value();
      ++count;
      size_t at = 0;
      while (at < length && ++digits[at] == kLetters.size()) digits[at++] = 0;
      if (at == length) break;
    }
  }
  EXPECT_GT(sound, count / 10);
  EXPECT_LT(sound, count / 2);
}

TEST(CsvTest, RecordsKnowTheirBytesAndTheirLine) {
  examples::CsvReader reader("\xEF\xBB\xBFx,y\r\n\"1\n\n2\",\n\n3,4");
  examples::CsvRecord record;
  std::vector<std::pair<std::string, uint64_t>> seen;
  while (reader.Next(&record).value()) seen.emplace_back(record.raw, record.line);
  EXPECT_THAT(seen, testing::ElementsAre(testing::Pair("x,y", 1), testing::Pair("\"1\n\n2\",", 2),
                                         testing::Pair("", 5), testing::Pair("3,4", 6)));
}

// --- the program ---

class BloomJoinTest : public testing_support::ProgramsTest {};

TEST_F(BloomJoinTest, JoinsOnlyEqualKeys) {
  Save("customers", "id,name\r\n1,\"Smith, Ann\"\r\n\"2\",\"say \"\"hi\"\"\r\nthere\"\r\n3,Bo");
  Save("orders", "order,who\n10,2\n11,1\n12,\"1\"\n13,4\n14,\n");
  const std::string joined = "1,\"Smith, Ann\",11,1\n1,\"Smith, Ann\",12,\"1\"\n";
  EXPECT_EQ(OutputOf("bloom_join customers id orders who"),
            "id,name,order,who\n\"2\",\"say \"\"hi\"\"\r\nthere\",10,2\n" + joined);
  EXPECT_EQ(OutputOf("bloom_join orders who customers id"),
            "order,who,id,name\n10,2,\"2\",\"say \"\"hi\"\"\r\nthere\"\n"
            "11,1,1,\"Smith, Ann\"\n12,\"1\",1,\"Smith, Ann\"\n");
  EXPECT_EQ(OutputOf("cat orders | bloom_join customers id - who | tail -n 2"), joined);
  Save("none", "id\n");
  EXPECT_EQ(OutputOf("bloom_join none id orders order"), "id,order,who\n");
  EXPECT_EQ(OutputOf("bloom_join none id none id"), "id,id\n");
}

// Keys with all bytes that a field may have, and with several rows per key on both sides.
TEST_F(BloomJoinTest, MatchesNestedLoops) {
  Dice dice(3);
  const std::vector<std::string> keys = {
      "",   "a",  "A", "\"a,\"", "\"a\"\"b\"",    "é",     "\"\r\n\"", "\"\n\"",
      "a ", " a", "0", "00",     "\"two words\"", "\"a\"", "b"};
  for (int round = 0; round < 6; ++round) {
    const size_t sizes[2] = {1 + dice.Roll(20), 1 + dice.Roll(60)};
    Records rows[2];  // raw, key
    std::string text[2];
    for (int side = 0; side < 2; ++side) {
      text[side] = side == 0 ? "n,key\n" : "key,n\n";
      for (size_t i = 0; i < sizes[side]; ++i) {
        const std::string key = keys[dice.Roll(keys.size())], number = std::to_string(i);
        const std::string raw = side == 0 ? number + "," + key : key + "," + number;
        rows[side].push_back({raw, Read(raw + "\n").value()[0][side == 0 ? 1 : 0]});
        text[side] += raw + (dice.OneIn(2) ? "\n" : "\r\n");
      }
    }
    Save("left", text[0]);
    Save("right", text[1]);
    const bool left_is_small = sizes[0] <= sizes[1];
    std::string expected = "n,key,key,n\n";
    for (const auto& large : rows[left_is_small ? 1 : 0]) {
      for (const auto& small : rows[left_is_small ? 0 : 1]) {
        if (large[1] != small[1]) continue;
        expected +=
            (left_is_small ? small : large)[0] + "," + (left_is_small ? large : small)[0] + "\n";
      }
    }
    for (const char* options : {"", " --parts 3", " --fpp 0.9", " --parts 1000"})
      EXPECT_EQ(OutputOf("bloom_join left key right key" + std::string(options)), expected);
  }
}

// 2000 keys.  1000 of them are in the other file, once each.  100,000 rows of that file match no
// key.
TEST_F(BloomJoinTest, ReportsRowsThatStay) {
  std::string left = "id\n", right = "id,text\n";
  for (int i = 0; i < 2000; ++i) left += std::to_string(10'000'000 + i) + "\n";
  for (int i = 0; i < 101'000; ++i) right += std::to_string(10'001'000 + i) + ",xyz\n";
  Save("left", left);
  Save("right", right);
  const Outcome whole = Shell("bloom_join left id right id");
  EXPECT_EQ(std::count(whole.out.begin(), whole.out.end(), '\n'), 1001);
  unsigned sent = 0, for_nothing = 0, stayed = 0, moved = 0, size = 0;
  ASSERT_EQ(std::sscanf(whole.err.c_str(),
                        "bloom_join: 1000 rows joined; the filter of 2000 keys of left takes %u "
                        "bytes\nbloom_join: %u of 101000 rows of right sent, %u of them for "
                        "nothing; %u stayed\nbloom_join: %u bytes moved, not 1313000",
                        &size, &sent, &for_nothing, &stayed, &moved),
            5)
      << whole.err;
  EXPECT_EQ(size, bloom::kFilterHeaderBytes + (bloom::StandardShapeFor(2000, 0.01)->size + 7) / 8);
  EXPECT_EQ(sent, 1000 + for_nothing);
  EXPECT_NEAR(for_nothing, 1000, 100);
  EXPECT_EQ(stayed, 101'000 - sent);
  EXPECT_EQ(moved, size + 13 * sent);

  // The union of the filters of the parts equals the filter of the whole, bit for bit.  All these
  // filters are sent.
  for (const unsigned parts : {2u, 7u, 64u}) {
    const std::string number = std::to_string(parts);
    const Outcome in_parts = Shell("bloom_join left id right id --parts " + number);
    EXPECT_EQ(in_parts.out, whole.out);
    EXPECT_EQ(in_parts.err, "bloom_join: 1000 rows joined; the filter of 2000 keys of left takes " +
                                std::to_string(size) + " bytes, and comes from each of " + number +
                                " parts\nbloom_join: " + std::to_string(sent) +
                                " of 101000 rows of right sent, " + std::to_string(for_nothing) +
                                " of them for nothing; " + std::to_string(stayed) +
                                " stayed\nbloom_join: " + std::to_string(parts * size + 13 * sent) +
                                " bytes moved, not 1313000\n");
  }
}

TEST_F(BloomJoinTest, ReportsImpossibleRequests) {
  Save("a", "id,x\n1,2\n");
  Save("ragged", "id,x\n1,\"2\n\"\n3\n");
  Save("open", "id\n1\n\"2\n3\n");
  Save("inner", "id\n1\n2\"\n");
  Save("behind", "id\n\"1\"2\n");
  Save("return", "id\r1\r");
  Save("empty", "");
  const auto expect = [this](const std::string& command, int code, const std::string& message) {
    const Outcome outcome = Shell(command);
    EXPECT_EQ(outcome.code, code) << command;
    EXPECT_EQ(outcome.out, "") << command;
    EXPECT_THAT(outcome.err, HasSubstr("bloom_join: " + message)) << command;
  };
  expect("bloom_join a id ragged id", 1, "ragged: line 4: 1 fields, not 2");
  expect("bloom_join open id a id", 1, "open: line 3: a quote that is never closed");
  expect("bloom_join inner id a id", 1, "inner: line 3: a quote within a field without quotes");
  expect("bloom_join behind id a id", 1, "behind: line 2: text after a closing quote");
  expect("bloom_join return id a id", 1, "return: line 1: a carriage return alone");
  expect("bloom_join empty id a id", 1, "empty: it is empty");
  expect("bloom_join a absent a id", 2, "a: there is no column \"absent\"");
  expect("bloom_join a id a", 2, "a word is missing");
  expect("bloom_join - id - id", 2, "only one file can be the standard input");
  expect("bloom_join a id a id --parts 0", 2, "--parts is no number from 1 to 1000: \"0\"");
  expect("bloom_join a id none id", 3, "none: No such file or directory");
}

}  // namespace
