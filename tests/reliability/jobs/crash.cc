#include "tests/reliability/jobs/crash.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/full_disk.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/workload/copies.h"
#include "tests/reliability/workload/reduce.h"
#include "tests/reliability/workload/styles.h"
#include "tests/reliability/workload/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::World;
using Unsynced = lsm::MemoryFileSystem::Unsynced;

constexpr char kPath[] = "/store";

// After one in this many recoveries, the machine crashes again, and once more after a write.
constexpr uint64_t kAgainOneIn = 16;

// At one in this many moments the process ends before the machine crashes.
constexpr uint64_t kKillOneIn = 29;

// Fewer images are tried for crashes of recoveries than for those of the workload.
constexpr LossLimits kLimitsOfDoubles{
    .atoms_for_all_subsets = 3, .atoms_for_pairs = 0, .samples = 6, .cuts = 3, .one_in = 2};

lsm::Options OptionsOn(World& world, lsm::FileSystem* files, const CrashOptions& crash,
                       uint64_t style) {
  lsm::Options options = world.SmallOptions();
  options.level0_compaction_tables = 2;
  options.compaction_style = StyleOf(style);
  options.compression = lsm::Compression::kNone;
  options.environment.file_system = files;
  if (crash.logs_apart) options.log_directory = "/logs";
  if (crash.has_reserve) options.reserve_bytes = 64 << 10;
  return options;
}

// The promises in force after a number of changes to files.
struct Promise {
  uint64_t events = 0;
  size_t acknowledged = 0;  // survives the end of the process
  size_t durable = 0;       // survives a crash of the machine
};

// Runs the workload once, on a machine that does not crash, and records what happens.
class Witnessed {
 public:
  explicit Witnessed(const CrashOptions& options)
      : options_(options), world_(options.seed), recorder_(world_.files.get()) {}

  // The finding, or empty.
  std::string Run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const absl::Status status = Make(step);
      if (!status.ok()) return Concat(NameOf(step.kind), " failed: ", status.ToString());
    }
    Close();
    return "";
  }

  // A copy, and the numbers of events after which it was begun (`from`), was finished (`to`), began
  // to be destroyed (`going`), and was destroyed (`gone`).
  struct CopyEvents {
    uint64_t from = 0, to = 0, going = ~uint64_t{0}, gone = ~uint64_t{0};
    Copy copy;
  };
  const std::vector<CopyEvents>& copies() const { return copy_events_; }

  const Journal& journal() const { return recorder_.journal(); }
  const History& history() const { return history_; }
  // The promises in force after `events` events.
  const Promise& PromiseAt(uint64_t events) const {
    auto after = std::upper_bound(
        promises_.begin(), promises_.end(), events,
        [](uint64_t count, const Promise& promise) { return count < promise.events; });
    return *std::prev(after);
  }

 private:
  absl::Status Make(const Step& step) {
    bool all_durable = false;
    switch (step.kind) {
      case Step::kWrite:
      case Step::kFlush:
      case Step::kCompact:
      case Step::kBackground:
        if (step.kind == Step::kWrite) {
          const Commit commit = PossibleIn(history_.contents(), step.commit);
          if (commit.empty()) break;
          history_.Add(commit);
          TRELLIS_RETURN_IF_ERROR(WriteCommit(*db_, commit, step.sync));
        } else {
          TRELLIS_RETURN_IF_ERROR(CarryOnFullDisk(step));
        }
        all_durable = step.MakesDurable();
        // Ranges that are newer than a snapshot stay in what the steps of compactions write.
        if (step.kind == Step::kCompact && options_.has_reserve && options_.shape.ranges)
          snapshot_ = db_->GetSnapshot();
        break;
      case Step::kCopy: {
        const uint64_t from = journal().size();
        const CopyPlan plan =
            copies_.Next(OptionsOn(world_, &recorder_, options_, options_.seed), history_.size());
        TRELLIS_RETURN_IF_ERROR(Carry(plan, *db_));
        copies_.Note(plan, true);
        if (plan.kind == CopyPlan::kDestroy) {
          for (CopyEvents& events : copy_events_) {
            if (events.copy.path != plan.earlier) continue;
            events.going = from;
            events.gone = journal().size();
          }
        } else if (plan.kind != CopyPlan::kRepair) {
          copy_events_.push_back({.from = from, .to = journal().size(), .copy = plan.copy});
        }
        break;
      }
      case Step::kVerify: {
        TRELLIS_ASSIGN_OR_RETURN(const lsm::VerifyReport report, db_->Verify());
        if (!report.problems.empty()) return absl::InternalError(report.problems.front());
        break;
      }
      case Step::kKill:
        world_.files->Restart(Unsynced::kKept);  // calls of the old process fail from now on
        [[fallthrough]];
      case Step::kReopen: {
        Close();
        // A closed store loses nothing.
        if (step.kind == Step::kReopen)
          promises_.push_back({journal().size(), history_.size(), history_.size()});
        TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(kPath, OptionsOn(world_, &recorder_, options_,
                                                                     options_.seed + openings_++)));
        TRELLIS_ASSIGN_OR_RETURN(const size_t count, CountCommits(*db_, history_));
        if (count != history_.size())
          return absl::InternalError(Concat("has ", count, " of ", history_.size(), " commits"));
        all_durable = true;  // a caller that has read the data may rely on it
        break;
      }
    }
    promises_.push_back({journal().size(), history_.size(),
                         all_durable ? history_.size() : promises_.back().durable});
    return absl::OkStatus();
  }

  void Close() {
    snapshot_ = nullptr;
    db_ = nullptr;
  }

  // If there is a reserve, the disk is full meanwhile, so that compactions work in steps.
  absl::Status CarryOnFullDisk(const Step& step) {
    if (options_.has_reserve) world_.files->SetFault(lsm::FullDisk(*world_.files));
    const absl::Status status = Carry(step, *db_);
    if (options_.has_reserve) world_.files->SetFault(nullptr);
    return status;
  }

  const CrashOptions& options_;
  uint64_t openings_ = 0;  // each opening uses the next style
  World world_;
  Recorder recorder_;
  History history_;
  Copies copies_;
  std::vector<CopyEvents> copy_events_;
  std::vector<Promise> promises_ = {{}};
  std::unique_ptr<lsm::DB> db_;
  std::unique_ptr<const lsm::Snapshot> snapshot_;
};

