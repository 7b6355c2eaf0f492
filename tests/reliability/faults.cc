#include "tests/reliability/faults.h"

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::World;
using Unsynced = lsm::MemoryFileSystem::Unsynced;

using Operation = lsm::FileOperation;

constexpr char kPath[] = "/store";
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

lsm::Options OptionsOn(World& world, lsm::FileSystem* files) {
  lsm::Options options = world.SmallOptions();
  options.level0_compaction_tables = 2;
  options.compression = lsm::Compression::kNone;
  options.environment.file_system = files;
  return options;
}

// A workload on a machine of which some calls fail.
class Trial {
 public:
  explicit Trial(uint64_t seed) : world_(seed), files_(world_.files.get()), dice_(seed) {}

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
  bool resumed() const { return resumed_; }
  bool had_unknown() const { return had_unknown_; }

 private:
  void Fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  bool faulted() const { return files_.failed() > 0; }

  void Make(const Step& step) {
    if (step.kind == Step::kReopen || step.kind == Step::kKill) return Reopen(step.kind);
    if (db_ == nullptr) return;
    absl::Status status;
    switch (step.kind) {
      case Step::kWrite:
        status = Write(step);
        break;
      case Step::kFlush:
        status = db_->Flush();
        break;
      case Step::kCompact:
        status = db_->CompactRange();
        break;
      default:
        status = db_->WaitForBackgroundWork();
    }
    if (!status.ok() && !faulted()) Fail(Concat("fails without a cause: ", status.ToString()));
    if (status.ok() && (step.sync || step.kind == Step::kFlush || step.kind == Step::kCompact))
      durable_ = history_.size();
    if (!status.ok() && dice_.Next() % 4 == 0) Resume();
  }

  absl::Status Write(const Step& step) {
    const absl::Status status = WriteCommit(*db_, step.commit, step.sync);
    if (status.ok()) {
      if (unknown_) Fail("a write was taken behind one whose outcome is unknown");
      history_.Add(step.commit);
      Apply(step.commit, &contents_);
    } else if (absl::IsUnknown(status)) {
      if (unknown_) Fail("a second write with an unknown outcome");
      unknown_ = step.commit;
      had_unknown_ = true;
    }
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
    resumed_ = true;
    if (!db_->GetFailure().ok()) Fail("resumed, and GetFailure still says why not");
    unknown_ = std::nullopt;  // it is not there
    durable_ = history_.size();
  }

