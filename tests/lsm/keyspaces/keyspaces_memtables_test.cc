// Keyspaces whose writes are in sealed memtables, or are replayed into memtables by an opening.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/explanation.h"
#include "lsm/keyspace.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;

using KeyspacesMemtablesTest = KeyspacesTest;

// --- memtables ---

TEST_F(KeyspacesMemtablesTest, StatisticsCountTheBytesOfEach) {
  Open();
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
  const auto bytes_of = [](const Keyspace& keyspace) {
    return keyspace.GetStatistics().memtable_bytes;
  };
  EXPECT_EQ(bytes_of(a), 0u);
  for (int i = 0; i < 20; ++i) ASSERT_OK(a.Put(Concat("key", i), std::string(200, 'v')));
  ASSERT_OK(b.DeleteRange("a", std::nullopt));
  const uint64_t of_a = bytes_of(a);
  EXPECT_GE(of_a, 20 * 200u);
  EXPECT_LT(of_a, 20 * 300u + 2000);
  EXPECT_GT(bytes_of(b), 0u);
  EXPECT_LT(bytes_of(b), 2000u);
  Put("~", std::string(options_.write_buffer_bytes, '~'));
  Put("other", "active");  // the others are sealed
  EXPECT_EQ(bytes_of(a), of_a);
  ASSERT_OK(a.Put("key", std::string(200, 'v')));
  EXPECT_GE(bytes_of(a), of_a + 200);
  const Keyspace of_default = OpenKeyspace("default");
  EXPECT_GE(bytes_of(of_default), options_.write_buffer_bytes);
  EXPECT_LE(bytes_of(of_default) + bytes_of(a) + bytes_of(b), db_->GetStatistics().memtable_bytes);
  Flush();
  EXPECT_EQ(bytes_of(a), 0u);
  EXPECT_EQ(bytes_of(of_default), 0u);
  ASSERT_OK(a.Put("key", std::string(200, 'v')));
  db_ = nullptr;
  options_.mode = OpenMode::kReadOnly;
  Open();
  EXPECT_GE(bytes_of(OpenKeyspace("a")), 200u) << "replayed";
}

// After a switch, the active memtable has no list of a keyspace until a write to that keyspace.
TEST_F(KeyspacesMemtablesTest, SealedMemtablesAreRead) {
  Open();
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b"), c = OpenKeyspace("c");
  for (const char* const key : {"k1", "k2"}) {
    for (Keyspace keyspace : {a, b, c}) ASSERT_OK(keyspace.Put(key, "table"));
  }
  Flush();
  ASSERT_OK(a.Put("k2", "sealed"));
  ASSERT_OK(a.Put("k3", "sealed"));
  ASSERT_OK(b.DeleteRange("k1", "k2"));
  ASSERT_OK(c.Put("k3", "sealed"));
  Put("~", std::string(options_.write_buffer_bytes, '~'));
  Put("other", "active");
  const auto get = [](const Keyspace& keyspace) {
    std::string shown;
    for (const char* const key : {"k1", "k2", "k3"}) shown += Get(keyspace, key) + " ";
    const std::vector<std::string_view> keys = {"k1", "k2", "k3"};
    for (const auto& value : keyspace.MultiGet(keys)) {
      EXPECT_OK(value);
      shown += "+ " + value->value_or("absent") + " ";
    }
    return shown;
  };
  const auto expect = [&](const std::string& of_a, const std::string& of_c) {
    EXPECT_EQ(get(a), of_a);
    EXPECT_EQ(get(b), "absent table absent + absent + table + absent ");
    EXPECT_EQ(get(c), of_c);
    EXPECT_EQ(Scan(b), "k2=table");
    EXPECT_EQ(db_->GetStatistics().flushes, 1u);
  };
  ASSERT_OK_AND_ASSIGN(const Explanation explanation, a.Explain("k2"));
  EXPECT_EQ(explanation.answered_by, "sealed memtable 0");
  ASSERT_OK_AND_ASSIGN(const Explanation of_range, b.Explain("k1"));
  EXPECT_EQ(of_range.answered_by, "sealed memtable 0");
  expect("table sealed sealed + table + sealed + sealed ",
         "table table sealed + table + table + sealed ");
  EXPECT_EQ(Scan(a), "k1=table k2=sealed k3=sealed");
  EXPECT_EQ(Scan(c), "k1=table k2=table k3=sealed");
  // Writes then give the active memtable lists of its own.
  ASSERT_OK(a.DeleteRange("k1", "k3"));
  ASSERT_OK(c.Delete("k3"));
  ASSERT_OK(c.Put("k1", "active"));
  expect("absent absent sealed + absent + absent + sealed ",
         "active table absent + active + table + absent ");
  EXPECT_EQ(Scan(a), "k3=sealed");
  EXPECT_EQ(Scan(c), "k1=active k2=table");
  Flush();
  EXPECT_EQ(Scan(a), "k3=sealed");
  EXPECT_EQ(Scan(b), "k2=table");
  EXPECT_EQ(Scan(c), "k1=active k2=table");
}

