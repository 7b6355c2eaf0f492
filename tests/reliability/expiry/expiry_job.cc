#include "tests/reliability/expiry/expiry_job.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/snapshot.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/keyspaces/own_trees.h"
#include "tests/reliability/expiry/expiry_follower.h"
#include "tests/reliability/expiry/expiry_model.h"
#include "tests/reliability/expiry/expiry_space.h"
#include "tests/reliability/keyspaces/comparisons.h"
#include "tests/reliability/keyspaces/repair_store.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::FileOperation;
using lsm::Keyspace;
using lsm::kStorePath;
using lsm::MemoryFileSystem;
using testing_support::Dice;

constexpr size_t kStepsInEpisode = 250;
constexpr uint64_t kFirstSecond = 1'700'000'000;
constexpr int kKeysInTree = 24;

class ExpiryTrial {
 public:
  ExpiryTrial(uint64_t seed, ExpiryReport* report)
      : dice_(seed), seed_(seed), report_(*report), world_(seed), options_(world_.SmallOptions()) {
    options_.environment.clock = &clock_;
    options_.level0_compaction_tables = 3;
    options_.level0_stop_tables = 30;
    options_.compression = lsm::Compression::kNone;
    if (seed % 4 == 1) options_.compaction_style = lsm::CompactionStyle::kTiered;
    clock_.Set(kFirstSecond);
  }
  ~ExpiryTrial() {
    files().SetFault(nullptr);
    LetGoOfStore();
  }
  ExpiryTrial(const ExpiryTrial&) = delete;
  ExpiryTrial& operator=(const ExpiryTrial&) = delete;

  // Returns a finding, or an empty string.
  std::string Run() {
    model_.keyspaces["default"].birth = ++last_birth_;
    NoteDurable();
    Start();
    for (size_t i = 0; finding_.empty() && i < kStepsInEpisode; ++i) {
      ++report_.operations;
      Operate();
    }
    if (finding_.empty()) CompareAll();
    if (finding_.empty()) CheckSpace();
    if (finding_.empty()) CountDrops();
    return finding_.empty() ? "" : Concat("seed ", seed_, ": ", finding_);
  }

 private:
  // A snapshot, and the store at that moment.
  struct Moment {
    std::unique_ptr<const lsm::Snapshot> snapshot;
    ExpiringStore model;
    uint64_t time = 0;
  };
  // An iterator that is held, and what it shows.
  struct Held {
    std::unique_ptr<lsm::Iterator> iterator;
    KeysAndValues keys;
  };

  void Operate() {
    const size_t roll = dice_.Roll(100);
    if (roll < 34) return Write();
    if (roll < 39) return WriteOne();
    if (roll < 48) return Advance(dice_.OneIn(2) ? dice_.Roll(3) : dice_.Roll(3 * seconds_ + 1));
    if (roll < 50) return SetBack();
    if (roll < 56) return Flush();
    if (roll < 60) return Compact();
    if (roll < 66) return Wait();
    if (roll < 71) return dice_.OneIn(2) ? ChangeLimit(SomeName()) : ChangeLimitSlowly();
    if (roll < 75) return TakeMoment();
    if (roll < 78) return HoldIterator();
    if (roll < 86) return Lookups();
    if (roll < 92) return Walk();
    if (roll < 95) return Restart();
    if (roll < 96) return FailAndResume();
    if (roll < 98) return Follow();
    return dice_.OneIn(2) ? CreateOrDrop() : CompareAll();
  }

  MemoryFileSystem& files() { return *world_.files; }

  // --- openings ---

  void LetGoOfStore() {
    moments_.clear();
    held_ = {};
    handles_.clear();
    follower_ = nullptr;
    db_ = nullptr;
  }

