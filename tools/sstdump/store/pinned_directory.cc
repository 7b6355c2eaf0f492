#include "tools/sstdump/store/pinned_directory.h"

#include <cstdint>
#include <span>
#include <utility>

#include "lsm/bytes/status.h"

namespace tools {
namespace {

class SharedFile : public lsm::ReadFile {
 public:
  explicit SharedFile(std::shared_ptr<lsm::ReadFile> file) : file_(std::move(file)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    return file_->ReadAt(offset, buffer);
  }
  absl::StatusOr<uint64_t> Size() const override { return file_->Size(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::shared_ptr<lsm::ReadFile> file_;
};

absl::Status OnlyReads() { return absl::UnimplementedError("sstdump only reads"); }

}  // namespace

PinnedDirectory::PinnedDirectory(std::shared_ptr<lsm::Directory> directory)
    : directory_(std::move(directory)) {}
PinnedDirectory::~PinnedDirectory() = default;

absl::Status PinnedDirectory::Pin(const std::string& name) {
  if (pinned_.contains(name)) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::ReadFile> file,
                           directory_->OpenRead(name, lsm::ReadMode::kBuffered));
  pinned_.emplace(name, std::move(file));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<lsm::ReadFile>> PinnedDirectory::OpenRead(std::string_view name,
                                                                         lsm::ReadMode mode) {
  const auto pinned = pinned_.find(name);
  if (pinned == pinned_.end()) return directory_->OpenRead(name, mode);
  return std::make_unique<SharedFile>(pinned->second);
}

absl::StatusOr<lsm::FileInfo> PinnedDirectory::Stat(std::string_view name) {
  const auto pinned = pinned_.find(name);
  if (pinned == pinned_.end()) return directory_->Stat(name);
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t size_bytes, pinned->second->Size());
  return lsm::FileInfo{size_bytes};
}

absl::StatusOr<std::unique_ptr<lsm::AppendFile>> PinnedDirectory::CreateExclusive(
    std::string_view /*name*/) {
  return OnlyReads();
}
absl::Status PinnedDirectory::Rename(std::string_view /*from*/, std::string_view /*to*/) {
  return OnlyReads();
}
absl::Status PinnedDirectory::Remove(std::string_view /*name*/) { return OnlyReads(); }
absl::Status PinnedDirectory::Sync() { return OnlyReads(); }
absl::Status PinnedDirectory::ForgetFailedSync() { return OnlyReads(); }
absl::Status PinnedDirectory::AtomicReplace(std::string_view /*name*/, std::string_view /*bytes*/,
                                            std::optional<std::string_view> /*expected*/,
                                            const std::function<void()>& /*before_swap*/) {
  return OnlyReads();
}
absl::StatusOr<std::unique_ptr<lsm::FileLock>> PinnedDirectory::Lock(std::string_view /*name*/,
                                                                     lsm::LockKind /*kind*/) {
  return OnlyReads();
}

}  // namespace tools
