// Maps of range deletes as tables of text.  range_map.txt has the cases.  A line of the input is
//
//   FROM TO SEQUENCE   a range delete; a TO of "-" is an open end
//   map                ends the ranges of a map, and begins another one
//
// Commands, each with snapshots=N,N,... where it says so:
//   build    prints the map of the ranges of one map, with the newest sequence at each key
//   merge    prints the merge of all maps, with all sequences
//   thin     prints that merge thinned (snapshots)
//   cut      prints the pieces of that merge below the keys of at=KEY,KEY,... and after them
//   within   prints the part from=KEY to=KEY or through=KEY (included)
//   look     prints for each word KEY@SEQUENCE the newest sequence, and the next gap
//   hull     prints the hull, the sequences and the number of ranges
//
// `build` makes its map with RangeMap::Of.  The others merge maps of all sequences.  A map is
// printed as "boundary: sequences | ..." with "-" for a gap.  ` in a key stands for a zero byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/range_map.h"
#include "tests/support/range_maps.h"
#include "tests/support/text_table.h"

namespace lsm {
namespace {

using testing_support::NumberOf;
using testing_support::TextCase;
using testing_support::WordsOf;

constexpr Sequence kNewest = 100;

std::string KeyOf(std::string text) {
  std::replace(text.begin(), text.end(), '`', '\0');
  return text;
}
std::string TextOf(std::string key) {
  std::replace(key.begin(), key.end(), '\0', '`');
  return key;
}
std::string TextOf(const KeyEnd& end) { return end ? TextOf(end->ToString()) : "-"; }

std::string TextOf(const RangeMap& map) {
  if (map.empty()) return "nothing\n";
  std::string text;
  for (size_t stretch = 0; stretch < map.size(); ++stretch) {
    if (stretch > 0) text += " | ";
    text += TextOf(std::string(map.boundary(stretch))) + ":";
    if (map.sequence_count(stretch) == 0) text += " -";
    for (size_t i = 0; i < map.sequence_count(stretch); ++i)
      text += " " + std::to_string(map.sequence(stretch, i));
  }
  return text + "\n";
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<Sequence> SnapshotsOf(const TextCase& one) {
  std::vector<Sequence> snapshots;
  for (const std::string& number : Split(one.Named("snapshots")))
    snapshots.push_back(NumberOf(number));
  return snapshots;
}

// The ranges of each map.  Owns the keys.
class Ranges {
 public:
  explicit Ranges(const TextCase& one) : maps_(1) {
    for (const std::string& line : one.input) {
      const std::vector<std::string> words = WordsOf(line);
      if (words[0] == "map") {
        maps_.emplace_back();
      } else {
        maps_.back().push_back({KeyOf(words.at(0)), KeyOf(words.at(1)), NumberOf(words.at(2))});
      }
    }
  }

  RangeMap Newest() const { return RangeMap::Of(DeletesOf(0)); }
  RangeMap Merged() const {
    std::vector<Sequence> all;
    for (Sequence sequence = 0; sequence <= kNewest; ++sequence) all.push_back(sequence);
    std::vector<RangeMap> maps;
    for (size_t map = 0; map < maps_.size(); ++map)
      maps.push_back(testing_support::RangesOf(DeletesOf(map), all));
    std::vector<const RangeMap*> pointers;
    for (const RangeMap& map : maps) pointers.push_back(&map);
    return RangeMap::Merged(pointers);
  }

 private:
  struct Line {
    std::string from, to;
    Sequence sequence;
  };

  std::vector<RangeDelete> DeletesOf(size_t map) const {
    std::vector<RangeDelete> ranges;
    for (const Line& line : maps_[map]) {
      const std::optional<std::string_view> to =
          line.to == "-" ? std::nullopt : std::optional<std::string_view>(line.to);
      ranges.push_back({line.from, to, line.sequence});
    }
    return ranges;
  }

  std::vector<std::vector<Line>> maps_;
};

std::string Cut(const RangeMap& map, const std::vector<std::string>& at) {
  std::string text;
  std::string begin;
  for (const std::string& cut : at) {
    const std::string key = KeyOf(cut);
    text += TextOf(map.Within({begin, key}));
    begin = key;
  }
  return text + TextOf(map.Within({begin, std::nullopt}));
}

std::string Within(const RangeMap& map, const TextCase& one) {
  const std::string from = KeyOf(one.Named("from")), to = KeyOf(one.Named("to")),
                    through = KeyOf(one.Named("through"));
  KeySpan span{from, std::nullopt};
  if (one.Has("to")) span.end = to;
  if (one.Has("through")) span.end = KeyBound::After(through);
  return TextOf(map.Within(span));
}

std::string Look(const RangeMap& map, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const size_t sign = word.find('@');
    const std::string key = KeyOf(word.substr(0, sign));
    const Sequence at = NumberOf(word.substr(sign + 1));
    text += word + ": " + std::to_string(map.NewestAt(key, at)) + ", gap " +
            TextOf(testing_support::NextGap(map, key, at)) + "\n";
  }
  return text;
}

std::string Hull(const RangeMap& map) {
  if (map.empty()) return "nothing\n";
  const KeySpan hull = map.hull();
  return "[" + TextOf(std::string(hull.begin)) + ", " + TextOf(hull.end) + ") at " +
         std::to_string(map.smallest_sequence()) + " to " + std::to_string(map.largest_sequence()) +
         ", ranges " + std::to_string(map.range_count()) + "\n";
}

std::string OutputOf(const TextCase& one) {
  const Ranges ranges(one);
  if (one.command == "build") return TextOf(ranges.Newest());
  const RangeMap map = ranges.Merged();
  if (one.command == "merge") return TextOf(map);
  if (one.command == "thin") return TextOf(map.Thinned(SnapshotsOf(one)));
  if (one.command == "cut") return Cut(map, Split(one.Named("at")));
  if (one.command == "within") return Within(map, one);
  if (one.command == "look") return Look(map, one.words);
  if (one.command == "hull") return Hull(map);
  return one.NotUnderstood();
}

TEST(RangeMapTableTest, MatchesTheTable) {
  testing_support::RunTextTable("tests/lsm/base/range_map.txt", OutputOf);
}

}  // namespace
}  // namespace lsm