// A flush writes the entries of all keyspaces.
TEST_F(KeyspacesMemtablesTest, ColdKeyspacesPinNoLog) {
  constexpr int kColdOnes = 20;
  options_.compression = Compression::kNone;
  Open();
  Keyspace hot = OpenKeyspace("hot");
  for (int i = 0; i < kColdOnes; ++i) ASSERT_OK(OpenKeyspace(Concat("cold", i)).Put("key", "cold"));
  const size_t buffer = options_.write_buffer_bytes;
  for (size_t written = 0; written < 5 * buffer; written += 1'000) {
    ASSERT_OK(hot.Put(Concat(written), std::string(1'000, 'v')));
    size_t log_bytes = 0;
    const std::vector<std::string> logs = world_.FilesOf(FileKind::kLog);
    for (const std::string& log : logs) log_bytes += world_.files->FileBytes(log).size();
    ASSERT_LE(logs.size(), 3u) << written;
    ASSERT_LE(log_bytes, 3 * buffer) << written;
  }
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_LE(world_.FilesOf(FileKind::kLog).size(), 2u);
  EXPECT_GE(db_->GetStatistics().flushes, 4u);
  for (int i = 0; i < kColdOnes; ++i) EXPECT_EQ(Scan(OpenKeyspace(Concat("cold", i))), "key=cold");
}

// --- replay ---

TEST_F(KeyspacesMemtablesTest, ABatchLargerThanAMemtableIsReplayed) {
  constexpr int kPuts = 2000;
  Open();
  std::vector<Keyspace> keyspaces = {OpenKeyspace("a"), OpenKeyspace("b")};
  WriteBatch batch;
  for (int i = 0; i < kPuts; ++i) {
    batch.Put(keyspaces[static_cast<size_t>(i % 2)], Concat(10'000 + i), std::string(100, 'v'));
  }
  ASSERT_OK(db_->Write(batch));
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_GT(db_->GetStatistics().flushes, 1u) << "the batch goes into several memtables";
  for (int i = 0; i < kPuts; ++i) {
    const std::string key = Concat(10'000 + i);
    EXPECT_EQ(Get(OpenKeyspace(i % 2 == 0 ? "a" : "b"), key), std::string(100, 'v')) << key;
    EXPECT_EQ(Get(OpenKeyspace(i % 2 == 0 ? "b" : "a"), key), "absent") << key;
  }
}

// The manifest does not know these options when the replay writes a table.
TEST_F(KeyspacesMemtablesTest, ReplaysWriteByOptionsOfTheLog) {
  Open();
  MakeOwnTrees({"a", "b", "c", "d"});
  Keyspace a = OpenKeyspace("a", {.compression = Compression::kNone}), b = OpenKeyspace("b");
  Flush();
  OpenKeyspace("b", {.compression = Compression::kNone});
  Keyspace c = OpenKeyspace("c", {.compression = Compression::kNone}), d = OpenKeyspace("d");
  for (Keyspace keyspace : {a, b, c, d}) ASSERT_OK(keyspace.Put("key", std::string(5000, 'v')));
  ASSERT_NO_FATAL_FAILURE(Open());
  for (const char* const name : {"a", "b", "c"})
    EXPECT_GT(OpenKeyspace(name).GetStatistics().table_bytes, 5000u) << name;
  EXPECT_LT(OpenKeyspace("d").GetStatistics().table_bytes, 2500u);
}

// The next keyspace gets the id of a creation that failed.
TEST_F(KeyspacesMemtablesTest, CreationsAfterAFailedOneSurviveReopening) {
  Open();
  ASSERT_OK(OpenKeyspace("before").Put("key", "before"));
  Fail(FileOperation::kAppend, ".log");
  EXPECT_FALSE(db_->OpenKeyspace("failed").ok());
  world_.files->SetFault(nullptr);
  ASSERT_OK(db_->Resume());
  const std::vector<std::string> names = {"later", "last"};
  for (const std::string& name : names) ASSERT_OK(OpenKeyspace(name).Put("key", name));
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);
    ASSERT_NO_FATAL_FAILURE(Open());
    EXPECT_THAT(List(), ElementsAre("before", "default", "last", "later"));
    for (const char* const name : {"before", "last", "later"})
      EXPECT_EQ(Scan(OpenKeyspace(name)), Concat("key=", name));
  }
}

}  // namespace
}  // namespace lsm
