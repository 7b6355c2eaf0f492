// Events that cannot be allocated are lost.  The work that they report goes on as without a
// listener.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lsm/db.h"
#include "lsm/event_listener.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/short_memory.h"
#include "tests/reliability/faults/spared_files.h"
#include "tests/support/status_matchers.h"

namespace reliability {
namespace {

// Flushes many stores, each time with another allocation that fails.
TEST(ListenerMemoryTest, FinishedFlushesDoNotFail) {
  ShortMemory& memory = ShortMemory::OfThisThread();
  int done_without_memory = 0;
  for (uint64_t number = 0;; ++number) {
    lsm::World world;
    SparedFiles files(world.files.get());
    lsm::Options options = world.SmallOptions();
    options.listener = std::make_shared<lsm::EventListener>();
    options.environment.file_system = &files;
    const std::unique_ptr<lsm::DB> db = lsm::DB::Open(lsm::kStorePath, options).value();
    ASSERT_OK(db->Put("a", "1"));
    memory.failed = 0;
    memory.FailOnce(number);
    const absl::Status status = InStore([&] { return db->Flush(); });
    memory.Stop();
    if (memory.failed == 0) break;  // all were tried
    if (db->GetStatistics().flushes == 0) continue;
    ++done_without_memory;
    EXPECT_OK(status) << "allocation " << number;
    EXPECT_OK(db->GetFailure()) << "allocation " << number;
  }
  EXPECT_GT(done_without_memory, 0);
}

}  // namespace
}  // namespace reliability