  // Keyspaces in each kind of tree, of which one expires from the beginning on: so the store reads
  // the clock.
  void Start() {
    auto db = DB::Open(kStorePath, options_);
    if (!db.ok()) return Find("Open", db.status());
    db_ = *std::move(db);
    now_ = clock_.seconds();
    OpenHandle("default");
    for (const char* const name : {"common", "own", "lasting"}) Create(name, {});
    Flush();
    if (!finding_.empty()) return;
    LetGoOfStore();
    const absl::Status status =
        GiveOwnTrees(files(), kStorePath, [](const std::string& name) { return name == "own"; });
    if (!status.ok()) return Find("a manifest", status);
    Reopen();
    if (finding_.empty()) SetLimit("own", {.expire_after = static_cast<uint32_t>(seconds_)});
    Flush();
  }

  void OpenHandle(const std::string& name) {
    auto keyspace = db_->OpenKeyspace(name);
    if (!keyspace.ok()) return Find("OpenKeyspace", keyspace.status());
    handles_.insert_or_assign(name, *std::move(keyspace));
  }

  void CountDrops() { report_.drops += db_->GetStatistics().tables_dropped_unread; }

  // The store must have the state of its last sequence.
  void Reopen(bool is_repaired = false) {
    const uint64_t ended = now_;
    auto db = DB::Open(kStorePath, options_);
    ++report_.openings;
    if (!db.ok()) return Find("an opening fails", db.status());
    db_ = *std::move(db);
    now_ = clock_.seconds();
    has_failed_job_ = false;
    const uint64_t sequence = db_->GetSnapshot()->sequence();
    if (is_repaired) possible_[0].sequence = sequence;
    const auto later = std::find_if(possible_.begin(), possible_.end(),
                                    [&](const auto& state) { return state.sequence > sequence; });
    if (later == possible_.begin()) {
      return Find(Concat("an opening finds writes up to ", sequence, ", and ",
                         possible_.front().sequence, " were durable"));
    }
    if (later != possible_.end()) ++report_.lossy;
    model_ = *std::prev(later);
    model_.sequence = sequence;
    const auto names = db_->ListKeyspaces();
    if (!names.ok()) return Find("ListKeyspaces", names.status());
    if (names->size() != model_.keyspaces.size()) return Find("an opening lists other keyspaces");
    for (const std::string& name : *names) {
      const auto known = model_.keyspaces.find(name);
      if (known == model_.keyspaces.end()) return Find(Concat("an opening lists ", name));
      OpenHandle(name);
      if (finding_.empty()) NoteOpening(name, &known->second, ended);
      if (!finding_.empty()) return;
    }
    NoteDurable();
  }

  void NoteOpening(const std::string& name, ExpiringKeyspace* keyspace, uint64_t ended) {
    report_.expired += keyspace->NoteEnd(ended);
    KeysAndValues found;
    Find(ReadKeyspace(handles_.at(name), {}, &found));
    const std::string problem = keyspace->NoteOpening(now_, found, &report_.seen_again);
    if (!problem.empty())
      Find(Concat("after an opening at ", now_, " of a store that ended at ", ended, ", in ", name,
                  ": ", problem, "; limit ", keyspace->options.expire_after.value_or(0),
                  ", cutoff ", keyspace->cutoff));
  }

