// `sstdump explain`: the whole way of a lookup in a store, its logs first, then its tables as the
// library asks them.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/counters.h"
#include "lsm/base/epoch.h"
#include "lsm/base/explanation.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/version.h"
#include "tools/sstdump/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/log_file.h"
#include "tools/sstdump/store_files.h"
#include "tools/sstdump/table_file.h"

namespace tools {
namespace {

using lsm::Concat;

// The newest write of the key in one log, and the newest of all its writes.
struct LogAnswer {
  bool found = false;
  lsm::Sequence sequence = 0;
  lsm::EntryKind kind = lsm::EntryKind::kPut;
  uint64_t value_bytes = 0;
  lsm::Sequence last_sequence = 0;
};

LogAnswer LookIntoLog(const Target& target, const std::string& key, Session* session) {
  LogAnswer answer;
  WalkLog(target, lsm::LogKind::kWriteAhead, session, [&](const lsm::LogReader::Record& record) {
    const absl::Status status = WalkBatch(record, OpenedPath(target), [&](const BatchEntry& entry) {
      answer.last_sequence = std::max(answer.last_sequence, entry.sequence);
      if (entry.key != key || (answer.found && entry.sequence < answer.sequence)) return;
      answer.found = true;
      answer.sequence = entry.sequence;
      answer.kind = entry.kind;
      answer.value_bytes = entry.value.size();
    });
    if (!status.ok()) session->Fail(status, target);
    return !session->has_too_many_problems();
  });
  return answer;
}

// Logs hold what memtables held.  Newest first; those behind an answer are not looked into.
void ExplainLogs(const StoreFiles& files, const std::string& key, Session* session,
                 lsm::Explanation* explanation) {
  std::vector<absl::Status> problems;
  std::vector<Target> logs = LogTargets(files, &problems);
  for (const absl::Status& problem : problems) session->Fail(problem, files.log_directory->path());
  std::reverse(logs.begin(), logs.end());
  for (const Target& log : logs) {
    const std::optional<lsm::FileName> name = lsm::ParseFileName(log.name);
    if (!name || name->number < files.manifest.state.oldest_log) continue;
    const LogAnswer answer = LookIntoLog(log, key, session);
    explanation->sequence = std::max(explanation->sequence, answer.last_sequence);
    const bool is_put = answer.kind == lsm::EntryKind::kPut;
    explanation->memtables.push_back({log.name, !answer.found ? "absent"
                                                : is_put      ? "put"
                                                              : "delete"});
    if (!answer.found) continue;
    explanation->found = is_put;
    explanation->answered_by = log.name;
    explanation->value_bytes = answer.value_bytes;
    return;
  }
}

// The tables that can be opened.  Of another one it is said why it is left out; true in
// `is_incomplete` if it may hold the key.
std::array<lsm::OpenTables, lsm::kLevels> OpenTables(const StoreFiles& files,
                                                     const std::string& key, Session* session,
                                                     bool* is_incomplete) {
  std::array<lsm::OpenTables, lsm::kLevels> levels;
  for (const PlacedTable& placed : TablesInOrder(files.manifest.state)) {
    const std::string path = Concat(files.directory->path(), "/", placed.name);
    lsm::TableContext context;
    context.digest_seed = files.manifest.state.digest_seed;
    absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> table =
        lsm::OpenTableFile(*files.directory, placed.meta, lsm::ReadMode::kBuffered, context);
    if (table.ok()) {
      const absl::Status filter_status = FilterStatus(*(*table)->table);
      if (!filter_status.ok()) session->Fail(filter_status, path);
      levels[static_cast<size_t>(placed.level)].push_back(std::move(table).value());
      continue;
    }
    if (IsGone(files, *files.directory, lsm::FileKind::kTable, placed.meta.number)) {
      session->Note(placed.name + kMovedOn + "; explain it again");
      *is_incomplete = true;
      continue;
    }
    // The manifest says that it is there, and a table.
    const bool is_damage =
        absl::IsNotFound(table.status()) || absl::IsInvalidArgument(table.status());
    const absl::StatusCode code = is_damage ? absl::StatusCode::kDataLoss : table.status().code();
    session->Fail(
        absl::Status(code, Concat(lsm::MessageOf(table.status()), "; this table is left out")),
        path);
    *is_incomplete |=
        lsm::UserKeyOf(placed.meta.smallest) <= key && lsm::UserKeyOf(placed.meta.largest) >= key;
  }
  return levels;
}

void ExplainTables(const StoreFiles& files, const std::string& key, Session* session,
                   lsm::Explanation* explanation) {
  bool is_incomplete = false;
  absl::StatusOr<std::shared_ptr<const lsm::Version>> version =
      lsm::Version::Create(OpenTables(files, key, session, &is_incomplete));
  if (!version.ok()) return session->Fail(version.status(), files.directory->path());
  const lsm::LookupKey lookup(key, lsm::kSequenceMax, files.manifest.state.digest_seed);
  lsm::Counters counters;
  lsm::LookupResult result;
  const lsm::EpochGuard guard;
  const absl::Status status =
      (*version)->Get(lookup, /*fill_cache=*/false, &counters, &result, explanation);
  if (!status.ok()) {
    explanation->answered_by = "nobody: the lookup failed";
    return session->Fail(status, files.directory->path());
  }
  if (is_incomplete) explanation->answered_by += ", without a table that may hold the key";
  if (result.answer == lsm::TableAnswer::kAbsent) return;
  explanation->found = result.answer == lsm::TableAnswer::kFound;
  if (explanation->found) explanation->value_bytes = result.value.size();
}

}  // namespace

void ExplainKey(const Target& target, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), target);
  if (!files.ok()) return session->Fail(files.status(), target);
  if (!files->has_state()) return session->Fail(StateProblem(*files), target);
  const lsm::ManifestState& state = files->manifest.state;
  const std::string& key = session->request().key;
  lsm::Explanation explanation;
  explanation.key = key;
  explanation.digest = bloom::DigestOf(key, state.digest_seed);
  explanation.sequence = state.last_sequence;
  explanation.answered_by = "nobody";
  for (const auto& level : state.levels) explanation.tables_by_level.push_back(level.size());
  ExplainLogs(*files, key, session, &explanation);
  if (explanation.answered_by == "nobody") ExplainTables(*files, key, session, &explanation);
  if (session->json_wanted()) {
    session->json().Key("explanation");
    session->json().Json(explanation.ToJson());
    return;
  }
  session->Print(Heading(*session, target.path,
                         Concat("lookup of ", session->Show(key, KeyColumns(*session, 20, 1)))));
  session->Print(explanation.ToText());
}

}  // namespace tools
