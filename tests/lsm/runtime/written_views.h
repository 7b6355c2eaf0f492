// Writes in memtables, and the views that readers have of them.
#ifndef TRELLIS_TESTS_LSM_RUNTIME_WRITTEN_VIEWS_H_
#define TRELLIS_TESTS_LSM_RUNTIME_WRITTEN_VIEWS_H_

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/runtime/read_view.h"
#include "lsm/write_batch.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class WrittenViews {
 public:
  explicit WrittenViews(size_t recent_max) : recent_max_(recent_max) { view_.memtable = Next(); }

  Sequence last() const { return last_; }
  void Put(std::string_view key, KeyspaceId keyspace = kDefaultKeyspace) {
    WriteBatch batch;
    EncodedBatch::Put(&batch, keyspace, key, "value");
    Write(&batch);
  }
  void Delete(std::string_view key) {
    WriteBatch batch;
    batch.Delete(key);
    Write(&batch);
  }
  void DeleteRange(std::string_view from, std::optional<std::string_view> to) {
    WriteBatch batch;
    batch.DeleteRange(from, to);
    Write(&batch);
  }
  void Seal() { view_.sealed.insert(view_.sealed.begin(), std::exchange(view_.memtable, Next())); }
  // The oldest sealed memtable becomes a table, which no view here has.
  void Flush() { view_.sealed.pop_back(); }
  // The view of a reader that comes now.
  ReadView Now() const { return view_; }

 private:
  std::shared_ptr<Memtable> Next() const { return std::make_shared<Memtable>(last_, recent_max_); }
  void Write(WriteBatch* batch) {
    EncodedBatch::SetFirstSequence(batch, last_ + 1);
    ASSERT_OK(view_.memtable->PrepareBatch(EncodedBatch::Of(*batch)));
    view_.memtable->AddPrepared();
    last_ += batch->count();
  }

  const size_t recent_max_;
  Sequence last_ = 0;
  ReadView view_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_RUNTIME_WRITTEN_VIEWS_H_
