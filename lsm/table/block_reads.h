// Reads of data blocks of any tables, submitted together.
//
//   Add*  ReadAll  Take*
//
// Threads: one.
#ifndef TRELLIS_LSM_TABLE_BLOCK_READS_H_
#define TRELLIS_LSM_TABLE_BLOCK_READS_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "lsm/fs/file_system.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/table.h"

namespace lsm {

class BlockReads {
 public:
  bool empty() const { return reads_.empty(); }

  // Returns its number; a block that was added before is read once.  `index`, which has the block,
  // must stay.
  size_t Add(const Table* table, const IndexPart* index, size_t ordinal);

  // Reads them with one ReadMany; verifies each as soon as it is there, while the device reads the
  // others, and puts it into the cache if asked to.  Needs memory; where there is none, those that
  // are left over get ResourceExhausted.
  void ReadAll(FileSystem* files, bool fill_cache);

  // A reference to the block, or why it could not be read; as often as wanted.  `is_first`: whether
  // nobody has taken it yet.
  absl::StatusOr<BlockRef> Take(size_t number, bool* is_first);

 private:
  struct Read {
    const Table* table;
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

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_BLOCK_READS_H_
