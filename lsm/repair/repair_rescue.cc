// RepairJob, step 2: saves the sound parts of tables and logs.
#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/table_output.h"
#include "lsm/limits.h"
#include "lsm/repair/repair_job.h"
#include "lsm/store/recovery.h"
#include "lsm/store/store_files.h"
#include "lsm/table/table_check.h"
#include "lsm/table/table_claims.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

std::string TextOf(const DeadEntries& dead) {
  return Concat(dead.tombstones, " tombstones since ", dead.oldest_tombstone, " with ",
                dead.dead_bytes, " + ", dead.covered_bytes, " bytes");
}

std::string TextOf(const WriteTimes& times) {
  return Concat(times.timed_entries, " from ", times.oldest, " to ", times.newest, ", a fifth by ",
                times.fifth);
}

// Says what the loss of a table's range deletes means.  `record` may be null.
std::string TextOfLostRanges(const TableMeta* record) {
  if (record == nullptr || record->ranges.empty())
    return " (the table's range deletes: keys that they deleted may be back)";
  return Concat(" (", Described(record->ranges), ": keys that they deleted may be back)");
}

std::string PathOf(const Directory& directory, uint64_t table) {
  return Concat(directory.path(), "/", TableFileName(table));
}

}  // namespace

// --- tables ---

absl::Status RepairJob::SalvageLevels() {
  for (int level = 0; level < kLevels; ++level) {
    std::map<KeyspaceId, Tables> kept;
    std::set<KeyspaceId> rescued_any;
    for (const auto& [number, meta] : state_.levels[static_cast<size_t>(level)]) {
      absl::StatusOr<SalvagedTable> table = ReadTable(number, &meta, level);
      if (table.ok()) {
        table->meta.run = meta.run;
        CompareWithRecord(meta, *table);
        Keep(*table, &kept[meta.keyspace]);
        continue;
      }
      TRELLIS_ASSIGN_OR_RETURN(const Tables rescued, Rescue(number, level, &meta, table.status()));
      if (rescued.empty()) continue;
      rescued_any.insert(meta.keyspace);
      Tables& of_tree = kept[meta.keyspace];
      of_tree.insert(of_tree.end(), rescued.begin(), rescued.end());
    }
    for (auto& [tree, tables] : kept) {
      // Level 0 is ordered by table number, which a rewritten table does not keep.
      if (level == 0 && rescued_any.contains(tree)) {
        TRELLIS_ASSIGN_OR_RETURN(tables, MergeLevel0(tree, tables));
      }
      Place(tree, level, tables);
    }
  }
  return absl::OkStatus();
}

absl::Status RepairJob::SalvageLooseTables() {
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(directory_, FileKind::kTable));
  for (const uint64_t number : numbers) {
    TRELLIS_ASSIGN_OR_RETURN(const bool foreign,
                             IsForeign(directory_, TableFileName(number), FileKind::kTable));
    if (foreign) continue;
    const absl::StatusOr<SalvagedTable> table = ReadTable(number, nullptr, kLevels - 1);
    if (table.ok()) {
      Keep(*table, &trees_[table->meta.keyspace].loose);
      continue;
    }
    TRELLIS_ASSIGN_OR_RETURN(const Tables rescued, Rescue(number, 0, nullptr, table.status()));
    for (const SalvagedTable& each : rescued) trees_[each.meta.keyspace].loose.push_back(each);
  }
  return absl::OkStatus();
}

