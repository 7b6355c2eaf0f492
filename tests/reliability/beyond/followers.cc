#include "tests/reliability/beyond/followers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/counters.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/follow/store_follower.h"
#include "lsm/keyspace.h"
#include "lsm/threads/epoch.h"
#include "tests/reliability/beyond/followed_history.h"
#include "tests/reliability/beyond/followed_machine.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using testing_support::Dice;
using Contents = FollowedHistory::Contents;
using View = lsm::StoreFollower::View;
using Fate = FollowedMachine::Fate;

constexpr char kStore[] = "/store";
constexpr char kBackup[] = "/backup";
constexpr size_t kKeys = 10;
constexpr uint64_t kNever = UINT64_MAX;
constexpr const char* kOtherKeyspaces[] = {"a", "b"};

using History = FollowedHistory;

// One store, its writer and its follower, in one thread.  The same seed and the same plan repeat
// the same run.
class Run {
 public:
  // The writer acts at operation `at` of a refresh.
  Run(uint64_t seed, uint64_t at)
      : dice_(seed),
        keyspaces_dice_(seed),
        has_keyspaces_(seed % 3 == 0),
        at_(at),
        machine_(seed % 2 == 0 ? OneMachine() : ObjectStore(seed)),
        random_(seed) {
    options_.write_buffer_bytes = 64 << 10;
    options_.block_cache_bytes = 0;
    options_.block_bytes = 256;
    options_.table_bytes = 64 << 10;
    options_.level1_bytes = 64 << 10;
    options_.level0_compaction_tables = 2;
    options_.reserve_bytes = 0;
    machine_->SetHooks({[this](bool makes_log_durable) { return Before(makes_log_durable); },
                        [this] {
                          if (dies_within_append_) is_dead_ = true;
                          if (actor_ == Actor::kWriter && !is_dead_) MaybeWatch();
                        },
                        [this] { return is_dead_ && actor_ == Actor::kWriter; }});
    UseFiles();
  }
  ~Run() {
    machine_->SetHooks({});
    db_ = nullptr;
  }

  // Returns how many operations the refresh took that was to be disturbed.
  uint64_t Go() {
    watched_in_ = dice_.Roll(3);
    Open();
    Act(1 + dice_.Roll(8));
    if (dice_.OneIn(4)) BackUp();
    NewFollower();
    Follow();
    for (size_t i = dice_.Roll(3); i > 0 && finding_.empty(); --i) {
      Act(1 + dice_.Roll(4));
      Follow();
    }
    if (dice_.OneIn(2)) BackUp();
    Act(dice_.Roll(6));
    if (dice_.OneIn(2)) NewFollower();  // the next refresh is its first
    // Now the writer acts within the refresh.
    const uint64_t from = follower_operations_;
    disturb_at_ = at_ == kNever ? kNever : from + at_;
    Follow();
    const uint64_t operations = follower_operations_ - from;
    disturb_at_ = kNever;
    Follow();
    // Now the follower acts within the writer.
    is_watching_ = true;
    Act(2 + dice_.Roll(4));
    is_watching_ = false;
    Follow();
    if (finding_.empty() && last_.sequence != history().entries.size())
      Find("the last view is not the newest one");
    CheckKeptViews();
    if (dice_.OneIn(4)) {
      LapsePins();
      Act(dice_.Roll(4));
      Follow();
      CheckKeptViews();
    }
    if (dice_.OneIn(4)) CrashMachine();
    if (dice_.OneIn(16)) FollowAsDB();
    EndFollower();
    return operations;
  }

  const std::string& finding() const { return finding_; }
  uint64_t views() const { return views_; }
  uint64_t writes() const { return writes_; }

 private:
  enum class Actor : uint8_t { kNone, kWriter, kFollower };
  struct KeptView {
    View view;
    Contents contents;
    // Their pin has lapsed, or their store was destroyed.
    bool may_be_unavailable = false;
  };

  void UseFiles() {
    options_.environment = {machine_->writer_files(), nullptr, &clock_, &scheduler_, &random_};
  }
  History& history() { return eras_.back(); }
  void Find(const std::string& text) {
    if (finding_.empty()) finding_ = Concat("operation ", at_, " of a refresh: ", text);
  }
  // The writer's life must go on.
  void Must(const absl::Status& status, const char* what) {
    if (!status.ok()) Find(Concat("the writer cannot ", what, ": ", lsm::MessageOf(status)));
  }

