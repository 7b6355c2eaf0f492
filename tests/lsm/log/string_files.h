// Files in strings, for tests that damage logs many thousands of times.
#ifndef TRELLIS_TESTS_LSM_LOG_STRING_FILES_H_
#define TRELLIS_TESTS_LSM_LOG_STRING_FILES_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/file_system.h"
#include "lsm/log/log_reader.h"
#include "lsm/log/log_writer.h"

namespace lsm {

class StringReadFile : public ReadFile {
 public:
  // Each read returns *fault if that is an error.
  explicit StringReadFile(std::string bytes, const absl::Status* fault = nullptr)
      : bytes_(std::move(bytes)), fault_(fault) {}
  // *bytes_read counts the bytes that readers get.
  StringReadFile(std::string bytes, uint64_t* bytes_read)
      : bytes_(std::move(bytes)), bytes_read_(bytes_read) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (fault_ != nullptr && !fault_->ok()) return *fault_;
    if (offset >= bytes_.size()) return 0;
    const size_t count = bytes_.copy(buffer.data(), buffer.size(), static_cast<size_t>(offset));
    if (bytes_read_ != nullptr) *bytes_read_ += count;
    return count;
  }
  absl::StatusOr<uint64_t> Size() const override { return bytes_.size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::string bytes_;
  const absl::Status* const fault_ = nullptr;
  uint64_t* const bytes_read_ = nullptr;
  const std::string path_ = "dir/000001.log";
};

// A test's view of a StringAppendFile, which a log writer owns.
struct AppendFileState {
  std::string bytes;
  size_t durable_bytes = 0;
  int appends = 0;
  int syncs = 0;
  int writebacks = 0;
  int closes = 0;
  absl::Status next_append;  // the result of the next Append
  absl::Status next_sync;
  absl::Status next_close;
};

class StringAppendFile : public AppendFile {
 public:
  explicit StringAppendFile(std::shared_ptr<AppendFileState> state) : state_(std::move(state)) {}

  absl::Status Append(std::string_view bytes) override {
    ++state_->appends;
    // A failed append leaves half of its bytes.
    state_->bytes.append(state_->next_append.ok() ? bytes : bytes.substr(0, bytes.size() / 2));
    return state_->next_append;
  }
  absl::Status Sync() override {
    ++state_->syncs;
    if (state_->next_sync.ok()) state_->durable_bytes = state_->bytes.size();
    return state_->next_sync;
  }
  void StartWriteback() override { ++state_->writebacks; }
  absl::Status Close() override {
    ++state_->closes;
    return state_->next_close;
  }
  uint64_t size_bytes() const override { return state_->bytes.size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::shared_ptr<AppendFileState> state_;
  const std::string path_ = "dir/000001.log";
};

// Everything that a reader gets from a log.
struct LogContents {
  absl::Status status;  // of Open, or of the Next that failed
  std::vector<std::string> payloads;
  LogEnd end = LogEnd::kNotYet;
  uint64_t torn_bytes = 0;
};

inline LogContents ReadLog(std::string bytes, LogKind kind = LogKind::kWriteAhead) {
  LogContents contents;
  auto reader = LogReader::Open(std::make_unique<StringReadFile>(std::move(bytes)), kind);
  if (!reader.ok()) {
    contents.status = reader.status();
    return contents;
  }
  LogReader::Record record;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&record);
    if (!more.ok()) contents.status = more.status();
    if (!more.ok() || !*more) break;
    contents.payloads.emplace_back(record.payload);
  }
  contents.end = (*reader)->end();
  contents.torn_bytes = (*reader)->torn_bytes();
  return contents;
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_LOG_STRING_FILES_H_
