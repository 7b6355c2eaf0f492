// The output of sstdump on a terminal: colours, widths, and no control characters from files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "lsm/table/properties.h"
#include "lsm/version/version_edit.h"
#include "tests/tools/commands_fixture.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/wrap.h"

namespace tools {
namespace {

using testing::HasSubstr;
using testing::Not;

class TerminalTest : public testing::Test {
 protected:
  TerminalTest() { MakeSampleStore(files_, "s"); }

  RunResult Run(const std::vector<std::string>& arguments, const Terminal& terminal = {}) {
    return tools::Run(files_, arguments, terminal);
  }

  lsm::MemoryFileSystem files_;
};

// The table with other properties, under right checksums.
std::string WithProperties(const std::string& table, const lsm::TableProperties& properties) {
  lsm::Footer footer =
      lsm::Footer::Decode(std::string_view(table).substr(table.size() - lsm::kFooterBytes),
                          table.size(), "")
          .value();
  std::string bytes = table.substr(0, footer.properties.offset);
  const std::string block = properties.Encode() + '\0';  // not compressed
  footer.properties.stored_bytes = block.size() - 1;
  bytes += block;
  lsm::AppendFixed64(&bytes, lsm::Checksum(block, footer.file_id, footer.properties.offset));
  footer.file_bytes = bytes.size() + lsm::kFooterBytes;
  return bytes + footer.Encode();
}

// A store in which everything is as long as possible: the path, keys, numbers and counts.  Some of
// it is damaged.
class WideStoreTest : public TerminalTest {
 protected:
  WideStoreTest() {
    auto directory = files_.OpenDirectory(store_, true).value();
    const std::string key = std::string(60, 'k') + " " + std::string(300, '\x01');
    const uint64_t sequence = lsm::kSequenceMax - 1000;
    std::vector<SampleEntry> entries;
    for (uint64_t i = 0; i < 40; ++i) {
      const std::string suffix(1, static_cast<char>('a' + i));
      entries.push_back({key + suffix, sequence + i, i % 7 == 3, std::string(500, '\xff')});
    }
    lsm::VersionEdit snapshot;
    snapshot.next_file_number = kNumber + 10;
    snapshot.last_sequence = sequence + 50;
    snapshot.oldest_log = kNumber + 5;
    snapshot.synced_logs = {kNumber + 5, kNumber + 6};
    for (uint64_t i = 0; i < 3; ++i) {
      const int level = static_cast<int>(2 * i);
      lsm::TableMeta table =
          MakeTable(*directory, {.number = kNumber + i, .level = level}, entries);
      table.file_bytes = uint64_t{1023} << 50;
      table.entries = 1'234'567'890'123'456'789;
      snapshot.added.push_back({level, table});
    }
    MakeManifest(*directory, snapshot);
    MakeLog(*directory, kNumber + 5, {{{key, sequence + 51, false, std::string(500, 'v')}}},
            LogState::kOpen);
    ForgeTable(kNumber);
    std::string damaged = files_.FileBytes(Path(kNumber + 2));
    damaged[2000] ^= 1;
    files_.SetFileBytes(Path(kNumber + 2), damaged);
    for (uint64_t i = 0; i < 200; ++i)
      files_.SetFileBytes(store_ + "/" + lsm::TableFileName(1000 + i), "");
    files_.SetFileBytes(store_ + "/" + std::string(120, 'n'), "stranger");
  }

  std::string Path(uint64_t number) const { return store_ + "/" + lsm::TableFileName(number); }

  void ForgeTable(uint64_t number) {
    lsm::TableProperties properties;
    const uint64_t most = 1'234'567'890'123'456'789;
    properties.entries = properties.deletions = properties.distinct_keys = most;
    properties.smallest_key.assign(400, '\x01');
    properties.largest_key.assign(400, '\x02');
    properties.smallest_sequence = properties.largest_sequence = lsm::kSequenceMax;
    properties.raw_key_bytes = properties.raw_value_bytes = properties.data_bytes = most;
    properties.uncompressed_data_bytes = properties.data_blocks = properties.index_bytes = most;
    properties.filter_bytes = properties.block_bytes = properties.restart_interval = most;
    properties.filter_kind.assign(200, 'f');
    properties.compression.assign(200, '\x03');
    properties.created_by.assign(200, 'c');
    properties.created_micros = UINT64_MAX;
    properties.digest_seed = kSampleSeed;
    properties.others[std::string(200, 'o')] = "unknown";
    files_.SetFileBytes(Path(number), WithProperties(files_.FileBytes(Path(number)), properties));
  }

