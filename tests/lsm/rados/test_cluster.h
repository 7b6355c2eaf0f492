// The Ceph cluster that tests use: the one whose configuration the environment's CEPH_CONF names.
// Tests make a pool in it, fill it, and stop it for moments, so it must be a throw-away cluster.
#ifndef TRELLIS_TESTS_LSM_RADOS_TEST_CLUSTER_H_
#define TRELLIS_TESTS_LSM_RADOS_TEST_CLUSTER_H_

#include <rados/librados.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/rados.h"

namespace testing_support {

inline constexpr const char* kTestPool = "trellis-tests";
// The user of the stores, who has few rights: tools/tasks/cluster.sh.
inline constexpr const char* kTestUser = "trellis";

// Since the OSDs were started.
struct OsdCalls {
  uint64_t reads = 0, writes = 0;  // operations of clients; those that do both are writes
  uint64_t watches = 0;            // now
};

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

  // The sums over all OSDs.
  absl::StatusOr<OsdCalls> CountCalls();

  // Puts the client that has locked the object on the blocklist, for a minute.
  absl::Status EvictHolder(const std::string& object);
  // Empties the blocklist.
  absl::Status EndEvictions();

  // Makes a user with these rights (of the OSDs), and writes a configuration that has its key.
  absl::StatusOr<lsm::RadosOptions> AddUser(const std::string& rights,
                                            const std::string& config_file);

  // For the tests' pool and user.
  static lsm::RadosOptions Options();
  // A text that no other process of tests uses.
  static std::string UniqueName();

 private:
  absl::Status Connect();
  absl::StatusOr<std::string> AskMonitors(const std::string& json);
  // The address of the client that has locked the object.
  absl::StatusOr<std::string> AddressOfHolder(const std::string& object);
  absl::StatusOr<std::string> AskOsd(int osd, const std::string& json);

  rados_t cluster_ = nullptr;
  absl::Status status_;
};

}  // namespace testing_support

#endif  // TRELLIS_TESTS_LSM_RADOS_TEST_CLUSTER_H_
