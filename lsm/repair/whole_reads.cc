#include "lsm/repair/whole_reads.h"

#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/forwarding_directory.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

class WholeReadFile final : public ReadFile {
 public:
  WholeReadFile(std::unique_ptr<ReadFile> file, uint64_t size_bytes)
      : file_(std::move(file)), size_bytes_(size_bytes) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    TRELLIS_ASSIGN_OR_RETURN(const size_t bytes_read, file_->ReadAt(offset, buffer));
    if (bytes_read < buffer.size() && offset < size_bytes_ && bytes_read < size_bytes_ - offset) {
      return absl::UnavailableError(Concat(path(), ": the read of ", buffer.size(),
                                           " bytes at offset ", offset, " ended after ", bytes_read,
                                           ", but the file has ", size_bytes_, " bytes"));
    }
    return bytes_read;
  }
  absl::StatusOr<uint64_t> Size() const override { return size_bytes_; }
  absl::StatusOr<uint64_t> NextData(uint64_t offset) const override {
    return file_->NextData(offset);
  }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::unique_ptr<ReadFile> file_;
  const uint64_t size_bytes_;  // size when it was opened
};

class WholeReadsDirectory final : public ForwardingDirectory {
 public:
  using ForwardingDirectory::ForwardingDirectory;

  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                     ReadMode mode) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file, directory().OpenRead(name, mode));
    TRELLIS_ASSIGN_OR_RETURN(const uint64_t size_bytes, file->Size());
    return std::make_unique<WholeReadFile>(std::move(file), size_bytes);
  }
};

}  // namespace

std::unique_ptr<Directory> WithWholeReads(std::unique_ptr<Directory> directory) {
  return std::make_unique<WholeReadsDirectory>(std::move(directory));
}

}  // namespace lsm
