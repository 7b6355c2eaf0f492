// A sequence of puts, deletes and range deletes that is applied in order, all or nothing.
//
// Thread-compatible, like a string.
#ifndef TRELLIS_LSM_WRITE_BATCH_H_
#define TRELLIS_LSM_WRITE_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

enum class BatchKind : uint8_t;  // lsm/base/encoded_batch.h
class Keyspace;
struct KeyspaceState;  // lsm/base/keyspace_state.h

class TRELLIS_API WriteBatch {
 public:
  WriteBatch();

  // If a key, value or the batch exceeds its limit (lsm/limits.h), or memory runs out, the batch
  // becomes invalid: `status` says why, and writing it fails with that status.
  void Put(std::string_view key, std::string_view value);
  void Delete(std::string_view key);
  // Deletes all keys in [from, to), or from `from` on if `to` is nullopt, including those that this
  // batch has put before.  Adds one entry, or none if `to` is not above `from`.  The bounds need
  // not exist as keys.
  void DeleteRange(std::string_view from, std::optional<std::string_view> to);

  // The same in a keyspace (lsm/keyspace.h).  A handle that belongs to no store makes the batch
  // invalid (FailedPrecondition).  Write the batch to the DB that made the handles.  Any other DB
  // returns InvalidArgument, even a later opening of the same store.
  void Put(const Keyspace& keyspace, std::string_view key, std::string_view value);
  void Delete(const Keyspace& keyspace, std::string_view key);
  void DeleteRange(const Keyspace& keyspace, std::string_view from,
                   std::optional<std::string_view> to);

  // Appends all entries of `other`.
  void Append(const WriteBatch& other);

  void Clear();

  uint32_t count() const;
  size_t size_bytes() const { return bytes_.size(); }
  // Bytes of keys, values and bounds of ranges, without encoding overhead.
  uint64_t user_bytes() const { return user_bytes_; }
  const absl::Status& status() const { return status_; }
  bool has_puts() const { return has_puts_; }

 private:
  friend class EncodedBatch;  // lsm/base/encoded_batch.h

  // OK, or the error if adding this entry would make the batch invalid.
  absl::Status CheckRoomFor(BatchKind kind, std::string_view key, std::string_view rest,
                            size_t framing_bytes_max) const;
  // `keyspace` is an id; 0: the default one.  `rest` is the value of a put, or the end of a range
  // delete.
  void Add(uint32_t keyspace, BatchKind kind, std::string_view key, std::string_view rest);

  // Keeps the state of the keyspace that the next entry names.  False if the batch is invalid.
  bool Name(const Keyspace& keyspace);
  void Name(const std::shared_ptr<const KeyspaceState>& state);

  std::string bytes_;
  std::vector<std::shared_ptr<const KeyspaceState>> keyspaces_;  // named by handles; sorted
  uint64_t user_bytes_ = 0;
  bool has_puts_ = false;
  absl::Status status_;  // the first error
};

}  // namespace lsm

#endif  // TRELLIS_LSM_WRITE_BATCH_H_
