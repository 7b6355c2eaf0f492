#include "tests/reliability/jobs/episode.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/engine/full_disk.h"
#include "tests/reliability/workload/changes.h"
#include "tests/reliability/workload/due_work.h"
#include "tests/reliability/workload/refusals.h"
#include "tests/reliability/workload/walker.h"
#include "tests/reliability/workload/watch.h"
#include "tests/support/deterministic_environment.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using Unsynced = lsm::MemoryFileSystem::Unsynced;

constexpr char kStore[] = "/store";
constexpr size_t kSnapshotsHeld = 4, kIteratorsHeld = 3;

// Runs actions on a store of its own, on a machine of its own.
class Episode {
 public:
  Episode(const Script& script, ModelReport* report, std::vector<std::string>* words)
      : keys_(script.keys),
        values_(script.values),
        options_(script.settings.options),
        keyspace_name_(script.settings.keyspace),
        report_(*report),
        words_(words),
        random_(script.seed),
        asks_often_(script.seed % 32 == 0),
        has_threads_(script.settings.has_threads),
        has_ranges_(script.settings.weights[Action::kRangeBatch] > 0),
        jobs_overlap_(has_threads_ || script.seed % 2 == 0),
        state_(std::make_shared<State>(script.keys.size())) {
    options_.environment.file_system = &files_;
    options_.environment.clock = &clock_;
    options_.environment.scheduler = &scheduler_;
    if (has_threads_) {
      options_.environment.scheduler = nullptr;  // the store's own
    } else if (jobs_overlap_) {                  // jobs may begin and end within other jobs
      options_.environment.clock = &yielding_clock_;
      options_.environment.scheduler = &overlapping_scheduler_;
    }
    options_.environment.random = &random_;
  }

