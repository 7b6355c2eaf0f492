#include "lsm/base/encoded_batch.h"

#include <algorithm>
#include <cassert>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

absl::Status BatchDamage(std::string_view encoded, std::string_view rest, std::string_view what) {
  return DamageAt("write batch", encoded.size() - rest.size(), what);
}

struct Entry {
  BatchKind kind = BatchKind::kPut;
  KeyspaceId keyspace = kDefaultKeyspace;
  std::string_view key;  // or the begin of a range
  std::string_view value_or_end;
};

// Returns what is wrong with it, or nullptr.
const char* FaultOf(const Entry& entry) {
  switch (entry.kind) {
    case BatchKind::kDelete:
    case BatchKind::kPut:
      if (entry.key.size() > kKeyBytesMax) return "a key is too long";
      return entry.value_or_end.size() > kValueBytesMax ? "a value is too long" : nullptr;
    case BatchKind::kDeleteRange:
    case BatchKind::kDeleteRangeToEnd:
      if (std::max(entry.key.size(), entry.value_or_end.size()) > kRangeBoundBytesMax)
        return "a bound of a range is too long";
      return entry.kind == BatchKind::kDeleteRange && entry.key >= entry.value_or_end
                 ? "a range ends where it begins, or before"
                 : nullptr;
    case BatchKind::kCreatedKeyspace:
    case BatchKind::kDroppedKeyspace:
    case BatchKind::kKeyspaceOptions:
    case BatchKind::kTime:
      break;
  }
  return "an entry of unknown kind";
}

// Takes an entry from the front of `rest`.  Returns what is wrong with it, or nullptr.
const char* TakeEntry(std::string_view* rest, Entry* entry) {
  if (rest->empty()) return "fewer entries than counted";
  const auto first_byte = static_cast<uint8_t>(rest->front());
  const auto kind = static_cast<uint8_t>(first_byte & ~kHasKeyspace);
  if (kind > static_cast<uint8_t>(BatchKind::kDeleteRangeToEnd)) return "an entry of unknown kind";
  entry->kind = static_cast<BatchKind>(kind);
  std::string_view input = rest->substr(1);
  if (first_byte != kind) [[unlikely]] {
    if (!TakeVarint32(&input, &entry->keyspace)) return "the id of a keyspace is damaged";
    if (entry->keyspace < kOtherKeyspaceMin) return "the id of a keyspace is below 2";
  }
  if (!TakeLengthPrefixed(&input, &entry->key)) return "a key is cut off";
  const bool is_put = entry->kind == BatchKind::kPut;
  if ((is_put || entry->kind == BatchKind::kDeleteRange) &&
      !TakeLengthPrefixed(&input, &entry->value_or_end))
    return is_put ? "a value is cut off" : "the end of a range is cut off";
  if (const char* fault = FaultOf(*entry)) return fault;
  *rest = input;
  return nullptr;
}

absl::Status Pass(const Entry& entry, EncodedBatch::Handler* handler) {
  if (entry.kind == BatchKind::kPut) [[likely]]
    return handler->Put(entry.keyspace, entry.key, entry.value_or_end);
  switch (entry.kind) {
    case BatchKind::kDelete:
      return handler->Delete(entry.keyspace, entry.key);
    case BatchKind::kDeleteRange:
      return handler->DeleteRange(entry.keyspace, entry.key, entry.value_or_end);
    default:
      break;
  }
  return handler->DeleteRange(entry.keyspace, entry.key, std::nullopt);
}

// Whether the next entry is a change of keyspaces.
bool IsChangeNext(std::string_view rest) {
  return !rest.empty() && IsKeyspaceChange(static_cast<BatchKind>(rest.front()));
}

// Takes a change from the front of `rest`.  The error is only a text.  REQUIRES: IsChangeNext.
absl::Status TakeChange(std::string_view* rest, KeyspaceChange* change) {
  std::string_view input = rest->substr(1), name, options;
  change->kind = static_cast<KeyspaceChange::Kind>(rest->front());
  if (!TakeVarint32(&input, &change->id))
    return absl::DataLossError("the id of a keyspace is damaged");
  const bool may_be_default = change->kind == KeyspaceChange::Kind::kOptions;
  if (change->id < kOtherKeyspaceMin && !(may_be_default && change->id == kDefaultKeyspace))
    return absl::DataLossError("a change of a keyspace has an invalid id");
  if (change->kind == KeyspaceChange::Kind::kCreated) {
    if (!TakeLengthPrefixed(&input, &name) || name.empty() || name.size() > kKeyspaceNameBytesMax)
      return absl::DataLossError("the name of a keyspace is damaged");
    change->name.assign(name);
  }
  if (change->kind != KeyspaceChange::Kind::kDropped) {
    if (!TakeLengthPrefixed(&input, &options))
      return absl::DataLossError("the options of a keyspace are cut off");
    TRELLIS_RETURN_IF_ERROR(DecodeKeyspaceOptions(options, &change->options, &change->marks));
  }
  *rest = input;
  return absl::OkStatus();
}

}  // namespace

