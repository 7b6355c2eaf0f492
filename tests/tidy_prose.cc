#include "tests/tidy_prose.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidy {
namespace {

constexpr size_t kWordsMax = 35;
constexpr size_t kLongPerHundred = 2;

struct Passage {
  size_t line = 0;  // index of the first one
  std::string text;
  bool is_cell = false;  // of a table
};

// The position after the mark of a list item ("- ", "* ", "12. "); npos if there is none.
size_t AfterItemMark(std::string_view line) {
  if (line.starts_with("- ") || line.starts_with("* ")) return 2;
  const size_t digits = line.find_first_not_of("0123456789");
  if (digits == line.npos || digits == 0 || digits > 2) return line.npos;
  return line.substr(digits).starts_with(". ") ? digits + 2 : line.npos;
}

// The cells of a table's row, each a passage.
void AddCells(size_t line, std::string_view row, std::vector<Passage>* passages) {
  for (size_t begin = 1; begin < row.size();) {
    const size_t end = std::min(row.find('|', begin), row.size());
    passages->push_back({line, std::string(Trimmed(row.substr(begin, end - begin))), true});
    begin = end + 1;
  }
}

// Paragraphs, list items and cells of tables of a document.
std::vector<Passage> Passages(std::string_view document) {
  std::vector<Passage> passages;
  bool in_code = false, open = false;
  const std::vector<std::string_view> lines = Lines(document);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = Trimmed(lines[i]);
    if (line.starts_with("```")) in_code = !in_code;
    if (in_code || line.empty() || line.starts_with("```") || line.starts_with("|") ||
        line.starts_with("#") || line.starts_with("<")) {
      open = false;
      if (!in_code && line.starts_with("|")) AddCells(i, line, &passages);
      continue;
    }
    const size_t item = AfterItemMark(line);
    if (item != line.npos) line = line.substr(item);
    if (item != line.npos || !open) passages.push_back({i, "", false});
    open = true;
    std::string& text = passages.back().text;
    text.append(text.empty() ? "" : " ").append(line);
  }
  return passages;
}

// Puts `word` in the place of each `span of code`.
std::string WithoutCode(std::string_view text, std::string_view word) {
  std::string plain;
  for (bool code = false; !text.empty(); code = !code) {
    const size_t end = text.find('`');
    plain.append(code ? word : text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return plain;
}

bool EndsSentence(std::string_view word) {
  while (!word.empty() && Contains(")*\"]", word.substr(word.size() - 1))) word.remove_suffix(1);
  return word.ends_with(".") || word.ends_with("?") || word.ends_with("!");
}

struct Sentence {
  std::string first_word;
  size_t words = 0;
  bool is_question = false;
};

std::vector<Sentence> SentencesOf(const Passage& passage) {
  std::vector<Sentence> sentences;
  std::istringstream words(WithoutCode(passage.text, passage.is_cell ? "" : "code"));
  bool begins = true;
  for (std::string word; words >> word;) {
    if (begins) sentences.push_back({word});
    begins = EndsSentence(word) || (passage.is_cell && word.ends_with(";"));
    Sentence& sentence = sentences.back();
    sentence.is_question |= Contains(word, "?");
    if (std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c); }))
      ++sentence.words;
  }
  return sentences;
}

// The text of a comment in a line of code or of a script.  Empty if there is none.
std::string_view CommentOf(const std::string& path, std::string_view line) {
  if (IsCode(path)) {
    const size_t begin = line.find("// ");
    if (begin == line.npos) return {};
    const bool in_string = std::count(line.begin(), line.begin() + begin, '"') % 2 != 0;
    return in_string ? std::string_view() : line.substr(begin + 3);
  }
  line = Trimmed(line);
  return line.starts_with("# ") ? line.substr(2) : std::string_view();
}

bool IsWritten(std::string_view path) {
  return IsCode(path) || IsCMake(path) || IsDocument(path) || path.starts_with("tools/dev") ||
         path.ends_with(".sh");
}

std::string Lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Calls `visit(path, index, prose)` for each line of prose, in lower case, with a blank at each
// end.
template <typename Visit>
void ForEachLineOfProse(const Tree& tree, Visit visit) {
  ForEachLine(tree, IsWritten, [&](const std::string& path, size_t i, std::string_view line) {
    std::string prose(IsDocument(path) ? Trimmed(line) : CommentOf(path, line));
    if (prose.empty()) return;
    // A line that begins a sentence follows the end of another.
    const bool begins = std::isupper(static_cast<unsigned char>(prose[0])) != 0;
    visit(path, i, Lowered((begins ? ". " : " ") + prose + " "));
  });
}

// The strings in code, a line of each at a time.
struct Literal {
  size_t line = 0;  // index
  std::string text;
};

// The position after the literal whose first quote is at `open`.  Adds its lines, if it is a
// string.
size_t TakeLiteral(std::string_view code, size_t open, size_t line,
                   std::vector<Literal>* literals) {
  const char quote = code[open];
  std::string end(1, quote);
  size_t begin = open + 1;
  const bool is_raw = open > 0 && code[open - 1] == 'R' && quote == '"';
  if (is_raw) {
    begin = std::min(code.find('(', open), code.size() - 1) + 1;
    end = ")" + std::string(code.substr(open + 1, begin - open - 2)) + "\"";
  }
  std::string text;
  size_t at = begin;
  for (; at < code.size() && !code.substr(at).starts_with(end); ++at) {
    if (!is_raw && code[at] == '\\') {
      ++at;
      text += ' ';  // not the letter of "\n"
    } else {
      text += code[at];
    }
  }
  for (std::string_view part : Lines(text)) {
    if (quote == '"') literals->push_back({line++, std::string(part)});
  }
  return at + end.size();
}

