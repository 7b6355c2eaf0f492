// Files of vectors in the formats of published collections for nearest-neighbour search: fvecs
// (float32), ivecs (int32) and bvecs (uint8).
//
//     record:  | dimension d: int32 | d components of 4, 4 or 1 bytes |     all little-endian
//     file:    | record | record | ... |                                    all of one dimension
//
// The caller reads the file; these functions accept any bytes.  Pure functions; thread-safe.
#ifndef TRELLIS_BLOOM_LITERATURE_VECTOR_FILE_H_
#define TRELLIS_BLOOM_LITERATURE_VECTOR_FILE_H_

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/literature/vector_digest.h"

namespace bloom::inline TRELLIS_ABI {

// Above any dimension in use.  A larger one means damage, or another type of file.
inline constexpr uint32_t kMaxVectorDimension = 1 << 20;

// Vectors of one dimension, contiguous in memory.
template <VectorComponent T>
class VectorList {
 public:
  // Makes an empty list.  REQUIRES: 1 <= dimension <= kMaxVectorDimension.
  explicit VectorList(uint32_t dimension) : dimension_(dimension) {
    assert(dimension >= 1 && dimension <= kMaxVectorDimension);
  }

  // REQUIRES: the vector has the dimension.
  void Add(std::span<const T> vector) {
    assert(vector.size() == dimension_);
    const size_t before = components_.size();
    // Not insert(): GCC 12 warns of an impossible overflow there.
    components_.resize(before + vector.size());
    std::copy(vector.begin(), vector.end(), components_.begin() + static_cast<ptrdiff_t>(before));
  }
  void Reserve(size_t count) { components_.reserve(count * dimension_); }

  uint32_t dimension() const { return dimension_; }
  size_t size() const { return components_.size() / dimension_; }
  std::span<const T> operator[](size_t i) const {
    return std::span<const T>(components_).subspan(i * dimension_, dimension_);
  }

 private:
  uint32_t dimension_;
  std::vector<T> components_;
};

// Parses the bytes of such a file.  Takes as much memory as the bytes.  DataLoss, with the record
// and its offset, if a dimension is not in [1, kMaxVectorDimension] or differs from the first
// record's, or if the last record is incomplete.  DataLoss also for a file without records, which
// has no dimension.
template <VectorComponent T>
TRELLIS_API absl::StatusOr<VectorList<T>> ParseVectors(std::string_view bytes);

// The bytes of such a file.
template <VectorComponent T>
TRELLIS_API std::string EncodeVectors(const VectorList<T>& vectors);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_VECTOR_FILE_H_
