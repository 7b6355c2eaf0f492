#include "tests/reliability/jobs/histories.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/workload/linearizability.h"
#include "tests/reliability/workload/styles.h"
#include "tests/reliability/workload/under_way.h"
#include "tests/support/sanitized.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::Dice;
using lsm::World;

constexpr int kThreads = 4;
constexpr uint64_t kCallsPerThread = 55;
// The number of successive histories that share the keys, one opening of the store, and the files.
constexpr uint64_t kWithSameKeys = 4, kUntilReopened = 8, kWithSameFiles = 32;

// The group of keys of a few histories.  Each group is separate, so that the contents under test
// stay small.
class Keys {
 public:
  Keys(uint64_t group, size_t count)
      : prefix_(Concat("group", group, "/")), behind_(Concat("group", group, "0")) {
    for (size_t i = 0; i < count; ++i) keys_.push_back(Concat(prefix_, "key", i));
  }
  size_t count() const { return keys_.size(); }
  const std::string& operator[](size_t i) const { return keys_[i]; }
  // The number of the key; count() if the key is not in the group.
  size_t NumberOf(std::string_view key) const {
    return static_cast<size_t>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin());
  }
  // A key between others of the group, which is never put.
  std::string Between(size_t i, size_t number) const { return Concat(keys_[i], "/", 100 + number); }
  // All keys of the group, and no others, lie in [from, to).
  const std::string& from() const { return prefix_; }
  const std::string& to() const { return behind_; }

 private:
  const std::string prefix_, behind_;
  std::vector<std::string> keys_;
};

// Most values are short.  Some are long, to fill memtables.
std::string ValueOf(uint64_t number) {
  const uint64_t mixed = number * 0x9e3779b97f4a7c15;
  const uint64_t kind = mixed >> 58;
  const size_t filling = kind == 0 ? 12'000 : kind < 6 ? 2'000 : static_cast<size_t>(kind);
  return Concat(number, ":", std::string(filling, static_cast<char>('a' + number % 26)));
}

class MomentCounter {
 public:
  uint64_t Next() { return moments_.fetch_add(1, kOrder) + 1; }

 private:
  // Sequentially consistent, so that the call happens between its two moments.  Relaxed under
  // ThreadSanitizer: otherwise it would assume an order between calls with ordered moments, and
  // would miss the store's races.  On x86, where ThreadSanitizer runs, both orders are a full
  // fence.
  static constexpr std::memory_order kOrder =
      testing_support::kIsSanitized ? std::memory_order_relaxed : std::memory_order_seq_cst;
  std::atomic<uint64_t> moments_{0};
};

// Shared by the threads of one history.
struct Scene {
  DB* db;
  Keys keys;
  MomentCounter moments{};
  std::barrier<> start{kThreads + 1};
  std::atomic<int> callers{kThreads};  // threads that are not done
};

// The calls of one thread.
class Caller {
 public:
  Caller(Scene* scene, uint64_t seed, uint64_t history, int thread)
      : scene_(*scene),
        keys_(scene->keys),
        thread_(thread),
        dice_(seed),
        next_value_((history * kThreads + static_cast<uint64_t>(thread)) * kValuesPerThread + 1) {}

  void Run() {
    scene_.start.arrive_and_wait();
    while (calls_.size() < kCallsPerThread) Call(/*depth=*/0);
    // Relaxed: a thread that reads 0 only ends.  The results are read after the thread was joined.
    scene_.callers.fetch_sub(1, std::memory_order_relaxed);
  }

  // Reads the final values.  Called by one thread after all others have ended.
  std::vector<uint64_t> Finish() {
    std::vector<size_t> all(keys_.count());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    MultiGetOf(all, {}, Begin("MultiGet at the end", TimedCall::kRead));
    const std::vector<KeyValue> entries = calls_.back().entries;
    Scan(/*depth=*/1, {});
    std::vector<uint64_t> values(keys_.count(), kAbsent);
    for (const KeyValue& entry : entries) values[entry.key] = entry.value;
    return values;
  }

  const std::vector<TimedCall>& calls() const { return calls_; }
  const std::string& problem() const { return problem_; }

 private:
  static constexpr uint64_t kValuesPerThread = 1000;  // more than a history's calls write

  // `depth`: the number of enclosing calls that hold a snapshot or an iterator.
  void Call(int depth) {
    const size_t roll = dice_.Roll(100);
    if (roll < 27) return Put();
    if (roll < 31) return Delete();
    if (roll < 35) return DeleteRange();
    if (roll < 50) return Batch();
    if (roll < 66) return Get();
    if (roll < 78) return MultiGetOf(SomeKeys(), {}, Begin("MultiGet", TimedCall::kRead));
    if (depth > 0) return;
    if (roll < 89) return AtSnapshot();
    Scan(depth, {});
  }

