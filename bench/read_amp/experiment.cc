#include "bench/read_amp/experiment.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/machine.h"
#include "bench/report/page.h"
#include "bench/table.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

// The number of queries before a stream repeats.
constexpr size_t kStreamLength = size_t{1} << 20;
// A small cache is filled up to this share; then come lookups for this share of a measurement.
constexpr double kFilled = 0.95;
constexpr double kWarmShare = 0.5;
// In the stream, the keys of these lookups come before those of the measurement, so they differ.
constexpr double kWarmKeys = kWarmShare / (1 + kWarmShare);
// A spread of rates above this gives a warning.
constexpr int kRestlessPercent = 15;

absl::Status AtStore(const absl::Status& status, const std::string& directory) {
  return status.ok() ? status : lsm::WithContext(status, directory);
}

}  // namespace

Experiment::Experiment(const Config& config, KeySet keys)
    : config_(config), keys_(std::move(keys)), values_(static_cast<size_t>(config.value_bytes)) {
  results_.config = config;
  results_.key_report = keys_.report;
  results_.stored_keys = keys_.stored.size();
  results_.absent_keys = keys_.absent.size();
  results_.key_bytes = keys_.stored.key_bytes();
  results_.user_bytes = UserBytes(keys_, config);
  results_.shape = ShapeFor(results_.stored_keys, results_.user_bytes);
  for (StoreConfig& store : StoresOf(config)) {
    results_.stores.emplace_back().config = std::move(store);
  }
}

std::string Experiment::DirectoryOf(const StoreConfig& store) const {
  return config_.out + "/stores/" + store.name();
}

double Experiment::LoadGuess() const {
  return 0.2 + static_cast<double>(results_.user_bytes) / 15e6;
}

double Experiment::CheckGuess() const {
  return 3e-6 * static_cast<double>(std::min(results_.stored_keys, kCheckedKeysMax));
}

double Experiment::StoreGuess() const {
  const double seconds = config_.lookups > 0 ? 1e-5 * static_cast<double>(config_.lookups)  //
                                             : config_.seconds;
  return seconds * static_cast<double>(config_.workloads.size()) + 0.1;
}

absl::StatusOr<Results> Experiment::Run() {
  const double stores = static_cast<double>(results_.stores.size());
  const double measured = stores * static_cast<double>(config_.caches.size()) * config_.rounds;
  progress_ =
      std::make_unique<Progress>(stores * (LoadGuess() + CheckGuess()) + measured * StoreGuess());
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(config_.out + "/stores"));
  TRELLIS_RETURN_IF_ERROR(CheckRoom());
  results_.conditions = DescribeMachine(config_.out);
  results_.conditions.push_back({"Store", lsm::BuildInfo()});
  TRELLIS_RETURN_IF_ERROR(LoadStores());
  TRELLIS_RETURN_IF_ERROR(CheckStores());
  TRELLIS_RETURN_IF_ERROR(ChooseCaches());
  MakeStreams();
  MakeCells();
  const absl::Status status = MeasureRounds();
  std::erase_if(results_.cells, [](const Cell& cell) { return cell.rounds.empty(); });
  results_.interrupted = absl::IsCancelled(status) && !results_.cells.empty();
  if (!results_.interrupted) TRELLIS_RETURN_IF_ERROR(status);
  NoteFill();
  LookForTrouble();
  results_.seconds = progress_->elapsed_seconds();
  progress_->Announce("done");
  progress_.reset();
  return std::move(results_);
}

absl::Status Experiment::CheckRoom() const {
  // During a compaction its inputs and outputs both exist.
  const uint64_t wanted = results_.user_bytes * (results_.stores.size() + 1);
  const std::optional<uint64_t> free = FreeBytesAt(config_.out);
  if (!free.has_value() || *free >= wanted) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      lsm::Concat(config_.out, ": ", results_.stores.size(), " stores take up to ",
                  lsm::ReadableBytes(wanted), ", and ", lsm::ReadableBytes(*free),
                  " are free; take fewer keys, smaller values or another "
                  "directory (--out)"));
}

absl::Status Experiment::LoadStores() {
  for (StoreResult& store : results_.stores) {
    const std::string name = store.config.name();
    progress_->Announce("load " + name);
    const auto begin = std::chrono::steady_clock::now();
    const std::string directory = DirectoryOf(store.config);
    uint64_t loaded = 0;
    const auto on_progress = [&](uint64_t entries) {
      const double share = static_cast<double>(entries - std::exchange(loaded, entries));
      progress_->Advance(LoadGuess() * share / static_cast<double>(results_.stored_keys));
      progress_->Show("load " + name + ", " + lsm::ReadableCount(entries) + " keys");
      return config_.CheckStop();
    };
    TRELLIS_RETURN_IF_ERROR(
        AtStore(LoadStore(directory, store.config, results_.shape, config_, keys_, on_progress),
                directory));
    store.load_seconds = SecondsSince(begin);
  }
  return absl::OkStatus();
}