class Enumeration {
 public:
  Enumeration(const CrashOptions& options, const Witnessed& run) : options_(options), run_(run) {}

  CrashReport Run() {
    Disk disk;
    for (uint64_t events = 0;; ++events) {
      events_ = events;
      const Promise& promise = run_.PromiseAt(events);
      moment_ = Concat(
          "crash after change ", events, " of ", run_.journal().size(),
          events == 0 ? std::string() : Concat(" (", TextOf(run_.journal()[events - 1]), ")"));
      CheckMoment(disk, promise.acknowledged, promise.durable, options_.limits, events);
      if (events % kKillOneIn == 0 && !Stopped()) CheckKill(disk, promise);
      ++report_.moments;
      if (Stopped() || events == run_.journal().size()) break;
      disk.Apply(run_.journal()[events]);
    }
    return report_;
  }

 private:
  struct Recovered {
    std::unique_ptr<World> world;
    std::unique_ptr<Recorder> recorder;
    size_t count = 0;
  };

  bool Stopped() const {
    return !report_.finding.empty() || report_.distinct >= options_.images_max;
  }

  static std::string TextOf(const Event& event) {
    return Concat(reliability::NameOf(event.kind), " ", event.directory.empty() ? "file " : "",
                  event.directory.empty() ? Concat(event.file) : event.name, " ", event.to,
                  event.kind == Event::kAppend ? Concat(event.bytes.size(), " bytes") : "");
  }

  static std::string TextOf(const Pending& pending, const Loss& loss) {
    std::string text;
    for (size_t i = 0; i < pending.changes.size(); ++i) {
      const Pending::Change& change = pending.changes[i];
      text +=
          Concat("  ", loss.changes_kept[i] ? "kept: " : "lost: ", reliability::NameOf(change.kind),
                 " ", change.name, " ", change.to, "\n");
    }
    for (size_t i = 0; i < pending.tails.size(); ++i) {
      const Pending::Tail& tail = pending.tails[i];
      text += Concat("  file ", tail.file, ": durable ", tail.durable_bytes, " bytes, written ",
                     tail.size_bytes, ", kept ", loss.tails[i].size_bytes, ", sectors ");
      for (const SectorFate fate : loss.tails[i].fates)
        text += fate == SectorFate::kKept ? '+' : fate == SectorFate::kZero ? '0' : '?';
      text += "\n";
    }
    return text;
  }

