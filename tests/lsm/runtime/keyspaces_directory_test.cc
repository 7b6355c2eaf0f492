// The directory of keyspaces, without a store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/counters.h"
#include "lsm/bytes/status.h"
#include "lsm/keyspace.h"
#include "lsm/limits.h"
#include "lsm/runtime/keyspaces.h"
#include "lsm/store/recovery.h"
#include "lsm/threads/mutex.h"
#include "lsm/version/keyspace_records.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;
using Kind = KeyspaceChange::Kind;

class KeyspacesDirectoryTest : public testing::Test {
 protected:
  // One thread needs no lock, so each function only asserts at its beginning that it holds the
  // mutex.

  // Creates or changes a keyspace, like the leader.
  std::shared_ptr<const KeyspaceState> Make(std::string_view name,
                                            const KeyspaceOptions& options = {}) {
    keyspaces_.AssertHeld();
    absl::StatusOr<Keyspaces::Prepared> prepared = keyspaces_.Prepare(name, options);
    EXPECT_OK(prepared);
    const std::shared_ptr<const KeyspaceState> state = prepared->state;
    if (prepared->change) changes_.push_back(*prepared->change);
    keyspaces_.Apply(*std::move(prepared));
    return state;
  }
  void Start(const KeyspaceRecords& records) { keyspaces_.Start(records); }
  VersionEdit EditOf(const std::vector<KeyspaceChange>& changes) {
    keyspaces_.AssertHeld();
    VersionEdit edit;
    keyspaces_.AddTo(changes, &edit);
    return edit;
  }

  Options options_;
  Mutex mutex_;
  testing_support::ManualClock clock_;
  Keyspaces keyspaces_{&options_, &mutex_, &clock_};
  std::vector<KeyspaceChange> changes_;  // that were applied
};

TEST_F(KeyspacesDirectoryTest, NothingIsVisibleBeforeApply) {
  keyspaces_.AssertHeld();
  ASSERT_OK_AND_ASSIGN(Keyspaces::Prepared prepared, keyspaces_.Prepare("a", {.target_fpp = 0.25}));
  EXPECT_EQ(prepared.change, (KeyspaceChange{Kind::kCreated, 2, "a", {.target_fpp = 0.25}}));
  EXPECT_EQ(keyspaces_.Find("a"), nullptr);
  EXPECT_THAT(keyspaces_.Names(), ElementsAre("default"));
  EXPECT_THAT(keyspaces_.own_options(), IsEmpty());
  EXPECT_EQ(keyspaces_.Records(), KeyspaceRecords());
  keyspaces_.Apply(std::move(prepared));
  EXPECT_EQ(keyspaces_.Find("a")->id, 2u);
  EXPECT_THAT(keyspaces_.Names(), ElementsAre("a", "default"));
  EXPECT_EQ(keyspaces_.own_options().at(2)->target_fpp, 0.25);
  EXPECT_EQ(keyspaces_.Records().next_id(), 3u);
}

TEST_F(KeyspacesDirectoryTest, HasALimit) {
  KeyspaceRecords records;
  ASSERT_EQ(records.Advance(kOtherKeyspaceMin + kKeyspacesMax), "");
  for (size_t i = 0; i < kKeyspacesMax; ++i) {
    const auto id = static_cast<KeyspaceId>(kOtherKeyspaceMin + i);
    ASSERT_EQ(records.Put({.id = id, .has_own_tree = false, .options = {}, .name = Concat("k", i)}),
              "");
  }
  Start(records);
  keyspaces_.AssertHeld();
  EXPECT_THAT(keyspaces_.Prepare("more", {}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr(Concat(kKeyspacesMax, " keyspaces besides \"default\""))));
  EXPECT_OK(keyspaces_.Prepare("k7", {.target_fpp = 0.25}).status());
}

TEST_F(KeyspacesDirectoryTest, ARequestThatChangesNothingHasNoEntry) {
  keyspaces_.AssertHeld();
  const auto state = Make("a", {.target_fpp = 0.25});
  EXPECT_EQ(Make("a"), state);
  EXPECT_EQ(Make("a", {.target_fpp = 0.25}), state);
  EXPECT_EQ(Make("default")->id, kDefaultKeyspace);
  EXPECT_EQ(changes_.size(), 1u);
  EXPECT_EQ(Make("a", {.expire_after = 1}), state);
  ASSERT_EQ(changes_.size(), 2u);
  EXPECT_EQ(changes_[1],
            (KeyspaceChange{Kind::kOptions, 2, "", {.target_fpp = 0.25, .expire_after = 1}}));
}

