#include "tests/reliability/jobs/faults.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/faulty_files.h"
#include "tests/reliability/workload/reduce.h"
#include "tests/reliability/workload/styles.h"
#include "tests/reliability/workload/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::World;
using Unsynced = lsm::MemoryFileSystem::Unsynced;

using Operation = lsm::FileOperation;

constexpr char kPath[] = "/store";
constexpr char kCurrentPath[] = "/store/CURRENT";
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// Before the store is opened again or resumed, one write each of the log, the manifest, a flush and
// a compaction may fail.
constexpr uint64_t kFailedWritesMax = 4;

// A run may append a multiple of the bytes of a run without faults, plus a constant.  After a
// failure, flushes and compactions may come at other times.
constexpr uint64_t kBytesRatioMax = 3;
constexpr uint64_t kBytesMore = 64 << 10;

// More than the store of any workload needs.
constexpr uint64_t kReserveBytes = uint64_t{1} << 20;
// The space that must become free before the store takes puts again: its first and smallest
// reserve, as much again, and some for a log and a manifest.
constexpr uint64_t kRoomMin = 3 * uint64_t{64} << 10;

lsm::Options OptionsOn(World& world, lsm::FileSystem* files, bool logs_apart, uint64_t seed) {
  lsm::Options options = world.SmallOptions();
  options.level0_compaction_tables = 2;
  options.compaction_style = StyleOf(seed);
  options.compression = lsm::Compression::kNone;
  options.environment.file_system = files;
  if (logs_apart) options.log_directory = "/logs";
  return options;
}

// Runs a workload on a machine where some calls fail.
class Trial {
 public:
  explicit Trial(const FaultOptions& options)
      : seed_(options.seed),
        world_(options.seed),
        files_(world_.files.get()),
        logs_apart_(options.logs_apart),
        has_reserve_(options.has_reserve),
        has_ranges_(options.shape.ranges),
        dice_(options.seed) {}

  void FailCalls(FaultKind kind, uint64_t from, uint64_t to) {
    files_.FailCalls(kind, from, to);
    lacks_space_ = kind == FaultKind::kSpace;
  }

  void LimitRoom(uint64_t bytes) {
    files_.LimitRoom(bytes);
    is_full_ = lacks_space_ = true;
  }

  // The limit begins once the store exists with its reserve.
  void LimitRoomToCome(uint64_t bytes) {
    room_to_come_ = bytes;
    is_full_ = lacks_space_ = true;
  }

