// Memory that runs out at a chosen allocation.  short_memory.cc replaces operator new in the
// executables that link it.
//
// Only allocations by the store may fail, not those by its tests or by the file system in memory.
// So only allocations within InStore count, except those within Spared.  All state belongs to the
// calling thread, so the same seed gives the same numbers.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_SHORT_MEMORY_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_SHORT_MEMORY_H_

#include <cstdint>
#include <utility>

namespace reliability {

struct ShortMemory {
  uint64_t count = 0;   // the store's allocations so far
  uint64_t failed = 0;  // of these
  // The allocations with the numbers [from, to) fail.
  uint64_t from = ~uint64_t{0}, to = ~uint64_t{0};
  int in_store = 0;  // the depth of nested InStore calls; allocations count if it is not 0
  int64_t live = 0;  // allocations that were not freed, of the store and of the test
  // If false, each piece of block memory (lsm/block/block_memory.h) is an allocation.
  bool has_regions = true;

  static ShortMemory& OfThisThread();

  // Counts from the next allocation: `after` 0 is the next one.
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

// Counts as an allocation by the store, so it may throw std::bad_alloc.
void TakeMemory();

// While it exists, allocations do not count as the store's.
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
