// Copies sources and seeds bugs into the copies.  Each bug has a switch that is read at run time.
//
//   mutate SOURCE_ROOT TARGET_ROOT CATALOG ...
//
// writes TARGET_ROOT/lsm/log/log_writer.cc and so on, and the list of all bugs,
// TARGET_ROOT/tests/reliability/mutants.inc.  A catalog consists of these lines:
//
//   # a remark
//   mutant NAME JOB TEXT   declares one, the job that should catch it first, and what it does
//   edit FILE              the lines that follow, up to the next line without a sign, change it:
//   - a line               the code of these lines, which must stand there exactly once,
//   + a line               becomes these, in which MUTANT(NAME) is true if that one is on
//
// Code is compared token by token, so that a quote survives reformatting.  White space, line breaks
// and the places where a long string is split do not count.  Words of comments count only if the
// quote has some.  A quote that matches no place, or two places, is an error that names it.  So a
// catalog cannot become stale unnoticed.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "mutate: %s\n", message.c_str());
  std::exit(1);
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) Die(path + ": cannot be read");
  return bytes.str();
}

// A piece of code that reformatting does not divide.  `text` of a string is the text between its
// quotes.
struct Token {
  enum class Kind { kCode, kString, kComment } kind;
  std::string text;
  size_t from, to;  // its place in the source

  friend bool operator==(const Token& a, const Token& b) {
    return a.kind == b.kind && a.text == b.text;
  }
};

