// The shape of the source tree: rules that no compiler knows of.
//
// A rule is a function from a tree (paths and texts) to complaints, one line each.  Every rule is
// asked about the real tree, where it must have none, and about small trees that break it, where it
// must have one: a rule that cannot complain would be no test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <ostream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"
#include "tests/tidy_documents.h"
#include "tests/tidy_package.h"
#include "tests/tidy_prose.h"
#include "tests/tidy_tree.h"
#include "tests/tidy_words.h"

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileLinesMax = 700;
constexpr size_t kFunctionLinesMax = 80;
constexpr size_t kOptionsMax = 24;
constexpr size_t kEngineFunctionsMax = 40, kEngineFieldsMax = 20;

// --- rules ---

// Where an include leads.  A stranger copies examples as a folder, so these include headers of
// examples by paths relative to themselves; all other files include by path from the root.
std::string Resolved(const std::string& path, const Include& include) {
  const bool is_beside = include.target.starts_with("..") || !Contains(include.target, "/");
  if (!IsExample(path) || !include.quoted || !is_beside) return include.target;
  std::string beside = (fs::path(FolderOf(path)) / include.target).lexically_normal().string();
  return IsExample(beside) ? beside : include.target;
}

// The folders that each folder of bloom/ and lsm/ may include, besides itself and public headers.
const std::map<std::string, std::set<std::string>>& Arrows() {
  static const std::set<std::string> bloom = {
      "bloom", "bloom/core", "bloom/filters", "bloom/literature", "bloom/policy", "bloom/variants"};
  // lsm/: each folder sees what one that it names sees, and that one.
  static const auto sees = [](std::initializer_list<const std::set<std::string>*> others,
                              std::initializer_list<std::string> folders) {
    std::set<std::string> all(folders);
    for (const std::set<std::string>* other : others) all.insert(other->begin(), other->end());
    return all;
  };
  static const std::set<std::string> bytes = sees({&bloom}, {}),
                                     threads = sees({&bytes}, {"lsm/bytes"}),
                                     fs = sees({&threads}, {"lsm/threads"}),
                                     filters = sees({&fs}, {"lsm/fs"}),
                                     base = sees({&filters}, {"lsm/filters"}),
                                     above_base = sees({&base}, {"lsm/base"}),
                                     table = sees({&above_base}, {"lsm/block"}),
                                     version = sees({&table}, {"lsm/log", "lsm/table"}),
                                     compaction = sees({&version}, {"lsm/version"}),
                                     store =
                                         sees({&compaction}, {"lsm/memtable", "lsm/compaction"}),
                                     repair = sees({&store}, {"lsm/store"}),
                                     runtime = sees({&repair}, {"lsm/events", "lsm/follow"}),
                                     engine = sees({&runtime}, {"lsm/runtime"});
  static const std::map<std::string, std::set<std::string>> arrows = {
      {"bloom/core", {}},
      {"bloom/variants", {"bloom/core"}},
      {"bloom/filters", {"bloom/core", "bloom/variants"}},
      {"bloom/literature", {"bloom/core", "bloom/variants"}},
      {"bloom/policy", {"bloom/core", "bloom/variants"}},
      {"bloom", bloom},
      {"bloom/examples", bloom},
      {"lsm/bytes", {"bloom/core"}},
      {"lsm/threads", threads},
      {"lsm/fs", fs},
      {"lsm/objects", filters},
      {"lsm/rados", {"bloom/core"}},  // like an adapter of another project
      {"lsm/filters", filters},
      {"lsm/base", base},
      {"lsm/log", above_base},
      {"lsm/memtable", above_base},
      {"lsm/block", above_base},
      {"lsm/pieces", table},
      {"lsm/table", table},
      {"lsm/version", version},
      {"lsm/compaction", compaction},
      {"lsm/store", store},
      {"lsm/repair", repair},
      {"lsm/follow", repair},
      {"lsm/events", store},
      {"lsm/runtime", runtime},
      {"lsm/engine", engine},
  };
  return arrows;
}

// lsm/*.h are public: contracts that lean on nothing private, but for lsm/db.h, which stands above
// all.
bool IsContract(const std::string& path) {
  return IsHeader(path) && FolderOf(path) == "lsm" && path != "lsm/db.h";
}

// A public header of bloom/ stands as high as the highest folder that it includes.  A folder may
// include it if it may include all of those: bloom/core sees bloom/hash.h, not bloom/family.h.
bool IsPublicAndBelow(const Tree& tree, const std::string& from, const std::string& target) {
  if (!from.starts_with("bloom/") || FolderOf(target) != "bloom" || !tree.contains(target))
    return false;
  std::set<std::string> headers;
  AddHeaders(tree, target, &headers);
  return std::all_of(headers.begin(), headers.end(), [&from](const std::string& header) {
    const std::string folder = FolderOf(header);
    return folder == "bloom" || folder == from || Arrows().at(from).contains(folder);
  });
}

