// A follower of a store with keyspaces, on files in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/pinned_value.h"
#include "lsm/write_batch.h"
#include "tests/lsm/follow/follow_keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

// Writes about half a write buffer, and flushes it.
void FillHalf(DB* writer, Keyspace* keyspace, int round) {
  for (int i = 0; i < 32; ++i)
    ASSERT_OK(keyspace->Put(Concat("key", 100 * round + i), std::string(1'000, 'v')));
  ASSERT_OK(writer->Flush());
}

std::vector<absl::Status> StatusesOfReads(const Keyspace& keyspace, const ReadOptions& options) {
  std::string value;
  PinnedValue pinned;
  const std::string_view keys[] = {"key"};
  return {
      keyspace.Get("key", options).status(),          keyspace.Get("key", &value, options).status(),
      keyspace.Get("key", &pinned, options).status(), keyspace.MultiGet(keys, options)[0].status(),
      keyspace.NewIterator(options)->status(),        keyspace.Explain("key", options).status()};
}

void ExpectDropped(const Keyspace& keyspace, const ReadOptions& options = {}) {
  for (const absl::Status& status : StatusesOfReads(keyspace, options)) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr(Concat("\"", keyspace.name(), "\""))));
  }
  EXPECT_EQ(keyspace.ApproximateBytes(), 0u);
  EXPECT_EQ(keyspace.GetStatistics().table_bytes, 0u);
}

TEST_F(FollowKeyspacesTest, SeesThemInLogsAndManifests) {
  OpenBoth();
  ASSERT_OK(Make("a").Put("key", "of a"));
  Keyspace b = Make("b");
  ASSERT_OK(b.Put("key", "of b"));
  ASSERT_OK(b.Put("more", "of b"));
  ASSERT_OK(b.DeleteRange("more", std::nullopt));
  Make("empty");
  Put("key", "of default");
  EXPECT_THAT(follower_->OpenKeyspace("a"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"a\"")));
  EXPECT_THAT(List(), ElementsAre("default"));
  for (int pass = 0; pass < 4; ++pass) {
    SCOPED_TRACE(pass);  // in a log; by an edit; in a new manifest; by a new follower
    if (pass == 1) {
      ASSERT_OK(writer_->Flush());
    }
    if (pass == 2) OpenWriter();
    if (pass == 3) OpenFollower();
    Refresh();
    EXPECT_THAT(List(), ElementsAre("a", "b", "default", "empty"));
    const Keyspace seen = See("b");
    EXPECT_EQ(seen.name(), "b");
    EXPECT_EQ(Scan(seen), "key=of b");
    EXPECT_EQ(Scan(See("a")), "key=of a");
    EXPECT_EQ(Scan(See("empty")), "");
    EXPECT_EQ(Scan(See("default")), "key=of default");
    EXPECT_EQ(Shown(), "key=of default");
    EXPECT_EQ(Get(seen, "key"), "of b");
    const std::string_view keys[] = {"more", "key"};
    const auto values = seen.MultiGet(keys);
    ASSERT_OK(values[0]);
    ASSERT_OK(values[1]);
    EXPECT_EQ(*values[0], std::nullopt);
    EXPECT_EQ(*values[1], "of b");
    ASSERT_OK_AND_ASSIGN(const Explanation explanation, seen.Explain("key"));
    EXPECT_TRUE(explanation.found);
    EXPECT_EQ(explanation.memtables.size() > 1, pass == 0);
    EXPECT_EQ(seen.ApproximateBytes() > 0, pass > 0);
    EXPECT_EQ(seen.GetStatistics().table_bytes > 0, pass > 0);
    EXPECT_FALSE(seen.GetStatistics().has_own_tree);
    EXPECT_OK(follower_->Verify());
  }
}

