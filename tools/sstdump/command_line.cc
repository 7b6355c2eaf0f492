#include "tools/sstdump/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/time/time.h"
#include "bloom/catalog.h"
#include "lsm/base/internal_key.h"
#include "lsm/block/format.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/iterator.h"
#include "lsm/log/log_format.h"
#include "lsm/options.h"
#include "lsm/release.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/wrap.h"

namespace tools {
namespace {

using lsm::Concat;

// Filled in by CLI11.  Keys are still as typed.
struct Typed {
  Request request;
  std::string color = "auto";
  bool hex = false;
  bool raw = false;
  std::vector<std::string> words;  // PATH... [KEY]
  std::optional<std::string> keyspace, from, to, prefix, rate, at;
};

constexpr const char* kIntroduction =
    "Shows the contents of Trellis's tables, logs, manifests and stores.\n"
    "It recognises files by their content, not by their names.  It only reads, and takes no lock.";

constexpr const char* kExitCodes =
    "0 fine, 1 damage found, 2 wrong usage, 3 unreadable or not a file of Trellis; with several "
    "paths the highest counts.";
constexpr const char* kNotes =
    "Data goes to the standard output, messages to the standard error.  Keys and names of "
    "keyspaces "
    "are typed and shown with \\xHH for unprintable bytes and \\\\ for a backslash.  A KEY or PATH "
    "that begins with a "
    "dash must follow --.";

// The column where CLI11 puts the description of an option or command.
constexpr size_t kHelpColumn = 30;
constexpr size_t kHelpColumnsMax = 80;

// CLI11 does not break lines.
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
  return Concat("sstdump ", TRELLIS_VERSION_STRING, ", table format ", lsm::kTableVersion, " to ",
                lsm::kTableVersionWithRanges, ", log format ",
                lsm::LogVersionMax(lsm::LogKind::kWriteAhead), ", filters ",
                bloom::KeyedKindNames(), ", compression ", NameOf(lsm::Compression::kNone), ", ",
                NameOf(lsm::Compression::kLz4));
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  return names;
}

// The number of edits (insert, remove, replace, swap neighbours) that turn one word into the other.
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

// CLI11 accepts "-1" as the largest number.
std::string CheckCount(const std::string& text) {
  const bool is_count = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return is_count ? "" : Concat("\"", lsm::Escape(text, 40), "\" is not a number");
}

// More probes would take minutes.
constexpr uint64_t kProbesMax = 1'000'000'000;

std::string CheckProbes(const std::string& text) {
  if (std::string problem = CheckCount(text); !problem.empty()) return problem;
  const bool is_more =
      text.size() > std::to_string(kProbesMax).size() || std::stoull(text) > kProbesMax;
  if (!is_more) return "";
  return Concat(lsm::Escape(text, 40), " is more than ", lsm::ReadableCount(kProbesMax));
}

constexpr uint64_t kThreadsMax = 256;

// Bytes per second: "64", "50M".
bool ReadRate(std::string_view text, uint64_t* bytes) {
  constexpr std::string_view kUnits = "KMG";
  const size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  if (unit != kUnits.npos) text.remove_suffix(1);
  constexpr size_t kDigitsMax = 9;
  if (text.empty() || text.size() > kDigitsMax || text.find_first_not_of("0123456789") != text.npos)
    return false;
  *bytes = std::stoull(std::string(text)) << (unit == kUnits.npos ? 0 : 10 * (unit + 1));
  return *bytes > 0;
}

// Seconds since 1970, or a time in UTC as sstdump shows it.
bool ReadTime(const std::string& text, uint32_t* seconds) {
  constexpr size_t kDigitsMax = 10;
  absl::Time time;
  uint64_t number = 0;
  if (CheckCount(text).empty() && text.size() <= kDigitsMax) {
    number = std::stoull(text);
  } else if (absl::ParseTime("%Y-%m-%dT%H:%M:%SZ", text, &time, nullptr) &&
             time >= absl::UnixEpoch()) {
    number = static_cast<uint64_t>(absl::ToUnixSeconds(time));
  } else {
    return false;
  }
  *seconds = static_cast<uint32_t>(number);
  return number <= lsm::kSecondsMax;
}

std::string CheckTime(const std::string& text) {
  uint32_t seconds = 0;
  if (ReadTime(text, &seconds)) return "";
  return Concat("\"", lsm::Escape(text, 40), "\" is not a time from 1970 to ",
                lsm::ReadableTime(lsm::kSecondsMax),
                ": seconds since 1970, or a time in UTC in this form");
}

constexpr const char* kColorType = "WHEN";
const std::vector<std::string> kColors = {"auto", "always", "never"};

// These options are accepted before and after the command.
void AddCommonOptions(CLI::App* app, Typed* typed) {
  app->add_flag("--json", typed->request.json,
                "JSON instead of text: one document; for scan, dump and wal one object per line");
  app->add_option("--color", typed->color,
                  "auto (on a terminal, unless NO_COLOR is set), always, never")
      ->check(CLI::IsMember(kColors).description(""))
      ->type_name(kColorType);
}

// CLI11 would put all words into PATH..., so one list takes both PATH... and KEY.  KEY is the last
// word.
constexpr const char* kKeyName = "KEY";
class UsageWithKey : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option* option) const override {
    return option->get_name(/*positional=*/true) == kKeyName
               ? kKeyName
               : CLI::Formatter::make_option_usage(option);
  }
};

