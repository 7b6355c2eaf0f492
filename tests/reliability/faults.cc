#include "tests/reliability/faults.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/reduce.h"
#include "tests/reliability/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::World;
using Unsynced = lsm::MemoryFileSystem::Unsynced;

using Operation = lsm::FileOperation;

constexpr char kPath[] = "/store";
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

lsm::Options OptionsOn(World& world, lsm::FileSystem* files, bool logs_apart) {
  lsm::Options options = world.SmallOptions();
  options.level0_compaction_tables = 2;
  options.compression = lsm::Compression::kNone;
  options.environment.file_system = files;
  if (logs_apart) options.log_directory = "/logs";
  return options;
}

// A workload on a machine of which some calls fail.
class Trial {
 public:
  explicit Trial(const FaultOptions& options)
      : world_(options.seed),
        files_(world_.files.get()),
        logs_apart_(options.logs_apart),
        dice_(options.seed) {}

  void FailCalls(FaultKind kind, uint64_t from, uint64_t to) {
    files_.FailCalls(kind, from, to);
    dropped_ = kind == FaultKind::kSyncDrops;
  }

  // What went wrong, or empty.
  std::string Run(const std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size() && problem_.empty(); ++i) {
      Make(steps[i]);
      if (problem_.empty()) LookAround();
      if (!problem_.empty())
        problem_ = Concat("at step ", i, ", ", NameOf(steps[i].kind), ": ", problem_);
    }
    if (problem_.empty()) End();
    return problem_;
  }

  const FaultyFiles& files() const { return files_; }
  const Promises& promises() const { return promises_; }

 private:
  // With an empty one nothing is wrong.
  void Fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  bool faulted() const { return files_.failed() > 0; }

  lsm::Options Options() { return OptionsOn(world_, &files_, logs_apart_); }

  void Make(const Step& step) {
    if (step.kind == Step::kReopen || step.kind == Step::kKill) return Reopen(step.kind);
    if (db_ == nullptr) return;
    absl::Status status;
    switch (step.kind) {
      case Step::kWrite:
        status = Write(step);
        break;
      case Step::kCopy:
        status = MakeCopy();
        break;
      case Step::kVerify:
        status = Verify();
        break;
      default:
        status = Carry(step, *db_);
    }
    if (!status.ok() && !faulted()) Fail(Concat("fails without a cause: ", status.ToString()));
    if (status.ok() && step.MakesDurable()) promises_.Synced();
    if (!status.ok() && !db_->GetFailure().ok() && dice_.Next() % 4 == 0) Resume();
  }

  absl::Status MakeCopy() {
    const CopyPlan plan = promises_.copies().Next(Options(), promises_.history().size());
    const absl::Status status = Carry(plan, *db_);
    promises_.copies().Note(plan, status.ok());
    return status;
  }

  absl::Status Verify() {
    LSM_ASSIGN_OR_RETURN(const lsm::VerifyReport report, db_->Verify());
    if (!report.problems.empty() && !faulted())
      Fail(Concat("Verify finds what is not there: ", report.problems.front()));
    return absl::OkStatus();
  }

  absl::Status Write(const Step& step) {
    const absl::Status status = WriteCommit(*db_, step.commit, step.sync);
    Fail(promises_.Answered(step.commit, status));
    if (!status.ok() && db_->GetFailure().ok()) Fail("a write failed, and GetFailure says OK");
    return status;
  }

  // In place of opening the store again.  At times the swap of CURRENT fails then, though it was
  // done.
  void Resume() {
    if (dice_.Next() % 4 == 0) {
      files_.FailNext(Operation::kAtomicReplace, FaultKind::kIoButDone);
      if (db_->Resume().ok()) Fail("resumed, though CURRENT could not be swapped");
    }
    const absl::Status status = db_->Resume();
    if (!status.ok()) {
      if (!faulted()) Fail(Concat("Resume fails without a cause: ", status.ToString()));
      return;
    }
    Fail(promises_.Resumed(db_->GetFailure()));
  }

  void Reopen(Step::Kind kind) {
    if (kind == Step::kKill && db_ != nullptr) world_.files->Restart(Unsynced::kKept);
    db_ = nullptr;
    const uint64_t failed_before = files_.failed();
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, Options());
    if (!db.ok()) {
      if (files_.failed() == failed_before)
        return Fail(Concat("cannot be opened: ", db.status().ToString()));
      files_.Heal();  // also a fault that lasts
      db = DB::Open(kPath, Options());
    }
    if (!db.ok()) return Fail(Concat("cannot be opened: ", db.status().ToString()));
    db_ = *std::move(db);
    LookThrough();
  }

  void LookThrough() {
    absl::StatusOr<Contents> found = ReadAll();
    if (!found.ok() && faulted()) {
      files_.Heal();
      found = ReadAll();
    }
    if (!found.ok()) return Fail(Concat("opened, but cannot be read: ", found.status().ToString()));
    Fail(promises_.Opened(*found, dropped_));
  }

  absl::StatusOr<Contents> ReadAll() {
    Contents contents;
    const std::unique_ptr<lsm::Iterator> iterator = db_->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
      contents.emplace(iterator->key(), iterator->value());
    LSM_RETURN_IF_ERROR(iterator->status());
    return contents;
  }

  // Reads see exactly what was acknowledged, or fail.
  void LookAround() {
    if (db_ == nullptr) return;
    for (const std::string& key : promises_.history().keys()) {
      if (dice_.Next() % 4 != 0) continue;
      const absl::StatusOr<std::optional<std::string>> value = db_->Get(key);
      if (!value.ok()) {
        if (!faulted()) Fail(Concat("Get fails without a cause: ", value.status().ToString()));
        continue;
      }
      if (*value != promises_.ValueOf(key)) return Fail("Get gives a wrong answer");
    }
    if (dice_.Next() % 8 != 0) return;
    const absl::StatusOr<Contents> all = ReadAll();
    if (!all.ok() && !faulted())
      return Fail(Concat("an iterator fails without a cause: ", all.status().ToString()));
    if (all.ok() && *all != promises_.contents()) return Fail("an iterator shows something else");
    const std::unique_ptr<lsm::Iterator> iterator = db_->NewIterator();
    auto expected = promises_.contents().rbegin();
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev(), ++expected) {
      if (expected == promises_.contents().rend() || iterator->key() != expected->first ||
          iterator->value() != expected->second)
        return Fail("an iterator shows something else backwards");
    }
    if (iterator->status().ok() && expected != promises_.contents().rend())
      Fail("an iterator ends too early backwards, and says OK");
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
        const Commit commit = {{"key3", "further"}, {"last", first ? "end 1" : "end 2"}};
        const absl::Status status = Write({Step::kWrite, commit, true});
        if (!status.ok()) return Fail(Concat("healed, but a write fails: ", status.ToString()));
        promises_.Synced();
      }
      LookAround();
      CheckCrash();
      if (!problem_.empty()) return;
      Reopen(Step::kReopen);
      if (!problem_.empty()) return;
    }
  }

  // A disk that lies about syncs may have dropped what they are made of.
  void CheckCopies() {
    if (!dropped_) Fail(promises_.ProblemOfCopies(*world_.files, Options()));
  }

  void CheckCrash() { Fail(promises_.ProblemAfterCrash(*world_.files, kPath, Options())); }

  World world_;
  FaultyFiles files_;
  const bool logs_apart_;
  testing_support::SeededRandom dice_;
  bool dropped_ = false;  // the kind of fault that drops what was written
  std::unique_ptr<DB> db_;
  Promises promises_;
  std::string problem_;
};

}  // namespace

