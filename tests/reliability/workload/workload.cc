#include "tests/reliability/workload/workload.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "bloom/hash.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using testing_support::Dice;

constexpr char kMark = '\xff';  // before the names of keyspaces; no key begins with it
constexpr uint32_t kFarAwaySeconds = 3'000'000'000;

std::string KeyOf(size_t number) {
  // One key is empty, one is long, and some are prefixes of others.
  if (number == 0) return "";
  if (number == 1) return std::string(300, 'k');
  return Concat(number % 2 == 0 ? "key" : "key0", number);
}

std::string ValueOf(Dice& dice, size_t commit, const WorkloadShape& shape) {
  const bool is_large = shape.large_value_bytes > 0 && dice.OneIn(12);
  const size_t filling = is_large ? shape.large_value_bytes : dice.Roll(shape.value_bytes + 1);
  return Concat(commit, ":", std::string(filling, static_cast<char>('a' + commit % 26)));
}

// The keyspaces that exist besides "default".
using Names = std::set<std::string>;

// A key of "default", or as often one of another keyspace.
std::string AnyPlace(Dice& dice, const Names& names, const std::string& key) {
  if (names.empty() || dice.OneIn(2)) return key;
  return KeyIn(*std::next(names.begin(), static_cast<ptrdiff_t>(dice.Roll(names.size()))), key);
}

// In any keyspace.  The range does not cover the key "last".  Some are empty.
Effect AnyRange(Dice& dice, const Names& names, const WorkloadShape& shape) {
  std::string from = KeyOf(dice.Roll(shape.keys));
  std::string to = KeyOf(dice.Roll(shape.keys));
  if (to < from) std::swap(from, to);
  from = AnyPlace(dice, names, from);
  to = KeyIn(PlaceOf(from).keyspace, to);
  return DeletesRange(std::move(from), std::move(to));
}

Step AnyWrite(Dice& dice, size_t commit, const Names& names, const WorkloadShape& shape) {
  Step step;
  step.sync = dice.OneIn(4);
  const size_t entries = dice.OneIn(6) ? 2 + dice.Roll(5) : 1;
  for (size_t i = 0; i < entries; ++i) {
    std::string key = AnyPlace(dice, names, KeyOf(dice.Roll(shape.keys)));
    std::optional<std::string> value;
    if (!dice.OneIn(5)) value = ValueOf(dice, commit, shape);
    step.commit.push_back({std::move(key), std::move(value)});
    if (shape.ranges && dice.OneIn(8)) step.commit.push_back(AnyRange(dice, names, shape));
  }
  if (shape.ranges && dice.OneIn(16)) {
    const std::string from = AnyPlace(dice, names, KeyOf(dice.Roll(shape.keys)));
    step.commit.push_back(DeletesRange(from, std::nullopt));
  }
  step.commit.push_back({"last", Concat(commit)});
  // So the last numbers of some commits are those of ranges.
  while (shape.ranges && dice.OneIn(10)) step.commit.push_back(AnyRange(dice, names, shape));
  return step;
}

// Creates one of two keyspaces, or drops it if it exists.
Step AnyChange(Dice& dice, Names* names) {
  const std::string name = dice.OneIn(2) ? kTimedKeyspace : "k";
  if (names->insert(name).second) return {Step::kWrite, {{EntryOf(name), kIsThere}}, false};
  names->erase(name);
  return {Step::kWrite, {{EntryOf(name), std::nullopt}}, false};
}

// The first key behind all of the keyspace.
std::string EndOf(std::string_view keyspace) {
  if (keyspace == lsm::kDefaultKeyspaceName) return std::string(1, kMark);
  return EntryOf(keyspace) + '\x01';
}

absl::Status Change(lsm::DB& db, std::string_view name, bool creates) {
  if (!creates) return db.DropKeyspace(name);
  lsm::KeyspaceOptions options;
  if (name == kTimedKeyspace) options.expire_after = kFarAwaySeconds;
  return db.OpenKeyspace(name, options).status();
}

}  // namespace

std::string EntryOf(std::string_view keyspace) { return Concat(kMark, keyspace); }

std::string KeyIn(std::string_view keyspace, std::string_view key) {
  if (keyspace == lsm::kDefaultKeyspaceName) return std::string(key);
  return Concat(kMark, keyspace, '\0', key);
}

Place PlaceOf(std::string_view key) {
  if (!key.starts_with(kMark)) return {lsm::kDefaultKeyspaceName, key};
  const size_t end = key.find('\0');
  if (end == key.npos) return {key.substr(1), std::nullopt};
  return {key.substr(1, end - 1), key.substr(end + 1)};
}

Effect DeletesRange(std::string from, std::optional<std::string> to) {
  return {std::move(from), std::nullopt, /*is_range=*/true, std::move(to)};
}

void Apply(const Commit& commit, Contents* contents) {
  for (const Effect& effect : commit) {
    const Place place = PlaceOf(effect.key);
    if (effect.value) {
      (*contents)[effect.key] = *effect.value;
    } else if (!effect.is_range && place.key) {
      contents->erase(effect.key);
    } else if (const std::string end = effect.to.value_or(EndOf(place.keyspace));
               effect.key < end) {
      contents->erase(contents->lower_bound(effect.key), contents->lower_bound(end));
    }
  }
}

