#include "tests/reliability/jobs/rotation.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/limits.h"
#include "lsm/store/manifest_keeper.h"
#include "lsm/store/store_files.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/reliability/faults/disk.h"
#include "tests/reliability/faults/faulty_files.h"
#include "tests/reliability/faults/recorder.h"
#include "tests/reliability/workload/promises.h"
#include "tests/reliability/workload/under_way.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::FileKind;
using lsm::World;
using Operation = lsm::FileOperation;
using Unsynced = lsm::MemoryFileSystem::Unsynced;
using testing_support::InChild;

constexpr char kPath[] = "/store";
constexpr char kLogsPath[] = "/logs";
constexpr uint64_t kManifestBytesMax = lsm::ManifestKeeper::kBytesMin;
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// The approximate size of an edit that adds a table whose smallest and largest keys have the
// maximum length, as have the bounds of its ranges if it has any.  About 500 such edits fill a
// manifest, or 250 with ranges.
constexpr uint64_t EditBytes(bool has_ranges) {
  return (has_ranges ? 4 : 2) * lsm::kKeyBytesMax + 400;
}
const std::string& LongKey() {
  static const std::string* const key = new std::string(lsm::kKeyBytesMax, 'k');
  return *key;
}
// The next key of this length.
const std::string& NextLongKey() {
  static const std::string* const key = new std::string(LongKey().substr(1) + 'l');
  return *key;
}

// Many of the unsynced changes are similar edits of a manifest, so a few losses suffice.
constexpr LossLimits kLimits{
    .atoms_for_all_subsets = 8, .atoms_for_pairs = 0, .samples = 64, .cuts = 8, .one_in = 8};

lsm::Options OptionsOn(World& world, lsm::FileSystem* files, bool logs_apart) {
  lsm::Options options = world.SmallOptions();
  // Compactions happen only on request.
  options.level0_compaction_tables = 1000;
  options.level0_stop_tables = 1000;
  options.write_buffer_bytes = 1 << 20;
  options.filter_kind = "none";
  options.environment.file_system = files;
  if (logs_apart) options.log_directory = kLogsPath;
  return options;
}

// Counts files of a kind, without files whose first bytes are garbage, as a crash may leave them.
// Those may be foreign, so the store leaves them alone.
size_t CountOfStore(World& world, FileKind kind, const std::string& path = kPath) {
  const std::vector<std::string> files = world.FilesOf(kind, path);
  const auto directory = world.files->OpenDirectory(path, /*create=*/false);
  return static_cast<size_t>(
      std::count_if(files.begin(), files.end(), [&](const std::string& file) {
        const auto origin = lsm::OriginOf(**directory, file.substr(path.size() + 1), kind);
        return !origin.ok() || *origin != lsm::Origin::kForeign;
      }));
}

// Describes the obsolete files that opening or resuming the store left.  Empty if there are none.
std::string LeftOver(World& world, DB& db, bool logs_apart) {
  const size_t tables = CountOfStore(world, FileKind::kTable);
  const uint64_t needed = db.GetStatistics().total.tables;
  if (tables != needed) return Concat(tables, " tables are there, of which it needs ", needed);
  const size_t manifests = CountOfStore(world, FileKind::kManifest);
  if (manifests != 1) return Concat(manifests, " manifests are there");
  const size_t logs = CountOfStore(world, FileKind::kLog, logs_apart ? kLogsPath : kPath);
  if (logs != 1) return Concat(logs, " logs are there");
  const size_t temporary = CountOfStore(world, FileKind::kTemporary);
  return temporary == 0 ? "" : Concat(temporary, " temporary files are there");
}

// A store whose manifest the next edit makes too long.
class FilledStore {
 public:
  explicit FilledStore(const RotationOptions& options)
      : world_(options.seed),
        files_(world_.files.get()),
        recorder_(&files_),
        logs_apart_(options.logs_apart),
        by_compaction_(options.by_compaction),
        has_ranges_(options.has_ranges) {}