// lsm/ itself and its examples may include all of it.
Complaints EachFolderHasArrows(const Tree& tree) {
  Complaints complaints;
  for (const auto& [path, text] : tree) {
    const std::string folder = FolderOf(path);
    const bool is_part = path.starts_with("bloom/") || path.starts_with("lsm/");
    if (IsCode(path) && is_part && !IsExample(path) && folder != "lsm" &&
        !Arrows().contains(folder)) {
      complaints.push_back(path + ": " + folder + "/ has no row in Arrows");
    }
  }
  return complaints;
}

Complaints IncludesFollowTheArrows(const Tree& tree) {
  static const std::set<std::string> kOfTheEngine = {"lsm/compaction", "lsm/store",  "lsm/repair",
                                                     "lsm/follow",     "lsm/events", "lsm/runtime",
                                                     "lsm/engine"};
  Complaints complaints;
  ForEachLine(tree, IsCode, [&](const std::string& path, size_t i, std::string_view line) {
    const Include include = IncludeOf(line);
    if (include.target.empty() || !include.quoted) return;
    const std::string target = Resolved(path, include);
    const std::string from = FolderOf(path), to = FolderOf(target);
    if (to.empty() || target.starts_with("..")) {
      complaints.push_back(At(path, i) + "include by path from the root, not \"" + include.target +
                           "\"");
    }
    if (!IsOurs(target)) return;
    const auto allowed = Arrows().find(from);
    const bool against =
        (allowed != Arrows().end() && to != from && !allowed->second.contains(to) &&
         !(from.starts_with("lsm") && IsContract(include.target)) &&
         !IsPublicAndBelow(tree, from, include.target)) ||
        (path.starts_with("lsm/") && !to.starts_with("lsm") && !to.starts_with("bloom")) ||
        (from.starts_with("lsm") && from != "lsm/rados" && !IsExample(path) &&
         target == "lsm/rados.h") ||
        (path.starts_with("tools/") && (to.starts_with("tests") || to.starts_with("bench"))) ||
        (path.starts_with("bench/") && (to.starts_with("tests") || to.starts_with("tools")));
    if (against) complaints.push_back(At(path, i) + from + " must not see " + include.target);
    if (path.starts_with("tools/") && (kOfTheEngine.contains(to) || include.target == "lsm/db.h")) {
      complaints.push_back(At(path, i) + "sstdump does without the engine, and must not see " +
                           include.target);
    }
  });
  return complaints;
}

// The seam of lsm/fs/ and lsm/threads/: the rest of the libraries knows neither files nor clocks
// nor randomness of the system.
Complaints OnlyTheSeamTouchesTheSystem(const Tree& tree) {
  static const std::set<std::string> headers = {
      "fcntl.h", "unistd.h", "fstream", "filesystem", "chrono",
      "time.h",  "ctime",    "random",  "liburing.h", "absl/time/clock.h"};
  Complaints complaints;
  ForEachLine(tree, IsCode, [&](const std::string& path, size_t i, std::string_view line) {
    if (IsExample(path) || (!path.starts_with("bloom/") && !path.starts_with("lsm/"))) return;
    if (path.starts_with("lsm/fs/posix_") || path.starts_with("lsm/threads/thread_scheduler") ||
        path.starts_with("lsm/rados/"))
      return;
    const std::string target = IncludeOf(line).target;
    // Advice about memory, which nothing depends on.
    if (path == "bloom/core/bits.cc" && target == "sys/mman.h") return;
    if (headers.contains(target) || target.starts_with("sys/")) {
      complaints.push_back(
          At(path, i) +
          "only lsm/fs/posix_*, lsm/rados and lsm/threads/thread_scheduler* may include " + target);
    }
    for (const char* call : {"fopen(", "SleepFor(", "sleep_for(", "steady_clock"}) {
      if (Contains(line.substr(0, line.find("//")), call)) {
        complaints.push_back(
            At(path, i) + "only lsm/fs/posix_* and lsm/threads/thread_scheduler* may use " + call);
      }
    }
  });
  return complaints;
}

