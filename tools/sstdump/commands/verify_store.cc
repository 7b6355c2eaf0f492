#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_claims.h"
#include "lsm/version/key_order.h"
#include "lsm/version/keyspace_records.h"
#include "tools/sstdump/commands/table_verifier.h"
#include "tools/sstdump/commands/verify.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {
namespace {

using lsm::Concat;

// Checks what a log says about keyspaces, as recovery does.
class LogKeyspaces {
 public:
  // `keyspaces` are those before the log, and are updated to those after it.  `is_used`: recovery
  // uses the log if its first entry directly follows `last`.
  LogKeyspaces(lsm::KeyspaceRecords* keyspaces, bool is_used, lsm::Sequence last)
      : keyspaces_(*keyspaces), is_used_(is_used), last_(last) {}

  void Visit(const BatchEntry& entry, uint64_t offset) {
    // If there is a gap before the log, earlier creations may be lost.
    if (is_first_) is_used_ = is_used_ && entry.sequence == last_ + 1;
    is_first_ = false;
    if (!is_used_ || !problem_.empty()) return;
    problem_ = ReplayEntry(entry, &keyspaces_);
    offset_ = offset;
  }
  // The first problem; empty if there is none.
  const std::string& problem() const { return problem_; }
  uint64_t offset() const { return offset_; }  // of its record

 private:
  lsm::KeyspaceRecords& keyspaces_;
  bool is_used_;
  const lsm::Sequence last_;
  bool is_first_ = true;
  std::string problem_;
  uint64_t offset_ = 0;
};

class StoreChecker {
 public:
  StoreChecker(const StoreFiles& files, const Target& target, Session* session)
      : files_(files), target_(target), session_(session) {}

  void Run() {
    if (files_.has_state()) {
      CheckManifest();
      CheckLevels();
      CheckTables();
      CheckAges();
      CheckLogs();
    } else {
      CheckManifestsByName();
      // Errors of the manifest itself were reported when it was read.
      const absl::Status problem = StateProblem(files_);
      if (!session_->HasSaid(problem, target_)) session_->Fail(problem, target_);
      CheckFilesByContent();
    }
    NoteOthers();
  }

 private:
  const lsm::ManifestState& state() const { return files_.manifest.state; }

  std::string PathOf(const std::string& name) const {
    return Concat(files_.directory->path(), "/", name);
  }

  // The table or log that was found; nothing if it is missing, which the session already knows.
  std::optional<Target> Take(absl::StatusOr<std::optional<Target>> found,
                             const lsm::Directory& directory, const std::string& name) {
    if (!found.ok()) {
      session_->NextFile();
      if (++files_lost_ <= Session::kProblemsMax) {
        session_->Fail(found.status(), Concat(directory.path(), "/", name));
      } else {
        session_->CountUnshown(found.status());
      }
      return std::nullopt;
    }
    if (!*found) session_->Note(name + kMovedOn);
    return *std::move(found);
  }

  // Only the first files that cannot be opened are named, to bound the output.  Reports how many
  // more there are, and restarts the count for the next kind of file.
  void NoteFilesLost(const char* one, const char* several) {
    if (files_lost_ > Session::kProblemsMax) {
      session_->Note(Concat(Count(files_lost_ - Session::kProblemsMax, one, several),
                            " cannot be opened either; the problems above name only the first ",
                            Session::kProblemsMax));
    }
    files_lost_ = 0;
  }

  void CheckManifest() {
    PrintVerdict(PathOf(std::string(lsm::kCurrentFileName)), session_->tally(),
                 Concat("names ", files_.manifest.file_name), session_);
    const absl::StatusOr<Target> manifest =
        FindTargetIn(files_.directory, files_.manifest.file_name);
    if (!manifest.ok()) return session_->Fail(manifest.status(), PathOf(files_.manifest.file_name));
    const Session::Tally before = session_->tally();
    const ManifestVerdict verdict = VerifyManifest(*manifest, session_);
    PrintVerdict(manifest->path, before, TextOf(verdict), session_);
  }

  void CheckLevels() {
    const std::vector<PlacedTable> tables = TablesInOrder(state());
    for (size_t i = 1; i < tables.size(); ++i) {
      const PlacedTable& before = tables[i - 1];
      const PlacedTable& after = tables[i];
      if (before.meta.keyspace != after.meta.keyspace) continue;
      if (before.level != after.level || after.level == 0) continue;
      if (before.meta.run != after.meta.run) continue;
      if (before.meta.span().EndsBy(after.meta.span().begin)) continue;
      session_->Fail(
          absl::DataLossError(Concat("level ", after.level, ": ", before.name, " and ", after.name,
                                     " overlap at key ", lsm::QuotedKey(after.meta.span().begin))),
          PathOf(files_.manifest.file_name));
    }
  }

