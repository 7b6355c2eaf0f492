// Replaces rocksdb_store.cc in builds without RocksDB.
#include "bench/level_filters/store.h"

namespace bench::level_filters {

absl::StatusOr<std::unique_ptr<Store>> MakeRocksDb(const std::string&, const ComparedStore&,
                                                   const StoreShape&) {
  return absl::UnimplementedError("built without RocksDB: configure with -DTRELLIS_BUILD_PEERS=ON");
}

bool HasRocksDb() { return false; }

}  // namespace bench::level_filters