// Words of a CMake file that end in .cc, as paths from the root.
void AddSourcesNamedIn(const std::string& path, const std::string& text,
                       std::set<std::string>* sources) {
  for (std::string_view line : Lines(text)) {
    std::string words(line.substr(0, line.find('#')));
    std::replace_if(
        words.begin(), words.end(), [](char c) { return c == '(' || c == ')' || c == '"'; }, ' ');
    std::istringstream stream(words);
    for (std::string word; stream >> word;) {
      if (!IsSource(word)) continue;
      const size_t after_variable = word.find("}/");
      const bool from_root =
          word.starts_with("${PROJECT_SOURCE_DIR}/") || word.starts_with("${CMAKE_SOURCE_DIR}/");
      if (after_variable != std::string::npos) word = word.substr(after_variable + 2);
      sources->insert((from_root ? fs::path(word) : fs::path(FolderOf(path)) / word)
                          .lexically_normal()
                          .string());
    }
  }
}

// A folder is small enough to take in.
Complaints NoFolderIsWide(const Tree& tree) {
  constexpr size_t kFilesMax = 30;
  std::map<std::string, size_t> files;
  for (const auto& [path, text] : tree) ++files[FolderOf(path)];
  Complaints complaints;
  for (const auto& [folder, count] : files) {
    if (count > kFilesMax)
      complaints.push_back(folder + " holds " + std::to_string(count) + " files, more than " +
                           std::to_string(kFilesMax));
  }
  return complaints;
}

Complaints NothingIsOrphaned(const Tree& tree) {
  std::set<std::string> built;
  std::map<std::string, std::set<std::string>> included_by;
  for (const auto& [path, text] : tree) {
    if (IsCMake(path)) AddSourcesNamedIn(path, text, &built);
  }
  ForEachLine(tree, IsCode, [&](const std::string& path, size_t, std::string_view line) {
    included_by[Resolved(path, IncludeOf(line))].insert(path);
  });
  Complaints complaints;
  for (const auto& [path, text] : tree) {
    if (IsSource(path) && !built.contains(path))
      complaints.push_back(path + ": no CMakeLists.txt names it");
    if (!IsHeader(path)) continue;
    std::set<std::string> users = included_by[path];
    users.erase(fs::path(path).replace_extension(".cc").string());
    if (users.empty()) complaints.push_back(path + ": nothing but its own source includes it");
  }
  return complaints;
}

Complaints HeaderGuardsMatchPaths(const Tree& tree) {
  Complaints complaints;
  for (const auto& [path, text] : tree) {
    if (!IsHeader(path)) continue;
    std::string guard = "TRELLIS_" + path + "_";
    for (char& c : guard)
      c = std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::toupper(c)) : '_';
    if (!Contains(text, "#ifndef " + guard + "\n#define " + guard + "\n") ||
        !Contains(text, "#endif  // " + guard + "\n")) {
      complaints.push_back(path + ": its guard is not " + guard);
    }
  }
  return complaints;
}

// A file or function that has grown too long has become two; a limit here may only fall.  A
// function is what stands between a line that begins in the first column and the next `}` in the
// first column; one in the body of a class ends elsewhere, and is not measured.
Complaints NothingIsTooLong(const Tree& tree) {
  Complaints complaints;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path)) continue;
    const std::vector<std::string_view> lines = Lines(text);
    if (lines.size() > kFileLinesMax) {
      complaints.push_back(path + ": " + std::to_string(lines.size()) + " lines, more than " +
                           std::to_string(kFileLinesMax));
    }
    size_t begin = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].empty()) continue;
      if (lines[i] == "}" && i + 1 - begin > kFunctionLinesMax) {
        complaints.push_back(At(path, begin) + "a function of " + std::to_string(i + 1 - begin) +
                             " lines, more than " + std::to_string(kFunctionLinesMax));
      }
      if (!std::isspace(static_cast<unsigned char>(lines[i][0])) && lines[i][0] != '#') begin = i;
    }
  }
  return complaints;
}

// Each experiment that stays as an option is paid for by every user: there are few.
Complaints OptionsAreFew(const Tree& tree) {
  const auto options = tree.find("lsm/options.h");
  if (options == tree.end()) return {"lsm/options.h: does not exist"};
  const size_t begin = options->second.find("struct Options {\n");
  const size_t end = options->second.find("\n};", begin);
  if (begin == std::string::npos || end == std::string::npos)
    return {"lsm/options.h: holds no struct Options"};
  size_t count = 0;
  for (std::string_view line :
       Lines(std::string_view(options->second).substr(begin, end - begin))) {
    line = Trimmed(line.substr(0, line.find("//")));
    if (line.ends_with(";") && !Contains(line, ") const;")) ++count;
  }
  if (count == 0) return {"lsm/options.h: struct Options has no members that this test can see"};
  if (count > kOptionsMax)
    return {"lsm/options.h: " + std::to_string(count) + " options, more than " +
            std::to_string(kOptionsMax)};
  return {};
}