  // Returns the index of the action at which something went wrong, if any.
  std::optional<size_t> Run(const std::vector<Action>& actions) {
    ++report_.configurations;
    Open();
    if (problem_.empty()) CheckOk(Flush());  // no crash loses the keyspace
    for (size_t i = 0; i < actions.size() && problem_.empty(); ++i) {
      if (words_ != nullptr) words_->push_back(NameOf(actions[i].kind));
      Draws draws(actions[i].salt);
      full_left_ > 1 ? (void)--full_left_ : EndFullDisk();
      Make(actions[i].kind, draws);
      ++report_.operations;
      if (!problem_.empty()) return i;
    }
    // Makes enough lookups that some of them check the filters.
    Draws draws(actions.size());
    for (int left = asks_often_ ? 70'000 : 0; left > 0 && problem_.empty(); --left) Get(draws);
    if (words_ != nullptr) words_->push_back("all keys, at the end");
    CheckAll();
    if (problem_.empty()) Fail(refusals_.ProblemOf(*db_, kStore, options_));
    LetGo();
    if (problem_.empty() && !options_.log_directory.empty())
      Fail(ProblemOfLostLogs(files_, kStore, options_));
    if (problem_.empty()) Fail(DestroyAll(files_, kStore, options_));
    if (problem_.empty()) return std::nullopt;
    return actions.empty() ? 0 : actions.size() - 1;
  }

  const std::string& problem() const { return problem_; }

 private:
  void Make(Action::Kind kind, Draws& draws) {
    switch (kind) {
      case Action::kPut:
      case Action::kDelete:
      case Action::kBatch:
      case Action::kWindow:
      case Action::kDeleteRange:
      case Action::kRangeBatch: {
        // Now and then a range delete gets a table of its own.
        const bool is_apart = kind == Action::kDeleteRange && draws.OneIn(8);
        if (is_apart) CheckOk(Flush());
        const absl::Status status = Write(kind, draws, nullptr);
        if (is_apart) CheckOk(Flush());
        if (kind >= Action::kWindow && !jobs_overlap_ && full_left_ == 0)
          SeekWhileReadsFail(keyspace_, &files_, draws);
        return IsRefused(status) ? (void)++report_.refused : CheckOk(status);
      }
      case Action::kGet:
        return Get(draws);
      case Action::kMultiGet:
        return MultiGet(draws);
      case Action::kExplain:
        return Explain(draws);
      case Action::kStatistics:
        CheckEvents();
        Fail(refusals_.ProblemOf(*db_, kStore, options_));
        return CheckStatistics();
      case Action::kSnapshot:
        return TakeOrReleaseSnapshot(draws);
      case Action::kNewIterator:
        return NewWalker(draws);
      case Action::kWalk:
        return Walk(draws);
      case Action::kScan:
        return Scan(draws);
      case Action::kBackgroundJob:
        return options_.environment.scheduler->Pause(0);
      case Action::kBackground:
        return FinishBackground(draws);
      case Action::kFlush:
        return CheckOk(Flush());
      case Action::kCompact:
        return CheckOk(Compact(draws));
      case Action::kReopen:
        CheckEvents();
        LetGo(/*in_order=*/true);
        ++report_.reopenings;
        return OpenAfter(journal_.size(), draws);
      case Action::kKill:
        files_.Restart(Unsynced::kKept);  // calls of the old process fail from now on
        LetGo();
        ++report_.kills;
        return OpenAfter(journal_.size(), draws);
      case Action::kCrash:
        files_.Restart(Unsynced::kLost);
        LetGo();
        ++report_.crashes;
        return OpenAfter(0, draws);
      case Action::kDisturb:
        EndFullDisk();
        return Disturb(draws);
      case Action::kFullDisk:
        return BeginFullDisk(draws);
      case Action::kDropKeyspace:
        return;  // only in the job differential
    }
  }

  template <typename... Pieces>
  void Fail(const Pieces&... pieces) {
    if (problem_.empty()) problem_ = Concat(pieces...);
  }
  void CheckOk(const absl::Status& status) {
    if (!status.ok()) Fail("fails: ", status.ToString());
  }
  // Appends `text()` to the current line, if the caller wants the lines.
  template <typename Text>
  void Say(const Text& text) {
    if (words_ != nullptr) words_->back() += text();
  }
  std::string Shown(Value value) const {
    std::string buffer;
    if (!value.exists()) return TextOfValue(std::nullopt);
    return TextOfValue(values_.BytesOf(value, &buffer));
  }
  void CheckValue(uint32_t rank, Value expected, std::optional<std::string_view> found) {
    ++report_.reads;
    if (found ? values_.IsOf(expected, *found) : !expected.exists()) return;
    Fail(keys_.TextOf(rank), ": expected ", Shown(expected), ", found ", TextOfValue(found));
  }

  void FinishBackground(Draws& draws) {
    if (full_left_ > 0) return CheckOk(db_->WaitForBackgroundWork());
    std::vector<lsm::Sequence> snapshots;  // ascending, since each new one is added at the end
    for (const View& view : snapshots_) snapshots.push_back(view.snapshot->sequence());
    Fail(ProblemOfBackgroundWork({db_.get(), &files_, kStore, &options_, std::move(snapshots),
                                  /*is_alone=*/!has_threads_},
                                 draws));
  }

  State& MutableState() {
    // A snapshot or an iterator keeps the old state.
    if (state_.use_count() > 1) state_ = std::make_shared<State>(*state_);
    return *state_;
  }

  // Applies the changes of an acknowledged write, or of a write of unknown outcome that may turn
  // out to exist.
  void Apply(const std::vector<Change>& changes) {
    State& state = MutableState();
    ++commits_;
    for (const Change& change : changes) {
      for (uint32_t rank = change.first(); rank < change.end(); ++rank) {
        if (change.range && !state[rank].exists()) continue;
        journal_.push_back({commits_, rank, state[rank]});
        state[rank] = change.value;
      }
    }
  }

  // `unknown`, if given, receives the changes of a write of unknown outcome.
  absl::Status Write(Action::Kind kind, Draws& draws, std::optional<std::vector<Change>>* unknown) {
    const lsm::WriteOptions options{.sync = draws.OneIn(8)};
    DrawChanges(kind, keys_, values_, draws, &changes_);
    Say([&] { return Concat(" ", TextOf(changes_, keys_), options.sync ? ", synced" : ""); });
    const absl::Status status = WriteTo(*db_, keyspace_, kind, changes_, keys_, values_, options);
    if (status.ok()) {
      ++report_.writes;
      for (const Change& change : changes_) report_.ranges += change.range.has_value();
      Apply(changes_);
      if (options.sync) journal_.clear();
    } else if (absl::IsUnknown(status) && unknown != nullptr) {
      if (*unknown) Fail("a second write of unknown outcome");
      *unknown = changes_;
    }
    return status;
  }

  absl::Status Flush() { return Synced(db_->Flush()); }
  absl::Status Synced(absl::Status status) {
    if (status.ok()) journal_.clear();
    return status;
  }

  absl::Status Compact(Draws& draws) {
    RankBounds range = AnyBounds(keys_, draws);
    if (draws.OneIn(4)) range = {};
    Say([&] { return TextOf(range, keys_); });
    lsm::ReadOptions bounds;
    range.SetIn(keys_, &bounds);
    return Synced(keyspace_.CompactRange(bounds.lower_bound, bounds.upper_bound));
  }

  // --- reads ---

  // Draws the view of a snapshot, or the newest one.
  View AnyView(Draws& draws, lsm::ReadOptions* options) {
    options->fill_cache = !draws.OneIn(4);
    const uint32_t which = draws.Roll(2 * kSnapshotsHeld);
    if (which >= snapshots_.size()) return {nullptr, state_};
    options->snapshot = snapshots_[which].snapshot.get();
    Say([&] { return Concat(" as of snapshot ", options->snapshot->sequence()); });
    return snapshots_[which];
  }

  void Get(Draws& draws) {
    lsm::ReadOptions options;
    const View view = AnyView(draws, &options);
    const uint32_t rank = keys_.Any(draws);
    const Value expected = (*view.state)[rank];
    switch (draws.Roll(3)) {
      case 0: {
        const absl::StatusOr<std::optional<std::string>> value =
            keyspace_.Get(keys_[rank], options);
        if (!value.ok()) return CheckOk(value.status());
        return CheckValue(rank, expected, *value);
      }
      case 1: {
        const absl::StatusOr<bool> found = keyspace_.Get(keys_[rank], &buffer_, options);
        if (!found.ok()) return CheckOk(found.status());
        return CheckValue(rank, expected, *found ? std::optional(buffer_) : std::nullopt);
      }
      default:
        return GetPinned(rank, expected, options, &pinned_[draws.Roll(std::size(pinned_))]);
    }
  }

  // A pinned value, the rank of its key, and the value that it must show as long as it is pinned.
  struct Pinned {
    lsm::PinnedValue value;
    uint32_t rank = 0;
    Value expected;
  };

  void GetPinned(uint32_t rank, Value expected, const lsm::ReadOptions& options, Pinned* pinned) {
    CheckPinned(*pinned);
    const absl::StatusOr<bool> found = keyspace_.Get(keys_[rank], &pinned->value, options);
    if (!found.ok()) return CheckOk(found.status());
    CheckValue(rank, expected, *found ? std::optional(pinned->value.view()) : std::nullopt);
    pinned->rank = rank;
    pinned->expected = expected;
  }
  void CheckPinned(const Pinned& pinned) {
    if (pinned.expected.exists()) CheckValue(pinned.rank, pinned.expected, pinned.value.view());
  }

  void MultiGet(Draws& draws) {
    lsm::ReadOptions options;
    const View view = AnyView(draws, &options);
    std::vector<uint32_t> ranks(draws.Roll(20));
    std::vector<std::string_view> sought;
    for (uint32_t& rank : ranks) sought.push_back(keys_[rank = keys_.Any(draws)]);
    const auto answers = keyspace_.MultiGet(sought, options);
    if (answers.size() != ranks.size()) return Fail(answers.size(), " answers");
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (!answers[i].ok()) return CheckOk(answers[i].status());
      CheckValue(ranks[i], (*view.state)[ranks[i]], *answers[i]);
    }
  }

