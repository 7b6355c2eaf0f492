#include "lsm/version/key_order.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/runs_reader.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// With more runs than this, finding the tables to compare would cost more than comparing all.
constexpr size_t kRunsChosenFromMax = 64;

constexpr uint64_t kBytesBetweenCalls = uint64_t{256} << 10;

using Choice = std::vector<std::vector<bool>>;

// Chooses the tables of two runs that must be compared.  Both runs are ordered by key, so one pass
// finds all overlapping pairs.
void ChooseOf(const AgedRuns& runs, size_t newer, size_t older, Choice* chosen) {
  for (size_t a = 0, b = 0; a < runs[newer].size() && b < runs[older].size();) {
    const AgedTable& above = runs[newer][a];
    const AgedTable& below = runs[older][b];
    const KeySpan newer_span = above.meta.span(), older_span = below.meta.span();
    if (newer_span.Overlaps(older_span) && above.smallest_sequence <= below.largest_sequence)
      (*chosen)[newer][a] = (*chosen)[older][b] = true;
    IsBefore(newer_span.end, older_span.end) ? ++a : ++b;
  }
}

// The runs that are not newer than all older runs as a whole.  (A run of level 0 is usually newer.)
std::vector<size_t> MingledRuns(const AgedRuns& runs) {
  std::vector<size_t> mingled;
  Sequence largest_of_older = 0;
  for (size_t run = runs.size(); run-- > 0;) {
    Sequence smallest = kSequenceMax, largest = 0;
    for (const AgedTable& table : runs[run]) {
      smallest = std::min(smallest, table.smallest_sequence);
      largest = std::max(largest, table.largest_sequence);
    }
    if (smallest <= largest_of_older) mingled.push_back(run);
    largest_of_older = std::max(largest_of_older, largest);
  }
  return mingled;
}

// Receives the entries of all runs in the order of internal keys.  A lookup must find the newest
// entry of each key first.  Older entries may lie anywhere, also copies of the newest
// (lsm/compaction/steps.h).
class Comparison {
 public:
  explicit Comparison(const RunsReader& reader) : reader_(reader) {}

  bool IsNewKey() const {
    return newest_.empty() || UserKeyOf(newest_) != UserKeyOf(reader_.key());
  }

  // Returns how the entry contradicts earlier ones; empty if it does not.
  std::string Meet() {
    if (IsNewKey()) {
      newest_.assign(reader_.key());
      newest_run_ = reader_.run();
      newest_table_ = reader_.table();
      newest_value_.assign(reader_.NextHasSameKey() ? reader_.value() : std::string_view());
      return "";
    }
    if (reader_.run() < newest_run_) {
      return Concat(Key(), "the entry in ", TableFileName(newest_table_),
                    " is newer than the one above it, in ", TableFileName(reader_.table()));
    }
    if (newest_ != reader_.key() || reader_.value() == newest_value_) return "";
    return Concat(Key(), TableFileName(newest_table_), " and ", TableFileName(reader_.table()),
                  " hold different values of the same write");
  }

 private:
  std::string Key() const { return Concat("key ", QuotedKey(UserKeyOf(newest_)), ": "); }

  const RunsReader& reader_;
  std::string newest_;        // of the key; empty: no entry yet
  std::string newest_value_;  // set if it may have a copy
  size_t newest_run_ = 0;
  uint64_t newest_table_ = 0;
};

}  // namespace

AgedRuns AgedRunsOf(const Version& version) {
  AgedRuns runs;
  for (int level = 0; level < kLevels; ++level) {
    for (const TableSpan& run : version.runs(level)) {
      runs.emplace_back();
      for (const std::shared_ptr<const OpenTable>& table : run) {
        const auto [smallest, largest] = table->table->sequences();
        runs.back().push_back({table->meta, smallest, largest});
      }
    }
  }
  return runs;
}

AgedRuns TablesToCompare(const AgedRuns& runs) {
  const std::vector<size_t> mingled = MingledRuns(runs);
  const bool choose = mingled.size() <= kRunsChosenFromMax;
  Choice chosen;
  for (const std::vector<AgedTable>& run : runs) chosen.emplace_back(run.size(), !choose);
  for (const size_t newer : mingled) {
    for (size_t older = newer + 1; choose && older < runs.size(); ++older)
      ChooseOf(runs, newer, older, &chosen);
  }
  AgedRuns to_compare;
  for (size_t run = 0; run < runs.size(); ++run) {
    std::vector<AgedTable> tables;
    for (size_t i = 0; i < runs[run].size(); ++i) {
      if (chosen[run][i]) tables.push_back(runs[run][i]);
    }
    if (!tables.empty()) to_compare.push_back(std::move(tables));
  }
  return to_compare;
}

absl::StatusOr<std::optional<std::string>> CompareRuns(Directory& directory,
                                                       const TableContext& context,
                                                       const AgedRuns& runs, std::string_view from,
                                                       uint64_t bytes_max,
                                                       const KeyOrderCalls& calls) {
  RunsReader reader(&directory, context);
  for (const std::vector<AgedTable>& run : runs) {
    std::vector<TableMeta> tables;
    for (const AgedTable& table : run) {
      if (!table.meta.span().EndsBy(from)) tables.push_back(table.meta);
    }
    if (!tables.empty()) reader.AddRun(std::move(tables));
  }
  TRELLIS_RETURN_IF_ERROR(reader.Start(from));
  Comparison comparison(reader);
  uint64_t bytes = 0, told_bytes = 0;
  while (reader.Valid()) {
    if (bytes >= bytes_max && comparison.IsNewKey()) return std::string(UserKeyOf(reader.key()));
    if (bytes >= told_bytes && calls.before_bytes != nullptr) {
      told_bytes = bytes + kBytesBetweenCalls;
      TRELLIS_RETURN_IF_ERROR(calls.before_bytes(kBytesBetweenCalls));
    }
    if (const std::string problem = comparison.Meet(); !problem.empty() && !calls.problem(problem))
      return std::nullopt;
    bytes += reader.key().size() + reader.value().size();
    TRELLIS_RETURN_IF_ERROR(reader.Next());
  }
  return std::nullopt;
}

}  // namespace lsm