// The engine connects its parts.  What it decides itself belongs to one of them.
Complaints TheEngineIsSmall(const Tree& tree) {
  const auto engine = tree.find("lsm/engine/engine.h");
  if (engine == tree.end()) return {"lsm/engine/engine.h: does not exist"};
  const size_t begin = engine->second.find("\n private:\n");
  if (begin == std::string::npos) return {"lsm/engine/engine.h: has no private part"};
  const std::string part = engine->second.substr(begin);
  static const std::regex comments("//[^\n]*"), bodies("\\{[^{}]*\\}"),
      fields(R"(^\s*(const )?[\w:<>]+(<.*>)? \w+_( ABSL_\w+\(.*\))?$)"), functions(R"(\w\()");
  const std::string bare = std::regex_replace(std::regex_replace(part, comments, ""), bodies, ";");
  size_t field_count = 0, function_count = 0;
  std::istringstream statements(bare.substr(std::string_view("\n private:\n").size()));
  for (std::string statement; std::getline(statements, statement, ';');) {
    const std::string_view trimmed = Trimmed(statement);
    if (trimmed.starts_with("using ") || trimmed.starts_with("}")) continue;
    if (std::regex_search(std::string(trimmed), fields)) {
      ++field_count;
    } else if (std::regex_search(std::string(trimmed), functions)) {
      ++function_count;
    }
  }
  if (field_count > 0 && field_count <= kEngineFieldsMax && function_count > 0 &&
      function_count <= kEngineFunctionsMax)
    return {};
  return {"lsm/engine/engine.h: " + std::to_string(function_count) + " private functions and " +
          std::to_string(field_count) + " fields, not 1 to " + std::to_string(kEngineFunctionsMax) +
          " and 1 to " + std::to_string(kEngineFieldsMax)};
}

Complaints NamesAreQualified(const Tree& tree) {
  Complaints complaints;
  ForEachLine(tree, IsCode, [&](const std::string& path, size_t i, std::string_view line) {
    if (Trimmed(line).starts_with("using namespace"))
      complaints.push_back(At(path, i) + "says using namespace");
  });
  return complaints;
}

// --- the real tree, and trees that break each rule ---

// Every file of the folders, and those beside them.  Large or binary data is listed without its
// text.
Tree RealTree() {
  const fs::path root = testing_support::SourceDirectory();
  Tree tree;
  const auto add = [&](const fs::directory_entry& entry) {
    if (!entry.is_regular_file()) return;
    const std::string path = entry.path().lexically_relative(root).generic_string();
    tree[path] = path.starts_with("tests/testdata/") ? "" : testing_support::ReadFile(entry.path());
  };
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with(".") && name != "build") {
      for (const auto& below : fs::recursive_directory_iterator(entry.path())) add(below);
    } else {
      add(entry);
    }
  }
  return tree;
}

struct Rule {
  std::string name;
  std::function<Complaints(const Tree&)> complaints;
  std::vector<Tree> broken;  // each alone must be complained about
};

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

