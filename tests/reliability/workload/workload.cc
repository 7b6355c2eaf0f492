#include "tests/reliability/workload/workload.h"

#include <memory>

#include "bloom/hash.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using testing_support::Dice;

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

// The range does not cover the key "last".  Some are empty.
Effect AnyRange(Dice& dice, const WorkloadShape& shape) {
  std::string from = KeyOf(dice.Roll(shape.keys));
  std::string to = KeyOf(dice.Roll(shape.keys));
  if (to < from) std::swap(from, to);
  return DeletesRange(std::move(from), std::move(to));
}

Step AnyWrite(Dice& dice, size_t commit, const WorkloadShape& shape) {
  Step step;
  step.sync = dice.OneIn(4);
  const size_t entries = dice.OneIn(6) ? 2 + dice.Roll(5) : 1;
  for (size_t i = 0; i < entries; ++i) {
    std::string key = KeyOf(dice.Roll(shape.keys));
    std::optional<std::string> value;
    if (!dice.OneIn(5)) value = ValueOf(dice, commit, shape);
    step.commit.push_back({std::move(key), std::move(value)});
    if (shape.ranges && dice.OneIn(8)) step.commit.push_back(AnyRange(dice, shape));
  }
  if (shape.ranges && dice.OneIn(16))
    step.commit.push_back(DeletesRange(KeyOf(dice.Roll(shape.keys)), std::nullopt));
  step.commit.push_back({"last", Concat(commit)});
  // So the last numbers of some commits are those of ranges.
  while (shape.ranges && dice.OneIn(10)) step.commit.push_back(AnyRange(dice, shape));
  return step;
}

}  // namespace

Effect DeletesRange(std::string from, std::optional<std::string> to) {
  return {std::move(from), std::nullopt, /*is_range=*/true, std::move(to)};
}

void Apply(const Commit& commit, Contents* contents) {
  for (const Effect& effect : commit) {
    if (effect.value) {
      (*contents)[effect.key] = *effect.value;
    } else if (!effect.is_range) {
      contents->erase(effect.key);
    } else if (!effect.to) {
      contents->erase(contents->lower_bound(effect.key), contents->end());
    } else if (effect.key < *effect.to) {
      contents->erase(contents->lower_bound(effect.key), contents->lower_bound(*effect.to));
    }
  }
}

absl::Status WriteCommit(lsm::DB& db, const Commit& commit, bool sync) {
  lsm::WriteBatch batch;
  for (const Effect& effect : commit) {
    if (effect.value) {
      batch.Put(effect.key, *effect.value);
    } else if (effect.is_range) {
      batch.DeleteRange(effect.key, effect.to);
    } else {
      batch.Delete(effect.key);
    }
  }
  return db.Write(batch, {.sync = sync});
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
    case Step::kCompact:
      return db.CompactRange();
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
                   step.kind == Step::kWrite ? ": " : "", TextOf(step.commit), "\n");
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
  while (steps.size() < shape.steps) {
    if (shape.copies && dice.OneIn(8)) {
      steps.push_back({dice.OneIn(4) ? Step::kVerify : Step::kCopy, {}, false});
      continue;
    }
    const size_t roll = dice.Roll(100);
    if (roll < 76) {
      steps.push_back(AnyWrite(dice, commits++, shape));
    } else if (roll < 86) {
      steps.push_back({Step::kFlush, {}, false});
    } else if (roll < 90) {
      steps.push_back({Step::kCompact, {}, false});
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
  counts_.emplace(digests_.back(), commits_.size());
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
  std::erase_if(counts_, [&](const auto& entry) { return entry.second > count; });
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
  ContentsDigest digest;
  const std::unique_ptr<lsm::Iterator> iterator = db.NewIterator();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
    digest.Add(iterator->key(), iterator->value());
  TRELLIS_RETURN_IF_ERROR(iterator->status());
  // Point lookups take another path, through the filters.
  ContentsDigest looked_up;
  std::string value;
  for (const std::string& key : history.keys()) {
    TRELLIS_ASSIGN_OR_RETURN(const bool found, db.Get(key, &value));
    if (found) looked_up.Add(key, value);
  }
  if (looked_up.value() != digest.value())
    return absl::InternalError("an iterator and Get disagree");
  const std::optional<size_t> count = history.CountOf(digest.value());
  if (count) return *count;
  std::string last = "nothing";
  if (db.Get("last", &value).value_or(false)) last = value;
  return absl::InternalError(Concat(
      "the contents are not those after any number of commits; the last one there is ", last));
}

}  // namespace reliability
