// A file system whose own allocations never fail.  But memory may run out right before each call
// and right after it; the latter is like a file system that cannot return its result.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_SPARED_FILES_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_SPARED_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace reliability {

// Passes calls on to `inner`, which must outlive it.
class SparedFiles final : public lsm::FileSystem {
 public:
  explicit SparedFiles(lsm::FileSystem* inner) : inner_(inner) {}

  absl::StatusOr<std::unique_ptr<lsm::Directory>> OpenDirectory(const std::string& path,
                                                                bool create) override;
  absl::Status RemoveDirectory(const std::string& path) override;

 private:
  lsm::FileSystem* const inner_;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_SPARED_FILES_H_
