// A filter of the ids in a store, for programs that ask the filter before the store.
//
// Such a filter must never lack an id of the store, since its "no" is final.  Therefore it is kept
// in the store itself, and only while no thread writes ids:
//
//   Take (write an id, Add it)* Save
//
//   TakeIdsFilter  removes it durably, before the first id is written
//   SaveIdsFilter  stores it again after the last id
//
// If a process ends in between, the store has no filter, and the next start makes one from the ids.
// Filter and ids are in one store, so no backup or copy has a filter older than its ids.
// DB::Repair may bring a deleted filter back, but each TakeIdsFilter has a number, which shows that
// it is old.
//
// One process at a time; the store's lock ensures that.  TakeIdsFilter makes a synced write, so
// everything that an earlier process wrote is durable when it returns.
#ifndef TRELLIS_LSM_EXAMPLES_IDS_FILTER_H_
#define TRELLIS_LSM_EXAMPLES_IDS_FILTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../bloom/examples/command_line.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/filter.h"
#include "lsm/db.h"
#include "lsm/limits.h"

namespace examples {

// The entry of an id is kIdPrefix + id.  All keys in [kIdPrefix, kIdsEnd) are ids.
inline constexpr std::string_view kIdPrefix = "id/", kIdsEnd = "id0";
inline constexpr std::string_view kFilterKey = "filter";  // value: the number, a space, the bytes
inline constexpr std::string_view kTakingsKey = "filter takings";

inline std::string KeyOf(std::string_view id) { return std::string(kIdPrefix).append(id); }

using IdsFilter = bloom::Filter<bloom::Blocked>;

struct TakenFilter {
  IdsFilter filter;
  uint64_t number = 0;     // of this TakeIdsFilter
  bool was_saved = false;  // false: made from the ids
};

// Takes the filter of all ids in the store.  If it must be made from the ids, it has the given
// seed, and room for `expected_ids` at `fpp`; or for twice the existing number, if there are more.
// If it gets more ids than planned, its FPP rises, until the next TakeIdsFilter makes a larger one.
inline absl::StatusOr<TakenFilter> TakeIdsFilter(lsm::DB& db, uint64_t expected_ids, double fpp,
                                                 uint64_t seed) {
  const absl::StatusOr<std::optional<std::string>> takings = db.Get(kTakingsKey);
  if (!takings.ok()) return takings.status();
  const absl::StatusOr<std::optional<std::string>> saved = db.Get(kFilterKey);
  if (!saved.ok()) return saved.status();
  uint64_t number = 0;
  if (takings->has_value() && !ParseNumber(**takings, &number))
    return absl::DataLossError("the store's \"filter takings\" are no number");
  lsm::WriteBatch taking;
  taking.Put(kTakingsKey, std::to_string(number + 1));
  taking.Delete(kFilterKey);
  if (absl::Status status = db.Write(taking, {.sync = true}); !status.ok()) return status;

  const std::string mark = std::to_string(number) + " ";
  if (saved->has_value() && (*saved)->starts_with(mark)) {
    absl::StatusOr<IdsFilter> filter =
        IdsFilter::Load(std::string_view(**saved).substr(mark.size()));
    const bool serves = filter.ok() && filter->target_fpp() == fpp &&
                        filter->PredictedFpp(filter->added_count()) <= fpp;
    if (serves) return TakenFilter{*std::move(filter), number + 1, true};
  }
  std::vector<bloom::Digest> digests;
  lsm::ReadOptions all = {.fill_cache = false, .lower_bound = kIdPrefix, .upper_bound = kIdsEnd};
  const std::unique_ptr<lsm::Iterator> entry = db.NewIterator(all);
  for (entry->SeekToFirst(); entry->Valid(); entry->Next())
    digests.push_back(bloom::DigestOf(entry->key().substr(kIdPrefix.size()), seed));
  if (!entry->status().ok()) return entry->status();
  const uint64_t room = digests.size() <= expected_ids ? expected_ids : 2 * digests.size();
  absl::StatusOr<IdsFilter> filter = IdsFilter::Make(room, fpp, seed);
  if (!filter.ok()) return filter.status();
  filter->AddDigests(digests);
  return TakenFilter{*std::move(filter), number + 1, false};
}

// Saves the filter.  No id may be written after this.  Does not save a filter that is larger than a
// value may be.
inline absl::Status SaveIdsFilter(lsm::DB& db, const TakenFilter& taken) {
  if (taken.filter.size_bits() / 8 > lsm::kValueBytesMax) return absl::OkStatus();
  const std::string value = std::to_string(taken.number) + " " + taken.filter.Serialize();
  if (value.size() > lsm::kValueBytesMax) return absl::OkStatus();
  return db.Put(kFilterKey, value, {.sync = true});
}

}  // namespace examples

#endif  // TRELLIS_LSM_EXAMPLES_IDS_FILTER_H_