std::vector<Rule> RulesOfSources() {
  Tree wide;
  for (int i = 0; i < 31; ++i) wide["lsm/a" + std::to_string(i) + ".txt"] = "";
  const std::string long_function = "void F() {\n" + std::string(100, '\n') + "  return;\n}\n";
  std::string many_options = "struct Options {\n";
  const std::string engine = "class Engine {\n private:\n  using Job = int;\n";
  std::string many_fields = "  void F();\n",
              many_functions = "  Mutex mutex_ ABSL_ACQUIRED_AFTER(a());\n";
  for (size_t i = 0; i <= kEngineFieldsMax; ++i)
    many_fields += "  const std::vector<int> field_;\n";
  for (size_t i = 0; i <= kEngineFunctionsMax; ++i)
    many_functions += "  // one;\n  int F() const;\n";
  for (int i = 0; i <= static_cast<int>(kOptionsMax); ++i)
    many_options += "  int option" + std::to_string(i) + " = 0;\n";
  return {
      {"IncludesFollowTheArrows",
       IncludesFollowTheArrows,
       {{{"bloom/core/a.h", "#include \"lsm/bytes/coding.h\"\n"}},
        {{"bloom/core/a.h", "#include \"bloom/a.h\"\n"},
         {"bloom/a.h", "#include \"bloom/variants/blocked.h\"\n"}},
        {{"bloom/core/a.h", "#include \"bloom/variants/blocked.h\"\n"}},
        {{"lsm/bytes/a.cc", "  #  include \"x\"\n#include \"lsm/threads/mutex.h\"\n"}},
        {{"lsm/log/a.cc", "#include \"lsm/block/block.h\"\n"}},
        {{"lsm/compaction/a.cc", "#include \"lsm/memtable/memtable.h\"\n"}},
        {{"lsm/engine/a.cc", "#include \"lsm/db.h\"\n"}},
        {{"lsm/engine/a.cc", "#include \"lsm/rados.h\"\n"}},
        {{"lsm/rados/a.cc", "#include \"lsm/threads/mutex.h\"\n"}},
        {{"lsm/filters/a.cc", "#include \"lsm/base/counters.h\"\n"}},
        {{"lsm/block/a.cc", "#include \"lsm/table/table.h\"\n"}},
        {{"lsm/store/a.cc", "#include \"lsm/engine/engine.h\"\n"}},
        {{"lsm/events/a.cc", "#include \"lsm/repair/repair.h\"\n"}},
        {{"lsm/db.cc", "#include \"bench/table.h\"\n"}},
        {{"lsm/table/a.cc", "#include \"block.h\"\n"}},
        {{"bloom/examples/a.cc", "#include \"../../lsm/examples/text.h\"\n"}},
        {{"bloom/examples/a.cc", "#include \"../core/a.h\"\n"}},
        {{"bench/a.cc", "#include \"tests/support/scratch_dir.h\"\n"}},
        {{"bench/a.cc", "#include \"tools/sstdump/text.h\"\n"}},
        {{"tools/sstdump/a.cc", "#include \"lsm/db.h\"\n"}},
        {{"tools/sstdump/a.cc", "#include \"lsm/engine/engine.h\"\n"}}}},
      {"OnlyTheSeamTouchesTheSystem",
       OnlyTheSeamTouchesTheSystem,
       {{{"lsm/table/a.cc", "#include <unistd.h>\n"}},
        {{"lsm/engine/a.cc", "#include <sys/stat.h>\n"}},
        {{"lsm/engine/a.cc", "#include <chrono>\n"}},
        {{"bloom/core/a.cc", "#include <sys/mman.h>\n"}},
        {{"lsm/fs/environment.cc", "#include <fstream>\n"}},
        {{"bloom/a.cc", "  FILE* file = fopen(name, \"r\");\n"}}}},
      {"NothingIsOrphaned",
       NothingIsOrphaned,
       {{{"lsm/table/a.cc", ""}, {"lsm/table/CMakeLists.txt", "add(b.cc) # a.cc\n"}},
        {{"lsm/a.cc", ""}, {"lsm/table/CMakeLists.txt", "add(a.cc)\n"}},
        {{"lsm/a.h", ""},
         {"lsm/a.cc", "#include \"lsm/a.h\"\n"},
         {"lsm/CMakeLists.txt", "add(a.cc)\n"}}}},
      {"NoFolderIsWide", NoFolderIsWide, {wide}},
      {"HeaderGuardsMatchPaths",
       HeaderGuardsMatchPaths,
       {{{"lsm/a.h", "#pragma once\n"}},
        {{"lsm/a.h",
          "#ifndef TRELLIS_LSM_B_H_\n#define TRELLIS_LSM_B_H_\n#endif  // TRELLIS_LSM_B_H_\n"}}}},
      {"NothingIsTooLong",
       NothingIsTooLong,
       {{{"lsm/a.cc", std::string(kFileLinesMax + 1, '\n')}}, {{"lsm/a.cc", long_function}}}},
      {"OptionsAreFew",
       OptionsAreFew,
       {{{"lsm/options.h", many_options + "};\n"}}, {{"lsm/options.h", ""}}, {}}},
      {"TheEngineIsSmall",
       TheEngineIsSmall,
       {{{"lsm/engine/engine.h", engine + many_fields}},
        {{"lsm/engine/engine.h", engine + many_functions}},
        {{"lsm/engine/engine.h", engine}},
        {{"lsm/engine/engine.h", "class Engine {};\n"}},
        {}}},
      {"NamesAreQualified", NamesAreQualified, {{{"lsm/a.cc", "using namespace std;\n"}}}}};
}

