// `sstdump wal`: the records of a write-ahead log, and the writes in them.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/log_file.h"

namespace tools {
namespace {

using lsm::Concat;

bool IsCreation(const BatchEntry& entry) { return entry.kind == lsm::BatchKind::kCreatedKeyspace; }

void PrintEntry(const BatchEntry& entry, const KeyspaceNames& names, Session* session) {
  std::string where;
  if (!entry.is_of_default())
    where = Concat(" (keyspace ", KeyspaceText(entry.keyspace, names, *session), ")");
  const size_t columns = KeyColumns(*session, 30 + where.size(), 2);
  std::string line = Concat("    ", entry.sequence, "\t", NameOf(entry.kind), where, "\t",
                            IsCreation(entry) ? session->Fit(session->ShowName(entry.key), columns)
                                              : session->Show(entry.key, columns));
  const bool shows_value = entry.is_put() && !session->request().keys_only;
  if (shows_value || entry.to) {
    line += "\t";
    line += session->Show(shows_value ? entry.value : *entry.to, RestOfLine(*session, line));
  }
  session->Print(line + "\n");
}

void WriteEntry(const BatchEntry& entry, const KeyspaceNames& names, Session* session) {
  lsm::JsonWriter& json = session->json();
  json.BeginObject();
  json.Member("sequence", entry.sequence);
  WriteKeyspace(entry.keyspace, names, session);
  json.Member("kind", NameOf(entry.kind));
  json.Member(entry.is_range() ? "from" : "key",
              IsCreation(entry) ? session->ShowName(entry.key) : session->Show(entry.key));
  if (entry.to) json.Member("to", session->Show(*entry.to));
  if (entry.is_put() && !session->request().keys_only)
    json.Member("value", session->Show(entry.value));
  json.EndObject();
  session->DrainJson();
}

// The header of a record, which may not hold a batch.
struct BatchHeader {
  lsm::Sequence first = 0;
  uint32_t count = 0;
  std::optional<uint32_t> written;  // the time in front of its entries
};
BatchHeader HeaderOf(std::string_view payload) {
  if (payload.size() < lsm::EncodedBatch::kHeaderBytes) return {};
  BatchHeader header = {lsm::EncodedBatch::FirstSequenceOf(payload),
                        lsm::EncodedBatch::CountOf(payload), std::nullopt};
  payload.remove_prefix(lsm::EncodedBatch::kHeaderBytes);
  constexpr auto kTime = static_cast<char>(lsm::BatchKind::kTime);
  if (payload.starts_with(kTime) && payload.size() > sizeof(uint32_t))
    header.written = lsm::LoadFixed32(payload.data() + 1);
  return header;
}

// Adds the names of keyspaces that the record creates.
void ShowRecord(const Target& target, const lsm::LogReader::Record& record, KeyspaceNames* names,
                Session* session) {
  const BatchHeader batch = HeaderOf(record.payload);
  if (session->json_wanted()) {
    lsm::JsonWriter& json = session->BeginLine();
    json.Member("file", target.path);
    json.Member("offset", record.offset);
    json.Member("bytes", record.size_bytes);
    json.Member("durable_offset", record.durable_offset);
    json.Member("first_sequence", batch.first);
    json.Member("count", batch.count);
    if (batch.written) json.Member("written", *batch.written);
    if (!session->request().records_only) {
      json.Key("entries");
      json.BeginArray();
    }
  } else {
    session->Print(
        Concat("  record at ", record.offset, ": ", lsm::ReadableCount(record.size_bytes),
               " bytes, ", Count(batch.count, "entry", "entries"), " from sequence ", batch.first,
               batch.written ? Concat(", written ", lsm::ReadableTime(*batch.written)) : "",
               ", synced up to ", record.durable_offset, "\n"));
  }
  const absl::Status status = WalkBatch(record, OpenedPath(target), [&](const BatchEntry& entry) {
    if (session->request().records_only || session->is_broken()) return;
    if (session->json_wanted()) {
      WriteEntry(entry, *names, session);
    } else {
      PrintEntry(entry, *names, session);
    }
    if (IsCreation(entry)) (*names)[entry.keyspace] = std::string(entry.key);
  });
  if (session->json_wanted()) {
    if (!session->request().records_only) session->json().EndArray();
    session->EndLine();
  }
  if (!status.ok()) session->Fail(status, target);
}

}  // namespace

void RunWal(const Target& target, Session* session) {
  session->Print(Heading(*session, target.path,
                         Concat("write-ahead log, ", lsm::ReadableBytes(target.size_bytes))));
  KeyspaceNames names_here;
  KeyspaceNames* const names =
      target.keyspaces == nullptr ? &names_here : &target.keyspaces->names;  // from log to log
  uint64_t left = session->request().limit.value_or(UINT64_MAX);
  bool limited = false;
  const LogSummary log = WalkLog(target, lsm::LogKind::kWriteAhead, session,
                                 [&](const lsm::LogReader::Record& record) {
                                   limited = left == 0;
                                   if (limited) return false;
                                   --left;
                                   ShowRecord(target, record, names, session);
                                   return !session->has_too_many_problems();
                                 });
  if (session->json_wanted()) {
    lsm::JsonWriter& json = session->BeginLine();
    json.Member("file", target.path);
    json.Member("file_id", lsm::ReadableId(log.file_id));
    json.Member("file_bytes", log.size_bytes);
    json.Member("end", NameOf(log.end));
    json.Member("torn_bytes", log.torn_bytes);
    return session->EndLine();
  }
  if (log.is_open && !limited)
    session->Print(Concat("  end: ", EndText(log.end, log.torn_bytes), "\n"));
}

}  // namespace tools
