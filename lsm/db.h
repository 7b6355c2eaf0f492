// The store: what embedders include.
//
//   absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open("/var/lib/app/store");
//   absl::Status status = (*db)->Put("key", "value");
//   absl::StatusOr<std::optional<std::string>> value = (*db)->Get("key");   // nullopt: absent
//
// Keys and values are any bytes, the empty key included; keys up to 64 KiB, values up to 64 MiB,
// batches up to 256 MiB.  Keys are ordered by their bytes.  Reads accept longer keys, which are
// never found.
//
// Durability.  After a crash the store is a prefix of the order in which writes were committed,
// which contains every write that was acknowledged with `sync`, and every write before one or
// before a Flush.  A batch is there whole or not at all.  After damage to any file a read gives the
// right answer or an error that names the file and the offset; never a wrong answer, never a
// missing key.  One thing is dropped without an error: what looks like a write that a crash tore,
// at the end of a log of a store that was not closed (lsm/README.md says exactly what).
//
// Errors are absl::Status values of these kinds.  A missing key is not an error:
//
//   InvalidArgument     an option, key, value or batch is out of its range; names it and the range;
//                       or a snapshot is another DB's, or a copy would be inside its own store
//   NotFound            there is no store, and the mode or the call demands one
//   AlreadyExists       there is a store, and the mode forbids one; or a new store's log directory
//                       holds the logs of another store
//   FailedPrecondition  the store is open elsewhere, or open for reading only; or the log directory
//                       holds a store; or files with a store's names are not files of Trellis
//                       (Open: the CURRENT of LevelDB or RocksDB), or (Destroy, Repair) the logs
//                       are another store's; or this process is a forked child of the one that
//                       opened it; or the store was closed (DB::Close); or a call that may wait
//                       comes from a callback of Options::listener or from Pace::progress
//   DataLoss            a file is missing, or its bytes are not what was written: damaged, cut off,
//                       another's; names the file and, where it is there, the offset
//   Unimplemented       a file of a newer version of the format; names the file and what is new
//   ResourceExhausted   there is no memory, the disk is full, too many files are open, there are no
//                       threads for background work, or 2^56 writes or 2^53 file numbers are used
//                       up
//   Unavailable         any other failure of the file system (EIO …), with its own text; also if
//                       a directory cannot be created, or another program removed files or the
//                       directory of an open store
//   Cancelled           Pace::progress ended the call
//   Aborted             the store takes no more writes after an earlier failure; names that one
//   Unknown             of a write alone: it failed in a way that leaves open whether it is in the
//                       store; says why
//
// A write that fails with anything but Unknown is not in the store.
//
// After a failure reads go on, and show what was acknowledged before.  If a log or the manifest
// cannot be written or synced, it is unknown what is on disk: the writes in question return
// Unknown, later writes and flushes return Aborted.  A flush or a compaction that fails drops what
// it wrote, and writes go on until the next memtable, or level 0, is full.  Once the cause is gone
// (the disk has room, descriptors are free), Resume recovers: the store is then what reads showed,
// so writes of unknown outcome are not in it.  Opening the store again finds out instead: each of
// them is there whole, or not at all.  Invalid arguments and failed reads change nothing.
//
// A full disk.  The store keeps a file in reserve (Options::reserve_bytes) and gives it up when the
// disk is full: a put then returns ResourceExhausted, which says how many bytes must become free.
// What to do: if writes return Aborted or Unknown, call Resume or open the store again; delete
// keys; call CompactRange.  Puts succeed again as soon as there is space for the reserve.  A
// checkpoint keeps the space of its tables.  Repair gives the reserve up too, and builds none.
// Statistics::puts_refused and EventListener::OnSpaceChange tell this state.
//
// The time and memory that a file costs are bounded by what it holds, not by what it claims;
// RELIABILITY.md states the bounds.  If a table, a log or the manifest asks for more memory than
// there is, the error names it.
//
// Running out of memory is a failure like any other, also in the background: ResourceExhausted, or
// Unknown for a write that may be in the log.  Calls that return no status throw std::bad_alloc
// then, and change nothing: GetSnapshot, ApproximateBytes, GetStatistics, GetDamage; MultiGet, if
// there is no memory for the answers themselves; NewIterator, if there is none even for an iterator
// with an error.
//
// SIGXFSZ: a process whose files are limited (`ulimit -f`, RLIMIT_FSIZE) is killed by this signal
// when a write goes beyond the limit.  Ignore it (`signal(SIGXFSZ, SIG_IGN)`) in a process that may
// be so limited: such a write then fails with ResourceExhausted, as on a full disk.  The library
// changes no signal's disposition.
//
// Threads: any number may use one DB.  One process at a time may have a store open for writing,
// once; several may read one that no process writes.  Iterators, snapshots and pinned values may
// outlive the DB: iterators go on showing what they showed, and keep its memory and the files that
// they read open; the directory is free for another opening.
//
// A process that was forked while a store was open must not use that DB, or what came from it: it
// has none of the store's threads.  What it writes is refused, and the destructors of its DB and of
// snapshots do nothing, so that the child may call exit.  If the parent dies without closing the
// store, a child that lives on keeps it locked.
#ifndef TRELLIS_LSM_DB_H_
#define TRELLIS_LSM_DB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/event_listener.h"
#include "lsm/explanation.h"
#include "lsm/iterator.h"
#include "lsm/limits.h"
#include "lsm/options.h"
#include "lsm/pace.h"
#include "lsm/pinned_value.h"
#include "lsm/reports.h"
#include "lsm/snapshot.h"
#include "lsm/statistics.h"
#include "lsm/write_batch.h"

