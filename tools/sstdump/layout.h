// Pieces of which several commands make their screens.
#ifndef TRELLIS_TOOLS_SSTDUMP_LAYOUT_H_
#define TRELLIS_TOOLS_SSTDUMP_LAYOUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/log/log_reader.h"
#include "tools/sstdump/session.h"

namespace tools {

// "  name    value" lines, the values below one another, also where they are broken.
using Fields = std::vector<std::pair<std::string, std::string>>;
std::string FieldsText(const Session& session, const Fields& fields);

// Rows of cells below a row of headings.
using Rows = std::vector<std::vector<std::string>>;
// Leaves columns out, in the order in which `expendable` names their headings, until the rows leave
// room for `others` more characters.  The names of those that are gone.
std::vector<std::string> LeaveOutColumns(const Session& session,
                                         const std::vector<std::string>& expendable, size_t others,
                                         Rows* rows);
// The rows, and a line that says what was left out of them.
std::string RowsText(const Rows& rows, const std::vector<std::string>& left_out);

// "PATH: WHAT", the path escaped and in bold.
std::string Heading(const Session& session, const std::string& path, std::string_view what);

// A bar of `share` of `columns` characters: eighths of a block, or '#' without UTF-8.
std::string Bar(double share, size_t columns, bool has_utf8);
// One character as high as `share`.
std::string Spark(double share, bool has_utf8);

// "2026-11-21 02:10:21 UTC".
std::string UtcTime(uint64_t micros_since_1970);

// "n things", "1 thing".
std::string Count(uint64_t count, std::string_view singular, std::string_view plural);

// As many of the names as a screen has room for, "and N more".
std::string NamesText(const std::vector<std::string>& names);

// "put", "delete".
const char* NameOf(lsm::EntryKind kind);

// How a log ended, for people; and in a word, for JSON ("closed", "open", "torn").
std::string EndText(lsm::LogEnd end, uint64_t torn_bytes);
const char* NameOf(lsm::LogEnd end);

// "first .. last", each cut to what a line has room for if `others` characters are taken.
inline constexpr size_t kKeyRangeColumnsMin = 18;
std::string KeyRange(const Session& session, std::string_view first, std::string_view last,
                     size_t others);

// How many characters of a key a line of this run has room for, if `others` are taken; 0: all.
size_t KeyColumns(const Session& session, size_t others, size_t keys_in_line);
// How many characters fit behind `line`; 0: any number.
size_t RestOfLine(const Session& session, std::string_view line);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_LAYOUT_H_
