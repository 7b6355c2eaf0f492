// Files that look like tables to a CachedFileSystem.
#ifndef TRELLIS_TESTS_LSM_PIECES_TABLE_BYTES_H_
#define TRELLIS_TESTS_LSM_PIECES_TABLE_BYTES_H_

#include <cstdint>
#include <string>

#include "lsm/block/format.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/split_mix.h"

namespace lsm {

// A file of that size with the header and the footer of a table.  Its other bytes are drawn from
// the id and `variant`.
inline std::string TableBytes(uint64_t file_id, uint64_t bytes, uint64_t variant = 0) {
  std::string table = EncodeTableHeader(file_id);
  SplitMix random(file_id * 1000 + variant);
  while (table.size() < bytes - kFooterBytes) AppendFixed64(&table, random.Next());
  table.resize(bytes - kFooterBytes);
  Footer footer;
  footer.file_id = file_id;
  footer.file_bytes = bytes;
  footer.entries = variant;
  const uint64_t end = bytes - kFooterBytes;
  footer.properties = {end - kBlockTrailerBytes - 10, 10};
  footer.index = {footer.properties.offset - kBlockTrailerBytes - 10, 10};
  return table + footer.Encode();
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_PIECES_TABLE_BYTES_H_