  TimedCall Begin(const char* name, TimedCall::Kind kind) {
    return {kind, name, thread_, scene_.moments.Next(), 0, {}};
  }
  void Return(TimedCall* call) { call->returned = scene_.moments.Next(); }
  void Fail(const std::string& what) {
    if (problem_.empty()) problem_ = Concat("thread ", thread_, ": ", what);
  }
  void FailUnlessOk(const char* what, const absl::Status& status) {
    if (!status.ok()) Fail(Concat(what, ": ", status.ToString()));
  }

  // --- writes ---

  void Put() {
    const size_t key = AnyKey();
    const uint64_t value = next_value_++;
    const std::string text = ValueOf(value);
    const lsm::WriteOptions options = Sync(8);
    TimedCall call = Begin("Put", TimedCall::kWrite);
    const absl::Status status = scene_.db->Put(keys_[key], text, options);
    Return(&call);
    call.entries = {{key, value}};
    NoteWrite(std::move(call), status);
  }

  void Delete() {
    const size_t key = AnyKey();
    const lsm::WriteOptions options = Sync(8);
    TimedCall call = Begin("Delete", TimedCall::kWrite);
    const absl::Status status = scene_.db->Delete(keys_[key], options);
    Return(&call);
    call.entries = {{key, kAbsent}};
    NoteWrite(std::move(call), status);
  }

  // One write of several keys.
  void DeleteRange() {
    const KeyRange range = AnyRange();
    const lsm::WriteOptions options = Sync(8);
    TimedCall call = Begin("DeleteRange", TimedCall::kWrite);
    const absl::Status status = scene_.db->DeleteRange(range.from, range.to, options);
    Return(&call);
    for (size_t key = range.first; key < range.end; ++key) call.entries.push_back({key, kAbsent});
    NoteWrite(std::move(call), status);
  }

  // The last of several changes to a key in a batch counts.
  void Batch() {
    lsm::WriteBatch batch;
    std::vector<std::optional<uint64_t>> left(keys_.count());
    for (size_t i = 2 + dice_.Roll(4); i > 0; --i) {
      if (dice_.OneIn(12)) {
        const KeyRange range = AnyRange();
        batch.DeleteRange(range.from, range.to);
        for (size_t key = range.first; key < range.end; ++key) left[key] = kAbsent;
        continue;
      }
      const size_t key = AnyKey();
      left[key] = dice_.OneIn(6) ? kAbsent : next_value_++;
      if (*left[key] == kAbsent) {
        batch.Delete(keys_[key]);
      } else {
        batch.Put(keys_[key], ValueOf(*left[key]));
      }
    }
    const lsm::WriteOptions options = Sync(6);
    TimedCall call = Begin("Write", TimedCall::kWrite);
    const absl::Status status = scene_.db->Write(batch, options);
    Return(&call);
    for (size_t key = 0; key < left.size(); ++key) {
      if (left[key]) call.entries.push_back({key, *left[key]});
    }
    NoteWrite(std::move(call), status);
  }

  lsm::WriteOptions Sync(size_t one_in) { return {.sync = dice_.OneIn(one_in)}; }

  void NoteWrite(TimedCall call, const absl::Status& status) {
    FailUnlessOk(call.name, status);
    calls_.push_back(std::move(call));
  }

  // --- reads ---

  void Get() {
    const size_t key = AnyKey();
    TimedCall call = Begin("Get", TimedCall::kRead);
    const std::optional<uint64_t> found = Found(key, {});
    Return(&call);
    if (found) call.entries = {{key, *found}};
    calls_.push_back(std::move(call));
  }

