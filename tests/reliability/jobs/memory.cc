#include "tests/reliability/jobs/memory.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/event_listener.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/short_memory.h"
#include "tests/reliability/faults/spared_files.h"
#include "tests/reliability/workload/reduce.h"
#include "tests/reliability/workload/styles.h"
#include "tests/reliability/workload/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::World;
using Unsynced = lsm::MemoryFileSystem::Unsynced;

constexpr char kStore[] = "/store";

// Scheduling a job counts as one allocation by the store.  The allocations of the queue itself
// never fail.
class SparedScheduler final : public testing_support::SingleThreadScheduler {
 public:
  void Schedule(Lane lane, std::function<void()> job) override {
    TakeMemory();
    const Spared spared;
    SingleThreadScheduler::Schedule(lane, std::move(job));
  }
};

lsm::Options OptionsOf(uint64_t seed, World& world, lsm::FileSystem* files,
                       lsm::Scheduler* scheduler) {
  lsm::Options options = world.SmallOptions();
  options.level0_compaction_tables = 2;
  options.compaction_style = StyleOf(seed / 4);
  options.compression = seed % 2 == 0 ? lsm::Compression::kNone : lsm::Compression::kLz4;
  constexpr const char* kKinds[] = {"by-level", "standard", "ribbon", "none"};
  options.filter_kind = kKinds[seed % std::size(kKinds)];
  if (seed % 3 == 0) options.block_cache_bytes = 0;
  if (seed % 5 == 0) options.log_directory = "/logs";
  // Events allocate too, and are lost if that fails.
  if (seed % 7 < 3) options.listener = std::make_shared<lsm::EventListener>();
  options.environment.file_system = files;
  options.environment.scheduler = scheduler;
  return options;
}

// Adds batches so large that a memtable allocates in the middle of them.
std::vector<Step> WithLargeBatches(std::vector<Step> steps) {
  constexpr size_t kEntries = 128;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind != Step::kWrite || i % 7 != 0 || !PlaceOf(steps[i].commit[0].key).key)
      continue;
    for (size_t entry = 0; entry < kEntries; ++entry)
      steps[i].commit.push_back({Concat("wide", (entry * 7 + i) % 40), Concat(i)});
  }
  return steps;
}

// Runs a workload while memory runs out.
class MemoryTrial {
 public:
  explicit MemoryTrial(uint64_t seed)
      : world_(seed),
        files_(world_.files.get()),
        options_(OptionsOf(seed, world_, &files_, &scheduler_)),
        dice_(seed) {
    memory_ = ShortMemory();
    memory_.has_regions = false;
  }
  ~MemoryTrial() {
    memory_.Stop();
    Close();
  }

  // Lets the allocation of this number fail and, if `lasts`, all later ones.
  void Fail(uint64_t number, bool lasts) {
    lasts_ = lasts;
    lasts ? memory_.FailForever(number) : memory_.FailOnce(number);
  }