  // Called before each operation of both.
  Fate Before(bool makes_log_durable) {
    if (actor_ == Actor::kFollower && follower_operations_++ == disturb_at_) {
      const Actor actor = std::exchange(actor_, Actor::kWriter);
      // Often an act that replaces many files at once.
      const size_t first = dice_.Roll(5);
      if (first == 0 && db_ != nullptr) Kill();
      if ((first == 1 || first == 3) && db_ != nullptr) BeginAnotherLog();
      if (first == 3 && db_ != nullptr) Must(db_->Flush(), "flush");
      if (first == 2 && db_ != nullptr) RestoreBackup();
      Act(dice_.Roll(4));
      actor_ = actor;
    } else if (actor_ == Actor::kWriter) {
      if (dies_in_ != kNever && dies_in_-- == 0) is_dead_ = true;
      if (is_dead_) return Fate::kDead;
      if (fails_sync_of_log_ && makes_log_durable) return Fate::kFails;
      MaybeWatch();
    }
    return Fate::kGoesOn;
  }
  // Within an operation of the writer.
  void MaybeWatch() {
    if (!is_watching_ || dice_.Roll(3) != watched_in_) return;
    is_watching_ = false;
    Follow();
    is_watching_ = true;
  }

  // --- the writer ---

  void Open() {
    const Actor actor = std::exchange(actor_, Actor::kWriter);
    is_changing_ = true;
    absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open(kStore, options_);
    is_changing_ = false;
    actor_ = actor;
    ++openings_;
    Must(db.status(), "open the store");
    if (!db.ok()) return;
    db_ = *std::move(db);
    const size_t sequence = db_->GetSnapshot()->sequence();
    if (sequence < acknowledged_ || !history().ends.contains(sequence))
      Find(Concat("the writer recovers ", sequence, " entries, not ", acknowledged_));
    else if (sequence != history().entries.size())
      BeginEra(sequence);
    acknowledged_ = durable_ = sequence;
  }
  // From now on the store has the first `sequence` entries of its history, and continues from
  // there.
  void BeginEra(size_t sequence) {
    History next = history();
    next.Truncate(sequence);
    eras_.push_back(std::move(next));
    era_began_at_ = std::min(era_began_at_, sequence);
  }
  void Act(size_t actions) {
    const Actor actor = std::exchange(actor_, Actor::kWriter);
    for (; actions > 0 && db_ != nullptr && finding_.empty(); --actions) {
      ActOnce();
      if (dice_.OneIn(4)) scheduler_.RunAll();
      if (dice_.OneIn(4)) machine_->Renew();
    }
    actor_ = actor;
  }
  void ActOnce() {
    if (has_keyspaces_ && keyspaces_dice_.OneIn(5))
      ChangeKeyspace(kOtherKeyspaces[keyspaces_dice_.Roll(2)]);
    switch (dice_.Roll(16)) {
      case 0:
        Must(db_->Flush(), "flush");
        durable_ = acknowledged_;
        return;
      case 1:
        Must(db_->CompactRange(), "compact");
        durable_ = acknowledged_;
        return;
      case 2:
        Must(db_->Close(), "close");
        db_ = nullptr;
        return Open();
      case 3:
        return Kill();
      case 4:
        return FailAndResume();
      case 6:
        return RestoreBackup();
      case 5:
        return BeginAnotherLog();
      default:
        return Write(dice_.OneIn(3) ? 3000 : 20);
    }
  }
  // Creates the keyspace, or drops it.
  void ChangeKeyspace(const std::string& name) {
    History& now = history();
    const bool exists = now.Has(name);
    now.entries.push_back({.key = "",
                           .keyspace = name,
                           .kind = exists ? History::Kind::kDrop : History::Kind::kCreate});
    now.ends.insert(now.entries.size());
    Must(exists ? db_->DropKeyspace(name) : db_->OpenKeyspace(name).status(), "change a keyspace");
    acknowledged_ = history().entries.size();
  }
  std::string AnyKeyspace() {
    if (!has_keyspaces_ || keyspaces_dice_.OneIn(3)) return kFollowedDefault;
    const char* const name = kOtherKeyspaces[keyspaces_dice_.Roll(2)];
    return history().Has(name) ? name : kFollowedDefault;
  }
  absl::Status TryToWrite(size_t value_bytes, bool sync) {
    lsm::WriteBatch batch;
    History& now = history();
    for (size_t i = 1 + dice_.Roll(3); i > 0; --i) {
      const size_t key = dice_.Roll(kKeys);
      History::Entry entry{Concat("key", key)};
      entry.keyspace = AnyKeyspace();
      // It exists, so this makes no entry.
      const lsm::Keyspace keyspace = db_->OpenKeyspace(entry.keyspace).value();
      if (dice_.OneIn(8)) {
        entry.kind = History::Kind::kDeleteRange;
        if (key + 1 < kKeys && dice_.OneIn(2))
          entry.to = Concat("key", key + 1 + dice_.Roll(kKeys - 1 - key));
        batch.DeleteRange(keyspace, entry.key, entry.to);
      } else if (dice_.OneIn(4)) {
        entry.kind = History::Kind::kDelete;
        batch.Delete(keyspace, entry.key);
      } else {
        entry.value = Concat(++writes_, std::string(value_bytes, 'v'));
        batch.Put(keyspace, entry.key, entry.value);
      }
      now.entries.push_back(std::move(entry));
    }
    now.ends.insert(now.entries.size());
    return db_->Write(batch, {sync});
  }
  void Write(size_t value_bytes) {
    const bool sync = dice_.OneIn(4);
    Must(TryToWrite(value_bytes, sync), "write");
    acknowledged_ = history().entries.size();
    if (sync) durable_ = acknowledged_;
  }
  void BeginAnotherLog() {
    for (int i = 0; i < 12; ++i) Write(6000);
  }
  void Kill() {
    if (dice_.OneIn(2)) {
      dies_within_append_ = true;
      TryToWrite(20, /*sync=*/false).IgnoreError();
      dies_within_append_ = false;
    } else {
      dies_in_ = dice_.Roll(40);
      (dice_.OneIn(2) ? db_->Flush() : db_->CompactRange()).IgnoreError();
      dies_in_ = kNever;
    }
    is_dead_ = true;
    db_ = nullptr;
    scheduler_.RunAll();
    is_dead_ = false;
    BeginNextWriter();
    Open();
  }
  void BeginNextWriter() {
    machine_->BeginNextWriter();
    UseFiles();
  }
  // A write ends in Unknown; its record may be in the log.
  void FailAndResume() {
    fails_sync_of_log_ = true;
    const absl::Status status = TryToWrite(20, /*sync=*/true);
    fails_sync_of_log_ = false;
    if (status.ok()) return Find("a sync that failed was acknowledged");
    is_changing_ = true;
    Must(db_->Resume(), "resume");
    is_changing_ = false;
    ++openings_;
    BeginEra(acknowledged_);
    durable_ = acknowledged_;
  }
  void BackUp() {
    if (has_backup_ || db_ == nullptr) return;
    const Actor actor = std::exchange(actor_, Actor::kWriter);
    Must(db_->Backup(kBackup).status(), "back up");
    actor_ = actor;
    has_backup_ = true;
    backup_ = history();
  }
  void RestoreBackup() {
    if (!has_backup_) return;
    db_ = nullptr;
    ++restorations_;
    if (machine_->ForgetsOldStores()) LoseKeptViews();
    is_missing_ = is_changing_ = true;
    Must(lsm::DB::Destroy(kStore, options_), "destroy");
    eras_.push_back(backup_);
    era_began_at_ = std::min(era_began_at_, backup_.entries.size());
    acknowledged_ = backup_.entries.size();
    Must(lsm::DB::Restore(kBackup, kStore, options_).status(), "restore");
    is_missing_ = is_changing_ = false;
    ++openings_;
    Open();
    // New tables get numbers that tables had before the restoration.
    for (size_t i = dice_.Roll(5); i > 0 && db_ != nullptr; --i) {
      Write(20);
      Must(db_->Flush(), "flush");
      durable_ = acknowledged_;
    }
  }
  // The machine crashes, so the follower ends too.  The next one sees what the writer will recover.
  void CrashMachine() {
    if (!finding_.empty()) return;
    const auto end_processes = [this] {
      db_ = nullptr;
      follower_ = nullptr;
      kept_.clear();
      scheduler_.RunAll();
    };
    if (!machine_->Crash(end_processes, /*keeps_unsynced=*/dice_.OneIn(2))) return;
    acknowledged_ = durable_;
    NewFollower();
    Follow();
    if (!finding_.empty()) return;
    const size_t seen = last_.sequence;
    Open();
    if (acknowledged_ != seen)
      Find(Concat("after a crash the follower saw ", seen, " entries, the writer ", acknowledged_));
  }

