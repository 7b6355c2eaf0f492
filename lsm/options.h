// Options for opening, reading and writing a store.  The comment of an option states its effect,
// unit, default and range, as "Default D; [range]" or "Default D; the values".  If a value is out
// of range, DB::Open returns InvalidArgument, which names the option and the range.
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
  kReadOnly,      // NotFound if there is none.  Nothing is written; every write fails with
                  // FailedPrecondition.  Nothing is synced: a crash of the machine may lose data
                  // that was read, unless it was acknowledged with `sync`.  Writes that are only in
                  // logs are held in memory while the store is open
  // NotFound if there is none.  As kReadOnly, but beside a process that writes the store, or opens,
  // closes or recovers it.  Takes no lock.  The view is refreshed twice a second;
  // Statistics::view_age_nanos says how old it is.  A snapshot keeps its view, with the files of
  // that view.  In an object store a pin keeps these files; it lapses if this process hangs for
  // long.  Not for network file systems such as NFS (lsm/design/followers.md).
  kFollow,
};

enum class Compression : uint8_t { kNone = 0, kLz4 = 1 };
// "none", "lz4".
TRELLIS_API const char* NameOf(Compression compression);

// How the tables of a level are organised.  lsm/README.md compares the costs.
enum class CompactionStyle : uint8_t {
  kLeveled,      // one sorted run per level
  kTiered,       // several runs per level, which are merged into the next level together
  kLazyLeveled,  // several runs per level, but one in the deepest level
};
// "leveled", "tiered", "lazy-leveled".
TRELLIS_API const char* NameOf(CompactionStyle style);

struct Options {
  // Whether to create a store or require one, and whether to write.  Default kOpenOrCreate.
  OpenMode mode = OpenMode::kOpenOrCreate;

  // --- filters ---

  // Target probability that a lookup reads a table that does not hold its key.  Default 0.01;
  // [0.000001, 0.5].  A lower one takes more memory: about 1.05 log2(1/fpp) bits/key for `ribbon`,
  // 1.44 log2(1/fpp) for `standard`, and somewhat more for `blocked`.  Ignored if there is a
  // filter_goal.
  double target_fpp = 0.01;

  // A goal for all filters of the store together.  Replaces target_fpp, which treats all tables
  // alike.  Default FilterGoal(), which is none.
  //
  //   BitsPerKey    memory in bits/key, spent so that wasted reads are fewest; [0.1, 64]
  //   Bytes         memory in bytes, likewise; [1 KiB, 16 TiB].  Some of it is left for the growth
  //                 of the store
  //   WastedReads   wasted reads per lookup of an absent key, with the least memory that reaches
  //                 it; [0.000001, 100]
  //
  // Cannot be combined with filter_kind "none".  In a store with keyspaces, the goal applies to all
  // of them together.  Each large keyspace (DB::OpenKeyspace) counts by its share of the lookups
  // since the opening, and so do all small ones together.
  //
  // Each flush and compaction computes the FPP of its outputs (lsm/filters/filter_allocation.h).
  // Small runs get low FPPs, which cost little there.  So do tables in key ranges that absent-key
  // lookups have asked for often since the opening (lsm/filters/hotness.h).  A table whose filter
  // would not pay gets none.  Tables keep their filters until they are rewritten.  A partitioned
  // filter (block_cache_bytes) counts in full, whether in memory or not.
  FilterGoal filter_goal = {};

  // Kind of filter for new tables.  Default "by-level".  Existing filters of any kind are read,
  // whatever this says.
  //
  // "by-level"  "blocked" in levels 0 and 1, whose tables are short-lived, and "ribbon" below;
  //             with a filter_goal, "ribbon" wherever its smaller size is worth its build time
  // "blocked"   one cache miss per query
  // "ribbon"    30 % smaller, several times slower to build and to query
  // "none"      no filters
  // others      any kind that bloom/README.md lists
  std::string filter_kind = "by-level";

  // Hash of keys for filters.  Default kXxh3; kXxh3, kSipHash.  Both use a seed that the store
  // draws at random.  Applies to new stores.  An existing store keeps its hash.  Opening a store of
  // another hash with kSipHash returns InvalidArgument.
  //
  // Choose kSipHash if untrusted users choose keys and can time lookups: finding keys that pass the
  // filters then tells them nothing about other keys.  It takes about 10 ns more for a key of 16
  // bytes, 35 ns for one of 64 bytes (table_bench, BM_Digest).
  bloom::DigestHash filter_hash = bloom::DigestHash::kXxh3;

