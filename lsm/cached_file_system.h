// A file system that keeps pieces of another one's tables on a local disk.  For tables that are far
// away, as in Ceph (lsm/rados.h).  lsm/design/local_cache.md has the reasons, and what can go
// wrong.
//
//   lsm::CachedFileSystem cached(rados->get(), {.directory = "/var/cache/fruit",
//                                               .bytes_max = uint64_t{10} << 30});
//   environment.file_system = &cached;
//
// Only tables are kept.  They are written through: the pieces of a new table can be read once Sync
// of the table returned OK.  A read that misses adds the pieces that it reads.  Pieces stay over
// restarts.  The bytes of a piece are verified whenever they are read; bad ones are a miss.  No
// error of the local disk fails a call: it is counted, and the call goes to the file system below.
// A lack of memory fails only calls that make a handle.
//
// It differs from the file system below in this: a buffered read of a table may return what the
// file was written with, although the file was damaged since.  Direct reads go past the cache.
#ifndef TRELLIS_LSM_CACHED_FILE_SYSTEM_H_
#define TRELLIS_LSM_CACHED_FILE_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

struct PieceContext;  // lsm/pieces/piece_context.h

// Thread-safe.  A forked child reads and writes without the cache.
class TRELLIS_API CachedFileSystem final : public FileSystem {
 public:
  struct Config {
    // For this cache alone.  Created if needed.
    std::string directory;
    // Most bytes of the files there; at least kBytesMin.  Keeping a piece takes 0.2 % of its bytes
    // as memory.
    uint64_t bytes_max = 0;
    // Where the directory is.  Null: PosixFileSystem().
    FileSystem* local = nullptr;
  };
  static constexpr uint64_t kBytesMin = uint64_t{1} << 20;

  // Since the object was made, except the last two.  A piece has 64 KiB; the last of a table less.
  struct Statistics {
    uint64_t hits = 0;         // pieces that a read took from the local disk
    uint64_t misses = 0;       // pieces that a read took from below, bad ones included
    uint64_t bad_pieces = 0;   // pieces that failed their checksums, or were shorter than stored
    uint64_t bytes_hit = 0;    // bytes that reads asked for and got from the local disk
    uint64_t bytes_below = 0;  // bytes of tables that were read below
    uint64_t added = 0;        // pieces stored, by writes and by reads
    uint64_t evicted = 0;      // pieces that were dropped to make room
    uint64_t errors = 0;       // calls to the local disk that failed
    uint64_t pieces = 0;       // now
    uint64_t bytes = 0;        // of the files in the directory, now
  };

  // `files` and `config.local` outlive it and all that it returns.  Reads the index of what is in
  // the directory: 112 bytes for each piece.
  CachedFileSystem(FileSystem* files, const Config& config);
  ~CachedFileSystem() override;

  // OK, or why nothing is kept: the configuration is invalid, the directory cannot be used, another
  // CachedFileSystem or process has it, or this is a forked child.  Every call goes below then.
  absl::Status status() const;
  Statistics statistics() const;

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) override;
  absl::Status RemoveDirectory(const std::string& path) override;
  using FileSystem::ReadMany;
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done) override;

 private:
  const std::shared_ptr<PieceContext> context_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_CACHED_FILE_SYSTEM_H_
