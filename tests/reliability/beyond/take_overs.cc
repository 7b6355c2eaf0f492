#include "tests/reliability/beyond/take_overs.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::MemoryObjectPool;
using lsm::ObjectCall;
using Fate = MemoryObjectPool::Fate;
using testing_support::Dice;

constexpr char kStore[] = "/store";
constexpr char kCopy[] = "/copy";
constexpr size_t kCallsMax = 150;  // an opening and some work make about that many

// The writes that a process acknowledged, and what went wrong first.
struct Outcome {
  std::set<std::string> acknowledged;
  uint64_t refused = 0;
  std::string finding;

  void Find(const std::string& text) {
    if (finding.empty()) finding = text;
  }
};

class Process {
 public:
  Process(const std::shared_ptr<lsm::MemoryObjects>& objects, char name, Dice* dice,
          Outcome* outcome)
      : objects_(objects),
        name_(1, name),
        outcome_(*outcome),
        repeats_writes_(dice->OneIn(3)),
        client_(objects, name_, dice->Next(),
                {.log_chunk_bytes = dice->OneIn(2) ? 128u : 1024u,
                 .table_chunk_bytes = 256,
                 .repeats_writes = repeats_writes_}) {
    options_.write_buffer_bytes = 64 << 10;
    options_.block_cache_bytes = 0;
    options_.block_bytes = 256;
    options_.reserve_bytes = 0;
    options_.environment = {&client_.files, nullptr, &clock_, &scheduler_, &client_.random};
  }

  MemoryObjectPool& pool() { return client_.pool; }
  bool repeats_writes() const { return repeats_writes_; }
  lsm::DB* db() { return db_.get(); }
  void Close() { db_ = nullptr; }

  // Opens the store after the lock of an earlier writer has expired.  `must`: nothing hinders it.
  void Open(bool must) {
    ExpireLocks(objects_.get());
    absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open(kStore, options_);
    Note(db.status(), must ? "cannot open the store" : "");
    if (db.ok()) db_ = *std::move(db);
  }
  void Work(bool must) {
    for (int i = 0; i < 12 && db_ != nullptr; ++i) {
      const std::string key = Concat(name_, next_key_++);
      const absl::Status status = db_->Put(key, std::string(40, 'v'), {.sync = i % 2 == 0});
      Note(status, must ? "cannot write, although it has the lock" : "");
      if (status.ok()) outcome_.acknowledged.insert(key);
      if (!status.ok()) ++outcome_.refused;
      // Goes on with new files, unless another process has the store.
      if (absl::IsUnknown(status)) Note(db_->Resume(), "");
      if (i == 5) Note(db_->Flush(), "");
      if (i == 9) Note(db_->CompactRange(), "");
    }
  }
  // Each of the keys must be there.  `must`: else it may be unreadable, but not missing.
  void Read(const std::set<std::string>& keys, bool must) {
    for (const std::string& key : keys) {
      if (db_ == nullptr) return;
      const absl::StatusOr<std::optional<std::string>> value = db_->Get(key);
      Note(value.status(), must ? "cannot read" : "");
      if (must && value.ok() && !value->has_value())
        outcome_.Find(Concat(name_, " does not find the acknowledged write ", key));
    }
    if (db_ == nullptr) return;
    const std::unique_ptr<lsm::Iterator> iterator = db_->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    }
    Note(iterator->status(), must ? "cannot iterate" : "");
  }
  // Removes the first store, and looks for the keys in its copy.
  void ReadCopy(const std::set<std::string>& keys) {
    Close();
    Note(lsm::DB::Destroy(kStore, options_), "cannot destroy the store");
    absl::StatusOr<std::unique_ptr<lsm::DB>> copy = lsm::DB::Open(kCopy, options_);
    Note(copy.status(), "cannot open the copy");
    if (!copy.ok()) return;
    db_ = *std::move(copy);
    Read(keys, /*must=*/true);
  }
  // No process does anything but write, so nothing is damaged.
  void Note(const absl::Status& status, const std::string& must) {
    if (absl::IsDataLoss(status)) {
      outcome_.Find(Concat(name_, " reports damage: ", lsm::MessageOf(status)));
    } else if (!status.ok() && !must.empty()) {
      outcome_.Find(Concat(name_, " ", must, ": ", lsm::MessageOf(status)));
    }
  }

 private:
  const std::shared_ptr<lsm::MemoryObjects> objects_;
  const std::string name_;
  Outcome& outcome_;
  const bool repeats_writes_;
  lsm::PoolClient client_;
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  lsm::Options options_;
  int next_key_ = 0;
  std::unique_ptr<lsm::DB> db_;
};

// Each file that the store's directory names is whole.  No process is in a call.
void CheckNames(const std::shared_ptr<lsm::MemoryObjects>& objects, Outcome* outcome) {
  lsm::PoolClient reader(objects, "a reader", 0);
  const absl::StatusOr<std::unique_ptr<lsm::Directory>> directory =
      reader.files.OpenDirectory(kStore, /*create=*/false);
  if (!directory.ok()) return;  // not yet made
  const absl::StatusOr<std::vector<std::string>> names = (*directory)->List();
  if (!names.ok()) return outcome->Find(Concat("cannot list: ", lsm::MessageOf(names.status())));
  for (const std::string& name : *names) {
    const absl::StatusOr<std::unique_ptr<lsm::ReadFile>> file =
        (*directory)->OpenRead(name, lsm::ReadMode::kBuffered);
    absl::Status status = file.status();
    if (status.ok()) status = (*file)->Size().status();
    char byte = 0;
    if (status.ok()) status = (*file)->ReadAt(0, {&byte, 1}).status();
    if (!status.ok()) outcome->Find(Concat("a file is not whole: ", lsm::MessageOf(status)));
  }
}

