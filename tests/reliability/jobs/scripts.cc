#include "tests/reliability/jobs/scripts.h"

#include "lsm/bytes/status.h"
#include "tests/reliability/jobs/crash.h"

namespace reliability {
namespace {

using lsm::Concat;

enum Operation : uint64_t {
  kPut,
  kPutSynced,
  kDelete,
  kDeleteRange,
  kBatch,
  kCreate,
  kDrop,
  kFlush,
  kCompact,
  kReopen,
  kKill,
  kOperations
};

// As in MakeWorkload, no two steps leave the same contents, except a drop right after the creation.
Step StepOf(Operation operation, size_t number) {
  const std::string value = Concat("value ", number);
  switch (operation) {
    case kPut:
    case kPutSynced:
      return {Step::kWrite, {{"key", value}, {"last", Concat(number)}}, operation == kPutSynced};
    case kDelete:
      return {Step::kWrite, {{"key", std::nullopt}, {"last", Concat(number)}}, false};
    case kDeleteRange:
      // Covers "key", "last" and "other".
      return {Step::kWrite, {DeletesRange("k", std::nullopt), {"last", Concat(number)}}, false};
    case kBatch:
      // Longer than a sector, so that a crash can tear it.  If the keyspace exists, also in it.
      return {Step::kWrite,
              {{"key", std::string(700, 'x')},
               {KeyIn(kTimedKeyspace, "key"), value},
               {"other", value},
               {"last", Concat(number)}},
              false};
    case kCreate:
      return {Step::kWrite, {{EntryOf(kTimedKeyspace), kIsThere}}, false};
    case kDrop:
      return {Step::kWrite, {{EntryOf(kTimedKeyspace), std::nullopt}}, false};
    case kFlush:
      return {Step::kFlush, {}, false};
    case kCompact:
      return {Step::kCompact, {}, false};
    case kReopen:
      return {Step::kReopen, {}, false};
    default:
      return {Step::kKill, {}, false};
  }
}

}  // namespace

std::vector<Step> ScriptOf(uint64_t number) {
  uint64_t length = 1;
  for (uint64_t scripts = kOperations; number >= scripts; scripts *= kOperations) {
    number -= scripts;
    ++length;
  }
  std::vector<Step> steps = {{Step::kReopen, {}, false}};
  for (uint64_t i = 0; i < length; ++i, number /= kOperations)
    steps.push_back(StepOf(static_cast<Operation>(number % kOperations), i));
  return steps;
}

ScriptReport CrashScripts(uint64_t first, uint64_t count) {
  ScriptReport report;
  for (; report.scripts < count && report.finding.empty(); ++report.scripts) {
    const uint64_t number = (first + report.scripts) % kScripts;
    CrashOptions options;
    options.seed = number + 1;
    options.logs_apart = number % 2 == 1;
    options.double_one_in = 64;
    const std::vector<Step> steps = ScriptOf(number);
    const CrashReport crashes = CrashEverywhere(options, steps);
    report.images += crashes.distinct;
    report.doubles += crashes.doubles;
    if (!crashes.finding.empty())
      report.finding = Concat("script ", number, ": ", crashes.finding, TextOf(steps));
  }
  return report;
}

}  // namespace reliability