TEST_F(KeyspacesDirectoryTest, OwnOptionsReplaceThoseOfTheStore) {
  keyspaces_.AssertHeld();
  options_.level1_bytes = 12345;
  Make("a", {.compaction_style = CompactionStyle::kTiered});
  Make("b", {.expire_after = 1});
  ASSERT_EQ(keyspaces_.own_options().size(), 1u);
  const std::shared_ptr<const Options> before = keyspaces_.own_options().at(2);
  EXPECT_EQ(before->compaction_style, CompactionStyle::kTiered);
  EXPECT_EQ(before->level1_bytes, 12345u);
  Make("a", {.compression = Compression::kNone});
  const Options& now = *keyspaces_.own_options().at(2);
  EXPECT_EQ(now.compaction_style, CompactionStyle::kTiered);
  EXPECT_EQ(now.compression, Compression::kNone);
  EXPECT_EQ(before->compression, Compression::kLz4) << "a job keeps the options that it began with";
}

TEST_F(KeyspacesDirectoryTest, AFlushRecordsTheLastState) {
  keyspaces_.AssertHeld();
  Make("old", {.target_fpp = 0.25});
  const VersionEdit first = EditOf(std::exchange(changes_, {}));
  EXPECT_EQ(first.next_keyspace_id, 3u);
  EXPECT_EQ(first.keyspaces,
            std::vector<KeyspaceRecord>({{2, false, {.target_fpp = 0.25}, "old"}}));
  Make("new");
  Make("new", {.expire_after = 7});
  Make("old", {.expire_after = 8});
  Make("default", {.expire_after = 9});
  VersionEdit edit = EditOf(changes_);
  EXPECT_EQ(edit.next_keyspace_id, 4u);
  EXPECT_EQ(edit.keyspaces,
            std::vector<KeyspaceRecord>({{0, true, {.expire_after = 9}, "default"},
                                         {2, false, {.target_fpp = 0.25, .expire_after = 8}, "old"},
                                         {3, false, {.expire_after = 7}, "new"}}));
  EXPECT_THAT(edit.dropped_keyspaces, IsEmpty());
  // The edit has the options as of these changes, even if others followed.
  changes_.resize(1);
  Make("old", {.target_fpp = 0.5});
  edit = EditOf({changes_[0]});
  EXPECT_EQ(edit.keyspaces, std::vector<KeyspaceRecord>({{3, false, {}, "new"}}));

  changes_.push_back({Kind::kDropped, 2, "", {}});
  changes_.push_back({Kind::kDropped, 3, "", {}});
  edit = EditOf(changes_);
  EXPECT_EQ(edit.next_keyspace_id, 4u);
  EXPECT_THAT(edit.keyspaces, IsEmpty());
  EXPECT_THAT(edit.dropped_keyspaces, ElementsAre(2u)) << "the other one was never recorded";
  EXPECT_EQ(EditOf({}), VersionEdit());
}

