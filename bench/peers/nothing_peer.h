// A store that does nothing: a loop over it measures the loop's own overhead.
//
// Its readers give right answers, recorded earlier: the first `kept` gets are recorded, then
// repeated in the same order.  So a loop over it must ask for the same `kept` keys again and again.
#ifndef TRELLIS_BENCH_PEERS_NOTHING_PEER_H_
#define TRELLIS_BENCH_PEERS_NOTHING_PEER_H_

#include <cstddef>
#include <memory>

#include "bench/peers/data_set.h"
#include "bench/peers/peer.h"

namespace bench::peers {

// Returns the values that `contents` expects; `contents` must outlive it.
std::unique_ptr<Peer> NewNothingPeer(const Contents* contents, size_t kept);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_NOTHING_PEER_H_
