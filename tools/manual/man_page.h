// The manual page of sstdump, from the texts of its help.
#ifndef TRELLIS_TOOLS_MANUAL_MAN_PAGE_H_
#define TRELLIS_TOOLS_MANUAL_MAN_PAGE_H_

#include <string>

#include "tools/sstdump/command_line.h"

namespace tools {

// Formatted for man(1), in the macros of man(7).
std::string ManPage(const CommandLineText& text);

}  // namespace tools

#endif  // TRELLIS_TOOLS_MANUAL_MAN_PAGE_H_
