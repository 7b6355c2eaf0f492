#include "lsm/store/pacer.h"

#include <algorithm>

#include "lsm/bytes/status.h"
#include "lsm/threads/thread_scheduler.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

}  // namespace

absl::StatusOr<std::unique_ptr<Pacer>> Pacer::Create(const Pace& pace,
                                                     const Environment& environment,
                                                     uint64_t bytes_total) {
  std::unique_ptr<Pacer> pacer(new Pacer(pace, environment, bytes_total));
  if (pacer->scheduler_ == nullptr && pace.bytes_per_second > 0) {
    TRELLIS_ASSIGN_OR_RETURN(pacer->own_scheduler_, NewThreadScheduler({}));
    pacer->scheduler_ = pacer->own_scheduler_.get();
  }
  return pacer;
}

absl::Status Pacer::Take(std::string_view file, uint64_t bytes) {
  progress_.file = file;
  if (pace_.bytes_per_second > 0) {
    const uint64_t now = environment_.clock->MonotonicNanos();
    // Never waits longer than the last read costs, whatever the clock says.
    const uint64_t wait = next_nanos_ > now ? std::min(next_nanos_ - now, cost_nanos_) : 0;
    if (wait > 0) scheduler_->Pause(wait);
    cost_nanos_ = static_cast<uint64_t>(static_cast<double>(bytes) * kNanosPerSecond /
                                        static_cast<double>(pace_.bytes_per_second));
    next_nanos_ = now + wait + cost_nanos_;
  }
  if (pace_.progress != nullptr && !pace_.progress(progress_)) {
    return absl::CancelledError(Concat("ended by Pace::progress after ", progress_.bytes_done,
                                       " of ", progress_.bytes_total, " bytes"));
  }
  if (counts_) progress_.bytes_done += bytes;
  return absl::OkStatus();
}

}  // namespace lsm
