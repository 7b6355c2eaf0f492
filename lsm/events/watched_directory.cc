#include "lsm/events/watched_directory.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/fs/forwarding_directory.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

void ReportCreated(EventQueue& events, const std::string& path, uint64_t bytes) {
  events.AddMade([&] {
    FileCreated event;
    event.path = path;
    event.bytes = bytes;
    return event;
  });
}

// A table or a reserve during writing.  It is reported at its end, complete or not, so that its
// size is known.
class WatchedFile final : public AppendFile {
 public:
  WatchedFile(std::unique_ptr<AppendFile> file, EventQueue* events)
      : file_(std::move(file)), events_(*events) {}
  ~WatchedFile() override { ReportCreated(events_, file_->path(), file_->size_bytes()); }

  absl::Status Append(std::string_view bytes) override { return file_->Append(bytes); }
  absl::Status Allocate(uint64_t bytes) override { return file_->Allocate(bytes); }
  absl::Status Sync() override { return file_->Sync(); }
  absl::Status Close() override { return file_->Close(); }
  uint64_t size_bytes() const override { return file_->size_bytes(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::unique_ptr<AppendFile> file_;
  EventQueue& events_;
};

class WatchedDirectory final : public ForwardingDirectory {
 public:
  WatchedDirectory(std::unique_ptr<Directory> directory, EventQueue* events)
      : ForwardingDirectory(std::move(directory)), events_(*events) {}

  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file, directory().CreateExclusive(name));
    const std::optional<FileName> parsed = ParseFileName(name);
    if (parsed && (parsed->kind == FileKind::kTable || parsed->kind == FileKind::kReserve))
      return std::make_unique<WatchedFile>(std::move(file), &events_);
    ReportCreated(events_, file->path(), 0);
    return file;
  }

  absl::Status Remove(std::string_view name) override {
    const absl::StatusOr<FileInfo> info = Info(name);
    TRELLIS_RETURN_IF_ERROR(directory().Remove(name));
    ReportRemoved(name, info);
    return absl::OkStatus();
  }

  std::vector<absl::Status> RemoveAll(std::span<const std::string> names) override {
    std::vector<absl::StatusOr<FileInfo>> infos;
    infos.reserve(names.size());
    for (const std::string& name : names) infos.push_back(Info(name));
    std::vector<absl::Status> outcomes = directory().RemoveAll(names);
    for (size_t i = 0; i < names.size(); ++i) {
      const bool existed = !absl::IsNotFound(infos[i].status());
      // After an error the file may be removed all the same.
      if (outcomes[i].ok() || (existed && absl::IsNotFound(Info(names[i]).status())))
        ReportRemoved(names[i], infos[i]);
    }
    return outcomes;
  }

 private:
  absl::StatusOr<FileInfo> Info(std::string_view name) {
    return CatchOutOfMemory([&] { return directory().Stat(name); });
  }
  void ReportRemoved(std::string_view name, const absl::StatusOr<FileInfo>& info) {
    events_.AddMade([&] {
      FileRemoved event;
      event.path = Concat(path(), "/", name);
      event.bytes = info.ok() ? info->size_bytes : 0;
      return event;
    });
  }

  EventQueue& events_;
};

}  // namespace

std::unique_ptr<Directory> WatchDirectory(std::unique_ptr<Directory> directory,
                                          EventQueue* events) {
  return std::make_unique<WatchedDirectory>(std::move(directory), events);
}

}  // namespace lsm
