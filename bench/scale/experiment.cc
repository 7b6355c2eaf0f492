#include "bench/scale/experiment.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "bench/count.h"
#include "bench/experiment/progress.h"
#include "bench/machine.h"
#include "bench/report/page.h"
#include "bench/table.h"
#include "bench/workload.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/seeded_random.h"

namespace bench::scale {
namespace {

constexpr uint64_t kKeyBytes = 16;
constexpr uint64_t kEntriesPerBatch = 100;
// Numbers from here on belong to keys that are never written.
constexpr uint64_t kFirstAbsent = uint64_t{1} << 48;
// Estimates for the progress and the needed space.
constexpr double kFillSeconds = 6e-6;  // per key
constexpr double kCachedBytes = 1.25;  // in memory, per user byte
constexpr double kMemoryShare = 0.7;   // of the available memory, for the block cache
constexpr double kDiskBytes = 2;       // per user byte: tables, and the output of compactions

using SteadyClock = std::chrono::steady_clock;

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

class Growth {
 public:
  Growth(const Config& config, Progress* progress)
      : config_(config),
        progress_(*progress),
        path_(config.out + "/store"),
        random_(StoreSeed(config.seed, "scale")),
        dice_(config.seed),
        values_(static_cast<size_t>(config.value_bytes)) {
    options_.write_buffer_bytes = static_cast<size_t>(config.write_buffer_bytes);
    options_.level1_bytes = config.level1_bytes;
    options_.table_bytes = config.table_bytes;
    options_.target_fpp = config.target_fpp;
    options_.reserve_bytes = 0;  // it would count as bytes on disk
    options_.environment.random = &random_;
  }

  absl::Status Begin() {
    TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(path_, options_));
    return Open(options_.block_cache_bytes, lsm::OpenMode::kMustNotExist);
  }

  absl::StatusOr<Point> GrowTo(uint64_t keys) {
    TRELLIS_RETURN_IF_ERROR(Fill(keys));
    Say("opens");
    TRELLIS_RETURN_IF_ERROR(MeasureOpening(/*cold=*/false, &point_.warm_opening));
    TRELLIS_RETURN_IF_ERROR(MeasureOpening(/*cold=*/true, &point_.cold_opening));
    const uint64_t user_bytes = keys * (kKeyBytes + config_.value_bytes);
    Close();  // so that its cache does not count as memory of other programs
    const double wanted = kCachedBytes * static_cast<double>(user_bytes);
    point_.all.reset();
    if (wanted <= kMemoryShare * static_cast<double>(AvailableMemoryBytes())) {
      TRELLIS_RETURN_IF_ERROR(MeasureLookups("all cached", 4 * user_bytes + (uint64_t{64} << 20),
                                             &point_.all.emplace()));
    }
    point_.tenth = {};
    TRELLIS_RETURN_IF_ERROR(MeasureLookups("a tenth cached", user_bytes / 10, &point_.tenth));
    return point_;
  }

  absl::Status End() {
    Close();
    return config_.keep ? absl::OkStatus() : lsm::DB::Destroy(path_, options_);
  }

 private:
  absl::Status Open(uint64_t cache_bytes, lsm::OpenMode mode = lsm::OpenMode::kMustExist) {
    Close();
    options_.mode = mode;
    options_.block_cache_bytes = static_cast<size_t>(cache_bytes);
    TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(path_, options_));
    return absl::OkStatus();
  }

  // Adds the counts since opening to the sums.
  void Close() {
    if (db_ == nullptr) return;
    Count(db_->GetStatistics());
    db_.reset();
  }

  void Count(const lsm::Statistics& statistics) {
    point_.user_bytes += statistics.user_bytes_written;
    point_.log_bytes += statistics.log_bytes_written;
    point_.flush_bytes += statistics.flush_bytes_written;
    point_.compaction_bytes += statistics.compaction_bytes_written;
    point_.flushes += statistics.flushes;
    point_.compactions += statistics.compactions;
    point_.moves += statistics.trivial_moves;
  }

  void Say(const char* what) {
    progress_.Announce(lsm::Concat(ShortCount(point_.keys), " keys: ", what));
  }

