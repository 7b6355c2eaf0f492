// A directory that holds some of its files open: they stay readable and unchanged while another
// process removes them.
//
// Threads: all calls of Pin from one thread; after that, any threads.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_PINNED_DIRECTORY_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_PINNED_DIRECTORY_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace tools {

class PinnedDirectory : public lsm::Directory {
 public:
  explicit PinnedDirectory(std::shared_ptr<lsm::Directory> directory);
  ~PinnedDirectory() override;

  // Opens the file and keeps it open.
  absl::Status Pin(const std::string& name);
  size_t pinned_count() const { return pinned_.size(); }
  // The current state of the directory.
  lsm::Directory& now() const { return *directory_; }

  // A pinned file for a pinned name; otherwise the current file of that name.
  absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenRead(std::string_view name,
                                                          lsm::ReadMode mode) override;
  absl::StatusOr<lsm::FileInfo> Stat(std::string_view name) override;

  absl::StatusOr<std::vector<std::string>> List() override { return directory_->List(); }
  const std::string& path() const override { return directory_->path(); }

  // Calls that would change something return Unimplemented.
  absl::StatusOr<std::unique_ptr<lsm::AppendFile>> CreateExclusive(std::string_view name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Remove(std::string_view name) override;
  absl::Status Sync() override;
  absl::Status ForgetFailedSync() override;
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override;
  absl::StatusOr<std::unique_ptr<lsm::FileLock>> Lock(std::string_view name,
                                                      lsm::LockKind kind) override;

 private:
  const std::shared_ptr<lsm::Directory> directory_;
  std::map<std::string, std::shared_ptr<lsm::ReadFile>, std::less<>> pinned_;
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_PINNED_DIRECTORY_H_
