#include "tests/reliability/keyspaces/strays.h"

#include <memory>
#include <string_view>

#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/status.h"
#include "lsm/store/open_tables.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version.h"

namespace reliability {
namespace {

using lsm::Concat;

std::string ProblemOfTable(const lsm::OpenTable& table, const lsm::Members& members) {
  const auto entries = table.table->NewIterator({});
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    const lsm::KeyspaceId id = lsm::KeyspaceOf(lsm::UserKeyOf(entries->key()));
    if (!members.Has(id))
      return Concat("table ", table.meta.number, " still has entries of keyspace ", id);
  }
  if (!entries->status().ok()) return entries->status().ToString();
  const lsm::RangeMap& ranges = table.table->ranges();
  for (size_t stretch = 0; stretch < ranges.size(); ++stretch) {
    const std::string_view begin = ranges.boundary(stretch);
    if (ranges.sequence_count(stretch) > 0 && !members.Has(lsm::KeyspaceOf(begin)))
      return Concat("table ", table.meta.number, " still has ranges of keyspace ",
                    lsm::KeyspaceOf(begin));
  }
  return "";
}

absl::StatusOr<std::string> Check(lsm::MemoryFileSystem& files, const std::string& path) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::Directory> directory,
                           files.OpenDirectory(path, /*create=*/false));
  TRELLIS_ASSIGN_OR_RETURN(const lsm::ManifestContents contents, lsm::ReadManifest(*directory));
  lsm::TableContext context;
  context.digest_seed = contents.state.digest_seed;
  TRELLIS_ASSIGN_OR_RETURN(
      auto levels, lsm::OpenTablesOf(files, *directory, contents.state, lsm::ReadMode::kBuffered,
                                     context, /*helpers=*/nullptr));
  TRELLIS_ASSIGN_OR_RETURN(const auto version,
                           lsm::Version::Create(std::move(levels), contents.state.keyspaces));
  const lsm::Tree* const common = version->TreeOf(lsm::kCommonTree);
  std::string problem;
  for (int level = 0; common != nullptr && problem.empty() && level < lsm::kLevels; ++level) {
    for (const auto& table : common->level(level)) {
      if (problem.empty()) problem = ProblemOfTable(*table, *version->members());
    }
  }
  return problem;
}

}  // namespace

std::string ProblemOfStrays(lsm::MemoryFileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> problem = Check(files, path);
  return problem.ok() ? *problem : Concat("reading the tables: ", problem.status().ToString());
}

}  // namespace reliability
