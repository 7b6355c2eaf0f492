// Keeps a long call to its pace (lsm/pace.h).  One thread.
#ifndef TRELLIS_LSM_STORE_PACER_H_
#define TRELLIS_LSM_STORE_PACER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/pace.h"
#include "lsm/scheduler.h"

namespace lsm::inline TRELLIS_ABI {

class Pacer {
 public:
  // `environment` is complete, except that its scheduler may be null.  Then, if the pacer has to
  // wait, it makes its own scheduler: ResourceExhausted if there are no threads for it.  The
  // arguments outlive the pacer.
  static absl::StatusOr<std::unique_ptr<Pacer>> Create(const Pace& pace,
                                                       const Environment& environment,
                                                       uint64_t bytes_total);

  // Waits until this many bytes of the file may be read.  Cancelled if Pace::progress ends the
  // call.
  absl::Status Take(std::string_view file, uint64_t bytes);

  // While it exists, reads keep to the pace but do not count as done.  Used for bytes that are read
  // again, or perhaps needlessly.
  class Uncounted {
   public:
    explicit Uncounted(Pacer* pacer) : pacer_(*pacer) { pacer_.counts_ = false; }
    ~Uncounted() { pacer_.counts_ = true; }
    Uncounted(const Uncounted&) = delete;
    Uncounted& operator=(const Uncounted&) = delete;

   private:
    Pacer& pacer_;
  };

  // Counts bytes as done that need not be read, or were read uncounted.
  void Count(uint64_t bytes) { progress_.bytes_done += bytes; }

 private:
  Pacer(const Pace& pace, const Environment& environment, uint64_t bytes_total)
      : pace_(pace), environment_(environment), scheduler_(environment.scheduler) {
    progress_.bytes_total = bytes_total;
  }

  const Pace& pace_;
  const Environment& environment_;
  std::unique_ptr<Scheduler> own_scheduler_;
  Scheduler* scheduler_;
  Progress progress_;
  bool counts_ = true;
  uint64_t next_nanos_ = 0;  // when more may be read
  uint64_t cost_nanos_ = 0;  // of the last read
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_PACER_H_
