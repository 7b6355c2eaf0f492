#include "tests/tidy_documents.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tidy {
namespace {

namespace fs = std::filesystem;

bool Exists(const Tree& tree, const std::string& path) {
  const auto inside = tree.lower_bound(path + "/");  // lsm/rados.h comes before it
  return tree.contains(path) || (inside != tree.end() && inside->first.starts_with(path + "/"));
}

// The words of the lines from `i` on that begin with `mark`, or of all lines; one blank between.
std::string WordsOf(const std::vector<std::string_view>& lines, size_t i, std::string_view mark) {
  std::string words;
  for (; i < lines.size() && lines[i].starts_with(mark); ++i) {
    std::string_view line = Trimmed(lines[i].substr(mark.size()));
    if (line.starts_with("// ")) line = Trimmed(line.substr(3));
    if (!line.empty()) words.append(words.empty() ? "" : " ").append(line);
  }
  return words;
}

constexpr std::string_view kCpp = "```cpp\n", kEndOfCode = "```";

constexpr std::string_view kExcerpt = "<!-- tools/dev excerpt ",
                           kEndOfExcerpt = "<!-- end of excerpt -->";

constexpr size_t kProgramLinesMax = 20;

// A line `<!-- FILE -->` or `<!-- FILE: NAME -->` of a document, with a FILE of the examples.
// `file` is empty if the line is none.
struct CodeMark {
  std::string file, name;
};
CodeMark CodeMarkOf(std::string_view line) {
  constexpr std::string_view kBegin = "<!-- ", kEnd = " -->";
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) return {};
  line = line.substr(kBegin.size(), line.size() - kBegin.size() - kEnd.size());
  const size_t colon = std::min(line.find(": "), line.size());
  const std::string file(line.substr(0, colon));
  if (!IsExample(file)) return {};
  return {file, std::string(line.substr(std::min(colon + 2, line.size())))};
}

// The snippets of a source by name, without the indentation of their marks.
std::map<std::string, std::string> SnippetsOf(std::string_view source) {
  constexpr std::string_view kMark = "// snippet: ";
  std::map<std::string, std::string> snippets;
  std::string* snippet = nullptr;
  size_t indent = 0;
  for (const std::string_view line : Lines(source)) {
    const std::string_view text = Trimmed(line);
    if (text.starts_with(kMark)) {
      snippet = &snippets[std::string(text.substr(kMark.size()))];
      indent = line.size() - text.size();
    } else if (text == "// end") {
      snippet = nullptr;
    } else if (snippet != nullptr) {
      snippet->append(line.substr(std::min(indent, line.size()))).append("\n");
    }
  }
  return snippets;
}

// A program without the comment that it begins with.
std::string_view WithoutHead(std::string_view text) {
  while (text.starts_with("//")) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return text;
}

// The program or snippet that a document must show under `mark`.  Empty if there is none.
std::string CodeOf(const Tree& tree, const CodeMark& mark) {
  const auto source = tree.find(mark.file);
  if (source == tree.end()) return "";
  if (mark.name.empty()) return std::string(WithoutHead(source->second));
  return SnippetsOf(source->second)[mark.name];
}

