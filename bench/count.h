// Numbers of keys in short form: "2M".
#ifndef TRELLIS_BENCH_COUNT_H_
#define TRELLIS_BENCH_COUNT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

// "20M" -> 20000000; k and M mean thousands and millions.  The whole text must be the number.
std::optional<uint64_t> ParseCount(std::string_view text);

// The shortest text that ParseCount parses to this number: "20M", "1500k", "1234".
std::string ShortCount(uint64_t count);

}  // namespace bench

#endif  // TRELLIS_BENCH_COUNT_H_