  // Looks up one key in a randomly chosen way.  Returns nullopt if the lookup fails.
  std::optional<uint64_t> Found(size_t key, const lsm::ReadOptions& options) {
    std::string text;
    lsm::PinnedValue pinned;
    absl::StatusOr<bool> found = false;
    switch (dice_.Roll(4)) {
      case 0:
        found = scene_.db->Get(keys_[key], &text, options);
        break;
      case 3: {
        const std::unique_ptr<lsm::Iterator> iterator = scene_.db->NewIterator(options);
        dice_.OneIn(2) ? iterator->Seek(keys_[key]) : iterator->SeekForPrev(keys_[key]);
        const bool is_there = iterator->Valid() && iterator->key() == keys_[key];
        if (is_there) text = iterator->value();
        found = iterator->status().ok() ? absl::StatusOr<bool>(is_there) : iterator->status();
        break;
      }
      case 1:
        found = scene_.db->Get(keys_[key], &pinned, options);
        if (dice_.OneIn(4)) std::this_thread::yield();  // a pinned value must stay valid
        if (found.ok() && *found) text = pinned.view();
        break;
      default: {
        absl::StatusOr<std::optional<std::string>> value = scene_.db->Get(keys_[key], options);
        found = value.status().ok() ? absl::StatusOr<bool>(value->has_value()) : value.status();
        if (found.ok() && *found) text = **std::move(value);
      }
    }
    FailUnlessOk("Get", found.status());
    if (!found.ok()) return std::nullopt;
    return *found ? ValueIn(text) : kAbsent;
  }

  // The number of an intact value.  For other values, reports a failure and returns a number that
  // no write uses.
  uint64_t ValueIn(std::string_view text) {
    uint64_t number = 0;
    for (const char c : text.substr(0, text.find(':')))
      number = 10 * number + static_cast<uint64_t>(c - '0');
    if (text != ValueOf(number)) Fail(Concat("a value that no call wrote: ", text.substr(0, 40)));
    return number;
  }

  void MultiGetOf(const std::vector<size_t>& numbers, const lsm::ReadOptions& options,
                  TimedCall call) {
    std::vector<std::string_view> names;
    for (const size_t key : numbers) names.push_back(keys_[key]);
    const auto values = scene_.db->MultiGet(names, options);
    // A read at a snapshot counts as returned when the snapshot was taken.
    if (call.returned == 0) Return(&call);
    for (size_t i = 0; i < numbers.size(); ++i) {
      FailUnlessOk("MultiGet", values[i].status());
      if (values[i].ok())
        call.entries.push_back({numbers[i], *values[i] ? ValueIn(**values[i]) : kAbsent});
    }
    calls_.push_back(std::move(call));
  }

  // Makes other calls while this thread holds a snapshot or an iterator.  The snapshot or iterator
  // must not show later writes, including the thread's own.
  void Meanwhile() {
    for (size_t i = dice_.Roll(dice_.OneIn(5) ? 15 : 4); i > 0; --i) Call(/*depth=*/1);
    if (dice_.OneIn(3)) std::this_thread::yield();
  }

  // Reads several keys at a snapshot.  Counts as one read at the moment of GetSnapshot.
  void AtSnapshot() {
    TimedCall call = Begin("reads at a snapshot", TimedCall::kRead);
    const std::unique_ptr<const lsm::Snapshot> snapshot = scene_.db->GetSnapshot();
    Return(&call);
    Meanwhile();
    const lsm::ReadOptions options{.snapshot = snapshot.get()};
    switch (dice_.Roll(4)) {
      case 0:
        call.name = "MultiGet at a snapshot";
        return MultiGetOf(SomeKeys(), options, std::move(call));
      case 1:
        return ScanOf(options, std::move(call), /*depth=*/1);
      default:
        for (const size_t key : SomeKeys()) {
          const std::optional<uint64_t> found = Found(key, options);
          if (found) call.entries.push_back({key, *found});
          if (dice_.OneIn(4)) std::this_thread::yield();
        }
        calls_.push_back(std::move(call));
    }
  }

  void Scan(int depth, const lsm::ReadOptions& options) {
    ScanOf(options, Begin("scan", TimedCall::kRead), depth);
  }

