// How long it takes to open a store of many tables, and to ask it for the first keys.
#ifndef TRELLIS_BENCH_PEERS_OPENINGS_H_
#define TRELLIS_BENCH_PEERS_OPENINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/peers/cell.h"
#include "bench/peers/loops.h"
#include "bench/peers/peer.h"
#include "bench/peers/results.h"

namespace bench::peers {

inline constexpr int kOpenings = 5;                 // a sample is the median of
inline constexpr uint64_t kFirstGets = 2 * kGroup;  // of tasks that ask
inline constexpr uint64_t kTablesWanted = 1000;
inline constexpr uint64_t kOpeningCacheBytes = uint64_t{64} << 20;

// Size of tables of which there are about kTablesWanted for that many bytes of keys and values.
uint64_t ManyTablesBytes(uint64_t user_bytes);

// Opens the store in `directory`, which must be closed, and leaves it closed: once so that what is
// in the page cache is there, then kOpenings times.  `task` is one of those that open; `start` says
// which keys are asked for.
absl::StatusOr<Sample> TimeOpenings(const TaskInfo& task, const std::string& directory,
                                    const PeerSettings& settings, Peer* peer, Contents* contents,
                                    const Orders& orders, const Start& start);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_OPENINGS_H_
