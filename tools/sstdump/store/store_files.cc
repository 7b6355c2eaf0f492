#include "tools/sstdump/store/store_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lsm/base/internal_key.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_claims.h"

namespace tools {
namespace {

absl::StatusOr<std::optional<Target>> FindPart(const StoreFiles& files,
                                               const std::shared_ptr<lsm::Directory>& directory,
                                               lsm::FileKind kind, uint64_t number) {
  const bool is_log = kind == lsm::FileKind::kLog;
  const std::string name = is_log ? lsm::LogFileName(number) : lsm::TableFileName(number);
  absl::StatusOr<Target> target = FindTargetIn(directory, name);
  if (target.ok()) {
    // Code that reads the file later finds out what it really is.
    target->kind = is_log ? TargetKind::kLog : TargetKind::kTable;
    target->keyspaces = files.keyspaces;
    return std::optional<Target>(std::move(target).value());
  }
  if (!absl::IsNotFound(target.status())) return target.status();
  if (IsGone(files, *directory, kind, number)) return std::optional<Target>();
  if (is_log && files.lost_log_directory) {
    return absl::DataLossError(
        lsm::Concat(directory->path(), "/", name,
                    ": the manifest says that this log holds writes, and is in the directory \"",
                    lsm::Escape(*files.lost_log_directory),
                    "\", which cannot be opened (--logs DIR says where the store's logs are now)"));
  }
  return absl::DataLossError(lsm::Concat(
      directory->path(), "/", name,
      is_log ? ": the manifest says that this log holds writes (are the store's logs elsewhere? "
               "--logs DIR)"
             : ": the manifest names this table",
      ", but there is no such file"));
}

absl::Status MovedOn(const lsm::Directory& directory, const std::string& name) {
  return absl::UnavailableError(lsm::Concat(directory.path(), "/", name, kMovedOn));
}

}  // namespace

absl::Status StateProblem(const StoreFiles& files) {
  if (!absl::IsNotFound(files.manifest_status)) return files.manifest_status;
  for (const std::string& name : files.names) {
    const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
    if (!parsed || (parsed->kind != lsm::FileKind::kTable && parsed->kind != lsm::FileKind::kLog))
      continue;
    // Other products have files with such names.
    TRELLIS_ASSIGN_OR_RETURN(const Target target, FindTargetIn(files.directory, name));
    if (target.kind == TargetKind::kForeign) continue;
    return absl::DataLossError(
        lsm::Concat("there is no CURRENT file, but there is ", name, ", which belongs to a store"));
  }
  return absl::NotFoundError("not a store: there is no CURRENT file");
}

Mark MarkOf(lsm::Directory& directory) {
  constexpr uint64_t kCurrentBytesMax = 4096;
  const std::string current_name(lsm::kCurrentFileName);
  const absl::StatusOr<std::string> bytes =
      lsm::ReadWholeFile(directory, current_name, kCurrentBytesMax);
  if (!bytes.ok()) return {};
  const absl::StatusOr<lsm::Current> current = lsm::Current::Decode(*bytes, current_name);
  if (!current.ok()) return {*bytes, 0};
  const absl::StatusOr<lsm::FileInfo> info =
      directory.Stat(lsm::ManifestFileName(current->manifest_number));
  return {*bytes, info.ok() ? info->size_bytes : 0};
}

const lsm::ManifestState* ManifestNow::Read(lsm::Directory& directory) {
  // Taken before the manifest is read: if the manifest grows in between, the next mark differs.
  Mark mark = MarkOf(directory);
  if (mark.current.empty()) return nullptr;
  if (mark != mark_) {
    contents_ = lsm::ReadManifest(directory);
    mark_ = std::move(mark);
  }
  return contents_.ok() ? &contents_->state : nullptr;
}

bool IsGone(const StoreFiles& files, lsm::Directory& directory, lsm::FileKind kind,
            uint64_t number) {
  const bool is_log = kind == lsm::FileKind::kLog;
  const std::string name = is_log ? lsm::LogFileName(number) : lsm::TableFileName(number);
  if (files.missing.contains(name)) return false;
  if (!absl::IsNotFound(directory.Stat(name).status())) return false;
  const lsm::ManifestState* const now = files.manifest_now->Read(*files.now);
  if (now == nullptr) return false;
  if (is_log) return number < now->oldest_log;
  return std::none_of(now->levels.begin(), now->levels.end(),
                      [number](const auto& level) { return level.contains(number); });
}

std::vector<PlacedTable> TablesInOrder(const lsm::ManifestState& state) {
  std::vector<PlacedTable> tables;
  for (size_t level = 0; level < state.levels.size(); ++level) {
    const size_t begin = tables.size();
    for (const auto& [number, meta] : state.levels[level]) {
      tables.push_back({static_cast<int>(level), meta, lsm::TableFileName(number)});
    }
    std::sort(tables.begin() + static_cast<ptrdiff_t>(begin), tables.end(),
              [level](const PlacedTable& a, const PlacedTable& b) {
                if (level == 0) return a.meta.number > b.meta.number;
                if (a.meta.run != b.meta.run) return a.meta.run > b.meta.run;
                return a.meta.span().begin < b.meta.span().begin;
              });
  }
  std::stable_sort(tables.begin(), tables.end(), [](const PlacedTable& a, const PlacedTable& b) {
    return a.meta.keyspace < b.meta.keyspace;
  });
  return tables;
}

std::vector<PlacedTable> TablesOfShown(const StoreFiles& files) {
  std::vector<PlacedTable> tables = TablesInOrder(files.manifest.state);
  std::erase_if(tables,
                [&](const PlacedTable& table) { return !files.keyspaces->MayBeIn(table.meta); });
  return tables;
}

absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> OpenPlaced(const StoreFiles& files,
                                                                 const PlacedTable& table) {
  const lsm::ManifestState& state = files.manifest.state;
  lsm::TableContext context;
  context.digest_seed = state.digest_seed;
  TRELLIS_ASSIGN_OR_RETURN(
      std::shared_ptr<const lsm::OpenTable> open,
      lsm::OpenTableFile(*files.directory, table.meta, lsm::ReadMode::kBuffered, context));
  TRELLIS_RETURN_IF_ERROR(lsm::CheckPlace(*open->table, {table.level, state.last_sequence}));
  return open;
}

absl::StatusOr<std::optional<Target>> FindTable(const StoreFiles& files, uint64_t number) {
  return FindPart(files, files.directory, lsm::FileKind::kTable, number);
}

absl::StatusOr<std::optional<Target>> FindLog(const StoreFiles& files, uint64_t number) {
  return FindPart(files, files.log_directory, lsm::FileKind::kLog, number);
}

std::vector<Target> TableTargets(const StoreFiles& files,
                                 const std::function<bool(const PlacedTable&)>& is_wanted,
                                 std::vector<absl::Status>* problems) {
  std::vector<Target> targets;
  if (files.has_state()) {
    for (const PlacedTable& table : TablesInOrder(files.manifest.state)) {
      if (!is_wanted(table)) continue;
      absl::StatusOr<std::optional<Target>> target = FindTable(files, table.meta.number);
      if (!target.ok()) {
        problems->push_back(target.status());
      } else if (*target) {
        targets.push_back(**std::move(target));
      } else {
        problems->push_back(MovedOn(*files.directory, table.name));
      }
    }
    return targets;
  }
  for (const std::string& name : files.names) {
    absl::StatusOr<Target> target = FindTargetIn(files.directory, name);
    if (!target.ok()) {
      problems->push_back(target.status());
    } else if (target->kind == TargetKind::kTable) {
      targets.push_back(std::move(target).value());
    }
  }
  return targets;
}

std::set<uint64_t> LogNumbers(const StoreFiles& files) {
  std::set<uint64_t> numbers(files.logs.begin(), files.logs.end());
  if (files.has_state()) numbers.merge(files.manifest.state.NeededLogs());
  return numbers;
}

std::vector<Target> LogTargets(const StoreFiles& files, std::vector<absl::Status>* problems) {
  std::vector<Target> targets;
  for (const uint64_t number : LogNumbers(files)) {
    absl::StatusOr<std::optional<Target>> target;
    if (files.has_state()) {
      target = FindLog(files, number);
    } else {
      target = FindTargetIn(files.log_directory, lsm::LogFileName(number));
    }
    if (!target.ok()) {
      problems->push_back(target.status());
    } else if (*target) {
      targets.push_back(**std::move(target));
    } else if (number >= files.manifest.state.oldest_log) {  // the others are obsolete
      problems->push_back(MovedOn(*files.log_directory, lsm::LogFileName(number)));
    }
  }
  return targets;
}

}  // namespace tools
