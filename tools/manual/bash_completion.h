// Completion of sstdump's command line in bash, from the same texts as its help.
#ifndef TRELLIS_TOOLS_MANUAL_BASH_COMPLETION_H_
#define TRELLIS_TOOLS_MANUAL_BASH_COMPLETION_H_

#include <string>

#include "tools/sstdump/command_line.h"

namespace tools {

// A script for bash to source.  Completes commands, their options, the values of options that have
// a list of them, directories, and paths.
std::string BashCompletion(const CommandLineText& text);

}  // namespace tools

#endif  // TRELLIS_TOOLS_MANUAL_BASH_COMPLETION_H_
