#include "lsm/compaction/picker.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "lsm/base/key_span.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A table that overlaps more bytes two levels below than this many full tables is rewritten rather
// than moved.  The rewrite cuts it into pieces that are cheap to compact later.
constexpr uint64_t kMoveGrandparentTablesMax = 10;

// The hull of the span and those of the tables.
KeySpan Widened(KeySpan span, TableSpan tables) {
  for (const auto& table : tables) span = HullOf(span, table->meta.span());
  return span;
}

// The hull of the tables.  REQUIRES: there are tables.
KeySpan HullOf(TableSpan tables) { return Widened(tables.front()->meta.span(), tables); }

uint64_t BytesOf(const OpenTables& tables) {
  uint64_t bytes = 0;
  for (const auto& table : tables) bytes += table->meta.file_bytes;
  return bytes;
}

// All tables of the level that overlap the span, those that overlap one of these, and so on.
OpenTables CloseOver(const Tree& tree, int level, KeySpan span) {
  size_t known = 0;
  for (;;) {
    OpenTables tables = tree.Overlapping(level, span);
    if (tables.size() == known) return tables;
    known = tables.size();
    span = Widened(span, tables);
  }
}

KeySpan HullOf(const CompactionPlan& plan) { return Widened(HullOf(plan.inputs), plan.overlapped); }

double FreeableOf(const Tree& tree, const OpenTable& table) {
  return static_cast<double>(tree.DeadEntriesIn(table).freeable_bytes());
}

// Whether a rewrite would leave half of the table or less: nothing below its new level overlaps it,
// and the other half is dead.
bool IsHalfDeadAtBottom(const Tree& tree, int output_level, const OpenTable& table) {
  const uint64_t dead_bytes = tree.DeadEntriesIn(table).dead_bytes;
  return dead_bytes >= table.meta.file_bytes - table.meta.file_bytes / 2 &&
         !tree.HasOverlappingBelow(output_level, table.meta.span());
}

// A plan for the tree that takes no tables yet.
CompactionPlan PlanBetween(const Tree& tree, int level, int output_level) {
  CompactionPlan plan;
  plan.keyspace = tree.keyspace();
  plan.level = level;
  plan.output_level = output_level;
  return plan;
}

// Merges the inputs into the oldest run of the level below, with the tables that overlap them
// there.  The plan may be a trivial move if there are options.
CompactionPlan PlanDown(const Tree& tree, int level, OpenTables inputs, const Options* options) {
  CompactionPlan plan = PlanBetween(tree, level, level + 1);
  plan.inputs = std::move(inputs);
  const OpenTables& below = tree.level(plan.output_level);
  plan.output_run = (below.empty() ? plan.inputs : below).back()->meta.run;
  plan.overlapped = CloseOver(tree, plan.output_level, HullOf(plan.inputs));
  if (plan.output_level + 1 < kLevels && tree.run_count(plan.output_level + 1) == 1) {
    plan.grandparents = tree.Overlapping(plan.output_level + 1, HullOf(plan));
  }
  plan.trivial_move =
      options != nullptr && plan.inputs.size() == 1 && plan.overlapped.empty() &&
      plan.inputs.front()->meta.run == plan.output_run &&
      BytesOf(plan.grandparents) <= kMoveGrandparentTablesMax * options->table_bytes &&
      !IsHalfDeadAtBottom(tree, plan.output_level, *plan.inputs.front());
  return plan;
}

// Brings the whole level down, as a new run that is newer than those of the level below.
CompactionPlan PlanNewRun(const Tree& tree, int level, const Options& options) {
  const OpenTables& below = tree.level(level + 1);
  // Run numbers start again whenever the level below is empty, but a manifest may have any number.
  if (!below.empty() && below.front()->meta.run == std::numeric_limits<uint32_t>::max())
    return PlanDown(tree, level, tree.level(level), &options);
  CompactionPlan plan = PlanBetween(tree, level, level + 1);
  plan.inputs = tree.level(level);
  plan.output_run = below.empty() ? plan.inputs.back()->meta.run : below.front()->meta.run + 1;
  plan.trivial_move = plan.inputs.size() == 1 && below.empty() &&
                      !IsHalfDeadAtBottom(tree, plan.output_level, *plan.inputs.front());
  return plan;
}

