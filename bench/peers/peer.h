// One interface over the stores that are compared: each behind the calls that its makers recommend.
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

// What is the same for all of them.
struct PeerSettings {
  uint64_t write_buffer_bytes = uint64_t{64} << 20;
  uint64_t block_cache_bytes = 0;
  uint64_t block_bytes = 4096;
  uint64_t table_bytes = 0;   // at which another table is begun; 0: each store's default
  int bits_per_key = 10;      // of the filters of those that are told bits
  double target_fpp = 0.01;   // of the filters of those that are told a probability
  bool direct_reads = false;  // past the page cache of the system
  bool counts_reads = false;  // so that data_block_reads() tells something, where that costs time
};

// Walks a store in the order of its keys, as of when it was made.  Threads: one.
class Cursor {
 public:
  virtual ~Cursor() = default;

  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view key) = 0;
  // Only if Valid(), like what follows.
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual bool Valid() = 0;
  // Good until the cursor moves.
  virtual std::string_view key() = 0;
  virtual std::string_view value() = 0;
  // Why it is not valid, if that is an error.
  virtual absl::Status status() = 0;
};

// One thread's way to look into an open store; must not outlive its being open.
class Reader {
 public:
  enum class Answer { kFound, kAbsent, kError };

  virtual ~Reader() = default;

  // `value` is good until the next call.  After kError, error() tells why.
  virtual Answer Get(std::string_view key, std::string_view* value) = 0;

  // All of them in one call; values, as many as keys, are good until the next one.  Unimplemented
  // where the store has no such call.
  virtual absl::Status MultiGet(std::span<const std::string_view> keys,
                                std::vector<std::optional<std::string_view>>* values) = 0;

  virtual std::unique_ptr<Cursor> NewCursor() = 0;

  const absl::Status& error() const { return error_; }

 protected:
  absl::Status error_;
};

// What a store tells of itself; nullopt: it does not.
struct PeerFigures {
  std::optional<uint64_t> sorted_runs;  // tables of level 0, and levels below that hold any
  std::optional<uint64_t> table_bytes;
  std::optional<uint64_t> filter_bytes;  // in memory, of all tables
  std::optional<uint64_t> tables;
};

// Grammar: (Open use* Close)*.  Threads: one, but for Put, Delete and NewReader.
class Peer {
 public:
  virtual ~Peer() = default;

  // "RocksDB 7.8"
  virtual std::string name() const = 0;
  // Whether it is another one of the first store's: measured beside it where that tells something,
  // and not among those that it is compared with.
  virtual bool is_variant() const { return false; }
  // What is particular about it: compression, filter, where it departs from the settings.
  virtual std::string details() const = 0;
  // Whether it can read past the page cache, and answer many keys at once.
  virtual bool has_direct_reads() const = 0;
  virtual bool has_multi_get() const = 0;

  // A store in `directory`: a new, empty one in place of what is there, or the one that is there.
  enum class Begin { kAnew, kAsItIs };
  virtual absl::Status Open(const std::string& directory, const PeerSettings& settings,
                            Begin begin) = 0;
  virtual absl::Status Close() = 0;

  virtual absl::Status Put(std::string_view key, std::string_view value) = 0;
  virtual absl::Status Delete(std::string_view key) = 0;
  // Waits until no work in the background is running or due.
  virtual absl::Status WaitUntilQuiet() = 0;
  // Merges all there is into one sorted run.
  virtual absl::Status CompactAll() = 0;

  virtual std::unique_ptr<Reader> NewReader() = 0;

  // Data blocks read from files since it was opened, if the settings asked to count them; nullopt
  // where the store does not tell.
  virtual std::optional<uint64_t> data_block_reads() = 0;
  // Bytes of tables read from files since it was opened, by the store's own count; nullopt: the
  // kernel's count of what calls read tells them.  Of reads through a ring that knows nothing.
  virtual std::optional<uint64_t> table_bytes_read() { return std::nullopt; }
  virtual absl::StatusOr<PeerFigures> Figures() = 0;
};

std::unique_ptr<Peer> NewTrellisPeer();
// With as many filter bits a key as the others have, but spread over the levels.
std::unique_ptr<Peer> NewTrellisByLevelPeer();
std::unique_ptr<Peer> NewLevelDbPeer();
std::unique_ptr<Peer> NewRocksDbPeer();

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_PEER_H_
