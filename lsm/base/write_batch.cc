#include "lsm/write_batch.h"

#include <algorithm>
#include <cassert>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kCountAt = 8;

// Of a kind, a key's length and a value's length, at most.
constexpr size_t kEntryFramingBytesMax = 1 + 2 * size_t{kVarint32BytesMax};

void SetCount(std::string* bytes, uint32_t count) { StoreFixed32(bytes->data() + kCountAt, count); }

absl::Status TooLong(std::string_view what, size_t size_bytes, size_t size_bytes_max) {
  return absl::InvalidArgumentError(
      Concat(what, " of ", size_bytes, " bytes; at most ", size_bytes_max, " are possible"));
}

absl::Status BatchDamage(std::string_view encoded, std::string_view rest, std::string_view what) {
  return DamageAt("write batch", encoded.size() - rest.size(), what);
}

struct Entry {
  EntryKind kind = EntryKind::kPut;
  std::string_view key;
  std::string_view value;
};

// Takes an entry from the front of `rest`; what is wrong with it, or nullptr.
const char* TakeEntry(std::string_view* rest, Entry* entry) {
  if (rest->empty()) return "fewer entries than counted";
  const auto kind = static_cast<uint8_t>(rest->front());
  if (kind > static_cast<uint8_t>(kEntryKindMax)) return "an entry of unknown kind";
  entry->kind = static_cast<EntryKind>(kind);
  std::string_view input = rest->substr(1);
  if (!TakeLengthPrefixed(&input, &entry->key)) return "a key is cut off";
  if (entry->key.size() > kKeyBytesMax) return "a key is too long";
  entry->value = {};
  if (entry->kind == EntryKind::kPut) {
    if (!TakeLengthPrefixed(&input, &entry->value)) return "a value is cut off";
    if (entry->value.size() > kValueBytesMax) return "a value is too long";
  }
  *rest = input;
  return nullptr;
}

}  // namespace

WriteBatch::Handler::~Handler() = default;

WriteBatch::WriteBatch() : bytes_(kHeaderBytes, '\0') {}

void WriteBatch::Clear() {
  bytes_.assign(kHeaderBytes, '\0');
  user_bytes_ = 0;
  has_puts_ = false;
  status_ = absl::OkStatus();
}

uint32_t WriteBatch::count() const { return CountOf(bytes_); }

void WriteBatch::SetFirstSequence(Sequence sequence) {
  assert(sequence <= kSequenceMax);
  StoreFixed64(bytes_.data(), sequence);
}

absl::Status WriteBatch::CheckRoomFor(std::string_view key, std::string_view value) const {
  if (key.size() > kKeyBytesMax) return TooLong("a key", key.size(), kKeyBytesMax);
  if (value.size() > kValueBytesMax) return TooLong("a value", value.size(), kValueBytesMax);
  if (key.size() + value.size() + kEntryFramingBytesMax > kBatchBytesMax - bytes_.size()) {
    return TooLong("a batch", bytes_.size() + key.size() + value.size() + kEntryFramingBytesMax,
                   kBatchBytesMax);
  }
  return absl::OkStatus();
}

void WriteBatch::Put(std::string_view key, std::string_view value) {
  Add(EntryKind::kPut, key, value);
}

void WriteBatch::Delete(std::string_view key) { Add(EntryKind::kDelete, key, {}); }

void WriteBatch::Add(EntryKind kind, std::string_view key, std::string_view value) {
  if (!status_.ok()) return;
  const size_t size_before = bytes_.size();
  status_ = CatchOutOfMemory([&]() -> absl::Status {
    LSM_RETURN_IF_ERROR(CheckRoomFor(key, value));
    // At once, so that the batch of a single put takes one allocation; else by doubling.
    const size_t needed_bytes = bytes_.size() + kEntryFramingBytesMax + key.size() + value.size();
    if (needed_bytes > bytes_.capacity())
      bytes_.reserve(std::max(needed_bytes, 2 * bytes_.capacity()));
    char framing[1 + kVarint64BytesMax] = {static_cast<char>(kind)};
    char* end = StoreVarint32(framing + 1, static_cast<uint32_t>(key.size()));
    bytes_.append(framing, static_cast<size_t>(end - framing));
    bytes_.append(key);
    if (kind != EntryKind::kPut) return absl::OkStatus();
    end = StoreVarint32(framing, static_cast<uint32_t>(value.size()));
    bytes_.append(framing, static_cast<size_t>(end - framing));
    bytes_.append(value);
    return absl::OkStatus();
  });
  if (!status_.ok()) return bytes_.resize(size_before);  // half an entry, perhaps
  user_bytes_ += key.size() + value.size();
  has_puts_ |= kind == EntryKind::kPut;
  SetCount(&bytes_, count() + 1);
}

void WriteBatch::Append(const WriteBatch& other) {
  if (!status_.ok()) return;
  status_ = other.status_;
  if (!status_.ok()) return;
  const size_t added_bytes = other.bytes_.size() - kHeaderBytes;
  const uint32_t count_sum = count() + other.count();
  status_ = CatchOutOfMemory([&]() -> absl::Status {
    if (added_bytes > kBatchBytesMax - bytes_.size())
      return TooLong("a batch", bytes_.size() + added_bytes, kBatchBytesMax);
    bytes_.append(other.bytes_, kHeaderBytes, added_bytes);  // sound for `other` == *this too
    return absl::OkStatus();
  });
  if (!status_.ok()) return;
  user_bytes_ += other.user_bytes_;
  has_puts_ |= other.has_puts_;
  SetCount(&bytes_, count_sum);
}

absl::Status WriteBatch::ForEach(std::string_view encoded, Handler* handler) {
  if (encoded.size() < kHeaderBytes) {
    return DamageAt("write batch", encoded.size(), "shorter than its header");
  }
  const Sequence first = FirstSequenceOf(encoded);
  const uint32_t count = CountOf(encoded);
  if (first > kSequenceMax || count > kSequenceMax - first) {
    return DamageAt("write batch", 0, "sequence numbers beyond their range");
  }
  std::string_view rest = encoded.substr(kHeaderBytes);
  for (uint32_t i = 0; i < count; ++i) {
    Entry entry;
    if (const char* wrong = TakeEntry(&rest, &entry)) return BatchDamage(encoded, rest, wrong);
    LSM_RETURN_IF_ERROR(entry.kind == EntryKind::kPut ? handler->Put(entry.key, entry.value)
                                                      : handler->Delete(entry.key));
  }
  if (!rest.empty()) return BatchDamage(encoded, rest, "more bytes than the entries counted");
  return absl::OkStatus();
}

}  // namespace lsm::inline TRELLIS_ABI