  absl::Status Fill() {
    TRELLIS_RETURN_IF_ERROR(Open());
    TRELLIS_RETURN_IF_ERROR(Write({{EntryOf(kTimedKeyspace), kIsThere}}, false));
    const uint64_t edit_bytes = EditBytes(has_ranges_);
    for (int flushes = 1; ManifestBytes() + edit_bytes < kManifestBytesMax; ++flushes) {
      TRELLIS_RETURN_IF_ERROR(Write(NextCommit(Concat(flushes)), false));
      TRELLIS_RETURN_IF_ERROR(db_->Flush());
      promises_.Synced();
      // Keeps the number of tables low.
      if (flushes % 10 == 0 && ManifestBytes() + 4 * edit_bytes < kManifestBytesMax)
        TRELLIS_RETURN_IF_ERROR(db_->CompactRange());
    }
    manifest_ = Manifest();
    // This write is acknowledged but not synced.
    return by_compaction_ ? absl::OkStatus() : Write(NextCommit("rotated"), false);
  }

  absl::Status Rotate() { return by_compaction_ ? db_->CompactRange() : db_->Flush(); }
  bool HasRotated() { return Manifest() != manifest_; }
  const std::string& full_manifest() const { return manifest_; }  // its path

  absl::Status Open() {
    db_ = nullptr;
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(kPath, Options()));
    return absl::OkStatus();
  }

  absl::Status Write(const Commit& commit, bool sync) {
    const absl::Status status = WriteCommit(*db_, commit, sync);
    const std::string problem = promises_.Answered(commit, status);
    if (!problem.empty()) return absl::InternalError(problem);
    if (status.ok() && sync) promises_.Synced();
    return status;
  }

  lsm::Options Options() { return OptionsOn(world_, &recorder_, logs_apart_); }
  World& world() { return world_; }
  FaultyFiles& files() { return files_; }
  const Journal& journal() const { return recorder_.journal(); }
  DB& db() { return *db_; }
  Promises& promises() { return promises_; }
  bool logs_apart() const { return logs_apart_; }

 private:
  // Every second one has a tombstone.  Older tables hold both keys, so the tombstone and the range
  // stay in the new table.  No table lies wholly in the range.  A few also write to a keyspace,
  // whose entries get another table.
  Commit NextCommit(const std::string& value) const {
    Commit commit;
    if (has_ranges_) commit.push_back(DeletesRange(LongKey(), NextLongKey()));
    const bool deletes = promises_.history().size() % 2 == 1;
    commit.push_back({LongKey(), deletes ? std::nullopt : std::optional(value)});
    commit.push_back({NextLongKey(), value});
    if (promises_.history().size() % 8 == 1)
      commit.push_back({KeyIn(kTimedKeyspace, "key"), value});
    return commit;
  }
  std::string Manifest() {
    const std::vector<std::string> manifests = world_.FilesOf(FileKind::kManifest);
    return manifests.empty() ? "" : manifests.back();
  }
  uint64_t ManifestBytes() {
    const auto directory = world_.files->OpenDirectory(kPath, false);
    const std::string path = Manifest();
    return (*directory)->Stat(path.substr(path.rfind('/') + 1))->size_bytes;
  }

  World world_;
  FaultyFiles files_;
  Recorder recorder_;
  const bool logs_apart_, by_compaction_, has_ranges_;
  std::string manifest_;  // its path when it was full
  Promises promises_;
  std::unique_ptr<DB> db_;
};

// How a call fails, and what follows.
enum class Then : uint8_t { kResume, kReopen, kCrash };
struct Case {
  FaultKind kind = FaultKind::kIo;
  uint64_t from = kNever, to = kNever;
  Then then = Then::kReopen;
};
const char* NameOf(Then then) {
  switch (then) {
    case Then::kResume:
      return "resumed";
    case Then::kReopen:
      return "opened again";
    case Then::kCrash:
      return "the machine crashes";
  }
  return "?";
}

// A rotation in which calls fail.  Runs in a process of its own, which has its own copy of the
// filled store.
class Trial {
 public:
  explicit Trial(FilledStore* store) : store_(*store) {}

