// The progress of one experiment among several, and whether to stop.
#ifndef TRELLIS_BENCH_FILTER_LAB_STEPS_H_
#define TRELLIS_BENCH_FILTER_LAB_STEPS_H_

#include <string>

#include "absl/status/status.h"
#include "bench/experiment/options.h"
#include "bench/experiment/progress.h"

namespace bench {

class Steps {
 public:
  // Shows nothing and never stops.
  Steps() = default;
  // `seconds`: this experiment's part of the total.
  Steps(const RunOptions* options, Progress* progress, double seconds)
      : options_(options), progress_(progress), seconds_(seconds) {}

  // REQUIRES: at least one step.
  void Plan(size_t count) { each_ = seconds_ / static_cast<double>(count); }
  // Cancelled if the run should end.
  absl::Status Begin(const std::string& what) const {
    if (progress_ == nullptr) return absl::OkStatus();
    progress_->Show(what);
    return options_->CheckStop();
  }
  void Done() const {
    if (progress_ != nullptr) progress_->Advance(each_);
  }

 private:
  const RunOptions* options_ = nullptr;
  Progress* progress_ = nullptr;
  double seconds_ = 0;
  double each_ = 0;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STEPS_H_
