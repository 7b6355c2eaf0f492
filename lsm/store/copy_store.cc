#include "lsm/store/copy_store.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/compaction/common_output.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/jobs.h"
#include "lsm/fs/file_names.h"
#include "lsm/reports.h"
#include "lsm/store/log_set.h"
#include "lsm/store/recovery.h"
#include "lsm/store/verify_table.h"
#include "lsm/version/open_table.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Whether both records describe the same file, as far as the manifests tell.
bool IsSameTable(const TableMeta& a, const TableMeta& b) {
  return a.number == b.number && a.file_id == b.file_id && a.file_bytes == b.file_bytes &&
         a.entries == b.entries && a.smallest == b.smallest && a.largest == b.largest &&
         a.ranges == b.ranges;
}

bool Has(const ManifestState& state, const TableMeta& meta) {
  return std::any_of(state.levels.begin(), state.levels.end(), [&](const auto& level) {
    const auto place = level.find(meta.number);
    return place != level.end() && IsSameTable(place->second, meta);
  });
}

// Like VerifyTable, but the pacer does not count the bytes, and reads are buffered if the file
// system cannot read directly.
absl::Status VerifyUncounted(Directory& directory, const TableMeta& meta, const TablePlace& place,
                             ReadMode wished, const bloom::DigestSeed& digest_seed, Pacer* pacer,
                             VerifyReport* verified) {
  if (wished == ReadMode::kDirect &&
      absl::IsInvalidArgument(TryDirectRead(directory, TableFileName(meta.number))))
    wished = ReadMode::kBuffered;
  const Pacer::Uncounted uncounted(pacer);
  return VerifyTable(directory, meta, place, wished, digest_seed, pacer, verified);
}

// Whether the base has the table, undamaged.
absl::StatusOr<bool> IsSoundIn(const TableSource& base, const TableMeta& meta,
                               const TablePlace& place, ReadMode wished,
                               const bloom::DigestSeed& digest_seed, Pacer* pacer) {
  if (base.directory == nullptr || !Has(*base.state, meta)) return false;
  VerifyReport verified;
  TRELLIS_RETURN_IF_ERROR(
      VerifyUncounted(*base.directory, meta, place, wished, digest_seed, pacer, &verified));
  return verified.problems.empty();
}

// False if it cannot be linked.  DataLoss if the source does not have it.
absl::StatusOr<bool> Link(const TableSource& source, const TableMeta& meta, Directory& to,
                          NewFiles* made) {
  const std::string name = TableFileName(meta.number);
  const absl::Status linked =
      made->AddMade(&to, name, [&] { return source.directory->Link(name, to, name); });
  if (absl::IsUnimplemented(linked)) return false;
  if (absl::IsNotFound(linked))
    TRELLIS_RETURN_IF_ERROR(OpenFileOfTable(*source.directory, meta, ReadMode::kBuffered).status());
  TRELLIS_RETURN_IF_ERROR(linked);
  return true;
}

absl::Status CopyTable(const TableSource& from, const TableMeta& meta, const TablePlace& place,
                       Directory& to, ReadMode wished, Pacer* pacer, NewFiles* made,
                       CopyReport* report) {
  const std::string name = TableFileName(meta.number);
  const std::string path = Concat(from.directory->path(), "/", name);
  // Checks the size first: a damaged file may be larger than the free space.
  TRELLIS_RETURN_IF_ERROR(OpenFileOfTable(*from.directory, meta, ReadMode::kBuffered).status());
  TRELLIS_RETURN_IF_ERROR(CopyFile(*from.directory, name, to, name, made,
                                   [&](uint64_t bytes) { return pacer->Take(path, bytes); }));
  VerifyReport verified;
  TRELLIS_RETURN_IF_ERROR(
      VerifyUncounted(to, meta, place, wished, from.state->digest_seed, pacer, &verified));
  if (!verified.problems.empty()) {
    return absl::DataLossError(
        Concat(path, ": the table, or its copy, is damaged: ", verified.problems.front()));
  }
  ++report->tables_copied;
  report->bytes_copied += meta.file_bytes;
  return absl::OkStatus();
}

// Whether both have the same directories.
bool IsSame(const FileSystem* a, const FileSystem* b) {
  const auto is_posix = [](const FileSystem* one) {
    return one == &PosixFileSystem(FileAccess::kOwner) ||
           one == &PosixFileSystem(FileAccess::kGroup) || one == &PosixFileSystem(FileAccess::kAll);
  };
  return a == b || (is_posix(a) && is_posix(b));
}

}  // namespace

Options OptionsOfCopy(Options options, FileSystem* file_system) {
  if (file_system != nullptr) options.environment.file_system = file_system;
  options.mode = OpenMode::kReadOnly;
  options.log_directory.clear();
  options.environment.log_file_system = nullptr;
  options.direct_reads = false;
  options.scrub_seconds = 0;
  options.listener = nullptr;
  options.filter_hash = bloom::DigestHash::kXxh3;  // an existing store keeps its own
  return options;
}

