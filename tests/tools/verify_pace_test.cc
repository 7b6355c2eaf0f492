// `sstdump verify` on many tables: several at a time, at a limited rate, with a progress report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/commands_fixture.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;

class VerifyPaceTest : public CommandsTest {
 protected:
  VerifyPaceTest() {
    auto directory = files_.OpenDirectory("many", true).value();
    for (uint64_t number = 1; number <= 40; ++number)
      MakeTable(*directory, {.number = number}, NumberedEntries(60, 1));
  }

  void Damage(const std::string& path, size_t at) {
    std::string bytes = files_.FileBytes(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    files_.SetFileBytes(path, bytes);
  }
};

TEST_F(VerifyPaceTest, ThreadsDoNotChangeTheOutput) {
  Damage("many/000007.table", 200);
  Damage("many/000008.table", 2);
  Damage("many/000039.table", files_.FileBytes("many/000039.table").size() - 20);
  Damage("s/000003.table", 700);
  ASSERT_TRUE(files_.OpenDirectory("s", false).value()->Remove("000005.table").ok());
  for (const std::string path : {"many", "s", "s/000002.table", "s/000003.table"}) {
    const RunResult alone = Run({"verify", path});
    for (const char* threads : {"1", "2", "3", "8", "256"}) {
      const RunResult several = Run({"verify", "--threads", threads, path});
      EXPECT_EQ(several.code, alone.code) << threads;
      EXPECT_EQ(several.out, alone.out) << threads;
      EXPECT_EQ(several.err, alone.err) << threads;
    }
    EXPECT_EQ(Run({"verify", "--json", "--threads=4", path}).out,
              Run({"verify", "--json", path}).out);
  }
}

TEST_F(VerifyPaceTest, RateHoldsForAllThreadsTogether) {
  uint64_t bytes = 0;
  for (const std::string& name : FilesIn(files_, "many"))
    bytes += files_.FileBytes("many/" + name).size();
  EXPECT_LT(Run({"verify", "many"}).nanos, kSecond);
  for (const char* threads : {"1", "4"}) {
    const RunResult result = Run({"verify", "--rate", "1K", "--threads", threads, "many"});
    EXPECT_GT(result.nanos, (bytes - 4096) / 1024 * kSecond) << threads;
    // Each waiting thread advances the test's clock, also at the same time as others.
    EXPECT_LT(result.nanos, (bytes + 4096) / 1024 * kSecond * (threads[0] == '1' ? 1 : 8));
  }
  EXPECT_LT(Run({"verify", "--rate", "1M", "many"}).nanos, kSecond);
}

TEST_F(VerifyPaceTest, TerminalsShowProgress) {
  const Terminal terminal{.is_terminal = true, .columns = 80, .allows_color = false};
  for (const std::string threads : {"1", "3"}) {
    const std::vector<std::string> slow = {"verify", "--rate", "5K", "--threads", threads, "many"};
    const RunResult shown = Run(slow, terminal);
    EXPECT_THAT(shown.err, AllOf(HasSubstr("\r  table "), HasSubstr(" of 40, "),
                                 HasSubstr(" s left\x1b[K"), testing::EndsWith("\r\x1b[K")))
        << threads;
    EXPECT_THAT(shown.out, Not(HasSubstr("\r")));
    EXPECT_EQ(Run(slow).err, "");
  }
  EXPECT_EQ(Run({"verify", "many"}, terminal).err, "");  // too fast to be worth a line
}

TEST_F(VerifyPaceTest, NamesWrongArguments) {
  for (const std::string rate : {"", "0", "0K", "K", "1k", "-1", "1.5M", "1KiB", "12345678901"}) {
    const RunResult result = Run({"verify", "--rate=" + rate, "s"});
    EXPECT_EQ(result.code, 2) << rate;
  }
  EXPECT_THAT(Run({"verify", "--rate", "fast", "s"}).err,
              HasSubstr("\"fast\" is not a number of bytes: 1 or more, with K, M or G"));
  for (const char* threads : {"0", "257", "-1", "x", "99999999999999999999"})
    EXPECT_EQ(Run({"verify", "--threads", threads, "s"}).code, 2) << threads;
}

}  // namespace
}  // namespace tools
