// Whether a history of concurrent calls is linearizable (Herlihy & Wing, "Linearizability", 1990):
// there is an order of the calls, in which none comes before one that had returned when it began,
// and in which, one after another, they would have found what they found.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_LINEARIZABILITY_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_LINEARIZABILITY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reliability {

// The keys of a history count from 0, and its values from 1, each of which is written once at most.
inline constexpr uint64_t kAbsent = 0;

// The value that a write leaves at a key, or a read finds there.
struct KeyValue {
  size_t key = 0;
  uint64_t value = kAbsent;
  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

// It took effect, on all its keys at once, at some moment between the two.
struct TimedCall {
  enum Kind : uint8_t { kRead, kWrite } kind = kRead;
  const char* name = "";  // "Put", for whoever reads the finding
  int thread = 0;
  uint64_t begun = 0, returned = 0;  // of all moments of a history no two are the same
  std::vector<KeyValue> entries;     // no key twice
};

enum class Verdict : uint8_t { kLinearizable, kNotLinearizable, kUndecided };

struct Judgement {
  Verdict verdict = Verdict::kLinearizable;
  uint64_t positions = 0;  // that were looked at: what is done, and what it left
};

inline constexpr uint64_t kPositionsMax = 200'000;

// Judges calls to a store that holds `initial`, a value for each key.
Judgement Judge(const std::vector<TimedCall>& calls, const std::vector<uint64_t>& initial,
                uint64_t positions_max = kPositionsMax);

// Returns few of the calls, on few keys, that are not linearizable by themselves.  REQUIRES:
// `calls` are not linearizable.
std::vector<TimedCall> Essence(std::vector<TimedCall> calls, const std::vector<uint64_t>& initial);

// "thread 2, 17 to 20: Put k1 = 305"
std::string TextOf(const TimedCall& call);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_LINEARIZABILITY_H_
