// Random reads of 4 KiB blocks with trailers from a file of 512 MiB in the working directory's file
// system.
//
//   BM_ReadAt/HOW        reads one block after the other
//   BM_ReadMany/HOW/N    submits N reads together, as MultiGet does
//
// HOW: direct, past the page cache; cached, with the whole file in the page cache.  The Time column
// and "s/read" are per read.  The file is removed at the end.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/or_die.h"
#include "bench/workload.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"

namespace {

constexpr char kName[] = "fs_bench.tmp";
constexpr uint64_t kFileBytes = uint64_t{512} << 20;
constexpr size_t kReadBytes = 4096 + 13;

using bench::OrDie;

// The file, created once.
class TestFile {
 public:
  TestFile() : directory_(OrDie(lsm::PosixFileSystem().OpenDirectory(".", /*create=*/false))) {
    directory_->Remove(kName).IgnoreError();
    const std::unique_ptr<lsm::AppendFile> file = OrDie(directory_->CreateExclusive(kName));
    std::string chunk(1 << 20, '\0');
    bench::SplitMix random(1);
    for (char& byte : chunk) byte = static_cast<char>(random.Next());
    for (uint64_t done = 0; done < kFileBytes; done += chunk.size()) OrDie(file->Append(chunk));
    OrDie(file->Sync());
    OrDie(file->Close());
  }
  ~TestFile() { directory_->Remove(kName).IgnoreError(); }

  std::unique_ptr<lsm::ReadFile> Open(lsm::ReadMode mode) {
    return OrDie(directory_->OpenRead(kName, mode));
  }

 private:
  const std::unique_ptr<lsm::Directory> directory_;
};

TestFile& File() {
  static TestFile file;
  return file;
}

uint64_t AnyOffset(bench::SplitMix& random) { return random.Next() % (kFileBytes - kReadBytes); }

void Report(benchmark::State& state, size_t reads_each) {
  const auto reads = static_cast<double>(state.iterations()) * static_cast<double>(reads_each);
  state.counters["s/read"] =
      benchmark::Counter(reads, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_ReadAt(benchmark::State& state, lsm::ReadMode mode) {
  const std::unique_ptr<lsm::ReadFile> file = File().Open(mode);
  bench::SplitMix random(2);
  std::string buffer(kReadBytes, '\0');
  for ([[maybe_unused]] auto _ : state) {
    if (OrDie(file->ReadAt(AnyOffset(random), buffer)) != kReadBytes) std::abort();
  }
  Report(state, 1);
}
BENCHMARK_CAPTURE(BM_ReadAt, direct, lsm::ReadMode::kDirect)->UseRealTime();
BENCHMARK_CAPTURE(BM_ReadAt, cached, lsm::ReadMode::kBuffered)->UseRealTime();

void BM_ReadMany(benchmark::State& state, lsm::ReadMode mode) {
  const std::unique_ptr<lsm::ReadFile> file = File().Open(mode);
  bench::SplitMix random(3);
  const auto count = static_cast<size_t>(state.range(0));
  std::vector<std::string> buffers(count, std::string(kReadBytes, '\0'));
  std::vector<lsm::ReadRequest> requests(count);
  for ([[maybe_unused]] auto _ : state) {
    for (size_t i = 0; i < count; ++i) {
      requests[i] = {file.get(), AnyOffset(random), buffers[i], absl::OkStatus(), 0};
    }
    lsm::PosixFileSystem().ReadMany(requests);
    for (const lsm::ReadRequest& request : requests) {
      OrDie(request.status);
      if (request.bytes_read != kReadBytes) std::abort();
    }
  }
  Report(state, count);
}
BENCHMARK_CAPTURE(BM_ReadMany, direct, lsm::ReadMode::kDirect)
    ->RangeMultiplier(4)
    ->Range(4, 256)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_ReadMany, cached, lsm::ReadMode::kBuffered)
    ->RangeMultiplier(4)
    ->Range(4, 256)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
