// `sstdump get`: each step of a search for a key in one file.  With `--raw` only the value, also of
// a whole store.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_walk.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/log_file.h"
#include "tools/sstdump/store/store_files.h"
#include "tools/sstdump/store/store_lookup.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

using lsm::Concat;

// Further versions are counted but not shown.
constexpr size_t kShownVersions = 20;

struct FoundVersion {
  lsm::Sequence sequence = 0;
  lsm::BatchKind kind = lsm::BatchKind::kPut;
  uint64_t value_bytes = 0;
  std::string value;                               // of the newest version
  std::optional<uint32_t> written = std::nullopt;  // of a put that has a time

  bool is_put() const { return kind == lsm::BatchKind::kPut; }
  bool HasExpired(const lsm::ExpiryView& expired) const {
    return is_put() && expired.HidesAt(written.value_or(expired.untimed));
  }
};

// The result of a lookup in one table.
struct TableLookup {
  bloom::Digest digest = 0;
  bool filter_passed = true;
  size_t first_block = 0;              // by the index; block_count() if the key is after all blocks
  size_t block_count = 0;              // blocks read, from first_block on
  absl::Status status;                 // the error that ended the last of these reads, if any
  std::vector<FoundVersion> versions;  // newest first, with the range deletes
  uint64_t version_count = 0;
  uint64_t entry_count = 0;    // those that are entries
  absl::Status ranges_status;  // why range deletes are unknown; OK: they are known

  // Entries come newest first.  If any was found it is the newest one, even if a later block is
  // unreadable.
  bool is_certain() const { return ranges_status.ok() && (status.ok() || entry_count > 0); }
};

// Adds the range deletes that cover the key, in the order of sequences.
void AddRanges(const lsm::RangeMap& ranges, std::string_view user_key, TableLookup* lookup) {
  std::vector<FoundVersion>& versions = lookup->versions;
  lsm::Sequence at = ranges.NewestAt(user_key, lsm::kSequenceMax);
  for (size_t place = 0; at > 0; at = ranges.NewestAt(user_key, at - 1)) {
    ++lookup->version_count;
    while (place < versions.size() && versions[place].sequence >= at) ++place;
    if (place < kShownVersions) {
      versions.insert(versions.begin() + static_cast<std::ptrdiff_t>(place),
                      {at, lsm::BatchKind::kDeleteRange, 0, ""});
    }
    if (versions.size() > kShownVersions) versions.pop_back();
  }
}

// Reads the blocks even if the filter says "no", to detect a wrong "no".
TableLookup LookUp(const lsm::Table& table, std::string_view user_key) {
  TableLookup lookup;
  lookup.digest = DigestFor(table, user_key);
  lookup.filter_passed = PassesFilter(table, user_key);
  lookup.first_block = table.FirstBlockFor(user_key);
  bool is_past = false;
  const auto visit = [&](const lsm::ParsedKey& key, std::string_view value) {
    is_past = key.user_key > user_key;
    if (is_past) return false;
    if (key.user_key < user_key) return true;
    ++lookup.version_count;
    ++lookup.entry_count;
    if (lookup.versions.size() < kShownVersions) {
      const std::optional<uint32_t> written = WrittenOf(key.kind, value);
      value = lsm::ValueOf(key.kind, value);
      const auto kind =
          key.kind == lsm::EntryKind::kDelete ? lsm::BatchKind::kDelete : lsm::BatchKind::kPut;
      lookup.versions.push_back({key.sequence, kind, value.size(), "", written});
      if (lookup.version_count == 1) lookup.versions.back().value.assign(value);
    }
    return true;
  };
  lsm::TableWalk walk(table);
  for (size_t i = lookup.first_block; i < table.block_count(); ++i) {
    ++lookup.block_count;
    lookup.status = walk.Walk(i, visit).status;
    // Only versions of the fence's own key continue in the next block.
    if (!lookup.status.ok() || is_past || table.block_fence(i) != user_key) break;
  }
  lookup.ranges_status = table.ranges_status();
  AddRanges(table.ranges(), user_key, &lookup);
  return lookup;
}

const char* AnswerOf(const std::vector<FoundVersion>& versions, const lsm::ExpiryView& expired,
                     bool is_certain) {
  if (!is_certain) return "unknown";
  if (versions.empty()) return "absent";
  return versions.front().HasExpired(expired) ? "expired" : NameOf(versions.front().kind);
}

