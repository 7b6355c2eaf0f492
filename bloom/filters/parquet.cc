#include "bloom/parquet.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bloom/core/concat.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// The part of Thrift's compact protocol that such a header needs.
//
//     field:   | id - last id: 4 bits, type: 4 bits |, or | 0, type | id: zigzag varint |
//     integer: zigzag varint      struct: fields, then a byte of 0      binary: varint, bytes
enum Type : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kStruct = 12,
};

struct Field {
  int64_t id = 0;
  uint8_t type = kStop;
};

// Reads from the front of bytes.  After an error ok() is false, and all further results are zeros.
class CompactReader {
 public:
  explicit CompactReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

  Field NextField(int64_t last_id) {
    const uint8_t head = Byte();
    const uint8_t type = head & 15;
    if (!ok_ || type == kStop) return {};
    // Field ids are 16-bit numbers above 0.
    const int64_t id = head >> 4 != 0 ? last_id + (head >> 4) : Integer();
    if (id < 1 || id > INT16_MAX) ok_ = false;
    return ok_ ? Field{id, type} : Field{};
  }

  int64_t Integer() {
    const uint64_t zigzag = Varint();
    return static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
  }

  // Skips fields of newer versions.  Nested structs are skipped to some depth.  Lists and maps,
  // which no version has, are errors.
  void Skip(uint8_t type, int depth = 0) {
    constexpr int kDeepest = 8;
    switch (type) {
      case kTrue:
      case kFalse:
        return;
      case kByte:
        return Drop(1);
      case kI16:
      case kI32:
      case kI64:
        Varint();
        return;
      case kDouble:
        return Drop(8);
      case kBinary:
        return Drop(Varint());
      case kStruct:
        if (depth == kDeepest) break;
        for (Field field = NextField(0); field.type != kStop; field = NextField(field.id))
          Skip(field.type, depth + 1);
        return;
      default:
        break;
    }
    ok_ = false;
  }

 private:
  void Drop(uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
    } else {
      rest_.remove_prefix(size);
    }
  }

  uint8_t Byte() {
    const uint8_t byte = rest_.empty() ? uint8_t{0} : static_cast<uint8_t>(rest_.front());
    Drop(1);
    return byte;
  }

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && ok_; shift += 7) {
      const uint8_t byte = Byte();
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    ok_ = false;
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// A union is a struct with one field, whose id tells the alternative.
int64_t ReadUnion(CompactReader& reader) {
  const Field field = reader.NextField(0);
  if (field.type == kStop) return 0;
  reader.Skip(field.type);
  if (reader.NextField(field.id).type != kStop) return 0;
  return field.id;
}

absl::Status NoFilter(std::string_view why) {
  return absl::DataLossError("not a Bloom filter of Parquet: " + std::string(why));
}

absl::Status CheckFirst(const char* what, int64_t id) {
  if (id == 1) return absl::OkStatus();
  if (id == 0) return NoFilter(Concat("its header does not say which ", what));
  return absl::UnimplementedError(
      Concat("Bloom filter of Parquet: ", what, " ", id, " is unknown"));
}

}  // namespace

absl::StatusOr<ParquetFilter> ParquetFilter::Make(uint64_t value_count, double target_fpp) {
  if (value_count == 0) return absl::InvalidArgumentError("value_count must be at least 1");
  TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
  if (value_count > 8 * kMaxBytes) {  // even one bit per value is too much
    return absl::InvalidArgumentError(Concat("value_count ", value_count, " needs more than the ",
                                             kMaxBytes, " bytes that readers take"));
  }
  TRELLIS_ASSIGN_OR_RETURN(Shape shape, SplitBlockShapeFor(value_count, target_fpp));
  shape.size = std::bit_ceil(shape.size);
  const uint64_t size = SplitBlock::PayloadBytes(shape);
  if (size > kMaxBytes) {
    return absl::InvalidArgumentError(Concat("value_count ", value_count, " at target_fpp ",
                                             target_fpp, " needs ", size, " bytes, readers take ",
                                             kMaxBytes));
  }
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes bits, ZerosFor(size));
  return ParquetFilter(shape, std::move(bits));
}

