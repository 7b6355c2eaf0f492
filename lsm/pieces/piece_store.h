// The pieces of tables on the local disk: segments, their index in memory, and eviction.
// lsm/design/local_cache.md has the reasons.
//
// No function fails: an error of the local disk is counted, and the piece is not kept.  Without
// memory the piece is not kept either; only Begin throws then.
#ifndef TRELLIS_LSM_PIECES_PIECE_STORE_H_
#define TRELLIS_LSM_PIECES_PIECE_STORE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/cached_file_system.h"
#include "lsm/file_system.h"
#include "lsm/pieces/piece.h"
#include "lsm/pieces/segment.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// A piece, and the segment that has it.
struct StoredPiece {
  std::shared_ptr<Segment> segment;
  PieceEntry entry;
};

// Thread-safe.
class PieceStore {
 public:
  explicit PieceStore(const CachedFileSystem::Config& config);
  ~PieceStore();

  // CachedFileSystem::status.  Takes no lock.
  absl::Status status() const;
  bool is_usable() const { return lock_ != nullptr && lock_->CheckHolder().ok(); }

  // REQUIRES, for all that follow: is_usable().

  // From now on the path has this table: pieces of another one are forgotten.
  KnownTable Begin(const TableIdentity& identity) ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets the pieces of the path, and refuses new ones until the next Begin.  Without memory, or
  // after an error, only this process forgets them.
  void Forget(uint64_t path_hash) ABSL_LOCKS_EXCLUDED(adding_, mutex_);

  // nullopt unless the path has this table.  `makes_hot`: the piece is worth keeping.
  std::optional<StoredPiece> Find(const KnownTable& table, uint32_t number, bool makes_hot)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets a piece that could not be read, or is not what was stored.
  void DropBad(const StoredPiece& piece, const absl::Status& read) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does nothing unless the path has this table.
  void Add(const KnownTable& table, uint32_t number, std::string_view bytes)
      ABSL_LOCKS_EXCLUDED(adding_, mutex_);

  // A new table: stores a piece that cannot be found before Commit.  nullopt: it was not stored.
  std::optional<StoredPiece> AddUnfinished(uint64_t path_hash, uint32_t number,
                                           std::string_view bytes)
      ABSL_LOCKS_EXCLUDED(adding_, mutex_);
  // From now on the path has this table, with these pieces.
  void Commit(const TableIdentity& table, std::vector<StoredPiece> pieces)
      ABSL_LOCKS_EXCLUDED(adding_, mutex_);

  struct Counts {
    std::atomic<uint64_t> hits = 0, misses = 0, bad_pieces = 0, bytes_hit = 0, bytes_below = 0;
    std::atomic<uint64_t> added = 0, evicted = 0, errors = 0;
  };
  // Relaxed everywhere: they are only counts, and publish nothing.
  static void Count(std::atomic<uint64_t>* count, uint64_t n = 1) {
    count->fetch_add(n, std::memory_order_relaxed);
  }
  Counts counts;
  CachedFileSystem::Statistics statistics() const ABSL_LOCKS_EXCLUDED(adding_, mutex_);

 private:
  struct Place {
    StoredPiece piece;
    uint64_t used_turn = 0;  // turn_ at the last hit; 0: none
  };
  struct Table {
    KnownTable known;
    std::unordered_map<uint32_t, Place> places;
  };

  absl::Status Open(const CachedFileSystem::Config& config) ABSL_LOCKS_EXCLUDED(adding_, mutex_);
  void Load(const std::vector<std::string>& names) ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts an error, and returns whether there was none.
  bool Succeeded(const absl::Status& status);

  const KnownTable& SetTable(const TableIdentity& identity) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null if there is none.
  Place* FindPlace(uint64_t path_hash, uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Erases the piece, and returns true, if it is found where it was stored.
  bool EraseIfStill(const StoredPiece& piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the piece the one that is found, if the path has its table.
  void Insert(const StoredPiece& piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_, mutex_);
  // True if the path had pieces.
  bool Erase(uint64_t path_hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Has(const KnownTable& table) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetLocked(uint64_t path_hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Appends a piece to the active segment.
  std::optional<StoredPiece> Append(PieceEntry entry, std::string_view bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_) ABSL_LOCKS_EXCLUDED(mutex_);
  // Appends the entry, and makes the piece the one that is found.
  void Publish(const StoredPiece& piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes a segment active that has room.  False if there is none.
  bool MakeRoom(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_) ABSL_LOCKS_EXCLUDED(mutex_);
  // After an error of the active segment.
  void GiveUpActive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_);

  uint64_t BytesOfInactive() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_);
  // Evicts segments until there is room for the active one and for another.
  void EvictSegments() ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<Segment> ChooseVictim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Those that are in the segment still, and of them those that were hit recently.
  struct Residents {
    std::vector<StoredPiece> all, hot;
  };
  Residents ResidentsOf(const Segment& segment) ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Move(const StoredPiece& piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const uint64_t bytes_max_;
  const SegmentSize segment_size_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<FileLock> lock_;  // null: nothing is kept
  absl::Status opened_;

  // Taken before mutex_.  Guards what is written to the local disk.
  mutable Mutex adding_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::map<uint64_t, std::shared_ptr<Segment>> segments_ ABSL_GUARDED_BY(adding_);
  std::shared_ptr<Segment> active_ ABSL_GUARDED_BY(adding_);  // one of them; takes pieces
  uint64_t next_number_ ABSL_GUARDED_BY(adding_) = 1;
  uint64_t pieces_to_skip_ ABSL_GUARDED_BY(adding_) = 0;  // after an error

  // Guards what readers find.  Held for no call to the disk.
  mutable Mutex mutex_;
  std::unordered_map<uint64_t, Table> tables_ ABSL_GUARDED_BY(mutex_);  // by the hash of the path
  uint64_t last_generation_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 1;  // segments made, and 1
};

}  // namespace lsm

#endif  // TRELLIS_LSM_PIECES_PIECE_STORE_H_