  // --- memory ---

  // Size at which the memtable is sealed and flushed.  Default 64 MiB; [64 KiB, 4 GiB].  There are
  // at most two memtables.  One may grow to twice this size while the disk is slow to create the
  // next log.  So memtables take at most three times this size.
  size_t write_buffer_bytes = size_t{64} << 20;

  // Budget of the block cache, which holds uncompressed data blocks.  Default 64 MiB; 0 (no cache)
  // or more.  Filters and indexes of open tables are held in addition; Statistics reports their
  // bytes.
  //
  // If the filters and indexes of all tables would exceed this budget (and it is not 0), new tables
  // get partitioned ones.  Lookups read partitions through this cache, within its budget.  A
  // quarter of it is kept for partitions if they need it.  A table with less than 64 KiB of filter
  // and index is not partitioned.  Existing tables stay as they are until they are rewritten.
  size_t block_cache_bytes = size_t{64} << 20;

  // --- tables ---

  // Uncompressed size at which a data block ends.  Default 4 KiB; [256 B, 1 MiB].
  size_t block_bytes = 4096;

  // Entries between restart points, where a key is stored in full.  Default 16; [1, 1024].  Lower
  // values make seeks faster, higher ones make tables smaller.
  int block_restart_interval = 16;

  // Compression of data blocks.  A block that shrinks by less than an eighth is stored
  // uncompressed.  Default kLz4; kNone, kLz4.
  Compression compression = Compression::kLz4;

  // Size at which a compaction begins the next table.  Default 64 MiB; [64 KiB, 2 GiB].  Each table
  // of an open store takes a file descriptor: 1024 of them (`ulimit -n`) suffice for about 60 GiB
  // in tables of 64 MiB.
  uint64_t table_bytes = uint64_t{64} << 20;

  // --- shape of the tree; the limits apply to each tree by itself ---

  // Organisation of the levels below level 0.  Default kLeveled; kLeveled, kTiered, kLazyLeveled.
  // For random writes kLazyLeveled writes less than half as much as kLeveled.  In return, lookups
  // read somewhat more, and merging the deepest level takes more temporary space. kTiered trades
  // further in that direction.  A store may be opened with a different style than before:
  // background work converts it.
  CompactionStyle compaction_style = CompactionStyle::kLeveled;

  // Limit of level 1 in bytes; each level below may hold 10 times as much.  Default 256 MiB; [64
  // KiB, 1 TiB].  In lazily leveled stores it limits only the deepest level, in tiered ones no
  // level.
  uint64_t level1_bytes = uint64_t{256} << 20;

  // The number of tables in level 0 at which they are compacted into level 1 (default 4), and the
  // number at which writes wait (default 20).  Both [1, 1000], in this order.  A level with several
  // runs is merged into the next when it has as many runs as the first number (at least 2).
  //
  // Level 0 of a tree is compacted with fewer tables when its reads have wasted as much time as the
  // compaction takes (lsm/design/read_triggered_compaction.md).  A store that is open for reading
  // only is not compacted.
  //
  // Halfway between the two numbers (12), writes begin to slow down, so that level 0 does not fill
  // up before a compaction makes room (lsm/runtime/write_pace.h).  This delays a write by at most 2
  // ms.  If level 0 of any tree is full, all writes wait.
  int level0_compaction_tables = 4;
  int level0_stop_tables = 20;

  // --- scrubbing and events ---

  // Period of background scrubbing, in seconds.  Within it the store reads and verifies every table
  // once, then CURRENT, the manifest and the logs; then it starts again.  Default 0, which is off;
  // 0, or [60, 1000000000].  Statistics counts the damage found, and DB::GetDamage lists it.  A
  // store that is open for reading only is not scrubbed.
  uint64_t scrub_seconds = 0;

  // Receives flushes, compactions, stalls, failures, openings and files as events
  // (lsm/event_listener.h).  Default null, which is none.  The store keeps it until the DB and all
  // its iterators, snapshots and Keyspace handles are destroyed.  No callback if ValidateOptions
  // refuses the options.  Repair, Destroy and copies do not use it.
  std::shared_ptr<EventListener> listener = nullptr;

  // --- files ---