Commit PossibleIn(const Contents& contents, Commit commit) {
  std::erase_if(commit, [&](const Effect& effect) {
    const Place place = PlaceOf(effect.key);
    if (place.keyspace == lsm::kDefaultKeyspaceName) return false;
    const bool is_there = contents.contains(EntryOf(place.keyspace));
    return is_there != (place.key || !effect.value);
  });
  return commit;
}

absl::Status WriteCommit(lsm::DB& db, const Commit& commit, bool sync) {
  lsm::WriteBatch batch;
  for (const Effect& effect : commit) {
    const Place place = PlaceOf(effect.key);
    if (!place.key) return Change(db, place.keyspace, effect.value.has_value());
    TRELLIS_ASSIGN_OR_RETURN(const lsm::Keyspace keyspace, db.OpenKeyspace(place.keyspace));
    if (effect.value) {
      batch.Put(keyspace, *place.key, *effect.value);
    } else if (effect.is_range) {
      batch.DeleteRange(keyspace, *place.key, effect.to ? PlaceOf(*effect.to).key : std::nullopt);
    } else {
      batch.Delete(keyspace, *place.key);
    }
  }
  return db.Write(batch, {.sync = sync});
}

absl::StatusOr<bool> HasKeyspace(lsm::DB& db, std::string_view name) {
  if (name == lsm::kDefaultKeyspaceName) return true;
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, db.ListKeyspaces());
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status ReadStore(lsm::DB& db, bool backward, Contents* shown) {
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, db.ListKeyspaces());
  for (const std::string& name : names) {
    if (name != lsm::kDefaultKeyspaceName) shown->emplace(EntryOf(name), kIsThere);
    TRELLIS_ASSIGN_OR_RETURN(const lsm::Keyspace keyspace, db.OpenKeyspace(name));
    const std::unique_ptr<lsm::Iterator> iterator = keyspace.NewIterator();
    backward ? iterator->SeekToLast() : iterator->SeekToFirst();
    for (std::optional<std::string> last; iterator->Valid();
         backward ? iterator->Prev() : iterator->Next()) {
      const std::string_view key = iterator->key();
      if (last && !(backward ? key < *last : *last < key))
        return absl::InternalError(Concat("an iterator of ", name, " shows keys in disorder"));
      last = key;
      shown->emplace(KeyIn(name, key), iterator->value());
    }
    TRELLIS_RETURN_IF_ERROR(iterator->status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Contents> ReadStore(lsm::DB& db, bool backward) {
  Contents contents;
  TRELLIS_RETURN_IF_ERROR(ReadStore(db, backward, &contents));
  return contents;
}

Contents KeysOf(const Contents& contents, std::string_view keyspace) {
  Contents keys;
  for (const auto& [key, value] : contents) {
    const Place place = PlaceOf(key);
    if (place.keyspace == keyspace && place.key) keys.emplace(*place.key, value);
  }
  return keys;
}

absl::StatusOr<std::optional<std::string>> LookUp(lsm::DB& db, std::string_view key) {
  const Place place = PlaceOf(key);
  TRELLIS_ASSIGN_OR_RETURN(const bool is_there, HasKeyspace(db, place.keyspace));
  if (!is_there) return std::nullopt;
  if (!place.key) return kIsThere;
  TRELLIS_ASSIGN_OR_RETURN(const lsm::Keyspace keyspace, db.OpenKeyspace(place.keyspace));
  return keyspace.Get(*place.key);
}

std::string TextOf(const Commit& commit) {
  std::string text;
  for (const Effect& effect : commit) {
    text += Concat(text.empty() ? "" : ", ", lsm::Escape(effect.key, 12));
    if (effect.value) {
      text += Concat(" = ", lsm::Escape(*effect.value, 12));
    } else {
      if (effect.is_range)
        text += effect.to ? Concat(" to ", lsm::Escape(*effect.to, 12)) : " to the end";
      text += " deleted";
    }
  }
  return text;
}

absl::Status Carry(const Step& step, lsm::DB& db) {
  switch (step.kind) {
    case Step::kWrite:
      return WriteCommit(db, step.commit, step.sync);
    case Step::kFlush:
      return db.Flush();
    case Step::kCompact: {
      if (step.keyspace.empty()) return db.CompactRange();
      TRELLIS_ASSIGN_OR_RETURN(const bool is_there, HasKeyspace(db, step.keyspace));
      if (!is_there) return db.CompactRange();
      TRELLIS_ASSIGN_OR_RETURN(lsm::Keyspace keyspace, db.OpenKeyspace(step.keyspace));
      return keyspace.CompactRange();
    }
    case Step::kBackground:
      return db.WaitForBackgroundWork();
    default:
      return absl::InternalError("takes more than a call");
  }
}

const char* NameOf(Step::Kind kind) {
  switch (kind) {
    case Step::kWrite:
      return "write";
    case Step::kFlush:
      return "flush";
    case Step::kCompact:
      return "compact";
    case Step::kBackground:
      return "wait for background work";
    case Step::kReopen:
      return "close and open";
    case Step::kKill:
      return "kill and open";
    case Step::kCopy:
      return "copy";
    case Step::kVerify:
      return "verify";
  }
  return "?";
}

std::string TextOf(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    text += Concat("  ", NameOf(step.kind), step.sync ? ", synced" : "",
                   step.kind == Step::kWrite ? ": " : "", TextOf(step.commit),
                   step.keyspace.empty() ? "" : " ", step.keyspace, "\n");
  }
  return text;
}

std::vector<Step> MakeWorkload(uint64_t seed, const WorkloadShape& shape) {
  Dice dice(seed);
  std::vector<Step> steps;
  size_t commits = 0;
  steps.push_back({Step::kReopen, {}, false});
  for (size_t key = 2; shape.wide && key < 10; key += 2) {
    const std::string number = Concat(commits++);
    const std::string large = Concat(number, ":", std::string(40'000, 'w'));
    steps.push_back({Step::kWrite, {{KeyOf(key), large}, {"last", number}}, false});
    if (key == 8) steps.push_back({Step::kCompact, {}, false});
  }
  if (shape.wide) {
    const std::string number = Concat(commits++);
    Commit commit = {
        {KeyOf(2), number}, {KeyOf(4), std::nullopt}, {KeyOf(8), number}, {"last", number}};
    if (shape.ranges) commit[1] = DeletesRange(KeyOf(4), KeyOf(8));
    steps.push_back({Step::kWrite, std::move(commit), false});
    steps.push_back({Step::kCompact, {}, false});
  }
  Names names;
  while (steps.size() < shape.steps) {
    if (shape.keyspaces && (steps.size() < 8 || dice.OneIn(12))) {
      // With a write before it, no change leaves the contents of an earlier commit.
      steps.push_back(AnyWrite(dice, commits++, names, shape));
      steps.push_back(AnyChange(dice, &names));
      continue;
    }
    if (shape.copies && dice.OneIn(8)) {
      steps.push_back({dice.OneIn(4) ? Step::kVerify : Step::kCopy, {}, false});
      continue;
    }
    const size_t roll = dice.Roll(100);
    if (roll < 76) {
      steps.push_back(AnyWrite(dice, commits++, names, shape));
    } else if (roll < 86) {
      steps.push_back({Step::kFlush, {}, false});
    } else if (roll < 90) {
      std::string keyspace = names.empty() || dice.OneIn(2) ? "" : *names.begin();
      steps.push_back({Step::kCompact, {}, false, std::move(keyspace)});
    } else if (roll < 93) {
      steps.push_back({Step::kBackground, {}, false});
    } else if (roll < 97) {
      steps.push_back({Step::kReopen, {}, false});
    } else {
      steps.push_back({Step::kKill, {}, false});
    }
  }
  return steps;
}

History::History() {
  digests_.push_back(0);
  counts_.emplace(0, 0);
}

void History::Add(const Commit& commit) {
  commits_.push_back(commit);
  Apply(commit, &contents_);
  digests_.push_back(DigestOf(contents_));
  counts_.insert_or_assign(digests_.back(), commits_.size());
  for (const Effect& effect : commit) keys_.insert(effect.key);
}

std::optional<size_t> History::CountOf(uint64_t contents_digest) const {
  const auto place = counts_.find(contents_digest);
  if (place == counts_.end()) return std::nullopt;
  return place->second;
}

void History::Truncate(size_t count) {
  contents_.clear();
  for (size_t i = 0; i < count; ++i) Apply(commits_[i], &contents_);
  commits_.resize(count);
  digests_.resize(count + 1);
  counts_.clear();
  for (size_t i = 0; i <= count; ++i) counts_.insert_or_assign(digests_[i], i);
}

void ContentsDigest::Add(std::string_view key, std::string_view value) {
  sum_ += bloom::DigestOf(value, bloom::DigestOf(key, 1));
}

uint64_t DigestOf(const Contents& contents) {
  ContentsDigest digest;
  for (const auto& [key, value] : contents) digest.Add(key, value);
  return digest.value();
}

absl::StatusOr<size_t> CountCommits(lsm::DB& db, const History& history) {
  TRELLIS_ASSIGN_OR_RETURN(const Contents found, ReadStore(db));
  const uint64_t digest = DigestOf(found);
  // Point lookups take another path, through the filters.
  ContentsDigest looked_up;
  for (const std::string& key : history.keys()) {
    TRELLIS_ASSIGN_OR_RETURN(const std::optional<std::string> value, LookUp(db, key));
    if (value) looked_up.Add(key, *value);
  }
  if (looked_up.value() != digest) return absl::InternalError("an iterator and Get disagree");
  const std::optional<size_t> count = history.CountOf(digest);
  if (count) return *count;
  const auto place = found.find("last");
  const std::string last = place == found.end() ? "nothing" : place->second;
  return absl::InternalError(Concat(
      "the contents are not those after any number of commits; the last one there is ", last));
}

}  // namespace reliability
