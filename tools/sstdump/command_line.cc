#include "tools/sstdump/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "bloom/catalog.h"
#include "lsm/base/options.h"
#include "lsm/base/release.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/log/log_format.h"
#include "lsm/table/format.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/wrap.h"

namespace tools {
namespace {

using lsm::Concat;

// What CLI11 fills in, before keys are turned into bytes.
struct Typed {
  Request request;
  std::string color = "auto";
  bool hex = false;
  bool raw = false;
  std::optional<std::string> key, from, to;
  std::string store;
};

struct CommandHelp {
  const char* name;
  const char* what;
  const char* example;
};
constexpr CommandHelp kCommands[] = {
    {"info", "What a file or a store is, on one screen",
     "sstdump info store/                 # tables, key range, logs, manifest of a store\n"
     "  sstdump info store/000013.table     # counts, sizes, ratio and filter of a table"},
    {"properties", "All that tables say of themselves", "sstdump properties store/000013.table"},
    {"blocks", "Each block of a table: offset, sizes, keys, soundness",
     "sstdump blocks --limit 20 store/000013.table"},
    {"filter", "A table's filter: size, fill, and target, predicted and measured FPP",
     "sstdump filter store/000013.table\n"
     "  sstdump filter --json store/ | jq '.results[].measured.fpp'"},
    {"scan", "A table's entries in order: key, sequence, kind, value, with tabs between",
     "sstdump scan --from user1 --to user2 --limit 10 store/000013.table\n"
     "  sstdump scan --keys-only store/000013.table | wc -l"},
    {"get", "Looks for a key in each file, and tells what each step says",
     "sstdump get user1234 store/000013.table\n"
     "  sstdump get --hex 00ff10 store/     # in every log and table of a store\n"
     "  sstdump get --raw user1234 store/   # the value that the store answers"},
    {"verify", "Checks everything: checksums, order, counts, index, filter",
     "sstdump verify store/ && echo sound"},
    {"wal", "The records of write-ahead logs, and the writes in them",
     "sstdump wal --limit 5 store/000014.log"},
    {"manifest", "The edits of a manifest, and what they add up to",
     "sstdump manifest store/             # the one that CURRENT names"},
    {"levels", "The tree of a store: tables, keys, filter bytes and FPP by level",
     "sstdump levels --tables store/"},
    {"explain", "The whole way of a lookup in a store: logs, levels, filters, blocks",
     "sstdump explain store/ user1234"},
};

constexpr const char* kIntroduction =
    "Shows what is inside of Trellis's tables, logs, manifests and stores.\n"
    "Files are known by their content, not by their names.  It only reads, and takes no lock.";

constexpr const char* kAfterword =
    "Exit code: 0 fine, 1 damage found, 2 wrong use, 3 cannot read (or not a file of "
    "Trellis); of several paths the highest counts.  Data goes to the standard output, "
    "messages to the standard error.  Keys are typed and shown with \\xHH for bytes that "
    "cannot be printed and \\\\ for a backslash.  A KEY or PATH that begins with a dash "
    "stands behind --.";

// The column where CLI11 begins what an option or a command does.
constexpr size_t kHelpColumn = 30;
constexpr size_t kHelpColumnsMax = 80;

// As CLI11 does not break lines.
std::string FittedHelp(std::string_view help, const World& world) {
  const size_t columns = world.terminal.is_terminal
                             ? std::min(world.terminal.columns, kHelpColumnsMax)
                             : kHelpColumnsMax;
  std::string text;
  while (!help.empty()) {
    const size_t end = std::min(help.find('\n'), help.size() - 1) + 1;
    const std::string_view line = help.substr(0, end);
    const size_t hanging = line.starts_with("  sstdump") ? 6
                           : line.starts_with(' ')       ? kHelpColumn
                                                         : 0;
    text += Wrapped(line, columns, hanging);
    help.remove_prefix(end);
  }
  return text;
}

std::string VersionText() {
  return Concat("sstdump ", TRELLIS_VERSION_STRING, ", table format ", lsm::kTableVersion,
                ", log format ", lsm::kLogVersion, ", filters ", bloom::KeyedKindNames(),
                ", compression ", NameOf(lsm::Compression::kNone), ", ",
                NameOf(lsm::Compression::kLz4));
}

const CommandHelp& HelpOf(std::string_view name) {
  return *std::find_if(std::begin(kCommands), std::end(kCommands),
                       [name](const CommandHelp& command) { return command.name == name; });
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const CommandHelp& command : kCommands) names.push_back(command.name);
  return names;
}

// Edits (insert, remove, replace, swap neighbours) that make one word of the other.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// CLI11 takes "-1" for the largest number there is.
std::string CheckCount(const std::string& text) {
  const bool is_count = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return is_count ? "" : Concat("\"", lsm::Escape(text, 40), "\" is no number");
}

// More would be asked for minutes.
constexpr uint64_t kProbesMax = 1'000'000'000;

std::string CheckProbes(const std::string& text) {
  if (std::string problem = CheckCount(text); !problem.empty()) return problem;
  const bool is_more =
      text.size() > std::to_string(kProbesMax).size() || std::stoull(text) > kProbesMax;
  if (!is_more) return "";
  return Concat(lsm::Escape(text, 40), " is more than ", lsm::ReadableCount(kProbesMax));
}

// They may stand before the command, and behind it.
void AddCommonOptions(CLI::App* app, Typed* typed) {
  app->add_flag("--json", typed->request.json, "One JSON document instead of text");
  app->add_option("--color", typed->color,
                  "auto (on a terminal, unless NO_COLOR is set), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("WHEN");
}

CLI::App* AddCommand(CLI::App* app, std::string_view name, Typed* typed) {
  const CommandHelp& help = HelpOf(name);
  CLI::App* command = app->add_subcommand(help.name, help.what);
  command->fallthrough();
  AddCommonOptions(command, typed);
  command->footer(Concat("Example:\n  ", help.example));
  command->callback([typed, name = std::string(name)] { typed->request.command = name; });
  return command;
}

void AddPaths(CLI::App* command, Typed* typed, const char* what) {
  command->add_option("PATH", typed->request.paths, what)->required()->type_name("");
}

void AddForms(CLI::App* command, Typed* typed, bool may_be_raw) {
  CLI::Option* hex =
      command->add_flag("--hex", typed->hex, "Keys and values in hexadecimal, typed and shown");
  if (!may_be_raw) return;
  command->add_flag("--raw", typed->raw, "Keys and values as their bytes are, not escaped")
      ->excludes(hex);
}

void AddLimit(CLI::App* command, Typed* typed, const char* what) {
  command->add_option("--limit", typed->request.limit, what)->check(CheckCount)->type_name("N");
}

void AddLogs(CLI::App* command, Typed* typed) {
  command
      ->add_option("--logs", typed->request.log_directory,
                   "Where the store's logs are, if not with its tables")
      ->type_name("DIR");
}

void AddTableCommands(CLI::App* app, Typed* typed) {
  constexpr const char* kTables = "Tables, or directories of tables";
  CLI::App* properties = AddCommand(app, "properties", typed);
  AddPaths(properties, typed, kTables);

  CLI::App* blocks = AddCommand(app, "blocks", typed);
  AddPaths(blocks, typed, kTables);
  AddLimit(blocks, typed, "At most so many data blocks of each table");
  AddForms(blocks, typed, /*may_be_raw=*/false);

  CLI::App* filter = AddCommand(app, "filter", typed);
  AddPaths(filter, typed, kTables);
  filter
      ->add_option("--probes", typed->request.probes,
                   "Ask about so many absent keys (at most 1,000,000,000); 0: do not measure.  "
                   "Default: as many that about 4,000 pass, and at most 1 GiB of keys")
      ->check(CheckProbes)
      ->type_name("N");

  CLI::App* scan = AddCommand(app, "scan", typed);
  AddPaths(scan, typed, kTables);
  scan->add_option("--from", typed->from, "First key")->type_name("KEY");
  scan->add_option("--to", typed->to, "Key to stop before")->type_name("KEY");
  AddLimit(scan, typed, "At most so many entries of each table");
  scan->add_flag("--keys-only", typed->request.keys_only, "Only keys");
  AddForms(scan, typed, /*may_be_raw=*/true);
}

void AddKeyCommands(CLI::App* app, Typed* typed) {
  CLI::App* get = AddCommand(app, "get", typed);
  get->add_option("KEY", typed->key, "The key to look for")->required()->type_name("");
  AddPaths(get, typed, "Tables, logs, or directories of them");
  AddForms(get, typed, /*may_be_raw=*/true);
  AddLogs(get, typed);

  CLI::App* explain = AddCommand(app, "explain", typed);
  explain->add_option("DIR", typed->store, "A store")->required()->type_name("");
  explain->add_option("KEY", typed->key, "The key to look for")->required()->type_name("");
  AddForms(explain, typed, /*may_be_raw=*/false);
  AddLogs(explain, typed);
}

void AddStoreCommands(CLI::App* app, Typed* typed) {
  CLI::App* verify = AddCommand(app, "verify", typed);
  AddPaths(verify, typed, "Files, or stores");
  AddLogs(verify, typed);

  CLI::App* wal = AddCommand(app, "wal", typed);
  AddPaths(wal, typed, "Logs, or directories of logs");
  AddLimit(wal, typed, "At most so many records of each log");
  wal->add_flag("--records-only", typed->request.records_only,
                "Records without the writes in them");
  wal->add_flag("--keys-only", typed->request.keys_only, "Writes without their values");
  AddForms(wal, typed, /*may_be_raw=*/false);
  AddLogs(wal, typed);

  CLI::App* manifest = AddCommand(app, "manifest", typed);
  AddPaths(manifest, typed, "Manifests, CURRENT files, or stores");
  AddLimit(manifest, typed, "At most so many edits are shown");
  AddForms(manifest, typed, /*may_be_raw=*/false);

  CLI::App* levels = AddCommand(app, "levels", typed);
  AddPaths(levels, typed, "Stores");
  levels->add_flag("--tables", typed->request.with_tables, "Each table too");
  AddForms(levels, typed, /*may_be_raw=*/false);
}

void AddCommands(CLI::App* app, Typed* typed) {
  CLI::App* info = AddCommand(app, "info", typed);
  AddPaths(info, typed, "Files, or stores");
  AddForms(info, typed, /*may_be_raw=*/false);
  AddLogs(info, typed);
  AddTableCommands(app, typed);
  AddKeyCommands(app, typed);
  AddStoreCommands(app, typed);
}

bool FromHex(std::string_view text, std::string* bytes) {
  if (text.size() % 2 != 0) return false;
  std::string escaped;
  for (size_t i = 0; i < text.size(); i += 2) escaped += Concat("\\x", text.substr(i, 2));
  return lsm::Unescape(escaped, bytes);
}

// False, and a message, if the text is not in the form that keys are typed in.
bool ReadKey(const std::string& text, const Typed& typed, const World& world, std::string* key) {
  if (typed.hex ? FromHex(text, key) : lsm::Unescape(text, key)) return true;
  *world.err << "sstdump: key \"" << lsm::Escape(text)
             << (typed.hex ? "\" is not hexadecimal: two digits a byte\n"
                           : "\": a backslash must be followed by xHH, or by another backslash\n");
  return false;
}

bool ReadKeys(const Typed& typed, const World& world, Request* request) {
  if (typed.key && !ReadKey(*typed.key, typed, world, &request->key)) return false;
  if (typed.from && !ReadKey(*typed.from, typed, world, &request->from.emplace())) return false;
  if (typed.to && !ReadKey(*typed.to, typed, world, &request->to.emplace())) return false;
  request->form = typed.hex ? ByteForm::kHex : typed.raw ? ByteForm::kRaw : ByteForm::kEscaped;
  request->color =
      typed.color == "always" ||
      (typed.color == "auto" && world.terminal.is_terminal && world.terminal.allows_color);
  return true;
}

// The first word, if it is no command: CLI11's own message would not say which one was meant.
std::string UnknownCommand(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--color") {
      ++i;  // its value
    } else if (!arguments[i].starts_with("-")) {
      const std::vector<std::string> names = CommandNames();
      return std::find(names.begin(), names.end(), arguments[i]) == names.end() ? arguments[i] : "";
    }
  }
  return "";
}

