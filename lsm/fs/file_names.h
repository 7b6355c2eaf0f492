// Names of a store's files.  Files refer to one another only by number, so no byte of a file can
// point outside the directory.
//
//   LOCK            held by one writer, or shared by readers
//   CURRENT         names the newest manifest; a fixed, checksummed record
//   NNNNNN.table    an SSTable
//   NNNNNN.log      a write-ahead log
//   NNNNNN.manifest a log of version edits
//   RESERVE         holds only space, for a store on a full disk
//   NAME.tmp        left by a crash during AtomicReplace
#ifndef TRELLIS_LSM_FS_FILE_NAMES_H_
#define TRELLIS_LSM_FS_FILE_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

enum class FileKind : uint8_t { kLock, kCurrent, kTable, kLog, kManifest, kReserve, kTemporary };

// A store never uses up that many numbers.  A file whose name has a larger number is not the
// store's.
inline constexpr uint64_t kFileNumberMax = (uint64_t{1} << 53) - 1;

struct FileName {
  FileKind kind;
  uint64_t number = 0;  // 0 for kLock, kCurrent, kReserve and kTemporary
};

inline constexpr std::string_view kLockFileName = "LOCK";
inline constexpr std::string_view kCurrentFileName = "CURRENT";
inline constexpr std::string_view kReserveFileName = "RESERVE";
// The first bytes of RESERVE, before zeros.
inline constexpr std::string_view kReserveMagic = "TRLSRSV\n";
inline constexpr std::string_view kTemporarySuffix = ".tmp";

// At least six digits.
std::string TableFileName(uint64_t number);
std::string LogFileName(uint64_t number);
std::string ManifestFileName(uint64_t number);

// nullopt for any other name, also for another spelling of a number ("12.table").  Such a file is
// not the store's, and stays untouched.
std::optional<FileName> ParseFileName(std::string_view name);

bool IsTableFileName(std::string_view name);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_FILE_NAMES_H_
