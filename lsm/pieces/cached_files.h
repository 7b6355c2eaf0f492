// Tables of a CachedFileSystem that are open: readers, and writers.
#ifndef TRELLIS_LSM_PIECES_CACHED_FILES_H_
#define TRELLIS_LSM_PIECES_CACHED_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/pieces/piece_context.h"

namespace lsm::inline TRELLIS_ABI {

// A table's file, which is `below`.
std::unique_ptr<ReadFile> NewCachedReader(std::shared_ptr<PieceContext> context, uint64_t path_hash,
                                          std::unique_ptr<ReadFile> below);

// FileSystem::ReadMany: the pieces on the local disk are read together, then the others together
// from below.
void ReadCachedFiles(PieceContext* context, std::span<ReadRequest> requests,
                     const std::function<void(size_t)>& done);

// A new table, which is written to `below` and through to the store.
std::unique_ptr<AppendFile> NewCachedWriter(std::shared_ptr<PieceContext> context,
                                            uint64_t path_hash, std::unique_ptr<AppendFile> below);

}  // namespace lsm

#endif  // TRELLIS_LSM_PIECES_CACHED_FILES_H_