// The headings of a document, as links name them: "two-words" for "## Two `words`."
std::set<std::string> AnchorsOf(const Tree& tree, const std::string& path) {
  std::set<std::string> anchors;
  const auto document = tree.find(path);
  if (document == tree.end()) return anchors;
  for (std::string_view line : Lines(document->second)) {
    const size_t begin = line.find_first_not_of('#');
    if (begin == 0 || begin == line.npos || line[begin] != ' ') continue;
    std::string anchor;
    for (const char c : Trimmed(line.substr(begin))) {
      if (c == ' ') anchor += '-';
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    anchors.insert(anchor);
  }
  return anchors;
}

// True if a name in a document is not a path, or if the path exists: from the root, from the
// document's folder, or from a folder below the document's part of the tree or below the tests.
bool IsThere(const Tree& tree, const std::string& document, const std::string& name) {
  if (name.find_first_of("*{<($") != name.npos || Contains(name, "NAME")) return true;
  if (IsOurs(name)) return Exists(tree, name) || tree.contains(name + ".in");  // made from that
  static const std::set<std::string> kEnds = {".h", ".cc", ".md", ".txt", ".sh", ".cmake"};
  const fs::path as_path(name);
  if (!kEnds.contains(as_path.extension().string()) || as_path.stem().empty()) return true;
  if (tree.contains((fs::path(FolderOf(document)) / as_path).lexically_normal().string()))
    return true;
  const std::string part =
      Contains(document, "/") ? document.substr(0, document.find('/') + 1) : "";
  return std::any_of(tree.begin(), tree.end(), [&](const auto& file) {
    return file.first.ends_with("/" + name) &&
           (file.first.starts_with(part) || file.first.starts_with("tests/"));
  });
}

// The excerpts that `tools/dev excerpt` makes: the names of the cases of its command.  Those of
// snippets have marks of another kind.
std::set<std::string> NamesOfExcerpts(const Tree& tree) {
  std::set<std::string> names;
  const auto script = tree.find("tools/tasks/excerpts.sh");
  if (script == tree.end()) return names;
  bool is_command = false;
  for (const std::string_view line : Lines(script->second)) {
    if (line == "command_excerpt() {") is_command = true;
    const std::string cases(line.substr(0, line.find(')')));
    if (!is_command || cases.size() == line.size() ||
        cases.find_first_not_of("abcdefghijklmnopqrstuvwxyz-| ") != cases.npos)
      continue;
    std::istringstream words(cases);
    for (std::string word; words >> word;) {
      if (word != "|" && word != "snippets") names.insert(word);
    }
  }
  return names;
}

}  // namespace

Complaints LinksLeadSomewhere(const Tree& tree) {
  Complaints complaints;
  ForEachLine(tree, IsDocument, [&](const std::string& path, size_t i, std::string_view line) {
    for (size_t at = line.find("]("); at != std::string_view::npos; at = line.find("](", at + 2)) {
      std::string target(line.substr(at + 2, line.find(')', at) - at - 2));
      if (Contains(target, "://") || target.starts_with("mailto:")) continue;
      const size_t hash = target.find('#');
      const std::string anchor = hash == target.npos ? "" : target.substr(hash + 1);
      target = target.substr(0, hash);
      std::string resolved =
          target.empty() ? path : (fs::path(FolderOf(path)) / target).lexically_normal().string();
      while (resolved.ends_with("/")) resolved.pop_back();
      if (!Exists(tree, resolved)) complaints.push_back(At(path, i) + "there is no " + target);
      if (!anchor.empty() && !AnchorsOf(tree, resolved).contains(anchor))
        complaints.push_back(At(path, i) + resolved + " has no heading #" + anchor);
    }
  });
  return complaints;
}

Complaints PathsInTextExist(const Tree& tree) {
  Complaints complaints;
  ForEachLine(tree, IsDocument, [&](const std::string& path, size_t i, std::string_view line) {
    for (size_t begin = line.find('`'); begin != std::string_view::npos;) {
      const size_t end = line.find('`', begin + 1);
      if (end == std::string_view::npos) return;
      std::string name(line.substr(begin + 1, end - begin - 1));
      name = name.substr(0, name.find(' '));  // a command
      while (name.ends_with("/")) name.pop_back();
      if (!IsThere(tree, path, name)) complaints.push_back(At(path, i) + "there is no " + name);
      begin = line.find('`', end + 1);
    }
  });
  return complaints;
}

