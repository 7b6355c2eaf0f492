// A file system that opens files for reading with a function of the test.  All other calls go to
// another file system.
#ifndef TRELLIS_TESTS_LSM_ENGINE_WRAPPED_READS_H_
#define TRELLIS_TESTS_LSM_ENGINE_WRAPPED_READS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/fs/forwarding_directory.h"

namespace lsm {

class WrappedReads final : public FileSystem {
 public:
  // Called in place of directory.OpenRead(name, mode).
  using Open = std::function<absl::StatusOr<std::unique_ptr<ReadFile>>(
      Directory& directory, std::string_view name, ReadMode mode)>;

  WrappedReads(FileSystem* base, Open open) : base_(base), open_(std::move(open)) {}

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Directory> base, base_->OpenDirectory(path, create));
    return std::make_unique<WrappedDirectory>(std::move(base), open_);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return base_->RemoveDirectory(path);
  }

 private:
  class WrappedDirectory final : public ForwardingDirectory {
   public:
    WrappedDirectory(std::unique_ptr<Directory> base, const Open& open)
        : ForwardingDirectory(std::move(base)), open_(open) {}
    absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                       ReadMode mode) override {
      return open_(directory(), name, mode);
    }

   private:
    const Open open_;
  };

  FileSystem* const base_;
  const Open open_;
};

// Direct reads (O_DIRECT) of a file work if `can_read` returns true for its path.
inline WrappedReads DirectReads(FileSystem* base,
                                std::function<bool(const std::string& path)> can_read) {
  return {
      base,
      [can_read = std::move(can_read)](Directory& directory, std::string_view name,
                                       ReadMode mode) -> absl::StatusOr<std::unique_ptr<ReadFile>> {
        const std::string path = Concat(directory.path(), "/", name);
        if (mode == ReadMode::kDirect && !can_read(path))
          return absl::InvalidArgumentError(Concat(path, ": no direct I/O here"));
        return directory.OpenRead(name, mode);
      }};
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_ENGINE_WRAPPED_READS_H_
