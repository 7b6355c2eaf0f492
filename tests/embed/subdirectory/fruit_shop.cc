// A library that an embedder exports; fruit_buyer.cc uses it.
#include "lsm/db.h"

bool ShopOpens(const char* path) { return lsm::DB::Open(path).ok(); }
