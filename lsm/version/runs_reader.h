// Reads the entries of several sorted runs in the order of internal keys, once, from front to back.
// One table of each run is open at a time.
#ifndef TRELLIS_LSM_VERSION_RUNS_READER_H_
#define TRELLIS_LSM_VERSION_RUNS_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/iterator.h"
#include "lsm/table/table.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

// Usage: AddRun* Start (Valid (key | value | run | table)* Next)*. An error ends it.
class RunsReader {
 public:
  // `directory` and the objects of `context` must outlive it.
  RunsReader(Directory* directory, const TableContext& context)
      : directory_(*directory), context_(context) {}

  // `tables` are disjoint and in the order of their keys.
  void AddRun(std::vector<TableMeta> tables);
  // Starts at a user key.  The tables of a run may begin before it and end after it.
  absl::Status Start(std::string_view from = {});

  bool Valid() const { return !heap_.empty(); }
  absl::Status Next();
  std::string_view key() const { return top().iterator->key(); }
  std::string_view value() const { return top().iterator->value(); }
  // The run of the current entry (index in the order of AddRun), and its table.
  size_t run() const { return heap_.front(); }
  uint64_t table() const { return top().tables[top().at].number; }
  // Whether the next entry, in another run, has the same internal key.
  bool NextHasSameKey() const;

 private:
  struct Run {
    std::vector<TableMeta> tables;
    size_t at = 0;
    std::unique_ptr<Table> table;
    std::unique_ptr<Iterator> iterator;
  };

  const Run& top() const { return runs_[heap_.front()]; }
  bool IsAfter(size_t a, size_t b) const;
  // Opens tables until one has an entry at or after `from`, and then adds the run to the heap.
  absl::Status Enter(size_t run, std::string_view from = {});

  Directory& directory_;
  const TableContext context_;
  std::vector<Run> runs_;
  std::vector<size_t> heap_;  // runs that have entries left
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_RUNS_READER_H_
