#include "lsm/engine/open_tables.h"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "lsm/bytes/status.h"

namespace lsm {
namespace {

// The tables that are to be opened, and what became of each.  Helpers share it with the caller, who
// may be gone when a late one comes: only between TryBegin and End may they touch what the caller
// lent.
class Opening {
 public:
  using Outcome = absl::StatusOr<std::shared_ptr<const OpenTable>>;

  Opening(Directory* directory, ReadMode mode, const TableContext& context)
      : directory_(*directory), mode_(mode), context_(context) {}

  void Add(const TableMeta* meta) {
    metas_.push_back(meta);
    outcomes_.emplace_back(std::shared_ptr<const OpenTable>());
  }
  size_t size() const { return metas_.size(); }

  void Help() {
    if (!TryBegin()) return;
    Work();
    End();
  }

  // Until each table has been taken up by somebody.  Relaxed, both: who takes a number owns what
  // stands there, and End and FinishAll, under the mutex, hand over what was made of it.
  void Work() {
    while (!has_failed_.load(std::memory_order_relaxed)) {
      const size_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= metas_.size()) return;
      outcomes_[i] = CatchOutOfMemory(
          [&]() -> Outcome { return OpenTableFile(directory_, *metas_[i], mode_, context_); });
      if (!outcomes_[i].ok()) has_failed_.store(true, std::memory_order_relaxed);
    }
  }

  // Waits for those who have begun, and lets nobody begin any more.
  void FinishAll(Scheduler* helpers) {
    absl::MutexLock lock(&mutex_);
    is_over_ = true;
    while (helping_ > 0) helpers->Wait(&mutex_, &ended_);
  }

  // By number, as they were added; after FinishAll.  Helpers that come late keep this object, and
  // must not keep tables with it, which need the store.
  std::vector<Outcome> TakeOutcomes() { return std::move(outcomes_); }

 private:
  bool TryBegin() {
    absl::MutexLock lock(&mutex_);
    if (is_over_) return false;
    ++helping_;
    return true;
  }

  void End() {
    absl::MutexLock lock(&mutex_);
    if (--helping_ == 0) ended_.SignalAll();
  }

  Directory& directory_;
  const ReadMode mode_;
  const TableContext& context_;
  std::vector<const TableMeta*> metas_;
  std::vector<Outcome> outcomes_;  // each written by who took its number
  std::atomic<size_t> next_{0};
  std::atomic<bool> has_failed_{false};
  absl::Mutex mutex_;
  absl::CondVar ended_;
  int helping_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
};

// What there is no memory to ask for is done without.
void AskForHelp(const std::shared_ptr<Opening>& opening, Scheduler* helpers) {
  for (const Scheduler::Lane lane : {Scheduler::Lane::kFlush, Scheduler::Lane::kCompaction}) {
    CatchOutOfMemory([&] {
      helpers->Schedule(lane, [opening] { opening->Help(); });
      return absl::OkStatus();
    }).IgnoreError();
  }
}

}  // namespace

absl::StatusOr<std::array<OpenTables, kLevels>> OpenTablesOf(Directory& directory,
                                                             const ManifestState& state,
                                                             ReadMode mode,
                                                             const TableContext& context,
                                                             Scheduler* helpers) {
  const auto opening = std::make_shared<Opening>(&directory, mode, context);
  for (const auto& level : state.levels) {
    for (const auto& [number, meta] : level) opening->Add(&meta);
  }
  // Nothing between these two may throw, so that no helper is left with what the caller lent.
  if (helpers != nullptr && opening->size() >= kTablesForHelp) AskForHelp(opening, helpers);
  opening->Work();
  opening->FinishAll(helpers);

  // Numbers are taken in order, so all before the first that failed were opened.
  std::array<OpenTables, kLevels> levels;
  std::vector<Opening::Outcome> outcomes = opening->TakeOutcomes();
  size_t next = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    for (size_t j = 0; j < state.levels[i].size(); ++j) {
      Opening::Outcome& outcome = outcomes[next++];
      if (!outcome.ok()) return AsDamage(outcome.status());
      levels[i].push_back(*std::move(outcome));
    }
  }
  return levels;
}

}  // namespace lsm
