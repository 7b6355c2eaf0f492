// The directory of the project's sources, for tests that read files in it.
#ifndef TRELLIS_TESTS_SUPPORT_SOURCE_DIRECTORY_H_
#define TRELLIS_TESTS_SUPPORT_SOURCE_DIRECTORY_H_

#include <filesystem>

namespace testing_support {

std::filesystem::path SourceDirectory();

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_SOURCE_DIRECTORY_H_
