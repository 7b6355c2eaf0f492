// A real disk that is full: a small tmpfs, if the test may mount one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/support/dice.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;
using testing_support::StatusIs;

class RealDiskTest : public testing::Test {
 protected:
  // Mounts are private to this thread and its children, and end with it.
  void SetUp() override {
    is_mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
                  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                  ::mount("tmpfs", scratch_.path().c_str(), "tmpfs", 0, "size=16m") == 0;
    if (!is_mounted_) std::puts("not tested: no file system can be mounted here");
    options_.write_buffer_bytes = 1 << 20;
    options_.table_bytes = 1 << 20;
    options_.compression = Compression::kNone;
  }
  void TearDown() override {
    db_ = nullptr;
    if (is_mounted_) ::umount2(scratch_.path().c_str(), MNT_DETACH);
  }

  absl::Status Open() {
    db_ = nullptr;
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(scratch_.path_of("store"), options_));
    return absl::OkStatus();
  }
  static std::string Key(int i) { return Concat("k", 100'000 + i); }
  static std::string Value(int i) {
    Dice dice(static_cast<uint64_t>(i + 1));
    std::string value(1000, '\0');
    for (char& c : value) c = static_cast<char>(dice.Next());
    return value;
  }
  // Writes until the disk is full.
  void Fill() {
    while (db_->Put(Key(puts_), Value(puts_)).ok()) ASSERT_LT(++puts_, 40'000);
  }

  const testing_support::ScratchDir scratch_;
  bool is_mounted_ = false;
  Options options_;
  std::unique_ptr<DB> db_;
  int puts_ = 0;
};

// A reserve as large as that for the tables would not fit there.
TEST_F(RealDiskTest, LogsMayHaveASmallPartition) {
  if (!is_mounted_) return;
  options_.log_directory = scratch_.path_of("logs");
  ASSERT_EQ(::mkdir(options_.log_directory.c_str(), 0700), 0);
  ASSERT_EQ(::mount("tmpfs", options_.log_directory.c_str(), "tmpfs", 0, "size=3m"), 0);
  const auto unmount = absl::MakeCleanup([this] {
    db_ = nullptr;
    ::umount2(options_.log_directory.c_str(), MNT_DETACH);
  });
  ASSERT_OK(Open());
  for (int i = 0; i < 6000; ++i) {
    const absl::Status status = db_->Put(Key(i % 3000), Value(i));
    if (!status.ok()) {
      ASSERT_OK(db_->Resume());
    }
  }
  ASSERT_OK(db_->Flush());
  EXPECT_OK(db_->Put("more", "x"));
  // After the full disk the whole reserve is built again.
  db_ = nullptr;
  ASSERT_EQ(::unlink((options_.log_directory + "/RESERVE").c_str()), 0);
  ASSERT_OK(Open());
  EXPECT_OK(db_->Put("more", "y"));
}

// After a failed put, a compaction may still free a little space.  Sooner or later it cannot.
TEST_F(RealDiskTest, StoresWithoutAReserveAreStuck) {
  if (!is_mounted_) return;
  options_.reserve_bytes = 0;
  ASSERT_OK(Open());
  absl::Status resumed, opened;
  for (int round = 0; resumed.ok() || opened.ok(); ++round) {
    ASSERT_LT(round, 100) << "puts: " << puts_;
    ASSERT_NO_FATAL_FAILURE(Fill());
    resumed = db_->Resume();
    if (!resumed.ok()) opened = Open();
  }
  EXPECT_THAT(resumed, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(opened, StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(RealDiskTest, StoresWithAReserveCanDelete) {
  if (!is_mounted_) return;
  for (const bool resumes : {true, false}) {
    ASSERT_OK(Open());
    Fill();
    ASSERT_OK(resumes ? db_->Resume() : Open());
    const auto call = [&](const auto& what) {
      absl::Status status = what();
      // It may fail once, while the reserve is still held.
      if (!status.ok()) {
        EXPECT_OK(db_->Resume());
        status = what();
      }
      return status;
    };
    for (int i = 0; i < puts_; ++i) {
      if (i % 10 == 0) continue;
      ASSERT_OK(call([&] { return db_->Delete(Key(i)); })) << i;
    }
    ASSERT_OK(call([&] { return db_->CompactRange(); }));
    ASSERT_OK(db_->Put("more", "x"));
    EXPECT_EQ(db_->GetStatistics().puts_refused, 0u);
    for (int i = 0; i < puts_; ++i) {
      ASSERT_OK_AND_ASSIGN(const auto value, db_->Get(Key(i)));
      ASSERT_EQ(value.value_or("absent"), i % 10 != 0 ? "absent" : Value(i)) << i;
    }
  }
}

}  // namespace
}  // namespace lsm
