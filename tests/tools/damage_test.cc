// For any bytes in a file, sstdump names the damage and exits normally.  `verify` finds every
// flipped bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/version_edit.h"
#include "tests/lsm/store/store_forger.h"
#include "tests/support/dice.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/command_line.h"
#include "tools/sstdump/run.h"
#include "tools/sstdump/world.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_support::Dice;

std::string Flipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

// All commands, with few probes, because they run often.
std::vector<std::vector<std::string>> AllCommands(const std::string& path) {
  std::vector<std::vector<std::string>> all = CommandsOn(path);
  for (std::vector<std::string>& arguments : all) {
    if (FindCommand(arguments[0])->arguments.probes)
      arguments.insert(arguments.end(), {"--probes", "50"});
  }
  return all;
}

class DamageTest : public testing::Test {
 protected:
  DamageTest() { MakeTinyStore(files_, "s"); }

  // Parsing the arguments is most of a command's cost, so equal arguments are parsed only once.
  RunResult Run(const std::vector<std::string>& arguments) {
    return RunIn(files_, {}, [&](const World& world) {
      auto entry = parsed_.find(arguments);
      if (entry == parsed_.end())
        entry = parsed_.emplace(arguments, ParseCommandLine(arguments, world)).first;
      const ParsedCommandLine& parsed = entry->second;
      return parsed.request ? RunRequest(*parsed.request, world) : parsed.exit_code;
    });
  }

  // Runs every command on the path, as text and as JSON.  Each must end with an exit code and print
  // a valid document.
  void RunAll(const std::string& path, const std::string& what) {
    for (std::vector<std::string> arguments : AllCommands(path)) {
      const int code = Run(arguments).code;
      EXPECT_THAT(code, AnyOf(0, 1, 2, 3)) << what;
      arguments.insert(arguments.begin(), "--json");
      const RunResult result = Run(arguments);
      EXPECT_EQ(result.code, code) << arguments[1] << " of " << what;
      const json document = ParseOutput(result.out);
      ASSERT_TRUE(document.is_object()) << arguments[1] << " of " << what << ": " << result.out;
      EXPECT_EQ(document["exit_code"], code);
    }
  }

  lsm::MemoryFileSystem files_;

 private:
  std::map<std::vector<std::string>, ParsedCommandLine> parsed_;
};

TEST_F(DamageTest, VerifyFindsEveryFlippedBitOfEveryFile) {
  for (const std::string name : {"000002.table", "000003.log", "000001.manifest", "CURRENT"}) {
    const std::string path = "s/" + name;
    const std::string whole = files_.FileBytes(path);
    ASSERT_EQ(Run({"verify", path}).code, 0);
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      files_.SetFileBytes(path, Flipped(whole, bit));
      const RunResult result = Run({"verify", path});
      ASSERT_EQ(result.code, 1) << "bit " << bit << " of " << name << ": " << result.out;
      ASSERT_THAT(result.out, HasSubstr(path)) << "bit " << bit;
      ASSERT_THAT(result.out, HasSubstr("DAMAGED")) << "bit " << bit;
      std::set<std::string> lines;
      std::istringstream stream(result.out);
      for (std::string line; std::getline(stream, line);)
        ASSERT_TRUE(lines.insert(line).second) << "bit " << bit << " is told twice: " << line;
    }
    files_.SetFileBytes(path, whole);
  }
}

// The footer also identifies the file of the blocks.
TEST_F(DamageTest, DamagedHeadersLeaveBlocksReadable) {
  const std::string path = "s/000002.table";
  const std::string whole = files_.FileBytes(path);
  constexpr size_t kHeaderBit = 8 * 10;
  constexpr size_t kBlockBit = 8 * (lsm::kTableHeaderBytes + 2);
  const auto offsets = [&] {
    std::vector<uint64_t> found;
    const json document = json::parse(Run({"verify", "--json", path}).out);
    for (const json& problem : document["results"][0]["problems"])
      found.push_back(problem["offset"]);
    return found;
  };
  files_.SetFileBytes(path, Flipped(whole, kHeaderBit));
  EXPECT_THAT(offsets(), ElementsAre(0));
  files_.SetFileBytes(path, Flipped(Flipped(whole, kHeaderBit), kBlockBit));
  EXPECT_THAT(offsets(), ElementsAre(0, lsm::kTableHeaderBytes));
}

