// Stores in Ceph, for World::open_rados.
#ifndef TRELLIS_TOOLS_SSTDUMP_RADOS_STORES_H_
#define TRELLIS_TOOLS_SSTDUMP_RADOS_STORES_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tools/sstdump/world.h"

namespace tools {

// Null if sstdump was built without Ceph.  File systems live as long as the result and its copies.
std::function<absl::StatusOr<Place>(const std::string& uri)> RadosStores();

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_RADOS_STORES_H_