TrialReport FailEverywhere(const FaultOptions& options) {
  const std::vector<Step> steps = MakeWorkload(options.seed, options.shape);
  TrialReport report = FailEverywhere(options, steps);
  if (report.finding.empty()) return report;
  FaultOptions trial = options;
  trial.spread = false;
  trial.runs_max = std::min<uint64_t>(report.cases + 100, 4'000);
  report.finding = WithFewestSteps(report.finding, steps, 5 * trial.runs_max,
                                   [&](const std::vector<Step>& some) -> Look {
                                     const TrialReport again = FailEverywhere(trial, some);
                                     return {again.finding, again.runs + 1};
                                   });
  return report;
}

TrialReport FailEverywhere(const FaultOptions& options, const std::vector<Step>& steps) {
  TrialReport report;
  Trial sound(options);
  const std::string problem = sound.Run(steps);
  if (!problem.empty()) {
    report.finding = Concat("seed ", options.seed, ", without any fault, ", problem);
    return report;
  }
  report.places = sound.files().calls();
  uint64_t cases = 0;
  for (uint64_t at = 0; at < report.places; ++at) {
    for (const FaultKind kind : kFaultKinds)
      cases += CanFailSo(sound.files().operations()[at], kind) ? 2 : 0;
  }
  const uint64_t one_in =
      options.spread ? std::max<uint64_t>((cases + options.runs_max - 1) / options.runs_max, 1) : 1;
  lsm::Dice dice(options.seed);
  for (uint64_t at = 0; at < report.places; ++at) {
    for (const FaultKind kind : kFaultKinds) {
      for (const bool lasts : {false, true}) {
        // From there on: the first call that can fail so must not be one that was tried already.
        if (!CanFailSo(sound.files().operations()[at], kind)) continue;
        ++report.cases;
        if (!dice.OneIn(one_in)) continue;
        if (report.runs == options.runs_max) return report;
        ++report.runs;
        SayUnderWay(Concat("seed ", options.seed, ", call ", at, lasts ? " and all later ones" : "",
                           " failing with ", NameOf(kind)));
        Trial trial(options);
        trial.FailCalls(kind, at, lasts ? kNever : at + 1);
        const std::string found = trial.Run(steps);
        report.resumed += trial.promises().was_resumed();
        report.unknown += trial.promises().had_unknown();
        if (found.empty()) continue;
        report.finding =
            Concat("seed ", options.seed, ", call ", at, lasts ? " and all later ones" : "", " (",
                   trial.files().failed_first(), ") fails with ", NameOf(kind), ", ", found);
        return report;
      }
    }
  }
  return report;
}

}  // namespace reliability
