// The Ceph cluster that tests use: the one whose configuration the environment's CEPH_CONF names.
// Tests make a pool in it, fill it, and stop it for moments, so it must be a throw-away cluster.
#ifndef TRELLIS_TESTS_LSM_RADOS_TEST_CLUSTER_H_
#define TRELLIS_TESTS_LSM_RADOS_TEST_CLUSTER_H_

#include <rados/librados.h>

#include <string>

#include "absl/status/status.h"
#include "lsm/rados.h"

namespace testing_support {

inline constexpr const char* kTestPool = "trellis-tests";

// A client with the rights of an administrator.
class TestCluster {
 public:
  // Connects, and makes the pool if it does not exist.
  TestCluster();
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  // Whether the cluster can be used, and if not, the way to get one.
  const absl::Status& status() const { return status_; }

  // Sends a command, in JSON, to the monitors or to OSD 0.
  absl::Status Command(const std::string& json);
  absl::Status CommandOsd(const std::string& json);

  // The address of the client that has locked the object.
  absl::StatusOr<std::string> AddressOfHolder(const std::string& object);

  // For the tests' pool.
  static lsm::RadosOptions Options();
  // A text that no other process of tests uses.
  static std::string UniqueName();

 private:
  absl::Status Connect();

  rados_t cluster_ = nullptr;
  absl::Status status_;
};

}  // namespace testing_support

#endif  // TRELLIS_TESTS_LSM_RADOS_TEST_CLUSTER_H_
