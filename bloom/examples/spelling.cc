// Checks spelling without the word list. A filter of the list is a tenth of its size, and a word
// that does not pass is certainly not in the list.
//
//   add_executable(spelling spelling.cc)
//   target_link_libraries(spelling PRIVATE Trellis::bloom)
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/filter.h"
#include "command_line.h"
#include "files.h"
#include "text.h"

namespace {

constexpr std::string_view kHelp = R"(Usage: spelling WORDS.txt [--fpp F] [--save FILE] < text
       spelling --load FILE < text

Prints the words of the text that are not in the list, as LINE:COLUMN WORD; columns count the
characters of UTF-8.  WORDS.txt has one word per line.  A word that is printed is certainly not in
the list.  Of the words that are not in it, a share of F passes.

  --fpp F      the share of wrong words that may pass; 0.01
  --save FILE  writes the filter of the list
  --load FILE  uses that filter, and no list

A word passes if the list has it, or its form with ASCII letters in lower case.  Words with a digit
are not checked.
)";

// The smallest kind, since the filter is stored for long.  People do not notice a slower query.
using WordFilter = bloom::Filter<bloom::Standard>;

// Calls `visit(word)` for each line that is not empty.
template <class Visit>
void ForEachWord(std::string_view list, Visit visit) {
  list = examples::WithoutMark(list);
  while (!list.empty()) {
    const size_t end = std::min(list.find('\n'), list.size());
    const std::string_view word = examples::WithoutCarriageReturn(list.substr(0, end));
    if (!word.empty()) visit(word);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

absl::StatusOr<WordFilter> FilterOfList(const std::string& path, double fpp) {
  const absl::StatusOr<std::string> list = examples::ReadWhole(path);
  if (!list.ok()) return list.status();
  uint64_t count = 0;
  ForEachWord(*list, [&](std::string_view) { ++count; });
  if (count == 0) return absl::DataLossError(path + ": no words");
  absl::StatusOr<WordFilter> filter = WordFilter::Make(count, fpp);
  if (!filter.ok()) return filter;
  ForEachWord(*list, [&](std::string_view word) { filter->Add(word); });
  const uint64_t bytes = filter->size_bits() / 8;
  std::cerr << "spelling: " << count << " words of " << list->size() << " bytes make a filter of "
            << bytes << " bytes, " << 100 * bytes / list->size() << " % of the list\n";
  return filter;
}

// A UTF-8 character.  A byte that is none counts as a letter, so words in other encodings stay
// whole.
struct Character {
  enum Kind { kLetter, kDigit, kApostrophe, kOther } kind;
  size_t bytes;
};

Character FirstOf(std::string_view text) {
  const auto c = static_cast<unsigned char>(text[0]);
  if (c < 0x80) {
    const bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    if (is_letter) return {Character::kLetter, 1};
    if (c >= '0' && c <= '9') return {Character::kDigit, 1};
    return {c == '\'' ? Character::kApostrophe : Character::kOther, 1};
  }
  if (text.starts_with("\u2019")) return {Character::kApostrophe, 3};
  const size_t wanted = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
  size_t bytes = 1;
  while (bytes < wanted && bytes < text.size() && (text[bytes] & 0xC0) == 0x80) ++bytes;
  if (bytes < wanted) return {Character::kLetter, 1};
  // Latin-1 symbols, U+2000 to U+2FFF (punctuation, arrows, mathematics), U+3000 to U+303F, emoji.
  const auto second = static_cast<unsigned char>(bytes > 1 ? text[1] : 0);
  const bool is_sign = (c == 0xC2 && second < 0xC0) || c == 0xE2 || (c == 0xE3 && second == 0x80) ||
                       (c == 0xF0 && second == 0x9F);
  return {is_sign ? Character::kOther : Character::kLetter, bytes};
}

bool IsKnown(const WordFilter& filter, std::string word) {
  if (filter.MayContain(word)) return true;
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return filter.MayContain(word);
}

// Checks the words of a line: letters, with apostrophes between them.
void CheckLine(const WordFilter& filter, uint64_t number, std::string_view line, uint64_t* wrong) {
  uint64_t column = 1;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = at;
    const uint64_t begin_column = column;
    std::string word;
    bool has_digit = false;
    for (; at < line.size(); ++column) {
      const Character here = FirstOf(line.substr(at));
      if (here.kind == Character::kOther) break;
      if (here.kind == Character::kApostrophe) {
        const std::string_view rest = line.substr(at + here.bytes);
        if (word.empty() || rest.empty() || FirstOf(rest).kind != Character::kLetter) break;
        word += '\'';
      } else {
        has_digit |= here.kind == Character::kDigit;
        word += line.substr(at, here.bytes);
      }
      at += here.bytes;
    }
    if (!word.empty() && !has_digit && !IsKnown(filter, word)) {
      std::cout << number << ':' << begin_column << ' ' << line.substr(begin, at - begin) << '\n';
      ++*wrong;
    }
    if (at < line.size()) {
      at += FirstOf(line.substr(at)).bytes;
      ++column;
    }
  }
}

absl::Status Run(examples::CommandLine& line) {
  const double fpp = line.Fpp("--fpp", 0.01);
  const std::string load = line.Text("--load"), save = line.Text("--save");
  if (line.words().empty() == load.empty()) line.Refuse("either WORDS.txt or --load FILE");
  if (save == "-") line.Refuse("--save is a file: the standard output has the words");
  if (load == "-" || (!line.words().empty() && line.words()[0] == "-"))
    line.Refuse("the standard input has the text: no list and no filter");
  if (!load.empty() && (!save.empty() || line.Has("--fpp")))
    line.Refuse("--load takes the filter as it is: no --fpp, no --save");
  std::error_code no_such;
  if (!save.empty() && !line.words().empty() &&
      std::filesystem::equivalent(line.words()[0], save, no_such))
    line.Refuse("--save would replace the list itself");
  if (!line.status().ok()) return line.status();

  absl::StatusOr<WordFilter> filter = absl::UnknownError("");
  if (load.empty()) {
    filter = FilterOfList(line.words()[0], fpp);
  } else {
    const absl::StatusOr<std::string> bytes = examples::ReadWhole(load);
    if (!bytes.ok()) return bytes.status();
    filter = WordFilter::Load(*bytes);
    if (!filter.ok()) {
      return absl::Status(filter.status().code(),
                          load + ": " + std::string(filter.status().message()));
    }
    std::cerr << "spelling: " << load << " knows " << filter->added_count() << " words in "
              << filter->size_bits() / 8 << " bytes\n";
  }
  if (!filter.ok()) return filter.status();
  if (!save.empty()) {
    if (absl::Status status = examples::ReplaceFile(save, filter->Serialize()); !status.ok())
      return status;
  }
  uint64_t number = 0, wrong = 0;
  for (std::string text; std::cout && std::getline(std::cin, text); ++number)
    CheckLine(*filter, number + 1, number == 0 ? examples::WithoutMark(text) : text, &wrong);
  if (std::cin.bad()) return absl::UnavailableError("cannot read the standard input");
  std::cerr << "spelling: " << wrong
            << " words are not in the list; a word that is not in it passes "
            << "with a probability of " << filter->CurrentFpp() << "\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  return examples::Main(argc, argv,
                        {.name = "spelling",
                         .help = kHelp,
                         .options = {"--fpp", "--save", "--load"},
                         .words = {0, 1}},
                        Run);
}
