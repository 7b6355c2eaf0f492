#include "tools/manual/bash_completion.h"

#include <algorithm>
#include <map>
#include <vector>

#include "lsm/bytes/status.h"

namespace tools {
namespace {

using lsm::Concat;

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string joined;
  for (const std::string& word : words) {
    if (!joined.empty()) joined += between;
    joined += word;
  }
  return joined;
}

std::string NamesOf(const std::vector<OptionText>& options) {
  std::vector<std::string> names;
  for (const OptionText& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return Joined(names, " ");
}

// Groups the options that take a value by how bash completes that value.
std::map<std::string, std::vector<std::string>> OptionsByCompletion(const CommandLineText& text) {
  std::map<std::string, std::vector<std::string>> by_completion;
  const auto add = [&](const std::vector<OptionText>& options) {
    for (const OptionText& option : options) {
      if (option.value.empty()) continue;
      std::string completion = "-W ''";  // a number or a key: nothing to offer
      if (option.value == "DIR") completion = "-d";
      if (!option.choices.empty()) completion = Concat("-W '", Joined(option.choices, " "), "'");
      std::vector<std::string>& names = by_completion[completion];
      for (const std::string& name : option.names) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
  };
  add(text.options);
  for (const CommandText& command : text.commands) add(command.options);
  return by_completion;
}

// bash splits "--color=always" into three words.  `$offered` becomes compgen's arguments.
constexpr const char* kStart =
    R"(# Completion of sstdump for bash.  Made by tools/manual from the help of sstdump.
_sstdump() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' words_only='' offered='' options='' i
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $before == '=' && $COMP_CWORD -ge 2 ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --) words_only=yes ;;
      --color)
        if [[ ${COMP_WORDS[i+1]-} == '=' ]]; then ((++i)); fi
        ((++i)) ;;
      -*) ;;
      *) if [[ -z $command || $command == help ]]; then command=${COMP_WORDS[i]}; fi ;;
    esac
  done
  COMPREPLY=()
)";

constexpr const char* kEnd = R"(  if [[ -z $offered && -z $words_only && $word == -* ]]; then
    offered="-W '$options'"
  fi
  if [[ -z $offered ]]; then
    offered='-f'
    if [[ -z $command || $command == help ]]; then offered="-W '$commands'"; fi
  fi
  if [[ $offered == -[fd] ]]; then compopt -o filenames 2>/dev/null; fi
  while IFS='' read -r word; do COMPREPLY+=("$word"); done < <(eval compgen "$offered" -- '"$word"')
}
complete -F _sstdump sstdump
)";

}  // namespace

std::string BashCompletion(const CommandLineText& text) {
  std::vector<std::string> names;
  std::string script = kStart;
  script += "  case $command in\n";
  for (const CommandText& command : text.commands) {
    names.push_back(command.name);
    script += Concat("    ", command.name, ") options='", NamesOf(command.options), " ",
                     NamesOf(text.options), "' ;;\n");
  }
  script += Concat("    *) options='", NamesOf(text.options), "' ;;\n  esac\n");
  script += "  if [[ -z $words_only ]]; then\n    case $before in\n";
  for (const auto& [completion, options] : OptionsByCompletion(text))
    script += Concat("      ", Joined(options, " | "), ") offered=\"", completion, "\" ;;\n");
  script += Concat("    esac\n  fi\n  local commands='", Joined(names, " "), " help'\n");
  return script + kEnd;
}

}  // namespace tools
