// Fuzzes sstdump: runs it with arbitrary arguments on a store in which one file has arbitrary
// bytes.  The input is:
//
//   COLUMNS of the terminal, 0 for a pipe \n NAME of the file \n ARGUMENT \n ... \n BYTES
//
// The store is always s.  With "r/", "k/" or "e/" before the name it is one with range deletes,
// with keyspaces, or with entries that expire.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/memory_file_system.h"
#include "tests/bloom/use_loaded.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/loaders.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/command_line.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/request.h"
#include "tools/sstdump/run.h"
#include "tools/sstdump/world.h"

namespace fuzz {
namespace {

using testing_support::Demand;

constexpr char kStore[] = "s";

using Samples = std::map<std::string, std::unique_ptr<lsm::MemoryFileSystem>, std::less<>>;

Samples MakeSamples() {
  Samples stores;
  for (const char* const kind : {"", "r/", "k/", "e/"}) {
    lsm::MemoryFileSystem& files =
        *stores.emplace(kind, std::make_unique<lsm::MemoryFileSystem>()).first->second;
    switch (*kind) {
      case 'r':
        tools::MakeStoreOfRanges(files, kStore);
        break;
      case 'k':
        tools::MakeLog(*tools::MakeStoreOfKeyspaces(files, kStore), 7,
                       {{{.key = "in a log", .sequence = 21, .value = "v", .keyspace = 3}}},
                       tools::LogState::kOpen);
        break;
      case 'e':
        tools::MakeStoreOfExpiry(files, kStore);
        break;
      default:
        tools::MakeTinyStore(files, kStore);
    }
  }
  return stores;
}

const Samples& AllSamples() {
  static const Samples& stores = *new Samples(MakeSamples());
  return stores;
}

// Stops accepting text after 1 MiB, as a full disk does, because a small file may expand to long
// keys.
class BoundedText : public std::streambuf {
 public:
  const std::string& text() const { return text_; }
  bool is_full() const { return full_; }

