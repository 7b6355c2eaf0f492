#include "tests/support/text_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/source_directory.h"

namespace testing_support {

namespace {

TextCase ParseCommand(const std::string& line, std::string place) {
  TextCase parsed;
  parsed.place = std::move(place);
  for (const std::string& word : WordsOf(line)) {
    const size_t equals = word.find('=');
    if (parsed.command.empty())
      parsed.command = word;
    else if (equals == word.npos)
      parsed.words.push_back(word);
    else
      parsed.named[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return parsed;
}

// The output as a file stores it: no empty lines at the end, and a newline after each line.
std::string AsOutput(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::string TextCase::Named(const std::string& name, std::string_view otherwise) const {
  return Has(name) ? named.at(name) : std::string(otherwise);
}

uint64_t TextCase::Number(const std::string& name, uint64_t otherwise) const {
  return Has(name) ? NumberOf(Named(name)) : otherwise;
}

size_t TextCase::OneOf(const std::string& name, const std::vector<std::string>& values) const {
  if (!Has(name)) return 0;
  const auto found = std::find(values.begin(), values.end(), Named(name));
  if (found != values.end()) return static_cast<size_t>(found - values.begin());
  ADD_FAILURE() << place << ": " << name << "=" << Named(name);
  return 0;
}

std::string TextCase::NotUnderstood() const {
  ADD_FAILURE() << place << ": there is no command " << command << " with " << words.size()
                << " words";
  return "";
}

std::vector<std::string> WordsOf(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

uint64_t NumberOf(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  EXPECT_TRUE(error == std::errc() && end == text.data() + text.size()) << "no number: " << text;
  return number;
}

void RunTextTable(const std::string& file, const std::function<std::string(const TextCase&)>& run) {
  const std::string path = SourceDirectory() / file;
  std::ifstream source(path);
  ASSERT_TRUE(source) << path;
  const bool rewrites = std::getenv("TRELLIS_REWRITE") != nullptr;
  std::string rewritten, line;
  size_t number = 0, cases = 0;
  const auto next = [&] { return ++number, static_cast<bool>(std::getline(source, line)); };
  while (next()) {
    rewritten += line + "\n";
    if (line.empty() || line[0] == '#') continue;
    TextCase one = ParseCommand(line, file + ":" + std::to_string(number));
    while (next() && line != "----") {
      ASSERT_FALSE(line.empty()) << one.place << ": no ---- follows";
      one.input.push_back(line);
      rewritten += line + "\n";
    }
    ASSERT_EQ(line, "----") << one.place << ": no ---- follows";
    std::string expected;
    while (next() && !line.empty()) expected += line + "\n";
    const std::string actual = AsOutput(run(one));
    for (const auto& [name, value] : one.named)
      EXPECT_TRUE(one.known.contains(name)) << one.place << ": " << name << " means nothing";
    EXPECT_EQ(actual.find("\n\n"), actual.npos) << one.place << ": an empty line in the output";
    if (!rewrites) {
      EXPECT_EQ(actual, expected) << one.place;
    }
    rewritten += "----\n" + actual;
    if (source) rewritten += "\n";
    ++cases;
  }
  EXPECT_GT(cases, 0u) << path;
  if (rewrites) {
    std::ofstream target(path);
    EXPECT_TRUE((target << rewritten).flush()) << path;
  }
}

}  // namespace testing_support
