// `sstdump info`: one screen about a file or a store.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/version_edit.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/log_file.h"
#include "tools/sstdump/store/log_replay.h"
#include "tools/sstdump/store/store_files.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

using lsm::Concat;
using lsm::ReadableBytes;
using lsm::ReadableCount;
using lsm::ReadableNumber;

std::string Ratio(uint64_t whole, uint64_t part) {
  if (part == 0) return "-";
  return ReadableNumber(static_cast<double>(whole) / static_cast<double>(part));
}

// One line about a table's filter.
std::string FilterText(const lsm::Table& table, const bloom::FilterDescription& filter) {
  if (table.filter_presence() == lsm::FilterPresence::kAbsent) return "none";
  if (table.filter_presence() != lsm::FilterPresence::kUsable) {
    return Concat(NameOf(table.filter_presence()), ": every answer is \"maybe\"");
  }
  return Concat(filter.kind, ", ", ReadableBytes(table.filter_memory_bytes()), ", ",
                ReadableNumber(filter.bits_per_key), " bits/key, ",
                filter.has_fill ? Concat(Count(filter.probes, "probe", "probes"), ", ") : "",
                "FPP ", ReadableNumber(filter.predicted_fpp), " (target ",
                ReadableNumber(filter.target_fpp), ")");
}

// The fields about a table's entries.
void AddEntryFields(const lsm::TableProperties& p, Session* session, Fields* fields) {
  fields->push_back(
      {"entries", Concat(ReadableCount(p.entries), " (", Count(p.distinct_keys, "key", "keys"),
                         ", ", Count(p.deletions, "deletion", "deletions"), "), sequence ",
                         p.smallest_sequence, " to ", p.largest_sequence)});
  fields->push_back({"keys", KeyRange(*session, p.smallest_key, p.largest_key, 12)});
  const lsm::WriteTimes times = p.write_times();
  if (times.timed_entries > 0) {
    const bool has_fifth = times.fifth != 0;
    fields->push_back(
        {"times",
         TimesText(times) +
             (has_fifth ? Concat(", a fifth before ", lsm::ReadableTime(times.fifth)) : "")});
  }
  fields->push_back(
      {"data",
       Concat(ReadableBytes(p.raw_key_bytes), " of keys and ", ReadableBytes(p.raw_value_bytes),
              " of values, stored in ", ReadableBytes(p.data_bytes), " (",
              Ratio(p.raw_key_bytes + p.raw_value_bytes, p.data_bytes), " to 1)")});
  fields->push_back(
      {"blocks", Concat(ReadableCount(p.data_blocks), " of ", ReadableBytes(p.block_bytes), ", ",
                        session->Show(p.compression, 20), ", a restart every ", p.restart_interval,
                        "; index ", ReadableBytes(p.index_bytes))});
}

// The field about a table's range deletes, if it has any.
void AddRangesField(const lsm::Table& table, Session* session, Fields* fields) {
  const lsm::RangeMap& map = table.ranges();
  if (!table.ranges_status().ok())
    return fields->push_back({"ranges", "damaged: which keys they delete is unknown"});
  if (map.empty()) return;
  const lsm::RangeRecord ranges = lsm::RangeRecord::Of(map);
  const std::string rest =
      Concat("; sequence ", map.smallest_sequence(), " to ", map.largest_sequence(), ", ",
             ReadableBytes(table.footer().ranges.stored_bytes));
  fields->push_back({"ranges", RangesText(*session, ranges.range_count, ranges.begin, ranges.end,
                                          12 + rest.size()) +
                                   rest});
}

