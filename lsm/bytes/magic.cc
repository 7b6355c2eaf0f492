#include "lsm/bytes/magic.h"

#include <cstddef>

namespace lsm::inline TRELLIS_ABI {

bool BeginsWithMagic(std::string_view bytes, std::string_view magic) {
  if (bytes.size() < magic.size()) return false;
  size_t others = 0;
  for (size_t i = 0; i < magic.size(); ++i) others += bytes[i] != magic[i];
  return others <= 1;
}

bool IsPieceOfMagic(std::string_view bytes, std::string_view magic) {
  return magic.starts_with(bytes.substr(0, bytes.find_last_not_of('\0') + 1));
}

}  // namespace lsm