// The first word before `--` that looks like an option and is none; empty if there is none.
std::string UnknownOption(const std::vector<std::string>& arguments,
                          const std::vector<CLI::App*>& used) {
  if (used.empty()) return "";
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (word.size() > 1 && word[0] == '-' &&
        used.front()->get_option_no_throw(word.substr(0, word.find('='))) == nullptr)
      return word;
  }
  return "";
}

ParsedCommandLine Wrong(const World& world, const std::string& message) {
  *world.err << "sstdump: " << message << '\n';
  return {std::nullopt, static_cast<int>(Outcome::kUsage)};
}

ParsedCommandLine SayUnknown(const std::string& word, const World& world) {
  const std::string nearest = Nearest(word, CommandNames());
  std::string message = Concat("there is no command \"", lsm::Escape(word, 60), "\"");
  if (!nearest.empty()) {
    message += Concat("; did you mean \"", nearest, "\"?");
  } else if (FindTarget(world, word).ok()) {
    message += Concat("; did you mean \"sstdump info ", lsm::Escape(word, 60), "\"?");
  } else {
    message += "; sstdump --help lists them";
  }
  return Wrong(world, message);
}

}  // namespace

std::string Nearest(const std::string& typed, const std::vector<std::string>& words) {
  constexpr size_t kEditsMax = 2;
  std::string nearest;
  size_t least = kEditsMax + 1;
  for (const std::string& word : words) {
    // The beginning of a word is as good as one edit.
    const size_t edits =
        typed.size() >= 2 && word.starts_with(typed) ? 1 : EditDistance(typed.substr(0, 40), word);
    // Of a short word too little would be left.
    if (edits < least && edits < word.size() - 1) {
      least = edits;
      nearest = word;
    }
  }
  return nearest;
}

