#include "lsm/engine/repair.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "bloom/filter_policy.h"
#include "lsm/base/merging_iterator.h"
#include "lsm/base/write_batch.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/jobs.h"
#include "lsm/engine/log_set.h"
#include "lsm/engine/recovery.h"
#include "lsm/engine/store_directory.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_reader.h"
#include "lsm/memtable/memtable.h"
#include "lsm/version/manifest.h"

namespace lsm {
namespace {

constexpr std::string_view kDamagedSuffix = ".damaged";
constexpr size_t kCopyBytes = size_t{1} << 20;
constexpr size_t kShownKeyBytes = 40;

// A job in three acts: read what there is, write what is missing beside it, then swap CURRENT.
// Until the swap no file that was there is changed, so a repair that is cut short can be made
// again.
class Repair {
 public:
  Repair(const Options& options, StoreDirectory store)
      : options_(options),
        store_(std::move(store)),
        directory_(*store_.directory),
        logs_(store_.log_directory()) {}

  absl::StatusOr<RepairReport> Run() {
    LSM_RETURN_IF_ERROR(Prepare());
    if (levels_known_) {
      LSM_RETURN_IF_ERROR(SalvageLevels());
    } else {
      LSM_RETURN_IF_ERROR(SalvageLooseTables());
    }
    LSM_RETURN_IF_ERROR(SalvageLogs());
    LSM_RETURN_IF_ERROR(MergeLooseEntries());
    LSM_RETURN_IF_ERROR(KeepDamagedFiles());
    LSM_RETURN_IF_ERROR(WriteManifest());
    return std::move(report_);
  }

