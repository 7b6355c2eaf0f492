// How far a long run has come, on stderr: one line that is rewritten on a terminal, with the time
// that is left; a plain line a step in a pipe.
//
// Threads: one.
#ifndef TRELLIS_BENCH_EXPERIMENT_PROGRESS_H_
#define TRELLIS_BENCH_EXPERIMENT_PROGRESS_H_

#include <chrono>
#include <string>

namespace bench {

class Progress {
 public:
  // `total` in seconds, as far as one can guess them; what counts is how the steps relate.
  explicit Progress(double total);
  // Leaves the terminal on a fresh line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A step that is worth a line of its own in a pipe.
  void Announce(const std::string& what);
  // What is done within it; shown on a terminal only.
  void Show(const std::string& what);
  // Takes the line away for other output; the next call brings it back.
  void Clear();
  // That much of the total is done.
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
