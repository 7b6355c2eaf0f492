// One interface over the stores that are compared: each behind the calls that its makers recommend.
#ifndef TRELLIS_BENCH_PEERS_PEER_H_
#define TRELLIS_BENCH_PEERS_PEER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace bench {

// What is the same for all of them.
struct PeerSettings {
  uint64_t write_buffer_bytes = uint64_t{64} << 20;
  uint64_t block_cache_bytes = 0;
  uint64_t block_bytes = 4096;
  int bits_per_key = 10;     // of the filters of those that are told bits
  double target_fpp = 0.01;  // of the filters of those that are told a probability
};

// Grammar: (Open use* Close)*.  Threads: one.
class Peer {
 public:
  enum class Answer { kFound, kAbsent, kError };

  virtual ~Peer() = default;

  // "RocksDB 7.8.3"
  virtual std::string name() const = 0;
  // What is particular about it: compression, filter, where it departs from the settings.
  virtual std::string details() const = 0;

  // A new, empty store in `directory`, in place of what is there.
  virtual absl::Status Open(const std::string& directory, const PeerSettings& settings) = 0;
  virtual absl::Status Close() = 0;

  virtual absl::Status Put(std::string_view key, std::string_view value) = 0;
  // Waits until no work in the background is running or due.
  virtual absl::Status WaitUntilQuiet() = 0;
  // Merges all there is into one sorted run.
  virtual absl::Status CompactAll() = 0;
  // Walks all entries through the block cache; sets how many there are.
  virtual absl::Status Scan(uint64_t* entries) = 0;

  // `value` is good until the next call.  After kError, error() tells why.
  virtual Answer Get(std::string_view key, std::string_view* value) = 0;
  const absl::Status& error() const { return error_; }

 protected:
  absl::Status error_;
};

std::unique_ptr<Peer> NewTrellisPeer();
std::unique_ptr<Peer> NewLevelDbPeer();
std::unique_ptr<Peer> NewRocksDbPeer();

}  // namespace bench

#endif  // TRELLIS_BENCH_PEERS_PEER_H_
