// The contracts of an object pool and of a file system, on a Ceph cluster.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/file_system.h"
#include "lsm/object_pool.h"
#include "lsm/rados.h"
#include "lsm/rados/rados_pool.h"
#include "tests/lsm/fs/file_system_contract.h"
#include "tests/lsm/objects/object_pool_contract.h"
#include "tests/lsm/rados/test_cluster.h"

namespace lsm {
namespace {

using testing_support::TestCluster;

class RadosPoolBackend final : public PoolBackend {
 public:
  RadosPoolBackend() {
    status_ = TestCluster().status();
    if (status_.ok()) status_ = Connect(&pool_);
    if (status_.ok()) status_ = Connect(&other_pool_);
  }
  absl::Status status() const override { return status_; }
  ObjectPool& pool() override { return *pool_; }
  ObjectPool& other_pool() override { return *other_pool_; }
  void Pass(uint64_t nanos) override {
    std::this_thread::sleep_for(std::chrono::nanoseconds(nanos));
  }
  std::string prefix() const override { return prefix_; }

 private:
  static absl::Status Connect(std::unique_ptr<ObjectPool>* pool) {
    absl::StatusOr<std::unique_ptr<RadosPool>> made = RadosPool::Connect(TestCluster::Options());
    if (made.ok()) *pool = *std::move(made);
    return made.status();
  }

  const std::string prefix_ = TestCluster::UniqueName() + ":";
  absl::Status status_;
  std::unique_ptr<ObjectPool> pool_, other_pool_;
};

INSTANTIATE_TEST_SUITE_P(Rados, ObjectPoolContractTest,
                         testing::Values(PoolFactory{
                             "Rados", [] { return std::make_unique<RadosPoolBackend>(); }}),
                         [](const auto& instance) { return instance.param.name; });

class RadosBackend final : public Backend {
 public:
  RadosBackend() {
    status_ = TestCluster().status();
    if (!status_.ok()) return;
    absl::StatusOr<std::unique_ptr<FileSystem>> made = OpenRados(TestCluster::Options());
    if (made.ok()) file_system_ = *std::move(made);
    status_ = made.status();
  }
  absl::Status status() const override { return status_; }
  FileSystem& file_system() override { return *file_system_; }
  std::string root() const override { return root_; }
  bool has_all_locks() const override { return false; }
  bool needs_sync() const override { return true; }
  bool allocates() const override { return false; }

 private:
  const std::string root_ = "/" + TestCluster::UniqueName();
  absl::Status status_;
  std::unique_ptr<FileSystem> file_system_;
};

INSTANTIATE_TEST_SUITE_P(Rados, FileSystemContractTest,
                         testing::Values(BackendFactory{
                             "Rados", [] { return std::make_unique<RadosBackend>(); }}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace lsm
