// The state that all directories and files of one CachedFileSystem share.
#ifndef TRELLIS_LSM_PIECES_PIECE_CONTEXT_H_
#define TRELLIS_LSM_PIECES_PIECE_CONTEXT_H_

#include "bloom/core/abi.h"
#include "lsm/cached_file_system.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/pieces/piece_store.h"

namespace lsm::inline TRELLIS_ABI {

struct PieceContext {
  PieceContext(FileSystem* files, const CachedFileSystem::Config& config)
      : below(*files),
        local(config.local != nullptr ? *config.local : PosixFileSystem()),
        store(config) {}

  FileSystem& below;
  FileSystem& local;
  PieceStore store;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_PIECES_PIECE_CONTEXT_H_
