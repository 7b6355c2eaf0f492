// The conditions of a measurement, which every report shows with its figures.
#ifndef TRELLIS_BENCH_MACHINE_H_
#define TRELLIS_BENCH_MACHINE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// Names and values in the order of the report.
using Conditions = std::vector<std::pair<std::string, std::string>>;

// The machine, this build, and the file system of `directory`, which must exist.
Conditions DescribeMachine(const std::string& directory);

// "ext4 on /dev/sda1": the file system of `path`; "unknown" if the system does not tell.
std::string FileSystemOf(const std::string& path);

// "AMD EPYC (family 25, model 1), 2 cores, 32 MiB of last-level cache, with AVX2"
std::string DescribeCpu();

// Cache size of the first CPU in bytes; 0 if the system does not tell.
uint64_t LastLevelCacheBytes();

// The machine's memory, free or not.
uint64_t MemoryBytes();

// The free bytes at `path`; nullopt if the system does not tell.
std::optional<uint64_t> FreeBytesAt(const std::string& path);

// Bytes read and written by this process so far, as the system counts them; 0 if it does not tell.
struct IoBytes {
  uint64_t read_from_devices = 0;
  uint64_t read = 0;     // by read calls, from cache or device; excludes mapped files
  uint64_t written = 0;  // passed to the system
};
IoBytes ReadIoBytes();

// Drops the files in `directory` from the page cache as far as possible: syncs written files first;
// mapped pages stay.
void ForgetFilesIn(const std::string& directory);

// Memory available without evicting other programs; 0 if the system does not tell.
uint64_t AvailableMemoryBytes();

inline double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The average cost of reading the clock.
double ClockCostNanos();

// "2026-01-31 12:34:56 UTC"
std::string NowUtc();

}  // namespace bench

#endif  // TRELLIS_BENCH_MACHINE_H_
