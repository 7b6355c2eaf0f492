// Small stores for tests of sstdump, made with the library's writers, and a function that runs
// sstdump within the test.
#ifndef TRELLIS_TESTS_TOOLS_SAMPLE_STORE_H_
#define TRELLIS_TESTS_TOOLS_SAMPLE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/base/range_map.h"
#include "lsm/file_system.h"
#include "lsm/log/log_writer.h"
#include "lsm/memory_file_system.h"
#include "lsm/options.h"
#include "lsm/table/table_builder.h"
#include "lsm/version/version_edit.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/world.h"

namespace tools {

inline constexpr uint64_t kSampleSeed = 0x5eed;  // of digests

// Seconds since 1970: when all tables were made, and what the machine's clock shows.
inline constexpr uint32_t kSampleTime = 1'700'000'000;  // 2023-11-14T22:13:20Z
inline constexpr uint32_t kSampleNow = kSampleTime + 7200;

struct SampleEntry {
  std::string key;
  uint64_t sequence = 0;
  bool is_delete = false;
  std::string value = {};
  // In a log only: deletes the keys from `key` on, up to `value` unless that is empty.
  bool is_range = false;
  lsm::KeyspaceId keyspace = lsm::kDefaultKeyspace;  // in a log only
  // The time of a put.  In a log that of the first entry is the time of the record.
  std::optional<uint32_t> written = std::nullopt;
  std::optional<lsm::KeyspaceChange> change = std::nullopt;  // in a log only: it is no write
};

// Makes a table from entries in the order of internal keys.  Returns the table's record for a
// manifest.
struct TableRecipe {
  uint64_t number = 1;
  int level = 0;
  std::string filter_kind = "blocked";  // "none": no filter
  double target_fpp = 0.01;
  std::string filter_reason = {};  // as of a store without a goal
  lsm::Compression compression =
      lsm::Compression::kNone;  // LZ4's bytes differ between its releases
  size_t block_bytes = 512;
  bloom::DigestSeed digest_seed = kSampleSeed;
  lsm::RangeMap ranges = {};
  lsm::KeyspaceId keyspace = lsm::kDefaultKeyspace;
};
lsm::TableMeta MakeTable(lsm::Directory& directory, const TableRecipe& recipe,
                         const std::vector<SampleEntry>& entries);

// `count` puts "key000000", "key000003", … with sequences from `first_sequence` on.
std::vector<SampleEntry> NumberedEntries(int count, uint64_t first_sequence,
                                         size_t value_bytes = 20);

// Makes a manifest with this snapshot and these edits, and CURRENT.
void MakeManifest(lsm::Directory& directory, lsm::VersionEdit snapshot,
                  const std::vector<lsm::VersionEdit>& edits = {});

// Makes a log with one record for each batch of entries.
enum class LogState { kClosed, kOpen };
void MakeLog(lsm::Directory& directory, uint64_t number,
             const std::vector<std::vector<SampleEntry>>& batches, LogState state);

// Makes a store in `path`: two tables in level 0, two in level 1, one in level 2, two synced logs
// of which one was closed, and an obsolete table.
//
//   000002.table  level 2  key000000 …, 600 entries, filter `standard`
//   000003.table  level 1  every sixth of these keys up to the middle, newer
//   000004.table  level 1  … from the middle on, no filter
//   000005.table  level 0  some keys with odd bytes, one with several versions, deletions
//   000006.table  level 0  newer
//   000007.log, 000008.log
//   000009.table  left over
void MakeSampleStore(lsm::FileSystem& file_system, const std::string& path);

// Makes a store with a filter goal.  It has one table in each of the levels 0 to 2, with 10, 100
// and 1000 keys, and one in level 3 without a filter.
void MakeGoalStore(lsm::FileSystem& file_system, const std::string& path);

// Makes a store with three runs in level 1, numbered 0, 1 and 4, of two tables each.  Each value
// names its run.  "key000000" is only in the oldest run, "key000030" in the two older ones, and the
// last key in all three.
void MakeStoreOfRuns(lsm::FileSystem& file_system, const std::string& path);

// Makes a store with range deletes:
//
//   000002.table  level 2  a@1 c@2 e@3 g@4 i@5 k@6, [x, end)@7
//   000003.table  level 1  d@8 e@10, [c, f)@9
//   000004.table  level 0  [a, b)@12, [e, h)@11, no entries
//   000005.log             c@13, [i, j)@14
void MakeStoreOfRanges(lsm::FileSystem& file_system, const std::string& path);

// Makes a store with keyspaces in trees of their own (2 users, 5 idle) and in the common tree (3
// jobs, 4 mail).  The caller makes its log, number 7, from sequence 21 on.
//
//   000002.table  level 1  default      a@1
//   000003.table  level 2  users        a@2
//   000004.table  level 2  common tree  name of jobs@3; jobs a@4 e@5, [d, end)@6; mail a@7
//   000005.table  level 1  common tree  jobs b@8
//   000006.table  level 0  common tree  mail c@9, a deletion
std::unique_ptr<lsm::Directory> MakeStoreOfKeyspaces(lsm::FileSystem& file_system,
                                                     const std::string& path);

// Makes a store in which entries expire, with the keyspaces sessions (2, in a tree of its own, an
// hour from kSampleTime on) and carts (3, in the common tree; a day, and after the log 50 minutes):
//
//   000002.table  level 2  sessions     a@1 b@2 c@3 d@4, of which a has no time
//   000003.table  level 1  sessions     b@5 c@6 d@7, of which d is a deletion
//   000004.table  level 1  common tree  name of carts@8; carts a@9 b@10
//   000005.table  level 1  default      a@11
//   000006.log             sessions e@12 f@13, carts' limit@14
//
// At kSampleNow, sessions has b, e and f, and carts has b.
void MakeStoreOfExpiry(lsm::FileSystem& file_system, const std::string& path);

// Makes a sample store of as few bytes as possible, for tests that damage each byte.
void MakeTinyStore(lsm::FileSystem& file_system, const std::string& path);

struct RunResult {
  int code = 0;
  std::string out;
  std::string err;
  uint64_t nanos = 0;  // the time that it took, on a clock that advances when the program waits
};
RunResult RunIn(lsm::FileSystem& file_system, const Terminal& terminal,
                const std::function<int(const World&)>& run);
RunResult Run(lsm::FileSystem& file_system, const std::vector<std::string>& arguments,
              const Terminal& terminal = {});

// The arguments of each command that takes files of one of these kinds: for `path`, and for the key
// "b" if it takes one.
std::vector<std::vector<std::string>> CommandsOn(const std::string& path,
                                                 uint32_t kinds = kAnyKind);

// Parses the output of a command with --json as one document; `discarded` if that fails.  In JSON
// Lines each result gets the lines before it as `entries`.
nlohmann::json ParseOutput(const std::string& out);

// Names of the files in the directory, sorted.
std::vector<std::string> FilesIn(lsm::FileSystem& file_system, const std::string& path);

}  // namespace tools

#endif  // TRELLIS_TESTS_TOOLS_SAMPLE_STORE_H_
