#include "tools/sstdump/store_lookup.h"

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lsm/base/counters.h"
#include "lsm/base/epoch.h"
#include "lsm/base/write_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/version.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/log_file.h"
#include "tools/sstdump/table_file.h"

namespace tools {
namespace {

using lsm::Concat;

// The newest write of the key in one log.
struct LogAnswer {
  std::string name;
  bool found = false;
  lsm::EntryKind kind = lsm::EntryKind::kPut;
  std::string value;
};

// Goes through the logs as recovery does: from the oldest one that is needed on, and the writes are
// numbered without a gap.  Behind a gap nothing is used, which is what a crash may leave; unless a
// log behind it was synced or closed, for then its predecessors were synced too, and something else
// took them.
class LogLookup {
 public:
  LogLookup(const StoreFiles& files, const std::string& key, Session* session)
      : files_(files), key_(key), session_(session), last_(state().last_sequence) {}

  void Run() {
    std::set<uint64_t> needed = state().NeededLogs();
    for (const uint64_t number : files_.logs) {
      if (number >= state().oldest_log) needed.insert(number);
    }
    for (const uint64_t number : needed) LookInto(number);
  }

  lsm::Sequence last_sequence() const { return last_; }
  const std::vector<LogAnswer>& answers() const { return answers_; }  // oldest log first
  bool is_certain() const { return is_certain_; }

 private:
  const lsm::ManifestState& state() const { return files_.manifest.state; }

  void LookInto(uint64_t number) {
    const std::string name = lsm::LogFileName(number);
    const absl::StatusOr<std::optional<Target>> found = FindLog(files_, number);
    if (!found.ok() || !*found) {
      is_certain_ = false;
      if (found.ok()) return session_->Note(name + kMovedOn + "; look again");
      return session_->Fail(found.status(), Concat(files_.log_directory->path(), "/", name));
    }
    const Target& log = **found;
    const Session::Tally before = session_->tally();
    session_->NextFile();
    answers_.push_back({name, false, lsm::EntryKind::kPut, ""});
    was_durable_ = state().synced_logs.contains(number) || state().closed_logs.contains(number);
    const LogSummary summary =
        WalkLog(log, lsm::LogKind::kWriteAhead, session_,
                [&](const lsm::LogReader::Record& record) { return Apply(log, record); });
    if (session_->tally() == before) {
      const absl::Status id =
          state().CheckLogId(number, OpenedPath(log), summary.file_id, summary.size_bytes);
      if (!id.ok()) session_->Fail(id, log);
      const absl::Status closed = state().CheckClosedLog(number, OpenedPath(log), summary.end,
                                                         summary.size_bytes, summary.torn_bytes);
      if (!closed.ok()) session_->Fail(closed, log);
      const absl::Status synced = state().CheckSyncedLog(number, OpenedPath(log), summary.records);
      if (!synced.ok()) session_->Fail(synced, log);
    }
    if (session_->tally() != before) is_certain_ = false;
  }

  bool Apply(const Target& log, const lsm::LogReader::Record& record) {
    if (!Follows(log, record)) return true;
    const absl::Status status = WalkBatch(record, OpenedPath(log), [&](const BatchEntry& entry) {
      last_ = entry.sequence;
      if (entry.key != key_) return;
      LogAnswer& answer = answers_.back();
      answer.found = true;
      answer.kind = entry.kind;
      answer.value.assign(entry.value);
    });
    if (!status.ok()) {
      is_certain_ = false;
      session_->Fail(status, log);
    }
    return !session_->has_too_many_problems();
  }

  bool Follows(const Target& log, const lsm::LogReader::Record& record) {
    // Behind damage numbers are missing, which was said already.
    if (!is_certain_ || record.payload.size() < lsm::WriteBatch::kHeaderBytes) return true;
    const lsm::Sequence first = lsm::WriteBatch::FirstSequenceOf(record.payload);
    if (!is_gap_ && first == last_ + 1) return true;
    if (was_durable_ || first <= last_) {
      is_certain_ = false;
      session_->Damage(log, record.offset,
                       Concat("the record begins with sequence ", first,
                              ", what comes before it ends with ", last_));
      return true;
    }
    if (!is_gap_) {
      session_->Note(Concat(log.name, ": the store will not use this log from offset ",
                            record.offset,
                            " on: writes before it were never synced, and are lost"));
    }
    is_gap_ = true;
    return false;
  }

