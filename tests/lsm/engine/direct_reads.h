// A file system of which the test knows which files are read past the page cache, and says which
// may be.
#ifndef TRELLIS_TESTS_LSM_ENGINE_DIRECT_READS_H_
#define TRELLIS_TESTS_LSM_ENGINE_DIRECT_READS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_system.h"
#include "lsm/fs/forwarding_directory.h"

namespace lsm {

// Asked for each file that is to be read directly: whether it can be.
using AsksForDirectReads = std::function<bool(std::string_view path)>;

class DirectReadsDirectory final : public ForwardingDirectory {
 public:
  DirectReadsDirectory(std::unique_ptr<Directory> base, const AsksForDirectReads& asks)
      : ForwardingDirectory(std::move(base)), asks_(asks) {}
  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                     ReadMode mode) override {
    if (mode == ReadMode::kDirect && !asks_(Concat(path(), "/", name)))
      return absl::InvalidArgumentError(Concat(path(), "/", name, ": no direct I/O here"));
    return directory().OpenRead(name, mode);
  }

 private:
  const AsksForDirectReads asks_;
};

class DirectReads final : public FileSystem {
 public:
  DirectReads(FileSystem* base, AsksForDirectReads asks) : base_(base), asks_(std::move(asks)) {}
  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) override {
    absl::StatusOr<std::unique_ptr<Directory>> directory = base_->OpenDirectory(path, create);
    if (!directory.ok()) return directory.status();
    return std::make_unique<DirectReadsDirectory>(*std::move(directory), asks_);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return base_->RemoveDirectory(path);
  }

 private:
  FileSystem* const base_;
  const AsksForDirectReads asks_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_ENGINE_DIRECT_READS_H_