  // --- the follower ---

  void NewFollower() {
    follower_ = std::make_unique<lsm::StoreFollower>(lsm::StoreFollower::Place{
        machine_->follower_files(), kStore, machine_->follower_files(), std::nullopt});
    last_ = {};
    era_began_at_ = SIZE_MAX;
    has_begun_ = false;
  }

  absl::StatusOr<View> Refresh() {
    if (!has_begun_) {
      TRELLIS_ASSIGN_OR_RETURN(context_.digest_seed, follower_->Begin());
      has_begun_ = true;
    }
    return follower_->Refresh(context_);
  }

  void Follow() {
    const Actor actor = actor_;
    if (finding_.empty()) FollowAs();
    actor_ = actor;
  }
  void FollowAs() {
    // While the store changes, it may be in its old or in its new state.
    const size_t first_era = eras_.size() - (is_changing_ && eras_.size() > 1 ? 2 : 1);
    const size_t eras = eras_.size();
    const uint64_t openings = openings_;
    const uint64_t restorations = restorations_;
    const size_t acknowledged = acknowledged_;
    bool is_certain = !is_changing_;
    bool may_be_missing = is_missing_;
    actor_ = Actor::kFollower;
    const absl::StatusOr<View> view = Refresh();
    actor_ = Actor::kNone;
    ++views_;
    // Between Destroy and Restore there is no store.
    may_be_missing = may_be_missing || is_missing_;
    if (may_be_missing && !view.ok() && !absl::IsDataLoss(view.status())) return;
    if (!view.ok()) return Find(Concat("a refresh fails: ", view.status().ToString()));
    const bool was_destroyed =
        machine_->ForgetsOldStores() && (may_be_missing || restorations != restorations_);
    const std::optional<Contents> contents = ContentsOf(*view, was_destroyed);
    if (contents) CheckContents(*view, *contents, first_era);
    is_certain = is_certain && !is_changing_ && eras == eras_.size() && openings == openings_;
    if (restorations == restorations_ && view->sequence < acknowledged)
      Find(Concat("the view has ", view->sequence, " entries; ", acknowledged,
                  " were acknowledged before"));
    CheckForward(*view, is_certain && was_certain_);
    CheckMemtables(*view);
    last_ = *view;
    openings_seen_ = openings_;
    was_certain_ = is_certain;
    if (is_certain) era_began_at_ = SIZE_MAX;
    if (dice_.OneIn(3) && kept_.size() < 4 && contents)
      kept_.push_back({*view, *contents, was_destroyed});
  }

