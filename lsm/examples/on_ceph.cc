// The program of lsm/rados/README.md: writes to a store in a pool of Ceph RADOS.
//
//   add_executable(on_ceph on_ceph.cc)
//   target_link_libraries(on_ceph PRIVATE Trellis::rados)
#include <iostream>

#include "lsm/db.h"
#include "lsm/rados.h"

int main() {
  auto pool = lsm::OpenRados({.pool = "trellis"});  // outlives the store
  if (!pool.ok()) return std::cerr << pool.status() << "\n", 1;
  lsm::Options options;
  options.environment.file_system = pool->get();
  options.lock_wait_seconds = 3600;  // a standby waits until the writer closes the store or dies
  auto opened = lsm::DB::Open("fruit", options);
  if (!opened.ok()) return std::cerr << opened.status() << "\n", 1;

  auto written = (*opened)->Put("apple", "red");  // on all replicas when it returns
  auto apple = (*opened)->Get("apple");
  if (lsm::IsTakenOver(written)) std::cerr << "another process has the store now\n";
  if (!written.ok() || !apple.ok()) return std::cerr << written << apple.status() << "\n", 1;
  std::cout << "apple: " << apple->value_or("not found") << "\n";
}
