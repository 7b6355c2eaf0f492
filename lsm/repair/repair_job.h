// One repair of a store, in four steps:
//
//   1. find the files                              repair_read.cc
//   2. save the parts that pass verification       repair_rescue.cc
//   3. decide the levels of the tables             repair_place.cc
//   4. write the store                             repair_write.cc
//
// Each tree is a store of its own in steps 2 and 3.  What the files say about keyspaces is in
// found_keyspaces.h, and repair_keyspaces.cc reads and writes it.
//
// It trusts what it reads from entries and range deletes: keys, sequences, counts.  Properties and
// manifest are claims, which must agree with these (design/repair.md).
//
// New files are written beside the old ones, then CURRENT is swapped.  Until then no file of the
// store changes, so an interrupted repair can be repeated.  Damaged bytes do not end a repair.  Any
// other failure does (too many open files, a full or unreadable disk, a file of a newer version):
// the repair returns that error and removes its new files.
//
// A table is open only while it is read; a merge has one table of each sorted run open.  The range
// deletes of all tables stay in memory: a merge applies them to keys beyond the entries of their
// own table.  Logs take no more memory than at an opening (memtable_filler.h).
#ifndef TRELLIS_LSM_REPAIR_REPAIR_JOB_H_
#define TRELLIS_LSM_REPAIR_REPAIR_JOB_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/key_span.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/common_output.h"
#include "lsm/compaction/jobs.h"
#include "lsm/fs/file_names.h"
#include "lsm/iterator.h"
#include "lsm/log/log_reader.h"
#include "lsm/memtable/memtable.h"
#include "lsm/options.h"
#include "lsm/repair/found_keyspaces.h"
#include "lsm/reports.h"
#include "lsm/store/memtable_filler.h"
#include "lsm/store/store_directory.h"
#include "lsm/store/store_files.h"
#include "lsm/version/key_order.h"
#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {

class RepairJob {
 public:
  // `store` is a directory with a store, or with remains of one.
  RepairJob(const Options& options, StoreDirectory store);

  absl::StatusOr<RepairReport> Run();

 private:
  // A table, described from its entries and range deletes.
  using SalvagedTable = AgedTable;
  using Tables = std::vector<SalvagedTable>;
  struct SalvagedTree {
    std::array<Tables, kLevels> levels;
    Tables loose;  // tables whose level is unknown or not trusted
  };

  // --- find the files (repair_read.cc) ---
  absl::Status Prepare();
  absl::Status ReadCurrent();
  absl::Status FindManifest();
  // Adopts the state of the manifest, or returns why not.
  absl::Status TryManifest(uint64_t number);
  absl::StatusOr<ManifestContents> ReadManifestNumber(uint64_t number);
  absl::StatusOr<bool> FitsTheFiles(const ManifestState& state, uint64_t number);
  absl::Status FindDigestSeed();
  // `record`: the manifest's.  Null: none, and any table with this number will do.
  absl::StatusOr<std::unique_ptr<Table>> OpenAnyTable(uint64_t number, const TableMeta* record);
  // DataLoss if the table is of another tree than the record says.  Its keys would be taken for
  // those of another keyspace.
  static absl::Status CheckKeyspaceOf(const Table& table, const TableMeta* record);
  // Whether the first bytes show that the file is another program's.  Such a file is reported, and
  // stays.
  absl::StatusOr<bool> IsForeign(Directory& directory, const std::string& name, FileKind kind);
  void LeaveOut(std::string line);  // each line once
  FoundKeyspaces::Say Say() {
    return [this](const std::string& line) { LeaveOut(Concat(directory_.path(), ": ", line)); };
  }
  uint64_t lines_left_out() const { return report_.left_out.size() + report_.left_out_unnamed; }

  // --- save what is sound (repair_rescue.cc) ---
  absl::Status SalvageLevels();
  absl::Status SalvageLooseTables();
  // Reads the whole table.  DataLoss unless everything in it agrees with its entries, and it was
  // made for this level or one above.  `record`: as for OpenAnyTable.
  absl::StatusOr<SalvagedTable> ReadTable(uint64_t number, const TableMeta* record, int level);
  // Reports the figures in the manifest's record that the table contradicts.
  void CompareWithRecord(const TableMeta& record, const SalvagedTable& table);
  void Keep(const SalvagedTable& table, Tables* tables);
  // Saves the sound blocks and the range deletes of an unsound table, and reports what is left out.
  // `damage` is why it is unsound.  The new tables keep its level, and the run of the manifest's
  // record; null: there is no record.
  absl::StatusOr<Tables> Rescue(uint64_t number, int level, const TableMeta* record,
                                const absl::Status& damage);
  absl::StatusOr<Tables> RescueBlocks(const Table& table, int level, uint32_t run);
  // Saved entries of unsound tables, before they are written to new tables.
  struct Rescued;
  absl::Status RescueBlock(const Table& table, const IndexPart& index, size_t ordinal,
                           Rescued* rescued);
  absl::Status FlushStrays(Rescued* rescued);
  absl::Status SalvageLogs();
  // Whether a log in a separate log directory might belong to another store.
  bool MayBeAnothers() const { return store_.own_log_directory != nullptr && !logs_are_ours_; }
  absl::Status PassOverLog(uint64_t number);
  absl::Status SalvageLog(uint64_t number);
  absl::Status SalvageRecords(LogReader* log, uint64_t number);
  void CheckEnd(const LogReader& log, uint64_t number, uint64_t records);
  absl::Status SalvageRecord(const LogReader::Record& record, const std::string& name,
                             LogReader* log, MemtableFiller* filler);
  absl::Status FlushMemtable(const Memtable& memtable);
  // Makes a table of level 0 that is newer than those before it; or a loose table, if its age is
  // unknown.
  absl::Status FlushTo(KeyspaceId tree, Iterator& entries, const RangeMap& ranges);
  // Writes tables for level 0 of a tree.
  absl::StatusOr<Tables> Flush(KeyspaceId tree, Iterator& entries, const RangeMap& ranges);
  void DamagedLog(const std::string& name, std::string line);

