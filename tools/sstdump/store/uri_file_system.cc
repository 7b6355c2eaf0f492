#include "tools/sstdump/store/uri_file_system.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "tools/sstdump/store/pinned_directory.h"

namespace tools {
namespace {

// The status with `begin` before the path at the start of its message.
absl::Status Named(const absl::Status& status, std::string_view begin, std::string_view path) {
  const std::string_view message = lsm::MessageOf(status);
  if (status.ok() || !message.starts_with(path)) return status;
  return absl::Status(status.code(), lsm::Concat(begin, message));
}

class UriFile final : public lsm::ReadFile {
 public:
  UriFile(std::unique_ptr<lsm::ReadFile> file, std::string begin)
      : file_(std::move(file)), begin_(std::move(begin)), path_(begin_ + file_->path()) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    absl::StatusOr<size_t> bytes = file_->ReadAt(offset, buffer);
    if (!bytes.ok()) return Named(bytes.status(), begin_, file_->path());
    return bytes;
  }
  absl::StatusOr<uint64_t> Size() const override {
    absl::StatusOr<uint64_t> size = file_->Size();
    if (!size.ok()) return Named(size.status(), begin_, file_->path());
    return size;
  }
  const std::string& path() const override { return path_; }

 private:
  const std::unique_ptr<lsm::ReadFile> file_;
  const std::string begin_;
  const std::string path_;
};

// Without a pin a PinnedDirectory is one that only reads.
class UriDirectory final : public PinnedDirectory {
 public:
  UriDirectory(std::shared_ptr<lsm::Directory> directory, std::string begin)
      : PinnedDirectory(std::move(directory)),
        begin_(std::move(begin)),
        path_(begin_ + now().path()) {}

  absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenRead(std::string_view name,
                                                          lsm::ReadMode mode) override {
    absl::StatusOr<std::unique_ptr<lsm::ReadFile>> file = now().OpenRead(name, mode);
    if (!file.ok()) return Named(file.status(), begin_, now().path());
    return std::make_unique<UriFile>(*std::move(file), begin_);
  }
  absl::StatusOr<lsm::FileInfo> Stat(std::string_view name) override {
    absl::StatusOr<lsm::FileInfo> info = now().Stat(name);
    if (!info.ok()) return Named(info.status(), begin_, now().path());
    return info;
  }
  absl::StatusOr<std::vector<std::string>> List() override {
    absl::StatusOr<std::vector<std::string>> names = now().List();
    if (!names.ok()) return Named(names.status(), begin_, now().path());
    return names;
  }
  const std::string& path() const override { return path_; }

 private:
  const std::string begin_;
  const std::string path_;
};

}  // namespace

UriFileSystem::UriFileSystem(lsm::FileSystem* files, std::string begin)
    : files_(*files), begin_(std::move(begin)) {}

absl::StatusOr<std::unique_ptr<lsm::Directory>> UriFileSystem::OpenDirectory(
    const std::string& path, bool create) {
  absl::StatusOr<std::unique_ptr<lsm::Directory>> directory = files_.OpenDirectory(path, create);
  if (!directory.ok()) return Named(directory.status(), begin_, path);
  return std::make_unique<UriDirectory>(*std::move(directory), begin_);
}

absl::Status UriFileSystem::RemoveDirectory(const std::string& path) {
  return Named(absl::UnimplementedError(lsm::Concat(path, ": sstdump only reads")), begin_, path);
}

}  // namespace tools
