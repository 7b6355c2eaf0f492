// Random operations on a store and on a std::map, which must agree at every step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

constexpr int kSteps = testing_support::kIsSanitized ? 4000 : 8000;

struct Configuration {
  uint64_t seed;
  bool threads = false;   // the real scheduler
  bool overlaps = false;  // jobs begin and end within others
  std::string filter_kind = "blocked";
  double target_fpp = 0.01;
  FilterGoal filter_goal = {};
  Compression compression = Compression::kLz4;
  size_t block_bytes = 512;
  int restart_interval = 16;
  size_t cache_bytes = 64 << 10;
  int level0_tables = 4;
  size_t value_bytes_max = 400;
  size_t key_count = 400;
  CompactionStyle style = CompactionStyle::kLeveled;
};

void PrintTo(const Configuration& c, std::ostream* out) { *out << "seed " << c.seed; }

// A user's iterator, and what it walks over.
struct Walker {
  Contents contents;  // within the bounds
  std::string lower, upper;
  ReadOptions options;
  std::unique_ptr<Iterator> iterator;
  std::optional<Contents::const_iterator> at;  // nothing: not valid
};

class Trial {
 public:
  explicit Trial(const Configuration& configuration)
      : configuration_(configuration), world_(configuration.seed), dice_(configuration.seed * 77) {
    options_ = world_.SmallOptions();
    if (configuration.threads) options_.environment.scheduler = nullptr;
    if (configuration.overlaps) {
      options_.environment.scheduler = &overlapping_scheduler_;
      options_.environment.clock = &yielding_clock_;
    }
    options_.filter_kind = configuration.filter_kind;
    options_.target_fpp = configuration.target_fpp;
    options_.filter_goal = configuration.filter_goal;
    options_.compression = configuration.compression;
    options_.block_bytes = configuration.block_bytes;
    options_.block_restart_interval = configuration.restart_interval;
    options_.block_cache_bytes = configuration.cache_bytes;
    options_.level0_compaction_tables = configuration.level0_tables;
    options_.compaction_style = configuration.style;
    MakeKeys();
  }

