#include "lsm/compaction/picker.h"

#include <algorithm>
#include <limits>
#include <string>

namespace lsm {
namespace {

// A table that overlaps more of the level below the next than this many tables is rewritten rather
// than moved, so that it is cut into pieces that are cheap to compact later.
constexpr uint64_t kMoveGrandparentTablesMax = 10;

struct UserRange {
  std::string smallest, largest;
};

// Makes the range hold those of the tables too.
void Widen(TableSpan tables, UserRange* range) {
  for (const auto& table : tables) {
    const std::string_view smallest = UserKeyOf(table->meta.smallest);
    const std::string_view largest = UserKeyOf(table->meta.largest);
    if (smallest < range->smallest) range->smallest = std::string(smallest);
    if (largest > range->largest) range->largest = std::string(largest);
  }
}

// REQUIRES: there are tables.
UserRange RangeOf(TableSpan tables) {
  UserRange range{std::string(UserKeyOf(tables.front()->meta.smallest)),
                  std::string(UserKeyOf(tables.front()->meta.largest))};
  Widen(tables, &range);
  return range;
}

uint64_t BytesOf(const OpenTables& tables) {
  uint64_t bytes = 0;
  for (const auto& table : tables) bytes += table->meta.file_bytes;
  return bytes;
}

// All tables of the level that overlap the range, or what they overlap, and so on.
OpenTables CloseOver(const Version& version, int level, UserRange range) {
  size_t known = 0;
  for (;;) {
    OpenTables tables = version.Overlapping(level, range.smallest, range.largest);
    if (tables.size() == known) return tables;
    known = tables.size();
    Widen(tables, &range);
  }
}

// Into the oldest run of the level below, with what overlaps it there.  With options it may be a
// move.
CompactionPlan PlanDown(const Version& version, int level, OpenTables inputs,
                        const Options* options) {
  CompactionPlan plan;
  plan.level = level;
  plan.output_level = level + 1;
  plan.inputs = std::move(inputs);
  const OpenTables& below = version.level(plan.output_level);
  plan.output_run = (below.empty() ? plan.inputs : below).back()->meta.run;
  UserRange range = RangeOf(plan.inputs);
  plan.overlapped = CloseOver(version, plan.output_level, range);
  Widen(plan.overlapped, &range);
  if (plan.output_level + 1 < kLevels && version.run_count(plan.output_level + 1) == 1) {
    plan.grandparents = version.Overlapping(plan.output_level + 1, range.smallest, range.largest);
  }
  plan.trivial_move =
      options != nullptr && plan.inputs.size() == 1 && plan.overlapped.empty() &&
      plan.inputs.front()->meta.run == plan.output_run &&
      BytesOf(plan.grandparents) <= kMoveGrandparentTablesMax * options->table_bytes;
  return plan;
}

// The whole level, as a run of its own that is newer than those of the level below.
CompactionPlan PlanNewRun(const Version& version, int level, const Options& options) {
  const OpenTables& below = version.level(level + 1);
  // Numbers begin anew whenever the level below was emptied; but a manifest may say anything.
  if (!below.empty() && below.front()->meta.run == std::numeric_limits<uint32_t>::max())
    return PlanDown(version, level, version.level(level), &options);
  CompactionPlan plan;
  plan.level = level;
  plan.output_level = level + 1;
  plan.inputs = version.level(level);
  plan.output_run = below.empty() ? plan.inputs.back()->meta.run : below.front()->meta.run + 1;
  plan.trivial_move = plan.inputs.size() == 1 && below.empty();
  return plan;
}

// All runs of the level become the oldest of them.
CompactionPlan PlanInPlace(const Version& version, int level) {
  CompactionPlan plan;
  plan.level = level;
  plan.output_level = level;
  plan.inputs = version.level(level);
  plan.output_run = plan.inputs.back()->meta.run;
  return plan;
}

// The one run of the deepest level, as it is.
CompactionPlan PlanMove(const Version& version, int level) {
  CompactionPlan plan = PlanInPlace(version, level);
  plan.output_level = level + 1;
  plan.trivial_move = true;
  return plan;
}

OpenTables PickFromLevel0(const Version& version) {
  // Newest first, so the last is the oldest.
  const std::shared_ptr<const OpenTable>& oldest = version.level(0).back();
  return CloseOver(version, 0, RangeOf({&oldest, 1}));
}

OpenTables PickLeastOverlap(const Version& version, int level) {
  double least = std::numeric_limits<double>::infinity();
  std::shared_ptr<const OpenTable> best;
  for (const auto& table : version.level(level)) {
    const OpenTables below = version.Overlapping(level + 1, UserKeyOf(table->meta.smallest),
                                                 UserKeyOf(table->meta.largest));
    const double overlap =
        static_cast<double>(BytesOf(below)) / static_cast<double>(table->meta.file_bytes);
    if (overlap < least) {
      least = overlap;
      best = table;
    }
  }
  return {best};
}

bool HoldsGarbage(const OpenTable& table) {
  const TableProperties& properties = table.table->properties();
  return properties.deletions > 0 || properties.distinct_keys < properties.entries;
}

// Whether the style allows the level no second run.
bool KeepsOneRun(const Version& version, const Options& options, int level) {
  if (level == 0) return false;
  switch (options.compaction_style) {
    case CompactionStyle::kLeveled:
      return true;
    case CompactionStyle::kTiered:
      return false;
    case CompactionStyle::kLazyLeveled:
      return level == version.deepest_level();
  }
  return false;
}

// By how much the level is over its limit; 0 if it is not.
double DueScore(const Version& version, const Options& options, int level) {
  const auto runs = static_cast<double>(version.run_count(level));
  if (!KeepsOneRun(version, options, level)) {
    // A level of which each run goes down alone would never hold any.
    const double limit = std::max(level == 0 ? 1 : 2, options.level0_compaction_tables);
    return runs >= limit ? runs / limit : 0;
  }
  if (runs > 1) return runs;
  const bool may_go_down = level + 1 < kLevels;
  const double fullness = static_cast<double>(version.level_bytes(level)) /
                          static_cast<double>(LevelBytesMax(options, level));
  return may_go_down && fullness > 1 ? fullness : 0;
}

}  // namespace

uint64_t LevelBytesMax(const Options& options, int level) {
  uint64_t bytes = options.level1_bytes;
  for (int i = 1; i < level; ++i) {
    if (bytes > std::numeric_limits<uint64_t>::max() / kLevelRatio)
      return std::numeric_limits<uint64_t>::max();
    bytes *= kLevelRatio;
  }
  return bytes;
}

std::optional<int> DueLevel(const Version& version, const Options& options) {
  double worst = 0;
  int worst_level = -1;
  for (int level = 0; level < kLevels; ++level) {
    const double score = DueScore(version, options, level);
    if (score > worst) {
      worst = score;
      worst_level = level;
    }
  }
  if (worst_level < 0) return std::nullopt;
  return worst_level;
}

std::optional<CompactionPlan> PickCompaction(const Version& version, const Options& options) {
  const std::optional<int> due = DueLevel(version, options);
  if (!due) return std::nullopt;
  const int level = *due;
  if (KeepsOneRun(version, options, level) && version.run_count(level) > 1)
    return PlanInPlace(version, level);
  switch (options.compaction_style) {
    case CompactionStyle::kLeveled:
      return PlanDown(version, level,
                      level == 0 ? PickFromLevel0(version) : PickLeastOverlap(version, level),
                      &options);
    case CompactionStyle::kTiered:
      return level + 1 < kLevels ? PlanNewRun(version, level, options)
                                 : PlanInPlace(version, level);
    case CompactionStyle::kLazyLeveled:
      if (KeepsOneRun(version, options, level)) return PlanMove(version, level);
      return level + 1 < version.deepest_level()
                 ? PlanNewRun(version, level, options)
                 : PlanDown(version, level, version.level(level), &options);
  }
  return std::nullopt;
}

std::optional<CompactionPlan> PlanRange(const Version& version, int level,
                                        std::optional<std::string_view> from,
                                        std::optional<std::string_view> to) {
  OpenTables in_range;
  for (const auto& table : version.level(level)) {
    if (from && UserKeyOf(table->meta.largest) < *from) continue;
    if (to && UserKeyOf(table->meta.smallest) >= *to) continue;
    in_range.push_back(table);
  }
  if (in_range.empty()) return std::nullopt;
  if (version.run_count(level) > 1) in_range = CloseOver(version, level, RangeOf(in_range));
  if (level == 0 || level != version.deepest_level())
    return PlanDown(version, level, std::move(in_range), nullptr);
  CompactionPlan plan;
  plan.level = level;
  plan.output_level = level;
  plan.output_run = in_range.back()->meta.run;
  if (RunsAmong(in_range).size() > 1) {
    plan.inputs = std::move(in_range);
    return plan;
  }
  for (const auto& table : in_range)
    (HoldsGarbage(*table) ? plan.inputs : plan.staying).push_back(table);
  if (plan.inputs.empty()) return std::nullopt;
  return plan;
}

}  // namespace lsm
