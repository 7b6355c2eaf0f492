#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/concat.h"
#include "lsm/rados.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

absl::Status NoUri(std::string_view uri, std::string_view why) {
  return absl::InvalidArgumentError(bloom::Concat(
      "\"", uri, "\": ", why, "; expected rados://POOL/STORE or rados://USER@POOL/STORE"));
}

}  // namespace

absl::StatusOr<RadosPlace> ParseRadosUri(std::string_view uri) {
  if (!uri.starts_with(kRadosScheme)) return NoUri(uri, "does not begin with rados://");
  if (uri.find('\0') != uri.npos) return NoUri(uri, "contains a zero byte");
  const std::string_view rest = uri.substr(kRadosScheme.size());
  const size_t slash = rest.find('/');
  RadosPlace place;
  place.pool = rest.substr(0, slash);
  if (const size_t at = place.pool.find('@'); at != std::string::npos) {
    place.user = place.pool.substr(0, at);
    place.pool.erase(0, at + 1);
    if (place.user.empty()) return NoUri(uri, "names no user before the @");
  }
  if (place.pool.empty()) return NoUri(uri, "names no pool");
  if (slash != rest.npos) place.path = rest.substr(slash + 1);
  if (place.path.find_first_not_of("/.") == place.path.npos) return NoUri(uri, "names no store");
  return place;
}

}  // namespace lsm
