// The bytes of a real file.
#ifndef TRELLIS_TESTS_SUPPORT_READ_FILE_H_
#define TRELLIS_TESTS_SUPPORT_READ_FILE_H_

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace testing_support {

// Empty if the file cannot be read.
inline std::string ReadFile(const std::filesystem::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();  // copies blocks; iterators would copy byte by byte
  return bytes.str();
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_READ_FILE_H_
