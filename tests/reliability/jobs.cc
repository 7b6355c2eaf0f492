#include "tests/reliability/jobs.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "tests/reliability/beyond/followers.h"
#include "tests/reliability/beyond/local_cache.h"
#include "tests/reliability/beyond/take_overs.h"
#include "tests/reliability/beyond/two_writers.h"
#include "tests/reliability/expiry/expiry_job.h"
#include "tests/reliability/faults/keyspaces_trials.h"
#include "tests/reliability/faults/range_repairs.h"
#include "tests/reliability/histories/histories.h"
#include "tests/reliability/jobs/crash.h"
#include "tests/reliability/jobs/damage.h"
#include "tests/reliability/jobs/faults.h"
#include "tests/reliability/jobs/kills.h"
#include "tests/reliability/jobs/large_store.h"
#include "tests/reliability/jobs/memory.h"
#include "tests/reliability/jobs/model.h"
#include "tests/reliability/jobs/power_cuts.h"
#include "tests/reliability/jobs/ranges.h"
#include "tests/reliability/jobs/repairs.h"
#include "tests/reliability/jobs/rotation.h"
#include "tests/reliability/jobs/scripts.h"
#include "tests/reliability/keyspaces/drops_job.h"
#include "tests/reliability/keyspaces/trees_job.h"
#ifdef TRELLIS_HAS_PEERS
#include "tests/reliability/jobs/differential.h"
#endif

