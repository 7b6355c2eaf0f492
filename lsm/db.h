// The store: the header that embedders include.
//
//   absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open("/var/lib/app/store");
//   absl::Status status = (*db)->Put("key", "value");
//   absl::StatusOr<std::optional<std::string>> value = (*db)->Get("key");   // nullopt: absent
//
// Keys and values are any bytes; the empty key is a key like any other.  Keys are ordered by their
// bytes.  Limits: keys 64 KiB, values 64 MiB, batches 256 MiB.  A read may ask for a longer key; it
// is never found.
//
// Durability.  Writes are committed in one order.  After a crash the store holds a prefix of that
// order.  The prefix contains every write that was acknowledged with `sync` or followed by a
// successful Flush, and every write before one of these.  A batch is applied whole or not at all.
//
// Damage.  After damage to any file a read returns the right answer, or an error that names the
// file and the offset.  It never returns a wrong answer, and never loses a key silently.  One
// exception: at the end of a log of a store that was not closed, damage that looks like a write
// torn by a crash is dropped without an error (lsm/design/log_tail.md).
//
// Errors are absl::Status values.  A missing key is not an error.
//
//   InvalidArgument     an option, key, value or batch is out of its range: the message names it
//                       and the range; or a snapshot belongs to another DB; or a copy would lie
//                       inside its own store
//   NotFound            there is no store, and the mode or the call requires one
//   AlreadyExists       there is a store, and the mode forbids one; or the log directory of a new
//                       store holds the logs of another store
//   FailedPrecondition  the store is open elsewhere, or open for reading only, or was closed
//                       (DB::Close); the log directory holds a store; files with a store's names
//                       were not written by Trellis (Open: the CURRENT of LevelDB or RocksDB); the
//                       logs are another store's (Destroy, Repair); this process is a forked child
//                       of the one that opened the store; a call that may wait was made inside a
//                       callback (Options::listener, Pace::progress)
//   DataLoss            a file is missing, or its bytes are not those that were written; names the
//                       file and, if the file exists, the offset
//   Unimplemented       a file was written by a newer version of the format; names the file and the
//                       unknown part
//   ResourceExhausted   memory, disk space, file descriptors or threads have run out; or 2^56
//                       writes or 2^53 file numbers are used up
//   Unavailable         any other failure of the file system (EIO …), with its own text; also: a
//                       directory cannot be created, or another program removed files or the
//                       directory of an open store
//   PermissionDenied    an object store refuses this client (object_pool.h)
//   Cancelled           Pace::progress ended the call
//   Aborted             the store takes no more writes after an earlier failure; names that failure
//   Unknown             writes only, also OpenKeyspace and DropKeyspace: the write failed, and may
//                       or may not be in the store
//
// A write that fails with any code but Unknown is not in the store.
//
// After a failure, reads continue and show what was acknowledged before it.
//
//   failed                      then
//   -------------------------   ------------------------------------------------------------------
//   an argument; a read         nothing changes
//   a flush or compaction       its output is dropped; writes continue until the next memtable, or
//                               level 0, is full
//   a write or sync of a log    the state on disk is unknown: the affected writes return Unknown,
//   or the manifest             later writes and flushes return Aborted
//
// Once the cause is gone (the disk has space, descriptors are available), Resume recovers.  The
// store then holds what reads showed, without the writes that returned Unknown.  If you open the
// store again instead, each of those writes is applied whole or not at all.
//
// A full disk.  The store keeps a file in reserve (Options::reserve_bytes) and gives it up when the
// disk is full.  A put then returns ResourceExhausted and says how many bytes must become free.  To
// make space:
//
//   1. If writes return Aborted or Unknown, call Resume or open the store again.
//   2. Delete keys, by Delete or DeleteRange, or drop keyspaces.  (A batch that also has a put is
//      refused.)
//   3. Call CompactRange.
//
// Puts succeed again as soon as there is space for the reserve.  Statistics::puts_refused and
// EventListener::OnSpaceChange report the state.  A checkpoint keeps the space of its tables in
// use.  Repair gives the reserve up too, and creates no new one.
//
// Memory.  The time and memory that a file costs are bounded by the bytes that it stores, whatever
// sizes it claims, also if it is sparse; lsm/RELIABILITY.md has the bounds.  If there is not enough
// memory for a table, a log or the manifest, the error names that file.  Running out of memory is
// an error like any other, also in background work: ResourceExhausted, or Unknown for a write that
// may be in the log.  Calls that return no status throw std::bad_alloc instead, and change nothing:
//
//   GetSnapshot, ApproximateBytes, GetStatistics, GetDamage
//   MultiGet      if there is no memory for the answers themselves
//   NewIterator   if there is no memory even for an iterator that reports the error
//
// SIGXFSZ.  Where the size of files is limited (`ulimit -f`, RLIMIT_FSIZE), this signal kills a
// process that writes beyond the limit.  Ignore it (`signal(SIGXFSZ, SIG_IGN)`): the write then
// fails with ResourceExhausted, as on a full disk.  The library changes no signal's disposition.
//
// Threads.  Any number of threads may use one DB.
//
// Processes.  One process at a time may have a store open for writing, and only once.  Several may
// have it open for reading, if none has it open for writing.
//
// Lifetime.  Iterators, snapshots, pinned values and Keyspace handles may outlive the DB, but not
// the file system and the clock of Options::environment.  Such an iterator still shows the same
// entries, and keeps the memory and the open files that it needs.  The directory can be opened
// again meanwhile.
//
// Fork.  A process that was forked while a store was open must not use that DB or its iterators,
// snapshots, values and handles: it has none of the store's threads.  Its writes are refused.  The
// destructors of its DB and snapshots do nothing, so it may call exit.  If the parent dies without
// closing the store, a child that lives on keeps the store locked.
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
#include "lsm/keyspace.h"
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

