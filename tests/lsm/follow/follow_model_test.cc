// A writer makes random changes of a store with keyspaces.  A follower refreshes at random moments,
// also within operations of the writer, and shows what a model has as of the number of its view.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/write_batch.h"
#include "tests/lsm/follow/follow_keyspaces_fixture.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;
using testing_support::StatusIs;

constexpr size_t kNames = 6;
constexpr size_t kKeys = 8;
constexpr size_t kKeptMax = 6;
constexpr char kDefault[] = "default";
constexpr char kLarge[] = "a";  // becomes large enough for a tree of its own

// The store as of one write.
struct Model {
  struct OneKeyspace {
    uint64_t id = 0;
    KeyspaceOptions options = {};
    Contents contents = {};
  };
  std::map<std::string, OneKeyspace> keyspaces = {{kDefault, {}}};
  uint64_t next_id = 2;

  bool Has(const std::string& name, uint64_t id) const {
    const auto found = keyspaces.find(name);
    return found != keyspaces.end() && found->second.id == id;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, keyspace] : keyspaces) names.push_back(name);
    return names;
  }
};

class FollowModelTest : public FollowKeyspacesTest, public testing::WithParamInterface<uint64_t> {
 protected:
  FollowModelTest() : dice_(GetParam()) {
    options_.compression = Compression::kNone;
    options_.level0_compaction_tables = 2;
    fault_ = [this, hold = fault_](FileOperation operation, const std::string& path, uint64_t n) {
      if (!IsOfAnotherThread()) FollowWithin();
      return hold(operation, path, n);
    };
    world_.files->SetFault(fault_);
  }
  ~FollowModelTest() override { world_.files->SetFault(nullptr); }

  // --- the writer ---

  // The state after the next write of `entries`, before it is made: a view may show it at once.
  void Expect(Model next, uint64_t entries) {
    sequence_ += entries;
    models_[sequence_] = std::move(next);
  }
  const Model& now() const { return models_.rbegin()->second; }
  void NoteWritten() {
    ASSERT_EQ(writer_->GetSnapshot()->sequence(), sequence_);
    acknowledged_ = sequence_;
    const Mark mark = MarkLog();
    // Only the newest log loses writes in a crash.
    std::erase_if(marks_, [&](const auto& entry) { return entry.second.log != mark.log; });
    marks_[sequence_] = mark;
    models_.erase(models_.begin(), models_.lower_bound(marks_.begin()->first));
  }
  std::string AnyName() { return std::string(1, static_cast<char>('a' + dice_.Roll(kNames))); }
  // A keyspace that exists.  Some get more than others.
  std::string AnyExisting() {
    const std::vector<std::string> names = now().Names();
    return names[std::min(dice_.Roll(names.size()), dice_.Roll(names.size()))];
  }

