// Building blocks that several commands use for their screens.
#ifndef TRELLIS_TOOLS_SSTDUMP_LAYOUT_H_
#define TRELLIS_TOOLS_SSTDUMP_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/base/internal_key.h"
#include "lsm/log/log_reader.h"
#include "lsm/table/write_times.h"
#include "tools/sstdump/session.h"

namespace tools {

// "  name    value" lines.  Values are aligned, also after line breaks.
using Fields = std::vector<std::pair<std::string, std::string>>;
std::string FieldsText(const Session& session, const Fields& fields);

// Rows of cells under a row of headings.
using Rows = std::vector<std::vector<std::string>>;
// Removes columns in the order of `expendable` until the rows leave room for `others` more
// characters.  Returns the names of the removed columns.
std::vector<std::string> LeaveOutColumns(const Session& session,
                                         const std::vector<std::string>& expendable, size_t others,
                                         Rows* rows);
// The rows, and a line that names the removed columns.
std::string RowsText(const Rows& rows, const std::vector<std::string>& left_out);

// "PATH: WHAT", with the path escaped and bold.
std::string Heading(const Session& session, const std::string& path, std::string_view what);

// A bar of `share` of `columns` characters: eighths of a block, or '#' without UTF-8.
std::string Bar(double share, size_t columns, bool has_utf8);
// One character whose height is `share`.
std::string Spark(double share, bool has_utf8);

// "2026-11-21 02:10:21 UTC".
std::string UtcTime(uint64_t micros_since_1970);

// "n things", "1 thing".
std::string Count(uint64_t count, std::string_view singular, std::string_view plural);

// As many names as fit a screen, then "and N more".
std::string NamesText(const std::vector<std::string>& names);

// "put", "delete", "range delete".
const char* NameOf(lsm::EntryKind kind);
const char* NameOf(lsm::BatchKind kind);

// How a log ended: a sentence for text, a word for JSON ("closed", "open", "torn").
std::string EndText(lsm::LogEnd end, uint64_t torn_bytes);
const char* NameOf(lsm::LogEnd end);

// "first .. last", each cut to the room that a line has if `others` characters are taken.
inline constexpr size_t kKeyRangeColumnsMin = 18;
std::string KeyRange(const Session& session, std::string_view first, std::string_view last,
                     size_t others);

// The same of range deletes between two bounds, of which the second is excluded; nullopt: "end".
std::string RangesText(const Session& session, uint64_t count, std::string_view begin,
                       std::optional<std::string_view> end, size_t others);

// When an entry of a table was written, in seconds since 1970; nothing if it has no time.
std::optional<uint32_t> WrittenOf(lsm::EntryKind kind, std::string_view stored_value);
// "12 timed puts, written 2026-11-30T03:00:00Z to 2026-11-30T04:00:00Z".
std::string TimesText(const lsm::WriteTimes& times);
// In JSON: "timed_entries" and times of writes; nothing without timed puts.
void WriteTimesOf(const lsm::WriteTimes& times, Session* session);

// In JSON: "range_deletes", and "ranges_begin" and "ranges_end" if there are any.
void WriteRanges(const lsm::RangeRecord& ranges, Session* session);

// The characters of a key that fit a line of this run if `others` are taken; 0: all.
size_t KeyColumns(const Session& session, size_t others, size_t keys_in_line);
// The characters that fit after `line`; 0: any number.
size_t RestOfLine(const Session& session, std::string_view line);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_LAYOUT_H_
