// Identifies a file or directory by its content, not its name, unless a crash left only the name.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_TARGET_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_TARGET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lsm/file_system.h"
#include "lsm/version/manifest.h"
#include "tools/sstdump/store/keyspaces.h"
#include "tools/sstdump/world.h"

namespace tools {

enum class TargetKind : uint8_t {
  kDirectory,
  kTable,     // begins or ends like a table
  kLog,       // a write-ahead log
  kManifest,  // a log of version edits
  kCurrent,   // the file that names the manifest
  kLock,      // the file that a writer locks: empty
  kReserve,   // space that a store reserves for a full disk
  kForeign,   // another store's table, or any file that is not Trellis's
};

// The name in JSON: "directory", "table", "log", "manifest", "current", "lock", "reserve",
// "foreign".
const char* NameOf(TargetKind kind);

// The description of a file that begins like another store's CURRENT.
inline constexpr const char* kForeignCurrent =
    "the CURRENT of a LevelDB or RocksDB store, which sstdump does not read";

struct Target {
  std::string path;  // to show
  TargetKind kind = TargetKind::kForeign;
  std::string foreign;                     // what a foreign file is, if known
  lsm::FileSystem* file_system = nullptr;  // where a directory is
  std::shared_ptr<lsm::Directory>
      directory;            // the directory itself, or the one that holds the file
  std::string name;         // in it; empty for a directory
  uint64_t size_bytes = 0;  // of a file
  // Those of its store, for a file that was found through the store's manifest.  The files of a
  // store share them.
  std::shared_ptr<Keyspaces> keyspaces;
};

// Where an argument leads that is a path, with links resolved, or a URI of a store in Ceph.
absl::StatusOr<Place> FindPlace(const World& world, const std::string& argument);

absl::StatusOr<Target> FindTarget(const World& world, const std::string& path);

// A file of a directory that is open already.
absl::StatusOr<Target> FindTargetIn(const std::shared_ptr<lsm::Directory>& directory,
                                    const std::string& name);

absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenTarget(const Target& target);

// The path that the library's messages show; it may differ from the typed path.
std::string OpenedPath(const Target& target);

// "a write-ahead log", …
std::string Describe(const Target& target);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_TARGET_H_
