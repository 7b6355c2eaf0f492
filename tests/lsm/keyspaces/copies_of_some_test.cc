// Checkpoints and backups of some keyspaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/reports.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing_support::StatusIs;

// A store with "own" and "large" in trees of their own, and "small", "tiny" and "empty" in the
// common one.
class CopiesOfSomeTest : public KeyspacesTest {
 protected:
  CopiesOfSomeTest() {
    options_.compression = Compression::kNone;
    MakeStore();
  }
  void MakeStore() {
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"own", "large"}));
    for (const char* name : {"own", "large", "small", "tiny"}) {
      Keyspace keyspace = OpenKeyspace(name);
      for (int i = 0; i < 30; ++i)
        ASSERT_OK(keyspace.Put(Concat("key", 10 + i), std::string(100, name[0])));
      ASSERT_OK(keyspace.DeleteRange("key11", "key3"));
    }
    OpenKeyspace("empty");
    Put("key", "of default");
    Flush();
    const ManifestState state = StateOnDisk();
    for (const auto& [id, record] : state.keyspaces.all()) ids_[record.name] = id;
  }
  std::vector<Keyspace> Handles(const std::vector<std::string>& names) {
    std::vector<Keyspace> handles;
    for (const std::string& name : names) handles.push_back(OpenKeyspace(name));
    return handles;
  }
  static std::string ContentOf(const std::string& name) {
    if (name == "default") return "key=of default";
    if (name == "empty") return "";
    std::string content = Concat("key10=", std::string(100, name[0]));
    for (int i = 30; i < 40; ++i) content += Concat(" key", i, "=", std::string(100, name[0]));
    return content;
  }
  // Restores the copy in the place of the store, and expects these keyspaces alone.
  void Become(const std::string& copy, const std::vector<std::string>& names) {
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, options_));
    ASSERT_OK(DB::Restore(copy, kStorePath, options_));
    ASSERT_NO_FATAL_FAILURE(Open());
    ExpectOnly(names);
  }
  void ExpectOnly(std::vector<std::string> names) {
    const bool has_default = std::find(names.begin(), names.end(), "default") != names.end();
    for (const std::string& name : names) EXPECT_EQ(Scan(OpenKeyspace(name)), ContentOf(name));
    if (!has_default) {
      names.push_back("default");
      EXPECT_EQ(Scan(), "");
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(List(), names);
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
    EXPECT_THAT(report.problems, IsEmpty());
  }

  std::map<std::string, KeyspaceId> ids_;
  int copies_ = 0;
};

TEST_F(CopiesOfSomeTest, HaveTheChosenTrees) {
  ASSERT_OK(db_->Checkpoint("/own", nullptr, Handles({"own"})));
  ASSERT_OK(db_->Checkpoint("/default", nullptr, Handles({"default", "default"})));
  ASSERT_OK(db_->Checkpoint("/mixed", nullptr, Handles({"large", "small"})));
  ASSERT_OK(db_->Checkpoint("/empty", nullptr, Handles({"empty"})));
  ASSERT_OK(db_->Checkpoint("/all"));
  ASSERT_NO_FATAL_FAILURE(Become("/own", {"own"}));
  EXPECT_THAT(TablesByTree(), ElementsAre(Pair(kCommonTree, 1), Pair(IdOf("own"), 1)));
  EXPECT_THAT(Names(), ElementsAre(Concat(IdOf("own"), "=own own")));
  ASSERT_NO_FATAL_FAILURE(Become("/default", {"default"}));
  EXPECT_THAT(TablesByTree(), ElementsAre(Pair(kDefaultKeyspace, 1)));
  ASSERT_NO_FATAL_FAILURE(Become("/mixed", {"large", "small"}));
  EXPECT_EQ(TablesByTree().size(), 2u);
  EXPECT_EQ(TablesByTree().count(kCommonTree), 1u);
  EXPECT_EQ(TablesByTree().count(IdOf("large")), 1u);
  ASSERT_NO_FATAL_FAILURE(Become("/empty", {"empty"}));
  ASSERT_NO_FATAL_FAILURE(Become("/all", {"default", "empty", "large", "own", "small", "tiny"}));
}

