#include "tests/reliability/keyspaces/drops_job.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/snapshot.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/own_trees.h"
#include "tests/reliability/keyspaces/comparisons.h"
#include "tests/reliability/keyspaces/copies_of_some.h"
#include "tests/reliability/keyspaces/repair_store.h"
#include "tests/reliability/keyspaces/strays.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::Keyspace;
using lsm::MemoryFileSystem;
using testing_support::Dice;

constexpr char kStoreOfKeyspaces[] = "/store";
constexpr size_t kOperationsInEpisode = 150;
constexpr size_t kNamesMax = 9;
constexpr char kDefaultName[] = "default";
constexpr uint64_t kWeekNanos = uint64_t{7} * 24 * 60 * 60 * 1'000'000'000;
constexpr char kGrowing[] = "k2";

// The contents of a store, by the names of keyspaces.
using ContentByName = std::map<std::string, KeysAndValues>;

// Calls a function, once, when the store reads the time of day for the n-th time: for example when
// a compaction begins a table.
class InterruptingClock : public testing_support::ManualClock {
 public:
  void Interrupt(size_t n, std::function<void()> function) {
    left_ = n;
    function_ = std::move(function);
  }
  uint64_t WallMicros() override {
    if (function_ != nullptr && left_-- == 0) std::exchange(function_, nullptr)();
    return ManualClock::WallMicros();
  }

 private:
  size_t left_ = 0;
  std::function<void()> function_;
};

class DropsTrial {
 public:
  DropsTrial(uint64_t seed, DropsReport* report)
      : dice_(seed), seed_(seed), random_(seed), report_(*report) {
    // Flushes take small tables along: those of a 64th of this.
    options_.write_buffer_bytes = is_roomy_ ? 4 << 20 : 64 << 10;
    options_.block_cache_bytes = 64 << 10;
    options_.block_bytes = 512;
    options_.table_bytes = 64 << 10;
    options_.level1_bytes = 64 << 10;
    options_.reserve_bytes = 0;
    options_.level0_compaction_tables = 3;
    options_.level0_stop_tables = is_tight_ ? 3 : 30;
    options_.compression =
        is_growing_ || dice_.OneIn(2) ? lsm::Compression::kNone : lsm::Compression::kLz4;
    options_.environment = {&files_, nullptr, &clock_, &scheduler_, &random_};
  }
  ~DropsTrial() {
    files_.SetFault(nullptr);
    LetGoOfStore();
  }
  DropsTrial(const DropsTrial&) = delete;
  DropsTrial& operator=(const DropsTrial&) = delete;

  // Returns a finding, or an empty string.
  std::string Run() {
    content_[kDefaultName];
    NoteDurable();
    Reopen();
    if (!is_growing_ && dice_.OneIn(2)) MakeOwnTrees();
    for (size_t i = 0; finding_.empty() && i < kOperationsInEpisode; ++i) {
      ++report_.operations;
      Operate();
      if (finding_.empty() && copies_.AreDue()) Copy();
    }
    if (finding_.empty()) CompareAll();
    if (finding_.empty()) LetAWeekPass();
    return finding_.empty() ? "" : Concat("seed ", seed_, ": ", finding_);
  }

 private:
  // A snapshot, and what the store had then.
  struct Moment {
    std::unique_ptr<const lsm::Snapshot> snapshot;
    ContentByName content;
    std::map<std::string, uint64_t> births;
  };
  // An iterator that is held, and what it shows.
  struct Held {
    std::unique_ptr<lsm::Iterator> iterator;
    KeysAndValues keys;
  };

  void Operate() {
    switch (dice_.Roll(24)) {
      case 0:
        return Create();
      case 1:
        return Drop(SomeOther());
      case 2:
        return dice_.OneIn(2) ? Flush() : Wait();
      case 3:
        return dice_.OneIn(2) ? Compact() : Write();
      case 4:
        return is_tight_ ? Write() : Wait();
      case 5:
        return dice_.OneIn(4) ? Restart() : CompareAll();
      case 6:
        return TakeMoment();
      case 7:
        return HoldIterator();
      case 8:
        return WriteToDropped();
      case 9:
        return dice_.OneIn(4) ? FailAndResume() : List();
      case 10:
      case 11:
        return Lookups();
      case 12:
      case 13:
        return Walk();
      default:
        return Write();
    }
  }

  // --- the store ---

  void LetGoOfStore() {
    moment_ = {};
    held_ = {};
    handles_.clear();
    dropped_handles_.clear();
    db_ = nullptr;
  }