  void Explain(Draws& draws) {
    lsm::ReadOptions options;
    const View view = AnyView(draws, &options);
    const uint32_t rank = keys_.Any(draws);
    const Value expected = (*view.state)[rank];
    const absl::StatusOr<lsm::Explanation> told = keyspace_.Explain(keys_[rank], options);
    if (!told.ok()) return CheckOk(told.status());
    if (!told->error.empty() || told->found != expected.exists() ||
        told->value_bytes != expected.bytes) {
      Fail(keys_.TextOf(rank), ": expected ", Shown(expected), ", is told\n", told->ToText());
    }
  }

  void CheckStatistics() {
    const lsm::Statistics statistics = db_->GetStatistics();
    Fail(ProblemOfReads(statistics));
    Fail(ProblemOfSince(statistics));
    if (!has_threads_) Fail(watch_->ProblemOfStalls(statistics, jobs_overlap_));
  }

  // The store's own threads report events while files come and go, so nothing can be compared.
  void CheckEvents() {
    if (!has_threads_) Fail(watch_->Problem());
  }

  void TakeOrReleaseSnapshot(Draws& draws) {
    const bool full = snapshots_.size() == kSnapshotsHeld;
    if (!snapshots_.empty() && (draws.OneIn(2) || full)) {
      const auto gone = snapshots_.begin() + draws.Roll(snapshots_.size());
      Say([&] { return Concat(" ", gone->snapshot->sequence(), " released"); });
      const bool is_awaited = draws.OneIn(16);  // what the snapshot held may be due
      if (is_awaited) FinishBackground(draws);
      snapshots_.erase(gone);
      if (is_awaited) FinishBackground(draws);
    } else {
      snapshots_.push_back({db_->GetSnapshot(), state_});
      Say([&] { return Concat(" ", snapshots_.back().snapshot->sequence(), " taken"); });
    }
  }