absl::StatusOr<RepairJob::SalvagedTable> RepairJob::ReadTable(uint64_t number,
                                                              const TableMeta* record, int level) {
  absl::StatusOr<std::unique_ptr<ReadFile>> file =
      directory_.OpenRead(TableFileName(number), ReadMode::kBuffered);
  TRELLIS_RETURN_IF_ERROR(file.status());
  TableContext context = context_.table_context;
  if (record != nullptr) context.file_id = record->file_id;
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Table> table,
                           Table::Open(*std::move(file), context));
  TRELLIS_RETURN_IF_ERROR(CheckKeyspaceOf(*table, record));
  absl::Status problem;  // the first one
  TableCheckCalls calls;
  calls.problem = [&](const absl::Status& status) {
    problem = status;
    return false;
  };
  const TableFacts facts = CheckTable(*table, calls);
  TRELLIS_RETURN_IF_ERROR(problem);
  if (facts.entries == 0 && table->ranges().empty())
    return DamageAt(table->path(), 0, "the table has no entries");
  SalvagedTable salvaged;
  TableMeta& meta = salvaged.meta;
  meta.number = number;
  meta.file_id = table->footer().file_id;
  meta.file_bytes = table->file_bytes();
  meta.entries = facts.entries;
  meta.smallest = facts.smallest;
  meta.largest = facts.largest;
  meta.dead = table->properties().dead_entries();  // of which CheckTable has counted what it can
  meta.times = table->properties().write_times();
  meta.ranges = RangeRecord::Of(table->ranges());
  meta.keyspace = static_cast<KeyspaceId>(table->properties().keyspace);
  salvaged.ranges = std::make_shared<const RangeMap>(table->ranges());
  std::tie(salvaged.smallest_sequence, salvaged.largest_sequence) = facts.all_sequences;
  TRELLIS_RETURN_IF_ERROR(CheckClaims(*table, RecordOf(meta)));
  TRELLIS_RETURN_IF_ERROR(CheckPlace(*table, {level, salvaged.largest_sequence}));
  return salvaged;
}

void RepairJob::CompareWithRecord(const TableMeta& record, const SalvagedTable& table) {
  const TableMeta& found = table.meta;
  const auto compare = [&](std::string_view what, const std::string& recorded,
                           const std::string& counted) {
    if (recorded == counted) return;
    LeaveOut(Concat(PathOf(directory_, found.number), ": the manifest says ", what, " ", recorded,
                    ", the table has ", counted));
  };
  compare("size", Concat(record.file_bytes), Concat(found.file_bytes));
  compare("entries", Concat(record.entries), Concat(found.entries));
  compare("dead entries", TextOf(record.dead), TextOf(found.dead));
  compare("times", TextOf(record.times), TextOf(found.times));
  compare("range deletes", Described(record.ranges), Described(found.ranges));
  compare("smallest key", QuotedInternalKey(record.smallest), QuotedInternalKey(found.smallest));
  compare("largest key", QuotedInternalKey(record.largest), QuotedInternalKey(found.largest));
  if (table.largest_sequence > state_.last_sequence)
    compare("last sequence", Concat(state_.last_sequence), Concat(table.largest_sequence));
}

void RepairJob::Keep(const SalvagedTable& table, Tables* tables) {
  ++report_.tables_kept;
  report_.entries_saved += table.meta.entries;
  tables->push_back(table);
}

// Writes the entries of readable blocks to new tables.
absl::StatusOr<RepairJob::Tables> RepairJob::Rescue(uint64_t number, int level,
                                                    const TableMeta* record,
                                                    const absl::Status& damage) {
  if (!IsDamage(damage)) return damage;
  damaged_.insert(TableFileName(number));
  names_are_lost_ |= record != nullptr && record->keyspace == kCommonTree;
  const uint64_t lines_before = lines_left_out();
  Tables rescued;
  const absl::StatusOr<std::unique_ptr<Table>> table = OpenAnyTable(number, record);
  if (!table.ok() && !IsDamage(table.status())) return table.status();
  if (table.ok()) {
    TRELLIS_ASSIGN_OR_RETURN(rescued,
                             RescueBlocks(**table, level, record != nullptr ? record->run : 0));
    if (const absl::Status& lost = (*table)->ranges_status(); !lost.ok())
      LeaveOut(Concat(MessageOf(lost), TextOfLostRanges(record)));
  } else if (record != nullptr && !record->ranges.empty()) {
    LeaveOut(Concat(MessageOf(damage), TextOfLostRanges(record)));
  }
  // If lines were added meanwhile, they name the damaged blocks.
  if (lines_left_out() == lines_before) LeaveOut(std::string(MessageOf(damage)));
  return rescued;
}

struct RepairJob::Rescued {
  Rescued(JobContext of_tree, KeyspaceId tree_id, int level, uint32_t run_number,
          const RangeMap& ranges)
      : context(std::move(of_tree)),
        output(context, UsualFilter(context, level), level, run_number,
               context.options->table_bytes, {}, {}, {}, ranges, tree_id),
        tree(tree_id),
        run(run_number) {}

  bool IsKey(std::string_view user_key) const {
    if (tree != kCommonTree) return user_key.size() <= kKeyBytesMax;
    return user_key.size() >= kKeyspacePrefixBytes && user_key.size() <= kTreeKeyBytesMax;
  }

