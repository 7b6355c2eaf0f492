// What a path leads to, told by its content and not by its name; except where a crash left nothing
// but the name.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_TARGET_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_TARGET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lsm/file_system.h"
#include "lsm/version/manifest.h"
#include "tools/sstdump/world.h"

namespace tools {

enum class TargetKind : uint8_t {
  kDirectory,
  kTable,     // begins or ends like one
  kLog,       // a write-ahead log
  kManifest,  // a log of version edits
  kCurrent,   // the file that names the manifest
  kLock,      // the file that a writer locks: empty
  kReserve,   // the space that a store keeps for a full disk
  kForeign,   // a table of another store, or a file that is nothing of Trellis's
};

// "directory", "table", "log", "manifest", "current", "lock", "reserve",
// "foreign": as in JSON.
const char* NameOf(TargetKind kind);

// What a file is that begins as those that name the manifest of other stores do.
inline constexpr const char* kForeignCurrent =
    "the CURRENT of a LevelDB or RocksDB store, which sstdump does not read";

struct Target {
  std::string path;  // for people
  TargetKind kind = TargetKind::kForeign;
  std::string foreign;  // what a foreign file is, as far as can be told
  std::shared_ptr<lsm::Directory>
      directory;            // the directory itself, or the one that holds the file
  std::string name;         // in it; empty for a directory
  uint64_t size_bytes = 0;  // of a file
};

absl::StatusOr<Target> FindTarget(const World& world, const std::string& path);

// A file of a directory that is open already.
absl::StatusOr<Target> FindTargetIn(const std::shared_ptr<lsm::Directory>& directory,
                                    const std::string& name);

absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenTarget(const Target& target);

// The path by which the library knows the file, in messages: it may differ from the one that was
// typed.
std::string OpenedPath(const Target& target);

// "a write-ahead log", …
std::string Describe(const Target& target);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_TARGET_H_
