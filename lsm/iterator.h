// Walks sorted entries in both directions.
//
// User iterators and the store's internal ones share this contract.  User iterators have user keys,
// internal ones have internal keys (lsm/base/internal_key.h).
//
// A new iterator is not valid until a Seek.  An error makes it invalid and is returned by status().
// So a loop ends the same way at the end and at an error: check status() after it.
//
// Lifetime: key() and value() are valid until the next call that moves the iterator.  (So do not
// pass an iterator's key() to its own Seek.) A user iterator may outlive its DB; an internal one
// must not outlive what it walks.
//
// Thread-compatible: one thread at a time.
#ifndef TRELLIS_LSM_ITERATOR_H_
#define TRELLIS_LSM_ITERATOR_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

class Iterator {
 public:
  virtual ~Iterator();

  virtual bool Valid() const = 0;

  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // Moves to the first entry at or after `target`.
  virtual void Seek(std::string_view target) = 0;
  // Moves to the last entry at or before `target`.
  virtual void SeekForPrev(std::string_view target) = 0;

  // A hint before Seek(target) or SeekForPrev(target): starts loading what they will read, without
  // waiting.  Call it with step 0 to kSeekSteps - 1, in order; each step builds on the one before.
  // A caller that seeks several iterators takes each step in all of them before the next, so that
  // their waits overlap.
  static constexpr int kSeekSteps = 4;
  virtual void PrefetchSeek(std::string_view target, int step);

  // REQUIRES Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;

  virtual absl::Status status() const = 0;
};

// An iterator without entries, with the given status.
std::unique_ptr<Iterator> NewEmptyIterator(absl::Status status = absl::OkStatus());

// The smallest key that is greater than all keys with the prefix: the upper bound of a scan, of
// DB::CompactRange and of DB::ApproximateBytes.  nullopt if there is no such key, because the
// prefix is empty or all its bytes are 0xff.
//
//   auto iterator = db.NewIterator({.lower_bound = prefix, .upper_bound = PrefixEnd(prefix)});
//
// ReadOptions only points to its bounds, and NewIterator copies them.  So the result may be a
// temporary inside the call.  If your ReadOptions is a variable, keep the result in a variable too.
std::optional<std::string> PrefixEnd(std::string_view prefix);

}  // namespace lsm

#endif  // TRELLIS_LSM_ITERATOR_H_
