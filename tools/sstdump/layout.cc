#include "tools/sstdump/layout.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace tools {
namespace {

using lsm::Concat;

constexpr const char* kHeights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* kWidths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr char kAsciiHeights[] = " .:-=+*#@";

int Eighths(double share) { return static_cast<int>(std::lround(8 * std::clamp(share, 0.0, 1.0))); }

}  // namespace

std::string FieldsText(const Fields& fields) {
  size_t width = 0;
  for (const auto& [name, value] : fields) width = std::max(width, lsm::ColumnsOf(name));
  std::string text;
  for (const auto& [name, value] : fields) {
    text += Concat("  ", name, std::string(width - lsm::ColumnsOf(name) + 2, ' '), value, "\n");
  }
  return text;
}

std::string Heading(const Session& session, const std::string& path, std::string_view what) {
  return Concat(session.Bold(path), ": ", what, "\n");
}

std::string Bar(double share, size_t columns, bool has_utf8) {
  const double length = std::clamp(share, 0.0, 1.0) * static_cast<double>(columns);
  const auto whole = static_cast<size_t>(length);
  std::string bar;
  if (!has_utf8) return std::string(static_cast<size_t>(std::lround(length)), '#');
  for (size_t i = 0; i < whole; ++i) bar += kWidths[8];
  return bar + kWidths[Eighths(length - static_cast<double>(whole))];
}

std::string Spark(double share, bool has_utf8) {
  const int eighths = Eighths(share);
  return has_utf8 ? kHeights[eighths] : std::string(1, kAsciiHeights[eighths]);
}

std::string HexId(uint64_t id) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(id));
  return text;
}

std::string UtcTime(uint64_t micros_since_1970) {
  constexpr uint64_t kYear10000 = 253'402'300'800;  // in seconds
  const uint64_t seconds = micros_since_1970 / 1'000'000;
  if (seconds >= kYear10000) return Concat(micros_since_1970, " microseconds after 1970");
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[40];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string Count(uint64_t count, std::string_view singular, std::string_view plural) {
  return Concat(lsm::ReadableCount(count), " ", count == 1 ? singular : plural);
}

std::string EndText(lsm::LogEnd end, uint64_t torn_bytes) {
  switch (end) {
    case lsm::LogEnd::kNotYet:
      return "not reached";
    case lsm::LogEnd::kClosed:
      return "closed in order";
    case lsm::LogEnd::kOpen:
      return "not closed: in use, or cut short";
    case lsm::LogEnd::kTorn:
      return Concat("torn: ", Count(torn_bytes, "byte", "bytes"),
                    " of a write that did not finish");
  }
  return "?";
}

const char* NameOf(lsm::LogEnd end) {
  switch (end) {
    case lsm::LogEnd::kNotYet:
      return "not reached";
    case lsm::LogEnd::kClosed:
      return "closed";
    case lsm::LogEnd::kOpen:
      return "open";
    case lsm::LogEnd::kTorn:
      return "torn";
  }
  return "?";
}

std::string KeyRange(const Session& session, std::string_view first, std::string_view last,
                     size_t others) {
  constexpr std::string_view kBetween = " .. ";
  const size_t columns = KeyColumns(session, others + kBetween.size(), 2);
  const auto show = [&](std::string_view key) {
    return key.empty() ? std::string("(empty)") : session.Show(key, columns);
  };
  return Concat(show(first), kBetween, show(last));
}

size_t KeyColumns(const Session& session, size_t others, size_t keys_in_line) {
  if (session.columns() == 0) return 0;
  constexpr size_t kLeast = 6;
  const size_t room = session.columns() > others ? session.columns() - others : 0;
  return std::max(kLeast, room / keys_in_line);
}

}  // namespace tools
