// Records of a CSV file, as in RFC 4180.
//
// Fields are separated by commas.  Records end with CRLF or LF, which the last one may lack.  A
// quoted field may contain commas, line ends and doubled quotes.  A UTF-8 byte order mark at the
// beginning is skipped.  Everything else is DataLoss, with the number of the line: a quote in an
// unquoted field, text after a closing quote, a single carriage return, a quote that is not closed.
// (Debian's header-only parser, libfccp-dev, reads line by line, so it does not support line ends
// in fields.)
#ifndef TRELLIS_BLOOM_EXAMPLES_CSV_H_
#define TRELLIS_BLOOM_EXAMPLES_CSV_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "text.h"

namespace examples {

struct CsvRecord {
  std::string_view raw;  // as in the file, without its end
  std::vector<std::string> fields;
  uint64_t line = 0;  // number of its first line, from 1
};

// The text must outlive the records.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(WithoutMark(text)) {}

  // Returns false at the end of the file.
  absl::StatusOr<bool> Next(CsvRecord* record) {
    if (rest_.empty()) return false;
    record->fields.clear();
    record->line = line_;
    size_t at = 0;
    for (;; ++at) {
      std::string& field = record->fields.emplace_back();
      const bool is_quoted = at < rest_.size() && rest_[at] == '"';
      const absl::Status status = is_quoted ? ReadQuoted(&at, &field) : ReadPlain(&at, &field);
      if (!status.ok()) return status;
      if (at == rest_.size() || rest_[at] != ',') break;
    }
    record->raw = rest_.substr(0, at);
    rest_.remove_prefix(at);
    rest_.remove_prefix(std::min<size_t>(rest_.starts_with("\r\n") ? 2 : 1, rest_.size()));
    line_ += 1 + static_cast<uint64_t>(std::count(record->raw.begin(), record->raw.end(), '\n'));
    return true;
  }

 private:
  // Both stop at a comma, a line end, or the end of the file.
  absl::Status ReadPlain(size_t* at, std::string* field) {
    const size_t end = std::min(rest_.find_first_of(",\"\r\n", *at), rest_.size());
    *field = rest_.substr(*at, end - *at);
    *at = end;
    return CheckEnd(end, "a quote within a field without quotes");
  }

  absl::Status ReadQuoted(size_t* at, std::string* field) {
    for (size_t from = *at + 1;;) {
      const size_t quote = rest_.find('"', from);
      if (quote == rest_.npos) return Problem("a quote that is never closed");
      field->append(rest_, from, quote - from);
      from = quote + 1;
      if (from == rest_.size() || rest_[from] != '"') {
        *at = from;
        return CheckEnd(from, "text after a closing quote");
      }
      *field += '"';
      ++from;
    }
  }

  absl::Status CheckEnd(size_t at, const char* otherwise) const {
    const std::string_view next = rest_.substr(at);
    if (next.empty() || next[0] == ',' || next[0] == '\n' || next.starts_with("\r\n"))
      return absl::OkStatus();
    return Problem(next[0] == '\r' ? "a carriage return alone" : otherwise);
  }

  absl::Status Problem(const std::string& what) const {
    return absl::DataLossError("line " + std::to_string(line_) + ": " + what);
  }

  std::string_view rest_;
  uint64_t line_ = 1;
};

}  // namespace examples

#endif  // TRELLIS_BLOOM_EXAMPLES_CSV_H_