Complaints ExamplesSayHowTheyAreBuilt(const Tree& tree) {
  Complaints complaints;
  for (const auto& [path, text] : tree) {
    if (!IsExample(path) || !IsSource(path)) continue;
    const std::string_view head(text.data(), text.size() - WithoutHead(text).size());
    const std::string file = fs::path(path).filename().string();
    const std::string name = fs::path(path).stem().string();
    const std::string library = path.starts_with("bloom/")          ? "Trellis::bloom"
                                : Contains(text, "\"lsm/rados.h\"") ? "Trellis::rados"
                                                                    : "Trellis::lsm";
    const std::string wanted = "//\n//   add_executable(" + name + " " + file +
                               ")\n//   target_link_libraries(" + name + " PRIVATE " + library +
                               ")\n";
    if (!head.ends_with(wanted) || head.size() == wanted.size())
      complaints.push_back(path + ": does not begin with its purpose and\n" + wanted);
  }
  return complaints;
}

Complaints TheFrontPageIsShort(const Tree& tree) {
  static const std::map<std::string, size_t> kLinesMax = {{"README.md", 150},
                                                          {"bench/README.md", 385}};
  Complaints complaints;
  for (const auto& [path, most] : kLinesMax) {
    const auto document = tree.find(path);
    const size_t count = document == tree.end() ? 0 : Lines(document->second).size();
    if (count > most) {
      complaints.push_back(path + ": " + std::to_string(count) + " lines, more than " +
                           std::to_string(most));
    }
  }
  const auto page = tree.find("README.md");
  if (page == tree.end()) return {"README.md: does not exist"};
  // Its table is what a run put into bench/README.md.
  constexpr std::string_view kTable = "```text\n";
  const size_t at = page->second.find(kTable);
  const auto measured = tree.find("bench/README.md");
  if (at == page->second.npos || measured == tree.end()) {
    complaints.push_back("README.md: has no table of results");
  } else {
    const size_t begin = at + kTable.size();
    const std::string table =
        page->second.substr(begin, page->second.find(kEndOfCode, begin) - begin);
    if (!Contains(measured->second, table))
      complaints.push_back("README.md: bench/README.md has another table of results");
  }
  return complaints;
}

Complaints LinesAreNarrow(const Tree& tree) {
  constexpr size_t kWidthMax = 120;
  Complaints complaints;
  bool in_code = false, in_excerpt = false;
  const auto check = [&](const std::string& path, size_t i, std::string_view line,
                         bool may_be_wide) {
    const auto width = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // the first byte of a character
    });
    if (static_cast<size_t>(width) > kWidthMax && !may_be_wide)
      complaints.push_back(At(path, i) + std::to_string(width) + " characters, more than " +
                           std::to_string(kWidthMax));
  };
  ForEachLine(tree, IsDocument, [&](const std::string& path, size_t i, std::string_view line) {
    if (i == 0) in_code = in_excerpt = false;
    const std::string_view text = Trimmed(line);
    if (text.starts_with("```")) in_code = !in_code;
    if (line.starts_with(kExcerpt)) in_excerpt = true;
    if (line == kEndOfExcerpt) in_excerpt = false;
    check(path, i, line, in_code || in_excerpt || text.starts_with("|") || !Contains(text, " "));
  });
  ForEachLine(tree, IsCMake, [&](const std::string& path, size_t i, std::string_view line) {
    check(path, i, line, Contains(line, "\"") && !Trimmed(line).starts_with("#"));
  });
  return complaints;
}

