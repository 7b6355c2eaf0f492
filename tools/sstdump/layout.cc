#include "tools/sstdump/layout.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "tools/sstdump/characters.h"
#include "tools/sstdump/wrap.h"

namespace tools {
namespace {

using lsm::Concat;

constexpr const char* kHeights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* kWidths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr char kAsciiHeights[] = " .:-=+*#@";

constexpr size_t kRowIndent = 2;
constexpr std::string_view kBetweenKeys = " .. ";
constexpr size_t kKeyColumnsMin = 7;
static_assert(2 * kKeyColumnsMin + kBetweenKeys.size() == kKeyRangeColumnsMin);

int Eighths(double share) { return static_cast<int>(std::lround(8 * std::clamp(share, 0.0, 1.0))); }

}  // namespace

std::string FieldsText(const Session& session, const Fields& fields) {
  size_t width = 0;
  for (const auto& [name, value] : fields) width = std::max(width, ColumnsOf(name));
  std::string text;
  for (const auto& [name, value] : fields) {
    const std::string line =
        Concat("  ", name, std::string(width - ColumnsOf(name) + 2, ' '), value, "\n");
    text += session.columns() == 0 ? line : Wrapped(line, session.columns(), width + 4);
  }
  return text;
}

std::vector<std::string> LeaveOutColumns(const Session& session,
                                         const std::vector<std::string>& expendable, size_t others,
                                         Rows* rows) {
  std::vector<std::string> left_out;
  if (session.columns() == 0) return left_out;
  for (const std::string& name : expendable) {
    if (WidthOf(lsm::ReadableTable(*rows, kRowIndent, &ColumnsOf)) + others <= session.columns())
      break;
    const std::vector<std::string>& headings = rows->front();
    const auto found = std::find(headings.begin(), headings.end(), name);
    if (found == headings.end()) continue;
    const auto column = found - headings.begin();
    for (auto& row : *rows) row.erase(row.begin() + column);
    left_out.push_back(name);
  }
  return left_out;
}

std::string RowsText(const Rows& rows, const std::vector<std::string>& left_out) {
  std::string text = lsm::ReadableTable(rows, kRowIndent, &ColumnsOf);
  if (left_out.empty()) return text;
  text += std::string(kRowIndent, ' ') + "no room for";
  for (size_t i = 0; i < left_out.size(); ++i) text += Concat(i == 0 ? " " : ", ", left_out[i]);
  return text + "\n";
}

std::string Heading(const Session& session, const std::string& path, std::string_view what) {
  return Concat(session.Bold(lsm::Escape(path)), ": ", what, "\n");
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

std::string NamesText(const std::vector<std::string>& names) {
  constexpr size_t kShownNames = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShownNames; ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShownNames)
    text += Concat(" and ", lsm::ReadableCount(names.size() - kShownNames), " more");
  return text;
}

const char* NameOf(lsm::EntryKind kind) {
  return kind == lsm::EntryKind::kDelete ? "delete" : "put";
}

const char* NameOf(lsm::BatchKind kind) {
  switch (kind) {
    case lsm::BatchKind::kPut:
      return "put";
    case lsm::BatchKind::kDelete:
      return "delete";
    case lsm::BatchKind::kDeleteRange:
    case lsm::BatchKind::kDeleteRangeToEnd:
      break;
    case lsm::BatchKind::kCreatedKeyspace:
      return "keyspace created";
    case lsm::BatchKind::kDroppedKeyspace:
      return "keyspace dropped";
    case lsm::BatchKind::kKeyspaceOptions:
      return "keyspace options";
    case lsm::BatchKind::kTime:
      return "time";
  }
  return "range delete";
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
      if (torn_bytes == 0) return "empty: its header was never written";
      return Concat("torn: ", Count(torn_bytes, "byte", "bytes"),
                    " after the last readable record");
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
  const size_t columns = KeyColumns(session, others + kBetweenKeys.size(), 2);
  return Concat(session.ShowKey(first, columns), kBetweenKeys, session.ShowKey(last, columns));
}

std::string RangesText(const Session& session, uint64_t count, std::string_view begin,
                       std::optional<std::string_view> end, size_t others) {
  const std::string text = Concat(Count(count, "range delete", "range deletes"), ", ");
  const size_t columns = KeyColumns(session, others + text.size() + kBetweenKeys.size(), 2);
  return Concat(text, session.ShowKey(begin, columns), kBetweenKeys,
                end ? session.ShowKey(*end, columns) : "end");
}

std::optional<uint32_t> WrittenOf(lsm::EntryKind kind, std::string_view stored_value) {
  if (kind != lsm::EntryKind::kTimedPut) return std::nullopt;
  return lsm::TimeOf(stored_value);
}

std::string TimesText(const lsm::WriteTimes& times) {
  return Concat(Count(times.timed_entries, "timed put", "timed puts"), ", written ",
                lsm::ReadableTime(times.oldest), " to ", lsm::ReadableTime(times.newest));
}

void WriteTimesOf(const lsm::WriteTimes& times, Session* session) {
  if (times.timed_entries == 0) return;
  lsm::JsonWriter& json = session->json();
  json.Member("timed_entries", times.timed_entries);
  json.Member("oldest_write_seconds", times.oldest);
  json.Member("newest_write_seconds", times.newest);
  json.Member("fifth_write_seconds", times.fifth);
}

void WriteRanges(const lsm::RangeRecord& ranges, Session* session) {
  lsm::JsonWriter& json = session->json();
  json.Member("range_deletes", ranges.range_count);
  if (!ranges.empty()) json.Member("ranges_begin", session->Show(ranges.begin));
  if (ranges.end) json.Member("ranges_end", session->Show(*ranges.end));
}

size_t KeyColumns(const Session& session, size_t others, size_t keys_in_line) {
  if (session.columns() == 0) return 0;
  const size_t room = session.columns() > others ? session.columns() - others : 0;
  return std::max(kKeyColumnsMin, room / keys_in_line);
}

size_t RestOfLine(const Session& session, std::string_view line) {
  if (session.columns() == 0) return 0;
  const size_t taken = ColumnsShown(line);
  return taken < session.columns() ? session.columns() - taken : 1;
}

}  // namespace tools
