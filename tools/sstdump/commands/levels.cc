// `sstdump levels`: the store's tables by level.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/statistics.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/open_table.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/hidden_bytes.h"
#include "tools/sstdump/store/store_files.h"
#include "tools/sstdump/store/table_file.h"
#include "tools/sstdump/wrap.h"

namespace tools {
namespace {

using lsm::Concat;
using lsm::ReadableBytes;
using lsm::ReadableCount;
using lsm::ReadableNumber;

// A table according to its manifest and its file.  If the file cannot be opened, its figures are
// zero.
struct TableRow {
  PlacedTable placed;
  bool is_open = false;
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  std::string filter_kind;
  std::string filter_reason;  // empty if the table was written without a filter goal
  bool is_filtered = false;
  double target_fpp = 0;
  double predicted_fpp = 1;  // without a usable filter every lookup reads a block
  lsm::DeadEntries dead;
  uint64_t expired_bytes = 0;  // an estimate
  uint64_t hidden_bytes = 0;   // by range deletes alone, an estimate
  // The properties of a table whose release did not record `dead`; otherwise null.
  std::unique_ptr<const lsm::TableProperties> older;
};

struct LevelRow {
  uint64_t runs = 0;  // at level 0 the number of tables
  uint64_t tables = 0, bytes = 0, entries = 0, range_deletes = 0;  // according to the manifest
  // Sums over the readable tables.
  uint64_t readable_tables = 0, keys = 0, filter_bytes = 0, filtered_keys = 0;
  double target_sum = 0, predicted_sum = 0;  // weighted by the keys of tables with filters
  uint64_t expired_bytes = 0, hidden_bytes = 0;
  lsm::DeadEntries dead;                   // of all tables
  uint64_t newest = 0;                     // number of the newest readable table with entries
  std::string filter_kind, filter_reason;  // of that table
  double expected_reads = 0;  // wasted reads expected for an absent key within every table's range

  void Add(const TableRow& table) {
    ++tables;
    bytes += table.placed.meta.file_bytes;
    entries += table.placed.meta.entries;
    range_deletes += table.placed.meta.ranges.range_count;
    dead.Add(table.dead);
    expired_bytes += table.expired_bytes;
    hidden_bytes += table.hidden_bytes;
    readable_tables += table.is_open ? 1 : 0;
    keys += table.keys;
    filter_bytes += table.filter_bytes;
    // Range deletes need no filter.
    if (table.is_open && table.placed.meta.has_entries() && table.placed.meta.number >= newest) {
      newest = table.placed.meta.number;
      filter_kind = table.filter_kind;
      filter_reason = table.filter_reason;
    }
    if (!table.is_filtered) return;
    filtered_keys += table.keys;
    target_sum += table.target_fpp * static_cast<double>(table.keys);
    predicted_sum += table.predicted_fpp * static_cast<double>(table.keys);
  }
  void Add(const LevelRow& level) {
    dead.Add(level.dead);
    expired_bytes += level.expired_bytes;
    hidden_bytes += level.hidden_bytes;
    runs += level.runs;
    tables += level.tables;
    bytes += level.bytes;
    entries += level.entries;
    range_deletes += level.range_deletes;
    readable_tables += level.readable_tables;
    keys += level.keys;
    filter_bytes += level.filter_bytes;
    filtered_keys += level.filtered_keys;
    target_sum += level.target_sum;
    predicted_sum += level.predicted_sum;
    expected_reads += level.expected_reads;
  }
  double target_fpp() const {
    return filtered_keys == 0 ? 0 : target_sum / static_cast<double>(filtered_keys);
  }
  double predicted_fpp() const {
    return filtered_keys == 0 ? 0 : predicted_sum / static_cast<double>(filtered_keys);
  }
  double bits_per_key() const {
    return filtered_keys == 0
               ? 0
               : 8 * static_cast<double>(filter_bytes) / static_cast<double>(filtered_keys);
  }
};

// A keyspace in readable tables.
struct KeyspaceSize {
  uint64_t bytes = 0;          // in the common tree an estimate by the indexes
  uint64_t expired_bytes = 0;  // an estimate by the times of writes
};

// Adds up the keyspaces in tables.
class KeyspaceSizes {
 public:
  // `records`: those that the manifest has, with the options that the logs leave.
  KeyspaceSizes(lsm::KeyspaceRecords records, const Request& request)
      : records_(std::move(records)), request_(request) {}