// ", 12 bytes, written 2026-11-30T03:00:00Z".
std::string DetailsOf(const FoundVersion& version, const lsm::ExpiryView& expired) {
  if (!version.is_put()) return "";
  std::string details = Concat(", ", Count(version.value_bytes, "byte", "bytes"));
  if (version.written) details += Concat(", written ", lsm::ReadableTime(*version.written));
  // It is older than the first limit.
  if (!version.written && version.HasExpired(expired))
    details += Concat(", written before ", lsm::ReadableTime(expired.untimed));
  return details;
}

// The entries that a reader of the file's store finds expired; none for a file by itself.
lsm::ExpiryView ExpiredFor(const Target& target) {
  return target.keyspaces == nullptr ? lsm::ExpiryView() : target.keyspaces->expired;
}

std::string FilterText(const lsm::Table& table, const TableLookup& lookup) {
  switch (table.filter_presence()) {
    case lsm::FilterPresence::kUsable:
      break;
    case lsm::FilterPresence::kAbsent:
      return "none: maybe";
    case lsm::FilterPresence::kDamaged:
      return "damaged: maybe";
    case lsm::FilterPresence::kUnknown:
      return "of unknown kind: maybe";
  }
  const std::string kind = DescribeFilter(table).kind;
  if (!lookup.filter_passed) return Concat(kind, " says no: a store would stop here");
  const bool is_absent = lookup.entry_count == 0 && lookup.status.ok();
  return Concat(kind, " says maybe", is_absent ? ": a false positive" : "");
}

// If a newer version may be unreadable, none of these versions is the answer.
void PrintVersions(const std::vector<FoundVersion>& versions, uint64_t count,
                   const lsm::ExpiryView& expired, bool is_certain, Session* session) {
  if (!is_certain) {
    session->Print("  answer  unknown: a part that may hold it cannot be read\n");
  } else if (versions.empty()) {
    session->Print("  answer  absent\n");
  }
  for (size_t i = 0; i < versions.size(); ++i) {
    const FoundVersion& version = versions[i];
    const bool has_expired = version.HasExpired(expired);
    const char* label = !is_certain ? "  found   " : i == 0 ? "  answer  " : "  older   ";
    session->Print(Concat(label, has_expired ? "expired " : "", NameOf(version.kind),
                          " at sequence ", version.sequence, DetailsOf(version, expired), "\n"));
    if (i == 0 && version.is_put() && !has_expired) {
      session->Print(
          Concat("  value   ", session->Show(version.value, KeyColumns(*session, 10, 1)), "\n"));
    }
  }
  if (count > versions.size())
    session->Print(Concat("  older   ", count - versions.size(), " more\n"));
}

void PrintTableLookup(const Target& target, const lsm::Table& table, const TableLookup& lookup,
                      Session* session) {
  const size_t columns = KeyColumns(*session, 20, 2);
  session->Print(Heading(*session, target.path,
                         Concat("key ", session->ShowKey(session->request().key, columns))));
  session->Print(Concat("  digest  ", lsm::ReadableId(lookup.digest), "\n"));
  session->Print(Concat("  filter  ", FilterText(table, lookup), "\n"));
  if (lookup.first_block == table.block_count()) {
    session->Print("  index   the key is after the last block\n");
  }
  for (size_t i = lookup.first_block; i < lookup.first_block + lookup.block_count; ++i) {
    const lsm::BlockHandle handle = table.block_handle(i);
    session->Print(Concat("  index   block ", i, " at offset ", handle.offset, ", ",
                          lsm::ReadableCount(handle.stored_bytes), " bytes, for keys up to ",
                          session->ShowKey(table.block_fence(i), columns), "\n"));
  }
  PrintVersions(lookup.versions, lookup.version_count, ExpiredFor(target), lookup.is_certain(),
                session);
}

void WriteVersions(const std::vector<FoundVersion>& versions, const lsm::ExpiryView& expired,
                   bool is_certain, Session* session) {
  lsm::JsonWriter& json = session->json();
  json.Member("answer", AnswerOf(versions, expired, is_certain));
  const bool is_value =
      !versions.empty() && versions.front().is_put() && !versions.front().HasExpired(expired);
  if (is_certain && is_value) json.Member("value", session->Show(versions.front().value));
  json.Key("versions");
  json.BeginArray();
  for (const FoundVersion& version : versions) {
    json.BeginObject();
    json.Member("sequence", version.sequence);
    json.Member("kind", NameOf(version.kind));
    json.Member("value_bytes", version.value_bytes);
    if (version.written) json.Member("written", *version.written);
    json.EndObject();
  }
  json.EndArray();
}