  void Reopen() {
    auto db = DB::Open(kStoreOfKeyspaces, options_);
    ++report_.openings;
    if (!db.ok()) return Find("an opening fails", db.status());
    db_ = *std::move(db);
    const auto names = db_->ListKeyspaces();
    if (!names.ok()) return Find("ListKeyspaces", names.status());
    ContentByName there;
    for (const std::string& name : *names) {
      if (!OpenHandle(name)) return;
      if (!births_.contains(name)) births_[name] = ++last_birth_;
      Find(ReadKeyspace(handles_.at(name), {}, &there[name]));
      if (!finding_.empty()) return;
    }
    for (auto possible = possible_.rbegin(); possible != possible_.rend(); ++possible) {
      if (*possible != there) continue;
      report_.lossy += possible == possible_.rbegin() ? 0 : 1;
      content_ = std::move(there);
      return NoteDurable();
    }
    Find(Concat("after an opening the store has ", Shown(there), "and should have ",
                Shown(content_), "or one of ", possible_.size() - 1, " earlier states"));
  }
  bool OpenHandle(const std::string& name) {
    auto keyspace = db_->OpenKeyspace(name);
    if (!keyspace.ok()) {
      Find("OpenKeyspace", keyspace.status());
      return false;
    }
    handles_.insert_or_assign(name, *std::move(keyspace));
    return true;
  }

  // Closes the store, or ends its process or its machine.
  void Restart() {
    const size_t kind = dice_.Roll(4);
    if (kind == 0) {
      if (const absl::Status status = db_->Close(); !status.ok()) return Find("Close", status);
      possible_ = {content_};
      LetGoOfStore();
      return RepairAndReopen();
    }
    // With one more operation, which may be cut off.
    files_.CrashAt(files_.operation_count() + dice_.Roll(40));
    is_crashing_ = true;
    for (int i = 0; i < 8 && !files_.crashed(); ++i) {
      if (dice_.OneIn(4)) {
        Drop(SomeOther());
      } else if (dice_.OneIn(4)) {
        Create();
      } else {
        dice_.OneIn(4) ? Flush() : Write();
      }
    }
    LetGoOfStore();
    if (!files_.crashed()) files_.CrashAt(files_.operation_count());
    is_crashing_ = false;
    // After the end of a process, all that was acknowledged is there.
    if (kind == 1) {
      const auto last = std::find(possible_.rbegin(), possible_.rend(), content_);
      possible_.erase(possible_.begin(), std::prev(last.base()));
    }
    files_.Restart(kind == 1 ? MemoryFileSystem::Unsynced::kKept
                             : MemoryFileSystem::Unsynced::kLost);
    // A repair saves writes after those that were lost, which an opening does not.
    kind == 1 ? RepairAndReopen() : Reopen();
  }
  void RepairAndReopen() {
    if (dice_.OneIn(3)) {
      const std::string problem = RepairStoreWithKeyspaces(&files_, kStoreOfKeyspaces, options_,
                                                           /*has_manifest=*/dice_.OneIn(2));
      if (!problem.empty()) return Find(problem);
      ++report_.repairs;
    }
    Reopen();
  }

  // The manifest gives some keyspaces trees of their own, as a flush does once they have grown.
  void MakeOwnTrees() {
    for (const char* const name : {"k0", "k1"}) Create(name);
    Flush();
    if (!finding_.empty()) return;
    if (const absl::Status status = db_->Close(); !status.ok()) return Find("Close", status);
    LetGoOfStore();
    const absl::Status status = lsm::GiveOwnTrees(
        files_, kStoreOfKeyspaces, [](const std::string& name) { return name != kDefaultName; });
    if (!status.ok()) return Find("a manifest", status);
    Reopen();
    for (const auto& [name, birth] : births_) own_.insert(birth);
  }

  // --- changes ---

  // The store has said whether it did a change.
  void Settle(std::string_view what, const absl::Status& status, ContentByName next) {
    if (status.ok()) {
      content_ = std::move(next);
      possible_.push_back(content_);
    } else if (is_crashing_) {
      possible_.push_back(std::move(next));
    } else {
      Find(what, status);
    }
  }
  void NoteDurable() { possible_ = {content_}; }

