// Walks the entries of one block.  A class of its own, not virtual, so that the table's iterator
// holds it by value and its calls are inlined; Block::NewIterator wraps it for everybody else.
//
// Trusts nothing: an entry that reaches beyond the block, a key that is no internal key or is not
// after the one before it makes the iterator invalid with DataLoss.  But entries that a seek passes
// are taken to be in order, as they were when restarts were written or signposts made.
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
  // On nothing; not valid.
  BlockIterator() = default;
  BlockIterator(const Block& block, bool internal_keys)
      : block_(block), internal_keys_(internal_keys) {}

  // Keeps its memory.  `block`'s bytes must stay until the next call of Attach; and signposts that
  // were made of it.
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
  // Whether the entry is the block's first or last one.  REQUIRES Valid().
  bool AtFirst() const { return current_ == 0; }
  bool AtLast() const { return next_ == block_.entries_bytes(); }
  uint32_t offset() const { return current_; }
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

  // What is wrong with the block; empty: nothing so far.
  std::string_view problem() const { return problem_; }
  // The same as DataLoss, `context` (file and offset) before it.
  absl::Status status(std::string_view context) const;

 private:
  int Compare(std::string_view a, std::string_view b) const;
  void Invalidate();
  void Fail(std::string_view problem);
  // An entry of the run that Prev went through on its way to the last one, kept for the Prev calls
  // to come.
  struct Passed {
    uint32_t offset;
    uint32_t end;
    size_t key_begin;  // in passed_keys_, up to its end or to the next one's
    std::string_view value;
  };
  void Pass();
  void TakePassed();
  void ForgetPassed() {
    passed_.clear();
    passed_keys_.clear();
  }

  // So that the next ParseNext reads the entry at that restart.
  void GoToRestart(uint32_t restart);
  void SetRestart(uint32_t restart) {
    restart_ = restart;
    next_restart_offset_ =
        restart + 1 < block_.restart_count() ? block_.restart_offset(restart + 1) : UINT32_MAX;
  }
  // Reads the entry at next_; false, and not valid, at the end or where the block is damaged.
  bool ParseNext();
  // Whether the key that is `shared` bytes of key_ and then `tail` may follow key_.
  bool InOrder(uint32_t shared, std::string_view tail);
  // To the first entry at or after the user key; false, and nowhere, if that cannot be told from
  // signposts.
  bool Land(std::string_view user_key);
  // The last restart whose key is before `target`, or the first one; false if damaged.
  bool FindRestart(std::string_view target, uint32_t* restart);

  Block block_;
  Signposts signposts_;
  bool internal_keys_ = false;
  bool valid_ = false;
  bool first_in_run_ = true;  // the next entry is at a restart that was gone to: there is no key
                              // before it to compare with
  uint32_t current_ = 0;      // offset of the entry that key_ and value_ are of
  uint32_t next_ = 0;         // offset of the one after it
  uint32_t restart_ = 0;      // the last one at or before current_
  uint32_t next_restart_offset_ = 0;  // of the one after it; UINT32_MAX: there is none
  KeyBuffer key_;
  std::string_view value_;
  std::string_view problem_;
  std::string scratch_;
  std::vector<Passed> passed_;  // directly before current_, in ascending order
  std::string passed_keys_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_BLOCK_ITERATOR_H_
