#include "bench/experiment/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace bench {
namespace {

bool IsTerminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

Progress::Progress(double total)
    : terminal_(IsTerminal()),
      total_(std::max(total, 1e-9)),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { Clear(); }

void Progress::Clear() {
  if (line_is_open_) std::fputs("\r\x1b[K", stderr);
  line_is_open_ = false;
}

double Progress::elapsed_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::Announce(const std::string& what) {
  if (terminal_) {
    Rewrite(what);
  } else {
    std::fprintf(stderr, "[%5.1f s, %3.0f %%] %s\n", elapsed_seconds(),
                 100 * std::min(1.0, done_ / total_), what.c_str());
  }
}

void Progress::Show(const std::string& what) {
  if (terminal_) Rewrite(what);
}

void Progress::Rewrite(const std::string& what) {
  const double share = std::min(1.0, done_ / total_);
  constexpr int kBarWidth = 20;
  const int filled = static_cast<int>(share * kBarWidth);
  std::string left = "";
  if (share > 0.02) {
    char text[32];
    std::snprintf(text, sizeof text, " %.0f s left,", elapsed_seconds() * (1 - share) / share);
    left = text;
  }
  std::fprintf(stderr, "\r\x1b[K[%s%s] %3.0f %%,%s %.48s", std::string(filled, '#').c_str(),
               std::string(kBarWidth - filled, '.').c_str(), 100 * share, left.c_str(),
               what.c_str());
  std::fflush(stderr);
  line_is_open_ = true;
}

}  // namespace bench
