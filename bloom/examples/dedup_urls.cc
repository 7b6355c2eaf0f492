// Removes duplicates from an unbounded stream, in constant memory: a rotating filter remembers
// recent lines and forgets older ones.
//
// A line is printed first, and recorded in the state file afterwards. So if the program is killed
// and restarted, it prints some lines twice, and loses none.
//
//   add_executable(dedup_urls dedup_urls.cc)
//   target_link_libraries(dedup_urls PRIVATE Trellis::bloom)
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/rotating.h"
#include "command_line.h"
#include "files.h"

namespace {

constexpr std::string_view kHelp = R"(Usage: dedup_urls [options] < lines

Prints each line that is not among the last N lines.  A line that is among them is never printed
again.  Of the other lines, a share of F is lost.

  --window N    the N above; 1,000,000
  --fpp F       the F above; 0.001
  --state FILE  continues from this file if it exists.  Replaces it at the end of the lines, on
                SIGINT and SIGTERM (once the printed lines have been read), and from time to time
  --every N     lines between two such times; 1,000,000
  --seed N      the seed of a new state; random by default, so that no attacker can choose lines
                that are lost
)";

using SeenLines = bloom::RotatingFilter<>;

// Longer than any URL, so that input without line ends does not fill the memory.
constexpr size_t kLineBytesMax = 1 << 20;

class Deduplicator {
 public:
  Deduplicator(SeenLines seen, std::string state, uint64_t every)
      : seen_(std::move(seen)), state_(std::move(state)), every_(every) {}

  // Every line in the state has been printed.
  absl::Status Save() {
    if (absl::Status status = Flush(); !status.ok() || state_.empty()) return status;
    saved_lines_ = lines_;
    return examples::ReplaceFile(state_, seen_.Serialize());
  }

  // Processes the complete lines, and keeps the rest for the next call.
  absl::Status Take(std::string_view bytes) {
    rest_ += bytes;
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1)
      TakeLine(std::string_view(rest_).substr(begin, end - begin));
    rest_.erase(0, begin);
    if (rest_.size() > kLineBytesMax) {
      // Saves the printed lines for the next start.
      if (absl::Status status = Save(); !status.ok()) return status;
      return absl::DataLossError("line " + std::to_string(lines_ + 1) + " is longer than 1 MiB");
    }
    return lines_ - saved_lines_ < every_ ? Flush() : Save();
  }

  // Also processes a last line without an end.
  absl::Status Finish(bool is_complete) {
    if (is_complete && !rest_.empty()) TakeLine(rest_);
    if (absl::Status status = Save(); !status.ok()) return status;
    std::cerr << "dedup_urls: " << printed_ << " of " << lines_ << " lines printed; "
              << seen_.remembered_count() << " remembered in " << seen_.size_bits() / 8
              << " bytes\n";
    return absl::OkStatus();
  }

 private:
  void TakeLine(std::string_view line) {
    ++lines_;
    if (!seen_.AddIfAbsent(line)) return;
    std::cout << line << '\n';
    ++printed_;
  }

  absl::Status Flush() {
    if (std::cout.flush()) return absl::OkStatus();
    return absl::UnavailableError("cannot write to the standard output");
  }

  SeenLines seen_;
  const std::string state_;
  const uint64_t every_;
  std::string rest_;
  uint64_t lines_ = 0, printed_ = 0, saved_lines_ = 0;
};

absl::StatusOr<SeenLines> LoadOr(SeenLines fresh, const std::string& state) {
  if (state.empty()) return fresh;
  const absl::StatusOr<std::string> bytes = examples::ReadWhole(state);
  if (absl::IsNotFound(bytes.status())) return fresh;
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<SeenLines> seen = SeenLines::Load(*bytes);
  if (!seen.ok()) {
    return absl::Status(seen.status().code(), state + ": " + std::string(seen.status().message()));
  }
  if (seen->window() != fresh.window() || seen->target_fpp() != fresh.target_fpp()) {
    return absl::InvalidArgumentError(state + ": is of another --window or --fpp");
  }
  return seen;
}

absl::Status Run(examples::CommandLine& line) {
  const uint64_t window = line.Count("--window", 1'000'000);
  const double fpp = line.Fpp("--fpp", 0.001);
  const uint64_t every = line.Count("--every", 1'000'000);
  const uint64_t seed = line.SeedOrRandom("--seed");
  if (line.Text("--state") == "-")
    line.Refuse("--state is a file: the standard input has the lines");
  if (!line.status().ok()) return line.status();
  absl::StatusOr<SeenLines> fresh = SeenLines::Make(window, fpp, seed);
  if (!fresh.ok()) return fresh.status();
  absl::StatusOr<SeenLines> seen = LoadOr(*std::move(fresh), line.Text("--state"));
  if (!seen.ok()) return seen.status();
  Deduplicator deduplicator(*std::move(seen), line.Text("--state"), every);
  // Reports a state file that cannot be written before the first line is printed.
  if (absl::Status status = deduplicator.Save(); !status.ok()) return status;

  // Signals are read like input, so none interrupts a line.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  pollfd inputs[2] = {{STDIN_FILENO, POLLIN, 0},
                      {::signalfd(-1, &signals, SFD_CLOEXEC), POLLIN, 0}};
  if (inputs[1].fd < 0) return examples::FileError("signalfd");
  char buffer[1 << 16];
  for (;;) {
    if (::poll(inputs, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return examples::FileError("poll");
    }
    if (inputs[1].revents != 0) return deduplicator.Finish(/*is_complete=*/false);
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (count == 0) return deduplicator.Finish(/*is_complete=*/true);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) {
      absl::Status status = examples::FileError("the standard input");
      status.Update(deduplicator.Save());
      return status;
    }
    const absl::Status status = deduplicator.Take({buffer, static_cast<size_t>(count)});
    if (!status.ok()) return status;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return examples::Main(argc, argv,
                        {.name = "dedup_urls",
                         .help = kHelp,
                         .options = {"--window", "--fpp", "--state", "--every", "--seed"}},
                        Run);
}
