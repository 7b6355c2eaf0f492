// How a store is opened, read and written.  Every option says its default, unit, range and effect;
// a value out of range makes DB::Open fail with InvalidArgument, which names the option and the
// range.
#ifndef TRELLIS_LSM_OPTIONS_H_
#define TRELLIS_LSM_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "lsm/environment.h"
#include "lsm/filter_goal.h"

namespace lsm::inline TRELLIS_ABI {

class EventListener;  // lsm/event_listener.h
class Snapshot;

enum class OpenMode : uint8_t {
  kOpenOrCreate,
  kMustExist,     // NotFound if there is no store
  kMustNotExist,  // AlreadyExists if there is one
  kReadOnly,      // NotFound if there is none.  Nothing is written: every write fails with
                  // FailedPrecondition.  Nothing is synced: a crash of the machine may take what
                  // was read, unless it was acknowledged with `sync`.  Writes that are in logs, and
                  // not yet in tables, are held in memory while the store is open
};

enum class Compression : uint8_t { kNone = 0, kLz4 = 1 };
// "none", "lz4".
const char* NameOf(Compression compression);

// How the tables of a level are kept; lsm/README.md tells what each costs.
enum class CompactionStyle : uint8_t {
  kLeveled,      // one sorted run a level
  kTiered,       // several runs a level, which go down together
  kLazyLeveled,  // several runs a level, but one in the deepest level
};
// "leveled", "tiered", "lazy-leveled".
const char* NameOf(CompactionStyle style);

struct Options {
  // What to do if there is a store, and if there is none; whether to write.  kOpenOrCreate.
  OpenMode mode = OpenMode::kOpenOrCreate;

  // --- filters ---

  // Probability with which a table is read for a key that it does not hold.  0.01; [0.000001, 0.5].
  // Lower takes more memory: about 1.05 log2(1/fpp) bits a key for `ribbon`, 1.44 for `standard`,
  // somewhat more for `blocked`.  Without effect if there is a filter_goal.
  double target_fpp = 0.01;

  // A goal for the filters of the whole store together.  It replaces target_fpp, which is the same
  // for every table.  The goal is a memory size, per key or in all, for as few wasted reads as it
  // buys; or a number of wasted reads, for as little memory as it takes.  FilterGoal(); BitsPerKey
  // in [0.1, 64], Bytes in [1 KiB, 16 TiB], WastedReads in [0.000001, 100].  Not with filter_kind
  // "none".
  //
  // Each flush and compaction solves for the FPP of its outputs (lsm/filters/filter_allocation.h).
  // Small runs get low FPPs, which cost little there.  Tables whose keys lookups of absent keys
  // asked for more often, since the store was opened, get lower FPPs too (lsm/filters/hotness.h). A
  // table whose filter does not pay gets none.  Tables keep their filters until they are rewritten.
  // A filter in partitions (block_cache_bytes) counts with all its bytes, in memory or not.
  FilterGoal filter_goal = {};

  // Kind of filter that new tables get.  "by-level".  Files of any kind are read, whatever this
  // says.
  //
  // "by-level"  "blocked" in levels 0 and 1, where tables live briefly, and "ribbon" below; with a
  //             filter_goal, "ribbon" wherever its smaller memory is worth its build
  // "blocked"   one cache miss a question
  // "ribbon"    30 % smaller, several times slower to build and to ask
  // "none"      no filters
  // others      any kind that bloom/README.md lists
  std::string filter_kind = "by-level";

  // How keys are hashed for filters.  kXxh3; kXxh3, kSipHash.  Applies to new stores.  An existing
  // store keeps its own hash, and if that is not kSipHash, refuses to be opened with kSipHash
  // (InvalidArgument).  Either is under a seed that the store draws at random.  Take kSipHash if
  // strangers choose keys and watch how long lookups take: a stranger who finds keys that pass the
  // filters then learns nothing about others.  It takes about 10 ns longer for a key of 16 bytes,
  // 35 for one of 64 (table_bench, BM_Digest).
  bloom::DigestHash filter_hash = bloom::DigestHash::kXxh3;

  // --- memory ---

  // Size at which the memtable is sealed and flushed.  64 MiB; [64 KiB, 4 GiB].  Up to two of them
  // are in memory, and one may grow to twice its size while the disk is slow to make the next log:
  // together at most three times this size.
  size_t write_buffer_bytes = size_t{64} << 20;

  // Budget of the block cache, which holds uncompressed data blocks.  64 MiB; 0 (no cache) or more.
  // Filters and indexes of open tables come on top; Statistics tells their bytes.
  //
  // If filters and indexes of all tables together would exceed this budget (and it is not 0), new
  // tables get theirs in partitions.  Lookups read partitions through this cache, and they count
  // within its budget.  Tables with less than 64 KiB of filter and index stay whole.  Existing
  // tables stay as they are until they are rewritten.
  size_t block_cache_bytes = size_t{64} << 20;

  // --- tables ---

  // Size at which a data block is ended, before compression.  4 KiB; [256 B, 1 MiB].
  size_t block_bytes = 4096;

