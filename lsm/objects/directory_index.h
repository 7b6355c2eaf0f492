// The index object of a directory: names and values of its entries and attributes.
// lsm/design/object_store.md has their meaning.
//
//   entry                value
//   f:NAME               a file (IndexedFile)
//   d:NAME               a directory: a random value, never used before
//   gone:TAG             a file that has lost a name (GoneFile)
//   link:TAG             a file (IndexedFile) that gets a name
//   pin:ID               a follower's pin (IndexedPin)
//
//   attribute            value
//   owner                Owner::Encode
//   removals             EncodeCount of the writes that removed tables' names
//   pins                 EncodeCount of the pins that were made
#ifndef TRELLIS_LSM_OBJECTS_DIRECTORY_INDEX_H_
#define TRELLIS_LSM_OBJECTS_DIRECTORY_INDEX_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"

namespace lsm::inline TRELLIS_ABI {

// Begins the name of an index object.
inline constexpr std::string_view kIndexPrefix = "index:";

inline constexpr std::string_view kFilePrefix = "f:";
inline constexpr std::string_view kDirectoryPrefix = "d:";
inline constexpr std::string_view kGonePrefix = "gone:";
inline constexpr std::string_view kLinkPrefix = "link:";
// Pins come after all other entries, in the order of the names.
inline constexpr std::string_view kPinPrefix = "pin:";

inline constexpr char kOwnerAttribute[] = "owner";
inline constexpr char kRemovalsAttribute[] = "removals";
inline constexpr char kPinsAttribute[] = "pins";
// On a file's first chunk: the tags of its names, with a space after each.
inline constexpr char kTagsAttribute[] = "tags";

inline constexpr size_t kIdDigits = 32;  // hexadecimal, of an ID or a tag
inline constexpr size_t kSmallBytesMax = 4096;
// The names that one write of an index removes.
inline constexpr size_t kRemovalsTogetherMax = 256;
// No file has more, so a damaged index cannot make a process try more.
inline constexpr uint64_t kChunksMax = uint64_t{1} << 16;

// The process that may change a directory.  The encoding of a later owner is greater, byte by byte.
struct Owner {
  uint64_t counter = 0;
  uint64_t random = 0;  // so that no value repeats
  std::string holder;   // for messages
  std::string Encode() const;
  // DataLoss with `path`.
  static absl::StatusOr<Owner> Decode(std::string_view bytes, std::string_view path);
};

enum class IndexedKind : char { kSmall = 's', kLog = 'l', kTable = 't' };

struct IndexedFile {
  IndexedKind kind = IndexedKind::kLog;
  std::string small_bytes;  // kSmall: the content

  // Otherwise: 32 hexadecimal digits, and the same of this name's tag.
  std::string id;
  std::string tag;
  uint64_t chunk_bytes = 0;  // of every chunk but the last
  uint64_t chunks = 0;       // registered, at least 1; kTable: 0 until Sync
  uint64_t size_bytes = 0;   // kTable: 0 until Sync, and perhaps after it

  bool operator==(const IndexedFile&) const = default;

  std::string Encode() const;  // never empty
  // DataLoss with `path`.
  static absl::StatusOr<IndexedFile> Decode(std::string_view bytes, std::string_view path);
};

// A file that has lost a name, and whose chunks are not removed yet.
struct GoneFile {
  IndexedFile file;
  // For a table, the number of the write that removed the name; else 0, which no pin covers.
  uint64_t removal = 0;

  std::string Encode() const;
  // DataLoss with `path`.
  static absl::StatusOr<GoneFile> Decode(std::string_view bytes, std::string_view path);
};

// A follower's pin.  If a table's name is removed after `removals`, its chunks stay.
struct IndexedPin {
  uint64_t removals = 0;
  uint64_t renewals = 0;        // with failed ones, so that each writes another value
  uint64_t duration_nanos = 0;  // of the pin, without a renewal
  std::string holder;           // for messages

  std::string Encode() const;
  // DataLoss with `path`.
  static absl::StatusOr<IndexedPin> Decode(std::string_view bytes, std::string_view path);
};

// The value of an attribute that counts.  Later values are greater, byte by byte; 0 is empty, as if
// the attribute did not exist.
std::string EncodeCount(uint64_t count);
// DataLoss with `path`.
absl::StatusOr<uint64_t> DecodeCount(std::string_view bytes, std::string_view path);

// Whether an owner seals the chunks of a file of this name: logs and manifests.
bool IsSealed(std::string_view name, const IndexedFile& file);
std::string ChunkName(std::string_view id, uint64_t number);
std::string IndexName(std::string_view path);
// 32 hexadecimal digits.
std::string NewId(RandomSource& random);

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_DIRECTORY_INDEX_H_