TEST_F(KeyspacesDirectoryTest, ADropIsKeptUntilItsFlush) {
  keyspaces_.AssertHeld();
  const auto state = Make("a", {.target_fpp = 0.25});
  Make("b");
  EXPECT_EQ(keyspaces_.PrepareDrop("c").state, nullptr);
  Keyspaces::Prepared prepared = keyspaces_.PrepareDrop("a");
  EXPECT_EQ(prepared.state, state);
  EXPECT_EQ(prepared.change, (KeyspaceChange{Kind::kDropped, 2, "", {}}));
  EXPECT_FALSE(IsDropped(state.get()));
  EXPECT_OK(CheckNotDropped(state.get()));
  const KeyspaceChange drop = *prepared.change;
  keyspaces_.Apply(std::move(prepared));
  EXPECT_THAT(CheckNotDropped(state.get()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"a\" was dropped")));
  EXPECT_THAT(keyspaces_.Names(), ElementsAre("b", "default"));
  EXPECT_EQ(keyspaces_.Find("a"), nullptr);
  EXPECT_FALSE(keyspaces_.Records().Has(2));
  EXPECT_THAT(keyspaces_.dropped(), ElementsAre(2u));
  // Flushes of earlier memtables still need it.
  EXPECT_EQ(EditOf({{Kind::kOptions, 2, "", {.target_fpp = 0.5}}}).keyspaces[0].name, "a");
  EXPECT_TRUE(keyspaces_.own_options().contains(2));
  EXPECT_EQ(Make("a")->id, 4u);
  EXPECT_FALSE(keyspaces_.Forget({drop}, Version()));
  EXPECT_THAT(keyspaces_.dropped(), IsEmpty());
  EXPECT_EQ(keyspaces_.StateOf(2), nullptr);
  EXPECT_FALSE(keyspaces_.own_options().contains(2));
  EXPECT_EQ(keyspaces_.Find("a")->id, 4u);
  // An opening, or Resume, flushes all.
  keyspaces_.Apply(keyspaces_.PrepareDrop("b"));
  keyspaces_.ForgetDropped();
  EXPECT_THAT(keyspaces_.dropped(), IsEmpty());
  EXPECT_EQ(keyspaces_.StateOf(3), nullptr);
}

TEST_F(KeyspacesDirectoryTest, StartsAgainWithRecords) {
  keyspaces_.AssertHeld();
  KeyspaceRecords records;
  ASSERT_EQ(records.Replay({Kind::kCreated, 7, "a", {.target_fpp = 0.25}}), "");
  ASSERT_EQ(records.Replay({Kind::kCreated, 9, "b", {}}), "");
  ASSERT_EQ(records.Replay({Kind::kOptions, 0, "", {.expire_after = 3}}), "");
  Start(records);
  EXPECT_THAT(keyspaces_.Names(), ElementsAre("a", "b", "default"));
  EXPECT_EQ(keyspaces_.Records(), records);
  ASSERT_EQ(records.Replay({Kind::kDropped, 7, "", {}}), "");
  Start(records);
  EXPECT_THAT(keyspaces_.Names(), ElementsAre("b", "default"));
  EXPECT_THAT(keyspaces_.own_options(), IsEmpty());
  EXPECT_EQ(keyspaces_.Records(), records);
  EXPECT_EQ(Make("a")->id, 10u);
}

TEST_F(KeyspacesDirectoryTest, IdsRunOut) {
  keyspaces_.AssertHeld();
  KeyspaceRecords records;
  ASSERT_EQ(records.Advance(KeyspaceRecords::kIdEnd - 1), "");
  Start(records);
  EXPECT_EQ(Make("last")->id, UINT32_MAX);
  EXPECT_THAT(keyspaces_.Prepare("more", {}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("ids of keyspaces")));
  EXPECT_OK(keyspaces_.Prepare("last", {.expire_after = 1}));
  ASSERT_EQ(EditOf(changes_).next_keyspace_id, KeyspaceRecords::kIdEnd);
}

TEST_F(KeyspacesDirectoryTest, OptionsOfLaterReleasesAreRefused) {
  const auto check = [this](const KeyspaceRecord& record) {
    KeyspaceRecords records;
    EXPECT_EQ(records.Advance(3), "");
    EXPECT_EQ(records.Put(record), "");
    return CheckKeyspacesAct(records, options_);
  };
  const auto refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(what));
  };
  EXPECT_OK(check({.id = 2, .options = {.target_fpp = 0.5, .expire_after = 0}, .name = "a"}));
  EXPECT_OK(check({.id = 2, .has_own_tree = false, .name = "a"}));
  EXPECT_THAT(check({.id = 2, .options = {.expire_after = 1}, .name = "a"}),
              refused("the keyspace \"a\" has KeyspaceOptions::expire_after"));
  EXPECT_OK(CheckKeyspacesAct({}, options_));
}

TEST_F(KeyspacesDirectoryTest, EachOpeningHasItsNumber) {
  const Keyspaces other(&options_, &mutex_, &clock_);
  EXPECT_NE(other.opening(), keyspaces_.opening());
  EXPECT_EQ(Make("a")->opening, keyspaces_.opening());
}

