// Figures as people read them, for statistics and for tools.  Nothing is lost silently: what is
// rounded has a unit.
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

// A number with three significant digits and no exponent above 0.0001: "0.0123", "1.50", "123".
std::string ReadableNumber(double value);

// A share in per cent: 0.0123 -> "1.23 %".
std::string ReadablePercent(double share);

// A 64-bit id, seed or digest, which is no quantity: "0x0123456789abcdef".
std::string ReadableId(uint64_t id);

// Columns of monospaced text: the first one left-aligned, the others right-aligned, two blanks
// between.  Every row is as long as the first.  Lines begin with `indent` blanks and end with '\n'.
// `columns_of` tells how wide a cell is; without it, it is ColumnsOf.
std::string ReadableTable(const std::vector<std::vector<std::string>>& rows, size_t indent,
                          size_t (*columns_of)(std::string_view text) = nullptr);

// How many columns a terminal takes for UTF-8 text without wide or combining characters: its code
// points.
size_t ColumnsOf(std::string_view text);

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_READABLE_H_
