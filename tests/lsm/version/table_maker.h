// Tables by hand, for tests of trees, versions and compactions.
#ifndef TRELLIS_TESTS_LSM_VERSION_TABLE_MAKER_H_
#define TRELLIS_TESTS_LSM_VERSION_TABLE_MAKER_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/filter_policy.h"
#include "lsm/base/counters.h"
#include "lsm/base/internal_key.h"
#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/table_builder.h"
#include "lsm/version/open_table.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/support/status_matchers.h"

namespace lsm {

struct Entry {
  std::string user_key;
  Sequence sequence = 0;
  EntryKind kind = EntryKind::kPut;
  std::string value = {};
  bool operator==(const Entry&) const = default;
};

inline Entry PutOf(std::string key, Sequence sequence, std::string value = "v") {
  return {std::move(key), sequence, EntryKind::kPut, std::move(value)};
}
inline Entry DeleteOf(std::string key, Sequence sequence) {
  return {std::move(key), sequence, EntryKind::kDelete, ""};
}
inline std::string InternalKey(const Entry& entry) {
  std::string key;
  AppendInternalKey(&key, entry.user_key, entry.sequence, entry.kind);
  return key;
}
inline void PrintTo(const Entry& entry, std::ostream* out) {
  *out << entry.user_key << "@" << entry.sequence
       << (entry.kind == EntryKind::kPut ? "=" + entry.value.substr(0, 20) : " deleted");
}

// Must outlive the tables that it made.
class TableMaker {
 public:
  static constexpr uint64_t kDigestSeed = 42;

  TableMaker() : directory(files.OpenDirectory("/tables", /*create=*/true).value()) {
    context.block_cache = &cache;
    context.counters = &counters;
    context.digest_seed = kDigestSeed;
  }

  // Makes a table of entries in the order of internal keys.  `file_bytes`: the size that the picker
  // sees; 0: the true one.
  std::shared_ptr<const OpenTable> Make(uint64_t number, const std::vector<Entry>& entries,
                                        uint64_t file_bytes = 0, uint32_t run = 0,
                                        const RangeMap& ranges = {}) {
    TableMeta meta = WriteFile(number, entries, ranges);
    meta.run = run;
    absl::StatusOr<std::shared_ptr<const OpenTable>> table =
        OpenTableFile(*directory, meta, ReadMode::kBuffered, context);
    EXPECT_OK(table);
    if (!table.ok() || file_bytes == 0) return table.value_or(nullptr);
    meta.file_bytes = file_bytes;
    TableContext with_id = context;
    with_id.file_id = meta.file_id;
    auto file = directory->OpenRead(TableFileName(number), ReadMode::kBuffered);
    return std::make_shared<const OpenTable>(
        OpenTable{meta, Table::Open(*std::move(file), with_id).value()});
  }

  TableMeta WriteFile(uint64_t number, const std::vector<Entry>& entries,
                      const RangeMap& ranges = {}) {
    TableBuildOptions build;
    build.block_bytes = 256;
    build.compression = Compression::kNone;
    build.filter_policy = filter_policy;
    if (filter_policy == nullptr && !filter_kind.empty())
      build.filter_policy = bloom::PolicyFromName(filter_kind).value();
    build.target_fpp = target_fpp;
    build.filter_reason = filter_reason;
    build.partition_bytes = partition_bytes;
    build.digest_seed = kDigestSeed;
    build.file_id = 1000 + number;
    build.keyspace = keyspace;
    build.oldest_tombstone = oldest_tombstone;
    TableBuilder builder(build, directory->CreateExclusive(TableFileName(number)).value());
    for (const Entry& entry : entries) builder.Add(InternalKey(entry), entry.value);
    if (std::any_of(entries.begin(), entries.end(),
                    [](const Entry& entry) { return entry.kind == EntryKind::kDelete; }))
      builder.AddCoveredBytes(covered_bytes);
    AddRanges(ranges, &builder);
    absl::StatusOr<TableSummary> summary = builder.Finish();
    EXPECT_OK(summary);
    return {number,
            summary->file_id,
            summary->file_bytes,
            summary->properties.entries,
            summary->smallest,
            summary->largest,
            /*run=*/0,
            summary->properties.dead_entries(),
            summary->ranges,
            keyspace,
            summary->properties.write_times()};
  }

  MemoryFileSystem files;
  std::unique_ptr<Directory> directory;
  Counters counters;
  BlockCache cache{1 << 20};
  TableContext context;
  std::string filter_kind = "blocked";  // empty: none
  // If set, replaces the policy of `filter_kind`.
  std::shared_ptr<const bloom::FilterPolicy> filter_policy;
  double target_fpp = 0.01;
  std::string filter_reason;
  // They apply to the tables that are made next.
  size_t partition_bytes = 0;              // 0: no partitions
  uint64_t covered_bytes = 0;              // by their tombstones
  uint64_t oldest_tombstone = 0;           // if they have any
  KeyspaceId keyspace = kDefaultKeyspace;  // whose tree they are for
};

// The entries of an iterator over internal keys.
inline std::vector<Entry> EntriesOf(Iterator& iterator) {
  std::vector<Entry> entries;
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    ParsedKey key;
    EXPECT_TRUE(ParseInternalKey(iterator.key(), &key));
    entries.push_back(
        {std::string(key.user_key), key.sequence, key.kind, std::string(iterator.value())});
  }
  EXPECT_OK(iterator.status());
  return entries;
}

inline std::vector<Entry> EntriesIn(const OpenTables& tables) {
  std::vector<Entry> all;
  for (const auto& table : tables) {
    const std::vector<Entry> some = EntriesOf(*table->table->NewIterator({}));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

inline std::vector<uint64_t> NumbersOf(const OpenTables& tables) {
  std::vector<uint64_t> numbers;
  for (const auto& table : tables) numbers.push_back(table->meta.number);
  return numbers;
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_VERSION_TABLE_MAKER_H_
