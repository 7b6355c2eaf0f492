#include "bloom/literature/vector_file.h"

#include <bit>
#include <cstring>

#include "bloom/core/concat.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr size_t kDimensionBytes = 4;

uint32_t Load32(const char* from) {
  uint32_t value;
  std::memcpy(&value, from, 4);
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap32(value);
  return value;
}

absl::Status Damaged(uint64_t record, uint64_t offset, const std::string& what) {
  return absl::DataLossError(Concat("vectors: record ", record, " at offset ", offset, what));
}

// The dimension of the record at the start of `bytes`, which may be cut off after it.
absl::StatusOr<uint32_t> DimensionOf(std::string_view bytes, uint64_t record, uint64_t offset) {
  if (bytes.size() < kDimensionBytes) {
    return Damaged(record, offset,
                   Concat(" has ", bytes.size(), " bytes, its dimension alone has 4"));
  }
  const auto dimension = static_cast<int32_t>(Load32(bytes.data()));
  if (dimension >= 1 && dimension <= int32_t{kMaxVectorDimension})
    return static_cast<uint32_t>(dimension);
  return Damaged(record, offset,
                 Concat(" has dimension ", dimension, ", not 1 to ", kMaxVectorDimension));
}

template <VectorComponent T>
void Append(std::string_view bytes, std::vector<T>& components) {
  for (; !bytes.empty(); bytes.remove_prefix(sizeof(T))) {
    if constexpr (sizeof(T) == 1) {
      components.push_back(static_cast<uint8_t>(bytes[0]));
    } else {
      components.push_back(std::bit_cast<T>(Load32(bytes.data())));
    }
  }
}

}  // namespace

template <VectorComponent T>
absl::StatusOr<VectorList<T>> ParseVectors(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(const uint32_t dimension, DimensionOf(bytes, 0, 0));
  const size_t record_bytes = kDimensionBytes + size_t{dimension} * sizeof(T);
  VectorList<T> vectors(dimension);
  vectors.Reserve(bytes.size() / record_bytes);
  std::vector<T> vector;
  for (uint64_t offset = 0; offset < bytes.size(); offset += record_bytes) {
    const std::string_view rest = bytes.substr(offset);
    TRELLIS_ASSIGN_OR_RETURN(const uint32_t own, DimensionOf(rest, vectors.size(), offset));
    if (own != dimension) {
      return Damaged(vectors.size(), offset,
                     Concat(" has dimension ", own, ", record 0 has ", dimension));
    }
    if (rest.size() < record_bytes) {
      return Damaged(vectors.size(), offset,
                     Concat(" has ", rest.size(), " bytes of ", record_bytes));
    }
    vector.clear();
    Append(rest.substr(kDimensionBytes, record_bytes - kDimensionBytes), vector);
    vectors.Add(vector);
  }
  return vectors;
}

template <VectorComponent T>
std::string EncodeVectors(const VectorList<T>& vectors) {
  const int32_t dimension[] = {static_cast<int32_t>(vectors.dimension())};
  const std::string head = LittleEndianBytes(std::span<const int32_t>(dimension));
  std::string bytes;
  bytes.reserve(vectors.size() * (kDimensionBytes + vectors.dimension() * sizeof(T)));
  for (size_t i = 0; i < vectors.size(); ++i) bytes += head + LittleEndianBytes(vectors[i]);
  return bytes;
}

template absl::StatusOr<VectorList<int32_t>> ParseVectors(std::string_view bytes);
template absl::StatusOr<VectorList<float>> ParseVectors(std::string_view bytes);
template absl::StatusOr<VectorList<uint8_t>> ParseVectors(std::string_view bytes);
template std::string EncodeVectors(const VectorList<int32_t>& vectors);
template std::string EncodeVectors(const VectorList<float>& vectors);
template std::string EncodeVectors(const VectorList<uint8_t>& vectors);

}  // namespace bloom
