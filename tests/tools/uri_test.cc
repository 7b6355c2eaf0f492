// Arguments that are URIs of stores in Ceph.  A file system in memory plays the cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/version_edit.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/run.h"
#include "tools/sstdump/store/uri_file_system.h"
#include "tools/sstdump/world.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class UriTest : public testing::Test {
 protected:
  UriTest() { MakeTinyStore(cluster_, "inside"); }

  // Runs sstdump on a machine without files, beside the cluster.
  RunResult RunBesideCluster(const std::vector<std::string>& arguments) {
    return RunIn(machine_, {}, [&](const World& plain) {
      World world = plain;
      world.open_rados = [&](const std::string& uri) -> absl::StatusOr<Place> {
        constexpr std::string_view kPool = "rados://pool/";
        if (!uri.starts_with(kPool)) return absl::NotFoundError(uri + ": no such pool");
        return Place{&pool_, uri.substr(kPool.size())};
      };
      return RunSstdump(arguments, world);
    });
  }
  static std::string WithUris(std::string text) {
    const std::string uri = "rados://pool/inside";
    for (size_t at = 0; (at = text.find("inside", at)) != text.npos; at += uri.size())
      text.replace(at, 6, uri);
    return text;
  }
  void ExpectTheSame(const std::string& path, std::vector<std::string> arguments) {
    const RunResult direct = tools::Run(cluster_, arguments);
    for (std::string& argument : arguments) argument = WithUris(argument);
    const RunResult by_uri = RunBesideCluster(arguments);
    EXPECT_EQ(by_uri.code, direct.code) << path << ": " << arguments.front();
    EXPECT_EQ(by_uri.out, WithUris(direct.out)) << path << ": " << arguments.front();
    EXPECT_EQ(by_uri.err, WithUris(direct.err)) << path << ": " << arguments.front();
  }

  lsm::MemoryFileSystem machine_, cluster_;
  UriFileSystem pool_{&cluster_, "rados://pool/"};
};

TEST_F(UriTest, EveryCommandTakesThem) {
  for (const std::string path : {"inside", "inside/000002.table", "inside/000003.log",
                                 "inside/000001.manifest", "inside/CURRENT"}) {
    for (std::vector<std::string> arguments : CommandsOn(path)) {
      ExpectTheSame(path, arguments);
      arguments.insert(arguments.begin() + 1, "--json");
      ExpectTheSame(path, arguments);
    }
  }
}

TEST_F(UriTest, ProblemsNameThem) {
  ASSERT_TRUE(cluster_.OpenDirectory("inside", false).value()->Remove("000002.table").ok());
  for (const std::string path : {"inside", "inside/none", "inside/000002.table", "inside/none/x"})
    for (const std::vector<std::string>& arguments : CommandsOn(path))
      ExpectTheSame(path, arguments);
  const RunResult verify = RunBesideCluster({"verify", "rados://pool/inside"});
  EXPECT_EQ(verify.code, 1);
  EXPECT_THAT(verify.out, HasSubstr("rados://pool/inside/000002.table"));
  const RunResult other = RunBesideCluster({"info", "rados://other/inside"});
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(other.err, HasSubstr("rados://other/inside: no such pool"));
}

// A directory of logs that the manifest names is where the store is; --logs may be elsewhere.
TEST_F(UriTest, LogsMayBeElsewhere) {
  auto store = cluster_.OpenDirectory("apart", true).value();
  auto logs = cluster_.OpenDirectory("logs", true).value();
  MakeLog(*logs, 3, {{{"d", 4, false, "four"}}}, LogState::kClosed);
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 4;
  snapshot.last_sequence = 3;
  snapshot.oldest_log = 3;
  snapshot.synced_logs = {3};
  snapshot.log_directory = "logs";
  MakeManifest(*store, snapshot);
  const auto d = HasSubstr("four");
  EXPECT_THAT(RunBesideCluster({"get", "rados://pool/apart", "d"}).out, d);
  EXPECT_THAT(RunBesideCluster({"dump", "--logs", "rados://pool/logs", "rados://pool/apart"}).out,
              d);
  MakeLog(*machine_.OpenDirectory("here", true).value(), 3, {{{"d", 4, false, "here"}}},
          LogState::kClosed);
  EXPECT_THAT(RunBesideCluster({"dump", "--logs", "here", "rados://pool/apart"}).out,
              AllOf(HasSubstr("here"), Not(d)));
}

TEST_F(UriTest, NeedCeph) {
  for (const std::vector<std::string>& arguments : CommandsOn("rados://pool/inside")) {
    const RunResult result = tools::Run(cluster_, arguments);
    EXPECT_EQ(result.code, 3) << arguments.front();
    EXPECT_THAT(result.out + result.err,
                AllOf(HasSubstr("rados://pool/inside"), HasSubstr("TRELLIS_BUILD_RADOS")));
  }
}

}  // namespace
}  // namespace tools