  void Create() { Create(Concat("k", dice_.Roll(kNamesMax))); }
  void Create(const std::string& name) {
    if (content_.contains(name)) return;
    lsm::KeyspaceOptions options;
    if (dice_.OneIn(3)) options.target_fpp = 0.25;
    ContentByName next = content_;
    next[name];
    auto keyspace = db_->OpenKeyspace(name, options);
    Settle("OpenKeyspace", keyspace.status(), std::move(next));
    if (!keyspace.ok()) return;
    ++report_.created;
    births_[name] = ++last_birth_;
    handles_.insert_or_assign(name, *std::move(keyspace));
  }
  void Drop(const std::string& name) {
    if (name == kDefaultName) {
      if (!is_crashing_ && db_->DropKeyspace(name).code() != absl::StatusCode::kInvalidArgument)
        Find("\"default\" may be dropped");
      return;
    }
    if (!content_.contains(name)) {
      if (!is_crashing_ && db_->DropKeyspace(name).code() != absl::StatusCode::kNotFound)
        Find("an absent keyspace may be dropped");
      return;
    }
    ContentByName next = content_;
    next.erase(name);
    const absl::Status status = db_->DropKeyspace(name);
    Settle("DropKeyspace", status, std::move(next));
    if (!status.ok()) return;
    ++report_.dropped;
    dropped_handles_.push_back(handles_.at(name));
    handles_.erase(name);
  }

  void Write() {
    lsm::WriteBatch batch;
    ContentByName next = content_;
    for (size_t i = 1 + dice_.Roll(dice_.OneIn(2) ? 1 : 6); i > 0; --i) {
      const std::string name = SomeName();
      const Keyspace& keyspace = handles_.at(name);
      KeysAndValues& keys = next[name];
      const std::string key = SomeKey();
      switch (dice_.Roll(8)) {
        case 0:
        case 1:
          batch.Delete(keyspace, key);
          keys.erase(key);
          break;
        case 2: {
          std::optional<std::string> to;
          if (!dice_.OneIn(3)) to = SomeKey();
          batch.DeleteRange(keyspace, key, to);
          if (to && *to <= key) break;
          keys.erase(keys.lower_bound(key), to ? keys.lower_bound(*to) : keys.end());
          break;
        }
        default: {
          const std::string value = Concat(++last_value_, std::string(SomeSize(), 'v'));
          batch.Put(keyspace, key, value);
          keys[key] = value;
        }
      }
    }
    const bool sync = dice_.OneIn(8);
    const absl::Status status = db_->Write(batch, {.sync = sync});
    Settle("Write", status, std::move(next));
    if (status.ok() && sync) NoteDurable();
  }
  // A batch over a keyspace that was dropped writes nothing.
  void WriteToDropped() {
    if (dropped_handles_.empty()) return;
    const Keyspace& dropped = dropped_handles_[dice_.Roll(dropped_handles_.size())];
    lsm::WriteBatch batch;
    batch.Put(handles_.at(SomeName()), SomeKey(), "lost");
    batch.Put(dropped, SomeKey(), "lost");
    ExpectRefused("a batch", dropped, db_->Write(batch));
    ExpectRefused("Get", dropped, dropped.Get(SomeKey()).status());
    ExpectRefused("an iterator", dropped, dropped.NewIterator()->status());
    const std::string key = SomeKey();
    const std::string_view keys[] = {key};
    ExpectRefused("MultiGet", dropped, dropped.MultiGet(keys)[0].status());
    ExpectRefused("Explain", dropped, dropped.Explain(key).status());
    if (moment_.snapshot != nullptr) {
      ExpectRefused("Get at a snapshot", dropped,
                    dropped.Get(key, {.snapshot = moment_.snapshot.get()}).status());
    }
    if (dropped.ApproximateBytes() != 0) Find("a dropped keyspace has bytes");
  }
  void ExpectRefused(std::string_view what, const Keyspace& dropped, const absl::Status& status) {
    ++report_.refusals;
    if (status.code() == absl::StatusCode::kFailedPrecondition) return;
    Find(Concat(what, " of the dropped keyspace ", dropped.name(), ": ", status.ToString()));
  }

  void FailAndResume() {
    if (dice_.OneIn(2)) Drop(SomeOther());
    files_.SetFault([](lsm::FileOperation operation, const std::string& path, uint64_t) {
      return operation == lsm::FileOperation::kSyncFile && path.ends_with(".log")
                 ? absl::UnavailableError("told to")
                 : absl::OkStatus();
    });
    if (db_->Put("a write that fails", "value", {.sync = true}).ok())
      Find("a sync that fails is acknowledged");
    files_.SetFault(nullptr);
    if (const absl::Status status = db_->Resume(); !status.ok()) return Find("Resume", status);
    NoteDurable();
    CompareAll();
  }

  // --- work ---

