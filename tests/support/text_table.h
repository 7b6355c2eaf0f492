// Tests as tables of text.  A file consists of cases; each has a command, its input, and the
// expected output.
//
//   # a remark
//   COMMAND WORD NAME=VALUE ...
//   input, line by line
//   ----
//   expected output, line by line, up to an empty line
//
// With TRELLIS_REWRITE=1 in the environment, the test writes the actual output into the file
// instead of comparing; `tools/dev rewrite` does so for all tests.  Read the difference before you
// commit it.
#ifndef TRELLIS_TESTS_SUPPORT_TEXT_TABLE_H_
#define TRELLIS_TESTS_SUPPORT_TEXT_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace testing_support {

struct TextCase {
  std::string place;  // file:line of the command
  std::string command;
  std::vector<std::string> words;
  std::map<std::string, std::string> named;
  std::vector<std::string> input;

  // The names that the test asked for.  Other names are typing errors and fail it.
  mutable std::set<std::string> known;

  bool Has(const std::string& name) const { return known.insert(name), named.contains(name); }
  // The value of NAME=VALUE.
  std::string Named(const std::string& name, std::string_view otherwise = "") const;
  uint64_t Number(const std::string& name, uint64_t otherwise) const;
  // The position in `values` of the value of NAME=VALUE, 0 if the name is missing; fails the test
  // if it is none of them.
  size_t OneOf(const std::string& name, const std::vector<std::string>& values) const;
  // Fails the test, because the command is unknown.
  std::string NotUnderstood() const;
};

// The words of a line, separated by white space.
std::vector<std::string> WordsOf(std::string_view line);
// Parses a number.  Fails the test if `text` is not one.
uint64_t NumberOf(std::string_view text);

// Calls `run` for each case of the file, in order.  `file` is a path below the project's root.
// Fails the test for each unexpected output, and if the file has no case.
void RunTextTable(const std::string& file, const std::function<std::string(const TextCase&)>& run);

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_TEXT_TABLE_H_