TEST_F(CopiesOfSomeTest, OthersAreCreatedAgainEmpty) {
  ASSERT_OK(db_->Backup("/copy", "", {}, nullptr, Handles({"small", "own"})).status());
  const uint64_t next_id = StateOnDisk().keyspaces.next_id();
  ASSERT_NO_FATAL_FAILURE(Become("/copy", {"own", "small"}));
  EXPECT_EQ(StateOnDisk().keyspaces.next_id(), next_id);
  for (const char* name : {"tiny", "large"}) {
    Keyspace again = OpenKeyspace(name);
    EXPECT_EQ(Scan(again), "");
    EXPECT_EQ(Get(again, "key10"), "absent");
    ASSERT_OK(again.Put("key", "new"));
  }
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_GE(IdOf("tiny"), next_id);
  for (const char* name : {"tiny", "large"}) EXPECT_EQ(Scan(OpenKeyspace(name)), "key=new");
  // Compactions remove the entries of those that were not chosen.
  const auto has_dead = [this] {
    const auto entries = CommonEntries();
    return std::any_of(entries.begin(), entries.end(), [this](const auto& entry) {
      return KeyspaceOf(entry.first) == ids_["tiny"];
    });
  };
  EXPECT_TRUE(has_dead());
  ASSERT_OK(OpenKeyspace("small").CompactRange());
  EXPECT_FALSE(has_dead());
  EXPECT_EQ(Scan(OpenKeyspace("small")), ContentOf("small"));
  EXPECT_EQ(Scan(OpenKeyspace("tiny")), "key=new");
}

TEST_F(CopiesOfSomeTest, BackupsStateTheBytesOfOthers) {
  const auto other_bytes = [this](const std::vector<std::string>& names) {
    const std::string path = Concat("/copy", copies_++);
    absl::StatusOr<CopyReport> report = db_->Backup(path, "", {}, nullptr, Handles(names));
    EXPECT_OK(report);
    return report.ok() ? report->other_bytes : 0;
  };
  // Each is larger than a block.
  for (const char* name : {"small", "tiny"}) {
    for (int i = 0; i < 30; ++i)
      ASSERT_OK(OpenKeyspace(name).Put(Concat("x", i), std::string(1000, name[0])));
  }
  Flush();
  const uint64_t of_small = OpenKeyspace("small").ApproximateBytes();
  ASSERT_GT(of_small, 20'000u);
  EXPECT_EQ(other_bytes({"own", "default"}), 0u);
  EXPECT_EQ(other_bytes({"small", "tiny", "empty"}), 0u);
  EXPECT_NEAR(static_cast<double>(other_bytes({"tiny", "own"})), static_cast<double>(of_small),
              static_cast<double>(of_small) / 4);
  EXPECT_GT(other_bytes({"empty"}), other_bytes({"tiny"}));
  ASSERT_OK_AND_ASSIGN(const CopyReport all, db_->Backup("/all"));
  EXPECT_EQ(all.other_bytes, 0u);
}

// Each backup has its own keyspaces, whatever its base has.
TEST_F(CopiesOfSomeTest, SeriesMayChange) {
  const auto backup = [this](const std::string& path, const std::string& base,
                             const std::vector<std::string>& names) {
    return db_->Backup(path, base, {}, nullptr, Handles(names));
  };
  ASSERT_OK_AND_ASSIGN(const CopyReport first, backup("/1", "", {"own", "default"}));
  EXPECT_EQ(first.tables_copied, 2u);
  ASSERT_OK_AND_ASSIGN(const CopyReport second, backup("/2", "/1", {"own", "small"}));
  EXPECT_EQ(second.tables_linked, 1u);
  EXPECT_GE(second.tables_copied, 1u);
  ASSERT_OK_AND_ASSIGN(const CopyReport third, backup("/3", "/2", {"default", "tiny"}));
  EXPECT_EQ(third.tables_linked, second.tables_copied);  // the common tree
  EXPECT_EQ(third.tables_copied, 1u);
  ASSERT_OK_AND_ASSIGN(const CopyReport fourth, backup("/4", "/3", {}));
  EXPECT_EQ(fourth.tables_linked, third.tables_linked + third.tables_copied);
  EXPECT_EQ(fourth.tables_copied, 2u);
  ASSERT_NO_FATAL_FAILURE(Become("/1", {"default", "own"}));
  ASSERT_NO_FATAL_FAILURE(Become("/2", {"own", "small"}));
  ASSERT_NO_FATAL_FAILURE(Become("/3", {"default", "tiny"}));
  ASSERT_NO_FATAL_FAILURE(Become("/4", {"default", "empty", "large", "own", "small", "tiny"}));
}

// The tables of the common tree have the names of the others, and their entries.
TEST_F(CopiesOfSomeTest, ARepairWithoutAManifestBringsNoOthersBack) {
  OpenKeyspace("own", {.target_fpp = 0.25});
  const std::vector<std::string> choices[] = {
      {"own"}, {"large", "small"}, {"empty"}, {"default", "tiny"}, {"default"}};
  for (const std::vector<std::string>& names : choices) {
    const std::string path = Concat("/copy", copies_++);
    ASSERT_OK(db_->Checkpoint(path, nullptr, Handles(names)));
    const auto directory = world_.files->OpenDirectory(path, /*create=*/false).value();
    for (const std::string& manifest : world_.FilesOf(FileKind::kManifest, path))
      ASSERT_OK(directory->Remove(manifest.substr(path.size() + 1)));
    ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(path, options_));
    EXPECT_THAT(report.left_out, Each(Not(HasSubstr("keyspace"))));
  }
  for (size_t i = 0; i < std::size(choices); ++i) {
    SCOPED_TRACE(i);
    ASSERT_NO_FATAL_FAILURE(Become(Concat("/copy", i), choices[i]));
    for (const std::string& name : choices[i]) {
      if (name == "default") continue;
      EXPECT_EQ(IdOf(name), ids_[name]);
      EXPECT_EQ(RecordOnDisk(name)->has_own_tree, name == "own" || name == "large");
      EXPECT_EQ(OptionsOnDisk(name).target_fpp, name == "own" ? std::optional(0.25) : std::nullopt);
    }
    OpenKeyspace("large");  // new in most copies
    ASSERT_OK(OpenKeyspace("another").Put("key", "value"));
    ASSERT_OK(db_->CompactRange());
    EXPECT_EQ(Scan(OpenKeyspace("another")), "key=value");
  }
}