Complaints ShownCodeIsCompiled(const Tree& tree) {
  static const std::map<std::string, size_t> kPrograms = {
      {"README.md", 1}, {"bloom/README.md", 2}, {"lsm/rados/README.md", 1}};
  Complaints complaints;
  std::map<std::string, std::map<std::string, std::string>> not_shown;
  for (const auto& [path, text] : tree) {
    if (IsExample(path) && IsSource(path)) not_shown[path] = SnippetsOf(text);
  }
  for (const auto& [path, text] : tree) {
    if (!IsDocument(path)) continue;
    const std::vector<std::string_view> lines = Lines(text);
    size_t programs = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      const CodeMark mark = CodeMarkOf(lines[i]);
      const bool is_code = lines[i] == Trimmed(kCpp);
      if (is_code && (i == 0 || CodeMarkOf(lines[i - 1]).file.empty()))
        complaints.push_back(At(path, i) + "C++ without a line that names its source");
      if (mark.file.empty()) continue;
      const std::string wanted = CodeOf(tree, mark);
      std::string shown;
      const bool has_code = i + 1 < lines.size() && lines[i + 1] == Trimmed(kCpp);
      for (size_t at = i + 2; has_code && at < lines.size() && lines[at] != kEndOfCode; ++at)
        shown.append(lines[at]).append("\n");
      if (wanted.empty() || shown != wanted) {
        complaints.push_back(At(path, i) + "is not the code of " + mark.file + " " + mark.name +
                             " (tools/dev excerpt snippets)");
      } else if (mark.name.empty() && Lines(wanted).size() > kProgramLinesMax) {
        complaints.push_back(mark.file + ": too long for a document");
      }
      not_shown[mark.file].erase(mark.name);
      programs += mark.name.empty();
    }
    if (const auto least = kPrograms.find(path);
        least != kPrograms.end() && programs < least->second)
      complaints.push_back(path + ": shows too few programs");
  }
  for (const auto& [path, names] : not_shown) {
    for (const auto& [name, text] : names)
      complaints.push_back(path + ": no document shows the snippet " + name);
  }
  return complaints;
}

Complaints ExcerptsHoldSomething(const Tree& tree) {
  Complaints complaints;
  std::set<std::string> without_place = NamesOfExcerpts(tree);
  const std::set<std::string> names = without_place;
  ForEachLine(tree, IsDocument, [&](const std::string& path, size_t i, std::string_view line) {
    if (!line.starts_with(kExcerpt)) return;
    const std::string name(line.substr(kExcerpt.size(), line.find(" -->") - kExcerpt.size()));
    without_place.erase(name);
    if (!names.empty() && !names.contains(name))
      complaints.push_back(At(path, i) + "tools/dev makes no excerpt " + name);
    const std::vector<std::string_view> lines = Lines(tree.at(path));
    size_t filled = 0, at = i + 1;
    for (; at < lines.size() && lines[at] != kEndOfExcerpt; ++at)
      filled += !Trimmed(lines[at]).empty() && !lines[at].starts_with("```");
    if (at == lines.size()) complaints.push_back(At(path, i) + "an excerpt without an end");
    if (filled == 0) complaints.push_back(At(path, i) + "an excerpt with nothing in it");
  });
  for (const std::string& name : without_place)
    complaints.push_back("tools/dev: no document has a place for the excerpt " + name);
  if (names.empty() && tree.contains("tools/dev"))
    complaints.push_back("tools/dev: makes no excerpt that this test can see");
  return complaints;
}

Complaints SharedSentencesAreTheSame(const Tree& tree) {
  static const std::string_view begin = "<!-- also in: ", end = " -->";
  Complaints complaints;
  ForEachLine(tree, IsDocument, [&](const std::string& path, size_t i, std::string_view line) {
    if (!line.starts_with(begin)) return;
    const std::string sentence = WordsOf(Lines(tree.at(path)), i + 1, "> ");
    if (sentence.empty()) complaints.push_back(At(path, i) + "no quotation follows");
    std::istringstream names(std::string(line.substr(begin.size(), line.find(end) - begin.size())));
    for (std::string name; names >> name;) {
      const auto other = tree.find(name);
      if (other == tree.end() || !Contains(WordsOf(Lines(other->second), 0, ""), sentence))
        complaints.push_back(At(path, i) + "is not in " + name + ": " + sentence);
    }
  });
  return complaints;
}