  // Returns what went wrong, or empty.
  std::string Run(const std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size() && problem_.empty(); ++i) {
      Make(steps[i]);
      if (db_ != nullptr && room_to_come_) {
        files_.LimitRoom(files_.taken_bytes("") + *std::exchange(room_to_come_, std::nullopt));
      } else if (MustDeleteItsWayOut()) {
        if (problem_.empty()) DeleteWayOut();
        if (!problem_.empty()) problem_ = Concat("full since step ", i, ": ", problem_);
        break;
      }
      if (problem_.empty()) LookAround();
      if (!problem_.empty())
        problem_ = Concat("at step ", i, ", ", NameOf(steps[i].kind), ": ", problem_);
    }
    calls_ = files_.calls();
    room_bytes_ = files_.taken_bytes_max();
    if (problem_.empty()) End();
    return problem_;
  }

  const FaultyFiles& files() const { return files_; }
  // The number of calls of the steps.  Later calls do not fail.
  uint64_t calls() const { return calls_; }
  uint64_t room_bytes() const { return room_bytes_; }
  // The bytes appended outside of attempts to resume the store, and the maximum in one such
  // attempt.
  uint64_t bytes() const { return files_.appended_bytes() - resume_bytes_; }
  uint64_t resume_bytes_max() const { return resume_bytes_max_; }
  const Promises& promises() const { return promises_; }

 private:
  // Keeps the first problem.  An empty string is no problem.
  void Fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  // Reads must succeed after earlier failures.  Only a call that fails during the read excuses an
  // error.
  void JudgeRead(const char* what, const absl::Status& status, uint64_t failed_before) {
    if (!status.ok() && files_.failed() == failed_before)
      Fail(Concat(what, " fails without a cause: ", status.ToString()));
    if (absl::IsInternal(status)) Fail(Concat(what, ": ", status.ToString()));
  }

  lsm::Options Options() {
    lsm::Options options = OptionsOn(world_, &files_, logs_apart_, seed_);
    if (has_reserve_) options.reserve_bytes = kReserveBytes;
    return options;
  }

  // The disk is full, and the store has a reserve.  The trial ends with DeleteWayOut then.
  bool MustDeleteItsWayOut() const {
    return has_reserve_ && is_full_ && (files_.failed() > 0 || was_refused_);
  }

  // The disk stays full.  With its reserve the store is opened or resumed, deletes its contents,
  // and must then take puts again.
  void DeleteWayOut() {
    const uint64_t bytes_before = files_.taken_bytes(kPath);
    if (db_ == nullptr || dice_.Next() % 2 == 0) {
      Reopen(Step::kReopen);
    } else {
      ResumeOnFullDisk();
    }
    // Deletes all keys except the one that distinguishes the commits, then drops the keyspaces.
    Commit deletes, drops;
    for (const auto& [key, value] : promises_.contents()) {
      if (key != "last") (PlaceOf(key).key ? deletes : drops).push_back({key, std::nullopt});
    }
    // A range over no keys would leave the same contents as before.
    if (has_ranges_ && !deletes.empty() && promises_.contents().begin()->first < "last")
      deletes = {DeletesRange("", "last")};
    deletes.insert(deletes.end(), drops.begin(), drops.end());
    for (const Effect& effect : deletes) {
      const bool sync = dice_.Next() % 2 == 0;
      OnFullDisk("a delete", [&] { return Write({Step::kWrite, {effect}, sync}); });
    }
    OnFullDisk("CompactRange", [&] { return db_->CompactRange(); });
    if (!problem_.empty()) return;
    promises_.Synced();
    LookAround();
    // If the store was nearly empty, deleting makes hardly any room.
    if (bytes_before < kRoomMin) return;
    OnFullDisk("a put after all was deleted", [&] {
      return Write({Step::kWrite, {{"key3", "more"}}, true});
    });
    promises_.Synced();
  }

  // The store releases its reserve when it fails or is resumed, so the second attempt must succeed.
  template <typename Call>
  void OnFullDisk(const char* what, const Call& call) {
    if (!problem_.empty()) return;
    const bool had_reserve = db_->GetStatistics().reserve_bytes > 0;
    absl::Status status = call();
    if (!status.ok() && had_reserve) {
      ResumeOnFullDisk();
      if (problem_.empty()) status = call();
    }
    if (!status.ok()) Fail(Concat("on a full disk ", what, " fails: ", status.ToString()));
  }

  void ResumeOnFullDisk() {
    if (db_->GetFailure().ok()) return;
    const absl::Status status = TryToResume();
    if (!status.ok()) return Fail(Concat("on a full disk Resume fails: ", status.ToString()));
    Fail(promises_.Resumed(db_->GetFailure(), /*failed_again=*/false));
  }

  void Make(const Step& step) {
    if (step.kind == Step::kReopen || step.kind == Step::kKill) return Reopen(step.kind);
    if (db_ == nullptr) return;
    const uint64_t failed_before = files_.failed(), failed_writes_before = files_.failed_writes();
    const bool had_failure = !db_->GetFailure().ok();
    absl::Status status;
    switch (step.kind) {
      case Step::kWrite:
        status = Write(step);
        break;
      case Step::kCopy:
        status = MakeCopy();
        break;
      case Step::kVerify:
        status = Verify(had_failure);
        break;
      default:
        status = Carry(step, *db_);
    }
    if (!status.ok() && !had_failure && files_.failed() == failed_before && !was_refused_)
      Fail(Concat("fails without a cause: ", status.ToString()));
    if (status.ok() && step.MakesDurable()) promises_.Synced();
    if (step.kind != Step::kCopy) failed_writes_ += files_.failed_writes() - failed_writes_before;
    // A store with a reserve writes more often: it tries to build the reserve, with growing breaks,
    // and repeats a job that lacked space.
    if (failed_writes_ > kFailedWritesMax * (has_reserve_ ? 4 : 1))
      Fail("it repeats failing writes too often");
    if (status.ok() || db_->GetFailure().ok()) return;
    if (has_reserve_ && is_full_) return;  // see MustDeleteItsWayOut
    if (is_full_) {
      // If the edit could not be recorded, nothing shows whether the file is needed.
      if (db_->GetFailure().message().find(".table:") != std::string_view::npos) CheckTables();
      if (dice_.Next() % 8 == 0) MakeRoom();
    }
    if (dice_.Next() % 4 == 0) Resume();
  }

  // Frees space, as an operator would: permanently, or until the disk is full again.
  void MakeRoom() {
    if (dice_.Next() % 2 == 0) return files_.Heal();
    files_.LimitRoom(files_.taken_bytes("") + dice_.Next() % 4096);
  }

  // On a full disk, a call that failed must have freed the space that it used.
  void CheckRoom(const char* what, uint64_t before, std::string_view below) {
    const uint64_t now = files_.taken_bytes(below);
    if (is_full_ && now != before)
      Fail(Concat(what, " that failed leaves ", now, " bytes where ", before, " were"));
  }

  absl::Status MakeCopy() {
    const CopyPlan plan = promises_.copies().Next(Options(), promises_.history().size());
    // The store that is repaired, or the target of the copy.
    const std::string& path = plan.kind == CopyPlan::kRepair ? plan.earlier : plan.copy.path;
    const uint64_t room_before = files_.taken_bytes(path);
    const absl::Status status = Carry(plan, *db_);
    if (!status.ok() && plan.kind != CopyPlan::kDestroy) CheckRoom("a copy", room_before, path);
    promises_.copies().Note(plan, status.ok());
    return status;
  }

  absl::Status Verify(bool had_failure) {
    const uint64_t failed_before = files_.failed();
    TRELLIS_ASSIGN_OR_RETURN(const lsm::VerifyReport report, db_->Verify());
    if (!report.problems.empty() && !had_failure && files_.failed() == failed_before)
      Fail(Concat("Verify reports damage in an undamaged store: ", report.problems.front()));
    return absl::OkStatus();
  }

  absl::Status Write(const Step& step) {
    const Commit commit = PossibleIn(promises_.contents(), step.commit);
    if (commit.empty()) return absl::OkStatus();
    const absl::Status status = WriteCommit(*db_, commit, step.sync);
    Fail(promises_.Answered(commit, status));
    if (status.ok() || !db_->GetFailure().ok()) return status;
    // A put that is refused for lack of a reserve leaves no failure.
    was_refused_ = has_reserve_ && lsm::IsDiskFull(status) &&
                   std::any_of(commit.begin(), commit.end(),
                               [](const Effect& effect) { return effect.value.has_value(); });
    if (!was_refused_) Fail("a write failed, and GetFailure says OK");
    return status;
  }

  // Resumes the store instead of opening it again.  Sometimes the swap of CURRENT is done but
  // returns an error.
  void Resume() {
    if (dice_.Next() % 4 == 0) {
      files_.FailNext(Operation::kAtomicReplace, FaultKind::kIoButDone);
      if (TryToResume().ok()) Fail("resumed, though CURRENT could not be swapped");
      files_.CancelNext();  // Resume may have failed before the swap
    }
    // Jobs that still run may fail in a way that leaves unknown which files are needed.
    if (is_full_) db_->WaitForBackgroundWork().IgnoreError();
    const uint64_t room_before = files_.taken_bytes("");
    const std::string current = world_.files->FileBytes(kCurrentPath);
    const uint64_t failed_before = files_.failed();
    const absl::Status status = TryToResume();
    if (!status.ok()) {
      // A failure after the swap of CURRENT may keep the files that it names.
      if (world_.files->FileBytes(kCurrentPath) == current) CheckRoom("resuming", room_before, "");
      // An earlier failure is no excuse, because Resume must recover from it.
      if (files_.failed() == failed_before)
        Fail(Concat("Resume fails without a cause: ", status.ToString()));
      return;
    }
    Fail(promises_.Resumed(db_->GetFailure(), files_.failed() != failed_before));
  }

  absl::Status TryToResume() {
    const uint64_t before = files_.appended_bytes();
    absl::Status status = db_->Resume();
    failed_writes_ = 0;
    resume_bytes_ += files_.appended_bytes() - before;
    resume_bytes_max_ = std::max(resume_bytes_max_, files_.appended_bytes() - before);
    return status;
  }

  // If Close returns OK, all writes are durable, whatever failed before.
  void Close(Step::Kind kind) {
    if (db_ == nullptr) return;
    const bool had_failure = !db_->GetFailure().ok();
    const uint64_t failed_before = files_.failed();
    if (!lacks_space_ && db_->GetStatistics().reserve_releases > 0)
      Fail("the reserve is given up, and the disk is not full");
    const absl::Status status = db_->Close();
    db_ = nullptr;
    if (kind == Step::kReopen && status.ok() && !files_.has_dropped()) promises_.Synced();
    if (kind == Step::kReopen && !status.ok() && !had_failure && files_.failed() == failed_before)
      Fail(Concat("Close fails without a cause: ", status.ToString()));
    if (dice_.Next() % 2 == 0) CheckCrash();
  }

  void Reopen(Step::Kind kind) {
    if (kind == Step::kKill && db_ != nullptr) world_.files->Restart(Unsynced::kKept);
    Close(kind);
    if (!problem_.empty()) return;
    const uint64_t failed_before = files_.failed(), room_before = files_.taken_bytes("");
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, Options());
    if (!db.ok() && has_reserve_ && is_full_)
      return Fail(Concat("on a full disk opening fails: ", db.status().ToString()));
    if (!db.ok()) {
      CheckRoom("opening", room_before, "");
      if (files_.failed() == failed_before)
        return Fail(Concat("cannot be opened: ", db.status().ToString()));
      files_.Heal();  // ends also a lasting fault
      db = DB::Open(kPath, Options());
    }
    if (!db.ok()) return Fail(Concat("cannot be opened: ", db.status().ToString()));
    db_ = *std::move(db);
    failed_writes_ = 0;
    LookThrough();
  }

  void LookThrough() {
    const uint64_t failed_before = files_.failed();
    absl::StatusOr<Contents> found = ReadStore(*db_);
    JudgeRead("an iterator", found.status(), failed_before);
    if (!found.ok()) {
      files_.Heal();
      found = ReadStore(*db_);
    }
    if (!found.ok()) return Fail(Concat("opened, but cannot be read: ", found.status().ToString()));
    Fail(promises_.Opened(*found, files_.has_dropped()));
  }

  // Reads see exactly what was acknowledged, or fail with a cause.
  void LookAround() {
    if (db_ == nullptr) return;
    for (const std::string& key : promises_.history().keys()) {
      if (dice_.Next() % 4 != 0) continue;
      const uint64_t failed_before = files_.failed();
      const absl::StatusOr<std::optional<std::string>> value = LookUp(*db_, key);
      JudgeRead("Get", value.status(), failed_before);
      if (value.ok() && *value != promises_.ValueOf(key)) return Fail("Get gives a wrong answer");
    }
    if (dice_.Next() % 8 != 0) return;
    for (const bool backward : {false, true}) {
      const uint64_t failed_before = files_.failed();
      Contents shown;
      const absl::Status status = ReadStore(*db_, backward, &shown);
      JudgeRead(backward ? "an iterator going backwards" : "an iterator", status, failed_before);
      // Also what it shows before it fails must be right.
      const Contents& all = promises_.contents();
      if (status.ok() ? shown != all
                      : !std::includes(all.begin(), all.end(), shown.begin(), shown.end()))
        return Fail(Concat("an iterator shows wrong entries", backward ? " backward" : ""));
    }
  }

  void End() {
    CheckCopies();
    CheckCrash();
    files_.Heal();
    if (db_ != nullptr && !db_->GetFailure().ok() && dice_.Next() % 2 == 0) {
      const std::string cause = db_->GetFailure().ToString();
      Resume();
      if (!db_->GetFailure().ok()) return Fail(Concat("healed, cannot be resumed: ", cause));
    }
    for (const bool first : {true, false}) {
      if (db_ != nullptr && db_->GetFailure().ok()) {
        if (was_refused_ && !db_->Resume().ok()) return Fail("healed, but Resume fails");
        was_refused_ = false;
        const Commit commit = {{"key3", "further"}, {"last", first ? "end 1" : "end 2"}};
        const absl::Status status = Write({Step::kWrite, commit, true});
        if (!status.ok()) return Fail(Concat("healed, but a write fails: ", status.ToString()));
        promises_.Synced();
      }
      LookAround();
      CheckCrash();
      if (is_full_ && db_ != nullptr && db_->WaitForBackgroundWork().ok()) CheckTables();
      if (!problem_.empty()) return;
      Reopen(Step::kReopen);
      if (!problem_.empty()) return;
    }
  }

  // Skips copies on a disk that lied about syncs, because it may have dropped their bytes.
  void CheckCopies() {
    if (!files_.has_dropped()) Fail(promises_.ProblemOfCopies(*world_.files, Options()));
  }

  // Checks that only the tables exist that the store needs.
  void CheckTables() {
    const size_t there = world_.FilesOf(lsm::FileKind::kTable).size();
    const uint64_t needed = db_->GetStatistics().total.tables;
    if (there != needed) Fail(Concat(there, " tables are there, of which it needs ", needed));
  }

  void CheckCrash() { Fail(promises_.ProblemAfterCrash(*world_.files, kPath, Options())); }

  const uint64_t seed_;
  World world_;
  FaultyFiles files_;
  const bool logs_apart_;
  const bool has_reserve_;
  const bool has_ranges_;  // in the workload
  testing_support::SeededRandom dice_;
  uint64_t calls_ = 0, room_bytes_ = 0;
  uint64_t failed_writes_ = 0;  // since the store was opened or resumed; not counting copies
  uint64_t resume_bytes_ = 0, resume_bytes_max_ = 0;
  bool is_full_ = false;      // the disk is full, or will be
  bool lacks_space_ = false;  // a call may return ENOSPC, or the disk is full
  std::optional<uint64_t> room_to_come_;
  bool was_refused_ = false;  // a put was refused for lack of a reserve
  std::unique_ptr<DB> db_;
  Promises promises_;
  std::string problem_;
};

