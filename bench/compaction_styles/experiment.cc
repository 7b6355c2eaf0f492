#include "bench/compaction_styles/experiment.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "bench/experiment/progress.h"
#include "bench/report/page.h"
#include "bench/workload.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/seeded_random.h"
#include "lsm/memory_file_system.h"

namespace bench::styles {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kKeyBytes = 16;
constexpr uint64_t kEntriesPerBatch = 500;

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Sizes follow the number of keys, so that even few keys make several levels.  A flush makes one
// table of level 0, and level 1 holds as much as one compaction of level 0 moves down.
void ChooseShape(Results* results) {
  const Config& config = results->config;
  // Values compress to about half in the files.
  const uint64_t file_bytes = config.keys * (kKeyBytes + config.value_bytes) * 6 / 10;
  results->flush_entries = std::max<uint64_t>(1, config.keys / config.flushes);
  results->level1_bytes = std::clamp<uint64_t>(
      file_bytes / config.flushes * static_cast<uint64_t>(config.runs), 64 * kKiB, kGiB);
  results->table_bytes = std::clamp<uint64_t>(file_bytes / 128, 64 * kKiB, 64 * kMiB);
}

std::string NameOfStore(lsm::CompactionStyle style, const lsm::FilterGoal& filter_goal) {
  return lsm::Concat(NameOf(style), filter_goal.is_none() ? "" : "-goal");
}

// One store.
class Trial {
 public:
  Trial(const Results& results, lsm::CompactionStyle style, const lsm::FilterGoal& filter_goal,
        Progress* progress)
      : results_(results),
        config_(results.config),
        progress_(*progress),
        name_(NameOfStore(style, filter_goal)),
        path_(lsm::Concat(config_.out, "/stores/", name_)),
        random_(StoreSeed(config_.seed, "store")),
        dice_(config_.seed),
        values_(static_cast<size_t>(config_.value_bytes)),
        versions_(static_cast<size_t>(config_.keys), 1) {
    result_.style = style;
    result_.filter_goal = filter_goal;
    options_.compaction_style = style;
    options_.filter_kind = config_.filter_kind;
    options_.target_fpp = config_.target_fpp;
    options_.filter_goal = filter_goal;
    options_.level0_compaction_tables = config_.runs;
    options_.level0_stop_tables = std::max(options_.level0_stop_tables, 5 * config_.runs);
    options_.table_bytes = results.table_bytes;
    options_.level1_bytes = results.level1_bytes;
    options_.block_cache_bytes = 0;
    // Never reached, because Flush is called earlier.
    const uint64_t flush_bytes =
        results.flush_entries * (kKeyBytes + config_.value_bytes + 128) + kMiB;
    options_.write_buffer_bytes =
        static_cast<size_t>(std::clamp<uint64_t>(2 * flush_bytes, 64 * kKiB, 4 * kGiB));
    options_.environment.random = &random_;
    if (!config_.on_disk) options_.environment.file_system = &files_;
  }

