// Checks whether a history of concurrent calls is linearizable (Herlihy & Wing, "Linearizability",
// 1990).  It is if there is an order of the calls with two properties:
// - No call comes before a call that had returned before it began.
// - Made one after another in this order, the calls would return the same results.
#ifndef TRELLIS_TESTS_RELIABILITY_HISTORIES_LINEARIZABILITY_H_
#define TRELLIS_TESTS_RELIABILITY_HISTORIES_LINEARIZABILITY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reliability {

// The keys of a history are numbered from 0 and its values from 1.  Each value is written at most
// once.
inline constexpr uint64_t kAbsent = 0;

// The value that a write leaves at a key, or a read finds there.
struct KeyValue {
  size_t key = 0;
  uint64_t value = kAbsent;
  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

// At the moment of a call, a key must hold a value, or must not hold it.
struct Condition {
  size_t key = 0;
  uint64_t value = kAbsent;
  bool differs = false;  // the key must not hold the value
};

// A call.  It takes effect, on all its keys at once, at some moment between `begun` and `returned`.
struct TimedCall {
  enum Kind : uint8_t { kRead, kWrite } kind = kRead;
  const char* name = "";  // such as "Put", for the text of a finding
  int thread = 0;
  uint64_t begun = 0, returned = 0;
  std::vector<KeyValue> entries;      // no key twice
  std::vector<Condition> given = {};  // without these, the call would have had another answer
};

enum class Verdict : uint8_t { kLinearizable, kNotLinearizable, kUndecided };

struct Judgement {
  Verdict verdict = Verdict::kLinearizable;
  uint64_t positions = 0;  // visited: a set of finished calls with the values that they left
};

inline constexpr uint64_t kPositionsMax = 200'000;

// Judges calls to a store that holds `initial`, a value for each key.
Judgement Judge(const std::vector<TimedCall>& calls, const std::vector<uint64_t>& initial,
                uint64_t positions_max = kPositionsMax);

// Returns a few of the calls, on few keys, that alone are not linearizable.  REQUIRES: `calls` are
// not linearizable.
std::vector<TimedCall> Essence(std::vector<TimedCall> calls, const std::vector<uint64_t>& initial);

// "thread 2, 17 to 20: Put k1 = 305, if k4 is 7"
std::string TextOf(const TimedCall& call);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_HISTORIES_LINEARIZABILITY_H_