  void CheckTables() {
    const std::vector<PlacedTable> tables = TablesInOrder(state());
    std::vector<absl::StatusOr<std::optional<Target>>> found;
    std::vector<Target> targets;
    for (const PlacedTable& table : tables) {
      found.push_back(FindTable(files_, table.meta.number));
      if (found.back().ok() && *found.back()) targets.push_back(**found.back());
    }
    TableVerifier verifier(std::move(targets), session_);
    const Session::Tally before_all = session_->tally();
    for (size_t i = 0; i < tables.size() && !session_->is_broken(); ++i) {
      const Session::Tally before = session_->tally();
      const std::optional<Target> target =
          Take(std::move(found[i]), *files_.directory, tables[i].name);
      if (!target) continue;
      const TableVerdict verdict = verifier.Next();
      if (verifier.is_over()) return;
      ReportTable(*target, verdict, session_);
      if (verdict.is_open) CompareWithManifest(*target, tables[i], verdict, before);
      PrintVerdict(target->path, before, TextOf(verdict), session_, tables[i].meta.keyspace,
                   files_.keyspaces->names);
    }
    NoteFilesLost("more table", "more tables");
    // Damaged tables cannot be compared.
    if (session_->tally() == before_all) CheckKeyOrder(&verifier);
  }

  // Checks that a lookup finds the newest version of each key first.
  void CheckKeyOrder(TableVerifier* verifier) {
    for (const auto& [keyspace, runs] : runs_) CheckKeyOrderOf(runs, verifier);
  }

  void CheckKeyOrderOf(const lsm::AgedRuns& runs, TableVerifier* verifier) {
    session_->NextFile();
    lsm::TableContext context;
    context.digest_seed = state().digest_seed;
    lsm::KeyOrderCalls calls;
    calls.problem = [&](const std::string& problem) {
      session_->Fail(absl::DataLossError(Concat(files_.directory->path(), ": ", problem)), target_);
      return !session_->has_too_many_problems();
    };
    calls.before_bytes = [&](uint64_t bytes) {
      return verifier->BeforeBlock(bytes) ? absl::OkStatus() : absl::CancelledError();
    };
    const absl::Status status =
        lsm::CompareRuns(*files_.directory, context, lsm::TablesToCompare(runs), /*from=*/"",
                         UINT64_MAX, calls)
            .status();
    session_->ClearProgress();
    if (status.ok() || absl::IsCancelled(status)) return;
    if (absl::IsNotFound(status)) return session_->Note(Concat(target_.path, kMovedOn));
    session_->Fail(status, target_);
  }

  void CompareWithManifest(const Target& target, const PlacedTable& placed,
                           const TableVerdict& verdict, Session::Tally before) {
    const lsm::TableMeta& meta = placed.meta;
    const auto differs = [&](std::string_view what, const std::string& there,
                             const std::string& here) {
      session_->Damage(target, std::nullopt,
                       Concat("the manifest says ", what, " ", there, ", the table has ", here));
    };
    if (target.size_bytes != meta.file_bytes)
      differs("size", Concat(meta.file_bytes), Concat(target.size_bytes));
    if (verdict.file_id != meta.file_id)
      differs("file id", lsm::ReadableId(meta.file_id), lsm::ReadableId(verdict.file_id));
    if (verdict.keyspace != meta.keyspace) {
      const KeyspaceNames& names = files_.keyspaces->names;
      differs("that it belongs to", TreeText(meta.keyspace, names, *session_),
              TreeText(verdict.keyspace, names, *session_));
    }
    if (verdict.digest_seed != state().digest_seed) {
      session_->Note(
          Concat(lsm::Escape(target.path),
                 ": the store cannot use this table's filter, which was built with another seed"));
    }
    if (session_->tally() != before) return;  // facts that were not read cannot be compared
    if (verdict.facts.entries != meta.entries)
      differs("entries", Concat(meta.entries), Concat(verdict.facts.entries));
    if (verdict.facts.smallest != meta.smallest)
      differs("smallest key", lsm::QuotedInternalKey(meta.smallest),
              lsm::QuotedInternalKey(verdict.facts.smallest));
    if (verdict.facts.largest != meta.largest)
      differs("largest key", lsm::QuotedInternalKey(meta.largest),
              lsm::QuotedInternalKey(verdict.facts.largest));
    if (const auto ranges = lsm::RangeRecord::Of(*verdict.ranges); ranges != meta.ranges)
      differs("range deletes", lsm::Described(meta.ranges), lsm::Described(ranges));
    const auto [smallest_sequence, largest_sequence] = verdict.facts.all_sequences;
    if (largest_sequence > state().last_sequence) {
      session_->Damage(target, std::nullopt,
                       Concat("the table holds writes up to sequence ", largest_sequence,
                              ", the last sequence of the manifest is ", state().last_sequence));
    }
    // Tables only move down.
    if (verdict.level > placed.level)
      differs("level", Concat(placed.level), Concat("been made for level ", verdict.level));
    const lsm::AgedTable aged{meta, smallest_sequence, largest_sequence, verdict.ranges};
    if (placed.level == 0) level0_[meta.keyspace].emplace(meta.number, aged);
    lsm::AgedRuns& runs = runs_[meta.keyspace];
    const bool is_same_run = placed.level > 0 && placed.level == last_level_ && !runs.empty() &&
                             runs.back().back().meta.run == meta.run;
    if (!is_same_run) runs.emplace_back();
    last_level_ = placed.level;
    runs.back().push_back(aged);
  }