  const lsm::KeyspaceRecords& records() const { return records_; }
  KeyspaceSize Of(lsm::KeyspaceId id) const {
    const auto found = sizes_.find(id);
    return found == sizes_.end() ? KeyspaceSize() : found->second;
  }
  // Whether entries of any keyspace may expire.
  bool AreAnyTimed() const {
    return std::any_of(records_.all().begin(), records_.all().end(),
                       [](const auto& known) { return known.second.marks.are_timed(); });
  }

  // Returns the bytes of the table that have expired.
  uint64_t Add(const lsm::TableMeta& meta, const lsm::Table& table) {
    if (meta.keyspace != lsm::kCommonTree) return Add(meta.keyspace, meta, table, meta.file_bytes);
    uint64_t expired_bytes = 0;
    const lsm::KeySpan span = meta.span();
    const auto& all = records_.all();
    for (auto it = all.lower_bound(lsm::KeyspaceOf(span.begin)); it != all.end(); ++it) {
      if (it->second.has_own_tree) continue;
      const lsm::CommonBounds bounds = lsm::CommonBoundsOf(it->first, "", std::nullopt);
      if (span.EndsBy(bounds.from)) break;
      const uint64_t begin = bounds.from <= span.begin ? 0 : table.ApproximateOffsetOf(bounds.from);
      const uint64_t end = !bounds.to || span.EndsBy(*bounds.to)
                               ? meta.file_bytes
                               : table.ApproximateOffsetOf(*bounds.to);
      expired_bytes += Add(it->first, meta, table, end - std::min(begin, end));
    }
    return expired_bytes;
  }

 private:
  uint64_t Add(lsm::KeyspaceId id, const lsm::TableMeta& meta, const lsm::Table& table,
               uint64_t bytes) {
    const double share = ExpiredShareOf(meta, table, ExpiredIn(id, records_, request_));
    const auto expired_bytes = static_cast<uint64_t>(static_cast<double>(bytes) * share);
    KeyspaceSize& size = sizes_[id];
    size.bytes += bytes;
    size.expired_bytes += expired_bytes;
    return expired_bytes;
  }

