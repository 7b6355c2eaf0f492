// A directory with functions that write and read whole files, for tests of the file system.
#ifndef TRELLIS_TESTS_LSM_FS_DIRECTORY_FIXTURE_H_
#define TRELLIS_TESTS_LSM_FS_DIRECTORY_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "lsm/file_system.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class DirectoryFixture : public testing::Test {
 protected:
  void Write(std::string_view name, std::string_view bytes) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive(name));
    ASSERT_OK(file->Append(bytes));
    if (needs_sync()) {
      ASSERT_OK(file->Sync());
    }
    ASSERT_OK(file->Close());
  }

  // The file's bytes, or the error.
  std::string Read(std::string_view name) {
    absl::StatusOr<std::string> bytes = ReadWholeFile(*directory_, name, 1 << 20);
    return bytes.ok() ? *bytes : bytes.status().ToString();
  }

  // Whether readers see a table only after its sync.
  virtual bool needs_sync() const { return false; }

  std::unique_ptr<Directory> directory_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_FS_DIRECTORY_FIXTURE_H_