  // --- iterators ---

  void NewWalker(Draws& draws) {
    const size_t place = draws.Roll(kIteratorsHeld);
    Say([&] { return Concat(" ", place); });
    Walker& walker = walkers_[place];
    const uint64_t calls_before = files_.operation_count();
    walker.iterator = nullptr;
    if (!has_threads_ && files_.operation_count() != calls_before)
      Fail("destroying an iterator calls the file system");
    walker.options = {};
    walker.view = AnyView(draws, &walker.options);
    walker.view.snapshot = nullptr;  // the iterator must not need the snapshot any more
    walker.bounds = AnyBounds(keys_, draws);
    walker.bounds.SetIn(keys_, &walker.options);
    walker.at = kNowhere;
    Say([&] { return TextOf(walker.bounds, keys_); });
    walker.iterator = keyspace_.NewIterator(walker.options);
    if (walker.iterator->Valid()) Fail("is valid before any seek");
    MoveWalker(&walker, draws);
  }

  void Walk(Draws& draws) {
    const size_t place = draws.Roll(kIteratorsHeld);
    Say([&] { return Concat(" of iterator ", place); });
    if (walkers_[place].iterator != nullptr) MoveWalker(&walkers_[place], draws);
  }

  void MoveWalker(Walker* walker, Draws& draws) {
    for (size_t left = 1 + draws.Roll(12); left > 0 && problem_.empty(); --left) {
      const Move move = AnyMove(walker->at != kNowhere, keys_, draws);
      Say([&] { return Concat(", ", TextOf(move, keys_)); });
      walker->at = walker->After(move);
      MakeMove(move, keys_, walker->iterator.get());
      ++report_.moves;
      CheckPosition(*walker->iterator, *walker->view.state, walker->at);
    }
  }

  void CheckPosition(const lsm::Iterator& iterator, const State& state, uint32_t at) {
    const bool valid = iterator.Valid();
    if (!valid && !iterator.status().ok()) return CheckOk(iterator.status());
    if (valid != (at != kNowhere) || (valid && iterator.key() != keys_[at])) {
      return Fail("expected to be at ", at == kNowhere ? "no key" : keys_.TextOf(at), ", is at ",
                  valid ? TextOfKey(iterator.key()) : "no key");
    }
    if (valid && !values_.IsOf(state[at], iterator.value())) {
      Fail("at ", keys_.TextOf(at), ": expected ", Shown(state[at]), ", found ",
           TextOfValue(iterator.value()));
    }
  }

