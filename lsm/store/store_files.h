// The files of a store's directory: what their names say, and whether their bytes agree.
//
// A name says little: LevelDB and RocksDB have a CURRENT and NNNNNN.log too, and anyone may keep a
// 202311.log.  So nothing is removed or replaced for its name alone.
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

// Whose a file is, by its first bytes.
enum class Origin : uint8_t {
  kStore,    // it begins with the magic of its kind, of which one byte may be damaged
  kUnknown,  // empty, zeros or the beginning of the magic: a crash leaves such, of a file being
             // made
  kForeign,
};

// The origin of a file with a name of this kind.  The lock is kUnknown: it is always empty.
absl::StatusOr<Origin> OriginOf(Directory& directory, const std::string& name, FileKind kind);

// FailedPrecondition if CURRENT is that of a LevelDB or RocksDB store.
absl::Status CheckCurrentIsOurs(Directory& directory);

// FailedPrecondition: the file is not ours, so nothing was changed.
absl::Status ForeignFile(const Directory& directory, const std::string& name);

// Whether any file has a name of the store's.
absl::StatusOr<bool> HoldsFiles(Directory& directory);

// Numbers of the files whose names are of this kind.
absl::StatusOr<std::set<uint64_t>> NumbersOf(Directory& directory, FileKind kind);

// The number of the next new file: at least `at_least`, and above that of every file that is there,
// even if nothing refers to it.  ResourceExhausted if there are hardly any left.
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

// Whether what failed was a file that is missing, not ours, or not as it was written.  Any other
// failure says nothing about the file.
bool IsDamage(const absl::Status& status);

// Files that are being made: those that were not kept go when it goes (as far as they can be
// removed), so that an attempt that failed, on a full disk for instance, leaves nothing.
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
  // Adds what `make` makes, be it by half; not what was there before it.  Returns what it returns.
  template <typename Make>
  auto AddMade(Directory* directory, const std::string& name, const Make& make)
      -> decltype(make()) {
    // Beforehand: it may fail before it has looked at the name, so that its error does not tell.
    if (absl::IsNotFound(directory->Stat(name).status())) Add(directory, name);
    return make();
  }
  void Keep() { files_.clear(); }

 private:
  std::vector<std::pair<Directory*, std::string>> files_;
};

// Writes the state as a manifest and makes CURRENT, which holds `expected_current` so far, lead to
// it.  From the moment on at which CURRENT may do so, after a failure too, what was `made` is kept;
// before, the manifest is one of these.
absl::StatusOr<std::unique_ptr<ManifestWriter>> CreateManifest(
    const StoreDirectory& store, uint64_t number, const ManifestState& state,
    std::optional<std::string_view> expected_current, NewFiles* made);

// Makes a file of the same bytes, and syncs it.  It is one of `made` as soon as it is there; one
// that was there before is not.  `before_read` (may be null) sees how many bytes come.
absl::Status CopyFile(Directory& from, const std::string& name, Directory& to,
                      const std::string& new_name, NewFiles* made,
                      const std::function<absl::Status(uint64_t bytes)>& before_read = nullptr);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_STORE_FILES_H_