  static constexpr uint64_t kNumber = 1'234'567'890'123'456;
  const std::string store_ = "directory with blanks/" + std::string(150, 'd');
};

TEST_F(WideStoreTest, EveryLineOfEveryCommandFits) {
  const std::string table = Path(kNumber), sound = Path(kNumber + 1);
  const std::string log = store_ + "/" + lsm::LogFileName(kNumber + 5);
  const std::string key = std::string(60, 'k') + " " + std::string(300, 'k');
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"info", store_},
           {"info", table, sound, log, store_ + "/CURRENT", store_ + "/000001.manifest"},
           {"properties", table, sound},
           {"blocks", table, sound},
           {"blocks", store_},
           {"filter", "--probes", "100000", table},
           {"filter", "--probes", "0", sound},
           {"scan", sound},
           {"dump", "s"},
           {"scan", "--keys-only", "--hex", store_},
           {"get", store_, key},
           {"get", "--hex", store_, "6b6b"},
           {"verify", store_},
           {"verify", table, sound, log},
           {"wal", store_},
           {"manifest", store_},
           {"levels", "--tables", store_},
           {"explain", store_, key},
           {"explain", "--hex", store_, "6b6b"}}) {
    for (const size_t columns : {size_t{20}, size_t{60}, size_t{80}, size_t{132}}) {
      for (const bool has_utf8 : {true, false}) {
        const RunResult result = Run(arguments, {.is_terminal = true,
                                                 .columns = columns,
                                                 .allows_color = columns != 60,
                                                 .has_utf8 = has_utf8});
        EXPECT_NE(result.out, "") << arguments[0] << result.err;
        for (const std::string& line : Lines(result.out)) {
          EXPECT_LE(LineColumnsOf(line), columns) << arguments[0] << ": " << line;
        }
      }
    }
  }
}

TEST_F(WideStoreTest, HelpFits) {
  std::vector<std::string> commands = {""};
  for (const Command& command : Commands()) commands.push_back(command.name);
  for (const std::string& command : commands) {
    for (const size_t columns : {size_t{60}, size_t{80}}) {
      std::vector<std::string> arguments = {"--help"};
      if (!command.empty()) arguments.insert(arguments.begin(), command);
      for (const std::string& line :
           Lines(Run(arguments, {.is_terminal = true, .columns = columns}).out))
        EXPECT_LE(LineColumnsOf(line), columns) << command << ": " << line;
      for (const std::string& line : Lines(Run(arguments).out))
        EXPECT_LE(LineColumnsOf(line), 80u) << command << ": " << line;
    }
  }
}

TEST_F(WideStoreTest, CutTablesNameTheirOmissions) {
  const Terminal narrow{.is_terminal = true, .columns = 60, .allows_color = false};
  EXPECT_THAT(Run({"levels", store_}, narrow).out,
              HasSubstr("  no room for oldest, freeable, target, tombstones"));
  const Terminal wide{.is_terminal = true, .columns = 132, .allows_color = false};
  EXPECT_THAT(Run({"levels", "s"}, wide).out, Not(HasSubstr("no room")));
}

// Bits per key are more informative than the target.
TEST_F(TerminalTest, LevelsKeepBitsPerKeyOnEightyColumns) {
  const std::string out = Run({"levels", "s"}, {.is_terminal = true, .columns = 80}).out;
  EXPECT_THAT(out, testing::AllOf(HasSubstr("b/key"), Not(HasSubstr("0.01000"))));
  const std::string narrow = Run({"levels", "s"}, {.is_terminal = true, .columns = 76}).out;
  EXPECT_THAT(narrow, testing::AllOf(HasSubstr("b/key"),
                                     HasSubstr("no room for oldest, freeable, target,")));
}

TEST_F(WideStoreTest, InfoWithManyUnusedFilesFitsOneScreen) {
  const RunResult result = Run({"info", store_});
  EXPECT_LE(Lines(result.out).size(), 10u);
  EXPECT_THAT(result.out, HasSubstr(" and 192 more"));
}