  absl::Status Fill(uint64_t keys) {
    // Keeps all filters and indexes whole, as the laws assume: larger ones than the cache would be
    // partitioned.
    TRELLIS_RETURN_IF_ERROR(Open(std::max<uint64_t>(uint64_t{64} << 20, 8 * keys)));
    const uint64_t begin_keys = std::exchange(point_.keys, keys);
    Say("fills");
    const auto begin = SteadyClock::now();
    lsm::WriteBatch batch;
    std::string value;
    for (uint64_t number = begin_keys; number < keys; ++number) {
      const std::string key = SyntheticKey(number, config_.seed);
      values_.Make(key, &value);
      batch.Put(key, value);
      if (batch.count() < kEntriesPerBatch && number + 1 < keys) continue;
      TRELLIS_RETURN_IF_ERROR(db_->Write(batch));
      progress_.Advance(kFillSeconds * static_cast<double>(batch.count()));
      batch.Clear();
      if (number % (100 * kEntriesPerBatch) == kEntriesPerBatch - 1) {
        progress_.Show(lsm::Concat("fills: ", Short(static_cast<double>(number)), " keys"));
        TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
      }
    }
    // Flushes, because otherwise each opening would replay the log.
    TRELLIS_RETURN_IF_ERROR(db_->Flush());
    TRELLIS_RETURN_IF_ERROR(db_->WaitForBackgroundWork());
    point_.fill_seconds = SecondsSince(begin);
    point_.shape = db_->GetStatistics();
    Close();
    TRELLIS_ASSIGN_OR_RETURN(point_.stored_bytes, StoredBytes());
    return config_.CheckStop();
  }

  absl::StatusOr<uint64_t> StoredBytes() const {
    uint64_t bytes = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
      if (entry.is_regular_file(error)) bytes += entry.file_size(error);
    }
    if (error) return absl::UnavailableError(lsm::Concat(path_, ": ", error.message()));
    return bytes;
  }

  absl::Status MeasureOpening(bool cold, Openings* openings) {
    std::vector<double> millis;
    uint64_t read_bytes = 0, device_bytes = 0;
    for (int i = 0; i <= config_.openings; ++i) {
      Close();
      if (cold) ForgetFilesIn(path_);
      const uint64_t device_bytes_before = ReadIoBytes().read_from_devices;
      const auto begin = SteadyClock::now();
      TRELLIS_RETURN_IF_ERROR(Open(uint64_t{64} << 20));
      const double seconds = SecondsSince(begin);
      const uint64_t device_bytes_after = ReadIoBytes().read_from_devices;
      if (i == 0) continue;  // the first warm opening only brings the files in
      millis.push_back(1000 * seconds);
      // By the store's count, because the kernel's count of read calls misses reads through
      // io_uring.
      read_bytes += db_->GetStatistics().opening_bytes_read;
      device_bytes += device_bytes_after - device_bytes_before;
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    }
    openings->read_bytes = Ratio(read_bytes, millis.size());
    openings->device_bytes = Ratio(device_bytes, millis.size());
    openings->millis = SpreadOf(std::move(millis));
    return absl::OkStatus();
  }

  absl::Status MeasureLookups(const char* what, uint64_t cache_bytes, Cached* cached) {
    Say(what);
    // Read-only: lookups could trigger a compaction of level 0, but the laws describe the shape
    // after the fill.
    TRELLIS_RETURN_IF_ERROR(Open(cache_bytes, lsm::OpenMode::kReadOnly));
    TRELLIS_RETURN_IF_ERROR(Scan());
    for (const bool present : {false, true}) {
      Lookups* lookups = present ? &cached->present : &cached->absent;
      // Warms up: a cache that does not hold everything must first hold the blocks read often.
      TRELLIS_RETURN_IF_ERROR(LookUp(present, config_.seconds / 2, lookups));
      *lookups = {};
      TRELLIS_RETURN_IF_ERROR(LookUp(present, config_.seconds, lookups));
    }
    const lsm::Statistics statistics = db_->GetStatistics();
    cached->capacity_bytes = statistics.block_cache_capacity_bytes;
    cached->used_bytes = statistics.block_cache_bytes;
    Close();
    return absl::OkStatus();
  }

  // Visits and counts all entries.
  absl::Status Scan() {
    const std::unique_ptr<lsm::Iterator> iterator = db_->NewIterator();
    uint64_t entries = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      if (++entries % (uint64_t{1} << 20) == 0) TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    }
    TRELLIS_RETURN_IF_ERROR(iterator->status());
    if (entries == point_.keys) return absl::OkStatus();
    return absl::DataLossError(
        lsm::Concat(path_, ": a scan finds ", entries, " keys of ", point_.keys));
  }

  absl::Status LookUp(bool present, double seconds, Lookups* lookups) {
    std::vector<double> micros;
    const lsm::LevelStatistics before = db_->GetStatistics().total;
    const uint64_t device_before = ReadIoBytes().read_from_devices;
    const auto begin = SteadyClock::now();
    while (micros.size() < 3 || SecondsSince(begin) < seconds) {
      TRELLIS_ASSIGN_OR_RETURN(const double group_seconds, LookUpGroup(present));
      micros.push_back(group_seconds * 1e6 / static_cast<double>(kGroup));
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    }
    const lsm::LevelStatistics counted = db_->GetStatistics().total.Since(before);
    const uint64_t count = micros.size() * kGroup;
    lookups->count = count;
    lookups->runs_asked = Ratio(counted.tables_considered, count);
    lookups->wasted_reads = Ratio(counted.wasted_reads, count);
    lookups->blocks_from_file = Ratio(counted.blocks_from_file, count);
    lookups->device_bytes = Ratio(ReadIoBytes().read_from_devices - device_before, count);
    lookups->micros = SpreadOf(std::move(micros));
    return absl::OkStatus();
  }

  // Keys are made before and copied answers checked after the measured time.
  absl::StatusOr<double> LookUpGroup(bool present) {
    keys_.clear();
    for (size_t i = 0; i < kGroup; ++i) {
      const uint64_t number = dice_.Below(point_.keys) + (present ? 0 : kFirstAbsent);
      keys_.push_back(SyntheticKey(number, config_.seed));
    }
    found_.clear();
    found_.reserve(kGroup * static_cast<size_t>(config_.value_bytes));
    const auto begin = SteadyClock::now();
    for (const std::string& key : keys_) {
      TRELLIS_ASSIGN_OR_RETURN(const bool is_there, db_->Get(key, &value_));
      if (is_there != present) {
        return absl::DataLossError(
            lsm::Concat(path_, present ? ": did not find " : ": found, but never wrote, ", key));
      }
      if (present) found_ += value_.view();
    }
    const double seconds = SecondsSince(begin);
    value_.Reset();
    const auto value_bytes = static_cast<size_t>(config_.value_bytes);
    const bool has_length = found_.size() == (present ? kGroup * value_bytes : 0);
    for (size_t i = 0; i < kGroup && present && has_length; ++i) {
      const std::string_view value(&found_[i * value_bytes], value_bytes);
      if (!values_.Matches(keys_[i], value))
        return absl::DataLossError(lsm::Concat(path_, ": wrong value for ", keys_[i]));
    }
    if (!has_length) return absl::DataLossError(lsm::Concat(path_, ": values of wrong lengths"));
    return seconds;
  }

  const Config& config_;
  Progress& progress_;
  const std::string path_;
  lsm::SeededRandom random_;
  SplitMix dice_;
  const ValueMaker values_;
  lsm::Options options_;
  std::unique_ptr<lsm::DB> db_;
  Point point_;  // the current size, with the sums so far
  // For a group of lookups.
  std::vector<std::string> keys_;
  std::string found_;
  lsm::PinnedValue value_;
};