namespace lsm::inline TRELLIS_ABI {

class Engine;

class DB {
 public:
  // Opens the store in the directory.  Where the mode allows a new store, it also makes the
  // directory and any missing parents (likewise for Options::log_directory).  NotFound or
  // AlreadyExists as the mode says, and AlreadyExists for a new store whose Options::log_directory
  // is another store's; FailedPrecondition if it is open elsewhere; InvalidArgument for a bad
  // option, also one that the file system cannot fulfil; DataLoss for files that are damaged,
  // missing or not Trellis's: Repair may then save what there is; Unimplemented for files of a
  // newer version.  Files that are not the store's, by their names or their first bytes, are never
  // removed.
  static absl::StatusOr<std::unique_ptr<DB>> Open(const std::string& directory,
                                                  const Options& options = {});

  // Waits for the calls and the background work that are running, and syncs the log.  OK: all that
  // was acknowledged is durable, and the next opening notices if any of it is missing.  Otherwise
  // the first failure: of the last syncs, or of the log or the manifest before (GetFailure).
  // Unsynced writes are then as after a crash.  The directory is free for another opening either
  // way.  A failed flush or compaction is no failure of Close: the log has what it should write.
  //
  // May be called beside any other call and more than once; each returns the same.  Calls that
  // wait, and those that come later, return FailedPrecondition.  These go on after it:
  // GetStatistics and GetDamage show what there was until then, GetSnapshot gives a snapshot that
  // no read takes, ApproximateBytes is 0, and iterators and pinned values show what they showed.
  absl::Status Close();

  // Closes the store if that was not done.  It cannot return a failure: Close does.  Called from a
  // callback of Options::listener, from Pace::progress or in a forked child, it closes nothing: the
  // store then stays open, and its directory locked, until the process ends.
  ~DB();
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;

  // --- writes: visible to all reads that begin after they return ---
  //
  // FailedPrecondition if the store is open for reading only.  An empty batch with `sync` makes all
  // earlier writes durable, and is the way to do only that; without `sync` it does nothing.

  absl::Status Put(std::string_view key, std::string_view value, const WriteOptions& options = {});
  absl::Status Delete(std::string_view key, const WriteOptions& options = {});
  absl::Status Write(const WriteBatch& batch, const WriteOptions& options = {});

  // --- reads ---

  // The value, or nullopt if the key is not there.
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key,
                                                 const ReadOptions& options = {});

  // Whether the key is there; if so, its value is copied to `value`, whose memory is used again.
  absl::StatusOr<bool> Get(std::string_view key, std::string* value,
                           const ReadOptions& options = {});

  // The same without a copy, where the value lies in a cached block.
  absl::StatusOr<bool> Get(std::string_view key, PinnedValue* value,
                           const ReadOptions& options = {});

  // For each key what Get would return, all as of the same moment.  They are looked up side by
  // side, and blocks that are not cached are read together, each once.
  std::vector<absl::StatusOr<std::optional<std::string>>> MultiGet(
      std::span<const std::string_view> keys, const ReadOptions& options = {});

