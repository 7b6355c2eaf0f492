#include "lsm/compaction/flush_run.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/version/keyspace_records.h"
#include "tests/lsm/compaction/job_world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class FlushRunTest : public testing::Test, protected JobWorld {
 protected:
  FlushRunTest() : JobWorld(1, 1, "blocked") {}

  static std::vector<Entry> ManyEntries() {
    std::vector<Entry> entries;
    for (int i = 0; i < 2'000; ++i) entries.push_back(PutOf(Concat(1'000'000 + i), 1));
    return entries;
  }
  std::shared_ptr<const OpenTable> TableOf(KeyspaceId keyspace, const std::vector<Entry>& entries) {
    maker_.keyspace = keyspace;
    return maker_.Make(next_number_++, entries);
  }
  // The table that a flush of the same keys to this keyspace makes.
  std::shared_ptr<const OpenTable> Flush(KeyspaceId keyspace) {
    const auto source = TableOf(keyspace, ManyEntries());
    std::vector<FlushRun::List> lists;
    lists.push_back({keyspace, [&] { return source->table->NewIterator({}); }, {}, 2'000});
    FlushRun::Calls calls;
    calls.version_now = [this] { return version_; };
    FlushRun run(&context_, {}, std::move(calls));
    VersionEdit edit;
    JobResult result;
    EXPECT_OK(run.Run(lists, /*last_sequence=*/1, {}, /*age_nanos=*/0, &edit, &result));
    return result.outputs.at(0);
  }

  // Keyspaces 5 and 7 have trees of their own.
  static KeyspaceRecords Records() {
    KeyspaceRecords records;
    EXPECT_EQ(records.Advance(8), "");
    for (const KeyspaceId id : {5u, 7u})
      EXPECT_EQ(records.Put({.id = id, .options = {}, .name = std::to_string(id)}), "");
    return records;
  }

  std::shared_ptr<const Version> version_ = Version::Create({}, Records()).value();
};

TEST_F(FlushRunTest, TablesArePartitionedForTheFiltersOfAllTrees) {
  options_.block_cache_bytes = 4 << 10;
  EXPECT_FALSE(Flush(5)->table->is_partitioned());
  std::array<OpenTables, kLevels> levels;
  levels[1] = {TableOf(0, ManyEntries()), TableOf(7, ManyEntries())};
  version_ = Version::Create(std::move(levels), Records()).value();
  const auto flushed = Flush(5);
  EXPECT_TRUE(flushed->table->is_partitioned());
  EXPECT_EQ(flushed->meta.keyspace, 5u);
}

}  // namespace
}  // namespace lsm
