// One repair of a store, in four steps: find out what there is (repair_read.cc), save what can be
// verified (repair_rescue.cc), place it (repair_place.cc), and write the store (repair_write.cc).
//
// It believes what it has read from entries: keys, sequences, counts.  Properties and manifest are
// claims, which must agree with that (design/repair.md).
//
// New files are written beside the old ones, then CURRENT is swapped.  Until then no file of the
// store is changed, so a repair that is cut short can be made again; and if anything fails but the
// bytes of a file (too many open files, a disk that is full or cannot be read, a file of a newer
// version), the repair ends with that, and removes what it made.
//
// A table is open only while it is read; a merge has one table of each sorted run open at a time.
// Of a log, no more is in memory than at an opening (memtable_filler.h).
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
#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {

class RepairJob {
 public:
  // The directory holds a store, or what is left of one.
  RepairJob(const Options& options, StoreDirectory store);

  absl::StatusOr<RepairReport> Run();

 private:
  // A table, described by its entries.
  struct SalvagedTable {
    TableMeta meta;
    Sequence smallest_sequence = 0;
    Sequence largest_sequence = 0;
  };
  using Tables = std::vector<SalvagedTable>;

  // --- what there is (repair_read.cc) ---
  absl::Status Prepare();
  absl::Status ReadCurrent();
  absl::Status FindManifest();
  // Adopts its state, or says why not.
  absl::Status TryManifest(uint64_t number);
  absl::StatusOr<ManifestContents> ReadManifestNumber(uint64_t number);
  absl::StatusOr<bool> FitsTheFiles(const ManifestState& state, uint64_t number);
  absl::Status FindDigestSeed();
  // With a file id: only if it is that one.
  absl::StatusOr<std::unique_ptr<Table>> OpenAnyTable(uint64_t number,
                                                      std::optional<uint64_t> file_id);
  // Whether the file is another program's, as far as its first bytes tell; it is named, and stays.
  absl::StatusOr<bool> IsForeign(Directory& directory, const std::string& name, FileKind kind);
  void LeaveOut(std::string line);  // once
  uint64_t lines_left_out() const { return report_.left_out.size() + report_.left_out_unnamed; }

  // --- what of it is sound (repair_rescue.cc) ---
  absl::Status SalvageLevels();
  absl::Status SalvageLooseTables();
  // Reads all of the table; DataLoss unless everything in it agrees with its entries and it was
  // made for this level or one above.  With a file id: only if it is that one.
  absl::StatusOr<SalvagedTable> ReadTable(uint64_t number, std::optional<uint64_t> file_id,
                                          int level);
  // Names the figures of the manifest's record that the table refutes.
  void CompareWithRecord(const TableMeta& record, const SalvagedTable& table);
  void Keep(const SalvagedTable& table, Tables* tables);
  // Names what is left out of the table, of which `damage` says that it is not sound.  The rescued
  // keep its level and its run.
  absl::StatusOr<Tables> Rescue(uint64_t number, std::optional<uint64_t> file_id, int level,
                                uint32_t run, const absl::Status& damage);
  absl::StatusOr<Tables> RescueBlocks(const Table& table, int level, uint32_t run);
  // The entries of a table that is not sound, on their way to new ones.
  struct Rescued;
  absl::Status RescueBlock(const Table& table, const IndexPart& index, size_t ordinal,
                           Rescued* rescued);
  absl::Status FlushStrays(Rescued* rescued);
  absl::Status SalvageLogs();
  // Whether a log in a directory for logs alone might belong to another store.
  bool MayBeAnothers() const { return store_.own_log_directory != nullptr && !logs_are_ours_; }
  absl::Status PassOverLog(uint64_t number);
  absl::Status SalvageLog(uint64_t number);
  absl::Status SalvageRecords(LogReader* log, uint64_t number);
  void CheckEnd(const LogReader& log, uint64_t number, uint64_t records);
  absl::Status SalvageRecord(const LogReader::Record& record, const std::string& name,
                             LogReader* log, MemtableFiller* filler);
  absl::Status FlushMemtable(const Memtable& memtable);
  // To tables of level 0.
  absl::StatusOr<Tables> Flush(const Memtable& memtable);
  void DamagedLog(const std::string& name, std::string line);

  // --- where it belongs (repair_place.cc) ---
  absl::Status PlaceTables();
  // Why the levels cannot be as they are; empty if they can.
  absl::StatusOr<std::string> FindDisorder();
  std::string FindDisorderOfRanges();
  absl::StatusOr<std::string> FindDisorderOfKeys();
  Sequence LargestSequence() const;
  // The newest entry of each key, in tables of `level`.
  absl::StatusOr<Tables> Merge(const Tables& tables, int level, bool renumbers);
  // Closes them.
  static Tables Written(const OpenTables& outputs);
  void Place(int level, const Tables& tables);

  // --- what becomes of it (repair_write.cc) ---
  absl::Status KeepDamagedFiles();
  // DataLoss if the store would not open.
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
  std::optional<std::string> current_bytes_;  // of CURRENT; nothing: missing, or far too large
  bool current_is_damaged_ = false;
  std::optional<Current> current_;  // what it says
  bool levels_known_ = false;       // there is a manifest to go by
  bool log_ids_known_ = false;      // and it is the one that CURRENT names
  bool logs_are_ours_ = false;      // by the ids that the one that CURRENT names knows
  ManifestState state_;
  std::set<uint64_t> needed_logs_;  // that the manifest demands
  std::array<Tables, kLevels> new_levels_;
  JobContext context_;
  Tables loose_tables_;                            // whose level is not known, or not believed
  Sequence salvaged_to_ = 0;                       // by tables and the records so far
  Sequence in_tables_to_ = 0;                      // records of this log that begin by then
  bool log_loss_is_named_ = false;                 // of a log that is damaged or missing
  std::unordered_set<uint64_t> left_out_digests_;  // of the lines so far
  std::set<std::string> damaged_, damaged_logs_;   // names of files that are kept as they are
};

}  // namespace lsm

#endif  // TRELLIS_LSM_REPAIR_REPAIR_JOB_H_