  const JobContext context;
  TableOutput output;
  const KeyspaceId tree;
  const uint32_t run;
  std::string last_key;
  uint64_t entries = 0;
  // Entries out of order go to separate tables, which overlap the others.
  std::unique_ptr<Memtable> strays = std::make_unique<Memtable>();
  Tables stray_tables;
};

absl::StatusOr<RepairJob::Tables> RepairJob::RescueBlocks(const Table& table, int level,
                                                          uint32_t run) {
  const auto tree = static_cast<KeyspaceId>(table.properties().keyspace);
  TRELLIS_ASSIGN_OR_RETURN(JobContext context, ContextOf(tree));
  Rescued rescued(std::move(context), tree, level, run, table.ranges());
  for (size_t part = 0; part < table.index_part_count(); ++part) {
    const absl::StatusOr<IndexPart> index = table.ReadIndexPart(part);
    if (!index.ok() && !IsDamage(index.status())) return index.status();
    if (!index.ok()) {
      LeaveOut(Concat(MessageOf(index.status()), " (keys up to ",
                      QuotedKey(table.partitions().fence(part)), ")"));
      continue;
    }
    for (size_t i = index->begin(); i < index->end(); ++i)
      TRELLIS_RETURN_IF_ERROR(RescueBlock(table, *index, i, &rescued));
  }
  TRELLIS_RETURN_IF_ERROR(FlushStrays(&rescued));
  if (rescued.entries == 0 && table.ranges().empty()) return Tables();
  ++report_.tables_rewritten;
  report_.entries_saved += rescued.entries;
  TRELLIS_ASSIGN_OR_RETURN(const OpenTables outputs, rescued.output.Finish());
  Tables tables = Written(outputs);
  tables.insert(tables.end(), rescued.stray_tables.begin(), rescued.stray_tables.end());
  return tables;
}

absl::Status RepairJob::RescueBlock(const Table& table, const IndexPart& index, size_t ordinal,
                                    Rescued* rescued) {
  const BlockHandle handle = index.handle(ordinal);
  const auto leave_out = [&](const absl::Status& status) {
    LeaveOut(Concat(MessageOf(status), " (keys up to ", QuotedKey(index.fence(ordinal)), ")"));
    return absl::OkStatus();
  };
  const absl::StatusOr<std::string> bytes = table.ReadDataBlock(handle);
  if (!bytes.ok() && !IsDamage(bytes.status())) return bytes.status();
  if (!bytes.ok()) return leave_out(bytes.status());
  Block block;
  if (!block.Init(*bytes))
    return leave_out(DamageAt(table.path(), handle.offset, "the block's restarts are damaged"));
  const std::unique_ptr<Iterator> entries =
      block.NewIterator(/*internal_keys=*/true, Concat(table.path(), ": offset ", handle.offset));
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    ParsedKey parsed;
    if (!ParseInternalKey(entries->key(), &parsed) || !rescued->IsKey(parsed.user_key)) {
      (void)leave_out(DamageAt(table.path(), handle.offset, "an entry has an invalid key"));
      continue;
    }
    ++rescued->entries;
    if (!rescued->last_key.empty() && CompareInternalKeys(rescued->last_key, entries->key()) >= 0) {
      rescued->strays->Add(parsed.sequence, parsed.kind, parsed.user_key, entries->value());
      if (rescued->strays->memory_bytes() >= options_.write_buffer_bytes)
        TRELLIS_RETURN_IF_ERROR(FlushStrays(rescued));
      continue;
    }
    TRELLIS_RETURN_IF_ERROR(rescued->output.Add(entries->key(), entries->value()));
    rescued->last_key.assign(entries->key());
  }
  return entries->status().ok() ? absl::OkStatus() : leave_out(entries->status());
}

absl::Status RepairJob::FlushStrays(Rescued* rescued) {
  const std::unique_ptr<Memtable> strays =
      std::exchange(rescued->strays, std::make_unique<Memtable>());
  if (strays->empty()) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(Tables tables, Flush(rescued->tree, *strays->NewIterator(), {}));
  for (SalvagedTable& table : tables) {
    table.meta.run = rescued->run;
    rescued->stray_tables.push_back(std::move(table));
  }
  return absl::OkStatus();
}

// --- logs ---

