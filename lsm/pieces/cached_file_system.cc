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

class CachedDirectory final : public ForwardingDirectory {
 public:
  CachedDirectory(std::shared_ptr<PieceContext> context, std::unique_ptr<Directory> below)
      : ForwardingDirectory(std::move(below)),
        context_(std::move(context)),
        plain_path_(WithoutDetours(path())) {}

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

  absl::Status Rename(std::string_view from, std::string_view to) override {
    const Forgetting old_name(*this, from), new_name(*this, to);
    return directory().Rename(from, to);
  }
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override {
    auto* const cached = dynamic_cast<CachedDirectory*>(&to);
    return directory().Link(name, cached != nullptr ? cached->directory() : to, new_name);
  }
  absl::Status Remove(std::string_view name) override {
    const Forgetting forgetting(*this, name);
    return directory().Remove(name);
  }
  std::vector<absl::Status> RemoveAll(std::span<const std::string> names) override {
    const Forgetting forgetting(*this, names);
    return directory().RemoveAll(names);
  }
  void RemoveLater(std::span<const std::string> names) override {
    const Forgetting forgetting(*this, names);
    directory().RemoveLater(names);
  }
  using Directory::AtomicReplace;
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override {
    const Forgetting forgetting(*this, name);
    return directory().AtomicReplace(name, bytes, expected, before_swap);
  }

 private:
  // Forgets names at the end of a call that removes or replaces them.  It does so after an error,
  // too, or without memory, since the call may have happened anyway.
  class Forgetting {
   public:
    Forgetting(const CachedDirectory& directory, std::string_view name)
        : directory_(directory), name_(name) {}
    Forgetting(const CachedDirectory& directory, std::span<const std::string> names)
        : directory_(directory), names_(names) {}
    Forgetting(const Forgetting&) = delete;
    Forgetting& operator=(const Forgetting&) = delete;
    ~Forgetting() {
      directory_.Forget(name_);
      for (const std::string& name : names_) directory_.Forget(name);
    }

   private:
    const CachedDirectory& directory_;
    const std::string_view name_;
    const std::span<const std::string> names_;
  };

  bool IsKept(std::string_view name) const {
    return IsTableFileName(name) && context_->store.is_usable();
  }
  uint64_t PathHashOf(std::string_view name) const { return HashOfPath(plain_path_, name); }
  void Forget(std::string_view name) const {
    if (IsKept(name)) context_->store.Forget(PathHashOf(name));
  }

  const std::shared_ptr<PieceContext> context_;
  const std::string plain_path_;  // ends with a slash
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
