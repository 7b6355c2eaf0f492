#include "lsm/compaction/filter_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/compaction/partition_plan.h"
#include "lsm/compaction/store_reads.h"
#include "lsm/filters/hotness.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A move becomes a rewrite if the store exceeds its budget by more than 2 %, and the filters of the
// moved tables exceed their share by more than 10 %.  Other jobs make up for smaller excesses.
constexpr double kStoreExcess = 1.02;
constexpr double kTableExcess = 1.1;

// From this step on, upwards or downwards, a table's filter_reason names the hotness of its keys.
constexpr int kHotStep = 2;  // a factor of 2

// An estimate of the output of a job.
struct PlannedOutput {
  int level = 0;
  uint32_t run = 0;  // that the output becomes or joins; in level 0 each table is a run
  uint64_t keys = 0;
  uint64_t bytes = 0;  // of tables
};
// The keys of an output, by their hotness.
using KeysByStep = std::map<int, double>;

// The runs of a store after a job, divided into parts of one hotness each, and what the allocator
// needs to know about the job.
struct RunsAfter {
  std::vector<FilterRun> runs;
  FilterOutput output;
  std::vector<int> output_steps;  // hotness of the output's parts
};

using Tables = std::set<const OpenTable*>;

class RunsAfterJob {
 public:
  RunsAfterJob(const Options& options, const StoreReads& reads, const OpenTables& leaving,
               const PlannedOutput& output, const KeysByStep& keys_written)
      : level1_bytes_(static_cast<double>(options.level1_bytes)),
        reads_(reads),
        output_(output),
        keys_written_(keys_written),
        tables_written_(
            output.level == 0 ? 1 : std::max<uint64_t>(1, output.bytes / options.table_bytes)) {
    for (const auto& table : leaving) gone_.insert(table.get());
  }

  RunsAfter Of(const Tree& tree) && {
    for (int level = 0; level < kLevels; ++level) {
      const std::vector<TableSpan>& runs = tree.runs(level);
      const auto is_joined = [&](TableSpan run) {
        return level > 0 && level == output_.level && run.front()->meta.run == output_.run;
      };
      // A run that the output begins is the newest of its level.
      if (level == output_.level && std::none_of(runs.begin(), runs.end(), is_joined))
        AddRun({}, true);
      for (const TableSpan run : runs) AddRun(run, is_joined(run));
    }
    return std::move(after_);
  }

 private:
  struct Part {
    double keys = 0;  // of the tables that stay
    uint64_t tables = 0;
    double reads_by_keys = 0;  // of the tables that stay: the sum of FPP times keys
    double keys_written = 0;
  };

  // Adds the tables of a run that stay, and the outputs that join them, if any.
  void AddRun(TableSpan tables, bool is_joined) {
    std::map<int, Part> parts;
    double bytes = 0, keys = 0;
    for (const auto& table : tables) {
      // Without keys a table needs no filter.
      if (gone_.contains(table.get()) || !table->meta.has_entries()) continue;
      Part& part = parts[reads_.StepOf(*table)];
      const auto keys_of_table = static_cast<double>(KeysOf(*table));
      part.keys += keys_of_table;
      part.tables += 1;
      part.reads_by_keys += FppOf(*table) * keys_of_table;
      keys += keys_of_table;
      bytes += static_cast<double>(table->meta.file_bytes);
      after_.output.staying_bytes += static_cast<double>(table->table->filter_bytes());
    }
    if (is_joined) {
      for (const auto& [step, keys_written] : keys_written_) {
        parts[step].keys_written = keys_written;
        parts[step].tables += std::max<uint64_t>(
            1, static_cast<uint64_t>(static_cast<double>(tables_written_) * keys_written /
                                     std::max(1.0, static_cast<double>(output_.keys))));
        keys += keys_written;
      }
      bytes += static_cast<double>(output_.bytes);
    }
    if (parts.empty()) return;
    bool continues = false;
    for (const auto& [step, part] : parts) {
      AddPart(step, part, keys, bytes, continues, is_joined);
      continues = true;
    }
  }