TEST_F(TerminalTest, LinesFitTerminalsAndAreWholeInPipes) {
  for (const size_t columns : {size_t{60}, size_t{80}}) {
    const Terminal terminal{.is_terminal = true, .columns = columns, .allows_color = false};
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"info", "s"},
                                               {"info", "s/000005.table"},
                                               {"info", "s/000007.log"},
                                               {"properties", "s"},
                                               {"blocks", "s/000002.table"},
                                               {"filter", "--probes", "1000", "s"},
                                               {"scan", "s/000005.table"},
                                               {"dump", "s"},
                                               {"get", "s/000005.table", "\\xc3\\xa4\\xff"},
                                               {"wal", "s"},
                                               {"manifest", "s"},
                                               {"levels", "--tables", "s"},
                                               {"explain", "s", "key000003"},
                                               {"verify", "s"}}) {
      for (const std::string& line : Lines(Run(arguments, terminal).out)) {
        EXPECT_LE(LineColumnsOf(line), columns) << arguments[0] << ": " << line;
      }
    }
  }
  EXPECT_THAT(Run({"scan", "s/000005.table"}).out, HasSubstr(std::string(300, 'v')));
}

// A cut must not split an escape, because the rest would look like another key.
TEST_F(TerminalTest, CutsKeysBetweenEscapes) {
  auto directory = files_.OpenDirectory("e", true).value();
  MakeTable(*directory, {}, {{std::string(200, '\\'), 1, false, ""}});
  for (size_t columns = 40; columns < 60; ++columns) {
    const std::string out =
        Run({"scan", "e/000001.table"}, {.is_terminal = true, .columns = columns}).out;
    const size_t cut = out.find("…");
    ASSERT_NE(cut, out.npos);
    EXPECT_EQ(cut % 2, 0u) << out;
  }
}

// Printable characters are shown if the terminal supports them.  A pipe gets escapes, which any
// program can read.
TEST_F(TerminalTest, ShowsKeysAsCharacters) {
  auto directory = files_.OpenDirectory("u", true).value();
  MakeTable(*directory, {},
            {{"d\xc3\xa9"
              "colletage",
              1, false, "\xff\xe2\x82\xac"},
             {"e\xcc\x81\xe2\x80\xae", 2, false, ""}});
  const Terminal terminal{.is_terminal = true, .columns = 80, .allows_color = false};
  const std::string escaped =
      "d\\xc3\\xa9"
      "colletage\t1\tput\t\\xff\\xe2\\x82\\xac\n"
      "e\\xcc\\x81\\xe2\\x80\\xae\t2\tput\t\n";
  EXPECT_EQ(Run({"scan", "u/000001.table"}, terminal).out,
            "décolletage\t1\tput\t\\xff€\ne\\xcc\\x81\\xe2\\x80\\xae\t2\tput\t\n");
  EXPECT_EQ(Run({"scan", "u/000001.table"}).out, escaped);
  Terminal ascii = terminal;
  ascii.has_utf8 = false;
  EXPECT_EQ(Run({"scan", "u/000001.table"}, ascii).out, escaped);
  EXPECT_THAT(Run({"properties", "u/000001.table"}, terminal).out, HasSubstr("décolletage"));
  EXPECT_THAT(Run({"scan", "--json", "u/000001.table"}, terminal).out,
              HasSubstr("d\\\\xc3\\\\xa9"));
  EXPECT_EQ(Run({"get", "--raw", "u/000001.table", "décolletage"}).out, "\xff\xe2\x82\xac");
}

// A wide character takes two columns and is not split.
TEST_F(TerminalTest, WideCharactersFit) {
  auto directory = files_.OpenDirectory("w", true).value();
  std::string wide;
  for (int i = 0; i < 60; ++i) wide += "键";
  MakeTable(*directory, {}, {{wide, 1, false, wide}, {wide + "2", 2, false, "x" + wide}});
  for (size_t columns = 40; columns < 90; ++columns) {
    const Terminal terminal{.is_terminal = true, .columns = columns, .allows_color = false};
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"scan", "w/000001.table"},
                                               {"info", "w/000001.table"},
                                               {"properties", "w/000001.table"},
                                               {"blocks", "w/000001.table"},
                                               {"get", "w/000001.table", wide}}) {
      for (const std::string& line : Lines(Run(arguments, terminal).out)) {
        EXPECT_LE(ColumnsShown(line), columns) << arguments[0] << ": " << line;
        EXPECT_EQ(line.find("\\x"), line.npos) << line;
      }
    }
  }
}

