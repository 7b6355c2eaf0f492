// Stores in Ceph whose calls on the pool are counted.
#ifndef TRELLIS_TESTS_LSM_RADOS_COUNTING_POOL_H_
#define TRELLIS_TESTS_LSM_RADOS_COUNTING_POOL_H_

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/status.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/object_file_system.h"
#include "lsm/object_pool.h"
#include "lsm/objects/forwarding_pool.h"
#include "lsm/rados.h"
#include "lsm/rados/rados_client.h"
#include "lsm/rados/rados_pool.h"

namespace testing_support {

struct PoolCalls {
  uint64_t reads = 0, writes = 0;              // of logs, manifests and tables
  uint64_t index_reads = 0, index_writes = 0;  // of the directory, with those on its lock
  uint64_t bytes_read = 0;                     // of logs, manifests and tables
};

// Counts the calls.  The process kills itself instead of making more than `calls_max`, if that is
// not 0: so it can die between any two steps of an opening.
class CountingPool final : public lsm::ForwardingPool {
 public:
  CountingPool(ObjectPool* pool, uint64_t calls_max)
      : ForwardingPool(pool), calls_max_(calls_max) {}

  uint64_t reads() const { return reads_ + index_reads_; }
  PoolCalls calls() const { return {reads_, writes_, index_reads_, index_writes_, bytes_read_}; }

  absl::Status Write(const std::string& object, const lsm::ObjectWrite& write) override {
    CountWrite(object);
    return ForwardingPool::Write(object, write);
  }
  absl::StatusOr<lsm::ObjectContents> Read(const std::string& object,
                                           const lsm::ObjectRead& read) override {
    CountCall();
    CountRead(object);
    absl::StatusOr<lsm::ObjectContents> contents = ForwardingPool::Read(object, read);
    CountBytes(contents);
    return contents;
  }
  std::unique_ptr<lsm::PendingObjectWrite> StartWrite(const std::string& object,
                                                      const lsm::ObjectWrite& write) override {
    CountWrite(object);
    return pool().StartWrite(object, write);
  }
  void ReadMany(std::span<lsm::ObjectReadRequest> requests) override {
    CountCall();
    for (const lsm::ObjectReadRequest& request : requests) CountRead(request.object);
    pool().ReadMany(requests);
    for (const lsm::ObjectReadRequest& request : requests) CountBytes(request.contents);
  }
  absl::Status Lock(const std::string& object, const std::string& cookie,
                    uint64_t duration_nanos) override {
    CountWrite(object);
    return ForwardingPool::Lock(object, cookie, duration_nanos);
  }
  absl::Status Renew(const std::string& object, const std::string& cookie,
                     uint64_t duration_nanos) override {
    CountWrite(object);
    return ForwardingPool::Renew(object, cookie, duration_nanos);
  }
  absl::Status Unlock(const std::string& object, const std::string& cookie) override {
    CountWrite(object);
    return ForwardingPool::Unlock(object, cookie);
  }

 private:
  static bool IsIndex(const std::string& object) { return object.starts_with("index:"); }
  void CountCall() {
    if (++calls_ > calls_max_ && calls_max_ > 0) ::kill(::getpid(), SIGKILL);
  }
  void CountRead(const std::string& object) { ++(IsIndex(object) ? index_reads_ : reads_); }
  void CountBytes(const absl::StatusOr<lsm::ObjectContents>& contents) {
    if (contents.ok()) bytes_read_ += contents->bytes.size();
  }
  void CountWrite(const std::string& object) {
    CountCall();
    ++(IsIndex(object) ? index_writes_ : writes_);
  }

  const uint64_t calls_max_;
  std::atomic<uint64_t> calls_{0}, reads_{0}, writes_{0}, index_reads_{0}, index_writes_{0},
      bytes_read_{0};
};

// OpenRados with a pool that counts.
class CountingFiles {
 public:
  static absl::StatusOr<std::unique_ptr<CountingFiles>> Open(const lsm::RadosOptions& options,
                                                             uint64_t calls_max = 0) {
    TRELLIS_ASSIGN_OR_RETURN(auto rados, lsm::RadosPool::Connect(options));
    return std::unique_ptr<CountingFiles>(
        new CountingFiles(std::move(rados), options.lock_millis, calls_max));
  }

  const CountingPool& pool() const { return pool_; }
  lsm::FileSystem* files() { return &files_; }

 private:
  CountingFiles(std::unique_ptr<lsm::RadosPool> rados, uint64_t lock_millis, uint64_t calls_max)
      : rados_(std::move(rados)),
        pool_(rados_.get(), calls_max),
        files_(&pool_, &lsm::SystemRandom(),
               {.lock_nanos = lock_millis * 1'000'000, .holder = lsm::RadosProcess::Name()}) {}

  const std::unique_ptr<lsm::RadosPool> rados_;
  CountingPool pool_;
  lsm::ObjectFileSystem files_;
};

}  // namespace testing_support

#endif  // TRELLIS_TESTS_LSM_RADOS_COUNTING_POOL_H_
