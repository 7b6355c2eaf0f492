// Numbers for people, in statistics and tools.  ReadableCount and ReadableId are exact, the others
// may round.
#ifndef TRELLIS_LSM_BYTES_READABLE_H_
#define TRELLIS_LSM_BYTES_READABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// 1234567 -> "1,234,567"
std::string ReadableCount(uint64_t count);

// "512 B", "1.50 KiB", "12.3 MiB", "123 GiB": three digits and a power of 1024.
std::string ReadableBytes(uint64_t bytes);

// "850 ns", "1.50 us", "12.3 ms", "2.00 s", "3 min 20 s".
std::string ReadableNanos(uint64_t nanos);

// Three significant digits; no exponent for numbers above 0.0001: "0.0123", "1.50", "123".
std::string ReadableNumber(double value);

// A share in per cent: 0.0123 -> "1.23 %".
std::string ReadablePercent(double share);

// A 64-bit id, seed or digest: "0x0123456789abcdef".
std::string ReadableId(uint64_t id);

// A time in UTC: "2026-11-30T03:00:00Z".
std::string ReadableTime(uint32_t seconds_since_1970);

// Formats a table in monospaced text.  The first column is left-aligned, the others right-aligned,
// with two blanks between.  All rows must have the length of the first.  Lines begin with `indent`
// blanks and end with '\n'. `columns_of` returns the width of a cell; by default ColumnsOf.
std::string ReadableTable(const std::vector<std::vector<std::string>>& rows, size_t indent,
                          size_t (*columns_of)(std::string_view text) = nullptr);

// Width of UTF-8 text in a terminal, if it has no wide or combining characters: its number of code
// points.
size_t ColumnsOf(std::string_view text);

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_READABLE_H_
