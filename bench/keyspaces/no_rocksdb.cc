// Replaces rocksdb_store.cc in builds without RocksDB.
#include "bench/keyspaces/store.h"

namespace bench::keyspaces {

std::unique_ptr<Store> MakeRocksDb(const StoreSettings&) { return nullptr; }

bool HasRocksDb() { return false; }

}  // namespace bench::keyspaces
