// A filter of the ids that a store holds, for programs that do not ask the store about an id of
// which the filter says "never seen".
//
// Such a filter must never lack an id of the store: its "no" is final.  So it lies in the store
// itself, and only while no thread writes: TakeIdsFilter takes it out, durably, before the first id
// is written, SaveIdsFilter puts it back after the last.  A process that ends in between leaves a
// store without one, and the next start makes it from the ids.  As the two lie together, no backup
// or copy has a filter that is older than its ids; and as each taking has a number, one that
// DB::Repair brings back (deleted keys may come back there) is known as old.
//
//   Take (write an id, Add it)* Save
//
// One process at a time: the store's lock sees to that.  Taking is a synced write, so that all that
// an earlier process left is durable once it returns.
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

// An id's entry is kIdPrefix + id; all keys in [kIdPrefix, kIdsEnd) are ids.
inline constexpr std::string_view kIdPrefix = "id/", kIdsEnd = "id0";
inline constexpr std::string_view kFilterKey = "filter";  // the number, a space, the bytes
inline constexpr std::string_view kTakingsKey = "filter takings";

inline std::string KeyOf(std::string_view id) { return std::string(kIdPrefix).append(id); }

using IdsFilter = bloom::Filter<bloom::Blocked>;

struct TakenFilter {
  IdsFilter filter;
  uint64_t number = 0;     // of this taking
  bool was_saved = false;  // false: it was made from the ids
};

// The filter of all ids in the store.  One that is made from them, with the seed, has room for
// `expected_ids` at `fpp`; where there are more already, for twice as many as there are.  More ids
// than it has room for make it let more pass, until the next taking makes a larger one.
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

// No id may be written after this.  A filter that is larger than a value may be is not kept.
inline absl::Status SaveIdsFilter(lsm::DB& db, const TakenFilter& taken) {
  if (taken.filter.size_bits() / 8 > lsm::kValueBytesMax) return absl::OkStatus();
  const std::string value = std::to_string(taken.number) + " " + taken.filter.Serialize();
  if (value.size() > lsm::kValueBytesMax) return absl::OkStatus();
  return db.Put(kFilterKey, value, {.sync = true});
}

}  // namespace examples

#endif  // TRELLIS_LSM_EXAMPLES_IDS_FILTER_H_
