// Progress of a long run on stderr.  On a terminal: one line, rewritten, with the remaining time.
// In a pipe: one plain line per step.
//
// Threads: one.
#ifndef TRELLIS_BENCH_EXPERIMENT_PROGRESS_H_
#define TRELLIS_BENCH_EXPERIMENT_PROGRESS_H_

#include <chrono>
#include <string>

namespace bench {

class Progress {
 public:
  // `total` in seconds, estimated.  Only the ratios between the steps matter.
  explicit Progress(double total);
  // Ends the terminal's current line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins a step that gets a line of its own in a pipe.
  void Announce(const std::string& what);
  // Shows the activity within a step, on a terminal only.
  void Show(const std::string& what);
  // Removes the line to make room for other output; the next call shows it again.
  void Clear();
  // This much of the total is done.
  void Advance(double amount) { done_ += amount; }

  double elapsed_seconds() const;

 private:
  void Rewrite(const std::string& what);

  const bool terminal_;
  const double total_;
  const std::chrono::steady_clock::time_point start_;
  double done_ = 0;
  bool line_is_open_ = false;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_PROGRESS_H_
