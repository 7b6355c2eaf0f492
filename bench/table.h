// A table of figures, and its three forms: text for a terminal, HTML for a page, CSV for a program.
//
// One Table serves all three, so that they cannot tell different stories.
#ifndef TRELLIS_BENCH_TABLE_H_
#define TRELLIS_BENCH_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

struct Column {
  std::string name;       // as wide as it may be in a terminal: "p99"
  std::string long_name;  // for HTML and CSV, with its unit: "p99 latency, us"; empty: like `name`
  bool is_number = true;  // to the right; text goes to the left
};

struct Table {
  std::string id;  // [a-z0-9-]+: names the CSV file and the place in the page
  std::string title;
  std::vector<Column> columns;
  // As many cells as columns; none at all: a gap between groups (CSV leaves it out).
  std::vector<std::vector<std::string>> rows;
};

// Columns as wide as their widest cell, two blanks between; ends with a line feed.
std::string ToText(const Table& table);
std::string ToHtml(const Table& table);
// RFC 4180, with a header line.
std::string ToCsv(const Table& table);

// `value` with three significant digits and no exponent: "0.00123", "12.3", "1230".
std::string Digits3(double value);
// The same with a letter for large numbers: "950", "12.3k", "1.23M".
std::string Short(double value);
// "12.3 KiB", "1.50 MiB"
std::string Bytes(uint64_t bytes);
// "12,345,678"
std::string Grouped(uint64_t value);

// For text and attribute values of HTML, in double quotes.
std::string EscapeHtml(std::string_view text);

// Of two columns: what, and its value.
Table PairsTable(std::string id, std::string title,
                 const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace bench

#endif  // TRELLIS_BENCH_TABLE_H_
