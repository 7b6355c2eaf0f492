#include <functional>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/version/version_edit.h"
#include "tools/sstdump/commands/verify.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/log_file.h"

namespace tools {

using lsm::Concat;

LogVerdict VerifyLog(const Target& target, Session* session,
                     const std::function<void(const BatchEntry& entry, uint64_t offset)>& visit) {
  session->NextFile();
  LogVerdict verdict;
  const Session::Tally before = session->tally();
  verdict.log = WalkLog(
      target, lsm::LogKind::kWriteAhead, session, [&](const lsm::LogReader::Record& record) {
        if (verdict.first_offset == 0) verdict.first_offset = record.offset;
        bool is_first = true;
        const absl::Status status =
            WalkBatch(record, OpenedPath(target), [&](const BatchEntry& entry) {
              // Numbers are missing after damage, which was reported already.
              const bool is_gap =
                  is_first && verdict.entries > 0 && entry.sequence != verdict.last_sequence + 1;
              if (is_gap && session->tally() == before) {
                session->Damage(target, record.offset,
                                Concat("the record begins with sequence ", entry.sequence,
                                       ", the one before it ended with ", verdict.last_sequence));
              }
              is_first = false;
              if (verdict.entries == 0) verdict.first_sequence = entry.sequence;
              verdict.last_sequence = entry.sequence;
              ++verdict.entries;
              if (visit != nullptr) visit(entry, record.offset);
            });
        if (!status.ok()) session->Fail(status, target);
        return !session->has_too_many_problems();
      });
  return verdict;
}

ManifestVerdict VerifyManifest(const Target& target, Session* session) {
  session->NextFile();
  const ManifestWalk walk = WalkManifest(target, session, [](uint64_t, const lsm::VersionEdit&) {});
  return {walk.log.is_open, walk.edits, EndText(walk.log.end, walk.log.torn_bytes)};
}

std::string TextOf(const LogVerdict& verdict) {
  if (!verdict.log.is_open) return "a write-ahead log";
  return Concat(Count(verdict.log.records, "record", "records"), ", ",
                Count(verdict.entries, "entry", "entries"), ", ",
                EndText(verdict.log.end, verdict.log.torn_bytes));
}

std::string TextOf(const ManifestVerdict& verdict) {
  if (!verdict.is_open) return "a manifest";
  return Concat(Count(verdict.edits, "edit", "edits"), ", ", verdict.end);
}

}  // namespace tools
