// Whole stores as texts in tests/testdata/store.
#ifndef TRELLIS_TESTS_LSM_STORE_DRAWN_STORE_H_
#define TRELLIS_TESTS_LSM_STORE_DRAWN_STORE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/source_directory.h"
#include "tests/support/status_matchers.h"

namespace lsm {

inline std::filesystem::path GoldenStorePath(const std::string& name) {
  return testing_support::SourceDirectory() / "tests/testdata/store" / name;
}

//   file 000004.table 1234
//   54524c53...             32 bytes a line
inline std::string DrawStore(World& world) {
  std::string drawn;
  const auto directory = *world.files->OpenDirectory(kStorePath, /*create=*/false);
  const std::vector<std::string> names = directory->List().value();
  for (const std::string& name : names) {
    const std::string bytes = world.files->FileBytes(Concat(kStorePath, "/", name));
    drawn += Concat("file ", name, " ", bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      constexpr char kDigits[] = "0123456789abcdef";
      if (i % 32 == 0) drawn += '\n';
      drawn += kDigits[static_cast<uint8_t>(bytes[i]) >> 4];
      drawn += kDigits[static_cast<uint8_t>(bytes[i]) & 15];
    }
    drawn += '\n';
  }
  return drawn;
}

// Makes the store of this golden file.
inline void LoadStore(const std::string& name, World* world) {
  std::ifstream file(GoldenStorePath(name));
  ASSERT_TRUE(file) << GoldenStorePath(name) << " is missing: tools/dev rewrite makes it";
  ASSERT_OK(world->files->OpenDirectory(kStorePath, /*create=*/true));
  std::string word;
  while (file >> word) {
    ASSERT_EQ(word, "file");
    std::string file_name, digits, bytes;
    size_t size = 0;
    ASSERT_TRUE(file >> file_name >> size);
    while (digits.size() < 2 * size && file >> word) digits += word;
    ASSERT_EQ(digits.size(), 2 * size) << file_name;
    for (size_t i = 0; i < size; ++i)
      bytes += static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
    world->files->SetFileBytes(Concat(kStorePath, "/", file_name), bytes);
  }
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_STORE_DRAWN_STORE_H_
