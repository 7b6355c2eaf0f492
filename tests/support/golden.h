// Golden files: texts under tests/testdata that pin what the code writes.
//
//   ExpectGolden("bloom/standard.golden", Draw(filter));
//
// With TRELLIS_REWRITE=1 in the environment, the test writes the actual text into the file before
// it compares; `tools/dev rewrite` does so for all tests.  Read the difference before you commit
// it.
#ifndef TRELLIS_TESTS_SUPPORT_GOLDEN_H_
#define TRELLIS_TESTS_SUPPORT_GOLDEN_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"

namespace testing_support {

// `relative_path` is relative to tests/testdata.
inline void ExpectGolden(std::string_view relative_path, std::string_view actual) {
  const std::filesystem::path path =
      testing_support::SourceDirectory() / "tests/testdata" / relative_path;
  if (std::getenv("TRELLIS_REWRITE") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << actual;
  }
  ASSERT_TRUE(std::filesystem::exists(path)) << path << " is missing: tools/dev rewrite makes it";
  EXPECT_EQ(ReadFile(path), actual) << "in " << path;
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_GOLDEN_H_