// Trials of one workload, compared with a run without faults.
class Trials {
 public:
  Trials(const FaultOptions& options, const std::vector<Step>& steps)
      : options_(options), steps_(steps), sound_(options), dice_(options.seed) {
    const std::string problem = sound_.Run(steps);
    if (!problem.empty())
      report_.finding = Concat("seed ", options_.seed, ", without any fault, ", problem);
  }

  const Trial& sound() const { return sound_; }
  TrialReport& report() { return report_; }

  // Announces the number of calls of Try.  Of these, all `rare` ones make a trial, and some of the
  // others.
  void Spread(uint64_t cases, uint64_t rare = 0) {
    const uint64_t runs =
        std::max<uint64_t>(options_.runs_max - std::min(options_.runs_max, rare), 1);
    one_in_ = std::max<uint64_t>((cases - rare + runs - 1) / runs, 1);
  }

  // Makes a trial of `what`, if it is selected.  Returns false if no more trials are needed.
  template <typename Prepare>
  bool Try(const std::string& what, const Prepare& prepare, bool is_rare = false) {
    ++report_.cases;
    if (!is_rare && !dice_.OneIn(one_in_)) return true;
    if (report_.runs == options_.runs_max) return false;
    ++report_.runs;
    SayUnderWay(Concat("seed ", options_.seed, ", ", what));
    Trial trial(options_);
    prepare(trial);
    const std::string found = trial.Run(steps_);
    report_.resumed += trial.promises().was_resumed();
    report_.unknown += trial.promises().had_unknown();
    Fail(what, trial.files(), found);
    const uint64_t bytes = trial.bytes(), sound_bytes = sound_.bytes();
    report_.bytes_ratio_max = std::max(
        report_.bytes_ratio_max, static_cast<double>(bytes) / static_cast<double>(sound_bytes));
    if (bytes > kBytesRatioMax * sound_bytes + kBytesMore ||
        trial.resume_bytes_max() > sound_bytes + kBytesMore) {
      Fail(what, trial.files(),
           Concat("appends ", bytes, " bytes, and ", trial.resume_bytes_max(),
                  " to resume it, where ", sound_bytes, " do if nothing fails"));
    }
    return report_.finding.empty();
  }

