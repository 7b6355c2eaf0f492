// Internal keys: a user key with the sequence number and the kind of its write.  Also the times of
// puts.  lsm/FORMAT.md, section "Notation and rules for all files", has their bytes and their
// order.  By that order, a seek to (key, sequence s, kEntryKindMax) finds the newest version that a
// reader at s may see.
#ifndef TRELLIS_LSM_BASE_INTERNAL_KEY_H_
#define TRELLIS_LSM_BASE_INTERNAL_KEY_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/base/key_head.h"
#include "lsm/bytes/coding.h"
#include "lsm/limits.h"

namespace lsm::inline TRELLIS_ABI {

// Each write gets the next number; 0 means "before all writes".
using Sequence = uint64_t;
inline constexpr Sequence kSequenceMax = (uint64_t{1} << 56) - 1;

// A set of keys with a name (lsm/design/keyspaces.md).
using KeyspaceId = uint32_t;
inline constexpr KeyspaceId kDefaultKeyspace = 0;
// No keyspace's id, but that of the tree whose keys belong to several keyspaces, and begin with the
// ids of these: four bytes, big-endian (lsm/version/common_keys.h).
inline constexpr KeyspaceId kCommonTree = 1;
inline constexpr KeyspaceId kOtherKeyspaceMin = 2;
inline constexpr size_t kKeyspacePrefixBytes = 4;
// The longest user key in a tree, and the longest bound of its range deletes.
inline constexpr size_t kTreeKeyBytesMax = kKeyspacePrefixBytes + kKeyBytesMax;
inline constexpr size_t kTreeBoundBytesMax = kKeyspacePrefixBytes + kRangeBoundBytesMax;
inline void StoreKeyspacePrefix(char* to, KeyspaceId keyspace) {
  for (int shift = 24; shift >= 0; shift -= 8) *to++ = static_cast<char>(keyspace >> shift);
}

// A timed put has the time of its commit before its value.  2 and 3 are kinds of a batch's entries
// only (BatchKind).
enum class EntryKind : uint8_t { kDelete = 0, kPut = 1, kTimedPut = 4 };
inline constexpr EntryKind kEntryKindMax = EntryKind::kTimedPut;
inline constexpr bool IsEntryKind(uint8_t kind) {
  return kind <= static_cast<uint8_t>(EntryKind::kPut) ||
         kind == static_cast<uint8_t>(EntryKind::kTimedPut);
}

inline constexpr size_t kInternalKeySuffixBytes = 8;

inline uint64_t PackSuffix(Sequence sequence, EntryKind kind) {
  assert(sequence <= kSequenceMax);
  return (sequence << 8) | static_cast<uint8_t>(kind);
}
inline Sequence SequenceOf(uint64_t suffix) { return suffix >> 8; }
inline bool IsTombstone(uint64_t suffix) {
  return (suffix & 0xff) == static_cast<uint8_t>(EntryKind::kDelete);
}
inline EntryKind KindOf(uint64_t suffix) { return static_cast<EntryKind>(suffix & 0xff); }

// REQUIRES: at least kInternalKeySuffixBytes bytes.  Readers of files check that first.
inline std::string_view UserKeyOf(std::string_view internal_key) {
  assert(internal_key.size() >= kInternalKeySuffixBytes);
  // Not substr, which compilers leave a call in large functions.
  return {internal_key.data(), internal_key.size() - kInternalKeySuffixBytes};
}
inline uint64_t SuffixOf(std::string_view internal_key) {
  assert(internal_key.size() >= kInternalKeySuffixBytes);
  return LoadFixed64(internal_key.data() + internal_key.size() - kInternalKeySuffixBytes);
}

struct ParsedKey {
  std::string_view user_key;
  Sequence sequence = 0;
  EntryKind kind = EntryKind::kPut;
};

// False if it is too short or has an unknown kind.
inline bool ParseInternalKey(std::string_view internal_key, ParsedKey* parsed) {
  if (internal_key.size() < kInternalKeySuffixBytes) return false;
  const uint64_t suffix = SuffixOf(internal_key);
  if (!IsEntryKind(suffix & 0xff)) return false;
  parsed->user_key = UserKeyOf(internal_key);
  parsed->sequence = SequenceOf(suffix);
  parsed->kind = static_cast<EntryKind>(suffix & 0xff);
  return true;
}

inline void AppendInternalKey(std::string* out, std::string_view user_key, Sequence sequence,
                              EntryKind kind) {
  out->append(user_key);
  AppendFixed64(out, PackSuffix(sequence, kind));
}

// < 0, 0 or > 0: compares by bytes.  Inlined, eight bytes at a time: for usual key lengths that
// costs less than calling memcmp, and merges and seeks spend most of their time here.
inline int CompareUserKeys(std::string_view a, std::string_view b) {
  const size_t both = a.size() < b.size() ? a.size() : b.size();
  constexpr size_t kInPlaceMax = 64;
  if (both >= kKeyHeadBytes && both <= kInPlaceMax) {
    uint64_t of_a = LoadBigEndian(a.data());
    uint64_t of_b = LoadBigEndian(b.data());
    for (size_t at = kKeyHeadBytes; of_a == of_b && at < both; at += kKeyHeadBytes) {
      // The last word may overlap the previous one, whose bytes are equal in both keys.
      const size_t from = at + kKeyHeadBytes <= both ? at : both - kKeyHeadBytes;
      of_a = LoadBigEndian(a.data() + from);
      of_b = LoadBigEndian(b.data() + from);
    }
    // No branch: which key is less is unpredictable.
    if (of_a != of_b) return static_cast<int>(of_a > of_b) - static_cast<int>(of_a < of_b);
    return static_cast<int>(a.size() > b.size()) - static_cast<int>(a.size() < b.size());
  }
  return a.compare(b);
}

// < 0, 0 or > 0, in the order above: by user key, then by descending sequence.  Kinds do not
// matter: copies of a write are equal, even if one has become a tombstone (lsm/design/expiry.md).
inline int CompareInternalKeys(std::string_view a, std::string_view b) {
  const int user_order = CompareUserKeys(UserKeyOf(a), UserKeyOf(b));
  if (user_order != 0) return user_order;
  const Sequence sequence_a = SequenceOf(SuffixOf(a));
  const Sequence sequence_b = SequenceOf(SuffixOf(b));
  return sequence_a > sequence_b ? -1 : sequence_a < sequence_b ? 1 : 0;
}

// --- times of puts (lsm/design/expiry.md) ---

// Seconds since 1970, in 32 bits.  A later time counts as the last one, in 2106.
inline constexpr uint32_t kSecondsMax = std::numeric_limits<uint32_t>::max();
inline uint32_t SecondsOf(uint64_t micros) {
  return static_cast<uint32_t>(std::min<uint64_t>(micros / 1'000'000, kSecondsMax));
}

inline constexpr size_t kPutTimeBytes = 4;
// REQUIRES: at least kPutTimeBytes.  Readers of files check that first.
inline uint32_t TimeOf(std::string_view timed_value) { return LoadFixed32(timed_value.data()); }
inline void AppendTimed(std::string* out, uint32_t time, std::string_view value) {
  AppendFixed32(out, time);
  out->append(value);
}

// Whether an entry of a file may have this suffix and that many bytes of value.
inline bool IsSoundEntry(uint64_t suffix, size_t value_bytes) {
  const auto kind = static_cast<uint8_t>(suffix & 0xff);
  if (kind <= static_cast<uint8_t>(EntryKind::kPut)) [[likely]]
    return true;
  return IsEntryKind(kind) && value_bytes >= kPutTimeBytes;
}

// The value without its time.  REQUIRES: the entry is sound.
inline std::string_view ValueOf(EntryKind kind, std::string_view stored) {
  return kind == EntryKind::kTimedPut ? stored.substr(kPutTimeBytes) : stored;
}

// The entries of a keyspace that have expired for a reader.  By default none.
struct ExpiryView {
  uint32_t live_from = 0;  // entries with earlier times have expired
  uint32_t untimed = 0;    // the time of puts without one

