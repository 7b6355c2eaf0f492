#include "lsm/base/encoded_batch.h"

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
  EntryKind kind = EntryKind::kPut;
  std::string_view key;
  std::string_view value;
};

// Takes an entry from the front of `rest`.  Returns what is wrong with it, or nullptr.
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

EncodedBatch::Handler::~Handler() = default;

void EncodedBatch::SetFirstSequence(WriteBatch* batch, Sequence sequence) {
  assert(sequence <= kSequenceMax);
  StoreFixed64(batch->bytes_.data(), sequence);
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
  for (uint32_t i = 0; i < count; ++i) {
    Entry entry;
    if (const char* wrong = TakeEntry(&rest, &entry)) return BatchDamage(encoded, rest, wrong);
    TRELLIS_RETURN_IF_ERROR(entry.kind == EntryKind::kPut ? handler->Put(entry.key, entry.value)
                                                          : handler->Delete(entry.key));
  }
  if (!rest.empty()) return BatchDamage(encoded, rest, "more bytes than the entries counted");
  return absl::OkStatus();
}

}  // namespace lsm
