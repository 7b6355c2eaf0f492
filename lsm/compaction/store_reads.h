// The wasted reads that a store's tables have counted.  A job derives from them how hot each table
// is, and how hot each range of keys of its inputs is.
//
// A job's outputs inherit a part of the counts of its inputs (HotnessScale::kKept), by ranges of
// keys.  So the counts of a range outlive the tables, but they are lost when the store is closed.
#ifndef TRELLIS_LSM_COMPACTION_STORE_READS_H_
#define TRELLIS_LSM_COMPACTION_STORE_READS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/filters/hotness.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {

class StoreReads {
 public:
  // Takes the counts of this moment.  `counters` are the store's and may be null.  The tree must
  // outlive it.  The expected reads follow from the lookups of this tree alone.
  StoreReads(const Tree& tree, const Counters* counters);

  WastedReads Of(const OpenTable& table) const;
  const HotnessScale& scale() const { return scale_; }
  // HotnessStepOf, for a table.
  int StepOf(const OpenTable& table) const { return StepOf(Of(table)); }
  int StepOf(const WastedReads& reads) const { return HotnessStepOf(scale_.HotnessOf(reads)); }

 private:
  std::map<const OpenTable*, WastedReads> tables_;
  HotnessScale scale_;
};

// The counts of the tables that a job reads, by ranges of keys.  Immutable.
class InputReads {
 public:
  InputReads() = default;
  // Keeps the tables open.
  InputReads(const StoreReads& store, OpenTables inputs);

  struct Range {
    std::string_view from;  // lives as long as this
    double keys = 0;
    double file_bytes = 0;
    WastedReads reads;
  };
  // An estimate for the range [from, to); nullopt: to the end.  It assumes that all blocks of a
  // table have the same number of keys and the same part of the counts.
  Range Between(std::string_view from, std::optional<std::string_view> to) const;
  // All inputs, cut into ranges where an input begins.
  std::vector<Range> Ranges() const;
  // An estimate of the counts for a table that begins at `from` and takes about `bytes` of the
  // inputs.
  WastedReads Ahead(std::string_view from, uint64_t bytes) const;

 private:
  struct Input {
    std::shared_ptr<const OpenTable> table;
    WastedReads reads;
  };
  std::vector<Input> inputs_;
  std::vector<std::string_view> cuts_;  // user keys, ascending
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_STORE_READS_H_
