#include "tests/reliability/keyspaces/comparisons.h"

#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/explanation.h"
#include "lsm/pinned_value.h"

namespace reliability {
namespace {

using lsm::Concat;
using Found = absl::StatusOr<std::optional<std::string>>;

std::string CompareValue(std::string_view what, const std::string& name, const std::string& key,
                         const Found& found, const std::optional<std::string>& expected) {
  if (!found.ok()) return Concat(what, " in ", name, ": ", found.status().ToString());
  if (*found == expected) return "";
  return Concat(what, " in ", name, " of key ", lsm::Escape(key), " finds ",
                found->value_or("nothing").substr(0, 20), " instead of ",
                expected.value_or("nothing").substr(0, 20));
}

Found GetPinned(const lsm::Keyspace& keyspace, const std::string& key,
                const lsm::ReadOptions& options) {
  lsm::PinnedValue value;
  TRELLIS_ASSIGN_OR_RETURN(const bool is_found, keyspace.Get(key, &value, options));
  return is_found ? std::optional<std::string>(value.view()) : std::nullopt;
}

// Where the iterator stands.
std::string CompareEntry(const std::string& what, const lsm::Iterator& iterator,
                         const KeysAndValues& expected, KeysAndValues::const_iterator at) {
  if (!iterator.status().ok()) return Concat(what, ": ", iterator.status().ToString());
  if (iterator.Valid() != (at != expected.end())) {
    return Concat(what,
                  iterator.Valid() ? Concat(" stands at ", lsm::Escape(iterator.key()))
                                   : std::string(" has ended"),
                  " instead of ", at == expected.end() ? "the end" : lsm::Escape(at->first));
  }
  if (!iterator.Valid() || (iterator.key() == at->first && iterator.value() == at->second))
    return "";
  return Concat(what, " stands at ", lsm::Escape(iterator.key()), " instead of ",
                lsm::Escape(at->first), ", or has another value");
}

}  // namespace

std::string CompareLookups(const lsm::Keyspace& keyspace, const std::vector<std::string>& keys,
                           const lsm::ReadOptions& options, const KeysAndValues& expected,
                           uint64_t* answers) {
  const std::string name(keyspace.name());
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::vector<Found> together = keyspace.MultiGet(views, options);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = expected.find(keys[i]);
    const std::optional<std::string> value =
        found == expected.end() ? std::nullopt : std::optional(found->second);
    const std::pair<std::string_view, Found> all[] = {
        {"MultiGet", together[i]},
        {"Get", keyspace.Get(keys[i], options)},
        {"Get of a pinned value", GetPinned(keyspace, keys[i], options)}};
    for (const auto& [what, answer] : all) {
      ++*answers;
      std::string problem = CompareValue(what, name, keys[i], answer, value);
      if (!problem.empty()) return problem;
    }
    if (i % 8 != 0) continue;
    const auto explained = keyspace.Explain(keys[i], options);
    if (!explained.ok() || explained->found != value.has_value() ||
        (value && explained->value_bytes != value->size()))
      return Concat("Explain in ", name, " differs");
  }
  return "";
}

std::string CompareWhole(const std::string& what, lsm::Iterator& iterator,
                         const KeysAndValues& expected, uint64_t* moves) {
  std::string problem;
  const auto compare = [&](KeysAndValues::const_iterator at) {
    ++*moves;
    problem = CompareEntry(what, iterator, expected, at);
    return problem.empty() && at != expected.end();
  };
  iterator.SeekToFirst();
  for (auto at = expected.begin(); compare(at); ++at) iterator.Next();
  if (!problem.empty()) return problem;
  iterator.SeekToLast();
  for (auto behind = expected.end();; --behind) {
    if (!compare(behind == expected.begin() ? expected.end() : std::prev(behind))) return problem;
    iterator.Prev();
  }
}

std::string CompareWalk(const std::string& what, lsm::Iterator& iterator,
                        const KeysAndValues& expected, testing_support::Dice& dice,
                        const std::function<std::string()>& some_key, uint64_t* moves) {
  auto at = expected.end();
  std::string problem;
  for (int i = 0; i < 25 && problem.empty(); ++i) {
    const std::string target = some_key();
    switch (dice.Roll(at == expected.end() ? 4 : 12)) {
      case 0:
        iterator.SeekToFirst();
        at = expected.begin();
        break;
      case 1:
        iterator.SeekToLast();
        at = expected.empty() ? expected.end() : std::prev(expected.end());
        break;
      case 2:
        iterator.Seek(target);
        at = expected.lower_bound(target);
        break;
      case 3:
        iterator.SeekForPrev(target);
        at = expected.upper_bound(target);
        at = at == expected.begin() ? expected.end() : std::prev(at);
        break;
      default:
        if (dice.OneIn(2)) {
          iterator.Next();
          ++at;
        } else {
          iterator.Prev();
          at = at == expected.begin() ? expected.end() : std::prev(at);
        }
    }
    ++*moves;
    problem = CompareEntry(what, iterator, expected, at);
  }
  return problem;
}

std::string ReadKeyspace(const lsm::Keyspace& keyspace, const lsm::ReadOptions& options,
                         KeysAndValues* found) {
  const std::unique_ptr<lsm::Iterator> iterator = keyspace.NewIterator(options);
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
    found->emplace(iterator->key(), iterator->value());
  if (iterator->status().ok()) return "";
  return Concat("a scan of ", keyspace.name(), ": ", iterator->status().ToString());
}

}  // namespace reliability
