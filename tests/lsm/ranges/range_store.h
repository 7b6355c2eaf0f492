// A store whose writes include range deletes.
#ifndef TRELLIS_TESTS_LSM_RANGES_RANGE_STORE_H_
#define TRELLIS_TESTS_LSM_RANGES_RANGE_STORE_H_

#include <optional>
#include <string>
#include <string_view>

#include "lsm/write_batch.h"
#include "tests/lsm/engine/store_test.h"

namespace lsm {

class RangeStoreTest : public StoreTest {
 protected:
  static std::string KeyOf(int number) { return Concat("k", 10'000 + number); }
  void PutAll(int from, int to, std::string_view value = "value") {
    for (int i = from; i < to; ++i) Put(KeyOf(i), value);
  }
  void DeleteRange(std::string_view from, std::optional<std::string_view> to) {
    WriteBatch batch;
    batch.DeleteRange(from, to);
    ASSERT_OK(db_->Write(batch));
  }
  // Fills the memtable, so that it is sealed and waits for its flush.
  void Seal() { Put("~", std::string(options_.write_buffer_bytes, '~')); }
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_RANGES_RANGE_STORE_H_
