// One run of sstdump: its output, in text or JSON, and its exit code.
//
// Text goes to `out` as it comes.  In JSON the run is one document, written piece by piece:
//
//   {"command":"verify","results":[RESULT, ...],"exit_code":1}
//   RESULT = {"path":"…","kind":"table", …fields of the command…,
//             "outcome":"damaged","problems":[{"file":"…","offset":12,"message":"…"}],"notes":["…"]}
//
// `offset` is present if the message is about a place in the file.  Commands whose output may be
// long (Command::lines) write JSON Lines instead, one object per line: the lines of each path, that
// path's RESULT, and finally {"command":"scan","exit_code":1}.
#ifndef TRELLIS_TOOLS_SSTDUMP_SESSION_H_
#define TRELLIS_TOOLS_SSTDUMP_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lsm/bytes/json_writer.h"
#include "tools/sstdump/request.h"
#include "tools/sstdump/store/target.h"
#include "tools/sstdump/world.h"

namespace tools {

// The exit code.  With several files the highest counts.
enum class Outcome : int { kFine = 0, kDamaged = 1, kUsage = 2, kUnreadable = 3 };

// The parts of a library's message "FILE: offset N: what".  FILE is `opened`, or a file in it.
struct PlacedMessage {
  std::string file;  // with `opened` replaced by `shown`
  std::optional<uint64_t> offset;
  std::string message;
};
PlacedMessage SplitMessage(std::string_view message, std::string_view opened,
                           std::string_view shown);

class Session {
 public:
  Session(const World& world, const Request& request);

  const Request& request() const { return request_; }
  const World& world() const { return world_; }
  bool json_wanted() const { return request_.json; }

  // --- results, one for each path; grammar: (Begin … End)* Finish ---

  void Begin(const std::string& path, std::string_view kind);
  void End();
  // Ends the document.  Returns the exit code.
  int Finish();

  // --- contents of a result ---

  // Prints text; does nothing in JSON.  A line ends with '\n'.  A terminal gets long lines broken,
  // or cut if they contain tabs.
  void Print(std::string_view text);
  // Prints bytes unchanged, for `--raw`.
  void PrintRaw(std::string_view bytes);
  // Members of the result, or of the line that BeginLine began.  REQUIRES json_wanted().
  lsm::JsonWriter& json() { return json_; }
  // Begins and ends one line of JSON Lines.  Its members are written in between, by the returned
  // writer or by json().
  lsm::JsonWriter& BeginLine();
  void EndLine();
  // Flushes the JSON writer.  Call after each item of a list that may be long.
  void DrainJson();

  // Reports that the file is damaged (DataLoss) or unreadable (any other error).
  void Fail(const absl::Status& status, const Target& target);
  // Reports damage at an offset.
  void Damage(const Target& target, std::optional<uint64_t> offset, std::string message);
  // For a path without a target, because it leads nowhere.
  void Fail(const absl::Status& status, const std::string& path);
  // Counts a problem of another file without showing it.
  void CountUnshown(const absl::Status& status);
  // True if this result has shown this problem.
  bool HasSaid(const absl::Status& status, const Target& target) const;
  // Reports that the command does not take this kind of file.
  void Misuse(const std::string& path, std::string message);
  // Reports something worth knowing that is not a fault.
  void Note(std::string message);
  // Names the file that the next lines are about, on the standard error: it is not data.  Not in
  // JSON.
  void Announce(const std::string& path);

  // Shows a line on the terminal of the messages, in place of the previous one; an empty text
  // removes it.  Does nothing without a terminal.
  void ShowProgress(const std::string& text);
  void ClearProgress();

  // The problems of this result, and how many of them are damage.
  struct Tally {
    size_t problems = 0;
    size_t damage = 0;
    bool operator==(const Tally&) const = default;
  };
  Tally tally() const { return tally_; }

  // After this many problems the search for damage in a file ends, to bound time and output.
  static constexpr size_t kProblemsMax = 100;
  bool has_too_many_problems() const { return file_problem_count_ >= kProblemsMax; }
  // The next problems are about another file of the same result.
  void NextFile() { file_problem_count_ = 0; }

  // Treats problems and notes of this result as data, which go to `out`; for `verify`.
  void set_problems_are_data() { problems_are_data_ = true; }

  // True if the output accepts no more bytes (closed pipe, full disk).
  bool is_broken() const { return world_.out->fail(); }
  // Records that a check ended early because its output failed: unread files may be damaged.
  void CutShort() { is_cut_short_ = true; }
  // True if the reader of the output has gone.  Any thread.
  bool output_is_gone() const { return world_.output_is_gone && world_.output_is_gone(); }

  // --- appearance ---

  // The terminal's width; 0: unlimited.
  size_t columns() const { return world_.terminal.is_terminal ? world_.terminal.columns : 0; }
  std::string Bold(std::string_view text) const { return Colored("1", text); }
  std::string Red(std::string_view text) const { return Colored("1;31", text); }
  std::string Green(std::string_view text) const { return Colored("32", text); }
  std::string Yellow(std::string_view text) const { return Colored("33", text); }
  std::string Dim(std::string_view text) const { return Colored("2", text); }

  // A key or value as text, escaped or in hexadecimal as requested, cut to `columns_max` if not 0.
  // A UTF-8 terminal shows plain characters (characters.h) unescaped.
  std::string Show(std::string_view bytes, size_t columns_max = 0) const;
  // The name of a keyspace: escaped, also with --hex and --raw.
  std::string ShowName(std::string_view name) const;
  // A key for a screen; the empty key is "(empty)".  A key longer than kShownKeyBytes is cut,
  // followed by its length if there is room.  Raw keys are whole.
  static constexpr size_t kShownKeyBytes = 100;
  std::string ShowKey(std::string_view key, size_t columns_max = 0) const;
  // Escaped text, cut to `columns_max` if not 0.
  std::string Fit(std::string text, size_t columns_max) const;

 private:
  struct Problem {
    std::string file;
    std::optional<uint64_t> offset;
    std::string message;
    bool operator==(const Problem&) const = default;
  };

  std::string Colored(const char* code, std::string_view text) const;
  bool writes_lines() const;
  void BeginResult();
  void Count(Outcome outcome);
  void Add(Problem problem, Outcome outcome);
  void AddStatus(const absl::Status& status, PlacedMessage placed);
  void PrintProblem(const Problem& problem);

  const World& world_;
  const Request& request_;
  lsm::JsonWriter json_;
  Outcome worst_ = Outcome::kFine;
  bool is_cut_short_ = false;
  bool problems_are_data_ = false;

  bool has_progress_ = false;  // is on the terminal now

  // State of the current result.
  std::string path_, kind_;
  Outcome outcome_ = Outcome::kFine;
  std::vector<Problem> problems_;  // only those shown
  std::vector<std::string> notes_;
  Tally tally_;
  size_t file_problem_count_ = 0;
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_SESSION_H_