void PrintTable(const lsm::Table& table, const bloom::FilterDescription& filter,
                const Target& target, Session* session) {
  const lsm::TableProperties& p = table.properties();
  session->Print(Heading(
      *session, target.path,
      Concat("table, format ", table.footer().version(), ", ", ReadableBytes(table.file_bytes()))));
  Fields fields;
  fields.push_back(
      {"made", Concat(UtcTime(p.created_micros), " by ", session->Show(p.created_by, 40),
                      ", for level ", p.level,
                      p.keyspace == lsm::kDefaultKeyspace
                          ? ""
                          : Concat(" of ", TreeText(p.keyspace, NamesFor(target), *session)))});
  if (table.has_entries()) {
    AddEntryFields(p, session, &fields);
  } else {
    fields.push_back({"entries", "none: the table has range deletes alone"});
  }
  if (table.is_partitioned()) {
    fields.push_back({"partitions", Concat(ReadableCount(table.partitions().count()),
                                           " of filter and index, read on demand")});
  }
  AddRangesField(table, session, &fields);
  fields.push_back({"filter", FilterText(table, filter)});
  const bool is_damaged = table.filter_presence() == lsm::FilterPresence::kDamaged;
  fields.push_back({"checked", Concat("footer, index, ", is_damaged ? "" : "filter, ",
                                      table.ranges().empty() ? "" : "ranges, ",
                                      "properties (data blocks: run sstdump verify)")});
  session->Print(FieldsText(*session, fields));
}

void WriteTable(const lsm::Table& table, const bloom::FilterDescription& filter,
                const Target& target, Session* session) {
  const lsm::TableProperties& p = table.properties();
  lsm::JsonWriter& json = session->json();
  json.Member("format_version", table.footer().version());
  json.Member("file_id", lsm::ReadableId(table.footer().file_id));
  json.Member("file_bytes", table.file_bytes());
  json.Member("entries", p.entries);
  json.Member("distinct_keys", p.distinct_keys);
  json.Member("deletions", p.deletions);
  json.Member("smallest_key", session->Show(p.smallest_key));
  json.Member("largest_key", session->Show(p.largest_key));
  json.Member("smallest_sequence", p.smallest_sequence);
  json.Member("largest_sequence", p.largest_sequence);
  WriteTimesOf(p.write_times(), session);
  json.Member("raw_key_bytes", p.raw_key_bytes);
  json.Member("raw_value_bytes", p.raw_value_bytes);
  json.Member("data_bytes", p.data_bytes);
  json.Member("data_blocks", p.data_blocks);
  json.Member("index_bytes", p.index_bytes);
  json.Member("partitions", table.is_partitioned() ? table.partitions().count() : 0);
  WriteRanges(lsm::RangeRecord::Of(table.ranges()), session);
  json.Member("range_bytes", table.footer().ranges.stored_bytes);
  if (!table.ranges().empty()) {
    json.Member("ranges_smallest_sequence", table.ranges().smallest_sequence());
    json.Member("ranges_largest_sequence", table.ranges().largest_sequence());
  }
  json.Member("compression", session->Show(p.compression));
  WriteTree(p.keyspace, NamesFor(target), session);
  json.Member("level", p.level);
  json.Member("created_micros", p.created_micros);
  json.Member("created_by", session->Show(p.created_by));
  json.Key("filter");
  json.BeginObject();
  json.Member("state", NameOf(table.filter_presence()));
  json.Member("kind", filter.kind);
  json.Member("bytes", table.filter_memory_bytes());
  json.Member("bits_per_key", filter.bits_per_key);
  json.Member("probes", filter.probes);
  json.Member("target_fpp", filter.target_fpp);
  json.Member("predicted_fpp", filter.predicted_fpp);
  json.EndObject();
}

void ShowTableInfo(const Target& target, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) return session->Fail(table.status(), target);
  bloom::FilterDescription filter;
  if ((*table)->filter_presence() != lsm::FilterPresence::kAbsent) filter = DescribeFilter(**table);
  if (session->json_wanted()) {
    WriteTable(**table, filter, target, session);
  } else {
    PrintTable(**table, filter, target, session);
  }
  for (const absl::Status& status : {(*table)->ranges_status(), (*table)->filter_status()}) {
    if (!status.ok()) session->Fail(status, target);
  }
}

