// Trees written as text, for tests that are tables of text.  Each line is a level, and each word
// a table:
//
//   L0  9[a m]  8[k@7=old k@5-]
//   L1  3[a c]#2/64  4
//
// - Table 9 holds puts of "a" and "m".  Entries without @ have successive sequences, which begin at
//   twice the table's number.
// - Table 8 holds a put of "k" with sequence 7 and the value "old", and a tombstone of "k" with
//   sequence 5.
// - A word like b..f@7 is a range delete of [b, f) with sequence 7, and k..@7 one without end.
// - Table 3 belongs to run 2 (#2), and its size in the manifest is 64 KiB (/64).
// - 5[a-]~100^7$30: its tombstones cover 100 KiB, the oldest one is of day 7 since 1970, and
//   iterators have paid a rent of 30 KiB.
// - A number alone, like 4, is a table that was made before.
#ifndef TRELLIS_TESTS_LSM_VERSION_TABLE_TEXT_H_
#define TRELLIS_TESTS_LSM_VERSION_TABLE_TEXT_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/version/tree.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/range_maps.h"
#include "tests/support/text_table.h"

namespace lsm {

// Parses "k@7=old", "k@5-" or "k"; the last one gets the sequence `otherwise`.
inline Entry EntryOf(std::string_view text, Sequence otherwise) {
  Entry entry{std::string(text), otherwise, EntryKind::kPut, "v"};
  if (const size_t equals = entry.user_key.find('='); equals != std::string::npos) {
    entry.value = entry.user_key.substr(equals + 1);
    entry.user_key.resize(equals);
  } else if (entry.user_key.ends_with('-')) {
    entry.kind = EntryKind::kDelete;
    entry.value.clear();
    entry.user_key.pop_back();
  }
  if (const size_t at = entry.user_key.find('@'); at != std::string::npos) {
    entry.sequence = testing_support::NumberOf(std::string_view(entry.user_key).substr(at + 1));
    entry.user_key.resize(at);
  }
  return entry;
}

inline std::string TextOf(const Entry& entry) {
  return entry.user_key + "@" + std::to_string(entry.sequence) +
         (entry.kind == EntryKind::kPut ? "=" + entry.value : "-");
}

inline std::string TextOf(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) text += (text.empty() ? "" : " ") + TextOf(entry);
  return text.empty() ? "nothing" : text;
}

// Range deletes as words of a table.
class TextRanges {
 public:
  static bool IsOne(std::string_view word) { return word.find("..") != word.npos; }

  void Add(std::string_view word) {
    const size_t dots = word.find(".."), at = word.find('@');
    EXPECT_NE(at, word.npos) << word;
    ranges_.push_back({std::string(word.substr(0, dots)),
                       std::string(word.substr(dots + 2, at - dots - 2)),
                       testing_support::NumberOf(word.substr(at + 1))});
  }

  RangeMap Map() const {
    std::vector<RangeDelete> ranges;
    for (const Range& range : ranges_) {
      ranges.push_back({range.from, std::nullopt, range.sequence});
      if (!range.to.empty()) ranges.back().to = range.to;
    }
    std::vector<Sequence> snapshots;  // so that all sequences stay
    for (const Range& range : ranges_) snapshots.push_back(range.sequence);
    std::sort(snapshots.begin(), snapshots.end());
    return testing_support::RangesOf(ranges, snapshots);
  }

 private:
  struct Range {
    std::string from, to;
    Sequence sequence;
  };
  std::vector<Range> ranges_;
};

// "b..d@9,5 d..@9"
inline std::string TextOf(const RangeMap& ranges) {
  std::string text;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::vector<Sequence> sequences = SequencesOf(ranges, i);
    if (sequences.empty()) continue;
    text += (text.empty() ? "" : " ") + std::string(ranges.boundary(i)) + ".." +
            (i + 1 < ranges.size() ? std::string(ranges.boundary(i + 1)) : "");
    for (size_t s = 0; s < sequences.size(); ++s)
      text += (s == 0 ? "@" : ",") + std::to_string(sequences[s]);
  }
  return text;
}

// "9 8 6"
inline std::string NumbersText(const OpenTables& tables) {
  std::string text;
  for (const uint64_t number : NumbersOf(tables))
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

// The tables of a test, by their numbers.
class TextTables {
 public:
  // `kib`: the size of a table without a /SIZE; 0: its true size.
  explicit TextTables(uint64_t kib) : kib_(kib) {}

  std::array<OpenTables, kLevels> Levels(const std::vector<std::string>& lines) {
    std::array<OpenTables, kLevels> levels;
    for (const std::string& line : lines) {
      const uint64_t level =
          line.starts_with("L") ? testing_support::NumberOf(line.substr(1, 1)) : kLevels;
      EXPECT_LT(level, kLevels) << line;
      if (level < kLevels) levels[level] = Level(std::string_view(line).substr(2));
    }
    return levels;
  }

  TableMaker& maker() { return maker_; }

 private:
  OpenTables Level(std::string_view rest) {
    OpenTables tables;
    while ((rest = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()))) != "") {
      const size_t word = std::min(rest.find(' '), rest.size());
      const size_t close = rest.find('[') < word ? rest.find(']') : 0;
      const size_t end = std::min(rest.find(' ', close), rest.size());
      tables.push_back(TableOf(rest.substr(0, end)));
      rest.remove_prefix(end);
    }
    return tables;
  }

  std::shared_ptr<const OpenTable> TableOf(std::string_view text) {
    const size_t open = text.find('['), close = text.find(']');
    const uint64_t number = testing_support::NumberOf(text.substr(0, open));
    std::shared_ptr<const OpenTable>& table = tables_[number];
    if (open == text.npos) {
      EXPECT_NE(table, nullptr) << "no table yet: " << text;
      return table;
    }
    std::vector<Entry> entries;
    TextRanges ranges;
    for (const std::string& word :
         testing_support::WordsOf(text.substr(open + 1, close - open - 1))) {
      if (TextRanges::IsOne(word)) {
        ranges.Add(word);
      } else {
        entries.push_back(EntryOf(word, 2 * number + entries.size()));
      }
    }
    const std::string_view rest = text.substr(close + 1);
    maker_.covered_bytes = NumberAfter('~', rest, 0) << 10;
    maker_.oldest_tombstone = NumberAfter('^', rest, 0) * 24 * 60 * 60;
    table = maker_.Make(number, entries, NumberAfter('/', rest, kib_) << 10,
                        static_cast<uint32_t>(NumberAfter('#', rest, 0)), ranges.Map());
    table->rent->Pay(NumberAfter('$', rest, 0) << 10);
    return table;
  }

  // The number between the sign and the next one.
  static uint64_t NumberAfter(char sign, std::string_view text, uint64_t otherwise) {
    const size_t at = text.find(sign);
    if (at == text.npos) return otherwise;
    text.remove_prefix(at + 1);
    return testing_support::NumberOf(text.substr(0, text.find_first_of("#/~^$")));
  }

  uint64_t kib_;
  TableMaker maker_;
  std::map<uint64_t, std::shared_ptr<const OpenTable>> tables_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_VERSION_TABLE_TEXT_H_
