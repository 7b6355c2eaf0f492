// The operations of the jobs that compare a store with a model, as plain data: keys, values and
// lists of actions, all drawn from seeds.
//
// An action is its kind and a salt, from which everything else about it is drawn.  So it does not
// depend on earlier actions, and a list that shows a bug can be reduced automatically (FindingOf).
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_ACTIONS_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_ACTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/split_mix.h"
#include "lsm/iterator.h"
#include "lsm/options.h"

namespace reliability {

// Random numbers from a seed.  Cheap to construct, so each action has its own.
//
// Not testing_support::Dice: its Roll takes the remainder, this one the high bits.  Jobs find the
// seeded bugs with fixed seeds.  With one Roll for both, half of them would need other seeds.
class Draws {
 public:
  explicit Draws(uint64_t seed) : source_(seed) {}
  uint64_t Next() { return source_.Next(); }
  // In [0, sides).
  uint32_t Roll(size_t sides) { return static_cast<uint32_t>((Next() >> 32) * sides >> 32); }
  bool OneIn(size_t sides) { return Roll(sides) == 0; }
  template <typename Thing, size_t kCount>
  Thing Of(const Thing (&things)[kCount]) {
    return things[Roll(kCount)];
  }

 private:
  lsm::SplitMix source_;
};

// All keys that are written or looked up, in ascending order.  A key is identified by its rank in
// this order.
class KeyPool {
 public:
  // Contains the empty key, zeros, runs of 0xff, some long keys, and short keys that share prefixes
  // or are prefixes of one another.
  KeyPool(uint64_t seed, size_t count);

  uint32_t size() const { return static_cast<uint32_t>(keys_.size()); }
  std::string_view operator[](uint32_t rank) const { return keys_[rank]; }
  std::string TextOf(uint32_t rank) const;

  // Draws one of the keys that are written, which are seven in eight.  A few of them are drawn
  // often.
  uint32_t AnyWritten(Draws& draws) const;
  // Draws one of these keys or, less often, any key.  An eighth of the keys is never written.
  uint32_t Any(Draws& draws) const {
    return draws.OneIn(6) ? draws.Roll(size()) : AnyWritten(draws);
  }

 private:
  std::vector<std::string> keys_;
  std::vector<uint32_t> written_;
};

std::string TextOfKey(std::string_view key);  // "a\x00b", in quotes

// A value.  Its number and its size determine all its bytes.
struct Value {
  uint32_t number = 0;  // 0: there is none
  uint32_t bytes = 0;

  bool exists() const { return number != 0; }
};

class ValuePool {
 public:
  // One value in a hundred has up to `large_bytes` bytes, and very few fill a table.
  ValuePool(uint64_t seed, uint32_t small_bytes, uint32_t large_bytes);

  Value Any(Draws& draws) const;
  // Made in `buffer`.
  std::string_view BytesOf(Value value, std::string* buffer) const;
  bool IsOf(Value value, std::string_view bytes) const;

 private:
  const uint32_t small_bytes_, large_bytes_;
  std::string filling_;  // a value is a piece of it, except for the value's first bytes
};
std::string TextOfValue(std::optional<std::string_view> bytes);

struct Action {
  enum Kind : uint8_t {
    kPut,
    kDelete,
    kBatch,
    kGet,
    kMultiGet,
    kExplain,
    kStatistics,
    kSnapshot,     // takes or releases one
    kNewIterator,  // replaces an older one and makes some moves
    kWalk,         // makes some moves of any open iterator
    kScan,         // iterates over the whole store in one direction
    kBackgroundJob,
    kBackground,  // waits for all background work
    kFlush,
    kCompact,
    kReopen,
    kKill,      // the process ends, another one opens the store
    kCrash,     // the machine crashes
    kDisturb,   // a file-system call fails, or the machine crashes at it
    kFullDisk,  // the disk becomes full, or has space again
    kWindow,    // deletes neighbouring keys in one batch
    kDeleteRange,
    kRangeBatch,    // a batch with range deletes
    kDropKeyspace,  // and creates another one of its name
  };
  static constexpr size_t kKinds = kDropKeyspace + 1;

  Kind kind = kGet;
  uint64_t salt = 0;
};
const char* NameOf(Action::Kind kind);

using ActionWeights = std::array<uint32_t, Action::kKinds>;
std::vector<Action> MakeActions(uint64_t seed, const ActionWeights& weights, size_t count);

// The bounds of an iterator or of a range delete, as ranks: [first, end).  Each bound is optional.
struct RankBounds {
  uint32_t first = 0, end = 0;
  bool has_lower = false, has_upper = false;

  void SetIn(const KeyPool& keys, lsm::ReadOptions* options) const;
};
RankBounds AnyBounds(const KeyPool& keys, Draws& draws);
std::string TextOf(const RankBounds& bounds, const KeyPool& keys);

struct Move {
  enum Kind : uint8_t { kNext, kPrev, kSeekToFirst, kSeekToLast, kSeek, kSeekForPrev };
  Kind kind = kNext;
  uint32_t rank = 0;  // the target of a kSeek or kSeekForPrev
};
// Draws a move that is allowed for an iterator whose Valid() is `valid`.
Move AnyMove(bool valid, const KeyPool& keys, Draws& draws);
std::string TextOf(const Move& move, const KeyPool& keys);
void MakeMove(const Move& move, const KeyPool& keys, lsm::Iterator* iterator);

// Draws options with any kind of filter.  Most sizes are as small as possible, so that little data
// makes many tables.  Sets no log directory and no environment.
lsm::Options AnyOptions(Draws& draws);
std::string TextOf(const lsm::Options& options);

// The outcome of a list of actions.
struct Outcome {
  std::optional<size_t> failed_at;  // the index of the action at which something went wrong
  std::string problem;              // what
};
// `words`, if given, receives a line for each action.
using RunActions =
    std::function<Outcome(const std::vector<Action>& actions, std::vector<std::string>* words)>;

// Describes a run that failed: the action at which it failed, the settings, and the shortest
// failing list that was found by leaving out kinds of actions, halves, quarters and so on.  Stops
// shortening after about `effort_max` repeated actions.
std::string FindingOf(std::vector<Action> actions, size_t failed_at, const std::string& settings,
                      size_t effort_max, const RunActions& run);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_ACTIONS_H_