  void AddPart(int step, const Part& part, double keys_of_run, double bytes_of_run, bool continues,
               bool is_joined) {
    const double hotness = HotnessOfStep(step);
    const double keys = part.keys + part.keys_written;
    FilterRun run;
    run.keys = static_cast<uint64_t>(std::llround(keys));
    run.tables = part.tables;
    run.lifetime = bytes_of_run / level1_bytes_;
    run.continues = continues;
    run.weight = run.keys == 0 ? 0 : hotness * keys / keys_of_run;
    if (is_joined && keys_written_.contains(step)) {
      after_.output.parts.push_back(
          {after_.runs.size(), static_cast<uint64_t>(std::llround(part.keys_written))});
      after_.output_steps.push_back(step);
    }
    if (keys_of_run > 0) after_.output.staying_reads += hotness * part.reads_by_keys / keys_of_run;
    after_.runs.push_back(run);
  }

  const double level1_bytes_;
  const StoreReads& reads_;
  const PlannedOutput& output_;
  const KeysByStep& keys_written_;
  const uint64_t tables_written_;
  Tables gone_;
  RunsAfter after_;
};

PlannedOutput OutputOf(const CompactionPlan& plan) {
  PlannedOutput output{.level = plan.output_level, .run = plan.output_run};
  for (const auto& table : TablesTakenBy(plan)) output.keys += KeysOf(*table);
  output.bytes = BytesTakenBy(plan);
  return output;
}

KeysByStep KeysWritten(const StoreReads& reads, const InputReads& inputs) {
  KeysByStep keys;
  for (const InputReads::Range& range : inputs.Ranges())
    keys[reads.StepOf(range.reads)] += range.keys;
  return keys;
}

FilterReason WithHotness(FilterReason reason, int step) {
  switch (reason) {
    case FilterReason::kShare:
    case FilterReason::kLess:
    case FilterReason::kMore:
      if (step >= kHotStep) return FilterReason::kHot;
      if (step <= -kHotStep) return FilterReason::kCold;
      return reason;
    default:
      return reason;
  }
}

absl::StatusOr<TableFilter> FilterOf(const FilterShare& share, int step, const FilterGoal& goal) {
  TableFilter filter;
  filter.reason = ExplanationOf(WithHotness(share.reason, step), goal);
  if (share.kind.empty()) return filter;
  filter.target_fpp = share.target_fpp;
  TRELLIS_ASSIGN_OR_RETURN(filter.policy, bloom::PolicyFromName(share.kind));
  return filter;
}

}  // namespace

absl::Status ChooseFilters(const Options& options, JobContext* context) {
  TRELLIS_ASSIGN_OR_RETURN(context->filter_choice, FilterChoice::Of(options.filter_kind));
  if (options.filter_goal.is_none()) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(context->filter_allocator,
                           FilterAllocator::Of(options.filter_kind, options.filter_goal));
  return absl::OkStatus();
}

absl::StatusOr<JobContext> ContextOfTree(const JobContext& store, const OwnOptions& own,
                                         KeyspaceId keyspace, uint64_t filter_index_bytes_beside) {
  JobContext context = store;
  context.filter_index_bytes_beside = filter_index_bytes_beside;
  const auto found = own.find(keyspace);
  if (found == own.end()) return context;
  context.options = found->second.get();
  // Otherwise the store's allocator serves the tree, with the curves that it has computed.
  if (context.options->filter_kind != store.options->filter_kind)
    TRELLIS_RETURN_IF_ERROR(ChooseFilters(*context.options, &context));
  return context;
}

TableFilter UsualFilter(const JobContext& context, int level) {
  TableFilter filter{context.filter_choice.ForLevel(level), context.options->target_fpp, ""};
  if (context.filter_allocator != nullptr)
    filter.reason = ExplanationOf(FilterReason::kTarget, context.filter_allocator->goal());
  return filter;
}

