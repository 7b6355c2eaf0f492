// A fixture with a store of 4 MB in large values, so that few deletes free much.
#ifndef TRELLIS_TESTS_LSM_ENGINE_RANGES_LARGE_VALUES_TEST_H_
#define TRELLIS_TESTS_LSM_ENGINE_RANGES_LARGE_VALUES_TEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/event_listener.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {

struct JobListener : EventListener {
  void OnCompactionBegin(const CompactionBegin& event) override { begins.push_back(event); }
  void OnCompactionEnd(const CompactionEnd& event) override {
    ends.push_back(event);
    reasons.emplace_back(NameOf(event.reason));
  }
  void OnFlushEnd(const FlushEnd& event) override {
    flush_reasons.emplace_back(NameOf(event.reason));
  }

  std::vector<CompactionBegin> begins;
  std::vector<CompactionEnd> ends;
  std::vector<std::string> reasons, flush_reasons;  // of compactions, of flushes
};

class LargeValuesTest : public StoreTest {
 protected:
  static constexpr int kKeys = 200;
  static constexpr size_t kValueBytes = 20'000;

  LargeValuesTest() {
    options_.compression = Compression::kNone;
    options_.write_buffer_bytes = 16 << 20;
    options_.table_bytes = uint64_t{1} << 20;
    options_.level1_bytes = uint64_t{64} << 20;
    options_.listener = listener_;
  }
  static std::string Key(int i) { return Concat("key", 1000 + i); }
  static std::string ValueOf(int i) {
    return std::string(kValueBytes, static_cast<char>('a' + i % 26));
  }
  // Four tables of level 1.  The listener begins after that.
  void Fill() {
    for (int i = 0; i < kKeys; ++i) Put(Key(i), ValueOf(i));
    CompactAll();
    *listener_ = {};
  }
  // After a look for due work, as the store takes one every ten seconds.
  std::string LevelsAfterALook() {
    EXPECT_OK(db_->WaitForBackgroundWork());
    return Levels();
  }

  std::shared_ptr<JobListener> listener_ = std::make_shared<JobListener>();
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_ENGINE_RANGES_LARGE_VALUES_TEST_H_