absl::Status RepairJob::SalvageLogs() {
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers, NumbersOf(logs_, FileKind::kLog));
  for (const uint64_t number : needed_logs_) {
    if (numbers.contains(number)) continue;
    LeaveOut(std::string(MessageOf(MissingLog(logs_, number))));
    log_loss_is_named_ = true;
  }
  salvaged_to_ = std::max(state_.last_sequence, LargestSequence());
  // A manifest whose oldest log is missing may have the wrong number.
  const bool has_oldest = numbers.contains(state_.oldest_log);
  for (const uint64_t number : numbers) {
    const bool is_obsolete = levels_known_ && number < state_.oldest_log;
    in_tables_to_ = is_obsolete ? state_.last_sequence : 0;
    if (is_obsolete && has_oldest) {
      TRELLIS_RETURN_IF_ERROR(PassOverLog(number));
    } else {
      TRELLIS_RETURN_IF_ERROR(CatchOutOfMemoryFor(Concat(logs_.path(), "/", LogFileName(number)),
                                                  [&] { return SalvageLog(number); }));
    }
  }
  return absl::OkStatus();
}

// An obsolete log.  It is removed unless it might be another store's.
absl::Status RepairJob::PassOverLog(uint64_t number) {
  if (!MayBeAnothers()) return absl::OkStatus();
  const std::string name = LogFileName(number);
  TRELLIS_ASSIGN_OR_RETURN(const bool foreign, IsForeign(logs_, name, FileKind::kLog));
  if (foreign) return absl::OkStatus();
  LeaveOut(Concat(logs_.path(), "/", name, ": no manifest says whose log this is: it is kept"));
  damaged_logs_.insert(name);
  return absl::OkStatus();
}

absl::Status RepairJob::SalvageLog(uint64_t number) {
  const std::string name = LogFileName(number);
  if (!needed_logs_.contains(number)) {
    TRELLIS_ASSIGN_OR_RETURN(const bool foreign, IsForeign(logs_, name, FileKind::kLog));
    if (foreign) return absl::OkStatus();
  }
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                           logs_.OpenRead(name, ReadMode::kBuffered));
  const absl::StatusOr<std::unique_ptr<LogReader>> log =
      LogReader::Open(std::move(file), LogKind::kWriteAhead);
  if (!log.ok()) {
    if (!IsDamage(log.status())) return log.status();
    DamagedLog(name, std::string(MessageOf(log.status())));
    return absl::OkStatus();
  }
  const absl::Status id =
      log_ids_known_
          ? state_.CheckLogId(number, (*log)->path(), (*log)->file_id(), (*log)->size_bytes())
          : absl::OkStatus();
  if (!id.ok()) {
    DamagedLog(name, std::string(MessageOf(id)));
    return absl::OkStatus();
  }
  if (MayBeAnothers()) {
    LeaveOut(Concat((*log)->path(),
                    ": no manifest says whose log this is: its writes were taken, and it is kept"));
    damaged_logs_.insert(name);
  }
  const uint64_t saved_before = report_.entries_saved;
  TRELLIS_RETURN_IF_ERROR(SalvageRecords(log->get(), number));
  if (report_.entries_saved != saved_before) ++report_.logs_converted;
  return absl::OkStatus();
}

absl::Status RepairJob::SalvageRecords(LogReader* log, uint64_t number) {
  const std::string name = LogFileName(number);
  MemtableFiller filler(
      options_.write_buffer_bytes,
      [this](const std::shared_ptr<const Memtable>& memtable) { return FlushMemtable(*memtable); });
  for (uint64_t records = 0;; ++records) {
    LogReader::Record record;
    TRELLIS_RETURN_IF_ERROR(filler.MakeRoomForNext(log));
    const absl::StatusOr<bool> more = log->Next(&record);
    if (more.ok() && *more) {
      TRELLIS_RETURN_IF_ERROR(SalvageRecord(record, name, log, &filler));
      continue;
    }
    if (more.ok()) {
      CheckEnd(*log, number, records);
      return filler.HandOver();
    }
    if (!absl::IsDataLoss(more.status())) return more.status();
    DamagedLog(name, std::string(MessageOf(more.status())));
    TRELLIS_ASSIGN_OR_RETURN(const bool skipped, log->SkipDamage());
    if (!skipped) return filler.HandOver();
  }
}

