// The program on a store in a Ceph cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/rados.h"
#include "tests/lsm/rados/test_cluster.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/sample_store.h"

namespace tools {
namespace {

using testing::HasSubstr;
using testing_support::ProgramResult;
using testing_support::TestCluster;

class RadosStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(cluster_.status());
    ASSERT_OK_AND_ASSIGN(files_, lsm::OpenRados(TestCluster::Options()));
    MakeSampleStore(*files_, name_);
    MakeSampleStore(lsm::PosixFileSystem(), scratch_.path_of(name_));
  }

  static ProgramResult Sstdump(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SSTDUMP_PROGRAM);
    return testing_support::RunProgram(arguments);
  }

  const std::string name_ = TestCluster::UniqueName();
  const std::string pool_ = std::string("rados://") + testing_support::kTestPool + "/";
  TestCluster cluster_;
  testing_support::ScratchDir scratch_;
  std::unique_ptr<lsm::FileSystem> files_;
};

// The answers are those for the same store in a directory.
TEST_F(RadosStoreTest, EveryCommandReadsIt) {
  for (const std::string& part : {std::string(), std::string("/000002.table")}) {
    for (std::vector<std::string> arguments : CommandsOn(scratch_.path_of(name_) + part)) {
      const ProgramResult local = Sstdump(arguments);
      for (std::string& argument : arguments) {
        if (argument.starts_with(scratch_.path())) argument = pool_ + name_ + part;
      }
      const ProgramResult remote = Sstdump(arguments);
      const auto in_pool = [&](std::string text) {
        const std::string path = scratch_.path_of(name_), uri = pool_ + name_;
        for (size_t at = 0; (at = text.find(path, at)) != text.npos; at += uri.size())
          text.replace(at, path.size(), uri);
        return text;
      };
      EXPECT_EQ(remote.code, local.code) << arguments.front();
      EXPECT_EQ(remote.out, in_pool(local.out)) << arguments.front();
      EXPECT_EQ(remote.err, in_pool(local.err)) << arguments.front();
    }
  }
}

TEST_F(RadosStoreTest, TheUriNamesTheUser) {
  const auto uri_of = [this](const std::string& user) {
    return "rados://" + user + "@" + testing_support::kTestPool + "/" + name_;
  };
  const ProgramResult info = Sstdump({"info", uri_of(testing_support::kTestUser)});
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr(uri_of(testing_support::kTestUser)));
  const ProgramResult stranger = Sstdump({"info", uri_of("stranger")});
  EXPECT_EQ(stranger.code, 3);
  EXPECT_THAT(stranger.err, HasSubstr("stranger"));
}

TEST_F(RadosStoreTest, ProblemsNameTheUri) {
  const ProgramResult none = Sstdump({"info", pool_ + name_ + "-none"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr(pool_ + name_ + "-none: no such directory"));
  const ProgramResult no_pool = Sstdump({"info", "rados://no-such-pool/store"});
  EXPECT_EQ(no_pool.code, 3);
  EXPECT_THAT(no_pool.err, HasSubstr("no-such-pool: no such pool"));
  const ProgramResult no_store = Sstdump({"info", "rados://" + name_});
  EXPECT_EQ(no_store.code, 3);
  EXPECT_THAT(no_store.err, HasSubstr("names no store"));
}

}  // namespace
}  // namespace tools
