// Memory that runs out when it is told to: short_memory.cc replaces operator new of the executables
// that it is linked into.
//
// Only what the store allocates may fail, not what its tests or the file system in memory do.  So
// allocations count within InStore alone, and not within Spared in turn.  All of this is the
// calling thread's own: one seed gives the same numbers.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_SHORT_MEMORY_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_SHORT_MEMORY_H_

#include <cstdint>
#include <utility>

namespace reliability {

struct ShortMemory {
  uint64_t count = 0;   // of the store's allocations so far
  uint64_t failed = 0;  // of them
  // These fail.
  uint64_t from = ~uint64_t{0}, to = ~uint64_t{0};
  int in_store = 0;  // deeper than 0: they count
  // Without, each piece of block memory (lsm/block/block_memory.h) is an allocation.
  bool has_regions = true;

  static ShortMemory& OfThisThread();

  // Those to come, from the given one on.
  void FailOnce(uint64_t after) {
    from = count + after;
    to = from + 1;
  }
  void FailForever(uint64_t after) {
    from = count + after;
    to = ~uint64_t{0};
  }
  void Stop() { from = to = ~uint64_t{0}; }
};

// An allocation of the store's, which may fail.
void TakeMemory();

// For as long as it stands, whatever is allocated is not the store's.
class Spared {
 public:
  Spared() : before_(std::exchange(ShortMemory::OfThisThread().in_store, 0)) {}
  ~Spared() { ShortMemory::OfThisThread().in_store = before_; }
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;

 private:
  const int before_;
};

// Makes a call into the store.
template <typename Call>
auto InStore(const Call& call) {
  struct Scope {
    Scope() { ++ShortMemory::OfThisThread().in_store; }
    ~Scope() { --ShortMemory::OfThisThread().in_store; }
  } const scope;
  return call();
}

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_SHORT_MEMORY_H_