  void Reopen(Step::Kind kind) {
    if (kind == Step::kKill && db_ != nullptr) world_.files->Restart(Unsynced::kKept);
    db_ = nullptr;
    const uint64_t failed_before = files_.failed();
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, OptionsOn(world_, &files_));
    if (!db.ok()) {
      if (files_.failed() == failed_before)
        return Fail(Concat("cannot be opened: ", db.status().ToString()));
      files_.Heal();  // also a fault that lasts
      db = DB::Open(kPath, OptionsOn(world_, &files_));
    }
    if (!db.ok()) return Fail(Concat("cannot be opened: ", db.status().ToString()));
    db_ = *std::move(db);
    Settle();
  }

  // Whether the write of unknown outcome is there after all.
  void Settle() {
    absl::StatusOr<Contents> found = ReadAll();
    if (!found.ok() && faulted()) {
      files_.Heal();
      found = ReadAll();
    }
    if (!found.ok()) return Fail(Concat("opened, but cannot be read: ", found.status().ToString()));
    if (*found != contents_ && unknown_) {
      history_.Add(*unknown_);
      Apply(*unknown_, &contents_);
    }
    if (*found != contents_ && dropped_) {
      // The disk dropped what the log held and was not synced: that is as a crash of the machine.
      const std::optional<size_t> count = history_.CountOf(DigestOf(*found));
      if (!count || *count < durable_) return Fail("opened, does not hold what was promised");
      history_.Truncate(*count);
      contents_ = *found;
    }
    if (*found != contents_) return Fail("opened, does not hold what was acknowledged");
    unknown_ = std::nullopt;
    durable_ = history_.size();
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
    for (const std::string& key : history_.keys()) {
      if (dice_.Next() % 4 != 0) continue;
      const absl::StatusOr<std::optional<std::string>> value = db_->Get(key);
      if (!value.ok()) {
        if (!faulted()) Fail(Concat("Get fails without a cause: ", value.status().ToString()));
        continue;
      }
      const auto place = contents_.find(key);
      if (*value != (place == contents_.end() ? std::nullopt : std::optional(place->second)))
        return Fail("Get gives a wrong answer");
    }
    if (dice_.Next() % 8 != 0) return;
    const absl::StatusOr<Contents> all = ReadAll();
    if (!all.ok() && !faulted())
      return Fail(Concat("an iterator fails without a cause: ", all.status().ToString()));
    if (all.ok() && *all != contents_) return Fail("an iterator shows something else");
    const std::unique_ptr<lsm::Iterator> iterator = db_->NewIterator();
    auto expected = contents_.rbegin();
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev(), ++expected) {
      if (expected == contents_.rend() || iterator->key() != expected->first ||
          iterator->value() != expected->second)
        return Fail("an iterator shows something else backwards");
    }
    if (iterator->status().ok() && expected != contents_.rend())
      Fail("an iterator ends too early backwards, and says OK");
  }

  void End() {
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
        durable_ = history_.size();
      }
      LookAround();
      CheckCrash();
      if (!problem_.empty()) return;
      Reopen(Step::kReopen);
      if (!problem_.empty()) return;
    }
  }

  // The machine crashes here.
  void CheckCrash() {
    World world(97, world_.files->Clone());
    world.files->Restart(Unsynced::kLost);
    const absl::StatusOr<std::unique_ptr<DB>> db =
        DB::Open(kPath, OptionsOn(world, world.files.get()));
    if (!db.ok()) return Fail(Concat("after a crash, cannot be opened: ", db.status().ToString()));
    History history = history_;
    if (unknown_) history.Add(*unknown_);
    const absl::StatusOr<size_t> count = CountCommits(**db, history);
    if (!count.ok()) return Fail(Concat("after a crash: ", count.status().ToString()));
    if (*count < durable_)
      Fail(Concat("after a crash, has ", *count, " commits of ", durable_, " that were promised"));
  }

  World world_;
  FaultyFiles files_;
  testing_support::SeededRandom dice_;
  bool dropped_ = false;  // the kind of fault that drops what was written
  std::unique_ptr<DB> db_;
  History history_;    // of what was acknowledged
  Contents contents_;  // after it
  size_t durable_ = 0;
  std::optional<Commit> unknown_;  // since the store was opened or resumed
  bool resumed_ = false, had_unknown_ = false;
  std::string problem_;
};

}  // namespace

FaultReport FailEverywhere(const FaultOptions& options) {
  return FailEverywhere(options, MakeWorkload(options.seed, options.shape));
}

FaultReport FailEverywhere(const FaultOptions& options, const std::vector<Step>& steps) {
  FaultReport report;
  Trial sound(options.seed);
  const std::string problem = sound.Run(steps);
  if (!problem.empty()) {
    report.finding = Concat("seed ", options.seed, ", without any fault, ", problem);
    return report;
  }
  report.calls = sound.files().calls();
  for (uint64_t at = 0; at < report.calls; ++at) {
    for (const FaultKind kind : kFaultKinds) {
      for (const bool lasts : {false, true}) {
        // From there on: the first call that can fail so must not be one that was tried already.
        if (!CanFailSo(sound.files().operations()[at], kind)) continue;
        if (report.runs == options.runs_max) return report;
        ++report.runs;
        Trial trial(options.seed);
        trial.FailCalls(kind, at, lasts ? kNever : at + 1);
        const std::string found = trial.Run(steps);
        report.resumed += trial.resumed();
        report.unknown += trial.had_unknown();
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