TEST_F(FollowKeyspacesTest, OptionsMustAgree) {
  OpenBoth();
  Make("a", {.target_fpp = 0.25});
  const auto differs =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"a\" has other options"));
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);  // in a log; in the manifest
    Refresh();
    See("a");
    See("a", {.target_fpp = 0.25});
    EXPECT_THAT(follower_->OpenKeyspace("a", {.target_fpp = 0.5}), differs);
    EXPECT_THAT(follower_->OpenKeyspace("a", {.compression = Compression::kNone}), differs);
    ASSERT_OK(writer_->Flush());
  }
  const Keyspace before = See("a");
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);
    Make("a", {.target_fpp = 0.5 - 0.1 * pass, .compression = Compression::kNone});
    if (pass == 1) {
      ASSERT_OK(writer_->Flush());
    }
    EXPECT_THAT(follower_->OpenKeyspace("a", {.target_fpp = 0.5 - 0.1 * pass}), differs);
    Refresh();
    See("a", {.target_fpp = 0.5 - 0.1 * pass, .compression = Compression::kNone});
    EXPECT_THAT(follower_->OpenKeyspace("a", {.target_fpp = 0.25}), differs);
    EXPECT_EQ(Scan(before), "");
  }
  EXPECT_THAT(follower_->OpenKeyspace("default", {.target_fpp = 0.5}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(FollowKeyspacesTest, RefusesChanges) {
  OpenBoth();
  ASSERT_OK(Make("a").Put("key", "1"));
  Refresh();
  Keyspace a = See("a");
  WriteBatch batch;
  batch.Put(a, "key", "2");
  for (const absl::Status& status :
       {a.Put("key", "2"), a.Delete("key"), a.DeleteRange("a", "z"), follower_->Write(batch),
        a.CompactRange(), follower_->DropKeyspace("a"), follower_->DropKeyspace("b")})
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("reading only")));
  EXPECT_THAT(follower_->OpenKeyspace("b"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("reading only")));
  Refresh();
  EXPECT_THAT(List(), ElementsAre("a", "default"));
  EXPECT_EQ(Scan(a), "key=1");
}

TEST_F(FollowKeyspacesTest, ADropEndsHandlesFromTheViewThatShowsIt) {
  for (const bool is_in_manifest : {false, true}) {
    SCOPED_TRACE(is_in_manifest);
    OpenBoth();
    Keyspace of_writer = Make("a");
    ASSERT_OK(of_writer.Put("key", "1"));
    if (is_in_manifest) {
      ASSERT_OK(writer_->Flush());
    }
    ASSERT_OK(of_writer.Put("other", "2"));
    Refresh();
    const Keyspace a = See("a"), copy = See("a");
    const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
    const std::unique_ptr<Iterator> iterator = a.NewIterator();
    ASSERT_OK(writer_->DropKeyspace("a"));
    if (is_in_manifest) {
      ASSERT_OK(writer_->Flush());
    }
    EXPECT_EQ(Scan(a), "key=1 other=2") << "the view does not show the drop";
    Refresh();
    EXPECT_THAT(List(), ElementsAre("default"));
    for (const Keyspace* handle : {&a, &copy}) {
      ExpectDropped(*handle);
      ExpectDropped(*handle, {.snapshot = snapshot.get()});
      EXPECT_EQ(handle->name(), "a");
    }
    EXPECT_THAT(follower_->OpenKeyspace("a"), StatusIs(absl::StatusCode::kNotFound));
    // Its tables and its memtable stay.
    ASSERT_OK(writer_->Flush());
    ASSERT_OK(writer_->CompactRange());
    Refresh();
    ASSERT_OK_AND_ASSIGN(const Contents contents, ReadAllOf(*iterator));
    EXPECT_EQ(contents, (Contents{{"key", "1"}, {"other", "2"}}));
    // A namesake is another keyspace, also if both are new in one refresh.
    for (int pass = 0; pass < 2; ++pass) {
      ASSERT_OK(Make("a").Put("key", Concat("of namesake ", pass)));
      Refresh();
      const Keyspace namesake = See("a");
      EXPECT_EQ(Scan(namesake), Concat("key=of namesake ", pass));
      EXPECT_EQ(Scan(namesake, {.snapshot = snapshot.get()}), "");
      ASSERT_OK(writer_->DropKeyspace("a"));
      Make("a");
      Refresh();
      ExpectDropped(namesake);
      ExpectDropped(a);
      EXPECT_EQ(Scan(See("a")), "");
      ASSERT_OK(writer_->DropKeyspace("a"));
    }
  }
}

TEST_F(FollowKeyspacesTest, ADropInANewManifestEndsHandles) {
  OpenBoth();
  for (const char* name : {"a", "b"}) ASSERT_OK(Make(name).Put("key", name));
  Refresh();
  const Keyspace a = See("a"), b = See("b");
  ASSERT_OK(writer_->DropKeyspace("a"));
  OpenWriter();
  Refresh();
  ExpectDropped(a);
  EXPECT_EQ(Scan(b), "key=b");
  EXPECT_THAT(List(), ElementsAre("b", "default"));
}