// Merges all runs of the level into the oldest of them.
CompactionPlan PlanInPlace(const Tree& tree, int level) {
  CompactionPlan plan = PlanBetween(tree, level, level);
  plan.inputs = tree.level(level);
  plan.output_run = plan.inputs.back()->meta.run;
  return plan;
}

// Moves the one run of the deepest level down as it is.
CompactionPlan PlanMove(const Tree& tree, int level) {
  CompactionPlan plan = PlanInPlace(tree, level);
  plan.output_level = level + 1;
  plan.trivial_move = true;
  return plan;
}

bool Takes(const CompactionPlan& plan, const OpenTable& table) {
  const auto is_it = [&](const auto& taken) { return taken->meta.number == table.meta.number; };
  return std::any_of(plan.inputs.begin(), plan.inputs.end(), is_it) ||
         std::any_of(plan.overlapped.begin(), plan.overlapped.end(), is_it);
}

bool IsTaken(const OpenTable& table, RunningPlans running) {
  return std::any_of(running.begin(), running.end(),
                     [&](const auto& plan) { return Takes(*plan, table); });
}

bool ConflictBetween(const CompactionPlan& a, const CompactionPlan& b) {
  if (a.keyspace != b.keyspace) return false;
  const bool both_write = !a.drops && !b.drops;
  if (both_write && a.output_level == b.output_level && HullOf(a).Overlaps(HullOf(b))) return true;
  for (const auto* tables : {&a.inputs, &a.overlapped}) {
    for (const auto& table : *tables) {
      if (Takes(b, *table)) return true;
    }
  }
  return false;
}

// The plan, unless it conflicts.
std::optional<CompactionPlan> IfFree(CompactionPlan plan, RunningPlans running) {
  if (Conflicts(plan, running)) return std::nullopt;
  return plan;
}

std::optional<CompactionPlan> PickFromLevel0(const Tree& tree, const Options& options,
                                             RunningPlans running) {
  // Newest first, so the last is the oldest.
  const OpenTables& tables = tree.level(0);
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    if (IsTaken(**table, running)) continue;
    std::optional<CompactionPlan> plan =
        IfFree(PlanDown(tree, 0, CloseOver(tree, 0, (*table)->meta.span()), &options), running);
    if (plan) return plan;
  }
  return std::nullopt;
}

std::optional<CompactionPlan> PickLeastOverlap(const Tree& tree, const Options& options, int level,
                                               RunningPlans running) {
  struct Choice {
    double overlap;
    const std::shared_ptr<const OpenTable>* table;
  };
  std::vector<Choice> choices;
  const OpenTables& tables = tree.level(level);
  const bool has_entries = std::any_of(tables.begin(), tables.end(),
                                       [](const auto& table) { return table->meta.has_entries(); });
  for (const auto& table : tables) {
    if (IsTaken(*table, running)) continue;
    const OpenTables below = tree.Overlapping(level + 1, table->meta.span());
    // For the sake of a few KiB, a table without entries would rewrite what its ranges cover.
    if (has_entries && !table->meta.has_entries() && !below.empty()) continue;
    const double written = static_cast<double>(BytesOf(below)) - FreeableOf(tree, *table);
    choices.push_back(
        {std::max(0.0, written) / static_cast<double>(table->meta.file_bytes), &table});
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.overlap < b.overlap; });
  for (const Choice& choice : choices) {
    std::optional<CompactionPlan> plan =
        IfFree(PlanDown(tree, level, {*choice.table}, &options), running);
    if (plan) return plan;
  }
  return std::nullopt;
}

bool HoldsGarbage(const OpenTable& table) {
  const TableProperties& properties = table.table->properties();
  return properties.deletions > 0 || properties.distinct_keys < properties.entries ||
         !table.table->ranges().empty();
}

// Whether the style limits the level to one run.
bool KeepsOneRun(const Tree& tree, const Options& options, int level) {
  if (level == 0) return false;
  switch (options.compaction_style) {
    case CompactionStyle::kLeveled:
      return true;
    case CompactionStyle::kTiered:
      return false;
    case CompactionStyle::kLazyLeveled:
      return level == tree.deepest_level();
  }
  return false;
}

