#include "bench/machine.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "bloom/core/cpu.h"
#include "lsm/bytes/readable.h"

#ifndef TRELLIS_BENCH_BUILD
#define TRELLIS_BENCH_BUILD "unknown build"
#endif

namespace bench {
namespace {

std::string Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

std::string Assertions() {
#ifdef NDEBUG
  return "";
#else
  return ", ASSERTIONS ON";
#endif
}

}  // namespace

uint64_t LastLevelCacheBytes() {
  uint64_t most = 0;
  for (int i = 0;; ++i) {
    std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/size");
    uint64_t kibibytes = 0;  // "32768K"
    if (!(in >> kibibytes)) return most;
    most = std::max(most, kibibytes << 10);
  }
}

uint64_t MemoryBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string DescribeCpu() {
  std::map<std::string, std::string> fields;  // of the first CPU
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    fields[line.substr(0, line.find_last_not_of("\t ", colon - 1) + 1)] = line.substr(colon + 2);
  }
  const auto field = [&](const std::string& name) {
    return fields.contains(name) ? fields[name] : "unknown";
  };
  const uint64_t cache = LastLevelCacheBytes();
  return field("model name") + " (family " + field("cpu family") + ", model " + field("model") +
         "), " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
         (cache == 0 ? "unknown" : std::to_string(cache >> 20) + " MiB of") +
         " last-level cache, " + (bloom::BestSimd() == bloom::Simd::kAvx2 ? "with" : "without") +
         " AVX2";
}

std::string FileSystemOf(const std::string& path) {
  std::error_code error;
  const std::string full = std::filesystem::canonical(path, error).string();
  if (error) return "unknown";
  std::ifstream mounts("/proc/self/mounts");
  std::string best, found = "unknown";
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string device, point, type;
    fields >> device >> point >> type;
    const bool holds = full.compare(0, point.size(), point) == 0 &&
                       (point == "/" || full.size() == point.size() || full[point.size()] == '/');
    if (!holds || point.size() < best.size()) continue;  // a later mount hides an earlier one
    best = point;
    found = type + " on " + device;
  }
  return found;
}

std::optional<uint64_t> FreeBytesAt(const std::string& path) {
  struct statvfs state;
  if (::statvfs(path.c_str(), &state) != 0) return std::nullopt;
  return uint64_t{state.f_bavail} * state.f_frsize;
}

IoBytes ReadIoBytes() {
  IoBytes bytes;
  std::ifstream file("/proc/self/io");
  std::string name;
  for (uint64_t value = 0; file >> name >> value;) {
    if (name == "read_bytes:") bytes.read_from_devices = value;
    if (name == "rchar:") bytes.read = value;
    if (name == "wchar:") bytes.written = value;
  }
  return bytes;
}

void ForgetFilesIn(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (!entry.is_regular_file(error)) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    ::fdatasync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

uint64_t AvailableMemoryBytes() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    uint64_t kibibytes = 0;
    if (words >> name >> kibibytes && name == "MemAvailable:") return kibibytes << 10;
  }
  return 0;
}

double ClockCostNanos() {
  using SteadyClock = std::chrono::steady_clock;
  constexpr int kReads = 20000;
  const SteadyClock::time_point begin = SteadyClock::now();
  SteadyClock::time_point end = begin;
  for (int i = 0; i < kReads; ++i) end = SteadyClock::now();
  return std::chrono::duration<double, std::nano>(end - begin).count() / kReads;
}

std::string NowUtc() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &fields);
  return text;
}

Conditions DescribeMachine(const std::string& directory) {
  struct utsname system {};
  ::uname(&system);
  std::string load = "unknown";
  std::getline(std::ifstream("/proc/loadavg"), load);
  char clock_cost[32];
  std::snprintf(clock_cost, sizeof clock_cost, "%.0f ns", ClockCostNanos());
  return {
      {"Date", NowUtc()},
      {"CPU", DescribeCpu()},
      {"Memory", lsm::ReadableBytes(MemoryBytes())},
      {"Kernel", std::string(system.sysname) + " " + system.release},
      {"File system", FileSystemOf(directory)},
      {"Load average before", load},
      {"Compiler", Compiler()},
      {"Build", TRELLIS_BENCH_BUILD + Assertions()},
      {"One reading of the clock", clock_cost},
  };
}

}  // namespace bench
