// The command line: what may stand there, what it means, and the help.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMAND_LINE_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMAND_LINE_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/sstdump/request.h"
#include "tools/sstdump/world.h"

namespace tools {

// What to do, or an exit code: help was shown (0), or the arguments are wrong and it was said why
// (2).
struct ParsedCommandLine {
  std::optional<Request> request;
  int exit_code = 0;
};
ParsedCommandLine ParseCommandLine(const std::vector<std::string>& arguments, const World& world);

// The word of `words` that `typed` is most likely meant to be; empty if it is like none.
std::string Nearest(const std::string& typed, const std::vector<std::string>& words);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMAND_LINE_H_