 private:
  void Fail(const std::string& what, const FaultyFiles& files, const std::string& found) {
    if (found.empty() || !report_.finding.empty()) return;
    report_.finding =
        Concat("seed ", options_.seed, ", ", what, " (first: ", files.failed_first(), "), ", found);
  }

  const FaultOptions& options_;
  const std::vector<Step>& steps_;
  Trial sound_;
  lsm::Dice dice_;
  uint64_t one_in_ = 1;
  TrialReport report_;
};

// A sync of a directory that drops names.  There are few such calls, and each one matters for a
// different promise.
bool IsRare(Operation call, FaultKind kind, bool lasts) {
  return call == Operation::kSyncDirectory && kind == FaultKind::kSyncDrops && !lasts;
}

TrialReport FailCallsOf(const FaultOptions& options, const std::vector<Step>& steps) {
  Trials trials(options, steps);
  if (!trials.report().finding.empty()) return trials.report();
  std::vector<Operation> calls = trials.sound().files().operations();
  calls.resize(trials.sound().calls());
  trials.report().places = calls.size();
  uint64_t cases = 0, rare = 0;
  for (const Operation call : calls) {
    for (const FaultKind kind : kFaultKinds) {
      cases += CanFailSo(call, kind) ? 2 : 0;
      rare += IsRare(call, kind, /*lasts=*/false);
    }
  }
  if (options.spread) trials.Spread(cases, rare);
  for (uint64_t at = 0; at < calls.size(); ++at) {
    for (const FaultKind kind : kFaultKinds) {
      // Starts after the calls that were tried already.
      if (!CanFailSo(calls[at], kind)) continue;
      for (const bool lasts : {false, true}) {
        const std::string what =
            Concat("call ", at, lasts ? " and all later ones" : "", " failing with ", NameOf(kind));
        const auto prepare = [&](Trial& trial) {
          trial.FailCalls(kind, at, lasts ? kNever : at + 1);
        };
        if (!trials.Try(what, prepare, IsRare(calls[at], kind, lasts))) return trials.report();
      }
    }
  }
  return trials.report();
}

