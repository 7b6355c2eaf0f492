#include "tests/reliability/faults/spared_files.h"

#include <functional>
#include <new>
#include <utility>

#include "lsm/bytes/status.h"
#include "tests/reliability/faults/short_memory.h"

namespace reliability {
namespace {

// Makes the returned object outside of the store's accounting.
template <typename Call>
auto AtTheBorder(SparedCalls calls, const Call& call) -> decltype(call()) {
  if (calls == SparedCalls::kAreSound) {
    const Spared spared;
    return call();
  }
  TakeMemory();
  auto result = [&] {
    const Spared spared;
    return call();
  }();
  try {
    TakeMemory();
  } catch (const std::bad_alloc&) {
    const Spared spared;
    [[maybe_unused]] const auto dropped = std::move(result);
    throw;
  }
  return result;
}

// Holds a handle and destroys it outside of the store's accounting.
template <typename Handle>
class Inner {
 public:
  explicit Inner(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
  Inner(Inner&&) = default;
  ~Inner() {
    const Spared spared;
    handle_.reset();
  }
  Handle* operator->() const { return handle_.get(); }
  Handle& operator*() const { return *handle_; }

 private:
  std::unique_ptr<Handle> handle_;
};

// At any time an owner exists that destroys the handle outside of the store's accounting.
template <typename Wrapper, typename Handle>
std::unique_ptr<Handle> Wrapped(SparedCalls calls, std::unique_ptr<Handle> handle) {
  Inner<Handle> inner(std::move(handle));
  const auto wrap = [&] { return std::make_unique<Wrapper>(std::move(inner), calls); };
  if (calls == SparedCalls::kRunShort) return wrap();
  const Spared spared;
  return wrap();
}

class SparedReadFile final : public lsm::ReadFile {
 public:
  SparedReadFile(Inner<lsm::ReadFile> inner, SparedCalls calls)
      : inner_(std::move(inner)), calls_(calls) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    return AtTheBorder(calls_, [&] { return inner_->ReadAt(offset, buffer); });
  }
  absl::StatusOr<uint64_t> Size() const override {
    return AtTheBorder(calls_, [&] { return inner_->Size(); });
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  const Inner<lsm::ReadFile> inner_;
  const SparedCalls calls_;
};

class SparedAppendFile final : public lsm::AppendFile {
 public:
  SparedAppendFile(Inner<lsm::AppendFile> inner, SparedCalls calls)
      : inner_(std::move(inner)), calls_(calls) {}

  absl::Status Append(std::string_view bytes) override {
    return AtTheBorder(calls_, [&] { return inner_->Append(bytes); });
  }
  absl::Status Sync() override {
    return AtTheBorder(calls_, [&] { return inner_->Sync(); });
  }
  absl::Status Close() override {
    return AtTheBorder(calls_, [&] { return inner_->Close(); });
  }
  uint64_t size_bytes() const override { return inner_->size_bytes(); }
  const std::string& path() const override { return inner_->path(); }

 private:
  const Inner<lsm::AppendFile> inner_;
  const SparedCalls calls_;
};

class SparedLock final : public lsm::FileLock {
 public:
  SparedLock(Inner<lsm::FileLock> inner, SparedCalls /*calls*/) : inner_(std::move(inner)) {}

  void Release() override {
    const Spared spared;
    inner_->Release();
  }

 private:
  const Inner<lsm::FileLock> inner_;
};

class SparedDirectory final : public lsm::Directory {
 public:
  SparedDirectory(Inner<lsm::Directory> inner, SparedCalls calls)
      : inner_(std::move(inner)), calls_(calls) {}

  absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenRead(std::string_view name,
                                                          lsm::ReadMode mode) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::ReadFile> file,
                             AtTheBorder(calls_, [&] { return inner_->OpenRead(name, mode); }));
    return Wrapped<SparedReadFile>(calls_, std::move(file));
  }
  absl::StatusOr<std::unique_ptr<lsm::AppendFile>> CreateExclusive(std::string_view name) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::AppendFile> file,
                             AtTheBorder(calls_, [&] { return inner_->CreateExclusive(name); }));
    return Wrapped<SparedAppendFile>(calls_, std::move(file));
  }
  absl::StatusOr<std::vector<std::string>> List() override {
    return AtTheBorder(calls_, [&] { return inner_->List(); });
  }
  absl::StatusOr<lsm::FileInfo> Stat(std::string_view name) override {
    return AtTheBorder(calls_, [&] { return inner_->Stat(name); });
  }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    return AtTheBorder(calls_, [&] { return inner_->Rename(from, to); });
  }
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override {
    auto& other = dynamic_cast<SparedDirectory&>(to);
    return AtTheBorder(calls_, [&] { return inner_->Link(name, *other.inner_, new_name); });
  }
  absl::Status Remove(std::string_view name) override {
    return AtTheBorder(calls_, [&] { return inner_->Remove(name); });
  }
  absl::Status Sync() override {
    return AtTheBorder(calls_, [&] { return inner_->Sync(); });
  }
  absl::StatusOr<uint64_t> FreeBytes() override {
    return AtTheBorder(calls_, [&] { return inner_->FreeBytes(); });
  }
  absl::Status ForgetFailedSync() override { return inner_->ForgetFailedSync(); }
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override {
    return AtTheBorder(calls_,
                       [&] { return inner_->AtomicReplace(name, bytes, expected, before_swap); });
  }
  absl::StatusOr<std::unique_ptr<lsm::FileLock>> Lock(std::string_view name,
                                                      lsm::LockKind kind) override {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::FileLock> lock,
                             AtTheBorder(calls_, [&] { return inner_->Lock(name, kind); }));
    return Wrapped<SparedLock>(calls_, std::move(lock));
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  const Inner<lsm::Directory> inner_;
  const SparedCalls calls_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<lsm::Directory>> SparedFiles::OpenDirectory(const std::string& path,
                                                                           bool create) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::Directory> directory, AtTheBorder(calls_, [&] {
                             return inner_->OpenDirectory(path, create);
                           }));
  return Wrapped<SparedDirectory>(calls_, std::move(directory));
}

absl::Status SparedFiles::RemoveDirectory(const std::string& path) {
  return AtTheBorder(calls_, [&] { return inner_->RemoveDirectory(path); });
}

void SparedFiles::ReadMany(std::span<lsm::ReadRequest> requests,
                           const std::function<void(size_t)>& done) {
  FileSystem::ReadMany(requests, [&done](size_t i) noexcept {
    if (done != nullptr) done(i);
  });
}

}  // namespace reliability
