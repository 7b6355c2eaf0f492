#include "tools/sstdump/store/log_replay.h"

#include <optional>
#include <set>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"

namespace tools {
namespace {

using lsm::Concat;

class Replayer {
 public:
  Replayer(const StoreFiles& files, Session* session,
           const std::function<void(size_t log, const BatchEntry& entry)>& visit)
      : files_(files), session_(session), visit_(visit) {
    replay_.last_sequence = state().last_sequence;
    replay_.keyspaces = state().keyspaces;
  }

  LogReplay Run() && {
    const std::set<uint64_t> numbers = LogNumbers(files_);
    for (auto number = numbers.lower_bound(state().oldest_log); number != numbers.end(); ++number)
      Replay(*number);
    return std::move(replay_);
  }

 private:
  const lsm::ManifestState& state() const { return files_.manifest.state; }

  void Replay(uint64_t number) {
    const std::string name = lsm::LogFileName(number);
    const Session::Tally before = session_->tally();
    was_read_ = true;
    replay_.logs.push_back({name});
    const absl::StatusOr<std::optional<Target>> found = FindLog(files_, number);
    if (!found.ok()) {
      session_->Fail(found.status(), Concat(files_.log_directory->path(), "/", name));
    } else if (!*found) {
      session_->Note(name + kMovedOn + "; look again");
      was_read_ = false;
    } else {
      ReplayFile(number, **found);
    }
    if (was_read_ && session_->tally() == before) return;
    replay_.logs.back().is_unread = true;
    replay_.is_whole = false;
  }

  void ReplayFile(uint64_t number, const Target& log) {
    const Session::Tally before = session_->tally();
    session_->NextFile();
    was_durable_ = state().synced_logs.contains(number) || state().closed_logs.contains(number);
    unused_ = {};
    const LogSummary summary =
        WalkLog(log, lsm::LogKind::kWriteAhead, session_,
                [&](const lsm::LogReader::Record& record) { return Apply(log, record); });
    if (session_->tally() != before) return;
    const absl::Status id =
        state().CheckLogId(number, OpenedPath(log), summary.file_id, summary.size_bytes);
    if (!id.ok()) session_->Fail(id, log);
    const absl::Status closed = state().CheckClosedLog(number, OpenedPath(log), summary.end,
                                                       summary.size_bytes, summary.torn_bytes);
    if (!closed.ok()) session_->Fail(closed, log);
    const absl::Status synced = state().CheckSyncedLog(number, OpenedPath(log), summary.records);
    if (!synced.ok()) session_->Fail(synced, log);
    const auto dropped = DroppedEndOf(log, summary, was_durable_, unused_);
    if (dropped.has_value()) replay_.dropped.push_back(*dropped);
  }

  bool Apply(const Target& log, const lsm::LogReader::Record& record) {
    if (!Follows(log, record)) return true;
    std::string problem;
    const absl::Status status = WalkBatch(record, OpenedPath(log), [&](const BatchEntry& entry) {
      replay_.last_sequence = entry.sequence;
      if (problem.empty()) problem = ReplayEntry(entry, &replay_.keyspaces);
      visit_(replay_.logs.size() - 1, entry);
    });
    if (!status.ok()) session_->Fail(status, log);
    if (!problem.empty()) session_->Damage(log, record.offset, problem);
    return !session_->has_too_many_problems();
  }

  bool Follows(const Target& log, const lsm::LogReader::Record& record) {
    // Numbers are missing after damage, which was reported already.
    if (session_->tally().problems > 0 || !replay_.is_whole) return true;
    if (record.payload.size() < lsm::EncodedBatch::kHeaderBytes) return true;
    const lsm::Sequence first = lsm::EncodedBatch::FirstSequenceOf(record.payload);
    const lsm::Sequence last = replay_.last_sequence;
    if (!is_gap_ && first == last + 1) return true;
    if (was_durable_ || first <= last) {
      session_->Damage(log, record.offset,
                       Concat("the record begins with sequence ", first,
                              ", the data before it ends with ", last));
      return true;
    }
    if (!is_gap_) {
      session_->Note(Concat(log.name, ": the store will not use this log from offset ",
                            record.offset,
                            " on: writes before it were never synced, and are lost"));
    }
    is_gap_ = true;
    if (unused_.records++ == 0) unused_.offset = record.offset;
    return false;
  }

  const StoreFiles& files_;
  Session* const session_;
  const std::function<void(size_t log, const BatchEntry& entry)>& visit_;
  LogReplay replay_;
  bool was_durable_ = false;  // of the current log
  bool was_read_ = true;
  bool is_gap_ = false;
  UnusedRecords unused_;  // of the current log
};

}  // namespace

LogReplay ReplayLogs(const StoreFiles& files, Session* session,
                     const std::function<void(size_t log, const BatchEntry& entry)>& visit) {
  return Replayer(files, session, visit).Run();
}

}  // namespace tools