absl::Status CheckIsOutside(const StoreDirectory& store, const FileSystem* file_system,
                            const std::string& path) {
  const Environment& environment = store.environment;
  for (const auto& [directory, of_directory] :
       {std::pair(store.directory.get(), environment.file_system),
        std::pair(store.own_log_directory.get(), environment.log_file_system)}) {
    if (directory == nullptr || !IsSame(file_system, of_directory)) continue;
    TRELLIS_ASSIGN_OR_RETURN(const bool is_inside, directory->Contains(path));
    if (!is_inside) continue;
    return absl::InvalidArgumentError(
        Concat(path, ": a copy must not be inside the store's own directory, ", directory->path()));
  }
  return absl::OkStatus();
}

absl::StatusOr<StoreDirectory> OpenForCopy(const std::string& path, const Options& options) {
  Options there = options;
  there.mode = OpenMode::kMustNotExist;
  TRELLIS_ASSIGN_OR_RETURN(StoreDirectory store, StoreDirectory::Open(path, there));
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, store.directory->List());
  const bool is_whole = std::find(names.begin(), names.end(), kCurrentFileName) != names.end();
  for (const std::string& name : names) {
    const std::optional<FileName> parsed = ParseFileName(name);
    if (!parsed || parsed->kind == FileKind::kLock) continue;
    return absl::AlreadyExistsError(Concat(
        path, "/", name, ": there are files of a store already",
        is_whole ? ""
                 : ", without CURRENT: from an interrupted copy (DB::Destroy removes it), or "
                   "from a store that lost CURRENT (DB::Repair repairs it)"));
  }
  if (store.own_log_directory != nullptr)
    TRELLIS_RETURN_IF_ERROR(CheckLogDirectoryIsFree(*store.own_log_directory));
  return store;
}

void KeepOnly(const std::set<KeyspaceId>& chosen, ManifestState* state) {
  std::set<KeyspaceId> trees;
  if (chosen.contains(kDefaultKeyspace)) trees.insert(kDefaultKeyspace);
  const KeyspaceRecords before = state->keyspaces;
  for (const auto& [id, record] : before.all()) {
    if (chosen.contains(id)) {
      trees.insert(record.has_own_tree ? id : kCommonTree);
    } else if (id != kDefaultKeyspace) {
      state->keyspaces.Drop(id);
    }
  }
  for (auto& level : state->levels) {
    std::erase_if(level, [&](const auto& table) { return !trees.contains(table.second.keyspace); });
  }
}

uint64_t BytesOfOthers(const Version& version, const std::set<KeyspaceId>& chosen) {
  const Tree* const common = version.TreeOf(kCommonTree);
  if (common == nullptr) return 0;
  uint64_t bytes = 0;
  size_t members = 0;
  for (const KeyspaceId id : version.members()->ids()) {
    if (!chosen.contains(id)) continue;
    ++members;
    bytes += version.ApproximateBytes(id, "", std::nullopt);
  }
  if (members == 0 || members == version.members()->ids().size()) return 0;
  return common->bytes() - std::min(bytes, common->bytes());
}

uint64_t TableBytesOf(const ManifestState& state) {
  uint64_t bytes = 0;
  for (const auto& level : state.levels) {
    for (const auto& [number, meta] : level) bytes += meta.file_bytes;
  }
  return bytes;
}