void ShowLogInfo(const Target& target, Session* session) {
  uint64_t puts = 0, deletions = 0, ranges = 0, bytes = 0;
  lsm::Sequence first = 0, last = 0;
  const LogSummary log = WalkLog(
      target, lsm::LogKind::kWriteAhead, session, [&](const lsm::LogReader::Record& record) {
        const absl::Status status =
            WalkBatch(record, OpenedPath(target), [&](const BatchEntry& entry) {
              if (last == 0) first = entry.sequence;
              last = entry.sequence;
              if (entry.change != nullptr) return;
              ++(entry.is_put() ? puts : entry.is_range() ? ranges : deletions);
              bytes += entry.key.size() + entry.value.size() + entry.to.value_or("").size();
            });
        if (!status.ok()) session->Fail(status, target);
        return true;
      });
  if (session->json_wanted()) {
    lsm::JsonWriter& json = session->json();
    json.Member("format_version", log.version);
    json.Member("file_id", lsm::ReadableId(log.file_id));
    json.Member("file_bytes", log.size_bytes);
    json.Member("records", log.records);
    json.Member("puts", puts);
    json.Member("deletions", deletions);
    json.Member("range_deletes", ranges);
    json.Member("key_and_value_bytes", bytes);
    json.Member("first_sequence", first);
    json.Member("last_sequence", last);
    json.Member("durable_offset", log.durable_offset);
    json.Member("end", NameOf(log.end));
    json.Member("torn_bytes", log.torn_bytes);
    return;
  }
  if (!log.is_open) return;
  if (log.size_bytes == 0) {
    return session->Print(Heading(*session, target.path,
                                  "empty; a log only by its name, so it may be another product's"));
  }
  session->Print(Heading(
      *session, target.path,
      Concat("write-ahead log, format ", log.version, ", ", ReadableBytes(log.size_bytes))));
  session->Print(FieldsText(
      *session,
      {{"records", ReadableCount(log.records)},
       {"entries",
        Concat(ReadableCount(puts + deletions + ranges), " (", Count(puts, "put", "puts"), ", ",
               Count(deletions, "deletion", "deletions"),
               ranges > 0 ? Concat(", ", Count(ranges, "range delete", "range deletes")) : "",
               "), ", ReadableBytes(bytes), " of keys and values, sequence ", first, " to ", last)},
       {"synced",
        Concat("up to offset ", log.durable_offset, " at least, according to its records")},
       {"end", EndText(log.end, log.torn_bytes)}}));
}

void ShowManifestInfo(const Target& target, Session* session) {
  const ManifestWalk walk = WalkManifest(target, session, [](uint64_t, const lsm::VersionEdit&) {});
  const lsm::ManifestState& state = walk.state;
  uint64_t tables = 0;
  uint64_t table_bytes = 0;
  for (const PlacedTable& table : TablesInOrder(state)) {
    ++tables;
    table_bytes += table.meta.file_bytes;
  }
  if (session->json_wanted()) {
    lsm::JsonWriter& json = session->json();
    json.Member("format_version", walk.log.version);
    json.Member("file_id", lsm::ReadableId(walk.log.file_id));
    json.Member("file_bytes", walk.log.size_bytes);
    json.Member("edits", walk.edits);
    json.Member("tables", tables);
    json.Member("table_bytes", table_bytes);
    json.Member("next_file_number", state.next_file_number);
    json.Member("last_sequence", state.last_sequence);
    json.Member("oldest_log", state.oldest_log);
    json.Member("digest_seed", ReadableSeed(state.digest_seed));
    json.Member("end", NameOf(walk.log.end));
    json.Member("torn_bytes", walk.log.torn_bytes);
    return;
  }
  if (!walk.log.is_open) return;
  session->Print(Heading(
      *session, target.path,
      Concat("manifest, format ", walk.log.version, ", ", ReadableBytes(walk.log.size_bytes))));
  session->Print(FieldsText(
      *session, {{"edits", ReadableCount(walk.edits)},
                 {"tables", Concat(ReadableCount(tables), ", ", ReadableBytes(table_bytes))},
                 {"numbers", Concat("next file ", state.next_file_number, ", last sequence ",
                                    state.last_sequence, ", oldest log ", state.oldest_log)},
                 {"end", EndText(walk.log.end, walk.log.torn_bytes)}}));
}

// Totals of a store.
struct StoreSums {
  uint64_t tables = 0, table_bytes = 0, entries = 0, log_bytes = 0, needed_logs = 0;
  uint64_t reserve_bytes = 0, range_deletes = 0;
  int deepest_level = 0;
  bool has_keys = false;  // the default keyspace, in tables
  std::string smallest_key, largest_key;
  std::vector<std::string> unused;  // files named like the store's that it no longer needs
};