TEST_F(FollowKeyspacesTest, SeesAKeyspaceLeaveTheCommonTree) {
  for (const bool is_new_manifest : {false, true}) {
    SCOPED_TRACE(is_new_manifest);
    options_.compression = Compression::kNone;
    OpenBoth();
    Keyspace large = Make("large");
    ASSERT_OK(Make("small").Put("key", "small"));
    ASSERT_NO_FATAL_FAILURE(FillHalf(writer_.get(), &large, 0));
    Refresh();
    const Keyspace seen = See("large"), small = See("small");
    EXPECT_FALSE(seen.GetStatistics().has_own_tree);
    const std::string before = Scan(seen);
    const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
    for (int round = 1; round < 4; ++round)
      ASSERT_NO_FATAL_FAILURE(FillHalf(writer_.get(), &large, round));
    ASSERT_TRUE(large.GetStatistics().has_own_tree);
    if (is_new_manifest) {
      OpenWriter();
      large = Make("large");
      ASSERT_OK(Make("small").CompactRange());  // drops the dead entries
    }
    ASSERT_OK(large.Delete("key0"));
    Refresh();
    EXPECT_TRUE(seen.GetStatistics().has_own_tree);
    EXPECT_EQ(Scan(seen), Scan(large));
    EXPECT_EQ(Get(seen, "key0"), "absent");
    EXPECT_EQ(Get(seen, "key1"), std::string(1'000, 'v'));
    EXPECT_EQ(Scan(seen, {.snapshot = snapshot.get()}), before);
    EXPECT_EQ(Scan(small), "key=small");
    EXPECT_OK(follower_->Verify());
    for (const char* name : {"large", "small"}) ASSERT_OK(writer_->DropKeyspace(name));
  }
}

// The tree of its own loses its last table.  The dead entries in the common tree do not return.
TEST_F(FollowKeyspacesTest, ATreeWithoutTablesHidesTheCommonTree) {
  options_.compression = Compression::kNone;
  OpenBoth();
  Keyspace large = Make("large");
  ASSERT_OK(Make("small").Put("key", "small"));
  for (int round = 0; round < 4; ++round)
    ASSERT_NO_FATAL_FAILURE(FillHalf(writer_.get(), &large, round));
  ASSERT_TRUE(large.GetStatistics().has_own_tree);
  ASSERT_OK(large.DeleteRange("", std::nullopt));
  ASSERT_OK(large.CompactRange());
  ASSERT_EQ(large.GetStatistics().table_bytes, 0u);
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);  // by edits; in a new manifest
    Refresh();
    EXPECT_EQ(Scan(See("large")), "");
    EXPECT_TRUE(See("large").GetStatistics().has_own_tree);
    EXPECT_EQ(Scan(See("small")), "key=small");
    large = Keyspace();
    OpenWriter();
  }
}

// After a crash, an id may be given again to another name.
TEST_F(FollowKeyspacesTest, AnIdThatWasLostIsAnotherKeyspace) {
  OpenBoth();
  ASSERT_OK(Make("kept").Put("key", "kept"));
  const Mark mark = MarkLog();
  ASSERT_OK(Make("lost").Put("key", "lost"));
  Refresh();
  const Keyspace kept = See("kept"), lost = See("lost");
  const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  const std::unique_ptr<Iterator> iterator = lost.NewIterator();
  ASSERT_NO_FATAL_FAILURE(CrashWriter(mark));
  ASSERT_OK(Make("other").Put("key", "other"));
  Refresh();
  EXPECT_THAT(List(), ElementsAre("default", "kept", "other"));
  ExpectDropped(lost);
  const Keyspace other = See("other");
  EXPECT_EQ(Scan(other), "key=other");
  EXPECT_EQ(Scan(kept), "key=kept");
  // The view of the snapshot has entries of the other keyspace under this id.
  const ReadOptions at{.snapshot = snapshot.get()};
  EXPECT_EQ(Scan(other, at), "");
  EXPECT_EQ(Get(other, "key", at), "absent");
  const std::string_view keys[] = {"key"};
  EXPECT_EQ(*other.MultiGet(keys, at)[0], std::nullopt);
  EXPECT_EQ(Scan(kept, at), "key=kept");
  ASSERT_OK_AND_ASSIGN(const Contents contents, ReadAllOf(*iterator));
  EXPECT_EQ(contents, (Contents{{"key", "lost"}}));
}

TEST_F(FollowKeyspacesTest, AKeyspaceThatIsCreatedAgainAfterACrashKeepsItsHandles) {
  OpenBoth();
  Put("key", "value");
  const Mark mark = MarkLog();
  ASSERT_OK(Make("a").Put("key", "lost"));
  Refresh();
  const Keyspace a = See("a");
  const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  ASSERT_NO_FATAL_FAILURE(CrashWriter(mark));
  ASSERT_OK(Make("a", {.target_fpp = 0.25}).Put("key", "new"));
  Refresh();
  EXPECT_EQ(Scan(a), "key=new");
  EXPECT_EQ(Scan(a, {.snapshot = snapshot.get()}), "key=lost");
  See("a", {.target_fpp = 0.25});
}

