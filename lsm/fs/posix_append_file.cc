#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/posix_files.h"
#include "lsm/threads/process_mark.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kCachePageBytes = 4096;

// Append passes the bytes to the kernel at once, since a log promises that they survive the
// process.  Callers that want fewer, larger writes buffer them first.
class PosixAppendFile final : public AppendFile {
 public:
  PosixAppendFile(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  absl::Status Append(std::string_view bytes) override {
    TRELLIS_RETURN_IF_ERROR(process_.Check(path_));
    while (!bytes.empty()) {
      const ssize_t length =
          Uninterrupted([&] { return ::write(file_.get(), bytes.data(), bytes.size()); });
      if (length < 0) return PosixError(errno, path_, Concat("write at offset ", size_bytes_));
      size_bytes_ += static_cast<uint64_t>(length);
      bytes.remove_prefix(static_cast<size_t>(length));
    }
    return absl::OkStatus();
  }

  absl::Status Allocate(uint64_t bytes) override {
    TRELLIS_RETURN_IF_ERROR(process_.Check(path_));
    if (bytes == 0) return absl::OkStatus();  // fallocate would fail
    // Not posix_fallocate, which writes into each block if the file system does not support it.
    const int failed = Uninterrupted([&] {
      return ::fallocate(file_.get(), 0, static_cast<off_t>(size_bytes_),
                         static_cast<off_t>(bytes));
    });
    if (failed != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) return AppendFile::Allocate(bytes);
    if (failed != 0)
      return PosixError(errno, path_, Concat("allocate ", bytes, " bytes at offset ", size_bytes_));
    if (::lseek(file_.get(), static_cast<off_t>(size_bytes_ + bytes), SEEK_SET) < 0)
      return PosixError(errno, path_, "seek");
    size_bytes_ += bytes;
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    // After a failed fdatasync the kernel marks the lost pages as clean, so the next call would
    // falsely succeed.  Keeps the first error.
    if (!sync_status_.ok()) return sync_status_;
    TRELLIS_RETURN_IF_ERROR(process_.Check(path_));
    if (Uninterrupted([&] { return ::fdatasync(file_.get()); }) != 0) {
      sync_status_ = CatchOutOfMemory([&] { return PosixError(errno, path_, "sync"); });
    }
    return sync_status_;
  }

  void StartWriteback() override {
    // Only whole pages: a partial one would be written twice.
    const uint64_t end = size_bytes_ - size_bytes_ % kCachePageBytes;
    if (end == writeback_bytes_ || !process_.Check(path_).ok()) return;
    (void)::sync_file_range(file_.get(), static_cast<off_t>(writeback_bytes_),
                            static_cast<off_t>(end - writeback_bytes_), SYNC_FILE_RANGE_WRITE);
    writeback_bytes_ = end;
  }

  absl::Status Close() override {
    // Linux closes the descriptor even if a signal interrupts the call.
    if (::close(file_.Release()) != 0 && errno != EINTR) return PosixError(errno, path_, "close");
    return absl::OkStatus();
  }

  uint64_t size_bytes() const override { return size_bytes_; }
  const std::string& path() const override { return path_; }

 private:
  Descriptor file_;
  const std::string path_;
  const ProcessMark process_;
  uint64_t size_bytes_ = 0;
  uint64_t writeback_bytes_ = 0;  // end of the part whose writeback has started
  absl::Status sync_status_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AppendFile>> CreatePosixAppendFile(int directory_fd,
                                                                  std::string_view name,
                                                                  std::string path,
                                                                  mode_t file_mode) {
  TRELLIS_ASSIGN_OR_RETURN(
      Descriptor file,
      OpenRegularAt(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL, path, file_mode));
  return std::make_unique<PosixAppendFile>(std::move(file), std::move(path));
}

}  // namespace lsm