  const StoreFiles& files_;
  const std::string& key_;
  Session* const session_;
  lsm::Sequence last_;
  std::vector<LogAnswer> answers_;
  bool was_durable_ = false;  // the log that is looked into
  bool is_gap_ = false;
  bool is_certain_ = true;
};

// The tables that may hold the key.  All are opened, so that damage is named.  Of one that cannot
// be it is said why it is left out; false in `is_certain` if it may hold the key.
std::array<lsm::OpenTables, lsm::kLevels> OpenTables(const StoreFiles& files,
                                                     const std::string& key, Session* session,
                                                     bool* is_certain) {
  std::array<lsm::OpenTables, lsm::kLevels> levels;
  for (const PlacedTable& placed : TablesInOrder(files.manifest.state)) {
    const std::string path = Concat(files.directory->path(), "/", placed.name);
    lsm::TableContext context;
    context.digest_seed = files.manifest.state.digest_seed;
    absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> table =
        lsm::OpenTableFile(*files.directory, placed.meta, lsm::ReadMode::kBuffered, context);
    const bool may_hold =
        lsm::UserKeyOf(placed.meta.smallest) <= key && lsm::UserKeyOf(placed.meta.largest) >= key;
    if (table.ok()) {
      const absl::Status filter_status = (*table)->table->filter_status();
      if (!filter_status.ok()) session->Fail(filter_status, path);
      // Of the others indexes and filters are not kept: together they may be larger than memory.
      if (may_hold) levels[static_cast<size_t>(placed.level)].push_back(std::move(table).value());
      continue;
    }
    if (IsGone(files, *files.directory, lsm::FileKind::kTable, placed.meta.number)) {
      session->Note(placed.name + kMovedOn + "; look again");
      *is_certain = false;
      continue;
    }
    // The manifest says that it is there, and a table.
    const absl::StatusCode code = absl::IsNotFound(table.status())
                                      ? absl::StatusCode::kDataLoss
                                      : lsm::AsDamage(table.status()).code();
    session->Fail(
        absl::Status(code, Concat(lsm::MessageOf(table.status()), "; this table is left out")),
        path);
    if (may_hold) *is_certain = false;
  }
  return levels;
}

void LookIntoTables(const StoreFiles& files, const std::string& key, Session* session,
                    StoreLookup* lookup) {
  lsm::Explanation& explanation = lookup->explanation;
  bool is_certain = true;
  absl::StatusOr<std::shared_ptr<const lsm::Version>> version =
      lsm::Version::Create(OpenTables(files, key, session, &is_certain));
  if (!version.ok()) {
    lookup->is_certain = false;
    return session->Fail(version.status(), files.directory->path());
  }
  const lsm::LookupKey lookup_key(key, lsm::kSequenceMax, files.manifest.state.digest_seed);
  lsm::Counters counters;
  lsm::LookupResult result;
  const lsm::EpochGuard guard;
  const absl::Status status =
      (*version)->Get(lookup_key, {.fill_cache = false}, &counters, &result, &explanation);
  if (!status.ok()) {
    lookup->is_certain = false;
    explanation.error = status.ToString();
    return session->Fail(status, files.directory->path());
  }
  if (!is_certain) {
    lookup->is_certain = false;
    explanation.answered_by += ", without a table that may hold the key";
  }
  if (result.answer != lsm::TableAnswer::kFound) return;
  explanation.found = true;
  lookup->value.assign(result.value);
  explanation.value_bytes = lookup->value.size();
}

}  // namespace

StoreLookup LookUpInStore(const StoreFiles& files, const std::string& key, Session* session) {
  const lsm::ManifestState& state = files.manifest.state;
  StoreLookup lookup;
  lsm::Explanation& explanation = lookup.explanation;
  explanation.key = key;
  explanation.digest = bloom::DigestOf(key, state.digest_seed);
  explanation.answered_by = "nobody";
  for (const auto& level : state.levels) explanation.tables_by_level.push_back(level.size());
  LogLookup logs(files, key, session);
  logs.Run();
  explanation.sequence = logs.last_sequence();
  lookup.is_certain = logs.is_certain();
  // Logs hold what memtables held: the newest is asked first, and the first answer counts.
  for (auto log = logs.answers().rbegin(); log != logs.answers().rend(); ++log) {
    explanation.memtables.push_back({log->name, log->found ? NameOf(log->kind) : "absent"});
    if (!log->found) continue;
    explanation.found = log->kind == lsm::EntryKind::kPut;
    explanation.answered_by = log->name;
    explanation.value_bytes = log->value.size();
    lookup.value = log->value;
    return lookup;
  }
  LookIntoTables(files, key, session, &lookup);
  return lookup;
}

}  // namespace tools