// The part of a level that no running plan brings down.
struct Remaining {
  size_t runs = 0;
  uint64_t bytes = 0;
};

Remaining RemainingOf(const Tree& tree, int level, RunningPlans running) {
  Remaining remaining{level == 0 ? tree.level0_tables() : tree.run_count(level),
                      tree.level_bytes(level)};
  const auto is_of_level = [&](const auto& plan) {
    return plan->keyspace == tree.keyspace() && plan->level == level;
  };
  const auto is_leaving = [&](const OpenTable& table) {
    return std::any_of(running.begin(), running.end(), [&](const auto& plan) {
      return is_of_level(plan) && (plan->output_level > level || plan->drops) &&
             Takes(*plan, table);
    });
  };
  if (std::none_of(running.begin(), running.end(), is_of_level)) return remaining;
  remaining = {};
  size_t level0_sixteenths = 0;
  const OpenTable* last = nullptr;  // of those that stay
  for (const auto& table : tree.level(level)) {
    if (is_leaving(*table)) continue;
    if (level == 0) level0_sixteenths += Tree::SixteenthsOf(*table);
    if (last == nullptr || last->meta.run != table->meta.run) ++remaining.runs;
    remaining.bytes += table->meta.file_bytes;
    last = table.get();
  }
  if (level == 0) remaining.runs = level0_sixteenths / 16;
  return remaining;
}

// By how much the level is over its limit; 0 if it is not.
double DueScore(const TreeToCompact& of, int level, RunningPlans running) {
  const Tree& tree = *of.tree;
  const Options& options = *of.options;
  const Remaining remaining = RemainingOf(tree, level, running);
  const auto runs = static_cast<double>(remaining.runs);
  if (!KeepsOneRun(tree, options, level)) {
    // Below level 0 the limit is at least 2: otherwise each run would go down alone, and the level
    // would stay empty.
    const double limit = std::max(level == 0 ? 1 : 2, options.level0_compaction_tables);
    return runs >= limit ? runs / limit : 0;
  }
  if (runs > 1) return runs;
  const bool may_go_down = level + 1 < kLevels;
  const double fullness =
      static_cast<double>(remaining.bytes) / static_cast<double>(LevelBytesMax(of, level));
  return may_go_down && fullness > 1 ? fullness : 0;
}

struct DueOne {
  const TreeToCompact* tree;
  int level;
  double score;
};

// The levels of all trees that are over their limits, the one furthest over first.
std::vector<DueOne> DueLevels(std::span<const TreeToCompact> trees, RunningPlans running) {
  std::vector<DueOne> due;
  for (const TreeToCompact& tree : trees) {
    for (int level = 0; level < kLevels; ++level) {
      const double score = DueScore(tree, level, running);
      if (score > 0) due.push_back({&tree, level, score});
    }
  }
  std::stable_sort(due.begin(), due.end(),
                   [](const DueOne& a, const DueOne& b) { return a.score > b.score; });
  return due;
}

std::optional<CompactionPlan> PickFrom(const Tree& tree, const Options& options, int level,
                                       RunningPlans running) {
  if (KeepsOneRun(tree, options, level) && tree.run_count(level) > 1)
    return IfFree(PlanInPlace(tree, level), running);
  switch (options.compaction_style) {
    case CompactionStyle::kLeveled:
      return level == 0 ? PickFromLevel0(tree, options, running)
                        : PickLeastOverlap(tree, options, level, running);
    case CompactionStyle::kTiered:
      return IfFree(
          level + 1 < kLevels ? PlanNewRun(tree, level, options) : PlanInPlace(tree, level),
          running);
    case CompactionStyle::kLazyLeveled:
      if (KeepsOneRun(tree, options, level)) return IfFree(PlanMove(tree, level), running);
      return IfFree(level + 1 < tree.deepest_level()
                        ? PlanNewRun(tree, level, options)
                        : PlanDown(tree, level, tree.level(level), &options),
                    running);
  }
  return std::nullopt;
}

// --- the rule for tombstones ---

bool IsAged(const DeadEntries& dead, uint64_t wall_seconds) {
  return dead.oldest_tombstone != 0 &&
         (dead.oldest_tombstone > wall_seconds ||
          wall_seconds - dead.oldest_tombstone >= kTombstoneSecondsMax);
}