  // Reads data blocks past the page cache (O_DIRECT).  Default false.  DB::Open tries it, and
  // returns InvalidArgument if the file system does not support it.
  bool direct_reads = false;

  // Largest size of the reserve for a full disk (the file RESERVE).  On a full disk the store gives
  // the reserve up.  It then still opens, deletes and compacts, and refuses puts
  // (ResourceExhausted) until there is space again.  Default unset; 0, or [64 KiB, 1 TiB].
  //
  //   unset   two write buffers, two tables and 1 MiB: 257 MiB with the other options' defaults
  //   0       no reserve: on a full disk the store may neither open nor delete
  //
  // The reserve starts at 64 KiB and grows with the store, so a small store has a small one.  File
  // systems that compress, copy on write or keep snapshots may not give the space back.
  std::optional<uint64_t> reserve_bytes = std::nullopt;

  // Directory for the write-ahead logs of this store only.  Default empty, which is the store's
  // directory.  Always open, repair and destroy a store with the same one.  DB::Open refuses a
  // directory that holds
  //
  //   - another store's logs: AlreadyExists for a new store, DataLoss for an existing one;
  //   - a store: FailedPrecondition.
  std::string log_directory = {};

  // How long DB::Open waits, in seconds, while another process (or another DB of this one) has the
  // store open.  Default 0: it fails at once.  At most 1000000000.  The call takes over if the
  // other one closes the store, ends, or, in an object store, fails to renew its lock in time
  // (lsm/object_file_system.h).  Once it waits, file system calls that return Unavailable or
  // Unknown do not end the wait.
  uint64_t lock_wait_seconds = 0;

  // Users, besides the owner, who may read new files and directories of the store: none (kOwner:
  // modes 0600 and 0700), the group (kGroup) or all (kAll).  Default kOwner.  Existing files keep
  // their mode.  Ignored if `environment` has a file system.
  FileAccess file_access = FileAccess::kOwner;

  // File system, clock, scheduler and randomness (lsm/environment.h).  Default: the system's own.
  Environment environment = {};
};

// InvalidArgument, with the option, its value and the range, if an option is invalid.
TRELLIS_API absl::Status ValidateOptions(const Options& options);

// Options of one keyspace.  The store keeps them.  It uses all but expire_after once the keyspace
// has tables of its own; until then the values in Options apply (DB::OpenKeyspace).  An option that
// no call has set has the value in Options.  A later call changes only the options that it sets.
// No call unsets an option, and none returns it.  Meanings and ranges are those of Options.  All
// other options are the store's.
struct KeyspaceOptions {
  std::optional<std::string> filter_kind = std::nullopt;  // for new tables
  // For new tables.  Has no effect while Options::filter_goal is set, like Options::target_fpp.
  std::optional<double> target_fpp = std::nullopt;
  std::optional<Compression> compression = std::nullopt;           // for new tables
  std::optional<CompactionStyle> compaction_style = std::nullopt;  // converted in the background
  // Seconds that an entry lives; 0 or unset: for ever.  Acts at once, in any tree, and may be set
  // for "default".  By the clock of the environment, an entry lives that long, and at most one
  // second more.  Then reads do not see it, and compactions remove it.  An expired entry stays
  // expired while the store is open, even if the limit is raised.  Entries from before the first
  // limit count as written when it was set.  A snapshot always shows the same entries.
  // lsm/GUIDE.md, "Expiry", has the effects of a clock that jumps.
  std::optional<uint32_t> expire_after = std::nullopt;

  bool operator==(const KeyspaceOptions&) const = default;
};

struct ReadOptions {
  // The moment that reads see.  Default null: now.  InvalidArgument if the snapshot belongs to
  // another DB.
  const Snapshot* snapshot = nullptr;

  // Whether to put blocks that are read from files into the block cache.  Default true.  Set it to
  // false for a scan that will not be repeated.
  bool fill_cache = true;

  // Bounds of an iterator: from lower_bound (inclusive) to upper_bound (exclusive).  NewIterator
  // copies the bytes, so they must live only until that call returns.  Read-ahead ignores the
  // bounds.
  std::optional<std::string_view> lower_bound = std::nullopt;
  std::optional<std::string_view> upper_bound = std::nullopt;
};

struct WriteOptions {
  // True: return only when the write survives a crash of the machine.  False: the write survives
  // the end of the process, but a crash of the machine may lose it together with all later writes.
  // Default false.
  bool sync = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OPTIONS_H_
