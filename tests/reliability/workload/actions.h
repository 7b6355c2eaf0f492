// Operations of the jobs that compare a store with a model, as plain data: keys, values and lists
// of actions, all drawn from seeds.
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

// Numbers out of a seed: cheap enough that each action has its own.
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

// All keys that are written or asked for, in order; a key is known by its rank among them.
class KeyPool {
 public:
  // The empty key, zeros, 0xff runs, some long ones, and short ones that share beginnings or are
  // beginnings of one another.
  KeyPool(uint64_t seed, size_t count);

  uint32_t size() const { return static_cast<uint32_t>(keys_.size()); }
  std::string_view operator[](uint32_t rank) const { return keys_[rank]; }
  std::string TextOf(uint32_t rank) const;

  // One of seven in eight of the keys, often one of a few.
  uint32_t AnyWritten(Draws& draws) const;
  // Those and, less often, those that are never written.
  uint32_t Any(Draws& draws) const {
    return draws.OneIn(6) ? draws.Roll(size()) : AnyWritten(draws);
  }

 private:
  std::vector<std::string> keys_;
  std::vector<uint32_t> written_;
};

std::string TextOfKey(std::string_view key);  // "a\x00b", in quotes

// A value, whose number and size tell all its bytes.
struct Value {
  uint32_t number = 0;  // 0: there is none
  uint32_t bytes = 0;

  bool exists() const { return number != 0; }
};

class ValuePool {
 public:
  // One in a hundred of up to `large_bytes`, and very few that fill a table.
  ValuePool(uint64_t seed, uint32_t small_bytes, uint32_t large_bytes);

  Value Any(Draws& draws) const;
  // Made in `buffer`.
  std::string_view BytesOf(Value value, std::string* buffer) const;
  bool IsOf(Value value, std::string_view bytes) const;

 private:
  const uint32_t small_bytes_, large_bytes_;
  std::string filling_;  // of which a value is a piece, but for its first bytes
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
    kSnapshot,     // takes one, or lets one go
    kNewIterator,  // in place of an older one, and walks a little
    kWalk,         // some moves of an iterator, however old
    kScan,         // everything, in one direction
    kBackgroundJob,
    kBackground,  // waits for all of it
    kFlush,
    kCompact,
    kReopen,
    kKill,      // the process ends, another one opens the store
    kCrash,     // of the machine
    kDisturb,   // a file-system call fails, or the machine crashes at it
    kFullDisk,  // the disk becomes full, or has space again
  };
  static constexpr size_t kKinds = kFullDisk + 1;

  Kind kind = kGet;
  uint64_t salt = 0;
};
const char* NameOf(Action::Kind kind);

using ActionWeights = std::array<uint32_t, Action::kKinds>;
std::vector<Action> MakeActions(uint64_t seed, const ActionWeights& weights, size_t count);

// The effect of a write on a key; no value: deletes it.
struct Change {
  uint32_t rank = 0;
  Value value;
};
// Draws the changes of a kPut, kDelete or kBatch.  A batch may change a key several times.
void DrawChanges(Action::Kind kind, const KeyPool& keys, const ValuePool& values, Draws& draws,
                 std::vector<Change>* changes);
std::string TextOf(const std::vector<Change>& changes, const KeyPool& keys);

// The ranks in [first, end): bounds of an iterator, where there are any.
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
  uint32_t rank = 0;  // sought
};
// One that an iterator may make which is `valid`, or not.
Move AnyMove(bool valid, const KeyPool& keys, Draws& draws);
std::string TextOf(const Move& move, const KeyPool& keys);
void MakeMove(const Move& move, const KeyPool& keys, lsm::Iterator* iterator);

// With any kind of filter, and most sizes as small as may be, so that little data makes many
// tables. Neither a log directory nor an environment.
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

// All about a run that failed: at which action, with which settings, and the shortest list that
// still fails when kinds, halves, quarters and so on are left out.  Stops looking for that when
// about so many actions have been run again.
std::string FindingOf(std::vector<Action> actions, size_t failed_at, const std::string& settings,
                      size_t effort_max, const RunActions& run);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_ACTIONS_H_
