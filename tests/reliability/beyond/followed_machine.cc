#include "tests/reliability/beyond/followed_machine.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/forwarding_directory.h"
#include "lsm/memory_file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"

namespace reliability {
namespace {

using lsm::FileOperation;
using lsm::MemoryFileSystem;
using lsm::MemoryObjectPool;
using lsm::ObjectCall;

// Appends in two halves, and calls `between` between them.
class HalvingFile final : public lsm::AppendFile {
 public:
  HalvingFile(std::unique_ptr<lsm::AppendFile> file, const std::function<void()>* between)
      : file_(std::move(file)), between_(*between) {}
  absl::Status Append(std::string_view bytes) override {
    TRELLIS_RETURN_IF_ERROR(file_->Append(bytes.substr(0, bytes.size() / 2)));
    between_();
    return file_->Append(bytes.substr(bytes.size() / 2));
  }
  absl::Status Sync() override { return file_->Sync(); }
  absl::Status Close() override { return file_->Close(); }
  uint64_t size_bytes() const override { return file_->size_bytes(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::unique_ptr<lsm::AppendFile> file_;
  const std::function<void()>& between_;
};

class HalvingDirectory final : public lsm::ForwardingDirectory {
 public:
  HalvingDirectory(std::unique_ptr<lsm::Directory> directory, const std::function<void()>* between)
      : ForwardingDirectory(std::move(directory)), between_(between) {}
  absl::StatusOr<std::unique_ptr<lsm::AppendFile>> CreateExclusive(std::string_view name) override {
    TRELLIS_ASSIGN_OR_RETURN(auto file, directory().CreateExclusive(name));
    return std::make_unique<HalvingFile>(std::move(file), between_);
  }

 private:
  const std::function<void()>* const between_;
};

class HalvingFiles final : public lsm::FileSystem {
 public:
  explicit HalvingFiles(MemoryFileSystem* files) : files_(*files) {}
  void SetBetween(std::function<void()> between) { between_ = std::move(between); }
  absl::StatusOr<std::unique_ptr<lsm::Directory>> OpenDirectory(const std::string& path,
                                                                bool create) override {
    TRELLIS_ASSIGN_OR_RETURN(auto directory, files_.OpenDirectory(path, create));
    return std::make_unique<HalvingDirectory>(std::move(directory), &between_);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return files_.RemoveDirectory(path);
  }

 private:
  MemoryFileSystem& files_;
  std::function<void()> between_ = [] {};
};

class FilesInMemory final : public FollowedMachine {
 public:
  void SetHooks(const Hooks& hooks) override {
    hooks_ = hooks;
    halving_.SetBetween(hooks.within_append ? hooks.within_append : [] {});
    if (!hooks.before) return files_.SetFault(nullptr);
    files_.SetFault([this](FileOperation operation, const std::string& path, uint64_t) {
      switch (hooks_.before(operation == FileOperation::kSyncFile && path.ends_with(".log"))) {
        case Fate::kGoesOn:
          return absl::OkStatus();
        case Fate::kFails:
          return absl::UnavailableError("broken");
        case Fate::kDead:
          break;
      }
      return absl::UnavailableError("killed");
    });
  }
  lsm::FileSystem* writer_files() override { return &halving_; }
  lsm::FileSystem* follower_files() override { return &files_; }
  void BeginNextWriter() override {}
  bool Crash(const std::function<void()>& end_processes, bool keeps_unsynced) override {
    files_.CrashAt(0);
    end_processes();
    files_.Restart(keeps_unsynced ? MemoryFileSystem::Unsynced::kKept
                                  : MemoryFileSystem::Unsynced::kLost);
    SetHooks(Hooks(hooks_));
    return true;
  }
  bool ForgetsOldStores() const override { return false; }
  void Renew() override {}
  bool LapsePins() override { return false; }
  std::string Leftovers(const std::string&) override { return ""; }

 private:
  Hooks hooks_;
  MemoryFileSystem files_;
  HalvingFiles halving_{&files_};
};

class Objects final : public FollowedMachine {
 public:
  explicit Objects(uint64_t seed) : seed_(seed), follower_(Client("the follower")) {
    BeginNextWriter();
  }
  void SetHooks(const Hooks& hooks) override {
    hooks_ = hooks;
    writer_->pool.SetHooks(PoolHooks());
    follower_->pool.SetHooks(PoolHooks());
  }
  lsm::FileSystem* writer_files() override { return &writer_->files; }
  lsm::FileSystem* follower_files() override { return &follower_->files; }
  void BeginNextWriter() override {
    // Its files may still be open.
    if (writer_ != nullptr) ended_.push_back(std::move(writer_));
    lsm::ExpireLocks(objects_.get());
    writer_ = Client("the writer");
    writer_->pool.SetHooks(PoolHooks());
  }
  bool Crash(const std::function<void()>&, bool) override { return false; }
  bool ForgetsOldStores() const override { return true; }
  void Renew() override {
    follower_->files.RenewLocks();
    writer_->files.RenewLocks();
  }
  bool LapsePins() override {
    writer_->files.RenewLocks();
    clock_.Advance(3 * lsm::ObjectFileSystem::Config().lock_nanos);
    writer_->files.RenewLocks();
    return true;
  }
  std::string Leftovers(const std::string& store) override {
    lsm::ObjectRead read;
    read.entries_after = lsm::kGonePrefix;
    MemoryObjectPool pool(objects_);
    const absl::StatusOr<lsm::ObjectContents> index = pool.Read(lsm::IndexName(store), read);
    if (!index.ok()) return index.status().ToString();
    return index->entries.empty() ? "" : index->entries.begin()->first;
  }

 private:
  std::unique_ptr<lsm::PoolClient> Client(const std::string& name) {
    lsm::PoolClientOptions options;
    options.log_chunk_bytes = seed_ % 4 == 1 ? 1500 : 20'000;
    options.table_chunk_bytes = seed_ % 8 < 4 ? 5000 : 100'000;
    options.clock = &clock_;
    return std::make_unique<lsm::PoolClient>(objects_, name, seed_ * 1000 + clients_++, options);
  }
  MemoryObjectPool::Hooks PoolHooks() {
    MemoryObjectPool::Hooks hooks;
    if (!hooks_.before) return hooks;
    hooks.before = [this](ObjectCall call, const std::string& object, uint64_t) {
      const bool is_append = call == ObjectCall::kWrite && !object.starts_with(lsm::kIndexPrefix);
      const Fate fate = hooks_.before(is_append);
      loses_answer_ = fate == Fate::kFails;
      return fate == Fate::kDead ? MemoryObjectPool::Fate::kRefused
                                 : MemoryObjectPool::Fate::kApplied;
    };
    hooks.after = [this](ObjectCall call, const std::string& object, uint64_t) {
      const bool loses_answer = std::exchange(loses_answer_, false);
      if (call == ObjectCall::kWrite && !object.starts_with(lsm::kIndexPrefix))
        hooks_.within_append();
      return !loses_answer && !hooks_.is_dead();
    };
    return hooks;
  }

  const uint64_t seed_;
  Hooks hooks_;
  bool loses_answer_ = false;
  uint64_t clients_ = 0;
  const std::shared_ptr<lsm::MemoryObjects> objects_ = std::make_shared<lsm::MemoryObjects>();
  testing_support::ManualClock clock_;
  std::vector<std::unique_ptr<lsm::PoolClient>> ended_;
  std::unique_ptr<lsm::PoolClient> follower_, writer_;
};

}  // namespace

std::unique_ptr<FollowedMachine> OneMachine() { return std::make_unique<FilesInMemory>(); }
std::unique_ptr<FollowedMachine> ObjectStore(uint64_t seed) {
  return std::make_unique<Objects>(seed);
}

}  // namespace reliability
