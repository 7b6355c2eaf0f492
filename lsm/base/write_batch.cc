#include "lsm/write_batch.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "lsm/base/encoded_batch.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/keyspace.h"
#include "lsm/limits.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Largest encoding of a kind, a key length and a value length; and of the id before them.
constexpr size_t kEntryFramingBytesMax = 1 + 2 * size_t{kVarint32BytesMax};
constexpr size_t kKeyspaceIdBytesMax = kVarint32BytesMax;

absl::Status TooLong(std::string_view what, size_t size_bytes, size_t size_bytes_max) {
  return absl::InvalidArgumentError(
      Concat(what, " of ", size_bytes, " bytes; at most ", size_bytes_max, " are possible"));
}

}  // namespace

WriteBatch::WriteBatch() : bytes_(EncodedBatch::kHeaderBytes, '\0') {}

void WriteBatch::Clear() {
  bytes_.assign(EncodedBatch::kHeaderBytes, '\0');
  keyspaces_.clear();
  user_bytes_ = 0;
  has_puts_ = false;
  status_ = absl::OkStatus();
}

uint32_t WriteBatch::count() const { return EncodedBatch::CountOf(bytes_); }

absl::Status WriteBatch::CheckRoomFor(BatchKind kind, std::string_view key, std::string_view rest,
                                      size_t framing_bytes_max) const {
  if (IsRange(kind)) {
    for (const std::string_view bound : {key, rest}) {
      if (bound.size() > kRangeBoundBytesMax)
        return TooLong("a bound of a range", bound.size(), kRangeBoundBytesMax);
    }
  } else {
    if (key.size() > kKeyBytesMax) return TooLong("a key", key.size(), kKeyBytesMax);
    if (rest.size() > kValueBytesMax) return TooLong("a value", rest.size(), kValueBytesMax);
  }
  const size_t entry_bytes_max = framing_bytes_max + key.size() + rest.size();
  if (entry_bytes_max > kBatchBytesMax - bytes_.size())
    return TooLong("a batch", bytes_.size() + entry_bytes_max, kBatchBytesMax);
  return absl::OkStatus();
}

void WriteBatch::Put(std::string_view key, std::string_view value) {
  Add(kDefaultKeyspace, BatchKind::kPut, key, value);
}

void WriteBatch::Delete(std::string_view key) {
  Add(kDefaultKeyspace, BatchKind::kDelete, key, {});
}

void WriteBatch::DeleteRange(std::string_view from, std::optional<std::string_view> to) {
  EncodedBatch::DeleteRange(this, kDefaultKeyspace, from, to);
}

void WriteBatch::Put(const Keyspace& keyspace, std::string_view key, std::string_view value) {
  if (Name(keyspace)) Add(keyspace.state_->id, BatchKind::kPut, key, value);
}

void WriteBatch::Delete(const Keyspace& keyspace, std::string_view key) {
  if (Name(keyspace)) Add(keyspace.state_->id, BatchKind::kDelete, key, {});
}

void WriteBatch::DeleteRange(const Keyspace& keyspace, std::string_view from,
                             std::optional<std::string_view> to) {
  if (Name(keyspace)) EncodedBatch::DeleteRange(this, keyspace.state_->id, from, to);
}

bool WriteBatch::Name(const Keyspace& keyspace) {
  if (!status_.ok()) return false;
  status_ = CatchOutOfMemory([&]() -> absl::Status {
    if (keyspace.state_ == nullptr) return NoKeyspace();
    Name(keyspace.state_);
    return absl::OkStatus();
  });
  return status_.ok();
}

void WriteBatch::Name(const std::shared_ptr<const KeyspaceState>& state) {
  if (!keyspaces_.empty() && keyspaces_.back() == state) return;
  const auto at = std::lower_bound(keyspaces_.begin(), keyspaces_.end(), state);
  if (at == keyspaces_.end() || *at != state) keyspaces_.insert(at, state);
}

void WriteBatch::Add(KeyspaceId keyspace, BatchKind kind, std::string_view key,
                     std::string_view rest) {
  assert(keyspace == kDefaultKeyspace || keyspace >= kOtherKeyspaceMin);
  if (!status_.ok()) return;
  const bool has_id = keyspace != kDefaultKeyspace;
  const size_t framing_bytes_max = kEntryFramingBytesMax + (has_id ? kKeyspaceIdBytesMax : 0);
  const size_t size_before = bytes_.size();
  status_ = CatchOutOfMemory([&]() -> absl::Status {
    // Both are far below all limits in most entries.
    if (key.size() + rest.size() > kKeyBytesMax || size_before > kBatchBytesMax / 2) [[unlikely]]
      TRELLIS_RETURN_IF_ERROR(CheckRoomFor(kind, key, rest, framing_bytes_max));
    // Reserves exactly for the first entry, so that the batch of a single put takes one allocation;
    // doubles afterwards.
    const size_t needed_bytes = bytes_.size() + framing_bytes_max + key.size() + rest.size();
    if (needed_bytes > bytes_.capacity())
      bytes_.reserve(std::max(needed_bytes, 2 * bytes_.capacity()));
    // All but the rest is written in place: each call of append takes about 40 instructions.
    bytes_.resize(needed_bytes - rest.size());
    char* end = bytes_.data() + size_before;
    *end++ = static_cast<char>(static_cast<uint8_t>(kind) | (has_id ? kHasKeyspace : 0));
    if (has_id) end = StoreVarint32(end, keyspace);
    end = StoreVarint32(end, static_cast<uint32_t>(key.size()));
    // An empty key may have a null address, which memcpy does not allow.
    if (!key.empty()) std::memcpy(end, key.data(), key.size());
    end += key.size();
    const bool has_rest = kind != BatchKind::kDelete && kind != BatchKind::kDeleteRangeToEnd;
    if (has_rest) end = StoreVarint32(end, static_cast<uint32_t>(rest.size()));
    bytes_.resize(static_cast<size_t>(end - bytes_.data()));
    if (has_rest) bytes_.append(rest);
    return absl::OkStatus();
  });
  if (!status_.ok()) return bytes_.resize(size_before);  // removes a partial entry
  user_bytes_ += key.size() + rest.size();
  has_puts_ |= kind == BatchKind::kPut;
  EncodedBatch::SetCount(&bytes_, count() + 1);
}

void WriteBatch::Append(const WriteBatch& other) {
  if (!status_.ok()) return;
  status_ = other.status_;
  if (!status_.ok()) return;
  const size_t added_bytes = other.bytes_.size() - EncodedBatch::kHeaderBytes;
  const uint32_t count_sum = count() + other.count();
  status_ = CatchOutOfMemory([&]() -> absl::Status {
    if (added_bytes > kBatchBytesMax - bytes_.size())
      return TooLong("a batch", bytes_.size() + added_bytes, kBatchBytesMax);
    for (const auto& state : other.keyspaces_) Name(state);
    // Also correct if `other` is *this.
    bytes_.append(other.bytes_, EncodedBatch::kHeaderBytes, added_bytes);
    return absl::OkStatus();
  });
  if (!status_.ok()) return;
  user_bytes_ += other.user_bytes_;
  has_puts_ |= other.has_puts_;
  EncodedBatch::SetCount(&bytes_, count_sum);
}

}  // namespace lsm
