#include "tools/sstdump/session.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "tools/sstdump/characters.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/wrap.h"

namespace tools {
namespace {

using lsm::Concat;

// A message may contain bytes of a file or path.  Existing escapes and the mark of a cut stay.
std::string Printable(std::string_view text) {
  constexpr std::string_view kCut = "…";
  std::string printable;
  while (!text.empty()) {
    const bool is_cut = text.starts_with(kCut);
    const std::string_view piece = text.substr(0, is_cut ? kCut.size() : 1);
    printable += is_cut || piece == "\\" ? std::string(piece) : lsm::Escape(piece);
    text.remove_prefix(piece.size());
  }
  return printable;
}

// A character, or an escape, which must not be cut in two.
Character FirstPiece(std::string_view text) {
  if (!text.starts_with('\\')) return FirstCharacter(text);
  const size_t length = std::min<size_t>(text.starts_with("\\\\") ? 2 : 4, text.size());
  return {length, length, true};
}

const char* NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFine:
      return "fine";
    case Outcome::kDamaged:
      return "damaged";
    case Outcome::kUsage:
      return "misused";
    case Outcome::kUnreadable:
      return "unreadable";
  }
  return "?";
}

Outcome OutcomeOf(const absl::Status& status) {
  return absl::IsDataLoss(status) ? Outcome::kDamaged : Outcome::kUnreadable;
}

std::string ToHex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text += lsm::kHexDigits[byte >> 4];
    text += lsm::kHexDigits[byte & 15];
  }
  return text;
}

}  // namespace

PlacedMessage SplitMessage(std::string_view message, std::string_view opened,
                           std::string_view shown) {
  constexpr std::string_view kOffset = "offset ";
  PlacedMessage placed;
  placed.file = std::string(shown);
  if (!opened.empty() && message.starts_with(opened)) {
    const std::string_view rest = message.substr(opened.size());
    const size_t end = rest.find(": ");
    if (end == 0) {
      message = rest.substr(2);
    } else if (end != rest.npos && rest.front() == '/') {
      placed.file += rest.substr(0, end);
      message = rest.substr(end + 2);
    }
  }
  if (message.starts_with(kOffset)) {
    const std::string_view rest = message.substr(kOffset.size());
    uint64_t offset = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), offset);
    const std::string_view behind = rest.substr(static_cast<size_t>(end - rest.data()));
    if (error == std::errc() && behind.starts_with(": ")) {
      placed.offset = offset;
      message = behind.substr(2);
    }
  }
  placed.message = std::string(message);
  return placed;
}

Session::Session(const World& world, const Request& request) : world_(world), request_(request) {
  if (!json_wanted() || writes_lines()) return;
  json_.BeginObject();
  json_.Member("command", request_.command->name);
  json_.Key("results");
  json_.BeginArray();
}

bool Session::writes_lines() const { return json_wanted() && request_.command->lines; }

void Session::Begin(const std::string& path, std::string_view kind) {
  outcome_ = Outcome::kFine;
  tally_ = {};
  file_problem_count_ = 0;
  problems_are_data_ = false;
  problems_.clear();
  notes_.clear();
  path_ = path;
  kind_ = kind;
  if (json_wanted() && !writes_lines()) BeginResult();
}

void Session::BeginResult() {
  json_.BeginObject();
  json_.Member("path", path_);
  json_.Member("kind", kind_);
}

void Session::End() {
  worst_ = std::max(worst_, outcome_);
  if (!json_wanted()) return;
  if (writes_lines()) BeginResult();
  json_.Member("outcome", NameOf(outcome_));
  json_.Key("problems");
  json_.BeginArray();
  for (const Problem& problem : problems_) {
    json_.BeginObject();
    json_.Member("file", problem.file);
    if (problem.offset) json_.Member("offset", *problem.offset);
    json_.Member("message", problem.message);
    json_.EndObject();
  }
  json_.EndArray();
  json_.Key("notes");
  json_.BeginArray();
  for (const std::string& note : notes_) json_.String(note);
  json_.EndArray();
  if (writes_lines()) return EndLine();
  json_.EndObject();
  DrainJson();
}

lsm::JsonWriter& Session::BeginLine() {
  json_.BeginObject();
  return json_;
}

void Session::EndLine() {
  json_.EndObject();
  *world_.out << std::exchange(json_, {}).Take() << '\n';
}

int Session::Finish() {
  if (is_cut_short_) {
    worst_ = Outcome::kUnreadable;
    *world_.err << "sstdump: " << request_.command->name
                << ": cut short, because its output was closed\n";
  }
  if (json_wanted()) {
    if (writes_lines()) {
      BeginLine().Member("command", request_.command->name);
    } else {
      json_.EndArray();
    }
    json_.Member("exit_code", static_cast<int>(worst_));
    EndLine();
  }
  world_.out->flush();
  return static_cast<int>(worst_);
}

void Session::Print(std::string_view text) {
  if (json_wanted()) return;
  if (columns() == 0 || request_.form == ByteForm::kRaw) return PrintRaw(text);
  PrintRaw(Fitted(text, columns(), world_.terminal.has_utf8));
}

