#include "bench/count.h"

#include <charconv>

namespace bench {

std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t factor = 1;
  if (text.ends_with('k')) factor = 1000;
  if (text.ends_with('M')) factor = 1000000;
  if (factor > 1) text.remove_suffix(1);
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (count > UINT64_MAX / factor) return std::nullopt;
  return count * factor;
}

std::string ShortCount(uint64_t count) {
  if (count >= 1000000 && count % 1000000 == 0) return std::to_string(count / 1000000) + "M";
  if (count >= 1000 && count % 1000 == 0) return std::to_string(count / 1000) + "k";
  return std::to_string(count);
}

}  // namespace bench
