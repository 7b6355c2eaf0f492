#include "lsm/compaction/store_reads.h"

#include <algorithm>
#include <utility>

namespace lsm::inline TRELLIS_ABI {
namespace {

// The share of the table's data in [from, to).
double ShareBetween(const OpenTable& table, std::string_view from,
                    std::optional<std::string_view> to) {
  const KeySpan span = table.meta.span();
  if (span.EndsBy(from) || (to && span.begin >= *to)) return 0;
  const uint64_t all = table.table->footer().data_end();
  const uint64_t begin = from <= span.begin ? 0 : table.table->ApproximateOffsetOf(from);
  const uint64_t end = !to || span.EndsBy(*to) ? all : table.table->ApproximateOffsetOf(*to);
  return static_cast<double>(end - std::min(begin, end)) / static_cast<double>(all);
}

}  // namespace

StoreReads::StoreReads(const Tree& tree, const Counters* counters) {
  const uint64_t lookups = tree.LookupsSoFar(counters);
  std::vector<HotnessScale::Part> parts;
  for (int level = 0; level < kLevels; ++level) {
    for (const TableSpan run : tree.runs(level)) {
      uint64_t keys = 0;
      for (const auto& table : run) keys += KeysOf(*table);
      for (const auto& table : run) {
        const double share =
            static_cast<double>(KeysOf(*table)) / static_cast<double>(std::max<uint64_t>(keys, 1));
        const WastedReads reads = table->wasted_reads->Get(lookups, share * FppOf(*table));
        tables_[table.get()] = reads;
        parts.push_back({share, reads});
      }
    }
  }
  scale_ = HotnessScale::Of(parts);
}

WastedReads StoreReads::Of(const OpenTable& table) const {
  const auto at = tables_.find(&table);
  return at == tables_.end() ? WastedReads() : at->second;
}

InputReads::InputReads(const StoreReads& store, OpenTables inputs) {
  for (auto& table : inputs) {
    const WastedReads reads = store.Of(*table);
    inputs_.push_back({std::move(table), reads});
    cuts_.push_back(inputs_.back().table->meta.span().begin);
  }
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
}

InputReads::Range InputReads::Between(std::string_view from,
                                      std::optional<std::string_view> to) const {
  Range range;
  range.from = from;
  for (const Input& input : inputs_) {
    const double share = ShareBetween(*input.table, from, to);
    if (share == 0) continue;
    range.keys += share * static_cast<double>(KeysOf(*input.table));
    range.file_bytes += share * static_cast<double>(input.table->meta.file_bytes);
    range.reads.Add(input.reads, share);
  }
  return range;
}

std::vector<InputReads::Range> InputReads::Ranges() const {
  std::vector<Range> ranges;
  for (size_t i = 0; i < cuts_.size(); ++i) {
    ranges.push_back(
        Between(cuts_[i], i + 1 < cuts_.size() ? std::optional(cuts_[i + 1]) : std::nullopt));
  }
  return ranges;
}

WastedReads InputReads::Ahead(std::string_view from, uint64_t bytes) const {
  // Assumes that the table ends at the first cut after three quarters of `bytes`.
  const double wanted = 0.75 * static_cast<double>(bytes);
  for (auto cut = std::upper_bound(cuts_.begin(), cuts_.end(), from); cut != cuts_.end(); ++cut) {
    const Range range = Between(from, *cut);
    if (range.file_bytes >= wanted) return range.reads;
  }
  return Between(from, std::nullopt).reads;
}

}  // namespace lsm