  bool HidesUntimed() const { return untimed < live_from; }
  bool HidesAt(uint32_t time) const { return time < live_from; }
  // Hides only entries that both hide.
  static ExpiryView MilderOf(const ExpiryView& a, const ExpiryView& b) {
    return {std::min(a.live_from, b.live_from), std::max(a.untimed, b.untimed)};
  }
  bool operator==(const ExpiryView&) const = default;
};

// The time of a put, by which it expires.  `stored` is the value of its entry, which is sound.
inline uint32_t WrittenAt(const ExpiryView& view, EntryKind kind, std::string_view stored) {
  return kind == EntryKind::kTimedPut ? TimeOf(stored) : view.untimed;
}

// The answer that a version gives to a reader.
enum class Shown : uint8_t { kValue, kDeleted, kExpired };
// `value` is that of the entry, which is sound.  If it is shown, removes the time before it.
inline Shown ShowTo(const ExpiryView& view, EntryKind kind, std::string_view* value) {
  if (kind == EntryKind::kPut) [[likely]]
    return view.HidesUntimed() ? Shown::kExpired : Shown::kValue;
  if (kind == EntryKind::kDelete) return Shown::kDeleted;
  if (view.HidesAt(TimeOf(*value))) return Shown::kExpired;
  value->remove_prefix(kPutTimeBytes);
  return Shown::kValue;
}

// The key of a point lookup, passed from the memtables down to the last table: user key, sequence
// number of the reader, and the digest for all filters, computed once.  In the common tree a key
// begins with the id of its keyspace; in memtables it does not.
class LookupKey {
 public:
  // Inlined, since each lookup makes one, and a call of this costs 24 of its 850 instructions.
  [[gnu::always_inline]] LookupKey(std::string_view user_key, Sequence sequence,
                                   const bloom::DigestSeed& digest_seed)
      : digest_(bloom::DigestOf(user_key, digest_seed)),
        sequence_(sequence),
        size_bytes_(user_key.size() + kInternalKeySuffixBytes) {
    Fill(Room(), user_key);
  }
  // For the common tree.
  LookupKey(KeyspaceId keyspace, std::string_view user_key, Sequence sequence,
            const bloom::DigestSeed& digest_seed)
      : sequence_(sequence),
        size_bytes_(kKeyspacePrefixBytes + user_key.size() + kInternalKeySuffixBytes),
        prefix_bytes_(kKeyspacePrefixBytes) {
    char* const to = Room();
    StoreKeyspacePrefix(to, keyspace);
    Fill(to + kKeyspacePrefixBytes, user_key);
    digest_ = bloom::DigestOf(this->user_key(), digest_seed);
  }
  LookupKey(LookupKey&& other) noexcept
      : digest_(other.digest_),
        sequence_(other.sequence_),
        expiry_(other.expiry_),
        ask_expiry_(other.ask_expiry_),
        size_bytes_(other.size_bytes_),
        prefix_bytes_(other.prefix_bytes_),
        heap_(std::move(other.heap_)) {
    const bool is_inline = size_bytes_ <= sizeof(inline_);
    if (is_inline) std::memcpy(inline_, other.inline_, size_bytes_);
    bytes_ = is_inline ? inline_ : heap_.data();
  }
  LookupKey(const LookupKey&) = delete;
  LookupKey& operator=(const LookupKey&) = delete;