// False if no plan can be due because of this table.  Each plan that is due by its bytes has an
// input for which this is true, since the plan takes all of its inputs.
bool IsWorthAPlan(const Tree& tree, const OpenTable& table, const PickMoment& moment) {
  const DeadEntries dead = tree.DeadEntriesIn(table);
  return 2 * static_cast<double>(dead.freeable_bytes()) >=
             static_cast<double>(table.meta.file_bytes) ||
         IsAged(dead, moment.wall_seconds) || table.rent->paid_bytes() > 0;
}

// --- tables that no reader needs ---

bool MayDrop(const NeedlessTable& needless, RunningPlans running, HasSnapshotIn has_snapshot,
             const KeySpan& span) {
  return span.Overlaps(needless.table->meta.span()) && !needless.IsHeld(has_snapshot) &&
         !IsTaken(*needless.table, running);
}

struct TombstonePlan {
  CompactionPlan plan;
  bool is_bottom = false;
};

// The rule's plan for a table of the level.  One that reaches the bottom is no trivial move.
TombstonePlan PlanForTombstones(const Tree& tree, const Options& options, int level,
                                const OpenTable& table) {
  OpenTables inputs = CloseOver(tree, level, table.meta.span());
  TombstonePlan made;
  CompactionPlan& plan = made.plan;
  if (level > 0 && !tree.HasOverlappingBelow(level, HullOf(inputs))) {
    plan = PlanBetween(tree, level, level);
    plan.output_run = inputs.back()->meta.run;
    plan.inputs = std::move(inputs);
  } else {
    plan = PlanDown(tree, level, std::move(inputs), &options);
  }
  made.is_bottom = !tree.HasOverlappingBelow(plan.output_level, HullOf(plan));
  plan.trivial_move = plan.trivial_move && !made.is_bottom;
  plan.for_tombstones = true;
  return made;
}

// The weight of dead entries in the rule: twice their bytes, if the plan does not write them.
double FreedBy(bool is_bottom, double freeable, double strays) {
  return freeable + (is_bottom ? freeable : strays);
}

struct Worth {
  bool is_due = false;      // unless it is held
  double ratio = 0;         // of the two sides of the rule
  double lack = 0;          // the difference, if it is not due
  Sequence held_until = 0;  // held while the oldest snapshot is older than this
};

Worth WorthOf(const Tree& tree, const TombstonePlan& made, const PickMoment& moment) {
  Worth worth;
  double freeable = 0, strays = 0, rent = 0;
  for (const auto& table : made.plan.inputs) {
    const DeadEntries dead = tree.DeadEntriesIn(*table);
    freeable += static_cast<double>(dead.freeable_bytes());
    strays += static_cast<double>(tree.BytesOfNoMember(*table));
    rent += static_cast<double>(table->rent->paid_bytes());
    worth.is_due = worth.is_due || IsAged(dead, moment.wall_seconds);
    // A snapshot between the entries and a range delete holds both.  (Table::sequences would say
    // kSequenceMax of a table that does not state its largest one.)
    if (made.is_bottom)
      worth.held_until = std::max({worth.held_until, table->table->properties().largest_sequence,
                                   table->table->ranges().largest_sequence()});
  }
  const double gained = FreedBy(made.is_bottom, freeable, strays) + rent;
  const auto taken = static_cast<double>(BytesTakenBy(made.plan));
  const double price = taken + static_cast<double>(kBytesMergedPerJob);
  worth.ratio = gained / price;
  worth.lack = price - gained;
  worth.is_due = worth.is_due || PaysForItself(gained, taken);
  // No snapshot needs entries of no member.
  if (PaysForItself(2 * strays, taken)) worth.held_until = 0;
  return worth;
}

}  // namespace

OpenTables TablesTakenBy(const CompactionPlan& plan) {
  OpenTables tables = plan.inputs;
  tables.insert(tables.end(), plan.overlapped.begin(), plan.overlapped.end());
  return tables;
}

OpenTables TablesRemovedBy(const CompactionPlan& plan) {
  return plan.to ? plan.overlapped : TablesTakenBy(plan);
}