  // Reads all keys with an iterator.  Counts as one read at the moment of NewIterator, or of the
  // snapshot.
  void ScanOf(lsm::ReadOptions options, TimedCall call, int depth) {
    options.lower_bound = keys_.from();
    options.upper_bound = keys_.to();
    options.fill_cache = dice_.OneIn(2);
    const std::unique_ptr<lsm::Iterator> iterator = scene_.db->NewIterator(options);
    if (call.returned == 0) {
      Return(&call);
    } else {
      call.name = "scan at a snapshot";
    }
    if (depth == 0) Meanwhile();
    std::vector<uint64_t> values(keys_.count(), kAbsent);
    const auto take = [&] {
      const size_t key = keys_.NumberOf(iterator->key());
      if (key == keys_.count()) return Fail(Concat("a scan shows a key: ", iterator->key()));
      if (values[key] != kAbsent) return Fail(Concat("a scan shows twice: ", iterator->key()));
      values[key] = ValueIn(iterator->value());
    };
    if (dice_.OneIn(2)) {
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) take();
    } else {
      for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) take();
    }
    FailUnlessOk("a scan", iterator->status());
    for (size_t key = 0; key < values.size(); ++key) call.entries.push_back({key, values[key]});
    calls_.push_back(std::move(call));
  }

  // The keys [first, end), by their numbers, are in [from, to).
  struct KeyRange {
    size_t first = 0, end = 0;
    std::string from, to;
  };
  KeyRange AnyRange() {
    const size_t first = AnyKey(), end = first + 1 + dice_.Roll(keys_.count() - first);
    return {first, end, keys_[first], end == keys_.count() ? keys_.to() : keys_[end]};
  }

  size_t AnyKey() { return dice_.Roll(keys_.count()); }
  // Draws two or more keys, in any order.
  std::vector<size_t> SomeKeys() {
    std::vector<size_t> chosen(keys_.count());
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i;
    for (size_t i = 0; i + 1 < chosen.size(); ++i)
      std::swap(chosen[i], chosen[i + dice_.Roll(chosen.size() - i)]);
    chosen.resize(2 + dice_.Roll(chosen.size() - 1));
    return chosen;
  }

  Scene& scene_;
  const Keys& keys_;
  const int thread_;
  Dice dice_;
  uint64_t next_value_;
  std::vector<TimedCall> calls_;
  std::string problem_;
};

// Deletes many absent keys between those of the group.  So iterators meet known gaps, which contain
// the keys of the group while these are deleted.  Deletes them one by one, or by ranges.
absl::Status DeleteBetween(Scene* scene, bool by_ranges) {
  constexpr size_t kBetween = 34;  // more than a walk that records a gap
  lsm::WriteBatch batch;
  for (size_t key = 0; key < scene->keys.count(); ++key) {
    if (by_ranges)
      batch.DeleteRange(scene->keys.Between(key, 0), scene->keys.Between(key, kBetween));
    for (size_t i = 0; i < kBetween && !by_ranges; ++i) batch.Delete(scene->keys.Between(key, i));
  }
  return scene->db->Write(batch);
}

// Flushes and compacts until all callers are done.  Returns what went wrong, or an empty string.
std::string KeepUp(Scene* scene, uint64_t seed) {
  Dice dice(seed);
  absl::Status status;
  const bool has_gaps = dice.OneIn(2);
  if (has_gaps) status = DeleteBetween(scene, dice.OneIn(3));
  scene->start.arrive_and_wait();
  // Relaxed: the loop only waits for 0 and reads no other data.
  while (scene->callers.load(std::memory_order_relaxed) > 0 && status.ok()) {
    switch (dice.Roll(6)) {
      case 0:
        status = scene->db->CompactRange();
        break;
      case 1:
        status = scene->db->CompactRange(scene->keys.from(), scene->keys.to());
        break;
      case 2:
      case 3:
        status = scene->db->Flush();
        break;
      case 4:
        if (has_gaps) status = DeleteBetween(scene, dice.OneIn(3));
        break;
      default:
        std::this_thread::sleep_for(std::chrono::microseconds(dice.Roll(300)));
    }
  }
  return status.ok() ? "" : Concat("upkeep: ", status.ToString());
}

// Opens one store after another and runs histories on them.
class Theatre {
 public:
  explicit Theatre(uint64_t seed) : seed_(seed) {}

  HistoryReport Run(uint64_t histories) {
    while (report_.histories < histories && report_.finding.empty()) {
      SayUnderWay(Concat("history ", report_.histories));
      const uint64_t number = report_.histories;
      const std::string problem = Perform(number);
      ++report_.histories;
      if (!problem.empty())
        report_.finding = Concat("seed ", seed_, ", history ", number, ": ", problem);
    }
    Close();
    return report_;
  }

 private:
  void Close() {
    if (db_ == nullptr) return;
    const lsm::Statistics statistics = db_->GetStatistics();
    report_.flushes += statistics.flushes;
    report_.compactions += statistics.compactions;
    db_ = nullptr;
  }

  // Makes some file-system calls slow, as on a disk.  While one thread waits, the others go on.  So
  // calls of the store overlap in ways that would not occur with fast files in memory.
  void SlowDown() {
    world_->files->SetFault([dice = dice_](lsm::FileOperation, const std::string&, uint64_t) {
      const uint64_t roll = dice->Next() % 64;
      if (roll < 3) {
        std::this_thread::sleep_for(std::chrono::microseconds(10));
      } else if (roll < 16) {
        std::this_thread::yield();
      }
      return absl::OkStatus();
    });
  }

