#include "lsm/bytes/readable.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/time/time.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Three significant digits, for 0.95 <= value < 1024 or so.
std::string ThreeDigits(double value) {
  char text[32];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

}  // namespace

std::string ReadableCount(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string ReadableBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.5 would print as 1024.
  for (; value >= 1023.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return ThreeDigits(value) + kUnits[unit];
}

std::string ReadableNanos(uint64_t nanos) {
  const auto value = static_cast<double>(nanos);
  if (nanos < 1000) return std::to_string(nanos) + " ns";
  if (value < 999.5e3) return ThreeDigits(value / 1e3) + " us";
  if (value < 999.5e6) return ThreeDigits(value / 1e6) + " ms";
  const uint64_t seconds = nanos / 1'000'000'000;
  if (seconds < 120) return ThreeDigits(value / 1e9) + " s";
  return ReadableCount(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
}

std::string ReadableNumber(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  char text[64];
  if (size == 0) return "0";
  // The exponent after rounding: 0.009996 has that of 0.0100.
  std::snprintf(text, sizeof(text), "%.2e", value);
  const int exponent = std::atoi(std::strchr(text, 'e') + 1);
  if (exponent >= 15 || exponent < -4) return text;
  if (exponent >= 0) return (value < 0 ? "-" : "") + ThreeDigits(size);
  std::snprintf(text, sizeof(text), "%.*f", 2 - exponent, value);
  return text;
}

std::string ReadablePercent(double share) { return ReadableNumber(100 * share) + " %"; }

size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string ReadableId(uint64_t id) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(id));
  return text;
}

std::string ReadableTime(uint32_t seconds_since_1970) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(seconds_since_1970),
                          absl::UTCTimeZone());
}

std::string ReadableTable(const std::vector<std::vector<std::string>>& rows, size_t indent,
                          size_t (*columns_of)(std::string_view text)) {
  if (columns_of == nullptr) columns_of = &ColumnsOf;
  if (rows.empty()) return "";
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const std::string padding(widths[i] - columns_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i == 0 ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace lsm