  // The finding, or empty.
  std::string Run(const std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size() && problem_.empty(); ++i) {
      Guarded([&] { Make(steps[i]); });
      if (problem_.empty()) Guarded([&] { LookAround(); });
      if (!problem_.empty())
        problem_ = Concat("at step ", i, ", ", NameOf(steps[i].kind), ": ", problem_);
    }
    allocations_ = memory_.count;
    if (problem_.empty()) Guarded([&] { End(); });
    return problem_;
  }

  uint64_t allocations() const { return allocations_; }
  bool has_failed() const { return memory_.failed > 0; }
  const Promises& promises() const { return promises_; }

 private:
  // A snapshot and an iterator that are held while the store changes.  Both are read in "default",
  // since no snapshot shows a keyspace that was dropped.
  struct Held {
    std::unique_ptr<const lsm::Snapshot> snapshot;
    Contents contents;  // at the snapshot
    std::unique_ptr<lsm::Iterator> iterator;
    Contents::const_iterator expected;  // where the iterator stands
    bool failed = false;                // the last move of the iterator failed
  };

  // Keeps the first problem.  An empty string is no problem.
  void Problem(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  template <typename Call>
  void Guarded(const Call& call) {
    try {
      call();
    } catch (const std::bad_alloc&) {
      Problem("std::bad_alloc comes out of a call that returns a status");
    }
  }

  // The number of allocations that have failed so far, and whether the store has latched a failure.
  struct Moment {
    uint64_t failed = 0;
    bool had_failure = false;
  };
  Moment Now() const { return {memory_.failed, db_ != nullptr && !db_->GetFailure().ok()}; }
  bool HasFailedSince(const Moment& moment) const { return memory_.failed > moment.failed; }

  // Returns whether `status` is OK.  An error must have a cause and a code that says what is wrong.
  // `before` is the moment before the call; after a failure the store may refuse calls.
  bool Judge(const char* what, const absl::Status& status, const Moment& before) {
    return JudgeStatus(what, status, HasFailedSince(before) || before.had_failure, true);
  }

  // Reads must succeed after earlier failures.  Only an allocation that fails during the read
  // excuses an error.
  bool JudgeRead(const char* what, const absl::Status& status, const Moment& before) {
    return JudgeStatus(what, status, HasFailedSince(before), false);
  }

  bool JudgeStatus(const char* what, const absl::Status& status, bool has_cause, bool may_refuse) {
    if (status.ok()) return true;
    if (!has_cause) {
      Problem(Concat(what, " fails without a cause: ", status.ToString()));
    } else if (!absl::IsResourceExhausted(status) && !(may_refuse && absl::IsAborted(status))) {
      Problem(Concat(what, " fails with another error: ", status.ToString()));
    } else if (status.message().empty()) {
      Problem(Concat(what, " fails with an empty message"));
    }
    return false;
  }

  void Make(const Step& step) {
    if (step.kind == Step::kReopen || step.kind == Step::kKill) return Reopen(step.kind);
    if (db_ == nullptr) return;
    const Moment before = Now();
    absl::Status status;
    switch (step.kind) {
      case Step::kWrite:
        status = Write(step);
        break;
      case Step::kCopy:
        MakeCopy();
        break;
      case Step::kVerify:
        Verify();
        break;
      default:
        status = InStore([&] { return Carry(step, *db_); });
        Judge(NameOf(step.kind), status, before);
    }
    if (status.ok() && step.MakesDurable()) promises_.Synced();
    if (!gave_up_ && !InStore([&] { return db_->GetFailure(); }).ok() && dice_.Next() % 2 == 0)
      Resume();
  }

  void MakeCopy() {
    const CopyPlan plan = promises_.copies().Next(options_, promises_.history().size());
    const Moment before = Now();
    const absl::Status status = InStore([&] { return Carry(plan, *db_); });
    promises_.copies().Note(plan, Judge("a copy", status, before));
  }

  void Verify() {
    const Moment before = Now();
    const absl::StatusOr<lsm::VerifyReport> report = InStore([&] { return db_->Verify(); });
    if (Judge("Verify", report.status(), before) && !report->problems.empty())
      Problem(Concat("Verify reports damage in an undamaged store: ", report->problems.front()));
  }

  absl::Status Write(const Step& step) {
    const Commit commit = PossibleIn(promises_.contents(), step.commit);
    if (commit.empty()) return absl::OkStatus();
    const Moment before = Now();
    const absl::Status status = InStore([&] { return WriteCommit(*db_, commit, step.sync); });
    if (!absl::IsUnknown(status)) Judge("Write", status, before);
    if (absl::IsUnknown(status) && !HasFailedSince(before) && !before.had_failure)
      Problem("the outcome of a write is unknown without a cause");
    Problem(promises_.Answered(commit, status));
    // A write that was refused for lack of memory leaves no failure.
    if (!status.ok() && !absl::IsResourceExhausted(status) &&
        InStore([&] { return db_->GetFailure(); }).ok())
      Problem("a write failed, and GetFailure says OK");
    return status;
  }

  // Resumes the store instead of opening it again.  Sometimes memory runs out meanwhile, several
  // times, each time a little later.
  void Resume() {
    const bool runs_short = !lasts_ && dice_.Next() % 4 != 0;
    Moment before;
    for (uint64_t number = dice_.Next() % 200;; number += dice_.Next() % 60) {
      if (runs_short) memory_.FailOnce(number);
      before = Now();
      if (JudgeRead("Resume", InStore([&] { return db_->Resume(); }), before)) break;
      if (!runs_short) return;
      const uint64_t chance = dice_.Next() % 3;
      gave_up_ = chance == 0;
      if (gave_up_) return;
      if (chance == 1) continue;
      memory_.Stop();
      before = Now();
      const absl::Status again = db_->Resume();
      if (!again.ok()) return Problem(Concat("cannot be resumed again: ", again.ToString()));
      break;
    }
    Problem(promises_.Resumed(InStore([&] { return db_->GetFailure(); }), HasFailedSince(before)));
  }

  void Close() {
    held_ = std::nullopt;
    InStore([&] { db_ = nullptr; });
  }

  // Opens the store while memory runs out, then with enough memory.
  void Reopen(Step::Kind kind) {
    if (kind == Step::kKill && db_ != nullptr) world_.files->Restart(Unsynced::kKept);
    Close();
    gave_up_ = false;
    for (const bool first : {true, false}) {
      const Moment before = Now();
      absl::StatusOr<std::unique_ptr<DB>> db = InStore([&] { return DB::Open(kStore, options_); });
      if (db.ok()) {
        db_ = *std::move(db);
        return LookThrough();
      }
      if (!first) return Problem(Concat("cannot be opened: ", db.status().ToString()));
      JudgeRead("Open", db.status(), before);
      memory_.Stop();
    }
  }

  void LookThrough() {
    const Moment before = Now();
    absl::StatusOr<Contents> found = ReadAll();
    if (!found.ok()) {
      JudgeRead("an iterator", found.status(), before);
      memory_.Stop();
      found = ReadAll();
    }
    if (!found.ok()) {
      return Problem(Concat("opened, but cannot be read: ", found.status().ToString()));
    }
    Problem(promises_.Opened(*found, /*dropped=*/false));
  }

  absl::StatusOr<Contents> ReadAll() {
    const auto names = InStore([&] { return db_->ListKeyspaces(); });
    if (!names.ok()) return names.status();
    Contents contents;
    for (const std::string& name : *names) {
      TRELLIS_ASSIGN_OR_RETURN(const Contents keys, ReadKeys(name));
      if (name != lsm::kDefaultKeyspaceName) contents.emplace(EntryOf(name), kIsThere);
      for (const auto& [key, value] : keys) contents.emplace(KeyIn(name, key), value);
    }
    return contents;
  }

  absl::StatusOr<Contents> ReadKeys(std::string_view name,
                                    const lsm::Snapshot* snapshot = nullptr) {
    Contents contents;
    std::unique_ptr<lsm::Iterator> iterator = NewIterator(name, snapshot);
    if (iterator == nullptr) return lsm::OutOfMemory();
    for (InStore([&] { iterator->SeekToFirst(); }); iterator->Valid();
         InStore([&] { iterator->Next(); }))
      contents.emplace(iterator->key(), iterator->value());
    const absl::Status status = InStore([&] { return iterator->status(); });
    InStore([&] { iterator.reset(); });
    if (!status.ok()) return status;
    return contents;
  }

  // Null if there is no memory even for an iterator that holds the error.
  std::unique_ptr<lsm::Iterator> NewIterator(std::string_view name, const lsm::Snapshot* snapshot) {
    const lsm::Keyspace keyspace = KeyspaceOf(name);
    try {
      return InStore([&] { return keyspace.NewIterator({.snapshot = snapshot}); });
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  // One that exists.  What this allocates does not count.
  lsm::Keyspace KeyspaceOf(std::string_view name) {
    absl::StatusOr<lsm::Keyspace> keyspace = db_->OpenKeyspace(name);
    if (keyspace.ok()) return *std::move(keyspace);
    Problem(Concat("a keyspace that exists: ", keyspace.status().ToString()));
    return {};
  }

  // Reads go to "default", or to another keyspace that must exist.
  std::string AnyKeyspace() {
    std::vector<std::string> names = {std::string(lsm::kDefaultKeyspaceName)};
    for (const auto& [key, value] : promises_.contents()) {
      const Place place = PlaceOf(key);
      if (!place.key) names.emplace_back(place.keyspace);
    }
    return names.size() == 1 ? names[0] : names[dice_.Next() % names.size()];
  }

  // Reads see exactly what was acknowledged, or fail.
  void LookAround() {
    if (db_ == nullptr) return;
    std::vector<std::string> keys;
    for (const std::string& key : promises_.history().keys()) {
      if (dice_.Next() % 8 == 0) keys.push_back(key);
    }
    for (const std::string& key : keys) LookUp(key);
    switch (dice_.Next() % 12) {
      case 0:
        return LookUpTogether(keys);
      case 1:
        return LookForward();
      case 2:
        return LookBackward();
      case 3:
        return Hold();
      case 4:
        return LookAtHeld();
      case 5:
        return LookAtFigures();
    }
  }

  void LookUp(const std::string& place_key) {
    const Place place = PlaceOf(place_key);
    if (!promises_.Has(place.keyspace)) return;
    const Moment before = Now();
    const lsm::Keyspace keyspace = KeyspaceOf(place.keyspace);
    if (!place.key) return;
    const std::string_view key = *place.key;
    absl::StatusOr<std::optional<std::string>> value;
    lsm::PinnedValue pinned;
    switch (dice_.Next() % 4) {
      case 0: {
        const absl::StatusOr<bool> found = InStore([&] { return keyspace.Get(key, &pinned); });
        if (!found.ok()) {
          value = found.status();
        } else if (*found) {
          value = std::string(pinned.view());
        } else {
          value = std::nullopt;
        }
        break;
      }
      case 1: {
        const absl::StatusOr<lsm::Explanation> explained =
            InStore([&] { return keyspace.Explain(key); });
        if (!JudgeRead("Explain", explained.status(), before)) return;
        if (!explained->error.empty()) {
          if (!HasFailedSince(before))
            Problem(Concat("Explain fails without a cause: ", explained->error));
          return;
        }
        if (explained->found != promises_.ValueOf(place_key).has_value())
          Problem("Explain gives a wrong answer");
        return;
      }
      default:
        value = InStore([&] { return keyspace.Get(key); });
    }
    if (JudgeRead("Get", value.status(), before) && *value != promises_.ValueOf(place_key))
      Problem("Get gives a wrong answer");
  }

  // Looks up those of the keys that are in one keyspace.
  void LookUpTogether(std::vector<std::string> keys) {
    const std::string name = AnyKeyspace();
    std::erase_if(keys, [&](const std::string& key) {
      return PlaceOf(key).keyspace != name || !PlaceOf(key).key;
    });
    std::vector<std::string_view> views;
    for (const std::string& key : keys) views.push_back(*PlaceOf(key).key);
    const lsm::Keyspace keyspace = KeyspaceOf(name);
    const Moment before = Now();
    try {
      const auto values = InStore([&] { return keyspace.MultiGet(views); });
      if (values.size() != keys.size())
        return Problem("MultiGet returns a wrong number of answers");
      uint64_t errors = 0;
      for (size_t i = 0; i < keys.size(); ++i) {
        errors += !values[i].ok();
        if (JudgeRead("MultiGet", values[i].status(), before) &&
            *values[i] != promises_.ValueOf(keys[i]))
          Problem("MultiGet gives a wrong answer");
      }
      if (errors > memory_.failed - before.failed)
        Problem("MultiGet fails for more keys than allocations failed");
    } catch (const std::bad_alloc&) {  // no memory for the answers
    }
  }

  void LookForward() {
    const Moment before = Now();
    const absl::StatusOr<Contents> all = ReadAll();
    if (JudgeRead("an iterator", all.status(), before) && *all != promises_.contents())
      Problem("an iterator shows wrong entries");
  }

  void LookBackward() {
    const Moment before = Now();
    const std::string name = AnyKeyspace();
    const Contents contents = KeysOf(promises_.contents(), name);
    const std::unique_ptr<lsm::Iterator> iterator = NewIterator(name, nullptr);
    if (iterator == nullptr) return;
    auto expected = contents.rbegin();
    for (InStore([&] { iterator->SeekToLast(); }); iterator->Valid();
         InStore([&] { iterator->Prev(); }), ++expected) {
      if (expected == contents.rend() || iterator->key() != expected->first ||
          iterator->value() != expected->second)
        return Problem("an iterator shows wrong entries backward");
    }
    if (JudgeRead("an iterator going backwards", iterator->status(), before) &&
        expected != contents.rend())
      Problem("an iterator ends too early backward, and its status is OK");
  }

  void Hold() {
    held_ = std::nullopt;
    Held held;
    try {
      held.snapshot = InStore([&] { return db_->GetSnapshot(); });
    } catch (const std::bad_alloc&) {
      return;
    }
    held_ = std::move(held);
    held_->contents = KeysOf(promises_.contents(), lsm::kDefaultKeyspaceName);
    const Moment before = Now();
    held_->iterator = NewIterator(lsm::kDefaultKeyspaceName, held_->snapshot.get());
    held_->expected = held_->contents.begin();
    if (held_->iterator == nullptr) return;
    // If there was no memory, the iterator holds only that error.
    if (HasFailedSince(before) && !held_->iterator->status().ok()) {
      held_->iterator = nullptr;
      return;
    }
    MoveHeld([&] { held_->iterator->SeekToFirst(); });
  }

  // An iterator keeps its status until it is moved again.
  template <typename Move>
  void MoveHeld(const Move& move) {
    const Moment before = Now();
    InStore(move);
    const absl::Status status = InStore([&] { return held_->iterator->status(); });
    held_->failed = !JudgeRead("an old iterator", status, before);
  }

  // Checks the whole snapshot.  Moves the iterator on from its position or, if its last move
  // failed, seeks to its expected position again.
  void LookAtHeld() {
    if (!held_) return;
    const Moment before = Now();
    const absl::StatusOr<Contents> all = ReadKeys(lsm::kDefaultKeyspaceName, held_->snapshot.get());
    if (JudgeRead("an iterator", all.status(), before) && *all != held_->contents)
      Problem("a snapshot shows wrong entries");
    if (held_->iterator == nullptr) return;
    lsm::Iterator& iterator = *held_->iterator;
    for (int i = 0; i < 4; ++i) {
      if (iterator.status().ok() == held_->failed)
        return Problem("an old iterator has changed without being moved");
      if (held_->failed) {
        if (held_->expected == held_->contents.end()) return;
        MoveHeld([&] { iterator.Seek(held_->expected->first); });
        if (held_->failed) return;
      }
      if (iterator.Valid() != (held_->expected != held_->contents.end()))
        return Problem("an old iterator ends too early, or too late");
      if (!iterator.Valid()) return;
      if (iterator.key() != held_->expected->first || iterator.value() != held_->expected->second)
        return Problem("an old iterator shows wrong entries");
      ++held_->expected;
      MoveHeld([&] { iterator.Next(); });
    }
  }

  void LookAtFigures() {
    try {
      const lsm::Statistics statistics = InStore([&] { return db_->GetStatistics(); });
      if (statistics.filter_false_negatives > 0) Problem("a filter denied a key of its table");
      (void)InStore([&] { return db_->ApproximateBytes(); });
    } catch (const std::bad_alloc&) {
    }
  }

  void End() {
    if (dice_.Next() % 4 == 0) CheckCrash();
    memory_.Stop();
    Problem(promises_.ProblemOfCopies(*world_.files, options_));
    if (db_ != nullptr && !db_->GetFailure().ok() && dice_.Next() % 2 == 0) {
      const std::string cause = db_->GetFailure().ToString();
      lasts_ = true;  // so that Resume is not disturbed
      Resume();
      if (!db_->GetFailure().ok()) return Problem(Concat("cannot be resumed: ", cause));
    }
    for (const bool first : {true, false}) {
      if (db_ != nullptr && db_->GetFailure().ok()) {
        const Commit commit = {{"key3", "further"}, {"last", first ? "end 1" : "end 2"}};
        const absl::Status status = Write({Step::kWrite, commit, true});
        if (!status.ok()) {
          return Problem(Concat("there is memory again, but a write fails: ", status.ToString()));
        }
        promises_.Synced();
      }
      LookAround();
      if (dice_.Next() % 4 == 0) CheckCrash();
      if (dice_.Next() % 4 == 0) Repair();
      if (!problem_.empty()) return;
      Reopen(Step::kReopen);
      if (!problem_.empty()) return;
    }
    CheckFiles();
    if (problem_.empty()) Destroy();
  }

  // Checks that no obsolete file is left.
  void CheckFiles() {
    const absl::Status status = db_->WaitForBackgroundWork();
    if (!status.ok()) return Problem(Concat("work that was due fails: ", status.ToString()));
    uint64_t tables = 0;
    const lsm::Statistics statistics = db_->GetStatistics();
    for (const auto& level : statistics.levels) tables += level.tables;
    const size_t files = world_.FilesOf(lsm::FileKind::kTable).size();
    if (files != tables) Problem(Concat("of ", tables, " tables there are ", files, " files"));
  }

  // Repairs the store while memory runs out, then with enough memory.
  void Repair() {
    Close();
    memory_.FailOnce(dice_.Next() % 2000);
    const Moment before = Now();
    absl::StatusOr<lsm::RepairReport> report =
        InStore([&] { return DB::Repair(kStore, options_); });
    memory_.Stop();
    if (!report.ok()) {
      JudgeRead("Repair", report.status(), before);
      report = DB::Repair(kStore, options_);
    }
    if (!report.ok()) return Problem(Concat("cannot be repaired: ", report.status().ToString()));
    if (!report->left_out.empty())
      Problem(Concat("a repair leaves out undamaged data: ", report->left_out.front()));
  }

  void Destroy() {
    Close();
    memory_.FailOnce(dice_.Next() % 400);
    const Moment before = Now();
    absl::Status status = InStore([&] { return DB::Destroy(kStore, options_); });
    memory_.Stop();
    if (!status.ok()) {
      JudgeRead("Destroy", status, before);
      status = DB::Destroy(kStore, options_);
    }
    if (!status.ok()) return Problem(Concat("cannot be destroyed: ", status.ToString()));
    lsm::Options open = options_;
    open.mode = lsm::OpenMode::kMustExist;
    if (!absl::IsNotFound(DB::Open(kStore, open).status())) Problem("destroyed, but still there");
  }

  void CheckCrash() { Problem(promises_.ProblemAfterCrash(*world_.files, kStore, options_)); }

  ShortMemory& memory_ = ShortMemory::OfThisThread();
  World world_;
  SparedFiles files_;
  SparedScheduler scheduler_;
  const lsm::Options options_;
  testing_support::SeededRandom dice_;
  bool lasts_ = false;  // allocations fail until memory_.Stop()
  uint64_t allocations_ = 0;
  std::unique_ptr<DB> db_;
  std::optional<Held> held_;
  Promises promises_;
  bool gave_up_ = false;  // Resume failed; the store must be opened again
  std::string problem_;
};

}  // namespace

TrialReport FailAllocations(const MemoryOptions& options) {
  const std::vector<Step> steps = WithLargeBatches(MakeWorkload(options.seed, options.shape));
  TrialReport report = FailAllocations(options, steps);
  if (report.finding.empty()) return report;
  MemoryOptions trial = options;
  trial.runs = std::min<uint64_t>(options.runs, 500);
  report.finding = WithFewestSteps(report.finding, steps, 10 * trial.runs,
                                   [&](const std::vector<Step>& some) -> Look {
                                     const TrialReport again = FailAllocations(trial, some);
                                     return {again.finding, again.runs + 1};
                                   });
  return report;
}

TrialReport FailAllocations(const MemoryOptions& options, const std::vector<Step>& steps) {
  TrialReport report;
  // Runs twice, so that allocations that happen only once in a process do not count.
  for (int i = 0; i < 2; ++i) {
    MemoryTrial sound(options.seed);
    const std::string problem = sound.Run(steps);
    report.places = sound.allocations();
    if (problem.empty()) continue;
    report.finding = Concat("seed ", options.seed, ", without any fault, ", problem);
    return report;
  }
  for (; report.runs < options.runs; ++report.runs) {
    const uint64_t number = report.runs * report.places / options.runs;
    const bool lasts = report.runs % 2 == 1;
    SayUnderWay(Concat("seed ", options.seed, ", allocation ", number,
                       lasts ? " and all later ones" : "", " failing"));
    MemoryTrial trial(options.seed);
    trial.Fail(number, lasts);
    std::string found = trial.Run(steps);
    report.resumed += trial.promises().was_resumed();
    report.unknown += trial.promises().had_unknown();
    if (found.empty() && !trial.has_failed()) found = "but it did not happen this time";
    if (found.empty()) continue;
    report.finding = Concat("seed ", options.seed, ", allocation ", number, " of ", report.places,
                            lasts ? " and all later ones fail, " : " fails, ", found);
    return report;
  }
  return report;
}

}  // namespace reliability
