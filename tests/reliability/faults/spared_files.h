// A file system whose own memory never runs out, but at its border: before each call, and after it,
// is a moment at which there is none, as if a file system had failed to say what it did.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_SPARED_FILES_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_SPARED_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace reliability {

// Passes calls on to `inner`, which outlives it.
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
