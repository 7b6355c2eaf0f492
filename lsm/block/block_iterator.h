// Iterates over the entries of one block.  Not virtual, so the table's iterator holds it by value
// and inlines its calls.  Block::NewIterator wraps it for other users.
//
// Trusts nothing: if an entry extends beyond the block, or a key is no internal key or out of
// order, the iterator becomes invalid with DataLoss.  However, entries skipped by a seek are
// assumed to be in order; they were in order when restarts were written or signposts made.
#ifndef TRELLIS_LSM_BLOCK_BLOCK_ITERATOR_H_
#define TRELLIS_LSM_BLOCK_BLOCK_ITERATOR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/key_buffer.h"
#include "lsm/block/block.h"

namespace lsm::inline TRELLIS_ABI {

class BlockIterator {
 public:
  // Not attached; not valid.
  BlockIterator() = default;
  BlockIterator(const Block& block, bool internal_keys)
      : block_(block), internal_keys_(internal_keys) {}

  // Attaches to another block and keeps its memory.  The bytes of `block`, and signposts made from
  // it, must live until the next Attach.
  void Attach(const Block& block, bool internal_keys, const Signposts& signposts = {}) {
    block_ = block;
    internal_keys_ = internal_keys;
    signposts_ = signposts;
    problem_ = {};
    Invalidate();
  }

  const Block& block() const { return block_; }
  bool Valid() const { return valid_; }
  void SeekToFirst();
  void SeekToLast();
  void Seek(std::string_view target);
  void SeekForPrev(std::string_view target);
  void Next();
  void Prev();
  // Whether the entry is the first or the last of the block.  REQUIRES Valid().
  bool AtFirst() const { return current_ == 0; }
  bool AtLast() const { return next_ == block_.entries_bytes(); }
  uint32_t offset() const { return current_; }
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

  // Describes what is wrong with the block; empty if nothing was found.
  std::string_view problem() const { return problem_; }
  // The problem as DataLoss, with `context` (file and offset) before it.
  absl::Status status(std::string_view context) const;

 private:
  int Compare(std::string_view a, std::string_view b) const;
  void Invalidate();
  void Fail(std::string_view problem);
  // An entry that Prev passed on the way from the restart, kept for further calls of Prev.
  struct Passed {
    uint32_t offset;
    uint32_t end;
    size_t key_begin;  // start in passed_keys_; it ends where the next one begins
    std::string_view value;
  };
  void Pass();
  void TakePassed();
  void ForgetPassed() {
    passed_.clear();
    passed_keys_.clear();
  }

  // Makes the next ParseNext read the entry at that restart.
  void GoToRestart(uint32_t restart);
  void SetRestart(uint32_t restart) {
    restart_ = restart;
    next_restart_offset_ =
        restart + 1 < block_.restart_count() ? block_.restart_offset(restart + 1) : UINT32_MAX;
  }
  // Reads the entry at next_. False, and not valid, at the end or if the block is damaged.
  bool ParseNext();
  // Whether the key made of `shared` bytes of key_ and `tail` may follow key_.
  bool InOrder(uint32_t shared, std::string_view tail);
  // Moves to the first entry at or after the user key.  False, without a position, if signposts
  // cannot find it.
  bool Land(std::string_view user_key);
  // The last restart whose key is before `target`, or the first one.  False if damaged.
  bool FindRestart(std::string_view target, uint32_t* restart);

  Block block_;
  Signposts signposts_;
  bool internal_keys_ = false;
  bool valid_ = false;
  bool first_in_run_ = true;          // the next entry is compared with no key before it
  uint32_t current_ = 0;              // offset of the entry in key_ and value_
  uint32_t next_ = 0;                 // offset of the next entry
  uint32_t restart_ = 0;              // last restart at or before current_
  uint32_t next_restart_offset_ = 0;  // of the restart after it; UINT32_MAX: none
  KeyBuffer key_;
  std::string_view value_;
  std::string_view problem_;
  std::string scratch_;
  std::vector<Passed> passed_;  // directly before current_, in ascending order
  std::string passed_keys_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_BLOCK_ITERATOR_H_