  // Checks every image that a crash can leave of the disk.  The image without losses is also what
  // the end of the process leaves, so more is promised for it.
  void CheckMoment(const Disk& disk, size_t acknowledged, size_t durable, const LossLimits& limits,
                   uint64_t salt) {
    Check(disk.Now(), acknowledged, nullptr, nullptr);
    const Pending pending = disk.pending();
    ForEachLoss(pending, limits, options_.seed ^ (salt << 20), [&](const Loss& loss) {
      if (Stopped()) return false;
      Check(disk.After(pending, loss), durable, &pending, &loss);
      return !Stopped();
    });
  }

  void Check(const Image& image, size_t least, const Pending* pending, const Loss* loss) {
    ++report_.built;
    const uint64_t digest = image.Digest();
    const auto known = counts_.find(digest);
    std::string problem;
    if (known != counts_.end()) {
      if (known->second < least)
        problem = Concat("has ", known->second, " commits of ", least, " that were promised");
    } else {
      ++report_.distinct;
      if (depth_ > 0) ++report_.doubles;
      problem = Recover(image, digest, least);
    }
    if (problem.empty() && depth_ == 0) problem = ProblemOfCopies(image, digest);
    if (!problem.empty() && report_.finding.empty()) {
      report_.finding = Concat("seed ", options_.seed, ", ", moment_, ": ", problem, "\n",
                               loss != nullptr ? TextOf(*pending, *loss) : "  nothing is lost\n");
    }
  }

  // The finding, or empty.
  std::string Recover(const Image& image, uint64_t digest, size_t least) {
    World world(99, image.ToFiles());
    const bool twice = depth_ == 0 && digest % options_.double_one_in == 0;
    Recorder recorder(world.files.get(), static_cast<uint32_t>(image.files.size()));
    lsm::FileSystem* const files =
        twice ? static_cast<lsm::FileSystem*>(&recorder) : world.files.get();
    absl::StatusOr<std::unique_ptr<lsm::DB>> db =
        lsm::DB::Open(kPath, OptionsOn(world, files, options_, digest));
    if (!db.ok()) return Concat("cannot be opened: ", db.status().ToString());
    const absl::StatusOr<size_t> count = CountCommits(**db, run_.history());
    if (!count.ok()) return count.status().ToString();
    counts_.emplace(digest, static_cast<uint32_t>(*count));
    if (*count < least) return Concat("has ", *count, " commits of ", least, " that were promised");
    if (twice) {
      const std::string moment =
          std::exchange(moment_, Concat(moment_, ", and another of the recovery"));
      // Everything that the first recovery found was on the disk.
      CrashRecovery(Disk(image), recorder.journal(), *count, *count, *count);
      moment_ = moment;
      return "";
    }
    if (digest / options_.double_one_in % kAgainOneIn != 0) return "";
    return Again(world, *std::move(db), *count);
  }

  // Checks the copies in this image.  A finished copy must be whole.  An unfinished one must be
  // whole or absent.  Nothing may be left of a destroyed one.  Skips copies that were checked
  // before in an equal image.
  std::string ProblemOfCopies(const Image& image, uint64_t digest) {
    for (size_t i = 0; i < run_.copies().size(); ++i) {
      const Witnessed::CopyEvents& events = run_.copies()[i];
      if (events_ < events.from) break;
      const bool is_gone = events_ >= events.gone;
      const bool is_made = events_ >= events.to && events_ <= events.going;
      if (!known_copies_.emplace(i, is_made, is_gone, digest).second) continue;
      World world(96, image.ToFiles());
      const lsm::Options options = OptionsOn(world, world.files.get(), CrashOptions(), digest);
      std::string problem;
      if (is_gone) {
        problem = ProblemOfDestroyed(events.copy, options);
      } else if (is_made) {
        problem = ProblemOf(events.copy, options, run_.history());
      } else {
        problem = ProblemOfUnfinished(events.copy, options, run_.history());
      }
      if (!problem.empty()) return problem;
    }
    return "";
  }

