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
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/snapshot.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/expiry/expiring_machine.h"
#include "tests/reliability/expiry/expiry_follower.h"
#include "tests/reliability/expiry/expiry_model.h"
#include "tests/reliability/expiry/expiry_space.h"
#include "tests/reliability/keyspaces/comparisons.h"
#include "tests/reliability/keyspaces/repair_store.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::FileOperation;
using lsm::Keyspace;
using lsm::kStorePath;
using lsm::MemoryFileSystem;

constexpr size_t kStepsInEpisode = 250;
constexpr int kKeysInTree = 24;

class ExpiryTrial : public ExpiringMachine {
 public:
  using ExpiringMachine::ExpiringMachine;

  // Returns a finding, or an empty string.
  std::string Run() {
    Start();
    for (size_t i = 0; finding_.empty() && i < kStepsInEpisode; ++i) {
      ++report_.operations;
      Operate();
    }
    if (finding_.empty()) CompareAll();
    if (finding_.empty()) CheckSpace();
    if (finding_.empty()) CheckRange();
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
    if (roll < 31) return Write();
    if (roll < 34) return DeleteBetween();
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

  // --- openings ---

  void LetGoOfReaders() override {
    moments_.clear();
    held_ = {};
    follower_ = nullptr;
  }

  void CountDrops() { report_.drops += db_->GetStatistics().tables_dropped_unread; }
  // Closes the store, or ends its process or its machine.
  void Restart() {
    CountDrops();
    const size_t kind = dice_.Roll(4);
    const bool prepares = dice_.OneIn(2);
    if (kind == 3 && prepares) LowerForNothing(SomeName());
    if (kind == 1 && prepares) RaiseInALaterLog(SomeName());
    if (!finding_.empty()) return;
    if (kind == 0) {
      Close();
    } else {
      Crash(/*is_process=*/kind == 1, kind == 1 && prepares ? 0 : dice_.Roll(40));
    }
    if (!finding_.empty()) return;
    const uint64_t seconds = dice_.Roll(3 * seconds_ + 1);
    const bool sets_back = dice_.OneIn(3);
    clock_.Set(sets_back ? clock_.seconds() - seconds : clock_.seconds() + seconds);
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
    if (finding_.empty() && sets_back && dice_.OneIn(2)) WriteBehind(SomeName());
  }
  // Newer versions with earlier times expire before older ones.
  void WriteBehind(const std::string& name) {
    const std::map<std::string, ExpiringPut> before = model_.keyspaces.at(name).puts;
    for (const auto& [key, put] : before) {
      if (dice_.OneIn(2)) Put(name, key, dice_.Roll(60));
    }
    if (dice_.OneIn(3)) Flush();
    Advance(model_.keyspaces.at(name).options.expire_after.value_or(0) + 1);
    CompareAll();
  }
  // Raises a limit, and lowers it.  A crash may take back the latter.
  void LowerForNothing(const std::string& name) {
    if (!MayExpire(name)) return;
    SetLimit(name, seconds_);
    for (int i = 0; i < 4; ++i) Put(name, SomeKey(), 100);
    Flush();
    SetLimit(name, 10 * seconds_);
    if (dice_.OneIn(2)) {
      Put(name, SomeKey(), 10, /*sync=*/true);
      SetLimit(name, 1);
    } else {
      Put(name, SomeKey(), 10);
      const uint64_t sequence = model_.sequence;
      RunToEnd([&] { return db_->Flush(); }, [&] { SetLimit(name, 1); });
      NoteDurable(sequence);
    }
    Advance(2 * seconds_);
    RunToEnd([&] { return db_->WaitForBackgroundWork(); });
  }
  // Raises a limit in another log than that of puts which no table has yet.  An opening must not
  // drop them by the lower limit.
  void RaiseInALaterLog(const std::string& name) {
    if (!MayExpire(name)) return;
    Flush();
    SetLimit(name, seconds_);
    for (size_t bytes = 0; bytes <= options_.write_buffer_bytes; bytes += 1000)
      Put(name, SomeKey(), 1000);
    SetLimit(name, 10 * seconds_);
    Put(name, SomeKey(), 10);
    Advance(2 * seconds_);
  }
  // Only the manifest knows what an opening has changed under a clock that was set back.
  bool NeedsManifest() const {
    return std::any_of(model_.keyspaces.begin(), model_.keyspaces.end(),
                       [](const auto& entry) { return entry.second.is_clamped; });
  }
  // With a few more operations, of which the last one may be cut off after this many calls.
  void Crash(bool is_process, uint64_t calls) {
    files().CrashAt(files().operation_count() + calls);
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
    if (is_process) NoteDurable();
    files().Restart(is_process ? MemoryFileSystem::Unsynced::kKept
                               : MemoryFileSystem::Unsynced::kLost);
  }

  // --- changes ---

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

  bool MayExpire(const std::string& name) const {
    return name == "default" ? seed_ % 2 != 0 : name != "lasting" || seed_ % 4 == 3;
  }
  void ChangeLimit(const std::string& name) {
    if (!MayExpire(name)) return;
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
          batch.Put(handle, key, (keyspace.puts[key] = NewPut(keyspace, SomeSize())).Value());
      }
    }
    const bool sync = dice_.OneIn(8);
    const absl::Status status = db_->Write(batch, {.sync = sync});
    Settle("Write", status, std::move(next), batch.count());
    if (status.ok() && sync) NoteDurable();
  }
  // Deletes absent keys between some neighbours, so that iterators record gaps there.
  void DeleteBetween() {
    constexpr size_t kAbsent = 24;  // two such runs make a gap
    const std::string name = SomeName();
    lsm::WriteBatch batch;
    const size_t first = dice_.Roll(kKeysInTree);
    for (size_t key = first; key < first + 4; ++key) {
      for (size_t i = 0; i < kAbsent; ++i)
        batch.Delete(handles_.at(name), Concat("key", 100 + key, "/", 10 + i));
    }
    Settle("Write", db_->Write(batch), model_, batch.count());
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
    const std::string value = (keyspace.puts[key] = NewPut(keyspace, SomeSize())).Value();
    Settle("Put", is_default ? db_->Put(key, value) : handles_.at(name).Put(key, value),
           std::move(next), 1);
  }
  // Calls fail during a write, during a change of a limit, or while jobs run.
  void FailAndResume() {
    const auto failing = dice_.OneIn(2) ? FileOperation::kAppend : FileOperation::kSyncFile;
    const size_t kind = dice_.Roll(5);
    if (kind == 0) return FailCreation(Concat("x", dice_.Roll(3)));
    if (kind <= 2) return FailJobs();
    FailLog(failing, [&] {
      if (dice_.OneIn(2)) Advance(dice_.Roll(seconds_ + 2));
      const size_t call = dice_.Roll(3);
      call == 0 ? ChangeLimit(SomeName()) : call == 1 ? CreateOrDrop() : Write();
    });
    CompareAll();
  }
  // Another keyspace gets the id of one whose creation failed.
  void FailCreation(const std::string& name) {
    if (model_.keyspaces.contains(name)) return;
    FailLog(FileOperation::kAppend, [&] { Create(name, {.expire_after = 1}); });
    if (!finding_.empty() || model_.keyspaces.contains(name)) return;
    Create(name, {});
    for (int i = 0; i < 4; ++i) Put(name, SomeKey(), 10);
    Advance(seconds_);
    if (dice_.OneIn(2)) Flush();
    CompareAll();
  }
  void FailJobs() {
    has_failed_job_ = is_failing_ = true;
    Write();
    ChangeLimit(SomeName());
    uint64_t left = dice_.Roll(12), calls = 0;
    files().SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
      const bool fails =
          operation != FileOperation::kReadAt && !path.ends_with(".log") && left-- == 0;
      return fails || ++calls > kCallsMax ? absl::UnavailableError("told to") : absl::OkStatus();
    });
    db_->Flush().IgnoreError();
    db_->WaitForBackgroundWork().IgnoreError();
    files().SetFault(nullptr);
    is_failing_ = false;
    if (calls > kCallsMax) return Find("background work that failed once does not end");
    Resume();
    CompareAll();
  }

  // --- time ---

  void SetBack() {
    ++report_.set_back;
    clock_.Set(clock_.seconds() - dice_.Roll(3 * seconds_ + 1));
  }

  // --- work ---

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
    if (!dice_.OneIn(2)) return RunToEnd(work);
    Flush();
    RunToEnd(
        work, [this] { Interrupt(); }, dice_.Roll(3));
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
      Find(CompareWhole("an iterator that was held", *held_.iterator, held_.keys, &report_.moves));
    const std::string name = SomeName();
    held_ = {handles_.at(name).NewIterator(), model_.keyspaces.at(name).SeenAt(now_)};
    // Its later moves must show the same as these.
    Find(CompareWhole("an iterator", *held_.iterator, held_.keys, &report_.moves));
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
        Find(At(moment), CompareWhole(Concat("a scan of ", name), *iterator,
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
      SetLimit(name, kLimit);
      ExpiringStore next = model_;
      next.keyspaces.at(name).puts.clear();
      Settle("DeleteRange", handle.DeleteRange("", std::nullopt), std::move(next), 1);
    }
    // A limit that was refused must not keep anything.
    if (dice_.OneIn(2)) FailLog(FileOperation::kAppend, [&] { SetLimit("own", 0); });
    SetLimit("own", kLimit);
    for (int i = 0; finding_.empty() && i < 40; ++i) {
      for (auto& [name, handle] : handles_) {
        Put(name, Concat("key", 100 + i * 37 % 40), 1000);
      }
      Advance(2);
    }
    for (auto& entry : handles_) {
      Keyspace& handle = entry.second;  // Clang's lambdas capture no part of a structured binding
      RunToEnd([&] { return handle.CompactRange(); });
    }
    Advance(60);
    RunToEnd([&] { return db_->WaitForBackgroundWork(); });
    if (finding_.empty()) Find("once half has expired", CheckHalfIsFreed(files(), model_, now_));
    CompareAll();
    const uint64_t dropped = db_->GetStatistics().tables_dropped_unread;
    Advance(3 * kLimit);
    RunToEnd([&] { return db_->WaitForBackgroundWork(); });
    CompareAll();
    if (finding_.empty() && db_->GetStatistics().tables_dropped_unread == dropped)
      Find("once all has expired, no table goes unread");
    if (finding_.empty()) Find("at the end", CheckAllIsFreed(files(), model_, now_));
    if (!finding_.empty()) return;
    const auto verified = db_->Verify();
    if (!verified.ok()) return Find("Verify", verified.status());
    if (!verified->problems.empty()) Find(Concat("Verify finds: ", verified->problems[0]));
  }

  // A table whose puts have expired stays while its range delete hides an older put, which was
  // written before the clock was set back and therefore lives longer.
  void CheckRange() {
    constexpr uint32_t kLimit = 100;
    SetLimit("own", kLimit);
    for (const char* const key : {"key100", "key101"}) Put("own", key, 60);
    Flush();
    RunToEnd([&] { return handles_.at("own").CompactRange(); });
    Close();
    if (!finding_.empty()) return;
    clock_.Set(clock_.seconds() - 2 * kLimit);
    Reopen();
    if (!finding_.empty()) return;
    Put("own", "key200", 60);
    ExpiringStore next = model_;
    next.keyspaces.at("own").DeleteRange("key100", "key101");
    Settle("DeleteRange", handles_.at("own").DeleteRange("key100", "key101"), std::move(next), 1);
    Flush();
    Advance(kLimit + 1);
    RunToEnd([&] { return db_->WaitForBackgroundWork(); });
    CompareAll();
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
  size_t SomeSize() const { return dice_.OneIn(3) ? dice_.Roll(3000) : dice_.Roll(60); }
  uint32_t SomeLimit() const {
    const uint64_t limits[] = {
        0, 1, seconds_ / 2 + 1, seconds_, seconds_, 2 * seconds_, 10 * seconds_};
    return static_cast<uint32_t>(limits[dice_.Roll(std::size(limits))]);
  }

  std::vector<Moment> moments_;
  Held held_;
  std::unique_ptr<ExpiryFollower> follower_;
};

}  // namespace

ExpiryReport CheckExpiry(uint64_t seed, uint64_t operations) {
  ExpiryReport report;
  while (report.operations < operations && report.finding.empty())
    report.finding = ExpiryTrial(seed++, &report).Run();
  return report;
}

}  // namespace reliability
