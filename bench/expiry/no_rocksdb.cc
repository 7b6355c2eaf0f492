// Replaces rocksdb_store.cc in builds without RocksDB.
#include "bench/expiry/store.h"

namespace bench::expiry {

absl::StatusOr<std::unique_ptr<Store>> MakeRocksDb(const StoreSettings&) {
  return absl::UnimplementedError("built without RocksDB: configure with -DTRELLIS_BUILD_PEERS=ON");
}

bool HasRocksDb() { return false; }

}  // namespace bench::expiry
