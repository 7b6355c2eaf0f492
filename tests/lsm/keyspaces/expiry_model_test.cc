// Random steps in keyspaces whose entries expire, beside a model with a clock that the test sets.
//
// The model keeps for each key its newest version with its time, since no older one may ever be
// seen.  After the clock was set back and the store was opened again, a version that had expired
// may be seen or not.  A snapshot shows for all its life what it showed at first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/snapshot.h"
#include "tests/lsm/keyspaces/expiry_fixture.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;

constexpr int kModelKeys = 40;

struct ModelPut {
  std::string value;
  std::optional<uint64_t> time;  // nullopt: from before the first limit
  bool has_expired = false;      // at some time
};

// One keyspace.
struct ModelKeyspace {
  std::map<std::string, ModelPut> versions;  // the newest of each key, if that is a put
  uint64_t seconds = 0, cutoff = 0, timed_from = 0;

  uint64_t LiveFrom(uint64_t now) const {
    return std::max(cutoff, seconds == 0 || now < seconds ? 0 : now - seconds);
  }
  bool IsExpired(const ModelPut& version, uint64_t now) const {
    return timed_from != 0 && version.time.value_or(timed_from) < LiveFrom(now);
  }
  void NoteTime(uint64_t now) {
    for (auto& [key, version] : versions) version.has_expired |= IsExpired(version, now);
  }
  void SetLimit(uint64_t limit, uint64_t now) {
    cutoff = timed_from == 0 ? 0 : LiveFrom(now);
    if (timed_from == 0 && limit != 0) timed_from = now;
    seconds = limit;
    NoteTime(now);
  }
  void NoteOpening(uint64_t now) { cutoff = std::min(cutoff, now); }
};

class ExpiryModelTest : public ExpiryTest, public testing::WithParamInterface<uint64_t> {
 protected:
  struct Held {
    std::unique_ptr<const Snapshot> snapshot;
    std::vector<std::string> shown;  // by keyspaces
  };

  // The pairs that a scan shows.  Get must agree for each key.
  std::string Show(size_t place, const ReadOptions& options = {}) {
    const std::string shown = Scan(keyspaces_[place], options);
    std::string gets;
    for (int i = 0; i < kModelKeys; ++i) {
      const std::string key = KeyOf(i), value = Get(keyspaces_[place], key, options);
      if (value != "absent") gets += Concat(gets.empty() ? "" : " ", key, "=", value);
    }
    EXPECT_EQ(gets, shown);
    return shown;
  }
  static std::string KeyOf(int number) { return Concat("key", 10 + number); }

  // Returns what the store shows, after comparing it with the model.
  std::string Check(size_t place) {
    ModelKeyspace& model = models_[place];
    const uint64_t now = clock_.seconds();
    model.NoteTime(now);
    const std::string shown = Show(place);
    for (int i = 0; i < kModelKeys; ++i) {
      const std::string key = KeyOf(i), value = Get(keyspaces_[place], key);
      const auto version = model.versions.find(key);
      if (value == "absent") {
        const bool may_be_absent = version == model.versions.end() || version->second.has_expired;
        EXPECT_TRUE(may_be_absent) << key << " is lost";
      } else {
        EXPECT_TRUE(version != model.versions.end() && version->second.value == value &&
                    !model.IsExpired(version->second, now))
            << key << " is " << value;
      }
    }
    return shown;
  }

  void Reopen(bool sets_back) {
    held_.clear();
    db_ = nullptr;
    if (sets_back) clock_.Set(clock_.seconds() - dice_.Roll(60));
    ASSERT_NO_FATAL_FAILURE(Open());
    for (size_t i = 0; i < keyspaces_.size(); ++i) {
      keyspaces_[i] = OpenKeyspace(names_[i]);
      models_[i].NoteOpening(clock_.seconds());
    }
  }

  void Step() {
    const size_t place = dice_.Roll(keyspaces_.size());
    Keyspace& keyspace = keyspaces_[place];
    ModelKeyspace& model = models_[place];
    const std::string key = KeyOf(static_cast<int>(dice_.Roll(kModelKeys)));
    const uint64_t roll = dice_.Roll(100);
    if (roll < 50) {
      const std::string value = Concat("v", ++writes_, std::string(dice_.Roll(400), '.'));
      ASSERT_OK(keyspace.Put(key, value));
      model.versions[key] = {
          value, model.timed_from == 0 ? std::nullopt : std::optional(clock_.seconds())};
    } else if (roll < 58) {
      ASSERT_OK(keyspace.Delete(key));
      model.versions.erase(key);
    } else if (roll < 61) {
      const std::string to = KeyOf(static_cast<int>(dice_.Roll(kModelKeys)));
      ASSERT_OK(keyspace.DeleteRange(key, to));
      if (key < to)
        model.versions.erase(model.versions.lower_bound(key), model.versions.lower_bound(to));
    } else if (roll < 75) {
      clock_.Add(dice_.Roll(20));
      for (size_t i = 0; i < keyspaces_.size(); ++i) {
        models_[i].NoteTime(clock_.seconds());
        Get(keyspaces_[i], key);  // so that the store has seen the time
      }
    } else if (roll < 81) {
      Flush();
    } else if (roll < 84) {
      ASSERT_OK(keyspace.CompactRange());
    } else if (roll < 87) {
      Settle();
    } else if (roll < 90) {
      constexpr uint32_t kLimits[] = {0, 5, 20, 20, 50, 1000};
      const uint32_t limit = kLimits[dice_.Roll(std::size(kLimits))];
      const bool changes = limit != model.seconds;
      OpenKeyspace(names_[place], {.expire_after = limit});
      if (changes) model.SetLimit(limit, clock_.seconds());
    } else if (roll < 93 && held_.size() < 4) {
      Held& held = held_.emplace_back();
      held.snapshot = db_->GetSnapshot();
      for (size_t i = 0; i < keyspaces_.size(); ++i) {
        held.shown.push_back(Check(i));
        EXPECT_EQ(Show(i, {.snapshot = held.snapshot.get()}), held.shown[i]);
      }
    } else if (roll < 97 && !held_.empty()) {
      const size_t number = dice_.Roll(held_.size());
      const Held& held = held_[number];
      for (size_t i = 0; i < keyspaces_.size(); ++i)
        EXPECT_EQ(Show(i, {.snapshot = held.snapshot.get()}), held.shown[i]) << "snapshot";
      if (dice_.Roll(2) == 0) held_.erase(held_.begin() + static_cast<ptrdiff_t>(number));
    } else if (roll == 97) {
      Reopen(dice_.Roll(3) == 0);
    } else {
      Check(place);
    }
  }

  Dice dice_{GetParam()};
  const std::vector<std::string> names_ = {"default", "common", "own", "other"};
  std::vector<Keyspace> keyspaces_;
  std::vector<ModelKeyspace> models_;
  std::vector<Held> held_;
  uint64_t writes_ = 0;
};

TEST_P(ExpiryModelTest, AgreesWithTheModel) {
  ASSERT_NO_FATAL_FAILURE(Open());
  MakeOwnTrees({"own"});
  for (const std::string& name : names_) {
    keyspaces_.push_back(OpenKeyspace(name));
    models_.emplace_back();
  }
  for (int step = 0; step < 2500 && !HasFailure(); ++step) {
    SCOPED_TRACE(Concat("seed ", GetParam(), ", step ", step));
    ASSERT_NO_FATAL_FAILURE(Step());
  }
  ASSERT_OK(db_->Verify().status());
}
INSTANTIATE_TEST_SUITE_P(Seeds, ExpiryModelTest, testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace lsm
