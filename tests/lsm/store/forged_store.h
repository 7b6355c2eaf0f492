// A fixture with a small store on a machine of its own, whose files a test changes while the store
// is closed.
#ifndef TRELLIS_TESTS_LSM_STORE_FORGED_STORE_H_
#define TRELLIS_TESTS_LSM_STORE_FORGED_STORE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lsm/db.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/store/store_forger.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class ForgedStoreTest : public StoreTest {
 protected:
  // Level 1: a to m in one table, n to z in another, at 1 to 26.  Level 0: c@27.
  void MakeStore() {
    Open();
    for (char key = 'a'; key <= 'm'; ++key) Put(std::string(1, key), "1");
    CompactAll();
    for (char key = 'n'; key <= 'z'; ++key) Put(std::string(1, key), "1");
    CompactAll();
    Put("c", "2");
    Flush();
    db_ = nullptr;
    const ManifestState state = Forger().State();
    ASSERT_EQ(state.levels[0].size(), 1u);
    ASSERT_EQ(state.levels[1].size(), 2u);
    newest_ = state.levels[0].begin()->first;
    low_ = state.levels[1].begin()->first;
    high_ = state.levels[1].rbegin()->first;
  }

  StoreForger Forger() { return {world_.files.get(), kStorePath}; }

  // Opens the store after the repair, and returns what Repair leaves out.  If either fails, there
  // is no store.
  std::vector<std::string> RepairAndOpen() {
    db_ = nullptr;
    const absl::StatusOr<RepairReport> report = DB::Repair(kStorePath, options_);
    EXPECT_OK(report);
    if (!report.ok()) return {};
    Open();
    return report->left_out;
  }

  void ExpectSound() {
    ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
    EXPECT_THAT(verified.problems, testing::IsEmpty());
  }

  uint64_t newest_ = 0, low_ = 0, high_ = 0;  // numbers of tables
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_STORE_FORGED_STORE_H_
