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

UserRange RangeOf(const OpenTables& tables) {
  UserRange range;
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::string_view smallest = UserKeyOf(tables[i]->meta.smallest);
    const std::string_view largest = UserKeyOf(tables[i]->meta.largest);
    if (i == 0 || smallest < range.smallest) range.smallest = std::string(smallest);
    if (i == 0 || largest > range.largest) range.largest = std::string(largest);
  }
  return range;
}

uint64_t BytesOf(const OpenTables& tables) {
  uint64_t bytes = 0;
  for (const auto& table : tables) bytes += table->meta.file_bytes;
  return bytes;
}

// All tables of level 0 that overlap the inputs, or what they overlap, and so on.
OpenTables CloseOverLevel0(const Version& version, OpenTables inputs) {
  for (;;) {
    const UserRange range = RangeOf(inputs);
    OpenTables wider = version.Overlapping(0, range.smallest, range.largest);
    if (wider.size() == inputs.size()) return wider;
    inputs = std::move(wider);
  }
}

CompactionPlan PlanFor(const Version& version, int level, OpenTables inputs,
                       const Options* options) {
  CompactionPlan plan;
  plan.level = level;
  plan.output_level = level + 1;
  plan.inputs = std::move(inputs);
  UserRange range = RangeOf(plan.inputs);
  plan.overlapped = version.Overlapping(plan.output_level, range.smallest, range.largest);
  OpenTables all = plan.inputs;
  all.insert(all.end(), plan.overlapped.begin(), plan.overlapped.end());
  range = RangeOf(all);
  if (plan.output_level + 1 < kLevels) {
    plan.grandparents = version.Overlapping(plan.output_level + 1, range.smallest, range.largest);
  }
  plan.trivial_move =
      options != nullptr && plan.inputs.size() == 1 && plan.overlapped.empty() &&
      BytesOf(plan.grandparents) <= kMoveGrandparentTablesMax * options->table_bytes;
  return plan;
}

OpenTables PickFromLevel0(const Version& version) {
  return CloseOverLevel0(version,
                         {version.level(0).back()});  // newest first, so the last is the oldest
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
  for (int level = 0; level < kLevels - 1; ++level) {
    const double score =
        level == 0 ? static_cast<double>(version.level(0).size()) / options.level0_compaction_tables
                   : static_cast<double>(version.level_bytes(level)) /
                         static_cast<double>(LevelBytesMax(options, level));
    // Level 0 is due at its limit, the others beyond it.
    const bool due = level == 0 ? score >= 1 : score > 1;
    if (due && score > worst) {
      worst = score;
      worst_level = level;
    }
  }
  if (worst_level < 0) return std::nullopt;
  return worst_level;
}

std::optional<CompactionPlan> PickCompaction(const Version& version, const Options& options) {
  const std::optional<int> level = DueLevel(version, options);
  if (!level) return std::nullopt;
  return PlanFor(version, *level,
                 *level == 0 ? PickFromLevel0(version) : PickLeastOverlap(version, *level),
                 &options);
}

std::optional<CompactionPlan> PlanRange(const Version& version, int level,
                                        std::optional<std::string_view> from,
                                        std::optional<std::string_view> to) {
  const bool rewrite = level > 0 && level == version.deepest_level();
  OpenTables inputs, staying;
  for (const auto& table : version.level(level)) {
    if (from && UserKeyOf(table->meta.largest) < *from) continue;
    if (to && UserKeyOf(table->meta.smallest) >= *to) continue;
    (rewrite && !HoldsGarbage(*table) ? staying : inputs).push_back(table);
  }
  if (inputs.empty()) return std::nullopt;
  if (level == 0) inputs = CloseOverLevel0(version, std::move(inputs));
  if (!rewrite) return PlanFor(version, level, std::move(inputs), nullptr);
  CompactionPlan plan;
  plan.level = level;
  plan.output_level = level;
  plan.inputs = std::move(inputs);
  plan.staying = std::move(staying);
  return plan;
}

}  // namespace lsm