namespace {

// KindAndTarget (for a flush) and KindsAndTargets (for a compaction) leave partitions out.
absl::StatusOr<TableFilter> KindAndTarget(const JobContext& context, const Tree& tree,
                                          uint64_t keys) {
  if (context.filter_allocator == nullptr) return UsualFilter(context, 0);
  const FilterAllocator& allocator = *context.filter_allocator;
  const StoreReads reads(tree, context.table_context.counters);
  const PlannedOutput output{.keys = keys};
  const KeysByStep keys_written = {{0, static_cast<double>(keys)}};
  const RunsAfter after = RunsAfterJob(*context.options, reads, {}, output, keys_written).Of(tree);
  const FilterAllocation allocation = allocator.ForOutput(after.runs, after.output);
  return FilterOf(allocation.shares[after.output.parts[0].run], 0, allocator.goal());
}

absl::StatusOr<OutputFilters> KindsAndTargets(const JobContext& context, const Tree& tree,
                                              const CompactionPlan& plan) {
  if (context.filter_allocator == nullptr)
    return OutputFilters(UsualFilter(context, plan.output_level));
  const FilterAllocator& allocator = *context.filter_allocator;
  const OpenTables inputs = TablesTakenBy(plan);
  const StoreReads reads(tree, context.table_context.counters);
  InputReads input_reads(reads, inputs);
  const PlannedOutput output = OutputOf(plan);
  const KeysByStep keys_written = KeysWritten(reads, input_reads);
  const RunsAfter after =
      RunsAfterJob(*context.options, reads, inputs, output, keys_written).Of(tree);
  const FilterAllocation allocation = allocator.ForOutput(after.runs, after.output);
  std::vector<OutputFilters::Choice> choices;
  for (size_t i = 0; i < after.output.parts.size(); ++i) {
    const int step = after.output_steps[i];
    TRELLIS_ASSIGN_OR_RETURN(
        TableFilter filter,
        FilterOf(allocation.shares[after.output.parts[i].run], step, allocator.goal()));
    choices.push_back({step, std::move(filter)});
  }
  return OutputFilters(std::move(choices), std::move(input_reads), reads.scale(),
                       context.options->table_bytes);
}

}  // namespace

absl::StatusOr<TableFilter> PlanFlush(const JobContext& context, const Tree& tree, uint64_t keys) {
  TRELLIS_ASSIGN_OR_RETURN(TableFilter filter, KindAndTarget(context, tree, keys));
  filter.partition_bytes = PlanPartitions(context, tree, {}, filter, keys, 0, 1);
  return filter;
}

absl::StatusOr<OutputFilters> PlanFilters(const JobContext& context, const Tree& tree,
                                          const CompactionPlan& plan) {
  TRELLIS_ASSIGN_OR_RETURN(OutputFilters filters, KindsAndTargets(context, tree, plan));
  const PlannedOutput output = OutputOf(plan);
  filters.set_partition_bytes(PlanPartitions(context, tree, TablesTakenBy(plan), filters.For(""),
                                             output.keys, output.bytes,
                                             output.bytes / context.options->table_bytes));
  return filters;
}

bool MoveKeepsTooMuch(const JobContext& context, const Tree& tree, const CompactionPlan& plan) {
  if (context.filter_allocator == nullptr) return false;
  const StoreReads reads(tree, context.table_context.counters);
  const PlannedOutput output = OutputOf(plan);
  const KeysByStep keys_written = KeysWritten(reads, InputReads(reads, plan.inputs));
  const RunsAfter after =
      RunsAfterJob(*context.options, reads, plan.inputs, output, keys_written).Of(tree);
  double filter_bytes = 0;
  for (const auto& table : plan.inputs)
    filter_bytes += static_cast<double>(table->table->filter_bytes());
  uint64_t keys = 0;
  for (const FilterRun& run : after.runs) keys += run.keys;
  const double budget = context.filter_allocator->BudgetBytes(keys);
  if (after.output.staying_bytes + filter_bytes <= kStoreExcess * budget) return false;
  const FilterAllocation allocation = context.filter_allocator->Allocate(after.runs);
  double share = 0;
  for (const FilterOutput::Part& part : after.output.parts) {
    share += allocation.shares[part.run].bytes * static_cast<double>(part.keys) /
             static_cast<double>(std::max<uint64_t>(1, after.runs[part.run].keys));
  }
  return filter_bytes > kTableExcess * share;
}

}  // namespace lsm
