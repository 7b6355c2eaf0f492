// Finds malicious URLs. A filter of the list answers for nearly all URLs, and an exact search in
// the list decides on those that pass.
//
// A URL that is not listed costs a few filter queries, in memory. A listed one, or a false
// positive, costs a search in the list, which may be on a disk or on another machine.
//
//   add_executable(listed_urls listed_urls.cc)
//   target_link_libraries(listed_urls PRIVATE Trellis::bloom)
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/hash.h"
#include "bloom/static_filter.h"
#include "command_line.h"
#include "text.h"

namespace {

constexpr std::string_view kHelp = R"(Usage: listed_urls LIST.txt [--fpp F] [--seed N] < URLs

Prints the URLs that the list contains.  LIST.txt has one entry per line, in the order of
`LC_ALL=C sort -u`.  An entry is a page (example.org/a/b.html), or a host or folder with everything
in it (example.org/a/).  Entries have no scheme and no fragment; their hosts are in lower case.

  --fpp F   the share of unlisted questions that search the list for nothing; 0.01
  --seed N  the seed of the filter; random by default, so that strangers cannot choose URLs that
            pass
)";

// Longer than browsers send.
constexpr size_t kUrlBytesMax = 8192;

// A sorted file, searched by bisection without loading it.
class SortedList {
 public:
  explicit SortedList(const std::string& path) : path_(path), file_(path, std::ios::binary) {}

  // Calls `visit(entry)` for each entry.
  template <class Visit>
  absl::Status ForEach(Visit visit) {
    std::string last;
    uint64_t number = 0;
    for (std::string line; std::getline(file_, line); last = line) {
      line = examples::WithoutCarriageReturn(line);
      ++number;
      if (line <= last) {
        return absl::DataLossError(path_ + ": line " + std::to_string(number) +
                                   " is not above the line before: sort with LC_ALL=C sort -u");
      }
      visit(std::string_view(line));
    }
    if (file_.bad() || !file_.eof()) return absl::UnavailableError(path_ + ": cannot be read");
    file_.clear();
    size_ = file_.tellg();
    return absl::OkStatus();
  }

  // REQUIRES: ForEach succeeded.
  absl::StatusOr<bool> Contains(std::string_view entry) {
    // If the entry exists, it begins in [low, high).
    std::streamoff low = 0, high = size_;
    while (low < high) {
      const std::streamoff middle = low + (high - low) / 2;
      file_.seekg(middle);
      std::string line;
      // Moves to the first line that begins at `middle` or after it.
      if (middle > 0) {
        file_.seekg(middle - 1);
        std::getline(file_, line);
      }
      const std::streamoff begin = file_.eof() ? size_ : std::streamoff(file_.tellg());
      if (begin >= high) {
        high = middle;
        file_.clear();
        continue;
      }
      std::getline(file_, line);
      if (file_.bad()) return absl::UnavailableError(path_ + ": cannot be read");
      const std::streamoff end = file_.eof() ? size_ : std::streamoff(file_.tellg());
      file_.clear();
      const std::string_view found = examples::WithoutCarriageReturn(line);
      if (found == entry) return true;
      (found < entry ? low : high) = found < entry ? end : middle;
    }
    return false;
  }

 private:
  const std::string path_;
  std::ifstream file_;
  std::streamoff size_ = 0;
};

// The list entries that match a URL: each folder from the host down, the page, and the page with
// its query.
std::vector<std::string> EntriesFor(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != url.npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('#'));
  std::string rest(url);
  const size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
  for (size_t i = 0; i < host_end; ++i) {
    if (rest[i] >= 'A' && rest[i] <= 'Z') rest[i] = static_cast<char>(rest[i] | 0x20);
  }
  if (host_end == rest.size() || rest[host_end] == '?') rest.insert(host_end, "/");
  std::vector<std::string> entries;
  const size_t query = std::min(rest.find('?'), rest.size());
  for (size_t i = 0; i < query; ++i) {
    if (rest[i] == '/') entries.push_back(rest.substr(0, i + 1));
  }
  if (rest[query - 1] != '/') entries.push_back(rest.substr(0, query));
  if (query < rest.size()) entries.push_back(rest);
  return entries;
}

absl::Status Run(examples::CommandLine& line) {
  const double fpp = line.Fpp("--fpp", 0.01);
  const uint64_t seed = line.SeedOrRandom("--seed");
  if (!line.status().ok()) return line.status();
  SortedList list(line.words()[0]);
  std::vector<bloom::Digest> digests;
  absl::Status read = list.ForEach(
      [&](std::string_view entry) { digests.push_back(bloom::DigestOf(entry, seed)); });
  if (!read.ok()) return read;
  // The smallest kind, since all entries are known; clients receive it with each new list.
  const auto filter = bloom::StaticFilter::OfDigests("ribbon", digests, fpp, seed);
  if (!filter.ok()) return filter.status();

  uint64_t urls = 0, listed = 0, asked = 0, searched = 0, useless = 0;
  for (std::string text; std::cout && std::getline(std::cin, text);) {
    ++urls;
    const std::string_view url = examples::WithoutCarriageReturn(text);
    if (url.empty()) continue;
    if (url.size() > kUrlBytesMax)
      return absl::DataLossError("line " + std::to_string(urls) + " is longer than 8 KiB");
    for (const std::string& entry : EntriesFor(url)) {
      ++asked;
      if (!filter->MayContain(entry)) continue;
      ++searched;
      const absl::StatusOr<bool> is_listed = list.Contains(entry);
      if (!is_listed.ok()) return is_listed.status();
      if (*is_listed) {
        std::cout << url << '\n';
        ++listed;
        break;
      }
      ++useless;
    }
  }
  if (std::cin.bad()) return absl::UnavailableError("cannot read the standard input");
  std::cerr << "listed_urls: " << digests.size() << " entries in a filter of "
            << filter->size_bits() / 8 << " bytes\n"
            << "listed_urls: " << listed << " of " << urls << " URLs are listed; " << asked
            << " questions, " << searched << " searches, " << useless << " of them for nothing\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  return examples::Main(
      argc, argv,
      {.name = "listed_urls", .help = kHelp, .options = {"--fpp", "--seed"}, .words = {1, 1}}, Run);
}
