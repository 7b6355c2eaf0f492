#include "tests/reliability/workload/refusals.h"

#include <optional>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/limits.h"
#include "tests/reliability/faults/disk.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;

constexpr char kBackup[] = "/backup";

std::string MustBe(absl::StatusCode code, std::string_view what, const absl::Status& status) {
  if (status.code() == code) return "";
  return Concat(what, " is not refused with ", absl::StatusCodeToString(code), ": ",
                status.ToString());
}

std::string Refused(std::string_view what, const absl::Status& status) {
  return MustBe(absl::StatusCode::kInvalidArgument, what, status);
}

// The first string that is not empty.
std::string FirstOf(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string ProblemOfSnapshot(DB& db, const lsm::Snapshot& snapshot) {
  const lsm::ReadOptions options{.snapshot = &snapshot};
  const std::vector<std::string_view> keys = {"key", "another"};
  std::vector<std::string> problems = {
      Refused("Get as of another DB's snapshot", db.Get("key", options).status()),
      Refused("Explain as of another DB's snapshot", db.Explain("key", options).status()),
      Refused("an iterator as of another DB's snapshot", db.NewIterator(options)->status())};
  for (const auto& answer : db.MultiGet(keys, options))
    problems.push_back(Refused("MultiGet as of another DB's snapshot", answer.status()));
  return FirstOf(problems);
}

std::string ProblemOfCopies(DB& db, const std::string& directory, lsm::FileSystem& files) {
  const std::string inside = directory + "/copy";
  const std::string problem =
      FirstOf({Refused("a checkpoint inside the store", db.Checkpoint(inside)),
               Refused("a backup inside the store", db.Backup(inside).status())});
  if (!problem.empty()) return problem;
  return absl::IsNotFound(files.OpenDirectory(inside, /*create=*/false).status())
             ? ""
             : Concat(inside, " is there, though the copy was refused");
}

std::string ProblemOfLongKeys(DB& db) {
  const std::string key(lsm::kKeyBytesMax + 1, 'k');
  const absl::StatusOr<std::optional<std::string>> found = db.Get(key);
  if (!found.ok() || found->has_value())
    return Concat("a key that is too long to be there: ", found.status().ToString());
  return FirstOf({Refused("a put of a key that is too long", db.Put(key, "value")),
                  Refused("a delete of a key that is too long", db.Delete(key))});
}

Image ImageOf(lsm::MemoryFileSystem& files, const std::string& path, const lsm::Options& options) {
  return Image::Of(files, {path, options.log_directory});
}

}  // namespace

Refusals::Refusals() {
  other_ = DB::Open("/other", world_.SmallOptions()).value();
  other_->Put("key", "of another store").IgnoreError();
  snapshot_ = other_->GetSnapshot();
  other_->Checkpoint(kBackup).IgnoreError();
  restore_options_ = world_.SmallOptions();
  restore_options_.log_directory = Concat(kBackup, "/logs");
}

std::string Refusals::ProblemOf(DB& db, const std::string& path,
                                const lsm::Options& options) const {
  std::vector<std::string> problems = {
      ProblemOfSnapshot(db, *snapshot_), ProblemOfLongKeys(db),
      Refused("a restored store with its logs inside the backup",
              DB::Restore(kBackup, "/restored", restore_options_).status())};
  for (const std::string& directory : {path, options.log_directory}) {
    if (!directory.empty())
      problems.push_back(ProblemOfCopies(db, directory, *options.environment.file_system));
  }
  return FirstOf(problems);
}

std::string ProblemOfLostLogs(const lsm::MemoryFileSystem& files, const std::string& path,
                              const lsm::Options& options) {
  const std::unique_ptr<lsm::MemoryFileSystem> copy = files.Clone();
  lsm::Options there = options;
  there.environment.file_system = copy.get();
  lsm::Options without = there, elsewhere = there;
  without.log_directory.clear();
  elsewhere.log_directory = Concat(options.log_directory, "-of-another");
  copy->OpenDirectory(elsewhere.log_directory, /*create=*/true).status().IgnoreError();
  const uint64_t before = ImageOf(*copy, path, options).Digest();
  constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
  std::string problem = FirstOf(
      {MustBe(kFailedPrecondition, "Destroy without the logs", DB::Destroy(path, without)),
       MustBe(kFailedPrecondition, "Destroy with other logs", DB::Destroy(path, elsewhere)),
       MustBe(kFailedPrecondition, "Repair with other logs", DB::Repair(path, elsewhere).status()),
       MustBe(kFailedPrecondition, "Repair without the logs", DB::Repair(path, without).status())});
  if (!problem.empty()) return problem;
  const std::unique_ptr<lsm::Directory> store = copy->OpenDirectory(path, /*create=*/false).value();
  if (ImageOf(*copy, path, options).Digest() != before) return "a refused call changed files";
  const std::vector<std::string> names = store->List().value();
  for (const std::string& name : names) store->Remove(name).IgnoreError();
  return MustBe(kFailedPrecondition, "Destroy of logs whose store is lost",
                DB::Destroy(path, there));
}

std::string DestroyAll(lsm::MemoryFileSystem& files, const std::string& path,
                       const lsm::Options& options) {
  if (const absl::Status status = DB::Destroy(path, options); !status.ok())
    return Concat("cannot be destroyed: ", status.ToString());
  for (const std::string& directory : {path, options.log_directory}) {
    if (directory.empty() ||
        absl::IsNotFound(files.OpenDirectory(directory, /*create=*/false).status()))
      continue;
    return Concat(directory, " is there after Destroy");
  }
  return "";
}

}  // namespace reliability
