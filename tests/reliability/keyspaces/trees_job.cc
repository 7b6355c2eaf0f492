#include "tests/reliability/keyspaces/trees_job.h"

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/filter_goal.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/write_batch.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;

constexpr uint64_t kKeysOfTree = 2'400;
constexpr size_t kValueBytes = 1'000;          // so a tree has more than the write buffer
constexpr size_t kWriteBufferBytes = 2 << 20;  // enough for two trees

class TreesTrial {
 public:
  TreesTrial(uint64_t seed, TreesReport* report)
      : dice_(seed), seed_(seed), random_(seed), report_(*report) {
    options_.write_buffer_bytes = kWriteBufferBytes;
    options_.block_cache_bytes = 16 << 20;
    options_.level1_bytes = 8 << 20;
    options_.reserve_bytes = 0;
    options_.level0_compaction_tables = 8;
    options_.compression = lsm::Compression::kNone;
    options_.filter_kind = dice_.OneIn(2) ? "standard" : "by-level";
    options_.filter_goal = lsm::FilterGoal::Bytes(budget_);
    options_.environment = {&files_, nullptr, &clock_, &scheduler_, &random_};
  }

  // Returns a finding, or an empty string.
  std::string Run() {
    Make();
    if (finding_.empty()) Adapt();
    if (finding_.empty()) PayForAMerge();
    if (finding_.empty()) CheckCounts("at the end");
    return finding_.empty() ? "" : Concat("seed ", seed_, ": ", finding_);
  }

 private:
  struct Tree {
    std::string name;
    lsm::Keyspace keyspace = {};
    uint64_t lookups = 0, writes = 0;  // that it must count
  };

  // Fills both keyspaces until they have left the common tree.
  void Make() {
    auto db = lsm::DB::Open("/store", options_);
    if (!db.ok()) return Find("the opening", db.status());
    db_ = *std::move(db);
    for (Tree& tree : trees_) {
      auto keyspace = db_->OpenKeyspace(tree.name);
      if (!keyspace.ok()) return Find("OpenKeyspace", keyspace.status());
      tree.keyspace = *std::move(keyspace);
      Fill(&tree);
    }
    Must("Flush", db_->Flush());
    for (size_t round = 0; round < trees_.size(); ++round) {
      for (Tree& tree : trees_) Must("Put", tree.keyspace.Put("0", "0"));
      Must("Flush", db_->Flush());
    }
    for (Tree& tree : trees_) {
      if (!tree.keyspace.GetStatistics().has_own_tree) Find(Concat(tree.name, " has not left"));
      // The second one left later.
      tree.writes = tree.keyspace.GetStatistics().writes;
    }
  }