TEST_F(KeyspacesDirectoryTest, AFollowerKeepsAStateIfIdAndNameAgree) {
  keyspaces_.AssertHeld();
  const auto show = [this](const KeyspaceRecords& records) {
    keyspaces_.AssertHeld();
    absl::StatusOr<Keyspaces::NextView> next = keyspaces_.PrepareView(records, "/store");
    ASSERT_OK(next);
    keyspaces_.Apply(*std::move(next));
    EXPECT_EQ(keyspaces_.Records(), records);
  };
  KeyspaceRecords before;
  ASSERT_EQ(before.Replay({Kind::kCreated, 2, "a", {}}), "");
  ASSERT_EQ(before.Replay({Kind::kCreated, 3, "b", {.target_fpp = 0.25}}), "");
  show(before);
  const auto a = keyspaces_.Find("a"), b = keyspaces_.Find("b"), root = keyspaces_.Find("default");
  EXPECT_EQ(a->opening, keyspaces_.opening());
  KeyspaceRecords next = before;
  ASSERT_EQ(next.Replay({Kind::kDropped, 2, "", {}}), "");
  ASSERT_EQ(next.Replay({Kind::kOptions, 3, "", {.target_fpp = 0.5}}), "");
  ASSERT_EQ(next.Put({.id = 3, .options = {.target_fpp = 0.5}, .name = "b"}), "");
  ASSERT_EQ(next.Replay({Kind::kCreated, 4, "a", {}}), "");
  ASSERT_OK_AND_ASSIGN(Keyspaces::NextView prepared, keyspaces_.PrepareView(next, "/store"));
  EXPECT_FALSE(IsDropped(a.get())) << "not yet";
  EXPECT_EQ(keyspaces_.Records(), before);
  keyspaces_.Apply(std::move(prepared));
  EXPECT_EQ(keyspaces_.Records(), next);
  EXPECT_TRUE(IsDropped(a.get()));
  EXPECT_EQ(keyspaces_.Find("b"), b);
  EXPECT_EQ(b->options.target_fpp, 0.5);
  EXPECT_TRUE(b->has_own_tree);
  const auto namesake = keyspaces_.Find("a");
  EXPECT_EQ(namesake->id, 4u);
  EXPECT_FALSE(IsDropped(namesake.get()));
  // The store of a machine that crashed: it had lost the drop and the namesake.
  show(before);
  EXPECT_TRUE(IsDropped(a.get()));
  EXPECT_TRUE(IsDropped(namesake.get()));
  EXPECT_NE(keyspaces_.Find("a"), a);
  EXPECT_FALSE(IsDropped(keyspaces_.Find("a").get()));
  EXPECT_EQ(keyspaces_.Find("b"), b);
  // It had lost all keyspaces, and gave one of the ids to another name.
  KeyspaceRecords other;
  ASSERT_EQ(other.Replay({Kind::kCreated, 3, "c", {}}), "");
  show(other);
  EXPECT_TRUE(IsDropped(b.get()));
  EXPECT_THAT(keyspaces_.Names(), ElementsAre("c", "default"));
  EXPECT_EQ(keyspaces_.Find("default"), root);
  EXPECT_FALSE(IsDropped(root.get()));
  ASSERT_EQ(other.Replay({Kind::kOptions, 3, "", {.expire_after = 1}}), "");
  EXPECT_THAT(keyspaces_.PrepareView(other, "/store"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("/store: the keyspace \"c\"")));
}

TEST_F(KeyspacesDirectoryTest, IdsOfDroppedKeyspacesAreNotGivenAgain) {
  keyspaces_.AssertHeld();
  KeyspaceRecords records;
  ASSERT_EQ(records.Replay({Kind::kCreated, 7, "a", {}}), "");
  ASSERT_EQ(records.Replay({Kind::kCreated, 9, "b", {}}), "");
  ASSERT_EQ(records.Replay({Kind::kDropped, 9, "", {}}), "");
  Start(records);
  EXPECT_EQ(keyspaces_.Records().next_id(), 10u);
  EXPECT_EQ(Make("b")->id, 10u);
  ASSERT_EQ(records.Replay({Kind::kDropped, 7, "", {}}), "");
  Start(records);
  EXPECT_EQ(Make("c")->id, 10u) << "also if none is left";
}

}  // namespace
}  // namespace lsm