absl::Status CheckRoom(const Config& config) {
  const uint64_t most = config.sizes.back() * (kKeyBytes + config.value_bytes);
  const double wanted = kDiskBytes * static_cast<double>(most);
  const std::optional<uint64_t> there = FreeBytesAt(config.out);
  if (!there || static_cast<double>(*there) >= wanted) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      lsm::Concat("--out: ", config.out, ": ", ShortCount(config.sizes.back()), " keys may take ",
                  lsm::ReadableBytes(static_cast<uint64_t>(wanted)), " meanwhile, but there are ",
                  lsm::ReadableBytes(*there)));
}

}  // namespace

double Point::write_amplification() const {
  return Ratio(flush_bytes + compaction_bytes, user_bytes);
}
double Point::space_amplification() const { return Ratio(stored_bytes, user_bytes); }

absl::StatusOr<Results> Grow(const Config& config) {
  Results results;
  results.config = config;
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(config.out));
  TRELLIS_RETURN_IF_ERROR(CheckRoom(config));
  results.conditions = DescribeMachine(config.out);
  results.conditions.push_back({"Store", lsm::BuildInfo()});
  if (!config.note.empty()) results.conditions.push_back({"Note", config.note});
  Progress progress(static_cast<double>(config.sizes.back()) * kFillSeconds);
  Growth growth(results.config, &progress);
  absl::Status status = growth.Begin();
  for (size_t i = 0; i < config.sizes.size() && status.ok(); ++i) {
    absl::StatusOr<Point> point = growth.GrowTo(config.sizes[i]);
    status = point.status();
    if (status.ok()) results.points.push_back(*std::move(point));
  }
  results.interrupted = absl::IsCancelled(status) && !results.points.empty();
  if (results.interrupted)
    results.conditions.emplace_back("Interrupted", "larger sizes were not measured");
  const absl::Status ended = growth.End();
  TRELLIS_RETURN_IF_ERROR(results.interrupted ? absl::OkStatus() : status);
  TRELLIS_RETURN_IF_ERROR(ended);
  results.seconds = progress.elapsed_seconds();
  return results;
}

}  // namespace bench::scale