  // As in the tree.
  std::string_view user_key() const { return {bytes_, size_bytes_ - kInternalKeySuffixBytes}; }
  // The target of a seek for this key in the tree, and in a list of a memtable.
  std::string_view internal_key() const { return {bytes_, size_bytes_}; }
  std::string_view memtable_key() const { return internal_key().substr(prefix_bytes_); }
  Sequence sequence() const { return sequence_; }
  bloom::Digest digest() const { return digest_; }
  // Called for each put that a lookup finds.
  const ExpiryView& expiry() const {
    if (ask_expiry_ != nullptr) [[unlikely]]
      expiry_ = (*std::exchange(ask_expiry_, nullptr))();
    return expiry_;
  }
  void set_expiry(const ExpiryView& expiry) { expiry_ = expiry; }
  // Most lookups of absent keys find no put, and need not read the clock.  So the first put that is
  // found calls `ask`, which must stay valid until then.
  using AskExpiry = absl::FunctionRef<ExpiryView()>;
  void set_expiry(const AskExpiry* ask) { ask_expiry_ = ask; }

 private:
  // For `size_bytes_` bytes.
  char* Room() {
    if (size_bytes_ > sizeof(inline_)) heap_.resize(size_bytes_);
    char* const room = size_bytes_ <= sizeof(inline_) ? inline_ : heap_.data();
    bytes_ = room;
    return room;
  }
  void Fill(char* to, std::string_view user_key) const {
    // An empty key may have a null address, which memcpy does not allow.
    if (!user_key.empty()) std::memcpy(to, user_key.data(), user_key.size());
    StoreFixed64(to + user_key.size(), PackSuffix(sequence_, kEntryKindMax));
  }

  bloom::Digest digest_;
  Sequence sequence_;
  mutable ExpiryView expiry_;  // of the reader, unless it is still to be asked for
  mutable const AskExpiry* ask_expiry_ = nullptr;
  size_t size_bytes_;
  size_t prefix_bytes_ = 0;  // of the id, if there is one
  const char* bytes_;
  char inline_[120];
  std::string heap_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_INTERNAL_KEY_H_