std::vector<Rule> RulesOfWords() {
  return {{"NothingIsPutOff",
           NothingIsPutOff,
           {{{"lsm/a.cc", "int x;  // " + Spelt("TO", "DO") + ": more\n"}},
            {{"tests/a_test.cc", "TEST(A, " + Spelt("DISA", "BLED_") + "Works) {}\n"}},
            {{"tests/a_test.cc", "  " + Spelt("GTEST_", "SKIP") + "() << 1;\n"}},
            {{"tests/a_test.cc", "  // TEST(A, B) {\n"}},
            {{"tests/CMakeLists.txt", "# trellis_test(a SRCS a_test.cc)\n"}},
            {{"lsm/a.cc", "#if 0\n#endif\n"}}}},
          {"ThereIsOneWay",
           ThereIsOneWay,
           {{{"bloom/a.cc", "  text = absl::" + Spelt("Str", "Cat(\"a\", 1);\n")}},
            {{"tests/a.cc", "  absl::" + Spelt("Str", "Append(&text, 1);\n")}},
            {{"bloom/a.cc",
              "  if (absl::Status status = F(); " + Spelt("!status.ok()) ", "return status;\n")}},
            {{"tests/lsm/a_test.cc", "  std::" + Spelt("mt19", "937_64 random(1);\n")}},
            {{"bench/a.cc", "  std::" + Spelt("mini", "std_rand random(1);\n")}},
            {{"tools/a.h", "  std::" + Spelt("random_", "device random;\n")}},
            {{"lsm/a.cc", "  if (UserKeyOf(table->meta.largest) < key) return;\n"}},
            {{"tools/a.h", "  key = table.meta.last_key();\n"}},
            {{"bench/b.cc", "  std::" + Spelt("default_", "random_engine random;\n")}}}},
          {"TestNamesArePlain",
           TestNamesArePlain,
           {{{"tests/a_test.cc", "TEST(A, WhatIsTornIsDropped) {\n"}},
            {{"tests/a_test.cc", "TEST_F(A, StopsWhoComesLast) {\n"}},
            {{"tests/a_test.cc", "TEST_P(A, " + std::string(kTestNameMax + 1, 'A') + ") {\n"}}}}};
}

std::vector<Rule> RulesOfPackageAndDocuments() {
  std::string long_program;
  for (int i = 0; i < 21; ++i) long_program += "int a" + std::to_string(i) + ";\n";
  return {
      {"InstalledHeadersAreClosed",
       InstalledHeadersAreClosed,
       {{{kInstallRules, ""}, {"lsm/a.h", "#include \"lsm/base/b.h\"\n"}, {"lsm/base/b.h", ""}},
        {{kInstallRules, ""},
         {"bloom/a.h", "#include \"bloom/core/b.h\"\n"},
         {"bloom/core/b.h", "#include \"absl/strings/string_view.h\"\n"}},
        {{kInstallRules, ""}, {"lsm/a.h", "#include \"lsm/b.h\"\n"}},
        {{kInstallRules, ""}, {"lsm/base/b.h", ""}}}},
      {"PagesForEmbeddersAreInstalled",
       PagesForEmbeddersAreInstalled,
       {{{kInstallRules, ""}, {"lsm/a.h", "// as in lsm/FORMAT.md.\n"}}}},
      {"PublicHeadersOfBloomAreEnough",
       PublicHeadersOfBloomAreEnough,
       {{{"bloom/a.h", ""}},
        {{"tests/embed/a.cc", "#include \"bloom/core/a.h\"\n"}},
        {{"lsm/a.h", "#include \"bloom/core/bits.h\"\n"}}}},
      {"TheReleaseStandsOnce",
       TheReleaseStandsOnce,
       {{{"CMakeLists.txt", "project(Trellis VERSION 1.2.3)\n"},
         {"lsm/a.cc", "const char* kRelease = \"trellis 1.2.3\";\n"}},
        {{"CMakeLists.txt", "project(Trellis)\n"}}}},
      {"TheInterfaceHasTheVersionOfTheRelease",
       TheInterfaceHasTheVersionOfTheRelease,
       {{{"CMakeLists.txt", "project(Trellis VERSION 0.2.0)\n"},
         {"bloom/core/abi.h", "#define TRELLIS_ABI v0_1\n"}}}},
      {"LinksLeadSomewhere",
       LinksLeadSomewhere,
       {{{"README.md", "see [this](lsm/README.md#put)\n"}},
        {{"README.md", "see [this](#put)\n# A get\n"}},
        {{"lsm/README.md", "see [x](db.h) [y](gone.h)\n"}, {"lsm/db.h", ""}}}},
      {"ShownCodeIsCompiled",
       ShownCodeIsCompiled,
       {{{"a.md", "<!-- lsm/examples/a.cc: x -->\n```cpp\nint a;\n```\n"},
         {"lsm/examples/a.cc", "  // snippet: x\n  int b;\n  // end\n"}},
        {{"a.md", "<!-- lsm/examples/a.cc: y -->\n```cpp\nint b;\n```\n"},
         {"lsm/examples/a.cc", "// snippet: x\nint b;\n// end\n"}},
        {{"a.md", "<!-- lsm/examples/a.cc: x -->\nint b;\n"},
         {"lsm/examples/a.cc", "// snippet: x\nint b;\n// end\n"}},
        {{"lsm/examples/a.cc", "// snippet: x\nint b;\n// end\n"}},
        {{"a.md", "```cpp\nint main() {}\n```\n"}},
        {{"a.md", "<!-- lsm/examples/a.cc -->\n```cpp\nint main() { }\n```\n"},
         {"lsm/examples/a.cc", "// A.\nint main() {}\n"}},
        {{"a.md", "<!-- lsm/examples/a.cc -->\n```cpp\nint main() {}\n```\n"}},
        {{"a.md", "<!-- lsm/examples/a.cc -->\n```cpp\n" + long_program + "```\n"},
         {"lsm/examples/a.cc", "// A.\n" + long_program}},
        {{"README.md", "Trellis.\n"}}}},
      {"SharedSentencesAreTheSame",
       SharedSentencesAreTheSame,
       {{{"a.md", "<!-- also in: lsm/a.h -->\n> One\n> two.\n"}, {"lsm/a.h", "// One\n// 2.\n"}},
        {{"a.md", "<!-- also in: lsm/a.h -->\n> One.\n"}},
        {{"a.md", "<!-- also in: lsm/a.h -->\nOne.\n"}, {"lsm/a.h", "// One.\n"}}}},
      {"BuildOptionsAreDocumented",
       BuildOptionsAreDocumented,
       {{{"CMakeLists.txt", "option(TRELLIS_A \"\" ON)\n"}},
        {{"CMakeLists.txt", "option(TRELLIS_A \"\" ON)\n"},
         {"CONTRIBUTING.md", "| `TRELLIS_A` |\n| `TRELLIS_B` |\n"}},
        {}}},
      {"CommandsAreInTheHelp",
       CommandsAreInTheHelp,
       {{{"tools/dev", "cat <<'END'\n  help  this\nEND\ncommand_clean() {\n"}},
        {{"tools/dev", "cat <<'END'\n  clean  all\n  help   this\nEND\n"}},
        {{"tools/dev", "cat <<'END'\n  help  this\nEND\n"},
         {"tools/tasks/a.sh", "command_clean() {\n"}},
        {{"tools/dev", "cat <<'END'\n  help  this\nEND\n"}, {"README.md", "`tools/dev gone`\n"}}}},
      {"TheTopLevelIsBare", TheTopLevelIsBare, {{{"util/a.h", ""}}, {{"notes.txt", ""}}}},
  };
}