  // Entries between restart points, at which a key is stored whole.  16; [1, 1024].  Lower seeks
  // faster, higher stores smaller.
  int block_restart_interval = 16;

  // Compression of data blocks, where it saves an eighth or more. kLz4; kNone, kLz4.
  Compression compression = Compression::kLz4;

  // Size at which compaction begins another table.  64 MiB; [64 KiB, 2 GiB].  Each table of an open
  // store takes a file descriptor; 1024 of them (`ulimit -n`) are enough for about 60 GiB in tables
  // of 64 MiB.
  uint64_t table_bytes = uint64_t{64} << 20;

  // --- shape of the tree ---

  // How tables are kept below level 0. kLeveled; kLeveled, kTiered, kLazyLeveled. kLazyLeveled
  // writes less than half as much for random writes, reads somewhat more for a lookup, and takes
  // more room while the deepest level is merged. kTiered trades further in that direction.  A store
  // may be opened with any style, whatever it was written with: background work brings it to the
  // new shape.
  CompactionStyle compaction_style = CompactionStyle::kLeveled;

  // Bytes that level 1 may hold; each level below may hold 10 times as much.  256 MiB; [64 KiB, 1
  // TiB].  In lazily leveled stores it limits only the deepest level, in tiered ones no level.
  uint64_t level1_bytes = uint64_t{256} << 20;

  // Tables in level 0 at which they are compacted into level 1 (4), and at which writes wait (20).
  // [1, 1000], in this order.  A level that has several runs goes down when it has as many as the
  // first number (2 at least).
  //
  // Lookups and seeks may have fewer tables compacted: when reads of level 0 have wasted as much
  // time as the compaction takes (lsm/README.md).  Not in a store that is open for reading only.
  //
  // Halfway between the two numbers (12), writes begin to slow down, so that the rest of level 0
  // lasts until there is more room (lsm/engine/write_pace.h).  Each write waits two milliseconds at
  // most.
  int level0_compaction_tables = 4;
  int level0_stop_tables = 20;

  // --- care ---

  // Time in which a background scrub reads and verifies every table once, and then CURRENT, the
  // manifest and the logs, again and again.  0: never; 0, or [60, 1000000000] seconds.  Statistics
  // counts the damage that it finds, and DB::GetDamage names it.  Not in a store that is open for
  // reading only.
  uint64_t scrub_seconds = 0;

  // Told of flushes, compactions, stalls, failures, openings and files as they happen
  // (lsm/event_listener.h).  Null: none.  The store keeps it until the DB, its iterators and
  // its snapshots are gone.  No callback comes if an option is invalid.  Without effect on Repair,
  // Destroy and copies.
  std::shared_ptr<EventListener> listener = nullptr;

  // --- files ---

  // Read data blocks past the page cache (O_DIRECT).  False.  Tried when the store is opened:
  // InvalidArgument where the file system cannot.
  bool direct_reads = false;

  // The most space that the store keeps in reserve (the file RESERVE).  On a full disk it gives the
  // reserve up: it still opens, takes deletes and compacts, and refuses puts (ResourceExhausted)
  // until there is space again.  The reserve grows with the store, from 64 KiB; a small store has
  // little.  Unset: two write buffers, two tables and 1 MiB, 257 MiB by default.  0: none, and on a
  // full disk a store may neither open nor delete.  0, or [64 KiB, 1 TiB].  File systems that
  // compress, copy on write or keep snapshots may not give the space back.
  std::optional<uint64_t> reserve_bytes = std::nullopt;

  // Directory of the write-ahead logs, of this one store alone.  Empty: the store's own.  A store
  // must always be opened, repaired and destroyed with the same one.  A new store refuses one that
  // holds another store's logs (AlreadyExists), every store one that holds a store
  // (FailedPrecondition), and another store's logs are not read (DataLoss).
  std::string log_directory = {};

  // The users besides the owner that may read new files and directories of the store: none
  // (kOwner: modes 0600 and 0700), the group (kGroup) or all (kAll).  Existing files keep their
  // mode.  Without effect where the environment has a file system.
  FileAccess file_access = FileAccess::kOwner;

  // File system, clock, scheduler and randomness (lsm/environment.h).  The system's own.
  Environment environment = {};
};

// InvalidArgument naming the option, its value and the range.
absl::Status ValidateOptions(const Options& options);

struct ReadOptions {
  // As of when.  Null: now.  A snapshot of another DB: InvalidArgument.
  const Snapshot* snapshot = nullptr;

  // Whether blocks that are read from files are put into the block cache.  True.  For a scan that
  // will not come again: false.
  bool fill_cache = true;

  // For iterators: keys from lower_bound (inclusive) to upper_bound (exclusive).  NewIterator
  // copies the bytes: they need not outlive the call, but must outlive this struct until then.
  // (Reading ahead does not know the bounds.)
  std::optional<std::string_view> lower_bound = std::nullopt;
  std::optional<std::string_view> upper_bound = std::nullopt;
};

struct WriteOptions {
  // Return only when the write survives a crash of the machine.  False: it survives the end of the
  // process, and a crash of the machine may take it with all that came after it.
  bool sync = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OPTIONS_H_
