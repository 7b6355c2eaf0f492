#include "tests/reliability/beyond/two_writers.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/file_system.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "lsm/threads/epoch.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::MemoryObjectPool;
using lsm::MemoryObjects;
using lsm::ObjectCall;
using Fate = MemoryObjectPool::Fate;
using testing_support::Dice;

constexpr char kStore[] = "/store";
// One in this many copies is taken over and written to.
constexpr uint64_t kTakenOverOneIn = 16;

// A thread that stops and goes on.  It and the thread that calls Run never run at the same time.
class Player {
 public:
  explicit Player(std::function<void()> body)
      : thread_([this, body = std::move(body)] {
          go_.acquire();
          body();
          is_done_ = true;
          stopped_.release();
        }) {}
  // Lets it run to its end.
  ~Player() {
    while (!is_done_) Run();
    thread_.join();
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Lets it run until it stops, or to its end.
  void Run() {
    if (is_done_) return;
    go_.release();
    stopped_.acquire();
  }
  // For its own thread.
  void Stop() {
    stopped_.release();
    go_.acquire();
  }

 private:
  std::binary_semaphore go_{0}, stopped_{0};  // order all accesses of the two threads
  bool is_done_ = false;
  std::thread thread_;  // last: it uses the others
};

// The fate of an operation of a writer.
struct Stop {
  enum class Answer { kGiven, kLost, kLate };
  uint64_t call = UINT64_MAX;
  bool after = false;
  Answer answer = Answer::kGiven;
  bool goes_on = true;  // else all later calls are refused
};

class Writer;

// The pool, the writes that were acknowledged, and what went wrong first.
struct Machine {
  bool has_two_indexes = false;  // one for the tables, one for the logs
  TwoWritersReport* report = nullptr;
  std::unordered_set<uint64_t>* met = nullptr;
  std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();
  std::set<std::string> acknowledged = {};
  uint64_t acknowledged_hash = 0;
  std::vector<Writer*> writers = {};

  void Find(const std::string& text) {
    if (report->finding.empty()) report->finding = text;
  }
  void NoteAcknowledged(const std::string& key) {
    acknowledged.insert(key);
    acknowledged_hash ^= std::hash<std::string>()(key);
    ++report->acknowledged;
  }
  // Looks at the state, unless it was met before.
  void Look();
};

lsm::Options SmallOptions(const Machine& machine, lsm::PoolClient& client, lsm::Clock* clock,
                          lsm::Scheduler* scheduler) {
  lsm::Options options;
  if (machine.has_two_indexes) options.log_directory = "/logs";
  options.write_buffer_bytes = 64 << 10;
  options.block_cache_bytes = 0;
  options.block_bytes = 256;
  options.reserve_bytes = 0;
  options.environment = {&client.files, nullptr, clock, scheduler, &client.random};
  return options;
}

class Writer {
 public:
  Writer(Machine* machine, char name, const lsm::PoolClientOptions& options)
      : machine_(*machine),
        name_(1, name),
        client_(machine->objects, name_, static_cast<uint64_t>(name), options),
        options_(SmallOptions(*machine, client_, &clock_, &scheduler_)) {
    machine->writers.push_back(this);
    SetHooks(nullptr, {});
  }

  MemoryObjectPool& pool() { return client_.pool; }
  bool is_open() const { return db_ != nullptr; }
  void Close() { db_ = nullptr; }