Complaints BuildOptionsAreDocumented(const Tree& tree) {
  const auto words_after = [&](const std::string& path, std::vector<std::string_view> starts) {
    std::set<std::string> words;
    const auto file = tree.find(path);
    if (file == tree.end()) return words;
    for (std::string_view line : Lines(file->second)) {
      for (const std::string_view start : starts) {
        if (!line.starts_with(start)) continue;
        const std::string_view rest =
            line.substr(start.size() - std::string_view("TRELLIS_").size());
        words.emplace(rest.substr(0, rest.find_first_of(" `)")));
      }
    }
    return words;
  };
  const std::set<std::string> made = words_after(
      "CMakeLists.txt", {"option(TRELLIS_", "cmake_dependent_option(TRELLIS_", "set(TRELLIS_"});
  const std::set<std::string> documented = words_after("CONTRIBUTING.md", {"| `TRELLIS_"});
  Complaints complaints;
  if (made.empty()) complaints.push_back("CMakeLists.txt: has no option that this test can see");
  for (const std::string& option : made) {
    if (!documented.contains(option))
      complaints.push_back("CONTRIBUTING.md: has no row for the build option " + option);
  }
  for (const std::string& option : documented) {
    if (!made.contains(option))
      complaints.push_back("CONTRIBUTING.md: CMakeLists.txt has no option " + option);
  }
  return complaints;
}

Complaints CommandsAreInTheHelp(const Tree& tree) {
  constexpr std::string_view kScript = "tools/dev", kFunction = "command_", kItem = "  ";
  const auto word_at = [](std::string_view text) {
    const auto end = std::find_if_not(text.begin(), text.end(),
                                      [](char c) { return ('a' <= c && c <= 'z') || c == '-'; });
    return std::string(text.begin(), end);
  };
  std::set<std::string> made = {"help"}, listed;
  for (const auto& [path, text] : tree) {
    if (path != kScript && !path.starts_with("tools/tasks/")) continue;
    bool is_help = false;
    for (const std::string_view line : Lines(text)) {
      if (line == "END") is_help = false;
      const size_t end = line.find("() {");
      if (line.starts_with(kFunction) && end != line.npos)
        made.emplace(line.substr(kFunction.size(), end - kFunction.size()));
      const std::string word = line.starts_with(kItem) ? word_at(line.substr(kItem.size())) : "";
      if (is_help && !word.empty() && line.substr(kItem.size() + word.size()).starts_with(" "))
        listed.insert(word);
      if (line.ends_with("<<'END'")) is_help = true;
    }
  }
  Complaints complaints;
  std::set_symmetric_difference(made.begin(), made.end(), listed.begin(), listed.end(),
                                std::back_inserter(complaints));
  for (std::string& name : complaints)
    name = "tools/dev: the help and the commands differ: " + name;
  ForEachLine(tree, IsDocument, [&](const std::string& path, size_t i, std::string_view line) {
    constexpr std::string_view kCall = "tools/dev ";
    for (size_t at = line.find(kCall); at != line.npos; at = line.find(kCall, at + 1)) {
      const std::string word = word_at(line.substr(at + kCall.size()));
      if (!word.empty() && !made.contains(word))
        complaints.push_back(At(path, i) + "tools/dev has no command " + word);
    }
  });
  return complaints;
}

Complaints RewrittenTestsAreNamed(const Tree& tree) {
  Complaints complaints;
  std::string test;
  ForEachLine(tree, IsSource, [&](const std::string& path, size_t i, std::string_view line) {
    if (!path.ends_with("_test.cc") || path == "tests/tidy_test.cc") return;
    if (line.starts_with("TEST") || line.starts_with("class ")) test = line;
    const bool compares = Contains(line, "ExpectGolden(") || Contains(line, "RunTextTable(");
    if (compares && !Contains(test, "Golden") && !Contains(test, "MatchesTheTable"))
      complaints.push_back(At(path, i) + "tools/dev rewrite does not find " + test);
  });
  return complaints;
}

}  // namespace tidy
