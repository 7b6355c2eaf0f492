#include "tests/reliability/histories/linearizability.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "lsm/bytes/status.h"

namespace reliability {
namespace {

using lsm::Concat;

// Essence judges hundreds of histories.  A low limit may leave a few needless calls, but saves
// time.
constexpr uint64_t kPositionsForEssence = 10'000;

bool Holds(const Condition& condition, uint64_t value) {
  return (value == condition.value) != condition.differs;
}

// The search of Wing and Gong ("Testing and verifying concurrent objects", 1993) with a memory of
// visited positions (Lowe, "Testing for linearizability", 2017).  It tries all orders, with one
// exception: a read that agrees with the current values takes its turn at once.  This loses no
// solution: a read changes nothing, so any order in which it comes later stays valid if it is moved
// up to here.  So only overlapping writes make branches.
class Search {
 public:
  Search(const std::vector<TimedCall>& calls, const std::vector<uint64_t>& initial)
      : words_((calls.size() + 63) / 64), start_(words_, 0) {
    for (const TimedCall& call : calls) calls_.push_back(&call);
    std::sort(calls_.begin(), calls_.end(),
              [](const TimedCall* a, const TimedCall* b) { return a->begun < b->begun; });
    start_.insert(start_.end(), initial.begin(), initial.end());
  }

  Judgement Run(uint64_t positions_max) {
    std::vector<Position> pending = {start_};
    std::unordered_set<Position, HashOfPosition> seen;
    while (!pending.empty()) {
      Position position = std::move(pending.back());
      pending.pop_back();
      TakeReads(&position);
      const std::vector<size_t> next = Candidates(position);
      if (next.empty()) return {Verdict::kLinearizable, seen.size() + 1};
      if (!seen.insert(position).second) continue;
      if (seen.size() >= positions_max) return {Verdict::kUndecided, seen.size()};
      // Pushes the last candidate first, so that those that began first are tried first.
      for (auto i = next.rbegin(); i != next.rend(); ++i) {
        if (calls_[*i]->kind != TimedCall::kWrite || !IsGiven(*calls_[*i], position)) continue;
        pending.push_back(position);
        Take(*i, &pending.back());
      }
    }
    return {Verdict::kNotLinearizable, seen.size()};
  }

 private:
  // One bit per call, set once the call has had its turn; then one word per key, its current value.
  using Position = std::vector<uint64_t>;
  struct HashOfPosition {
    size_t operator()(const Position& position) const {
      uint64_t hash = 0;
      for (const uint64_t word : position) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
      }
      return static_cast<size_t>(hash);
    }
  };

  static bool IsDone(const Position& position, size_t call) {
    return (position[call / 64] >> call % 64 & 1) != 0;
  }

  // The calls that may be next.  A call is not among them if another call returned before it began
  // and has not had its turn.
  std::vector<size_t> Candidates(const Position& position) const {
    std::vector<size_t> candidates;
    size_t first = 0;
    while (first + 64 <= calls_.size() && ~position[first / 64] == 0) first += 64;
    uint64_t first_return = std::numeric_limits<uint64_t>::max();
    for (size_t i = first; i < calls_.size() && calls_[i]->begun < first_return; ++i) {
      if (IsDone(position, i)) continue;
      candidates.push_back(i);
      first_return = std::min(first_return, calls_[i]->returned);
    }
    return candidates;
  }

  void Take(size_t call, Position* position) const {
    (*position)[call / 64] |= uint64_t{1} << call % 64;
    if (calls_[call]->kind == TimedCall::kRead) return;
    for (const KeyValue& entry : calls_[call]->entries)
      (*position)[words_ + entry.key] = entry.value;
  }

  // Whether the call may have its turn.  For a read, its entries count as well.
  bool IsGiven(const TimedCall& call, const Position& position) const {
    return std::all_of(call.given.begin(), call.given.end(), [&](const Condition& condition) {
      return Holds(condition, position[words_ + condition.key]);
    });
  }
  bool Agrees(const TimedCall& call, const Position& position) const {
    return IsGiven(call, position) &&
           std::all_of(call.entries.begin(), call.entries.end(), [&](const KeyValue& entry) {
             return position[words_ + entry.key] == entry.value;
           });
  }

  void TakeReads(Position* position) const {
    for (bool any = true; any;) {
      any = false;
      for (const size_t i : Candidates(*position)) {
        if (calls_[i]->kind != TimedCall::kRead || !Agrees(*calls_[i], *position)) continue;
        Take(i, position);
        any = true;
      }
    }
  }