  // `player` (may be null) stops as told.
  void SetHooks(Player* player, const Stop& stop) {
    is_answered_ = stop.goes_on && stop.answer == Stop::Answer::kGiven;
    // Inside a guard, other stores could not free memory.
    const auto is_free = [] { return lsm::EpochDomain::SlotOfThisThread().depth == 0; };
    MemoryObjectPool::Hooks hooks;
    hooks.before = [=](ObjectCall, const std::string&, uint64_t now) {
      if (now > stop.call && !stop.goes_on) return Fate::kRefused;
      if (now != stop.call || stop.after) return Fate::kApplied;
      if (player != nullptr && is_free()) player->Stop();
      if (!stop.goes_on) return Fate::kRefused;
      return stop.answer == Stop::Answer::kLate ? Fate::kDelayed : Fate::kApplied;
    };
    hooks.after = [=, this](ObjectCall call, const std::string&, uint64_t now) {
      if (call == ObjectCall::kWrite && is_free()) machine_.Look();
      if (now != stop.call || !stop.after) return true;
      if (player != nullptr && is_free()) player->Stop();
      return stop.goes_on && stop.answer != Stop::Answer::kLost;
    };
    client_.pool.SetHooks(std::move(hooks));
  }

  // Opens the store after the lock of an earlier writer has expired.  `must`: nothing hinders it.
  void Open(bool must) {
    ExpireLocks(machine_.objects.get());
    absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open(kStore, options_);
    Note(db.status(), must ? "cannot open the store" : "");
    if (!db.ok()) {
      if (!must) CheckRefusal("cannot open the store", db.status());
      return;
    }
    db_ = *std::move(db);
    const std::unique_ptr<lsm::Iterator> iterator = db_->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
      found_.emplace(iterator->key());
    Note(iterator->status(), "");
    if (!iterator->status().ok()) return;  // a read was not answered
    turn_ = 0;
    if (!IsOwner()) return;
    for (const Writer* other : machine_.writers)
      turn_ = std::max(*turn_, other->turn_.value_or(0) + 1);
    for (const std::string& key : machine_.acknowledged) {
      if (!found_.contains(key))
        machine_.Find(Concat(name_, " does not find the acknowledged write ", key));
    }
  }
  void Work(bool must) {
    for (int i = 0; i < 10 && is_open(); ++i) {
      const std::string key = Concat(name_, next_key_++);
      const absl::Status status = db_->Put(key, std::string(40, 'v'), {.sync = i % 2 == 0});
      Note(status, must ? "cannot write, although it has the lock" : "");
      if (status.ok()) {
        CheckAcknowledged(key);
        machine_.NoteAcknowledged(key);
        own_.insert(key);
      } else {
        ++machine_.report->refused;
        if (!must) CheckRefusal("cannot write to the store", status);
      }
      if (i == 4) Note(db_->Flush(), "");
      if (i == 7) Note(db_->CompactRange(), "");
    }
  }
  // Its own writes are there, or it says that it cannot read.
  void ReadOwn() {
    for (const std::string& key : own_) {
      if (!is_open()) return;
      const absl::StatusOr<std::optional<std::string>> value = db_->Get(key);
      Note(value.status(), "");
      if (value.ok() && !value->has_value())
        machine_.Find(Concat(name_, " misses its own write ", key));
    }
  }

 private:
  // Whether no other process has taken over since this one opened the store.
  bool IsOwner() {
    MemoryObjectPool pool(machine_.objects);
    const absl::StatusOr<lsm::ObjectContents> index =
        pool.Read(lsm::IndexName(kStore), {.with_attributes = true});
    return index.ok() && index->attributes.at(lsm::kOwnerAttribute).ends_with(Concat(" ", name_));
  }
  // Writers that opened the store later have found what this one acknowledges now.
  void CheckAcknowledged(const std::string& key) {
    for (const Writer* other : machine_.writers) {
      if (turn_ && other->turn_ > turn_ && !other->found_.contains(key)) {
        machine_.Find(Concat(name_, " acknowledged the write ", key, ", which ", other->name_,
                             " had not found when it took over"));
      }
    }
  }
  // Only another owner may refuse a writer whose calls are answered.  (Between its two locks, a
  // candidate that stopped may do so, too.)
  void CheckRefusal(const std::string& what, const absl::Status& status) {
    if (is_answered_ && !machine_.has_two_indexes && IsOwner())
      machine_.Find(Concat(name_, " ", what, ", which it owns: ", lsm::MessageOf(status)));
  }
  // No process does anything but write, so nothing is damaged.
  void Note(const absl::Status& status, const std::string& must) {
    if (absl::IsDataLoss(status)) {
      machine_.Find(Concat(name_, " reports damage: ", lsm::MessageOf(status)));
    } else if (!status.ok() && !must.empty()) {
      machine_.Find(Concat(name_, " ", must, ": ", lsm::MessageOf(status)));
    }
  }

