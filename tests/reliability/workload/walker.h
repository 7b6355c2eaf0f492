// The expected contents of a store, and the expected position of an iterator over it.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_WALKER_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_WALKER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "tests/reliability/workload/actions.h"

namespace reliability {

// By the rank of the key.
using State = std::vector<Value>;
using SharedState = std::shared_ptr<const State>;

inline constexpr uint32_t kNowhere = ~uint32_t{0};

// The state that a read sees: that of a snapshot, or the newest one.
struct View {
  std::shared_ptr<const lsm::Snapshot> snapshot;
  SharedState state;
};

// An iterator of the store, the view that it iterates over, and its expected position.
struct Walker {
  View view;
  RankBounds bounds;
  lsm::ReadOptions options;
  std::unique_ptr<lsm::Iterator> iterator;
  uint32_t at = kNowhere;

  // The expected position after the move.
  uint32_t After(const Move& move) const;
};

// One time in three, seeks with a new iterator while a read of a file fails.  Later iterators
// must not believe that its walk over deleted keys has reached an end.  REQUIRES: no job reads
// files meanwhile, and `files` has no other fault: it has none afterwards.
void SeekWhileReadsFail(lsm::Keyspace& keyspace, lsm::MemoryFileSystem* files, Draws& draws);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_WALKER_H_