  const size_t words_;
  Position start_;
  std::vector<const TimedCall*> calls_;  // in the order in which they began
};

std::string TextOfEntry(uint64_t value) { return value == kAbsent ? "-" : Concat(value); }

bool Writes(const TimedCall& call, size_t key) {
  return call.kind == TimedCall::kWrite &&
         std::any_of(call.entries.begin(), call.entries.end(),
                     [key](const KeyValue& entry) { return entry.key == key; });
}

// Whether the call needs this entry, or another one that does the same for it.
bool Needs(const TimedCall& call, const KeyValue& entry) {
  return (call.kind == TimedCall::kRead &&
          std::find(call.entries.begin(), call.entries.end(), entry) != call.entries.end()) ||
         std::any_of(call.given.begin(), call.given.end(), [&](const Condition& condition) {
           return condition.key == entry.key && Holds(condition, entry.value);
         });
}

// Whether another call may have found what this write left.  Many writes leave no value, so the
// value alone does not identify the write.  Such a write is excluded if it began after the other
// call returned, or if another write of the key certainly followed it.
bool MayHaveBeenFound(const KeyValue& entry, const TimedCall& write,
                      const std::vector<TimedCall>& calls) {
  return std::any_of(calls.begin(), calls.end(), [&](const TimedCall& read) {
    if (&read == &write || !Needs(read, entry)) return false;
    if (entry.value != kAbsent) return true;
    return read.returned > write.begun &&
           std::none_of(calls.begin(), calls.end(), [&](const TimedCall& other) {
             return other.begun > write.returned && other.returned < read.begun &&
                    Writes(other, entry.key);
           });
  });
}

// Whether these calls are still not linearizable.
bool StaysWrong(const std::vector<TimedCall>& calls, const std::vector<uint64_t>& initial) {
  return Judge(calls, initial, kPositionsForEssence).verdict == Verdict::kNotLinearizable;
}

// Removes entries of the call that do not matter, and returns whether there were any.  Linearizable
// calls stay linearizable without an entry of a read, because the read then requires less.  The
// same holds without an entry of a write that no read can have found.  So if the remaining calls
// are not linearizable, neither are the original ones.
bool LeaveOutEntries(size_t index, const std::vector<uint64_t>& initial,
                     std::vector<TimedCall>* calls) {
  bool any = false;
  for (size_t i = (*calls)[index].entries.size(); i-- > 0;) {
    const TimedCall& call = (*calls)[index];
    if (call.kind == TimedCall::kWrite && MayHaveBeenFound(call.entries[i], call, *calls)) continue;
    std::vector<TimedCall> rest = *calls;
    rest[index].entries.erase(rest[index].entries.begin() + static_cast<ptrdiff_t>(i));
    if (!StaysWrong(rest, initial)) continue;
    *calls = std::move(rest);
    any = true;
  }
  return any;
}

// Removes conditions that do not matter, as LeaveOutEntries does with entries of reads: those of
// all calls together if possible, or else of one call.
bool LeaveOutConditions(const std::vector<uint64_t>& initial, std::vector<TimedCall>* calls) {
  bool any = false;
  const auto adopt = [&](auto begin, auto end) {
    std::vector<std::vector<Condition>> given;
    for (auto call = begin; call != end; ++call) given.push_back(std::exchange(call->given, {}));
    const bool had_some =
        std::any_of(given.begin(), given.end(), [](const auto& some) { return !some.empty(); });
    if (had_some && StaysWrong(*calls, initial)) return any = true;
    for (auto call = begin; call != end; ++call)
      call->given = std::move(given[static_cast<size_t>(call - begin)]);
    return false;
  };
  if (adopt(calls->begin(), calls->end())) return true;
  for (auto call = calls->begin(); call != calls->end(); ++call) adopt(call, call + 1);
  return any;
}

}  // namespace

Judgement Judge(const std::vector<TimedCall>& calls, const std::vector<uint64_t>& initial,
                uint64_t positions_max) {
  return Search(calls, initial).Run(positions_max);
}

std::vector<TimedCall> Essence(std::vector<TimedCall> calls, const std::vector<uint64_t>& initial) {
  for (bool any = true; any;) {
    any = LeaveOutConditions(initial, &calls);
    for (size_t i = calls.size(); i-- > 0;) {
      // Tries to remove the whole call first, because most calls do not matter at all.
      std::vector<TimedCall> rest = calls;
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(i));
      const bool may_go = calls[i].kind == TimedCall::kRead ||
                          std::none_of(calls[i].entries.begin(), calls[i].entries.end(),
                                       [&](const KeyValue& entry) {
                                         return MayHaveBeenFound(entry, calls[i], calls);
                                       });
      if (may_go && StaysWrong(rest, initial)) {
        calls = std::move(rest);
        any = true;
      } else if (LeaveOutEntries(i, initial, &calls)) {
        any = true;
      }
    }
  }
  return calls;
}

std::string TextOf(const TimedCall& call) {
  std::string text =
      Concat("thread ", call.thread, ", ", call.begun, " to ", call.returned, ": ", call.name);
  for (const KeyValue& entry : call.entries) {
    text += Concat(&entry == &call.entries.front() ? " " : ", ", "k", entry.key,
                   call.kind == TimedCall::kWrite ? " = " : " is ", TextOfEntry(entry.value));
  }
  for (const Condition& condition : call.given) {
    text += Concat(&condition == &call.given.front() ? ", if k" : " and k", condition.key,
                   condition.differs ? " is not " : " is ", TextOfEntry(condition.value));
  }
  return text;
}

}  // namespace reliability