void WriteTableLookup(const Target& target, const lsm::Table& table, const TableLookup& lookup,
                      Session* session) {
  lsm::JsonWriter& json = session->json();
  json.Member("key", session->Show(session->request().key));
  json.Member("digest", lsm::ReadableId(lookup.digest));
  json.Member("filter_state", NameOf(table.filter_presence()));
  json.Member("filter_passed", lookup.filter_passed);
  json.Key("blocks");
  json.BeginArray();
  for (size_t i = lookup.first_block; i < lookup.first_block + lookup.block_count; ++i) {
    json.BeginObject();
    json.Member("ordinal", i);
    json.Member("offset", table.block_handle(i).offset);
    json.Member("stored_bytes", table.block_handle(i).stored_bytes);
    json.Member("fence", session->Show(table.block_fence(i)));
    json.EndObject();
    session->DrainJson();
  }
  json.EndArray();
  WriteVersions(lookup.versions, ExpiredFor(target), lookup.is_certain(), session);
}

void ShowKeyInTable(const Target& target, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) return session->Fail(table.status(), target);
  const std::string& key = session->request().key;
  const TableLookup lookup =
      LookUp(**table, target.keyspaces == nullptr ? key : target.keyspaces->KeyInTree(key));
  const bool raw = session->request().form == ByteForm::kRaw && !session->json_wanted();
  if (session->json_wanted()) {
    WriteTableLookup(target, **table, lookup, session);
  } else if (!raw) {
    PrintTableLookup(target, **table, lookup, session);
  } else if (lookup.ranges_status.ok() && !lookup.versions.empty()) {
    session->PrintRaw(lookup.versions.front().value);  // nothing else, for a pipe
  }
  for (const absl::Status& status : {lookup.status, lookup.ranges_status}) {
    if (!status.ok()) session->Fail(status, target);
  }
  if (!lookup.filter_passed && lookup.entry_count > 0) {
    session->Damage(target, (*table)->footer().filter.offset,
                    "the filter denies a key that the table holds");
  }
  const absl::Status filter_status = (*table)->filter_status();
  if (!filter_status.ok()) session->Fail(filter_status, target);
}

void ShowKeyInLog(const Target& target, Session* session) {
  std::vector<FoundVersion> versions;
  uint64_t count = 0;
  const lsm::KeyspaceId keyspace =
      target.keyspaces == nullptr ? lsm::kDefaultKeyspace : target.keyspaces->shown.id;
  const Session::Tally before = session->tally();
  const LogSummary log = WalkLog(
      target, lsm::LogKind::kWriteAhead, session, [&](const lsm::LogReader::Record& record) {
        const absl::Status status =
            WalkBatch(record, OpenedPath(target), [&](const BatchEntry& entry) {
              if (!entry.Changes(keyspace, session->request().key)) return;
              ++count;
              if (!versions.empty())
                std::string().swap(versions.front().value);  // frees its memory too
              versions.insert(versions.begin(), {entry.sequence, entry.kind, entry.value.size(),
                                                 std::string(entry.value), entry.written});
              if (versions.size() > kShownVersions) versions.pop_back();
            });
        if (!status.ok()) session->Fail(status, target);
        return !session->has_too_many_problems();
      });
  // Damaged parts may hold a newer version.
  const bool is_certain = session->tally() == before;
  const auto dropped = DroppedEndOf(target, log, /*was_durable=*/false, {});
  if (is_certain && dropped.has_value()) NoteDropped(*dropped, session);
  if (session->json_wanted()) {
    session->json().Member("key", session->Show(session->request().key));
    return WriteVersions(versions, ExpiredFor(target), is_certain, session);
  }
  if (session->request().form == ByteForm::kRaw) {
    if (is_certain && !versions.empty()) session->PrintRaw(versions.front().value);
    return;
  }
  session->Print(Heading(
      *session, target.path,
      Concat("key ", session->ShowKey(session->request().key, KeyColumns(*session, 20, 2)))));
  PrintVersions(versions, count, ExpiredFor(target), is_certain, session);
}

// `--raw`: prints the store's answer and nothing else.  Prints no value that may be stale.
void WriteValueOfStore(const Target& target, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), target);
  if (!files.ok()) return session->Fail(files.status(), target);
  if (!files->has_state()) return session->Fail(StateProblem(*files), target);
  const StoreLookup lookup = LookUpInStore(*files, session->request().key, session);
  if (lookup.is_certain()) session->PrintRaw(lookup.value);
}

}  // namespace

void RunGet(const Target& target, Session* session) {
  if (target.kind == TargetKind::kDirectory) return WriteValueOfStore(target, session);
  if (target.kind == TargetKind::kLog) return ShowKeyInLog(target, session);
  ShowKeyInTable(target, session);
}

}  // namespace tools
