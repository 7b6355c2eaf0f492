// A cluster that does not answer, is full, or has evicted the client; rights; forked children;
// options.
#include "lsm/rados/rados_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/status.h"
#include "lsm/file_system.h"
#include "lsm/object_pool.h"
#include "lsm/rados.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/lsm/rados/test_cluster.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::InChild;
using testing_support::ScratchDir;
using testing_support::StatusIs;
using testing_support::TestCluster;

constexpr uint64_t kMinute = 60'000'000'000;

class RadosPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(cluster_.status());
    ASSERT_OK_AND_ASSIGN(pool_, RadosPool::Connect(TestCluster::Options()));
    ASSERT_OK(pool_->Write(object_, {}));
  }

  static ObjectWrite Bytes(uint64_t offset, std::string_view bytes) {
    ObjectWrite write;
    write.offset = offset;
    write.bytes = bytes;
    return write;
  }
  absl::StatusOr<uint64_t> Size(ObjectPool& pool) {
    const absl::StatusOr<ObjectContents> contents = pool.Read(object_, {});
    if (!contents.ok()) return contents.status();
    return contents->size_bytes;
  }
  auto Named(absl::StatusCode code, const std::string& text) {
    return StatusIs(code, AllOf(HasSubstr(object_), HasSubstr(text)));
  }
  static absl::StatusOr<std::unique_ptr<RadosPool>> ConnectWithBound(uint64_t millis) {
    RadosOptions options = TestCluster::Options();
    options.give_up_after_millis = millis;
    return RadosPool::Connect(options);
  }
  static std::chrono::nanoseconds Time(const std::function<void()>& body) {
    const auto began = std::chrono::steady_clock::now();
    body();
    return std::chrono::steady_clock::now() - began;
  }
  // Calls `attempt` until it returns true, for at most half a minute.
  static bool Eventually(const std::function<bool()>& attempt) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!attempt()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }

  const std::string object_ = TestCluster::UniqueName();
  TestCluster cluster_;
  std::unique_ptr<RadosPool> pool_;
};

// Leaves the cluster as it was before.
class DisturbedPoolTest : public RadosPoolTest {
 protected:
  void SetUp() override {
    Undo();  // an earlier test may have been killed
    RadosPoolTest::SetUp();
  }
  void TearDown() override { Undo(); }

 private:
  void Undo() {
    ASSERT_OK(cluster_.status());
    EXPECT_OK(cluster_.Command(R"({"prefix": "osd unset", "key": "pause"})"));
    EXPECT_OK(cluster_.CommandOsd(R"({"prefix": "injectfull", "type": "none", "count": 0})"));
  }
};

TEST_F(DisturbedPoolTest, GivesUpCallsThatTakeTooLong) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RadosPool> pool, ConnectWithBound(1000));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<RadosPool> ended, ConnectWithBound(1000));
  ASSERT_OK(pool->Write(object_, Bytes(0, "before")));
  ASSERT_OK(cluster_.Command(R"({"prefix": "osd set", "key": "pause"})"));
  // Each client obeys once it has heard of the pause.
  for (RadosPool* const client : {pool.get(), ended.get()})
    ASSERT_TRUE(Eventually([&] { return !client->Write(object_, {}).ok(); }));
  const auto unknown = Named(absl::StatusCode::kUnknown, "1000 ms");
  EXPECT_THAT(pool->Write(object_, Bytes(0, "later")), unknown);
  EXPECT_THAT(pool->Lock(object_, "A", kMinute), unknown);
  EXPECT_THAT(pool->Renew(object_, "A", kMinute), unknown);
  EXPECT_THAT(pool->Unlock(object_, "A"), unknown);
  EXPECT_THAT(pool->Read(object_, {}), Named(absl::StatusCode::kUnavailable, "1000 ms"));
  // The bound holds from the start of a call, not from each wait.
  EXPECT_LT(Time([&] {
              std::vector<ObjectReadRequest> requests(20, {object_, {}, absl::UnknownError("")});
              pool->ReadMany(requests);
              for (const ObjectReadRequest& request : requests)
                EXPECT_THAT(request.contents, Named(absl::StatusCode::kUnavailable, "1000 ms"));
            }),
            std::chrono::seconds(3));
  EXPECT_LT(Time([&] {
              std::vector<std::unique_ptr<PendingObjectWrite>> writes;
              for (int i = 0; i < 20; ++i)
                writes.push_back(pool->StartWrite(object_, Bytes(0, "latest")));
              for (const auto& write : writes) EXPECT_THAT(write->Wait(), unknown);
            }),
            std::chrono::seconds(3));
  // A client may end before the cluster answers.
  EXPECT_THAT(ended->Write(object_, Bytes(0, "late")), unknown);
  EXPECT_LT(Time([&] { ended.reset(); }), std::chrono::seconds(10));
  ASSERT_OK(cluster_.Command(R"({"prefix": "osd unset", "key": "pause"})"));
  // The cluster had not seen these calls, and librados does not send them again.
  ASSERT_TRUE(Eventually([&] { return pool->Write(object_, Bytes(6, "!")).ok(); }));
  ObjectRead all;
  all.bytes_max = 100;
  ASSERT_OK_AND_ASSIGN(const ObjectContents contents, pool->Read(object_, all));
  EXPECT_EQ(contents.bytes, "before!");
}

