#include "tests/reliability/faults/recorder.h"

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/fs/forwarding_directory.h"

namespace reliability {
namespace {

using lsm::AppendFile;
using lsm::Directory;
using SharedPointer = std::shared_ptr<Recorder::Shared>;

class RecordingFile final : public AppendFile {
 public:
  RecordingFile(std::unique_ptr<AppendFile> inner, uint32_t file, SharedPointer shared)
      : inner_(std::move(inner)), file_(file), shared_(std::move(shared)) {}

  absl::Status Append(std::string_view bytes) override {
    const uint64_t before = inner_->size_bytes();
    const absl::Status status = inner_->Append(bytes);
    // Also records the part that a failed append left.
    const uint64_t taken = inner_->size_bytes() - before;
    if (taken > 0) {
      shared_->journal.push_back(
          {Event::kAppend, {}, {}, {}, std::string(bytes.substr(0, taken)), file_});
    }
    return status;
  }
  absl::Status Sync() override {
    const absl::Status status = inner_->Sync();
    if (status.ok()) shared_->journal.push_back({Event::kSyncFile, {}, {}, {}, {}, file_});
    return status;
  }
  absl::Status Close() override { return inner_->Close(); }
  uint64_t size_bytes() const override { return inner_->size_bytes(); }
  const std::string& path() const override { return inner_->path(); }

 private:
  const std::unique_ptr<AppendFile> inner_;
  const uint32_t file_;
  const SharedPointer shared_;
};

class RecordingDirectory final : public lsm::ForwardingDirectory {
 public:
  RecordingDirectory(std::unique_ptr<Directory> inner, SharedPointer shared)
      : ForwardingDirectory(std::move(inner)), shared_(std::move(shared)) {}

  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file, directory().CreateExclusive(name));
    const uint32_t number = NoteCreate(name);
    return std::make_unique<RecordingFile>(std::move(file), number, shared_);
  }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    const absl::Status status = directory().Rename(from, to);
    if (status.ok()) Note({Event::kRename, path(), std::string(from), std::string(to), {}});
    return status;
  }
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override {
    auto& other = dynamic_cast<RecordingDirectory&>(to);
    const absl::Status status = directory().Link(name, other.directory(), new_name);
    if (status.ok()) {
      Note({Event::kLink, path(), std::string(name), lsm::Concat(to.path(), "/", new_name), {}});
    }
    return status;
  }
  absl::Status Remove(std::string_view name) override {
    const absl::Status status = directory().Remove(name);
    if (status.ok()) Note({Event::kRemove, path(), std::string(name), {}, {}});
    return status;
  }
  // A crash may follow each removal.
  std::vector<absl::Status> RemoveAll(std::span<const std::string> names) override {
    return Directory::RemoveAll(names);
  }
  absl::Status Sync() override {
    const absl::Status status = directory().Sync();
    if (status.ok()) Note({Event::kSyncDirectory, path(), {}, {}, {}});
    return status;
  }
  // Records the steps that POSIX takes, because a crash may follow each of them.  Other names do
  // not become durable with this one: an object store would not make them durable.
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override {
    const std::string temporary = lsm::Concat(name, lsm::kTemporarySuffix);
    if (directory().Stat(temporary).ok()) TRELLIS_RETURN_IF_ERROR(Remove(temporary));
    const absl::Status status = directory().AtomicReplace(name, bytes, expected, before_swap);
    if (!status.ok()) return status;
    const uint32_t file = NoteCreate(temporary);
    Note({Event::kAppend, {}, {}, {}, std::string(bytes), file});
    Note({Event::kSyncFile, {}, {}, {}, {}, file});
    Note({Event::kRename, path(), temporary, std::string(name), {}});
    Note({Event::kSyncName, path(), std::string(name), {}, {}});
    return status;
  }
  absl::StatusOr<std::unique_ptr<lsm::FileLock>> Lock(std::string_view name,
                                                      lsm::LockKind kind) override {
    const bool is_new = absl::IsNotFound(directory().Stat(name).status());
    absl::StatusOr<std::unique_ptr<lsm::FileLock>> lock = directory().Lock(name, kind);
    if (lock.ok() && is_new) NoteCreate(name);
    return lock;
  }

 private:
  void Note(Event event) { shared_->journal.push_back(std::move(event)); }
  uint32_t NoteCreate(std::string_view name) {
    const uint32_t number = shared_->next_file++;
    Note({Event::kCreate, path(), std::string(name), {}, {}, number});
    return number;
  }

  const SharedPointer shared_;
};

}  // namespace

const char* NameOf(Event::Kind kind) {
  switch (kind) {
    case Event::kCreate:
      return "create";
    case Event::kAppend:
      return "append";
    case Event::kSyncFile:
      return "sync";
    case Event::kRename:
      return "rename";
    case Event::kLink:
      return "link";
    case Event::kRemove:
      return "remove";
    case Event::kSyncDirectory:
      return "sync directory";
    case Event::kSyncName:
      return "sync name";
  }
  return "?";
}

Recorder::Recorder(lsm::FileSystem* inner, uint32_t first_file)
    : inner_(inner), shared_(std::make_shared<Shared>()) {
  shared_->next_file = first_file;
}
Recorder::~Recorder() = default;

absl::StatusOr<std::unique_ptr<Directory>> Recorder::OpenDirectory(const std::string& path,
                                                                   bool create) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                           inner_->OpenDirectory(path, create));
  return std::make_unique<RecordingDirectory>(std::move(directory), shared_);
}

absl::Status Recorder::RemoveDirectory(const std::string& path) {
  return inner_->RemoveDirectory(path);
}

}  // namespace reliability