std::vector<Literal> LiteralsOf(std::string_view code) {
  std::vector<Literal> literals;
  size_t line = 0;
  for (size_t at = 0; at < code.size();) {
    // An apostrophe after a digit groups digits: 1'000.
    const bool groups = at > 0 && std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0;
    size_t next = at + 1;
    if (code.substr(at).starts_with("//")) {
      next = std::min(code.find('\n', at), code.size());
    } else if (code[at] == '"' || (code[at] == '\'' && !groups)) {
      next = TakeLiteral(code, at, line, &literals);
    }
    next = std::min(next, code.size());
    line += static_cast<size_t>(std::count(code.begin() + at, code.begin() + next, '\n'));
    at = next;
  }
  return literals;
}

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)); }

bool HasWords(std::string_view prose, std::string_view words) {
  for (size_t at = prose.find(words); at != prose.npos; at = prose.find(words, at + 1)) {
    if (!IsLetter(prose[at - 1]) && !IsLetter(prose[at + words.size()])) return true;
  }
  return false;
}

}  // namespace

Complaints SentencesAreShort(const Tree& tree) {
  Complaints complaints;
  for (const auto& [path, text] : tree) {
    if (!IsDocument(path)) continue;
    size_t sentences = 0;
    Complaints of_document;
    for (const Passage& passage : Passages(text)) {
      for (const Sentence& sentence : SentencesOf(passage)) {
        ++sentences;
        if (sentence.words > kWordsMax)
          of_document.push_back(At(path, passage.line) + "a sentence of " +
                                std::to_string(sentence.words) + " words");
      }
    }
    if (of_document.size() > std::max<size_t>(1, sentences * kLongPerHundred / 100))
      complaints.insert(complaints.end(), of_document.begin(), of_document.end());
  }
  return complaints;
}

Complaints SentencesHaveSubjects(const Tree& tree) {
  Complaints complaints;
  const auto lacks_subject = [](std::string_view word) {
    return word == "What" || word == "Whatever" || word == "Of";
  };
  for (const auto& [path, text] : tree) {
    if (!IsDocument(path)) continue;
    for (const Passage& passage : Passages(text)) {
      for (const Sentence& sentence : SentencesOf(passage)) {
        const std::string& word = sentence.first_word;
        if (sentence.words > 1 && !sentence.is_question && lacks_subject(word))
          complaints.push_back(At(path, passage.line) + "a sentence begins with \"" + word + "\"");
      }
    }
  }
  ForEachLine(tree, IsWritten, [&](const std::string& path, size_t i, std::string_view line) {
    if (IsDocument(path) || (IsCode(path) && !Trimmed(line).starts_with("// "))) return;
    const std::string_view comment = CommentOf(path, line);
    const std::string_view word = comment.substr(0, comment.find(' '));
    if (lacks_subject(word) && !Contains(comment, "?"))
      complaints.push_back(At(path, i) + "a comment's line begins with \"" + std::string(word) +
                           "\"");
  });
  return complaints;
}

Complaints WhoHasAnActor(const Tree& tree) {
  Complaints complaints;
  ForEachLineOfProse(tree, [&](const std::string& path, size_t i, std::string_view prose) {
    if (Contains(prose, "?")) return;
    for (const char* start :
         {". who ", ".  who ", "; who ", ": who ", "(who ", " for who ", " and who ", " by who "}) {
      if (Contains(prose, start)) complaints.push_back(At(path, i) + "who is \"who\"?");
    }
  });
  return complaints;
}

Complaints WordsAreTheFields(const Tree& tree) {
  static const std::vector<std::pair<std::string, std::string>> words = {
      {"in vain", "wasted, useless"},
      {"anew", "again"},
      {"mend", "recover, repair or fix"},
      {"mends", "recovers, repairs or fixes"},
      {"mended", "recovered, repaired or fixed"},
      {"nobody", "no caller, no process"},
      {"somebody", "a caller, another process"},
      {"to be had", "available"},
      {"bears witness", "shows"},
      {"cannot turn back", "is past the point of no return"},
      {"holds against", "verifies against"},
      {"hold against", "verify against"},
      {"that is not there", "missing, absent"},
      {"whosoever", "any caller"},
      {"so many", "N, that many"},
      {"what misses", "missed goals"},
      {"looks whether", "checks whether"},
  };
  Complaints complaints;
  const auto check = [&](const std::string& path, size_t i, std::string_view prose) {
    for (const auto& [word, better] : words) {
      if (HasWords(prose, word))
        complaints.push_back(At(path, i) + "says \"" + word + "\" for: " + better);
    }
  };
  ForEachLineOfProse(tree, check);
  for (const auto& [path, text] : tree) {
    // The rules' own words and examples are strings.
    if (!IsCode(path) || path.starts_with("tests/tidy_")) continue;
    for (const Literal& literal : LiteralsOf(text))
      check(path, literal.line, Lowered(" " + literal.text + " "));
  }
  return complaints;
}

}  // namespace tidy
