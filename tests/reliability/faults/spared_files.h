// A file system whose own allocations never fail.  But memory may run out right before each call
// and right after it, unless its calls are sound; the latter is like a file system that cannot
// return its result.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_SPARED_FILES_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_SPARED_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace reliability {

enum class SparedCalls : uint8_t { kRunShort, kAreSound };

// Passes calls on to `inner`, which must outlive it.
class SparedFiles final : public lsm::FileSystem {
 public:
  explicit SparedFiles(lsm::FileSystem* inner, SparedCalls calls = SparedCalls::kRunShort)
      : inner_(inner), calls_(calls) {}

  absl::StatusOr<std::unique_ptr<lsm::Directory>> OpenDirectory(const std::string& path,
                                                                bool create) override;
  absl::Status RemoveDirectory(const std::string& path) override;
  // Ends the process if `done` throws.
  void ReadMany(std::span<lsm::ReadRequest> requests,
                const std::function<void(size_t)>& done) override;

 private:
  lsm::FileSystem* const inner_;
  const SparedCalls calls_;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_SPARED_FILES_H_
