// The compared filters of vectors: the study's, faults included, and the library's.
#ifndef TRELLIS_BENCH_FILTER_LAB_VECTORS_VECTOR_SUBJECTS_H_
#define TRELLIS_BENCH_FILTER_LAB_VECTORS_VECTOR_SUBJECTS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/literature/vector_file.h"

namespace bench {

// The study's filters hash a vector once and use that hash for all k probes.
inline constexpr char kStudyBf[] = "BF of the study";
inline constexpr char kStudyHdbf[] = "HDBF of the study";

struct VectorSubject {
  std::string name;
  std::function<void(std::span<const int32_t>)> add;
  // The number of the queries [0, count) that pass.  The loop is inside, so that no call is timed.
  std::function<uint64_t(const bloom::VectorList<int32_t>& queries, size_t count)> count_passing;
  uint64_t size_bits = 0;
  uint32_t probes = 0;
  double predicted = 0;  // with the planned number of vectors
};

// Filters planned for `keys` vectors at a target.
absl::StatusOr<std::vector<VectorSubject>> VectorSubjects(uint64_t keys, double target_fpp,
                                                          uint32_t dimension, uint64_t seed);

// Internal, naming the filter, if it denies an added vector.
absl::Status AddAll(const bloom::VectorList<int32_t>& vectors, VectorSubject* subject);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_VECTORS_VECTOR_SUBJECTS_H_