uint64_t BytesTakenBy(const CompactionPlan& plan) {
  uint64_t bytes = BytesOf(plan.overlapped);
  for (const auto& table : plan.inputs) {
    const uint64_t begin = plan.from ? table->table->ApproximateOffsetOf(*plan.from) : 0;
    const uint64_t end =
        plan.to ? table->table->ApproximateOffsetOf(*plan.to) : table->meta.file_bytes;
    bytes += end - std::min(begin, end);
  }
  return bytes;
}

uint64_t LevelBytesMax(const TreeToCompact& tree, int level) {
  const Options& options = *tree.options;
  uint64_t bytes = options.level1_bytes;
  const OpenTables& level0 = tree.tree->level(0);
  if (tree.has_others && options.compaction_style == CompactionStyle::kLeveled && !level0.empty()) {
    uint64_t largest = 0;
    for (const auto& table : level0) largest = std::max(largest, table->meta.file_bytes);
    const uint64_t gathered = largest * static_cast<uint64_t>(options.level0_compaction_tables);
    bytes = std::min(bytes, std::max(gathered, kLevel1BytesMin));
  }
  for (int i = 1; i < level; ++i) {
    if (bytes > std::numeric_limits<uint64_t>::max() / kLevelRatio)
      return std::numeric_limits<uint64_t>::max();
    bytes *= kLevelRatio;
  }
  return bytes;
}

bool Conflicts(const CompactionPlan& plan, RunningPlans running) {
  return std::any_of(running.begin(), running.end(),
                     [&](const auto& other) { return ConflictBetween(plan, *other); });
}

std::optional<int> DueLevel(const TreeToCompact& tree, RunningPlans running) {
  std::optional<int> worst;
  double worst_score = 0;
  for (int level = 0; level < kLevels; ++level) {
    const double score = DueScore(tree, level, running);
    if (score <= worst_score) continue;
    worst = level;
    worst_score = score;
  }
  return worst;
}

uint64_t BytesPaidBy(const Level0Reads& reads) {
  return reads.asks * kBytesMergedPerAsk + reads.reads * kBytesMergedPerRead +
         reads.seeks * kBytesMergedPerSeek;
}

std::optional<uint64_t> PriceForReaders(const Tree& tree, const Options& options) {
  if (!KeepsOneRun(tree, options, 1)) return std::nullopt;
  // Merging a single run would not leave fewer runs.
  if (tree.run_count(0) == 0 || tree.run_count(0) + tree.run_count(1) < 2) return std::nullopt;
  return kBytesMergedPerJob + tree.level_bytes(0) + tree.level_bytes(1);
}

bool TakeFromLevel0(const Tree& tree, RunningPlans running) {
  return std::any_of(running.begin(), running.end(),
                     [&](const auto& plan) { return plan->merges_level0(tree.keyspace()); });
}

bool IsPaidByReaders(const Tree& tree, const Options& options, RunningPlans running,
                     uint64_t paid_bytes) {
  const std::optional<uint64_t> price = PriceForReaders(tree, options);
  return price && paid_bytes >= *price && !TakeFromLevel0(tree, running);
}

uint64_t PriceOf(const CompactionPlan& plan) {
  return kBytesMergedPerJob + (plan.trivial_move ? 0 : BytesTakenBy(plan));
}

AgedTables AgedTablesOf(const Tree& tree, uint64_t wall_seconds) {
  const std::span<const uint64_t> times = tree.tombstone_times();
  const auto count_up_to = [&](uint64_t seconds) {
    return static_cast<size_t>(std::upper_bound(times.begin(), times.end(), seconds) -
                               times.begin());
  };
  AgedTables aged;
  if (wall_seconds >= kTombstoneSecondsMax)
    aged.old = count_up_to(wall_seconds - kTombstoneSecondsMax);
  aged.future = times.size() - count_up_to(wall_seconds);
  return aged;
}

bool IsWorthAFlush(const Tree& tree, const TableToBe& table, Sequence oldest_snapshot) {
  const OpenTables inputs = CloseOver(tree, 0, table.span);
  const OpenTables overlapped = CloseOver(tree, 1, Widened(table.span, inputs));
  const KeySpan hull = Widened(Widened(table.span, inputs), overlapped);
  const bool is_bottom = !tree.HasOverlappingBelow(1, hull);
  if (is_bottom && oldest_snapshot < table.largest_sequence) return false;
  double freeable = table.freeable_bytes, strays = 0;
  for (const auto& input : inputs) {
    freeable += FreeableOf(tree, *input);
    strays += static_cast<double>(tree.BytesOfNoMember(*input));
  }
  const uint64_t taken = table.bytes + BytesOf(inputs) + BytesOf(overlapped);
  return PaysForItself(FreedBy(is_bottom, freeable, strays), static_cast<double>(taken));
}

