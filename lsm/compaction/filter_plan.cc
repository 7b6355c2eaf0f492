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

// The runs of a tree after a job, divided into parts of one hotness each.  `parts` are those that
// the job writes to, `steps` their hotness.
struct RunsAfter : RunsOfTree {
  std::vector<FilterOutput::Part> parts;
  std::vector<int> steps;
};

using Tables = std::set<const OpenTable*>;

class RunsAfterJob {
 public:
  // `choice`: the kinds of the tree's filters.
  RunsAfterJob(const Options& options, const FilterChoice& choice, const StoreReads& reads,
               const OpenTables& leaving, const PlannedOutput& output,
               const KeysByStep& keys_written)
      : level1_bytes_(static_cast<double>(options.level1_bytes)),
        kinds_(FilterKinds::Of(choice)),
        reads_(reads),
        output_(output),
        keys_written_(keys_written),
        tables_written_(
            output.level == 0 ? 1 : std::max<uint64_t>(1, output.bytes / options.table_bytes)) {
    for (const auto& table : leaving) gone_.insert(table.get());
  }

  // `counters`: as for StoreReads.
  RunsAfter Of(const Tree& tree, const Counters* counters) && {
    after_.lookups = static_cast<double>(tree.LookupsSoFar(counters));
    for (int level = 0; level < kLevels; ++level) {
      const std::vector<TableSpan>& runs = tree.runs(level);
      const auto is_joined = [&](TableSpan run) {
        return level > 0 && level == output_.level && run.front()->meta.run == output_.run;
      };
      // A run that the output begins is the newest of its level.
      if (!keys_written_.empty() && level == output_.level &&
          std::none_of(runs.begin(), runs.end(), is_joined))
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
      after_.staying_bytes += static_cast<double>(table->table->filter_bytes());
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
    run.kinds = kinds_;
    if (is_joined && keys_written_.contains(step)) {
      after_.parts.push_back(
          {after_.runs.size(), static_cast<uint64_t>(std::llround(part.keys_written))});
      after_.steps.push_back(step);
    }
    if (keys_of_run > 0) after_.staying_reads += hotness * part.reads_by_keys / keys_of_run;
    after_.runs.push_back(run);
  }

  const double level1_bytes_;
  const FilterKinds kinds_;
  const StoreReads& reads_;
  const PlannedOutput& output_;
  const KeysByStep& keys_written_;
  const uint64_t tables_written_;
  Tables gone_;
  RunsAfter after_;
};

// The runs of all trees after a job, and the job's outputs in the order of its trees.
struct StoreAfter {
  std::vector<FilterRun> runs;
  FilterOutput output;
};

StoreAfter WithTreesBeside(std::span<const RunsAfter> of_job,
                           const std::vector<RunsOfTree>& beside) {
  std::vector<RunsOfTree> trees(of_job.begin(), of_job.end());
  trees.insert(trees.end(), beside.begin(), beside.end());
  WeighTrees(trees);
  StoreAfter after;
  FilterOutput& output = after.output;
  for (size_t i = 0; i < trees.size(); ++i) {
    const RunsOfTree& tree = trees[i];
    if (i < of_job.size()) {
      for (const FilterOutput::Part& part : of_job[i].parts)
        output.parts.push_back({after.runs.size() + part.run, part.keys});
      output.staying_bytes += tree.staying_bytes;
      output.staying_reads += tree.staying_reads;
    } else {
      output.trees_beside.push_back(
          {static_cast<uint32_t>(i), tree.staying_bytes, tree.staying_reads});
    }
    after.runs.insert(after.runs.end(), tree.runs.begin(), tree.runs.end());
  }
  return after;
}

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
  // The store's allocator serves all trees: each run names its kinds of filters.
  TRELLIS_ASSIGN_OR_RETURN(context.filter_choice, FilterChoice::Of(context.options->filter_kind));
  return context;
}

RunsOfTree RunsNow(const JobContext& context, const Tree& tree) {
  const Counters* const counters = context.table_context.counters;
  const StoreReads reads(tree, counters);
  return RunsAfterJob(*context.options, context.filter_choice, reads, {}, {}, {})
      .Of(tree, counters);
}

absl::StatusOr<std::vector<RunsOfTree>> TreesBeside(const JobContext& store, const OwnOptions& own,
                                                    const Version& version,
                                                    std::span<const KeyspaceId> keyspaces) {
  std::vector<RunsOfTree> beside;
  if (store.filter_allocator == nullptr) return beside;
  for (const auto& [id, tree] : version.trees()) {
    if (std::find(keyspaces.begin(), keyspaces.end(), id) != keyspaces.end()) continue;
    TRELLIS_ASSIGN_OR_RETURN(const JobContext of_tree, ContextOfTree(store, own, id, 0));
    beside.push_back(RunsNow(of_tree, *tree));
  }
  return beside;
}

void SetTree(const Tree& tree, JobContext* context) {
  const Counters* const counters = context->table_context.counters;
  if (tree.keyspace() == kDefaultKeyspace) {
    context->lookups_so_far = [counters] {
      return counters == nullptr ? 0 : counters->LookupsOfDefaultTree();
    };
  } else {
    context->lookups_so_far = [reads = tree.ShareReads()] {
      return reads->counters.SumOf(TreeCounters::kLookups);
    };
  }
}

TableFilter UsualFilter(const JobContext& context, int level) {
  TableFilter filter{context.filter_choice.ForLevel(level), context.options->target_fpp, ""};
  if (context.filter_allocator != nullptr)
    filter.reason = ExplanationOf(FilterReason::kTarget, context.filter_allocator->goal());
  return filter;
}