  Machine& machine_;
  const std::string name_;
  lsm::PoolClient client_;
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  lsm::Options options_;
  bool is_answered_ = true;
  int next_key_ = 0;
  // The owners' order.  0: another one took over at once.  nullopt: not known.
  std::optional<int> turn_;
  std::set<std::string> found_;  // when it opened the store
  std::set<std::string> own_;    // that it acknowledged
  std::unique_ptr<lsm::DB> db_;
};

void Machine::Look() {
  const uint64_t state = objects->Fingerprint() * 31 + acknowledged_hash;
  if (!report->finding.empty() || !met->insert(state).second) return;
  ++report->states;
  std::shared_ptr<MemoryObjects> copy = objects->Clone();
  lsm::PoolClient client(copy, "a reader", report->states);
  testing_support::ManualClock clock;
  testing_support::SingleThreadScheduler scheduler;
  lsm::Options options = SmallOptions(*this, client, &clock, &scheduler);
  const bool takes_over = report->states % kTakenOverOneIn == 0;
  if (takes_over) {
    ++report->take_overs;
    ExpireLocks(copy.get());
  } else {
    options.mode = lsm::OpenMode::kReadOnly;
  }
  const absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open(kStore, options);
  // Before the store is made, there is nothing to read.
  if (absl::IsNotFound(db.status()) && acknowledged.empty()) return;
  if (!db.ok()) return Find(Concat("a copy cannot be opened: ", lsm::MessageOf(db.status())));
  for (const std::string& key : acknowledged) {
    const absl::StatusOr<std::optional<std::string>> value = (*db)->Get(key);
    if (!value.ok() || !value->has_value())
      return Find(Concat("a copy does not have the acknowledged write ", key));
  }
  if (takes_over && !(*db)->Put("new", "value", {.sync = true}).ok())
    Find("the new owner of a copy cannot write");
}

// A schedule, by the number of its trial.
struct Schedule {
  bool is_new_store = false, has_two_indexes = false;
  Stop of_a, of_b;
  bool a_goes_on_first = false;
  lsm::PoolClientOptions a_client, b_client;
};

Stop StopAt(uint64_t call, Dice* dice) {
  Stop stop;
  stop.call = call;
  stop.after = dice->OneIn(2);
  const size_t answer = dice->Roll(6);
  if (answer == 0) stop.answer = Stop::Answer::kLost;
  if (answer == 1) stop.answer = Stop::Answer::kLate;
  if (stop.answer == Stop::Answer::kLost) stop.after = true;
  if (stop.answer == Stop::Answer::kLate) stop.after = false;
  stop.goes_on = !dice->OneIn(4);
  return stop;
}

lsm::PoolClientOptions ClientOptions(Dice* dice) {
  lsm::PoolClientOptions options;
  options.log_chunk_bytes = dice->OneIn(2) ? 128u : 1024u;
  options.table_chunk_bytes = 256;
  options.holds_started_writes = dice->OneIn(4);
  return options;
}

class Schedules {
 public:
  explicit Schedules(uint64_t seed) : seed_(seed) {
    for (const bool has_two_indexes : {false, true}) {
      TwoWritersReport report;
      std::unordered_set<uint64_t> met;
      Machine machine{has_two_indexes, &report, &met};
      Writer x(&machine, 'x', {.log_chunk_bytes = 128, .table_chunk_bytes = 256});
      x.Open(/*must=*/true);
      x.Work(/*must=*/true);
      x.Close();
      existing_[has_two_indexes] = machine.objects;
      acknowledged_ = machine.acknowledged;
      calls_ = std::max(calls_, x.pool().call_count());
    }
  }

