#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "bench/keyspaces/parts.h"
#include "bench/keyspaces/trellis_store.h"
#include "bench/spread.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

constexpr double kRatioMax = 1.05;
constexpr uint64_t kKeysPerCold = 100;
constexpr uint64_t kKeysChecked = 1000;
// Numbers from here on belong to keys that are never written.
constexpr uint64_t kFirstAbsent = uint64_t{1} << 48;

constexpr std::array<const char*, kWorks> kWorkNames = {"get present", "get absent", "multiget",
                                                        "seek + 10 next", "put"};
enum Place : size_t { kInDefault, kOne, kHot, kPeerOne, kPeerHot, kPlaces };
constexpr std::array<const char*, kPlaces> kPlaceNames = {"speed-default", "speed-one", "speed-hot",
                                                          "speed-rocksdb-one", "speed-rocksdb-hot"};

std::vector<std::string> DrawKeys(const Config& config, uint64_t first, uint64_t count,
                                  uint64_t round) {
  SplitMix random(config.seed + 1000 * round);
  std::vector<std::string> keys;
  keys.reserve(config.operations);
  for (uint64_t i = 0; i < config.operations; ++i)
    keys.push_back(SyntheticKey(first + random.Below(count), config.seed));
  return keys;
}

// A store and what is measured in it.
class SpeedStore {
 public:
  SpeedStore(const Config& config, Place place, uint64_t cold)
      : config_(config),
        cold_(place == kHot || place == kPeerHot ? cold : 0),
        is_default_(place == kInDefault) {
    StoreSettings settings(config, kPlaceNames[place]);
    // Holds every block.
    settings.block_cache_bytes = 4 * config.keys * config.entry_bytes() + (uint64_t{64} << 20);
    store_ = place < kPeerOne ? MakeTrellis(settings) : MakeRocksDb(settings);
  }

  absl::Status Fill() {
    TRELLIS_RETURN_IF_ERROR(store_->Open());
    TRELLIS_RETURN_IF_ERROR(store_->OpenKeyspaces("cold", cold_));
    Feeder feeder(config_, store_.get(), config_.value_bytes);
    for (size_t other = 0; other < cold_; ++other)
      TRELLIS_RETURN_IF_ERROR(feeder.Fill(other, 0, kKeysPerCold));
    if (!is_default_) {
      TRELLIS_RETURN_IF_ERROR(store_->OpenKeyspaces("hot", 1));
      keyspace_ = cold_;
    }
    TRELLIS_RETURN_IF_ERROR(feeder.Fill(keyspace_, 0, config_.keys));
    TRELLIS_RETURN_IF_ERROR(store_->Settle());
    return store_->Compact(keyspace_);
  }

  // Reads a sample of the keys and compares the values.  The timed loops only look at what is
  // found.
  absl::Status Check() {
    SplitMix random(config_.seed);
    Feeder feeder(config_, store_.get(), config_.value_bytes);
    for (uint64_t i = 0; i < kKeysChecked; ++i)
      TRELLIS_RETURN_IF_ERROR(feeder.Check(keyspace_, random.Below(config_.keys)));
    return absl::OkStatus();
  }

  bool has_own_tree() const {
    const auto* const trellis = dynamic_cast<const TrellisStore*>(store_.get());
    return trellis == nullptr || trellis->HasOwnTree(keyspace_);
  }

  // An empty memtable, but for an entry of each keyspace.
  absl::Status Prepare() {
    TRELLIS_RETURN_IF_ERROR(store_->Settle());
    Feeder feeder(config_, store_.get(), config_.value_bytes);
    TRELLIS_RETURN_IF_ERROR(feeder.Put(keyspace_, 0));
    for (size_t other = 0; other < cold_; ++other) TRELLIS_RETURN_IF_ERROR(feeder.Put(other, 0));
    return feeder.Finish();
  }

  absl::Status Do(Work work, std::span<const std::string> keys) {
    return store_->Do(work, keyspace_, keys, std::string(config_.value_bytes, 'v'));
  }

 private:
  const Config& config_;
  const uint64_t cold_;
  const bool is_default_;
  std::unique_ptr<Store> store_;
  size_t keyspace_ = kDefault;  // the measured one
};

// Microseconds per operation, one for each round.
using SpeedTimes = std::array<std::array<std::vector<double>, kPlaces>, kWorks>;

class SpeedRounds {
 public:
  SpeedRounds(const Config& config, uint64_t cold) : config_(config) {
    const size_t places = config.has_peer() ? kPlaces : kPeerOne;
    for (size_t place = 0; place < places; ++place) {
      stores_.push_back(std::make_unique<SpeedStore>(config, static_cast<Place>(place), cold));
    }
  }

  absl::Status Fill(Progress* progress) {
    for (const auto& store : stores_) {
      progress->Announce(
          lsm::Concat("speed: fills store ", &store - stores_.data() + 1, " of ", stores_.size()));
      TRELLIS_RETURN_IF_ERROR(store->Fill());
      TRELLIS_RETURN_IF_ERROR(store->Check());
      TRELLIS_RETURN_IF_ERROR(store->Prepare());
    }
    return absl::OkStatus();
  }

  bool have_own_trees() const {
    return std::all_of(stores_.begin(), stores_.end(),
                       [](const auto& store) { return store->has_own_tree(); });
  }

