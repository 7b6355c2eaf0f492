// Foreign files, and files of a newer Trellis, are named as such and are not damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/log/log_format.h"
#include "lsm/memory_file_system.h"
#include "tests/tools/sample_store.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ForeignTest : public testing::Test {
 protected:
  ForeignTest() { MakeTinyStore(files_, "s"); }

  RunResult Run(const std::vector<std::string>& arguments) { return tools::Run(files_, arguments); }

  lsm::MemoryFileSystem files_;
};

TEST_F(ForeignTest, NamesTablesOfOtherStores) {
  const auto with_magic = [](uint64_t magic) {
    std::string bytes(200, 'x');
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(magic >> (8 * i)));
    return bytes;
  };
  files_.SetFileBytes("f/leveldb", with_magic(0xdb4775248b80fb57));
  files_.SetFileBytes("f/rocksdb", with_magic(0x88e241b785f4cff7));
  files_.SetFileBytes("f/text", "Once upon a time\n");
  files_.SetFileBytes("f/zeros", std::string(4096, '\0'));
  files_.SetFileBytes("f/empty", "");
  for (const char* command : {"info", "verify", "scan", "wal", "manifest", "get"}) {
    std::vector<std::string> words;
    std::istringstream stream(command);
    for (std::string word; stream >> word;) words.push_back(word);
    const auto says = [&](const std::string& path) {
      std::vector<std::string> arguments = words;
      arguments.push_back(path);
      if (words[0] == "get") arguments.push_back("x");
      const RunResult result = Run(arguments);
      EXPECT_EQ(result.code, 3) << command << " " << path;
      return result.out + result.err;
    };
    EXPECT_THAT(says("f/leveldb"), HasSubstr("LevelDB"));
    EXPECT_THAT(says("f/rocksdb"), HasSubstr("RocksDB"));
    EXPECT_THAT(says("f/text"), HasSubstr("not a file of Trellis"));
    EXPECT_THAT(says("f/zeros"), HasSubstr("zeros"));
    EXPECT_THAT(says("f/empty"), HasSubstr("empty"));
    EXPECT_THAT(says("f/missing"), HasSubstr("f/missing"));
  }
  EXPECT_EQ(Run({"info", "f"}).code, 3);
  EXPECT_EQ(Run({"verify", "f"}).code, 3);
}

// Its CURRENT and its logs have the same names as those of Trellis.
TEST_F(ForeignTest, NamesDirectoriesOfOtherStores) {
  files_.SetFileBytes("ldb/CURRENT", "MANIFEST-000002\n");
  files_.SetFileBytes("ldb/MANIFEST-000002", std::string(200, 'm'));
  files_.SetFileBytes("ldb/000003.log", std::string(3000, 'w'));
  files_.SetFileBytes("ldb/000005.ldb", std::string(3000, 't'));
  files_.SetFileBytes("ldb/LOCK", "");
  files_.SetFileBytes("ldb/LOG", "text\n");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"info", "ldb"},
                                             {"properties", "ldb"},
                                             {"blocks", "ldb"},
                                             {"filter", "ldb"},
                                             {"scan", "ldb"},
                                             {"get", "ldb", "k"},
                                             {"get", "--raw", "ldb", "k"},
                                             {"verify", "ldb"},
                                             {"verify", "ldb/"},
                                             {"wal", "ldb"},
                                             {"manifest", "ldb"},
                                             {"levels", "ldb"},
                                             {"explain", "ldb", "k"},
                                             {"info", "ldb/CURRENT"},
                                             {"verify", "ldb/CURRENT"}}) {
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, 3) << arguments[0] << result.err;
    EXPECT_EQ(result.out, "") << arguments[0];
    EXPECT_THAT(result.err, AllOf(HasSubstr("CURRENT: "), HasSubstr("LevelDB or RocksDB")))
        << arguments[0];
    std::vector<std::string> as_json = arguments;
    as_json.insert(as_json.begin(), "--json");
    EXPECT_EQ(ParseOutput(Run(as_json).out)["results"][0]["outcome"], "unreadable");
  }
  // Without its CURRENT it must not be taken for a Trellis store that lost CURRENT.
  ASSERT_TRUE(files_.OpenDirectory("ldb", false).value()->Remove("CURRENT").ok());
  EXPECT_EQ(Run({"verify", "ldb"}).code, 3);
  EXPECT_EQ(Run({"wal", "ldb"}).code, 3);
  EXPECT_EQ(Run({"info", "ldb"}).code, 3);
}

TEST_F(ForeignTest, ForeignCurrentIsDamage) {
  files_.SetFileBytes("s/CURRENT", "not the one that was here");
  EXPECT_EQ(Run({"verify", "s"}).code, 1);
  EXPECT_EQ(Run({"info", "s"}).code, 1);
  files_.SetFileBytes("s/CURRENT", "MANIFEST-000001\n");
  EXPECT_EQ(Run({"verify", "s"}).code, 3);
}

// Sound, but of version 9.
TEST_F(ForeignTest, NewerVersionsAreNoDamage) {
  std::string log = files_.FileBytes("s/000003.log");
  lsm::StoreLogHeader(log.data(), {.version = 9, .kind = lsm::LogKind::kWriteAhead, .file_id = 1});
  files_.SetFileBytes("s/000003.log", log);
  std::string current = files_.FileBytes("s/CURRENT");
  lsm::StoreFixed32(current.data() + 8, 9);
  lsm::StoreFixed64(current.data() + 32,
                    lsm::Checksum(std::string_view(current).substr(0, 32), 0, 0));
  files_.SetFileBytes("s/CURRENT", current);
  std::string table = files_.FileBytes("s/000002.table");
  const size_t footer = table.size() - lsm::kFooterBytes;
  lsm::StoreFixed32(table.data() + footer + 80, 9);
  lsm::StoreFixed64(table.data() + footer + 96,
                    lsm::Checksum(std::string_view(table).substr(footer, 96),
                                  lsm::LoadFixed64(table.data() + footer + 48), footer));
  files_.SetFileBytes("s/000002.table", table);
  for (const std::string path : {"s/CURRENT", "s/000002.table", "s/000003.log"}) {
    const RunResult result = Run({"verify", path});
    EXPECT_EQ(result.code, 3) << result.out;
    EXPECT_THAT(result.out, AllOf(HasSubstr("version 9"), HasSubstr(path + ": not checked, a"),
                                  Not(HasSubstr("DAMAGED"))));
    const json document = json::parse(Run({"verify", "--json", path}).out);
    EXPECT_EQ(document["results"][0]["files"][0]["state"], "unreadable");
    EXPECT_EQ(document["results"][0]["files"][0]["sound"], false);
  }
  EXPECT_THAT(Run({"verify", "s"}).out, Not(HasSubstr("DAMAGED")));
}

}  // namespace
}  // namespace tools
