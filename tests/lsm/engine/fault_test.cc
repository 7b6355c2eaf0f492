// One file-system operation of a workload fails, or all from one on: every call gives an error or
// the truth, and opening the store again brings back all that was acknowledged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "tests/lsm/engine/script.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using Unsynced = MemoryFileSystem::Unsynced;

using testing_support::kStride;

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// A workload on a machine whose operations [from, to) fail.
class Trial {
 public:
  Trial(uint64_t seed, uint64_t from, uint64_t to)
      : world_(seed), dice_(seed), from_(from), lasts_(to == kNever) {
    world_.files->SetFault([this, to](FileOperation operation, const std::string& path,
                                      uint64_t number) -> absl::Status {
      if (number < from_ || number >= to || healed_) return absl::OkStatus();
      faulted_ = true;
      const std::string message = Concat(path, ": ", NameOf(operation), ": injected");
      return from_ % 2 == 0 ? absl::UnavailableError(message)
                            : absl::ResourceExhaustedError(message);
    });
  }

  // Goes on for a while after a failure.  Returns how many operations there were.
  uint64_t Run(const std::vector<Step>& script) {
    for (const Step& step : script) {
      Make(step);
      if (testing::Test::HasFailure()) break;
      CheckSome();
      if (testing::Test::HasFailure()) break;
    }
    const uint64_t operations = world_.files->operation_count();
    healed_ = true;
    if (!testing::Test::HasFailure()) CheckEnd();
    return operations;
  }

  bool faulted() const { return faulted_; }

 private:
  void Make(const Step& step) {
    if (step.kind == Step::kReopen) return Reopen();
    if (db_ == nullptr) return;
    const bool had_faulted = faulted_;
    absl::Status status;
    switch (step.kind) {
      case Step::kWrite:
        status = WriteCommit(*db_, step.commit, step.sync);
        if (status.ok()) {
          EXPECT_FALSE(failed_commit_.has_value()) << "a write follows one whose fate is unknown";
          Apply(step.commit, &contents_);
          ledger_.commits.push_back(step.commit);
          ledger_.acknowledged = ledger_.commits.size();
        } else if (!failed_commit_) {
          failed_commit_ = step.commit;
        }
        break;
      case Step::kFlush:
        status = db_->Flush();
        break;
      case Step::kCompact:
        status = db_->CompactRange();
        break;
      case Step::kBackground:
        status = db_->WaitForBackgroundWork();
        break;
      case Step::kReopen:
        break;
    }
    EXPECT_TRUE(status.ok() || had_faulted || faulted_) << status;
    if (status.ok() && (step.sync || step.kind == Step::kFlush || step.kind == Step::kCompact))
      ledger_.durable = ledger_.acknowledged;
  }

  void Reopen() {
    db_ = nullptr;
    const bool had_faulted = faulted_;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, ScriptOptions(world_));
    if (!db.ok()) {
      EXPECT_TRUE(lasts_ ? faulted_ && !healed_ : faulted_ && !had_faulted) << db.status();
      healed_ = true;  // also a fault that lasts
      db = DB::Open(kStorePath, ScriptOptions(world_));
    }
    ASSERT_OK(db);
    db_ = *std::move(db);
    Settle();
    ledger_.durable = ledger_.acknowledged;
  }

  // Whether the write that failed is there after all.
  void Settle() {
    absl::StatusOr<Contents> found = ReadAll(*db_);
    if (!found.ok() && faulted_ && !healed_) {  // it is the fault's turn
      healed_ = true;
      found = ReadAll(*db_);
    }
    ASSERT_OK(found);
    if (*found != contents_ && failed_commit_) {
      Apply(*failed_commit_, &contents_);
      ledger_.commits.push_back(*failed_commit_);
      ledger_.acknowledged = ledger_.commits.size();
    }
    EXPECT_EQ(*found, contents_);
    failed_commit_ = std::nullopt;
  }

  // Reads see exactly what was acknowledged, or fail; a fault that does not last fails one of them.
  void CheckSome() {
    if (db_ == nullptr) return;
    const std::vector<std::string> keys = {"last commit", Concat("key", dice_.Roll(24)), "", "no"};
    for (const std::string& key : keys) {
      const absl::StatusOr<std::optional<std::string>> value = db_->Get(key);
      EXPECT_TRUE(value.ok() || faulted_) << value.status();
      if (!value.ok()) continue;
      const auto place = contents_.find(key);
      EXPECT_EQ(*value, place == contents_.end() ? std::nullopt : std::optional(place->second));
    }
    if (!dice_.OneIn(8)) return;
    const absl::StatusOr<Contents> all = ReadAll(*db_);
    EXPECT_TRUE(all.ok() || faulted_) << all.status();
    if (all.ok()) {
      EXPECT_EQ(*all, contents_);
    }
    const std::unique_ptr<Iterator> iterator = db_->NewIterator();
    auto expected = contents_.rbegin();
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev(), ++expected) {
      ASSERT_NE(expected, contents_.rend());
      ASSERT_EQ(iterator->key(), expected->first);
      ASSERT_EQ(iterator->value(), expected->second);
    }
    EXPECT_TRUE(faulted_ || iterator->status().ok());
    EXPECT_TRUE(!iterator->status().ok() || expected == contents_.rend());
  }

  void CheckEnd() {
    {
      SCOPED_TRACE("after a crash");
      const std::unique_ptr<MemoryFileSystem> image = world_.files->Clone();
      image->Restart(Unsynced::kLost);
      World world(97, image->Clone());
      const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, ScriptOptions(world));
      ASSERT_OK(db);
      Ledger ledger = ledger_;
      if (failed_commit_) ledger.commits.push_back(*failed_commit_);
      const absl::StatusOr<Contents> found = ReadAll(**db);
      ASSERT_OK(found);
      EXPECT_TRUE(ledger.Match(*found, ledger.durable).has_value());
    }
    SCOPED_TRACE("opened again");
    Reopen();
    if (db_ == nullptr) return;
    Make({Step::kWrite, {{"key3", "further"}, {"last commit", "further"}}, true});
    CheckSome();
    Reopen();
  }

  World world_;
  Dice dice_;
  const uint64_t from_;
  const bool lasts_;
  bool faulted_ = false;
  bool healed_ = false;
  std::unique_ptr<DB> db_;
  Contents contents_;  // what reads must see
  Ledger ledger_;
  std::optional<Commit> failed_commit_;  // the first since the store was opened
};

void FailEverywhere(uint64_t seed, size_t steps, uint64_t length) {
  const std::vector<Step> script = MakeScript(seed, steps);
  const uint64_t operations = Trial(seed, kNever, kNever).Run(script);
  ASSERT_GT(operations, 100u);
  uint64_t runs = 0;
  for (uint64_t at = 0; at < operations; at += kStride) {
    SCOPED_TRACE(Concat("seed ", seed, ", ", length == 1 ? "only " : "from ", "operation ", at));
    Trial trial(seed, at, length == kNever ? kNever : at + length);
    trial.Run(script);
    EXPECT_TRUE(trial.faulted());
    if (testing::Test::HasFailure()) return;
    ++runs;
  }
  std::printf("seed %llu: %llu operations, %llu runs\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(operations), static_cast<unsigned long long>(runs));
}

TEST(FaultTest, OneOperationOfAWorkloadFails) { FailEverywhere(3, 120, 1); }
TEST(FaultTest, AllOperationsFromOneOnFail) { FailEverywhere(4, 120, kNever); }

}  // namespace
}  // namespace lsm
