// A log that names a keyspace which was never created.  What meets its entry refuses, and loses
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::Contains;
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
  std::map<std::string, std::string> AllFiles() {
    std::map<std::string, std::string> files;
    const auto directory = *world_.files->OpenDirectory(kStorePath, /*create=*/false);
    const std::vector<std::string> names = directory->List().value();
    for (const std::string& name : names)
      files[name] = world_.files->FileBytes(Concat(kStorePath, "/", name));
    return files;
  }
  auto IsRefusal() const {
    return AllOf(HasSubstr(Concat(log_, ": record at offset ", refused_at_)),
                 HasSubstr("a key of keyspace 7, which was not created"));
  }

  std::string log_;
  size_t refused_at_ = 0;
};

TEST_F(KeyspacesRefusedTest, OpeningsFailAndChangeNothing) {
  WriteOne();
  db_ = nullptr;
  const std::map<std::string, std::string> before = AllFiles();
  for (const OpenMode mode : {OpenMode::kMustExist, OpenMode::kReadOnly, OpenMode::kFollow}) {
    options_.mode = mode;
    EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss, IsRefusal()));
    EXPECT_EQ(AllFiles(), before);
  }
}

TEST_F(KeyspacesRefusedTest, VerifyFindsThem) {
  WriteOne();
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, Contains(IsRefusal()));
}

TEST_F(KeyspacesRefusedTest, RepairKeepsTheLogAndSaysSo) {
  WriteOne();
  db_ = nullptr;
  const std::string bytes = world_.files->FileBytes(log_);
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, options_));
  EXPECT_EQ(report.entries_saved, 2u);
  EXPECT_THAT(report.left_out, Contains(IsRefusal()));
  EXPECT_EQ(world_.files->FileBytes(log_ + ".damaged"), bytes);
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "absent");
  EXPECT_EQ(Get("c"), "3");
}

}  // namespace
}  // namespace lsm