StoreSums SumUp(const StoreFiles& files, Session* session) {
  StoreSums sums;
  const lsm::ManifestState& state = files.manifest.state;
  for (const PlacedTable& table : TablesInOrder(state)) {
    // Keys of two keyspaces are no range.
    if (table.meta.has_entries() && table.meta.keyspace == lsm::kDefaultKeyspace) {
      const std::string_view smallest = table.meta.first_key(), largest = table.meta.last_key();
      if (!sums.has_keys || smallest < sums.smallest_key) sums.smallest_key.assign(smallest);
      if (!sums.has_keys || largest > sums.largest_key) sums.largest_key.assign(largest);
      sums.has_keys = true;
    }
    ++sums.tables;
    sums.range_deletes += table.meta.ranges.range_count;
    sums.table_bytes += table.meta.file_bytes;
    sums.entries += table.meta.entries;
    sums.deepest_level = std::max(sums.deepest_level, table.level);
  }
  for (const uint64_t number : files.logs) {
    if (number < state.oldest_log) continue;
    const absl::StatusOr<lsm::FileInfo> info = files.log_directory->Stat(lsm::LogFileName(number));
    ++sums.needed_logs;
    if (info.ok()) {
      sums.log_bytes += info->size_bytes;
    } else {
      session->Fail(info.status(), files.log_directory->path());
    }
  }
  for (const std::string& name : files.names) {
    const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
    if (!parsed) continue;
    if (parsed->kind == lsm::FileKind::kReserve) {
      const absl::StatusOr<lsm::FileInfo> info = files.directory->Stat(name);
      if (info.ok()) sums.reserve_bytes = info->size_bytes;
    }
    const bool in_use =
        parsed->kind == lsm::FileKind::kLock || parsed->kind == lsm::FileKind::kCurrent ||
        parsed->kind == lsm::FileKind::kReserve ||
        (parsed->kind == lsm::FileKind::kManifest && name == files.manifest.file_name) ||
        (parsed->kind == lsm::FileKind::kLog && parsed->number >= state.oldest_log) ||
        (parsed->kind == lsm::FileKind::kTable &&
         std::any_of(state.levels.begin(), state.levels.end(),
                     [&](const auto& level) { return level.contains(parsed->number); }));
    if (!in_use) sums.unused.push_back(name);
  }
  return sums;
}

// The number of keyspaces besides the default one.
uint64_t OthersIn(const lsm::KeyspaceRecords& keyspaces) {
  return keyspaces.all().size() - keyspaces.all().count(lsm::kDefaultKeyspace);
}

void WriteStore(const StoreFiles& files, const StoreSums& sums, const LogReplay& replay,
                Session* session) {
  const lsm::ManifestState& state = files.manifest.state;
  lsm::JsonWriter& json = session->json();
  json.Member("manifest", files.manifest.file_name);
  json.Member("edits", files.manifest.edit_count);
  json.Member("tables", sums.tables);
  json.Member("table_bytes", sums.table_bytes);
  json.Member("entries", sums.entries);
  json.Member("range_deletes", sums.range_deletes);
  if (state.keyspaces.any()) json.Member("keyspaces", OthersIn(state.keyspaces));
  json.Member("deepest_level", sums.deepest_level);
  json.Member("smallest_key", session->Show(sums.smallest_key));
  json.Member("largest_key", session->Show(sums.largest_key));
  json.Member("logs", sums.needed_logs);
  json.Member("log_bytes", sums.log_bytes);
  if (state.log_directory) json.Member("log_directory", files.log_directory->path());
  json.Member("reserve_bytes", sums.reserve_bytes);
  json.Member("next_file_number", state.next_file_number);
  json.Member("last_sequence", state.last_sequence);
  json.Member("oldest_log", state.oldest_log);
  json.Member("digest_seed", ReadableSeed(state.digest_seed));
  json.Key("dropped");
  json.BeginArray();
  for (const lsm::DroppedLogEnd& end : replay.dropped) json.Json(end.ToJson());
  json.EndArray();
  json.Key("unused_files");
  json.BeginArray();
  for (const std::string& name : sums.unused) json.String(name);
  json.EndArray();
}

