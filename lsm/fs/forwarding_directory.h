// A directory that forwards every call to another one.  Base class of directories that change some
// calls.
#ifndef TRELLIS_LSM_FS_FORWARDING_DIRECTORY_H_
#define TRELLIS_LSM_FS_FORWARDING_DIRECTORY_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

class ForwardingDirectory : public Directory {
 public:
  explicit ForwardingDirectory(std::unique_ptr<Directory> directory)
      : directory_(std::move(directory)) {}

  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                     ReadMode mode) override {
    return directory_->OpenRead(name, mode);
  }
  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    return directory_->CreateExclusive(name);
  }
  absl::StatusOr<std::vector<std::string>> List() override { return directory_->List(); }
  absl::StatusOr<std::vector<std::string>> ListAsOpened() override {
    return directory_->ListAsOpened();
  }
  absl::StatusOr<FileInfo> Stat(std::string_view name) override { return directory_->Stat(name); }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    return directory_->Rename(from, to);
  }
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override {
    return directory_->Link(name, &to == this ? *directory_ : to, new_name);
  }
  // A directory that changes Remove changes RemoveAll, too.  RemoveLater is not forwarded: it calls
  // RemoveAll, so it has the same changes.
  absl::Status Remove(std::string_view name) override { return directory_->Remove(name); }
  std::vector<absl::Status> RemoveAll(std::span<const std::string> names) override {
    return directory_->RemoveAll(names);
  }
  absl::StatusOr<uint64_t> FreeBytes() override { return directory_->FreeBytes(); }
  absl::StatusOr<uint64_t> CapacityBytes() override { return directory_->CapacityBytes(); }
  absl::Status Sync() override { return directory_->Sync(); }
  absl::Status ForgetFailedSync() override { return directory_->ForgetFailedSync(); }
  using Directory::AtomicReplace;
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override {
    return directory_->AtomicReplace(name, bytes, expected, before_swap);
  }
  void HoldNames() override { directory_->HoldNames(); }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(std::string_view name, LockKind kind) override {
    return directory_->Lock(name, kind);
  }
  absl::StatusOr<std::shared_ptr<const void>> PinTables() override {
    return directory_->PinTables();
  }
  absl::StatusOr<bool> Contains(const std::string& path) override {
    return directory_->Contains(path);
  }
  const std::string& path() const override { return directory_->path(); }

 protected:
  Directory& directory() const { return *directory_; }

 private:
  const std::unique_ptr<Directory> directory_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_FORWARDING_DIRECTORY_H_
