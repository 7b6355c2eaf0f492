// Fuzzes the other parts of a store's files, each alone: batches, edits, logs, manifests, filters.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/filter_policy.h"
#include "lsm/base/encoded_batch.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"
#include "lsm/base/range_map.h"
#include "lsm/block/ranges_part.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_format.h"
#include "lsm/log/log_reader.h"
#include "lsm/log/log_writer.h"
#include "lsm/memory_file_system.h"
#include "lsm/memtable/memtable.h"
#include "lsm/table/table.h"
#include "lsm/table/table_builder.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version_edit.h"
#include "lsm/write_batch.h"
#include "tests/bloom/kinds.h"
#include "tests/bloom/use_loaded.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/loaders.h"
#include "tests/support/range_maps.h"

namespace fuzz {
namespace {

using testing_support::Demand;
using testing_support::ExactCopy;

void ChangeNothing(std::string&, uint64_t) {}
void RepairNothing(std::string&) {}

// --- write batches ---

struct Write {
  lsm::KeyspaceId keyspace = lsm::kDefaultKeyspace;
  lsm::BatchKind kind = lsm::BatchKind::kPut;
  std::string key;
  std::string value;  // or the end of a range
  std::optional<lsm::KeyspaceChange> change = std::nullopt;
  bool operator==(const Write&) const = default;

