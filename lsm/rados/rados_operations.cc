#include "lsm/rados/rados_operations.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "bloom/core/concat.h"
#include "lsm/rados/rados_lock.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// More than an OSD takes in one object (osd_max_object_size, 128 MiB by default).
constexpr uint64_t kBufferBytesMax = uint64_t{256} << 20;

// Names, and values if there are any, as librados takes them: it copies.
struct Pieces {
  void Add(std::string_view piece) {
    data.push_back(piece.data());
    sizes.push_back(piece.size());
  }
  std::vector<const char*> data;
  std::vector<size_t> sizes;
};

void AddGuards(rados_write_op_t op, const ObjectWrite& write) {
  for (const auto& [name, value] : write.attributes_equal) {
    rados_write_op_cmpxattr(op, name.c_str(), LIBRADOS_CMPXATTR_OP_EQ, value.data(), value.size());
  }
  // The value that is sent stands on the left side of the comparison.
  for (const auto& [name, value] : write.attributes_below) {
    rados_write_op_cmpxattr(op, name.c_str(), LIBRADOS_CMPXATTR_OP_GT, value.data(), value.size());
  }
  for (const auto& [name, value] : write.entries_equal) {
    rados_write_op_omap_cmp2(op, name.data(), LIBRADOS_CMPXATTR_OP_EQ, value.data(), name.size(),
                             value.size(), nullptr);
  }
}

bool IsGuarded(const ObjectWrite& write) {
  return !write.attributes_equal.empty() || !write.attributes_below.empty() ||
         !write.entries_equal.empty();
}

void AddEntries(rados_omap_iter_t iterator, ObjectValues* entries) {
  char *name = nullptr, *value = nullptr;
  size_t name_bytes = 0, value_bytes = 0;
  while (rados_omap_get_next2(iterator, &name, &value, &name_bytes, &value_bytes) == 0 &&
         name != nullptr) {
    (*entries)[std::string(name, name_bytes)] = std::string(value, value_bytes);
  }
}

}  // namespace

void AddTo(rados_write_op_t op, const ObjectWrite& write) {
  if (IsGuarded(write) || write.remove) {
    rados_write_op_assert_exists(op);
    AddGuards(op, write);
  }
  if (write.must_be_new) {
    rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, nullptr);
  } else if (!IsGuarded(write) && !write.remove) {
    // Removing entries, or changing nothing, does not make the object.
    rados_write_op_create(op, LIBRADOS_CREATE_IDEMPOTENT, nullptr);
  }
  if (write.remove) return rados_write_op_remove(op);
  for (const auto& [name, value] : write.set_attributes)
    rados_write_op_setxattr(op, name.c_str(), value.data(), value.size());
  if (!write.remove_entries.empty()) {
    Pieces names;
    for (const std::string& name : write.remove_entries) names.Add(name);
    rados_write_op_omap_rm_keys2(op, names.data.data(), names.sizes.data(), names.data.size());
  }
  if (!write.set_entries.empty()) {
    Pieces names, values;
    for (const auto& [name, value] : write.set_entries) {
      names.Add(name);
      values.Add(value);
    }
    rados_write_op_omap_set2(op, names.data.data(), values.data.data(), names.sizes.data(),
                             values.sizes.data(), names.data.size());
  }
  if (write.offset) rados_write_op_write(op, write.bytes.data(), write.bytes.size(), *write.offset);
}

RadosReadOutput::RadosReadOutput(const ObjectRead& read)
    : buffer_bytes_(static_cast<size_t>(std::min(read.bytes_max, kBufferBytesMax))),
      wants_more_(read.bytes_max > kBufferBytesMax),
      buffer_(new char[buffer_bytes_]) {}

RadosReadOutput::~RadosReadOutput() {
  // librados makes iterators also for an operation that fails.
  if (attributes_ != nullptr) rados_getxattrs_end(attributes_);
  if (entries_ != nullptr) rados_omap_get_end(entries_);
  if (page_ != nullptr) rados_omap_get_end(page_);
}

void RadosReadOutput::AddTo(rados_read_op_t op, const ObjectRead& read) {
  for (const auto& [name, value] : read.attributes_equal) {
    rados_read_op_cmpxattr(op, name.c_str(), LIBRADOS_CMPXATTR_OP_EQ, value.data(), value.size());
  }
  rados_read_op_stat(op, &size_bytes_, &modified_, nullptr);
  if (read.with_attributes) rados_read_op_getxattrs(op, &attributes_, &attributes_error_);
  if (!read.entries.empty()) {
    Pieces names;
    for (const std::string& name : read.entries) names.Add(name);
    rados_read_op_omap_get_vals_by_keys2(op, names.data.data(), names.data.size(),
                                         names.sizes.data(), &entries_, &entries_error_);
  }
  if (read.entries_after) {
    rados_read_op_omap_get_vals2(op, read.entries_after->c_str(), "", kObjectEntriesMax, &page_,
                                 &has_more_entries_, &page_error_);
  }
  // A read of no bytes would mean the whole object.
  if (buffer_bytes_ > 0) {
    rados_read_op_read(op, read.offset, buffer_bytes_, buffer_.get(), &read_bytes_, &read_error_);
  }
}

absl::StatusOr<ObjectContents> RadosReadOutput::Take(std::string_view object) {
  for (const int error : {attributes_error_, entries_error_, page_error_, read_error_}) {
    if (error >= 0) continue;
    return absl::UnavailableError(
        bloom::Concat(object, ": read: ", RadosErrorText(-error), " (in the answer)"));
  }
  if (wants_more_ && read_bytes_ == buffer_bytes_) {
    return absl::UnavailableError(
        bloom::Concat(object, ": read: more than ", kBufferBytesMax, " bytes at once"));
  }
  ObjectContents contents;
  contents.size_bytes = size_bytes_;
  const char *name = nullptr, *value = nullptr;
  size_t value_bytes = 0;
  while (attributes_ != nullptr &&
         rados_getxattrs_next(attributes_, &name, &value, &value_bytes) == 0 && name != nullptr) {
    if (name != kRadosLockAttribute) contents.attributes[name] = std::string(value, value_bytes);
  }
  if (entries_ != nullptr) AddEntries(entries_, &contents.entries);
  if (page_ != nullptr) AddEntries(page_, &contents.entries);
  contents.has_more_entries = has_more_entries_ != 0;
  contents.bytes.assign(buffer_.get(), read_bytes_);
  return contents;
}

}  // namespace lsm