  // Over user keys, as of now or of the options' snapshot.  Never null; its status() has the error.
  // For all keys with a prefix:
  //
  //   auto iterator =
  //       db.NewIterator({.lower_bound = prefix, .upper_bound = lsm::PrefixEnd(prefix)});
  //
  // An iterator that crosses uncached blocks reads ahead, up to 248 KiB in each run of tables.  It
  // holds these bytes as long as it lives, in addition to the block cache.
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options = {});

  std::unique_ptr<const Snapshot> GetSnapshot();

  // --- upkeep ---

  // These return any error of the work that they wait for, including earlier failures that were not
  // resumed.  Flush and CompactRange: FailedPrecondition if the store is open for reading only.

  // Writes what is in memory to tables, and waits for it: after OK all earlier writes are durable.
  absl::Status Flush();

  // Flushes, then merges everything in [from, to) down to one sorted run, and waits for it;
  // nullopt: to the end on that side.  An empty range (from >= to) is OK.
  absl::Status CompactRange(std::optional<std::string_view> from = std::nullopt,
                            std::optional<std::string_view> to = std::nullopt);

  // Waits until no flush or compaction is running or due.
  absl::Status WaitForBackgroundWork();

  // Recovers from failures, once their cause is gone.  After OK the store takes writes again, and
  // is exactly what reads showed all the time.  Flushes, and begins a new log and a new manifest,
  // as an opening does; never syncs a file again whose sync failed.  OK at once if nothing failed.
  // A failure after that, even right after it, is a new one, which GetFailure returns.  After an
  // error nothing has changed: reads show what they did, writes are refused as before, and Resume
  // may be tried again.  It cannot help if the store's directory was removed or replaced, even if
  // one of that name was created again: open the store again instead.
  absl::Status Resume();

  // OK, or the first failure that was not resumed: why writes are refused, or soon will be.
  absl::Status GetFailure();

  // About how many bytes of files the keys in [from, to) take; nullopt: to the end on that side.  0
  // if from >= to.  Keys in memory do not count.
  uint64_t ApproximateBytes(std::optional<std::string_view> from = std::nullopt,
                            std::optional<std::string_view> to = std::nullopt);

  Statistics GetStatistics();

  // Every step of the lookup that Get(key) makes; counts as one.  If a table cannot be read: the
  // steps up to there, and the error of Get in `error`.
  absl::StatusOr<Explanation> Explain(std::string_view key, const ReadOptions& options = {});

  // --- care ---

  // Reads everything from the files, past the block cache, and checks it: CURRENT, the manifest and
  // the logs; of every table all checksums, the order of all keys, index, counts, what the manifest
  // says, and the filter's answer for every key; and across levels, that the newest entry of each
  // key is the one that lookups find first.  The report says what is wrong.
  //
  // Writes, reads and background work go on meanwhile.  Only while CURRENT and the manifest are
  // read do flushes, compactions and first syncs of logs wait with their notes in the manifest.
  // CURRENT, manifest and logs come first, at full speed; `pace` applies to tables.  Tables that
  // come and go meanwhile are left out.  Manifest and logs are left out after a failed write, until
  // Resume: it is unknown what they hold.
  //
  // Levels are compared if all tables are sound.  For that, tables whose keys overlap those of
  // another level are read a second time, unless one of the two holds only newer writes.  They are
  // read at the same pace, in pieces of 256 MiB, so that files that compactions make obsolete do
  // not stay long.
  //
  // Cancelled if pace.progress ends it.  ResourceExhausted without threads, descriptors or memory,
  // which is no damage.
  absl::StatusOr<VerifyReport> Verify(const Pace& pace = {});

  // Problems that Verify and scrubbing (Options::scrub_seconds) have found since the store was
  // opened, each line once; 100 at most.
  std::vector<std::string> GetDamage();

  // Makes a store in another directory that holds what this one held at some moment during the
  // call, including all that was written before the call; flushes.  Tables are hard links, which
  // cost nothing until compactions replace them here; where the file system cannot link, they are
  // copied and verified.  The directory is created if needed.  The copy is a store of its own, to
  // be opened without a log_directory.
  //
  //   InvalidArgument     the directory is inside this one's directory or log_directory, by
  //                       whatever path
  //   AlreadyExists       it has files of a store, perhaps of one that was not finished
  //   FailedPrecondition  it is in use, or this store is open for reading only
  //
  // On failure there is no copy; a directory with a LOCK file may remain (or a whole copy, if only
  // the very last sync failed).  After a crash files may remain too.  Destroy removes all of it.
  absl::Status Checkpoint(const std::string& directory);

  // The same with copies.  Each is read back (past the page cache, with Options::direct_reads and
  // where its file system can) and verified as by Verify: DataLoss if one is not what was written.
  // `base` may be an earlier backup of this store.  Tables that it has already are linked from
  // there, so that a series of backups takes the room of what changed; Destroy can remove each of
  // them.  Linked tables are verified too, and copied again if they are damaged.  NotFound if there
  // is no backup in `base`.  `pace` counts the bytes of the tables.
  absl::StatusOr<CopyReport> Backup(const std::string& directory, const std::string& base = "",
                                    const Pace& pace = {});

  // Makes a store in `directory` from a backup, a checkpoint, or any store that is not open for
  // writing and has no log_directory: opens it for reading, copies, and verifies the copies as
  // Backup does.  `options` say where the new one's logs go, who may read its files, whether copies
  // are read back directly, and of what environment both are.  A log that is a sparse file is
  // copied whole, so that it takes the time and the room of its size.  Errors as Backup, with what
  // it leaves; InvalidArgument if `directory` or Options::log_directory is inside the backup's
  // directory; NotFound if there is no backup; DataLoss if anything in it is damaged: no store is
  // made then.
  static absl::StatusOr<CopyReport> Restore(const std::string& backup, const std::string& directory,
                                            const Options& options = {}, const Pace& pace = {});

  // Destroy and Repair need the log_directory and the environment with which the store was written.
  // Destroy reads no other option.  Repair writes tables as the other options say (but not `mode`
  // and `direct_reads`).  Both return FailedPrecondition, and change nothing,
  //
  //   - if the store is open;
  //   - if the files are another product's (LevelDB and RocksDB have a CURRENT and NNNNNN.log too);
  //   - if the logs in the log_directory are another store's, as far as the manifest that CURRENT
  //     names can tell.  Without that manifest Repair takes the writes of all logs there, and keeps
  //     the files as NAME.damaged;
  //   - if that manifest names a log_directory, and none is given;
  //   - if another one without logs is given, while the store's logs are in the one that it names.

  // Removes a store's files, and the directory if it is empty then.  OK if there is no store: an
  // empty directory is removed all the same.  A directory stays, which is no error, if it holds
  // anything else (such as what Repair kept as NAME.damaged), if the path is a symbolic link (which
  // stays too) or a mount point, or if the directory above may not be changed.  All files that have
  // a store's names must be ours by their first bytes, or empty.
  //
  // FailedPrecondition, and nothing is changed, where logs would be left that no call could find:
  // the store was written with a log_directory, and none, or a wrong one, is given; or there is no
  // store, but there are logs in the log_directory.  Destroy of that directory alone removes them.
  static absl::Status Destroy(const std::string& directory, const Options& options = {});

  // Makes a store openable again from the parts of its files that can be verified.  It believes
  // entries, not what properties and manifest say of them.  OK means that the store opens.  The
  // report names what was left out, and what contradicted the entries.  It also names missing logs
  // that the store needs, whose writes are lost.  (If the logs are gone, Repair goes on without any
  // if it is given an empty log_directory.)  NotFound if the directory holds no file of a store,
  // DataLoss if there is no log_directory.  Only damage is left out: any other failure
  // (ResourceExhausted, Unavailable, and Unimplemented for files of a newer version) ends the
  // repair with the store as it was.
  static absl::StatusOr<RepairReport> Repair(const std::string& directory,
                                             const Options& options = {});

 private:
  explicit DB(std::shared_ptr<Engine> engine);
  const std::shared_ptr<Engine> engine_;
};

// E.g. "trellis 0.1.0, filters standard, blocked (AVX2), compression lz4": what this build can do.
// lsm/release.h has the version alone, for the preprocessor.
std::string BuildInfo();

}  // namespace lsm

#endif  // TRELLIS_LSM_DB_H_