void RepairJob::CheckEnd(const LogReader& log, uint64_t number, uint64_t records) {
  const std::string name = LogFileName(number);
  absl::Status status =
      state_.CheckClosedLog(number, log.path(), log.end(), log.size_bytes(), log.torn_bytes());
  if (status.ok()) status = state_.CheckSyncedLog(number, log.path(), records);
  if (!status.ok()) DamagedLog(name, std::string(MessageOf(status)));
}

absl::Status RepairJob::SalvageRecord(const LogReader::Record& record, const std::string& name,
                                      LogReader* log, MemtableFiller* filler) {
  const auto at_record = [&](auto... what) {
    return Concat(logs_.path(), "/", name, ": record at offset ", record.offset, ": ", what...);
  };
  if (record.payload.size() < EncodedBatch::kHeaderBytes) {
    DamagedLog(name, at_record("too short for a batch"));
    return absl::OkStatus();
  }
  const Sequence first = EncodedBatch::FirstSequenceOf(record.payload);
  if (first <= in_tables_to_) return absl::OkStatus();
  const absl::Status status = keyspaces_.AddBatch(
      record.payload, [&](const std::string& line) { LeaveOut(at_record(line)); });
  if (absl::IsUnimplemented(status))  // an option of a keyspace would be lost
    return WithContext(status,
                       Concat(logs_.path(), "/", name, ": record at offset ", record.offset));
  if (!status.ok()) {
    DamagedLog(name, at_record(MessageOf(status)));
    return absl::OkStatus();
  }
  // Logs lose their ends in a crash.  An opening drops the writes after such a gap.  A repair saves
  // them, but reports the gap.
  if (log_ids_known_ && !log_loss_is_named_ && first > salvaged_to_ + 1) {
    LeaveOut(at_record("the writes before it are missing, those numbered from ", salvaged_to_ + 1,
                       " to ", first - 1));
  }
  salvaged_to_ = std::max(salvaged_to_, first - 1 + EncodedBatch::CountOf(record.payload));
  // The limit of a keyspace may have been in a damaged record.
  const auto is_timed = [this](KeyspaceId id) {
    if (keyspaces_.IsTimed(id)) return true;
    if (!damaged_logs_.empty()) keyspaces_.AddTimed(id);
    return !damaged_logs_.empty();
  };
  return filler->Add(
      record.payload, log, [](KeyspaceId) { return true; }, is_timed);
}

absl::StatusOr<RepairJob::Tables> RepairJob::Flush(KeyspaceId tree, Iterator& entries,
                                                   const RangeMap& ranges) {
  TRELLIS_ASSIGN_OR_RETURN(const JobContext context, ContextOf(tree));
  const TablesNow not_all_known = nullptr;  // so tombstones and ranges stay
  TRELLIS_ASSIGN_OR_RETURN(const JobResult result,
                           RunFlush(context, entries, ranges, UsualFilter(context, 0),
                                    /*snapshots=*/{}, not_all_known, /*age_nanos=*/0, tree));
  return Written(result.outputs);
}

absl::Status RepairJob::FlushTo(KeyspaceId tree, Iterator& entries, const RangeMap& ranges) {
  TRELLIS_ASSIGN_OR_RETURN(const Tables written, Flush(tree, entries, ranges));
  if (levels_known_) {
    Place(tree, 0, written);
  } else {
    Tables& loose = trees_[tree].loose;
    loose.insert(loose.end(), written.begin(), written.end());
  }
  return absl::OkStatus();
}

absl::Status RepairJob::FlushMemtable(const Memtable& memtable) {
  report_.entries_saved += memtable.entry_count();
  CommonOutput common(/*sequence=*/0);  // the names come later
  for (const EntryList* const list : memtable.Lists()) {
    const KeyspaceId tree = keyspaces_.TreeOf(list->keyspace());
    if (keyspaces_.IsDropped(list->keyspace())) continue;
    if (tree == kCommonTree) {
      common.AddList(
          list->keyspace(), [list] { return list->NewIterator(); }, list->MapOfRanges(),
          list->entry_count());
    } else {
      TRELLIS_RETURN_IF_ERROR(FlushTo(tree, *list->NewIterator(), list->MapOfRanges()));
    }
  }
  if (common.empty()) return absl::OkStatus();
  return FlushTo(kCommonTree, *common.NewEntries(), common.Ranges());
}

void RepairJob::DamagedLog(const std::string& name, std::string line) {
  LeaveOut(std::move(line));
  log_loss_is_named_ = true;
  damaged_logs_.insert(name);
}

}  // namespace lsm
