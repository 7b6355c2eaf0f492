#include "tests/reliability/workload/specimen.h"

#include <memory>
#include <optional>
#include <utility>

#include "tests/lsm/keyspaces/own_trees.h"

namespace reliability {

using lsm::Concat;
using lsm::DB;
using lsm::World;

namespace {

constexpr char kOwn[] = "own";
constexpr char kGone[] = "gone";
constexpr char kDropped[] = "dropped";
constexpr char kAgain[] = "again";
constexpr const char* kKeyspaces[] = {kTimedKeyspace, kOwn, kGone, kDropped, kAgain};

}  // namespace

std::string Specimen::Make() {
  World world(seed_);
  lsm::Options options = OptionsOn(world);
  if (has_runs_) {
    options.compaction_style = lsm::CompactionStyle::kTiered;
    options.level0_compaction_tables = 3;
  }
  absl::Status status;
  if (has_keyspaces_) status = MakeKeyspaces(world, options);
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, options);
  if (!db.ok()) return db.status().ToString();
  if (has_keyspaces_) {
    // The entries that it left behind would be back if a repair took them.
    Write(**db, {{KeyIn(kOwn, Key(1)), std::nullopt}, {KeyIn(kOwn, Key(8)), std::nullopt}},
          &status);
    status.Update((*db)->OpenKeyspace(kOwn, {.target_fpp = 0.125}).status());
  }
  const auto write = [&](int i, bool deletes) {
    // All entries have the same size, so that blocks and sectors do too and can replace each other.
    const size_t number = 1000 + history_.size();
    const bool is_in_keyspace = has_keyspaces_ && i % 3 == 1;
    const std::string key =
        is_in_keyspace ? KeyIn(i / 6 % 2 == 0 ? kTimedKeyspace : kOwn, Key(i)) : Key(i);
    Commit commit = {{key, Concat("value ", seed_, " ", number, std::string(40, '.'))}};
    // The first tables do not hold this key: their key ranges would overlap, so they could not lie
    // side by side in level 1.
    if (i >= 90 || history_.size() >= 90) commit.push_back({"last", Concat(number)});
    if (deletes) commit[0].value = std::nullopt;
    Write(**db, commit, &status);
  };
  for (int i = 0; i < 90; ++i) {
    write(i, false);
    if (i % 45 == 44) status.Update((*db)->CompactRange());
  }
  for (const char* const name : {kTimedKeyspace, kOwn}) {
    if (has_keyspaces_) status.Update(Carry({Step::kCompact, {}, false, name}, **db));
  }
  Remove(**db, 60, 65, &status);
  for (int i = 40; i < 120; i += 2) write(i, i % 9 == 0);
  status.Update((*db)->Flush());
  Remove(**db, 10, 16, &status);
  Remove(**db, 100, std::nullopt, &status);
  for (int i = 5; i < 150; i += 7) write(i, i % 4 == 0);
  status.Update((*db)->Flush());
  if (has_runs_) {
    for (const int first : {8, 9}) {
      for (int i = first; i < 150; i += 11) write(i, i % 3 == 0);
      status.Update((*db)->Flush());
      status.Update((*db)->WaitForBackgroundWork());
    }
    if ((*db)->GetStatistics().levels[1].runs != 2) return "level 1 has no two runs";
  }
  in_tables_ = history_.size();
  Remove(**db, 20, 24, &status);
  for (int i = 0; i < 150; i += 5) write(i, i % 8 == 0);
  if (has_keyspaces_) ChangeKeyspaces(**db, &status);
  // The last sector of a log holds the end of a short record, or only the end of a long one.
  if (!logs_apart_) WriteLong(**db, &status);
  write(3, false);
  if (logs_apart_) WriteLong(**db, &status);
  if (!status.ok()) return status.ToString();
  std::unique_ptr<lsm::MemoryFileSystem> files;
  if (!closed_) files = world.files->Clone();
  db->reset();
  if (closed_) files = world.files->Clone();
  image_ = Image::Of(*files, {kPath, kLogsPath});
  return "";
}

absl::Status Specimen::MakeKeyspaces(World& world, const lsm::Options& options) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, DB::Open(kPath, options));
  absl::Status status;
  for (const char* const name : kKeyspaces) {
    Write(*db, {{EntryOf(name), kIsThere}}, &status);
    Commit commit;
    for (const int i : {1, 8})
      commit.push_back({KeyIn(name, Key(i)), Concat("first value ", seed_, " ", name, " ", i)});
    Write(*db, commit, &status);
  }
  status.Update(db->Flush());
  Write(*db, {{EntryOf(kGone), std::nullopt}}, &status);
  status.Update(db->Flush());
  status.Update(db->Close());
  TRELLIS_RETURN_IF_ERROR(status);
  return lsm::GiveOwnTrees(*world.files, kPath, [](const auto& name) { return name == kOwn; });
}

void Specimen::ChangeKeyspaces(DB& db, absl::Status* status) {
  status->Update(db.OpenKeyspace(kTimedKeyspace, {.target_fpp = 0.25}).status());
  Write(db, {{EntryOf(kDropped), std::nullopt}}, status);
  Write(db, {{EntryOf(kAgain), std::nullopt}}, status);
  Write(db, {{EntryOf(kAgain), kIsThere}}, status);
  const std::string value = Concat("second value ", seed_);
  Write(db, {{KeyIn(kAgain, Key(1)), value}, {KeyIn(kOwn, Key(2)), value}}, status);
}

void Specimen::Remove(DB& db, int from, std::optional<int> to, absl::Status* status) {
  Commit commit;
  const auto remove = [&](const std::string& name) {
    commit.push_back(
        DeletesRange(KeyIn(name, Key(from)),
                     to ? std::optional<std::string>(KeyIn(name, Key(*to))) : std::nullopt));
  };
  if (has_ranges_) remove("default");
  for (const char* const name : {kTimedKeyspace, kOwn}) {
    if (has_keyspaces_) remove(name);
  }
  if (commit.empty()) return;
  commit.push_back({"last", Concat(1000 + history_.size())});
  Write(db, commit, status);
}

std::vector<std::string> Specimen::KeysToLookUp() const {
  std::vector<std::string> keys;
  for (int i = -1; i < 152; ++i) keys.push_back(Key(i));
  for (const std::string name : kKeyspaces) {
    if (!has_keyspaces_) break;
    keys.push_back(EntryOf(name));
    const bool is_small = name != kTimedKeyspace && name != kOwn;
    for (int i = -1; i < (is_small ? 9 : 152); ++i) keys.push_back(KeyIn(name, Key(i)));
  }
  return keys;
}

lsm::Options Specimen::OptionsOn(World& world) const {
  lsm::Options options = world.SmallOptions();
  options.level0_compaction_tables = 8;
  options.compression = lz4_ ? lsm::Compression::kLz4 : lsm::Compression::kNone;
  // The cache is smaller than all filters and indexes, so that tables are written in partitions.
  if (lz4_) options.block_cache_bytes = 1;
  if (logs_apart_) options.log_directory = kLogsPath;
  return options;
}

void Specimen::Write(DB& db, const Commit& commit, absl::Status* status) {
  status->Update(WriteCommit(db, commit, /*sync=*/true));
  history_.Add(commit);
  Apply(commit, &contents_);
}

void Specimen::WriteLong(DB& db, absl::Status* status) {
  Commit commit = {{Key(2), ""}, {"last", "long"}};
  for (int i = 0; i < 300; ++i) *commit[0].value += Concat(1000 + i, "-", seed_, " ");
  Write(db, commit, status);
}

}  // namespace reliability
