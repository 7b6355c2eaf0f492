// A file system of which the test knows which files are read past the page cache, and says which
// may be.
#ifndef TRELLIS_TESTS_LSM_ENGINE_DIRECT_READS_H_
#define TRELLIS_TESTS_LSM_ENGINE_DIRECT_READS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_system.h"

namespace lsm {

// Asked for each file that is to be read directly: whether it can be.
using AsksForDirectReads = std::function<bool(std::string_view path)>;

class DirectReadsDirectory final : public Directory {
 public:
  DirectReadsDirectory(std::unique_ptr<Directory> base, const AsksForDirectReads& asks)
      : base_(std::move(base)), asks_(asks) {}
  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                     ReadMode mode) override {
    if (mode == ReadMode::kDirect && !asks_(Concat(path(), "/", name)))
      return absl::InvalidArgumentError(Concat(path(), "/", name, ": no direct I/O here"));
    return base_->OpenRead(name, mode);
  }
  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    return base_->CreateExclusive(name);
  }
  absl::StatusOr<std::vector<std::string>> List() override { return base_->List(); }
  absl::StatusOr<FileInfo> Stat(std::string_view name) override { return base_->Stat(name); }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    return base_->Rename(from, to);
  }
  absl::Status Remove(std::string_view name) override { return base_->Remove(name); }
  absl::Status Sync() override { return base_->Sync(); }
  absl::StatusOr<uint64_t> FreeBytes() override { return base_->FreeBytes(); }
  absl::Status ForgetFailedSync() override { return base_->ForgetFailedSync(); }
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override {
    return base_->AtomicReplace(name, bytes, expected, before_swap);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(std::string_view name, LockKind kind) override {
    return base_->Lock(name, kind);
  }
  const std::string& path() const override { return base_->path(); }

 private:
  const std::unique_ptr<Directory> base_;
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