TEST_F(TerminalTest, DoesNotCutRawBytes) {
  const Terminal narrow{.is_terminal = true, .columns = 60};
  EXPECT_EQ(Run({"get", "--raw", "s", "\\xc3\\xa4\\xff"}, narrow).out, std::string(300, 'v'));
  EXPECT_THAT(Run({"scan", "--raw", "s/000005.table"}, narrow).out,
              HasSubstr(std::string(300, 'v')));
}

TEST_F(TerminalTest, UsesColourOnlyOnRequest) {
  const auto has_color = [](const RunResult& result) {
    return result.out.find('\x1b') != std::string::npos;
  };
  const Terminal terminal{.is_terminal = true};
  EXPECT_FALSE(has_color(Run({"verify", "s"})));
  EXPECT_TRUE(has_color(Run({"verify", "s"}, terminal)));
  EXPECT_FALSE(has_color(Run({"verify", "--color", "never", "s"}, terminal)));
  EXPECT_TRUE(has_color(Run({"verify", "--color=always", "s"})));
  EXPECT_FALSE(has_color(Run({"verify", "s"}, {.is_terminal = true, .allows_color = false})));
}

TEST_F(TerminalTest, DrawsAsciiBarsWithoutUtf8) {
  const RunResult result = Run({"filter", "s/000002.table"}, {.has_utf8 = false});
  for (const char c : result.out) ASSERT_GT(c, 0);
  EXPECT_THAT(result.out, HasSubstr("####"));
}

// Keys, values, names and messages may hold any bytes.  No control character among them may reach a
// terminal.
TEST_F(TerminalTest, NoControlByteReachesTheOutput) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"info", "s/000005.table"},
                                             {"properties", "s"},
                                             {"blocks", "s"},
                                             {"scan", "s"},
                                             {"dump", "s"},
                                             {"get", "s", "\\x00\\x01\\x1b[31m"},
                                             {"wal", "s"},
                                             {"manifest", "s"},
                                             {"levels", "--tables", "s"},
                                             {"explain", "s", "new\\x7f"},
                                             {"verify", "s"},
                                             {"info", "\x1b[31m\x07"},
                                             {"\x1b[31m", "s"},
                                             {"info", "--\x1b", "s"}}) {
    const RunResult result = Run(arguments);
    for (const char c : result.out + result.err) {
      ASSERT_TRUE(c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f))
          << arguments[0] << ": byte " << static_cast<int>(c);
    }
  }
}

// A path is escaped like a key, on the standard output and in messages.
TEST_F(TerminalTest, NoByteOfAPathReachesTheOutput) {
  const std::string odd = "odd\n\x1b[31m\x9b\xff\\";
  MakeSampleStore(files_, odd);
  std::string table = files_.FileBytes(odd + "/000003.table");
  table[700] = static_cast<char>(table[700] ^ 0x10);
  files_.SetFileBytes(odd + "/000003.table", table);
  files_.SetFileBytes(odd + "/stranger's\x1b[0m", "");
  files_.SetFileBytes(odd + "/text", "text");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"info", odd},
                                             {"info", odd + "/000005.table", odd + "/CURRENT"},
                                             {"info", odd + "/text"},
                                             {"info", odd + "/nothing"},
                                             {"properties", odd},
                                             {"blocks", odd},
                                             {"filter", "--probes", "1000", odd},
                                             {"scan", odd},
                                             {"get", odd, "key000009"},
                                             {"wal", odd},
                                             {"wal", odd + "/000005.table"},
                                             {"manifest", odd},
                                             {"levels", "--tables", odd},
                                             {"explain", odd, "key000009"},
                                             {"verify", odd},
                                             {"verify", odd + "/000003.table"}}) {
    const RunResult result = Run(arguments);
    const std::string all = result.out + result.err;
    EXPECT_THAT(all, HasSubstr("odd\\x0a\\x1b[31m\\x9b\\xff\\\\")) << arguments[0];
    for (const char c : all) {
      // Bars and the mark of a cut are the only characters outside of ASCII.
      const bool is_drawn = (c & 0x80) != 0 && c != '\x9b' && c != '\xff';
      ASSERT_TRUE(c == '\n' || c == '\t' || is_drawn || (c >= 0x20 && c != 0x7f))
          << arguments[0] << ": byte " << static_cast<int>(c);
    }
  }
}

}  // namespace
}  // namespace tools
