// A whole store in a Ceph cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "lsm/db.h"
#include "lsm/file_system.h"
#include "lsm/options.h"
#include "lsm/rados.h"
#include "tests/lsm/rados/test_cluster.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;
using testing_support::TestCluster;

constexpr int kKeys = 2000;

std::string Key(int i) { return "key" + std::to_string(i); }
std::string Value(int i) { return std::string(1000, 'v') + std::to_string(i); }

class RadosStoreTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(cluster_.status()); }

  // A client of its own, as another machine would have.
  static std::unique_ptr<FileSystem> Client() {
    absl::StatusOr<std::unique_ptr<FileSystem>> files = OpenRados(TestCluster::Options());
    EXPECT_OK(files);
    return files.ok() ? *std::move(files) : nullptr;
  }
  absl::StatusOr<std::unique_ptr<DB>> Open(FileSystem* files) {
    Options options;
    options.environment.file_system = files;
    return DB::Open(name_, options);
  }

  const std::string name_ = TestCluster::UniqueName();
  TestCluster cluster_;
};

TEST_F(RadosStoreTest, KeepsWritesForTheNextClient) {
  const std::unique_ptr<FileSystem> first = Client(), second = Client();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(first.get()));
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(db->Put(Key(i), Value(i)));
      if (i == kKeys / 2) {
        ASSERT_OK(db->Flush());
      }
    }
    EXPECT_THAT(Open(second.get()), StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_OK(db->Close());
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(second.get()));
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get(Key(i)));
    EXPECT_EQ(value, Value(i)) << i;
  }
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string> absent, db->Get("none"));
  EXPECT_EQ(absent, std::nullopt);
}

// The lock of a process that ends without Close expires.
TEST_F(RadosStoreTest, AnotherClientRecoversIt) {
  std::unique_ptr<FileSystem> second = Client();
  ASSERT_TRUE(second != nullptr);
  RadosOptions options = TestCluster::Options();
  options.lock_millis = 500;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileSystem> first, OpenRados(options));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> old, Open(first.get()));
  for (int i = 0; i < 100; ++i) ASSERT_OK(old->Put(Key(i), Value(i)));
  absl::StatusOr<std::unique_ptr<DB>> db = Open(second.get());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (absl::IsFailedPrecondition(db.status()) && std::chrono::steady_clock::now() < end)
    db = Open(second.get());
  ASSERT_OK(db);
  const absl::Status late = old->Put("late", "value");
  EXPECT_FALSE(late.ok());
  EXPECT_THAT(late.ToString(), HasSubstr("taken over by host "));
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, (*db)->Get(Key(i)));
    EXPECT_EQ(value, Value(i)) << i;
  }
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, (*db)->Get("late"));
  EXPECT_EQ(value, std::nullopt);
}

}  // namespace
}  // namespace lsm