void ShowStoreInfo(const Target& target, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), target);
  if (!files.ok()) return session->Fail(files.status(), target);
  if (!files->has_state()) return session->Fail(StateProblem(*files), target);
  const StoreSums sums = SumUp(*files, session);
  const LogReplay replay = ReplayLogs(*files, session, [](size_t, const BatchEntry&) {});
  if (session->json_wanted()) return WriteStore(*files, sums, replay, session);
  const lsm::ManifestState& state = files->manifest.state;
  session->Print(Heading(*session, target.path, "store"));
  Fields fields;
  const std::string ranges =
      sums.range_deletes == 0
          ? ""
          : Concat(", ", Count(sums.range_deletes, "range delete", "range deletes"));
  fields.push_back(
      {"tables", Concat(ReadableCount(sums.tables), " in levels 0 to ", sums.deepest_level, ", ",
                        ReadableBytes(sums.table_bytes), ", ",
                        Count(sums.entries, "entry", "entries"), ranges, " (sstdump levels)")});
  if (const uint64_t others = OthersIn(state.keyspaces); others > 0) {
    fields.push_back({"keyspaces", Concat(Count(others, "keyspace", "keyspaces"),
                                          " besides the default one (sstdump levels)")});
  }
  if (sums.has_keys) {
    fields.push_back({"keys", KeyRange(*session, sums.smallest_key, sums.largest_key, 12)});
  }
  fields.push_back(
      {"logs",
       Concat(ReadableCount(sums.needed_logs), " from ", lsm::LogFileName(state.oldest_log),
              " on, ", ReadableBytes(sums.log_bytes),
              state.log_directory ? Concat(", in ", lsm::Escape(files->log_directory->path())) : "",
              "; tables hold everything up to sequence ", state.last_sequence)});
  for (const lsm::DroppedLogEnd& end : replay.dropped)
    fields.push_back({"dropped", Concat("by an opening: ", end.path, ", ", end.DescribeBytes())});
  fields.push_back({"manifest", Concat(files->manifest.file_name, ", ",
                                       Count(files->manifest.edit_count, "edit", "edits"), ", ",
                                       EndText(files->manifest.end, files->manifest.torn_bytes))});
  if (sums.reserve_bytes > 0)
    fields.push_back({"reserve", Concat(ReadableBytes(sums.reserve_bytes), " for a full disk")});
  if (!sums.unused.empty()) fields.push_back({"unused", NamesText(sums.unused)});
  session->Print(FieldsText(*session, fields));
}

void ShowCurrentInfo(const Target& target, Session* session) {
  const absl::StatusOr<lsm::Current> current = lsm::ReadCurrent(*target.directory, target.name);
  if (!current.ok()) return session->Fail(current.status(), target);
  const std::string manifest = lsm::ManifestFileName(current->manifest_number);
  if (session->json_wanted()) {
    session->json().Member("manifest", manifest);
    session->json().Member("manifest_file_id", lsm::ReadableId(current->manifest_file_id));
    return;
  }
  session->Print(Heading(*session, target.path,
                         Concat("CURRENT, names ", manifest, " with file id ",
                                lsm::ReadableId(current->manifest_file_id))));
}

}  // namespace

void RunInfo(const Target& target, Session* session) {
  switch (target.kind) {
    case TargetKind::kTable:
      return ShowTableInfo(target, session);
    case TargetKind::kLog:
      return ShowLogInfo(target, session);
    case TargetKind::kManifest:
      return ShowManifestInfo(target, session);
    case TargetKind::kCurrent:
      return ShowCurrentInfo(target, session);
    case TargetKind::kDirectory:
      return ShowStoreInfo(target, session);
    case TargetKind::kLock:
    case TargetKind::kReserve:
      return session->Print(Heading(*session, target.path, Describe(target)));
    case TargetKind::kForeign:
      return session->Fail(absl::InvalidArgumentError(Concat("this is ", target.foreign)), target);
  }
}

}  // namespace tools
