// A store with keyspaces refuses some calls so far (lsm/design/keyspaces.md).  Copies work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/limits.h"
#include "lsm/memory_file_system.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

class KeyspacesRefusalsTest : public KeyspacesTest {};

// An opening could not say what has expired.
TEST_F(KeyspacesRefusalsTest, ALimitWithoutTimesIsRefused) {
  for (const KeyspaceId id : {kDefaultKeyspace, kOtherKeyspaceMin}) {
    world_.files = std::make_unique<MemoryFileSystem>();
    options_ = world_.SmallOptions();
    ASSERT_NO_FATAL_FAILURE(Open());
    OpenKeyspace("a");
    WriteBatch batch;
    EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kOptions, id, "", {.expire_after = 1}});
    ASSERT_OK(db_->Write(batch));
    db_ = nullptr;
    for (const OpenMode mode : {OpenMode::kMustExist, OpenMode::kReadOnly}) {
      options_.mode = mode;
      EXPECT_THAT(OpenStatus(),
                  StatusIs(absl::StatusCode::kUnimplemented,
                           HasSubstr(Concat(kStorePath, ": the keyspace \"",
                                            id == kDefaultKeyspace ? "default" : "a",
                                            "\" has KeyspaceOptions::expire_after"))));
    }
  }
}

// A copy has all keyspaces, with their keys and options.
TEST_F(KeyspacesRefusalsTest, CopiesHaveThem) {
  const KeyspaceOptions options = {.target_fpp = 0.25, .compression = Compression::kNone};
  Open();
  Keyspace a = OpenKeyspace("a", options);
  ASSERT_OK(a.Put("key", "of a"));
  ASSERT_OK(OpenKeyspace("b").Put("key", "of b"));
  OpenKeyspace("empty");
  Put("key", "of default");
  ASSERT_OK(db_->Checkpoint("/checkpoint"));
  ASSERT_OK(db_->Backup("/backup"));
  ASSERT_OK(a.Put("other", "of a"));
  ASSERT_OK_AND_ASSIGN(const CopyReport second, db_->Backup("/second", "/backup"));
  EXPECT_EQ(second.tables_linked, 1u) << "a flush has replaced the common tree's small table";
  EXPECT_EQ(second.tables_copied, 1u);
  ASSERT_OK(a.Put("in a log", "of a"));
  ASSERT_OK(db_->Close());
  const Options to = world_.SmallOptions();
  ASSERT_OK(DB::Restore("/second", "/restored", to));
  ASSERT_OK(DB::Restore(kStorePath, "/moved", to));
  for (const std::string path : {"/checkpoint", "/backup", "/second", "/restored", "/moved"}) {
    SCOPED_TRACE(path);
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(path, to));
    EXPECT_THAT(List(), ElementsAre("a", "b", "default", "empty"));
    const bool is_later = path != "/checkpoint" && path != "/backup";
    EXPECT_EQ(Scan(OpenKeyspace("a")), Concat(path == "/moved" ? "in a log=of a " : "", "key=of a",
                                              is_later ? " other=of a" : ""));
    EXPECT_EQ(Scan(OpenKeyspace("b")), "key=of b");
    EXPECT_EQ(Scan(), "key=of default");
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
    EXPECT_THAT(report.problems, testing::IsEmpty());
    ASSERT_OK(db_->Close());
    Options reading = to;
    reading.mode = OpenMode::kReadOnly;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(path, reading));
    EXPECT_OK(db_->OpenKeyspace("a", options));
  }
}

}  // namespace
}  // namespace lsm
