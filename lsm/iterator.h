// Walks sorted entries in both directions.
//
// A new iterator is not valid until a Seek.  An error makes it invalid and is returned by status().
// So a loop ends the same way at the end and at an error: check status() after it.
//
// Lifetime: key() and value() are valid until the next call that moves the iterator.  (So do not
// pass an iterator's key() to its own Seek.) An iterator may outlive its DB.
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

class TRELLIS_API Iterator {
 public:
  virtual ~Iterator();

  virtual bool Valid() const = 0;

  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // Moves to the first entry at or after `target`.
  virtual void Seek(std::string_view target) = 0;
  // Moves to the last entry at or before `target`.
  virtual void SeekForPrev(std::string_view target) = 0;

  // REQUIRES Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;

  virtual absl::Status status() const = 0;
};

// An iterator without entries, with the given status.
TRELLIS_API std::unique_ptr<Iterator> NewEmptyIterator(absl::Status status = absl::OkStatus());

// The smallest key that is greater than all keys with the prefix: the upper bound of a scan, of
// DB::CompactRange and of DB::ApproximateBytes.  nullopt if there is no such key, because the
// prefix is empty or all its bytes are 0xff.
//
//   auto iterator = db.NewIterator({.lower_bound = prefix, .upper_bound = PrefixEnd(prefix)});
//
// ReadOptions only points to its bounds, and NewIterator copies them.  So the result may be a
// temporary inside the call.  If your ReadOptions is a variable, keep the result in a variable too.
TRELLIS_API std::optional<std::string> PrefixEnd(std::string_view prefix);

}  // namespace lsm

#endif  // TRELLIS_LSM_ITERATOR_H_
