// The time to open a store of many tables and to look up the first keys.
#ifndef TRELLIS_BENCH_PEERS_OPENINGS_H_
#define TRELLIS_BENCH_PEERS_OPENINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/peers/cell.h"
#include "bench/peers/loops.h"
#include "bench/peers/peer.h"
#include "bench/peers/results.h"

namespace bench::peers {

inline constexpr int kOpenings = 5;                 // a sample is their median
inline constexpr uint64_t kFirstGets = 2 * kGroup;  // in tasks that look keys up
inline constexpr uint64_t kTablesWanted = 1000;
inline constexpr uint64_t kOpeningCacheBytes = uint64_t{64} << 20;

// The table size that makes about kTablesWanted tables of that many bytes of keys and values.
uint64_t ManyTablesBytes(uint64_t user_bytes);

// Opens the closed store in `directory` once to bring its files into the page cache, then kOpenings
// times; leaves it closed.  `task` is one that opens; `start` says which keys are looked up.
absl::StatusOr<Sample> TimeOpenings(const TaskInfo& task, const std::string& directory,
                                    const PeerSettings& settings, Peer* peer, Contents* contents,
                                    const Orders& orders, const Start& start);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_OPENINGS_H_
