// In place of rocksdb_store.cc where RocksDB is not compared with.
#include "bench/level_filters/store.h"

namespace bench::level_filters {

absl::StatusOr<std::unique_ptr<Store>> MakeRocksDb(const std::string&, const ComparedStore&,
                                                   const StoreShape&) {
  return absl::UnimplementedError("built without RocksDB: configure with -DTRELLIS_BUILD_PEERS=ON");
}

bool HasRocksDb() { return false; }

}  // namespace bench::level_filters
