// Walks sorted entries in both directions.
//
// Users' iterators and the store's inner ones share this contract.  Keys are the user's in the
// former, and internal keys in the latter (lsm/base/internal_key.h).  A new iterator is not valid
// until a Seek.  An error makes it invalid and stands in status().  So a loop ends the same way at
// the end and at an error: check status() after it.
//
// Lifetime: key() and value() are good until the next call that moves (so the target of a seek must
// not be the same iterator's key()).  Users' iterators may outlive their DB; those of the store's
// insides must not outlive what they walk over.  Threads: one at a time.
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
  // To the first entry at or after `target`.
  virtual void Seek(std::string_view target) = 0;
  // To the last entry at or before `target`.
  virtual void SeekForPrev(std::string_view target) = 0;

  // Prefetches for Seek(target) or SeekForPrev(target): begins to load, without waiting, or notes
  // what will have to be read.  Call it with steps from 0 to kSeekSteps - 1; each step of a target
  // builds on the one before.  Only a hint.  A caller that seeks in many iterators takes each step
  // in all of them, so that their waits overlap.
  static constexpr int kSeekSteps = 4;
  virtual void PrefetchSeek(std::string_view target, int step);

  // REQUIRES Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;

  virtual absl::Status status() const = 0;
};

// Has no entries, and the given status.
std::unique_ptr<Iterator> NewEmptyIterator(absl::Status status = absl::OkStatus());

// The smallest key that is greater than all keys with the prefix: for the upper bound of a scan,
// and for DB::CompactRange and DB::ApproximateBytes.  nullopt if there is no such key: the prefix
// is empty, or all its bytes are 0xff.
//
//   auto iterator = db.NewIterator({.lower_bound = prefix, .upper_bound = PrefixEnd(prefix)});
//
// ReadOptions only points to its bounds; NewIterator copies them.  So the result may be a temporary
// in the call itself, but must be a variable where the ReadOptions is one.
std::optional<std::string> PrefixEnd(std::string_view prefix);

}  // namespace lsm

#endif  // TRELLIS_LSM_ITERATOR_H_
