#include "tools/sstdump/store/store_lookup.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lsm/base/counters.h"
#include "lsm/bytes/status.h"
#include "lsm/threads/epoch.h"
#include "lsm/version/tree.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/log_replay.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

using lsm::Concat;

// The newest write of the key in one log.
struct LogAnswer {
  lsm::BatchKind kind = lsm::BatchKind::kPut;
  std::string value;
  std::optional<uint32_t> written;  // of a put that has a time
};

// The step of a log without an answer, or with this one.
lsm::MemtableStep StepOf(const LogReplay::Log& log, const LogAnswer* answer,
                         const lsm::ExpiryView& expired) {
  lsm::MemtableStep step = {log.name, log.is_unread ? "unread" : "absent"};
  if (answer == nullptr) return step;
  step.outcome = NameOf(answer->kind);
  if (answer->kind != lsm::BatchKind::kPut) return step;
  const uint32_t written = answer->written.value_or(expired.untimed);
  if (!expired.HidesAt(written)) return step;
  step.outcome = "expired";
  step.written = written;
  return step;
}

// Names only the first of many files.
void AddDoubt(const std::vector<std::string>& files, const char* doubt,
              lsm::Explanation* explanation) {
  if (files.empty()) return;
  explanation->error +=
      Concat(explanation->error.empty() ? "" : "; ", NamesText(files), ", which may hold ", doubt);
}

// The tables that may hold the key, which is as in the tree.  Opens all tables of the keyspace, so
// that damage is reported.  Tables that cannot be opened go to `unread`.
std::array<lsm::OpenTables, lsm::kLevels> OpenTables(const StoreFiles& files,
                                                     const std::string& key, Session* session,
                                                     std::vector<PlacedTable>* unread) {
  std::array<lsm::OpenTables, lsm::kLevels> levels;
  for (const PlacedTable& placed : TablesOfShown(files)) {
    const std::string path = Concat(files.directory->path(), "/", placed.name);
    absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> table = OpenPlaced(files, placed);
    const bool may_hold = placed.MayHold(key);
    if (table.ok()) {
      const absl::Status filter_status = (*table)->table->filter_status();
      if (!filter_status.ok()) session->Fail(filter_status, path);
      // Indexes and filters of the other tables are not kept: together they may exceed memory.
      if (may_hold) levels[static_cast<size_t>(placed.level)].push_back(std::move(table).value());
      continue;
    }
    if (IsGone(files, *files.directory, lsm::FileKind::kTable, placed.meta.number)) {
      session->Note(placed.name + kMovedOn + "; look again");
      if (may_hold) unread->push_back(placed);
      continue;
    }
    // The manifest says that the table exists, so NotFound is damage.
    const absl::StatusCode code = absl::IsNotFound(table.status())
                                      ? absl::StatusCode::kDataLoss
                                      : lsm::AsDamage(table.status()).code();
    session->Fail(
        absl::Status(code, Concat(lsm::MessageOf(table.status()), "; this table is left out")),
        path);
    if (may_hold) unread->push_back(placed);
  }
  return levels;
}

// True if a lookup asks `table` before `answered`, or if no table answered.
bool ComesBefore(const PlacedTable& table, const lsm::TableStep* answered,
                 const lsm::ManifestState& state) {
  if (answered == nullptr) return true;
  const auto level = static_cast<size_t>(answered->level);
  if (table.level != answered->level) return table.level < answered->level;
  const auto meta = state.levels[level].find(answered->table_number);
  if (level == 0 || meta == state.levels[level].end())
    return table.meta.number > answered->table_number;
  return table.meta.run > meta->second.run;
}

// The step that answered; null if none did.  Steps for older tables may follow a range delete.
const lsm::TableStep* AnswerIn(const std::vector<lsm::TableStep>& steps) {
  const auto answers = [](const lsm::TableStep& step) {
    return step.outcome == "put" || step.outcome == "delete" || step.outcome == "range delete" ||
           step.outcome == "expired";
  };
  const auto answer = std::find_if(steps.begin(), steps.end(), answers);
  return answer == steps.end() ? nullptr : &*answer;
}