void AddPositionals(CLI::App* app, const CommandArguments& arguments, Typed* typed) {
  CLI::Option* paths = app->add_option("PATH", typed->words, arguments.paths);
  paths->type_name("")->required();
  if (arguments.key) app->add_option(kKeyName, "The key to look up")->type_name("");
}

void AddRange(CLI::App* app, Typed* typed) {
  CLI::Option* from = app->add_option("--from", typed->from, "Start at this key")->type_name("KEY");
  CLI::Option* to = app->add_option("--to", typed->to, "End before this key")->type_name("KEY");
  app->add_option("--prefix", typed->prefix, "Only keys with this prefix")
      ->type_name("KEY")
      ->excludes(from)
      ->excludes(to);
}

void AddForms(CLI::App* app, bool may_be_raw, Typed* typed) {
  CLI::Option* hex =
      app->add_flag("--hex", typed->hex, "Keys and values in hexadecimal, typed and shown");
  if (!may_be_raw) return;
  app->add_flag("--raw", typed->raw, "Keys and values as raw bytes, not escaped")->excludes(hex);
}

// CLI11's own units include powers of ten.
std::string CheckRate(const std::string& text) {
  uint64_t bytes = 0;
  return ReadRate(text, &bytes) ? ""
                                : Concat("\"", lsm::Escape(text, 40),
                                         "\" is not a number of bytes: 1 or more, with K, M or G");
}

std::string CheckThreads(const std::string& text) {
  if (std::string problem = CheckCount(text); !problem.empty()) return problem;
  const bool is_fine =
      text.size() <= 3 && std::stoull(text) >= 1 && std::stoull(text) <= kThreadsMax;
  return is_fine ? "" : Concat(lsm::Escape(text, 40), " is not between 1 and ", kThreadsMax);
}

void AddPace(CLI::App* app, Typed* typed) {
  app->add_option("--rate", typed->rate,
                  "Read at most BYTES of tables per second; K, M, G: KiB, MiB, GiB")
      ->check(CheckRate)
      ->type_name("BYTES");
  app->add_option("--threads", typed->request.threads,
                  "Check N tables at a time (at most 256); default 1")
      ->check(CheckThreads)
      ->type_name("N");
}

void AddTime(CLI::App* app, Typed* typed) {
  app->add_option(
         "--at", typed->at,
         "Show what a reader sees at this time, in keyspaces whose entries expire: seconds "
         "since 1970, or like 2026-11-30T03:00:00Z; default: now")
      ->check(CheckTime)
      ->type_name("TIME");
}

void AddProbes(CLI::App* app, Typed* typed) {
  app->add_option("--probes", typed->request.probes,
                  "Query the filter for N absent keys (at most 1,000,000,000); 0: do not measure.  "
                  "Default: enough that about 4,000 pass, but at most 1 GiB of keys")
      ->check(CheckProbes)
      ->type_name("N");
}

void AddCommand(CLI::App* app, const Command& command, Typed* typed) {
  CLI::App* sub = app->add_subcommand(command.name, command.what);
  const CommandArguments& arguments = command.arguments;
  Request* const request = &typed->request;
  sub->fallthrough();
  AddCommonOptions(sub, typed);
  AddPositionals(sub, arguments, typed);
  if (arguments.probes) AddProbes(sub, typed);
  if (arguments.pace) AddPace(sub, typed);
  if (arguments.range) AddRange(sub, typed);
  if (arguments.limit != nullptr) {
    sub->add_option("--limit", request->limit, arguments.limit)->check(CheckCount)->type_name("N");
  }
  if (arguments.records_only)
    sub->add_flag("--records-only", request->records_only, "Records without the writes in them");
  if (arguments.keys_only != nullptr)
    sub->add_flag("--keys-only", request->keys_only, arguments.keys_only);
  if (arguments.keyspace != nullptr)
    sub->add_option("--keyspace", typed->keyspace, arguments.keyspace)->type_name("NAME");
  if (arguments.at) AddTime(sub, typed);
  if (arguments.tables) sub->add_flag("--tables", request->with_tables, "Show each table too");
  if (arguments.forms) AddForms(sub, arguments.raw, typed);
  if (arguments.logs) {
    sub->add_option("--logs", request->log_directory,
                    "Directory of the store's logs, if it is neither the tables' nor the one in "
                    "the manifest")
        ->type_name("DIR");
  }
  sub->footer(Concat("Example:\n  ", command.example));
  sub->callback([request, &command] { request->command = &command; });
}