  void Scan(Draws& draws) {
    lsm::ReadOptions options;
    const View view = AnyView(draws, &options);
    const bool forward = draws.OneIn(2);
    Say([&] { return forward ? " forward" : " backward"; });
    ScanAll(view, options, forward);
  }

  void ScanAll(const View& view, const lsm::ReadOptions& options, bool forward) {
    const std::unique_ptr<lsm::Iterator> iterator = keyspace_.NewIterator(options);
    Walker walker{view, {0, keys_.size()}, {}, nullptr, kNowhere};
    Move move{forward ? Move::kSeekToFirst : Move::kSeekToLast, 0};
    do {
      walker.at = walker.After(move);
      MakeMove(move, keys_, iterator.get());
      ++report_.moves;
      CheckPosition(*iterator, *view.state, walker.at);
      move.kind = forward ? Move::kNext : Move::kPrev;
    } while (problem_.empty() && walker.at != kNowhere);
  }

  void CheckAll() {
    for (const bool forward : {true, false}) {
      if (problem_.empty()) ScanAll({nullptr, state_}, {}, forward);
    }
    for (uint32_t rank = 0; rank < keys_.size() && problem_.empty(); ++rank) {
      const absl::StatusOr<bool> found = keyspace_.Get(keys_[rank], &buffer_);
      if (!found.ok()) return CheckOk(found.status());
      CheckValue(rank, (*state_)[rank], *found ? std::optional(buffer_) : std::nullopt);
    }
  }

  // --- closing and opening ---

