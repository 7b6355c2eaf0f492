// The command line: its grammar, its meaning, and the help.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMAND_LINE_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMAND_LINE_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/sstdump/request.h"
#include "tools/sstdump/world.h"

namespace tools {

// Either a request, or an exit code: 0 after help was shown, 2 after a message about wrong
// arguments.
struct ParsedCommandLine {
  std::optional<Request> request;
  int exit_code = 0;
};
ParsedCommandLine ParseCommandLine(const std::vector<std::string>& arguments, const World& world);

// The texts of the help.  The manual page and the shell completion are made from them too.
struct OptionText {
  std::vector<std::string> names;    // "-h", "--help"
  std::string value;                 // "N"; empty for a flag
  std::vector<std::string> choices;  // if the value comes from a list
  std::string help;
};
struct CommandText {
  std::string name, what;
  std::string words;  // "PATH... KEY"
  std::string paths;  // help of PATH
  std::vector<OptionText> options;
  std::string example;
};
struct CommandLineText {
  std::string version, introduction, exit_codes, notes;
  std::vector<OptionText> options;  // before or after any command
  std::vector<CommandText> commands;
};
CommandLineText DescribeCommandLine();

// The word of `words` most similar to `typed`; empty if none is similar.
std::string Nearest(const std::string& typed, const std::vector<std::string>& words);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMAND_LINE_H_
