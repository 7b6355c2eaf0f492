#include "tests/tidy_package.h"

#include <cctype>
#include <set>
#include <string>
#include <string_view>

namespace tidy {
namespace {

// Paths in a text that begin with a folder of ours.
std::set<std::string> PathsIn(std::string_view text) {
  const auto belongs = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || Contains("_-/.", std::string(1, c));
  };
  std::set<std::string> paths;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && belongs(text[end])) ++end;
    std::string word(text.substr(begin, end - begin));
    while (word.ends_with(".")) word.pop_back();  // of a sentence
    if (IsOurs(word)) paths.insert(word);
    begin = end + 1;
  }
  return paths;
}

// The files that the install rules name, and the public headers with those that they include.
std::set<std::string> Installed(const Tree& tree) {
  const auto rules = tree.find(kInstallRules);
  if (rules == tree.end()) return {};
  std::set<std::string> installed = PathsIn(rules->second);
  for (const auto& [path, text] : tree) {
    if (IsPublicHeader(path)) AddHeaders(tree, path, &installed);
    if (IsDocument(path) && Contains(rules->second, "/" + FolderOf(path) + "/*.md"))
      installed.insert(path);
  }
  return installed;
}

// The word that follows `before` in a file; empty if there is none.
std::string WordAfter(const Tree& tree, const std::string& path, std::string_view before) {
  const auto file = tree.find(path);
  const std::string_view text = file == tree.end() ? "" : std::string_view(file->second);
  const size_t begin = text.find(before);
  if (begin == text.npos) return "";
  const std::string_view after = text.substr(begin + before.size());
  return std::string(after.substr(0, after.find_first_of(" )\n")));
}

}  // namespace

bool IsPublicHeader(const std::string& path) {
  return IsHeader(path) && (FolderOf(path) == "bloom" || FolderOf(path) == "lsm");
}

void AddHeaders(const Tree& tree, const std::string& path, std::set<std::string>* headers) {
  const auto file = tree.find(path);
  if (!IsOurs(path) || !headers->insert(path).second || file == tree.end()) return;
  for (std::string_view line : Lines(file->second))
    AddHeaders(tree, IncludeOf(line).target, headers);
}

Complaints InstalledHeadersAreClosed(const Tree& tree) {
  std::set<std::string> installed = Installed(tree);
  std::erase_if(installed, [](const std::string& path) { return !IsHeader(path); });
  Complaints complaints;
  if (installed.empty()) complaints.push_back("there are no public headers");
  for (const std::string& path : installed) {
    if (!tree.contains(path) && !tree.contains(path + ".in"))
      complaints.push_back("a public header includes " + path + ", which does not exist");
    if (!path.starts_with("bloom/") && FolderOf(path) != "lsm")
      complaints.push_back("a public header includes the private " + path);
  }
  ForEachLine(tree, IsHeader, [&](const std::string& path, size_t i, std::string_view line) {
    if (!installed.contains(path)) return;
    const std::string target = IncludeOf(line).target;
    if (target.starts_with("absl/") && !target.starts_with("absl/status/")) {
      complaints.push_back(At(path, i) + "is public, and must not show " + target);
    }
  });
  return complaints;
}

Complaints PagesForEmbeddersAreInstalled(const Tree& tree) {
  const std::set<std::string> installed = Installed(tree);
  Complaints complaints;
  ForEachLine(tree, IsHeader, [&](const std::string& path, size_t i, std::string_view line) {
    if (!installed.contains(path)) return;
    for (const std::string& page : PathsIn(line)) {
      if (IsDocument(page) && !installed.contains(page))
        complaints.push_back(At(path, i) + page + " is not installed");
    }
  });
  return complaints;
}

Complaints PublicHeadersOfBloomAreEnough(const Tree& tree) {
  std::set<std::string> used;
  Complaints complaints;
  ForEachLine(tree, IsCode, [&](const std::string& path, size_t i, std::string_view line) {
    const bool is_program = path.starts_with("tests/embed/") || IsExample(path) ||
                            (FolderOf(path) == "lsm" && IsHeader(path));
    const std::string target = IncludeOf(line).target;
    if (!is_program || !target.starts_with("bloom/") || IsExample(target)) return;
    if (path.starts_with("tests/embed/")) used.insert(target);
    if (FolderOf(target) != "bloom" && target != "bloom/core/abi.h")
      complaints.push_back(At(path, i) + "uses the private header " + target);
  });
  for (const auto& [path, text] : tree) {
    if (IsPublicHeader(path) && FolderOf(path) == "bloom" && !used.contains(path))
      complaints.push_back(path + ": no program in tests/embed includes it");
  }
  return complaints;
}

Complaints TheReleaseStandsOnce(const Tree& tree) {
  const std::string version = WordAfter(tree, "CMakeLists.txt", "project(Trellis VERSION ");
  if (version.empty()) return {"CMakeLists.txt: states no version that this test can see"};
  Complaints complaints;
  ForEachLine(tree, IsCode, [&](const std::string& path, size_t i, std::string_view line) {
    if (!path.starts_with("bloom/") && !path.starts_with("lsm/") && !path.starts_with("tools/"))
      return;
    if (Contains(line.substr(0, line.find("//")), version))
      complaints.push_back(At(path, i) + "spells the version " + version);
  });
  return complaints;
}

Complaints TheInterfaceHasTheVersionOfTheRelease(const Tree& tree) {
  const std::string version = WordAfter(tree, "CMakeLists.txt", "project(Trellis VERSION ");
  // 0.2.1 -> v0_2, 1.2.3 -> v1
  const size_t first = version.find('.');
  const size_t second = version.find('.', first + 1);
  std::string expected = "v" + version.substr(0, version.starts_with("0.") ? second : first);
  if (const size_t dot = expected.find('.'); dot != expected.npos) expected[dot] = '_';
  const std::string stated = WordAfter(tree, "bloom/core/abi.h", "#define TRELLIS_ABI ");
  if (stated == expected) return {};
  return {"bloom/core/abi.h: TRELLIS_ABI is \"" + stated + "\", but version " + version +
          " needs " + expected};
}

Complaints TheTopLevelIsBare(const Tree& tree) {
  static const std::set<std::string> folders = {"bloom", "lsm", "tools", "tests", "bench", "build"};
  static const std::set<std::string> files = {"LICENSE",    "CMakeLists.txt",  "CMakePresets.json",
                                              "README.md",  "CONTRIBUTING.md", "CHANGELOG.md",
                                              "SECURITY.md"};
  Complaints complaints;
  for (const auto& [path, text] : tree) {
    const std::string top = path.substr(0, path.find('/'));
    if (!top.starts_with(".") && !(top == path ? files : folders).contains(top))
      complaints.push_back(path + ": does not belong here");
  }
  return complaints;
}

}  // namespace tidy
