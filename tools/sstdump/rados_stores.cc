#include "tools/sstdump/rados_stores.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/rados.h"
#include "tools/sstdump/store/uri_file_system.h"

namespace tools {
namespace {

// A user who waits longer than this would rather know that the cluster does not answer.
constexpr uint64_t kGiveUpAfterMillis = 30'000;

struct Pool {
  std::unique_ptr<lsm::FileSystem> files;
  std::unique_ptr<UriFileSystem> shown;
};

}  // namespace

std::function<absl::StatusOr<Place>(const std::string& uri)> RadosStores() {
  const auto pools = std::make_shared<std::map<std::string, Pool>>();
  return [pools](const std::string& uri) -> absl::StatusOr<Place> {
    TRELLIS_ASSIGN_OR_RETURN(lsm::RadosPlace place, lsm::ParseRadosUri(uri));
    const std::string at = place.user.empty() ? "" : lsm::Concat(place.user, "@");
    const std::string begin = lsm::Concat(lsm::kRadosScheme, at, place.pool, "/");
    Pool& pool = (*pools)[begin];
    if (pool.files == nullptr) {
      lsm::RadosOptions options;
      options.pool = place.pool;
      options.user = place.user;
      options.give_up_after_millis = kGiveUpAfterMillis;
      TRELLIS_ASSIGN_OR_RETURN(pool.files, lsm::OpenRados(options));
      pool.shown = std::make_unique<UriFileSystem>(pool.files.get(), begin);
    }
    return Place{pool.shown.get(), std::move(place.path)};
  };
}

}  // namespace tools