 private:
  absl::Status Prepare() {
    LSM_ASSIGN_OR_RETURN(const uint64_t highest, HighestFileNumber(directory_));
    LSM_ASSIGN_OR_RETURN(const uint64_t highest_log, HighestFileNumber(logs_));
    next_number_ = std::max(highest, highest_log) + 1;
    LSM_RETURN_IF_ERROR(FindManifest());
    if (levels_known_) {
      next_number_ = std::max(next_number_, state_.next_file_number);
    } else {
      LSM_RETURN_IF_ERROR(FindDigestSeed());
    }
    context_.options = &options_;
    context_.directory = &directory_;
    context_.clock = store_.environment.clock;
    context_.random = store_.environment.random;
    context_.digest_seed = state_.digest_seed;
    context_.table_context.digest_seed = state_.digest_seed;
    context_.new_file_number = [this] { return next_number_++; };
    if (options_.filter_kind != "none") {
      LSM_ASSIGN_OR_RETURN(context_.filter_policy, bloom::PolicyFromName(options_.filter_kind));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<uint64_t>> NumbersOf(Directory& directory, FileKind kind) {
    LSM_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
    std::vector<uint64_t> numbers;
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      if (parsed && parsed->kind == kind) numbers.push_back(parsed->number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  // The manifest that CURRENT names; or, where that is damaged or missing, the newest one that can
  // be read.
  absl::Status FindManifest() {
    absl::StatusOr<std::string> current =
        ReadWholeFile(directory_, kCurrentFileName, size_t{1} << 20);
    if (current.ok()) {
      current_bytes_ = *std::move(current);
    } else if (!absl::IsNotFound(current.status())) {
      return current.status();
    }
    absl::StatusOr<ManifestContents> contents = ReadManifest(directory_);
    if (!contents.ok()) {
      report_.left_out.push_back(std::string(MessageOf(contents.status())));
      LSM_ASSIGN_OR_RETURN(std::vector<uint64_t> numbers,
                           NumbersOf(directory_, FileKind::kManifest));
      for (; !contents.ok() && !numbers.empty(); numbers.pop_back())
        contents = TryManifest(numbers.back());
    }
    if (!contents.ok()) {
      report_.left_out.push_back(
          "no manifest can be read: every table and log in the directory is taken, also such as "
          "were obsolete, so that old "
          "values and deleted keys may come back");
      return absl::OkStatus();
    }
    levels_known_ = true;
    state_ = std::move(contents->state);
    return absl::OkStatus();
  }

  // Makes CURRENT name this manifest, and reads it.
  absl::StatusOr<ManifestContents> TryManifest(uint64_t number) {
    const std::string name = ManifestFileName(number);
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                         directory_.OpenRead(name, ReadMode::kBuffered));
    absl::StatusOr<std::unique_ptr<LogReader>> log =
        LogReader::Open(std::move(file), LogKind::kManifest);
    if (!log.ok()) {
      damaged_.insert(name);
      return log.status();
    }
    const std::string bytes = Current{number, (*log)->file_id()}.Encode();
    LSM_RETURN_IF_ERROR(directory_.AtomicReplace(kCurrentFileName, bytes, current_bytes_));
    current_bytes_ = bytes;
    absl::StatusOr<ManifestContents> contents = ReadManifest(directory_);
    if (!contents.ok()) {
      report_.left_out.push_back(std::string(MessageOf(contents.status())));
      damaged_.insert(name);
    }
    return contents;
  }

  // That of the tables, so that their filters stay of use.
  absl::Status FindDigestSeed() {
    state_.digest_seed = store_.environment.random->Next();
    LSM_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers,
                         NumbersOf(directory_, FileKind::kTable));
    for (const uint64_t number : numbers) {
      const absl::StatusOr<std::unique_ptr<Table>> table = OpenAnyTable(number, std::nullopt);
      if (!table.ok()) continue;
      state_.digest_seed = (*table)->properties().digest_seed;
      break;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Table>> OpenAnyTable(uint64_t number,
                                                      std::optional<uint64_t> file_id) {
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                         directory_.OpenRead(TableFileName(number), ReadMode::kBuffered));
    TableContext context;
    context.file_id = file_id;
    return Table::Open(std::move(file), context);
  }

  // --- tables ---

  // Every block is read and every entry seen.
  static absl::Status CheckEntries(const OpenTable& table) {
    Table::ScanOptions scan;
    scan.fill_cache = false;
    scan.readahead_bytes = kCopyBytes;
    const std::unique_ptr<Iterator> entries = table.table->NewIterator(scan);
    uint64_t count = 0;
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) ++count;
    LSM_RETURN_IF_ERROR(entries->status());
    if (count == table.meta.entries) return absl::OkStatus();
    return DamageAt(
        table.table->path(), 0,
        Concat("the table has ", count, " entries, it should have ", table.meta.entries));
  }

  void LeaveOut(const std::string& name, const absl::Status& status) {
    report_.left_out.push_back(std::string(MessageOf(status)));
    damaged_.insert(name);
  }

  absl::Status SalvageLevels() {
    for (int level = 0; level < kLevels; ++level) {
      OpenTables kept;
      bool rescued_any = false;
      for (const auto& [number, meta] : state_.levels[static_cast<size_t>(level)]) {
        absl::StatusOr<std::shared_ptr<const OpenTable>> table =
            OpenTableFile(directory_, meta, ReadMode::kBuffered, context_.table_context);
        const absl::Status status = table.ok() ? CheckEntries(**table) : table.status();
        if (status.ok()) {
          ++report_.tables_kept;
          report_.entries_saved += meta.entries;
          Note((*table)->table->properties());
          kept.push_back(*std::move(table));
          continue;
        }
        LeaveOut(TableFileName(number), status);
        LSM_ASSIGN_OR_RETURN(OpenTables rescued, RescueTable(number, meta.file_id, level));
        rescued_any = rescued_any || !rescued.empty();
        kept.insert(kept.end(), rescued.begin(), rescued.end());
      }
      // The order of level 0 is that of its tables' numbers, which a rescued table does not keep.
      if (level == 0 && rescued_any) {
        LSM_ASSIGN_OR_RETURN(kept, Merge(kept, {}, 0));
      }
      Place(level, kept);
    }
    return absl::OkStatus();
  }

  absl::Status SalvageLooseTables() {
    LSM_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers,
                         NumbersOf(directory_, FileKind::kTable));
    for (const uint64_t number : numbers) {
      absl::StatusOr<std::shared_ptr<const OpenTable>> table = OpenWhole(number);
      if (table.ok()) {
        ++report_.tables_kept;
        report_.entries_saved += (*table)->meta.entries;
        Note((*table)->table->properties());
        loose_tables_.push_back(*std::move(table));
        continue;
      }
      LeaveOut(TableFileName(number), table.status());
      LSM_ASSIGN_OR_RETURN(const OpenTables rescued, RescueTable(number, std::nullopt, 0));
      loose_tables_.insert(loose_tables_.end(), rescued.begin(), rescued.end());
    }
    return absl::OkStatus();
  }

  // A table of which no manifest speaks.
  absl::StatusOr<std::shared_ptr<const OpenTable>> OpenWhole(uint64_t number) {
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<Table> table, OpenAnyTable(number, std::nullopt));
    TableMeta meta;
    meta.number = number;
    meta.file_id = table->footer().file_id;
    meta.file_bytes = table->file_bytes();
    meta.entries = table->footer().entries;
    auto open = std::make_shared<const OpenTable>(OpenTable{meta, std::move(table)});
    LSM_RETURN_IF_ERROR(CheckEntries(*open));
    return open;
  }