  const lsm::KeyspaceRecords records_;
  const Request& request_;
  std::map<lsm::KeyspaceId, KeyspaceSize> sizes_;
};

TableRow ReadTable(const StoreFiles& files, const PlacedTable& placed, KeyspaceSizes* sizes,
                   HiddenInStore* hidden, Session* session) {
  TableRow row;
  row.placed = placed;
  row.dead = placed.meta.dead;
  const absl::StatusOr<std::optional<Target>> found = FindTable(files, placed.meta.number);
  if (!found.ok()) {
    session->Fail(found.status(), Concat(files.directory->path(), "/", placed.name));
    return row;
  }
  if (!*found) {
    session->Note(placed.name + kMovedOn);
    return row;
  }
  const Target& target = **found;
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) {
    session->Fail(table.status(), target);
    return row;
  }
  const lsm::TableProperties& properties = (*table)->properties();
  row.is_open = true;
  row.expired_bytes = sizes->Add(placed.meta, **table);
  hidden->Add(placed, **table, row.expired_bytes);
  row.keys = properties.distinct_keys;
  if (!properties.states_dead_entries())
    row.older = std::make_unique<lsm::TableProperties>(properties);
  row.filter_kind = NameOf((*table)->filter_presence());
  row.filter_reason = properties.filter_reason;
  for (const absl::Status& status : {(*table)->ranges_status(), (*table)->filter_status()}) {
    if (!status.ok()) session->Fail(status, target);
  }
  if ((*table)->filter_presence() != lsm::FilterPresence::kUsable) return row;
  const bloom::FilterDescription filter = DescribeFilter(**table);
  row.filter_kind = filter.kind;
  row.filter_bytes = (*table)->filter_memory_bytes();
  row.is_filtered = true;
  row.target_fpp = filter.target_fpp;
  row.predicted_fpp = filter.predicted_fpp;
  return row;
}

std::string NumberOrDash(double number) { return number == 0 ? "-" : ReadableNumber(number); }

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

// The reason's name, without its explanation.
std::string ReasonName(const std::string& reason) {
  return OrDash(reason.substr(0, reason.find(':')));
}

// Columns that only some stores need.
struct Columns {
  bool tombstones;  // some table has dead entries
  bool expired;     // entries of some keyspace may expire
  bool ranges;      // some table has range deletes
  bool reasons;     // a filter goal chose some table's filter, or gave it none
  bool readable;    // some table is unreadable
};

std::vector<std::string> Cells(std::string name, const LevelRow& row, const Columns& columns) {
  std::vector<std::string> cells = {std::move(name),
                                    ReadableCount(row.tables),
                                    ReadableCount(row.runs),
                                    ReadableBytes(row.bytes),
                                    ReadableCount(row.keys),
                                    ReadableBytes(row.filter_bytes),
                                    NumberOrDash(row.bits_per_key()),
                                    NumberOrDash(row.target_fpp()),
                                    NumberOrDash(row.predicted_fpp()),
                                    ReadableNumber(row.expected_reads)};
  if (columns.tombstones) {
    cells.push_back(ReadableCount(row.dead.tombstones));
    cells.push_back(ReadableBytes(row.dead.freeable_bytes()));
    const std::string time = UtcTime(row.dead.oldest_tombstone * 1'000'000);
    cells.push_back(row.dead.oldest_tombstone == 0 ? "-" : time.substr(0, time.find(' ')));
  }
  if (columns.expired) cells.push_back(ReadableBytes(row.expired_bytes));
  if (columns.ranges) {
    cells.push_back(ReadableCount(row.range_deletes));
    cells.push_back(ReadableBytes(row.hidden_bytes));
  }
  if (columns.readable) {
    cells.push_back(row.readable_tables == row.tables
                        ? "all"
                        : Concat(row.readable_tables, " of ", row.tables));
  }
  if (columns.reasons) {
    cells.push_back(OrDash(row.filter_kind));
    cells.push_back(ReasonName(row.filter_reason));
  }
  return cells;
}

bool AnyHasReason(const std::vector<TableRow>& tables) {
  return std::any_of(tables.begin(), tables.end(),
                     [](const TableRow& table) { return !table.filter_reason.empty(); });
}

bool AnyHasRanges(const std::vector<TableRow>& tables) {
  return std::any_of(tables.begin(), tables.end(),
                     [](const TableRow& table) { return !table.placed.meta.ranges.empty(); });
}

bool AnyHasTimes(const std::vector<TableRow>& tables) {
  return std::any_of(tables.begin(), tables.end(), [](const TableRow& table) {
    return table.placed.meta.times.timed_entries > 0;
  });
}

// "users", or "(common tree)".
std::string OwnerOf(lsm::KeyspaceId tree, const StoreFiles& files, const Session& session) {
  if (tree == lsm::kCommonTree) return "(common tree)";
  const auto name = files.keyspaces->names.find(tree);
  return session.Fit(
      session.ShowName(name == files.keyspaces->names.end() ? lsm::kDefaultKeyspaceName
                                                            : std::string_view(name->second)),
      session.columns() / 4);
}

// "2", or "2.1" for run 1 of level 2.
std::string PlaceOf(const PlacedTable& table) {
  return Concat(table.level, table.meta.run == 0 ? "" : Concat(".", table.meta.run));
}

void PrintTables(const StoreFiles& files, const std::vector<TableRow>& tables, Session* session) {
  const bool with_keyspaces = files.manifest.state.keyspaces.any();
  const bool with_reasons = AnyHasReason(tables);
  const bool with_ranges = AnyHasRanges(tables);
  const bool with_times = AnyHasTimes(tables);
  Rows rows = {{"table", "level", "size", "entries", "filter", "FPP"}};
  if (with_ranges) rows[0].insert(rows[0].end(), {"ranges", "hidden"});
  if (with_times)
    rows[0].insert(rows[0].end(), {"timed puts", "oldest write", "newest write", "expired"});
  if (with_reasons) rows[0].push_back("why");
  if (with_keyspaces) rows[0].push_back("keyspace");
  for (const TableRow& table : tables) {
    rows.push_back(
        {table.placed.name, PlaceOf(table.placed), ReadableBytes(table.placed.meta.file_bytes),
         ReadableCount(table.placed.meta.entries), table.is_open ? table.filter_kind : "?",
         table.is_filtered ? ReadableNumber(table.predicted_fpp) : "-"});
    if (with_ranges) {
      rows.back().push_back(ReadableCount(table.placed.meta.ranges.range_count));
      rows.back().push_back(ReadableBytes(table.hidden_bytes));
    }
    if (with_times) {
      const lsm::WriteTimes& times = table.placed.meta.times;
      const bool is_timed = times.timed_entries > 0;
      rows.back().insert(rows.back().end(), {is_timed ? ReadableCount(times.timed_entries) : "-",
                                             is_timed ? lsm::ReadableTime(times.oldest) : "-",
                                             is_timed ? lsm::ReadableTime(times.newest) : "-",
                                             ReadableBytes(table.expired_bytes)});
    }
    if (with_reasons) rows.back().push_back(ReasonName(table.filter_reason));
    if (with_keyspaces) rows.back().push_back(OwnerOf(table.placed.meta.keyspace, files, *session));
  }
  constexpr size_t kBlanks = 2;
  const std::vector<std::string> left_out =
      LeaveOutColumns(*session,
                      {"oldest write", "newest write", "filter", "why", "size", "entries", "FPP",
                       "timed puts", "ranges", "hidden", "expired", "keyspace"},
                      kBlanks + kKeyRangeColumnsMin, &rows);
  const size_t others = WidthOf(RowsText(rows, {})) + kBlanks;
  rows[0].push_back("keys");
  for (size_t i = 0; i < tables.size(); ++i) {
    const lsm::TableMeta& meta = tables[i].placed.meta;
    rows[i + 1].push_back(meta.has_entries()
                              ? KeyRange(*session, meta.first_key(), meta.last_key(), others)
                              : std::string("- (range deletes alone)"));
  }
  session->Print(RowsText(rows, left_out));
}

void WriteLevel(const LevelRow& row, bool with_expired, lsm::JsonWriter* json) {
  json->Member("tables", row.tables);
  json->Member("readable_tables", row.readable_tables);
  json->Member("runs", row.runs);
  json->Member("table_bytes", row.bytes);
  json->Member("entries", row.entries);
  json->Member("keys", row.keys);
  json->Member("range_deletes", row.range_deletes);
  json->Member("tombstones", row.dead.tombstones);
  json->Member("freeable_bytes", row.dead.freeable_bytes());
  json->Member("oldest_tombstone", row.dead.oldest_tombstone);
  json->Member("hidden_bytes", row.hidden_bytes);
  if (with_expired) json->Member("expired_bytes", row.expired_bytes);
  json->Member("filter_bytes", row.filter_bytes);
  json->Member("bits_per_key", row.bits_per_key());
  json->Member("target_fpp", row.target_fpp());
  json->Member("predicted_fpp", row.predicted_fpp());
  json->Member("expected_wasted_reads", row.expected_reads);
  json->Member("filter", row.filter_kind);
  json->Member("filter_reason", row.filter_reason);
}

void WriteLevels(const StoreFiles& files, const std::array<LevelRow, lsm::kLevels>& levels,
                 const LevelRow& all, const std::vector<TableRow>& tables, bool with_expired,
                 Session* session) {
  lsm::JsonWriter& json = session->json();
  if (with_expired) json.Member("at", *session->request().at);
  json.Key("levels");
  json.BeginArray();
  for (size_t i = 0; i < levels.size(); ++i) {
    json.BeginObject();
    json.Member("level", i);
    WriteLevel(levels[i], with_expired, &json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("total");
  json.BeginObject();
  WriteLevel(all, with_expired, &json);
  json.EndObject();
  json.Key("tables");
  json.BeginArray();
  for (const TableRow& table : tables) {
    json.BeginObject();
    json.Member("name", table.placed.name);
    json.Member("level", table.placed.level);
    json.Member("run", table.placed.meta.run);
    WriteTree(table.placed.meta.keyspace, files.keyspaces->names, session);
    json.Member("file_bytes", table.placed.meta.file_bytes);
    json.Member("entries", table.placed.meta.entries);
    json.Member("keys", table.keys);
    WriteRanges(table.placed.meta.ranges, session);
    json.Member("tombstones", table.dead.tombstones);
    json.Member("freeable_bytes", table.dead.freeable_bytes());
    json.Member("oldest_tombstone", table.dead.oldest_tombstone);
    json.Member("hidden_bytes", table.hidden_bytes);
    WriteTimesOf(table.placed.meta.times, session);
    if (with_expired) json.Member("expired_bytes", table.expired_bytes);
    json.Member("filter", table.is_open ? table.filter_kind : "?");
    json.Member("filter_reason", table.filter_reason);
    json.Member("filter_bytes", table.filter_bytes);
    json.Member("target_fpp", table.target_fpp);
    json.Member("predicted_fpp", table.predicted_fpp);
    json.Member("smallest_key", session->Show(table.placed.meta.first_key()));
    json.Member("largest_key", session->Show(table.placed.meta.last_key()));
    json.EndObject();
    session->DrainJson();
  }
  json.EndArray();
}

// "store of 3 tables, 1.20 MiB", or "keyspace 2 users, 1 table of the common tree, 4.00 KiB".
std::string TitleOf(const StoreFiles& files, const LevelRow& all, const Session& session) {
  const std::string tables = Count(all.tables, "table", "tables");
  if (!session.request().keyspace)
    return Concat("store of ", tables, ", ", ReadableBytes(all.bytes));
  const Keyspaces& keyspaces = *files.keyspaces;
  return Concat("keyspace ", KeyspaceText(keyspaces.shown.id, keyspaces.names, session), ", ",
                tables, keyspaces.is_common() ? " of the common tree, " : ", ",
                ReadableBytes(all.bytes));
}

void PrintLevels(const Target& target, const StoreFiles& files,
                 const std::array<LevelRow, lsm::kLevels>& levels, const LevelRow& all,
                 const std::vector<TableRow>& tables, bool with_expired, Session* session) {
  session->Print(Heading(*session, target.path, TitleOf(files, all, *session)));
  const Columns columns = {.tombstones = all.dead.tombstones + all.dead.freeable_bytes() > 0,
                           .expired = with_expired,
                           .ranges = all.range_deletes > 0,
                           .reasons = AnyHasReason(tables),
                           .readable = all.readable_tables < all.tables};
  Rows rows = {
      {"level", "tables", "runs", "size", "keys", "filters", "b/key", "target", "FPP", "wasted"}};
  if (columns.tombstones) rows[0].insert(rows[0].end(), {"tombstones", "freeable", "oldest"});
  if (columns.expired) rows[0].push_back("expired");
  if (columns.ranges) rows[0].insert(rows[0].end(), {"ranges", "hidden"});
  if (columns.readable) rows[0].push_back("readable");
  if (columns.reasons) rows[0].insert(rows[0].end(), {"filter", "why"});
  for (size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].tables > 0) rows.push_back(Cells(Concat(i), levels[i], columns));
  }
  rows.push_back(Cells("all", all, columns));
  const std::vector<std::string> left_out =
      LeaveOutColumns(*session,
                      {"oldest", "freeable", "target", "tombstones", "b/key", "size", "filters",
                       "keys", "filter", "why", "runs", "ranges", "hidden", "expired"},
                      0, &rows);
  session->Print(RowsText(rows, left_out));
  session->Print(
      "  FPP: predicted.  wasted: expected wasted reads of a lookup for an absent key\n"
      "  within the range of every table\n");
  if (!tables.empty() && tables.front().placed.meta.keyspace != tables.back().placed.meta.keyspace)
    session->Print("  of its tree; mean over the trees, weighted by their keys\n");
  if (columns.tombstones)
    session->Print(
        "  freeable: bytes of dead entries, and of older entries that tombstones cover;\n"
        "  compactions are expected to free them\n"
        "  oldest: day of the oldest tombstone or range delete\n");
  if (columns.ranges)
    session->Print(
        "  hidden: estimated bytes that only range deletes hide, beside freeable ones\n");
  if (columns.expired) {
    session->Print(Concat("  expired: estimated bytes of puts that have expired at ",
                          lsm::ReadableTime(*session->request().at), "\n"));
  }
  if (columns.readable)
    session->Print("  readable: keys, filters, b/key, target, FPP and wasted count only these\n");
  if (!columns.reasons) return;
  session->Print("  filter, why: filter of the level's newest table, and the reason for it:\n");
  std::set<std::string> explained;
  for (const LevelRow& level : levels) {
    if (!level.filter_reason.empty() && explained.insert(level.filter_reason).second)
      session->Print(Concat("    ", lsm::Escape(level.filter_reason, 100), "\n"));
  }
}

// True if two consecutive tables belong to the same run.
bool IsOneRun(const TableRow& before, const TableRow& after) {
  return after.placed.level > 0 && before.placed.level == after.placed.level &&
         before.placed.meta.run == after.placed.meta.run &&
         before.placed.meta.keyspace == after.placed.meta.keyspace;
}

// A lookup asks one table of a run.  Tables are weighted by their keys; a table without a filter
// costs one read, one with range deletes alone costs none.
double ExpectedReadsOf(const LevelRow& run) {
  if (run.entries == 0) return 0;
  if (run.keys == 0) return 1;
  const auto unfiltered = static_cast<double>(run.keys - run.filtered_keys);
  return (run.predicted_sum + unfiltered) / static_cast<double>(run.keys);
}

// Estimates what tables of older releases did not record.  Like Tree, it uses the mean bytes of a
// key in the table's tree.
void EstimateDeadEntries(std::vector<TableRow>* tables) {
  struct Sums {
    double bytes = 0, keys = 0;
  };
  std::map<lsm::KeyspaceId, Sums> trees;
  for (const TableRow& table : *tables) {
    if (!table.is_open) continue;
    Sums& tree = trees[table.placed.meta.keyspace];
    tree.bytes += static_cast<double>(table.placed.meta.file_bytes);
    // Like KeysOf in lsm/version/open_table.h.  A file of another release may not state its keys.
    tree.keys += static_cast<double>(table.keys != 0 ? table.keys : table.placed.meta.entries);
  }
  for (TableRow& table : *tables) {
    if (!table.older) continue;
    const auto [bytes, keys] = trees[table.placed.meta.keyspace];
    table.dead =
        table.older->EstimateDeadEntries(table.placed.meta.entries, keys == 0 ? 0 : bytes / keys);
  }
}

// The share of each tree in the keys.
std::map<lsm::KeyspaceId, double> SharesOf(const std::vector<TableRow>& tables) {
  std::map<lsm::KeyspaceId, double> shares;
  double all = 0;
  for (const TableRow& table : tables) {
    shares[table.placed.meta.keyspace] += static_cast<double>(table.keys);
    all += static_cast<double>(table.keys);
  }
  for (auto& [tree, share] : shares)
    share = all > 0 ? share / all : 1 / static_cast<double>(shares.size());
  return shares;
}

std::array<LevelRow, lsm::kLevels> LevelsOf(const std::vector<TableRow>& tables) {
  std::array<LevelRow, lsm::kLevels> levels;
  std::map<lsm::KeyspaceId, double> shares = SharesOf(tables);
  for (size_t begin = 0, end = 0; begin < tables.size(); begin = end) {
    LevelRow& level = levels[static_cast<size_t>(tables[begin].placed.level)];
    LevelRow run;
    for (; end < tables.size() && (end == begin || IsOneRun(tables[end - 1], tables[end])); ++end) {
      run.Add(tables[end]);
      level.Add(tables[end]);
    }
    ++level.runs;
    level.expected_reads += shares[tables[begin].placed.meta.keyspace] * ExpectedReadsOf(run);
  }
  return levels;
}

// --- the keyspaces of a store ---

std::string TextOf(const lsm::KeyspaceRecord& record) {
  const auto& [filter_kind, target_fpp, compression, compaction_style, expire_after] =
      record.options;
  std::string text;
  const auto add = [&text](const auto&... parts) {
    text += Concat(text.empty() ? "" : ", ", parts...);
  };
  if (filter_kind) add("filter ", *filter_kind);
  if (target_fpp) add("target ", ReadableNumber(*target_fpp));
  if (compression) add(lsm::NameOf(*compression));
  if (compaction_style) add(lsm::NameOf(*compaction_style));
  if (expire_after == 0) add("expires no more");
  if (expire_after.value_or(0) > 0) add("expires after ", *expire_after, " s");
  if (record.marks.are_timed()) add("timed from ", lsm::ReadableTime(record.marks.timed_from));
  if (record.marks.cutoff > 0)
    add("older than ", lsm::ReadableTime(record.marks.cutoff), " expired");
  return OrDash(text);
}

// The default one, then the others, the largest first.
std::vector<lsm::KeyspaceRecord> KeyspacesBySize(const KeyspaceSizes& sizes) {
  std::vector<lsm::KeyspaceRecord> records;
  if (!sizes.records().all().contains(lsm::kDefaultKeyspace)) records.emplace_back();
  for (const auto& [id, record] : sizes.records().all()) records.push_back(record);
  std::stable_sort(records.begin() + 1, records.end(), [&](const auto& a, const auto& b) {
    return sizes.Of(a.id).bytes > sizes.Of(b.id).bytes;
  });
  return records;
}

void PrintKeyspaces(const KeyspaceSizes& sizes, Session* session) {
  constexpr size_t kShownMax = 20;
  const std::vector<lsm::KeyspaceRecord> records = KeyspacesBySize(sizes);
  const bool with_expired = sizes.AreAnyTimed();
  Rows rows = {{"keyspace", "id", "tree", "size"}};
  if (with_expired) rows[0].push_back("expired");
  rows[0].push_back("options");
  for (const lsm::KeyspaceRecord& record : records) {
    if (rows.size() > kShownMax) break;
    const KeyspaceSize size = sizes.Of(record.id);
    rows.push_back({session->Fit(session->ShowName(record.name), session->columns() / 4),
                    Concat(record.id), record.has_own_tree ? "own" : "common",
                    ReadableBytes(size.bytes)});
    if (with_expired) rows.back().push_back(ReadableBytes(size.expired_bytes));
    rows.back().push_back(TextOf(record));
  }
  const std::vector<std::string> left_out = LeaveOutColumns(*session, {"options", "id"}, 0, &rows);
  session->Print(RowsText(rows, left_out));
  if (records.size() > kShownMax)
    session->Print(Concat("  and ", ReadableCount(records.size() - kShownMax),
                          " more, which are smaller (--json has all)\n"));
}

void WriteKeyspaces(const KeyspaceSizes& sizes, Session* session) {
  lsm::JsonWriter& json = session->json();
  json.Key("keyspaces");
  json.BeginArray();
  for (const lsm::KeyspaceRecord& record : KeyspacesBySize(sizes)) {
    json.BeginObject();
    WriteRecord(record, session);
    json.Member("table_bytes", sizes.Of(record.id).bytes);
    if (record.marks.are_timed()) json.Member("expired_bytes", sizes.Of(record.id).expired_bytes);
    json.EndObject();
    session->DrainJson();
  }
  json.EndArray();
}

// The manifest's keyspaces, with the options that they have after the logs.
lsm::KeyspaceRecords KeyspacesOf(const StoreFiles& files) {
  lsm::KeyspaceRecords records = files.manifest.state.keyspaces;
  const lsm::KeyspaceRecords after_logs = RecordsWithLogs(files);
  for (const auto& [id, record] : after_logs.all()) {
    if (id < records.next_id()) records.Put(record);
  }
  return records;
}

}  // namespace