  void OpenOne() {
    const std::string name = AnyName();
    KeyspaceOptions options;
    if (dice_.OneIn(3)) options.target_fpp = dice_.OneIn(2) ? 0.25 : 0.5;
    if (dice_.OneIn(6)) options.compaction_style = CompactionStyle::kTiered;
    Model next = now();
    const bool is_new = !next.keyspaces.contains(name);
    Model::OneKeyspace& keyspace = next.keyspaces[name];
    if (is_new) keyspace.id = next.next_id++;
    const KeyspaceOptions before = keyspace.options;
    keyspace.options = Merged(before, options);
    if (is_new || keyspace.options != before) Expect(std::move(next), 1);
    ASSERT_OK(writer_->OpenKeyspace(name, options));
  }
  void DropOne() {
    const std::string name = AnyName();
    if (!now().keyspaces.contains(name) || (name == kLarge && !dice_.OneIn(4))) return;
    Model next = now();
    next.keyspaces.erase(name);
    Expect(std::move(next), 1);
    ASSERT_OK(writer_->DropKeyspace(name));
  }
  void WriteOne() {
    Model next = now();
    WriteBatch batch;
    for (size_t entries = 1 + dice_.Roll(4); entries > 0; --entries) {
      const std::string name = AnyExisting();
      const Keyspace keyspace = Make(name);
      Contents& contents = next.keyspaces[name].contents;
      const std::string key = Concat("key", dice_.Roll(kKeys));
      if (dice_.OneIn(8)) {
        std::optional<std::string> to;
        if (dice_.OneIn(2)) to = Concat(key, "+");
        batch.DeleteRange(keyspace, key, to);
        contents.erase(contents.lower_bound(key), to ? contents.lower_bound(*to) : contents.end());
      } else if (dice_.OneIn(4)) {
        batch.Delete(keyspace, key);
        contents.erase(key);
      } else {
        const size_t bytes = name == kLarge && dice_.OneIn(2) ? 15'000
                             : dice_.OneIn(4)                 ? 1'500
                                                              : 20;
        contents[key] = Concat(++values_, std::string(bytes, 'v'));
        batch.Put(keyspace, key, contents[key]);
      }
    }
    Expect(std::move(next), batch.count());
    ASSERT_OK(writer_->Write(batch));
  }
  void ReopenOrKill() {
    if (dice_.OneIn(2)) {
      KillWriter();
    } else {
      ASSERT_OK(writer_->Close());
    }
    OpenWriter();
  }
  // Loses some of the writes in the newest log.  A follower cannot look at a log that shrinks.
  void Crash() {
    ASSERT_NO_FATAL_FAILURE(NoteWritten());  // a job may have made a newer log, without writes
    std::map<size_t, Sequence> ends;
    for (const auto& [sequence, mark] : marks_) ends[mark.bytes] = sequence;
    const Sequence end = std::next(ends.begin(), static_cast<int>(dice_.Roll(ends.size())))->second;
    is_within_ = true;
    CrashWriter(marks_[end]);
    is_within_ = false;
    models_.erase(models_.upper_bound(end), models_.end());
    marks_.clear();
    sequence_ = end;
    ++crashes_;
  }
  void Act() {
    switch (dice_.Roll(30)) {
      case 0:
      case 1:
        ASSERT_OK(writer_->Flush());
        return;
      case 2:
        ASSERT_OK(Make(AnyExisting()).CompactRange());
        return;
      case 3:
        return ReopenOrKill();
      case 4:
        return Crash();
      case 5:
      case 6:
        return DropOne();
      case 7:
      case 8:
      case 9:
      case 10:
        return OpenOne();
      default:
        return WriteOne();
    }
  }

  // --- the follower ---

  struct KeptHandle {
    Keyspace handle;
    uint64_t id = 0;
    bool is_alive = true;
  };
  struct KeptSnapshot {
    std::unique_ptr<const Snapshot> snapshot;
    Model model;
  };
  struct KeptIterator {
    std::unique_ptr<Iterator> iterator;
    Contents contents;
  };