namespace {

struct TombstoneChoice {
  CompactionChoice choice;
  double ratio = -1;  // of the plan, if there is one
};

// The rule's choice in one tree: in the deepest level that has a plan, the one with the best ratio.
TombstoneChoice PickForTombstonesIn(const Tree& tree, const Options& options, RunningPlans running,
                                    const PickMoment& moment) {
  TombstoneChoice picked;
  CompactionChoice& choice = picked.choice;
  std::set<const OpenTable*> tried;  // as inputs of the plan for another table
  choice.is_rule_idle = true;
  for (int level = kLevels - 1; level >= 0 && !choice.plan; --level) {
    for (const auto& table : tree.level(level)) {
      if (!IsWorthAPlan(tree, *table, moment) || IsTaken(*table, running)) continue;
      if (!tried.insert(table.get()).second) continue;
      TombstonePlan made = PlanForTombstones(tree, options, level, *table);
      for (const auto& input : made.plan.inputs) tried.insert(input.get());
      const Worth worth = WorthOf(tree, made, moment);
      if (!worth.is_due) {
        for (const auto& input : made.plan.inputs) {
          if (input->rent->paid_bytes() > 0)
            choice.lacking.push_back({input, static_cast<uint64_t>(worth.lack)});
        }
        continue;
      }
      choice.is_rule_idle = false;
      if (worth.held_until > moment.oldest_snapshot) {
        choice.held_until = std::min(choice.held_until, worth.held_until);
      } else if (worth.ratio > picked.ratio && !Conflicts(made.plan, running)) {
        picked.ratio = worth.ratio;
        choice.plan = std::move(made.plan);
      }
    }
  }
  return picked;
}

}  // namespace

CompactionChoice PickForTombstones(std::span<const TreeToCompact> trees, RunningPlans running,
                                   const PickMoment& moment) {
  CompactionChoice choice;
  if (std::any_of(running.begin(), running.end(),
                  [](const auto& plan) { return plan->for_tombstones; }))
    return choice;
  choice.is_rule_idle = true;
  double best = -1;
  for (const TreeToCompact& each : trees) {
    TombstoneChoice here = PickForTombstonesIn(*each.tree, *each.options, running, moment);
    choice.held_until = std::min(choice.held_until, here.choice.held_until);
    choice.is_rule_idle = choice.is_rule_idle && here.choice.is_rule_idle;
    std::move(here.choice.lacking.begin(), here.choice.lacking.end(),
              std::back_inserter(choice.lacking));
    if (here.ratio <= best) continue;
    best = here.ratio;
    choice.plan = std::move(here.choice.plan);
  }
  return choice;
}

bool HasDrop(const Tree& tree, RunningPlans running, HasSnapshotIn has_snapshot,
             const KeySpan& span) {
  return std::any_of(tree.needless().begin(), tree.needless().end(),
                     [&](const NeedlessTable& needless) {
                       return MayDrop(needless, running, has_snapshot, span);
                     });
}

std::optional<CompactionPlan> PickDrop(const Tree& tree, RunningPlans running,
                                       const SnapshotList& snapshots, const KeySpan& span) {
  const auto has_snapshot = [&](Sequence from, Sequence to) {
    return HasSnapshotBetween(snapshots, from, to);
  };
  CompactionPlan plan = PlanBetween(tree, 0, 0);
  for (const NeedlessTable& needless : tree.needless()) {
    if (needless.level < plan.level || !MayDrop(needless, running, has_snapshot, span)) continue;
    if (needless.level > plan.level) plan.inputs.clear();
    plan.level = needless.level;
    plan.inputs.push_back(needless.table);
  }
  if (plan.inputs.empty()) return std::nullopt;
  plan.output_level = plan.level;
  plan.output_run = plan.inputs.back()->meta.run;
  plan.drops = true;
  return plan;
}

