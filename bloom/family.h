// THE list of the filters that are objects: made in memory, changed key by key, saved and loaded.
// The typed tests and the lab are driven from it; to add one is to add it here (bloom/README.md).
//
// Their bytes have the header of all filters (bloom/core/filter_format.h), with tags of their own.
// A FilterReader answers "maybe" to them and names the tag.
//
//   tag  kind
//    64  counting
//    65  spectral
//    66  shifting-counting
//    67  shifting-double
//    71  dynamic, with rows of some kind
//    72  scalable, with rows of some kind
//    73  retouched
//    74  rotating, with rows of some kind
//
// Not in Family, since they are asked something else or are given something else than keys:
//
//    68  shifting-association
//    69  shifting-multiplicity
//    70  spatial
//    75  prefix
//    76  vectors
//    77  counting-vectors
#ifndef TRELLIS_BLOOM_FAMILY_H_
#define TRELLIS_BLOOM_FAMILY_H_

#include "bloom/core/abi.h"
#include "bloom/core/concepts.h"
#include "bloom/core/filter.h"
#include "bloom/filters/concurrent.h"
#include "bloom/filters/counting.h"
#include "bloom/filters/dynamic.h"
#include "bloom/filters/retouched.h"
#include "bloom/filters/rotating.h"
#include "bloom/filters/scalable.h"
#include "bloom/filters/shifting_counting.h"
#include "bloom/filters/shifting_double.h"
#include "bloom/filters/spectral.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/split_block.h"
#include "bloom/variants/standard.h"

namespace bloom::inline TRELLIS_ABI {

template <KeyFilter... Filters>
struct FilterList {};

// Those that answer "was this key added?", each sized from the number of keys and a target FPP.
using Family = FilterList<Filter<Standard>, Filter<Blocked>, Filter<SplitBlock>, Filter<Shifting>,
                          ConcurrentFilter, CountingFilter, SpectralFilter, ShiftingCountingFilter,
                          ShiftingDoubleFilter, DynamicFilter<>, DynamicFilter<CountingFilter>,
                          ScalableFilter<>, RetouchedFilter, RotatingFilter<>>;

}  // namespace bloom::inline TRELLIS_ABI

#endif  // TRELLIS_BLOOM_FAMILY_H_
