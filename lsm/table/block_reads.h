// Reads of data blocks of any tables, submitted together.
//
//   Add*  ReadAll  (Take | Drop)*
//
// Threads: one.
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
  // The number of a block that was added.
  std::optional<size_t> Find(const Table* table, size_t ordinal) const;
  // Lets the block go, which is not found any more.
  void Drop(size_t number);

  // Returns its number; a block that was added before is read once.  `index`, which has the block,
  // must stay.
  size_t Add(const Table* table, const IndexPart* index, size_t ordinal);

  // Reads them with one ReadMany; verifies each as soon as it is there, while the device reads the
  // others, and puts it into the cache if asked to.  Needs memory; where there is none, those that
  // are left over get ResourceExhausted.
  void ReadAll(FileSystem* files, bool fill_cache);

  // A reference to the block, or why it could not be read; as often as wanted.  `is_first`: whether
  // no caller has taken it yet.
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
  // What was read.
  static void Open(Read* read, const ReadRequest& request, bool fill_cache);

  std::vector<Read> reads_;
};

// What a seek in several tables has to read: each says so before any of them looks into its block,
// and the first that does reads for all.
//
//   Begin Want* Take*      a seek; what of it is not taken may be so later, as long as it stands
//
// Threads: one.
class SeekReads {
 public:
  explicit SeekReads(FileSystem* files) : files_(files) {}

  // Forgets the seek before.
  void Begin();
  // A block that is not cached.  `index` stays as long as the table, or as `pin`.
  void Want(const Table* table, const IndexPart* index, BlockRef pin, size_t ordinal);
  // Once, a block that was wanted and has now been read.  Null if it was not wanted, or none with
  // it, or could not be read: such a one is to be read alone, which also tells what is wrong.
  BlockRef Take(const Table* table, size_t ordinal, bool fill_cache);

 private:
  FileSystem* const files_;
  BlockReads reads_;
  std::vector<BlockRef> pins_;
  bool were_read_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_BLOCK_READS_H_