  // The finding, or empty.
  std::string Run(const Case& fault) {
    drops_ = fault.kind == FaultKind::kSyncDrops;
    files().FailCalls(fault.kind, fault.from, fault.to);
    const absl::Status status = store_.Rotate();
    if (!status.ok() && files().failed() == 0)
      Fail(Concat("fails without a cause: ", status.ToString()));
    if (status.ok()) promises().Synced();
    if (status.ok() && !store_.HasRotated()) Fail("the manifest is the old one");
    LookAround();
    Write({{"beside", "1"}}, false);
    LookAround();
    if (fault.then == Then::kCrash) {
      CheckCrash();
      return problem_;
    }
    files().Heal();
    if (fault.then == Then::kResume && !store_.db().GetFailure().ok()) {
      Resume();
    } else {
      Reopen();
    }
    if (!problem_.empty()) return problem_;
    Write({{"beside", "2"}}, true);
    Check(store_.db().Flush());
    // A compaction may have become due, and have its inputs until it ends.  After each job the
    // store tries again to remove files that it could not remove.
    Check(store_.db().WaitForBackgroundWork());
    Fail(LeftOver(store_.world(), store_.db(), store_.logs_apart()));
    LookAround();
    CheckCrash();
    Reopen();
    if (problem_.empty()) Fail(LeftOver(store_.world(), store_.db(), store_.logs_apart()));
    return problem_;
  }

  bool was_resumed() { return promises().was_resumed(); }

 private:
  FaultyFiles& files() { return store_.files(); }
  Promises& promises() { return store_.promises(); }

  // Keeps the first problem.  An empty string is no problem.
  void Fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  // A call after the end of all faults must succeed.
  void Check(const absl::Status& status) {
    if (!status.ok()) Fail(Concat("healed, but fails: ", status.ToString()));
  }

  void Write(const Commit& commit, bool is_healed) {
    const absl::Status status = store_.Write(commit, /*sync=*/is_healed);
    if (absl::IsInternal(status)) return Fail(status.ToString());
    if (is_healed) return Check(status);
    if (!status.ok() && store_.db().GetFailure().ok())
      Fail(Concat("a write fails, and GetFailure says OK: ", status.ToString()));
  }

  void LookAround() {
    for (const std::string& key : promises().history().keys()) {
      const uint64_t failed_before = files().failed();
      const absl::StatusOr<std::optional<std::string>> value = LookUp(store_.db(), key);
      // Reads must succeed after any failure.
      if (!value.ok() && files().failed() == failed_before)
        Fail(Concat("Get fails without a cause: ", value.status().ToString()));
      if (value.ok() && *value != promises().ValueOf(key)) Fail("Get gives a wrong answer");
    }
  }

  void CheckCrash() {
    if (problem_.empty())
      Fail(promises().ProblemAfterCrash(*store_.world().files, kPath, store_.Options()));
  }

  void Resume() {
    Check(store_.db().Resume());
    Fail(promises().Resumed(store_.db().GetFailure(), false));
    LookAround();
    CheckCrash();
  }

  void Reopen() {
    if (!problem_.empty()) return;
    const absl::Status status = store_.Open();
    if (!status.ok()) return Fail(Concat("cannot be opened: ", status.ToString()));
    const absl::StatusOr<Contents> found = ReadStore(store_.db());
    if (!found.ok()) return Fail(Concat("cannot be read: ", found.status().ToString()));
    Fail(promises().Opened(*found, drops_));
  }

  FilledStore& store_;
  bool drops_ = false;
  std::string problem_;
};

class Failures {
 public:
  Failures(const RotationOptions& options, FilledStore* store, RotationReport* report)
      : options_(options), report_(*report), store_(*store), dice_(options.seed) {}

  void Run() {
    std::vector<std::pair<std::string, Case>> cases;
    const uint64_t first = store_.files().calls();
    for (const auto& [at, call] : CallsOfRotation()) {
      ++report_.calls;
      for (const FaultKind kind : kFaultKinds) {
        if (!CanFailSo(call, kind)) continue;
        for (const bool lasts : {false, true}) {
          for (const Then then : {Then::kResume, Then::kReopen, Then::kCrash}) {
            cases.emplace_back(Concat("call ", at, " (", lsm::NameOf(call), ")",
                                      lasts ? " and all later ones" : "", " failing with ",
                                      NameOf(kind), ", then ", NameOf(then)),
                               Case{kind, first + at, lasts ? kNever : first + at + 1, then});
          }
        }
      }
    }
    report_.cases += cases.size();
    const uint64_t one_in = std::max<uint64_t>(cases.size() / options_.runs_max, 1);
    for (const auto& [what, fault] : cases) {
      if (dice_.OneIn(one_in)) Try(what, fault);
    }
  }

 private:
  void Fail(const std::string& what, const std::string& problem) {
    if (report_.finding.empty())
      report_.finding = Concat("seed ", options_.seed, ", ", what, ": ", problem);
  }