  // Checks the order of level 0 by its sequence numbers.
  void CheckAges() {
    for (const auto& [keyspace, tables] : level0_) CheckAgesOf(tables);
  }

  void CheckAgesOf(const std::map<uint64_t, lsm::AgedTable>& tables) {
    lsm::AgeOrder order;
    for (const auto& [number, table] : tables) {
      if (order.Follows({table.meta.span(), table.smallest_sequence, table.largest_sequence}))
        continue;
      const std::string path = PathOf(lsm::TableFileName(number));
      session_->NextFile();
      session_->Fail(absl::DataLossError(
                         Concat(path, ": the table begins with sequence ", table.smallest_sequence,
                                ", but tables with lower numbers in level 0 hold newer writes")),
                     path);
    }
  }

  // Checks logs as recovery does: their sequence numbers continue without a gap from where the
  // tables end, except after a torn end that a crash left.
  void CheckLogs() {
    lsm::Sequence last = state().last_sequence;
    bool is_gap = false;
    lsm::KeyspaceRecords keyspaces = state().keyspaces;
    for (const uint64_t number : LogNumbers(files_)) {
      const Session::Tally before = session_->tally();
      const bool was_durable =
          state().synced_logs.contains(number) || state().closed_logs.contains(number);
      const std::optional<Target> target =
          Take(FindLog(files_, number), *files_.log_directory, lsm::LogFileName(number));
      if (!target) continue;
      LogKeyspaces log_keyspaces(&keyspaces, number >= state().oldest_log && !is_gap, last);
      const LogVerdict verdict = VerifyLog(
          *target, session_,
          [&](const BatchEntry& entry, uint64_t offset) { log_keyspaces.Visit(entry, offset); });
      if (number >= state().oldest_log && session_->tally() == before) {
        const absl::Status id = state().CheckLogId(number, OpenedPath(*target), verdict.log.file_id,
                                                   verdict.log.size_bytes);
        if (!id.ok()) session_->Fail(id, *target);
        const absl::Status synced =
            state().CheckSyncedLog(number, OpenedPath(*target), verdict.log.records);
        if (!synced.ok()) session_->Fail(synced, *target);
        const absl::Status closed =
            state().CheckClosedLog(number, OpenedPath(*target), verdict.log.end,
                                   verdict.log.size_bytes, verdict.log.torn_bytes);
        if (!closed.ok()) session_->Fail(closed, *target);
        if (!log_keyspaces.problem().empty())
          session_->Damage(*target, log_keyspaces.offset(), log_keyspaces.problem());
        CompareSequences(*target, verdict, was_durable, &last, &is_gap);
        if (session_->tally() == before) NoteDropped(*target, verdict, was_durable, is_gap);
      }
      PrintVerdict(target->path, before, TextOf(verdict), session_);
    }
    NoteFilesLost("more log", "more logs");
  }

  void CompareSequences(const Target& target, const LogVerdict& verdict, bool was_durable,
                        lsm::Sequence* last, bool* is_gap) {
    if (verdict.entries == 0) return;
    *is_gap = *is_gap || verdict.first_sequence != *last + 1;
    if (*is_gap && (was_durable || verdict.first_sequence <= *last)) {
      session_->Damage(target, std::nullopt,
                       Concat("the log begins with sequence ", verdict.first_sequence,
                              ", the data before it ends with ", *last));
    }
    if (!*is_gap) *last = verdict.last_sequence;
  }

