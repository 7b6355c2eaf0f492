#include "lsm/fs/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace lsm {
namespace {

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<char, Free>;

Memory HugePages(size_t count) {
  return Memory(static_cast<char*>(std::aligned_alloc(kHugePageBytes, count * kHugePageBytes)));
}

// The kernel's flags for the mapping that contains `place`.
std::string FlagsOf(const char* place) {
  const auto address = reinterpret_cast<uintptr_t>(place);
  std::ifstream smaps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      is_here = begin <= address && address < end;
    if (is_here && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

TEST(HugePagesTest, AdvisesWholeHugePages) {
  // Skips the test if the kernel has no huge pages or does not report them.
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) return;
  const Memory memory = HugePages(16);
  if (FlagsOf(memory.get()).empty()) return;
  PreferHugePages(memory.get() + kHugePageBytes, 2 * kHugePageBytes + kHugePageBytes / 2);
  for (size_t i = 0; i < 16; ++i) {
    const std::string flags = FlagsOf(memory.get() + i * kHugePageBytes + kHugePageBytes / 4);
    EXPECT_EQ(flags.find(" hg ") != std::string::npos, i == 1 || i == 2) << i << ": " << flags;
  }
}

TEST(HugePagesTest, ReturnedMemoryCanBeReused) {
  const Memory memory = HugePages(3);
  std::memset(memory.get(), 'a', 3 * kHugePageBytes);
  GiveBackPages(memory.get() + kHugePageBytes, kHugePageBytes);
  EXPECT_EQ(memory.get()[kHugePageBytes - 1], 'a');
  EXPECT_EQ(memory.get()[2 * kHugePageBytes], 'a');
#ifdef __linux__
  EXPECT_EQ(memory.get()[kHugePageBytes], '\0');  // a page that did not exist
  EXPECT_EQ(memory.get()[2 * kHugePageBytes - 1], '\0');
#endif
  std::memset(memory.get() + kHugePageBytes, 'b', kHugePageBytes);
  EXPECT_EQ(memory.get()[2 * kHugePageBytes - 1], 'b');
}

}  // namespace
}  // namespace lsm