  // New tables with the entries of those blocks that can be read.
  absl::StatusOr<OpenTables> RescueTable(uint64_t number, std::optional<uint64_t> file_id,
                                         int level) {
    const absl::StatusOr<std::unique_ptr<Table>> table = OpenAnyTable(number, file_id);
    if (!table.ok()) return OpenTables();  // its index is gone: LeaveOut has said so
    TableOutput output(context_, level, options_.table_bytes, {});
    std::string last_key;
    uint64_t entries = 0;
    for (size_t i = 0; i < (*table)->block_count(); ++i) {
      LSM_ASSIGN_OR_RETURN(const uint64_t added, RescueBlock(**table, i, &last_key, &output));
      entries += added;
    }
    if (entries == 0) return OpenTables();
    LSM_ASSIGN_OR_RETURN(OpenTables rescued, output.Finish());
    ++report_.tables_rewritten;
    report_.entries_saved += entries;
    for (const auto& each : rescued) Note(each->table->properties());
    return rescued;
  }

  absl::StatusOr<uint64_t> RescueBlock(const Table& table, size_t ordinal, std::string* last_key,
                                       TableOutput* output) {
    const BlockHandle handle = table.block_handle(ordinal);
    const auto leave_out = [&](const absl::Status& status) {
      report_.left_out.push_back(Concat(MessageOf(status), " (keys up to ",
                                        Escape(table.block_fence(ordinal), kShownKeyBytes), ")"));
      return uint64_t{0};
    };
    const absl::StatusOr<BlockBuffer> buffer = table.ReadDataBlock(ordinal);
    if (!buffer.ok()) return leave_out(buffer.status());
    Block block;
    if (!block.Init(buffer->view()))
      return leave_out(DamageAt(table.path(), handle.offset, "the block's restarts are damaged"));
    const std::unique_ptr<Iterator> entries =
        block.NewIterator(/*internal_keys=*/true, Concat(table.path(), ": offset ", handle.offset));
    uint64_t added = 0;
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      ParsedKey parsed;
      if (!ParseInternalKey(entries->key(), &parsed) ||
          (!last_key->empty() && CompareInternalKeys(*last_key, entries->key()) >= 0)) {
        leave_out(DamageAt(table.path(), handle.offset, "an entry is malformed or out of order"));
        break;
      }
      LSM_RETURN_IF_ERROR(output->Add(entries->key(), entries->value()));
      last_key->assign(entries->key());
      ++added;
    }
    if (!entries->status().ok()) leave_out(entries->status());
    return added;
  }

  void Note(const TableProperties& properties) {
    state_.last_sequence = std::max(state_.last_sequence, properties.largest_sequence);
  }

  void Place(int level, const OpenTables& tables) {
    auto& metas = new_levels_[static_cast<size_t>(level)];
    for (const auto& table : tables) metas.emplace(table->meta.number, table->meta);
  }

  // --- logs ---