  // nullopt if `may_be_unavailable`, and it is.
  std::optional<Contents> ContentsOf(const View& view, bool may_be_unavailable) {
    Contents contents;
    const lsm::EpochGuard guard;
    const auto add = [&](lsm::KeyspaceId id, const std::string& name) {
      const absl::Status status = AddContents(view, id, name, &contents);
      const bool is_expected = may_be_unavailable && absl::IsUnavailable(status);
      if (!status.ok() && !is_expected) Find(Concat("a lookup fails: ", status.ToString()));
      return !is_expected;
    };
    if (!add(lsm::kDefaultKeyspace, kFollowedDefault)) return std::nullopt;
    for (const auto& [id, record] : view.keyspaces->all()) {
      contents[IdKeyOf(record.name)] = std::to_string(id);
      if (!add(id, record.name)) return std::nullopt;
    }
    return contents;
  }
  absl::Status AddContents(const View& view, lsm::KeyspaceId id, const std::string& name,
                           Contents* contents) {
    const lsm::Tree* const tree = view.version->TreeWith(id);
    const bool is_common = tree != nullptr && tree->is_common();
    for (size_t i = 0; i < kKeys; ++i) {
      const std::string key = Concat("key", i);
      const bloom::DigestSeed& seed = *context_.digest_seed;
      lsm::KeyLookup lookup = is_common ? lsm::KeyLookup(id, key, view.sequence, seed)
                                        : lsm::KeyLookup(key, view.sequence, seed);
      lsm::MemtableAnswer answer = lsm::MemtableAnswer::kAbsent;
      std::string_view value;
      for (const auto& memtable : view.memtables) {
        if (answer != lsm::MemtableAnswer::kAbsent) break;
        answer = memtable->Get(id, lookup.key, &value);
        const lsm::RangeList* const ranges = memtable->RangesOf(id);
        if (answer == lsm::MemtableAnswer::kAbsent && ranges != nullptr &&
            ranges->NewestAt(lookup.key.memtable_key(), view.sequence) > 0)
          answer = lsm::MemtableAnswer::kRangeDeleted;
      }
      if (answer == lsm::MemtableAnswer::kFound) (*contents)[KeyIn(name, key)] = value;
      if (answer != lsm::MemtableAnswer::kAbsent || tree == nullptr) continue;
      tree->Get(&lookup, {}, lsm::Counters::Here(&counters_));
      TRELLIS_RETURN_IF_ERROR(lookup.status);
      if (lookup.result.answer == lsm::TableAnswer::kFound)
        (*contents)[KeyIn(name, key)] = lookup.result.value;
    }
    return absl::OkStatus();
  }
  // Exactly the first writes of a history that the store had since the refresh began.
  void CheckContents(const View& view, const Contents& contents, size_t first_era) {
    std::string wrong = "the view ends within a batch, or beyond the last write";
    for (size_t era = first_era; era < eras_.size(); ++era) {
      if (!eras_[era].ends.contains(view.sequence)) continue;
      if (eras_[era].At(view.sequence) == contents) return;
      wrong = "the view does not hold exactly the writes up to its number";
    }
    Find(Concat(wrong, ": ", view.sequence));
  }
  void CheckForward(const View& view, bool is_certain) {
    if (view.sequence < last_.sequence && !view.went_back)
      return Find(Concat("the view went back without a word, from ", last_.sequence, " to ",
                         view.sequence));
    if (!is_certain) return;
    if (view.went_back && era_began_at_ >= last_.sequence)
      return Find("a view is said to have gone back, but did not");
    if (!view.went_back && era_began_at_ < last_.sequence && openings_ == openings_seen_ + 1)
      return Find("the view went back, and nothing says so");
    if (view.went_back && view.went_back->to > last_.sequence)
      Find("a view is said to have gone back to a later number");
  }
  // A memtable whose log was flushed would stay for ever.
  void CheckMemtables(const View& view) {
    uint64_t entries = 0, largest = 0;
    for (const auto& memtable : view.memtables) entries += memtable->entry_count();
    for (const auto& level : view.version->Levels()) {
      for (const auto& table : level) largest = std::max(largest, table->table->sequences().second);
    }
    if (entries + largest > view.sequence)
      Find(Concat("the memtables have ", entries, " entries of ", view.sequence,
                  ", and the tables have those up to ", largest));
  }
  void CheckKeptViews() {
    for (const KeptView& kept : kept_) {
      const std::optional<Contents> contents = ContentsOf(kept.view, kept.may_be_unavailable);
      if (contents && *contents != kept.contents) Find("an old view has changed");
    }
  }
  void LoseKeptViews() {
    for (KeptView& kept : kept_) kept.may_be_unavailable = true;
  }
  // The follower does not renew its pins, so the writer removes them.
  void LapsePins() {
    if (machine_->LapsePins()) LoseKeptViews();
  }
  // Without a follower, the store keeps nothing for one.
  void EndFollower() {
    if (!finding_.empty()) return;
    follower_ = nullptr;
    last_ = {};
    kept_.clear();
    db_->Close().IgnoreError();
    db_ = nullptr;
    BeginNextWriter();
    Open();
    machine_->Renew();
    if (const std::string leftover = machine_->Leftovers(kStore); !leftover.empty())
      Find(Concat("a removed table stays without a follower: ", leftover));
  }
  // The same as a user sees it: a snapshot sees nothing that came after it.
  void FollowAsDB() {
    if (!finding_.empty()) return;
    lsm::Options options = options_;
    options.mode = lsm::OpenMode::kFollow;
    options.environment = {machine_->follower_files(), nullptr, &clock_, nullptr, &random_};
    machine_->SetHooks({});
    const absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open(kStore, options);
    if (!db.ok()) return Find(Concat("a follower cannot be opened: ", db.status().ToString()));
    const std::unique_ptr<const lsm::Snapshot> snapshot = (*db)->GetSnapshot();
    lsm::ReadOptions at;
    at.snapshot = snapshot.get();
    const Contents before = ReadAll(**db, at);
    if (before != WithoutIds()) Find("the follower's contents are wrong");
    for (int i = 0; i < 5 && finding_.empty(); ++i) {
      Write(20);
      if (const absl::Status status = (*db)->Resume(); !status.ok())
        Find(Concat("a follower cannot be refreshed: ", status.ToString()));
      if (ReadAll(**db, at) != before) Find("a follower's snapshot sees later writes");
      if (ReadAll(**db, {}) != WithoutIds())
        Find("the follower does not see what was acknowledged");
    }
    if (finding_.empty()) DropBesideDB(**db);
  }
  // A handle reads until the view shows the drop.
  void DropBesideDB(lsm::DB& follower) {
    constexpr char kName[] = "dropped";
    ChangeKeyspace(kName);
    Must(follower.Resume(), "refresh the follower");
    const absl::StatusOr<lsm::Keyspace> keyspace = follower.OpenKeyspace(kName);
    if (!keyspace.ok()) return Find("a follower does not see a keyspace");
    ChangeKeyspace(kName);
    Must(follower.Resume(), "refresh the follower");
    if (!absl::IsFailedPrecondition(keyspace->Get("key").status()))
      Find("a follower's handle reads a keyspace whose drop its view shows");
    if (ReadAll(follower, {}) != WithoutIds()) Find("a follower shows a keyspace that was dropped");
  }
  // The acknowledged contents.
  Contents WithoutIds() {
    Contents contents = history().At(history().entries.size());
    for (auto& [key, value] : contents) {
      if (key.starts_with("#")) value = "";
    }
    return contents;
  }
  Contents ReadAll(lsm::DB& db, const lsm::ReadOptions& options) {
    Contents contents;
    const absl::StatusOr<std::vector<std::string>> names = db.ListKeyspaces();
    if (!names.ok()) Find(names.status().ToString());
    if (!names.ok()) return contents;
    for (const std::string& name : *names) {
      if (name != kFollowedDefault) contents[IdKeyOf(name)] = "";
      const absl::StatusOr<lsm::Keyspace> keyspace = db.OpenKeyspace(name);
      if (!keyspace.ok()) Find(keyspace.status().ToString());
      if (!keyspace.ok()) return contents;
      const std::unique_ptr<lsm::Iterator> iterator = keyspace->NewIterator(options);
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
        contents.emplace(KeyIn(name, iterator->key()), iterator->value());
      if (!iterator->status().ok()) Find(iterator->status().ToString());
    }
    return contents;
  }

