// One run of sstdump: what it says, in which form, and how it ends.
//
// Text goes to `out` as it comes.  In JSON the run is one document, written piece by piece:
//
//   {"command":"verify","results":[RESULT, ...],"exit_code":1}
//   RESULT = {"path":"…","kind":"table", …fields of the command…,
//             "outcome":"damaged","problems":[{"file":"…","offset":12,"message":"…"}],"notes":["…"]}
//
// `offset` is there if the message is about a place in the file.  Commands whose output may be long
// (Command::lines) write JSON Lines instead, an object a line: first what the command shows of a
// path, then that path's RESULT, and last {"command":"scan","exit_code":1}.
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

// The exit code.  Of several files the highest counts.
enum class Outcome : int { kFine = 0, kDamaged = 1, kUsage = 2, kUnreadable = 3 };

// A library's message taken apart: "FILE: offset N: what", where FILE is `opened` or a file in it.
struct PlacedMessage {
  std::string file;  // with `shown` in the place of `opened`
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
  // Ends the document; the exit code.
  int Finish();

  // --- what a result says ---

  // Text; not where JSON is wanted.  A line ends with '\n'.  On a terminal a line that is too long
  // is broken, or cut if it has tabs.
  void Print(std::string_view text);
  // Bytes as they are, for `--raw`.
  void PrintRaw(std::string_view bytes);
  // Members of the result, or of a line that was begun.  REQUIRES json_wanted().
  lsm::JsonWriter& json() { return json_; }
  // One line of JSON Lines: its members come between the two, by the writer that BeginLine returns
  // or json().
  lsm::JsonWriter& BeginLine();
  void EndLine();
  // Writes what the JSON writer has so far: after each item of a list that may be long.
  void DrainJson();

  // The file is damaged (DataLoss), or cannot be read (any other error).
  void Fail(const absl::Status& status, const Target& target);
  // Damage at a place.
  void Damage(const Target& target, std::optional<uint64_t> offset, std::string message);
  // The same where there is no target: a path that leads nowhere.
  void Fail(const absl::Status& status, const std::string& path);
  // A problem of another file that is counted and not shown.
  void CountUnshown(const absl::Status& status);
  // Whether this result has shown that problem.
  bool HasSaid(const absl::Status& status, const Target& target) const;
  // The command does not fit what the path leads to.
  void Misuse(const std::string& path, std::string message);
  // Worth knowing, and no fault.
  void Note(std::string message);
  // Tells which file the next lines are of, on the standard error: it is not data.  Not in JSON.
  void Announce(const std::string& path);

  // Shows a line on the terminal of the messages, in place of the one before; removes it.  Does
  // nothing without a terminal.
  void ShowProgress(const std::string& text);
  void ClearProgress();

  // How many problems this result has had, and how many of these were damage.
  struct Tally {
    size_t problems = 0;
    size_t damage = 0;
    bool operator==(const Tally&) const = default;
  };
  Tally tally() const { return tally_; }

  // After so many, a file's further damage is not looked for: time and output stay bounded.
  static constexpr size_t kProblemsMax = 100;
  bool has_too_many_problems() const { return file_problem_count_ >= kProblemsMax; }
  // What follows is about another file of the same result.
  void NextFile() { file_problem_count_ = 0; }

  // Problems and notes of this result are data, and go to `out` with it: those of `verify`.
  void set_problems_are_data() { problems_are_data_ = true; }

  // The place where the output goes takes no more (a closed pipe, a full disk).
  bool is_broken() const { return world_.out->fail(); }
  // A check ended early, because its output takes no more: what it has not read may be damaged.
  void CutShort() { is_cut_short_ = true; }
  // Whether the reader of the output has gone.  Any thread.
  bool output_is_gone() const { return world_.output_is_gone && world_.output_is_gone(); }

  // --- how things look ---

  // For a terminal's width; 0: as long as they are.
  size_t columns() const { return world_.terminal.is_terminal ? world_.terminal.columns : 0; }
  std::string Bold(std::string_view text) const { return Colored("1", text); }
  std::string Red(std::string_view text) const { return Colored("1;31", text); }
  std::string Green(std::string_view text) const { return Colored("32", text); }
  std::string Yellow(std::string_view text) const { return Colored("33", text); }
  std::string Dim(std::string_view text) const { return Colored("2", text); }

  // A key or value as text: escaped or in hex as was asked for, cut to `columns_max` if not 0.  A
  // terminal that knows UTF-8 gets its plain characters (characters.h) as they are.
  std::string Show(std::string_view bytes, size_t columns_max = 0) const;
  // A key on a screen: "(empty)" if it is.  Of one that is longer than kShownKeyBytes only the
  // beginning is shown, and the length if there is room.  Raw keys are shown whole.
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

  bool has_progress_ = false;  // stands on the terminal

  // Of the result that was begun.
  std::string path_, kind_;
  Outcome outcome_ = Outcome::kFine;
  std::vector<Problem> problems_;  // those that are shown
  std::vector<std::string> notes_;
  Tally tally_;
  size_t file_problem_count_ = 0;
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_SESSION_H_
