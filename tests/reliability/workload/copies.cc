#include "tests/reliability/workload/copies.h"

#include <memory>
#include <utility>

#include "lsm/bytes/status.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;

absl::StatusOr<std::unique_ptr<DB>> Open(const Copy& copy, lsm::Options options) {
  options.mode = lsm::OpenMode::kMustExist;
  options.log_directory = copy.logs_path;
  return DB::Open(copy.path, options);
}

std::string ProblemOf(DB& db, const Copy& copy, const History& history) {
  const absl::StatusOr<size_t> count = CountCommits(db, history);
  if (!count.ok()) return Concat(copy.path, ": ", count.status().ToString());
  if (history.DigestAfter(*count) == history.DigestAfter(copy.commits)) return "";
  return Concat(copy.path, ": has ", *count, " commits, and was made of ", copy.commits);
}

}  // namespace

absl::Status Carry(const CopyPlan& plan, DB& db) {
  switch (plan.kind) {
    case CopyPlan::kCheckpoint:
      return db.Checkpoint(plan.copy.path);
    case CopyPlan::kBackup:
      return db.Backup(plan.copy.path).status();
    case CopyPlan::kBackupOnBase:
      return db.Backup(plan.copy.path, plan.earlier).status();
    case CopyPlan::kRestore:
      return DB::Restore(plan.earlier, plan.copy.path, plan.options).status();
    case CopyPlan::kRepair:
      return DB::Repair(plan.earlier, plan.options).status();
    case CopyPlan::kDestroy:
      return DB::Destroy(plan.earlier, plan.options);
    case CopyPlan::kKinds:
      break;
  }
  return absl::InternalError("no such kind");
}

CopyPlan Copies::Next(const lsm::Options& options, size_t commits) {
  const size_t number = plans_++;
  CopyPlan plan;
  plan.kind = static_cast<CopyPlan::Kind>(number % CopyPlan::kKinds);
  plan.copy = {Concat("/copy", number), "", commits};
  // A restored store may have its logs in another directory.  Then the only plan for it is a
  // repair.
  const bool has_earlier =
      !made_.empty() && (plan.kind == CopyPlan::kRepair || made_.back().logs_path.empty());
  if (!has_earlier && plan.kind != CopyPlan::kCheckpoint) plan.kind = CopyPlan::kBackup;
  plan.options = options;
  plan.options.log_directory.clear();
  if (has_earlier) {
    plan.earlier = made_.back().path;
    plan.options.log_directory = made_.back().logs_path;
  }
  if (plan.kind != CopyPlan::kRestore) return plan;
  plan.copy.commits = made_.back().commits;
  if (!options.log_directory.empty()) plan.copy.logs_path = Concat(plan.copy.path, "logs");
  plan.options.log_directory = plan.copy.logs_path;
  return plan;
}

void Copies::Note(const CopyPlan& plan, bool done) {
  if (plan.kind == CopyPlan::kDestroy) {
    std::erase_if(made_, [&](const Copy& copy) { return copy.path == plan.earlier; });
  } else if (done && plan.kind != CopyPlan::kRepair) {
    made_.push_back(plan.copy);
  }
}

std::string ProblemOf(const Copy& copy, const lsm::Options& options, const History& history) {
  const absl::StatusOr<std::unique_ptr<DB>> db = Open(copy, options);
  if (!db.ok()) return Concat("a copy cannot be opened: ", db.status().ToString());
  return ProblemOf(**db, copy, history);
}

std::string ProblemOfUnfinished(const Copy& copy, const lsm::Options& options,
                                const History& history) {
  const absl::StatusOr<std::unique_ptr<DB>> db = Open(copy, options);
  if (db.ok()) return ProblemOf(**db, copy, history);
  // A copy writes CURRENT last, and Destroy removes it first.
  const std::string current = Concat(copy.path, "/CURRENT");
  if (absl::IsNotFound(db.status()) ||
      lsm::MessageOf(db.status()).find(current) != std::string::npos)
    return "";
  return Concat("half a copy: ", db.status().ToString());
}

std::string ProblemOfDestroyed(const Copy& copy, const lsm::Options& options) {
  const absl::StatusOr<std::unique_ptr<DB>> db = Open(copy, options);
  if (db.ok()) return Concat(copy.path, ": was destroyed, and is there again");
  if (absl::IsNotFound(db.status())) return "";
  return Concat(copy.path, ": was destroyed, but something is left: ", db.status().ToString());
}

}  // namespace reliability