absl::Status BringTables(const TableSource& from, bool link, const TableSource& base,
                         const StoreDirectory& store, ReadMode wished, Pacer* pacer, NewFiles* made,
                         CopyReport* report) {
  Directory& to = *store.directory;
  for (int level = 0; level < kLevels; ++level) {
    const TablePlace place{level, from.state->last_sequence};
    for (const auto& [number, meta] : from.state->levels[static_cast<size_t>(level)]) {
      report->entries += meta.entries;
      TRELLIS_ASSIGN_OR_RETURN(
          bool linked, IsSoundIn(base, meta, place, wished, from.state->digest_seed, pacer));
      if (linked) {
        TRELLIS_ASSIGN_OR_RETURN(linked, Link(base, meta, to, made));
      }
      if (!linked && link) {
        TRELLIS_ASSIGN_OR_RETURN(linked, Link(from, meta, to, made));
      }
      if (linked) {
        ++report->tables_linked;
        pacer->Count(meta.file_bytes);
      } else {
        TRELLIS_RETURN_IF_ERROR(CopyTable(from, meta, place, to, wished, pacer, made, report));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AddNames(const KeyspaceRecords& all, JobContext context, const StoreDirectory& store,
                      ManifestState* state, NewFiles* made, CopyReport* report) {
  // No sequence number is left for a name, nor for a later write.
  if (state->last_sequence == kSequenceMax) return absl::OkStatus();
  const bool has_common =
      std::any_of(state->levels.begin(), state->levels.end(), [](const auto& level) {
        return std::any_of(level.begin(), level.end(),
                           [](const auto& table) { return table.second.keyspace == kCommonTree; });
      });
  CommonOutput names(state->last_sequence + 1);
  for (const auto& [id, record] : all.all()) {
    if (state->keyspaces.Has(id)) {
      names.AddName(record);
    } else if (has_common) {
      names.AddDropped(id);
      if (!record.has_own_tree) names.AddStrays(id);
    }
  }
  if (names.empty()) return absl::OkStatus();
  Directory* const directory = store.directory.get();
  context.directory = directory;
  context.table_context = {};
  context.table_context.digest_seed = state->digest_seed;
  context.new_file_number = [&] {
    made->Add(directory, TableFileName(state->next_file_number));
    return state->next_file_number++;
  };
  const TablesNow not_all_known = nullptr;  // so tombstones stay
  TRELLIS_ASSIGN_OR_RETURN(
      const JobResult result,
      RunFlush(context, *names.NewEntries(), names.Ranges(), UsualFilter(context, 0),
               /*snapshots=*/{}, not_all_known, /*age_nanos=*/0, kCommonTree));
  for (const auto& table : result.outputs) {
    state->levels[0].emplace(table->meta.number, table->meta);
    report->entries += table->meta.entries;
  }
  ++state->last_sequence;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> FoundStore(const StoreDirectory& store,
                                    std::optional<std::string_view> expected_current,
                                    ManifestState* state, NewFiles* made) {
  LogSet log(&store.log_directory());
  state->oldest_log = state->next_file_number++;
  state->log_seed = store.environment.random->Next();
  state->log_directory = store.own_log_path;
  state->synced_logs.clear();
  state->closed_logs.clear();
  state->started = true;  // by the snapshot that the manifest begins with
  TRELLIS_RETURN_IF_ERROR(
      made->AddMade(&store.log_directory(), LogFileName(state->oldest_log), [&] {
        return log.Start(state->oldest_log, LogFileId(*state->log_seed, state->oldest_log));
      }));
  // The log is not closed.  To a manifest that does not know it, a log without records and without
  // an end record looks like one that a failed opening left.
  TRELLIS_RETURN_IF_ERROR(log.SyncNames());
  const uint64_t manifest_number = state->next_file_number++;
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<ManifestWriter> manifest,
                           CreateManifest(store, manifest_number, *state, expected_current, made));
  (void)manifest->Close();  // the manifest is already durable
  return manifest_number;
}

absl::StatusOr<CopyReport> RestoreStore(const std::string& backup, const std::string& path,
                                        const Options& options, const Pace& pace,
                                        FileSystem* file_system) {
  TRELLIS_ASSIGN_OR_RETURN(const StoreDirectory source,
                           StoreDirectory::Open(backup, OptionsOfCopy(options, file_system)));
  const absl::StatusOr<ManifestContents> contents = ReadManifest(*source.directory);
  if (absl::IsNotFound(contents.status())) return NoStore(backup);
  TRELLIS_RETURN_IF_ERROR(contents.status());
  const Environment to = CompleteEnvironment(options.environment, options.file_access);
  TRELLIS_RETURN_IF_ERROR(CheckIsOutside(source, to.file_system, path));
  if (!options.log_directory.empty())
    TRELLIS_RETURN_IF_ERROR(CheckIsOutside(source, to.log_file_system, options.log_directory));
  ManifestState state = contents->state;

  TRELLIS_ASSIGN_OR_RETURN(const StoreDirectory store, OpenForCopy(path, options));
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Pacer> pacer,
                           Pacer::Create(pace, store.environment, TableBytesOf(state)));
  CopyReport report;
  NewFiles made;
  TRELLIS_RETURN_IF_ERROR(BringTables({source.directory.get(), &state}, /*link=*/false, {}, store,
                                      TableReadMode(options), pacer.get(), &made, &report));
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> logs,
                           NumbersOf(*source.directory, FileKind::kLog));
  for (auto number = logs.lower_bound(state.oldest_log); number != logs.end(); ++number) {
    const std::string name = LogFileName(*number);
    TRELLIS_RETURN_IF_ERROR(CopyFile(*source.directory, name, store.log_directory(), name, &made));
    TRELLIS_ASSIGN_OR_RETURN(const bool holds_writes, HoldsWrites(store.log_directory(), name));
    report.logs_copied += holds_writes;
  }
  TRELLIS_RETURN_IF_ERROR(CheckLogs(store.log_directory(), state).status());
  TRELLIS_RETURN_IF_ERROR(store.log_directory().Sync());
  TRELLIS_ASSIGN_OR_RETURN(
      const uint64_t manifest_number,
      NextFileNumber(*store.directory, store.log_directory(), state.next_file_number));
  state.next_file_number = manifest_number + 1;
  state.log_directory = store.own_log_path;
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<ManifestWriter> manifest,
                           CreateManifest(store, manifest_number, state, std::nullopt, &made));
  (void)manifest->Close();  // the manifest is already durable
  return report;
}

}  // namespace lsm
