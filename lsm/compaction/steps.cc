#include "lsm/compaction/steps.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "lsm/base/key_span.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

using TableRef = std::shared_ptr<const OpenTable>;

// A table that a plan takes, and its level.
struct Taken {
  TableRef table;
  int level = 0;
};

bool IsInOutputRun(const CompactionPlan& plan, const Taken& taken) {
  return taken.level == plan.output_level && taken.table->meta.run == plan.output_run;
}

// The order of two sources, or of two tables of the output run.
bool Precedes(const Taken& a, const Taken& b) {
  if (a.level != b.level) return a.level > b.level;
  if (a.level == 0) return a.table->meta.number < b.table->meta.number;
  if (a.table->meta.run != b.table->meta.run) return a.table->meta.run < b.table->meta.run;
  return a.table->meta.span().begin < b.table->meta.span().begin;
}

// The tables in the order in which steps take them.
struct InOrder {
  std::vector<Taken> sources, targets;
};

InOrder Order(const CompactionPlan& plan) {
  InOrder order;
  const auto add = [&](const OpenTables& tables, int level) {
    for (const auto& table : tables) {
      const Taken taken{table, level};
      (IsInOutputRun(plan, taken) ? order.targets : order.sources).push_back(taken);
    }
  };
  add(plan.overlapped, plan.output_level);
  add(plan.inputs, plan.level);
  std::sort(order.sources.begin(), order.sources.end(), Precedes);
  std::sort(order.targets.begin(), order.targets.end(), Precedes);
  return order;
}

// The part of the source that begins at `from`.
KeySpan RestOf(const TableRef& source, const std::optional<std::string>& from) {
  KeySpan rest = source->meta.span();
  if (from) rest.begin = *from;
  return rest;
}

// Sets the grandparents of the step, and the size of its outputs.
void AddSurroundings(const Tree& tree, uint64_t table_bytes, CompactionPlan* step) {
  const int below = step->output_level + 1;
  if (below < kLevels && tree.run_count(below) == 1) {
    KeySpan span = RestOf(step->inputs[0], step->from);
    if (step->to) span.end = *step->to;
    for (const auto& table : step->overlapped) span = HullOf(span, table->meta.span());
    step->grandparents = tree.Overlapping(below, span);
  }
  const uint64_t bytes = BytesTakenBy(*step);
  const uint64_t largest_table = std::max<uint64_t>(1, table_bytes + table_bytes / 4);
  const uint64_t tables = std::max<uint64_t>(1, (bytes + largest_table - 1) / largest_table);
  // A little more than an equal part.  Otherwise a small last table would hold the remainder.
  step->table_bytes = std::clamp<uint64_t>(bytes / tables * 17 / 16, 1, largest_table);
}

}  // namespace

PlanLeft AllOf(const CompactionPlan& plan) {
  PlanLeft left{plan, std::nullopt};
  // The plan does not take these tables, so they may be removed before a step would use them.
  left.plan.grandparents.clear();
  left.plan.staying.clear();
  left.plan.trivial_move = false;
  return left;
}

std::optional<CompactionPlan> NextStep(const Tree& tree, const PlanLeft& left,
                                       uint64_t table_bytes) {
  const InOrder order = Order(left.plan);
  CompactionPlan step;
  step.keyspace = left.plan.keyspace;
  step.output_level = left.plan.output_level;
  step.output_run = left.plan.output_run;
  step.for_readers = left.plan.for_readers;
  step.for_tombstones = left.plan.for_tombstones;
  if (!order.sources.empty()) {
    const Taken& source = order.sources.front();
    step.level = source.level;
    step.inputs = {source.table};
    step.from = left.from;
    const KeySpan rest = RestOf(source.table, left.from);
    for (const Taken& target : order.targets) {
      if (!rest.Overlaps(target.table->meta.span())) continue;
      if (step.overlapped.empty()) {
        step.overlapped = {target.table};
      } else {
        // It ends, since the next one begins after it.
        step.to = step.overlapped[0]->meta.span().end->ToString();
        break;
      }
    }
  } else if (left.plan.level == left.plan.output_level && !left.plan.inputs.empty()) {
    step.level = left.plan.level;
    step.inputs = {left.plan.inputs.front()};
  } else {
    return std::nullopt;
  }
  AddSurroundings(tree, table_bytes, &step);
  return step;
}

PlanLeft LeftAfter(const PlanLeft& left, const CompactionPlan& step, const OpenTables& outputs) {
  PlanLeft after = left;
  const auto remove = [&](const OpenTables& gone) {
    for (OpenTables* tables : {&after.plan.inputs, &after.plan.overlapped}) {
      std::erase_if(*tables, [&](const TableRef& table) {
        return std::find(gone.begin(), gone.end(), table) != gone.end();
      });
    }
  };
  remove(step.overlapped);
  if (!step.to) remove(step.inputs);
  after.plan.overlapped.insert(after.plan.overlapped.end(), outputs.begin(), outputs.end());
  after.from = step.to;
  return after;
}

}  // namespace lsm