  // --- keyspaces (repair_keyspaces.cc) ---
  // Finds the names in the common tree, and the ids that it has entries of.
  absl::Status ReadCommonTree();
  absl::Status ReadCommonTable(const SalvagedTable& table);
  absl::Status ReadName(const Iterator& entry, const Table& table);
  // All is known now: adopts the keyspaces, and removes the trees of those that were dropped.
  void FinishKeyspaces();
  void NoteOptions(const KeyspaceRecords& records);
  // Merges into own trees what a leaving that a crash cut off has left in the common tree.
  absl::Status FinishLeavings();
  absl::StatusOr<Tables> TakeOutOfCommonTree(KeyspaceId keyspace);
  // The names of all keyspaces, or of those that the common tree may lack, and the drops.
  CommonOutput Names(bool all, Sequence sequence) const;
  // For jobs that write to this tree.
  absl::StatusOr<JobContext> ContextOf(KeyspaceId tree) const;

  // --- decide the levels (repair_place.cc) ---
  absl::Status PlaceTables();
  absl::Status PlaceTree(KeyspaceId id, SalvagedTree* tree, Sequence names_sequence,
                         bool renumbers);
  // Why the tables cannot keep their levels; empty if they can.
  absl::StatusOr<std::string> FindDisorder(SalvagedTree* tree);
  static std::string FindDisorderOfSpans(SalvagedTree* tree);
  absl::StatusOr<std::string> FindDisorderOfKeys(const SalvagedTree& tree);
  Sequence LargestSequence() const;
  // Calls `add` for the newest entry of each key in the span, unless one of these ranges hides it.
  using AddEntry =
      std::function<absl::Status(std::string_view internal_key, std::string_view value)>;
  absl::Status ForNewest(const Tables& tables, const KeySpan& span, const RangeMap& ranges,
                         const AddEntry& add);
  // Merges tables of level 0 into tables with the newest entry of each key, unless a range delete
  // of these tables hides it.  The ranges themselves stay, newest of each key.
  absl::StatusOr<Tables> MergeLevel0(KeyspaceId tree, const Tables& tables);
  // Merges all tables of a tree into level 1.  No ranges stay.  In the common tree, only the
  // entries of its members do, and the names are written again, with this sequence.
  absl::StatusOr<Tables> MergeTree(KeyspaceId tree, const Tables& tables, Sequence names_sequence,
                                   bool renumbers);
  // Closes the outputs.
  static Tables Written(const OpenTables& outputs);
  static RangeMap NewestRangesOf(const Tables& tables);
  void Place(KeyspaceId tree, int level, const Tables& tables);

  // --- write the store (repair_write.cc) ---
  absl::Status KeepDamagedFiles();
  // DataLoss if the result would not open.
  absl::Status CheckOutcome();
  absl::Status WriteManifest();
  void RemoveDamagedFiles();

  const Options options_;
  const StoreDirectory store_;
  Directory& directory_;
  Directory& logs_;
  RepairReport report_;
  NewFiles made_;
  uint64_t next_number_ = 1;
  std::optional<std::string> current_bytes_;  // of CURRENT; nullopt: missing, or far too large
  bool current_is_damaged_ = false;
  std::optional<Current> current_;  // decoded CURRENT
  bool levels_known_ = false;       // a manifest tells the levels
  bool log_ids_known_ = false;      // and it is the one that CURRENT names
  bool logs_are_ours_ = false;      // their ids match the manifest that CURRENT names
  ManifestState state_;
  std::set<uint64_t> needed_logs_;  // required by the manifest
  FoundKeyspaces keyspaces_;
  KeyspaceRecords manifest_keyspaces_;  // none if no manifest is reliable
  bool names_are_lost_ = false;         // a table of the common tree was damaged
  std::set<KeyspaceId> named_;          // the common tree has a name of them, or a tombstone
  std::map<KeyspaceId, SalvagedTree> trees_;
  JobContext context_;
  OwnOptions own_options_;
  uint64_t first_new_number_ = 0;   // tables from this number on were made by this repair
  Sequence salvaged_to_ = 0;        // in tables, and in records so far
  Sequence in_tables_to_ = 0;       // up to this, records of the current log are in tables
  bool log_loss_is_named_ = false;  // a line says that a log is damaged or missing
  std::unordered_set<uint64_t> left_out_digests_;  // of the lines so far
  std::set<std::string> damaged_, damaged_logs_;   // names of files that are kept
  std::map<std::string, std::string> unlinkable_;  // of damaged_, with their other names
};

}  // namespace lsm

#endif  // TRELLIS_LSM_REPAIR_REPAIR_JOB_H_
