// A fixture with a store in which entries expire.
#ifndef TRELLIS_TESTS_LSM_KEYSPACES_EXPIRY_FIXTURE_H_
#define TRELLIS_TESTS_LSM_KEYSPACES_EXPIRY_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/pinned_value.h"
#include "lsm/snapshot.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/deterministic_environment.h"

namespace lsm {

class ExpiryTest : public KeyspacesTest {
 protected:
  ExpiryTest() { options_.environment.clock = &clock_; }
  // A snapshot or an iterator of a test may use the clock.
  ~ExpiryTest() override { db_ = nullptr; }

  // The answer of each way to read the key, which must agree.
  std::string Read(const Keyspace& keyspace, std::string_view key,
                   const ReadOptions& options = {}) {
    std::string answer = Get(keyspace, key, options);
    PinnedValue pinned;
    const absl::StatusOr<bool> found = keyspace.Get(key, &pinned, options);
    EXPECT_OK(found);
    EXPECT_EQ(*found ? std::string(pinned.view()) : "absent", answer);
    const std::string_view keys[] = {key};
    const auto many = keyspace.MultiGet(keys, options);
    EXPECT_OK(many[0]);
    EXPECT_EQ(many[0]->value_or("absent"), answer);
    const std::unique_ptr<Iterator> iterator = keyspace.NewIterator(options);
    const auto at_key = [&] {
      const bool is_there = iterator->Valid() && iterator->key() == key;
      return is_there ? std::string(iterator->value()) : "absent";
    };
    iterator->Seek(key);
    EXPECT_EQ(at_key(), answer);
    iterator->SeekForPrev(key);
    EXPECT_EQ(at_key(), answer);
    EXPECT_OK(iterator->status());
    return answer;
  }
  void Settle() { ASSERT_OK(db_->WaitForBackgroundWork()); }

  testing_support::SetClock clock_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_KEYSPACES_EXPIRY_FIXTURE_H_