namespace reliability {
namespace {

using lsm::Concat;
using lsm::ReadableCount;

// `text`, which only a job without findings may print, or nothing.
std::string IfSound(const std::string& finding, const std::string& text) {
  return finding.empty() ? text : "";
}

std::string Workloads(uint64_t count) {
  return Concat(ReadableCount(count), count == 1 ? " workload" : " workloads");
}

// Without RocksDB and LevelDB the job that needs them fails, so that their absence is noticed.
#ifdef TRELLIS_HAS_PEERS
constexpr bool kHasPeers = true;
#else
constexpr bool kHasPeers = false;
#endif

// The trials of a run have the seeds `seed` * kSeedStride + 0, 1, 2, …, so that no two runs share a
// trial.
constexpr uint64_t kSeedStride = 1'000'003;

// Half of the workloads delete ranges, with each of the other settings that change from workload
// to workload.
bool HasRanges(uint64_t workload) { return workload % 4 == 1 || workload % 4 == 2; }

// Half of the workloads have keyspaces, half of these with range deletes.
bool HasKeyspaces(uint64_t workload) { return workload / 2 % 2 == 1; }

JobResult RunCrashes(uint64_t seed, uint64_t amount) {
  JobResult result;
  uint64_t workloads = 0, moments = 0, doubles = 0;
  while (result.amount < amount && result.finding.empty()) {
    CrashOptions options;
    options.seed = seed * kSeedStride + workloads;
    options.logs_apart = workloads % 2 == 1;
    // These fill memtables, so that there are several logs at a time.
    if (workloads % 4 >= 2) options.shape.large_value_bytes = 30'000;
    options.shape.copies = workloads % 8 == 4 || workloads % 8 == 5;
    options.shape.ranges = HasRanges(workloads);
    options.shape.keyspaces = workloads % 8 >= 6;  // makes many images, so it is used late
    options.shape.wide = workloads % 8 == 6;       // likewise
    options.has_reserve = workloads % 8 >= 6;
    options.images_max = amount - result.amount;
    // With a small amount, tries few images of each workload rather than few workloads.
    options.limits.one_in = amount < 500'000 ? 200 : 8;
    const CrashReport report = CrashEverywhere(options);
    ++workloads;
    result.amount += report.distinct;
    doubles += report.doubles;
    moments += report.moments;
    result.finding = report.finding;
  }
  result.figures = Concat(ReadableCount(result.amount), " distinct crash images recovered, ",
                          ReadableCount(doubles), " of them of crashed recoveries, at ",
                          ReadableCount(moments), " moments of ", Workloads(workloads));
  return result;
}

// Runs as many workloads as it takes.  `fail(workload, runs_max)` runs one in which something
// fails.
template <typename Fail>
JobResult RunTrials(uint64_t amount, const char* with, const char* places, const Fail& fail) {
  TrialReport sum;
  uint64_t workloads = 0;
  while (sum.runs < amount && sum.finding.empty()) {
    const TrialReport report = fail(workloads++, amount - sum.runs);
    sum.places += report.places;
    sum.runs += report.runs;
    sum.resumed += report.resumed;
    sum.unknown += report.unknown;
    sum.bytes_ratio_max = std::max(sum.bytes_ratio_max, report.bytes_ratio_max);
    sum.finding = report.finding;
  }
  std::string figures = Concat(ReadableCount(sum.runs), " runs with ", with, ", of ",
                               ReadableCount(sum.places), " ", places, " of ", Workloads(workloads),
                               "; in ", ReadableCount(sum.resumed), " the store was resumed, in ",
                               ReadableCount(sum.unknown), " the outcome of a write was unknown");
  if (sum.bytes_ratio_max > 0) {
    figures += Concat("; besides resuming it, at most ", lsm::ReadableNumber(sum.bytes_ratio_max),
                      " times the bytes of a run without trouble were written");
  }
  return {sum.runs, figures, sum.finding};
}

// Every second workload has copies, every second has its logs in a directory of their own, and
// every fourth has large values.
FaultOptions FaultsIn(uint64_t workload, uint64_t seed) {
  FaultOptions options;
  options.seed = seed * kSeedStride + workload;
  if (workload % 4 == 3) options.shape.large_value_bytes = 30'000;
  options.shape.copies = workload % 2 == 1;
  options.shape.ranges = HasRanges(workload);
  options.shape.keyspaces = HasKeyspaces(workload);
  options.logs_apart = workload % 4 == 1 || workload % 4 == 2;
  return options;
}

JobResult RunFaults(uint64_t seed, uint64_t amount) {
  return RunTrials(amount, "a call that fails", "calls", [&](uint64_t workload, uint64_t runs_max) {
    FaultOptions options = FaultsIn(workload, seed);
    options.runs_max = std::min(runs_max, std::max<uint64_t>(amount / 3, 1));
    options.has_reserve = workload % 4 >= 2;
    return FailEverywhere(options);
  });
}

JobResult RunSpace(uint64_t seed, uint64_t amount) {
  return RunTrials(amount, "a disk that is full", "sizes of the disk",
                   [&](uint64_t workload, uint64_t runs_max) {
                     FaultOptions options = FaultsIn(workload, seed);
                     // With keyspaces, runs need too long to find that the reserve is too small.
                     options.shape.keyspaces = false;
                     options.runs_max = std::min(runs_max, amount / 4 + 1);
                     options.has_reserve = workload % 2 == 1;
                     // The first workload is short, so that a large amount tries every size of the
                     // disk.
                     if (workload == 0) {
                       options.shape.steps = 20;
                       if (amount >= 10'000) options.runs_max = runs_max;
                     }
                     return FillDisk(options);
                   });
}

// Rotations by a flush and by a compaction; one of the two has range deletes, and its logs in a
// directory of their own.
JobResult RunRotation(uint64_t seed, uint64_t amount) {
  RotationReport sum;
  for (const bool by_compaction : {false, true}) {
    if (!sum.finding.empty()) break;
    RotationOptions options;
    options.seed = seed * kSeedStride + by_compaction;
    options.logs_apart = (seed % 2 == 0) == by_compaction;
    options.by_compaction = by_compaction;
    options.has_ranges = options.logs_apart;
    options.runs_max = options.images_max = amount / 4 + 1;
    const RotationReport report = CheckRotation(options);
    sum.calls += report.calls;
    sum.cases += report.cases;
    sum.runs += report.runs;
    sum.resumed += report.resumed;
    sum.moments += report.moments;
    sum.images += report.images;
    sum.finding = report.finding;
  }
  return {
      sum.runs + sum.images,
      Concat(ReadableCount(sum.runs), " of ", ReadableCount(sum.cases), " ways in which one of ",
             ReadableCount(sum.calls), " calls of a rotation of the manifest fails; in ",
             ReadableCount(sum.resumed), " the store was resumed; ", ReadableCount(sum.images),
             " distinct crash images recovered, at ", ReadableCount(sum.moments), " moments"),
      sum.finding};
}

JobResult RunMemory(uint64_t seed, uint64_t amount) {
  constexpr uint64_t kWorkloads = 8;
  return RunTrials(amount, "an allocation that fails", "allocations",
                   [&](uint64_t workload, uint64_t runs_max) {
                     MemoryOptions options;
                     options.seed = seed * kSeedStride + workload;
                     options.shape.steps = 45;
                     if (workload % 4 >= 2) options.shape.large_value_bytes = 30'000;
                     options.shape.copies = workload % 4 == 1;
                     options.shape.ranges = HasRanges(workload);
                     options.shape.keyspaces = HasKeyspaces(workload);
                     options.runs = std::min(runs_max, amount / kWorkloads + 1);
                     return FailAllocations(options);
                   });
}

JobResult RunDamage(uint64_t seed, uint64_t amount) {
  JobResult result;
  uint64_t stores = 0, cuts = 0, sectors = 0, files = 0, errors = 0, filters = 0, torn = 0,
           verified = 0;
  // Flips every bit of one store, and one in a prime number of bits of one store of each other
  // form.  A small amount has three stores, all of the latter kind.
  const bool is_little = amount < 100'000;
  // The brief run with sanitizers must not try every cut, which would take most of its time.
  const uint64_t prime = amount < 10'000 ? 131 : 13;
  while ((result.amount < amount || stores < (is_little ? 3 : kStoreForms)) &&
         result.finding.empty()) {
    const uint64_t stride = is_little || stores >= 1 ? prime : 1;
    const DamageReport report = DamageEverything(seed * kSeedStride + stores, stride);
    ++stores;
    result.amount += report.flips;
    cuts += report.cuts;
    sectors += report.sectors;
    files += report.files;
    errors += report.not_opened + report.not_read;
    filters += report.filters;
    torn += report.torn;
    verified += report.verified;
    result.finding = report.finding;
  }
  result.figures = Concat(
      ReadableCount(result.amount), " bits flipped in ", ReadableCount(stores), " stores, ",
      ReadableCount(cuts), " files cut, ", ReadableCount(sectors), " sectors and ",
      ReadableCount(files), " files lost or swapped: ", ReadableCount(errors), " named errors, ",
      ReadableCount(filters), " damaged filters counted, ", ReadableCount(torn),
      " taken for torn writes",
      IfSound(result.finding, Concat(", 0 silent; DB::Verify named all ", ReadableCount(verified),
                                     " in tables that could be opened")));
  return result;
}

// Repairs stores of all forms.
JobResult RunRepairs(uint64_t seed, uint64_t amount) {
  // The approximate number of damages per store.
  constexpr uint64_t kDamages = 205'000;
  RepairsReport sum;
  const uint64_t one_in = std::max<uint64_t>(kDamages * kStoreForms / amount, 1);
  for (uint64_t store = 0; store < kStoreForms && sum.finding.empty(); ++store) {
    const RepairsReport report = RepairDamages(seed * kSeedStride + store, one_in);
    sum.repairs += report.repairs;
    sum.forged += report.forged;
    sum.refused += report.refused;
    sum.keyspaces += report.keyspaces;
    sum.whole += report.whole;
    sum.finding = report.finding;
  }
  return {
      sum.repairs,
      Concat(ReadableCount(sum.repairs), " damaged stores repaired, ", ReadableCount(sum.forged),
             " of them forged: ", ReadableCount(sum.whole), " hold all that they held before, ",
             ReadableCount(sum.keyspaces), " keyspaces beside \"default\" are in them, ",
             ReadableCount(sum.refused), " were refused and left as they were",
             IfSound(sum.finding, "; all others open, verify and hold what could be verified")),
      sum.finding};
}

JobResult RunScripts(uint64_t seed, uint64_t amount) {
  const ScriptReport report = CrashScripts((seed - 1) * amount, amount);
  return {report.scripts,
          Concat(ReadableCount(report.scripts), " of ", ReadableCount(kScripts),
                 " scripts of up to four operations: ", ReadableCount(report.images),
                 " distinct crash images recovered, ", ReadableCount(report.doubles),
                 " of them of crashed recoveries"),
          report.finding};
}

JobResult RunPairs(uint64_t seed, uint64_t amount) {
  JobResult result;
  uint64_t errors = 0, filters = 0, torn = 0;
  for (uint64_t store = 0; store < kStoreForms && result.finding.empty(); ++store) {
    const DamageReport report = FlipPairs(seed * kSeedStride + store, amount / kStoreForms + 1);
    result.amount += report.flips;
    errors += report.not_opened + report.not_read;
    filters += report.filters;
    torn += report.torn;
    result.finding = report.finding;
  }
  result.figures =
      Concat(ReadableCount(result.amount), " pairs of bits flipped: ", ReadableCount(errors),
             " named errors, ", ReadableCount(filters), " damaged filters counted, ",
             ReadableCount(torn), " taken for torn writes", IfSound(result.finding, ", 0 silent"));
  return result;
}

JobResult RunLarge(uint64_t seed, uint64_t amount) {
  const LargeStoreReport report = FlipInLargeStore(seed, amount);
  return {report.flips,
          Concat(ReadableCount(report.flips), " bits flipped in a store of ",
                 lsm::ReadableBytes(report.store_bytes), ", one in ", ReadableCount(report.rounds),
                 "; in ", ReadableCount(report.not_opened), " it did not open",
                 IfSound(report.finding, ", 0 silent")),
          report.finding};
}

JobResult RunPowerCuts(uint64_t seed, uint64_t amount) {
  const PowerCutReport report = CutPower(seed, amount);
  std::string figures = Concat(ReadableCount(report.cuts), " power cuts of ",
                               ReadableCount(report.workloads), " workloads on ext4, of which ",
                               ReadableCount(report.lossy), " took what was not synced");
  if (!report.left_out.empty()) figures += Concat("; no more, for ", report.left_out);
  return {report.cuts, figures, report.finding};
}

JobResult RunModel(uint64_t seed, uint64_t amount) {
  const ModelReport report = CheckAgainstMap(seed * kSeedStride, amount);
  return {report.operations,
          Concat(ReadableCount(report.operations), " operations as on a map, with ",
                 ReadableCount(report.configurations), " configurations; ",
                 ReadableCount(report.reopenings), " reopenings, ", ReadableCount(report.kills),
                 " kills, ", ReadableCount(report.crashes), " crashes (",
                 ReadableCount(report.lossy), " lost what was not synced), ",
                 ReadableCount(report.faults), " failing calls, ", ReadableCount(report.full_disks),
                 " full disks (", ReadableCount(report.refused), " puts refused), ",
                 ReadableCount(report.flushes), " flushes, ", ReadableCount(report.compactions),
                 " compactions, at most ", ReadableCount(report.compactions_at_once), " at once; ",
                 ReadableCount(report.denials_checked), " denials of filters checked"),
          report.finding};
}

struct RunLength {
  uint64_t amount;
  uint64_t long_run_min;  // runs from this amount on are long
  const char* unit;
};
RunLength LengthOf(const ModelReport& report) { return {report.operations, 300'000, "operations"}; }

// A long run must have seen each of these, or it says nothing about them.
std::string ProblemIfUnseen(const std::string& finding, const RunLength& run,
                            std::initializer_list<std::pair<uint64_t, const char*>> seen) {
  if (!finding.empty() || run.amount < run.long_run_min) return finding;
  for (const auto& [count, what] : seen) {
    if (count == 0) return Concat(run.amount, " ", run.unit, ", and ", what);
  }
  return "";
}

JobResult RunDeletes(uint64_t seed, uint64_t amount) {
  const ModelReport report = CheckDeletes(seed * kSeedStride, amount);
  return {
      report.operations,
      Concat(ReadableCount(report.operations),
             " operations as on a map, with windows of deleted keys: ", ReadableCount(report.moves),
             " moves of iterators, which walked over ", ReadableCount(report.dead_entries),
             " dead entries and jumped over ", ReadableCount(report.gap_jumps), " known gaps"),
      ProblemIfUnseen(report.finding, LengthOf(report),
                      {{report.gap_jumps, "no jump over a known gap"}})};
}

JobResult RunRangeDeletes(uint64_t seed, uint64_t amount) {
  const ModelReport report = CheckRangeDeletes(seed * kSeedStride, amount);
  return {report.operations,
          Concat(ReadableCount(report.operations), " operations as on a map, with ",
                 ReadableCount(report.ranges), " range deletes, ", ReadableCount(report.reads),
                 " lookups, of which range deletes ended ", ReadableCount(report.range_ends),
                 ", and ", ReadableCount(report.moves), " moves of iterators, with ",
                 ReadableCount(report.range_jumps), " jumps over ranges; ",
                 ReadableCount(report.flushes), " flushes, ", ReadableCount(report.compactions),
                 " compactions, ", ReadableCount(report.drops), " tables dropped unread, ",
                 ReadableCount(report.reopenings + report.kills + report.crashes), " openings"),
          ProblemIfUnseen(report.finding, LengthOf(report),
                          {{report.range_ends, "no lookup that a range delete ended"},
                           {report.range_jumps, "no jump over a range"},
                           {report.drops, "no table dropped unread"}})};
}

JobResult RunKeyspaces(uint64_t seed, uint64_t amount) {
  const KeyspacesReport report = CheckKeyspaces(seed * kSeedStride, amount);
  return {report.calls,
          Concat(ReadableCount(report.calls), " calls that changed a store, ",
                 ReadableCount(report.keyspaces), " of which made a keyspace, and ",
                 ReadableCount(report.options), " changed options; ",
                 ReadableCount(report.compared), " states compared with a model, after ",
                 ReadableCount(report.crashes), " crashes and ", ReadableCount(report.resumed),
                 " calls of Resume; memory ran out ", ReadableCount(report.out_of_memory),
                 " times; ", ReadableCount(report.repairs), " repairs"),
          ProblemIfUnseen(report.finding, {report.calls, 3'000, "calls"},
                          {{report.keyspaces, "no new keyspace"},
                           {report.options, "no change of options"},
                           {report.crashes, "no crash"},
                           {report.resumed, "no Resume"},
                           {report.repairs, "no repair"}})};
}

JobResult RunRanges(uint64_t seed, uint64_t amount) {
  const RangesReport report = CheckRanges(seed * kSeedStride, amount);
  return {report.writes,
          Concat(ReadableCount(report.writes), " writes in memtables and logs, ",
                 ReadableCount(report.ranges), " of them range deletes, ",
                 ReadableCount(report.of_other_keyspaces), " in other keyspaces, and ",
                 ReadableCount(report.failed), " groups that failed; memory ran out ",
                 ReadableCount(report.out_of_memory), " times; ", ReadableCount(report.lookups),
                 " answers as of a list of the writes; replays filled ",
                 ReadableCount(report.replayed), " memtables"),
          report.finding};
}

JobResult RunDrops(uint64_t seed, uint64_t amount) {
  const DropsReport report = CheckDrops(seed * kSeedStride, amount);
  return {report.operations,
          Concat(ReadableCount(report.operations), " operations as on a map for each keyspace: ",
                 ReadableCount(report.created), " were made and ", ReadableCount(report.dropped),
                 " dropped, ", ReadableCount(report.dropped_beside), " of them beside a job, ",
                 ReadableCount(report.left), " left the common tree; ",
                 ReadableCount(report.answers), " lookups, ", ReadableCount(report.moves),
                 " moves of iterators, ", ReadableCount(report.refusals),
                 " refusals after a drop, ", ReadableCount(report.copies), " copies of some, ",
                 ReadableCount(report.openings), " openings, ", ReadableCount(report.lossy),
                 " of them after a loss, ", ReadableCount(report.repairs), " after a repair"),
          report.finding};
}

JobResult RunTrees(uint64_t seed, uint64_t amount) {
  const TreesReport report = CheckTrees(seed * kSeedStride, amount);
  return {report.stores,
          Concat(ReadableCount(report.stores), " stores with two trees, of which one was asked in ",
                 "most of ", ReadableCount(report.lookups), " lookups; ",
                 ReadableCount(report.merges), " merges for readers"),
          report.finding};
}

JobResult RunExpiry(uint64_t seed, uint64_t amount) {
  const ExpiryReport report = CheckExpiry(seed * kSeedStride, amount);
  return {
      report.operations,
      Concat(ReadableCount(report.operations), " operations as on a model with a clock, which ",
             "was set back ", ReadableCount(report.set_back), " times; ",
             ReadableCount(report.limits), " changes of limits, ",
             ReadableCount(report.limits_beside), " of them beside a job; ",
             ReadableCount(report.answers), " lookups, ", ReadableCount(report.moves),
             " moves of iterators; ", ReadableCount(report.openings), " openings, ",
             ReadableCount(report.lossy), " of them after a loss, ", ReadableCount(report.repairs),
             " after a repair, and ", ReadableCount(report.resumed), " calls of Resume; ",
             ReadableCount(report.expired), " puts had expired before an opening, ",
             ReadableCount(report.seen_again), " of them were seen again; ",
             ReadableCount(report.drops), " tables dropped unread, ",
             ReadableCount(report.followed), " views of a follower"),
      ProblemIfUnseen(report.finding, {report.operations, 50'000, "operations"},
                      {{report.limits_beside, "no limit changed beside a job"},
                       {report.lossy, "no loss"},
                       {report.repairs, "no repair"},
                       {report.resumed, "no Resume"},
                       {report.seen_again, "no expired put was seen again"},
                       {report.drops, "no table dropped unread"},
                       {report.followed, "no view of a follower"}})};
}

JobResult RunRangeRepairs(uint64_t seed, uint64_t amount) {
  const RangeRepairsReport report = RepairRanges(seed * kSeedStride, amount);
  return {report.repairs,
          Concat(ReadableCount(report.repairs), " stores with ", ReadableCount(report.ranges),
                 " range deletes repaired, ", ReadableCount(report.lost),
                 " of which had lost some: ", ReadableCount(report.answers),
                 " answers as of a list of the writes"),
          report.finding};
}

JobResult RunDifferential([[maybe_unused]] uint64_t seed, [[maybe_unused]] uint64_t amount) {
#ifdef TRELLIS_HAS_PEERS
  const DifferentialReport report = CompareWithPeers(seed * kSeedStride, amount);
  return {report.operations,
          Concat(ReadableCount(report.operations),
                 " operations as on RocksDB and LevelDB: ", ReadableCount(report.answers),
                 " answers that were the same, over ", ReadableCount(report.reopenings),
                 " reopenings and ", ReadableCount(report.drops), " drops of keyspaces"),
          report.finding};
#else
  return {0, "not done", "nothing was compared: this was built without RocksDB and LevelDB"};
#endif
}

JobResult RunHistories(uint64_t seed, uint64_t amount) {
  HistoryReport report = CheckHistories(seed, amount);
  // Up to one history in 1000 may have too many orders to try.  More would make the result
  // meaningless.
  if (report.finding.empty() && report.undecided > report.histories / 1000)
    report.finding = Concat(report.undecided, " histories have too many orders to try");
  return {report.histories,
          Concat(ReadableCount(report.histories - report.undecided), " concurrent histories of ",
                 ReadableCount(report.operations), " calls, ", ReadableCount(report.overlapping),
                 " of them overlapping others, with ", ReadableCount(report.drops),
                 " drops of keyspaces, ", ReadableCount(report.refusals), " refusals after them, ",
                 ReadableCount(report.flushes), " flushes and ", ReadableCount(report.compactions),
                 " compactions meanwhile", IfSound(report.finding, ": all linearizable"), "; ",
                 ReadableCount(report.undecided), " undecided"),
          report.finding};
}

JobResult RunTakeOvers(uint64_t seed, uint64_t amount) {
  const TakeOverReport report = TakeOverAtRandom(seed * kSeedStride, amount);
  return {report.take_overs,
          Concat(ReadableCount(report.take_overs), " take-overs of a store in an object store; ",
                 ReadableCount(report.acknowledged), " acknowledged writes",
                 IfSound(report.finding, ", none of them lost"), "; ",
                 ReadableCount(report.refused), " writes of superseded writers refused"),
          report.finding};
}

JobResult RunTwoWriters(uint64_t seed, uint64_t amount) {
  const TwoWritersReport report = StopTwoWriters(seed * kSeedStride, amount);
  return {report.states,
          Concat(ReadableCount(report.states), " distinct states of an object store, of ",
                 ReadableCount(report.schedules), " schedules that stop two writers at ",
                 ReadableCount(report.pairs), " of ", ReadableCount(report.pairs_max),
                 " pairs of their operations; ", ReadableCount(report.take_overs), " take-overs; ",
                 ReadableCount(report.acknowledged), " acknowledged writes",
                 IfSound(report.finding, ", each found in every state that followed"), "; ",
                 ReadableCount(report.refused), " writes of superseded writers refused"),
          report.finding};
}

JobResult RunFollowers(uint64_t seed, uint64_t amount) {
  const FollowerReport report = FollowAtEachOperation(seed * kSeedStride, amount);
  return {report.interleavings,
          Concat(ReadableCount(report.interleavings), " interleavings of a follower and a writer; ",
                 ReadableCount(report.views), " views, ", ReadableCount(report.writes), " writes",
                 IfSound(report.finding, "; each view a prefix")),
          report.finding};
}

JobResult RunLocalCache(uint64_t seed, uint64_t amount) {
  const LocalCacheReport report = UseLocalCacheAtRandom(seed * kSeedStride, amount);
  return {report.reads,
          Concat(ReadableCount(report.reads), " reads of tables with a local cache",
                 IfSound(report.finding, ", all as without it"), ": ", ReadableCount(report.hits),
                 " pieces from the local disk, ", ReadableCount(report.bad_pieces),
                 " that were damaged, ", ReadableCount(report.evicted), " evicted, over ",
                 ReadableCount(report.restarts), " restarts"),
          report.finding};
}

JobResult RunKills(uint64_t seed, uint64_t amount) {
  const KillReport report = KillOverAndOver(seed, amount);
  return {report.kills,
          Concat(ReadableCount(report.kills), " processes killed with a store on a real disk, ",
                 ReadableCount(report.while_opening), " of them while opening it, ",
                 ReadableCount(report.while_closing), " while closing it; ",
                 ReadableCount(report.commits), " acknowledged commits",
                 IfSound(report.finding, ", none of them lost")),
          report.finding};
}

}  // namespace

const std::vector<Job>& AllJobs() {
  static const std::vector<Job>* const jobs = new std::vector<Job>{
      // The longest job comes first, so that it does not run alone at the end.
      {"writers", "states",
       "two writers of a store in an object store, each stopped at any of its operations",
       RunTwoWriters, 1'000'000, 200'000, 20'000},
      {"crash", "images", "crashes of the machine, at every change to files, with every loss",
       RunCrashes, 1'000'000, 500'000, 200'000},
      {"scripts", "scripts",
       "all sequences of one operation or two (in soaks four), crashed everywhere", RunScripts, 132,
       140, 0},
      {"faults", "runs", "file-system calls that fail, in every way", RunFaults, 10'000, 4'000,
       4'000},
      {"space", "runs", "disks that are full after N bytes", RunSpace, 10'000, 4'000, 1'000},
      {"rotation", "cases", "the manifest is replaced: calls that fail, and crashes", RunRotation,
       120, 600, 12},
      {"damage", "flips", "files of a store with bits flipped, cut, overwritten, swapped, lost",
       RunDamage, 100'000, 60'000, 15'000},
      {"repair", "repairs",
       "repairs of what `damage` does, and of stores that contradict themselves", RunRepairs,
       25'000, 20'000, 2'000},
      {"pairs", "pairs", "two bits flipped near each other", RunPairs, 50'000, 45'000, 0},
      {"large", "flips", "bits flipped in a store of 1 MiB; after many rounds, every one", RunLarge,
       0, 40'000, 0},
      {"model", "operations", "random operations on a store and on a map", RunModel, 3'000'000,
       9'000'000, 1'000'000},
      {"deletes", "operations", "as `model`, with windows of neighbouring keys that are deleted",
       RunDeletes, 1'000'000, 2'000'000, 400'000},
      {"rangedeletes", "operations", "as `model`, with range deletes", RunRangeDeletes, 1'500'000,
       2'000'000, 400'000},
      {"ranges", "writes", "range deletes in memtables and logs, and in a list of writes",
       RunRanges, 1'000'000, 1'000'000, 20'000},
      {"keyspaces", "calls",
       "keyspaces of a store and of a model: made, changed, reopened, crashed", RunKeyspaces,
       100'000, 100'000, 4'000},
      {"drops", "operations", "keyspaces that are made and dropped, and a map for each", RunDrops,
       200'000, 200'000, 500'000},
      {"trees", "stores", "trees that share the filters' memory, and whose readers pay for merges",
       RunTrees, 60, 60, 2},
      {"expiry", "operations", "entries that expire by a virtual clock, and a model of them",
       RunExpiry, 100'000, 100'000, 100'000},
      {"range-repairs", "repairs", "repairs of stores with range deletes, and a list of writes",
       RunRangeRepairs, 20'000, 10'000, 500},
      {"differential", "operations", "the same operations on Trellis, RocksDB and LevelDB",
       RunDifferential, 500'000, 500'000, kHasPeers ? 200'000 : 0},
      {"histories", "histories", "threads that call one store, and an order of their calls",
       RunHistories, 2'500, 3'000, 1'000},
      {"kills", "kills", "processes that end by SIGKILL, with files of a real file system",
       RunKills, 1'000, 250, 400},
      {"takeovers", "take-overs",
       "a store in an object store changes its writer while calls are delayed, lost or repeated",
       RunTakeOvers, 10'000, 10'000, 4'000},
      {"followers", "interleavings",
       "a follower and a writer, each stopped at each operation while the other one goes on",
       RunFollowers, 10'000, 20'000, 10'000},
      {"localcache", "reads",
       "a local cache whose disk flips bits, fails and crashes, while tables change", RunLocalCache,
       100'000, 100'000, 20'000},
      {"memory", "runs", "allocations that fail, once and for ever", RunMemory, 10'000, 2'000,
       10'000},
      {"power", "cuts",
       "power cuts between calls, with files of an ext4 that is copied while it is written to",
       RunPowerCuts, 0, 20, 0},
  };
  return *jobs;
}

const Job* FindJob(std::string_view name) {
  for (const Job& job : AllJobs()) {
    if (job.name == name) return &job;
  }
  return nullptr;
}

}  // namespace reliability
