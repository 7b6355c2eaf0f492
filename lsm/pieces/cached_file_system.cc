#include "lsm/cached_file_system.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"
#include "lsm/fs/file_names.h"
#include "lsm/fs/forwarding_directory.h"
#include "lsm/pieces/cached_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

bool IsTable(std::string_view name) {
  const std::optional<FileName> parsed = ParseFileName(name);
  return parsed && parsed->kind == FileKind::kTable;
}

class CachedDirectory final : public ForwardingDirectory {
 public:
  CachedDirectory(std::shared_ptr<PieceContext> context, std::unique_ptr<Directory> below)
      : ForwardingDirectory(std::move(below)), context_(std::move(context)) {}

  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                     ReadMode mode) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file, directory().OpenRead(name, mode));
    if (mode == ReadMode::kDirect || !IsKept(name)) return file;
    return NewCachedReader(context_, PathHashOf(name), std::move(file));
  }

  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file, directory().CreateExclusive(name));
    if (!IsKept(name)) return file;
    Forget(name);
    return NewCachedWriter(context_, PathHashOf(name), std::move(file));
  }

  // The names are forgotten even after an error, since it may have happened anyway.
  absl::Status Rename(std::string_view from, std::string_view to) override {
    const absl::Status status = directory().Rename(from, to);
    Forget(from);
    Forget(to);
    return status;
  }
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override {
    auto* const cached = dynamic_cast<CachedDirectory*>(&to);
    return directory().Link(name, cached != nullptr ? cached->directory() : to, new_name);
  }
  absl::Status Remove(std::string_view name) override {
    const absl::Status status = directory().Remove(name);
    Forget(name);
    return status;
  }
  std::vector<absl::Status> RemoveAll(std::span<const std::string> names) override {
    std::vector<absl::Status> outcomes = directory().RemoveAll(names);
    for (const std::string& name : names) Forget(name);
    return outcomes;
  }
  void RemoveLater(std::span<const std::string> names) override {
    directory().RemoveLater(names);
    for (const std::string& name : names) Forget(name);
  }
  using Directory::AtomicReplace;
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override {
    const absl::Status status = directory().AtomicReplace(name, bytes, expected, before_swap);
    Forget(name);
    return status;
  }

 private:
  bool IsKept(std::string_view name) const { return IsTable(name) && context_->store.is_usable(); }
  uint64_t PathHashOf(std::string_view name) const {
    return HashOfPath(Concat(WithoutDetours(path()), name));
  }
  void Forget(std::string_view name) {
    if (!IsKept(name)) return;
    CatchOutOfMemory([&] {
      context_->store.Forget(PathHashOf(name));
      return absl::OkStatus();
    }).IgnoreError();
  }

  const std::shared_ptr<PieceContext> context_;
};

}  // namespace

CachedFileSystem::CachedFileSystem(FileSystem* files, const Config& config)
    : context_(std::make_shared<PieceContext>(files, config)) {}

CachedFileSystem::~CachedFileSystem() = default;

absl::Status CachedFileSystem::status() const { return context_->store.status(); }

CachedFileSystem::Statistics CachedFileSystem::statistics() const {
  return context_->store.statistics();
}

absl::StatusOr<std::unique_ptr<Directory>> CachedFileSystem::OpenDirectory(const std::string& path,
                                                                           bool create) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Directory> below,
                           context_->below.OpenDirectory(path, create));
  return std::make_unique<CachedDirectory>(context_, std::move(below));
}


absl::Status CachedFileSystem::RemoveDirectory(const std::string& path) {
  return context_->below.RemoveDirectory(path);
}

void CachedFileSystem::ReadMany(std::span<ReadRequest> requests,
                                const std::function<void(size_t)>& done) {
  ReadCachedFiles(context_.get(), requests, done);
}

}  // namespace lsm