namespace {

// The KindsAndTargets functions do not choose partitions.
absl::StatusOr<std::vector<TableFilter>> KindsAndTargets(
    std::span<const FlushOutput> outputs, const std::vector<RunsOfTree>& trees_beside) {
  std::vector<TableFilter> filters;
  if (outputs.empty()) return filters;
  if (outputs.front().context->filter_allocator == nullptr) {
    for (const FlushOutput& output : outputs) filters.push_back(UsualFilter(*output.context, 0));
    return filters;
  }
  std::vector<RunsAfter> trees;
  for (const FlushOutput& output : outputs) {
    const JobContext& context = *output.context;
    const Counters* const counters = context.table_context.counters;
    const StoreReads reads(*output.tree, counters);
    const PlannedOutput planned{.keys = output.keys};
    const KeysByStep keys_written = {{0, static_cast<double>(output.keys)}};
    trees.push_back(
        RunsAfterJob(*context.options, context.filter_choice, reads, {}, planned, keys_written)
            .Of(*output.tree, counters));
  }
  const FilterAllocator& allocator = *outputs.front().context->filter_allocator;
  const StoreAfter after = WithTreesBeside(trees, trees_beside);
  const FilterAllocation allocation = allocator.ForOutput(after.runs, after.output);
  // Each output is one part.
  for (const FilterOutput::Part& part : after.output.parts) {
    TRELLIS_ASSIGN_OR_RETURN(filters.emplace_back(),
                             FilterOf(allocation.shares[part.run], 0, allocator.goal()));
  }
  return filters;
}

// The runs of the tree after the plan.
RunsAfter RunsAfterPlan(const JobContext& context, const Tree& tree, const CompactionPlan& plan,
                        const OpenTables& leaving, const StoreReads& reads,
                        const InputReads& input_reads) {
  const PlannedOutput output = OutputOf(plan);
  const KeysByStep keys_written = KeysWritten(reads, input_reads);
  return RunsAfterJob(*context.options, context.filter_choice, reads, leaving, output, keys_written)
      .Of(tree, context.table_context.counters);
}

absl::StatusOr<OutputFilters> KindsAndTargets(const JobContext& context, const Tree& tree,
                                              const CompactionPlan& plan) {
  if (context.filter_allocator == nullptr)
    return OutputFilters(UsualFilter(context, plan.output_level));
  const FilterAllocator& allocator = *context.filter_allocator;
  const OpenTables inputs = TablesTakenBy(plan);
  const StoreReads reads(tree, context.table_context.counters);
  InputReads input_reads(reads, inputs);
  const RunsAfter of_tree = RunsAfterPlan(context, tree, plan, inputs, reads, input_reads);
  const StoreAfter after = WithTreesBeside({&of_tree, 1}, context.trees_beside);
  const FilterAllocation allocation = allocator.ForOutput(after.runs, after.output);
  std::vector<OutputFilters::Choice> choices;
  for (size_t i = 0; i < after.output.parts.size(); ++i) {
    const int step = of_tree.steps[i];
    TRELLIS_ASSIGN_OR_RETURN(
        TableFilter filter,
        FilterOf(allocation.shares[after.output.parts[i].run], step, allocator.goal()));
    choices.push_back({step, std::move(filter)});
  }
  return OutputFilters(std::move(choices), std::move(input_reads), reads.scale(),
                       context.options->table_bytes);
}

}  // namespace

absl::StatusOr<std::vector<TableFilter>> PlanFlush(std::span<const FlushOutput> outputs,
                                                   const std::vector<RunsOfTree>& trees_beside) {
  TRELLIS_ASSIGN_OR_RETURN(std::vector<TableFilter> filters,
                           KindsAndTargets(outputs, trees_beside));
  for (size_t i = 0; i < outputs.size(); ++i) {
    filters[i].partition_bytes = PlanPartitions(*outputs[i].context, *outputs[i].tree, {},
                                                filters[i], outputs[i].keys, 0, 1);
  }
  return filters;
}

absl::StatusOr<TableFilter> PlanFlush(const JobContext& context, const Tree& tree, uint64_t keys) {
  const FlushOutput output{&context, &tree, keys};
  TRELLIS_ASSIGN_OR_RETURN(std::vector<TableFilter> filters,
                           PlanFlush({&output, 1}, context.trees_beside));
  return std::move(filters.front());
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
  const RunsAfter of_tree =
      RunsAfterPlan(context, tree, plan, plan.inputs, reads, InputReads(reads, plan.inputs));
  const StoreAfter after = WithTreesBeside({&of_tree, 1}, context.trees_beside);
  double filter_bytes = 0;
  for (const auto& table : plan.inputs)
    filter_bytes += static_cast<double>(table->table->filter_bytes());
  uint64_t keys = 0;
  for (const FilterRun& run : after.runs) keys += run.keys;
  const double budget = context.filter_allocator->BudgetBytes(keys);
  double staying_bytes = after.output.staying_bytes;
  for (const FilterOutput::TreeBeside& beside : after.output.trees_beside)
    staying_bytes += beside.bytes;
  if (staying_bytes + filter_bytes <= kStoreExcess * budget) return false;
  const FilterAllocation allocation = context.filter_allocator->Allocate(after.runs);
  double share = 0;
  for (const FilterOutput::Part& part : after.output.parts) {
    share += allocation.shares[part.run].bytes * static_cast<double>(part.keys) /
             static_cast<double>(std::max<uint64_t>(1, after.runs[part.run].keys));
  }
  return filter_bytes > kTableExcess * share;
}

}  // namespace lsm