ParsedCommandLine ParseCommandLine(const std::vector<std::string>& arguments, const World& world) {
  std::vector<std::string> words = arguments;
  // "help" and "help COMMAND".
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (const std::string unknown = UnknownCommand(words); !unknown.empty())
    return SayUnknown(unknown, world);

  Typed typed;
  CLI::App app(kIntroduction, "sstdump");
  app.footer(kAfterword);
  app.set_version_flag("--version", VersionText());
  AddCommonOptions(&app, &typed);
  app.require_subcommand(1);
  AddCommands(&app, &typed);
  if (words.empty()) {
    *world.err << FittedHelp(app.help(), world);
    return {std::nullopt, static_cast<int>(Outcome::kUsage)};
  }
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes a vector
    app.parse(words);
  } catch (const CLI::CallForVersion&) {
    const std::string text = VersionText() + "\n";
    *world.out << (world.terminal.is_terminal ? FittedHelp(text, world) : text);
    world.out->flush();
    return {};
  } catch (const CLI::Success& success) {
    std::ostringstream help;
    app.exit(success, help, help);
    *world.out << FittedHelp(help.str(), world);
    world.out->flush();
    return {};
  } catch (const CLI::ParseError& error) {
    const std::vector<CLI::App*> used = app.get_subcommands();
    const std::string command = used.empty() ? "" : used.front()->get_name() + " ";
    std::string message = lsm::Escape(error.what());
    const bool is_amiss = error.get_name() == "RequiredError" || error.get_name() == "ExtrasError";
    if (const std::string word = UnknownOption(arguments, used); is_amiss && !word.empty())
      message += Concat("; a KEY or PATH like ", lsm::Escape(word, 60), " stands behind --");
    return Wrong(world, Concat(message, "; sstdump ", command, "--help tells more"));
  }
  if (typed.request.command == "explain") typed.request.paths = {typed.store};
  if (!ReadKeys(typed, world, &typed.request))
    return {std::nullopt, static_cast<int>(Outcome::kUsage)};
  const Request& request = typed.request;
  if (request.command == "get" && request.form == ByteForm::kRaw && !request.json &&
      request.paths.size() > 1) {
    return Wrong(world, "get --raw writes one value, so that it takes one PATH");
  }
  return {std::move(typed.request), 0};
}

}  // namespace tools
