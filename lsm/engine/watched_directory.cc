#include "lsm/engine/watched_directory.h"

#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"

namespace lsm {
namespace {

void ReportCreated(EventQueue& events, const std::string& path, uint64_t bytes) {
  events.AddMade([&] {
    FileCreated event;
    event.path = path;
    event.bytes = bytes;
    return event;
  });
}

// A table while it is written: reported when it ends, whether whole or not, so that its bytes are
// known.
class WatchedTable final : public AppendFile {
 public:
  WatchedTable(std::unique_ptr<AppendFile> file, EventQueue* events)
      : file_(std::move(file)), events_(*events) {}
  ~WatchedTable() override { ReportCreated(events_, file_->path(), file_->size_bytes()); }

  absl::Status Append(std::string_view bytes) override { return file_->Append(bytes); }
  absl::Status Sync() override { return file_->Sync(); }
  absl::Status Close() override { return file_->Close(); }
  uint64_t size_bytes() const override { return file_->size_bytes(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::unique_ptr<AppendFile> file_;
  EventQueue& events_;
};

class WatchedDirectory final : public Directory {
 public:
  WatchedDirectory(std::unique_ptr<Directory> directory, EventQueue* events)
      : directory_(std::move(directory)), events_(*events) {}

  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file, directory_->CreateExclusive(name));
    const std::optional<FileName> parsed = ParseFileName(name);
    if (parsed && parsed->kind == FileKind::kTable)
      return std::make_unique<WatchedTable>(std::move(file), &events_);
    ReportCreated(events_, file->path(), 0);
    return file;
  }

  absl::Status Remove(std::string_view name) override {
    const absl::StatusOr<FileInfo> info = CatchOutOfMemory([&] { return directory_->Stat(name); });
    LSM_RETURN_IF_ERROR(directory_->Remove(name));
    events_.AddMade([&] {
      FileRemoved event;
      event.path = Concat(directory_->path(), "/", name);
      event.bytes = info.ok() ? info->size_bytes : 0;
      return event;
    });
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                     ReadMode mode) override {
    return directory_->OpenRead(name, mode);
  }
  absl::StatusOr<std::vector<std::string>> List() override { return directory_->List(); }
  absl::StatusOr<FileInfo> Stat(std::string_view name) override { return directory_->Stat(name); }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    return directory_->Rename(from, to);
  }
  // Links go out of the store, into a copy, which is not watched.
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override {
    return directory_->Link(name, to, new_name);
  }
  absl::Status Sync() override { return directory_->Sync(); }
  absl::Status ForgetFailedSync() override { return directory_->ForgetFailedSync(); }
  using Directory::AtomicReplace;
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override {
    return directory_->AtomicReplace(name, bytes, expected, before_swap);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(std::string_view name, LockKind kind) override {
    return directory_->Lock(name, kind);
  }
  absl::StatusOr<bool> Contains(const std::string& path) override {
    return directory_->Contains(path);
  }
  const std::string& path() const override { return directory_->path(); }

 private:
  const std::unique_ptr<Directory> directory_;
  EventQueue& events_;
};

}  // namespace

std::unique_ptr<Directory> WatchDirectory(std::unique_ptr<Directory> directory,
                                          EventQueue* events) {
  return std::make_unique<WatchedDirectory>(std::move(directory), events);
}

}  // namespace lsm