TEST_F(DamageTest, VerifyNamesDamagedFiles) {
  for (const std::string name : {"000002.table", "000003.log", "000001.manifest", "CURRENT"}) {
    const std::string path = "s/" + name;
    const std::string whole = files_.FileBytes(path);
    for (size_t bit = 0; bit < 8 * whole.size(); bit += 5) {
      files_.SetFileBytes(path, Flipped(whole, bit));
      const RunResult result = Run({"verify", "--json", "s"});
      ASSERT_EQ(result.code, 1) << "bit " << bit << " of " << name << ": " << result.out;
      bool is_named = false;
      const json document = json::parse(result.out);
      for (const json& problem : document["results"][0]["problems"])
        is_named |= problem["file"] == path;
      ASSERT_TRUE(is_named) << "bit " << bit << " of " << name << ": " << result.out;
    }
    files_.SetFileBytes(path, whole);
  }
}

// Without a readable manifest, each file is checked by itself.  The unreadable manifest is then not
// a second problem.
TEST_F(DamageTest, VerifyReportsDamagedManifestsOnce) {
  const std::string path = "s/000001.manifest";
  const std::string whole = files_.FileBytes(path);
  for (size_t bit = 0; bit < 8 * whole.size(); bit += 3) {
    files_.SetFileBytes(path, Flipped(whole, bit));
    const json alone = json::parse(Run({"verify", "--json", path}).out)["results"][0];
    const json in_store = json::parse(Run({"verify", "--json", "s"}).out)["results"][0];
    ASSERT_FALSE(alone["problems"].empty()) << "bit " << bit;
    ASSERT_EQ(in_store["problems"], alone["problems"]) << "bit " << bit;
    const std::string text = Run({"verify", "s"}).out;
    const size_t count = alone["problems"].size();
    ASSERT_THAT(text,
                HasSubstr(lsm::Concat("s: ", count, count == 1 ? " problem\n" : " problems\n")))
        << "bit " << bit;
    std::set<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
      ASSERT_TRUE(lines.insert(line).second) << "bit " << bit << " is told twice: " << line;
  }
  files_.SetFileBytes(path, whole);
}

TEST_F(DamageTest, VerifyFindsMissingFiles) {
  for (const std::string name : {"000002.table", "000003.log", "000001.manifest", "CURRENT"}) {
    lsm::MemoryFileSystem files;
    MakeTinyStore(files, "s");
    ASSERT_TRUE(files.OpenDirectory("s", false).value()->Remove(name).ok());
    const RunResult result = tools::Run(files, {"verify", "s"});
    EXPECT_EQ(result.code, 1) << name << result.out;
    EXPECT_THAT(result.out, HasSubstr(name));
  }
}

// This holds only for tables: a log or manifest that was cut between two records looks like an
// unclosed one, and only a check of the whole store detects it.
TEST_F(DamageTest, FindsEveryTruncationOfATable) {
  const std::string whole = files_.FileBytes("s/000002.table");
  for (size_t length = 0; length < whole.size(); ++length) {
    files_.SetFileBytes("s/000002.table", whole.substr(0, length));
    EXPECT_EQ(Run({"verify", "s/000002.table"}).code, 1) << length;
    EXPECT_EQ(Run({"verify", "s"}).code, 1) << length;
  }
}

TEST_F(DamageTest, NoTruncatedFileIsAccepted) {
  for (const std::string name : {"000003.log", "000001.manifest", "CURRENT"}) {
    const std::string path = "s/" + name;
    const std::string whole = files_.FileBytes(path);
    const std::string sound = Run({"verify", path}).out;
    for (size_t length = 0; length < whole.size(); ++length) {
      files_.SetFileBytes(path, whole.substr(0, length));
      EXPECT_NE(Run({"verify", path}).out, sound) << name << " " << length;
    }
    files_.SetFileBytes(path, whole);
  }
}

// Wrong contents under right checksums, as a forger or a bug of a writer would leave.
class ForgedTableTest : public DamageTest {
 protected:
  ForgedTableTest() : table_(files_.FileBytes(kPath)) {
    footer_ =
        lsm::Footer::Decode(std::string_view(table_).substr(table_.size() - lsm::kFooterBytes),
                            table_.size(), kPath)
            .value();
  }

