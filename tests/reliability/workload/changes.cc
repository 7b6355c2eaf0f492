#include "tests/reliability/workload/changes.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/status.h"

namespace reliability {
namespace {

using lsm::Concat;

constexpr size_t kWindowKeysMax = 200;
constexpr size_t kRangesInBatchMax = 12;

// Ranges share bounds: half of these are borders between this many parts of the pool.
constexpr uint32_t kParts = 16;

uint32_t AnyBorder(const KeyPool& keys, Draws& draws) {
  if (draws.OneIn(2)) return keys.Any(draws);
  return keys.size() * draws.Roll(kParts) / kParts;
}

// Draws a range of any width, from no key to all keys.  Narrow ones are the most frequent.
RankBounds AnyRange(const KeyPool& keys, Draws& draws) {
  RankBounds range{AnyBorder(keys, draws), keys.size(), true, true};
  switch (draws.Roll(16)) {
    case 0:
      range.end = AnyBorder(keys, draws);  // perhaps before the first one
      break;
    case 1:
      range.has_upper = false;
      range.first = std::max(range.first, keys.size() - 1 - draws.Roll(keys.size() / 4));
      break;
    case 2:
      range.has_upper = !draws.OneIn(8);
      break;
    case 3:  // as a queue, from the first key on
      range.first = 0;
      range.end = draws.Roll(keys.size() / 2);
      break;
    case 4:
    case 5:  // to the next border, where others begin
      range.end =
          std::min(keys.size(), (range.first * kParts / keys.size() + 1) * keys.size() / kParts);
      break;
    default: {
      uint32_t width = 1;
      while (width < keys.size() / 4 && draws.OneIn(2)) width *= 2;
      range.end = range.first + 1 + draws.Roll(2 * width);
    }
  }
  // The upper bound is a key.
  range.end = std::min(range.end, range.has_upper ? keys.size() - 1 : keys.size());
  return range;
}

void DrawRanges(Action::Kind kind, const KeyPool& keys, const ValuePool& values, Draws& draws,
                std::vector<Change>* changes) {
  const auto add = [&](const RankBounds& range) { changes->push_back({0, {}, range}); };
  if (kind == Action::kDeleteRange) return add(AnyRange(keys, draws));
  for (size_t left = 1 + draws.Roll(kRangesInBatchMax); left > 0; --left) {
    if (draws.OneIn(2)) {
      changes->push_back(
          {keys.AnyWritten(draws), draws.OneIn(4) ? Value() : values.Any(draws), {}});
      continue;
    }
    RankBounds range = AnyRange(keys, draws);
    add(range);
    // Some ranges begin where this one ends, or have keys put into them.
    if (range.has_upper && draws.OneIn(3)) {
      range.first = std::exchange(range.end, std::min(keys.size() - 1, range.end + draws.Roll(20)));
      add(range);
    }
    if (range.first < range.end && draws.OneIn(2))
      changes->push_back(
          {range.first + draws.Roll(range.end - range.first), values.Any(draws), {}});
  }
}

// A key such that exactly the keys of lower ranks are below it: the key of `rank`, or for one rank
// in three the successor of the key before.
std::string BorderBefore(uint32_t rank, const KeyPool& keys) {
  if (rank % 3 == 2) return std::string(keys[rank - 1]) + '\0';
  return std::string(keys[rank]);
}

std::string TextOf(const Change& change, const KeyPool& keys) {
  if (change.range) return Concat("range", TextOf(*change.range, keys), " deleted");
  return Concat(keys.TextOf(change.rank),
                change.value.exists() ? Concat(" = ", change.value.bytes, " bytes") : " deleted");
}

}  // namespace

void DrawChanges(Action::Kind kind, const KeyPool& keys, const ValuePool& values, Draws& draws,
                 std::vector<Change>* changes) {
  changes->clear();
  const auto add = [&](uint32_t rank, bool deletes) {
    changes->push_back({rank, deletes ? Value() : values.Any(draws), {}});
  };
  if (kind == Action::kDeleteRange || kind == Action::kRangeBatch)
    return DrawRanges(kind, keys, values, draws, changes);
  if (kind == Action::kWindow) {
    // Some windows move on from the first key, as in a queue.
    const uint32_t first = draws.OneIn(3) ? 0 : draws.Roll(keys.size());
    const uint32_t end = std::min(keys.size(), first + 1 + draws.Roll(kWindowKeysMax));
    for (uint32_t rank = first; rank < end; ++rank) add(rank, /*deletes=*/true);
    return;
  }
  if (kind != Action::kBatch) return add(keys.AnyWritten(draws), kind == Action::kDelete);
  for (size_t left = draws.Roll(12); left > 0; --left) {
    const bool again = !changes->empty() && draws.OneIn(3);
    const uint32_t rank = again ? changes->back().rank : keys.AnyWritten(draws);
    add(rank, draws.OneIn(3));
  }
}

std::string TextOf(const std::vector<Change>& changes, const KeyPool& keys) {
  std::string text;
  for (const Change& change : changes)
    text += Concat(text.empty() ? "" : ", ", TextOf(change, keys));
  return text;
}

std::string FromOf(const RankBounds& range, const KeyPool& keys) {
  return BorderBefore(range.first, keys);
}

std::optional<std::string> ToOf(const RankBounds& range, const KeyPool& keys) {
  if (!range.has_upper) return std::nullopt;
  return BorderBefore(range.end, keys);
}

void AddTo(lsm::WriteBatch* batch, const std::vector<Change>& changes, const KeyPool& keys,
           const ValuePool& values, const lsm::Keyspace* keyspace) {
  std::string buffer;
  const auto add = [&](auto&... in) {
    for (const auto& [rank, value, range] : changes) {
      if (range) {
        batch->DeleteRange(in..., FromOf(*range, keys), ToOf(*range, keys));
      } else if (value.exists()) {
        batch->Put(in..., keys[rank], values.BytesOf(value, &buffer));
      } else {
        batch->Delete(in..., keys[rank]);
      }
    }
  };
  keyspace == nullptr ? add() : add(*keyspace);
}

absl::Status WriteTo(lsm::DB& db, lsm::Keyspace& keyspace, Action::Kind kind,
                     const std::vector<Change>& changes, const KeyPool& keys,
                     const ValuePool& values, const lsm::WriteOptions& options) {
  const auto& [rank, value, range] = changes[0];
  if (kind == Action::kDelete) return keyspace.Delete(keys[rank], options);
  if (kind == Action::kDeleteRange)
    return keyspace.DeleteRange(FromOf(*range, keys), ToOf(*range, keys), options);
  if (kind == Action::kPut) {
    std::string buffer;
    return keyspace.Put(keys[rank], values.BytesOf(value, &buffer), options);
  }
  lsm::WriteBatch batch;
  AddTo(&batch, changes, keys, values, &keyspace);
  return db.Write(batch, options);
}

}  // namespace reliability