class TRELLIS_API DB {
 public:
  // Opens the store in `directory`.  Where the mode allows a new store, creates the directory and
  // any missing parents (likewise for Options::log_directory).  Never removes a file whose name or
  // first bytes are not those of a store's file.
  //
  //   NotFound, AlreadyExists   as the mode says; AlreadyExists also if Options::log_directory of a
  //                             new store is another store's
  //   FailedPrecondition        the store is open elsewhere; or see the table above
  //   InvalidArgument           an option is out of range, or the file system does not support it;
  //                             or the store has a keyspace without filters, and there is a
  //                             filter_goal
  //   DataLoss                  files are damaged, missing or not Trellis's.  Repair may save the
  //                             rest
  //   Unimplemented             files of a newer version of the format
  static absl::StatusOr<std::unique_ptr<DB>> Open(const std::string& directory,
                                                  const Options& options = {});

  // Waits for running calls and background work, and syncs the log.  The directory can be opened
  // again afterwards, whatever Close returns.
  //
  // OK means: all acknowledged writes are durable, and the next opening notices if any is missing.
  // Otherwise returns the first failure: that of a last sync, or an earlier failure of the log or
  // the manifest (GetFailure).  Unsynced writes may then be lost, as after a crash.  A failed flush
  // or compaction does not make Close fail, since the log holds those writes.
  //
  // Any thread may call Close, at any time and repeatedly; each call returns the same status.
  // Other calls that are waiting, and all later ones, return FailedPrecondition, except:
  //
  //   GetStatistics              has the counters at the time of Close; tables and memtables are 0
  //   GetDamage                  shows the state at the time of Close
  //   GetSnapshot                returns a snapshot that every read refuses
  //   ApproximateBytes           returns 0
  //   iterators, pinned values   stay usable
  absl::Status Close();

  // Closes the store if Close was not called.  A destructor cannot report a failure; call Close for
  // that.  In a callback of Options::listener, in Pace::progress and in a forked child it closes
  // nothing: the store then stays open, and its directory locked, until the process ends.
  ~DB();
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;

  // --- writes: visible to all reads that begin after they return ---
  //
  // FailedPrecondition if the store is open for reading only.  To make all earlier writes durable,
  // write an empty batch with `sync`.  Without `sync` an empty batch does nothing.