  // The filters follow the lookups, within the budget.
  void Adapt() {
    Tree& hot = trees_[dice_.Roll(2)];
    Tree& cold = hot.name == trees_[0].name ? trees_[1] : trees_[0];
    Ask(&hot, 20'000);
    Ask(&cold, 200);
    CheckCounts("after lookups");
    for (int round = 0; round < 3; ++round) {
      for (Tree* const tree : {&hot, &cold}) {
        Fill(tree);
        Must("CompactRange", tree->keyspace.CompactRange());
      }
    }
    const uint64_t bytes = db_->GetStatistics().total.filter_bytes;
    if (bytes > budget_ * 102 / 100)
      Find(Concat("filters of ", bytes, " bytes, beyond the goal of ", budget_));
    const double more = BitsOf(hot) - BitsOf(cold);
    if (more < 3) Find(Concat("the filters of ", hot.name, " have only ", more, " bits more"));
    // The tables of a flush get what is left, together.
    for (Tree* const tree : {&hot, &cold}) {
      for (uint64_t i = 0; i < kKeysOfTree / 3; ++i) Put(tree, 3 * i);
    }
    Must("Flush", db_->Flush());
    const uint64_t flushed = db_->GetStatistics().total.filter_bytes;
    if (flushed > budget_ * 3 / 2)
      Find(Concat("filters of ", flushed, " bytes after a flush, beyond the goal of ", budget_));
    for (Tree* const tree : {&hot, &cold}) Must("CompactRange", tree->keyspace.CompactRange());
  }

  // Lookups of one tree pay for a merge of its level 0.
  void PayForAMerge() {
    Must("WaitForBackgroundWork", db_->WaitForBackgroundWork());
    for (int table = 0; table < 4; ++table) {
      // Larger than what flushes take along, a 64th of the write buffer.
      for (Tree& tree : trees_) {
        for (uint64_t i = 0; i < 40; ++i) Put(&tree, i * kKeysOfTree / 40);
        Put(&tree, kKeysOfTree - 1);
      }
      Must("Flush", db_->Flush());
    }
    Must("WaitForBackgroundWork", db_->WaitForBackgroundWork());
    Tree& payer = trees_[dice_.Roll(2)];
    Tree& other = payer.name == trees_[0].name ? trees_[1] : trees_[0];
    if (Level0Of(payer) != 4 || Level0Of(other) != 4) return Find("level 0 was merged before");
    // 1 MiB and the tables, for 4 bytes a table and a lookup; and some for the next look.
    Ask(&payer, 400'000);
    Must("WaitForBackgroundWork", db_->WaitForBackgroundWork());
    report_.merges += db_->GetStatistics().compactions_for_readers;
    if (Level0Of(payer) != 0) Find(Concat("readers of ", payer.name, " paid for no merge"));
    if (Level0Of(other) != 4) Find(Concat("readers of ", payer.name, " paid for another tree"));
  }

  void Fill(Tree* tree) {
    for (uint64_t i = 0; i < kKeysOfTree; ++i) Put(tree, i);
  }
  void Put(Tree* tree, uint64_t key) {
    const std::string value(kValueBytes, 'v');
    if (dice_.OneIn(2)) {
      Must("Put", tree->keyspace.Put(KeyAt(key), value));
    } else {
      lsm::WriteBatch batch;
      batch.Put(tree->keyspace, KeyAt(key), value);
      batch.Put("of default", "");
      Must("Write", db_->Write(batch));
    }
    ++tree->writes;
  }
  // Lookups of absent keys between those of the tree.
  void Ask(Tree* tree, uint64_t times) {
    for (uint64_t i = 0; i < times && finding_.empty(); ++i) {
      const auto value = tree->keyspace.Get(Concat(KeyAt(dice_.Roll(kKeysOfTree - 1)), "-", i));
      if (!value.ok()) Find("Get", value.status());
      if (value.ok() && *value) Find("Get found an absent key");
    }
    tree->lookups += times;
    report_.lookups += times;
  }
  static std::string KeyAt(uint64_t i) { return std::to_string(1'000'000 + i); }

  void CheckCounts(std::string_view when) {
    for (Tree& tree : trees_) {
      const lsm::KeyspaceStatistics now = tree.keyspace.GetStatistics();
      if (now.lookups == tree.lookups && now.writes == tree.writes) continue;
      Find(Concat(when, ", ", tree.name, " has ", now.lookups, " lookups and ", now.writes,
                  " writes, and not ", tree.lookups, " and ", tree.writes));
    }
  }
  static double BitsOf(const Tree& tree) {
    double bytes = 0, keys = 0;
    for (const lsm::LevelStatistics& level : tree.keyspace.GetStatistics().levels) {
      bytes += static_cast<double>(level.filter_bytes);
      keys += static_cast<double>(level.keys);
    }
    return 8 * bytes / keys;
  }
  static uint64_t Level0Of(const Tree& tree) {
    return tree.keyspace.GetStatistics().levels[0].tables;
  }

  void Must(std::string_view what, const absl::Status& status) {
    if (!status.ok()) Find(what, status);
  }
  void Find(std::string_view what, const absl::Status& status) {
    Find(Concat(what, ": ", status.ToString()));
  }
  void Find(std::string_view what) {
    if (finding_.empty()) finding_ = what;
  }

  testing_support::Dice dice_;
  const uint64_t seed_;
  const uint64_t budget_ = 2 * kKeysOfTree * (8 + dice_.Roll(4)) / 8;
  lsm::MemoryFileSystem files_;
  testing_support::SingleThreadScheduler scheduler_;
  testing_support::ManualClock clock_;
  testing_support::SeededRandom random_;
  TreesReport& report_;
  lsm::Options options_;
  std::unique_ptr<lsm::DB> db_;
  std::array<Tree, 2> trees_ = {Tree{"a"}, Tree{"b"}};
  std::string finding_;
};

}  // namespace

TreesReport CheckTrees(uint64_t seed, uint64_t stores) {
  TreesReport report;
  for (; report.stores < stores && report.finding.empty(); ++report.stores)
    report.finding = TreesTrial(seed++, &report).Run();
  return report;
}

}  // namespace reliability
