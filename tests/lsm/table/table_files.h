// Files in memory for tests of tables.  They are written once, and read and damaged many times.
// They count their reads.
#ifndef TRELLIS_TESTS_LSM_TABLE_TABLE_FILES_H_
#define TRELLIS_TESTS_LSM_TABLE_TABLE_FILES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace lsm {

inline constexpr const char* kTablePath = "dir/000007.table";

// The state of a ReadFile that a table owns.  The test changes the bytes and reads the counts.
struct FileState {
  std::string bytes;
  std::atomic<uint64_t> reads{0};
  std::atomic<uint64_t> read_bytes{0};
  absl::Status fault;  // what reads return if it is an error
};

class CountingReadFile : public ReadFile {
 public:
  explicit CountingReadFile(std::shared_ptr<FileState> state) : state_(std::move(state)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (!state_->fault.ok()) return state_->fault;
    ++state_->reads;
    if (offset >= state_->bytes.size()) return 0;
    const size_t read_bytes =
        state_->bytes.copy(buffer.data(), buffer.size(), static_cast<size_t>(offset));
    state_->read_bytes += read_bytes;
    return read_bytes;
  }
  absl::StatusOr<uint64_t> Size() const override { return state_->bytes.size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::shared_ptr<FileState> state_;
  const std::string path_ = kTablePath;
};

inline std::shared_ptr<FileState> FileOf(std::string bytes) {
  auto state = std::make_shared<FileState>();
  state->bytes = std::move(bytes);
  return state;
}

// The state of an AppendFile that a builder owns.
struct WrittenState {
  std::string bytes;
  size_t durable_bytes = 0;
  bool closed = false;
  // The call with this number (from 0; Append, Sync and Close count) returns `fault`.
  int fault_at = -1;
  absl::Status fault;
  int calls = 0;

  absl::Status Call() { return calls++ == fault_at ? fault : absl::OkStatus(); }
};

class StringAppendFile : public AppendFile {
 public:
  explicit StringAppendFile(std::shared_ptr<WrittenState> state) : state_(std::move(state)) {}

  absl::Status Append(std::string_view bytes) override {
    const absl::Status status = state_->Call();
    state_->bytes.append(status.ok() ? bytes : bytes.substr(0, bytes.size() / 2));
    return status;
  }
  absl::Status Sync() override {
    const absl::Status status = state_->Call();
    if (status.ok()) state_->durable_bytes = state_->bytes.size();
    return status;
  }
  absl::Status Close() override {
    state_->closed = true;
    return state_->Call();
  }
  uint64_t size_bytes() const override { return state_->bytes.size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::shared_ptr<WrittenState> state_;
  const std::string path_ = kTablePath;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_TABLE_TABLE_FILES_H_