absl::Status EncodedBatch::CheckNoneDropped(const WriteBatch& batch) {
  for (const auto& keyspace : batch.keyspaces_)
    TRELLIS_RETURN_IF_ERROR(CheckNotDropped(keyspace.get()));
  return absl::OkStatus();
}

EncodedBatch::Handler::~Handler() = default;

void EncodedBatch::SetTime(std::string* encoded, uint32_t seconds) {
  char entry[1 + kPutTimeBytes];
  entry[0] = static_cast<char>(BatchKind::kTime);
  StoreFixed32(entry + 1, seconds);
  encoded->insert(kHeaderBytes, entry, sizeof(entry));
}

void EncodedBatch::SetFirstSequence(WriteBatch* batch, Sequence sequence) {
  assert(sequence <= kSequenceMax);
  StoreFixed64(batch->bytes_.data(), sequence);
}

void EncodedBatch::Put(WriteBatch* batch, KeyspaceId keyspace, std::string_view key,
                       std::string_view value) {
  batch->Add(keyspace, BatchKind::kPut, key, value);
}

void EncodedBatch::Delete(WriteBatch* batch, KeyspaceId keyspace, std::string_view key) {
  batch->Add(keyspace, BatchKind::kDelete, key, {});
}

void EncodedBatch::DeleteRange(WriteBatch* batch, KeyspaceId keyspace, std::string_view from,
                               std::optional<std::string_view> to) {
  if (!to) return batch->Add(keyspace, BatchKind::kDeleteRangeToEnd, from, {});
  if (from < *to) batch->Add(keyspace, BatchKind::kDeleteRange, from, *to);
}

void EncodedBatch::Change(WriteBatch* batch, const KeyspaceChange& change) {
  if (!batch->status_.ok()) return;
  batch->status_ = CatchOutOfMemory([&] {
    std::string bytes(1, static_cast<char>(BatchKindOf(change.kind)));
    AppendVarint32(&bytes, change.id);
    if (change.kind == KeyspaceChange::Kind::kCreated) AppendLengthPrefixed(&bytes, change.name);
    if (change.kind != KeyspaceChange::Kind::kDropped)
      AppendLengthPrefixed(&bytes, EncodeKeyspaceOptions(change.options, change.marks));
    batch->bytes_ += bytes;
    return absl::OkStatus();
  });
  if (!batch->status_.ok()) return;
  batch->has_puts_ |= change.kind == KeyspaceChange::Kind::kCreated;
  SetCount(&batch->bytes_, batch->count() + 1);
}

absl::Status EncodedBatch::ForEach(std::string_view encoded, Handler* handler) {
  if (encoded.size() < kHeaderBytes) {
    return DamageAt("write batch", encoded.size(), "shorter than its header");
  }
  const Sequence first = FirstSequenceOf(encoded);
  const uint32_t count = CountOf(encoded);
  if (first > kSequenceMax || count > kSequenceMax - first) {
    return DamageAt("write batch", 0, "sequence numbers beyond their range");
  }
  std::string_view rest = encoded.substr(kHeaderBytes);
  if (rest.starts_with(static_cast<char>(BatchKind::kTime))) [[unlikely]] {
    std::string_view time = rest.substr(1);
    uint32_t seconds = 0;
    if (!TakeFixed32(&time, &seconds)) return BatchDamage(encoded, rest, "a time is cut off");
    TRELLIS_RETURN_IF_ERROR(handler->Time(seconds));
    rest = time;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (IsChangeNext(rest)) [[unlikely]] {
      KeyspaceChange change;
      const size_t at = encoded.size() - rest.size();
      if (const absl::Status wrong = TakeChange(&rest, &change); !wrong.ok())
        return WithContext(wrong, Concat("write batch: offset ", at));
      TRELLIS_RETURN_IF_ERROR(handler->Change(change, at));
      continue;
    }
    Entry entry;
    if (const char* wrong = TakeEntry(&rest, &entry)) return BatchDamage(encoded, rest, wrong);
    if (first == 0 && i == 0 && IsRange(entry.kind))
      return BatchDamage(encoded, encoded.substr(kHeaderBytes), "a range delete with number 0");
    TRELLIS_RETURN_IF_ERROR(Pass(entry, handler));
  }
  if (!rest.empty()) return BatchDamage(encoded, rest, "more bytes than the entries counted");
  return absl::OkStatus();
}

void EncodedBatch::ForEachKeyspace(const WriteBatch& batch,
                                   absl::FunctionRef<void(KeyspaceId keyspace)> visit) {
  std::string_view rest = Of(batch).substr(kHeaderBytes);
  while (!rest.empty()) {
    Entry entry;
    if (TakeEntry(&rest, &entry) != nullptr) return;
    visit(entry.keyspace);
  }
}

}  // namespace lsm