// A copy that was written to is a base like any other.
TEST_F(CopiesOfSomeTest, CopiesOfCopies) {
  ASSERT_OK(db_->Checkpoint("/some", nullptr, Handles({"small", "own"})));
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(db_, DB::Open("/some", options_));
  ASSERT_OK(OpenKeyspace("tiny").Put("key", "new"));
  ASSERT_OK(db_->Checkpoint("/again", nullptr, Handles({"tiny"})));
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(db_, DB::Open("/again", options_));
  EXPECT_THAT(List(), ElementsAre("default", "tiny"));
  EXPECT_EQ(Scan(OpenKeyspace("tiny")), "key=new");
  EXPECT_EQ(Scan(OpenKeyspace("small")), "");
}

TEST_F(CopiesOfSomeTest, ProgressCountsTheirTables) {
  uint64_t total = 0;
  Pace pace;
  pace.progress = [&](const Progress& progress) {
    total = progress.bytes_total;
    return true;
  };
  ASSERT_OK_AND_ASSIGN(const CopyReport report,
                       db_->Backup("/copy", "", pace, nullptr, Handles({"own"})));
  EXPECT_EQ(total, report.bytes_copied);
}

TEST_F(CopiesOfSomeTest, RefuseHandlesThatAreNotOfTheirs) {
  Keyspace dropped = OpenKeyspace("tiny");
  ASSERT_OK(db_->DropKeyspace("tiny"));
  OpenKeyspace("tiny");
  const std::vector<Keyspace> handles[] = {{OpenKeyspace("own"), dropped}, {Keyspace()}};
  for (const std::vector<Keyspace>& only : handles) {
    EXPECT_THAT(db_->Checkpoint("/copy", nullptr, only),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(db_->Backup("/copy", "", {}, nullptr, only),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  EXPECT_THAT(db_->Checkpoint("/copy", nullptr, handles[0]),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"tiny\"")));
  const std::vector<Keyspace> old = Handles({"own", "default"});
  ASSERT_NO_FATAL_FAILURE(Open());
  for (const Keyspace& keyspace : old) {
    EXPECT_THAT(db_->Checkpoint("/copy", nullptr, std::vector<Keyspace>{keyspace}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(Concat("\"", keyspace.name(), "\" of another DB"))));
  }
  EXPECT_THAT(world_.files->OpenDirectory("/copy", /*create=*/false),
              StatusIs(absl::StatusCode::kNotFound));
}

// The copy is of the moment after its flush.
TEST_F(CopiesOfSomeTest, ADropWhileACopyBegins) {
  const std::vector<Keyspace> only = Handles({"own", "small"});
  bool drops = true;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    // The copy's lock is taken after the handles were checked.
    if (operation != FileOperation::kLock || !path.starts_with("/copy")) return absl::OkStatus();
    if (std::exchange(drops, false)) {
      EXPECT_OK(db_->DropKeyspace("small"));
    }
    return absl::OkStatus();
  });
  EXPECT_THAT(db_->Checkpoint("/copy", nullptr, only),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"small\"")));
  world_.files->SetFault(nullptr);
  EXPECT_FALSE(drops);
  EXPECT_THAT(world_.FilesOf(FileKind::kTable, "/copy"), IsEmpty());
}

}  // namespace
}  // namespace lsm
