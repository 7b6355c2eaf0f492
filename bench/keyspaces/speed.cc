#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "bench/keyspaces/parts.h"
#include "bench/keyspaces/store.h"
#include "bench/spread.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

constexpr double kRatioMax = 1.05;
constexpr uint64_t kKeysPerCold = 100;
constexpr uint64_t kKeysChecked = 1000;
constexpr size_t kKeysPerMultiGet = 64;
constexpr int kStepsPerSeek = 10;
// Numbers from here on belong to keys that are never written.
constexpr uint64_t kFirstAbsent = uint64_t{1} << 48;

enum Work : size_t { kGetPresent, kGetAbsent, kMultiGet, kSeek, kPut, kWorks };
constexpr std::array<const char*, kWorks> kWorkNames = {"get present", "get absent", "multiget",
                                                        "seek + 10 next", "put"};
enum Place : size_t { kDefault, kOne, kHot, kPlaces };
constexpr std::array<const char*, kPlaces> kPlaceNames = {"speed-default", "speed-one",
                                                          "speed-hot"};

std::vector<std::string> DrawKeys(const Config& config, uint64_t first, uint64_t count,
                                  uint64_t round) {
  SplitMix random(config.seed + 1000 * round);
  std::vector<std::string> keys;
  keys.reserve(config.operations);
  for (uint64_t i = 0; i < config.operations; ++i)
    keys.push_back(SyntheticKey(first + random.Below(count), config.seed));
  return keys;
}

absl::Status WrongAnswer(std::string_view key) {
  return absl::InternalError(lsm::Concat("a wrong answer for the key ", key));
}

// The loops.  `Target` is DB or Keyspace.
template <typename Target>
absl::Status Get(Target* target, std::span<const std::string> keys, bool are_present) {
  std::string value;
  for (const std::string& key : keys) {
    TRELLIS_ASSIGN_OR_RETURN(const bool found, target->Get(key, &value));
    if (found != are_present) return WrongAnswer(key);
  }
  return absl::OkStatus();
}

template <typename Target>
absl::Status MultiGet(Target* target, std::span<const std::string> keys) {
  std::vector<std::string_view> some;
  for (size_t i = 0; i < keys.size(); i += some.size()) {
    const auto part = keys.subspan(i, std::min(kKeysPerMultiGet, keys.size() - i));
    some.assign(part.begin(), part.end());
    for (const auto& value : target->MultiGet(some)) {
      TRELLIS_RETURN_IF_ERROR(value.status());
      if (!value->has_value()) return WrongAnswer(part.front());
    }
  }
  return absl::OkStatus();
}

template <typename Target>
absl::Status Seek(Target* target, std::span<const std::string> keys) {
  const std::unique_ptr<lsm::Iterator> iterator = target->NewIterator();
  for (const std::string& key : keys) {
    iterator->Seek(key);
    if (!iterator->Valid() || iterator->key() != key) return WrongAnswer(key);
    for (int i = 0; i < kStepsPerSeek && iterator->Valid(); ++i) iterator->Next();
  }
  return iterator->status();
}

template <typename Target>
absl::Status Put(Target* target, std::span<const std::string> keys, const std::string& value) {
  for (const std::string& key : keys) TRELLIS_RETURN_IF_ERROR(target->Put(key, value));
  return absl::OkStatus();
}

// A store and what is measured in it.
class SpeedStore {
 public:
  SpeedStore(const Config& config, Place place, uint64_t cold)
      : config_(config), place_(place), cold_(cold), store_(config, kPlaceNames[place]) {
    // Holds every block.
    store_.options().block_cache_bytes =
        static_cast<size_t>(4 * config.keys * config.entry_bytes() + (uint64_t{64} << 20));
  }

  absl::Status Fill() {
    TRELLIS_RETURN_IF_ERROR(store_.Open());
    if (place_ == kHot) {
      TRELLIS_ASSIGN_OR_RETURN(others_, store_.OpenKeyspaces("cold", cold_));
    }
    Feeder feeder(config_, &store_.db(), config_.value_bytes);
    for (const lsm::Keyspace& other : others_)
      TRELLIS_RETURN_IF_ERROR(feeder.Fill(&other, 0, kKeysPerCold));
    if (place_ == kDefault) {
      TRELLIS_RETURN_IF_ERROR(feeder.Fill(nullptr, 0, config_.keys));
    } else {
      TRELLIS_ASSIGN_OR_RETURN(const std::vector<lsm::Keyspace> hot,
                               store_.OpenKeyspaces("hot", 1));
      keyspace_ = hot.front();
      TRELLIS_RETURN_IF_ERROR(feeder.Fill(&*keyspace_, 0, config_.keys));
    }
    TRELLIS_RETURN_IF_ERROR(store_.Settle());
    return keyspace_ ? keyspace_->CompactRange() : store_.db().CompactRange();
  }

