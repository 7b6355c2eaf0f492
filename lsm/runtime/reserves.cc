#include "lsm/runtime/reserves.h"

#include "lsm/bytes/status.h"
#include "lsm/events/job_events.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Null if the logs are with the tables.
std::unique_ptr<Reserve> LogReserveIn(Directory* own_log_directory, const Options& options) {
  if (own_log_directory == nullptr) return nullptr;
  const uint64_t capacity_bytes = own_log_directory->CapacityBytes().value_or(UINT64_MAX);
  return std::make_unique<Reserve>(own_log_directory, LogReserveBytesMax(options, capacity_bytes));
}

}  // namespace

Reserves::Reserves(const StoreDirectory* store, const Options& options, Counters* counters,
                   EventQueue* events)
    : clock_(*store->environment.clock),
      counters_(*counters),
      events_(*events),
      reserve_(store->directory.get(), ReserveBytesMax(options)),
      log_reserve_(LogReserveIn(store->own_log_directory.get(), options)) {}

void Reserves::Build(uint64_t table_bytes, uint64_t memtable_bytes, Reserve::Effort effort) {
  const uint64_t wanted_bytes = ReserveBytesFor(table_bytes, memtable_bytes);
  reserve_.Build(wanted_bytes, ReserveBytesLeast(memtable_bytes), effort);
  if (log_reserve_ != nullptr) log_reserve_->Build(wanted_bytes, kReserveBytesMin, effort);
  NoteSpace();
}

bool Reserves::Release() {
  const bool released = reserve_.Release();
  const bool log_released = log_reserve_ != nullptr && log_reserve_->Release();
  if (!released && !log_released) return false;
  counters_.Add(Counter::kReserveReleases, 1);
  NoteSpace();
  return true;
}

absl::Status Reserves::RunWithReserve(absl::FunctionRef<absl::Status()> job,
                                      absl::FunctionRef<bool()> may_release) {
  const uint64_t releases = counters_.SumOf(Counter::kReserveReleases);
  absl::Status status = CatchOutOfMemory(job);
  if (!IsDiskFull(status) || !may_release()) return status;
  // Another job may have released it meanwhile.
  const bool has_more = Release() || counters_.SumOf(Counter::kReserveReleases) != releases;
  return has_more ? CatchOutOfMemory(job) : status;
}

absl::Status Reserves::CheckMayPut() const {
  TRELLIS_RETURN_IF_ERROR(reserve_.CheckMayPut());
  return log_reserve_ != nullptr ? log_reserve_->CheckMayPut() : absl::OkStatus();
}

void Reserves::CountStall(absl::FunctionRef<void()> work) {
  StallEvents stall(&events_, &clock_);
  stall.Begin(StallCause::kReserve);
  events_.Deliver();
  const uint64_t from = clock_.MonotonicNanos();
  work();
  counters_.Add(Counter::kStallsReserve, 1);
  counters_.Add(Counter::kStallNanos, clock_.MonotonicNanos() - from);
}

void Reserves::NoteSpace() {
  const bool are_refused = ArePutsRefused();
  // Relaxed: it orders nothing but the events.
  if (told_refused_.exchange(are_refused, std::memory_order_relaxed) == are_refused) return;
  SpaceChange event;
  event.puts_refused = are_refused;
  event.reserve_bytes = reserve_.held_bytes();
  events_.Add(event);
}

}  // namespace lsm