  void FixBlock(std::string* bytes, lsm::BlockHandle handle) const {
    const size_t checked = handle.stored_bytes + 1;
    lsm::StoreFixed64(bytes->data() + handle.offset + checked,
                      lsm::Checksum(std::string_view(*bytes).substr(handle.offset, checked),
                                    footer_.file_id, handle.offset));
  }
  void FixFooter(std::string* bytes) const {
    const size_t offset = bytes->size() - lsm::kFooterBytes;
    const uint64_t file_id = lsm::LoadFixed64(bytes->data() + offset + 48);
    lsm::StoreFixed64(bytes->data() + offset + 96,
                      lsm::Checksum(std::string_view(*bytes).substr(offset, 96), file_id, offset));
  }
  // The table's data blocks.  The tiny store has one for each entry.
  std::vector<lsm::BlockHandle> DataBlocks() {
    std::vector<lsm::BlockHandle> blocks;
    const json document = json::parse(Run({"blocks", "--json", kPath}).out);
    for (const json& block : document["results"][0]["blocks"])
      blocks.push_back({block["offset"], block["stored_bytes"]});
    return blocks;
  }

  static constexpr const char* kPath = "s/000002.table";
  const std::string table_;
  lsm::Footer footer_;
};

TEST_F(ForgedTableTest, NoBytesInSoundBlocksCrashAnyCommand) {
  const uint64_t seed = 1729;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  std::vector<lsm::BlockHandle> blocks = DataBlocks();
  ASSERT_EQ(blocks.size(), 3u);
  blocks.insert(blocks.end(), {footer_.filter, footer_.index, footer_.properties});
  for (int round = 0; round < 400; ++round) {
    std::string bytes = table_;
    const lsm::BlockHandle block = blocks[dice.Roll(blocks.size())];
    for (uint64_t changes = 1 + dice.Roll(3); changes > 0; --changes) {
      // The byte after the block is its compression.
      bytes[block.offset + dice.Roll(block.stored_bytes + 1)] =
          static_cast<char>(dice.OneIn(3) ? 0xff : dice.Next());
    }
    FixBlock(&bytes, block);
    files_.SetFileBytes(kPath, bytes);
    RunAll(kPath, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

TEST_F(ForgedTableTest, NoFooterCrashesAnyCommand) {
  const uint64_t seed = 1730;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = table_;
    const size_t field = bytes.size() - lsm::kFooterBytes + 8 * dice.Roll(12);
    const uint64_t choices[] = {0,
                                1,
                                dice.Next(),
                                dice.Roll(4096),
                                UINT64_MAX,
                                UINT64_MAX - dice.Roll(200),
                                uint64_t{1} << 63};
    lsm::StoreFixed64(bytes.data() + field, choices[dice.Roll(std::size(choices))]);
    FixFooter(&bytes);
    files_.SetFileBytes(kPath, bytes);
    RunAll(kPath, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

// Checks beyond checksums: errors of the writer would pass all checksums.
TEST_F(ForgedTableTest, VerifyFindsForgedContents) {
  const auto problems_after = [this](const std::function<void(std::string*)>& forge) {
    std::string bytes = table_;
    forge(&bytes);
    files_.SetFileBytes(kPath, bytes);
    const RunResult result = Run({"verify", kPath});
    EXPECT_EQ(result.code, 1) << result.out;
    return result.out;
  };
  const std::vector<lsm::BlockHandle> blocks = DataBlocks();
  // An entry is: shared bytes (0), key bytes (9), value bytes, key, value.
  const auto set_key = [&](size_t block, char key) {
    return [&, block, key](std::string* bytes) {
      (*bytes)[blocks[block].offset + 3] = key;
      FixBlock(bytes, blocks[block]);
    };
  };
  EXPECT_THAT(problems_after(set_key(1, 'a')), HasSubstr("is not after the one before it"));
  EXPECT_THAT(problems_after(set_key(1, '0')), HasSubstr("before the block's place in the index"));
  EXPECT_THAT(problems_after(set_key(0, 'b')), HasSubstr("after the block's place in the index"));
  EXPECT_THAT(problems_after(set_key(2, 'x')), HasSubstr("largest_key"));
  EXPECT_THAT(problems_after(set_key(2, 'x')), HasSubstr("the filter denies the key \"x\""));
  EXPECT_THAT(problems_after([&](std::string* bytes) {
                (*bytes)[blocks[1].offset + 4] ^= 1;  // a deletion becomes a put
                FixBlock(bytes, blocks[1]);
              }),
              HasSubstr("deletions"));
  EXPECT_THAT(problems_after([&](std::string* bytes) {
                lsm::StoreFixed64(bytes->data() + bytes->size() - lsm::kFooterBytes + 72, 7);
                FixFooter(bytes);
              }),
              HasSubstr("the footer says 7 entries"));
}

// A property that a writer leaves out is not damage; nothing can be verified against it.
TEST_F(ForgedTableTest, NotesMissingProperties) {
  std::string properties =
      table_.substr(footer_.properties.offset, footer_.properties.stored_bytes);
  const std::string entries("\7entries\1\3", 10);
  ASSERT_NE(properties.find(entries), properties.npos);
  properties.erase(properties.find(entries), entries.size());
  const std::string smallest_key("\14smallest_key\3\1a", 16);
  ASSERT_NE(properties.find(smallest_key), properties.npos);
  properties.erase(properties.find(smallest_key), smallest_key.size());
  std::string bytes = table_.substr(0, footer_.properties.offset) + properties;
  bytes.append(1 + sizeof(uint64_t), '\0');  // not compressed
  lsm::Footer footer = footer_;
  footer.properties.stored_bytes = properties.size();
  footer.file_bytes = bytes.size() + lsm::kFooterBytes;
  FixBlock(&bytes, footer.properties);
  files_.SetFileBytes(kPath, bytes + footer.Encode());
  const RunResult verified = Run({"verify", kPath});
  EXPECT_EQ(verified.code, 0) << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("note: s/000002.table: the properties do not state entries, "
                                      "smallest_key\n"));
  EXPECT_THAT(Run({"properties", kPath}).out, Not(HasSubstr("entries")));
}

// No lookup finds a key that the filter denies, which is the worst error of a table.
TEST_F(ForgedTableTest, FalseNegativesAreDamage) {
  const std::vector<lsm::BlockHandle> blocks = DataBlocks();
  std::string bytes = table_;
  bytes[blocks[0].offset + 3] = '0';  // still within the block's place in the index
  FixBlock(&bytes, blocks[0]);
  files_.SetFileBytes(kPath, bytes);
  EXPECT_THAT(Run({"get", kPath, "0"}).err,
              HasSubstr("the filter denies a key that the table holds"));
  EXPECT_EQ(Run({"get", kPath, "0"}).code, 1);
  EXPECT_EQ(Run({"get", kPath, "c"}).code, 0);
  EXPECT_EQ(Run({"filter", kPath}).code, 1);
  const json filter = json::parse(Run({"filter", "--json", kPath}).out);
  EXPECT_EQ(filter["results"][0]["measured"]["false_negatives"], 1);
  EXPECT_EQ(Run({"verify", kPath}).code, 1);
}

// A damaged block may or may not hold the key.
TEST_F(ForgedTableTest, GetDoesNotCallKeysOfDamagedBlocksAbsent) {
  const std::vector<lsm::BlockHandle> blocks = DataBlocks();
  std::string bytes = table_;
  bytes[blocks[2].offset] ^= 1;
  files_.SetFileBytes(kPath, bytes);
  const RunResult table = Run({"get", kPath, "c"});
  EXPECT_EQ(table.code, 1);
  EXPECT_THAT(table.out, HasSubstr("answer  unknown"));
  EXPECT_THAT(table.out, Not(AnyOf(HasSubstr("absent"), HasSubstr("false positive"))));
  EXPECT_EQ(json::parse(Run({"get", "--json", kPath, "c"}).out)["results"][0]["answer"], "unknown");
  EXPECT_EQ(Run({"get", "--raw", kPath, "c"}).out, "");
  EXPECT_EQ(Run({"get", "--raw", kPath, "c"}).code, 1);
  EXPECT_THAT(Run({"get", kPath, "a"}).out, HasSubstr("answer  put"));
}

TEST_F(DamageTest, GetDoesNotAnswerFromDamagedLogs) {
  auto directory = files_.OpenDirectory("l", true).value();
  MakeLog(*directory, 1, {{{"a", 1, false, "old"}}, {{"b", 2, false, "other"}}}, LogState::kClosed);
  std::string bytes = files_.FileBytes("l/000001.log");
  bytes[bytes.find("other")] ^= 1;
  files_.SetFileBytes("l/000001.log", bytes);
  const RunResult text = Run({"get", "l/000001.log", "a"});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("answer  unknown"), HasSubstr("found   put at sequence 1"),
                              Not(HasSubstr("answer  put"))));
  EXPECT_THAT(Run({"get", "l/000001.log", "b"}).out, Not(HasSubstr("absent")));
  EXPECT_EQ(Run({"get", "--raw", "l/000001.log", "a"}).out, "");
  const json document = json::parse(Run({"get", "--json", "l/000001.log", "a"}).out);
  EXPECT_EQ(document["results"][0]["answer"], "unknown");
  EXPECT_FALSE(document["results"][0].contains("value"));
  EXPECT_EQ(document["results"][0]["versions"].size(), 1u);
}

TEST_F(DamageTest, NotesUnknownFilterKinds) {
  std::string bytes = files_.FileBytes("s/000002.table");
  const lsm::Footer footer =
      lsm::Footer::Decode(std::string_view(bytes).substr(bytes.size() - lsm::kFooterBytes),
                          bytes.size(), "")
          .value();
  // Kind 77, in the sound frames of filter and block.
  std::string filter = bytes.substr(footer.filter.offset, footer.filter.stored_bytes);
  filter[8] = 77;
  lsm::StoreFixed64(filter.data() + 56, bloom::ChecksumOf(std::string_view(filter).substr(0, 56),
                                                          std::string_view(filter).substr(64)));
  bytes.replace(footer.filter.offset, filter.size(), filter);
  const size_t checked = footer.filter.stored_bytes + 1;
  lsm::StoreFixed64(bytes.data() + footer.filter.offset + checked,
                    lsm::Checksum(std::string_view(bytes).substr(footer.filter.offset, checked),
                                  footer.file_id, footer.filter.offset));
  files_.SetFileBytes("s/000002.table", bytes);
  const RunResult filter_result = Run({"filter", "s/000002.table"});
  EXPECT_EQ(filter_result.code, 0);
  EXPECT_THAT(filter_result.out + filter_result.err, HasSubstr("unknown"));
  const RunResult verified = Run({"verify", "s"});
  EXPECT_EQ(verified.code, 0) << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("kind 77"));
}

// --- a store whose files contradict each other ---

TEST_F(DamageTest, VerifyComparesTablesWithTheManifest) {
  auto directory = files_.OpenDirectory("s", false).value();
  const std::vector<SampleEntry> others = {
      {"a", 1, false, "one"}, {"b", 2, true, ""}, {"c", 3, false, "three"}};
  // Another table of the same number and id: other keys, other entries, another seed.
  const auto verify_with = [&](const TableRecipe& recipe, const std::vector<SampleEntry>& entries) {
    EXPECT_TRUE(directory->Remove("000002.table").ok());
    MakeTable(*directory, recipe, entries);
    return Run({"verify", "s"});
  };
  const TableRecipe recipe{.number = 2, .level = 1, .block_bytes = 1};
  EXPECT_EQ(verify_with(recipe, others).code, 0);
  std::vector<SampleEntry> entries = others;
  entries[0].key = "A";
  EXPECT_THAT(verify_with(recipe, entries).out, HasSubstr("smallest key \"a\""));
  entries = others;
  entries[2].sequence = 9;
  EXPECT_THAT(verify_with(recipe, entries).out, HasSubstr("largest key"));
  entries.pop_back();
  EXPECT_THAT(verify_with(recipe, entries).out, HasSubstr("the manifest says size"));
  TableRecipe seeded = recipe;
  seeded.digest_seed = 1;
  const RunResult other_seed = verify_with(seeded, others);
  EXPECT_THAT(other_seed.out, HasSubstr("another seed"));
}

// A table or log that the manifest names must be one.
TEST_F(DamageTest, ForeignFilesInAStoreAreDamage) {
  for (const std::string name : {"000002.table", "000003.log", "000001.manifest", "CURRENT"}) {
    for (const std::string& bytes : {std::string(), std::string(4096, '\0'), std::string(5000, 'x'),
                                     std::string(15, 'x'), std::string(32, 'x')}) {
      lsm::MemoryFileSystem files;
      MakeTinyStore(files, "s");
      files.SetFileBytes("s/" + name, bytes);
      const RunResult result = tools::Run(files, {"verify", "s"});
      EXPECT_EQ(result.code, 1) << name << result.out;
      EXPECT_THAT(result.out, HasSubstr("s/" + name));
    }
  }
}

TEST_F(DamageTest, VerifyFindsHolesBeforeSyncedLogs) {
  lsm::MemoryFileSystem files;
  MakeSampleStore(files, "s");
  auto directory = files.OpenDirectory("s", false).value();
  ASSERT_TRUE(directory->Remove("000008.log").ok());
  MakeLog(*directory, 8, {{{"k", 1020, false, "v"}}}, LogState::kOpen);
  // After the hole nothing is known to be synced, so a crash may have caused it.
  RunResult result = tools::Run(files, {"verify", "s"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("records that follow writes which an earlier log lost"));
  ASSERT_TRUE(directory->Remove("000007.log").ok());
  MakeLog(*directory, 7, {{{"k", 1013, false, "v"}}}, LogState::kClosed);
  result = tools::Run(files, {"verify", "s"});
  EXPECT_EQ(result.code, 1) << result.out;
  EXPECT_THAT(result.out, HasSubstr("000007.log: the log begins with sequence 1013"));
}

TEST_F(DamageTest, VerifyNamesContradictions) {
  const auto verify = [](const std::function<void(lsm::StoreForger*)>& forge) {
    lsm::MemoryFileSystem files;
    MakeSampleStore(files, "s");
    lsm::StoreForger forger(&files, "s");
    forge(&forger);
    const RunResult result = tools::Run(files, {"verify", "s"});
    EXPECT_EQ(result.code, 1) << result.out;
    return result.out;
  };
  EXPECT_THAT(verify([](lsm::StoreForger* forger) {
                forger->ChangeManifest([](lsm::VersionEdit* edit) { edit->last_sequence = 900; });
              }),
              HasSubstr("000004.table: the table holds writes up to sequence 995, the last "
                        "sequence of the manifest is 900"));
  EXPECT_THAT(verify([](lsm::StoreForger* forger) {
                forger->ChangeRecord(3, [](lsm::VersionEdit::Added* added) { added->level = 0; });
              }),
              HasSubstr("000003.table: the manifest says level 0, the table has been made for "
                        "level 1"));
  EXPECT_THAT(verify([](lsm::StoreForger* forger) {
                forger->ChangeSequences(6, [](lsm::Sequence sequence) { return sequence - 1000; });
              }),
              HasSubstr("000006.table: the table begins with sequence 9, but tables with lower "
                        "numbers in level 0 hold newer writes"));
  EXPECT_THAT(verify([](lsm::StoreForger* forger) {
                forger->ChangeProperties(4, [](lsm::TableProperties* properties, lsm::Footer*) {
                  ++properties->raw_key_bytes;
                });
              }),
              HasSubstr("the properties say raw_key_bytes 451, the table has 450"));
}

// The manifest has the size of a closed log.
TEST_F(DamageTest, VerifyFindsTruncatedClosedLogs) {
  auto directory = files_.OpenDirectory("c", true).value();
  MakeLog(*directory, 3, {{{"a", 1, false, "one"}}, {{"b", 2, false, "two"}}}, LogState::kClosed);
  const std::string log = files_.FileBytes("c/000003.log");
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 4;
  snapshot.last_sequence = 0;
  snapshot.oldest_log = 3;
  snapshot.closed_logs[3] = log.size();
  MakeManifest(*directory, snapshot);
  EXPECT_EQ(Run({"verify", "c"}).code, 0) << Run({"verify", "c"}).out;
  EXPECT_EQ(Run({"get", "--raw", "c", "b"}).out, "two");
  EXPECT_THAT(Run({"manifest", "c"}).out,
              HasSubstr("closed log 3 of " + std::to_string(log.size()) + " B"));
  const json document = json::parse(Run({"manifest", "--json", "c"}).out);
  const json closed = {{{"number", 3}, {"file_bytes", log.size()}}};
  EXPECT_EQ(document["results"][0]["edits"][0]["closed_logs"], closed);
  EXPECT_EQ(document["results"][0]["state"]["closed_logs"], closed);

  const json records = ParseOutput(Run({"wal", "--json", "c"}).out)["results"][0]["entries"];
  files_.SetFileBytes("c/000003.log", log.substr(0, records[1]["offset"].get<size_t>()));
  EXPECT_EQ(Run({"verify", "c/000003.log"}).code, 0);  // by itself it looks like one in use
  const RunResult verified = Run({"verify", "c"});
  EXPECT_EQ(verified.code, 1);
  EXPECT_THAT(verified.out, HasSubstr("c/000003.log: DAMAGED"));
  const RunResult raw = Run({"get", "--raw", "c", "a"});
  EXPECT_EQ(raw.out, "");
  EXPECT_EQ(raw.code, 1);
  ASSERT_TRUE(directory->Remove("000003.log").ok());
  EXPECT_EQ(Run({"verify", "c"}).code, 1);
}

TEST_F(DamageTest, FileSystemErrorsAreNoDamage) {
  files_.SetFault([](lsm::FileOperation operation, const std::string& path, uint64_t) {
    const bool fails = operation == lsm::FileOperation::kReadAt && path.ends_with(".table");
    return fails ? absl::UnavailableError(path + ": EIO") : absl::OkStatus();
  });
  for (const std::vector<std::string>& arguments :
       CommandsOn("s/000002.table", Bit(TargetKind::kTable)))
    EXPECT_EQ(Run(arguments).code, 3) << arguments[0];
}

// Each operation on files fails once.  The output must then be the same, or name the failure.
TEST_F(DamageTest, EveryReadMayFail) {
  for (std::vector<std::string> arguments : AllCommands("s")) {
    arguments.insert(arguments.begin(), "--json");
    const std::string right = Run(arguments).out;
    uint64_t named = 0;
    for (uint64_t operation = 0;; ++operation) {
      ASSERT_LT(operation, 1000u);
      bool has_failed = false;
      files_.ResetCounts();
      files_.SetFault([&](lsm::FileOperation, const std::string& path, uint64_t number) {
        if (number != operation) return absl::OkStatus();
        has_failed = true;
        return absl::UnavailableError(path + ": EIO");
      });
      const RunResult result = Run(arguments);
      files_.SetFault(nullptr);
      EXPECT_TRUE(ParseOutput(result.out).is_object());
      if (!has_failed) break;
      if (result.out == right) continue;
      ++named;
      EXPECT_EQ(result.code, 3) << arguments[1] << " " << operation << result.out;
      EXPECT_THAT(result.out, HasSubstr("EIO")) << arguments[1] << " " << operation;
    }
    EXPECT_GT(named, 3u) << arguments[1];
  }
}

TEST_F(DamageTest, AnyBytesGiveAMessage) {
  const uint64_t seed = 31;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  const std::vector<std::string> magics = {"TRLSTBL\n", "TRLSLOG\n", "TRLSCUR\n", "TRLBLOOM", ""};
  for (int round = 0; round < 400; ++round) {
    std::string bytes(dice.Roll(600), '\0');
    if (!dice.OneIn(4)) {
      for (char& byte : bytes) byte = static_cast<char>(dice.Next());
    }
    bytes = magics[dice.Roll(magics.size())] + bytes;
    if (dice.OneIn(2)) bytes += magics[dice.Roll(magics.size())];
    files_.SetFileBytes("any/file", bytes);
    RunAll("any/file", "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

TEST_F(DamageTest, LimitsReportedDamage) {
  auto directory = files_.OpenDirectory("big", true).value();
  MakeTable(*directory, {.number = 1, .block_bytes = 1}, NumberedEntries(400, 1));
  std::string bytes = files_.FileBytes("big/000001.table");
  const json blocks =
      json::parse(Run({"blocks", "--json", "big/000001.table"}).out)["results"][0]["blocks"];
  for (const json& block : blocks) bytes[block["offset"].get<size_t>()] ^= 1;
  files_.SetFileBytes("big/000001.table", bytes);
  const RunResult result = Run({"verify", "--json", "big/000001.table"});
  EXPECT_EQ(result.code, 1);
  const json problems = json::parse(result.out)["results"][0]["problems"];
  EXPECT_EQ(problems.size(), 100u);
  EXPECT_THAT(problems[99]["message"], HasSubstr("further problems of this file are not shown"));
}

}  // namespace
}  // namespace tools