  absl::Status Prepare(uint64_t number) {
    if (number % kUntilReopened == 0) Close();
    if (number % kWithSameFiles == 0) {
      world_ = std::make_unique<World>(seed_ + number);
      SlowDown();
    }
    if (db_ == nullptr) {
      lsm::Options options = world_->SmallOptions();
      options.environment.scheduler = nullptr;  // threads
      options.environment.clock = nullptr;
      const uint64_t opening = number / kUntilReopened;
      options.level0_compaction_tables = 2;
      options.compaction_style = StyleOf(opening);
      options.level0_stop_tables = opening % 4 == 3 ? 4 : 200;  // mostly no delays
      options.block_cache_bytes = opening % 2 == 0 ? 16 << 10 : 0;
      TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(lsm::kStorePath, options));
    }
    if (number % kWithSameKeys == 0) values_.assign(4 + Dice(seed_ + number).Roll(3), kAbsent);
    return absl::OkStatus();
  }

  // The finding, or empty.
  std::string Perform(uint64_t number) {
    if (const absl::Status status = Prepare(number); !status.ok())
      return Concat("cannot be opened: ", status.ToString());
    Scene scene{db_.get(), Keys(number / kWithSameKeys, values_.size())};
    const uint64_t seed = (seed_ << 32) + number * 8;
    std::vector<std::unique_ptr<Caller>> callers;
    for (int thread = 0; thread <= kThreads; ++thread) {
      callers.push_back(std::make_unique<Caller>(
          &scene, (seed + static_cast<uint64_t>(thread)) * 0xd1342543de82ef95, number, thread));
    }
    std::string problem;
    {
      std::vector<std::thread> threads;
      for (size_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { callers[i]->Run(); });
      problem = KeepUp(&scene, seed + kThreads + 1);
      for (std::thread& thread : threads) thread.join();
    }
    const std::vector<uint64_t> initial = std::exchange(values_, callers.back()->Finish());
    std::vector<TimedCall> calls;
    for (const auto& caller : callers) {
      if (problem.empty()) problem = caller->problem();
      calls.insert(calls.end(), caller->calls().begin(), caller->calls().end());
    }
    Count(calls);
    return problem.empty() ? ProblemOf(calls, initial) : problem;
  }

  void Count(const std::vector<TimedCall>& calls) {
    report_.operations += calls.size();
    for (const TimedCall& call : calls) {
      report_.overlapping += std::any_of(calls.begin(), calls.end(), [&](const TimedCall& other) {
        return &other != &call && other.begun < call.returned && call.begun < other.returned;
      });
    }
  }

  std::string ProblemOf(const std::vector<TimedCall>& calls, const std::vector<uint64_t>& initial) {
    const Judgement judgement = Judge(calls, initial);
    report_.positions_max = std::max(report_.positions_max, judgement.positions);
    report_.undecided += judgement.verdict == Verdict::kUndecided;
    if (judgement.verdict != Verdict::kNotLinearizable) return "";
    const std::vector<TimedCall> essence = InOrder(Essence(calls, initial));
    std::string text = "no order explains this.  At first";
    for (size_t key = 0; key < initial.size(); ++key) {
      const bool matters =
          std::any_of(essence.begin(), essence.end(), [key](const TimedCall& call) {
            return std::any_of(call.entries.begin(), call.entries.end(),
                               [key](const KeyValue& entry) { return entry.key == key; });
          });
      if (matters)
        text += Concat(" k", key, " is ", initial[key] == kAbsent ? "-" : Concat(initial[key]));
    }
    for (const TimedCall& call : essence) text += Concat("; ", TextOf(call));
    text += Concat("\n  all of ", calls.size(), " calls:\n");
    for (const TimedCall& call : InOrder(calls)) text += Concat("    ", TextOf(call), "\n");
    return text;
  }

  static std::vector<TimedCall> InOrder(std::vector<TimedCall> calls) {
    std::sort(calls.begin(), calls.end(),
              [](const TimedCall& a, const TimedCall& b) { return a.begun < b.begun; });
    return calls;
  }

  const uint64_t seed_;
  // For delays.  Shared with the files, because threads of the store use these until the store is
  // closed.
  const std::shared_ptr<testing_support::SeededRandom> dice_ =
      std::make_shared<testing_support::SeededRandom>(seed_);
  std::unique_ptr<World> world_;
  std::unique_ptr<DB> db_;  // after the world, which outlives it
  std::vector<uint64_t> values_;
  HistoryReport report_;
};

}  // namespace

HistoryReport CheckHistories(uint64_t seed, uint64_t histories) {
  return Theatre(seed).Run(histories);
}

}  // namespace reliability
