#include "tests/reliability/jobs.h"

#include <algorithm>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "tests/reliability/crash.h"
#include "tests/reliability/damage.h"
#include "tests/reliability/faults.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::ReadableCount;

// Seeds of one job must not be those that the next run of it begins with.
constexpr uint64_t kSeedStride = 1'000'003;

JobResult RunCrashes(uint64_t seed, uint64_t amount) {
  JobResult result;
  uint64_t workloads = 0, moments = 0, doubles = 0;
  while (result.amount < amount && result.finding.empty()) {
    CrashOptions options;
    options.seed = seed * kSeedStride + workloads;
    options.logs_apart = workloads % 2 == 1;
    // These fill memtables, so that there are several logs at a time.
    if (workloads % 4 >= 2) options.shape.large_value_bytes = 30'000;
    options.images_max = amount - result.amount;
    // With little to do, many workloads are looked at superficially.
    options.limits.one_in = amount < 500'000 ? 200 : 8;
    const CrashReport report = CrashEverywhere(options);
    ++workloads;
    result.amount += report.distinct;
    doubles += report.doubles;
    moments += report.moments;
    result.finding = report.finding;
  }
  result.figures =
      Concat(ReadableCount(result.amount), " distinct crash images recovered, ",
             ReadableCount(doubles), " of them of crashed recoveries, at ", ReadableCount(moments),
             " moments of ", ReadableCount(workloads), " workloads");
  return result;
}

JobResult RunFaults(uint64_t seed, uint64_t amount) {
  JobResult result;
  uint64_t workloads = 0, calls = 0, resumed = 0, unknown = 0;
  while (result.amount < amount && result.finding.empty()) {
    FaultOptions options;
    options.seed = seed * kSeedStride + workloads;
    if (workloads % 4 == 3) options.shape.large_value_bytes = 30'000;
    options.runs_max = std::min(amount - result.amount, std::max<uint64_t>(amount / 3, 1));
    const FaultReport report = FailEverywhere(options);
    ++workloads;
    result.amount += report.runs;
    calls += report.calls;
    resumed += report.resumed;
    unknown += report.unknown;
    result.finding = report.finding;
  }
  result.figures = Concat(ReadableCount(result.amount), " runs with a call that fails, of ",
                          ReadableCount(calls), " calls of ", ReadableCount(workloads),
                          " workloads; in ", ReadableCount(resumed), " the store was resumed, in ",
                          ReadableCount(unknown), " the outcome of a write was unknown");
  return result;
}

JobResult RunDamage(uint64_t seed, uint64_t amount) {
  JobResult result;
  uint64_t stores = 0, cuts = 0, sectors = 0, files = 0, errors = 0, filters = 0, torn = 0;
  // Closed and killed ones in turn.  With little to do, a part of each store's bits: a prime's.
  const uint64_t stride = amount < 100'000 ? 13 : 1;
  while ((result.amount < amount || stores < 2) && result.finding.empty()) {
    const DamageReport report = DamageEverything(seed * kSeedStride + stores, stride);
    ++stores;
    result.amount += report.flips;
    cuts += report.cuts;
    sectors += report.sectors;
    files += report.files;
    errors += report.not_opened + report.not_read;
    filters += report.filters;
    torn += report.torn;
    result.finding = report.finding;
  }
  result.figures =
      Concat(ReadableCount(result.amount), " bits flipped in ", ReadableCount(stores), " stores, ",
             ReadableCount(cuts), " files cut, ", ReadableCount(sectors), " sectors and ",
             ReadableCount(files), " files lost or swapped: ", ReadableCount(errors),
             " named errors, ", ReadableCount(filters), " damaged filters counted, ",
             ReadableCount(torn), " taken for torn writes, 0 silent");
  return result;
}

}  // namespace

const std::vector<Job>& AllJobs() {
  static const std::vector<Job>* const jobs = new std::vector<Job>{
      {"crash", "images", "crashes of the machine, at every change to files, with every loss",
       RunCrashes, 1'000'000, 60'000},
      {"faults", "runs", "file-system calls that fail, in every way", RunFaults, 15'000, 4'000},
      {"damage", "flips", "files of a store with bits flipped, cut, overwritten, swapped, lost",
       RunDamage, 196'608, 15'000},
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
