// One repair of a store, in three acts: read what there is (repair_read.cc), rescue what can be
// verified (repair_rescue.cc), and write what the store is to be (repair_write.cc).
//
// New files are written beside the old ones, then CURRENT is swapped.  Until then no file that was
// there is changed, so a repair that is cut short can be made again.
#ifndef TRELLIS_LSM_ENGINE_REPAIR_JOB_H_
#define TRELLIS_LSM_ENGINE_REPAIR_JOB_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/base/options.h"
#include "lsm/base/repair_report.h"
#include "lsm/compaction/jobs.h"
#include "lsm/engine/store_directory.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_reader.h"
#include "lsm/memtable/memtable.h"
#include "lsm/version/manifest.h"

namespace lsm {

class RepairJob {
 public:
  // The directory holds a store, or what is left of one.
  RepairJob(const Options& options, StoreDirectory store);

  absl::StatusOr<RepairReport> Run();

 private:
  // --- what there is (repair_read.cc) ---
  absl::Status Prepare();
  absl::Status FindManifest();
  absl::StatusOr<ManifestContents> TryManifest(uint64_t number);
  absl::Status FindDigestSeed();
  // With a file id: only if it is that one.
  absl::StatusOr<std::unique_ptr<Table>> OpenAnyTable(uint64_t number,
                                                      std::optional<uint64_t> file_id);
  // A table of which no manifest speaks.
  absl::StatusOr<std::shared_ptr<const OpenTable>> OpenLooseTable(uint64_t number);
  // Whether the file is somebody else's, as far as its first bytes tell; it is named, and stays.
  absl::StatusOr<bool> IsForeign(Directory& directory, const std::string& name, FileKind kind);
  void LeaveOut(std::string line);  // once

  // --- what of it is sound (repair_rescue.cc) ---
  absl::Status SalvageLevels();
  absl::Status SalvageLooseTables();
  void Keep(const std::shared_ptr<const OpenTable>& table, OpenTables* tables);
  // Names what is left out of the table, of which `status` says that it is not sound.
  absl::StatusOr<OpenTables> Rescue(uint64_t number, std::optional<uint64_t> file_id, int level,
                                    const absl::Status& status);
  absl::StatusOr<OpenTables> RescueBlocks(const Table& table, int level);
  absl::StatusOr<uint64_t> RescueBlock(const Table& table, size_t ordinal, std::string* last_key,
                                       TableOutput* output);
  absl::Status SalvageLogs();
  absl::Status SalvageLog(uint64_t number);
  absl::Status SalvageRecords(LogReader* log, const std::string& name, Memtable* memtable);
  void SalvageRecord(const LogReader::Record& record, const std::string& name, Memtable* memtable);
  void DamagedLog(const std::string& name, std::string line);

  // --- what becomes of it (repair_write.cc) ---
  absl::StatusOr<OpenTables> Merge(const OpenTables& tables,
                                   const std::vector<std::shared_ptr<Memtable>>& memtables,
                                   int level);
  absl::Status MergeLooseEntries();
  absl::Status KeepDamagedFiles();
  absl::Status WriteManifest();
  void RemoveDamagedFiles();
  void Place(int level, const OpenTables& tables);

  const Options options_;
  const StoreDirectory store_;
  Directory& directory_;
  Directory& logs_;
  RepairReport report_;
  uint64_t next_number_ = 1;
  std::optional<std::string> current_bytes_;  // of CURRENT; nothing: it is not there
  bool current_is_damaged_ = false;
  std::optional<uint64_t> named_manifest_;  // by CURRENT
  bool levels_known_ = false;               // a manifest could be read
  ManifestState state_;
  std::set<uint64_t> needed_logs_;  // that the manifest demands
  std::array<std::map<uint64_t, TableMeta>, kLevels> new_levels_;
  JobContext context_;
  OpenTables loose_tables_;                           // whose level is not known
  std::vector<std::shared_ptr<Memtable>> memtables_;  // one a log
  std::set<std::string> damaged_, damaged_logs_;      // names of files that are kept as they are
};

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_REPAIR_JOB_H_