  // All rounds of the reads, and then of the puts, because these change the tables.
  absl::Status Measure(Progress* progress) {
    progress->Announce("speed: reads");
    for (uint64_t round = 0; round <= config_.rounds; ++round) {
      for (const Work work : {kGetPresent, kGetAbsent, kMultiGet, kSeek})
        TRELLIS_RETURN_IF_ERROR(MeasureRound(work, round));
    }
    progress->Announce("speed: puts");
    for (uint64_t round = 0; round <= config_.rounds; ++round) {
      for (const auto& store : stores_) TRELLIS_RETURN_IF_ERROR(store->Prepare());
      TRELLIS_RETURN_IF_ERROR(MeasureRound(kPut, round));
    }
    return absl::OkStatus();
  }

  const SpeedTimes& times() const { return times_; }

 private:
  // Round 0 only warms up.
  absl::Status MeasureRound(Work work, uint64_t round) {
    TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    const std::vector<std::string> keys =
        DrawKeys(config_, work == kGetAbsent ? kFirstAbsent : 0, config_.keys, round);
    for (size_t i = 0; i < stores_.size(); ++i) {
      const size_t place = round % 2 == 0 ? i : stores_.size() - 1 - i;
      const auto begin = std::chrono::steady_clock::now();
      TRELLIS_RETURN_IF_ERROR(stores_[place]->Do(work, keys));
      const double micros = 1e6 * SecondsSince(begin) / static_cast<double>(keys.size());
      if (round > 0) times_[work][place].push_back(micros);
    }
    return absl::OkStatus();
  }

  const Config& config_;
  std::vector<std::unique_ptr<SpeedStore>> stores_;  // by Place
  SpeedTimes times_;
};

Spread RatiosOf(const std::vector<double>& times, const std::vector<double>& others) {
  std::vector<double> ratios;
  for (size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / others[i]);
  return SpreadOf(std::move(ratios));
}

void AddTimes(const SpeedTimes& times, bool has_peer, Part* part) {
  Figure most{"hot / alone, most", 0, "", kRatioMax};
  Table table{"speed",
              part->title,
              {{"us/op", "microseconds per operation", false},
               {"default", "\"default\", in a store without keyspaces"},
               {"alone", "the one keyspace of a store"},
               {"hot", "a keyspace beside cold ones"},
               {"hot/alone", "median of the rounds' ratios"},
               {"+-%", "half the range of these ratios, in per cent of their median"},
               {"hot/default", "median of the rounds' ratios"},
               {"+-%", "half the range of these ratios, in per cent of their median"}},
              {}};
  if (has_peer) {
    most.peer = 0;
    table.columns.push_back({"RocksDB", "a column family of RocksDB beside cold ones"});
    table.columns.push_back({"hot/alone", "in RocksDB, median of the rounds' ratios"});
  }
  for (size_t work = 0; work < kWorks; ++work) {
    const std::vector<double>&in_default = times[work][kInDefault], &alone = times[work][kOne],
          &hot = times[work][kHot];
    const Spread beside = RatiosOf(hot, alone), against_default = RatiosOf(hot, in_default);
    const std::string name = kWorkNames[work];
    std::vector<std::string> row = {name};
    for (const std::vector<double>* micros : {&in_default, &alone, &hot})
      row.push_back(lsm::ReadableNumber(SpreadOf(*micros).median));
    for (const Spread& ratio : {beside, against_default}) {
      row.push_back(lsm::ReadableNumber(ratio.median));
      row.push_back(lsm::ReadableNumber(ratio.percent()));
    }
    part->figures.push_back({name + ", default", SpreadOf(in_default).median, "us"});
    part->figures.push_back({name + ", alone", SpreadOf(alone).median, "us"});
    part->figures.push_back({name + ", hot", SpreadOf(hot).median, "us"});
    part->figures.push_back({name + ", hot / alone", beside.median});
    Figure* const figures = &part->figures.back() - 2;  // those that RocksDB has, too
    most.value = std::max(most.value, beside.median);
    if (has_peer) {
      const std::vector<double>&peer_alone = times[work][kPeerOne],
            &peer_hot = times[work][kPeerHot];
      figures[0].peer = SpreadOf(peer_alone).median;
      figures[1].peer = SpreadOf(peer_hot).median;
      figures[2].peer = RatiosOf(peer_hot, peer_alone).median;
      most.peer = std::max(*most.peer, *figures[2].peer);
      row.push_back(lsm::ReadableNumber(*figures[1].peer));
      row.push_back(lsm::ReadableNumber(*figures[2].peer));
    }
    part->figures.push_back({name + ", hot / default", against_default.median});
    table.rows.push_back(std::move(row));
  }
  part->figures.push_back(std::move(most));
  part->tables = {std::move(table)};
}

}  // namespace

absl::StatusOr<Part> MeasureSpeed(const Config& config, Progress* progress) {
  Part part{"speed", "", {}};
  const uint64_t cold = Allowed(config.cold + 1, &part.notes) - 1;
  part.title = lsm::Concat("speed: a hot keyspace beside ", lsm::ReadableCount(cold),
                           " cold ones, alone in its store, and default");
  SpeedRounds rounds(config, cold);
  TRELLIS_RETURN_IF_ERROR(rounds.Fill(progress));
  if (!rounds.have_own_trees())
    part.notes.push_back("the hot keyspaces are in the common tree: --keys is small");
  TRELLIS_RETURN_IF_ERROR(rounds.Measure(progress));
  AddTimes(rounds.times(), config.has_peer(), &part);
  return part;
}

}  // namespace bench::keyspaces