  absl::StatusOr<StyleResult> Run() {
    TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(path_, options_));
    options_.mode = lsm::OpenMode::kMustNotExist;
    TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(path_, options_));
    progress_.Announce(name_ + ": loads");
    for (const uint64_t key : Shuffled(config_.keys, config_.seed))
      TRELLIS_RETURN_IF_ERROR(Write(key));
    TRELLIS_RETURN_IF_ERROR(FlushAndWait());
    progress_.Announce(name_ + ": overwrites and looks up");
    const lsm::Statistics before = db_->GetStatistics();
    TRELLIS_RETURN_IF_ERROR(Overwrite());
    Account(before);
    return std::move(result_);
  }

  // Bytes of tables that hold each key once, measured on a copy.
  absl::StatusOr<uint64_t> CompactedBytes() {
    const std::string copy_path = path_ + "-compacted";
    TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(copy_path, options_));
    TRELLIS_RETURN_IF_ERROR(db_->Checkpoint(copy_path));
    lsm::Options options = options_;
    options.mode = lsm::OpenMode::kMustExist;
    uint64_t bytes = 0;
    {
      TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::DB> copy,
                               lsm::DB::Open(copy_path, options));
      TRELLIS_RETURN_IF_ERROR(copy->CompactRange());
      bytes = copy->GetStatistics().total.table_bytes;
    }
    TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(copy_path, options_));
    return bytes;
  }

 private:
  std::string KeyOf(uint64_t number) const { return SyntheticKey(number, config_.seed); }

  absl::Status Write(uint64_t number) {
    const std::string key = KeyOf(number);
    values_.Make(key, &value_, versions_[static_cast<size_t>(number)]);
    batch_.Put(key, value_);
    ++written_;
    const bool flushes = written_ % results_.flush_entries == 0;
    if (flushes || batch_.count() == kEntriesPerBatch) {
      TRELLIS_RETURN_IF_ERROR(db_->Write(batch_));
      batch_.Clear();
    }
    progress_.Advance(1);
    return flushes ? FlushAndWait() : absl::OkStatus();
  }

  absl::Status FlushAndWait() {
    TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    TRELLIS_RETURN_IF_ERROR(db_->Write(batch_));
    batch_.Clear();
    TRELLIS_RETURN_IF_ERROR(db_->Flush());
    TRELLIS_RETURN_IF_ERROR(db_->WaitForBackgroundWork());
    progress_.Show(name_);
    return absl::OkStatus();
  }

  absl::Status Overwrite() {
    const uint64_t flushes =
        std::max(config_.moments,
                 static_cast<uint64_t>(config_.overwrites * static_cast<double>(config_.keys)) /
                     results_.flush_entries);
    uint64_t moments = 0;
    written_ = 0;
    for (uint64_t flush = 1; flush <= flushes; ++flush) {
      for (uint64_t i = 0; i < results_.flush_entries; ++i) {
        const uint64_t number = dice_.Below(config_.keys);
        ++versions_[static_cast<size_t>(number)];
        TRELLIS_RETURN_IF_ERROR(Write(number));
      }
      result_.user_bytes += results_.flush_entries * (kKeyBytes + config_.value_bytes);
      if (flush * config_.moments / flushes == moments) continue;
      ++moments;
      TRELLIS_RETURN_IF_ERROR(Measure());
    }
    return absl::OkStatus();
  }

  absl::Status Measure() {
    const lsm::Statistics statistics = db_->GetStatistics();
    result_.table_bytes.push_back(statistics.total.table_bytes);
    result_.runs.push_back(statistics.total.runs);
    TRELLIS_RETURN_IF_ERROR(LookUp(/*present=*/true, &result_.present));
    TRELLIS_RETURN_IF_ERROR(LookUp(/*present=*/false, &result_.absent));
    return db_->WaitForBackgroundWork();  // read-triggered compactions too
  }

  absl::Status LookUp(bool present, Lookups* lookups) {
    const lsm::LevelStatistics before = db_->GetStatistics().total;
    for (uint64_t i = 0; i < config_.lookups; ++i) {
      // Numbers from config_.keys on belong to keys that are never written.
      const uint64_t number = dice_.Below(config_.keys) + (present ? 0 : config_.keys);
      const std::string key = KeyOf(number);
      TRELLIS_ASSIGN_OR_RETURN(const std::optional<std::string> value, db_->Get(key));
      const bool is_right =
          value.has_value() == present &&
          (!present || values_.Matches(key, *value, versions_[static_cast<size_t>(number)]));
      if (!is_right) return absl::DataLossError(lsm::Concat(path_, ": wrong answer for ", key));
    }
    const lsm::LevelStatistics counted = db_->GetStatistics().total.Since(before);
    lookups->count += config_.lookups;
    lookups->filters_asked += counted.tables_considered;
    lookups->blocks += counted.blocks_from_file + counted.blocks_from_cache;
    lookups->wasted_reads += counted.wasted_reads;
    return absl::OkStatus();
  }

  void Account(const lsm::Statistics& before) {
    const lsm::Statistics after = db_->GetStatistics();
    result_.log_bytes = after.log_bytes_written - before.log_bytes_written;
    result_.flush_bytes = after.flush_bytes_written - before.flush_bytes_written;
    result_.compaction_bytes = after.compaction_bytes_written - before.compaction_bytes_written;
    result_.compactions = after.compactions - before.compactions;
    result_.moves = after.trivial_moves - before.trivial_moves;
    result_.seconds = static_cast<double>(after.flush_nanos - before.flush_nanos +
                                          after.compaction_nanos - before.compaction_nanos) /
                      1e9;
    result_.last = after;
  }

  const Results& results_;
  const Config& config_;
  Progress& progress_;
  const std::string name_;
  const std::string path_;
  lsm::MemoryFileSystem files_;
  lsm::SeededRandom random_;
  SplitMix dice_;
  const ValueMaker values_;
  lsm::Options options_;
  std::unique_ptr<lsm::DB> db_;
  std::vector<uint32_t> versions_;  // of each key
  uint64_t written_ = 0;
  lsm::WriteBatch batch_;
  std::string value_;
  StyleResult result_;
};

