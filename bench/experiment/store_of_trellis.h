// Trellis, as experiments measure it beside other stores.
#ifndef TRELLIS_BENCH_EXPERIMENT_STORE_OF_TRELLIS_H_
#define TRELLIS_BENCH_EXPERIMENT_STORE_OF_TRELLIS_H_

#include <cstddef>
#include <cstdint>

#include "lsm/options.h"

namespace bench {

// Tables of the size of the write buffer, and four times that in level 1.
inline lsm::Options OptionsOfTrellis(uint64_t write_buffer_bytes, uint64_t block_cache_bytes) {
  lsm::Options options;
  options.write_buffer_bytes = static_cast<size_t>(write_buffer_bytes);
  options.table_bytes = write_buffer_bytes;
  options.level1_bytes = 4 * write_buffer_bytes;
  options.block_cache_bytes = static_cast<size_t>(block_cache_bytes);
  options.compression = lsm::Compression::kNone;  // so that bytes of tables are bytes of entries
  options.reserve_bytes = 0;                      // it would count as bytes on disk
  return options;
}

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_STORE_OF_TRELLIS_H_