 protected:
  int overflow(int c) override {
    const char byte = static_cast<char>(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* from, std::streamsize count) override {
    constexpr size_t kBytesMax = 1 << 20;
    full_ |= text_.size() + static_cast<size_t>(count) > kBytesMax;
    if (full_) return 0;
    text_.append(from, static_cast<size_t>(count));
    return count;
  }

 private:
  std::string text_;
  bool full_ = false;
};

// No file may send control characters to a terminal.
bool IsPlain(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) return false;
  }
  return true;
}

bool UseSstdump(std::string_view bytes) {
  const WordsAndFile both = SplitWords(bytes);
  if (both.words.size() < 2) return false;
  const std::string& word = both.words[1];
  const auto kind = AllSamples().find(word.substr(0, word.find('/') + 1));
  if (kind == AllSamples().end()) return false;
  const std::string name = word.substr(kind->first.size());
  if (name.size() > 60 || name.find('/') != name.npos || name == "." || name == "..") return false;
  const auto files = kind->second->Clone();
  files->SetFileBytes(kStore + ("/" + name), both.file);

  BoundedText out_text, err_text;
  std::ostream out(&out_text), err(&err_text);
  const size_t columns = std::strtoul(both.words[0].c_str(), nullptr, 10);
  const tools::World world{files.get(),
                           &out,
                           &err,
                           {.is_terminal = columns > 0, .columns = columns, .has_utf8 = true},
                           nullptr};
  const std::vector<std::string> arguments(both.words.begin() + 2, both.words.end());
  tools::ParsedCommandLine parsed = tools::ParseCommandLine(arguments, world);
  if (!parsed.request) {
    Demand(parsed.exit_code == 0 || parsed.exit_code == 2,
           "without a request, the exit code is 0 (help) or 2 (wrong usage)");
    Demand(!out_text.text().empty() || !err_text.text().empty(),
           "without a request, sstdump prints something");
    Demand(IsPlain(err_text.text()), "messages about wrong usage are plain text");
    return false;
  }
  tools::Request& request = *parsed.request;
  // The default number of probes would take a second.
  if (request.command->name == std::string_view("filter"))
    request.probes = std::min<uint64_t>(request.probes.value_or(300), 1000);
  const int code = tools::RunRequest(request, world);
  Demand(code >= 0 && code <= 3, "the exit code is in [0, 3]");
  if (out_text.is_full() || err_text.is_full()) return false;
  if (request.json) {
    const nlohmann::json document = tools::ParseOutput(out_text.text());
    Demand(document.is_object(), "--json prints one JSON document, or one object per line");
    Demand(document.value("exit_code", -1) == code, "the JSON has the exit code");
    Demand(document.value("command", "") == request.command->name, "the JSON has the command");
    Demand(document.contains("results"), "the JSON has the results");
  } else if (request.form != tools::ByteForm::kRaw && !request.color) {
    Demand(IsPlain(out_text.text()), "bytes of files are printed as plain text");
  }
  Demand(IsPlain(err_text.text()), "messages are plain text");
  Demand(code == 0 || !out_text.text().empty() || !err_text.text().empty(),
         "sstdump prints something if its exit code is not 0");
  return code == 0;
}

constexpr const char* kWords[] = {"info",
                                  "properties",
                                  "blocks",
                                  "filter",
                                  "scan",
                                  "dump",
                                  "get",
                                  "verify",
                                  "wal",
                                  "manifest",
                                  "levels",
                                  "explain",
                                  "help",
                                  "--help",
                                  "--version",
                                  "--json",
                                  "--hex",
                                  "--raw",
                                  "--keys-only",
                                  "--",
                                  "--limit",
                                  "--limit=1",
                                  "0",
                                  "3",
                                  "--probes",
                                  "--threads=2",
                                  "--rate=1K",
                                  "--from",
                                  "--to",
                                  "--prefix",
                                  "a",
                                  "61",
                                  "\\x61",
                                  "--tables",
                                  "--keyspace",
                                  "default",
                                  "users",
                                  "--at",
                                  "--at=0",
                                  "--at=now",
                                  "--records-only",
                                  "--logs",
                                  "s",
                                  "--logs=s",
                                  "--color=always",
                                  "--color",
                                  "never",
                                  "s/CURRENT",
                                  "s/000002.table",
                                  "s/000003.log",
                                  "s/000001.manifest",
                                  "s/file",
                                  "."};

// Replaces, inserts or removes one argument.
void ReshapeWords(std::string& bytes, uint64_t random) {
  WordsAndFile both = SplitWords(bytes);
  if (both.words.size() < 3) return;
  const size_t at = 2 + random / 4 % (both.words.size() - 2);
  const std::string word = kWords[random / 400 % std::size(kWords)];
  switch (random % 4) {
    case 0:
      both.words.erase(both.words.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      both.words[at] = word;
      break;
    default:
      both.words.insert(both.words.begin() + static_cast<ptrdiff_t>(at + random % 2), word);
  }
  bytes = JoinWords(both);
}

std::vector<std::string> SstdumpSeeds() {
  const std::vector<std::vector<std::string>> command_lines = {
      {"info", "s"},
      {"info", "s/FILE", "--json"},
      {"properties", "s/000002.table"},
      {"blocks", "--limit", "2", "s/000002.table", "--json"},
      {"filter", "--probes", "100", "s/000002.table", "--json"},
      {"filter", "s/000002.table", "--color=always"},
      {"scan", "--from", "a", "--to=c", "s/000002.table"},
      {"scan", "--json", "--hex", "s"},
      {"scan", "--raw", "--keys-only", "--limit=5", "s/000002.table"},
      {"dump", "s"},
      {"dump", "--json", "--from=b", "s"},
      {"dump", "--prefix", "c", "--keys-only", "s"},
      {"get", "--json", "s/000002.table", "c"},
      {"get", "--raw", "s", "d"},
      {"get", "--hex", "s/000002.table", "63"},
      {"verify", "s/FILE"},
      {"verify", "--json", "s"},
      {"verify", "s", "--logs", "s"},
      {"verify", "--threads", "2", "--rate=1M", "s"},
      {"wal", "--json", "s/000003.log"},
      {"wal", "--records-only", "s"},
      {"wal", "--keys-only", "--limit", "1", "s/000003.log"},
      {"manifest", "s", "--json"},
      {"manifest", "--limit=1", "s/CURRENT"},
      {"levels", "--tables", "s"},
      {"levels", "s", "--json"},
      {"explain", "s", "a"},
      {"explain", "--json", "s", "\\x64"},
  };
  // For the other stores.
  const std::vector<std::vector<std::string>> more_command_lines = {
      {"info", "s"},
      {"properties", "s/FILE"},
      {"scan", "s", "--json"},
      {"dump", "s"},
      {"verify", "s"},
      {"manifest", "s", "--json"},
      {"levels", "s"},
      {"explain", "s", "a"},
      {"scan", "s", "--at", "1700000000"},
      {"levels", "s", "--at=2023-11-15T00:00:00Z"},
      {"wal", "s"},
  };
  std::vector<std::string> seeds;
  for (const auto& [kind, stored] : AllSamples()) {
    const auto files = stored->Clone();
    const std::vector<std::string> names = tools::FilesIn(*files, kStore);
    size_t turn = 0;
    for (const auto& command_line : kind.empty() ? command_lines : more_command_lines) {
      for (size_t i = 0; i < 2; ++i, ++turn) {
        const std::string& name = names[turn % names.size()];
        WordsAndFile both = {{turn % 3 == 0 ? "60" : "0", kind + name},
                             files->FileBytes(kStore + ("/" + name))};
        for (std::string word : command_line) {
          if (word == "s/FILE") word = "s/" + name;
          both.words.push_back(word);
        }
        // Some of these commands take only some kinds of files.
        if (kind.empty() || UseSstdump(JoinWords(both))) seeds.push_back(JoinWords(both));
      }
    }
  }
  return seeds;
}

}  // namespace

Loader SstdumpLoader() {
  return {"sstdump",     &UseSstdump,     &ReshapeWords,          &RepairBehindWords,
          &SstdumpSeeds, Library::kStore, &TakeWordsAndFileApart, &PutWordsAndFileTogether};
}

}  // namespace fuzz
