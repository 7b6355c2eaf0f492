// Stores in a pool of Ceph RADOS: the library Trellis::rados, which is built with
// TRELLIS_BUILD_RADOS.
//
//   lsm::RadosOptions options;
//   options.pool = "trellis";
//   absl::StatusOr<std::unique_ptr<lsm::FileSystem>> rados = lsm::OpenRados(options);
//   ...
//   environment.file_system = rados->get();  // then DB::Open(..., "store", ...)
//
// object_file_system.h says what differs from POSIX.  lsm/rados/README.md has the settings that the
// pool needs, the contract, the way to a standby, and the proof that no acknowledged write is lost
// when another process takes a store over.
#ifndef TRELLIS_LSM_RADOS_H_
#define TRELLIS_LSM_RADOS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/object_file_system.h"

namespace lsm::inline TRELLIS_ABI {

struct RadosOptions {
  std::string pool;  // exists already
  // Ceph's configuration.  Empty: the file that the environment's CEPH_CONF names, or one in Ceph's
  // default places.  The environment's CEPH_ARGS adds to it.
  std::string config_file = {};
  std::string user = {};  // NAME of client.NAME; empty: admin
  // A call that takes longer returns Unknown (writes) or Unavailable (reads).  It is not repeated,
  // and a write may be applied later.  0: calls wait until the cluster answers.
  uint64_t give_up_after_millis = 0;
  uint64_t lock_millis = 10'000;  // how long a lock stands without being renewed
};

// Connects to the cluster.  Directories and files must be destroyed before the result is.  In a
// forked child every call returns FailedPrecondition.
//
// Errors: InvalidArgument for an option or the configuration, NotFound without the pool,
// Unavailable if the cluster does not answer.  Without `give_up_after_millis` that takes as long as
// Ceph's client_mount_timeout (5 minutes by default).
TRELLIS_API absl::StatusOr<std::unique_ptr<FileSystem>> OpenRados(const RadosOptions& options);

// CollectGarbage (object_file_system.h) in that pool.  Errors of OpenRados, too.
TRELLIS_API absl::StatusOr<GarbageReport> CollectRadosGarbage(const RadosOptions& options);

inline constexpr std::string_view kRadosScheme = "rados://";

// A path in a pool.
struct RadosPlace {
  std::string user;  // as in RadosOptions
  std::string pool;
  std::string path;  // without a slash before it, unless the URI has two
};

// Parses rados://POOL/PATH or rados://USER@POOL/PATH.  InvalidArgument for another text.
TRELLIS_API absl::StatusOr<RadosPlace> ParseRadosUri(std::string_view uri);

}  // namespace lsm

#endif  // TRELLIS_LSM_RADOS_H_
