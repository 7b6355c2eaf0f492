// A piece of a table: its identity, its checksums, and its entry in an index file.
#ifndef TRELLIS_LSM_PIECES_PIECE_H_
#define TRELLIS_LSM_PIECES_PIECE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr uint64_t kPieceBytes = uint64_t{64} << 10;
// Each part of a piece with this size has a checksum.
inline constexpr uint64_t kPartBytes = uint64_t{4} << 10;
inline constexpr size_t kPartsOfPiece = kPieceBytes / kPartBytes;

// The hash of a name in a directory, whose path ends with a slash.  Needs no memory.
uint64_t HashOfPath(std::string_view directory, std::string_view name);

// A table at a path.  Two tables with equal values have equal bytes, unless one was damaged.
struct TableIdentity {
  uint64_t path_hash = 0;
  uint64_t file_id = 0;
  uint64_t footer_hash = 0;
  bool operator==(const TableIdentity&) const = default;
};

// A table as a handle knows it.
struct KnownTable {
  TableIdentity identity;
  // Changes when the path's pieces are forgotten, so that a handle of a removed file does not find
  // the pieces of a copy that was made there since.
  uint64_t generation = 0;
};

// The identity of a file with these last bytes; nullopt if they are not the footer of a table.
std::optional<TableIdentity> IdentityOf(uint64_t path_hash, std::string_view last_bytes,
                                        uint64_t file_bytes);

// An entry of an index file.
struct PieceEntry {
  static constexpr size_t kBytes = 112;

  TableIdentity table;
  uint64_t offset = 0;  // in the segment
  uint32_t number = 0;  // the piece begins at number * kPieceBytes of the table
  uint32_t length = 0;  // 0: earlier entries of this path are void
  std::array<uint32_t, kPartsOfPiece> checksums = {};  // of the parts

  // Checksums are bound to the path and the place in the table.
  void SetChecksums(std::string_view bytes);
  // Whether `bytes`, which begin at `from` in the piece, are as they were stored.  REQUIRES: both
  // ends are at the ends of parts.
  bool Verify(uint64_t from, std::string_view bytes) const;

  // The encoding is bound to its place: the segment's number, and the offset in its index.
  std::string Encode(uint64_t segment, uint64_t index_offset) const;
  static std::optional<PieceEntry> Decode(std::string_view bytes, uint64_t segment,
                                          uint64_t index_offset);

 private:
  uint32_t ChecksumOf(size_t part, std::string_view bytes) const;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_PIECES_PIECE_H_
