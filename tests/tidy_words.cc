#include "tests/tidy_words.h"

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidy {
namespace {

// A table's largest key is no bound: range deletes may go on after it.
void AddBoundsThatAreNoSpans(const Tree& tree, Complaints* complaints) {
  static const std::regex key(R"(\bmeta(\.|->)(largest\b|last_key\())");
  // Encode a record, make one, compare it with the entries, or show it.
  static const std::set<std::string> others = {"lsm/version/version_edit.h",
                                               "lsm/version/version_edit.cc",
                                               "lsm/version/lookup.cc",
                                               "lsm/compaction/table_output.cc",
                                               "lsm/repair/repair_rescue.cc",
                                               "lsm/store/verify_table.cc",
                                               "tools/sstdump/commands/info.cc",
                                               "tools/sstdump/commands/levels.cc",
                                               "tools/sstdump/commands/verify_store.cc"};
  ForEachLine(tree, IsCode, [&](const std::string& path, size_t i, std::string_view line) {
    if (!path.starts_with("lsm/") && !path.starts_with("tools/")) return;
    if (others.contains(path) || Contains(line, "CheckClaims(")) return;
    if (std::regex_search(line.begin(), line.end(), key))
      complaints->push_back(At(path, i) + "compare with TableMeta::span() instead");
  });
}

}  // namespace

Complaints NothingIsPutOff(const Tree& tree) {
  static const std::vector<std::string> words = {Spelt("TO", "DO"), Spelt("FIX", "ME"),
                                                 Spelt("DISA", "BLED_"), Spelt("GTEST_", "SKIP")};
  static const std::vector<std::string> comments = {"TEST(",         "TEST_F(",      "TEST_P(",
                                                    "TYPED_TEST",    "INSTANTIATE_", "add_test(",
                                                    "trellis_test(", "BENCHMARK("};
  Complaints complaints;
  const auto check = [&](const std::string& path, size_t i, std::string_view line) {
    for (const std::string& word : words) {
      if (Contains(line, word)) complaints.push_back(At(path, i) + "says " + word);
    }
    line = Trimmed(line);
    if (line.starts_with("#if 0") || line.starts_with("#if false"))
      complaints.push_back(At(path, i) + "dead code");
    if (!line.starts_with("//") && !line.starts_with("# ") && !line.starts_with("#t")) return;
    line = Trimmed(line.substr(std::min(line.find_first_not_of("/#"), line.size())));
    for (const std::string& start : comments) {
      if (line.starts_with(start) && !Contains(line, "NAME"))
        complaints.push_back(At(path, i) + "a test in a comment");
    }
  };
  ForEachLine(tree, IsCode, check);
  ForEachLine(tree, IsCMake, check);
  return complaints;
}

Complaints ThereIsOneWay(const Tree& tree) {
  static const std::vector<std::pair<std::string, std::string>> others = {
      {Spelt("Str", "Cat("), "Concat (bloom/core/concat.h)"},
      {Spelt("Str", "Append("), "Concat (bloom/core/concat.h)"},
      {Spelt("; !status.ok()) ", "return status;"), "TRELLIS_RETURN_IF_ERROR"},
      {Spelt("mt19", "937"), "SplitMix (lsm/bytes/split_mix.h), in tests Dice"},
      {Spelt("mini", "std"), "SplitMix, in tests Dice"},
      {Spelt("random_", "device"), "SplitMix with a seed, in tests Dice"},
      {Spelt("default_", "random_engine"), "SplitMix, in tests Dice"}};
  Complaints complaints;
  ForEachLine(tree, IsCode, [&](const std::string& path, size_t i, std::string_view line) {
    if (IsExample(path)) return;
    // Repeats the streams of a paper, whose program draws with libstdc++.
    if (path.starts_with("bench/filter_lab/streams/stream.")) return;
    for (const auto& [other, ours] : others) {
      if (Contains(line, other)) complaints.push_back(At(path, i) + "write " + ours);
    }
  });
  AddBoundsThatAreNoSpans(tree, &complaints);
  return complaints;
}

Complaints TestNamesArePlain(const Tree& tree) {
  static const std::regex name(R"(^\s*(?:TYPED_)?TEST(?:_[FP])?\(\w+, (\w+)\))");
  static const std::regex stilted("What|Who[A-Z]|^Whose|Behind|InVain|Anew");
  Complaints complaints;
  ForEachLine(tree, IsSource, [&](const std::string& path, size_t i, std::string_view line) {
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, name)) return;
    const std::string test = match[1].str();
    if (test.size() > kTestNameMax || std::regex_search(test, stilted))
      complaints.push_back(At(path, i) + test + " is no short phrase");
  });
  return complaints;
}

}  // namespace tidy
