// The store's files for fuzzers: opens bytes as files, splits files into parts, and corrects
// checksums.
//
// The magic number tells the kind of file: a table, a log (also a manifest), or CURRENT.
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

// Corrects every checksum that can be found, and every field that must equal another one.
void RepairFile(std::string& bytes);

// Splits a file into parts of these kinds.  The first byte of a 'b', 'f' or 'p' is its compression.
//
//   table    'T'  the file id and the number of entries
//            'b'  a data block as it is stored
//            'z'  a compressed data block, expanded
//            'k'  a key of the index
//            'f'  the filter
//            'p'  the properties
//   log      'L'  the header
//            'r'  a record: its durable offset, then its payload
//            'e'  an end record
//            't'  the bytes after the last record
//   CURRENT  'C'  the whole file
//   other    'x'  the whole file; also a partitioned table
std::vector<Part> TakeFileApart(std::string_view bytes);
// Joins parts into a file.  Also corrects the checksum inside a table's filter.
std::string PutFileTogether(const std::vector<Part>& parts);
// The same for a table, but leaves the filter's bytes unchanged.
std::string PutTableTogether(const std::vector<Part>& parts);

// One word per line, an empty line, and a file, for loaders that take more than a file.  The words
// are parts of kind 'a'.
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
