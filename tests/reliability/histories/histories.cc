#include "tests/reliability/histories/histories.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/keyspaces/own_trees.h"
#include "tests/reliability/histories/history_caller.h"
#include "tests/reliability/histories/linearizability.h"
#include "tests/reliability/workload/styles.h"
#include "tests/reliability/workload/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::Dice;
using lsm::World;

// The number of successive histories that share the keys, one opening of the store, and the files.
constexpr uint64_t kWithSameKeys = 4, kUntilReopened = 8, kWithSameFiles = 32;

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
std::string KeepUp(Scene* scene, uint64_t seed, HistoryCaller* grower) {
  Dice dice(seed);
  absl::Status status;
  if (scene->calls_others && dice.OneIn(3)) grower->Grow();
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
      keyspaces_ = 2 + number / kWithSameFiles % 2;
      values_.assign(keyspaces_, kAbsent);
      SlowDown();
    }
    if (db_ == nullptr) TRELLIS_RETURN_IF_ERROR(Open(number / kUntilReopened));
    if (number % kWithSameKeys == 0) {
      key_count_ = 4 + Dice(seed_ + number).Roll(3);
      values_.resize(keyspaces_);  // their lives
      values_.resize(KeysOf(number).registers(), kAbsent);
    }
    return absl::OkStatus();
  }

  absl::Status Open(uint64_t opening) {
    lsm::Options options = world_->SmallOptions();
    options.environment.scheduler = nullptr;  // threads
    options.environment.clock = nullptr;
    options.level0_compaction_tables = 2;
    options.compaction_style = StyleOf(opening);
    options.level0_stop_tables = opening % 4 == 3 ? 4 : 200;  // mostly no delays
    options.block_cache_bytes = opening % 2 == 0 ? 16 << 10 : 0;
    // So large that only calls of Flush write memtables.  Their small tables are merged by the next
    // flush.
    if (opening % 5 >= 3) options.write_buffer_bytes = uint64_t{1} << (20 + opening / 5 % 3);
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(lsm::kStorePath, options));
    return opening % 5 % 2 == 0 ? absl::OkStatus() : MakeOwnTrees(options);
  }

  // Replaces all keyspaces by new ones with trees of their own.
  absl::Status MakeOwnTrees(const lsm::Options& options) {
    for (size_t keyspace = 1; keyspace <= keyspaces_; ++keyspace) {
      const std::string name = HistoryKeys::NameOf(keyspace);
      if (const absl::Status status = db_->DropKeyspace(name); !absl::IsNotFound(status))
        TRELLIS_RETURN_IF_ERROR(status);
      TRELLIS_RETURN_IF_ERROR(db_->OpenKeyspace(name).status());
    }
    TRELLIS_RETURN_IF_ERROR(db_->Flush());
    Close();
    TRELLIS_RETURN_IF_ERROR(lsm::GiveOwnTrees(
        *world_->files, lsm::kStorePath,
        [](const std::string& name) { return name != lsm::kDefaultKeyspaceName; }));
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(lsm::kStorePath, options));
    for (size_t keyspace = 1; keyspace <= keyspaces_; ++keyspace) {
      TRELLIS_ASSIGN_OR_RETURN(const lsm::Keyspace made,
                               db_->OpenKeyspace(HistoryKeys::NameOf(keyspace)));
      values_[keyspace - 1] = LifeOf(made);
    }
    return absl::OkStatus();
  }

  HistoryKeys KeysOf(uint64_t number) const {
    return HistoryKeys(number / kWithSameKeys, keyspaces_, key_count_);
  }

  // The finding, or empty.
  std::string Perform(uint64_t number) {
    if (const absl::Status status = Prepare(number); !status.ok())
      return Concat("cannot be opened: ", status.ToString());
    // Trees of their own last for a while.
    const bool drops_all = number % kUntilReopened >= kUntilReopened / 2;
    // The others call "default" alone, and so meet there more often.
    const bool calls_others = number % 2 == 1;
    Scene scene{db_.get(), KeysOf(number), calls_others, drops_all ? 1 : keyspaces_};
    const uint64_t seed = (seed_ << 32) + number * 8;
    std::vector<std::unique_ptr<HistoryCaller>> callers;
    for (int thread = 0; thread <= kCallers; ++thread) {
      callers.push_back(std::make_unique<HistoryCaller>(
          &scene, (seed + static_cast<uint64_t>(thread)) * 0xd1342543de82ef95, number, thread));
    }
    std::string problem;
    {
      std::vector<std::thread> threads;
      for (size_t i = 0; i < kCallers; ++i) threads.emplace_back([&, i] { callers[i]->Run(); });
      problem = KeepUp(&scene, seed + kCallers + 1, callers.back().get());
      for (std::thread& thread : threads) thread.join();
    }
    const std::vector<uint64_t> initial = std::exchange(values_, callers.back()->Finish());
    std::vector<TimedCall> calls;
    for (const auto& caller : callers) {
      if (problem.empty()) problem = caller->problem();
      calls.insert(calls.end(), caller->calls().begin(), caller->calls().end());
      report_.drops += caller->drops();
      report_.refusals += caller->refusals();
      report_.own_trees += caller->own_trees();
    }
    Count(calls);
    if (!problem.empty()) return problem;
    AddCreations(initial, &calls);
    problem = ProblemOf(calls, initial);
    return problem.empty() ? "" : Concat(problem, "    ", scene.keys.TextOfRegisters(), "\n");
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
  size_t keyspaces_ = 0, key_count_ = 0;
  std::vector<uint64_t> values_;  // of the registers
  HistoryReport report_;
};

}  // namespace

HistoryReport CheckHistories(uint64_t seed, uint64_t histories) {
  return Theatre(seed).Run(histories);
}

}  // namespace reliability
