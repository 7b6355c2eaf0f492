// A store that does nothing: what is left of a loop's time are the loop's own costs.
//
// Its readers answer rightly, from answers that they have made before: the first `kept` gets are
// recorded, and given again in the same order from then on.  So a loop over it must ask for the
// same keys again and again, so many each time.
#ifndef TRELLIS_BENCH_PEERS_NOTHING_PEER_H_
#define TRELLIS_BENCH_PEERS_NOTHING_PEER_H_

#include <cstddef>
#include <memory>

#include "bench/peers/data_set.h"
#include "bench/peers/peer.h"

namespace bench::peers {

// For values as `contents` (which outlives it) holds them.
std::unique_ptr<Peer> NewNothingPeer(const Contents* contents, size_t kept);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_NOTHING_PEER_H_