  // The calls of a rotation without faults, from the first call for a manifest on.  Earlier calls
  // are those of any flush or compaction.  The numbers count from the first call of Rotate.
  std::vector<std::pair<uint64_t, Operation>> CallsOfRotation() {
    const uint64_t before = store_.files().calls();
    const std::string text = InChild([&] {
      std::optional<uint64_t> first;
      store_.world().files->SetFault([&](Operation, const std::string& path, uint64_t) {
        if (!first && path == store_.full_manifest()) first = store_.files().calls() - 1;
        return absl::OkStatus();
      });
      const absl::Status status = store_.Rotate();
      if (!status.ok()) return Concat("failed: ", status.ToString());
      if (!first || !store_.HasRotated()) return std::string("the manifest is the old one");
      std::string calls;
      for (uint64_t i = before; i < store_.files().calls(); ++i)
        calls += i < *first
                     ? '.'
                     : static_cast<char>('A' + static_cast<int>(store_.files().operations()[i]));
      return calls;
    });
    std::vector<std::pair<uint64_t, Operation>> calls;
    if (text.find(' ') != text.npos) {  // an error message, possibly about the end of the child
      Fail("without any fault", text);
      return calls;
    }
    for (uint64_t i = 0; i < text.size(); ++i) {
      if (text[i] != '.') calls.emplace_back(i, static_cast<Operation>(text[i] - 'A'));
    }
    return calls;
  }

  void Try(const std::string& what, const Case& fault) {
    if (!report_.finding.empty()) return;
    SayUnderWay(Concat("seed ", options_.seed, ", ", what));
    ++report_.runs;
    const std::string text = InChild([&] {
      Trial trial(&store_);
      const std::string problem = trial.Run(fault);
      return Concat(trial.was_resumed() ? "r" : "o", problem);
    });
    report_.resumed += text.starts_with('r');
    if (text != "r" && text != "o") Fail(what, text.substr(1));
  }

  const RotationOptions& options_;
  RotationReport& report_;
  FilledStore& store_;
  lsm::Dice dice_;
};

// Tries every crash of a rotation.  Makes the rotation in this process, so the store cannot be used
// afterwards.
//
// The images leave out the old contents of the full manifest until they are opened, because there
// are many images, and the contents are long.
class Crashes {
 public:
  Crashes(const RotationOptions& options, FilledStore* store, RotationReport* report)
      : options_(options), report_(*report), store_(*store) {}

  void Run() {
    const Journal& journal = store_.journal();
    const uint64_t begin = journal.size();
    const size_t commits = store_.promises().history().size();
    const std::string full = store_.world().files->FileBytes(store_.full_manifest());
    kept_apart_ = full.substr(0, full.size() / kSectorBytes * kSectorBytes);
    const absl::Status status = store_.Rotate();
    if (!status.ok()) return Fail("without any crash", status.ToString());
    if (!store_.HasRotated()) return Fail("without any crash", "the manifest is the old one");
    const uint64_t end = journal.size();
    for (uint64_t i = 0; i < begin; ++i) Apply(journal[i]);
    // The changes before the edit are those of any flush or compaction.
    uint64_t first = begin;
    for (; first < end && full_bytes_ <= full.size(); ++first) Apply(journal[first]);
    const uint64_t moments = end - first + 1;
    images_of_moment_ = options_.images_max / moments + 1;
    // A small amount covers only some of the moments.
    const uint64_t one_in = std::max<uint64_t>(moments / 2 / options_.images_max, 1);
    lsm::Dice dice(options_.seed);
    for (uint64_t events = first; report_.finding.empty(); ++events) {
      moment_ = Concat("crash after change ", events - begin, " of ", end - begin, " (",
                       NameOf(journal[events - 1].kind), " ", journal[events - 1].name, ")");
      // The write of a flush need not be durable before the flush has finished.
      const bool is_durable = events == end || options_.by_compaction;
      if (dice.OneIn(one_in)) CheckMoment(events, commits, is_durable ? commits : commits - 1);
      if (events == end) return;
      Apply(journal[events]);
    }
  }

 private:
  void Fail(const std::string& what, const std::string& problem) {
    if (report_.finding.empty() && !problem.empty())
      report_.finding = Concat("seed ", options_.seed, ", ", what, ": ", problem);
  }