  Dice dice_;
  Dice keyspaces_dice_;  // so that runs without them stay as they were
  const bool has_keyspaces_;
  const uint64_t at_;
  std::string finding_;
  const std::unique_ptr<FollowedMachine> machine_;
  testing_support::SeededRandom random_;
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  lsm::Options options_;

  Actor actor_ = Actor::kNone;
  uint64_t follower_operations_ = 0;
  uint64_t disturb_at_ = kNever;
  bool is_watching_ = false;
  size_t watched_in_ = 0;

  std::vector<History> eras_ = std::vector<History>(1);
  size_t acknowledged_ = 0, durable_ = 0;
  uint64_t openings_ = 0;  // which change CURRENT
  uint64_t restorations_ = 0;
  uint64_t writes_ = 0;
  uint64_t dies_in_ = kNever;  // operations
  bool is_changing_ = false;   // CURRENT may be replaced
  bool is_dead_ = false, dies_within_append_ = false, fails_sync_of_log_ = false;
  bool has_backup_ = false, is_missing_ = false;
  History backup_;

  lsm::Counters counters_;
  lsm::TableContext context_;
  std::unique_ptr<lsm::StoreFollower> follower_;
  bool has_begun_ = false;
  View last_;
  uint64_t openings_seen_ = 0;
  size_t era_began_at_ = SIZE_MAX;  // since the last view
  bool was_certain_ = true;         // nothing hid a change from the last refresh
  std::vector<KeptView> kept_;
  uint64_t views_ = 0;
  std::unique_ptr<lsm::DB> db_;
};

}  // namespace

FollowerReport FollowAtEachOperation(uint64_t seed, uint64_t interleavings_min) {
  FollowerReport report;
  // Those on objects take longer, and each seed has more of them.
  uint64_t on_files = 0, on_objects = 0;
  for (; on_files < interleavings_min && report.finding.empty(); ++seed) {
    uint64_t& count = seed % 2 == 0 ? on_files : on_objects;
    if (seed % 2 != 0 && on_objects > on_files / 2) continue;
    // First without a disturbance, to count the operations; then with one at each of them.
    uint64_t operations = 0;
    for (uint64_t at = kNever; at == kNever || at < operations; ++at) {
      Run run(seed, at);
      const uint64_t took = run.Go();
      if (at == kNever) operations = took;
      ++report.interleavings;
      ++count;
      report.views += run.views();
      report.writes += run.writes();
      if (!run.finding().empty()) {
        report.finding = Concat("seed ", seed, ": ", run.finding());
        break;
      }
    }
  }
  return report;
}

}  // namespace reliability