std::vector<Rule> RulesOfTheFrontDoor() {
  return {
      {"ExcerptsHoldSomething",
       ExcerptsHoldSomething,
       {{{"README.md", "<!-- tools/dev excerpt a -->\n<!-- end of excerpt -->\n"}},
        {{"lsm/README.md",
          "<!-- tools/dev excerpt a -->\n\n```text\n```\n\n<!-- end of excerpt -->\n"}},
        {{"README.md", "<!-- tools/dev excerpt a -->\n1 of 2\n"}},
        {{"tools/dev", ""}, {"tools/tasks/excerpts.sh", "command_excerpt() {\n"}},
        {{"tools/tasks/excerpts.sh", "command_excerpt() {\n      a | b-c) x ;;\n"},
         {"README.md", "<!-- tools/dev excerpt a -->\n1\n<!-- end of excerpt -->\n"}},
        {{"tools/tasks/excerpts.sh", "command_excerpt() {\n      a) x ;;\n"},
         {"a.md",
          "<!-- tools/dev excerpt a -->\n1\n<!-- end of excerpt -->\n"
          "<!-- tools/dev excerpt b -->\n1\n<!-- end of excerpt -->\n"}}}},
      {"EachFolderHasArrows",
       EachFolderHasArrows,
       {{{"lsm/rooms/a.h", ""}}, {{"bloom/core/rooms/a.cc", ""}}}},
      {"PathsInTextExist",
       PathsInTextExist,
       {{{"lsm/README.md", "as `x` in `lsm/gone.h` is\n"}},
        {{"lsm/README.md", "as `x` in `gone.h` is\n"}, {"bloom/gone.h", ""}},
        {{"lsm/design/a.md", "as `log/gone.h` says\n"}, {"lsm/table/gone.h", ""}},
        {{"tools/README.md", "as [it](#x) and `../gone.txt` say\n"}}}},
      {"ExamplesSayHowTheyAreBuilt",
       ExamplesSayHowTheyAreBuilt,
       {{{"lsm/examples/a.cc", "// Does it.\n#include \"lsm/db.h\"\n"}},
        {{"lsm/examples/a.cc",
          "// Does it.\n//\n//   add_executable(b b.cc)\n"
          "//   target_link_libraries(b PRIVATE Trellis::lsm)\nint a;\n"}},
        {{"bloom/examples/a.cc",
          "//\n//   add_executable(a a.cc)\n"
          "//   target_link_libraries(a PRIVATE Trellis::bloom)\nint a;\n"}},
        {{"lsm/examples/a.cc",
          "// Does it.\n//\n//   add_executable(a a.cc)\n"
          "//   target_link_libraries(a PRIVATE Trellis::lsm)\n#include \"lsm/rados.h\"\n"}}}},
      {"RewrittenTestsAreNamed",
       RewrittenTestsAreNamed,
       {{{"tests/a_test.cc", "TEST(ATest, IsFrozen) {\n  ExpectGolden(\"a.golden\", A());\n}\n"}},
        {{"tests/b_test.cc", "TEST_F(BTest, IsRight) {\n  RunTextTable(\"b.txt\", B);\n}\n"}}}},
      {"TheFrontPageIsShort",
       TheFrontPageIsShort,
       {{{"README.md", std::string(151, '\n') + "```text\na\n```\n"}, {"bench/README.md", "a\n"}},
        {{"README.md", "```text\na\n```\n"},
         {"bench/README.md", "```text\na\n```\n" + std::string(383, '\n')}},
        {{"README.md", "```text\na 1\n```\n"}, {"bench/README.md", "a 2\n"}},
        {}}},
      {"LinesAreNarrow",
       LinesAreNarrow,
       {{{"README.md", "a " + std::string(119, 'b') + "\n"}},
        {{"README.md", "```\na\n```\na " + std::string(119, 'b') + "\n"}},
        {{"lsm/CMakeLists.txt", "# \"a\" " + std::string(119, 'b') + "\n"}},
        {{"tools/cmake/a.cmake", "set(A " + std::string(119, 'b') + ")\n"}}}},
  };
}

