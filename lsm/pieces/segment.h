// A segment of the cache: NNNNNN.pieces, and NNNNNN.index with an entry for each piece.
#ifndef TRELLIS_LSM_PIECES_SEGMENT_H_
#define TRELLIS_LSM_PIECES_SEGMENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/pieces/piece.h"

namespace lsm::inline TRELLIS_ABI {

// The most bytes of a segment's two files.
struct SegmentSize {
  // For a cache of `bytes_max` bytes.
  explicit SegmentSize(uint64_t bytes_max);
  uint64_t pieces_bytes;
  uint64_t index_bytes;
  uint64_t total_bytes() const { return pieces_bytes + index_bytes; }
};

// Any number of threads may read `pieces`.  All else is for one thread at a time.
class Segment {
 public:
  static absl::StatusOr<std::shared_ptr<Segment>> Create(Directory& directory, uint64_t number);
  // Opens a segment of an earlier process, which takes no more pieces.  Adds the entries of its
  // index that can be used, in order.
  static absl::StatusOr<std::shared_ptr<Segment>> Load(Directory& directory, uint64_t number,
                                                       uint64_t index_bytes_max,
                                                       std::vector<PieceEntry>* entries);
  // The number, if it is the name of a segment's file.
  static std::optional<uint64_t> NumberOf(std::string_view name);

  // Appends a piece, which can be found once its entry is appended.  Sets the entry's offset,
  // length and checksums.
  // Both return ResourceExhausted without memory.  After an error, append nothing more: the files
  // may have a part of it.
  absl::Status AppendPiece(std::string_view bytes, PieceEntry* entry);
  absl::Status AppendEntry(const PieceEntry& entry);
  // No piece is appended any more, but entries of earlier ones may be.
  void Seal() { pieces_out_ = nullptr; }
  // Whether a piece of this size fits, with the entries of all pieces before it.
  bool HasRoomFor(const SegmentSize& size, uint64_t bytes) const;
  // Removes the files.  After OK they take no space once no thread reads them.
  absl::Status Remove(Directory& directory);

  uint64_t number() const { return number_; }
  const ReadFile& pieces() const { return *pieces_; }
  // Bytes of both files, including entries that are still to come; an upper bound after an error.
  uint64_t bytes() const { return pieces_bytes_ + reserved_index_bytes_; }
  bool is_removed() const { return is_removed_; }

  // Each piece that was found here; perhaps it is somewhere else by now.
  struct Held {
    uint64_t path_hash;
    uint64_t offset;
    uint32_t number;
  };
  std::vector<Held> held;

 private:
  explicit Segment(uint64_t number) : number_(number) {}

  const uint64_t number_;
  std::unique_ptr<ReadFile> pieces_;
  // Null in a segment of an earlier process.
  std::unique_ptr<AppendFile> pieces_out_, index_out_;
  uint64_t pieces_bytes_ = 0;
  uint64_t reserved_index_bytes_ = 0;
  bool is_removed_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_PIECES_SEGMENT_H_