  void Flush() {
    const absl::Status status = db_->Flush();
    if (status.ok()) return NoteDurable();
    if (!is_crashing_) Find("Flush", status);
  }
  void Copy() {
    ++report_.copies;
    const std::string problem = copies_.Make(*db_, handles_, content_, options_);
    if (!problem.empty()) return Find(problem);
    NoteDurable();
  }
  void Compact() {
    Keyspace& keyspace = handles_.at(SomeName());
    std::optional<std::string> from, to;
    if (dice_.OneIn(3)) from = SomeKey();
    if (dice_.OneIn(3)) to = SomeKey();
    const absl::Status status = keyspace.CompactRange(from, to);
    if (!status.ok()) return Find("CompactRange", status);
    NoteDurable();
  }
  // Sometimes a keyspace is dropped meanwhile, while a job of the store runs.
  void Wait() {
    const std::string name = dice_.OneIn(4) ? SomeOther() : Concat("k", dice_.Roll(2));
    const bool interrupts = !is_tight_ && dice_.OneIn(2) && content_.contains(name);
    if (interrupts) {
      Flush();  // so that compactions are left, beside which a drop may wait for a flush
      clock_.Interrupt(dice_.Roll(3), [this, name] {
        ++report_.dropped_beside;
        Drop(name);
        if (dice_.OneIn(2)) Flush();
      });
    }
    // The keyspace itself, or all that is due.
    const bool compacts = interrupts && name != kDefaultName && dice_.OneIn(2);
    absl::Status status;
    if (compacts) {
      const Keyspace keyspace = handles_.at(name);
      status = Keyspace(keyspace).CompactRange();
    } else {
      status = db_->WaitForBackgroundWork();
    }
    clock_.Interrupt(0, nullptr);
    const bool is_refusal = compacts && !content_.contains(name) &&
                            status.code() == absl::StatusCode::kFailedPrecondition;
    if (!status.ok() && !is_refusal) Find("waiting for work", status);
  }

  // --- reads ---

  void List() {
    const auto names = db_->ListKeyspaces();
    if (!names.ok()) return Find("ListKeyspaces", names.status());
    std::vector<std::string> expected;
    for (const auto& [name, keys] : content_) expected.push_back(name);
    if (*names != expected) Find("ListKeyspaces has other names");
  }

  void TakeMoment() {
    moment_ = {db_->GetSnapshot(), content_, births_};
    for (const auto& [name, keyspace] : handles_) CompareScan(name, ReadNow());
  }
  void HoldIterator() {
    if (held_.iterator != nullptr)
      Find(CompareWhole("an iterator that was held", *held_.iterator, held_.keys, &report_.moves));
    const std::string name = SomeName();
    held_ = {handles_.at(name).NewIterator(), content_.at(name)};
  }

  // Now, or at the snapshot.
  struct When {
    lsm::ReadOptions options;
    bool is_now = true;
  };
  static When ReadNow() { return {}; }
  When SomeWhen() const {
    if (moment_.snapshot == nullptr || dice_.OneIn(2)) return ReadNow();
    return {{.snapshot = moment_.snapshot.get()}, false};
  }
  const KeysAndValues& ExpectedIn(const std::string& name, const When& when) const {
    static const KeysAndValues* const none = new KeysAndValues;
    if (when.is_now) return content_.at(name);
    const auto then = moment_.births.find(name), now = births_.find(name);
    const bool is_same =
        name == kDefaultName ||
        (then != moment_.births.end() && now != births_.end() && then->second == now->second);
    const auto found = moment_.content.find(name);
    return is_same && found != moment_.content.end() ? found->second : *none;
  }

  void Lookups() {
    const std::string name = SomeName();
    const Keyspace& keyspace = handles_.at(name);
    const bool is_own = name != kDefaultName && keyspace.GetStatistics().has_own_tree;
    if (is_own && own_.insert(births_.at(name)).second) ++report_.left;
    const When when = SomeWhen();
    const KeysAndValues& expected = ExpectedIn(name, when);
    std::vector<std::string> keys;
    for (int i = 0; i < 12; ++i) keys.push_back(SomeKey());
    for (const auto& [key, value] : expected) keys.push_back(key);
    Find(CompareLookups(keyspace, keys, when.options, expected, &report_.answers));
  }

