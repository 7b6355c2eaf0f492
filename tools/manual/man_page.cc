#include "tools/manual/man_page.h"

#include <string_view>

#include "lsm/bytes/status.h"

namespace tools {
namespace {

using lsm::Concat;

// Escapes text for troff: backslashes and dashes stay literal, and no line becomes a request.
std::string Quoted(std::string_view text) {
  std::string quoted;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) quoted += "\\&";
    if (c == '\\') {
      quoted += "\\e";
    } else if (c == '-') {
      quoted += "\\-";
    } else {
      quoted += c;
    }
    at_start = c == '\n';
  }
  return quoted;
}

std::string Bold(std::string_view text) { return Concat("\\fB", Quoted(text), "\\fR"); }
std::string Italic(std::string_view text) { return Concat("\\fI", Quoted(text), "\\fR"); }

// "-h, --help" or "--limit N".
std::string Heading(const OptionText& option) {
  std::string heading;
  for (const std::string& name : option.names) {
    if (!heading.empty()) heading += ", ";
    heading += Bold(name);
  }
  if (!option.value.empty()) heading += " " + Italic(option.value);
  return heading;
}

std::string Listed(const OptionText& option) {
  return Concat(".TP\n", Heading(option), "\n", Quoted(option.help), "\n");
}

std::string Section(const CommandText& command) {
  std::string section = Concat(".SS sstdump ", command.name, " [OPTION]... ", command.words, "\n",
                               Quoted(command.what), ".\n");
  section += Concat(".TP\n", Italic("PATH"), "\n", Quoted(command.paths), "\n");
  for (const OptionText& option : command.options) section += Listed(option);
  return section + Concat(".PP\n.nf\n  ", Quoted(command.example), "\n.fi\n");
}

}  // namespace

std::string ManPage(const CommandLineText& text) {
  std::string page = ".\\\" Made by tools/manual from the help of sstdump.\n";
  page += Concat(".TH SSTDUMP 1 \"\" \"Trellis ", text.version, "\" \"User Commands\"\n");
  page += Concat(".SH NAME\nsstdump \\- inspect the files of a Trellis store\n.SH SYNOPSIS\n",
                 Bold("sstdump"), " [", Italic("OPTION"), "]... ", Italic("COMMAND"), " ",
                 Italic("PATH"), "... [", Italic("KEY"), "]\n");
  page += Concat(".SH DESCRIPTION\n", Quoted(text.introduction), "\n");
  page += ".SH OPTIONS\nThese may come before or after the command.\n";
  for (const OptionText& option : text.options) page += Listed(option);
  page += ".SH COMMANDS\n";
  for (const CommandText& command : text.commands) page += Section(command);
  page += Concat(".SH EXIT STATUS\n", Quoted(text.exit_codes), "\n");
  page += Concat(".SH NOTES\n", Quoted(text.notes), "\n");
  return page;
}

}  // namespace tools
