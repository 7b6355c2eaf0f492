// A source tree as the rules of tidy_test.cc see it.
#ifndef TRELLIS_TESTS_TIDY_TREE_H_
#define TRELLIS_TESTS_TIDY_TREE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tidy {

using Tree = std::map<std::string, std::string>;  // path from the root of the project -> text
using Complaints = std::vector<std::string>;

bool Contains(std::string_view text, std::string_view part);
std::string_view Trimmed(std::string_view text);
std::vector<std::string_view> Lines(std::string_view text);

// A word that the files of the rules must not contain either.
std::string Spelt(std::string_view start, std::string_view rest);

// "path:12: ", to begin a complaint with.
std::string At(const std::string& path, size_t line_index);

bool IsHeader(std::string_view path);
bool IsSource(std::string_view path);
bool IsCode(std::string_view path);
bool IsCMake(std::string_view path);
bool IsDocument(std::string_view path);
bool IsOurs(std::string_view include);  // a path that begins with a folder of ours
bool IsExample(std::string_view path);  // programs to copy, and what they include
std::string FolderOf(const std::string& path);

// The target of an #include; empty if the line is none.
struct Include {
  std::string target;
  bool quoted = false;
};
Include IncludeOf(std::string_view line);

// Calls `visit(path, index, line)` for each line of the files that `wanted` picks.
template <typename Visit>
void ForEachLine(const Tree& tree, bool (*wanted)(std::string_view), Visit visit) {
  for (const auto& [path, text] : tree) {
    if (!wanted(path)) continue;
    const std::vector<std::string_view> lines = Lines(text);
    for (size_t i = 0; i < lines.size(); ++i) visit(path, i, lines[i]);
  }
}

}  // namespace tidy

#endif  // TRELLIS_TESTS_TIDY_TREE_H_
