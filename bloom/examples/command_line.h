// Options, messages and exit codes of the example programs.
//
//   absl::Status Run(examples::CommandLine& line) {
//     const double fpp = line.Fpp("--fpp", 0.01);
//     if (!line.status().ok()) return line.status();
//     ...
//   }
//   int main(int argc, char** argv) {
//     return examples::Main(argc, argv,
//                           {.name = "greet", .help = "...", .options = {"--fpp"}}, Run);
//   }
//
// Exit codes: 0 success, 1 damaged input (DataLoss), 2 wrong use (InvalidArgument), 3 anything
// else, such as a failed read or write.
#ifndef TRELLIS_BLOOM_EXAMPLES_COMMAND_LINE_H_
#define TRELLIS_BLOOM_EXAMPLES_COMMAND_LINE_H_

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bloom/parameters.h"

namespace examples {

struct Usage {
  std::string_view name;
  std::string_view help;                     // printed by --help
  std::vector<std::string_view> options;     // options that take a value
  std::pair<size_t, size_t> words = {0, 0};  // least and most number of further words
};

// Parses all of `text` as a number; false if it is none, or out of the type's range.
template <class Number>
bool ParseNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// Parses options: `--name value` or `--name=value`; `--` ends them.  The first error stays in
// status(), so callers check it once, after reading all options.
class CommandLine {
 public:
  CommandLine(int argc, char** argv, const Usage& usage) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (options_end_ || !word.starts_with("-") || word == "-") {
        words_.emplace_back(word);
      } else if (word == "--") {
        options_end_ = true;
      } else if (word == "--help" || word == "-h") {
        wants_help_ = true;
      } else {
        const size_t equals = word.find('=');
        const std::string name(word.substr(0, equals));
        const auto& known = usage.options;
        // An empty value is most likely an unset shell variable.
        std::string value;
        if (equals != word.npos) {
          value = word.substr(equals + 1);
        } else if (i + 1 < argc) {
          value = argv[++i];
        }
        if (std::find(known.begin(), known.end(), name) == known.end()) {
          Refuse("there is no option " + name);
        } else if (value.empty()) {
          Refuse(name + " lacks its value");
        } else {
          values_[name] = value;
        }
      }
    }
    if (words_.size() < usage.words.first) Refuse("a word is missing");
    if (words_.size() > usage.words.second)
      Refuse("\"" + words_[usage.words.second] + "\" is a word too many");
  }

  bool wants_help() const { return wants_help_; }
  const std::vector<std::string>& words() const { return words_; }
  const absl::Status& status() const { return status_; }

  bool Has(const std::string& name) const { return values_.contains(name); }
  // Empty if the option is missing.
  std::string Text(const std::string& name) const {
    const auto place = values_.find(name);
    return place == values_.end() ? "" : place->second;
  }

  uint64_t Count(const std::string& name, uint64_t otherwise, uint64_t least = 1,
                 uint64_t most = uint64_t{1} << 40) {
    if (!Has(name)) return otherwise;
    uint64_t count = 0;
    if (ParseNumber(Text(name), &count) && least <= count && count <= most) return count;
    Refuse(name + " is no number from " + std::to_string(least) + " to " + std::to_string(most) +
           ": \"" + Text(name) + "\"");
    return otherwise;
  }

  double Fpp(const std::string& name, double otherwise) {
    if (!Has(name)) return otherwise;
    double fpp = 0;
    if (ParseNumber(Text(name), &fpp) && bloom::CheckTargetFpp(fpp).ok()) return fpp;
    Refuse(name + " is no probability from 2.4e-10 to below 1: \"" + Text(name) + "\"");
    return otherwise;
  }

  // If untrusted users choose keys, the seed must be unknown to them; a fixed one repeats a run.
  uint64_t SeedOrRandom(const std::string& name) {
    std::random_device random;
    return Count(name, uint64_t{random()} << 32 | random(), 0,
                 std::numeric_limits<uint64_t>::max());
  }

  void Refuse(const std::string& what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(what);
  }

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::string> values_;
  bool options_end_ = false;
  bool wants_help_ = false;
  absl::Status status_;
};

inline int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  if (absl::IsDataLoss(status)) return 1;
  return absl::IsInvalidArgument(status) ? 2 : 3;
}

// Opens closed standard files with a file that can be neither read nor written.  Otherwise the next
// opened file would take their descriptor, and receive what is printed.
inline void HoldStandardFiles() {
  for (const int file : {0, 1, 2}) {
    if (::fcntl(file, F_GETFD) < 0) ::open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);
  }
}

// Data goes to standard output, everything else to standard error.
inline int Main(int argc, char** argv, const Usage& usage, absl::Status (*run)(CommandLine&)) {
  HoldStandardFiles();
  std::ios::sync_with_stdio(false);
  CommandLine line(argc, argv, usage);
  if (line.wants_help()) {
    std::cout << usage.help;
  } else {
    absl::Status status = line.status();
    try {
      if (status.ok()) status = run(line);
    } catch (const std::bad_alloc&) {
      status = absl::ResourceExhaustedError("no memory");
    }
    if (!status.ok()) {
      std::cerr << usage.name << ": " << status.message() << "\n";
      if (!line.status().ok()) std::cerr << usage.name << ": --help tells more\n";
      return ExitCodeOf(status);
    }
  }
  if (std::cout.flush()) return 0;
  std::cerr << usage.name << ": cannot write to the standard output\n";
  return 3;
}

}  // namespace examples

#endif  // TRELLIS_BLOOM_EXAMPLES_COMMAND_LINE_H_
