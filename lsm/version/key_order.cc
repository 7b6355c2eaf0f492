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

// A version of a key.
struct KeyVersion {
  Sequence sequence = 0;
  bool is_range = false;
  size_t run = 0;
  uint64_t table = 0;

  std::string_view name() const { return is_range ? "range delete" : "entry"; }
};

// The range deletes of all runs, asked for ascending keys.
class RangesOfRuns {
 public:
  // `tables` in the order of their keys, which must outlive it.
  void AddRun(const std::vector<const AgedTable*>& tables) {
    Run& run = runs_.emplace_back();
    for (const AgedTable* table : tables) {
      if (table->ranges != nullptr && !table->ranges->empty()) run.tables.push_back(table);
    }
  }

  // Two of the ranges that cover the key: that of the first run that has any, and the newest one,
  // in the first run that has it.
  struct Cover {
    std::optional<KeyVersion> first;
    KeyVersion newest;
  };
  Cover At(std::string_view key) {
    Cover cover;
    for (size_t i = 0; i < runs_.size(); ++i) {
      Run& run = runs_[i];
      while (run.at < run.tables.size() && run.tables[run.at]->ranges->hull().EndsBy(key)) ++run.at;
      if (run.at == run.tables.size()) continue;
      const AgedTable& table = *run.tables[run.at];
      const Sequence sequence = table.ranges->NewestAt(key, kSequenceMax);
      if (sequence == 0) continue;
      const KeyVersion found{sequence, /*is_range=*/true, i, table.meta.number};
      if (!cover.first) cover.first = found;
      if (sequence > cover.newest.sequence) cover.newest = found;
    }
    return cover;
  }

 private:
  struct Run {
    std::vector<const AgedTable*> tables;  // those with ranges
    size_t at = 0;                         // those before it end before the last key
  };
  std::vector<Run> runs_;
};

// Receives the entries of all runs in the order of internal keys.
class Comparison {
 public:
  Comparison(const RunsReader& reader, RangesOfRuns ranges)
      : reader_(reader), ranges_(std::move(ranges)) {}

  bool IsNewKey() const { return key_.empty() || UserKeyOf(key_) != UserKeyOf(reader_.key()); }

  // Returns how the entry, or a range above it, contradicts the newest version of its key; empty if
  // they do not.
  std::string Meet() {
    const KeyVersion entry{SequenceOf(SuffixOf(reader_.key())), /*is_range=*/false, reader_.run(),
                           reader_.table()};
    const bool begins = IsNewKey();
    if (begins) {
      const RangesOfRuns::Cover cover = Begin(entry);
      if (cover.first && cover.first->run < newest_.run) return Contradiction(*cover.first);
    }
    if (entry.run < newest_.run) return Contradiction(entry);
    if (begins || key_ != reader_.key() || reader_.value() == value_) return "";
    return Concat(Key(), TableFileName(table_), " and ", TableFileName(entry.table),
                  " hold different values of the same write");
  }

 private:
  // Begins a key with its newest entry.
  RangesOfRuns::Cover Begin(const KeyVersion& entry) {
    key_.assign(reader_.key());
    table_ = entry.table;
    value_.assign(reader_.NextHasSameKey() ? reader_.value() : std::string_view());
    RangesOfRuns::Cover cover = ranges_.At(UserKeyOf(key_));
    newest_ = cover.newest.sequence > entry.sequence ? cover.newest : entry;
    return cover;
  }

  std::string Contradiction(const KeyVersion& older) const {
    return Concat(Key(), "the ", newest_.name(), " in ", TableFileName(newest_.table),
                  " is newer than the ", older.name(), " above it, in ",
                  TableFileName(older.table));
  }
  std::string Key() const { return Concat("key ", QuotedKey(UserKeyOf(key_)), ": "); }

  const RunsReader& reader_;
  RangesOfRuns ranges_;
  std::string key_;     // the newest entry of the key; empty: no entry yet
  std::string value_;   // of this entry, if it may have a copy
  uint64_t table_ = 0;  // of this entry
  KeyVersion newest_;
};

}  // namespace

AgedRuns AgedRunsOf(const Tree& tree) {
  AgedRuns runs;
  for (int level = 0; level < kLevels; ++level) {
    for (const TableSpan& run : tree.runs(level)) {
      runs.emplace_back();
      for (const std::shared_ptr<const OpenTable>& table : run) {
        const auto [smallest, largest] = table->table->sequences();
        runs.back().push_back({table->meta, smallest, largest, {table, &table->table->ranges()}});
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
  RangesOfRuns ranges;
  for (const std::vector<AgedTable>& run : runs) {
    std::vector<const AgedTable*> tables;
    std::vector<TableMeta> with_entries;
    for (const AgedTable& table : run) {
      if (table.meta.span().EndsBy(from)) continue;
      tables.push_back(&table);
      if (table.meta.has_entries()) with_entries.push_back(table.meta);
    }
    ranges.AddRun(tables);
    reader.AddRun(std::move(with_entries));
  }
  TRELLIS_RETURN_IF_ERROR(reader.Start(from));
  Comparison comparison(reader, std::move(ranges));
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
