#include "tests/reliability/workload/due_work.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/compaction/picker.h"
#include "lsm/store/open_tables.h"
#include "lsm/table/block_cache.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version.h"
#include "tests/support/deterministic_environment.h"

namespace reliability {
namespace {

using lsm::Concat;

constexpr uint64_t kDayNanos = uint64_t{24} * 60 * 60 * 1'000'000'000;
// The work of an episode's store takes far fewer calls of the file system.
constexpr uint64_t kCallsMax = 30'000;

// The tables as the manifest names them.  `cache` outlives the version.
absl::StatusOr<std::shared_ptr<const lsm::Version>> VersionOf(const RunningStore& store,
                                                              lsm::BlockCache* cache) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::Directory> directory,
                           store.files->OpenDirectory(store.path, /*create=*/false));
  TRELLIS_ASSIGN_OR_RETURN(const lsm::ManifestContents contents, lsm::ReadManifest(*directory));
  lsm::TableContext context;
  context.block_cache = cache;
  context.digest_seed = contents.state.digest_seed;
  TRELLIS_ASSIGN_OR_RETURN(
      auto levels, lsm::OpenTablesOf(*store.files, *directory, contents.state,
                                     lsm::ReadMode::kBuffered, context, /*helpers=*/nullptr));
  return lsm::Version::Create(std::move(levels), contents.state.keyspaces);
}

// A table that is due to be dropped, or else the plan of the rule for tombstones that is due at
// both times, as text.
std::string DuePlan(const RunningStore& store, uint64_t seconds_before, uint64_t seconds_after) {
  lsm::BlockCache cache(1 << 20);
  const auto version = VersionOf(store, &cache);
  if (!version.ok()) return Concat("the tables cannot be opened: ", version.status().ToString());
  const auto first_of = [](const lsm::CompactionPlan& plan) {
    return Concat("after all background work, table ", plan.inputs.front()->meta.number,
                  " of level ", plan.level);
  };
  std::vector<lsm::TreeToCompact> trees;
  for (const auto& [id, tree] : (*version)->trees()) {
    if (const auto drop = lsm::PickDrop(*tree, {}, store.snapshots))
      return Concat(first_of(*drop), " is due to be dropped");
    trees.push_back({tree.get(), store.options, (*version)->trees().size() > 1});
  }
  std::string text;
  for (const uint64_t seconds : {seconds_before, seconds_after}) {
    lsm::PickMoment moment;
    if (!store.snapshots.empty()) moment.oldest_snapshot = store.snapshots.front();
    moment.wall_seconds = seconds;
    const auto plan = lsm::PickForTombstones(trees, {}, moment).plan;
    if (!plan) return "";
    text = Concat(first_of(*plan), " is due for its tombstones");
  }
  return text;
}

}  // namespace

std::string ProblemOfBackgroundWork(const RunningStore& store, Draws& draws) {
  auto* const clock = static_cast<testing_support::ManualClock*>(store.options->environment.clock);
  if (draws.OneIn(3)) clock->Advance(draws.Roll(8) * kDayNanos);
  const uint64_t before = clock->ManualClock::WallMicros() / 1'000'000;
  uint64_t calls = 0;
  if (store.is_alone) {
    store.files->SetFault([&](lsm::FileOperation, const std::string& path, uint64_t) {
      return ++calls < kCallsMax ? absl::OkStatus()
                                 : absl::UnavailableError(Concat(path, ": too many calls"));
    });
  }
  const absl::Status status = store.db->WaitForBackgroundWork();
  if (store.is_alone) store.files->SetFault(nullptr);
  if (calls >= kCallsMax) return "background work does not end";
  if (!status.ok()) return Concat("fails: ", status.ToString());
  // After a failure the rule rests.
  if (!store.is_alone || store.db->GetStatistics().background_errors > 0) return "";
  return DuePlan(store, before, clock->ManualClock::WallMicros() / 1'000'000);
}

}  // namespace reliability