void Session::PrintRaw(std::string_view bytes) {
  if (!json_wanted()) world_.out->write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void Session::DrainJson() {
  if (json_wanted()) *world_.out << json_.Drain();
}

void Session::Fail(const absl::Status& status, const Target& target) {
  AddStatus(status, SplitMessage(lsm::MessageOf(status), OpenedPath(target), target.path));
}

void Session::Fail(const absl::Status& status, const std::string& path) {
  AddStatus(status, SplitMessage(lsm::MessageOf(status), path, path));
}

bool Session::HasSaid(const absl::Status& status, const Target& target) const {
  PlacedMessage placed = SplitMessage(lsm::MessageOf(status), OpenedPath(target), target.path);
  const Problem problem{std::move(placed.file), placed.offset, std::move(placed.message)};
  return std::find(problems_.begin(), problems_.end(), problem) != problems_.end();
}

void Session::AddStatus(const absl::Status& status, PlacedMessage placed) {
  Add({std::move(placed.file), placed.offset, std::move(placed.message)}, OutcomeOf(status));
}

void Session::CountUnshown(const absl::Status& status) { Count(OutcomeOf(status)); }

void Session::Damage(const Target& target, std::optional<uint64_t> offset, std::string message) {
  Add({target.path, offset, std::move(message)}, Outcome::kDamaged);
}

void Session::Misuse(const std::string& path, std::string message) {
  Add({path, std::nullopt, std::move(message)}, Outcome::kUsage);
}

void Session::Note(std::string message) {
  if (json_wanted()) {
    notes_.push_back(std::move(message));
  } else if (problems_are_data_) {
    Print(Concat("  note: ", Printable(message), "\n"));
  } else {
    world_.out->flush();
    *world_.err << "sstdump: note: " << Printable(message) << '\n';
  }
}

void Session::Announce(const std::string& path) {
  if (json_wanted()) return;
  world_.out->flush();
  *world_.err << "==> " << lsm::Escape(path) << " <==\n";
}

void Session::ShowProgress(const std::string& text) {
  if (!world_.shows_progress) return;
  world_.out->flush();
  *world_.err << "\r" << text << "\x1b[K" << std::flush;
  has_progress_ = true;
}

void Session::ClearProgress() {
  if (has_progress_) *world_.err << "\r\x1b[K" << std::flush;
  has_progress_ = false;
}

void Session::Count(Outcome outcome) {
  outcome_ = std::max(outcome_, outcome);
  worst_ = std::max(worst_, outcome_);
  ++tally_.problems;
  if (outcome == Outcome::kDamaged) ++tally_.damage;
}

void Session::Add(Problem problem, Outcome outcome) {
  Count(outcome);
  ++file_problem_count_;
  if (file_problem_count_ > kProblemsMax) return;
  if (file_problem_count_ == kProblemsMax)
    problem.message += "; further problems of this file are not shown";
  if (!json_wanted()) PrintProblem(problem);
  problems_.push_back(std::move(problem));
}

void Session::PrintProblem(const Problem& problem) {
  const std::string text =
      Concat(lsm::Escape(problem.file), problem.file.empty() ? "" : ": ",
             problem.offset ? Concat("offset ", *problem.offset, ": ") : std::string(),
             Printable(problem.message), "\n");
  if (problems_are_data_) return Print(Concat("  ", Red(text.substr(0, text.size() - 1)), "\n"));
  world_.out->flush();
  *world_.err << "sstdump: " << text;
}

std::string Session::Colored(const char* code, std::string_view text) const {
  if (!request_.color) return std::string(text);
  return Concat("\x1b[", code, "m", text, "\x1b[0m");
}

std::string Session::Show(std::string_view bytes, size_t columns_max) const {
  // JSON cannot hold raw bytes.
  if (request_.form == ByteForm::kRaw && !json_wanted()) return std::string(bytes);
  const bool hex = request_.form == ByteForm::kHex;
  // A value may be long, so only the bytes that can be visible are read.
  constexpr size_t kBytesOfAColumn = 4;
  if (columns_max != 0) bytes = bytes.substr(0, kBytesOfAColumn * (columns_max + 1));
  return Fit(hex ? ToHex(bytes) : ShowName(bytes), columns_max);
}

std::string Session::ShowName(std::string_view name) const {
  const bool has_characters =
      !json_wanted() && world_.terminal.is_terminal && world_.terminal.has_utf8;
  return has_characters ? EscapeAllButPlain(name) : lsm::Escape(name);
}

std::string Session::ShowKey(std::string_view key, size_t columns_max) const {
  if (key.empty()) return "(empty)";
  if (key.size() <= kShownKeyBytes || request_.form == ByteForm::kRaw)
    return Show(key, columns_max);
  const std::string length = Concat(" (", lsm::ReadableCount(key.size()), " bytes)");
  if (columns_max == 0) return Show(key, kShownKeyBytes) + length;
  if (columns_max < 2 * length.size()) return Show(key, columns_max);
  return Show(key, std::min(columns_max - length.size(), kShownKeyBytes)) + length;
}

std::string Session::Fit(std::string text, size_t columns_max) const {
  if (columns_max == 0 || ColumnsOf(text) <= columns_max) return text;
  size_t end = 0;
  for (size_t columns = 0;;) {
    const Character piece = FirstPiece(std::string_view(text).substr(end));
    columns += piece.columns;
    if (columns >= columns_max) break;  // the mark takes one column
    end += piece.bytes;
  }
  text.resize(end);
  return text + (world_.terminal.has_utf8 ? "…" : "~");
}

}  // namespace tools
