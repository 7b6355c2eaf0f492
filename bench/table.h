// A table of figures in three forms: text for a terminal, HTML for a page, CSV for a program.
//
// All three come from one Table, so they agree.
#ifndef TRELLIS_BENCH_TABLE_H_
#define TRELLIS_BENCH_TABLE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

struct Column {
  std::string name;       // short, for a terminal: "p99"
  std::string long_name;  // for HTML and CSV, with its unit: "p99 latency, us"; empty: like `name`
  bool is_number = true;  // aligned right; text is aligned left
};

struct Table {
  std::string id;  // [a-z0-9-]+: names the CSV file and the place in the page
  std::string title;
  std::vector<Column> columns;
  // Each row has a cell for each column.  A row without cells is a gap between groups (left out of
  // CSV).
  std::vector<std::vector<std::string>> rows;
};

// Each column is as wide as its widest cell, with two blanks between columns; ends with a line
// feed.
std::string ToText(const Table& table);
// The same without the header.
std::string ToRows(const Table& table);
std::string ToHtml(const Table& table);
// RFC 4180, with a header line.
std::string ToCsv(const Table& table);

// Three significant digits, and a letter for large numbers: "950", "12.3k", "1.23M".  Other formats
// are in lsm/bytes/readable.h.
std::string Short(double value);

// Escapes HTML text and double-quoted attribute values.
std::string EscapeHtml(std::string_view text);

// A table of two columns: names and values.
Table PairsTable(std::string id, std::string title,
                 const std::vector<std::pair<std::string, std::string>>& pairs);

// The rows that begin with one of these cells.
Table RowsNamed(Table table, const std::vector<std::string>& names);

}  // namespace bench

#endif  // TRELLIS_BENCH_TABLE_H_
