#include "tools/sstdump/store/log_file.h"

#include <memory>
#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace tools {
namespace {

using lsm::Concat;

class BatchWalker : public lsm::EncodedBatch::Handler {
 public:
  BatchWalker(lsm::Sequence first, const std::function<void(const BatchEntry&)>& visit)
      : sequence_(first), visit_(visit) {}

  absl::Status Put(lsm::KeyspaceId keyspace, std::string_view key,
                   std::string_view value) override {
    visit_({sequence_++, keyspace, lsm::BatchKind::kPut, key, value, {}, nullptr, written_});
    return absl::OkStatus();
  }
  absl::Status Delete(lsm::KeyspaceId keyspace, std::string_view key) override {
    visit_({sequence_++, keyspace, lsm::BatchKind::kDelete, key, {}, {}});
    return absl::OkStatus();
  }
  absl::Status DeleteRange(lsm::KeyspaceId keyspace, std::string_view from,
                           std::optional<std::string_view> to) override {
    const auto kind = to ? lsm::BatchKind::kDeleteRange : lsm::BatchKind::kDeleteRangeToEnd;
    visit_({sequence_++, keyspace, kind, from, {}, to});
    return absl::OkStatus();
  }
  absl::Status Change(const lsm::KeyspaceChange& change, size_t) override {
    visit_({sequence_++, change.id, lsm::BatchKindOf(change.kind), change.name, {}, {}, &change});
    return absl::OkStatus();
  }
  absl::Status Time(uint32_t seconds) override {
    written_ = seconds;
    return absl::OkStatus();
  }

 private:
  lsm::Sequence sequence_;
  std::optional<uint32_t> written_;
  const std::function<void(const BatchEntry&)>& visit_;
};

}  // namespace

std::optional<lsm::DroppedLogEnd> DroppedEndOf(const Target& target, const LogSummary& log,
                                               bool was_durable, const UnusedRecords& unused) {
  if (log.torn_bytes == 0 && unused.records == 0) return std::nullopt;
  const uint64_t offset = unused.records > 0 ? unused.offset : log.size_bytes - log.torn_bytes;
  return lsm::DroppedLogEnd{
      .path = target.path,
      .offset = offset,
      .bytes = log.size_bytes - offset,
      .records = unused.records,
      .synced_before = was_durable || log.durable_offset > lsm::kLogHeaderBytes};
}

void NoteDropped(const lsm::DroppedLogEnd& end, Session* session) {
  session->Note(Concat(lsm::Escape(end.path), ": an opening drops ", end.DescribeBytes()));
}

std::string ReadableSeed(const bloom::DigestSeed& seed) {
  if (seed.hash == bloom::DigestHash::kXxh3) return lsm::ReadableId(seed.low);
  return Concat("siphash-2-4 ", lsm::ReadableId(seed.high), lsm::ReadableId(seed.low).substr(2));
}

LogSummary WalkLog(const Target& target, lsm::LogKind kind, Session* session,
                   const std::function<bool(const lsm::LogReader::Record&)>& visit) {
  LogSummary summary;
  summary.size_bytes = target.size_bytes;
  absl::StatusOr<std::unique_ptr<lsm::ReadFile>> file = OpenTarget(target);
  if (!file.ok()) {
    session->Fail(file.status(), target);
    return summary;
  }
  absl::StatusOr<std::unique_ptr<lsm::LogReader>> reader =
      lsm::LogReader::Open(std::move(file).value(), kind);
  if (!reader.ok()) {
    // The target is a log by its magic, its name or the manifest, so this is damage.
    session->Fail(lsm::AsDamage(reader.status()), target);
    return summary;
  }
  lsm::LogReader& log = **reader;
  summary.is_open = true;
  summary.file_id = log.file_id();
  summary.version = log.version();
  summary.size_bytes = log.size_bytes();
  lsm::LogReader::Record record;
  while (!session->is_broken()) {
    const absl::StatusOr<bool> more =
        lsm::CatchOutOfMemoryFor(log.path(), [&] { return log.Next(&record); });
    if (more.ok() && !*more) break;
    if (more.ok()) {
      ++summary.records;
      summary.record_bytes += record.size_bytes;
      if (!visit(record)) break;
      continue;
    }
    session->Fail(more.status(), target);
    if (!absl::IsDataLoss(more.status()) || session->has_too_many_problems()) break;
    const absl::StatusOr<bool> skipped = log.SkipDamage();
    if (!skipped.ok()) session->Fail(skipped.status(), target);
    if (!skipped.ok() || !*skipped) break;
  }
  summary.durable_offset = log.durable_offset();
  summary.end = log.end();
  summary.torn_bytes = log.torn_bytes();
  return summary;
}

ManifestWalk WalkManifest(
    const Target& target, Session* session,
    const std::function<void(uint64_t offset, const lsm::VersionEdit& edit)>& visit) {
  ManifestWalk walk;
  const Session::Tally before = session->tally();
  const std::string path = OpenedPath(target);
  walk.log =
      WalkLog(target, lsm::LogKind::kManifest, session, [&](const lsm::LogReader::Record& record) {
        ++walk.edits;
        const absl::StatusOr<lsm::VersionEdit> edit =
            lsm::VersionEdit::Decode(record.payload, path, record.offset);
        if (!edit.ok()) {
          session->Fail(edit.status(), target);
          return !session->has_too_many_problems();
        }
        visit(record.offset, *edit);
        // After a missing or wrong edit the following ones need not fit.
        if (session->tally() != before) return true;
        const absl::Status status = walk.state.Apply(*edit, path, record.offset);
        if (!status.ok()) session->Fail(status, target);
        return true;
      });
  if (walk.log.is_open && walk.edits == 0 && session->tally() == before) {
    session->Damage(target, 0, "the manifest holds no edit");
  }
  return walk;
}

std::string ReplayEntry(const BatchEntry& entry, lsm::KeyspaceRecords* keyspaces) {
  if (entry.change != nullptr) return keyspaces->Replay(*entry.change);
  if (entry.keyspace >= keyspaces->next_id())
    return Concat("the record names keyspace ", entry.keyspace, ", which was not created");
  if (entry.is_put() && !entry.written && keyspaces->AreTimed(entry.keyspace))
    return Concat("a put of keyspace ", entry.keyspace, " needs a time, but the record has none");
  return "";
}

absl::Status WalkBatch(const lsm::LogReader::Record& record, std::string_view file,
                       const std::function<void(const BatchEntry&)>& visit) {
  if (record.payload.size() < lsm::EncodedBatch::kHeaderBytes) {
    return lsm::DamageAt(file, record.offset, "the record is too short for a batch of writes");
  }
  BatchWalker walker(lsm::EncodedBatch::FirstSequenceOf(record.payload), visit);
  const absl::Status status = lsm::EncodedBatch::ForEach(record.payload, &walker);
  if (status.ok()) return status;
  return lsm::DamageAt(file, record.offset, lsm::MessageOf(status));
}

}  // namespace tools