void LookIntoTables(const StoreFiles& files, const std::string& key, const lsm::ExpiryView& expired,
                    Session* session, StoreLookup* lookup) {
  lsm::Explanation& explanation = lookup->explanation;
  std::vector<PlacedTable> unread;
  const Keyspaces& keyspaces = *files.keyspaces;
  absl::StatusOr<std::shared_ptr<const lsm::Tree>> tree = lsm::Tree::Create(
      OpenTables(files, keyspaces.KeyInTree(key), session, &unread), keyspaces.tree());
  if (!tree.ok()) {
    explanation.error = lsm::MessageOf(tree.status());
    return session->Fail(tree.status(), files.directory->path());
  }
  const bloom::DigestSeed& seed = files.manifest.state.digest_seed;
  lsm::KeyLookup in_tables = keyspaces.is_common()
                                 ? lsm::KeyLookup(keyspaces.shown.id, key, lsm::kSequenceMax, seed)
                                 : lsm::KeyLookup(key, lsm::kSequenceMax, seed);
  in_tables.key.set_expiry(expired);
  in_tables.explanation = &explanation;
  lsm::Counters counters;
  const lsm::EpochGuard guard;
  (*tree)->Get(&in_tables, {.fill_cache = false}, &counters);
  if (!in_tables.status.ok()) {
    explanation.error = lsm::MessageOf(in_tables.status);
    return session->Fail(in_tables.status, files.directory->path());
  }
  const lsm::LookupResult& result = in_tables.result;
  const lsm::TableStep* const answered = AnswerIn(explanation.tables);
  std::vector<std::string> doubtful;
  for (const PlacedTable& table : unread) {
    if (ComesBefore(table, answered, files.manifest.state)) doubtful.push_back(table.name);
  }
  AddDoubt(doubtful, "the key, cannot be read", &explanation);
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
  const Keyspaces& keyspaces = *files.keyspaces;
  explanation.digest = bloom::DigestOf(keyspaces.KeyInTree(key), state.digest_seed);
  explanation.tables_by_level.resize(lsm::kLevels);
  for (const PlacedTable& table : TablesInOrder(state)) {
    if (table.meta.keyspace == keyspaces.tree())
      ++explanation.tables_by_level[static_cast<size_t>(table.level)];
  }
  std::map<size_t, LogAnswer> answers;  // by log
  const LogReplay logs = ReplayLogs(files, session, [&](size_t log, const BatchEntry& entry) {
    if (!entry.Changes(keyspaces.shown.id, key)) return;
    answers[log] = {entry.kind, std::string(entry.value), entry.written};
  });
  const lsm::ExpiryView expired = ExpiredIn(keyspaces.shown.id, logs.keyspaces, session->request());
  for (const lsm::DroppedLogEnd& end : logs.dropped) NoteDropped(end, session);
  explanation.sequence = logs.last_sequence;
  std::vector<std::string> doubtful;
  for (const LogReplay::Log& log : logs.logs) {
    if (log.is_unread) doubtful.push_back(log.name);
  }
  AddDoubt(doubtful, "a newer write, cannot be read whole", &explanation);
  // Logs correspond to memtables: the newest is asked first, and the first answer counts.
  explanation.memtables.reserve(logs.logs.size());
  for (size_t i = logs.logs.size(); i-- > 0;) {
    const auto found = answers.find(i);
    const LogAnswer* const answer = found != answers.end() ? &found->second : nullptr;
    explanation.memtables.push_back(StepOf(logs.logs[i], answer, expired));
    if (answer == nullptr) continue;
    explanation.found = explanation.memtables.back().outcome == "put";
    explanation.answered_by = logs.logs[i].name;
    if (explanation.found) lookup.value = answer->value;
    explanation.value_bytes = lookup.value.size();
    return lookup;
  }
  LookIntoTables(files, key, expired, session, &lookup);
  if (!lookup.is_certain() && session->tally().problems == 0) {
    session->Fail(absl::UnavailableError("the store was written to meanwhile: try again"),
                  files.directory->path());
  }
  return lookup;
}

}  // namespace tools