  // Within an operation of the writer.
  void FollowWithin() {
    if (!is_within_ && follower_ != nullptr && dice_.OneIn(40)) Follow();
  }
  void Follow() {
    is_within_ = true;
    FollowAlone();
    is_within_ = false;
  }
  void FollowAlone() {
    const Sequence acknowledged = acknowledged_;
    ASSERT_OK(follower_->Resume());
    std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
    const auto found = models_.find(snapshot->sequence());
    ASSERT_NE(found, models_.end()) << "the view has a part of a batch: " << snapshot->sequence();
    ASSERT_GE(found->first, acknowledged);
    shown_ = found->second;
    ++views_;
    for (KeptHandle& kept : handles_)
      kept.is_alive = kept.is_alive && shown_.Has(kept.handle.name(), kept.id);
    CheckDirectory();
    for (const KeptHandle& kept : handles_) CheckHandle(kept);
    for (const KeptIterator& kept : iterators_) ExpectContents(*kept.iterator, kept.contents);
    Keep(std::move(snapshot));
  }
  // Every keyspace by a new handle, and the names that there are not.
  void CheckDirectory() {
    EXPECT_EQ(List(), shown_.Names());
    for (const auto& [name, keyspace] : shown_.keyspaces) {
      const Keyspace handle = See(name, keyspace.options);
      CheckContents(handle, keyspace.contents, {});
      if (name == kDefault) continue;
      EXPECT_THAT(follower_->OpenKeyspace(name, {.target_fpp = 0.125}),
                  StatusIs(absl::StatusCode::kFailedPrecondition));
    }
    const std::string name = AnyName();
    if (shown_.keyspaces.contains(name)) return;
    EXPECT_THAT(follower_->OpenKeyspace(name), StatusIs(absl::StatusCode::kNotFound));
  }
  void CheckHandle(const KeptHandle& kept) {
    const std::string& name = kept.handle.name();
    SCOPED_TRACE(Concat(name, ", id ", kept.id));
    if (!kept.is_alive) {
      for (const KeptSnapshot& then : snapshots_) ExpectFlagged(kept.handle, then.snapshot.get());
      return ExpectFlagged(kept.handle, nullptr);
    }
    CheckContents(kept.handle, shown_.keyspaces.at(name).contents, {});
    for (const KeptSnapshot& then : snapshots_) {
      const bool was_there = then.model.Has(name, kept.id);
      CheckContents(kept.handle, was_there ? then.model.keyspaces.at(name).contents : Contents(),
                    {.snapshot = then.snapshot.get()});
    }
  }
  void ExpectFlagged(const Keyspace& handle, const Snapshot* snapshot) {
    const ReadOptions at{.snapshot = snapshot};
    const auto dropped = StatusIs(absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(handle.Get("key0", at), dropped);
    EXPECT_THAT(handle.NewIterator(at)->status(), dropped);
    const std::string_view keys[] = {"key0"};
    EXPECT_THAT(handle.MultiGet(keys, at)[0], dropped);
    EXPECT_THAT(handle.Explain("key0", at), dropped);
    EXPECT_EQ(handle.ApproximateBytes(), 0u);
    ++flagged_;
  }
  static void ExpectContents(Iterator& iterator, const Contents& contents) {
    const absl::StatusOr<Contents> read = ReadAllOf(iterator);
    ASSERT_OK(read);
    EXPECT_EQ(*read, contents);
  }
  void CheckContents(const Keyspace& handle, const Contents& contents, const ReadOptions& at) {
    ExpectContents(*handle.NewIterator(at), contents);
    std::vector<std::string> keys;
    for (size_t i = 0; i < kKeys; ++i) keys.push_back(Concat("key", i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto values = handle.MultiGet(views, at);
    for (size_t i = 0; i < kKeys; ++i) {
      const auto found = contents.find(keys[i]);
      const std::optional<std::string> expected =
          found == contents.end() ? std::nullopt : std::optional(found->second);
      ASSERT_OK(values[i]);
      EXPECT_EQ(*values[i], expected);
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, handle.Get(keys[i], at));
      EXPECT_EQ(value, expected);
    }
  }
  // Keeps some handles, snapshots and iterators for later views.
  void Keep(std::unique_ptr<const Snapshot> snapshot) {
    if (dice_.OneIn(3)) snapshots_.push_back({std::move(snapshot), shown_});
    const std::vector<std::string> names = shown_.Names();
    const std::string& name = names[dice_.Roll(names.size())];
    const Model::OneKeyspace& keyspace = shown_.keyspaces[name];
    if (dice_.OneIn(2)) handles_.push_back({See(name), keyspace.id});
    if (dice_.OneIn(3)) iterators_.push_back({See(name).NewIterator(), keyspace.contents});
    if (handles_.size() > kKeptMax) handles_.erase(handles_.begin());
    if (snapshots_.size() > kKeptMax) snapshots_.erase(snapshots_.begin());
    if (iterators_.size() > kKeptMax) iterators_.erase(iterators_.begin());
  }

  Dice dice_;
  std::map<Sequence, Model> models_ = {{0, {}}};
  std::map<Sequence, Mark> marks_;
  Sequence sequence_ = 0, acknowledged_ = 0;
  uint64_t values_ = 0;
  Model shown_;  // by the follower's view
  bool is_within_ = false;
  uint64_t views_ = 0, flagged_ = 0, crashes_ = 0;
  std::vector<KeptHandle> handles_;
  std::vector<KeptSnapshot> snapshots_;
  std::vector<KeptIterator> iterators_;
};

TEST_P(FollowModelTest, EachViewIsAPrefixOfAllKeyspaces) {
  OpenBoth();
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    SCOPED_TRACE(Concat("action ", i));
    Act();
    ASSERT_NO_FATAL_FAILURE(NoteWritten());
    if (dice_.OneIn(4)) world_.scheduler.RunAll();
    if (dice_.OneIn(4)) Follow();
    // Another follower begins with what is there.
    if (dice_.OneIn(100)) {
      handles_.clear();
      snapshots_.clear();
      iterators_.clear();
      is_within_ = true;
      ASSERT_NO_FATAL_FAILURE(OpenFollower());
      is_within_ = false;
    }
  }
  Follow();
  EXPECT_GT(views_, 50u);
  EXPECT_GT(flagged_, 0u);
  EXPECT_GT(crashes_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FollowModelTest, testing::Range(uint64_t{0}, uint64_t{24}));

}  // namespace
}  // namespace lsm
