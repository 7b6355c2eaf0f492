// The store's files for fuzzers: bytes as files, files as parts, and checksums made right again.
//
// The magic says what the bytes are: a table, a log (a manifest is one), or CURRENT.
#ifndef TRELLIS_TESTS_FUZZ_FILES_H_
#define TRELLIS_TESTS_FUZZ_FILES_H_

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
#include "tests/fuzz/loaders.h"

namespace fuzz {

class BytesFile : public lsm::ReadFile {
 public:
  explicit BytesFile(std::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (offset >= bytes_.size()) return 0;
    return bytes_.copy(buffer.data(), buffer.size(), static_cast<size_t>(offset));
  }
  absl::StatusOr<uint64_t> Size() const override { return bytes_.size(); }
  const std::string& path() const override { return path_; }

 private:
  const std::string bytes_;
  const std::string path_ = "dir/000001.file";
};

// Appends to a string, which outlives it.
class StringFile : public lsm::AppendFile {
 public:
  explicit StringFile(std::string* bytes) : bytes_(bytes) {}

  absl::Status Append(std::string_view bytes) override {
    bytes_->append(bytes);
    return absl::OkStatus();
  }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }
  uint64_t size_bytes() const override { return bytes_->size(); }
  const std::string& path() const override { return path_; }

 private:
  std::string* const bytes_;
  const std::string path_ = "dir/000001.file";
};

// Makes every checksum right that can be found, and what must be the same in two places.
void RepairFile(std::string& bytes);

// Parts of a table: 'T' file id and number of entries, 'b' a data block as it is stored (the first
// byte is its compression), 'z' one that is compressed, expanded, 'k' a key of the index, 'f' the
// filter, 'p' the properties.  Of a log: 'L' its header, 'r' a record (durable offset, payload),
// 'e' an end record, 't' what stands behind the last.  Of CURRENT: 'C'.  Of anything else: 'x'.
std::vector<Part> TakeFileApart(std::string_view bytes);
// A filter in a table gets the checksum that is its own too.
std::string PutFileTogether(const std::vector<Part>& parts);
// The same, but the filter's bytes are as they are.
std::string PutTableTogether(const std::vector<Part>& parts);

// Lines of words, an empty line, and a file: for those that take more than a file.  The words are
// parts of kind 'a'.
struct WordsAndFile {
  std::vector<std::string> words;
  std::string file;
};
WordsAndFile SplitWords(std::string_view bytes);
std::string JoinWords(const WordsAndFile& both);
void RepairBehindWords(std::string& bytes);
std::vector<Part> TakeWordsAndFileApart(std::string_view bytes);
std::string PutWordsAndFileTogether(const std::vector<Part>& parts);

}  // namespace fuzz

#endif  // TRELLIS_TESTS_FUZZ_FILES_H_
