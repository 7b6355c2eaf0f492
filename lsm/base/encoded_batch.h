// The encoding of a WriteBatch, which is also the payload of a log record.  lsm/FORMAT.md, section
// "Records of a write-ahead log", draws it.
#ifndef TRELLIS_LSM_BASE_ENCODED_BATCH_H_
#define TRELLIS_LSM_BASE_ENCODED_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/coding.h"
#include "lsm/write_batch.h"

namespace lsm::inline TRELLIS_ABI {

// The kinds of a batch's entries.  The first two are also those of internal keys (EntryKind).
enum class BatchKind : uint8_t {
  kDelete = 0,
  kPut = 1,
  kDeleteRange = 2,
  kDeleteRangeToEnd = 3,  // without an end
  // Changes of keyspaces (KeyspaceChange); 4 is free.
  kCreatedKeyspace = 5,
  kDroppedKeyspace = 6,
  kKeyspaceOptions = 7,
  // The time of the puts in a log record, for keyspaces whose puts have times.  Only the first
  // entry may have this kind.  It is not counted, and has no sequence number.
  kTime = 8,
};
constexpr bool IsRange(BatchKind kind) {
  return kind == BatchKind::kDeleteRange || kind == BatchKind::kDeleteRangeToEnd;
}
// Added to the kind of an entry that has the id of its keyspace before its key.  An entry of the
// default keyspace has no id.
inline constexpr uint8_t kHasKeyspace = 0x40;
constexpr bool IsKeyspaceChange(BatchKind kind) {
  return kind >= BatchKind::kCreatedKeyspace && kind <= BatchKind::kKeyspaceOptions;
}
constexpr BatchKind BatchKindOf(KeyspaceChange::Kind kind) { return static_cast<BatchKind>(kind); }
static_assert(BatchKindOf(KeyspaceChange::Kind::kCreated) == BatchKind::kCreatedKeyspace &&
              BatchKindOf(KeyspaceChange::Kind::kDropped) == BatchKind::kDroppedKeyspace &&
              BatchKindOf(KeyspaceChange::Kind::kOptions) == BatchKind::kKeyspaceOptions);
constexpr BatchKind BatchKindOf(EntryKind kind) { return static_cast<BatchKind>(kind); }
static_assert(BatchKindOf(EntryKind::kDelete) == BatchKind::kDelete &&
              BatchKindOf(EntryKind::kPut) == BatchKind::kPut);

class EncodedBatch {
 public:
  static constexpr size_t kHeaderBytes = 12;

  // Valid until the batch changes.
  static std::string_view Of(const WriteBatch& batch) { return batch.bytes_; }
  static void SetFirstSequence(WriteBatch* batch, Sequence sequence);

  // Like the methods of WriteBatch, but in any keyspace.  REQUIRES: the id is kDefaultKeyspace, or
  // at least kOtherKeyspaceMin.
  static void Put(WriteBatch* batch, KeyspaceId keyspace, std::string_view key,
                  std::string_view value);
  static void Delete(WriteBatch* batch, KeyspaceId keyspace, std::string_view key);
  static void DeleteRange(WriteBatch* batch, KeyspaceId keyspace, std::string_view from,
                          std::optional<std::string_view> to);

  // Inserts the time, in seconds since 1970, before all entries.  REQUIRES: there is none yet.
  static void SetTime(std::string* encoded, uint32_t seconds);

  // Adds a change, which counts as one entry.  A creation counts as a put.
  static void Change(WriteBatch* batch, const KeyspaceChange& change);

  // The keyspaces that the batch names by handles.
  static std::span<const std::shared_ptr<const KeyspaceState>> KeyspacesOf(
      const WriteBatch& batch) {
    return batch.keyspaces_;
  }

  // FailedPrecondition, with a name, if one of them was dropped.
  static absl::Status CheckNoneDropped(const WriteBatch& batch);

  // Receives the entries in order.
  class Handler {
   public:
    virtual ~Handler();
    virtual absl::Status Put(KeyspaceId keyspace, std::string_view key, std::string_view value) = 0;
    virtual absl::Status Delete(KeyspaceId keyspace, std::string_view key) = 0;
    // `from` is below `to`; nullopt: to the end.
    virtual absl::Status DeleteRange(KeyspaceId keyspace, std::string_view from,
                                     std::optional<std::string_view> to) = 0;
    // `at` is the offset of the entry in the batch.
    virtual absl::Status Change(const KeyspaceChange& change, size_t at) = 0;
    // Is called at most once, before all others.
    virtual absl::Status Time(uint32_t seconds) = 0;
  };

  // Passes each entry of encoded bytes to the handler.  Trusts none of the bytes: DataLoss (with
  // the offset in the batch) unless they are exactly the entries that the header counts, within
  // their limits, and with valid sequence numbers.  (0 is valid, since a batch has it before it is
  // written.  For a range delete it is not, since that range would hide nothing.)  Unimplemented
  // for an option of a keyspace that this release does not know.  The handler may have received
  // some entries before an error.  The handler checks whether the keyspace of an entry exists, and
  // its errors end the call.
  static absl::Status ForEach(std::string_view encoded, Handler* handler);

  // Calls `visit` with the keyspace of each entry, in order.  Allocates no memory.  REQUIRES: there
  // are no changes of keyspaces.
  static void ForEachKeyspace(const WriteBatch& batch,
                              absl::FunctionRef<void(KeyspaceId keyspace)> visit);

  // REQUIRES: at least a header.
  static Sequence FirstSequenceOf(std::string_view encoded) { return LoadFixed64(encoded.data()); }
  static uint32_t CountOf(std::string_view encoded) {
    return LoadFixed32(encoded.data() + kCountAt);
  }
  // REQUIRES: at least a header.
  static void SetCount(std::string* encoded, uint32_t count) {
    StoreFixed32(encoded->data() + kCountAt, count);
  }

 private:
  static constexpr size_t kCountAt = 8;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_ENCODED_BATCH_H_
