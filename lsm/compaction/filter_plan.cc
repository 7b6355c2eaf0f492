#include "lsm/compaction/filter_plan.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"

namespace lsm {
namespace {

// By so much a store may be beyond its goal, and a table's filter larger than its share, before a
// move becomes a rewrite: what is within them, other jobs make up for.
constexpr double kStoreExcess = 1.02;
constexpr double kTableExcess = 1.1;

// The runs of a store once a job is done, and what the allocator must know of the job.
struct RunsAfter {
  std::vector<FilterRun> runs;
  FilterOutput output;
};

// A file of another release may lack the property.
uint64_t KeysOf(const OpenTable& table) {
  const uint64_t keys = table.table->properties().distinct_keys;
  return keys != 0 ? keys : table.meta.entries;
}

double FppOf(const OpenTable& table) {
  const bool is_usable = table.table->filter_presence() == FilterPresence::kUsable;
  return is_usable ? table.table->properties().expected_fpp : 1;
}

using Tables = std::set<const OpenTable*>;

// In the order in which a lookup asks them.
std::vector<TableSpan> RunsOf(const Version& version, int level) {
  if (level > 0) return RunsAmong(version.level(level));
  std::vector<TableSpan> runs;
  for (const auto& table : version.level(0)) runs.push_back(TableSpan(&table, 1));
  return runs;
}

// What stays of a run's tables, and what joins them there, if anything does.
void AddRun(TableSpan tables, const Tables& gone, const FilterRun* joining, double level1_bytes,
            RunsAfter* after) {
  FilterRun run = joining != nullptr ? *joining : FilterRun{0, 0, 0};
  double reads_by_keys = 0;  // of the tables that stay: FPPs, weighed by keys
  for (const auto& table : tables) {
    if (gone.contains(table.get())) continue;
    const uint64_t keys = KeysOf(*table);
    run.keys += keys;
    run.tables += 1;
    run.lifetime += static_cast<double>(table->meta.file_bytes) / level1_bytes;
    reads_by_keys += FppOf(*table) * static_cast<double>(keys);
    after->output.staying_bytes += static_cast<double>(table->table->filter_memory_bytes());
  }
  if (run.tables == 0) return;
  if (joining != nullptr) after->output.run = after->runs.size();
  if (run.keys > 0) after->output.staying_reads += reads_by_keys / static_cast<double>(run.keys);
  after->runs.push_back(run);
}

RunsAfter RunsAfterJob(const Options& options, const Version& version, const OpenTables& leaving,
                       const PlannedOutput& output) {
  Tables gone;
  for (const auto& table : leaving) gone.insert(table.get());
  const auto level1_bytes = static_cast<double>(options.level1_bytes);
  const auto tables_of_output =
      output.level == 0 ? 1 : std::max<uint64_t>(1, output.bytes / options.table_bytes);
  const FilterRun output_run{output.keys, tables_of_output,
                             static_cast<double>(output.bytes) / level1_bytes};
  RunsAfter after;
  after.output.keys = output.keys;
  for (int level = 0; level < kLevels; ++level) {
    const std::vector<TableSpan> runs = RunsOf(version, level);
    const auto is_joined = [&](TableSpan run) {
      return level > 0 && level == output.level && run.front()->meta.run == output.run;
    };
    // A run that is begun is the newest of its level.
    if (level == output.level && std::none_of(runs.begin(), runs.end(), is_joined))
      AddRun({}, gone, &output_run, level1_bytes, &after);
    for (const TableSpan run : runs)
      AddRun(run, gone, is_joined(run) ? &output_run : nullptr, level1_bytes, &after);
  }
  return after;
}

PlannedOutput OutputOf(const CompactionPlan& plan) {
  PlannedOutput output{.level = plan.output_level, .run = plan.output_run};
  for (const auto* tables : {&plan.inputs, &plan.overlapped}) {
    for (const auto& table : *tables) {
      output.keys += KeysOf(*table);
      output.bytes += table->meta.file_bytes;
    }
  }
  return output;
}

}  // namespace

absl::Status ChooseFilters(const Options& options, JobContext* context) {
  LSM_ASSIGN_OR_RETURN(context->filter_choice, FilterChoice::Of(options.filter_kind));
  if (options.filter_goal.is_none()) return absl::OkStatus();
  LSM_ASSIGN_OR_RETURN(context->filter_allocator,
                       FilterAllocator::Of(options.filter_kind, options.filter_goal));
  return absl::OkStatus();
}

TableFilter UsualFilter(const JobContext& context, int level) {
  TableFilter filter{context.filter_choice.ForLevel(level), context.options->target_fpp, ""};
  if (context.filter_allocator != nullptr)
    filter.reason = ExplanationOf(FilterReason::kTarget, context.filter_allocator->goal());
  return filter;
}

absl::StatusOr<TableFilter> PlanFilter(const JobContext& context, const Version& version,
                                       const OpenTables& leaving, const PlannedOutput& output) {
  if (context.filter_allocator == nullptr) return UsualFilter(context, output.level);
  const RunsAfter after = RunsAfterJob(*context.options, version, leaving, output);
  const FilterShare share = context.filter_allocator->ForOutput(after.runs, after.output);
  TableFilter filter;
  filter.reason = ExplanationOf(share.reason, context.filter_allocator->goal());
  if (share.kind.empty()) return filter;
  filter.target_fpp = share.target_fpp;
  LSM_ASSIGN_OR_RETURN(filter.policy, bloom::PolicyFromName(share.kind));
  return filter;
}

absl::StatusOr<TableFilter> PlanFilter(const JobContext& context, const Version& version,
                                       const CompactionPlan& plan) {
  OpenTables leaving = plan.inputs;
  leaving.insert(leaving.end(), plan.overlapped.begin(), plan.overlapped.end());
  return PlanFilter(context, version, leaving, OutputOf(plan));
}

bool MoveKeepsTooMuch(const JobContext& context, const Version& version,
                      const CompactionPlan& plan) {
  if (context.filter_allocator == nullptr) return false;
  const RunsAfter after = RunsAfterJob(*context.options, version, plan.inputs, OutputOf(plan));
  double filter_bytes = 0;
  for (const auto& table : plan.inputs)
    filter_bytes += static_cast<double>(table->table->filter_memory_bytes());
  uint64_t keys = 0;
  for (const FilterRun& run : after.runs) keys += run.keys;
  const double budget = context.filter_allocator->BudgetBytes(keys);
  if (after.output.staying_bytes + filter_bytes <= kStoreExcess * budget) return false;
  const FilterShare share = context.filter_allocator->Allocate(after.runs).shares[after.output.run];
  const double part = static_cast<double>(after.output.keys) /
                      static_cast<double>(after.runs[after.output.run].keys);
  return filter_bytes > kTableExcess * part * share.bytes;
}

}  // namespace lsm
