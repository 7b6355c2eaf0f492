// Bash completion for sstdump, generated from the texts of its help.
#ifndef TRELLIS_TOOLS_MANUAL_BASH_COMPLETION_H_
#define TRELLIS_TOOLS_MANUAL_BASH_COMPLETION_H_

#include <string>

#include "tools/sstdump/command_line.h"

namespace tools {

// A script for bash to source.  It completes commands, options, paths, directories, and values that
// come from a list.
std::string BashCompletion(const CommandLineText& text);

}  // namespace tools

#endif  // TRELLIS_TOOLS_MANUAL_BASH_COMPLETION_H_
