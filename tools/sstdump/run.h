// The program without its process: a command line, run in a world.
#ifndef TRELLIS_TOOLS_SSTDUMP_RUN_H_
#define TRELLIS_TOOLS_SSTDUMP_RUN_H_

#include <string>
#include <vector>

#include "tools/sstdump/request.h"
#include "tools/sstdump/world.h"

namespace tools {

// Runs one command; `arguments` without the program's name.  Returns the exit code (Outcome in
// session.h).
int RunSstdump(const std::vector<std::string>& arguments, const World& world);

// Runs a request that ParseCommandLine has parsed.
int RunRequest(const Request& request, const World& world);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_RUN_H_