void AddAll(CLI::App* app, Typed* typed) {
  app->footer(Concat("Exit code: ", kExitCodes, "  ", kNotes));
  app->formatter(std::make_shared<UsageWithKey>());
  app->set_version_flag("--version", VersionText());
  AddCommonOptions(app, typed);
  app->require_subcommand(1);
  for (const Command& command : Commands()) AddCommand(app, command, typed);
}

std::vector<OptionText> OptionsOf(const CLI::App& app) {
  std::vector<OptionText> options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    OptionText& text = options.emplace_back();
    for (const std::string& name : option->get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) text.names.push_back("--" + name);
    text.value = option->get_type_name();
    text.help = option->get_description();
    if (text.value == kColorType) text.choices = kColors;
  }
  return options;
}

// Without the options that all commands share.
std::vector<OptionText> OptionsOfItsOwn(const CLI::App& app, const std::string& command) {
  std::vector<OptionText> options = OptionsOf(*app.get_subcommand(command));
  std::erase_if(options, [&](const OptionText& option) {
    return app.get_option_no_throw(option.names.back()) != nullptr;
  });
  return options;
}

constexpr const char* kEscapeRule =
    "\": a backslash must be followed by xHH, or by another backslash\n";

bool FromHex(std::string_view text, std::string* bytes) {
  if (text.size() % 2 != 0) return false;
  std::string escaped;
  for (size_t i = 0; i < text.size(); i += 2) escaped += Concat("\\x", text.substr(i, 2));
  return lsm::Unescape(escaped, bytes);
}

// Prints a message and returns false if the text is not a valid key in the form typed.
bool ReadKey(const std::string& text, const Typed& typed, const World& world, std::string* key) {
  if (typed.hex ? FromHex(text, key) : lsm::Unescape(text, key)) return true;
  *world.err << "sstdump: key \"" << lsm::Escape(text)
             << (typed.hex ? "\" is not hexadecimal: two digits per byte\n" : kEscapeRule);
  return false;
}

// The same for the name of a keyspace, which is never hexadecimal.
bool ReadName(const std::string& text, const World& world, std::string* name) {
  if (lsm::Unescape(text, name)) return true;
  *world.err << "sstdump: keyspace \"" << lsm::Escape(text) << kEscapeRule;
  return false;
}

bool ReadKeys(const Typed& typed, const World& world, Request* request) {
  if (request->command->arguments.key && !ReadKey(typed.words.back(), typed, world, &request->key))
    return false;
  if (typed.keyspace && !ReadName(*typed.keyspace, world, &request->keyspace.emplace()))
    return false;
  if (typed.from && !ReadKey(*typed.from, typed, world, &request->from.emplace())) return false;
  if (typed.to && !ReadKey(*typed.to, typed, world, &request->to.emplace())) return false;
  if (typed.prefix) {
    if (!ReadKey(*typed.prefix, typed, world, &request->from.emplace())) return false;
    request->to = lsm::PrefixEnd(*request->from);
  }
  if (typed.rate) ReadRate(*typed.rate, &request->rate.emplace());
  if (request->command->arguments.at) {
    const uint64_t now = world.now_seconds ? world.now_seconds() : 0;
    request->at = static_cast<uint32_t>(std::min<uint64_t>(now, lsm::kSecondsMax));
    if (typed.at) ReadTime(*typed.at, &*request->at);
  }
  request->form = typed.hex ? ByteForm::kHex : typed.raw ? ByteForm::kRaw : ByteForm::kEscaped;
  request->color =
      typed.color == "always" ||
      (typed.color == "auto" && world.terminal.is_terminal && world.terminal.allows_color);
  return true;
}

// The first word if it is not a command.  CLI11's own message would not suggest a command.
std::string UnknownCommand(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--color") {
      ++i;  // the option's value
    } else if (!arguments[i].starts_with("-")) {
      const std::vector<std::string> names = CommandNames();
      return std::find(names.begin(), names.end(), arguments[i]) == names.end() ? arguments[i] : "";
    }
  }
  return "";
}

// The first word before `--` that looks like an option but is not one; empty if there is none.
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

