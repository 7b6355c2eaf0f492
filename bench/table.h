// A table of figures, and its three forms: text for a terminal, HTML for a page, CSV for a program.
//
// One Table serves all three, so that they cannot tell different stories.
#ifndef TRELLIS_BENCH_TABLE_H_
#define TRELLIS_BENCH_TABLE_H_

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
// The same without the header.
std::string ToRows(const Table& table);
std::string ToHtml(const Table& table);
// RFC 4180, with a header line.
std::string ToCsv(const Table& table);

// Three significant digits, and a letter for large numbers: "950", "12.3k", "1.23M".  For other
// figures: lsm/bytes/readable.h.
std::string Short(double value);

// For text and attribute values of HTML, in double quotes.
std::string EscapeHtml(std::string_view text);

// Of two columns: what, and its value.
Table PairsTable(std::string id, std::string title,
                 const std::vector<std::pair<std::string, std::string>>& pairs);

// The rows of the table that begin with one of these cells.
Table RowsNamed(Table table, const std::vector<std::string>& names);

}  // namespace bench

#endif  // TRELLIS_BENCH_TABLE_H_
