// How far one experiment of several has come.
#ifndef TRELLIS_BENCH_FILTER_LAB_STEPS_H_
#define TRELLIS_BENCH_FILTER_LAB_STEPS_H_

#include <string>

#include "bench/progress.h"

namespace bench {

class Steps {
 public:
  // Tells nobody.
  Steps() = default;
  // `seconds`: the experiment's part of the total.
  Steps(Progress* progress, double seconds) : progress_(progress), seconds_(seconds) {}

  // REQUIRES: at least one step.
  void Plan(size_t count) { each_ = seconds_ / static_cast<double>(count); }
  void Begin(const std::string& what) const {
    if (progress_ != nullptr) progress_->Show(what);
  }
  void Done() const {
    if (progress_ != nullptr) progress_->Advance(each_);
  }

 private:
  Progress* progress_ = nullptr;
  double seconds_ = 0;
  double each_ = 0;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STEPS_H_
