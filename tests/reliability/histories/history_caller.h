// The calls that a thread makes in a concurrent history (histories/histories.h).
//
// A history has numbered registers, as the checker needs (linearizability.h).  The first ones are
// the lives of the keyspaces besides "default".  The life of a keyspace is its id, which no later
// keyspace of the name gets, or kAbsent while there is none.  Then come the keys of "default", and
// those of each other keyspace.  A drop writes kAbsent to a life and to all its keys.  Each other
// call of a handle is given the life of the handle, or a refusal that it has ended.
#ifndef TRELLIS_TESTS_RELIABILITY_HISTORIES_HISTORY_CALLER_H_
#define TRELLIS_TESTS_RELIABILITY_HISTORIES_HISTORY_CALLER_H_

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/options.h"
#include "lsm/write_batch.h"
#include "tests/reliability/histories/linearizability.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"

namespace reliability {

inline constexpr int kCallers = 4;

// The group of keys of a few histories.  Each group is separate, so that the contents under test
// stay small.  Every keyspace has the same keys.
class HistoryKeys {
 public:
  // `keyspaces`: how many there are besides "default".
  HistoryKeys(uint64_t group, size_t keyspaces, size_t count)
      : keyspaces_(keyspaces),
        prefix_(lsm::Concat("group", group, "/")),
        behind_(lsm::Concat("group", group, "0")) {
    for (size_t i = 0; i < count; ++i) keys_.push_back(lsm::Concat(prefix_, "key", i));
  }
  size_t count() const { return keys_.size(); }
  const std::string& operator[](size_t i) const { return keys_[i]; }
  // The number of the key; count() if the key is not in the group.
  size_t NumberOf(std::string_view key) const {
    return static_cast<size_t>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin());
  }
  // A key between others of the group, which is never put.
  std::string Between(size_t i, size_t number) const {
    return lsm::Concat(keys_[i], "/", 100 + number);
  }
  // All keys of the group, and no others, lie in [from, to).
  const std::string& from() const { return prefix_; }
  const std::string& to() const { return behind_; }

  // Keyspaces have numbers; 0 is "default".
  size_t keyspaces() const { return keyspaces_; }
  static std::string NameOf(size_t keyspace) { return lsm::Concat("keyspace", keyspace); }

  size_t LifeRegisterOf(size_t keyspace) const { return keyspace - 1; }
  size_t RegisterOf(size_t keyspace, size_t key) const {
    return keyspaces_ + keyspace * count() + key;
  }
  size_t registers() const { return RegisterOf(keyspaces_ + 1, 0); }
  // Says which registers are those of the keyspaces.
  std::string TextOfRegisters() const;

 private:
  const size_t keyspaces_;
  const std::string prefix_, behind_;
  std::vector<std::string> keys_;
};

// The life of the keyspace that the handle was opened with.
uint64_t LifeOf(const lsm::Keyspace& keyspace);

class MomentCounter {
 public:
  uint64_t Next() { return moments_.fetch_add(1, kOrder) + 1; }

 private:
  // Sequentially consistent, so that the call happens between its two moments.  Relaxed under
  // ThreadSanitizer: otherwise it would assume an order between calls with ordered moments, and
  // would miss the store's races.  On x86, where ThreadSanitizer runs, both orders are a full
  // fence.
  static constexpr std::memory_order kOrder =
      testing_support::kIsSanitized ? std::memory_order_relaxed : std::memory_order_seq_cst;
  std::atomic<uint64_t> moments_{0};
};

// Shared by the threads of one history.
struct Scene {
  lsm::DB* db;
  HistoryKeys keys;
  bool calls_others;  // other keyspaces than "default"
  size_t drops_from;  // if so, the keyspaces with this number and the following ones are dropped
  MomentCounter moments{};
  std::barrier<> start{kCallers + 1};
  std::atomic<int> callers{kCallers};  // threads that are not done
};

// The calls of one thread.
class HistoryCaller {
 public:
  HistoryCaller(Scene* scene, uint64_t seed, uint64_t history, int thread);

  void Run();
  // Puts 84 KB beside the keys of the first keyspace, so that it soon leaves the common tree if the
  // write buffer is small.
  void Grow();
  // Reads the final values of all registers.  Called by one thread after all others have ended.
  std::vector<uint64_t> Finish();

  const std::vector<TimedCall>& calls() const { return calls_; }
  const std::string& problem() const { return problem_; }
  uint64_t drops() const { return drops_; }
  uint64_t refusals() const { return refusals_; }
  uint64_t own_trees() const { return own_trees_; }  // that Finish found

 private:
  // A keyspace, as this thread knows it.
  struct Place {
    size_t keyspace = 0;
    lsm::Keyspace handle = {};  // none for "default": its calls are those of DB
    uint64_t life = kAbsent;    // of the handle; kAbsent: there is no handle
  };
  // The keys [first, end), by their numbers, are in [from, to).
  struct KeyRange {
    size_t first = 0, end = 0;
    std::string from, to;
  };

  void Call(int depth);
  TimedCall Begin(const char* name, TimedCall::Kind kind);
  void Return(TimedCall* call) { call->returned = scene_.moments.Next(); }
  void Fail(const std::string& what);
  void FailUnlessOk(const char* what, const absl::Status& status);

  Place& AnyPlace();
  void Open(Place* place);
  void Drop();
  std::vector<std::string> List();
  void Work();
  bool Settle(const Place& place, const absl::Status& status, TimedCall* call);

  void Put();
  void Delete();
  void DeleteRange();
  void Batch();
  void AddChange(const Place& place, lsm::WriteBatch* batch,
                 std::vector<std::optional<uint64_t>>* left);
  lsm::WriteOptions Sync(size_t one_in) { return {.sync = dice_.OneIn(one_in)}; }

  void Get();
  absl::StatusOr<uint64_t> Found(Place& place, size_t key, const lsm::ReadOptions& options);
  uint64_t ValueIn(std::string_view text);
  void NoteRead(const Place& place, TimedCall call, const absl::Status& status,
                const std::vector<KeyValue>& entries, TimedCall* at);
  void MultiGetOf(Place& place, const std::vector<size_t>& numbers, const lsm::ReadOptions& options,
                  TimedCall call, TimedCall* at);
  void Meanwhile();
  void AtSnapshot();
  void ReadAt(Place& place, const lsm::ReadOptions& options, TimedCall* at);
  void ScanOf(Place& place, lsm::ReadOptions options, int depth, TimedCall* at);

  KeyRange AnyRange();
  size_t AnyKey() { return dice_.Roll(keys_.count()); }
  std::vector<size_t> AllKeys() const;
  std::vector<size_t> SomeKeys();

  Scene& scene_;
  const HistoryKeys& keys_;
  const int thread_;
  testing_support::Dice dice_;
  uint64_t next_value_;
  std::vector<Place> places_;  // by the numbers of the keyspaces
  std::vector<TimedCall> calls_;
  std::string problem_;
  uint64_t drops_ = 0, refusals_ = 0, own_trees_ = 0;
};

// Adds the creations of keyspaces to the calls of a history that began with these values.
// OpenKeyspace does not say whether it has created the keyspace that it returns.
void AddCreations(const std::vector<uint64_t>& initial, std::vector<TimedCall>* calls);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_HISTORIES_HISTORY_CALLER_H_