// In a list, CLI11 reads a word "[a,b]" as two words and "{}" as none.  A NUL byte in front
// prevents that; no argument contains one.
void Protect(std::string* word) {
  if (word->starts_with('[') || word->starts_with('{')) word->insert(word->begin(), '\0');
}

// CLI11 reads the word after "--prefix=" as the value.  Splits it into "--prefix" and an empty
// word, which is what the user meant.
void SplitEmptyValues(std::vector<std::string>* words) {
  std::vector<std::string> split;
  for (auto word = words->begin(); word != words->end(); ++word) {
    if (*word == "--") {
      split.insert(split.end(), word, words->end());
      break;
    }
    const bool is_empty = word->starts_with("--") && word->find('=') == word->size() - 1;
    split.push_back(is_empty ? word->substr(0, word->size() - 1) : *word);
    if (is_empty) split.emplace_back();
  }
  *words = std::move(split);
}

void Unprotect(Typed* typed) {
  const auto unprotect = [](std::string* word) {
    if (word->starts_with('\0')) word->erase(word->begin());
  };
  for (std::string& word : typed->words) unprotect(&word);
  for (auto* word : {&typed->keyspace, &typed->from, &typed->to, &typed->prefix,
                     &typed->request.log_directory}) {
    if (*word) unprotect(&**word);
  }
}

// Splits the words into PATH... and KEY.  Returns an error message, or an empty text.
std::string TakePaths(Typed* typed, const World& world) {
  Request& request = typed->request;
  const std::string name = request.command->name;
  request.paths = typed->words;
  if (!request.command->arguments.key) return "";
  request.paths.pop_back();
  if (request.paths.empty()) return Concat(name, " needs PATH... and KEY; one of them is missing");
  if (request.command->arguments.raw && typed->raw && !request.json && request.paths.size() > 1)
    return Concat(name, " --raw writes one value, so it takes only one PATH");
  const std::string& key = typed->words.back();
  if (absl::IsNotFound(FindTarget(world, request.paths.front()).status()) &&
      FindTarget(world, key).ok()) {
    return Concat("KEY comes last: \"", lsm::Escape(request.paths.front(), 60),
                  "\" is not a file, but \"", lsm::Escape(key, 60), "\" is");
  }
  return "";
}

}  // namespace

std::string Nearest(const std::string& typed, const std::vector<std::string>& words) {
  constexpr size_t kEditsMax = 2;
  std::string nearest;
  size_t least = kEditsMax + 1;
  for (const std::string& word : words) {
    // The beginning of a word counts as one edit.
    const size_t edits =
        typed.size() >= 2 && word.starts_with(typed) ? 1 : EditDistance(typed.substr(0, 40), word);
    // Too little would be left of a short word.
    if (edits < least && edits < word.size() - 1) {
      least = edits;
      nearest = word;
    }
  }
  return nearest;
}

CommandLineText DescribeCommandLine() {
  Typed typed;
  CLI::App app(kIntroduction, "sstdump");
  AddAll(&app, &typed);
  CommandLineText text{.version = TRELLIS_VERSION_STRING,
                       .introduction = kIntroduction,
                       .exit_codes = kExitCodes,
                       .notes = kNotes,
                       .options = OptionsOf(app),
                       .commands = {}};
  for (const Command& command : Commands()) {
    text.commands.push_back({.name = command.name,
                             .what = command.what,
                             .words = command.arguments.key ? "PATH... KEY" : "PATH...",
                             .paths = command.arguments.paths,
                             .options = OptionsOfItsOwn(app, command.name),
                             .example = command.example});
  }
  return text;
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
  AddAll(&app, &typed);
  if (words.empty()) {
    *world.err << FittedHelp(app.help(), world);
    return {std::nullopt, static_cast<int>(Outcome::kUsage)};
  }
  SplitEmptyValues(&words);
  try {
    for (std::string& word : words) Protect(&word);
    std::reverse(words.begin(), words.end());  // CLI11 expects a vector in reverse order
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
    const bool is_amiss = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr ||
                          dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    if (const std::string word = UnknownOption(arguments, used); is_amiss && !word.empty())
      message += Concat("; a KEY or PATH like ", lsm::Escape(word, 60), " must follow --");
    return Wrong(world, Concat(message, "; see sstdump ", command, "--help"));
  }
  Unprotect(&typed);
  if (const std::string problem = TakePaths(&typed, world); !problem.empty())
    return Wrong(world, problem);
  if (!ReadKeys(typed, world, &typed.request))
    return {std::nullopt, static_cast<int>(Outcome::kUsage)};
  return {std::move(typed.request), 0};
}

}  // namespace tools