absl::StatusOr<ParquetFilter> ParquetFilter::Load(std::string_view bytes) {
  CompactReader reader(bytes);
  int64_t size = -1, algorithm = 0, hash = 0, compression = 0;
  for (Field field = reader.NextField(0); field.type != kStop; field = reader.NextField(field.id)) {
    if (field.id == 1 && field.type == kI32) {
      size = reader.Integer();
    } else if (field.id == 2 && field.type == kStruct) {
      algorithm = ReadUnion(reader);
    } else if (field.id == 3 && field.type == kStruct) {
      hash = ReadUnion(reader);
    } else if (field.id == 4 && field.type == kStruct) {
      compression = ReadUnion(reader);
    } else {
      reader.Skip(field.type);
    }
  }
  if (!reader.ok()) return NoFilter("its header cannot be read");
  for (const absl::Status& status : {CheckFirst("algorithm", algorithm), CheckFirst("hash", hash),
                                     CheckFirst("compression", compression)}) {
    if (!status.ok()) return status;
  }
  const uint64_t wanted = static_cast<uint64_t>(size);
  if (size <= 0 || wanted % SplitBlock::kLineBytes != 0)
    return NoFilter(Concat("its header says ", size, " bytes, which is not a multiple of 32"));
  if (wanted > reader.rest().size()) {
    return NoFilter(
        Concat("has ", reader.rest().size(), " bytes of the ", size, " that its header says"));
  }
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes bits, ZerosFor(wanted));
  std::memcpy(bits.data(), reader.rest().data(), wanted);
  return ParquetFilter({wanted / SplitBlock::kLineBytes, SplitBlock::kProbes}, std::move(bits));
}

uint64_t ParquetFilter::HashOf(std::string_view value) { return Xxh64Of(value); }

void ParquetFilter::StorePlain(const void* number, size_t size, char* to) {
  std::memcpy(to, number, size);
  if constexpr (std::endian::native == std::endian::big) std::reverse(to, to + size);
}

absl::Status ParquetFilter::Merge(const ParquetFilter& other) {
  if (size_bytes() != other.size_bytes()) {
    return CannotMerge("sizes", std::to_string(size_bytes()), std::to_string(other.size_bytes()));
  }
  for (size_t i = 0; i < bits_.size(); ++i) bits_.data()[i] |= other.bits_.data()[i];
  return absl::OkStatus();
}

void ParquetFilter::Clear() { std::memset(bits_.data(), 0, bits_.size()); }

std::string ParquetFilter::Serialize() const {
  // Field 1, then three unions of one empty struct each.
  std::string bytes(1, static_cast<char>(1 << 4 | kI32));
  for (uint64_t zigzag = 2 * size_bytes(); zigzag > 0; zigzag >>= 7)
    bytes += static_cast<char>((zigzag & 127) | (zigzag > 127 ? 128 : 0));
  for (int i = 0; i < 3; ++i)
    bytes.append(
        {static_cast<char>(1 << 4 | kStruct), static_cast<char>(1 << 4 | kStruct), kStop, kStop});
  bytes += static_cast<char>(kStop);
  bytes.append(reinterpret_cast<const char*>(bits_.data()), bits_.size());
  return bytes;
}

double ParquetFilter::PredictedFpp(uint64_t value_count) const {
  return SplitBlockFpp(shape_.size, value_count);
}

double ParquetFilter::CurrentFpp() const {
  return SplitBlock::CurrentFpp({bits_.data(), shape_, 0});
}

double ParquetFilter::EstimatedValueCount() const {
  const auto ones = static_cast<double>(CountOnes(bits_.data(), bits_.size()));
  return SplitBlock::KeyCountFromFill(shape_,
                                      ones / static_cast<double>(SplitBlock::SizeBits(shape_)));
}

}  // namespace bloom
