// `sstdump dump`: a store's contents: the newest value of each key over its logs and tables.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/memtable/held_ranges.h"
#include "lsm/memtable/memtable.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/log_replay.h"
#include "tools/sstdump/store/merged_entries.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {
namespace {

using lsm::Concat;

// `written` is nothing for a put without a time.
void ShowPair(const lsm::ParsedKey& key, std::string_view value, std::optional<uint32_t> written,
              Session* session) {
  const bool keys_only = session->request().keys_only;
  if (session->json_wanted()) {
    lsm::JsonWriter& json = session->BeginLine();
    json.Member("key", session->Show(key.user_key));
    json.Member("sequence", key.sequence);
    if (written) json.Member("written", *written);
    if (!keys_only) json.Member("value", session->Show(value));
    return session->EndLine();
  }
  std::string line = session->Show(key.user_key, KeyColumns(*session, 8, keys_only ? 1 : 2));
  if (!keys_only) {
    line += '\t';
    line += session->Show(value, RestOfLine(*session, line));
  }
  session->Print(line + "\n");
}

// Adds the logs' writes of the keyspace within the bounds.  Sets `expired` by the limit after these
// logs.  Returns false, and tells the session why, if any may be missing.
bool FillMemtable(const StoreFiles& files, const KeyBounds& bounds, Session* session,
                  lsm::Memtable* memtable, lsm::ExpiryView* expired) {
  lsm::HeldRanges ranges;
  std::string timed_value;
  const LogReplay replay = ReplayLogs(files, session, [&](size_t, const BatchEntry& entry) {
    const bool is_sound = session->tally().problems == 0 && entry.sequence <= lsm::kSequenceMax;
    if (!is_sound || entry.keyspace != files.keyspaces->shown.id || entry.change != nullptr) return;
    if (entry.is_range())
      return ranges.Add(lsm::kDefaultKeyspace, entry.key, entry.to, entry.sequence);
    if (!bounds.Holds(entry.key)) return;
    if (entry.written) {
      timed_value.clear();
      lsm::AppendTimed(&timed_value, *entry.written, entry.value);
      return memtable->Add(entry.sequence, lsm::EntryKind::kTimedPut, entry.key, timed_value);
    }
    const auto kind = entry.is_put() ? lsm::EntryKind::kPut : lsm::EntryKind::kDelete;
    memtable->Add(entry.sequence, kind, entry.key, entry.value);
  });
  ranges.MoveTo(memtable);
  *expired = ExpiredIn(files.keyspaces->shown.id, replay.keyspaces, session->request());
  for (const lsm::DroppedLogEnd& end : replay.dropped) NoteDropped(end, session);
  return replay.is_whole && replay.last_sequence <= lsm::kSequenceMax;
}

bool HasAllTables(const StoreFiles& files, const KeyBounds& bounds, const Target& target,
                  Session* session) {
  for (const PlacedTable& table : TablesWithin(files, bounds)) {
    if (!files.missing.contains(table.name)) continue;
    session->Fail(FindTable(files, table.meta.number).status(), target);
  }
  return session->tally().problems == 0;
}

// Shows the newest version of each key, unless a range delete hides it or it has expired, up to the
// first error or the limit.
absl::Status ShowNewest(lsm::Iterator* entries, const lsm::RangeMap& ranges,
                        const lsm::ExpiryView& expired, const KeyBounds& bounds, Session* session) {
  uint64_t left = session->request().limit.value_or(UINT64_MAX);
  std::string last;  // the previous internal key
  lsm::LookupKey first(bounds.from, lsm::kSequenceMax, bloom::DigestSeed());
  for (entries->Seek(first.internal_key()); left > 0 && entries->Valid(); entries->Next()) {
    lsm::ParsedKey key;
    if (!lsm::ParseInternalKey(entries->key(), &key))
      return absl::DataLossError("not an internal key");
    if (bounds.to && key.user_key >= *bounds.to) break;
    // A compaction in steps may have left a copy of an entry in another run.
    if (!last.empty() && lsm::CompareInternalKeys(last, entries->key()) > 0)
      return absl::DataLossError(Concat("key ", lsm::QuotedKey(key.user_key), " is out of order"));
    const bool is_newest = last.empty() || lsm::UserKeyOf(last) != key.user_key;
    last.assign(entries->key());
    std::string_view value = entries->value();
    const std::optional<uint32_t> written = WrittenOf(key.kind, value);
    const lsm::Shown shown = lsm::ShowTo(expired, lsm::KindOf(lsm::SuffixOf(last)), &value);
    if (!is_newest || shown != lsm::Shown::kValue) continue;
    if (ranges.NewestAt(key.user_key, lsm::kSequenceMax) > key.sequence) continue;
    if (session->is_broken()) return absl::OkStatus();
    ShowPair(key, value, written, session);
    --left;
  }
  return left > 0 ? entries->status() : absl::OkStatus();
}

}  // namespace

void RunDump(const Target& target, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), target);
  if (!files.ok()) return session->Fail(files.status(), target);
  if (!files->has_state()) return session->Fail(StateProblem(*files), target);
  const KeyBounds bounds = {session->request().from.value_or(""), session->request().to};
  lsm::Memtable memtable;  // has the keyspace in the place of the default one
  lsm::ExpiryView expired;
  const bool has_logs = FillMemtable(*files, bounds, session, &memtable, &expired);
  const bool has_tables = HasAllTables(*files, bounds, target, session);
  const absl::StatusOr<lsm::RangeMap> ranges = MergedRanges(*files, memtable, bounds);
  if (has_tables && !ranges.ok()) session->Fail(ranges.status(), target);
  if (!has_tables || !has_logs || !ranges.ok()) {
    return session->Note(Concat(lsm::Escape(target.path),
                                ": nothing is dumped, because newer writes may be missing; sstdump "
                                "scan and sstdump wal show what is readable"));
  }
  const std::unique_ptr<lsm::Iterator> entries = NewMergedEntries(*files, memtable, bounds);
  const absl::Status status = ShowNewest(entries.get(), *ranges, expired, bounds, session);
  if (status.ok()) return;
  session->Fail(status, target);
  session->Note(
      Concat(lsm::Escape(target.path),
             ": the dump ends here; sstdump scan shows the readable entries of each table"));
}

}  // namespace tools
