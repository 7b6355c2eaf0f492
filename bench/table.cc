#include "bench/table.h"

#include <algorithm>
#include <cmath>

#include "lsm/bytes/readable.h"

namespace bench {
namespace {

void AppendCell(const std::string& cell, size_t width, bool right, std::string* line) {
  const std::string padding(width - std::min(width, lsm::ColumnsOf(cell)), ' ');
  *line += right ? padding + cell : cell + padding;
}

std::string LongName(const Column& column) {
  return column.long_name.empty() ? column.name : column.long_name;
}

std::string CsvCell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::vector<size_t> WidthsOf(const Table& table) {
  std::vector<size_t> widths;
  for (const Column& column : table.columns) widths.push_back(lsm::ColumnsOf(column.name));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], lsm::ColumnsOf(row[i]));
  }
  return widths;
}

template <typename CellOf>
std::string LineOf(const Table& table, const std::vector<size_t>& widths, const CellOf& cell_of,
                   size_t cells) {
  std::string line;
  for (size_t i = 0; i < cells; ++i) {
    if (i > 0) line += "  ";
    AppendCell(cell_of(i), widths[i], table.columns[i].is_number, &line);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string RowsOf(const Table& table, const std::vector<size_t>& widths) {
  std::string text;
  for (const auto& row : table.rows)
    text += LineOf(
        table, widths, [&](size_t i) { return row[i]; }, row.size());
  return text;
}

}  // namespace

std::string ToText(const Table& table) {
  const std::vector<size_t> widths = WidthsOf(table);
  const auto name_of = [&](size_t i) { return table.columns[i].name; };
  return LineOf(table, widths, name_of, table.columns.size()) + RowsOf(table, widths);
}

std::string ToRows(const Table& table) { return RowsOf(table, WidthsOf(table)); }

std::string ToHtml(const Table& table) {
  std::string out = "<table>\n<thead><tr>";
  for (const Column& column : table.columns) {
    out += column.is_number ? "<th class=\"n\" scope=\"col\">" : "<th scope=\"col\">";
    out += EscapeHtml(LongName(column)) + "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  bool new_group = false;
  for (const auto& row : table.rows) {
    if (row.empty()) {
      new_group = true;
      continue;
    }
    out += new_group ? "<tr class=\"group\">" : "<tr>";
    new_group = false;
    for (size_t i = 0; i < row.size(); ++i) {
      out += table.columns[i].is_number ? "<td class=\"n\">" : "<td>";
      out += EscapeHtml(row[i]) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n";
}

std::string ToCsv(const Table& table) {
  std::string out;
  for (const Column& column : table.columns) {
    if (&column != &table.columns.front()) out += ',';
    out += CsvCell(LongName(column));
  }
  out += "\r\n";
  for (const auto& row : table.rows) {
    if (row.empty()) continue;
    for (const std::string& cell : row) {
      if (&cell != &row.front()) out += ',';
      out += CsvCell(cell);
    }
    out += "\r\n";
  }
  return out;
}

std::string Short(double value) {
  if (std::fabs(value) >= 999.5e6) return lsm::ReadableNumber(value / 1e9) + "G";
  if (std::fabs(value) >= 999.5e3) return lsm::ReadableNumber(value / 1e6) + "M";
  if (std::fabs(value) >= 9999.5) return lsm::ReadableNumber(value / 1e3) + "k";
  return lsm::ReadableNumber(value);
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Table PairsTable(std::string id, std::string title,
                 const std::vector<std::pair<std::string, std::string>>& pairs) {
  Table table{std::move(id), std::move(title), {{"what", "", false}, {"value", "", false}}, {}};
  for (const auto& [name, value] : pairs) table.rows.push_back({name, value});
  return table;
}

Table RowsNamed(Table table, const std::vector<std::string>& names) {
  std::erase_if(table.rows, [&](const std::vector<std::string>& row) {
    return row.empty() || std::find(names.begin(), names.end(), row[0]) == names.end();
  });
  return table;
}

}  // namespace bench
