// A fixture with one store on a machine of its own.
#ifndef TRELLIS_TESTS_LSM_ENGINE_STORE_TEST_H_
#define TRELLIS_TESTS_LSM_ENGINE_STORE_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class StoreTest : public testing::Test {
 protected:
  StoreTest() : options_(world_.SmallOptions()) {}
  // A fault may use variables of the test, and closing the store writes.
  ~StoreTest() override { world_.files->SetFault(nullptr); }

  void Open() {
    db_ = nullptr;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    db_ = *std::move(db);
  }
  // The status of an Open that must fail.
  absl::Status OpenStatus() { return DB::Open(kStorePath, options_).status(); }

  void Put(std::string_view key, std::string_view value) { ASSERT_OK(db_->Put(key, value)); }
  void Delete(std::string_view key) { ASSERT_OK(db_->Delete(key)); }
  // nullopt: to the last key.
  void DeleteRange(std::string_view from, std::optional<std::string_view> to) {
    ASSERT_OK(db_->DeleteRange(from, to));
  }
  void Flush() { ASSERT_OK(db_->Flush()); }
  void CompactAll() { ASSERT_OK(db_->CompactRange()); }

  // The value of the key, "absent", or the error.
  std::string Get(std::string_view key, const ReadOptions& options = {}) {
    const absl::StatusOr<std::optional<std::string>> value = db_->Get(key, options);
    EXPECT_OK(value);
    if (!value.ok()) return value.status().ToString();
    return value->value_or("absent");
  }
  // "a=1 b=2", the same in both directions.
  static std::string ScanOf(Iterator& iterator) {
    std::string shown, backward;
    const auto entry = [&] { return Concat(iterator.key(), "=", iterator.value()); };
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next())
      shown += Concat(shown.empty() ? "" : " ", entry());
    EXPECT_OK(iterator.status());
    for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev())
      backward = Concat(entry(), backward.empty() ? "" : " ", backward);
    EXPECT_OK(iterator.status());
    EXPECT_EQ(backward, shown);
    return shown;
  }
  std::string Scan(const ReadOptions& options = {}) { return ScanOf(*db_->NewIterator(options)); }

  // "2 0 1": tables in each level, down to the deepest that has any.
  std::string Levels() {
    const Statistics statistics = db_->GetStatistics();
    std::string shown;
    std::string zeros;
    for (const LevelStatistics& level : statistics.levels) {
      zeros += Concat(zeros.empty() && shown.empty() ? "" : " ", level.tables);
      if (level.tables > 0) shown += std::exchange(zeros, "");
    }
    return shown;
  }
  // From now on calls of this kind fail for files whose paths end with `suffix`.
  void Fail(FileOperation failing, std::string suffix) {
    world_.files->SetFault([=](FileOperation operation, const std::string& path, uint64_t) {
      return operation == failing && path.ends_with(suffix)
                 ? absl::UnavailableError(Concat(path, ": broken"))
                 : absl::OkStatus();
    });
  }
  uint64_t EntriesInTables() { return db_->GetStatistics().total.entries; }

  World world_;
  Options options_;
  std::unique_ptr<DB> db_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_ENGINE_STORE_TEST_H_