  // The machine crashes right after the recovery, and again after a write.
  std::string Again(World& world, std::unique_ptr<lsm::DB> db, size_t count) {
    History history = run_.history();
    history.Truncate(count);
    for (const bool write : {false, true}) {
      if (write) {
        const Commit commit = {{"key2", "again"}, {"key4", std::nullopt}, {"last", "again"}};
        history.Add(commit);
        const absl::Status status = WriteCommit(*db, commit, /*sync=*/true);
        if (!status.ok()) return Concat("recovered, then a write fails: ", status.ToString());
      }
      world.files->CrashAt(0);
      db = nullptr;
      world.files->Restart(Unsynced::kLost);
      absl::StatusOr<std::unique_ptr<lsm::DB>> opened =
          lsm::DB::Open(kPath, OptionsOn(world, world.files.get(), options_, count));
      if (!opened.ok()) return Concat("cannot be opened again: ", opened.status().ToString());
      db = *std::move(opened);
      const absl::StatusOr<size_t> found = CountCommits(*db, history);
      if (!found.ok()) return Concat("recovered again: ", found.status().ToString());
      if (*found != history.size())
        return Concat("recovered again, has ", *found, " of ", history.size(), " commits");
    }
    return "";
  }

  // Crashes a recovery after each of its changes.  `disk` is in the state that the recovery found.
  // Before the recovery's last change the promises are as before, also for a mere kill.  After it,
  // everything that the recovery showed is promised.
  void CrashRecovery(Disk disk, const Journal& journal, size_t acknowledged, size_t durable,
                     size_t found) {
    ++depth_;
    for (uint64_t events = 1; events <= journal.size() && !Stopped(); ++events) {
      disk.Apply(journal[events - 1]);
      const bool is_through = events == journal.size();
      CheckMoment(disk, is_through ? found : acknowledged, is_through ? found : durable,
                  kLimitsOfDoubles, events);
    }
    --depth_;
  }

  // The process ends, another one opens the store, then the machine crashes.  The second process
  // may read data that was not durable yet; its recovery must make that data durable.
  void CheckKill(const Disk& disk, const Promise& promise) {
    World world(98, disk.Now().ToFiles());
    Recorder recorder(world.files.get(), disk.file_count());
    const absl::StatusOr<std::unique_ptr<lsm::DB>> db =
        lsm::DB::Open(kPath, OptionsOn(world, &recorder, options_, promise.acknowledged));
    if (!db.ok()) return;  // the image without losses reports this
    const absl::StatusOr<size_t> count = CountCommits(**db, run_.history());
    if (!count.ok()) return;
    const std::string moment = std::exchange(
        moment_, Concat(moment_, " of the process alone, and then one of the machine"));
    CrashRecovery(disk, recorder.journal(), promise.acknowledged, promise.durable,
                  std::max(*count, promise.acknowledged));
    moment_ = moment;
  }

  const CrashOptions& options_;
  const Witnessed& run_;
  CrashReport report_;
  std::unordered_map<uint64_t, uint32_t> counts_;  // commits in the images of these digests
  // Checked copies: the copy, whether it was made, whether it is gone, and the digest of the image.
  std::set<std::tuple<size_t, bool, bool, uint64_t>> known_copies_;
  uint64_t events_ = 0;  // events of the workload so far
  std::string moment_;
  int depth_ = 0;
};

}  // namespace

CrashReport CrashEverywhere(const CrashOptions& options) {
  const std::vector<Step> steps = MakeWorkload(options.seed, options.shape);
  CrashReport report = CrashEverywhere(options, steps);
  if (report.finding.empty()) return report;
  CrashOptions trial = options;
  trial.images_max = std::min<uint64_t>(report.distinct + 1000, 20'000);
  report.finding = WithFewestSteps(report.finding, steps, 10 * trial.images_max,
                                   [&](const std::vector<Step>& some) -> Look {
                                     const CrashReport again = CrashEverywhere(trial, some);
                                     return {again.finding, again.distinct + 1};
                                   });
  return report;
}

CrashReport CrashEverywhere(const CrashOptions& options, const std::vector<Step>& steps) {
  SayUnderWay(Concat("the workload of seed ", options.seed));
  Witnessed run(options);
  const std::string problem = run.Run(steps);
  if (!problem.empty()) {
    CrashReport report;
    report.finding = Concat("seed ", options.seed, ", without any crash: ", problem);
    return report;
  }
  return Enumeration(options, run).Run();
}

}  // namespace reliability