// Without a bound a call waits until the cluster answers.
TEST_F(DisturbedPoolTest, WaitsForTheCluster) {
  ASSERT_OK(cluster_.Command(R"({"prefix": "osd set", "key": "pause"})"));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    EXPECT_OK(cluster_.Command(R"({"prefix": "osd unset", "key": "pause"})"));
  });
  EXPECT_OK(pool_->Write(object_, Bytes(0, "bytes")));
  EXPECT_OK(pool_->Lock(object_, "A", kMinute));
  later.join();
  ASSERT_OK_AND_ASSIGN(const uint64_t size, Size(*pool_));
  EXPECT_EQ(size, 5u);
}

TEST_F(DisturbedPoolTest, AFullPoolRefusesGrowthAndNothingElse) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RadosPool> pool, ConnectWithBound(10'000));
  ObjectWrite small = Bytes(0, "0123456789");
  small.set_entries["old"] = "1";
  ASSERT_OK(pool->Write(object_, small));
  ASSERT_OK(cluster_.CommandOsd(R"({"prefix": "injectfull", "type": "full", "count": 100000000})"));
  uint64_t end = 10;
  absl::Status status;
  EXPECT_TRUE(Eventually([&] {
    status = pool->Write(object_, Bytes(end++, "x"));
    return !status.ok();
  }));
  EXPECT_THAT(status, Named(absl::StatusCode::kResourceExhausted, "full"));
  // The OSD of another object may hear of it later.
  EXPECT_TRUE(Eventually([&] {
    status = pool->Write(object_ + "new" + std::to_string(end++), {});
    return !status.ok();
  }));
  EXPECT_THAT(status, Named(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_OK(pool->Write(object_, Bytes(0, "same")));
  ObjectWrite entries;
  entries.set_attributes["owner"] = "B";
  entries.remove_entries = {"old"};
  EXPECT_OK(pool->Write(object_, entries));
  EXPECT_OK(pool->Lock(object_, "A", kMinute));
  EXPECT_OK(pool->Renew(object_, "A", kMinute));
  EXPECT_OK(pool->Unlock(object_, "A"));
  EXPECT_OK(pool->Read(object_, {}));
  ObjectWrite remove;
  remove.remove = true;
  EXPECT_OK(pool->Write(object_, remove));
  ASSERT_OK(cluster_.CommandOsd(R"({"prefix": "injectfull", "type": "none", "count": 0})"));
  EXPECT_TRUE(Eventually([&] { return pool->Write(object_, small).ok(); }));
}

TEST_F(RadosPoolTest, AnEvictedClientIsRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RadosPool> other,
                       RadosPool::Connect(TestCluster::Options()));
  ASSERT_OK(other->Lock(object_, "A", kMinute));
  ASSERT_OK(cluster_.EvictHolder(object_));
  const auto evicted = Named(absl::StatusCode::kPermissionDenied, "evicted");
  EXPECT_TRUE(Eventually([&] { return !other->Write(object_, Bytes(0, "x")).ok(); }));
  EXPECT_THAT(other->Write(object_, Bytes(0, "x")), evicted);
  EXPECT_THAT(other->Read(object_, {}), evicted);
  EXPECT_THAT(other->Renew(object_, "A", kMinute), evicted);
  EXPECT_OK(pool_->Write(object_, Bytes(0, "y")));
  // A new client of the same process, and the same client once the eviction has ended.
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RadosPool> again,
                       RadosPool::Connect(TestCluster::Options()));
  EXPECT_OK(again->Write(object_, Bytes(0, "z")));
  ASSERT_OK(cluster_.EndEvictions());
  EXPECT_TRUE(Eventually([&] { return other->Renew(object_, "A", kMinute).ok(); }));
  EXPECT_OK(other->Write(object_, Bytes(0, "x")));
}