  void Run(uint64_t number, TwoWritersReport* report, std::unordered_set<uint64_t>* met) {
    const Schedule schedule = Of(number);
    Machine machine{schedule.has_two_indexes, report, met};
    if (!schedule.is_new_store) {
      machine.objects = existing_[schedule.has_two_indexes]->Clone();
      for (const std::string& key : acknowledged_) machine.NoteAcknowledged(key);
    }
    Writer a(&machine, 'a', schedule.a_client), b(&machine, 'b', schedule.b_client),
        z(&machine, 'z', {.log_chunk_bytes = 128, .table_chunk_bytes = 256});
    {
      const auto body = [](Writer* writer) {
        writer->Open(/*must=*/false);
        writer->Work(/*must=*/false);
      };
      Player play_a([&] { body(&a); }), play_b([&] { body(&b); });
      a.SetHooks(&play_a, schedule.of_a);
      b.SetHooks(&play_b, schedule.of_b);
      play_a.Run();
      play_b.Run();
      a.pool().DeliverDelayed();
      machine.Look();
      (schedule.a_goes_on_first ? play_a : play_b).Run();
    }
    // Those that were stopped for ever stay so.
    a.SetHooks(nullptr, schedule.of_a);
    b.SetHooks(nullptr, schedule.of_b);
    a.Work(/*must=*/false);
    b.Work(/*must=*/false);
    a.pool().DeliverDelayed();
    b.pool().DeliverDelayed();
    machine.Look();
    z.Open(/*must=*/true);
    z.Work(/*must=*/true);
    a.ReadOwn();
    b.ReadOwn();
    a.Close();
    b.Close();
    const absl::Status collected = CollectGarbage(z.pool()).status();
    if (!collected.ok()) machine.Find(Concat("garbage: ", lsm::MessageOf(collected)));
    machine.Look();
    z.ReadOwn();
    ++report->schedules;
    ++report->take_overs;
    report->pairs = pairs_.size();
    report->pairs_max = calls_ * calls_;
    if (!report->finding.empty())
      report->finding = Concat("schedule ", seed_ + number, ": ", report->finding);
  }

 private:
  // Each pair of operations once before any comes again, and the pairs of neighbours far apart.
  Schedule Of(uint64_t number) {
    const uint64_t pairs_max = calls_ * calls_;
    const uint64_t pair = (seed_ + number) * 7'919 % pairs_max;
    pairs_.insert(pair);
    Dice dice(seed_ + number);
    Schedule schedule;
    schedule.is_new_store = dice.OneIn(2);
    schedule.has_two_indexes = dice.OneIn(3);
    schedule.of_a = StopAt(pair / calls_, &dice);
    schedule.of_b = StopAt(pair % calls_, &dice);
    schedule.a_goes_on_first = dice.OneIn(2);
    schedule.a_client = ClientOptions(&dice);
    schedule.b_client = ClientOptions(&dice);
    return schedule;
  }

  const uint64_t seed_;
  std::shared_ptr<MemoryObjects> existing_[2];  // with a store; [1]: of two indexes
  std::set<std::string> acknowledged_;          // in it
  uint64_t calls_ = 0;                          // of a writer that is left alone
  std::unordered_set<uint64_t> pairs_;
};

}  // namespace

TwoWritersReport StopTwoWriters(uint64_t seed, uint64_t states_min) {
  TwoWritersReport report;
  std::unordered_set<uint64_t> met;
  Schedules schedules(seed);
  for (uint64_t number = 0; report.states < states_min && report.finding.empty(); ++number)
    schedules.Run(number, &report, &met);
  return report;
}

}  // namespace reliability
