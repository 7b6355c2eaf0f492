#include "tests/lsm/engine/script.h"

#include "lsm/bytes/status.h"

namespace lsm {
namespace {

constexpr size_t kKeys = 24;

std::string KeyOf(size_t number) {
  // One empty, some long, some that are beginnings of others.
  if (number == 0) return "";
  if (number == 1) return std::string(700, 'k');
  return Concat(number % 2 == 0 ? "key" : "key0", number);
}

// About 4 KB at times, so that a memtable of 64 KiB is full after some dozens of writes.
std::string ValueOf(Dice& dice, size_t commit) {
  const size_t filling = dice.OneIn(2) ? 3000 + dice.Roll(2000) : dice.Roll(60);
  return Concat("commit ", commit, ":", std::string(filling, static_cast<char>('a' + commit % 26)));
}

Step AnyWrite(Dice& dice, size_t commit) {
  Step step;
  step.sync = dice.OneIn(4);
  if (dice.OneIn(6)) {
    // A batch: puts, some of the same key, and deletes.
    for (size_t i = 2 + dice.Roll(5); i > 0; --i) {
      const std::string key = KeyOf(dice.Roll(kKeys));
      step.commit.emplace_back(key,
                               dice.OneIn(4) ? std::nullopt : std::optional(ValueOf(dice, commit)));
    }
  } else if (dice.OneIn(5)) {
    step.commit.emplace_back(KeyOf(dice.Roll(kKeys)), std::nullopt);
  } else {
    step.commit.emplace_back(KeyOf(dice.Roll(kKeys)), ValueOf(dice, commit));
  }
  // Makes the contents after it different from all others.
  step.commit.emplace_back("last commit", Concat(commit));
  return step;
}

}  // namespace

std::vector<Step> MakeScript(uint64_t seed, size_t steps) {
  Dice dice(seed);
  std::vector<Step> script;
  size_t commits = 0;
  script.push_back({Step::kReopen, {}, false});
  while (script.size() < steps) {
    const size_t roll = dice.Roll(100);
    if (roll < 88) {
      script.push_back(AnyWrite(dice, commits++));
    } else if (roll < 93) {
      script.push_back({Step::kFlush, {}, false});
    } else if (roll < 95) {
      script.push_back({Step::kCompact, {}, false});
    } else if (roll < 97) {
      script.push_back({Step::kBackground, {}, false});
    } else {
      script.push_back({Step::kReopen, {}, false});
    }
  }
  return script;
}

Options ScriptOptions(World& world, bool logs_apart) {
  Options options = world.SmallOptions();
  options.level0_compaction_tables = 2;
  options.compression = Compression::kNone;
  if (logs_apart) options.log_directory = "/logs";
  return options;
}

void Apply(const Commit& commit, Contents* contents) {
  for (const auto& [key, value] : commit) {
    if (value) {
      (*contents)[key] = *value;
    } else {
      contents->erase(key);
    }
  }
}

std::optional<size_t> Ledger::Match(const Contents& contents, size_t least) const {
  Contents expected;
  for (size_t count = 0;; ++count) {
    if (count >= least && expected == contents) return count;
    if (count == commits.size()) return std::nullopt;
    Apply(commits[count], &expected);
  }
}

std::set<std::string> Ledger::Keys() const {
  std::set<std::string> keys;
  for (const Commit& commit : commits) {
    for (const auto& [key, ignored] : commit) keys.insert(key);
  }
  return keys;
}

absl::Status WriteCommit(DB& db, const Commit& commit, bool sync) {
  WriteBatch batch;
  for (const auto& [key, value] : commit) {
    if (value) {
      batch.Put(key, *value);
    } else {
      batch.Delete(key);
    }
  }
  return db.Write(batch, {.sync = sync});
}

bool ScriptRunner::Run(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (!Make(step).ok() || world_->files->crashed()) return false;
  }
  return true;
}

absl::Status ScriptRunner::Make(const Step& step) {
  switch (step.kind) {
    case Step::kWrite:
      ledger_.commits.push_back(step.commit);
      LSM_RETURN_IF_ERROR(WriteCommit(*db_, step.commit, step.sync));
      ledger_.acknowledged = ledger_.commits.size();
      if (step.sync) ledger_.durable = ledger_.acknowledged;
      return absl::OkStatus();
    case Step::kFlush:
      LSM_RETURN_IF_ERROR(db_->Flush());
      ledger_.durable = ledger_.acknowledged;
      return absl::OkStatus();
    case Step::kCompact:
      LSM_RETURN_IF_ERROR(db_->CompactRange());
      ledger_.durable = ledger_.acknowledged;
      return absl::OkStatus();
    case Step::kBackground:
      return db_->WaitForBackgroundWork();
    case Step::kReopen:
      return Open();
  }
  return absl::OkStatus();
}

absl::Status ScriptRunner::Open() {
  db_ = nullptr;
  LSM_ASSIGN_OR_RETURN(db_, DB::Open(kStorePath, options_));
  // What the logs held is in tables.
  ledger_.durable = ledger_.acknowledged;
  return absl::OkStatus();
}

void ScriptRunner::Close() { db_ = nullptr; }

}  // namespace lsm
