// Under what conditions figures were taken: what has to stand beside every one of them.
#ifndef TRELLIS_BENCH_MACHINE_H_
#define TRELLIS_BENCH_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// Names and values, in the order in which people read them.
using Conditions = std::vector<std::pair<std::string, std::string>>;

// The machine, this build, and the file system that `directory` (which exists) is on.
Conditions DescribeMachine(const std::string& directory);

// "ext4 on /dev/sda1": what holds `path`; "unknown" where the system does not tell.
std::string FileSystemOf(const std::string& path);

// "AMD EPYC (family 25, model 1), 2 cores, 32 MiB of last-level cache, with AVX2"
std::string DescribeCpu();

// Of the first CPU, in bytes; 0 where the system does not tell.
uint64_t LastLevelCacheBytes();

// Of the machine, in use or not.
uint64_t MemoryBytes();

// Bytes that may still be written there; nullopt where the system does not tell.
std::optional<uint64_t> FreeBytesAt(const std::string& path);

// Of this process since it began, as the system counts them; 0 where it does not tell.
struct IoBytes {
  uint64_t read_from_devices = 0;
  uint64_t read = 0;     // by read calls, from wherever they were; what is mapped is not in it
  uint64_t written = 0;  // handed to the system
};
IoBytes ReadIoBytes();

// Makes the page cache forget the files in `directory`, as far as it may: what was written is
// synced first, and mapped pages stay.
void ForgetFilesIn(const std::string& directory);

// Memory that is available without evicting other programs; 0 if the system does not tell.
uint64_t AvailableMemoryBytes();

// What reading the clock costs, on average.
double ClockCostNanos();

// "2026-01-31 12:34:56 UTC"
std::string NowUtc();

}  // namespace bench

#endif  // TRELLIS_BENCH_MACHINE_H_