  absl::Status SalvageLogs() {
    LSM_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers, NumbersOf(logs_, FileKind::kLog));
    for (const uint64_t number : numbers) {
      if (levels_known_ && number < state_.oldest_log) continue;
      LSM_RETURN_IF_ERROR(SalvageLog(number));
    }
    if (!levels_known_) return absl::OkStatus();
    for (const uint64_t number : state_.synced_logs) {
      if (std::binary_search(numbers.begin(), numbers.end(), number)) continue;
      report_.left_out.push_back(
          Concat(logs_.path(), "/", LogFileName(number), ": the log is missing"));
    }
    return absl::OkStatus();
  }

  absl::Status SalvageLog(uint64_t number) {
    const std::string name = LogFileName(number);
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file, logs_.OpenRead(name, ReadMode::kBuffered));
    absl::StatusOr<std::unique_ptr<LogReader>> reader =
        LogReader::Open(std::move(file), LogKind::kWriteAhead);
    if (!reader.ok()) {
      report_.left_out.push_back(std::string(MessageOf(reader.status())));
      damaged_logs_.insert(name);
      return absl::OkStatus();
    }
    auto memtable = std::make_shared<Memtable>();
    for (;;) {
      LogReader::Record record;
      absl::StatusOr<bool> more = (*reader)->Next(&record);
      if (!more.ok()) {
        if (!absl::IsDataLoss(more.status())) return more.status();
        report_.left_out.push_back(std::string(MessageOf(more.status())));
        damaged_logs_.insert(name);
        LSM_ASSIGN_OR_RETURN(const bool skipped, (*reader)->SkipDamage());
        if (!skipped) break;
        continue;
      }
      if (!*more) break;
      LSM_RETURN_IF_ERROR(SalvageRecord(record, name, memtable.get()));
    }
    if (memtable->empty()) return absl::OkStatus();
    ++report_.logs_converted;
    report_.entries_saved += memtable->entry_count();
    memtables_.push_back(std::move(memtable));
    return absl::OkStatus();
  }

  absl::Status SalvageRecord(const LogReader::Record& record, const std::string& name,
                             Memtable* memtable) {
    absl::Status status;
    if (record.payload.size() < WriteBatch::kHeaderBytes) {
      status = absl::DataLossError("too short for a batch");
    } else {
      status = memtable->AddBatch(record.payload);
    }
    if (!status.ok()) {
      report_.left_out.push_back(Concat(logs_.path(), "/", name, ": record at offset ",
                                        record.offset, ": ", MessageOf(status)));
      damaged_logs_.insert(name);
      return absl::OkStatus();
    }
    const Sequence last =
        WriteBatch::FirstSequenceOf(record.payload) + WriteBatch::CountOf(record.payload) - 1;
    state_.last_sequence = std::max(state_.last_sequence, last);
    return absl::OkStatus();
  }

  // --- what becomes of it ---

  absl::StatusOr<OpenTables> Merge(const OpenTables& tables,
                                   const std::vector<std::shared_ptr<Memtable>>& memtables,
                                   int level) {
    Table::ScanOptions scan;
    scan.fill_cache = false;
    scan.readahead_bytes = kCopyBytes;
    std::vector<std::unique_ptr<Iterator>> inputs;
    for (const auto& memtable : memtables) inputs.push_back(memtable->NewIterator());
    for (const auto& table : tables) inputs.push_back(table->table->NewIterator(scan));
    const std::unique_ptr<Iterator> merged = NewMergingIterator(std::move(inputs));
    LSM_ASSIGN_OR_RETURN(
        JobResult result,
        RunMerge(context_, *merged, level, level == 0 ? UINT64_MAX : options_.table_bytes, {}));
    return std::move(result.outputs);
  }

  // Tables whose level and age nobody knows are merged into one sorted run, in which the sequence
  // numbers decide.
  absl::Status MergeLooseEntries() {
    const int level = levels_known_ ? 0 : 1;
    if (loose_tables_.empty() && memtables_.empty()) return absl::OkStatus();
    LSM_ASSIGN_OR_RETURN(const OpenTables merged, Merge(loose_tables_, memtables_, level));
    Place(level, merged);
    return absl::OkStatus();
  }

  static absl::Status CopyFile(Directory& directory, const std::string& name) {
    const absl::StatusOr<std::unique_ptr<ReadFile>> from =
        directory.OpenRead(name, ReadMode::kBuffered);
    if (absl::IsNotFound(from.status())) return absl::OkStatus();  // it is missing: nothing to keep
    LSM_RETURN_IF_ERROR(from.status());
    const std::string copy_name = Concat(name, kDamagedSuffix);
    const absl::Status removed =
        directory.Remove(copy_name);  // of an earlier repair that was cut short
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    LSM_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> to,
                         directory.CreateExclusive(copy_name));
    std::string buffer(kCopyBytes, '\0');
    for (uint64_t offset = 0;;) {
      LSM_ASSIGN_OR_RETURN(const size_t bytes, (*from)->ReadAt(offset, buffer));
      LSM_RETURN_IF_ERROR(to->Append(std::string_view(buffer).substr(0, bytes)));
      if (bytes < buffer.size()) break;
      offset += bytes;
    }
    LSM_RETURN_IF_ERROR(to->Sync());
    return to->Close();
  }

  absl::Status KeepDamagedFiles() {
    for (const std::string& name : damaged_) {
      LSM_RETURN_IF_ERROR(CopyFile(directory_, name));
    }
    for (const std::string& name : damaged_logs_) {
      LSM_RETURN_IF_ERROR(CopyFile(logs_, name));
    }
    LSM_RETURN_IF_ERROR(directory_.Sync());
    return logs_.Sync();
  }

  absl::Status WriteManifest() {
    state_.oldest_log = next_number_++;
    LogSet log(&logs_);
    LSM_RETURN_IF_ERROR(log.Start(state_.oldest_log, store_.environment.random->Next()));
    LSM_RETURN_IF_ERROR(log.Close());
    LSM_RETURN_IF_ERROR(log.SyncNames());
    const uint64_t manifest_number = next_number_++;
    state_.synced_logs.clear();
    state_.levels = std::move(new_levels_);
    state_.next_file_number = next_number_;
    LSM_ASSIGN_OR_RETURN(
        std::unique_ptr<ManifestWriter> manifest,
        ManifestWriter::Create(directory_, manifest_number, store_.environment.random->Next(),
                               state_.ToSnapshot(), current_bytes_));
    LSM_RETURN_IF_ERROR(manifest->Close());
    RemoveOrphans(directory_, logs_, state_, manifest_number);
    return absl::OkStatus();
  }

  const Options options_;
  const StoreDirectory store_;
  Directory& directory_;
  Directory& logs_;
  RepairReport report_;
  uint64_t next_number_ = 1;
  std::optional<std::string> current_bytes_;  // of CURRENT now; nothing: it is not there
  bool levels_known_ = false;                 // a manifest could be read
  ManifestState state_;
  std::array<std::map<uint64_t, TableMeta>, kLevels> new_levels_;
  JobContext context_;
  OpenTables loose_tables_;                           // whose level is not known
  std::vector<std::shared_ptr<Memtable>> memtables_;  // one a log
  std::set<std::string> damaged_, damaged_logs_;      // names of files that are kept as they are
};

absl::Status CheckThereIsAStore(Directory& directory, Directory& logs) {
  bool found = false;
  for (Directory* each : {&directory, &logs}) {
    LSM_ASSIGN_OR_RETURN(const std::vector<std::string> names, each->List());
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      found = found || (parsed && parsed->kind != FileKind::kLock);
    }
  }
  return found ? absl::OkStatus()
               : absl::NotFoundError(
                     Concat(directory.path(), ": there is no store in this directory"));
}

}  // namespace

absl::StatusOr<RepairReport> RepairStore(const std::string& path, const Options& options) {
  LSM_RETURN_IF_ERROR(ValidateOptions(options));
  Options open = options;
  open.mode = OpenMode::kMustExist;
  LSM_ASSIGN_OR_RETURN(StoreDirectory store, StoreDirectory::Open(path, open));
  LSM_RETURN_IF_ERROR(CheckThereIsAStore(*store.directory, store.log_directory()));
  return Repair(open, std::move(store)).Run();
}

}  // namespace lsm