// The tests' user has these rights and no others.
TEST_F(RadosPoolTest, AUserNeedsToReadWriteAndLock) {
  const ScratchDir scratch;
  const std::string pool = std::string(" pool=") + testing_support::kTestPool;
  const auto attempt = [&](const std::string& rights) -> absl::Status {
    TRELLIS_ASSIGN_OR_RETURN(const RadosOptions options,
                             cluster_.AddUser(rights, scratch.path() + "/ceph.conf"));
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<RadosPool> user, RadosPool::Connect(options));
    TRELLIS_RETURN_IF_ERROR(user->Write(object_, Bytes(0, "x")));
    TRELLIS_RETURN_IF_ERROR(user->Read(object_, {}).status());
    TRELLIS_RETURN_IF_ERROR(user->Lock(object_, "A", kMinute));
    TRELLIS_RETURN_IF_ERROR(user->Renew(object_, "A", kMinute));
    return user->Unlock(object_, "A");
  };
  EXPECT_OK(attempt("allow rwx" + pool));
  const auto refused = Named(absl::StatusCode::kPermissionDenied, "the user lacks a right");
  for (const std::string rights : {"rw", "rx", "wx"})
    EXPECT_THAT(attempt("allow " + rights + pool), refused) << rights;
  EXPECT_THAT(attempt("allow rwx pool=another"), refused);
  // The lock is a class of Ceph's OSDs.  This right does not cover calls that also read.
  EXPECT_THAT(
      attempt("allow rw" + pool + ", allow pool " + testing_support::kTestPool + " class lock"),
      refused);
}

TEST_F(RadosPoolTest, AForkedChildIsRefused) {
  ObjectWrite write;
  const std::string bytes(1 << 20, 'b');
  std::unique_ptr<PendingObjectWrite> in_flight = pool_->StartWrite(object_, Bytes(0, bytes));
  EXPECT_EQ(InChild([&] {
              ::alarm(20);  // ends a child that waits for threads of its parent
              const absl::Status statuses[] = {pool_->Write(object_, {}),
                                               pool_->Read(object_, {}).status(),
                                               pool_->Lock(object_, "A", kMinute),
                                               pool_->Renew(object_, "A", kMinute),
                                               pool_->Unlock(object_, "A"),
                                               pool_->StartWrite(object_, {})->Wait(),
                                               in_flight->Wait()};
              for (const absl::Status& status : statuses) {
                if (!absl::IsFailedPrecondition(status)) return status.ToString();
              }
              in_flight.reset();
              pool_.reset();
              return std::string();
            }),
            "");
  EXPECT_OK(in_flight->Wait());
  ASSERT_OK_AND_ASSIGN(const uint64_t size, Size(*pool_));
  EXPECT_EQ(size, bytes.size());
}

TEST_F(RadosPoolTest, RefusesNamesThatRadosWouldCut) {
  const std::string name("a\0b", 3);
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(pool_->Write(name, {}), refused);
  EXPECT_THAT(pool_->Read(name, {}), refused);
  EXPECT_THAT(pool_->Lock(name, "A", kMinute), refused);
  ObjectWrite attribute, guard;
  attribute.set_attributes[name] = "x";
  guard.attributes_below[name] = "x";
  EXPECT_THAT(pool_->Write(object_, attribute), refused);
  EXPECT_THAT(pool_->Write(object_, guard), refused);
  ObjectRead after;
  after.entries_after = name;
  EXPECT_THAT(pool_->Read(object_, after), refused);
}

TEST_F(RadosPoolTest, ErrorsOfOpeningNameTheirReason) {
  RadosOptions options;
  EXPECT_THAT(OpenRados(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pool")));
  options.pool = "no-such-pool";
  EXPECT_THAT(OpenRados(options), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no-such-pool")));
  options.config_file = "/no/such/ceph.conf";
  EXPECT_THAT(OpenRados(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/no/such/ceph.conf")));
  options = TestCluster::Options();
  options.lock_millis = 0;
  EXPECT_THAT(OpenRados(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lock_millis")));
}

TEST_F(RadosPoolTest, AnotherClientTakesADirectoryOver) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileSystem> first, OpenRados(TestCluster::Options()));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileSystem> second, OpenRados(TestCluster::Options()));
  const std::string path = "/" + object_;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       first->OpenDirectory(path, /*create=*/true));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock,
                       directory->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log,
                       directory->CreateExclusive("000001.log"));
  ASSERT_OK(log->Append("acknowledged"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> same,
                       second->OpenDirectory(path, /*create=*/false));
  EXPECT_THAT(same->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(path)));
  lock.reset();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> taken,
                       same->Lock("LOCK", LockKind::kExclusive));
  const absl::Status status = log->Append("late");
  EXPECT_TRUE(IsTakenOver(status));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("taken over by host "),
                                     HasSubstr("process " + std::to_string(::getpid())))));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*same, "000001.log", 100));
  EXPECT_EQ(bytes, "acknowledged");
}

}  // namespace
}  // namespace lsm
