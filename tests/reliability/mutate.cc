// Makes copies of sources with bugs seeded into them, each behind a switch that is read at run
// time.
//
//   mutate SOURCE_ROOT TARGET_ROOT CATALOG ...
//
// writes TARGET_ROOT/lsm/log/log_writer.cc and so on, and
// TARGET_ROOT/tests/reliability/mutants.inc, the list of all.  Catalogs are made of lines:
//
//   # a remark
//   mutant NAME JOB TEXT   declares one, the job that should catch it first, and what it does
//   edit FILE              the lines that follow, up to the next line without a sign, change it:
//   - a line               these lines, which must stand there once, but for their indentation,
//   + a line               become these, in which MUTANT(NAME) is true if that one is on
//
// A line that is not there, or there twice, is an error: the catalog keeps up with the sources.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "mutate: %s\n", message.c_str());
  std::exit(1);
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  if (!file) Die(path + ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string Trimmed(const std::string& line) {
  const size_t from = line.find_first_not_of(" \t");
  if (from == line.npos) return "";
  return line.substr(from, line.find_last_not_of(" \t") - from + 1);
}

struct Edit {
  std::string at;  // in the catalog
  std::vector<std::string> before, after;
};

class Catalog {
 public:
  void Add(const std::string& path) {
    std::string file;
    std::vector<Edit>* edits = nullptr;
    size_t number = 0;
    bool open = false;  // whether lines may be added to the last edit
    for (const std::string& line : ReadLines(path)) {
      ++number;
      const std::string at = path + ":" + std::to_string(number);
      const bool is_before = line.starts_with("- "), is_after = line.starts_with("+ ");
      if (is_before || is_after) {
        if (edits == nullptr) Die(at + ": no `edit FILE` before it");
        // A line to be replaced behind one that replaces begins another edit of the same file.
        if (!open || (is_before && !edits->back().after.empty())) edits->push_back({at, {}, {}});
        open = true;
        (is_before ? edits->back().before : edits->back().after).push_back(line.substr(2));
        continue;
      }
      open = false;
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::string word, name, job, text;
      words >> word;
      if (word == "mutant" && words >> name >> job && std::getline(words >> std::ws, text)) {
        if (!numbers_.emplace(name, numbers_.size() + 1).second) Die(at + ": " + name + " twice");
        list_ += "{\"" + name + "\", \"" + job + "\", R\"(" + text + ")\"},\n";
      } else if (word == "edit" && words >> file) {
        edits = &edits_[file];
      } else {
        Die(at + ": not understood: " + line);
      }
    }
  }

  const std::map<std::string, std::vector<Edit>>& edits() const { return edits_; }
  const std::string& list() const { return list_; }

  // MUTANT(NAME) as C++.
  std::string Expanded(const std::string& line, const std::string& at) {
    static constexpr std::string_view kToken = "MUTANT(";
    const size_t from = line.find(kToken);
    if (from == line.npos) return line;
    const size_t to = line.find(')', from);
    const std::string name = line.substr(from + kToken.size(), to - from - kToken.size());
    const auto number = numbers_.find(name);
    if (number == numbers_.end()) Die(at + ": no mutant " + name);
    used_[name] = true;
    return line.substr(0, from) +
           "(::reliability::active_mutant == " + std::to_string(number->second) + ")" +
           Expanded(line.substr(to + 1), at);
  }

  void CheckAllUsed() const {
    for (const auto& [name, number] : numbers_) {
      if (!used_.contains(name)) Die("no edit has MUTANT(" + name + ")");
    }
  }

 private:
  std::map<std::string, size_t> numbers_;
  std::map<std::string, bool> used_;
  std::map<std::string, std::vector<Edit>> edits_;
  std::string list_;
};

// The index of the only lines that match the edit's.
size_t FindOnce(const std::vector<std::string>& lines, const Edit& edit) {
  size_t found = lines.size(), times = 0;
  for (size_t i = 0; i + edit.before.size() <= lines.size(); ++i) {
    size_t same = 0;
    while (same < edit.before.size() && Trimmed(lines[i + same]) == Trimmed(edit.before[same]))
      ++same;
    if (same < edit.before.size()) continue;
    found = i;
    ++times;
  }
  if (times != 1) {
    Die(edit.at + ": these lines stand " + std::to_string(times) +
        " times in the source, not once: " + edit.before.front());
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) Die("usage: mutate SOURCE_ROOT TARGET_ROOT CATALOG ...");
  const std::filesystem::path sources(argv[1]), targets(argv[2]);
  Catalog catalog;
  for (int i = 3; i < argc; ++i) catalog.Add(argv[i]);
  for (const auto& [file, edits] : catalog.edits()) {
    std::vector<std::string> lines = ReadLines(sources / file);
    // Each is looked for in what was there before all.
    std::map<size_t, const Edit*> places;
    for (const Edit& edit : edits) {
      const auto [place, is_new] = places.emplace(FindOnce(lines, edit), &edit);
      if (!is_new) Die(edit.at + ": changes the same lines as " + place->second->at);
    }
    size_t end = 0;
    for (const auto& [from, edit] : places) {
      if (from < end) Die(edit->at + ": changes lines that another edit changes");
      end = from + edit->before.size();
    }
    std::filesystem::create_directories((targets / file).parent_path());
    std::ofstream target(targets / file);
    target << "namespace reliability {\nextern int active_mutant;\n}\n";
    target << "#line 1 \"" << file << "\"\n";
    for (size_t i = 0; i < lines.size();) {
      const auto place = places.find(i);
      if (place == places.end()) {
        target << lines[i++] << "\n";
        continue;
      }
      for (const std::string& line : place->second->after)
        target << catalog.Expanded(line, place->second->at) << "\n";
      i += place->second->before.size();
      target << "#line " << i + 1 << " \"" << file << "\"\n";
    }
    if (!target.flush()) Die(file + ": cannot be written");
  }
  catalog.CheckAllUsed();
  std::filesystem::create_directories(targets / "tests/reliability");
  std::ofstream(targets / "tests/reliability/mutants.inc") << catalog.list();
}