TrialReport FillDiskOf(const FaultOptions& options, const std::vector<Step>& steps) {
  Trials trials(options, steps);
  if (!trials.report().finding.empty()) return trials.report();
  trials.report().places = trials.sound().room_bytes();
  trials.Spread(trials.report().places);
  for (uint64_t room = 0; room < trials.report().places; ++room) {
    const auto limit = [&](Trial& trial) {
      options.has_reserve ? trial.LimitRoomToCome(room) : trial.LimitRoom(room);
    };
    const char* const what = options.has_reserve ? "a disk with a reserve and " : "a disk of ";
    if (!trials.Try(Concat(what, room, " bytes"), limit)) break;
  }
  return trials.report();
}

// Runs the workload of the options.  Reports a finding with the fewest steps that show it.
TrialReport OnWorkload(const FaultOptions& options,
                       TrialReport (*run)(const FaultOptions&, const std::vector<Step>&)) {
  const std::vector<Step> steps = MakeWorkload(options.seed, options.shape);
  TrialReport report = run(options, steps);
  if (report.finding.empty()) return report;
  FaultOptions trial = options;
  trial.spread = false;
  trial.runs_max = std::min<uint64_t>(report.cases + 100, 4'000);
  report.finding = WithFewestSteps(report.finding, steps, 5 * trial.runs_max,
                                   [&](const std::vector<Step>& some) -> Look {
                                     const TrialReport again = run(trial, some);
                                     return {again.finding, again.runs + 1};
                                   });
  return report;
}

}  // namespace

TrialReport FailEverywhere(const FaultOptions& options) { return OnWorkload(options, FailCallsOf); }
TrialReport FillDisk(const FaultOptions& options) { return OnWorkload(options, FillDiskOf); }

}  // namespace reliability