absl::Status Experiment::CheckStores() {
  progress_->Announce("checks every answer, and counts how often filters pass");
  for (StoreResult& store : results_.stores) {
    TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    progress_->Show("check " + store.config.name());
    TRELLIS_RETURN_IF_ERROR(AtStore(CheckStore(&store), DirectoryOf(store.config)));
    progress_->Advance(CheckGuess());
  }
  return absl::OkStatus();
}

absl::Status Experiment::CheckStore(StoreResult* result) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::DB> db,
                           OpenStore(DirectoryOf(result->config), result->config, results_.shape,
                                     2 * results_.user_bytes + (uint64_t{16} << 20), false));
  result->shape = db->GetStatistics();
  if (result->shape.total.entries != results_.stored_keys) {
    return absl::InternalError(lsm::Concat("WRONG: ", results_.stored_keys,
                                           " keys were put once each, and the tables hold ",
                                           result->shape.total.entries, " entries"));
  }
  lsm::PinnedValue value;
  for (const bool present : {false, true}) {
    const KeyList& list = present ? keys_.stored : keys_.absent;
    const size_t count = static_cast<size_t>(std::min<uint64_t>(list.size(), kCheckedKeysMax));
    for (size_t i = 0; i < count; ++i) {
      TRELLIS_RETURN_IF_ERROR(CheckedGet(db.get(), {list[i], present}, values_, &value));
    }
  }
  value.Reset();
  const lsm::LevelStatistics total = db->GetStatistics().total;
  result->false_positives = total.false_positives;
  result->questions = total.reads_avoided + total.false_positives;
  return absl::OkStatus();
}

absl::Status Experiment::ChooseCaches() {
  const uint64_t data = results_.user_bytes;
  for (const CacheSize size : config_.caches) {
    CacheResult cache;
    cache.size = size;
    if (size == CacheSize::kFits) {
      cache.bytes = 2 * data + (uint64_t{16} << 20);
      cache.note = lsm::ReadableBytes(cache.bytes) +
                   ", twice the data, and holds every block from the start";
    } else if (size == CacheSize::kTenth) {
      cache.bytes = data / 10;
      cache.note =
          lsm::ReadableBytes(cache.bytes) + ", a tenth of the data";  // NoteFill adds the rest
    } else {
      // Opening a store shows whether the file system supports direct I/O.
      absl::StatusOr<std::unique_ptr<lsm::DB>> db =
          OpenStore(DirectoryOf(store(0)), store(0), results_.shape, 0, true);
      if (!db.ok() && !absl::IsInvalidArgument(db.status())) return db.status();
      cache.direct = db.ok();
      cache.note = cache.direct ? "none, direct I/O: every block comes from the device"
                                : "none, and NO direct I/O, which this file system lacks: blocks "
                                  "come from the page cache";
    }
    results_.caches.push_back(std::move(cache));
  }
  return absl::OkStatus();
}

void Experiment::MakeStreams() {
  uint64_t seed = config_.seed;
  for (const Workload workload : config_.workloads) {
    streams_.emplace_back(workload, keys_.stored, keys_.absent, config_.mix, kStreamLength,
                          Mix(++seed));
  }
}

void Experiment::MakeCells() {
  for (size_t cache = 0; cache < results_.caches.size(); ++cache) {
    for (const Workload workload : config_.workloads) {
      for (size_t i = 0; i < results_.stores.size(); ++i) {
        results_.cells.push_back({i, cache, workload, {}});
      }
    }
  }
}

absl::Status Experiment::MeasureRounds() {
  for (int round = 0; round < config_.rounds; ++round) TRELLIS_RETURN_IF_ERROR(MeasureRound(round));
  return absl::OkStatus();
}

