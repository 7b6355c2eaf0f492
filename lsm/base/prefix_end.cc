#include "lsm/base/prefix_end.h"

namespace lsm {

std::optional<std::string> PrefixEnd(std::string_view prefix) {
  while (prefix.ends_with('\xff')) prefix.remove_suffix(1);
  if (prefix.empty()) return std::nullopt;
  std::string end(prefix);
  ++end.back();
  return end;
}

}  // namespace lsm