std::vector<Rule> RulesOfProse() {
  std::string long_sentence = "It";
  for (int i = 0; i < 35; ++i) long_sentence += " goes on";
  const std::string two_long = long_sentence + ".  " + long_sentence + ".\n";
  return {
      {"SentencesAreShort",
       SentencesAreShort,
       {{{"README.md", two_long}},
        {{"lsm/README.md", "- " + two_long}},
        {{"lsm/README.md", "| a | b |\n|---|---|\n| x | " + long_sentence + " |\n| " +
                               long_sentence + " | y |\n"}}}},
      {"SentencesHaveSubjects",
       SentencesHaveSubjects,
       {{{"README.md", "It is fast. What it costs is little.\n"}},
        {{"README.md", "- Of a store that was closed nothing is dropped.\n"}},
        {{"lsm/a.h", "// What a lookup found.\nint x;\n"}},
        {{"bench/a.cc", "// Of the last run.\nint x;\n"}},
        {{"tools/cmake/a.cmake", "# What a library needs.\n"}},
        {{"tests/tools/a_test.cc", "// Whatever a file holds.\nint x;\n"}}}},
      {"WhoHasAnActor",
       WhoHasAnActor,
       {{{"README.md", "It is fast.  Who reads it knows.\n"}},
        {{"lsm/a.h", "int x;  // for who must know\n"}},
        {{"tests/lsm/a_test.cc", "// Who reads it knows.\n"}}}},
      {"WordsAreTheFields",
       WordsAreTheFields,
       {{{"lsm/a.cc", "// Written anew.\n"}},
        {{"README.md", "A read in vain\n"}},
        {{"tools/cmake/a.cmake", "# nobody sees it\n"}},
        {{"tests/support/a.h", "int x;  // nobody can know\n"}},
        {{"bench/a.cc", "// Somebody waits.\n"}},
        {{"lsm/a.h", "return Error(1'000, \"no,\\nnobody\");\n"}},
        {{"tools/a.cc", "R\"(x\n\"anew\")\"\n"}}}},
  };
}

std::vector<Rule> Rules() {
  std::vector<Rule> rules;
  for (const auto& some : {RulesOfSources(), RulesOfWords(), RulesOfPackageAndDocuments(),
                           RulesOfProse(), RulesOfTheFrontDoor()})
    rules.insert(rules.end(), some.begin(), some.end());
  return rules;
}

class TidyTest : public testing::TestWithParam<Rule> {};

TEST_P(TidyTest, HoldsInTheTree) {
  const Tree tree = RealTree();
  ASSERT_TRUE(tree.contains("lsm/db.h"))
      << "no source tree at " << testing_support::SourceDirectory();
  EXPECT_THAT(GetParam().complaints(tree), testing::IsEmpty());
}

TEST_P(TidyTest, RejectsBadTrees) {
  for (const Tree& tree : GetParam().broken) {
    std::string shown;
    for (const auto& [path, text] : tree) shown += path + ":\n" + text.substr(0, 200) + "\n";
    EXPECT_THAT(GetParam().complaints(tree), testing::Not(testing::IsEmpty()))
        << "no complaint about\n"
        << shown;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, TidyTest, testing::ValuesIn(Rules()),
                         [](const auto& rule) { return rule.param.name; });

}  // namespace
}  // namespace tidy