// Divides C++ into tokens.  A character outside of words, numbers, strings and comments is a token
// of its own.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  std::vector<Token> All() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (IsSpace(c)) {
        ++at_;
      } else if (StartsWith("//")) {
        AddComment(at_, std::min(source_.find('\n', at_), source_.size()));
      } else if (StartsWith("/*")) {
        const size_t end = source_.find("*/", at_ + 2);
        AddComment(at_, end == source_.npos ? source_.size() : end);
      } else if (StartsWith("R\"")) {
        AddRawString();
      } else if (c == '"') {
        AddString();
      } else if (c == '\'') {
        Add(Token::Kind::kCode, EndOfQuoted());
      } else {
        size_t end = at_ + 1;
        // An apostrophe in a number divides its digits.
        while (IsWord(c) && end < source_.size() &&
               (IsWord(source_[end]) || (IsDigit(c) && source_[end] == '\'')))
          ++end;
        Add(Token::Kind::kCode, end);
      }
    }
    return std::move(tokens_);
  }

 private:
  static bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)); }
  static bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
  static bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  bool StartsWith(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void Add(Token::Kind kind, size_t end) {
    tokens_.push_back({kind, std::string(source_.substr(at_, end - at_)), at_, end});
    at_ = end;
  }

  // One token for each word, because reformatting refills comments.
  void AddComment(size_t from, size_t end) {
    for (at_ = from + 2; at_ < end;) {
      size_t word_end = at_;
      while (word_end < end && !IsSpace(source_[word_end])) ++word_end;
      if (word_end == at_)
        ++at_;
      else
        Add(Token::Kind::kComment, word_end);
    }
    if (StartsWith("*/")) at_ += 2;
  }

  // The end of the string or character literal that begins here.
  size_t EndOfQuoted() const {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != source_[at_])
      end += source_[end] == '\\' ? 2 : 1;
    return std::min(end + 1, source_.size());
  }

  // Strings one after the other are one string.
  void AddString() {
    const size_t end = EndOfQuoted();
    const std::string text(source_.substr(at_ + 1, end - at_ - 2));
    if (!tokens_.empty() && tokens_.back().kind == Token::Kind::kString) {
      tokens_.back().text += text;
      tokens_.back().to = end;
    } else {
      tokens_.push_back({Token::Kind::kString, text, at_, end});
    }
    at_ = end;
  }

  void AddRawString() {
    const size_t open = source_.find('(', at_);
    const std::string close = ")" + std::string(source_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const size_t end = source_.find(close, open);
    Add(Token::Kind::kCode, end == source_.npos ? source_.size() : end + close.size());
  }

  std::string_view source_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

bool IsComment(const Token& token) { return token.kind == Token::Kind::kComment; }

struct Edit {
  std::string at;  // in the catalog
  std::vector<std::string> before, after;
};

std::string Joined(const std::vector<std::string>& lines) {
  std::string joined;
  for (const std::string& line : lines) joined += line + "\n";
  return joined;
}

class Catalog {
 public:
  void Add(const std::string& path) {
    std::string file;
    std::vector<Edit>* edits = nullptr;
    size_t number = 0;
    bool open = false;  // whether lines may be added to the last edit
    std::istringstream lines(ReadAll(path));
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const std::string at = path + ":" + std::to_string(number);
      const bool is_before = line.starts_with("- "), is_after = line.starts_with("+ ");
      if (is_before || is_after) {
        if (edits == nullptr) Die(at + ": no `edit FILE` before it");
        // A `-` line after a `+` line begins another edit of the same file.
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

// A source with all its tokens, and with its tokens outside of comments.
class Source {
 public:
  explicit Source(const std::string& path)
      : text_(ReadAll(path)), tokens_(Tokenizer(text_).All()), code_(tokens_) {
    std::erase_if(code_, IsComment);
  }

  struct Place {
    size_t from, to;
  };

  // The only place that matches the edit's tokens.  Prints a message and returns nullopt unless
  // exactly one place does.
  std::optional<Place> FindOnce(const Edit& edit) const {
    const std::string quote = Joined(edit.before);
    const std::vector<Token> wanted = Tokenizer(quote).All();
    const std::vector<Token>& tokens =
        std::any_of(wanted.begin(), wanted.end(), IsComment) ? tokens_ : code_;
    if (wanted.empty()) Die(edit.at + ": quotes nothing");
    if (IsComment(wanted.front()))
      Die(edit.at + ": the quote begins with a comment, so the new code would be a part of it");
    std::vector<size_t> found;
    const auto end = tokens.end();
    for (auto at = tokens.begin(); (at = std::search(at, end, wanted.begin(), wanted.end())) != end;
         ++at)
      found.push_back(at - tokens.begin());
    if (found.size() != 1) {
      std::string where;
      for (const size_t i : found)
        where += (where.empty() ? " (lines " : ", ") + std::to_string(LineOf(tokens[i].from));
      if (!where.empty()) where += ")";
      std::fprintf(stderr, "mutate: %s: this code stands %zu times in the source, not once%s: %s\n",
                   edit.at.c_str(), found.size(), where.c_str(), edit.before.front().c_str());
      return std::nullopt;
    }
    return Place{tokens[found.front()].from, tokens[found.front() + wanted.size() - 1].to};
  }

  size_t LineOf(size_t offset) const {
    return 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(offset), '\n');
  }
  std::string_view Text(size_t from, size_t to) const {
    return std::string_view(text_).substr(from, to - from);
  }
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
  std::vector<Token> tokens_, code_;
};

// `source` with all edits applied.  Each edit is looked up in the original source.  Prints messages
// and returns nullopt if a quote does not match exactly one place.
std::optional<std::string> Changed(const std::string& file, const Source& source,
                                   const std::vector<Edit>& edits, Catalog* catalog) {
  std::map<size_t, std::pair<size_t, const Edit*>> places;
  bool all_found = true;
  for (const Edit& edit : edits) {
    const std::optional<Source::Place> place = source.FindOnce(edit);
    if (!place) {
      all_found = false;
      continue;
    }
    const auto [other, is_new] = places.emplace(place->from, std::pair(place->to, &edit));
    if (!is_new) Die(edit.at + ": changes the same code as " + other->second.second->at);
  }
  if (!all_found) return std::nullopt;
  std::string text = "namespace reliability {\nextern int active_mutant;\n}\n";
  text += "#line 1 \"" + file + "\"\n";
  size_t end = 0;
  for (const auto& [from, change] : places) {
    const auto& [to, edit] = change;
    if (from < end) Die(edit->at + ": changes code that another edit changes");
    text += source.Text(end, from);
    for (const std::string& line : edit->after) text += catalog->Expanded(line, edit->at) + "\n";
    text += "#line " + std::to_string(source.LineOf(to)) + " \"" + file + "\"\n";
    end = to;
  }
  return text.append(source.Text(end, source.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) Die("usage: mutate SOURCE_ROOT TARGET_ROOT CATALOG ...");
  const std::filesystem::path sources(argv[1]), targets(argv[2]);
  Catalog catalog;
  for (int i = 3; i < argc; ++i) catalog.Add(argv[i]);
  bool all_found = true;
  for (const auto& [file, edits] : catalog.edits()) {
    const std::optional<std::string> changed =
        Changed(file, Source(sources / file), edits, &catalog);
    if (!changed) {
      all_found = false;
      continue;
    }
    std::filesystem::create_directories((targets / file).parent_path());
    std::ofstream target(targets / file);
    if (!(target << *changed).flush()) Die(file + ": cannot be written");
  }
  if (!all_found) return 1;
  catalog.CheckAllUsed();
  std::filesystem::create_directories(targets / "tests/reliability");
  std::ofstream(targets / "tests/reliability/mutants.inc") << catalog.list();
}