// The call with this number is not answered, and applied later.  `of_index`: the next change of an
// index instead.
void DelayAt(MemoryObjectPool* pool, uint64_t number, bool of_index) {
  const auto is_next = std::make_shared<bool>(true);
  MemoryObjectPool::Hooks hooks;
  hooks.before = [=](ObjectCall call, const std::string& object, uint64_t now) {
    const bool changes_index = call == ObjectCall::kWrite && object.starts_with("index:");
    const bool is_it = of_index ? now >= number && changes_index : now == number;
    return is_it && std::exchange(*is_next, false) ? Fate::kDelayed : Fate::kApplied;
  };
  pool->SetHooks(std::move(hooks));
}

// At a random call the process is paused while `meanwhile` runs, or the call is not answered.
void Disturb(Process* process, Dice* dice, const std::function<void()>& meanwhile) {
  MemoryObjectPool* const pool = &process->pool();
  const uint64_t number = pool->call_count() + dice->Roll(kCallsMax);
  // A repetition is not delayed: it could name a log again whose chunks have been removed.
  switch (dice->Roll(process->repeats_writes() ? 5 : 6)) {
    case 0:
    case 1:
    case 2:
    case 3:
      PauseAt(pool, number, /*after=*/dice->OneIn(2), meanwhile);
      return;
    case 4:
      pool->SetHooks(
          {nullptr, [=](ObjectCall, const std::string&, uint64_t now) { return now != number; }});
      return;
    default:
      DelayAt(pool, number, /*of_index=*/dice->OneIn(2));
  }
}

// A writes; B takes over; at a random moment of A or of B, C takes over.  In the end Z does.
Outcome Trial(uint64_t seed) {
  Dice dice(seed);
  Outcome outcome;
  const auto objects = std::make_shared<lsm::MemoryObjects>();
  Process a(objects, 'a', &dice, &outcome), b(objects, 'b', &dice, &outcome),
      c(objects, 'c', &dice, &outcome), z(objects, 'z', &dice, &outcome);
  const bool copies = dice.OneIn(4);
  bool has_c = false;
  const auto c_takes_over = [&] {
    has_c = true;
    const std::set<std::string> until_now = outcome.acknowledged;
    c.Open(/*must=*/true);
    c.Read(until_now, /*must=*/true);
    c.Work(/*must=*/true);
  };
  const bool disturbs_a = dice.OneIn(2);
  if (disturbs_a) Disturb(&a, &dice, c_takes_over);
  a.Open(/*must=*/false);
  a.Work(/*must=*/false);
  if (dice.OneIn(2)) {
    a.pool().DeliverDelayed();
    CheckNames(objects, &outcome);
  }
  const std::set<std::string> copied = outcome.acknowledged;
  const bool has_copy = copies && !has_c && a.db() != nullptr && a.db()->Checkpoint(kCopy).ok();
  if (!has_c || dice.OneIn(2)) {
    const bool is_disturbed = !disturbs_a;
    // While B opens the store, A goes on, or C is faster.
    const bool a_goes_on = is_disturbed && dice.OneIn(2);
    if (a_goes_on) {
      PauseAt(&b.pool(), b.pool().call_count() + dice.Roll(kCallsMax / 5), dice.OneIn(2),
              [&] { a.Work(/*must=*/false); });
    } else if (is_disturbed) {
      Disturb(&b, &dice, c_takes_over);
    }
    has_c = false;
    b.Open(/*must=*/!is_disturbed || a_goes_on);
    b.Work(/*must=*/!is_disturbed || a_goes_on);
  }
  a.Work(/*must=*/false);
  a.Read(outcome.acknowledged, /*must=*/false);
  b.Work(/*must=*/false);
  // C is the last one that got the lock, so none of them may hinder it.
  if (has_c) c.Work(/*must=*/true);
  a.pool().DeliverDelayed();
  b.pool().DeliverDelayed();
  if (has_c) c.Work(/*must=*/true);
  a.pool().SetHooks({});
  b.pool().SetHooks({});
  z.Open(/*must=*/true);
  z.Read(outcome.acknowledged, /*must=*/true);
  z.Work(/*must=*/true);
  for (Process* process : {&a, &b, &c}) {
    process->Read(outcome.acknowledged, /*must=*/false);
    process->Close();
  }
  z.Read(outcome.acknowledged, /*must=*/true);
  if (has_copy) z.ReadCopy(copied);
  return outcome;
}

}  // namespace

TakeOverReport TakeOverAtRandom(uint64_t seed, uint64_t take_overs_min) {
  TakeOverReport report;
  for (; report.take_overs < take_overs_min && report.finding.empty(); report.take_overs += 2) {
    const uint64_t trial = seed + report.take_overs / 2;
    const Outcome outcome = Trial(trial);
    report.acknowledged += outcome.acknowledged.size();
    report.refused += outcome.refused;
    if (!outcome.finding.empty()) report.finding = Concat("seed ", trial, ": ", outcome.finding);
  }
  return report;
}

}  // namespace reliability