  void NoteDropped(const Target& target, const LogVerdict& verdict, bool was_durable, bool is_gap) {
    UnusedRecords unused;
    if (is_gap) unused = {verdict.log.records, verdict.first_offset};
    const auto dropped = DroppedEndOf(target, verdict.log, was_durable, unused);
    if (dropped.has_value()) tools::NoteDropped(*dropped, session_);
  }

  // Without a state: checks the manifest that CURRENT names, and every other manifest.
  void CheckManifestsByName() {
    for (const std::string& name : files_.names) {
      const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
      if (!parsed || parsed->kind != lsm::FileKind::kManifest) continue;
      const absl::StatusOr<Target> target = FindTargetIn(files_.directory, name);
      if (!target.ok()) {
        session_->Fail(target.status(), PathOf(name));
        continue;
      }
      const Session::Tally before = session_->tally();
      const ManifestVerdict verdict = VerifyManifest(*target, session_);
      PrintVerdict(target->path, before, TextOf(verdict), session_);
    }
  }

  void CheckFilesByContent() {
    std::vector<absl::Status> problems;
    const std::vector<Target> tables = TableTargets(
        files_, [](const PlacedTable&) { return true; }, &problems);
    TableVerifier verifier(tables, session_);
    for (const Target& target : tables) {
      const Session::Tally before = session_->tally();
      const TableVerdict verdict = verifier.Next();
      if (verifier.is_over()) return;
      ReportTable(target, verdict, session_);
      PrintVerdict(target.path, before, TextOf(verdict), session_, verdict.keyspace);
    }
    for (const Target& target : LogTargets(files_, &problems)) {
      if (target.kind != TargetKind::kLog) {
        session_->Note(Concat(target.name, ": not a Trellis log"));
        continue;
      }
      const Session::Tally before = session_->tally();
      const LogVerdict verdict = VerifyLog(target, session_);
      PrintVerdict(target.path, before, TextOf(verdict), session_);
    }
    for (const absl::Status& problem : problems) {
      // Errors of CURRENT were reported already.
      if (problem != files_.manifest_status) session_->Fail(problem, files_.directory->path());
    }
  }

  // Notes other files in the directory.  They are not damage.
  void NoteOthers() {
    for (const uint64_t number : files_.no_logs) {
      session_->Note(Concat(lsm::LogFileName(number),
                            ": not a log, and too short to hold writes: its creation was "
                            "interrupted, or it is not the store's"));
    }
    for (const std::string& name : files_.names) {
      const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
      if (!parsed) {
        session_->Note(Concat(lsm::Escape(name), ": not named like a file of the store"));
        continue;
      }
      if (!files_.has_state()) continue;
      const bool is_unused_table =
          parsed->kind == lsm::FileKind::kTable &&
          std::none_of(state().levels.begin(), state().levels.end(),
                       [&](const auto& level) { return level.contains(parsed->number); });
      const bool is_old_manifest =
          parsed->kind == lsm::FileKind::kManifest && name != files_.manifest.file_name;
      const bool is_old_log =
          parsed->kind == lsm::FileKind::kLog && parsed->number < state().oldest_log;
      if (is_unused_table || is_old_manifest || is_old_log ||
          parsed->kind == lsm::FileKind::kTemporary) {
        session_->Note(Concat(name, ": not in use (obsolete, or being written)"));
      }
    }
  }

  const StoreFiles& files_;
  const Target& target_;
  Session* const session_;
  // By keyspace.  Only tables that were read; those of level 0 by number, too.
  std::map<lsm::KeyspaceId, std::map<uint64_t, lsm::AgedTable>> level0_;
  std::map<lsm::KeyspaceId, lsm::AgedRuns> runs_;
  int last_level_ = 0;       // of the last one added
  uint64_t files_lost_ = 0;  // of the current kind
};

}  // namespace

void VerifyStore(const Target& target, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), target);
  if (!files.ok()) return session->Fail(files.status(), target);
  // Files that belong to no store, or to another product, cannot be checked.
  const absl::Status problem = files->has_state() ? absl::OkStatus() : StateProblem(*files);
  if (absl::IsInvalidArgument(problem)) return session->Fail(problem, target);
  session->set_problems_are_data();
  session->Print(Heading(*session, target.path, absl::IsNotFound(problem) ? "directory" : "store"));
  if (session->json_wanted()) {
    session->json().Key("files");
    session->json().BeginArray();
  }
  StoreChecker(*files, target, session).Run();
  if (session->json_wanted()) session->json().EndArray();
  const size_t problems = session->tally().problems;
  session->Print(Heading(
      *session, target.path,
      problems == 0 ? session->Green("ok") : session->Red(Count(problems, "problem", "problems"))));
}

}  // namespace tools
