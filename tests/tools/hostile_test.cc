// Malicious tables under right checksums: misplaced blocks, keys that are too long, small files
// that demand endless work.  The tests do not measure time.  They count what must be bounded:
// reads, memory, keys looked up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "lsm/base/internal_key.h"
#include "lsm/block/block_memory.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/limits.h"
#include "lsm/memory_file_system.h"
#include "lsm/table/table.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/table/table_forgery.h"
#include "tests/lsm/version/missing_files.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/filter_report.h"
#include "tools/sstdump/store/table_file.h"

namespace {

// The memory of the whole program, as the allocator counts.
struct Memory {
  std::atomic<size_t> taken{0};  // since the program began
  std::atomic<size_t> held{0};
  std::atomic<size_t> most_held{0};
} memory;

// Strings that were compared, in the whole program.
std::atomic<size_t> comparisons{0};

void* Counted(void* block) {
  if (block == nullptr) return nullptr;
  const size_t size_bytes = malloc_usable_size(block);
  memory.taken += size_bytes;
  const size_t held = memory.held += size_bytes;
  if (held > memory.most_held) memory.most_held = held;  // tests have one thread
  return block;
}

void Release(void* block) {
  if (block == nullptr) return;
  memory.held -= malloc_usable_size(block);
  std::free(block);
}

}  // namespace

