#include "bench/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace bench {
namespace {

// Columns that a terminal gives to the text: bytes of UTF-8 that are no continuation.
size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void AppendCell(const std::string& cell, size_t width, bool right, std::string* line) {
  const std::string padding(width - std::min(width, WidthOf(cell)), ' ');
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

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

std::string ToText(const Table& table) {
  std::vector<size_t> widths;
  for (const Column& column : table.columns) widths.push_back(WidthOf(column.name));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  std::string out;
  const auto add_line = [&](const auto& cell_of, size_t cells) {
    std::string line;
    for (size_t i = 0; i < cells; ++i) {
      if (i > 0) line += "  ";
      AppendCell(cell_of(i), widths[i], table.columns[i].is_number, &line);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line([&](size_t i) { return table.columns[i].name; }, table.columns.size());
  for (const auto& row : table.rows) add_line([&](size_t i) { return row[i]; }, row.size());
  return out;
}

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

std::string Digits3(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  return Format("%.*f", std::clamp(2 - magnitude, 0, 12), value);
}

std::string Short(double value) {
  if (std::fabs(value) >= 999.5e6) return Digits3(value / 1e9) + "G";
  if (std::fabs(value) >= 999.5e3) return Digits3(value / 1e6) + "M";
  if (std::fabs(value) >= 9999.5) return Digits3(value / 1e3) + "k";
  return Digits3(value);
}

std::string Bytes(uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes < 1024) return Format("%.0f B", value);
  if (bytes < (uint64_t{1} << 20)) return Digits3(value / 1024) + " KiB";
  if (bytes < (uint64_t{1} << 30)) return Digits3(value / (1 << 20)) + " MiB";
  return Digits3(value / (1 << 30)) + " GiB";
}

std::string Grouped(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
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

}  // namespace bench