absl::Status Experiment::MeasureRound(int round) {
  for (size_t cache = 0; cache < results_.caches.size(); ++cache) {
    progress_->Announce(lsm::Concat("round ", round + 1, " of ", config_.rounds, ", cache ",
                                    NameOf(results_.caches[cache].size)));
    const size_t stores = results_.stores.size();
    for (size_t i = 0; i < stores; ++i) {
      // Every second round runs backwards, so that a machine whose speed changes favours no store.
      const size_t at = round % 2 == 0 ? i : stores - 1 - i;
      const std::string directory = DirectoryOf(store(at));
      TRELLIS_RETURN_IF_ERROR(AtStore(MeasureStore(round, cache, at), directory));
      progress_->Advance(StoreGuess());
      progress_->Show(lsm::Concat("round ", round + 1, " of ", config_.rounds, ", cache ",
                                  NameOf(results_.caches[cache].size), ", ", store(at).name()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<lsm::DB>> Experiment::OpenWarm(size_t cache, size_t at) {
  const CacheResult& wanted = results_.caches[cache];
  TRELLIS_ASSIGN_OR_RETURN(
      std::unique_ptr<lsm::DB> db,
      OpenStore(DirectoryOf(store(at)), store(at), results_.shape, wanted.bytes, wanted.direct));
  // Filled by a scan, because lookups of absent keys rarely read a block.
  if (wanted.size != CacheSize::kNone) {
    TRELLIS_RETURN_IF_ERROR(WarmByScan(db.get(), wanted.size == CacheSize::kFits ? 1 : kFilled));
  }
  return db;
}

absl::Status Experiment::MeasureStore(int round, size_t cache, size_t at) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::DB> db, OpenWarm(cache, at));
  const Budget budget = {config_.seconds, config_.lookups};
  // All stores begin at this place.  Each gets as far as its time allows.
  const uint64_t place = config_.seed + static_cast<uint64_t>(round);
  CacheResult* const cached = &results_.caches[cache];
  for (size_t w = 0; w < streams_.size(); ++w) {
    TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    QueryStream* stream = &streams_[w];
    if (cached->size == CacheSize::kTenth) {
      stream->Restart(place);
      TRELLIS_RETURN_IF_ERROR(WarmByLookups(db.get(), stream, values_, budget.Part(kWarmShare)));
    }
    cached->least_fill = std::min(cached->least_fill, CacheFill(db.get()));
    stream->Restart(place, kWarmKeys);
    TRELLIS_ASSIGN_OR_RETURN(Measurement measurement, Measure(db.get(), stream, values_, budget));
    const size_t cell = (cache * streams_.size() + w) * results_.stores.size() + at;
    results_.cells[cell].rounds.push_back(std::move(measurement));
  }
  return absl::OkStatus();
}

void Experiment::NoteFill() {
  for (CacheResult& cache : results_.caches) {
    if (cache.size != CacheSize::kTenth) continue;
    // Rounded down, because it is a guarantee.
    const int percent = static_cast<int>(100 * cache.least_fill);
    cache.note +=
        lsm::Concat(", ", percent, " % full or more at the start; misses go to the page cache");
  }
}

// Repeated lookups of the same absent keys would bring the blocks of those few that pass a filter
// into a cache that is smaller than the data.
void Experiment::LookForRepeats() {
  for (const CacheResult& cache : results_.caches) {
    if (cache.size != CacheSize::kTenth) continue;
    for (size_t w = 0; w < streams_.size(); ++w) {
      if (config_.workloads[w] == Workload::kPresent) continue;
      uint64_t most = 0;
      for (const Cell& cell : results_.cells) {
        if (&results_.caches[cell.cache] != &cache || cell.workload != config_.workloads[w])
          continue;
        for (const Measurement& round : cell.rounds) most = std::max(most, round.lookups);
      }
      const auto keys = static_cast<double>(streams_[w].length());
      if (static_cast<double>(most) <= (1 - kWarmKeys) * keys) continue;
      results_.warnings.push_back(lsm::Concat("cache tenth, ", NameOf(config_.workloads[w]),
                                              ": up to ", lsm::ReadableCount(most),
                                              " lookups per round, and half as many before it, of ",
                                              lsm::ReadableCount(streams_[w].length()),
                                              " keys: a key that passed a filter once has its "
                                              "block cached the next time; give more keys"));
    }
  }
}

void Experiment::LookForTrouble() {
  LookForRepeats();
  size_t restless = 0;
  for (const Cell& cell : results_.cells) {
    const std::string where =
        lsm::Concat(store(cell.store).name(), ", cache ", NameOf(results_.caches[cell.cache].size),
                    ", ", NameOf(cell.workload), ": ");
    using Counted = lsm::LevelStatistics;
    uint64_t unusable = cell.Sum(&Counted::filters_damaged) + cell.Sum(&Counted::filters_unknown);
    if (store(cell.store).target_fpp > 0) unusable += cell.Sum(&Counted::filters_absent);
    if (unusable > 0) {
      results_.warnings.push_back(lsm::Concat(where, unusable, " of ",
                                              cell.Sum(&Counted::tables_considered),
                                              " tables considered had no usable filter"));
    }
    if (results_.caches[cell.cache].size == CacheSize::kFits && cell.blocks_from_file() > 0.001) {
      results_.warnings.push_back(
          where + "blocks were read from files although all should have been in the cache");
    }
    restless += cell.lookups_per_second().percent() > kRestlessPercent ? 1 : 0;
  }
  if (restless > 0) {
    results_.warnings.push_back(lsm::Concat("in ", restless, " of ", results_.cells.size(),
                                            " measurements the rounds differ "
                                            "by more than ",
                                            kRestlessPercent,
                                            " % either way: was the machine busy?"));
  }
  for (const CacheResult& cache : results_.caches) {
    if (cache.size == CacheSize::kNone && !cache.direct) {
      results_.warnings.push_back("cache none: the file system has no direct I/O");
    }
  }
}

}  // namespace bench
