// `sstdump manifest`: the edits of a manifest, and their sum.
#include "lsm/version/manifest.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/version_edit.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/log_file.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {
namespace {

using lsm::Concat;

// "12 tombstones since 2026-11-28 10:11:12 UTC, 1.20 KiB freeable, ", or nothing.
std::string TextOf(const lsm::DeadEntries& dead) {
  std::string text;
  if (dead.tombstones != 0) text += Count(dead.tombstones, "tombstone", "tombstones");
  if (dead.oldest_tombstone != 0)
    text += Concat(" since ", UtcTime(dead.oldest_tombstone * 1'000'000));
  if (!text.empty()) text += ", ";
  if (dead.freeable_bytes() != 0)
    text += Concat(lsm::ReadableBytes(dead.freeable_bytes()), " freeable, ");
  return text;
}

// Names every field, so that a new one does not compile before it is named here.
void PrintTable(int level, const lsm::TableMeta& table, const KeyspaceNames& names,
                Session* session) {
  const auto& [number, file_id, file_bytes, entries, smallest, largest, run, dead, ranges, keyspace,
               times] = table;
  std::string line = Concat(
      "    + level ", level, " ", run == 0 ? "" : Concat("run ", run, " "),
      lsm::TableFileName(number), ", ",
      keyspace == lsm::kDefaultKeyspace ? "" : Concat(TreeText(keyspace, names, *session), ", "),
      lsm::ReadableBytes(file_bytes), ", ", Count(entries, "entry", "entries"), ", ",
      times.timed_entries == 0 ? "" : Concat(TimesText(times), ", "), TextOf(dead));
  size_t others = line.size();
  if (session->columns() != 0 && others + kKeyRangeColumnsMin > session->columns()) {
    constexpr size_t kIndent = 8;
    line.back() = '\n';
    line.append(kIndent, ' ');
    others = kIndent;
  }
  line += KeyRange(*session, table.first_key(), table.last_key(), others);
  session->Print(line + "\n");
  if (ranges.empty()) return;
  constexpr std::string_view kIndent = "        ";
  session->Print(Concat(
      kIndent, RangesText(*session, ranges.range_count, ranges.begin, ranges.end, kIndent.size()),
      "\n"));
}

uint64_t LimitOf(const Session& session) { return session.request().limit.value_or(UINT64_MAX); }

// The number of items that --limit allows.
template <typename Item>
std::span<const Item> Limited(const std::vector<Item>& items, const Session& session) {
  return std::span(items).first(std::min<uint64_t>(items.size(), LimitOf(session)));
}

// "    and 12 more tables", for a list cut by --limit.
void PrintRest(uint64_t count, Session* session) {
  if (count <= LimitOf(*session)) return;
  session->Print(
      Concat("    and ", Count(count - LimitOf(*session), "more table", "more tables"), "\n"));
}

// Names every field, so that a new one does not compile before it is printed here.
void PrintEdit(uint64_t offset, const lsm::VersionEdit& edit, const KeyspaceNames& names,
               Session* session) {
  const auto& [is_snapshot, next_file_number, last_sequence, oldest_log, digest_seed, log_seed,
               log_directory, synced_logs, closed_logs, added_tables, removed_tables,
               next_keyspace_id, dropped_keyspaces, keyspaces] = edit;
  session->Print(Concat("  edit at offset ", offset, is_snapshot ? ", a snapshot\n" : "\n"));
  std::string line;
  const auto field = [&line](std::string_view name, const auto& value) {
    line += Concat(line.empty() ? "    " : ", ", name, " ", value);
  };
  if (next_file_number) field("next file", *next_file_number);
  if (last_sequence) field("last sequence", *last_sequence);
  if (oldest_log) field("oldest log", *oldest_log);
  for (const uint64_t log : synced_logs) field("synced log", log);
  for (const auto& [log, file_bytes] : closed_logs)
    field("closed log", Concat(log, " of ", file_bytes, " B"));
  if (digest_seed) field("digest seed", ReadableSeed(*digest_seed));
  if (log_seed) field("log seed", lsm::ReadableId(*log_seed));
  if (log_directory) field("log directory", session->Show(*log_directory));
  if (next_keyspace_id) field("next keyspace id", *next_keyspace_id);
  if (!line.empty()) session->Print(line + "\n");
  for (const lsm::KeyspaceId id : dropped_keyspaces)
    session->Print(Concat("    - keyspace ", KeyspaceText(id, names, *session), "\n"));
  for (const lsm::KeyspaceRecord& record : keyspaces) {
    session->Print(Concat("    + keyspace ", KeyspaceText(record.id, names, *session),
                          record.has_own_tree ? ", with a tree of its own" : ", in the common tree",
                          record.options == lsm::KeyspaceOptions() ? "\n" : ", with options\n"));
  }
  for (const lsm::VersionEdit::Removed& removed : Limited(removed_tables, *session)) {
    session->Print(
        Concat("    - level ", removed.level, " ", lsm::TableFileName(removed.number), "\n"));
  }
  PrintRest(removed_tables.size(), session);
  for (const lsm::VersionEdit::Added& added : Limited(added_tables, *session))
    PrintTable(added.level, added.table, names, session);
  PrintRest(added_tables.size(), session);
}

// Names every field, so that a new one does not compile before it is written here.
void WriteTable(int level, const lsm::TableMeta& table, const KeyspaceNames& names,
                Session* session) {
  const auto& [number, file_id, file_bytes, entries, smallest, largest, run, dead, ranges, keyspace,
               times] = table;
  lsm::JsonWriter& json = session->json();
  json.BeginObject();
  json.Member("level", level);
  WriteTree(keyspace, names, session);
  json.Member("run", run);
  json.Member("number", number);
  json.Member("file_id", lsm::ReadableId(file_id));
  json.Member("file_bytes", file_bytes);
  json.Member("entries", entries);
  json.Member("smallest_key", session->Show(table.first_key()));
  json.Member("largest_key", session->Show(table.last_key()));
  json.Member("tombstones", dead.tombstones);
  json.Member("dead_bytes", dead.dead_bytes);
  json.Member("covered_bytes", dead.covered_bytes);
  json.Member("oldest_tombstone", dead.oldest_tombstone);
  WriteTimesOf(times, session);
  WriteRanges(ranges, session);
  json.EndObject();
}

void WriteClosedLogs(const std::map<uint64_t, uint64_t>& closed_logs, lsm::JsonWriter* json) {
  json->Key("closed_logs");
  json->BeginArray();
  for (const auto& [number, file_bytes] : closed_logs) {
    json->BeginObject();
    json->Member("number", number);
    json->Member("file_bytes", file_bytes);
    json->EndObject();
  }
  json->EndArray();
}

void WriteKeyspaceOf(const lsm::KeyspaceRecord& record, Session* session) {
  session->json().BeginObject();
  WriteRecord(record, session);
  session->json().EndObject();
}

// Names every field, so that a new one does not compile before it is written here.
void WriteEdit(uint64_t offset, const lsm::VersionEdit& edit, const KeyspaceNames& names,
               Session* session) {
  const auto& [is_snapshot, next_file_number, last_sequence, oldest_log, digest_seed, log_seed,
               log_directory, synced_logs, closed_logs, added_tables, removed_tables,
               next_keyspace_id, dropped_keyspaces, keyspaces] = edit;
  lsm::JsonWriter& json = session->json();
  json.BeginObject();
  json.Member("offset", offset);
  json.Member("snapshot", is_snapshot);
  if (next_file_number) json.Member("next_file_number", *next_file_number);
  if (last_sequence) json.Member("last_sequence", *last_sequence);
  if (oldest_log) json.Member("oldest_log", *oldest_log);
  if (digest_seed) json.Member("digest_seed", ReadableSeed(*digest_seed));
  if (log_seed) json.Member("log_seed", lsm::ReadableId(*log_seed));
  if (log_directory) json.Member("log_directory", *log_directory);
  json.Key("synced_logs");
  json.BeginArray();
  for (const uint64_t log : synced_logs) json.Number(log);
  json.EndArray();
  WriteClosedLogs(closed_logs, &json);
  if (next_keyspace_id) json.Member("next_keyspace_id", *next_keyspace_id);
  if (!dropped_keyspaces.empty()) {
    json.Key("dropped_keyspaces");
    json.BeginArray();
    for (const lsm::KeyspaceId id : dropped_keyspaces) json.Number(id);
    json.EndArray();
  }
  if (!keyspaces.empty()) {
    json.Key("keyspaces");
    json.BeginArray();
    for (const lsm::KeyspaceRecord& record : keyspaces) WriteKeyspaceOf(record, session);
    json.EndArray();
  }
  json.Key("removed");
  json.BeginArray();
  for (const lsm::VersionEdit::Removed& removed : Limited(removed_tables, *session)) {
    json.BeginObject();
    json.Member("level", removed.level);
    json.Member("number", removed.number);
    json.EndObject();
  }
  json.EndArray();
  json.Key("added");
  json.BeginArray();
  for (const lsm::VersionEdit::Added& added : Limited(added_tables, *session))
    WriteTable(added.level, added.table, names, session);
  json.EndArray();
  json.EndObject();
  session->DrainJson();
}

// Names every field, so that a new one does not compile before it is named here.
void WriteState(const lsm::ManifestState& state, const KeyspaceNames& names, Session* session) {
  const auto& [levels, next_file_number, last_sequence, oldest_log, digest_seed, log_seed,
               log_directory, synced_logs, closed_logs, keyspaces, started] = state;
  const std::vector<PlacedTable> tables = TablesInOrder(state);
  lsm::JsonWriter& json = session->json();
  json.Key("state");
  json.BeginObject();
  json.Member("next_file_number", next_file_number);
  json.Member("last_sequence", last_sequence);
  json.Member("oldest_log", oldest_log);
  json.Member("digest_seed", ReadableSeed(digest_seed));
  if (log_seed) json.Member("log_seed", lsm::ReadableId(*log_seed));
  if (log_directory) json.Member("log_directory", *log_directory);
  json.Key("synced_logs");
  json.BeginArray();
  for (const uint64_t number : synced_logs) json.Number(number);
  json.EndArray();
  WriteClosedLogs(closed_logs, &json);
  if (keyspaces.any()) {
    json.Member("next_keyspace_id", keyspaces.next_id());
    json.Key("keyspaces");
    json.BeginArray();
    for (const auto& [id, record] : keyspaces.all()) WriteKeyspaceOf(record, session);
    json.EndArray();
  }
  json.Member("table_count", tables.size());
  json.Key("tables");
  json.BeginArray();
  for (const PlacedTable& table : Limited(tables, *session))
    WriteTable(table.level, table.meta, names, session);
  json.EndArray();
  json.EndObject();
}

// Leaves out the logs, which the edits name.
void PrintState(const lsm::ManifestState& state, const KeyspaceNames& names, Session* session) {
  session->Print(Concat(
      "  all together: next file ", state.next_file_number, ", last sequence ", state.last_sequence,
      ", oldest log ", state.oldest_log, ",\n    digest seed ", ReadableSeed(state.digest_seed),
      state.log_seed ? Concat(", log seed ", lsm::ReadableId(*state.log_seed)) : "",
      state.log_directory ? Concat(",\n    log directory ", session->Show(*state.log_directory))
                          : "",
      "\n"));
  const std::vector<PlacedTable> tables = TablesInOrder(state);
  for (const PlacedTable& table : Limited(tables, *session))
    PrintTable(table.level, table.meta, names, session);
  PrintRest(tables.size(), session);
}

void ShowState(const ManifestWalk& walk, const KeyspaceNames& names, Session* session) {
  const LogSummary& log = walk.log;
  if (session->json_wanted()) {
    lsm::JsonWriter& json = session->json();
    json.Member("file_id", lsm::ReadableId(log.file_id));
    json.Member("file_bytes", log.size_bytes);
    json.Member("end", NameOf(log.end));
    json.Member("torn_bytes", log.torn_bytes);
    WriteState(walk.state, names, session);
    return;
  }
  if (!log.is_open) return;
  session->Print(Concat("  end: ", EndText(log.end, log.torn_bytes), "\n"));
  PrintState(walk.state, names, session);
}

// The manifest that CURRENT names.
absl::StatusOr<Target> FollowCurrent(const Target& target) {
  TRELLIS_ASSIGN_OR_RETURN(const lsm::Current current,
                           lsm::ReadCurrent(*target.directory, lsm::kCurrentFileName));
  return FindTargetIn(target.directory, lsm::ManifestFileName(current.manifest_number));
}

void ShowManifestFile(const Target& target, Session* session) {
  session->Print(
      Heading(*session, target.path, Concat("manifest, ", lsm::ReadableBytes(target.size_bytes))));
  if (session->json_wanted()) {
    session->json().Key("edits");
    session->json().BeginArray();
  }
  uint64_t left = LimitOf(*session);
  KeyspaceNames names;
  const ManifestWalk walk =
      WalkManifest(target, session, [&](uint64_t offset, const lsm::VersionEdit& edit) {
        for (const lsm::KeyspaceRecord& record : edit.keyspaces) names[record.id] = record.name;
        if (left == 0) return;
        --left;
        if (session->json_wanted()) {
          WriteEdit(offset, edit, names, session);
        } else {
          PrintEdit(offset, edit, names, session);
        }
      });
  if (session->json_wanted()) session->json().EndArray();
  ShowState(walk, names, session);
}

}  // namespace

void RunManifest(const Target& target, Session* session) {
  if (target.kind == TargetKind::kManifest) return ShowManifestFile(target, session);
  absl::StatusOr<Target> manifest;
  if (target.kind == TargetKind::kDirectory) {
    const absl::StatusOr<StoreFiles> files =
        LookAtStore(session->world(), session->request(), target);
    if (!files.ok()) return session->Fail(files.status(), target);
    Target directory = target;
    directory.directory = files->directory;
    manifest = FollowCurrent(directory);
    // The directory may be no store, or another product's.
    if (!manifest.ok() && !files->has_state()) return session->Fail(StateProblem(*files), target);
  } else {
    manifest = FollowCurrent(target);
  }
  if (!manifest.ok()) return session->Fail(manifest.status(), target);
  if (manifest->kind != TargetKind::kManifest) {
    return session->Damage(*manifest, 0,
                           Concat("CURRENT names this file, but it is ", Describe(*manifest)));
  }
  ShowManifestFile(*manifest, session);
}

}  // namespace tools