  void Apply(const Event& event) {
    if (event.kind == Event::kCreate && IsFull(Concat(event.directory, "/", event.name)))
      full_file_ = event.file;
    if (event.kind != Event::kAppend || event.file != full_file_) return disk_.Apply(event);
    const uint64_t from = full_bytes_;
    full_bytes_ += event.bytes.size();
    if (full_bytes_ <= kept_apart_.size()) return;
    Event rest = event;
    if (from < kept_apart_.size()) rest.bytes.erase(0, kept_apart_.size() - from);
    disk_.Apply(rest);
  }
  bool IsFull(const std::string& path) const { return path == store_.full_manifest(); }

  // Shares the bytes of the full manifest with the image before, if they are equal.
  std::unique_ptr<lsm::MemoryFileSystem> ToFiles(Image image) {
    const auto full = std::find_if(image.files.begin(), image.files.end(),
                                   [this](const auto& file) { return IsFull(file.first); });
    if (full == image.files.end()) return image.ToFiles();
    if (with_full_ == nullptr || full->second != full_end_) {
      full_end_ = full->second;
      with_full_ = std::make_unique<lsm::MemoryFileSystem>();
      for (const std::string& path : image.directories)
        (void)with_full_->OpenDirectory(path, /*create=*/true);
      with_full_->SetFileBytes(full->first, kept_apart_ + full_end_);
    }
    std::unique_ptr<lsm::MemoryFileSystem> files = with_full_->Clone();
    for (const auto& [path, bytes] : image.files) {
      if (!IsFull(path)) files->SetFileBytes(path, bytes);
    }
    return files;
  }

  void CheckMoment(uint64_t events, size_t acknowledged, size_t durable) {
    SayUnderWay(moment_);
    ++report_.moments;
    images_left_ = images_of_moment_;
    Check(disk_.Now(), acknowledged);
    const Pending pending = disk_.pending();
    ForEachLoss(pending, kLimits, options_.seed ^ (events << 20), [&](const Loss& loss) {
      if (images_left_ > 0) Check(disk_.After(pending, loss), durable);
      return images_left_ > 0 && report_.finding.empty();
    });
  }

  void Check(const Image& image, size_t least) {
    // An equal image may have been checked when less was promised.
    if (!known_.insert(image.Digest() + least).second) return;
    --images_left_;
    ++report_.images;
    Fail(moment_, ProblemOf(image, least));
  }

  // Opens the image, and again after another crash.  Each time it must hold what was promised,
  // without obsolete files.
  std::string ProblemOf(const Image& image, size_t least) {
    World world(99, ToFiles(image));
    const lsm::Options options = OptionsOn(world, world.files.get(), options_.logs_apart);
    for (const char* const when : {"opened", "opened again"}) {
      const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, options);
      if (!db.ok()) return Concat("not ", when, ": ", db.status().ToString());
      const absl::StatusOr<size_t> count = CountCommits(**db, store_.promises().history());
      if (!count.ok()) return Concat(when, ": ", count.status().ToString());
      if (*count < least) return Concat(when, ", has ", *count, " commits of ", least);
      least = *count;  // now readers have seen it
      const std::string left_over = LeftOver(world, **db, options_.logs_apart);
      if (!left_over.empty()) return Concat(when, ": ", left_over);
      world.files->Restart(Unsynced::kLost);
    }
    return "";
  }

  const RotationOptions& options_;
  RotationReport& report_;
  FilledStore& store_;
  Disk disk_;
  std::string kept_apart_;   // the first bytes of the full manifest
  uint64_t full_bytes_ = 0;  // appended to it so far
  uint32_t full_file_ = ~uint32_t{0};
  // The files of an image, only the full manifest.
  std::unique_ptr<lsm::MemoryFileSystem> with_full_;
  std::string full_end_;  // the bytes of the full manifest there after kept_apart_
  std::unordered_set<uint64_t> known_;
  std::string moment_;
  uint64_t images_of_moment_ = 0, images_left_ = 0;
};

}  // namespace

RotationReport CheckRotation(const RotationOptions& options) {
  RotationReport report;
  FilledStore store(options);
  const absl::Status filled = store.Fill();
  if (!filled.ok())
    report.finding = Concat("seed ", options.seed, ", while it is filled: ", filled.ToString());
  if (report.finding.empty()) Failures(options, &store, &report).Run();
  if (report.finding.empty()) Crashes(options, &store, &report).Run();
  return report;
}

}  // namespace reliability