void RunLevels(const Target& target, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), target);
  if (!files.ok()) return session->Fail(files.status(), target);
  if (!files->has_state()) return session->Fail(StateProblem(*files), target);
  const bool is_one = session->request().keyspace.has_value();
  KeyspaceSizes sizes(KeyspacesOf(*files), session->request());
  const std::vector<PlacedTable> placed =
      is_one ? TablesOfShown(*files) : TablesInOrder(files->manifest.state);
  HiddenInStore hidden(*files, placed, sizes.records());
  std::vector<TableRow> tables;
  for (const PlacedTable& table : placed)
    tables.push_back(ReadTable(*files, table, &sizes, &hidden, session));
  const std::map<uint64_t, uint64_t> hidden_bytes = hidden.BytesByTable();
  for (TableRow& table : tables) {
    const auto found = hidden_bytes.find(table.placed.meta.number);
    if (found != hidden_bytes.end()) table.hidden_bytes = found->second;
  }
  EstimateDeadEntries(&tables);
  const std::array<LevelRow, lsm::kLevels> levels = LevelsOf(tables);
  LevelRow all;
  for (const LevelRow& level : levels) all.Add(level);
  const bool lists_keyspaces = !is_one && sizes.records().any();
  const bool with_expired = sizes.AreAnyTimed();
  if (session->json_wanted()) {
    if (is_one) WriteShown(*files->keyspaces, session);
    WriteLevels(*files, levels, all, tables, with_expired, session);
    if (lists_keyspaces) WriteKeyspaces(sizes, session);
    return;
  }
  PrintLevels(target, *files, levels, all, tables, with_expired, session);
  if (session->request().with_tables) PrintTables(*files, tables, session);
  if (lists_keyspaces) PrintKeyspaces(sizes, session);
}

}  // namespace tools
