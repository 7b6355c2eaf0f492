// Replays the inputs that the fuzzers kept.  Needs no fuzzer: it is part of every build of the
// tests.
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/loaders.h"
#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"

namespace fuzz {

// GoogleTest prints the name instead of bytes.
static void PrintTo(const Loader& loader, std::ostream* out) { *out << loader.name; }

}  // namespace fuzz

namespace {

namespace fs = std::filesystem;

const fs::path kCorpora = testing_support::SourceDirectory() / "tests/testdata/fuzz";

fs::path CorpusOf(const fuzz::Loader& loader) {
  const bool of_store = loader.library == fuzz::Library::kStore;
  return (of_store ? kCorpora / "store" : kCorpora) / (loader.name + ".corpus");
}

class CorpusTest : public testing::TestWithParam<fuzz::Loader> {};

TEST_P(CorpusTest, EveryInputIsLoadedOrRefused) {
  const std::vector<std::string> inputs =
      fuzz::UnpackCorpus(testing_support::ReadFile(CorpusOf(GetParam())));
  EXPECT_GT(inputs.size(), 5u) << "`tools/dev fuzz` makes a corpus";
  int accepted = 0;
  for (const std::string& input : inputs) accepted += GetParam().use(input);
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, static_cast<int>(inputs.size()));
}

TEST_P(CorpusTest, EverySeedIsLoadedAndSurvivesRepair) {
  for (std::string seed : GetParam().seeds()) {
    EXPECT_TRUE(GetParam().use(seed));
    const std::string before = seed;
    GetParam().repair(seed);
    EXPECT_EQ(seed, before);
  }
}

TEST_P(CorpusTest, SeedsEqualTheirParts) {
  if (GetParam().take_apart == nullptr) return;
  for (const std::string& seed : GetParam().seeds())
    EXPECT_EQ(GetParam().put_together(GetParam().take_apart(seed)), seed);
}

std::string NameOf(const testing::TestParamInfo<fuzz::Loader>& loader) {
  std::string name = loader.param.name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Loaders, CorpusTest, testing::ValuesIn(fuzz::Loaders()), NameOf);

TEST(CorporaTest, NoInputsAreLeftOver) {
  std::set<fs::path> corpora;
  for (const fuzz::Loader& loader : fuzz::Loaders()) {
    EXPECT_TRUE(corpora.insert(CorpusOf(loader)).second) << loader.name << " is listed twice";
  }
  for (const auto& entry : fs::recursive_directory_iterator(kCorpora))
    EXPECT_TRUE(entry.is_directory() || corpora.contains(entry.path())) << entry.path();
}

}  // namespace
