// Writes sstdump's manual page and its bash completion during the build.
#include <fstream>
#include <iostream>
#include <string>

#include "tools/manual/bash_completion.h"
#include "tools/manual/man_page.h"
#include "tools/sstdump/command_line.h"

namespace tools {
namespace {

bool WriteText(const char* path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) std::cerr << "sstdump_manual: cannot write " << path << "\n";
  return static_cast<bool>(file);
}

}  // namespace
}  // namespace tools

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: sstdump_manual PAGE COMPLETION\n", 2;
  const tools::CommandLineText text = tools::DescribeCommandLine();
  return tools::WriteText(argv[1], tools::ManPage(text)) &&
                 tools::WriteText(argv[2], tools::BashCompletion(text))
             ? 0
             : 1;
}
