// A new directory for a test, which is removed with all its contents at the end.
#ifndef TRELLIS_TESTS_SUPPORT_SCRATCH_DIR_H_
#define TRELLIS_TESTS_SUPPORT_SCRATCH_DIR_H_

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace testing_support {

// A folder in memory if the system has one, for tests that sync often.
inline std::string FastFolder() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                         : std::filesystem::temp_directory_path().string();
}

class ScratchDir {
 public:
  // Under `parent`, or where the system keeps temporary files.
  explicit ScratchDir(const std::string& parent = std::filesystem::temp_directory_path().string())
      : path_(parent + "/trellis_test_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      std::perror(path_.c_str());
      std::abort();
    }
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  ~ScratchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_SCRATCH_DIR_H_
