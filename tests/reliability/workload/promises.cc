#include "tests/reliability/workload/promises.h"

#include <memory>

#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/status.h"
#include "tests/lsm/engine/world.h"

namespace reliability {

using lsm::Concat;

namespace {

// The options with the environment of the other machine.
lsm::Options OnAnother(lsm::World& world, lsm::Options options) {
  options.environment = world.SmallOptions().environment;
  return options;
}

}  // namespace

std::string Promises::Answered(const Commit& commit, const absl::Status& status) {
  if (status.ok()) {
    if (unknown_) return "a write was accepted after a write of unknown outcome";
    history_.Add(commit);
    Apply(commit, &contents_);
    return "";
  }
  if (absl::IsUnknown(status)) {
    if (unknown_) return "a second write of unknown outcome";
    unknown_ = commit;
    had_unknown_ = true;
  }
  return "";
}

std::string Promises::Resumed(const absl::Status& failure, bool failed_again) {
  was_resumed_ = true;
  unknown_ = std::nullopt;
  Synced();
  return failure.ok() || failed_again ? "" : "Resume succeeded, but GetFailure returns an error";
}

std::string Promises::Opened(const Contents& found, bool dropped) {
  if (found != contents_ && unknown_) {
    history_.Add(*unknown_);
    Apply(*unknown_, &contents_);
  }
  if (found != contents_ && dropped) {
    const std::optional<size_t> count = history_.CountOf(DigestOf(found));
    if (!count || *count < durable_) return "after opening, durable commits are missing";
    history_.Truncate(*count);
    copies_.Forget();
    contents_ = found;
  }
  if (found != contents_) return "after opening, the contents are not the acknowledged ones";
  unknown_ = std::nullopt;
  Synced();
  return "";
}

std::optional<std::string> Promises::ValueOf(const std::string& key) const {
  const auto place = contents_.find(key);
  return place == contents_.end() ? std::nullopt : std::optional(place->second);
}

bool Promises::Has(std::string_view keyspace) const {
  return keyspace == lsm::kDefaultKeyspaceName || contents_.contains(EntryOf(keyspace));
}

std::string Promises::ProblemAfterCrash(const lsm::MemoryFileSystem& files, const std::string& path,
                                        const lsm::Options& options) const {
  lsm::World world(97, files.Clone());
  world.files->Restart(lsm::MemoryFileSystem::Unsynced::kLost);
  const absl::StatusOr<std::unique_ptr<lsm::DB>> db =
      lsm::DB::Open(path, OnAnother(world, options));
  if (!db.ok()) return Concat("after a crash, cannot be opened: ", db.status().ToString());
  History history = history_;
  if (unknown_) history.Add(*unknown_);
  const absl::StatusOr<size_t> count = CountCommits(**db, history);
  if (!count.ok()) return Concat("after a crash: ", count.status().ToString());
  if (*count >= durable_) return "";
  return Concat("after a crash, has ", *count, " commits of ", durable_, " that were promised");
}

std::string Promises::ProblemOfCopies(const lsm::MemoryFileSystem& files,
                                      const lsm::Options& options) const {
  for (const Copy& copy : copies_.made()) {
    lsm::World world(96, files.Clone());
    const std::string problem = ProblemOf(copy, OnAnother(world, options), history_);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace reliability