  // Reads a sample of the keys and compares the values.  The timed loops only look at what is
  // found.
  absl::Status Check() {
    const ValueMaker values(static_cast<size_t>(config_.value_bytes));
    SplitMix random(config_.seed);
    std::string value;
    for (uint64_t i = 0; i < kKeysChecked; ++i) {
      const std::string key = SyntheticKey(random.Below(config_.keys), config_.seed);
      TRELLIS_ASSIGN_OR_RETURN(
          const bool found, keyspace_ ? keyspace_->Get(key, &value) : store_.db().Get(key, &value));
      if (!found || !values.Matches(key, value)) return WrongAnswer(key);
    }
    return absl::OkStatus();
  }

  bool has_own_tree() const { return !keyspace_ || keyspace_->GetStatistics().has_own_tree; }

  // An empty memtable, but for an entry of each keyspace.
  absl::Status Prepare() {
    TRELLIS_RETURN_IF_ERROR(store_.Settle());
    Feeder feeder(config_, &store_.db(), config_.value_bytes);
    TRELLIS_RETURN_IF_ERROR(feeder.Put(keyspace_ ? &*keyspace_ : nullptr, 0));
    for (const lsm::Keyspace& other : others_) TRELLIS_RETURN_IF_ERROR(feeder.Put(&other, 0));
    return feeder.Finish();
  }

  absl::Status Do(Work work, std::span<const std::string> keys) {
    return keyspace_ ? DoIn(&*keyspace_, work, keys) : DoIn(&store_.db(), work, keys);
  }

 private:
  template <typename Target>
  absl::Status DoIn(Target* target, Work work, std::span<const std::string> keys) {
    switch (work) {
      case kGetPresent:
      case kGetAbsent:
        return Get(target, keys, work == kGetPresent);
      case kMultiGet:
        return MultiGet(target, keys);
      case kSeek:
        return Seek(target, keys);
      default:
        return Put(target, keys, std::string(config_.value_bytes, 'v'));
    }
  }

  const Config& config_;
  const Place place_;
  const uint64_t cold_;
  Store store_;
  std::optional<lsm::Keyspace> keyspace_;  // nullopt: "default"
  std::vector<lsm::Keyspace> others_;
};

// Microseconds per operation, one for each round.
using SpeedTimes = std::array<std::array<std::vector<double>, kPlaces>, kWorks>;

class SpeedRounds {
 public:
  SpeedRounds(const Config& config, uint64_t cold) : config_(config) {
    for (const Place place : {kDefault, kOne, kHot})
      stores_[place] = std::make_unique<SpeedStore>(config, place, cold);
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
    for (size_t i = 0; i < kPlaces; ++i) {
      const size_t place = round % 2 == 0 ? i : kPlaces - 1 - i;
      const auto begin = std::chrono::steady_clock::now();
      TRELLIS_RETURN_IF_ERROR(stores_[place]->Do(work, keys));
      const double micros = 1e6 * SecondsSince(begin) / static_cast<double>(keys.size());
      if (round > 0) times_[work][place].push_back(micros);
    }
    return absl::OkStatus();
  }

  const Config& config_;
  std::array<std::unique_ptr<SpeedStore>, kPlaces> stores_;
  SpeedTimes times_;
};

Spread RatiosOf(const std::vector<double>& times, const std::vector<double>& others) {
  std::vector<double> ratios;
  for (size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / others[i]);
  return SpreadOf(std::move(ratios));
}

void AddTimes(const SpeedTimes& times, Part* part) {
  double most = 0;
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
  for (size_t work = 0; work < kWorks; ++work) {
    const auto& [in_default, alone, hot] = times[work];
    const Spread beside = RatiosOf(hot, alone), against_default = RatiosOf(hot, in_default);
    const std::string name = kWorkNames[work];
    std::vector<std::string> row = {name};
    for (const std::vector<double>* micros : {&in_default, &alone, &hot})
      row.push_back(lsm::ReadableNumber(SpreadOf(*micros).median));
    for (const Spread& ratio : {beside, against_default}) {
      row.push_back(lsm::ReadableNumber(ratio.median));
      row.push_back(lsm::ReadableNumber(ratio.percent()));
    }
    table.rows.push_back(std::move(row));
    part->figures.push_back({name + ", default", SpreadOf(in_default).median, "us"});
    part->figures.push_back({name + ", alone", SpreadOf(alone).median, "us"});
    part->figures.push_back({name + ", hot", SpreadOf(hot).median, "us"});
    part->figures.push_back({name + ", hot / alone", beside.median});
    part->figures.push_back({name + ", hot / default", against_default.median});
    most = std::max(most, beside.median);
  }
  part->figures.push_back({"hot / alone, most", most, "", kRatioMax});
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
  AddTimes(rounds.times(), &part);
  return part;
}

}  // namespace bench::keyspaces
