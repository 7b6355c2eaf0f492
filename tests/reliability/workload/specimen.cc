#include "tests/reliability/workload/specimen.h"

#include <memory>
#include <optional>
#include <utility>

namespace reliability {

using lsm::Concat;
using lsm::DB;
using lsm::World;

namespace {

constexpr char kDropped[] = "dropped";

}  // namespace

std::string Specimen::Make() {
  World world(seed_);
  lsm::Options options = OptionsOn(world);
  if (has_runs_) {
    options.compaction_style = lsm::CompactionStyle::kTiered;
    options.level0_compaction_tables = 3;
  }
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, options);
  if (!db.ok()) return db.status().ToString();
  absl::Status status;
  const auto write = [&](int i, bool deletes) {
    // All entries have the same size, so that blocks and sectors do too and can replace each other.
    const size_t number = 1000 + history_.size();
    const std::string key = has_keyspaces_ && i % 3 == 1 ? KeyIn(kTimedKeyspace, Key(i)) : Key(i);
    Commit commit = {{key, Concat("value ", seed_, " ", number, std::string(40, '.'))}};
    // The first tables do not hold this key: their key ranges would overlap, so they could not lie
    // side by side in level 1.
    if (i >= 90 || history_.size() >= 90) commit.push_back({"last", Concat(number)});
    if (deletes) commit[0].value = std::nullopt;
    Write(**db, commit, &status);
  };
  const auto remove = [&](int from, std::optional<std::string> to) {
    if (!has_ranges_) return;
    const size_t number = 1000 + history_.size();
    Write(**db, {DeletesRange(Key(from), std::move(to)), {"last", Concat(number)}}, &status);
  };
  for (const char* const name : {kTimedKeyspace, kDropped}) {
    if (has_keyspaces_) Write(**db, {{EntryOf(name), kIsThere}}, &status);
  }
  for (int i = 0; i < 90; ++i) {
    write(i, false);
    if (i % 45 == 44) status.Update((*db)->CompactRange());
  }
  if (has_keyspaces_) status.Update(Carry({Step::kCompact, {}, false, kTimedKeyspace}, **db));
  remove(60, Key(65));
  for (int i = 40; i < 120; i += 2) write(i, i % 9 == 0);
  status.Update((*db)->Flush());
  remove(10, Key(16));
  remove(100, std::nullopt);
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
  remove(20, Key(24));
  for (int i = 0; i < 150; i += 5) write(i, i % 8 == 0);
  if (has_keyspaces_) Write(**db, {{EntryOf(kDropped), std::nullopt}}, &status);
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

std::vector<std::string> Specimen::KeysToLookUp() const {
  std::vector<std::string> keys;
  if (has_keyspaces_) keys = {EntryOf(kTimedKeyspace), EntryOf(kDropped)};
  for (int i = -1; i < 152; ++i) {
    keys.push_back(Key(i));
    if (has_keyspaces_) keys.push_back(KeyIn(kTimedKeyspace, Key(i)));
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
