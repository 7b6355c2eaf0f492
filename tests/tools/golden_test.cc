// The screens as users see them.  Changing a screen changes its file in tests/testdata/sstdump.
#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/memory_file_system.h"
#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"
#include "tests/tools/sample_store.h"

namespace tools {
namespace {

using testing_support::ExpectGolden;
using testing_support::ReadFile;

class GoldenTest : public testing::Test {
 protected:
  GoldenTest() { MakeSampleStore(files_, "store"); }

  // Compares the commands and their output, one after the other, with the golden file.
  void Expect(const std::string& name, const std::vector<std::vector<std::string>>& commands) {
    std::string text;
    for (const std::vector<std::string>& arguments : commands) {
      text += "$ sstdump";
      for (const std::string& argument : arguments) text += " " + argument;
      const RunResult result = tools::Run(files_, arguments);
      text += "\n" + result.out;
      if (!result.err.empty()) text += "(standard error)\n" + result.err;
      if (result.code != 0) text += "(exit code " + std::to_string(result.code) + ")\n";
      text += "\n";
    }
    ExpectGolden("sstdump/" + name, text);
  }

  lsm::MemoryFileSystem files_;
};

TEST_F(GoldenTest, Info) {
  Expect("info.golden", {{"info", "store"},
                         {"info", "store/000002.table"},
                         {"info", "store/000004.table", "store/000005.table"},
                         {"info", "store/000007.log", "store/000008.log"},
                         {"info", "store/000001.manifest", "store/CURRENT"},
                         {"info", "store/000002.table", "--json"}});
}

TEST_F(GoldenTest, Filter) {
  Expect("filter.golden", {{"filter", "store/000002.table"},
                           {"filter", "store/000003.table"},
                           {"filter", "store/000004.table"},
                           {"filter", "--probes", "0", "store/000006.table"}});
}

TEST_F(GoldenTest, Levels) {
  Expect("levels.golden", {{"levels", "store"}, {"levels", "--tables", "store"}});
}

TEST_F(GoldenTest, LevelsOfAStoreWithAGoal) {
  MakeGoalStore(files_, "goal");
  Expect("levels_goal.golden", {{"levels", "goal"},
                                {"levels", "--tables", "goal"},
                                {"info", "goal/000003.table"},
                                {"properties", "goal/000002.table"}});
}

TEST_F(GoldenTest, Runs) {
  MakeStoreOfRuns(files_, "runs");
  Expect("runs.golden", {{"levels", "--tables", "runs"},
                         {"manifest", "runs"},
                         {"verify", "runs"},
                         {"explain", "runs", "key000030"}});
}

TEST_F(GoldenTest, Keyspaces) {
  const auto directory = MakeStoreOfKeyspaces(files_, "shop");
  MakeLog(*directory, 7, {{{"c", 21, false, "from a log", false, 3}}}, LogState::kOpen);
  Expect("keyspaces.golden", {{"levels", "--tables", "shop"},
                              {"levels", "--keyspace", "jobs", "shop"},
                              {"scan", "--keyspace", "jobs", "shop"},
                              {"explain", "--keyspace", "jobs", "shop", "a"},
                              {"get", "--keyspace", "jobs", "shop", "b"},
                              {"dump", "--keyspace", "jobs", "shop"},
                              {"dump", "--keyspace", "job", "shop"},
                              {"verify", "shop"},
                              {"wal", "shop"},
                              {"manifest", "shop"},
                              {"info", "shop", "shop/000005.table"}});
}

TEST_F(GoldenTest, Expiry) {
  MakeStoreOfExpiry(files_, "shop");
  const std::string earlier = "2023-11-14T23:00:00Z";
  Expect("expiry.golden", {{"levels", "--tables", "shop"},
                           {"levels", "--keyspace", "sessions", "--at", earlier, "shop"},
                           {"levels", "shop"},
                           {"dump", "--keyspace", "sessions", "shop"},
                           {"dump", "--keyspace", "sessions", "--at", earlier, "shop"},
                           {"explain", "--keyspace", "sessions", "shop", "c"},
                           {"get", "--keyspace", "sessions", "shop", "c"},
                           {"get", "--keyspace", "sessions", "shop", "a"},
                           {"get", "shop/000003.table", "c"},
                           {"scan", "shop/000002.table"},
                           {"wal", "shop"},
                           {"info", "shop/000003.table"},
                           {"properties", "shop/000003.table"},
                           {"manifest", "shop"},
                           {"verify", "shop"}});
}

TEST_F(GoldenTest, Verify) {
  std::string table = files_.FileBytes("store/000003.table");
  table[700] = static_cast<char>(table[700] ^ 0x10);
  files_.SetFileBytes("store/000003.table", table);
  Expect("verify.golden",
         {{"verify", "store"},
          {"verify", "--color", "always", "store/000003.table", "store/000004.table"}});
}

TEST_F(GoldenTest, Lookups) {
  Expect("lookups.golden", {{"get", "store/000005.table", "key000009"},
                            {"get", "store/000002.table", "store/000003.table", "key000009"},
                            {"get", "store/000007.log", "key000015"},
                            {"get", "store", "key000012"},
                            {"explain", "store", "key000018"},
                            {"explain", "store", "key000300"},
                            {"explain", "store", "key000301"}});
}

// The screens in tools/README.md come from these files.
TEST(ReadmeTest, ShowsTheOutput) {
  const std::filesystem::path root = testing_support::SourceDirectory();
  std::string goldens;
  for (const auto& entry : std::filesystem::directory_iterator(root / "tests/testdata/sstdump")) {
    goldens += ReadFile(entry.path());
  }
  const std::string readme = ReadFile(root / "tools/README.md");
  constexpr std::string_view kBegin = "```console\n";
  size_t shown = 0;
  for (size_t at = readme.find(kBegin); at != readme.npos; at = readme.find(kBegin, at)) {
    at += kBegin.size();
    const std::string excerpt = readme.substr(at, readme.find("```", at) - at);
    EXPECT_NE(goldens.find(excerpt), goldens.npos) << "the README shows what is not printed:\n"
                                                   << excerpt;
    ++shown;
  }
  EXPECT_GT(shown, 8u);
}

TEST_F(GoldenTest, Contents) {
  Expect("contents.golden", {{"properties", "store/000005.table"},
                             {"blocks", "--limit", "3", "store/000002.table"},
                             {"scan", "store/000005.table"},
                             {"scan", "--keys-only", "--limit", "2", "store"},
                             {"dump", "--to", "key000016", "store"},
                             {"dump", "--json", "--prefix", "key00001", "store"},
                             {"wal", "store"},
                             {"manifest", "store"}});
}

}  // namespace
}  // namespace tools
