// The calls of an ObjectPool as operations of librados.
#ifndef TRELLIS_LSM_RADOS_RADOS_OPERATIONS_H_
#define TRELLIS_LSM_RADOS_RADOS_OPERATIONS_H_

#include <rados/librados.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/object_pool.h"
#include "lsm/rados/rados_call.h"

namespace lsm::inline TRELLIS_ABI {

// An operation that changes an object.  It copies what it is given.
class RadosWriteOperation {
 public:
  RadosWriteOperation() : op_(rados_create_write_op()) {}
  ~RadosWriteOperation() { rados_release_write_op(op_); }
  RadosWriteOperation(const RadosWriteOperation&) = delete;
  RadosWriteOperation& operator=(const RadosWriteOperation&) = delete;

  rados_write_op_t get() const { return op_; }

 private:
  rados_write_op_t op_;
};

void AddTo(rados_write_op_t op, const ObjectWrite& write);

// Where the answer of a read goes.
class RadosReadOutput final : public RadosOutput {
 public:
  explicit RadosReadOutput(const ObjectRead& read);
  ~RadosReadOutput() override;

  // Adds the read to the operation, whose answer comes here.
  void AddTo(rados_read_op_t op, const ObjectRead& read);
  // The answer, once.  REQUIRES: the operation succeeded.
  absl::StatusOr<ObjectContents> Take(std::string_view object);

 private:
  uint64_t size_bytes_ = 0;
  time_t modified_ = 0;
  rados_xattrs_iter_t attributes_ = nullptr;
  rados_omap_iter_t entries_ = nullptr;  // those asked for by name
  rados_omap_iter_t page_ = nullptr;     // those after a name
  unsigned char has_more_entries_ = 0;
  // Uninitialised: the system provides memory only for what is read.
  const size_t buffer_bytes_;
  const bool wants_more_;  // than the buffer takes
  const std::unique_ptr<char[]> buffer_;
  size_t read_bytes_ = 0;
  int attributes_error_ = 0, entries_error_ = 0, page_error_ = 0, read_error_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RADOS_RADOS_OPERATIONS_H_
