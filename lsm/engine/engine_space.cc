// Engine: a full disk, and the reserve for it.
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/events/job_events.h"

namespace lsm::inline TRELLIS_ABI {

void Engine::BuildReserves(Reserve::Effort effort, uint64_t batch_bytes) {
  uint64_t table_bytes = 0, memtable_bytes = 0;
  {
    MutexLock lock(&mutex_);
    table_bytes = current_view_->version->bytes();
    memtable_bytes = current_view_->memtable_bytes() + batch_bytes;
  }
  const uint64_t wanted_bytes = ReserveBytesFor(table_bytes, memtable_bytes);
  reserve_.Build(wanted_bytes, ReserveBytesLeast(memtable_bytes), effort);
  if (log_reserve_ != nullptr) log_reserve_->Build(wanted_bytes, kReserveBytesMin, effort);
  NoteSpace();
}

bool Engine::ReserveIsDue() const { return reserve_.is_due(2 * current_view_->memtable_bytes()); }

bool Engine::FitsIntoReserve(uint64_t batch_bytes) const {
  return !reserve_.is_below(ReserveBytesLeast(current_view_->memtable_bytes() + batch_bytes));
}

bool Engine::ReleaseReserves() {
  const bool released = reserve_.Release();
  const bool log_released = log_reserve_ != nullptr && log_reserve_->Release();
  if (!released && !log_released) return false;
  counters_.Add(Counter::kReserveReleases, 1);
  NoteSpace();
  return true;
}

bool Engine::IsRoomShort() const {
  return reserve_.is_short() || (log_reserve_ != nullptr && log_reserve_->is_short());
}

bool Engine::ArePutsRefused() const {
  return reserve_.is_missing() || (log_reserve_ != nullptr && log_reserve_->is_missing());
}

void Engine::NoteSpace() {
  const bool are_refused = ArePutsRefused();
  // Relaxed: events need no order but their own.
  if (told_refused_.exchange(are_refused, std::memory_order_relaxed) == are_refused) return;
  SpaceChange event;
  event.puts_refused = are_refused;
  event.reserve_bytes = reserve_.held_bytes();
  events_->Add(std::move(event));
}

absl::Status Engine::CheckMayPut(uint64_t batch_bytes) {
  if (!failures_.OfLogOrManifest().ok()) return absl::OkStatus();  // refused for that, see MakeRoom
  if (!FitsIntoReserve(batch_bytes)) {
    mutex_.Unlock();
    // Other writers wait for this one.
    WaitForReserve([&] { BuildReserves(Reserve::Effort::kNoWait, batch_bytes); });
    mutex_.Lock();
  }
  TRELLIS_RETURN_IF_ERROR(reserve_.CheckMayPut());
  return log_reserve_ != nullptr ? log_reserve_->CheckMayPut() : absl::OkStatus();
}

void Engine::LookForSpace(uint64_t batch_bytes) {
  const Call call(this);
  if (!call.status().ok()) return;
  BuildReserves(Reserve::Effort::kNoWait, batch_bytes);
  // One that is too small for the memtables is large enough when they are tables.
  if (!IsRoomShort() || ArePutsRefused()) return;
  WaitForReserve([&] {
    Flush().IgnoreError();
    BuildReserves(Reserve::Effort::kUsual, batch_bytes);
  });
}

void Engine::WaitForReserve(absl::FunctionRef<void()> work) {
  StallEvents stall(events_.get(), store_.environment.clock);
  stall.Begin(StallCause::kReserve);
  events_->Deliver();
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  work();
  counters_.Add(Counter::kStallsReserve, 1);
  counters_.Add(Counter::kStallNanos, store_.environment.clock->MonotonicNanos() - from);
}

}  // namespace lsm