// Adds the results of all stores: for each style first without, then with a filter goal.
absl::Status RunTrials(Results* results, Progress* progress) {
  const Config& config = results->config;
  for (const bool with_goal : {false, true}) {
    lsm::FilterGoal goal;
    if (with_goal) {
      const double bits =
          config.goal_bits > 0 ? config.goal_bits : results->styles[0].filter_bits_per_key();
      if (bits == 0) break;
      goal = lsm::FilterGoal::BitsPerKey(bits);
    }
    for (const lsm::CompactionStyle style : config.styles) {
      Trial trial(*results, style, goal, progress);
      TRELLIS_ASSIGN_OR_RETURN(StyleResult result, trial.Run());
      // All stores hold the same data, so the first one is enough.
      if (results->styles.empty()) {
        TRELLIS_ASSIGN_OR_RETURN(results->compacted_bytes, trial.CompactedBytes());
      }
      results->styles.push_back(std::move(result));
    }
  }
  return absl::OkStatus();
}

}  // namespace

double Lookups::PerLookup(uint64_t Lookups::*field) const { return Ratio(this->*field, count); }

std::string StyleResult::name() const { return NameOfStore(style, filter_goal); }
double StyleResult::write_amplification() const {
  return Ratio(flush_bytes + compaction_bytes, user_bytes);
}
double StyleResult::write_amplification_with_log() const {
  return Ratio(log_bytes + flush_bytes + compaction_bytes, user_bytes);
}
double StyleResult::filter_bits_per_key() const {
  return 8 * Ratio(last.total.filter_bytes, last.total.keys);
}

double Results::SpaceMean(const StyleResult& style) const {
  const uint64_t sum =
      std::accumulate(style.table_bytes.begin(), style.table_bytes.end(), uint64_t{0});
  return Ratio(sum, style.table_bytes.size() * compacted_bytes);
}
double Results::SpaceMost(const StyleResult& style) const {
  if (style.table_bytes.empty()) return 0;
  return Ratio(*std::max_element(style.table_bytes.begin(), style.table_bytes.end()),
               compacted_bytes);
}

absl::StatusOr<Results> CompareStyles(const Config& config) {
  Results results;
  results.config = config;
  ChooseShape(&results);
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(config.out + (config.on_disk ? "/stores" : "")));
  results.conditions = DescribeMachine(config.out);
  results.conditions.push_back({"Store", lsm::BuildInfo()});
  Progress progress(static_cast<double>(config.keys) * (1 + config.overwrites) *
                    static_cast<double>(2 * config.styles.size()));
  const absl::Status status = RunTrials(&results, &progress);
  results.interrupted = absl::IsCancelled(status) && !results.styles.empty();
  if (!results.interrupted) TRELLIS_RETURN_IF_ERROR(status);
  results.seconds = progress.elapsed_seconds();
  return results;
}

}  // namespace bench::styles
