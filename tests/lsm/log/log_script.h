// Writes logs with a few records, for the tests that damage them.
#ifndef TRELLIS_TESTS_LSM_LOG_LOG_SCRIPT_H_
#define TRELLIS_TESTS_LSM_LOG_LOG_SCRIPT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/log/log_writer.h"
#include "tests/lsm/log/string_files.h"
#include "tests/support/status_matchers.h"

namespace lsm {

// The unit that a disk writes whole.  Not taken from kSectorBytes, so that the tests check the
// format's assumption.
inline constexpr size_t kDiskSectorBytes = 512;

// Writes a log and keeps the payload and the end of each record.
class Script {
 public:
  explicit Script(uint64_t file_id = 0xfeedface) {
    writer_ =
        LogWriter::Create(std::make_unique<StringAppendFile>(state_), LogKind::kWriteAhead, file_id)
            .value();
  }

  Script& Append(std::string payload) {
    EXPECT_OK(writer_->Append(payload));
    payloads_.push_back(std::move(payload));
    ends_.push_back(state_->bytes.size());
    return *this;
  }
  Script& Sync() {
    EXPECT_OK(writer_->Sync());
    return *this;
  }
  Script& Close(bool sync = true) {
    EXPECT_OK(writer_->Close(sync));
    return *this;
  }

  const std::string& bytes() const { return state_->bytes; }
  size_t durable_bytes() const { return state_->durable_bytes; }
  const std::vector<std::string>& payloads() const { return payloads_; }
  // Where record `i` ends.
  size_t end_of(size_t i) const { return ends_[i]; }
  size_t start_of(size_t i) const { return i == 0 ? kLogHeaderBytes : ends_[i - 1]; }
  size_t durable_records() const {
    size_t count = 0;
    while (count < ends_.size() && ends_[count] <= durable_bytes()) ++count;
    return count;
  }

 private:
  std::shared_ptr<AppendFileState> state_ = std::make_shared<AppendFileState>();
  std::unique_ptr<LogWriter> writer_;
  std::vector<std::string> payloads_;
  std::vector<size_t> ends_;
};

inline std::string Text(size_t size) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) text += "value " + std::to_string(i) + ", ";
  text.resize(size);
  return text;
}

// A payload of zeros with few other bytes.  So a lost sector, which reads as zeros, may differ from
// the written one in a single bit.
inline std::string Sparse(size_t size, size_t every) {
  std::string bytes(size, '\0');
  for (size_t i = every / 2; i < size; i += every) bytes[i] = '\x10';
  return bytes;
}

inline bool IsPrefix(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

inline std::string Flipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_LOG_LOG_SCRIPT_H_