  void Close() {
    const absl::Status status = db_->Close();
    if (!status.ok()) Find("Close", status);
    NoteDurable();
    LetGoOfStore();
  }
  // Closes the store, or ends its process or its machine.
  void Restart() {
    CountDrops();
    const size_t kind = dice_.Roll(4);
    if (kind == 0) {
      Close();
    } else {
      Crash(/*is_process=*/kind == 1);
    }
    if (!finding_.empty()) return;
    const uint64_t seconds = dice_.Roll(3 * seconds_ + 1);
    clock_.Set(dice_.OneIn(3) ? clock_.seconds() - seconds : clock_.seconds() + seconds);
    // A repair saves writes after those that were lost, which an opening does not.  It may use the
    // numbers of changes of keyspaces again.
    const bool repairs = possible_.size() == 1 && kind <= 1 && dice_.OneIn(3);
    if (repairs) {
      const std::string problem = RepairStoreWithKeyspaces(&files(), kStorePath, options_,
                                                           NeedsManifest() || dice_.OneIn(2));
      if (!problem.empty()) return Find(problem);
      ++report_.repairs;
    }
    Reopen(repairs);
  }
  // Only the manifest knows what an opening has changed under a clock that was set back.
  bool NeedsManifest() const {
    return std::any_of(model_.keyspaces.begin(), model_.keyspaces.end(),
                       [](const auto& entry) { return entry.second.is_clamped; });
  }
  // With a few more operations, of which the last one may be cut off.
  void Crash(bool is_process) {
    files().CrashAt(files().operation_count() + dice_.Roll(40));
    is_crashing_ = true;
    for (int i = 0; i < 8 && !files().crashed(); ++i) {
      switch (dice_.Roll(6)) {
        case 0:
          ChangeLimit(SomeName());
          break;
        case 1:
          CreateOrDrop();
          break;
        case 2:
          Flush();
          break;
        case 3:
          if (db_->WaitForBackgroundWork().ok()) Advance(dice_.Roll(seconds_));
          break;
        default:
          Write();
      }
    }
    LetGoOfStore();
    if (!files().crashed()) files().CrashAt(files().operation_count());
    is_crashing_ = false;
    // After the end of a process, all that was acknowledged is there.
    if (is_process) {
      std::erase_if(possible_, [&](const auto& state) { return state.sequence < model_.sequence; });
    }
    files().Restart(is_process ? MemoryFileSystem::Unsynced::kKept
                               : MemoryFileSystem::Unsynced::kLost);
  }

  // --- changes ---

  // The store has said whether it did a change, of this many entries.
  void Settle(std::string_view what, const absl::Status& status, ExpiringStore next,
              uint64_t entries) {
    next.sequence += entries;
    if (status.ok()) {
      model_ = std::move(next);
      possible_.push_back(model_);
    } else if (is_crashing_) {
      // Perhaps the record is in the log.  The store refuses what follows.
      if (possible_.back().sequence == model_.sequence) possible_.push_back(std::move(next));
    } else if (!is_failing_) {
      Find(what, status);
    }
  }
  void NoteDurable() { possible_ = {model_}; }

  void Create(const std::string& name, const lsm::KeyspaceOptions& options) {
    ExpiringStore next = model_;
    ExpiringKeyspace& created = next.keyspaces[name];
    created.birth = ++last_birth_;
    created.Change(options, now_);
    auto keyspace = db_->OpenKeyspace(name, options);
    Settle("OpenKeyspace", keyspace.status(), std::move(next), 1);
    if (keyspace.ok()) handles_.insert_or_assign(name, *std::move(keyspace));
  }
  void CreateOrDrop() {
    const std::string name = Concat("x", dice_.Roll(3));
    if (!model_.keyspaces.contains(name)) {
      lsm::KeyspaceOptions options;
      if (dice_.OneIn(2)) options.expire_after = SomeLimit();
      return Create(name, options);
    }
    ExpiringStore next = model_;
    next.keyspaces.erase(name);
    const absl::Status status = db_->DropKeyspace(name);
    Settle("DropKeyspace", status, std::move(next), 1);
    if (status.ok()) handles_.erase(name);
  }

