#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "bench/expiry/parts.h"
#include "bench/expiry/store.h"
#include "bench/machine.h"
#include "bench/spread.h"
#include "bench/workload.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::expiry {
namespace {

constexpr double kPresentMax = 1.04;  // predicted by lsm/design/expiry.md
constexpr uint64_t kGetValueBytes = 100;
constexpr uint64_t kEntriesPerBatch = 100;
constexpr uint64_t kBufferBytes = uint64_t{16} << 20;
constexpr uint32_t kLongWindow = 30 * 24 * 3600;  // nothing expires
// Numbers from here on belong to keys that are never written.
constexpr uint64_t kFirstAbsent = uint64_t{1} << 48;

constexpr std::array<const char*, 2> kWorkNames = {"get present", "get absent"};

// Two stores of one maker, with the same entries.
struct Pair {
  std::string name;
  std::array<std::unique_ptr<Store>, 2> stores;                  // without expiry, with it
  std::array<std::array<std::vector<double>, 2>, 2> nanos = {};  // by work and store
};

class Gets {
 public:
  explicit Gets(const Config& config)
      : config_(config), values_(static_cast<size_t>(kGetValueBytes)) {}

  absl::Status Fill(Progress* progress) {
    for (const bool is_rocksdb : {false, true}) {
      if (is_rocksdb && !config_.has_peer()) continue;
      Pair pair{is_rocksdb ? "RocksDB" : "Trellis", {}};
      progress->Announce("gets: fill " + pair.name);
      for (const bool expires : {false, true}) {
        StoreSettings settings;
        settings.path = lsm::Concat(config_.out, "/gets-", pair.name, expires ? "-expires" : "");
        settings.expiry = expires ? Expiry::kLimit : Expiry::kNone;
        settings.window_seconds = kLongWindow;
        settings.write_buffer_bytes = kBufferBytes;
        settings.block_cache_bytes =
            4 * config_.get_keys * (kKeyBytes + kGetValueBytes) + (uint64_t{64} << 20);
        settings.seed = config_.seed;
        TRELLIS_ASSIGN_OR_RETURN(pair.stores[expires ? 1 : 0],
                                 is_rocksdb ? MakeRocksDb(settings) : MakeTrellis(settings));
        TRELLIS_RETURN_IF_ERROR(FillOne(pair.stores[expires ? 1 : 0].get()));
      }
      pairs_.push_back(std::move(pair));
    }
    return absl::OkStatus();
  }

  // Round 0 only warms up.
  absl::Status Measure(Progress* progress) {
    progress->Announce("gets: lookups");
    for (uint64_t round = 0; round <= config_.rounds; ++round) {
      for (size_t work = 0; work < kWorkNames.size(); ++work) {
        const std::vector<std::string> keys = DrawKeys(work == 0 ? 0 : kFirstAbsent, round);
        for (Pair& pair : pairs_) {
          for (size_t i = 0; i < 2; ++i) {
            const size_t store = (i + round) % 2;
            const auto begin = std::chrono::steady_clock::now();
            TRELLIS_RETURN_IF_ERROR(GetAll(pair.stores[store].get(), keys, work == 0));
            const double nanos = 1e9 * SecondsSince(begin) / static_cast<double>(keys.size());
            if (round > 0) pair.nanos[work][store].push_back(nanos);
          }
        }
        TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
      }
    }
    return absl::OkStatus();
  }

  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  absl::Status FillOne(Store* store) {
    std::vector<Entry> entries;
    for (uint64_t number = 0; number < config_.get_keys; ++number) {
      Entry& entry = entries.emplace_back();
      entry.key = SyntheticKey(number, config_.seed);
      values_.Make(entry.key, &entry.value);
      if (entries.size() < kEntriesPerBatch && number + 1 < config_.get_keys) continue;
      TRELLIS_RETURN_IF_ERROR(store->Write(entries));
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
      entries.clear();
    }
    return store->CompactAll();
  }

  std::vector<std::string> DrawKeys(uint64_t first, uint64_t round) const {
    SplitMix random(config_.seed + 1000 * round);
    std::vector<std::string> keys;
    keys.reserve(config_.operations);
    for (uint64_t i = 0; i < config_.operations; ++i)
      keys.push_back(SyntheticKey(first + random.Below(config_.get_keys), config_.seed));
    return keys;
  }

  absl::Status GetAll(Store* store, const std::vector<std::string>& keys, bool are_present) const {
    std::string value;
    for (const std::string& key : keys) {
      TRELLIS_ASSIGN_OR_RETURN(const bool found, store->Get(key, &value));
      if (found != are_present || (found && value.size() != kGetValueBytes))
        return absl::InternalError(lsm::Concat("a wrong answer for the key ", key));
    }
    return absl::OkStatus();
  }

  const Config& config_;
  const ValueMaker values_;
  std::vector<Pair> pairs_;
};

}  // namespace

absl::StatusOr<Part> MeasureGets(const Config& config, Progress* progress) {
  Part part{"gets",
            lsm::Concat("gets: ", lsm::ReadableCount(config.get_keys),
                        " keys in one run, all cached, none expired"),
            {}};
  Gets gets(config);
  TRELLIS_RETURN_IF_ERROR(gets.Fill(progress));
  TRELLIS_RETURN_IF_ERROR(gets.Measure(progress));
  Table table{"gets",
              part.title,
              {{"ns/op", "", false},
               {"keeps all", "nanoseconds per lookup, median of the rounds"},
               {"expires", "nanoseconds per lookup, median of the rounds"},
               {"ratio", "median of the rounds' ratios"},
               {"+-%", "half the range of these ratios, in per cent of their median"}},
              {}};
  for (const Pair& pair : gets.pairs()) {
    for (size_t work = 0; work < kWorkNames.size(); ++work) {
      const auto& [kept, expiring] = pair.nanos[work];
      std::vector<double> ratios;
      for (size_t i = 0; i < kept.size(); ++i) ratios.push_back(expiring[i] / kept[i]);
      const Spread ratio = SpreadOf(std::move(ratios));
      const std::string name = lsm::Concat(pair.name, ", ", kWorkNames[work]);
      table.rows.push_back({name, lsm::ReadableNumber(SpreadOf(kept).median),
                            lsm::ReadableNumber(SpreadOf(expiring).median),
                            lsm::ReadableNumber(ratio.median),
                            lsm::ReadableNumber(ratio.percent())});
      const bool has_goal = work == 0 && &pair == gets.pairs().data();
      part.figures.push_back({name + ", keeps all", SpreadOf(kept).median, "ns"});
      part.figures.push_back({name + ", expires", SpreadOf(expiring).median, "ns"});
      part.figures.push_back({name + ", expires / keeps all", ratio.median, "",
                              has_goal ? std::optional(kPresentMax) : std::nullopt});
    }
  }
  part.tables = {std::move(table)};
  if (config.has_peer())
    part.notes.push_back("RocksDB's Get does not ask whether an entry expired");
  return part;
}

}  // namespace bench::expiry