  void Run() {
    Reopen();
    for (step_ = 0; step_ < kSteps; ++step_) {
      Step();
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "seed " << configuration_.seed << ", step " << step_;
        break;
      }
    }
    walkers_.clear();
    if (!testing::Test::HasFailure()) CheckAll();
    Account();
    // What a trial is for, as far as any can promise.
    EXPECT_GT(flushes_, 20u);
    EXPECT_GT(compactions_, 20u);
    EXPECT_GE(deepest_level_, 1);
    // A sanitized trial is short.
    const bool is_sure_to = configuration_.overlaps && !testing_support::kIsSanitized;
    EXPECT_GE(compactions_at_once_, is_sure_to ? 2u : 1u);
    std::printf("seed %llu: %d steps, %llu flushes, %llu compactions, %llu moves, levels to %d\n",
                static_cast<unsigned long long>(configuration_.seed), step_,
                static_cast<unsigned long long>(flushes_),
                static_cast<unsigned long long>(compactions_),
                static_cast<unsigned long long>(trivial_moves_), deepest_level_);
  }

 private:
  void MakeKeys() {
    keys_ = {
        "",         std::string(1, '\0'),   std::string(2, '\0'),   "\xff",
        "\xff\xff", std::string("a\0b", 3), std::string(2000, 'k'), std::string(2000, 'k') + "l"};
    while (keys_.size() < configuration_.key_count) {
      // Few different bytes, so that keys share beginnings and are beginnings of one another.
      std::string key = dice_.OneIn(2) ? "shared/prefix/" : "";
      const size_t length = 1 + dice_.Roll(8);
      for (size_t i = 0; i < length; ++i) key.push_back("abcxyz\x01\xfe"[dice_.Roll(8)]);
      keys_.push_back(std::move(key));
    }
  }

  const std::string& AnyKey() { return keys_[dice_.Roll(keys_.size())]; }
  // Often near a key that is there, or next to one.
  std::string AnyTarget() {
    std::string target = AnyKey();
    if (dice_.OneIn(4)) target.push_back('m');
    if (dice_.OneIn(4) && !target.empty()) target.pop_back();
    return target;
  }
  std::string AnyValue() {
    std::string value = Concat("v", step_, ":");
    const size_t length = dice_.OneIn(50) ? 9000 : dice_.Roll(configuration_.value_bytes_max);
    const char letter = static_cast<char>('a' + dice_.Roll(26));
    // Half of it compresses well.
    for (size_t i = 0; i < length; ++i)
      value.push_back(i % 2 == 0 ? letter : static_cast<char>(dice_.Roll(256)));
    if (dice_.OneIn(20)) value.clear();
    return value;
  }

  void Step() {
    const size_t roll = dice_.Roll(1000);
    if (roll < 300) return Put();
    if (roll < 400) return Delete();
    if (roll < 450) return WriteSeveral();
    if (roll < 700) return Get();
    if (roll < 720) return GetSeveral();
    if (roll < 800) return NewWalker();
    if (roll < 955) return Walk();
    if (roll < 970) return TakeOrReleaseSnapshot();
    if (roll < 985) return Flush();
    if (roll < 993) return Compact();
    if (roll < 996) return Reopen();
    if (roll < 997) return CheckAll();
    EXPECT_OK(db_->WaitForBackgroundWork());
  }

  WriteOptions AnyWriteOptions() { return {.sync = dice_.OneIn(10)}; }

  void Put() {
    const std::string& key = AnyKey();
    const std::string value = AnyValue();
    EXPECT_OK(db_->Put(key, value, AnyWriteOptions()));
    model_[key] = value;
  }
  void Delete() {
    const std::string& key = AnyKey();
    EXPECT_OK(db_->Delete(key, AnyWriteOptions()));
    model_.erase(key);
  }
  void WriteSeveral() {
    WriteBatch batch;
    for (size_t i = dice_.Roll(12); i > 0; --i) {
      const std::string& key = AnyKey();  // the same may come twice
      if (dice_.OneIn(3)) {
        batch.Delete(key);
        model_.erase(key);
      } else {
        const std::string value = AnyValue();
        batch.Put(key, value);
        model_[key] = value;
      }
    }
    EXPECT_OK(db_->Write(batch, AnyWriteOptions()));
  }

  // A snapshot's view or the newest.
  const Contents& AnyView(ReadOptions* options) {
    options->fill_cache = !dice_.OneIn(4);
    if (snapshots_.empty() || dice_.OneIn(2)) return model_;
    const auto& [snapshot, contents] = snapshots_[dice_.Roll(snapshots_.size())];
    options->snapshot = snapshot.get();
    return contents;
  }
  static std::optional<std::string> Find(const Contents& contents, const std::string& key) {
    const auto place = contents.find(key);
    return place == contents.end() ? std::nullopt : std::optional(place->second);
  }

  void Get() {
    ReadOptions options;
    const Contents& contents = AnyView(&options);
    const std::string key = dice_.OneIn(5) ? AnyTarget() : AnyKey();
    const std::optional<std::string> expected = Find(contents, key);
    if (dice_.OneIn(3)) {
      PinnedValue pinned;
      const absl::StatusOr<bool> found = db_->Get(key, &pinned, options);
      ASSERT_OK(found);
      ASSERT_EQ(*found, expected.has_value());
      if (*found) {
        ASSERT_EQ(pinned.view(), *expected);
      }
      return;
    }
    const absl::StatusOr<std::optional<std::string>> value = db_->Get(key, options);
    ASSERT_OK(value);
    ASSERT_EQ(*value, expected);
  }

  void GetSeveral() {
    ReadOptions options;
    const Contents& contents = AnyView(&options);
    std::vector<std::string> keys;
    for (size_t i = dice_.Roll(20); i > 0; --i) keys.push_back(AnyTarget());
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto values = db_->MultiGet(views, options);
    ASSERT_EQ(values.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_OK(values[i]);
      ASSERT_EQ(*values[i], Find(contents, keys[i]));
    }
  }

  void NewWalker() {
    if (walkers_.size() == 3) walkers_.erase(walkers_.begin() + static_cast<int>(dice_.Roll(3)));
    auto walker = std::make_unique<Walker>();
    walker->contents = AnyView(&walker->options);
    if (dice_.OneIn(3)) {
      walker->lower = AnyTarget();
      walker->options.lower_bound = walker->lower;
      walker->contents.erase(walker->contents.begin(), walker->contents.lower_bound(walker->lower));
    }
    if (dice_.OneIn(3)) {
      walker->upper = AnyTarget();
      walker->options.upper_bound = walker->upper;
      walker->contents.erase(walker->contents.lower_bound(walker->upper), walker->contents.end());
    }
    walker->iterator = db_->NewIterator(walker->options);
    ASSERT_FALSE(walker->iterator->Valid());
    walkers_.push_back(std::move(walker));
    Walk();
  }

  // Some moves of one of the iterators, however old it is.
  void Walk() {
    if (walkers_.empty()) return;
    Walker& walker = *walkers_[dice_.Roll(walkers_.size())];
    for (size_t i = 1 + dice_.Roll(15); i > 0 && !testing::Test::HasFailure(); --i) Move(&walker);
  }

  void Move(Walker* walker) {
    const Contents& contents = walker->contents;
    Iterator& iterator = *walker->iterator;
    const auto or_end = [&](Contents::const_iterator place) {
      walker->at = place == contents.end() ? std::nullopt : std::optional(place);
    };
    const auto or_none_before = [&](Contents::const_iterator behind) {
      walker->at = behind == contents.begin() ? std::nullopt : std::optional(std::prev(behind));
    };
    const size_t roll = dice_.Roll(12);
    const char* move = nullptr;
    if (walker->at && roll < 5) {
      move = "Next";
      iterator.Next();
      or_end(std::next(*walker->at));
    } else if (walker->at && roll < 9) {
      move = "Prev";
      iterator.Prev();
      or_none_before(*walker->at);
    } else if (roll == 9) {
      move = "SeekToFirst";
      iterator.SeekToFirst();
      or_end(contents.begin());
    } else if (roll == 10) {
      move = "SeekToLast";
      iterator.SeekToLast();
      or_none_before(contents.end());
    } else {
      const std::string target = AnyTarget();
      if (dice_.OneIn(2)) {
        move = "Seek";
        iterator.Seek(target);
        or_end(contents.lower_bound(target));
      } else {
        move = "SeekForPrev";
        iterator.SeekForPrev(target);
        or_none_before(contents.upper_bound(target));
      }
    }
    ASSERT_OK(iterator.status()) << move;
    ASSERT_EQ(iterator.Valid(), walker->at.has_value()) << move;
    if (!walker->at) return;
    ASSERT_EQ(iterator.key(), (*walker->at)->first) << move;
    ASSERT_EQ(iterator.value(), (*walker->at)->second) << move;
  }

  void TakeOrReleaseSnapshot() {
    if (!snapshots_.empty() && dice_.OneIn(2)) {
      const size_t which = dice_.Roll(snapshots_.size());
      // Iterators keep what they need; the options of theirs are not used again.
      snapshots_.erase(snapshots_.begin() + static_cast<int>(which));
    } else if (snapshots_.size() < 4) {
      snapshots_.emplace_back(db_->GetSnapshot(), model_);
    }
  }

  void Flush() { EXPECT_OK(db_->Flush()); }

  void Compact() {
    const std::string from = AnyTarget();
    const std::string to = AnyTarget();
    using Bound = std::optional<std::string_view>;
    EXPECT_OK(db_->CompactRange(dice_.OneIn(3) ? Bound() : Bound(from),
                                dice_.OneIn(3) ? Bound() : Bound(to)));
  }

  void Reopen() {
    walkers_.clear();
    snapshots_.clear();
    if (db_ != nullptr) Account();
    db_ = nullptr;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    db_ = *std::move(db);
  }

  void CheckAll() {
    const absl::StatusOr<Contents> contents = ReadAll(*db_);
    ASSERT_OK(contents);
    ASSERT_EQ(*contents, model_);
    for (const auto& [snapshot, expected] : snapshots_) {
      const absl::StatusOr<Contents> seen = ReadAll(*db_, {.snapshot = snapshot.get()});
      ASSERT_OK(seen);
      ASSERT_EQ(*seen, expected);
    }
    for (const std::string& key : keys_) {
      const absl::StatusOr<std::optional<std::string>> value = db_->Get(key);
      ASSERT_OK(value);
      ASSERT_EQ(*value, Find(model_, key));
    }
  }

  // Adds up what the store did since it was opened.
  void Account() {
    const Statistics statistics = db_->GetStatistics();
    flushes_ += statistics.flushes;
    compactions_ += statistics.compactions;
    trivial_moves_ += statistics.trivial_moves;
    compactions_at_once_ = std::max(compactions_at_once_, statistics.compactions_at_once);
    for (int i = 0; i < kLevels; ++i) {
      const LevelStatistics& level = statistics.levels[static_cast<size_t>(i)];
      if (level.tables > 0) deepest_level_ = std::max(deepest_level_, i);
      EXPECT_EQ(level.tables_considered,
                level.reads_avoided + level.useful_reads + level.wasted_reads);
      EXPECT_LE(level.false_positives, level.wasted_reads);
    }
  }

  const Configuration configuration_;
  World world_;
  testing_support::SingleThreadScheduler overlapping_scheduler_{3};
  testing_support::YieldingClock yielding_clock_{&overlapping_scheduler_};
  Options options_;
  Dice dice_;
  int step_ = 0;
  uint64_t flushes_ = 0, compactions_ = 0, trivial_moves_ = 0, compactions_at_once_ = 0;
  int deepest_level_ = 0;
  std::vector<std::string> keys_;
  Contents model_;
  std::unique_ptr<DB> db_;
  std::vector<std::pair<std::unique_ptr<const Snapshot>, Contents>> snapshots_;
  std::vector<std::unique_ptr<Walker>> walkers_;
};

