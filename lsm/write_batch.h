// Puts and deletes that take effect together or not at all, in order.
//
// Encoding, which is also the payload of a log record:
//
//   fixed64 sequence of the first entry | fixed32 count | entries:
//     u8 kind (EntryKind) | varint32 key length | key | [kPut: varint32 value length | value]
//
// Threads: like a string.
#ifndef TRELLIS_LSM_WRITE_BATCH_H_
#define TRELLIS_LSM_WRITE_BATCH_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"

namespace lsm::inline TRELLIS_ABI {

// Longest key and value, in bytes; a longer one makes the call that brought it fail with
// InvalidArgument.
inline constexpr size_t kKeyBytesMax = size_t{64} << 10;
inline constexpr size_t kValueBytesMax = size_t{64} << 20;
// A batch may take this much encoded.
inline constexpr size_t kBatchBytesMax = size_t{256} << 20;

class WriteBatch {
 public:
  WriteBatch();

  // A key or value beyond its limit, a batch beyond its own, or memory that runs out spoils the
  // batch: `status` says why, and a write of it fails with that.
  void Put(std::string_view key, std::string_view value);
  void Delete(std::string_view key);

  // All entries of `other` after the ones here.
  void Append(const WriteBatch& other);

  void Clear();

  uint32_t count() const;
  size_t size_bytes() const { return bytes_.size(); }
  // Of keys and values alone.
  uint64_t user_bytes() const { return user_bytes_; }
  const absl::Status& status() const { return status_; }
  bool has_puts() const { return has_puts_; }

  // --- for the store itself ---

  static constexpr size_t kHeaderBytes = 12;

  // Receives the entries in order.
  class Handler {
   public:
    virtual ~Handler();
    virtual absl::Status Put(std::string_view key, std::string_view value) = 0;
    virtual absl::Status Delete(std::string_view key) = 0;
  };

  // Walks encoded bytes, trusting none of them: DataLoss (the offset within the batch, and what is
  // wrong) if they do not hold exactly the entries that the header counts, each within its limits
  // and with a sequence number that there is.  The handler may have had some entries by then.  Its
  // own error ends the walk.
  static absl::Status ForEach(std::string_view encoded, Handler* handler);

  // Of encoded bytes that hold at least a header.
  static Sequence FirstSequenceOf(std::string_view encoded) { return LoadFixed64(encoded.data()); }
  static uint32_t CountOf(std::string_view encoded) { return LoadFixed32(encoded.data() + 8); }

  void SetFirstSequence(Sequence sequence);
  std::string_view encoded() const { return bytes_; }

 private:
  // OK, or what spoils the batch.
  absl::Status CheckRoomFor(std::string_view key, std::string_view value) const;
  void Add(EntryKind kind, std::string_view key, std::string_view value);

  std::string bytes_;
  uint64_t user_bytes_ = 0;
  bool has_puts_ = false;
  absl::Status status_;  // the first thing that spoiled it
};

}  // namespace lsm::inline TRELLIS_ABI

#endif  // TRELLIS_LSM_WRITE_BATCH_H_