  bool Deletes(const std::string& of_key) const {
    if (!IsRange(kind)) return kind == lsm::BatchKind::kDelete && key == of_key;
    return key <= of_key && (kind == lsm::BatchKind::kDeleteRangeToEnd || of_key < value);
  }
};

class Writes : public lsm::EncodedBatch::Handler {
 public:
  absl::Status Put(lsm::KeyspaceId keyspace, std::string_view key,
                   std::string_view value) override {
    all.push_back({keyspace, lsm::BatchKind::kPut, std::string(key), std::string(value)});
    return absl::OkStatus();
  }
  absl::Status Delete(lsm::KeyspaceId keyspace, std::string_view key) override {
    all.push_back({keyspace, lsm::BatchKind::kDelete, std::string(key), ""});
    return absl::OkStatus();
  }
  absl::Status DeleteRange(lsm::KeyspaceId keyspace, std::string_view from,
                           std::optional<std::string_view> to) override {
    Demand(!to || from < *to, "a range has keys");
    all.push_back({keyspace, to ? lsm::BatchKind::kDeleteRange : lsm::BatchKind::kDeleteRangeToEnd,
                   std::string(from), std::string(to.value_or(""))});
    return absl::OkStatus();
  }
  absl::Status Change(const lsm::KeyspaceChange& change, size_t) override {
    all.push_back({change.id, lsm::BatchKindOf(change.kind), change.name, "", change});
    return absl::OkStatus();
  }
  absl::Status Time(uint32_t seconds) override {
    time = seconds;
    return absl::OkStatus();
  }
  std::vector<Write> all;
  std::optional<uint32_t> time;
};

lsm::WriteBatch BatchOf(const std::vector<Write>& writes) {
  lsm::WriteBatch batch;
  for (const Write& write : writes) {
    if (write.change) {
      lsm::EncodedBatch::Change(&batch, *write.change);
    } else if (write.kind == lsm::BatchKind::kPut) {
      lsm::EncodedBatch::Put(&batch, write.keyspace, write.key, write.value);
    } else if (write.kind == lsm::BatchKind::kDelete) {
      lsm::EncodedBatch::Delete(&batch, write.keyspace, write.key);
    } else {
      const bool has_end = write.kind == lsm::BatchKind::kDeleteRange;
      lsm::EncodedBatch::DeleteRange(
          &batch, write.keyspace, write.key,
          has_end ? std::optional<std::string_view>(write.value) : std::nullopt);
    }
  }
  return batch;
}

// Whether readers see the last write to the key.
void DemandLast(const lsm::Memtable& memtable, const std::vector<Write>& writes,
                lsm::KeyspaceId keyspace, const std::string& key) {
  const auto last = std::find_if(writes.rbegin(), writes.rend(), [&](const Write& write) {
    return write.keyspace == keyspace &&
           (write.Deletes(key) || (write.kind == lsm::BatchKind::kPut && write.key == key));
  });
  const lsm::EntryList* const list = memtable.Find(keyspace);
  Demand(list != nullptr, "a keyspace with writes has a list");
  const lsm::LookupKey lookup(key, lsm::kSequenceMax, 0);
  std::string_view value;
  const lsm::MemtableAnswer answer = list->Get(lookup, &value);
  const bool is_covered = list->ranges() != nullptr &&
                          list->ranges()->NewestAt(lookup.internal_key(), lsm::kSequenceMax) > 0;
  if (last->kind == lsm::BatchKind::kPut) {
    Demand(answer == lsm::MemtableAnswer::kFound, "Get finds the last write of a key");
    Demand(value == last->value, "Get finds the last value of a key");
  } else if (last->kind == lsm::BatchKind::kDelete) {
    Demand(answer == lsm::MemtableAnswer::kDeleted, "Get finds the last delete of a key");
  } else {
    Demand(is_covered, "a range covers its keys");
    Demand(answer == lsm::MemtableAnswer::kRangeDeleted || answer == lsm::MemtableAnswer::kAbsent,
           "a range hides older entries");
  }
}

bool UseBatch(std::string_view bytes) {
  const ExactCopy copy(bytes);
  Writes writes;
  const bool is_batch = lsm::EncodedBatch::ForEach(copy.view(), &writes).ok();
  lsm::Memtable memtable;
  Demand(memtable.PrepareBatch(copy.view()).ok() == is_batch,
         "a memtable accepts exactly the batches that ForEach accepts");
  if (!is_batch) return false;
  memtable.AddPrepared();

  lsm::WriteBatch again = BatchOf(writes.all);
  lsm::EncodedBatch::SetFirstSequence(&again, lsm::EncodedBatch::FirstSequenceOf(bytes));
  Demand(again.status().ok() && again.count() == writes.all.size(),
         "the decoded batch can be written again");
  std::string encoded(lsm::EncodedBatch::Of(again));
  if (writes.time) lsm::EncodedBatch::SetTime(&encoded, *writes.time);
  // The input may encode a length in more bytes than it needs.
  Demand(encoded.size() < bytes.size() || encoded == bytes,
         "the rewritten batch equals the original unless it is shorter");
  Writes read_again;
  Demand(lsm::EncodedBatch::ForEach(encoded, &read_again).ok(), "the rewritten batch can be read");
  Demand(read_again.all == writes.all && read_again.time == writes.time,
         "the rewritten batch has the same writes");

  Demand(memtable.entry_count() == writes.all.size(), "each write is an entry");
  std::set<lsm::KeyspaceId> keyspaces;
  std::vector<lsm::KeyspaceChange> changes;
  for (const Write& write : writes.all) {
    if (write.change) {
      changes.push_back(*write.change);
      continue;
    }
    DemandLast(memtable, writes.all, write.keyspace, write.key);
    keyspaces.insert(write.keyspace);
  }
  std::vector<lsm::KeyspaceId> listed;
  for (const lsm::EntryList* const list : memtable.Lists()) listed.push_back(list->keyspace());
  Demand(std::equal(listed.begin(), listed.end(), keyspaces.begin(), keyspaces.end()),
         "the lists are in the order of their ids");
  Demand(memtable.changes() == changes, "a memtable keeps the changes");
  return true;
}

// Drops the bytes after the last complete write, sets the count to the number of writes, and makes
// the sequence number valid.
void CountBatch(std::string& bytes, uint64_t) {
  if (bytes.size() < lsm::EncodedBatch::kHeaderBytes) return;
  std::string_view rest = std::string_view(bytes).substr(lsm::EncodedBatch::kHeaderBytes), ignored;
  uint32_t count = 0;
  constexpr auto kTime = static_cast<char>(lsm::BatchKind::kTime);
  if (rest.starts_with(kTime) && rest.size() > lsm::kPutTimeBytes)
    rest.remove_prefix(1 + lsm::kPutTimeBytes);
  size_t sound_bytes = bytes.size() - rest.size();
  const auto take_change = [&] {
    const char kind = rest[0];
    rest.remove_prefix(1);
    lsm::KeyspaceId keyspace = 0;
    if (!lsm::TakeVarint32(&rest, &keyspace)) return false;
    const bool has_options = kind == 7 && keyspace == lsm::kDefaultKeyspace;
    return (has_options || keyspace >= lsm::kOtherKeyspaceMin) &&
           (kind != 5 || lsm::TakeLengthPrefixed(&rest, &ignored)) &&
           (kind == 6 || lsm::TakeLengthPrefixed(&rest, &ignored));
  };
  while (!rest.empty() && (static_cast<uint8_t>(rest[0]) & ~lsm::kHasKeyspace) < 8) {
    if (rest[0] >= 5 && rest[0] <= 7) {
      if (!take_change()) break;
      ++count;
      sound_bytes = bytes.size() - rest.size();
      continue;
    }
    if ((rest[0] & 7) > 3) break;
    const bool has_keyspace = (rest[0] & lsm::kHasKeyspace) != 0;
    const bool has_second = (rest[0] & 3) == 1 || (rest[0] & 3) == 2;
    rest.remove_prefix(1);
    lsm::KeyspaceId keyspace = lsm::kOtherKeyspaceMin;
    if (has_keyspace && !lsm::TakeVarint32(&rest, &keyspace)) break;
    if (keyspace < lsm::kOtherKeyspaceMin) break;
    if (!lsm::TakeLengthPrefixed(&rest, &ignored)) break;
    if (has_second && !lsm::TakeLengthPrefixed(&rest, &ignored)) break;
    ++count;
    sound_bytes = bytes.size() - rest.size();
  }
  bytes.resize(sound_bytes);
  lsm::StoreFixed32(&bytes[8], count);
  bytes[7] = 0;
}

std::string SomeBatch(lsm::Sequence sequence) {
  lsm::WriteBatch batch;
  batch.Put("key", "value");
  batch.Delete("key");
  batch.Put("", std::string(200, 'v'));
  batch.Put("kez", "");
  lsm::EncodedBatch::SetFirstSequence(&batch, sequence);
  return std::string(lsm::EncodedBatch::Of(batch));
}

std::string SomeRanges() {
  lsm::WriteBatch batch;
  batch.Put("key", "value");
  batch.DeleteRange("kex", "kez");
  batch.Put("keya", "");
  batch.DeleteRange("kez", std::nullopt);
  batch.Put("kf", "value");
  batch.DeleteRange("", "kf");
  lsm::EncodedBatch::SetFirstSequence(&batch, 1);
  return std::string(lsm::EncodedBatch::Of(batch));
}

std::string SomeKeyspaces() {
  lsm::WriteBatch batch;
  using Encoded = lsm::EncodedBatch;
  for (const lsm::KeyspaceId keyspace : {300u, 0u, 2u, ~0u}) {
    Encoded::Put(&batch, keyspace, "key", "value");
    Encoded::DeleteRange(&batch, keyspace, "kex", "kez");
    Encoded::Put(&batch, keyspace, "keya", "");
    Encoded::Delete(&batch, keyspace, "keya");
    if (keyspace == 2) Encoded::DeleteRange(&batch, keyspace, "x", std::nullopt);
  }
  Encoded::SetFirstSequence(&batch, 1);
  return std::string(Encoded::Of(batch));
}

std::string SomeChanges() {
  using Kind = lsm::KeyspaceChange::Kind;
  lsm::WriteBatch batch;
  lsm::EncodedBatch::Change(&batch, {Kind::kCreated, 2, "name", {}});
  lsm::EncodedBatch::Put(&batch, 2, "key", "value");
  lsm::EncodedBatch::Change(
      &batch, {Kind::kCreated,
               300,
               "a",
               {"ribbon", 0.25, lsm::Compression::kNone, lsm::CompactionStyle::kTiered, 3600}});
  lsm::EncodedBatch::Change(&batch, {Kind::kOptions, 2, "", {.expire_after = 0}});
  lsm::EncodedBatch::Change(&batch,
                            {Kind::kOptions, lsm::kDefaultKeyspace, "", {.expire_after = 1}});
  lsm::EncodedBatch::Change(&batch, {Kind::kDropped, 300, "", {}});
  lsm::EncodedBatch::SetFirstSequence(&batch, 1);
  return std::string(lsm::EncodedBatch::Of(batch));
}

std::vector<std::string> BatchSeeds() {
  lsm::WriteBatch one;
  one.Put("a", "b");
  std::string timed = SomeKeyspaces();
  lsm::EncodedBatch::SetTime(&timed, 1'700'000'000);
  return {SomeBatch(0),  SomeBatch(lsm::kSequenceMax - 10),       SomeRanges(), SomeKeyspaces(),
          SomeChanges(), std::string(lsm::EncodedBatch::Of(one)), timed};
}

// --- version edits ---

lsm::TableMeta SomeTable(uint64_t number) {
  lsm::TableMeta table = {number, 77, 4096, 12, "", "", 0, {}, {}};
  lsm::AppendInternalKey(&table.smallest, "a", 9, lsm::EntryKind::kPut);
  lsm::AppendInternalKey(&table.largest, "z", 3, lsm::EntryKind::kDelete);
  return table;
}

lsm::VersionEdit SomeSnapshot() {
  lsm::VersionEdit edit;
  edit.is_snapshot = true;
  edit.next_file_number = 12;
  edit.last_sequence = 1000;
  edit.oldest_log = 4;
  edit.digest_seed = 0x5eed;
  edit.log_seed = 0x109;
  edit.synced_logs = {4, 7};
  edit.closed_logs = {{4, 1000}, {5, 62}};
  edit.added = {{0, SomeTable(2)}, {3, SomeTable(3)}};
  edit.added.back().table.ranges = {1, "", std::nullopt};
  edit.next_keyspace_id = 300;
  edit.keyspaces = {{2, true, {"ribbon", 0.25}, "a"},
                    {299, false, {.expire_after = 1}, "b", {.cutoff = 8, .timed_from = 7}}};
  edit.added.push_back({1, SomeTable(4)});
  edit.added.back().table.keyspace = 2;
  edit.added.back().table.times = {.timed_entries = 5, .oldest = 7, .newest = 900, .fifth = 80};
  return edit;
}

lsm::VersionEdit SomeChange() {
  lsm::VersionEdit edit;
  edit.next_file_number = 20;
  edit.last_sequence = 2000;
  edit.oldest_log = 6;
  edit.removed = {{3, 3}};
  edit.added = {{4, SomeTable(3)}, {0, SomeTable(13)}};
  edit.added.push_back({0, {14, 78, 400, 0, "", "", 0, {0, 0, 9, 8}, {2, "b", "q"}}});
  return edit;
}

bool UseEdit(std::string_view bytes) {
  const ExactCopy copy(bytes);
  const auto edit = lsm::VersionEdit::Decode(copy.view(), "file", 0);
  if (!edit.ok()) return false;
  const auto again = lsm::VersionEdit::Decode(edit->Encode(), "file", 0);
  Demand(again.ok() && *again == *edit, "an edit can be written again");
  lsm::ManifestState state;
  if (state.Apply(*edit, "file", 0).ok()) {
    lsm::ManifestState same;
    Demand(same.Apply(state.ToSnapshot(), "file", 0).ok(), "a state's snapshot can be applied");
    Demand(same.ToSnapshot() == state.ToSnapshot(), "a state's snapshot leads to the same state");
  }
  return true;
}

std::vector<std::string> EditSeeds() {
  return {SomeSnapshot().Encode(), SomeChange().Encode(), lsm::VersionEdit().Encode()};
}

// --- logs ---

// Demands that the checksums of the record are right and that `bytes` hold its payload.
void DemandSound(std::string_view bytes, uint64_t file_id, const lsm::LogReader::Record& record) {
  lsm::RecordHeader header;
  uint64_t at = lsm::AfterTag(record.offset);
  Demand(lsm::LoadRecordHeader(bytes.substr(at, lsm::kRecordHeaderBytes), file_id, at, &header),
         "the reader returns only records with a sound header");
  Demand(
      header.payload_bytes == record.payload.size() &&
          lsm::RecordEnd(record.offset, record.payload.size()) == record.offset + record.size_bytes,
      "the header has the length of the payload and of the record");
  for (uint64_t sector =
           (record.offset + lsm::kSectorBytes - 1) / lsm::kSectorBytes * lsm::kSectorBytes;
       sector < record.offset + record.size_bytes; sector += lsm::kSectorBytes)
    Demand(lsm::LoadSectorTag(bytes.substr(sector, lsm::kSectorTagBytes), file_id) == sector,
           "each sector has its tag");
  at += lsm::kRecordHeaderBytes;
  for (size_t from = 0; from < record.payload.size();) {
    at = lsm::AfterTag(at);
    const size_t piece_bytes = lsm::ChunkPayloadBytes(at, record.payload.size() - from);
    std::string_view piece;
    Demand(lsm::LoadChunk(bytes.substr(at, piece_bytes + lsm::kChunkFramingBytes), file_id, at,
                          &piece) &&
               piece == record.payload.substr(from, piece_bytes),
           "each chunk is sound and equals its piece of the payload");
    from += piece_bytes;
    at += piece_bytes + lsm::kChunkFramingBytes;
  }
}

std::string WriteLog(lsm::LogKind kind, uint64_t file_id, const std::vector<std::string>& payloads,
                     bool closed) {
  std::string bytes;
  auto log = lsm::LogWriter::Create(std::make_unique<StringFile>(&bytes), kind, file_id).value();
  for (size_t i = 0; i < payloads.size(); ++i) {
    Demand(log->Append(payloads[i]).ok(), "a record can be appended");
    if (i % 2 == 0) Demand(log->Sync().ok(), "a log can be synced");
  }
  if (closed) Demand(log->Close(/*sync=*/true).ok(), "a log can be closed");
  return bytes;
}

// Reads records up to the end of the log, or until no sound record follows damage.  Sets `*damaged`
// if there was damage.
std::vector<std::string> ReadRecords(std::string_view bytes, lsm::LogReader& reader,
                                     bool* damaged) {
  std::vector<std::string> payloads;
  uint64_t behind = lsm::kLogHeaderBytes;
  lsm::LogReader::Record record;
  while (true) {
    const auto more = reader.Next(&record);
    if (!more.ok()) {
      *damaged = true;
      Demand(reader.Next(&record).status() == more.status(),
             "after damage, Next returns the same error again");
      const auto skipped = reader.SkipDamage();
      if (!skipped.ok() || !*skipped) return payloads;
      Demand(reader.offset() > behind || payloads.empty(), "SkipDamage moves past the last record");
      continue;
    }
    if (!*more) return payloads;
    Demand(record.offset >= behind, "records come in order");
    DemandSound(bytes, reader.file_id(), record);
    behind = record.offset + record.size_bytes;
    payloads.emplace_back(record.payload);
  }
}

bool UseLog(std::string_view bytes) {
  bool accepted = false;
  for (const auto kind : {lsm::LogKind::kWriteAhead, lsm::LogKind::kManifest}) {
    auto reader = lsm::LogReader::Open(std::make_unique<BytesFile>(bytes), kind);
    if (!reader.ok()) continue;
    Demand(!accepted, "a log opens as one kind only");
    bool damaged = false;
    const std::vector<std::string> payloads = ReadRecords(bytes, **reader, &damaged);
    for (const std::string& payload : payloads)
      kind == lsm::LogKind::kWriteAhead ? UseBatch(payload) : UseEdit(payload);
    if (damaged || (*reader)->end() == lsm::LogEnd::kTorn) continue;
    accepted = true;
    const bool closed = (*reader)->end() == lsm::LogEnd::kClosed;
    const std::string again = WriteLog(kind, (*reader)->file_id(), payloads, closed);
    auto other = lsm::LogReader::Open(std::make_unique<BytesFile>(again), kind);
    Demand(other.ok(), "a log can be written again");
    Demand(ReadRecords(again, **other, &damaged) == payloads && !damaged,
           "the rewritten log has the same records");
    Demand((*other)->end() == (*reader)->end() && again.size() == bytes.size(),
           "the rewritten log has the same end");
  }
  return accepted;
}

std::vector<std::string> LogSeeds() {
  const std::vector<std::string> batches = {SomeBatch(1), SomeBatch(5), std::string(1200, 'r'),
                                            SomeBatch(9), SomeRanges()};
  std::vector<std::string> seeds;
  for (const bool closed : {false, true}) {
    seeds.push_back(WriteLog(lsm::LogKind::kWriteAhead, 0x1d, batches, closed));
    seeds.push_back(WriteLog(lsm::LogKind::kWriteAhead, 0x1d, {}, closed));
    seeds.push_back(WriteLog(lsm::LogKind::kManifest, 0x1e,
                             {SomeSnapshot().Encode(), SomeChange().Encode()}, closed));
  }
  return seeds;
}

// --- manifests: CURRENT, followed by the manifest that it names ---

constexpr char kDirectory[] = "/store";

bool UseManifest(std::string_view bytes) {
  lsm::MemoryFileSystem files;
  const auto directory = files.OpenDirectory(kDirectory, /*create=*/true).value();
  const std::string_view current_bytes = bytes.substr(0, lsm::kCurrentBytes);
  const auto current = lsm::Current::Decode(current_bytes, "CURRENT");
  const std::string name = lsm::ManifestFileName(current.ok() ? current->manifest_number : 1);
  files.SetFileBytes(std::string(kDirectory) + "/CURRENT", std::string(current_bytes));
  files.SetFileBytes(std::string(kDirectory) + "/" + name,
                     std::string(bytes.substr(current_bytes.size())));
  uint64_t edits = 0;
  const auto contents =
      lsm::ReadManifest(*directory, [&edits](uint64_t, const lsm::VersionEdit&) { ++edits; });
  if (!contents.ok()) return false;
  Demand(current.ok() && contents->edit_count == edits && edits > 0,
         "ReadManifest passes on every edit");
  const lsm::ManifestState& state = contents->state;
  for (const uint64_t log : state.NeededLogs())
    Demand(log >= state.oldest_log, "needed logs are not older than oldest_log");

  const lsm::VersionEdit snapshot = state.ToSnapshot();
  auto writer = lsm::ManifestWriter::Create(*directory, contents->current.manifest_number + 1, 5,
                                            snapshot, contents->current_bytes);
  Demand(writer.ok() && (*writer)->Close().ok(), "a state can be written as a new manifest");
  const auto again = lsm::ReadManifest(*directory);
  Demand(again.ok() && again->state.ToSnapshot() == snapshot,
         "the new manifest holds the same state");
  return true;
}

void RepairManifest(std::string& bytes) {
  if (bytes.size() < lsm::kCurrentBytes + lsm::kLogHeaderBytes) return;
  std::string current = bytes.substr(0, lsm::kCurrentBytes), log = bytes.substr(lsm::kCurrentBytes);
  current.replace(24, 8, log, 12, 8);  // the manifest's id
  RepairFile(current);
  RepairFile(log);
  bytes = current + log;
}

std::vector<Part> TakeManifestApart(std::string_view bytes) {
  if (bytes.size() < lsm::kCurrentBytes) return {};
  std::vector<Part> parts = TakeFileApart(bytes.substr(lsm::kCurrentBytes));
  parts.insert(parts.begin(), Part{'C', std::string(bytes.substr(0, lsm::kCurrentBytes))});
  return parts;
}

std::string PutManifestTogether(const std::vector<Part>& parts) {
  std::string current;
  for (const Part& part : parts) {
    if (part.kind == 'C') current = part.bytes;
  }
  current.resize(lsm::kCurrentBytes);
  std::string bytes = current + PutFileTogether(parts);
  RepairManifest(bytes);
  return bytes;
}

std::vector<std::string> ManifestSeeds() {
  std::vector<std::string> seeds;
  for (const bool closed : {false, true}) {
    lsm::VersionEdit more;
    more.synced_logs = {8};
    const std::string log =
        WriteLog(lsm::LogKind::kManifest, 0x1e,
                 {SomeSnapshot().Encode(), SomeChange().Encode(), more.Encode()}, closed);
    seeds.push_back(lsm::Current{9, 0x1e}.Encode() + log);
  }
  return seeds;
}

// --- range deletes ---

bool UseRanges(std::string_view bytes) {
  const ExactCopy copy(bytes);
  const auto ranges = lsm::DecodeRanges(copy.view(), "file", 0);
  if (!ranges.ok()) {
    Demand(absl::IsDataLoss(ranges.status()), "a damaged block of ranges is DataLoss");
    return false;
  }
  Demand(!ranges->empty(), "a block has ranges");
  const auto again = lsm::DecodeRanges(lsm::EncodeRanges(*ranges), "file", 0);
  Demand(again.ok() && *again == *ranges, "ranges can be written again");
  const lsm::KeySpan hull = ranges->hull();
  const lsm::RangeMap* pieces[2];
  for (size_t i = 0; i < ranges->size(); ++i) {
    const std::string_view key = ranges->boundary(i);
    const lsm::Sequence newest = ranges->NewestAt(key, lsm::kSequenceMax);
    Demand(newest <= ranges->largest_sequence(), "no sequence is above the largest one");
    Demand(newest == 0 || (hull.Holds(key) && newest >= ranges->smallest_sequence()),
           "the hull has all covered keys");
    Demand(testing_support::NextGap(*ranges, key, lsm::kSequenceMax) == key || newest != 0,
           "a key in a gap is the next gap");
    if (i > 20 && i + 20 < ranges->size()) continue;  // the cuts copy the map
    const lsm::RangeMap below = ranges->Within({"", key}),
                        above = ranges->Within({key, std::nullopt});
    pieces[0] = &below;
    pieces[1] = &above;
    Demand(lsm::RangeMap::Merged(pieces) == *ranges, "the pieces of a cut are the whole");
  }
  const lsm::Sequence middle[] = {ranges->largest_sequence() / 2};
  const lsm::RangeMap thinned = ranges->Thinned(middle);
  Demand(thinned.hull() == hull, "thinning uncovers no key");
  Demand(thinned.memory_bytes() <= ranges->memory_bytes(), "thinning adds nothing");
  return true;
}

std::vector<std::string> RangesSeeds() {
  std::vector<std::string> seeds;
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("key" + std::to_string(1000 + i));
  std::vector<lsm::RangeDelete> ranges;
  for (size_t i = 0; i < 20; ++i) {
    ranges.push_back({keys[i], keys[39 - i], 1 + i * i * i * i * 1000});
    ranges.push_back({keys[i + 20], keys[i + 20 - i / 2], 7});
    if (i % 5 == 0) ranges.push_back({keys[i], std::nullopt, lsm::kSequenceMax - i});
    for (const lsm::Sequence snapshot : {0, 500'000}) {
      if (i % 6 == 0)
        seeds.push_back(lsm::EncodeRanges(testing_support::RangesOf(ranges, {&snapshot, 1})));
    }
  }
  return seeds;
}

// --- filter blocks: the filter of an otherwise sound table ---

std::string KeyOfTable(int number) { return "key" + std::to_string(number); }

std::string TableAroundFilter(std::string_view filter) {
  static const std::vector<Part>& parts = *new std::vector<Part>([] {
    std::string bytes;
    lsm::TableBuildOptions options;
    options.digest_seed = 7;
    options.file_id = 0x1d;
    lsm::TableBuilder builder(options, std::make_unique<StringFile>(&bytes));
    for (int i = 100; i < 130; ++i) {
      std::string key;
      lsm::AppendInternalKey(&key, KeyOfTable(i), 1, lsm::EntryKind::kPut);
      builder.Add(key, "value");
    }
    Demand(builder.Finish().ok(), "the sample table can be written");
    return TakeFileApart(bytes);
  }());
  std::vector<Part> with_filter = parts;
  with_filter.push_back({'f', std::string(1, '\0').append(filter)});
  return PutTableTogether(with_filter);
}

bool UseFilterBlock(std::string_view bytes) {
  lsm::TableContext context;
  context.digest_seed = 7;
  const auto opened =
      lsm::Table::Open(std::make_unique<BytesFile>(TableAroundFilter(bytes)), context);
  Demand(opened.ok(), "a table opens whatever its filter is");
  const lsm::Table& table = **opened;
  const bool usable = table.filter_presence() == lsm::FilterPresence::kUsable;
  Demand(table.filter_presence() != lsm::FilterPresence::kAbsent, "the table has a filter");
  for (int i = 0; i < 200; ++i) {
    const bloom::Digest digest = bloom::DigestOf(KeyOfTable(i), 7);
    table.PrefetchFilter(digest);
    Demand(table.MayContain(digest) || usable, "MayContain is true without a usable filter");
  }
  if (table.filter_presence() == lsm::FilterPresence::kDamaged)
    Demand(absl::IsDataLoss(table.filter_status()),
           "filter_status of a damaged filter is DataLoss");
  return usable;
}

std::vector<std::string> FilterBlockSeeds() {
  std::vector<std::string> seeds;
  bloom::KeyedKinds::ForEach([&seeds]<class K>(K) {
    for (const double fpp : {0.1, 0.001}) {
      auto builder =
          bloom::PolicyFromName(K::kName).value()->NewBuilder({.target_fpp = fpp, .seed = 0x1d});
      for (int i = 100; i < 130; ++i) builder->Add(bloom::DigestOf(KeyOfTable(i), 7));
      seeds.push_back(builder->Finish().value());
    }
  });
  return seeds;
}

}  // namespace

std::vector<Loader> StoreLoaders() {
  return {
      TableLoader(),
      {"log", &UseLog, &ChangeNothing, &RepairFile, &LogSeeds, Library::kStore, &TakeFileApart,
       &PutFileTogether},
      {"manifest", &UseManifest, &ChangeNothing, &RepairManifest, &ManifestSeeds, Library::kStore,
       &TakeManifestApart, &PutManifestTogether},
      {"batch", &UseBatch, &CountBatch, &RepairNothing, &BatchSeeds, Library::kStore},
      {"edit", &UseEdit, &ChangeNothing, &RepairNothing, &EditSeeds, Library::kStore},
      {"ranges", &UseRanges, &ChangeNothing, &RepairNothing, &RangesSeeds, Library::kStore},
      {"filter-block", &UseFilterBlock, &ReshapeHeader, &RepairHeader, &FilterBlockSeeds,
       Library::kStore},
      WholeStoreLoader(),
      SstdumpLoader(),
  };
}

}  // namespace fuzz
