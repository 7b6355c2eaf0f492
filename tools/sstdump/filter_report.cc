#include "tools/sstdump/filter_report.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "bloom/core/bits.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_walk.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/absent_keys.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

constexpr uint64_t kSeed =
    0x7265616c20667070;  // fixed, so that the same file gives the same figures
constexpr size_t kFillBlockBytes = 64;

// Receives the table's keys in order.  Asks the filter about each key, and about absent keys
// between neighbours.
class Prober {
 public:
  Prober(const lsm::Table& table, uint64_t probes, uint64_t probe_bytes, FilterMeasurement* result)
      : table_(table),
        probes_(probes),
        probe_bytes_(probe_bytes),
        result_(result),
        absent_keys_(kSeed) {
    // The properties are not trusted: wrong counts only change the number of probes.
    const uint64_t keys = std::max<uint64_t>(table.properties().distinct_keys, 2);
    gaps_ = keys - 1;
  }

  void Meet(std::string_view user_key, uint64_t block_offset) {
    if (has_previous_ && user_key == previous_) return;
    ++result_->keys;
    if (!Passes(user_key)) {
      ++result_->false_negatives;
      if (result_->damage.size() < Session::kProblemsMax) {
        result_->damage.push_back(
            lsm::DamageAt(table_.path(), block_offset,
                          lsm::Concat("the filter denies the key ", lsm::QuotedKey(user_key),
                                      ", which the table holds")));
      }
    }
    if (has_previous_) AskBetween(previous_, user_key);
    previous_.assign(user_key);
    has_previous_ = true;
  }

  // The next key is not the neighbour of the previous one.
  void Break() { has_previous_ = false; }

 private:
  bool Passes(std::string_view user_key) const { return PassesFilter(table_, user_key); }

  void AskBetween(std::string_view below, std::string_view above) {
    // An even share of the probes for each gap.
    ++gap_;
    const uint64_t due = Share(probes_);
    const uint64_t due_bytes = Share(probe_bytes_);
    bool mutate = true;
    while (result_->probes < due && result_->probe_bytes < due_bytes) {
      const bool made = (mutate && absent_keys_.Mutate(below, above, &key_)) ||
                        absent_keys_.Extend(below, above, &key_);
      if (!made) return;
      mutate = false;  // small gaps hold few keys, and each key counts once
      ++result_->probes;
      result_->probe_bytes += key_.size();
      if (Passes(key_)) ++result_->passed;
    }
  }

  // The share of the gaps so far in the whole.
  uint64_t Share(uint64_t whole) const {
    if (gap_ >= gaps_) return whole;
    return static_cast<uint64_t>(static_cast<double>(whole) * static_cast<double>(gap_) /
                                 static_cast<double>(gaps_));
  }

  const lsm::Table& table_;
  const uint64_t probes_;
  const uint64_t probe_bytes_;
  FilterMeasurement* const result_;
  AbsentKeys absent_keys_;
  uint64_t gaps_;
  uint64_t gap_ = 0;
  bool has_previous_ = false;
  std::string previous_;
  std::string key_;
};

}  // namespace

uint64_t ProbesFor(double predicted_fpp) {
  constexpr double kWanted = 4000;
  constexpr double kLeast = 20'000;
  constexpr double kMost = 10'000'000;
  if (!(predicted_fpp > 0)) return static_cast<uint64_t>(kMost);
  return static_cast<uint64_t>(std::clamp(kWanted / predicted_fpp, kLeast, kMost));
}

FilterMeasurement MeasureFilter(const lsm::Table& table, uint64_t probes, uint64_t probe_bytes) {
  FilterMeasurement result;
  Prober prober(table, probes, probe_bytes, &result);
  lsm::TableWalk walk(table);
  for (size_t ordinal = 0; ordinal < table.block_count(); ++ordinal) {
    const uint64_t offset = table.block_handle(ordinal).offset;
    const lsm::BlockFacts facts =
        walk.Walk(ordinal, [&](const lsm::ParsedKey& key, std::string_view) {
          prober.Meet(key.user_key, offset);
          return true;
        });
    if (facts.status.ok()) continue;
    result.damage.push_back(facts.status);
    prober.Break();
    if (result.damage.size() >= Session::kProblemsMax) break;
  }
  result.interval = lsm::WilsonInterval(result.passed, result.probes);
  return result;
}

std::vector<FillBin> FillHistogram(const bloom::FilterReader& filter) {
  if (!filter.has_fill()) return {};
  constexpr size_t kBins = 20;
  std::array<uint64_t, kBins> counts{};
  const std::string_view payload = filter.payload();
  // The last, shorter block has fewer bits, so its fill says less.  It is left out unless it is the
  // only one.
  for (size_t at = 0; at < payload.size(); at += kFillBlockBytes) {
    const std::string_view block = payload.substr(at, kFillBlockBytes);
    if (block.size() < kFillBlockBytes && at > 0) break;
    const uint64_t ones =
        bloom::CountOnes(reinterpret_cast<const uint8_t*>(block.data()), block.size());
    ++counts[std::min<size_t>(kBins - 1, ones * kBins / (8 * block.size()))];
  }
  std::vector<FillBin> bins;
  for (size_t i = 0; i < kBins; ++i) {
    bins.push_back({static_cast<double>(i) / kBins, static_cast<double>(i + 1) / kBins, counts[i]});
  }
  const auto is_empty = [](const FillBin& bin) { return bin.blocks == 0; };
  bins.erase(bins.begin(), std::find_if_not(bins.begin(), bins.end(), is_empty));
  while (!bins.empty() && is_empty(bins.back())) bins.pop_back();
  return bins;
}

}  // namespace tools
