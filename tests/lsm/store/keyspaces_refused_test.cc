// A log that names a keyspace that was never created.  Every reader of the entry refuses the log,
// and loses nothing.  A repair saves the entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

class KeyspacesRefusedTest : public StoreTest {
 protected:
  // Writes "a", then an entry of keyspace 7 whose record begins at refused_at_, then "c".
  void WriteOne() {
    Open();
    ASSERT_OK(db_->Put("a", "1", {.sync = true}));
    log_ = world_.FilesOf(FileKind::kLog).back();
    refused_at_ = world_.files->FileBytes(log_).size();
    WriteBatch batch;
    batch.Put("b", "2");
    EncodedBatch::Put(&batch, 7, "b", "of keyspace 7");
    ASSERT_OK(db_->Write(batch, {.sync = true}));
    ASSERT_OK(db_->Put("c", "3", {.sync = true}));
    EXPECT_EQ(Get("b"), "2");
  }
  auto IsRefusal(std::string_view what = "a key of keyspace 7, which was not created") const {
    return AllOf(HasSubstr(Concat(log_, ": record at offset ", refused_at_)),
                 HasSubstr(std::string(what)));
  }
  // Expects that openings in these modes refuse the record, and change no file.
  void ExpectRefused(const std::vector<OpenMode>& modes,
                     const testing::Matcher<absl::Status>& refused) {
    const std::map<std::string, std::string> before = world_.FilesIn();
    for (const OpenMode mode : modes) {
      options_.mode = mode;
      EXPECT_THAT(OpenStatus(), refused);
      EXPECT_EQ(world_.FilesIn(), before);
    }
  }

  std::string log_;
  size_t refused_at_ = 0;
};

TEST_F(KeyspacesRefusedTest, OpeningsFailAndChangeNothing) {
  WriteOne();
  db_ = nullptr;
  ExpectRefused({OpenMode::kMustExist, OpenMode::kReadOnly, OpenMode::kFollow},
                StatusIs(absl::StatusCode::kDataLoss, IsRefusal()));
}

TEST_F(KeyspacesRefusedTest, VerifyFindsThem) {
  WriteOne();
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, Contains(IsRefusal()));
}

TEST_F(KeyspacesRefusedTest, RepairSavesThem) {
  WriteOne();
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, options_));
  EXPECT_EQ(report.entries_saved, 4u);
  EXPECT_THAT(report.left_out, ElementsAre(HasSubstr("keyspace 7 has no name in the files")));
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Scan(), "a=1 b=2 c=3");
  ASSERT_OK_AND_ASSIGN(const Keyspace keyspace, db_->OpenKeyspace("keyspace-7"));
  EXPECT_EQ(ScanOf(*keyspace.NewIterator()), "b=of keyspace 7");
}

// Changes of keyspaces that no release writes.  Each is the second record of a log that has created
// keyspace 2 with the name "a".
TEST_F(KeyspacesRefusedTest, HostileChangesAreRefused) {
  using Kind = KeyspaceChange::Kind;
  const absl::StatusCode kDamage = absl::StatusCode::kDataLoss;
  const absl::StatusCode kUnknown = absl::StatusCode::kUnimplemented;
  struct Case {
    KeyspaceChange change;
    absl::StatusCode code;
    const char* what;
  };
  const Case cases[] = {
      {{Kind::kCreated, 3, std::string(256, 'n'), {}}, kDamage, "the name of a keyspace"},
      {{Kind::kCreated, 3, "", {}}, kDamage, "the name of a keyspace"},
      {{Kind::kCreated, 3, "a", {}}, kDamage, "the name \"a\", which keyspace 2 has"},
      {{Kind::kCreated, 2, "b", {}}, kDamage, "but it has the name \"a\""},
      {{Kind::kCreated, 3, "default", {}},
       kDamage,
       "keyspace 3 is added with the name \"default\""},
      {{Kind::kCreated, 0, "default", {}}, kDamage, "a change of a keyspace has an invalid id"},
      {{Kind::kCreated, 1, "c", {}}, kDamage, "a change of a keyspace has an invalid id"},
      {{Kind::kDropped, 0, "", {}}, kDamage, "a change of a keyspace has an invalid id"},
      {{Kind::kDropped, 3, "", {}}, kDamage, "a change of keyspace 3, which was not created"},
      {{Kind::kOptions, UINT32_MAX, "", {}}, kDamage, "a change of keyspace 4294967295"},
      {{Kind::kOptions, 2, "", {.filter_kind = "from the future"}},
       kUnknown,
       "\"from the future\""},
      {{Kind::kOptions, 2, "", {.target_fpp = 0.51}}, kDamage, "option 2 of a keyspace"},
      {{Kind::kOptions, 2, "", {.target_fpp = -0.1}}, kDamage, "option 2 of a keyspace"},
      {{Kind::kCreated, 3, "c", {.target_fpp = NAN}}, kDamage, "option 2 of a keyspace"},
      {{Kind::kOptions, 2, "", {.compression = static_cast<Compression>(7)}}, kDamage, "option 3"},
      {{Kind::kOptions, 2, "", {.compaction_style = static_cast<CompactionStyle>(3)}},
       kDamage,
       "option 4 of a keyspace"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    world_.files = std::make_unique<MemoryFileSystem>();
    options_ = world_.SmallOptions();
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_OK(db_->OpenKeyspace("a"));
    log_ = world_.FilesOf(FileKind::kLog).back();
    refused_at_ = world_.files->FileBytes(log_).size();
    WriteBatch batch;
    EncodedBatch::Change(&batch, each.change);
    const absl::Status written = db_->Write(batch);
    if (!written.ok()) {  // no batch can have what no log can have
      EXPECT_THAT(written, StatusIs(each.code, HasSubstr(each.what)));
      continue;
    }
    db_ = nullptr;
    ExpectRefused({OpenMode::kMustExist, OpenMode::kReadOnly, OpenMode::kFollow},
                  StatusIs(each.code, IsRefusal(each.what)));
  }
}

// The last id is like any other.  No keyspace can be created after it.
TEST_F(KeyspacesRefusedTest, TheLastIdIsUsable) {
  Open();
  WriteBatch batch;
  EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kCreated, UINT32_MAX, "last", {}});
  EncodedBatch::Put(&batch, UINT32_MAX, "key", "value");
  // The same creation again, as if the manifest already knew the keyspace.
  EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kCreated, UINT32_MAX, "last", {}});
  ASSERT_OK(db_->Write(batch));
  for (int pass = 0; pass < 3; ++pass) {
    ASSERT_NO_FATAL_FAILURE(Open());
    EXPECT_THAT(db_->OpenKeyspace("more"),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("ids of keyspaces")));
    ASSERT_OK_AND_ASSIGN(const Keyspace last, db_->OpenKeyspace("last"));
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, last.Get("key"));
    EXPECT_EQ(value, "value");
  }
}

}  // namespace
}  // namespace lsm