class ModelTest : public testing::TestWithParam<Configuration> {};

TEST_P(ModelTest, TheStoreAgreesWithAMap) { Trial(GetParam()).Run(); }

std::vector<Configuration> Configurations() {
  constexpr Compression kNone = Compression::kNone;
  std::vector<Configuration> all = {
      {.seed = 1},
      {.seed = 2, .filter_kind = "standard"},
      {.seed = 3, .filter_kind = "none"},
      {.seed = 4, .target_fpp = 0.5},
      {.seed = 5, .target_fpp = 0.000001},
      {.seed = 6, .compression = kNone},
      {.seed = 7, .block_bytes = 256, .restart_interval = 1},
      {.seed = 8, .block_bytes = 256, .restart_interval = 1024},
      {.seed = 9, .block_bytes = 1 << 20},
      {.seed = 10, .cache_bytes = 0},
      {.seed = 11, .cache_bytes = 3000},
      {.seed = 12, .cache_bytes = 64 << 20},
      {.seed = 13, .level0_tables = 1},
      {.seed = 14, .level0_tables = 2, .value_bytes_max = 1500},
      {.seed = 15, .level0_tables = 12},
      {.seed = 16, .value_bytes_max = 10, .key_count = 30},
      {.seed = 17, .value_bytes_max = 2000, .key_count = 1000},
      {.seed = 18, .value_bytes_max = 100, .key_count = 10},
      {.seed = 19, .filter_kind = "standard", .compression = kNone, .cache_bytes = 0},
      {.seed = 20, .filter_kind = "none", .restart_interval = 2, .key_count = 2000},
      {.seed = 21, .filter_kind = "by-level", .key_count = 2000},
      {.seed = 22, .filter_kind = "ribbon", .target_fpp = 0.001, .key_count = 2000},
      {.seed = 23, .filter_kind = "fuse3", .target_fpp = 0.001, .key_count = 2000},
      {.seed = 24, .filter_kind = "split-block", .key_count = 1000},
      {.seed = 25, .filter_goal = FilterGoal::BitsPerKey(10), .key_count = 2000},
      {.seed = 26, .filter_kind = "by-level", .filter_goal = FilterGoal::BitsPerKey(6)},
      {.seed = 27, .filter_kind = "fuse4", .filter_goal = FilterGoal::Bytes(1500)},
      {.seed = 28, .filter_kind = "ribbon", .filter_goal = FilterGoal::WastedReads(0.3)},
      {.seed = 29, .level0_tables = 2, .style = CompactionStyle::kTiered},
      {.seed = 30, .level0_tables = 3, .key_count = 2000, .style = CompactionStyle::kTiered},
      {.seed = 31, .level0_tables = 1, .style = CompactionStyle::kLazyLeveled},
      {.seed = 32, .level0_tables = 2, .key_count = 2000, .style = CompactionStyle::kLazyLeveled},
      {.seed = 33,
       .filter_kind = "by-level",
       .filter_goal = FilterGoal::BitsPerKey(10),
       .level0_tables = 2,
       .style = CompactionStyle::kTiered},
      {.seed = 34,
       .filter_goal = FilterGoal::BitsPerKey(6),
       .level0_tables = 2,
       .key_count = 2000,
       .style = CompactionStyle::kLazyLeveled},
  };
  const size_t deterministic = all.size();
  for (size_t i = 0; i < deterministic; i += 3) {
    all.push_back(all[i]);
    all.back().seed += 100;
    all.back().threads = true;
    all.push_back(all[i]);
    all.back().seed += 200;
    all.back().overlaps = true;
    all.back().level0_tables = 1;  // much is due
    all.back().key_count = 2000;
    all.back().value_bytes_max = 600;
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(, ModelTest, testing::ValuesIn(Configurations()),
                         [](const testing::TestParamInfo<Configuration>& trial) {
                           return Concat("Seed", trial.param.seed,
                                         trial.param.threads    ? "Threads"
                                         : trial.param.overlaps ? "Overlaps"
                                                                : "");
                         });

}  // namespace
}  // namespace lsm
