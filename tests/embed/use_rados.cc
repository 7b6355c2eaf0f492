// A program that uses stores in Ceph, where there is no cluster: every call must say what is
// missing. It prints errors, and exits with 1 if there are any.
#include <iostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lsm/rados.h"

namespace {

int wrong = 0;

void Expect(bool holds, std::string_view what, const absl::Status& status) {
  if (holds) return;
  std::cerr << "wrong: " << what << ": " << status << "\n";
  ++wrong;
}

bool Names(const absl::Status& status, std::string_view text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace

int main() {
  lsm::RadosOptions options{.pool = "trellis", .config_file = "missing/ceph.conf"};
  const absl::Status opened = lsm::OpenRados(options).status();
  Expect(absl::IsInvalidArgument(opened) && Names(opened, "missing/ceph.conf"),
         "OpenRados names the missing configuration", opened);
  const absl::Status collected = lsm::CollectRadosGarbage(options).status();
  Expect(absl::IsInvalidArgument(collected) && Names(collected, "missing/ceph.conf"),
         "CollectRadosGarbage names it", collected);
  options.pool.clear();
  const absl::Status without_pool = lsm::OpenRados(options).status();
  Expect(absl::IsInvalidArgument(without_pool) && Names(without_pool, "RadosOptions::pool"),
         "OpenRados names the missing pool", without_pool);
  const auto place = lsm::ParseRadosUri("rados://bob@trellis/fruit");
  Expect(place.ok() && place->user == "bob" && place->pool == "trellis" && place->path == "fruit",
         "ParseRadosUri", place.status());
  if (wrong == 0) std::cout << "without a cluster: " << opened.message() << "\n";
  return wrong == 0 ? 0 : 1;
}
