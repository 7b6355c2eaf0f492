// Reads data blocks of any tables together.
//
//   Add*  ReadAll  (Take | Drop)*
//
// One thread.
#ifndef TRELLIS_LSM_TABLE_BLOCK_READS_H_
#define TRELLIS_LSM_TABLE_BLOCK_READS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

class BlockReads {
 public:
  bool empty() const { return reads_.empty(); }
  size_t size() const { return reads_.size(); }
  void Clear() { reads_.clear(); }
  // The number of an added block.
  std::optional<size_t> Find(const Table* table, size_t ordinal) const;
  // Releases the block; Find no longer returns it.
  void Drop(size_t number);

  // Adds a block and returns its number.  A block that is already added is read once.  `index`,
  // which contains the block, must stay alive.
  size_t Add(const Table* table, const IndexPart* index, size_t ordinal);

  // Reads the blocks with one ReadMany.  Verifies each when it arrives, while the device reads the
  // others, and puts it into the cache if `fill_cache`.  Blocks for which there is no memory get
  // ResourceExhausted.
  void ReadAll(FileSystem* files, bool fill_cache);

  // A reference to the block, or the error of its read.  May be called repeatedly.  `is_first`:
  // whether this is the first call for the block.
  absl::StatusOr<BlockRef> Take(size_t number, bool* is_first);

 private:
  struct Read {
    const Table* table;  // null: dropped
    const IndexPart* index;
    size_t ordinal;
    BlockBuffer stored;
    absl::Status status;
    BlockRef block;
    bool is_taken = false;
  };
  // Verifies and opens what was read.
  static void Open(Read* read, const ReadRequest& request, bool fill_cache);

  std::vector<Read> reads_;
};

// Combines the reads of a seek in several tables: each table announces its block, and the first one
// that needs its block reads all.
//
//   Begin Want* Take*      one seek; blocks not taken stay available until the next Begin
//
// One thread.
class SeekReads {
 public:
  explicit SeekReads(FileSystem* files) : files_(files) {}

  // Discards the previous seek.
  void Begin();
  // Announces a block that is not cached.  `index` must live as long as the table or `pin`.
  void Want(const Table* table, const IndexPart* index, BlockRef pin, size_t ordinal);
  // Returns an announced block, once, after reading.  Null if the block was not announced, was the
  // only announced one, or could not be read.  The caller then reads the block alone, which also
  // reports errors.
  BlockRef Take(const Table* table, size_t ordinal, bool fill_cache);

 private:
  FileSystem* const files_;
  BlockReads reads_;
  std::vector<BlockRef> pins_;
  bool were_read_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_BLOCK_READS_H_
