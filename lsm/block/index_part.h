// The index of a table in memory, or a part of it: the places of adjacent data blocks, and the keys
// at which they end.  IndexReader makes it from index blocks.  Immutable, so thread-safe.
//
// Data blocks are identified by their ordinals in the table, also in a part of its index.
#ifndef TRELLIS_LSM_BLOCK_INDEX_PART_H_
#define TRELLIS_LSM_BLOCK_INDEX_PART_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/fences.h"
#include "lsm/block/format.h"

namespace lsm::inline TRELLIS_ABI {

class Block;

class IndexPart {
 public:
  IndexPart() = default;  // without blocks

  size_t begin() const { return begin_; }
  size_t end() const { return begin_ + fences_.size(); }
  BlockHandle handle(size_t ordinal) const {
    const uint64_t* const offset = &offsets_[ordinal - begin_];
    return {offset[0], offset[1] - offset[0] - kBlockTrailerBytes};
  }
  // The block's key in the index: at or after its last user key.
  std::string_view fence(size_t ordinal) const { return fences_[ordinal - begin_]; }
  // The fence of the block before; nullopt for the first block of the table.
  std::optional<std::string_view> lower_fence(size_t ordinal) const {
    if (ordinal != begin_) return fence(ordinal - 1);
    return begin_ == 0 ? std::nullopt : std::optional<std::string_view>(lower_);
  }
  // The first of these blocks that may hold keys at or after `user_key`; end() if there is none.
  size_t LowerBound(std::string_view user_key) const {
    return begin_ + fences_.LowerBound(user_key);
  }
  // As above; fast if the result is `guess`, which may be any number.
  size_t LowerBound(std::string_view user_key, size_t guess) const {
    const bool is_right = guess >= begin_ && fences_.IsFoundAt(guess - begin_, user_key);
    return is_right ? guess : LowerBound(user_key);
  }
  // As above in two steps, like those of Fences.
  size_t Approach(std::string_view user_key) const { return fences_.Approach(user_key); }
  size_t LowerBoundFrom(size_t approached, std::string_view user_key) const {
    return begin_ + fences_.FindFrom(approached, user_key).at;
  }

  size_t memory_bytes() const {
    return fences_.memory_bytes() + offsets_.capacity() * sizeof(uint64_t) + lower_.capacity();
  }

 private:
  friend class IndexReader;
  size_t begin_ = 0;
  Fences fences_;
  std::vector<uint64_t> offsets_;  // one more than blocks, which are adjacent
  std::string lower_;              // fence of the block before the first
};

// DataLoss if the keys of an index block, written in full, take more than those of a valid index
// can, so that a small file cannot demand much memory.  `keys_before` is the size of the keys in
// earlier index blocks.
absl::Status CheckIndexExtent(uint64_t block_bytes, uint64_t keys_before, uint64_t key_bytes,
                              std::string_view path, uint64_t offset);

// Reads adjacent index blocks, without trusting their bytes: Add+ Finish.
class IndexReader {
 public:
  // The first data block is number `first_block` of its table and must begin at `data_begin`; all
  // must end by `data_end`.  `lower` is the index key of the block before it, if there is one.
  IndexReader(std::string_view path, size_t first_block, uint64_t data_begin, uint64_t data_end,
              std::string_view lower = {});

  // Adds the entries of an index block at `offset`.  DataLoss if they are malformed or out of
  // order, or if the data blocks are not adjacent.
  absl::Status Add(std::string_view bytes, uint64_t offset);

  // Ordinal of the block after those added.
  size_t next_block() const { return part_.begin_ + part_.offsets_.size() - 1; }
  uint64_t next_offset() const { return part_.offsets_.back(); }  // end of the last one
  std::string_view last_fence() const;

  IndexPart Finish();

 private:
  absl::Status MakeRoom(const Block& block, uint64_t offset);

  const std::string_view path_;
  const uint64_t data_end_;
  IndexPart part_;
  std::string keys_;
  std::vector<uint64_t> key_ends_;  // one more than keys
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_INDEX_PART_H_