  void ChangeLimit(const std::string& name) {
    const bool is_lasting = name == "lasting" && seed_ % 4 != 3;
    if (is_lasting || (name == "default" && seed_ % 2 == 0)) return;
    lsm::KeyspaceOptions options;
    if (name == "default" || !dice_.OneIn(6)) {
      options.expire_after = SomeLimit();
    } else {
      options.target_fpp = dice_.OneIn(2) ? 0.25 : 0.125;
    }
    SetLimit(name, options);
  }
  // Time passes while the change is written.
  void ChangeLimitSlowly() {
    Flush();
    const uint64_t seconds = dice_.Roll(seconds_ + 2);
    bool is_done = false;
    files().SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
      if (is_done || operation != FileOperation::kAppend || !path.ends_with(".log"))
        return absl::OkStatus();
      is_done = true;
      clock_.Add(seconds);
      now_ = std::max(now_, clock_.seconds());
      return absl::OkStatus();
    });
    ChangeLimit(SomeName());
    files().SetFault(nullptr);
    Advance(0);  // a change of another option did not ask for the time
  }
  void SetLimit(const std::string& name, const lsm::KeyspaceOptions& options) {
    ExpiringStore next = model_;
    ExpiringKeyspace& keyspace = next.keyspaces.at(name);
    const ExpiringKeyspace before = keyspace;
    const bool changes = keyspace.Change(options, now_);
    const absl::Status status = db_->OpenKeyspace(name, options).status();
    // Until now, readers have used the old limit.
    if (changes) keyspace.cutoff = before.LiveFrom(now_);
    if (changes || !status.ok()) Settle("OpenKeyspace", status, std::move(next), 1);
    report_.limits += changes && status.ok();
  }

  void Write() {
    lsm::WriteBatch batch;
    ExpiringStore next = model_;
    for (size_t i = 1 + dice_.Roll(dice_.OneIn(2) ? 1 : 6); i > 0; --i) {
      const std::string name = SomeName();
      const Keyspace& handle = handles_.at(name);
      ExpiringKeyspace& keyspace = next.keyspaces.at(name);
      const std::string key = SomeKey();
      switch (dice_.Roll(10)) {
        case 0:
          batch.Delete(handle, key);
          keyspace.puts.erase(key);
          break;
        case 1: {
          std::optional<std::string> to;
          if (!dice_.OneIn(3)) to = SomeKey();
          batch.DeleteRange(handle, key, to);
          keyspace.DeleteRange(key, to);
          break;
        }
        default:
          batch.Put(handle, key, (keyspace.puts[key] = NewPut(keyspace)).Value());
      }
    }
    const bool sync = dice_.OneIn(8);
    const absl::Status status = db_->Write(batch, {.sync = sync});
    Settle("Write", status, std::move(next), batch.count());
    if (status.ok() && sync) NoteDurable();
  }
  // DB's own calls know nothing of keyspaces.
  void WriteOne() {
    const bool is_default = dice_.OneIn(2);
    const std::string name = is_default ? "default" : SomeName(), key = SomeKey();
    ExpiringStore next = model_;
    ExpiringKeyspace& keyspace = next.keyspaces.at(name);
    if (dice_.OneIn(4)) {
      keyspace.puts.erase(key);
      const absl::Status status = is_default ? db_->Delete(key) : handles_.at(name).Delete(key);
      return Settle("Delete", status, std::move(next), 1);
    }
    const std::string value = (keyspace.puts[key] = NewPut(keyspace)).Value();
    Settle("Put", is_default ? db_->Put(key, value) : handles_.at(name).Put(key, value),
           std::move(next), 1);
  }
  ExpiringPut NewPut(const ExpiringKeyspace& keyspace) {
    const size_t size = dice_.OneIn(3) ? dice_.Roll(3000) : dice_.Roll(60);
    return {++last_number_, size, keyspace.timed_from == 0 ? std::nullopt : std::optional(now_)};
  }

  // A call of the log fails during a write, or a change of a limit; or calls fail while jobs run.
  void FailAndResume() {
    is_failing_ = true;
    if (dice_.OneIn(2)) {
      const auto failing = dice_.OneIn(2) ? FileOperation::kAppend : FileOperation::kSyncFile;
      files().SetFault([=](FileOperation operation, const std::string& path, uint64_t) {
        return operation == failing && path.ends_with(".log") ? absl::UnavailableError("told to")
                                                              : absl::OkStatus();
      });
      if (dice_.OneIn(2)) Advance(dice_.Roll(seconds_ + 2));
      const size_t kind = dice_.Roll(3);
      kind == 0 ? ChangeLimit(SomeName()) : kind == 1 ? CreateOrDrop() : Write();
    } else {
      has_failed_job_ = true;
      Write();
      ChangeLimit(SomeName());
      uint64_t left = dice_.Roll(12);
      files().SetFault([&left](FileOperation operation, const std::string& path, uint64_t) {
        const bool counts =
            operation != FileOperation::kReadAt && !path.ends_with(".log") && left-- == 0;
        return counts ? absl::UnavailableError("told to") : absl::OkStatus();
      });
      db_->Flush().IgnoreError();
      db_->WaitForBackgroundWork().IgnoreError();
    }
    files().SetFault(nullptr);
    is_failing_ = false;
    if (const absl::Status status = db_->Resume(); !status.ok()) return Find("Resume", status);
    ++report_.resumed;
    // A write that failed has perhaps used numbers up.
    model_.sequence = db_->GetSnapshot()->sequence();
    WriteOne();
    Flush();
    CompareAll();
  }

  // --- time ---

  // The store sees the time at once: a snapshot asks for it.
  void Advance(uint64_t seconds) {
    clock_.Add(seconds);
    (void)db_->GetSnapshot();
    now_ = std::max(now_, clock_.seconds());
  }
  void SetBack() {
    ++report_.set_back;
    clock_.Set(clock_.seconds() - dice_.Roll(3 * seconds_ + 1));
  }

  // --- work ---

  void Flush() {
    const absl::Status status = db_->Flush();
    if (status.ok()) return NoteDurable();
    if (!is_crashing_) Find("Flush", status);
  }
  void Compact() {
    Keyspace& keyspace = handles_.at(SomeName());
    std::optional<std::string> from, to;
    if (dice_.OneIn(3)) from = SomeKey();
    if (dice_.OneIn(3)) to = SomeKey();
    RunWork([&] { return keyspace.CompactRange(from, to); });
  }
  void Wait() {
    RunWork([&] { return db_->WaitForBackgroundWork(); });
    if (dice_.OneIn(4)) CompareAll();
  }
  // Sometimes a limit changes, or time passes, while a compaction makes a table.
  void RunWork(const std::function<absl::Status()>& work) {
    const bool interrupts = dice_.OneIn(2);
    size_t left = dice_.Roll(3);
    bool is_done = !interrupts;
    if (interrupts) Flush();
    files().SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
      if (is_done || operation != FileOperation::kCreate || !IsTable(path) || left-- > 0)
        return absl::OkStatus();
      is_done = true;
      Interrupt();
      return absl::OkStatus();
    });
    const absl::Status status = work();
    files().SetFault(nullptr);
    if (!status.ok()) Find("work", status);
  }
  static bool IsTable(const std::string& path) {
    return lsm::IsTableFileName(std::string_view(path).substr(path.rfind('/') + 1));
  }
  void Interrupt() {
    if (dice_.OneIn(2)) TakeMoment();
    if (dice_.OneIn(2)) Advance(dice_.Roll(2 * seconds_));
    if (dice_.OneIn(2)) {
      const uint64_t before = report_.limits;
      ChangeLimit(SomeName());
      report_.limits_beside += report_.limits - before;
    }
    if (dice_.OneIn(2)) Advance(dice_.Roll(2 * seconds_));
  }

  // --- reads ---

  // Several may be of one sequence, at different times.
  void TakeMoment() {
    if (moments_.size() == 4 || (!moments_.empty() && dice_.OneIn(4)))
      moments_.erase(moments_.begin() + static_cast<ptrdiff_t>(dice_.Roll(moments_.size())));
    moments_.push_back({db_->GetSnapshot(), model_, now_});
  }
  void HoldIterator() {
    if (held_.iterator != nullptr)
      Find(
          CompareForward("an iterator that was held", *held_.iterator, held_.keys, &report_.moves));
    const std::string name = SomeName();
    held_ = {handles_.at(name).NewIterator(), model_.keyspaces.at(name).SeenAt(now_)};
  }

  // Null: the present.
  const Moment* SomeMoment() const {
    return moments_.empty() || dice_.OneIn(2) ? nullptr : &moments_[dice_.Roll(moments_.size())];
  }
  static lsm::ReadOptions OptionsAt(const Moment* moment) {
    return {.snapshot = moment == nullptr ? nullptr : moment->snapshot.get()};
  }
  KeysAndValues ExpectedIn(const std::string& name, const Moment* moment) const {
    const ExpiringKeyspace& now = model_.keyspaces.at(name);
    if (moment == nullptr) return now.SeenAt(now_);
    const auto then = moment->model.keyspaces.find(name);
    const bool is_same = then != moment->model.keyspaces.end() && then->second.birth == now.birth;
    return is_same ? then->second.SeenAt(moment->time) : KeysAndValues();
  }
  std::string At(const Moment* moment) const {
    return moment == nullptr ? Concat("at ", now_)
                             : Concat("of a snapshot taken at ", moment->time);
  }

  void Lookups() {
    const std::string name = SomeName();
    const Moment* const moment = SomeMoment();
    std::vector<std::string> keys;
    for (int i = 0; i < 12; ++i) keys.push_back(SomeKey());
    const KeysAndValues expected = ExpectedIn(name, moment);
    for (const auto& [key, value] : expected) keys.push_back(key);
    Find(At(moment),
         CompareLookups(handles_.at(name), keys, OptionsAt(moment), expected, &report_.answers));
  }
  void Walk() {
    const std::string name = SomeName();
    const Moment* const moment = SomeMoment();
    const std::unique_ptr<lsm::Iterator> iterator =
        handles_.at(name).NewIterator(OptionsAt(moment));
    const KeysAndValues expected = ExpectedIn(name, moment);
    if (dice_.OneIn(4)) Advance(dice_.Roll(2 * seconds_));
    Find(At(moment), CompareWalk(
                         Concat("an iterator in ", name), *iterator, expected, dice_,
                         [this] { return SomeKey(); }, &report_.moves));
  }
  // The follower's time is that of its last refresh, or a later one.
  void Follow() {
    if (follower_ == nullptr) {
      follower_ = std::make_unique<ExpiryFollower>();
      Find(follower_->Open(kStorePath, options_));
    }
    if (!finding_.empty()) return;
    ++report_.followed;
    Find(follower_->Follow(model_, clock_.seconds(), now_));
  }
  void CompareAll() {
    std::vector<const Moment*> all = {nullptr};
    for (const Moment& moment : moments_) all.push_back(&moment);
    for (const auto& [name, keyspace] : handles_) {
      for (const Moment* const moment : all) {
        const std::unique_ptr<lsm::Iterator> iterator = keyspace.NewIterator(OptionsAt(moment));
        Find(At(moment), CompareForward(Concat("a scan of ", name), *iterator,
                                        ExpectedIn(name, moment), &report_.moves));
      }
    }
  }

  // --- space ---

  // At the end all keyspaces expire.  Tables of which half has expired are rewritten, and those
  // that have expired as a whole are removed, although nothing but the clock changes.
  void CheckSpace() {
    constexpr uint32_t kLimit = 100;
    moments_.clear();
    held_ = {};
    clock_.Set(now_);  // it must not stand still
    // After a job has failed, the rule for tombstones rests.
    if (has_failed_job_) Close();
    if (has_failed_job_ && finding_.empty()) Reopen();
    if (!finding_.empty()) return;
    for (auto& [name, handle] : handles_) {
      SetLimit(name, {.expire_after = kLimit});
      ExpiringStore next = model_;
      next.keyspaces.at(name).puts.clear();
      Settle("DeleteRange", handle.DeleteRange("", std::nullopt), std::move(next), 1);
    }
    for (int i = 0; finding_.empty() && i < 40; ++i) {
      for (auto& [name, handle] : handles_) {
        ExpiringStore next = model_;
        ExpiringKeyspace& keyspace = next.keyspaces.at(name);
        ExpiringPut& put = keyspace.puts[Concat("key", 100 + i * 37 % 40)];
        put = {++last_number_, 1000, now_};
        const absl::Status status = handle.Put(Concat("key", 100 + i * 37 % 40), put.Value());
        Settle("Put", status, std::move(next), 1);
      }
      Advance(2);
    }
    for (auto& [name, handle] : handles_) RunToEnd([&] { return handle.CompactRange(); });
    Advance(60);
    RunToEnd([&] { return db_->WaitForBackgroundWork(); });
    if (finding_.empty()) Find("once half has expired", CheckHalfIsFreed(files(), model_, now_));
    CompareAll();
    Advance(3 * kLimit);
    RunToEnd([&] { return db_->WaitForBackgroundWork(); });
    CompareAll();
    if (finding_.empty()) Find("at the end", CheckAllIsFreed(files(), model_, now_));
    if (!finding_.empty()) return;
    const auto verified = db_->Verify();
    if (!verified.ok()) return Find("Verify", verified.status());
    if (!verified->problems.empty()) Find(Concat("Verify finds: ", verified->problems[0]));
  }
  // The work must end.
  void RunToEnd(const std::function<absl::Status()>& work) {
    constexpr uint64_t kCallsMax = 30'000;
    uint64_t calls = 0;
    files().SetFault([&](FileOperation, const std::string& path, uint64_t) {
      return ++calls < kCallsMax ? absl::OkStatus()
                                 : absl::UnavailableError(Concat(path, ": too many calls"));
    });
    const absl::Status status = work();
    files().SetFault(nullptr);
    if (calls >= kCallsMax) return Find("background work does not end");
    if (!status.ok()) Find("work", status);
  }

  // --- draws ---

  std::string SomeName() const {
    auto at = handles_.begin();
    std::advance(at, dice_.Roll(handles_.size()));
    return at->first;
  }
  std::string SomeKey() const {
    return dice_.OneIn(10) ? std::string(dice_.Roll(3), '\xff')
                           : Concat("key", 100 + dice_.Roll(kKeysInTree));
  }
  uint32_t SomeLimit() const {
    const uint64_t limits[] = {
        0, 1, seconds_ / 2 + 1, seconds_, seconds_, 2 * seconds_, 10 * seconds_};
    return static_cast<uint32_t>(limits[dice_.Roll(std::size(limits))]);
  }

  // --- findings ---

  void Find(std::string_view what, const absl::Status& status) {
    Find(Concat(what, ": ", status.ToString()));
  }
  void Find(const std::string& when, const std::string& problem) {
    if (!problem.empty()) Find(Concat(when, ": ", problem));
  }
  void Find(std::string_view what) {
    if (finding_.empty()) finding_ = what;
  }

  mutable Dice dice_;
  const uint64_t seed_;
  const uint64_t seconds_ = std::vector<uint64_t>{2, 10, 100, 3600}[dice_.Roll(4)];
  ExpiryReport& report_;
  testing_support::SetClock clock_;
  lsm::World world_;
  lsm::Options options_;
  std::unique_ptr<DB> db_;
  std::map<std::string, Keyspace> handles_;  // of those that exist
  ExpiringStore model_;
  uint64_t now_ = 0;  // the store's time, which stands still after a jump back
  // After a crash the store has one of these: the durable state, or a later one.
  std::vector<ExpiringStore> possible_;
  uint64_t last_birth_ = 0;
  uint64_t last_number_ = 0;
  bool is_crashing_ = false;  // calls may fail, and then the store ends
  bool is_failing_ = false;   // calls may fail, and Resume follows
  bool has_failed_job_ = false;
  std::vector<Moment> moments_;
  Held held_;
  std::unique_ptr<ExpiryFollower> follower_;
  std::string finding_;
};

}  // namespace

ExpiryReport CheckExpiry(uint64_t seed, uint64_t operations) {
  ExpiryReport report;
  while (report.operations < operations && report.finding.empty())
    report.finding = ExpiryTrial(seed++, &report).Run();
  return report;
}

}  // namespace reliability
