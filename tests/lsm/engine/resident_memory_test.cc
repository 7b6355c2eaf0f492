// A store returns its memory to the operating system.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lsm/db.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/support/memory_taken.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_dir.h"

namespace lsm {
namespace {

using testing_support::InChild;
using testing_support::ResidentBytes;
using testing_support::ScratchDir;

// Iterators hold views and thus memtables, which are allocated and freed between other memory of
// the heap.
TEST(ResidentMemoryTest, FallsAfterIteratorsEnd) {
  if (testing_support::kIsSanitized) return;  // sanitizers keep freed memory
  constexpr size_t kBufferBytes = size_t{4} << 20;
  constexpr size_t kIterators = 300;  // at a time
  const ScratchDir scratch;
  const std::string report = InChild([&]() -> std::string {
    const auto before = static_cast<double>(ResidentBytes());
    Options options;
    options.write_buffer_bytes = kBufferBytes;
    options.block_cache_bytes = 0;
    const auto db = DB::Open(scratch.path_of("store"), options);
    if (!db.ok()) return db.status().ToString();
    std::vector<std::unique_ptr<Iterator>> iterators(kIterators);
    for (int i = 0; i < 300'000; ++i) {
      const absl::Status status = (*db)->Put(Concat("key", 1'000'000 + i), std::string(100, 'v'));
      if (!status.ok()) return status.ToString();
      if (i % 100 != 0) continue;
      std::unique_ptr<Iterator>& iterator = iterators[static_cast<size_t>(i / 100) % kIterators];
      iterator = (*db)->NewIterator();
      iterator->SeekToFirst();
    }
    iterators.clear();
    const absl::Status status = (*db)->WaitForBackgroundWork();
    if (!status.ok()) return status.ToString();
    // One memtable, and heap memory that the iterators left.  A job frees the last views.
    constexpr double kBuffersMax = 5;
    double buffers = 0;
    for (int i = 0; i < 200; ++i) {
      buffers = (static_cast<double>(ResidentBytes()) - before) / kBufferBytes;
      if (buffers <= kBuffersMax) return "";
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return Concat(buffers, " write buffers stay resident");
  });
  EXPECT_EQ(report, "");
}

}  // namespace
}  // namespace lsm