  void Open(lsm::OpenMode mode = lsm::OpenMode::kOpenOrCreate) {
    options_.mode = mode;
    watch_ = std::make_shared<Watch>(files_, kStore);
    if (!has_threads_) options_.listener = watch_;  // `watch_` is for one thread
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStore, options_);
    if (!db.ok()) return Fail("cannot be opened: ", db.status().ToString());
    db_ = *std::move(db);
    watch_->db = db_.get();
    absl::StatusOr<lsm::Keyspace> keyspace = db_->OpenKeyspace(keyspace_name_);
    if (!keyspace.ok()) return Fail("has no keyspace: ", keyspace.status().ToString());
    keyspace_ = *std::move(keyspace);
  }

  // Repairs an undamaged store.  No read may change.
  void Repair(size_t least) {
    Say([] { return ", repaired"; });
    const absl::StatusOr<lsm::RepairReport> repaired = DB::Repair(kStore, options_);
    if (!repaired.ok()) return Fail("cannot be repaired: ", repaired.status().ToString());
    // After a crash of the machine, the repair may name torn data.
    if (least == journal_.size() && !repaired->left_out.empty())
      Fail("a repair leaves out ", repaired->left_out.front());
  }

  // All options may change when the store is opened, except the directory of the logs and the hash
  // of the filters.
  void ChangeOptions(Draws& draws) {
    lsm::Options options = AnyOptions(draws);
    options.log_directory = options_.log_directory;
    options.filter_hash = options_.filter_hash;
    options.environment = options_.environment;
    options_ = options;
    ++report_.configurations;
    Say([&] { return Concat(", with ", TextOf(options_)); });
  }

  // Releases the store and all that must not outlive it.
  void LetGo(bool in_order = false) {
    for (Pinned& pinned : pinned_) {
      CheckPinned(pinned);
      pinned = {};
    }
    for (Walker& walker : walkers_) walker = {};
    snapshots_.clear();
    if (db_ == nullptr) return;
    CheckStatistics();
    report_.Count(db_->GetStatistics());
    if (in_order) CheckOk(db_->Close());
    db_ = nullptr;
  }

  // `least`: how many commits of the journal must exist.  All that exist then are durable.
  void OpenAfter(size_t least, Draws& draws) {
    if (!problem_.empty()) return;
    if (draws.OneIn(2)) EndFullDisk();
    if (full_left_ > 0) files_.SetFault(lsm::FullDisk(files_));
    if (draws.OneIn(8)) Repair(least);
    if (draws.OneIn(4)) {
      Say([] { return ", first for reading only"; });
      Open(lsm::OpenMode::kReadOnly);
      Settle(least);
      // In a read-only store lookups take another path, through the memtables of the logs.
      for (int left = 200; left > 0 && problem_.empty(); --left) Get(draws);
      LetGo();
      least = journal_.size();
    }
    if (draws.OneIn(2)) ChangeOptions(draws);
    if (problem_.empty()) Open();
    Settle(least);
    journal_.clear();
  }

  // Finds the longest prefix of the commits that leads to the store's contents.  These become the
  // expected contents.
  void Settle(size_t least) {
    if (!problem_.empty()) return;
    ScanAll({nullptr, state_}, {}, /*forward=*/true);
    if (problem_.empty() || least == journal_.size()) return;
    const std::string problem = std::exchange(problem_, "");
    std::vector<std::optional<std::string>> found(keys_.size());
    ReadAll(&found);
    State& state = MutableState();
    const auto differs = [&](uint32_t rank) {
      return found[rank] ? !values_.IsOf(state[rank], *found[rank]) : state[rank].exists();
    };
    size_t different = 0;
    for (uint32_t rank = 0; rank < keys_.size(); ++rank) different += differs(rank);
    while (different > 0 && journal_.size() > least) {
      const uint64_t commit = journal_.back().commit;
      for (; journal_.size() > least && journal_.back().commit == commit; journal_.pop_back()) {
        const auto& [number, rank, before] = journal_.back();
        different -= differs(rank);
        state[rank] = before;
        different += differs(rank);
      }
    }
    ++report_.lossy;
    if (different > 0) {
      Fail("the contents are not those after any number of commits that would do; after all of ",
           "them ", problem);
    }
  }

  void ReadAll(std::vector<std::optional<std::string>>* found) {
    const std::unique_ptr<lsm::Iterator> iterator = keyspace_.NewIterator();
    uint32_t rank = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      while (rank < keys_.size() && keys_[rank] < iterator->key()) ++rank;
      if (rank == keys_.size() || keys_[rank] != iterator->key())
        return Fail("holds a key that was never written, ", TextOfKey(iterator->key()));
      (*found)[rank] = iterator->value();
    }
    CheckOk(iterator->status());
  }

  // The disk stays full for some actions.  Due background work must then cope with little space.
  void BeginFullDisk(Draws& draws) {
    if (full_left_ > 0) return;
    full_left_ = 1 + draws.Roll(150);
    ++report_.full_disks;
    files_.SetFault(lsm::FullDisk(files_));
    if (draws.OneIn(2)) CheckOk(db_->WaitForBackgroundWork());
    if (draws.OneIn(2)) CheckOk(Compact(draws));
  }

  void EndFullDisk() {
    if (full_left_ == 0) return;
    full_left_ = 0;
    files_.SetFault(nullptr);
    if (db_ != nullptr) CheckOk(db_->GetFailure());
  }

  // True if the error is the refusal of a put on a full disk.
  bool IsRefused(const absl::Status& status) const {
    const auto is_put = [](const Change& change) { return change.value.exists(); };
    return full_left_ > 0 && lsm::IsDiskFull(status) &&
           std::any_of(changes_.begin(), changes_.end(), is_put);
  }

  // While the store writes, one call of the file system fails, or the machine crashes at a call.
  void Disturb(Draws& draws) {
    const bool crash = draws.OneIn(2);
    uint64_t calls = draws.Roll(30);
    if (crash) {
      files_.CrashAt(files_.operation_count() + calls);
    } else {
      const auto code = draws.Of({absl::StatusCode::kResourceExhausted,
                                  absl::StatusCode::kUnavailable, absl::StatusCode::kNotFound});
      files_.SetFault([calls, code](lsm::FileOperation, const std::string& path, uint64_t) mutable {
        if (calls-- != 0) return absl::OkStatus();
        return absl::Status(code, Concat(path, ": fails (made up)"));
      });
    }
    std::optional<std::vector<Change>> unknown;
    absl::Status status;
    for (size_t left = 20; left > 0 && problem_.empty(); --left) {
      status = MakeDisturbed(draws, &unknown);
      CheckIsNoAnswer(status);
      if (!status.ok() && (crash || draws.OneIn(2))) break;
    }
    if (!problem_.empty()) return;
    files_.SetFault(nullptr);
    if (crash) return CrashDisturbed(unknown, draws);
    const absl::Status failure = db_->GetFailure();
    CheckIsNoAnswer(failure);
    // A put may be refused without a failure, if the disk was full before and the reserve cannot be
    // rebuilt now.
    if (failure.ok() && !status.ok() && !lsm::IsDiskFull(status))
      Fail("a call fails with ", status.ToString(), ", and GetFailure says OK");
    if (failure.ok()) return;
    ++report_.faults;
    Say([&] { return Concat(", then ", failure.ToString()); });
    if (draws.OneIn(2)) return Resume();
    LetGo();
    const size_t least = journal_.size();
    if (unknown) Apply(*unknown);
    OpenAfter(least, draws);
  }

  // NotFound or AlreadyExists of a file must not be returned, because they look like answers.
  void CheckIsNoAnswer(const absl::Status& status) {
    if (absl::IsNotFound(status) || absl::IsAlreadyExists(status))
      Fail("an open store says ", status.ToString());
  }

  absl::Status MakeDisturbed(Draws& draws, std::optional<std::vector<Change>>* unknown) {
    static constexpr const char* kCalls[] = {"flush", "compact", "all background jobs", "write"};
    const uint32_t roll = draws.Roll(16);
    Say([&] { return Concat(", ", kCalls[std::min(roll, 3u)]); });
    if (roll == 0) return Flush();
    if (roll == 1) return Compact(draws);
    if (roll == 2) return db_->WaitForBackgroundWork();
    if (roll >= 6) return Write(Action::kPut, draws, unknown);
    return Write(has_ranges_ ? Action::kRangeBatch : Action::kBatch, draws, unknown);
  }

  void CrashDisturbed(const std::optional<std::vector<Change>>& unknown, Draws& draws) {
    const bool kept = draws.OneIn(2);
    Say([&] { return kept ? ", then the process ends" : ", then the machine crashes"; });
    files_.Restart(kept ? Unsynced::kKept : Unsynced::kLost);
    LetGo();
    ++(kept ? report_.kills : report_.crashes);
    const size_t least = kept ? journal_.size() : 0;
    if (unknown) Apply(*unknown);
    OpenAfter(least, draws);
  }

  void Resume() {
    Say([] { return ", resumed"; });
    CheckOk(db_->Resume());
    CheckOk(db_->GetFailure());
    journal_.clear();
    if (problem_.empty()) ScanAll({nullptr, state_}, {}, /*forward=*/true);
  }

  // The data to undo a commit.
  struct Undo {
    uint64_t commit;
    uint32_t rank;
    Value before;
  };

  const KeyPool& keys_;
  const ValuePool& values_;
  lsm::Options options_;
  const std::string keyspace_name_;
  ModelReport& report_;
  std::vector<std::string>* const words_;
  std::string problem_;

  lsm::MemoryFileSystem files_;
  testing_support::SingleThreadScheduler scheduler_;
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler overlapping_scheduler_{3};
  testing_support::YieldingClock yielding_clock_{&overlapping_scheduler_};
  testing_support::SeededRandom random_;
  const bool asks_often_, has_threads_, has_ranges_, jobs_overlap_;
  const Refusals refusals_;

  std::shared_ptr<State> state_;
  std::vector<Undo> journal_;  // since the contents were last known to be durable
  uint64_t commits_ = 0;
  uint32_t full_left_ = 0;  // actions until the disk has space again; 0: it is not full

  std::shared_ptr<Watch> watch_;
  std::unique_ptr<DB> db_;
  lsm::Keyspace keyspace_;
  std::vector<View> snapshots_;
  Walker walkers_[kIteratorsHeld];
  Pinned pinned_[2];
  std::string buffer_;
  std::vector<Change> changes_;
};

}  // namespace

Outcome RunEpisode(const Script& script, const std::vector<Action>& actions, ModelReport* report,
                   std::vector<std::string>* words) {
  Episode episode(script, report, words);
  Outcome outcome;
  outcome.failed_at = episode.Run(actions);
  outcome.problem = episode.problem();
  return outcome;
}

}  // namespace reliability
