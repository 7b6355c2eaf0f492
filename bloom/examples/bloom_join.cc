// Joins two tables on different machines, and sends a filter instead of keys.
//
// The side with fewer rows sends a filter of its keys. The other side returns only the rows that
// pass, and these are joined exactly: a false positive costs the transfer of a row, and is not
// joined. If the small side is spread over several machines, each sends a filter of its own rows,
// all of one shape and seed. Their union is bit for bit the filter of all rows.
//
//   add_executable(bloom_join bloom_join.cc)
//   target_link_libraries(bloom_join PRIVATE Trellis::bloom)
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/filter.h"
#include "command_line.h"
#include "csv.h"
#include "files.h"

namespace {

constexpr std::string_view kHelp =
    R"(Usage: bloom_join LEFT.csv COLUMN RIGHT.csv COLUMN [--fpp F] [--parts N]

Joins the rows of two CSV files (RFC 4180, with names in the first record) that have the same
bytes in the columns, and prints them as CSV: the columns of the left file, then those of the
right one, in the order of the file with more rows.  Reports on the standard error how much would be
moved if the files were on different machines.  One of the files may be -, the standard input.

  --fpp F    the share of rows without a match that are moved for nothing; 0.01
  --parts N  number of parts into which the smaller file is divided, and whose filters are merged;
             1.  A key that is in several parts counts in each
)";

// The smallest kind, since it is sent.
using KeyFilter = bloom::Filter<bloom::Standard>;

struct Row {
  std::string_view raw;
  std::string key;
};

// Rows point into the text, so a table must not move.
struct Table {
  std::string name, text;
  std::string_view header;
  std::vector<Row> rows;
  uint64_t bytes = 0;  // total size of the rows, each with a line end

  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
};

absl::Status Read(const std::string& path, const std::string& column, Table* table) {
  const auto problem = [&](const std::string& what) {
    return absl::DataLossError(path + ": " + what);
  };
  absl::StatusOr<std::string> text = examples::ReadWhole(path);
  if (!text.ok()) return text.status();
  table->name = path;
  table->text = *std::move(text);
  examples::CsvReader reader(table->text);
  examples::CsvRecord record;
  absl::StatusOr<bool> more = reader.Next(&record);
  if (!more.ok()) return problem(std::string(more.status().message()));
  if (!*more) return problem("it is empty");
  const auto name = std::find(record.fields.begin(), record.fields.end(), column);
  if (name == record.fields.end())
    return absl::InvalidArgumentError(path + ": there is no column \"" + column + "\"");
  if (std::find(name + 1, record.fields.end(), column) != record.fields.end())
    return absl::InvalidArgumentError(path + ": column \"" + column + "\" is there twice");
  const auto index = static_cast<size_t>(name - record.fields.begin());
  const size_t width = record.fields.size();
  table->header = record.raw;
  while ((more = reader.Next(&record)).ok() && *more) {
    if (record.fields.size() != width) {
      return problem("line " + std::to_string(record.line) + ": " +
                     std::to_string(record.fields.size()) + " fields, not " +
                     std::to_string(width));
    }
    table->rows.push_back({record.raw, std::move(record.fields[index])});
    table->bytes += record.raw.size() + 1;
  }
  return more.ok() ? absl::OkStatus() : problem(std::string(more.status().message()));
}

// Row i is in part i % parts.  There are two rounds: each part reports its number of keys, then
// makes a filter for the sum of these.  Smaller filters would not merge, and querying each part's
// own filter would let `parts` times as many rows pass.
absl::StatusOr<KeyFilter> FilterOf(const Table& table, size_t parts, double fpp) {
  std::vector<std::unordered_set<std::string_view>> keys(parts);
  for (size_t i = 0; i < table.rows.size(); ++i) keys[i % parts].insert(table.rows[i].key);
  uint64_t count = 0;
  for (const auto& of_part : keys) count += of_part.size();

  absl::StatusOr<KeyFilter> all = KeyFilter::Make(std::max<uint64_t>(count, 1), fpp);
  for (size_t part = 0; part < parts && all.ok(); ++part) {
    absl::StatusOr<KeyFilter> filter = KeyFilter::Make(std::max<uint64_t>(count, 1), fpp);
    if (!filter.ok()) return filter.status();
    for (const std::string_view key : keys[part]) filter->Add(key);
    if (absl::Status status = all->Merge(*filter); !status.ok()) return status;
  }
  return all;
}

// Prints the join, and the bytes transferred for it.
absl::Status Join(const Table& left, const Table& right, size_t parts, double fpp) {
  const bool left_is_small = left.rows.size() <= right.rows.size();
  const Table &small = left_is_small ? left : right, &large = left_is_small ? right : left;
  absl::StatusOr<KeyFilter> made = FilterOf(small, parts, fpp);
  if (!made.ok()) return made.status();
  const std::string message = made->Serialize();  // sent to the large side by each part
  const uint64_t filter_bytes = parts * message.size();
  const absl::StatusOr<KeyFilter> filter = KeyFilter::Load(message);
  if (!filter.ok()) return filter.status();

  std::unordered_map<std::string_view, std::vector<const Row*>> matches;
  for (const Row& row : small.rows) matches[row.key].push_back(&row);
  uint64_t sent = 0, sent_bytes = 0, for_nothing = 0, joined = 0;
  std::cout << left.header << ',' << right.header << '\n';
  for (const Row& row : large.rows) {
    if (!filter->MayContain(row.key)) continue;
    ++sent;
    sent_bytes += row.raw.size() + 1;
    const auto match = matches.find(row.key);  // at the small side from here on
    if (match == matches.end()) {
      ++for_nothing;
      continue;
    }
    for (const Row* other : match->second) {
      if (!std::cout) return absl::UnavailableError("cannot write to the standard output");
      std::cout << (left_is_small ? *other : row).raw << ',' << (left_is_small ? row : *other).raw
                << '\n';
      ++joined;
    }
  }
  std::cerr << "bloom_join: " << joined << " rows joined; the filter of " << filter->added_count()
            << " keys of " << small.name << " takes " << message.size() << " bytes"
            << (parts > 1 ? ", and comes from each of " + std::to_string(parts) + " parts" : "")
            << "\n"
            << "bloom_join: " << sent << " of " << large.rows.size() << " rows of " << large.name
            << " sent, " << for_nothing << " of them for nothing; " << large.rows.size() - sent
            << " stayed\n"
            << "bloom_join: " << filter_bytes + sent_bytes << " bytes moved, not " << large.bytes
            << "\n";
  return absl::OkStatus();
}

absl::Status Run(examples::CommandLine& line) {
  const double fpp = line.Fpp("--fpp", 0.01);
  const uint64_t parts = line.Count("--parts", 1, 1, 1000);
  const std::vector<std::string>& words = line.words();
  if (words[0] == "-" && words[2] == "-") line.Refuse("only one file can be the standard input");
  if (!line.status().ok()) return line.status();
  Table left, right;
  if (absl::Status status = Read(words[0], words[1], &left); !status.ok()) return status;
  if (absl::Status status = Read(words[2], words[3], &right); !status.ok()) return status;
  return Join(left, right, parts, fpp);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::Main(
      argc, argv,
      {.name = "bloom_join", .help = kHelp, .options = {"--fpp", "--parts"}, .words = {4, 4}}, Run);
}
