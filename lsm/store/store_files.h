// The files of a store's directory: what their names say, and whether their bytes agree.
//
// A name says little: LevelDB and RocksDB have a CURRENT and NNNNNN.log too, and anyone may keep a
// 202311.log.  So nothing is removed or replaced because of its name alone.
#ifndef TRELLIS_LSM_STORE_STORE_FILES_H_
#define TRELLIS_LSM_STORE_STORE_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/fs/file_names.h"
#include "lsm/store/store_directory.h"
#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {

// To whom a file belongs, by its first bytes.
enum class Origin : uint8_t {
  kStore,    // it begins with the magic of its kind, of which one byte may be damaged
  kUnknown,  // empty, zeros or the beginning of the magic: a crash may leave such a file while it
             // is being made
  kForeign,
};

// The origin of a file with a name of this kind.  The lock is kUnknown: it is always empty.
absl::StatusOr<Origin> OriginOf(Directory& directory, const std::string& name, FileKind kind);

// FailedPrecondition if CURRENT is that of a LevelDB or RocksDB store.
absl::Status CheckCurrentIsOurs(Directory& directory);

// FailedPrecondition: the file is not ours, so nothing was changed.
absl::Status ForeignFile(const Directory& directory, const std::string& name);

// Whether any file had a name of the store's when the directory was opened, or later.
absl::StatusOr<bool> HoldsFiles(Directory& directory);

// Numbers of the files whose names are of this kind.
absl::StatusOr<std::set<uint64_t>> NumbersOf(Directory& directory, FileKind kind);

// The number of the next new file: at least `at_least`, and above that of every existing file, even
// if nothing refers to it.  ResourceExhausted if hardly any numbers are left.
absl::StatusOr<uint64_t> NextFileNumber(Directory& directory, Directory& log_directory,
                                        uint64_t at_least);

// The seed of a new store.
bloom::DigestSeed NewDigestSeed(bloom::DigestHash hash, RandomSource& random);

// Checks a directory of logs alone: FailedPrecondition if it holds a store, whose files must not be
// touched.
absl::Status CheckHoldsNoStore(Directory& log_directory);

// Reads a byte past the page cache: InvalidArgument if that is impossible.  An opening may succeed
// where such reads fail.
absl::Status TryDirectRead(Directory& directory, std::string_view name);

// Whether the error means that a file is missing, not ours, or not as it was written.  Any other
// failure says nothing about the file.
bool IsDamage(const absl::Status& status);

// Tracks files that are being made.  The destructor removes, if it can, those that were not kept.
// So a failed attempt, for example on a full disk, leaves nothing.
class NewFiles {
 public:
  NewFiles() = default;
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  // The directory outlives this.
  void Add(Directory* directory, std::string name) {
    files_.emplace_back(directory, std::move(name));
  }
  // Tracks the file that `make` creates, even partially, but not a file that existed before.
  // Returns what `make` returns.
  template <typename Make>
  auto AddMade(Directory* directory, const std::string& name, const Make& make)
      -> decltype(make()) {
    // Checked beforehand: `make` may fail before it looks at the name, so its error does not tell.
    if (absl::IsNotFound(directory->Stat(name).status())) Add(directory, name);
    return make();
  }
  void Keep() { files_.clear(); }

 private:
  std::vector<std::pair<Directory*, std::string>> files_;
};

// Writes the state as a manifest, and makes CURRENT, which holds `expected_current` so far, name
// it.  The manifest is one of `made`.  From the moment when CURRENT may name it, all files in
// `made` are kept, also after a failure.
absl::StatusOr<std::unique_ptr<ManifestWriter>> CreateManifest(
    const StoreDirectory& store, uint64_t number, const ManifestState& state,
    std::optional<std::string_view> expected_current, NewFiles* made);

// Copies a file, and syncs the copy.  The copy is one of `made` as soon as it exists; a file that
// existed before is not.  Calls `before_read` (may be null) with the number of bytes before each
// read.
absl::Status CopyFile(Directory& from, const std::string& name, Directory& to,
                      const std::string& new_name, NewFiles* made,
                      const std::function<absl::Status(uint64_t bytes)>& before_read = nullptr);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_STORE_FILES_H_