void* operator new(size_t size_bytes, const std::nothrow_t&) noexcept {
  return Counted(std::malloc(std::max<size_t>(size_bytes, 1)));
}
void* operator new(size_t size_bytes) {
  if (void* const block = operator new(size_bytes, std::nothrow)) return block;
  throw std::bad_alloc();
}
void* operator new(size_t size_bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto unit = static_cast<size_t>(alignment);
  // Forces each piece of block memory onto the heap, where it counts.
  if (unit == lsm::BlockMemory::kRegionBytes) return nullptr;
  return Counted(
      std::aligned_alloc(unit, (std::max<size_t>(size_bytes, 1) + unit - 1) / unit * unit));
}
void* operator new(size_t size_bytes, std::align_val_t alignment) {
  if (void* const block = operator new(size_bytes, alignment, std::nothrow)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { Release(block); }
void operator delete(void* block, size_t) noexcept { Release(block); }
void operator delete(void* block, std::align_val_t) noexcept { Release(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { Release(block); }

// The linker's --wrap gives the program these in place of memcmp and bcmp.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
int __real_memcmp(const void* left, const void* right, size_t bytes);
int __wrap_memcmp(const void* left, const void* right, size_t bytes) {
  ++comparisons;
  return __real_memcmp(left, right, bytes);
}
int __wrap_bcmp(const void* left, const void* right, size_t bytes) {
  return __wrap_memcmp(left, right, bytes);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace tools {
namespace {

using lsm::BlockHandle;
using lsm::BlockOf;
using lsm::Entry;
using lsm::Forgery;
using lsm::Key;
using lsm::SoundBlock;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPath = "h/000001.table";
const std::vector<std::string> kWalks = {"blocks", "scan", "filter", "verify"};
constexpr size_t kMiB = size_t{1} << 20;

Forgery::Stored Compressed(const std::string& block) {
  std::string bytes;
  lsm::AppendVarint32(&bytes, static_cast<uint32_t>(block.size()));
  const size_t begin = bytes.size();
  const auto size = static_cast<int>(block.size());
  bytes.resize(begin + static_cast<size_t>(LZ4_compressBound(size)));
  const int stored = LZ4_compress_default(block.data(), bytes.data() + begin, size,
                                          static_cast<int>(bytes.size() - begin));
  EXPECT_GT(stored, 0);
  bytes.resize(begin + static_cast<size_t>(stored));
  return {bytes, 1};
}

// Gives the blocks these keys in the index.
void SetFences(Forgery* forgery, const std::vector<std::string>& fences) {
  uint64_t offset = lsm::kTableHeaderBytes;
  for (size_t i = 0; i < fences.size(); ++i) {
    const BlockHandle handle{offset, forgery->data_blocks[i].bytes.size()};
    forgery->index.emplace_back(fences[i], handle);
    offset += handle.stored_bytes + lsm::kBlockTrailerBytes;
  }
}

std::string FilterOf(const std::vector<std::string>& keys) {
  auto builder = bloom::PolicyFromName("blocked").value()->NewBuilder(
      {.target_fpp = 0.01, .seed = lsm::kFileId});
  for (const std::string& key : keys) builder->Add(bloom::DigestOf(key, lsm::kTestSeed));
  return builder->Finish().value();
}

class HostileTest : public testing::Test {
 protected:
  HostileTest() { EXPECT_TRUE(files_.OpenDirectory("h", true).ok()); }

  RunResult Run(const std::vector<std::string>& arguments) { return tools::Run(files_, arguments); }
  void Store(const Forgery& forgery) { files_.SetFileBytes(kPath, forgery.Make()); }

  struct Cost {
    RunResult result;
    size_t taken_bytes = 0;      // all that was allocated
    size_t most_held_bytes = 0;  // at once
    size_t comparisons = 0;
    size_t reads = 0;
    size_t calls = 0;  // of the file system
  };
  Cost CostOf(const std::vector<std::string>& arguments) {
    Cost cost;
    files_.SetFault([&](lsm::FileOperation operation, const std::string&, uint64_t) {
      if (operation == lsm::FileOperation::kReadAt) ++cost.reads;
      ++cost.calls;
      return absl::OkStatus();
    });
    const size_t taken_before = memory.taken;
    const size_t held_before = memory.held;
    memory.most_held = held_before;
    const size_t comparisons_before = comparisons;
    cost.result = Run(arguments);
    cost.comparisons = comparisons - comparisons_before;
    cost.taken_bytes = memory.taken - taken_before;
    cost.most_held_bytes = memory.most_held - held_before;
    files_.SetFault(nullptr);
    return cost;
  }

  lsm::MemoryFileSystem files_;
};

// Counts calls, allocated bytes and comparisons of strings instead of time.  All must be
// proportional to the size of the manifest.
TEST_F(HostileTest, ManifestsOfMissingFilesCostLinearTime) {
  for (const bool of_logs : {false, true}) {
    const auto cost_of = [&](uint64_t count, const std::string& command) {
      const std::string path = lsm::Concat("m", count, of_logs);
      const auto directory = files_.OpenDirectory(path, true).value();
      if (!directory->Stat("CURRENT").ok())
        lsm::MakeStoreOfMissingFiles(*directory, of_logs ? 0 : count, of_logs ? count : 0);
      if (command == "explain") return CostOf({command, path, "key"});
      if (command == "get --raw") return CostOf({"get", "--raw", path, "key"});
      return CostOf({command, path});
    };
    for (const std::string command : {"verify", "levels", "info", "explain", "get --raw"}) {
      SCOPED_TRACE(lsm::Concat(command, of_logs ? " of logs" : " of tables"));
      const Cost of_few = cost_of(5000, command);
      const Cost of_many = cost_of(40'000, command);
      EXPECT_LE(of_many.calls, 9 * of_few.calls);
      EXPECT_LE(of_many.calls, 4 * 40'000u + 1000);
      EXPECT_LE(of_many.taken_bytes, 10 * of_few.taken_bytes);
      EXPECT_GT(of_few.comparisons, 0u);
      EXPECT_LE(of_many.comparisons, 12 * of_few.comparisons);
      // The bound of lsm/RELIABILITY.md, plus the output.
      const size_t manifest_bytes =
          files_.FileBytes(lsm::Concat("m40000", of_logs, "/", lsm::ManifestFileName(1))).size();
      EXPECT_LE(of_many.most_held_bytes, 64 * manifest_bytes + kMiB);
      const size_t of_steps =
          command == "explain" ? size_t{40'000} * 24 : 0;  // a line for each log
      EXPECT_LE(of_many.result.out.size(), 200'000u + of_steps);
    }
    const Cost verified = cost_of(40'000, "verify");
    EXPECT_EQ(verified.result.code, 1);
    EXPECT_THAT(verified.result.out, Not(HasSubstr("not shown")));
    if (of_logs) {
      EXPECT_THAT(verified.result.out, AllOf(HasSubstr("note: 39,900 more logs cannot be opened"),
                                             HasSubstr(": 40,000 problems")));
    } else {
      // The log after all tables is missing too.
      EXPECT_THAT(verified.result.out, AllOf(HasSubstr("note: 39,900 more tables cannot be opened"),
                                             HasSubstr("/040002.log: the manifest says"),
                                             HasSubstr(": 40,001 problems")));
    }
  }
}

// The keys are expanded once and take only the memory of their bytes.
TEST_F(HostileTest, IndexesTakeTheMemoryOfTheirKeys) {
  constexpr size_t kBlocks = 1024;
  Store(lsm::WithLongFences(kBlocks));
  const size_t file_bytes = files_.FileBytes(kPath).size();
  ASSERT_LT(file_bytes, 5 * kMiB);
  const Cost cost = CostOf({"info", kPath});
  EXPECT_EQ(cost.result.code, 0) << cost.result.out;
  EXPECT_LE(cost.most_held_bytes, kBlocks * lsm::kKeyBytesMax + 2 * file_bytes + kMiB);
}

TEST_F(HostileTest, RefusesAnOversizedIndexInBoundedMemory) {
  Store(lsm::WithLongFences(lsm::kIndexBytesMax / lsm::kKeyBytesMax + 1));
  const size_t file_bytes = files_.FileBytes(kPath).size();
  ASSERT_LT(file_bytes, 20 * kMiB);
  const Cost cost = CostOf({"info", kPath});
  EXPECT_EQ(cost.result.code, 1);
  EXPECT_THAT(cost.result.out + cost.result.err, HasSubstr("the index's keys take 268500992"));
  EXPECT_LE(cost.most_held_bytes, 2 * file_bytes + kMiB);
}

// A sound store may have more filters than fit in memory.
TEST_F(HostileTest, LookupsHoldOnlyNeededFilters) {
  auto directory = files_.OpenDirectory("s", true).value();
  constexpr uint64_t kTables = 12;
  lsm::VersionEdit edit;
  edit.next_file_number = kTables + 3;
  edit.oldest_log = kTables + 2;
  for (uint64_t number = 2; number < kTables + 2; ++number) {
    std::vector<SampleEntry> entries = NumberedEntries(4000, 1 + 4000 * (number - 2), 1);
    for (SampleEntry& entry : entries) entry.key.insert(0, 1, static_cast<char>('a' + number));
    edit.added.push_back(
        {1, MakeTable(*directory,
                      {.number = number, .level = 1, .target_fpp = 0.000001, .block_bytes = 4096},
                      entries)});
  }
  edit.last_sequence = 4000 * kTables;
  MakeManifest(*directory, edit);
  MakeLog(*directory, kTables + 2, {}, LogState::kOpen);
  const json levels = json::parse(Run({"levels", "--json", "s"}).out);
  const uint64_t filter_bytes = levels["results"][0]["total"]["filter_bytes"];
  const Cost cost = CostOf({"get", "--raw", "s", "gkey000003"});
  EXPECT_EQ(cost.result.code, 0) << cost.result.err;
  EXPECT_EQ(cost.result.out, "b");
  EXPECT_LT(cost.most_held_bytes, filter_bytes / 2);
}

TEST_F(HostileTest, VerifyNamesNewerEntriesBelowOlderOnes) {
  auto directory = files_.OpenDirectory("s", true).value();
  lsm::VersionEdit edit;
  edit.next_file_number = 5;
  edit.oldest_log = 4;
  edit.last_sequence = 200;
  for (const int level : {1, 2}) {
    const auto number = static_cast<uint64_t>(level) + 1;
    edit.added.push_back({level, MakeTable(*directory, {.number = number, .level = level},
                                           NumberedEntries(60, level == 1 ? 1 : 101))});
  }
  MakeManifest(*directory, edit);
  MakeLog(*directory, 4, {}, LogState::kOpen);
  const RunResult result = Run({"verify", "s"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("000003.table is newer than the entry above it, in "
                                          "000002.table"),
                                HasSubstr("s: 60 problems")));
}

TEST_F(HostileTest, MisplacedBlocksAreDamage) {
  Forgery forgery;
  forgery.filter_bytes = FilterOf({"b", "c", "e"});
  forgery.data_blocks = {{SoundBlock("c")}, {SoundBlock("b")}, {SoundBlock("e")}};
  SetFences(&forgery, {"c", "d", "e"});
  Store(forgery);
  for (const std::string& command : kWalks) {
    const RunResult result = Run({command, kPath});
    EXPECT_EQ(result.code, 1) << command;
    EXPECT_THAT(result.out + result.err,
                HasSubstr("key \"b\" is before the block's place in the index, \"c\""))
        << command;
  }
  const RunResult got = Run({"get", kPath, "d"});
  EXPECT_EQ(got.code, 1);
  EXPECT_THAT(got.err, HasSubstr("before the block's place in the index"));
}

TEST_F(HostileTest, OverlappingBlocksAreDamage) {
  for (const std::string second : {"b", "c"}) {  // c: the same entry as in the block before
    Forgery forgery;
    forgery.filter_bytes = FilterOf({"b", "c", "e"});
    forgery.data_blocks = {{SoundBlock("c")}, {SoundBlock(second)}, {SoundBlock("e")}};
    SetFences(&forgery, {"b", "d", "e"});
    Store(forgery);
    for (const std::string& command : kWalks) {
      const RunResult result = Run({command, kPath});
      EXPECT_EQ(result.code, 1) << command;
      EXPECT_THAT(result.out + result.err,
                  HasSubstr("key \"" + second + "\" is not after the one before it"))
          << command;
    }
    // The iteration continues after it, and shows no entry twice or out of order.
    EXPECT_EQ(Run({"scan", "--keys-only", kPath}).out, "c\ne\n");
    const json measured =
        json::parse(Run({"--json", "filter", kPath}).out)["results"][0]["measured"];
    EXPECT_EQ(measured["keys"], 2);
    // The contents of the block are still shown.
    const json blocks = json::parse(Run({"--json", "blocks", kPath}).out)["results"][0]["blocks"];
    EXPECT_EQ(blocks[1]["sound"], false);
    EXPECT_EQ(blocks[1]["entries"], 1);
    EXPECT_EQ(blocks[1]["last_key"], second);
    EXPECT_EQ(blocks[2]["sound"], true);
  }
}

TEST_F(HostileTest, OversizedKeysAreDamage) {
  // 2 MiB each, in 8 KiB of the file: a key or two of each block would be 80 MiB.
  Forgery forgery;
  const Forgery::Stored block =
      Compressed(BlockOf(Entry(0, Key(std::string(2 * kMiB, 'a')), ""), {0}));
  forgery.data_blocks.assign(20, block);
  SetFences(&forgery, std::vector<std::string>(20, "k"));
  forgery.filter_bytes = FilterOf({"a"});
  Store(forgery);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"blocks", kPath},
                                                    {"scan", kPath},
                                                    {"filter", kPath},
                                                    {"verify", kPath},
                                                    {"get", kPath, "k"}}) {
    const Cost cost = CostOf(arguments);
    EXPECT_EQ(cost.result.code, 1) << arguments[0];
    EXPECT_THAT(cost.result.out + cost.result.err, HasSubstr("a key is longer than the limit"));
    EXPECT_LT(cost.most_held_bytes, 8 * kMiB) << arguments[0];
  }
}

TEST_F(HostileTest, GetReadsOnlyNeededBlocks) {
  // Each fence is the target key, so each block might contain more of its versions.
  const auto reads_with = [this](const std::function<std::string(int)>& user_key) {
    Forgery forgery;
    for (int i = 0; i < 400; ++i)
      forgery.data_blocks.push_back(Compressed(SoundBlock(user_key(i))));
    SetFences(&forgery, std::vector<std::string>(400, "k"));
    Store(forgery);
    const Cost cost = CostOf({"get", kPath, "k"});
    EXPECT_LT(cost.most_held_bytes, 4 * kMiB);
    return cost.reads;
  };
  const std::string tail(60'000, 'a');
  EXPECT_LT(reads_with([&](int) { return "a" + tail; }), 12u);  // before it
  EXPECT_LT(reads_with([&](int i) { return "k" + std::to_string(1000 + i) + tail; }), 12u);
}

TEST_F(HostileTest, SharedLongKeysAreNotCopied) {
  const std::string prefix(lsm::kKeyBytesMax - 3, 'a');
  constexpr uint32_t kEntries = 4000;
  const auto tail = [](uint32_t i) {
    return std::string{'\0', static_cast<char>(i >> 8), static_cast<char>(i)};
  };
  std::string other_keys;
  std::vector<std::string> keys{prefix};
  for (uint32_t i = 0; i < kEntries; ++i) {
    keys.push_back(prefix + tail(i));
    other_keys += i == 0 ? Entry(0, Key(keys.back()), "")
                         : Entry(static_cast<uint32_t>(prefix.size()), Key(tail(i)), "");
  }
  const std::string filter = FilterOf(keys);
  // Versions of one key, the newest first.
  std::string versions;
  for (uint32_t i = 0; i < kEntries; ++i) {
    std::string suffix;
    lsm::AppendFixed64(&suffix, lsm::PackSuffix(kEntries - i, lsm::EntryKind::kPut));
    versions += i == 0 ? Entry(0, prefix + suffix, "")
                       : Entry(static_cast<uint32_t>(prefix.size()), suffix, "");
  }
  for (const std::string& entries : {other_keys, versions}) {
    Forgery forgery;
    forgery.data_blocks = {Compressed(BlockOf(entries, {0}))};
    SetFences(&forgery, {"b"});
    forgery.filter_bytes = filter;
    Store(forgery);
    EXPECT_LT(files_.FileBytes(kPath).size(), kMiB);
    // 250 MiB of keys in all.
    for (const std::string command : {"blocks", "verify", "get"}) {
      const std::vector<std::string> arguments = command == "get"
                                                     ? std::vector<std::string>{command, kPath, "b"}
                                                     : std::vector<std::string>{command, kPath};
      const Cost cost = CostOf(arguments);
      EXPECT_LT(cost.taken_bytes, 8 * kMiB) << command;
      EXPECT_THAT(cost.result.out + cost.result.err, testing::Not(HasSubstr("order"))) << command;
      if (command == "verify") {
        EXPECT_THAT(cost.result.out, HasSubstr("4,000 entries"));
      }
    }
    const json block = json::parse(Run({"--json", "blocks", kPath}).out)["results"][0]["blocks"][0];
    EXPECT_EQ(block["entries"], kEntries);
    EXPECT_EQ(block["sound"], true);
  }
}

TEST_F(HostileTest, ShowsTheLastReadableKeyOfADamagedBlock) {
  const std::string first = Entry(0, Key("a"), "") + Entry(0, Key("b"), "");
  Forgery forgery;
  forgery.data_blocks = {{BlockOf(first + Entry(0, Key("a"), "") + Entry(0, Key("c"), ""), {0})}};
  SetFences(&forgery, {"c"});
  Store(forgery);
  const json block = json::parse(Run({"--json", "blocks", kPath}).out)["results"][0]["blocks"][0];
  EXPECT_EQ(block["entries"], 2);
  EXPECT_EQ(block["sound"], false);
  EXPECT_EQ(block["first_key"], "a");
  EXPECT_EQ(block["last_key"], "b");
}

// A sound table with such a low FPP that a measurement would need 10 million keys of 60 KB each.
class LongKeysTest : public HostileTest {
 protected:
  LongKeysTest() {
    std::vector<SampleEntry> entries;
    for (int i = 0; i < 200; ++i) {
      std::string key = std::to_string(1000 + i);
      key.resize(60'000, 'x');
      entries.push_back({key, static_cast<uint64_t>(i + 1), false, "v"});
    }
    auto directory = files_.OpenDirectory("h", false).value();
    MakeTable(*directory, {.number = 1, .target_fpp = 1e-6}, entries);
  }
};

TEST_F(LongKeysTest, SampledEvenlyWithinAByteLimit) {
  const auto directory = files_.OpenDirectory("h", false).value();
  const auto table =
      lsm::Table::Open(directory->OpenRead("000001.table", lsm::ReadMode::kBuffered).value(), {})
          .value();
  const FilterMeasurement measured = MeasureFilter(*table, ProbesFor(1e-6), 50 * kMiB);
  EXPECT_EQ(measured.keys, 200u);
  EXPECT_EQ(measured.false_negatives, 0u);
  EXPECT_GE(measured.probe_bytes, 50 * kMiB);
  EXPECT_LT(measured.probe_bytes, 50 * kMiB + lsm::kKeyBytesMax);
  EXPECT_NEAR(static_cast<double>(measured.probes), 50.0 * kMiB / 60'000, 2);
  // The other limit ends the measurement, too, if it is reached first.
  EXPECT_EQ(MeasureFilter(*table, 300, 50 * kMiB).probes, 300u);
}

TEST_F(LongKeysTest, ReportsTheSample) {
  const Cost cost = CostOf({"filter", kPath});
  EXPECT_EQ(cost.result.code, 0);
  EXPECT_THAT(cost.result.out, HasSubstr(" of 17,89"));
  EXPECT_THAT(cost.result.err, AllOf(HasSubstr("the keys are long: instead of"),
                                     HasSubstr(" absent keys, 17,89"), HasSubstr("1.00 GiB")));
  EXPECT_LT(cost.most_held_bytes, 8 * kMiB);
  const json result = json::parse(Run({"--json", "filter", kPath}).out)["results"][0];
  EXPECT_GT(result["measured"]["absent_keys"], 17'000);
  EXPECT_LT(result["measured"]["absent_keys"], 18'000);
  EXPECT_EQ(result["notes"].size(), 1u);
  EXPECT_THAT(Run({"filter", "--probes", "100", kPath}).err, "");
}

}  // namespace
}  // namespace tools
