// Several filters of one shape and seed that every query asks, such as the generations of a
// rotating filter.  A digest has the same positions in all of them, so these are computed once.
// The cache misses overlap, so a query waits for memory once, not once per filter.
#ifndef TRELLIS_BLOOM_FILTERS_SIBLINGS_H_
#define TRELLIS_BLOOM_FILTERS_SIBLINGS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bloom/core/abi.h"
#include "bloom/core/concepts.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/shape.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// The filters must outlive it, and keep their payloads in place.  Thread-safe.
template <BitLayout Layout>
class Siblings {
 public:
  // REQUIRES: at least one filter, all of one shape and seed.
  template <class Filter>
  explicit Siblings(const std::vector<Filter>& filters)
      : view_(filters.front().view()), each_(Layout::Functions(view_)) {
    for (const Filter& filter : filters) payloads_.push_back(filter.view().payload);
    is_far_ = Layout::PayloadBytes(view_.shape) > kNearPayloadBytes / payloads_.size();
    if constexpr (SiblingLayout<Layout>) together_ = Layout::FunctionsOfSiblings(view_);
  }

  bool AnyMayContain(Digest digest) const {
    if constexpr (SiblingLayout<Layout>) {
      return together_.any_may_contain(view_, payloads_, digest);
    } else {
      PrefetchIfFar(digest);
      return std::any_of(payloads_.begin(), payloads_.end(), [&](const uint8_t* payload) {
        return each_.may_contain(ViewOf(payload), digest);
      });
    }
  }

  // results[i] = AnyMayContain(digests[i]).  REQUIRES: results.size() >= digests.size().
  void AnyMayContainBatch(std::span<const Digest> digests, std::span<bool> results) const {
    if constexpr (SiblingLayout<Layout>) {
      together_.any_may_contain_batch(view_, payloads_, digests, results.data());
    } else {
      for (size_t begin = 0; begin < digests.size(); begin += kMostAtOnce) {
        const size_t count = std::min(digests.size() - begin, kMostAtOnce);
        AskInTurn(digests.subspan(begin, count), results.data() + begin);
      }
    }
  }

  // Starts loading the memory that AnyMayContain reads first, in all filters.
  void Prefetch(Digest digest) const {
    for (const uint8_t* const payload : payloads_) each_.prefetch(ViewOf(payload), digest);
  }
  // Prefetches only if the filters do not fit a second-level cache.
  void PrefetchIfFar(Digest digest) const {
    if (is_far_) Prefetch(digest);
  }

 private:
  static constexpr size_t kMostAtOnce = 256;  // fits the stack

  FilterView ViewOf(const uint8_t* payload) const { return {payload, view_.shape, view_.seed}; }

  // Asks each filter, in a batch, for the digests that passed no earlier filter.
  void AskInTurn(std::span<const Digest> digests, bool* results) const {
    Digest left[kMostAtOnce];
    size_t places[kMostAtOnce];
    bool answers[kMostAtOnce];
    size_t left_count = digests.size();
    for (size_t i = 0; i < left_count; ++i) left[i] = digests[i], places[i] = i;
    for (const uint8_t* const payload : payloads_) {
      each_.may_contain_batch(ViewOf(payload), left, left_count, answers);
      size_t kept = 0;
      for (size_t i = 0; i < left_count; ++i) {
        results[places[i]] = answers[i];
        left[kept] = left[i];
        places[kept] = places[i];
        kept += answers[i] ? 0 : 1;
      }
      left_count = kept;
    }
  }

  FilterView view_;  // of the first filter
  FilterFunctions each_;
  SiblingFunctions together_{};
  std::vector<const uint8_t*> payloads_;
  bool is_far_ = false;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_FILTERS_SIBLINGS_H_