TEST_F(FollowKeyspacesTest, ADropThatWasLostDoesNotReviveHandles) {
  OpenBoth();
  ASSERT_OK(Make("a").Put("key", "1"));
  const Mark mark = MarkLog();
  Refresh();
  const Keyspace before = See("a");
  const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  ASSERT_OK(writer_->DropKeyspace("a"));
  Refresh();
  ExpectDropped(before);
  ASSERT_NO_FATAL_FAILURE(CrashWriter(mark));
  Refresh();
  ExpectDropped(before);
  const Keyspace after = See("a");
  EXPECT_EQ(Scan(after), "key=1");
  EXPECT_EQ(Scan(after, {.snapshot = snapshot.get()}), "key=1");
  ASSERT_OK(writer_->DropKeyspace("a"));
  Refresh();
  ExpectDropped(after);
}

TEST_F(FollowKeyspacesTest, BatchesOverKeyspacesAreWhole) {
  OpenBoth();
  Keyspace a = Make("a"), b = Make("b");
  Refresh();
  const Keyspace seen_a = See("a"), seen_b = See("b");
  for (int round = 0; round < 50; ++round) {
    WriteBatch batch;
    const std::string value = Concat(round, std::string(2000, '.'));
    batch.Put(a, "key", value);
    batch.Put("key", value);
    batch.Put(b, "key", value);
    ASSERT_OK(writer_->Write(batch));
    if (round % 3 == 0) Refresh();
    const std::string shown = Get(seen_a, "key");
    EXPECT_EQ(shown == value, round % 3 == 0);
    EXPECT_EQ(Get(seen_b, "key"), shown);
    EXPECT_EQ(follower_->Get("key")->value_or("absent"), shown);
  }
}

TEST_F(FollowKeyspacesTest, ARefreshThatFailsChangesNothing) {
  OpenBoth();
  ASSERT_OK(Make("a").Put("key", "1"));
  Refresh();
  const Keyspace a = See("a");
  ASSERT_OK(writer_->DropKeyspace("a"));
  Make("b");
  ASSERT_OK(writer_->Flush());
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kOpenRead && path.ends_with(".table")
               ? absl::UnavailableError("broken")
               : absl::OkStatus();
  });
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(follower_->Resume(), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_THAT(List(), ElementsAre("a", "default"));
    EXPECT_EQ(Scan(a), "key=1");
  }
  world_.files->SetFault(fault_);
  Refresh();
  ExpectDropped(a);
  EXPECT_THAT(List(), ElementsAre("b", "default"));
}

// A later release may have set one.
TEST_F(FollowKeyspacesTest, ATimeLimitIsRefused) {
  OpenBoth();
  ASSERT_OK(Make("a").Put("key", "1"));
  Refresh();
  const Keyspace a = See("a");
  WriteBatch batch;
  EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kOptions, 2, "", {.expire_after = 1}});
  ASSERT_OK(writer_->Write(batch));
  Make("b");
  const auto refused = StatusIs(
      absl::StatusCode::kUnimplemented,
      HasSubstr(Concat(kStorePath, ": the keyspace \"a\" has KeyspaceOptions::expire_after")));
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(follower_->Resume(), refused);
    EXPECT_EQ(Scan(a), "key=1");
    EXPECT_THAT(List(), ElementsAre("a", "default"));
  }
  EXPECT_THAT(DB::Open(kStorePath, follow_), refused);
  ASSERT_OK(writer_->DropKeyspace("a"));
  Refresh();
  ExpectDropped(a);
  EXPECT_THAT(List(), ElementsAre("b", "default"));
}

TEST_F(FollowKeyspacesTest, HandlesMayOutliveTheFollower) {
  OpenBoth();
  ASSERT_OK(Make("a").Put("key", "1"));
  Refresh();
  const Keyspace a = See("a");
  const std::unique_ptr<Iterator> iterator = a.NewIterator();
  ASSERT_OK(follower_->Close());
  EXPECT_THAT(follower_->OpenKeyspace("a"), StatusIs(absl::StatusCode::kFailedPrecondition));
  follower_ = nullptr;
  for (const absl::Status& status : StatusesOfReads(a, {}))
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK_AND_ASSIGN(const Contents contents, ReadAllOf(*iterator));
  EXPECT_EQ(contents, (Contents{{"key", "1"}}));
}

}  // namespace
}  // namespace lsm