std::optional<CompactionPlan> PickExpired(const Tree& tree, RunningPlans running,
                                          const SnapshotList& snapshots) {
  if (snapshots.expiry == nullptr) return std::nullopt;
  ExpiryByKeyspace expiry(&snapshots);
  for (int level = tree.deepest_level(); level >= 0; --level) {
    CompactionPlan plan = PlanBetween(tree, level, level);
    plan.inputs = tree.Expired(level, expiry,
                               [&](const OpenTable& table) { return IsTaken(table, running); });
    if (plan.inputs.empty()) continue;
    plan.output_run = plan.inputs.back()->meta.run;
    plan.drops = true;
    return plan;
  }
  return std::nullopt;
}

std::optional<CompactionPlan> PickHalfExpired(const Tree& tree, RunningPlans running,
                                              const SnapshotList& snapshots) {
  if (snapshots.expiry == nullptr) return std::nullopt;
  ExpiryByKeyspace expiry(&snapshots);
  const auto picked =
      tree.PickHalfExpired(expiry, [&](const OpenTable& table) { return IsTaken(table, running); });
  if (!picked) return std::nullopt;
  CompactionPlan plan;
  if (picked->level == 0) {
    plan = PlanDown(tree, 0, CloseOver(tree, 0, picked->table->meta.span()), nullptr);
  } else {
    plan = PlanBetween(tree, picked->level, picked->level);
    plan.inputs = {picked->table};
    plan.output_run = picked->table->meta.run;
  }
  plan.for_tombstones = true;
  return IfFree(std::move(plan), running);
}

CompactionChoice PickCompaction(std::span<const TreeToCompact> trees, RunningPlans running,
                                const PickMoment& moment) {
  using Turn = PickMoment::Turn;
  CompactionChoice choice;
  for (const TreeToCompact& each : trees) {
    choice.plan = PickDrop(*each.tree, running, moment.snapshots);
    if (!choice.plan) choice.plan = PickExpired(*each.tree, running, moment.snapshots);
    if (choice.plan) return choice;
  }
  if (moment.tombstones == Turn::kFirst) choice = PickForTombstones(trees, running, moment);
  if (choice.plan) return choice;
  const std::vector<DueOne> due_levels = DueLevels(trees, running);
  for (const auto& [tree, level, score] : due_levels) {
    choice.plan = PickFrom(*tree->tree, *tree->options, level, running);
    if (choice.plan) return choice;
  }
  if (moment.snapshots.expiry != nullptr && moment.tombstones != Turn::kNever) {
    for (const TreeToCompact& each : trees) {
      choice.plan = PickHalfExpired(*each.tree, running, moment.snapshots);
      if (choice.plan) return choice;
    }
  }
  if (moment.tombstones == Turn::kAfterLevels) choice = PickForTombstones(trees, running, moment);
  // Due work that conflicts with running plans must not wait for readers' merges as well.
  if (choice.plan || !due_levels.empty()) return choice;
  for (const TreeToCompact& each : trees) {
    if (!IsPaidByReaders(*each.tree, *each.options, running, each.paid_bytes)) continue;
    choice.plan = PickFrom(*each.tree, *each.options, 0, running);
    if (!choice.plan) continue;
    choice.plan->for_readers = true;
    return choice;
  }
  return choice;
}

CompactionChoice PickCompaction(const Tree& tree, const Options& options, RunningPlans running,
                                const PickMoment& moment, uint64_t paid_bytes) {
  const TreeToCompact one{&tree, &options, /*has_others=*/false, paid_bytes};
  return PickCompaction({&one, 1}, running, moment);
}

std::optional<CompactionPlan> PlanRange(const Tree& tree, int level,
                                        std::optional<std::string_view> from,
                                        std::optional<std::string_view> to) {
  OpenTables in_range = tree.Overlapping(level, SpanOf(from, to));
  if (in_range.empty()) return std::nullopt;
  if (tree.run_count(level) > 1) in_range = CloseOver(tree, level, HullOf(in_range));
  if (level == 0 || level != tree.deepest_level())
    return PlanDown(tree, level, std::move(in_range), nullptr);
  CompactionPlan plan = PlanBetween(tree, level, level);
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
