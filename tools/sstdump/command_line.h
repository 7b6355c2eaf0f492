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

// The texts of the help, from which the manual page and the completion of the shell are made.
struct OptionText {
  std::vector<std::string> names;    // "-h", "--help"
  std::string value;                 // "N"; empty for a flag
  std::vector<std::string> choices;  // the values, if there is a list of them
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
  std::vector<OptionText> options;  // before any command, and after it
  std::vector<CommandText> commands;
};
CommandLineText DescribeCommandLine();

// The word of `words` that `typed` is most likely meant to be; empty if it is like none.
std::string Nearest(const std::string& typed, const std::vector<std::string>& words);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMAND_LINE_H_
