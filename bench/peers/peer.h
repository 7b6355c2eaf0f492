// One interface over the compared stores.  Each is used through the calls that its makers
// recommend.
#ifndef TRELLIS_BENCH_PEERS_PEER_H_
#define TRELLIS_BENCH_PEERS_PEER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bench::peers {

// Settings common to all stores.
struct PeerSettings {
  uint64_t write_buffer_bytes = uint64_t{64} << 20;
  uint64_t block_cache_bytes = 0;
  uint64_t block_bytes = 4096;
  uint64_t table_bytes = 0;   // size at which a table ends; 0: the store's default
  int bits_per_key = 10;      // for stores that take bits
  double target_fpp = 0.01;   // for stores that take a probability
  bool direct_reads = false;  // past the page cache of the system
  bool counts_reads = false;  // makes data_block_reads() work where counting costs time
};

// Iterates over a snapshot of a store in key order.  Threads: one.
class Cursor {
 public:
  virtual ~Cursor() = default;

  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view key) = 0;
  // REQUIRES here and below: Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual bool Valid() = 0;
  // Valid until the cursor moves.
  virtual std::string_view key() = 0;
  virtual std::string_view value() = 0;
  // The error that made the cursor invalid, or OK.
  virtual absl::Status status() = 0;
};

// One thread's access to an open store.  Must be destroyed before the store is closed.
class Reader {
 public:
  enum class Answer { kFound, kAbsent, kError };

  virtual ~Reader() = default;

  // `value` is valid until the next call.  After kError, error() has the reason.
  virtual Answer Get(std::string_view key, std::string_view* value) = 0;

  // Looks up all keys in one call; `values` has as many elements as `keys`, valid until the next
  // call.  Unimplemented if the store has no such call.
  virtual absl::Status MultiGet(std::span<const std::string_view> keys,
                                std::vector<std::optional<std::string_view>>* values) = 0;

  virtual std::unique_ptr<Cursor> NewCursor() = 0;

  const absl::Status& error() const { return error_; }

 protected:
  absl::Status error_;
};

// The store's own figures; nullopt: not reported.
struct PeerFigures {
  std::optional<uint64_t> sorted_runs;  // tables of level 0, and deeper levels that hold any
  std::optional<uint64_t> table_bytes;
  std::optional<uint64_t> filter_bytes;  // in memory, of all tables
  std::optional<uint64_t> tables;
};

// Call order: (Open use* Close)*.  Threads: one, except for Put, Delete and NewReader.
class Peer {
 public:
  virtual ~Peer() = default;

  // "RocksDB 7.8"
  virtual std::string name() const = 0;
  // True if this is a variant of the first store.  It is measured where that is informative, and
  // takes no part in the comparison.
  virtual bool is_variant() const { return false; }
  // Its peculiarities: compression, filter, deviations from the settings.
  virtual std::string details() const = 0;
  // True if it can read past the page cache, and look up many keys in one call.
  virtual bool has_direct_reads() const = 0;
  virtual bool has_multi_get() const = 0;
  virtual bool has_delete_range() const { return false; }

  // Opens a store in `directory`: a new, empty one that replaces the old, or the existing one.
  enum class Begin { kAnew, kAsItIs };
  virtual absl::Status Open(const std::string& directory, const PeerSettings& settings,
                            Begin begin) = 0;
  virtual absl::Status Close() = 0;

  virtual absl::Status Put(std::string_view key, std::string_view value) = 0;
  virtual absl::Status Delete(std::string_view key) = 0;
  // Deletes the keys in [from, to).
  virtual absl::Status DeleteRange(std::string_view /*from*/, std::string_view /*to*/) {
    return absl::UnimplementedError(name() + " has no range deletes");
  }
  // Waits until no background work is running or due.
  virtual absl::Status WaitUntilQuiet() = 0;
  // Merges everything into one sorted run.
  virtual absl::Status CompactAll() = 0;

  virtual std::unique_ptr<Reader> NewReader() = 0;
  // Until the result is destroyed, the store keeps all that it holds now.  Destroy it before the
  // store is closed.  nullptr if the store cannot.
  virtual std::shared_ptr<const void> TakeSnapshot() { return nullptr; }

  // Data blocks read from files since the store was opened, if the settings asked to count them;
  // nullopt if the store does not count.
  virtual std::optional<uint64_t> data_block_reads() = 0;
  // Table bytes read from files since the store was opened, by its own count.  nullopt: use the
  // kernel's count of read calls, which excludes reads through io_uring.
  virtual std::optional<uint64_t> table_bytes_read() { return std::nullopt; }
  virtual absl::StatusOr<PeerFigures> Figures() = 0;
};

std::unique_ptr<Peer> NewTrellisPeer();
// The same filter bits per key as the others, but spread over the levels.
std::unique_ptr<Peer> NewTrellisByLevelPeer();
std::unique_ptr<Peer> NewLevelDbPeer();
std::unique_ptr<Peer> NewRocksDbPeer();

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_PEER_H_
