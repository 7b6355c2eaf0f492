// One repair of a store, in four steps:
//
//   1. find the files                              repair_read.cc
//   2. save the parts that pass verification       repair_rescue.cc
//   3. decide the levels of the tables             repair_place.cc
//   4. write the store                             repair_write.cc
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
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/compaction/jobs.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_reader.h"
#include "lsm/memtable/memtable.h"
#include "lsm/options.h"
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

  // --- find the files (repair_read.cc) ---
  absl::Status Prepare();
  absl::Status ReadCurrent();
  absl::Status FindManifest();
  // Adopts the state of the manifest, or returns why not.
  absl::Status TryManifest(uint64_t number);
  absl::StatusOr<ManifestContents> ReadManifestNumber(uint64_t number);
  absl::StatusOr<bool> FitsTheFiles(const ManifestState& state, uint64_t number);
  absl::Status FindDigestSeed();
  // `file_id`: nullopt accepts any.
  absl::StatusOr<std::unique_ptr<Table>> OpenAnyTable(uint64_t number,
                                                      std::optional<uint64_t> file_id);
  // Unimplemented for a table of a keyspace other than the default one: levels would mix them.
  static absl::Status CheckKeyspaceOf(const Table& table);
  // Whether the first bytes show that the file is another program's.  Such a file is reported, and
  // stays.
  absl::StatusOr<bool> IsForeign(Directory& directory, const std::string& name, FileKind kind);
  void LeaveOut(std::string line);  // each line once
  uint64_t lines_left_out() const { return report_.left_out.size() + report_.left_out_unnamed; }

  // --- save what is sound (repair_rescue.cc) ---
  absl::Status SalvageLevels();
  absl::Status SalvageLooseTables();
  // Reads the whole table.  DataLoss unless everything in it agrees with its entries, and it was
  // made for this level or one above.  `file_id`: nullopt accepts any.
  absl::StatusOr<SalvagedTable> ReadTable(uint64_t number, std::optional<uint64_t> file_id,
                                          int level);
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
  // Writes tables for level 0.
  absl::StatusOr<Tables> Flush(const Memtable& memtable);
  void DamagedLog(const std::string& name, std::string line);

  // --- decide the levels (repair_place.cc) ---
  absl::Status PlaceTables();
  // Why the tables cannot keep their levels; empty if they can.
  absl::StatusOr<std::string> FindDisorder();
  std::string FindDisorderOfSpans();
  absl::StatusOr<std::string> FindDisorderOfKeys();
  Sequence LargestSequence() const;
  // Merges tables into tables of `level` with the newest entry of each key, unless a range delete
  // of these tables hides it.  The ranges themselves stay, newest of each key, in level 0 only: in
  // deeper levels the result is the whole store.
  absl::StatusOr<Tables> Merge(const Tables& tables, int level, bool renumbers);
  // Closes the outputs.
  static Tables Written(const OpenTables& outputs);
  void Place(int level, const Tables& tables);

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
  std::array<Tables, kLevels> new_levels_;
  JobContext context_;
  Tables loose_tables_;             // tables whose level is unknown or not trusted
  Sequence salvaged_to_ = 0;        // in tables, and in records so far
  Sequence in_tables_to_ = 0;       // up to this, records of the current log are in tables
  bool log_loss_is_named_ = false;  // a line says that a log is damaged or missing
  std::unordered_set<uint64_t> left_out_digests_;  // of the lines so far
  std::set<std::string> damaged_, damaged_logs_;   // names of files that are kept
  std::map<std::string, std::string> unlinkable_;  // of damaged_, with their other names
};

}  // namespace lsm

#endif  // TRELLIS_LSM_REPAIR_REPAIR_JOB_H_
