// The program: connects sstdump to the process's streams, files and terminal.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/bytes/status.h"
#include "lsm/environment.h"
#include "tools/sstdump/rados_stores.h"
#include "tools/sstdump/run.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/world.h"

namespace tools {
namespace {

// The standard output.  It remembers why a write failed.
class OutputBuffer : public std::streambuf {
 public:
  OutputBuffer() { setp(buffer_, buffer_ + sizeof(buffer_)); }
  int error() const { return error_; }

 protected:
  int overflow(int c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(static_cast<char>(c));
    return traits_type::not_eof(c);
  }
  int sync() override {
    const auto size = static_cast<size_t>(pptr() - pbase());
    setp(buffer_, buffer_ + sizeof(buffer_));
    if (error_ != 0) return -1;
    if (std::fwrite(buffer_, 1, size, stdout) == size && std::fflush(stdout) == 0) return 0;
    error_ = errno;
    return -1;
  }

 private:
  char buffer_[64 << 10];
  int error_ = 0;
};

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// The C library's rule: the first of these variables that is set decides.
bool LocaleIsUtf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!IsSet(variable)) continue;
    const std::string_view value = std::getenv(variable);
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
  }
  return false;
}

Terminal StandardOutput() {
  Terminal terminal;
  terminal.is_terminal = isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.columns = size.ws_col;
  if (IsSet("COLUMNS")) {
    const unsigned long columns = std::strtoul(std::getenv("COLUMNS"), nullptr, 10);
    if (columns > 0 && columns < 10'000) terminal.columns = columns;
  }
  const char* const kind = std::getenv("TERM");
  terminal.allows_color =
      !IsSet("NO_COLOR") && !(kind != nullptr && std::strcmp(kind, "dumb") == 0);
  terminal.has_utf8 = LocaleIsUtf8();
  return terminal;
}

// A file must not make sstdump exhaust the machine's memory.  (Sanitizers reserve more than any
// limit.)
void LimitMemory() {
#ifndef TRELLIS_SANITIZED
  constexpr rlim_t kBytesMax = rlim_t{4} << 30;
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur > kBytesMax) {
    limit.rlim_cur = kBytesMax;
    setrlimit(RLIMIT_DATA, &limit);
  }
#endif
}

// As many files as the system allows to be open, less a few for other uses.
size_t PinnedFilesMax() {
  constexpr rlim_t kOthers = 64, kPinnedMax = 100'000;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOthers;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= kOthers) return 0;
  return static_cast<size_t>(std::min(limit.rlim_cur - kOthers, kPinnedMax));
}

bool ShowsProgress() {
  const char* const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

uint64_t NowNanos() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                               std::chrono::nanoseconds(1));
}
uint64_t NowSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1);
  return now < 0 ? 0 : static_cast<uint64_t>(now);
}
// True if the output is a pipe whose reader has gone.  With --rate the next write may be seconds
// away.
bool OutputIsGone() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}
void SleepNanos(uint64_t nanos) { std::this_thread::sleep_for(std::chrono::nanoseconds(nanos)); }

const char* NameOfType(std::filesystem::file_type type) {
  switch (type) {
    case std::filesystem::file_type::fifo:
      return "a pipe";
    case std::filesystem::file_type::socket:
      return "a socket";
    case std::filesystem::file_type::regular:
      return "a file that was removed";
    default:
      return "a device";
  }
}

absl::StatusOr<std::string> FollowLink(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (!error) return target.string();
  // Links such as /dev/stdin lead to open files, which may have no path.
  const std::filesystem::file_status open_file = std::filesystem::status(path, error);
  if (!std::filesystem::exists(open_file)) return path;
  return absl::UnavailableError(lsm::Concat(path, ": is ", NameOfType(open_file.type()),
                                            "; sstdump reads regular files that have a path"));
}

int Main(int argc, char** argv) {
  LimitMemory();
  // With SIGPIPE ignored, a closed pipe is a write error, and the run ends in order.
  signal(SIGPIPE, SIG_IGN);
  OutputBuffer buffer;
  std::ostream out(&buffer);
  const World world{&lsm::PosixFileSystem(),
                    &out,
                    &std::cerr,
                    StandardOutput(),
                    FollowLink,
                    PinnedFilesMax(),
                    ShowsProgress(),
                    NowNanos,
                    SleepNanos,
                    OutputIsGone,
                    RadosStores(),
                    NowSeconds};
  const int code = RunSstdump(std::vector<std::string>(argv + 1, argv + argc), world);
  out.flush();
  if (buffer.error() == 0 || buffer.error() == EPIPE) return code;
  std::cerr << "sstdump: cannot write: " << std::system_category().message(buffer.error()) << '\n';
  return static_cast<int>(Outcome::kUnreadable);
}

}  // namespace
}  // namespace tools

int main(int argc, char** argv) { return tools::Main(argc, argv); }