  // Moves an iterator to and fro.
  void Walk() {
    const std::string name = SomeName();
    When when = SomeWhen();
    KeysAndValues expected = ExpectedIn(name, when);
    std::string lower, upper;
    if (dice_.OneIn(4)) {
      lower = SomeKey();
      when.options.lower_bound = lower;
      expected.erase(expected.begin(), expected.lower_bound(lower));
    }
    if (dice_.OneIn(4)) {
      upper = SomeKey();
      when.options.upper_bound = upper;
      expected.erase(expected.lower_bound(upper), expected.end());
    }
    const std::unique_ptr<lsm::Iterator> iterator = handles_.at(name).NewIterator(when.options);
    Find(CompareWalk(
        Concat("an iterator in ", name), *iterator, expected, dice_, [this] { return SomeKey(); },
        &report_.moves));
  }
  void CompareScan(const std::string& name, const When& when) {
    const std::unique_ptr<lsm::Iterator> iterator = handles_.at(name).NewIterator(when.options);
    Find(CompareWhole(Concat("a scan of ", name), *iterator, ExpectedIn(name, when),
                      &report_.moves));
  }
  void CompareAll() {
    for (const auto& [name, keyspace] : handles_) {
      CompareScan(name, ReadNow());
      if (moment_.snapshot != nullptr)
        CompareScan(name, {{.snapshot = moment_.snapshot.get()}, false});
    }
  }

  // Then nothing is left in the common tree of those that were dropped, or have left it.
  void LetAWeekPass() {
    moment_ = {};
    held_ = {};
    Flush();
    clock_.Advance(kWeekNanos);
    if (const absl::Status status = db_->WaitForBackgroundWork(); !status.ok())
      return Find("after a week", status);
    Find(ProblemOfStrays(files_, kStoreOfKeyspaces));
    CompareAll();
  }

  // --- draws ---

  std::string SomeName() {
    if (is_growing_ && handles_.contains(kGrowing) && dice_.OneIn(2)) return kGrowing;
    auto at = handles_.begin();
    std::advance(at, dice_.Roll(handles_.size()));
    return at->first;
  }
  // Mostly of one that exists.
  std::string SomeOther() {
    return dice_.OneIn(is_growing_ ? 1 : 4) ? Concat("k", dice_.Roll(kNamesMax)) : SomeName();
  }
  // Few, so that they meet.  Some are like ids, and some at the edges of a keyspace.
  std::string SomeKey() const {
    switch (dice_.Roll(10)) {
      case 0:
        return "";
      case 1:
        return std::string(1 + dice_.Roll(6), '\xff');
      case 2:
        return std::string("\0\0\0", 3) + static_cast<char>(dice_.Roll(12));
      case 3:
        return std::string(1 + dice_.Roll(3), '\0');
      default:
        return Concat("key", dice_.Roll(20));
    }
  }
  size_t SomeSize() const { return dice_.OneIn(is_growing_ ? 2 : 4) ? 9000 : dice_.Roll(100); }

  // --- findings ---

  void Find(std::string_view what, const absl::Status& status) {
    Find(Concat(what, ": ", status.ToString()));
  }
  void Find(std::string_view what) {
    if (finding_.empty()) finding_ = what;
  }
  static std::string Shown(const ContentByName& content) {
    std::string shown;
    for (const auto& [name, keys] : content) {
      shown += Concat(name, ": ");
      for (const auto& [key, value] : keys)
        shown += Concat(lsm::Escape(key), "=", value.substr(0, 4), " ");
      shown += "; ";
    }
    return shown;
  }

  mutable Dice dice_;
  const uint64_t seed_;
  // Writers often wait for level 0.  Then none may write while a compaction runs: nothing would end
  // its wait.
  const bool is_tight_ = seed_ % 2 == 0;
  // Half of the writes go to one keyspace, until it leaves the common tree.
  const bool is_growing_ = seed_ % 3 == 0;
  const bool is_roomy_ = !is_tight_ && !is_growing_ && seed_ % 5 < 3;
  MemoryFileSystem files_;
  testing_support::SingleThreadScheduler scheduler_;
  InterruptingClock clock_;
  testing_support::SeededRandom random_;
  DropsReport& report_;
  lsm::Options options_;
  CopiesOfSome copies_{seed_};
  std::unique_ptr<DB> db_;
  std::map<std::string, Keyspace> handles_;  // of those that exist
  std::vector<Keyspace> dropped_handles_;
  ContentByName content_;
  // After a crash one of these is there: the durable content, and all later ones.
  std::vector<ContentByName> possible_;
  std::map<std::string, uint64_t> births_;  // a number for each creation, by name
  uint64_t last_birth_ = 0;
  std::set<uint64_t> own_;  // births of those with trees of their own
  uint64_t last_value_ = 0;
  bool is_crashing_ = false;  // calls may fail
  Moment moment_;
  Held held_;
  std::string finding_;
};

}  // namespace

DropsReport CheckDrops(uint64_t seed, uint64_t operations) {
  DropsReport report;
  while (report.operations < operations && report.finding.empty())
    report.finding = DropsTrial(seed++, &report).Run();
  return report;
}

}  // namespace reliability
