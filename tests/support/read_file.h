// The bytes of a real file.
#ifndef TRELLIS_TESTS_SUPPORT_READ_FILE_H_
#define TRELLIS_TESTS_SUPPORT_READ_FILE_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace testing_support {

// Empty if the file cannot be read.
inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_READ_FILE_H_
