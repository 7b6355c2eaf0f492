// Names of a store's files, from numbers and back.  Nothing in a store is named by anything but its
// number, so no byte of a file can ever point outside the directory.
//
//   LOCK            held by the one process that writes
//   CURRENT         which manifest is the newest; a fixed, checksummed record
//   NNNNNN.table    an SSTable
//   NNNNNN.log      a write-ahead log
//   NNNNNN.manifest a log of version edits
//   RESERVE         holds nothing but room, for a store on a full disk
//   NAME.tmp        what AtomicReplace was writing when a crash came
#ifndef TRELLIS_LSM_FS_FILE_NAMES_H_
#define TRELLIS_LSM_FS_FILE_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

enum class FileKind : uint8_t { kLock, kCurrent, kTable, kLog, kManifest, kReserve, kTemporary };

// So many are never used up: names with larger numbers are not the store's.
inline constexpr uint64_t kFileNumberMax = (uint64_t{1} << 53) - 1;

struct FileName {
  FileKind kind;
  uint64_t number = 0;  // 0 for kLock, kCurrent, kReserve and kTemporary
};

inline constexpr std::string_view kLockFileName = "LOCK";
inline constexpr std::string_view kCurrentFileName = "CURRENT";
inline constexpr std::string_view kReserveFileName = "RESERVE";
// The first bytes of RESERVE; zeros follow.
inline constexpr std::string_view kReserveMagic = "TRLSRSV\n";
inline constexpr std::string_view kTemporarySuffix = ".tmp";

// At least six digits.
std::string TableFileName(uint64_t number);
std::string LogFileName(uint64_t number);
std::string ManifestFileName(uint64_t number);

// Nothing for a name that no function above makes: such a file is not the store's and is left
// alone.
std::optional<FileName> ParseFileName(std::string_view name);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_FILE_NAMES_H_