  absl::Status Put(std::string_view key, std::string_view value, const WriteOptions& options = {});
  absl::Status Delete(std::string_view key, const WriteOptions& options = {});
  // Deletes all keys in [from, to), or from `from` on if `to` is nullopt.  Writes one entry,
  // however many keys there are.  Returns OK and does nothing if `to` is not above `from`; an empty
  // `to` never is.  InvalidArgument if a bound is longer than kRangeBoundBytesMax (lsm/limits.h).
  //
  // Space: a table that lies wholly in the range is removed unread, once the range is flushed and
  // no older snapshot needs the table.  The store flushes early only if that frees at least what it
  // costs, which is 1 MiB or more (and not for the common tree).  A table that lies partly in the
  // range keeps its deleted keys until a compaction rewrites it.  To free whole tables at once,
  // call Flush and WaitForBackgroundWork; to free everything, call CompactRange.  Existing
  // iterators still show the keys, and keep the files.
  absl::Status DeleteRange(std::string_view from, std::optional<std::string_view> to,
                           const WriteOptions& options = {});
  absl::Status Write(const WriteBatch& batch, const WriteOptions& options = {});

  // --- reads ---

  // The value, or nullopt if the key is absent.
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key,
                                                 const ReadOptions& options = {});

  // Returns whether the store has the key.  If so, copies its value to `value`, whose memory is
  // reused.
  absl::StatusOr<bool> Get(std::string_view key, std::string* value,
                           const ReadOptions& options = {});

  // As above, but without a copy if the value lies in a cached block.
  absl::StatusOr<bool> Get(std::string_view key, PinnedValue* value,
                           const ReadOptions& options = {});

  // Returns for each key what Get would return, all as of the same moment.  Looks the keys up
  // together: uncached blocks are read together, each one once.
  std::vector<absl::StatusOr<std::optional<std::string>>> MultiGet(
      std::span<const std::string_view> keys, const ReadOptions& options = {});

  // Walks user keys, as of now or of the options' snapshot.  Never null; an error is in its
  // status().  For all keys with a prefix:
  //
  //   auto iterator =
  //       db.NewIterator({.lower_bound = prefix, .upper_bound = lsm::PrefixEnd(prefix)});
  //
  // An iterator that crosses uncached blocks reads ahead, up to 248 KiB in each sorted run.  It
  // holds these bytes until it is destroyed, in addition to the block cache.
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options = {});

  std::unique_ptr<const Snapshot> GetSnapshot();

  // --- keyspaces (lsm/keyspace.h) ---

  // Returns the keyspace of this name.  Creates it if there is none.  Stores the options that are
  // set; the others keep their values.  "default" is the keyspace of the calls above; its options
  // are those of Open.  Two threads that create one name get the same keyspace.
  //
  // A creation or a change of options is a write.  It is as durable as a put without `sync`, may
  // wait like a put, and has the errors of a write.  After Unknown, call Resume: the store then
  // lacks the change.
  //
  // New keyspaces share the levels and tables of one tree, the common one.  A flush writes and
  // syncs one table for all of them.  There the options of the store apply, not those of a
  // keyspace.
  //
  // A keyspace with Options::write_buffer_bytes or more in tables is large.  A later flush that has
  // entries of it gives it levels and tables of its own; from then on its options act.  At most one
  // keyspace moves in a flush, the largest.  A store has at most write_buffer_bytes / 1 MiB such
  // keyspaces, from 1 to 64, because each adds a table and its syncs to a flush.  A keyspace that
  // exceeds four times write_buffer_bytes before it can move stays in the common tree.
  //
  // Limits:
  //
  //   - A store has at most kKeyspacesMax keyspaces (lsm/limits.h), besides "default".  Each takes
  //     about 600 bytes of memory and its name.
  //   - Keyspaces in the common tree have no early flushes for the space that deletes and range
  //     deletes free.
  //
  // OpenMode::kFollow: a keyspace and its options are those of the current view.  If the writer
  // drops the keyspace, calls of its handles return FailedPrecondition from the view on that shows
  // the drop.  If a crash of the writer's machine loses the creation, they do so from the view on
  // that lacks the keyspace.
  //
  // Errors:
  //
  //   InvalidArgument      the name is empty or longer than 255 bytes; an option is out of range;
  //                        an option other than expire_after is set for "default"; filter_kind is
  //                        "none", and there is a filter_goal
  //   NotFound             the store is open for reading only, and has no such keyspace
  //   FailedPrecondition   the store is open for reading only, and an option differs; it was
  //                        closed; this process is a forked child; or a callback creates a keyspace
  //                        or changes options
  //   ResourceExhausted    the keyspace is new, and the disk is full (a change of options is
  //                        accepted, like a delete), or kKeyspacesMax keyspaces exist, or 2^32 - 2
  //                        were created
  //   Aborted, Unknown     as for a write
  absl::StatusOr<Keyspace> OpenKeyspace(std::string_view name, const KeyspaceOptions& options = {});
  // Removes the keyspace with all its keys, as durably as a put without `sync`.  From then on calls
  // of its handles return FailedPrecondition, even with an older snapshot (lsm/keyspace.h), and so
  // does Write of a batch that names it: nothing of the batch is written.  An iterator that exists
  // goes on.  A new keyspace may have the name.  A drop needs no space, so it works while the disk
  // is full.
  //
  // Space: if the keyspace has tables of its own, the flush that covers the drop removes them.  A
  // large drop causes that flush, as deletes do that free more than they cost.  In the common tree,
  // tables that hold only dropped keys are removed unread.  Tables that are half full of them are
  // compacted soon; keyspaces of less than two blocks (Options::block_bytes) do not count for that.
  // The rest is freed when compactions rewrite its tables, at the latest after a week, as deleted
  // values are (lsm/GUIDE.md, "How long a value stays").  To free it sooner, call
  // DeleteRange("", nullopt) and CompactRange of the handle before the drop.
  //
  //   NotFound             there is none
  //   InvalidArgument      it is "default"
  //   FailedPrecondition   the store is open for reading only; it was closed; this process is a
  //                        forked child; or a callback drops a keyspace
  //   Aborted, Unknown     as for a write; after Unknown, call Resume: the keyspace then still
  //   exists
  absl::Status DropKeyspace(std::string_view name);
  // The names, sorted by their bytes, with "default".  OpenMode::kFollow: those of the current
  // view.
  absl::StatusOr<std::vector<std::string>> ListKeyspaces();

  // --- flushes, compactions and state ---

  // These return any error of the work that they wait for, including earlier failures that were not
  // resumed.  Flush and CompactRange return FailedPrecondition if the store is open for reading
  // only.

  // Writes the memtables, with the entries of all keyspaces, to tables, and waits for that.  After
  // OK all earlier writes are durable.
  absl::Status Flush();

  // Flushes, merges all entries of the default keyspace in [from, to) into one sorted run, and
  // waits for that.  (Keyspace::CompactRange does so in another one.)  While it waits for its turn,
  // no other compaction begins in any keyspace.  nullopt: unbounded on that side.  An empty range
  // (from >= to) is OK.
  absl::Status CompactRange(std::optional<std::string_view> from = std::nullopt,
                            std::optional<std::string_view> to = std::nullopt);

  // Checks whether deletes make a flush or a compaction due, as a thread of the store does every
  // 10 s.  Then waits until no flush or compaction is running or due.
  absl::Status WaitForBackgroundWork();

  // Recovers after failures whose cause is gone.  Flushes, and begins a new log and a new manifest,
  // as an opening does.  Never syncs a file again whose sync failed.
  //
  // OK: the store takes writes again, and holds exactly what reads have shown.  OK at once if
  // nothing has failed.  A later failure, even right after Resume, is a new one, which GetFailure
  // returns.
  //
  // Error: nothing has changed.  Reads continue, writes are still refused, and Resume may be called
  // again.  Resume cannot help if the store's directory was removed or replaced, even if a
  // directory of that name exists again.  In that case, open the store again.
  //
  // OpenMode::kFollow: refreshes the view now.  After OK, reads see every write that the writer
  // acknowledged before the call.  Errors:
  //
  //   FailedPrecondition  another store has taken the place of the one that was opened, or its logs
  //                       are in another directory: open it again
  //   Unavailable         there is no store any more; or a file is missing; or the store changes
  //                       faster than it can be read
  //   DataLoss, Unimplemented, ResourceExhausted: as for Open
  absl::Status Resume();

  // OK, or the failure that is not resumed.  If there are several, the first of these: log,
  // manifest, flush, compaction.  While there is one, writes are refused or soon will be.
  // OpenMode::kFollow: the error of the last refresh, which is tried again twice a second.
  absl::Status GetFailure();

  // Approximate size in files, in bytes, of the default keyspace's keys in [from, to). nullopt:
  // unbounded on that side. 0 if from >= to.  Keys in memtables do not count.
  uint64_t ApproximateBytes(std::optional<std::string_view> from = std::nullopt,
                            std::optional<std::string_view> to = std::nullopt);

  Statistics GetStatistics();

  // Performs the lookup of Get(key) and returns every step of it.  Statistics count it as a lookup.
  // If a table cannot be read, returns the steps before that, and the error of Get in `error`.
  absl::StatusOr<Explanation> Explain(std::string_view key, const ReadOptions& options = {});

  // --- verification, copies and repair ---

  // Reads all files of the store, not through the block cache, and reports what is wrong with them.
  // Checks:
  //
  //   - CURRENT, the manifest and the logs;
  //   - each table: all checksums, the order of the keys, index, counts, the manifest's record of
  //     the table, and the filter's answer for every key;
  //   - across levels: a lookup finds the newest entry of each key first.
  //
  // Writes, reads and background work continue meanwhile.  One exception: while Verify reads
  // CURRENT and the manifest, a flush, a compaction or the first sync of a log must wait before it
  // records itself in the manifest.  CURRENT, manifest and logs come first, at full speed; `pace`
  // applies to tables.
  //
  // Not checked: tables that are created or removed during the call; after a failed write, also
  // manifest and logs, until Resume, since their content is unknown.  OpenMode::kFollow checks only
  // the tables of its view, one by one.
  //
  // Levels are compared only if all tables are sound.  This reads a table a second time if its keys
  // overlap those of another level, unless one of the two holds only newer writes.  These reads
  // keep to the same pace.  They go in pieces of 256 MiB, so that the files of obsolete tables are
  // not held for long.
  //
  // Cancelled if pace.progress ends the call.  ResourceExhausted if threads, descriptors or memory
  // run out; that is not damage.
  absl::StatusOr<VerifyReport> Verify(const Pace& pace = {});

  // Problems found by Verify and by scrubbing (Options::scrub_seconds) since the store was opened.
  // Each line is listed once; at most 100 lines.
  std::vector<std::string> GetDamage();

  // Creates a second store, in `directory`, with the state of this one at some moment during the
  // call.  It contains all writes made before the call.  Flushes first.  Tables are hard links,
  // which take no space until compactions here replace the originals; where the file system cannot
  // link, they are copied and verified.  Creates the directory if needed.  Open the copy without a
  // log_directory.
  //
  //   InvalidArgument     `directory` lies inside this store's directory or log_directory, by
  //                       whatever path
  //   AlreadyExists       it has files of a store, perhaps of an unfinished one
  //   FailedPrecondition  it is in use, or this store is open for reading only
  //
  // On failure there is no copy.  A directory with a LOCK file may remain, or a whole copy if only
  // the very last sync failed.  A crash may also leave files.  Destroy removes all of these.
  //
  // `file_system` has the copy; null: that of this store.  From one file system to another, tables
  // are copied and verified.  If both ends are in one pool of objects, tables are copied by
  // reference, even if each end has its own client (ObjectPool::Identity).
  //
  // `only` has the keyspaces of the copy; empty: all.  Others do not exist in the copy, so they can
  // be created there, empty.  "default" always exists; to have its keys, name the handle that
  // OpenKeyspace("default") returns.  The common tree comes along as a whole if a chosen keyspace
  // is in it.  The copy then holds the bytes of the others there, and no call shows them, until
  // compactions in the copy remove them.  Further errors:
  //
  //   InvalidArgument     a handle is of another DB
  //   FailedPrecondition  a keyspace was dropped, or a handle belongs to no store
  absl::Status Checkpoint(const std::string& directory, FileSystem* file_system = nullptr,
                          std::span<const Keyspace> only = {});

  // Like Checkpoint, but always copies the tables, even within one pool: a backup must survive
  // damage to the bytes of this store.  Each copy is read back and verified as Verify does:
  // DataLoss if it differs from what was written.  With Options::direct_reads, the copy is read
  // past the page cache if its file system supports that.
  //
  // `base` may name an earlier backup of this store.  Tables that it already has are linked from
  // there, so each backup of a series takes only the space of its changes.  Destroy can remove any
  // one of them.  A linked table is verified too, and copied again if it is damaged.  NotFound if
  // `base` holds no backup.  `pace` counts the bytes of tables.  `file_system` has both `directory`
  // and `base`; null: that of this store.  `base` may have other keyspaces than `only` names, and
  // CopyReport::other_bytes says how many bytes of keyspaces that were not chosen come along.
  absl::StatusOr<CopyReport> Backup(const std::string& directory, const std::string& base = "",
                                    const Pace& pace = {}, FileSystem* file_system = nullptr,
                                    std::span<const Keyspace> only = {});

  // Creates a store in `directory` from a backup, a checkpoint, or any store that has no
  // log_directory and is not open for writing.  Opens it for reading, copies its files, and
  // verifies the copies as Backup does.
  //
  // `options` apply to the new store: where its logs go, who may read its files, whether copies are
  // read back directly.  Their environment applies to both, but `file_system`, unless null, has the
  // backup.  A sparse log is copied whole and takes the time and space of its full size.
  //
  // On an error no store is created.  Errors and leftovers as for Backup, and:
  //
  //   InvalidArgument  `directory` or Options::log_directory lies inside the backup's directory
  //   NotFound         there is no backup
  //   DataLoss         any part of the backup is damaged
  static absl::StatusOr<CopyReport> Restore(const std::string& backup, const std::string& directory,
                                            const Options& options = {}, const Pace& pace = {},
                                            FileSystem* file_system = nullptr);

  // Destroy and Repair need the log_directory and the environment with which the store was written.
  // Destroy reads no other option.  Repair writes tables as the other options say (it ignores
  // `mode` and `direct_reads`).  Both return FailedPrecondition, and change nothing, in these
  // cases:
  //
  //   - The store is open.
  //   - The files are another product's (LevelDB and RocksDB also have CURRENT and NNNNNN.log).
  //   - The logs in the log_directory are another store's, according to the manifest that CURRENT
  //     names.  Without that manifest Destroy refuses logs that hold writes.  Repair takes the
  //     writes of all logs there, and keeps the files as NAME.damaged.
  //   - The manifest names a log_directory, and none is given.
  //   - A different log_directory without logs is given, while the one that the manifest names has
  //     the store's logs.

  // Removes the files of the store, and then the directory if it is empty.  OK if there is no
  // store; an empty directory is removed then too.  The directory stays, and Destroy returns no
  // error for that, if
  //
  //   - it holds anything else, for example files that Repair kept as NAME.damaged;
  //   - the path is a symbolic link (which stays too) or a mount point;
  //   - the parent directory may not be changed.
  //
  // Every file with the name of a store's file must be empty or begin as Trellis's files do.
  // FailedPrecondition, with nothing changed, if logs would remain that no call could find: the
  // store was written with a log_directory, and none or a wrong one is given; or there is no store,
  // but the log_directory holds logs.  To remove such logs, call Destroy on the log directory
  // itself.
  static absl::Status Destroy(const std::string& directory, const Options& options = {});

  // Makes a store openable again from those parts of its files that pass verification.  Trusts the
  // entries over properties and manifest.  OK means that the store opens.  The report names
  // everything that was left out, contradictions to the entries, and missing logs that the store
  // needs: their writes are lost.
  //
  // Keyspaces keep their names, options and keys.  Without a reliable manifest, tables and logs
  // tell what they know of names and options.  A keyspace with keys whose name is lost gets the
  // name "keyspace-ID", and the report says so.  That may be one that was dropped.
  //
  //   NotFound           the directory holds no file of a store
  //   DataLoss           the log_directory does not exist.  If the logs are gone for good, give an
  //                      empty log_directory: Repair then works without logs
  //   any other failure  (ResourceExhausted, Unavailable; Unimplemented for files of a newer
  //                      version; an error of Open for the options of a keyspace) ends the repair
  //                      and leaves the store as it was.  Only damage is left out
  static absl::StatusOr<RepairReport> Repair(const std::string& directory,
                                             const Options& options = {});

 private:
  explicit DB(std::shared_ptr<Engine> engine);
  const std::shared_ptr<Engine> engine_;
};

// Describes this build, e.g. "trellis 0.1.0, filters standard, blocked (AVX2), compression lz4".
// lsm/release.h has the version alone, for the preprocessor.
TRELLIS_API std::string BuildInfo();

}  // namespace lsm

#endif  // TRELLIS_LSM_DB_H_
