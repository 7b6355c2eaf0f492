#include "bench/read_amp/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lsm/db.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace bench {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

// A store of 100 keys.  The test can give some of them wrong values.
class MeasurementTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(db_, lsm::DB::Open(scratch_.path_of("store")));
    std::string value;
    for (uint64_t i = 0; i < 100; ++i) {
      const std::string key = DecimalKey(2 * i);
      values_.Make(key, &value);
      ASSERT_OK(db_->Put(key, value));
      present_.Add(key);
      absent_.Add(DecimalKey(2 * i + 1));
    }
    ASSERT_OK(db_->Flush());
  }

  absl::StatusOr<Measurement> MeasureAll(Workload workload, uint64_t lookups) {
    QueryStream stream(workload, present_, absent_, 0.5, 1000, 1);
    return Measure(db_.get(), &stream, values_, {0, lookups});
  }

  const testing_support::ScratchDir scratch_;
  std::unique_ptr<lsm::DB> db_;
  const ValueMaker values_{50};
  KeyList present_, absent_;
};

TEST_F(MeasurementTest, CountsRequestedLookups) {
  ASSERT_OK_AND_ASSIGN(const Measurement measurement, MeasureAll(Workload::kPresent, 1000));
  EXPECT_EQ(measurement.lookups, 1000u);
  EXPECT_EQ(measurement.counted.lookups, measurement.lookups);
  EXPECT_EQ(measurement.counted.useful_reads, measurement.lookups);
  EXPECT_GT(measurement.timed_lookups, 0u);
  EXPECT_GT(measurement.lookups_per_second, 0);
  EXPECT_LE(measurement.latency_us[0], measurement.latency_us[3]);
}

TEST_F(MeasurementTest, LooksUpTheRequestedNumber) {
  for (const uint64_t lookups : {1, 2, 15, 16, 17, 100, 1001}) {
    ASSERT_OK_AND_ASSIGN(const Measurement measurement, MeasureAll(Workload::kMixed, lookups));
    EXPECT_EQ(measurement.lookups, lookups);
    EXPECT_EQ(measurement.counted.lookups, lookups);
    EXPECT_GT(measurement.timed_lookups, 0u) << lookups;
    EXPECT_GT(measurement.lookups_per_second, 0) << lookups;
  }
}

TEST(LookupsAreSlowTest, InterruptedGroupsDecideNothing) {
  constexpr double kFast = 16 * 400, kSlow = 16 * 100000.0;
  EXPECT_FALSE(LookupsAreSlow({kFast, kFast, kFast, kFast, kFast}));
  EXPECT_FALSE(LookupsAreSlow({kSlow, kFast, kFast, kSlow, kFast}));
  EXPECT_TRUE(LookupsAreSlow({kFast, kSlow, kSlow, kSlow, kSlow}));
}

TEST(TimedLookupsForTest, TwoLookupsLieBeyondThePercentile) {
  EXPECT_EQ(TimedLookupsFor(0.5), 4u);
  EXPECT_EQ(TimedLookupsFor(0.99), 200u);
  EXPECT_EQ(TimedLookupsFor(0.999), 2000u);
}

TEST(WarmByScanTest, FillsTheRequestedCache) {
  const testing_support::ScratchDir scratch;
  lsm::Options options;
  options.block_cache_bytes = size_t{4} << 20;
  options.block_bytes = 65536;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<lsm::DB> db,
                       lsm::DB::Open(scratch.path_of("store"), options));
  const ValueMaker values{100};
  std::string value;
  for (uint64_t i = 0; i < 100000; ++i) {
    const std::string key = DecimalKey(i);
    values.Make(key, &value);
    ASSERT_OK(db->Put(key, value));
  }
  ASSERT_OK(db->Flush());
  EXPECT_EQ(CacheFill(db.get()), 0);
  ASSERT_OK(WarmByScan(db.get(), 0.3));
  EXPECT_GE(CacheFill(db.get()), 0.3);
  EXPECT_LT(CacheFill(db.get()), 0.9);
  ASSERT_OK(WarmByScan(db.get(), 0.95));
  EXPECT_GE(CacheFill(db.get()), 0.9);
}

TEST_F(MeasurementTest, MissingStoredKeysAreErrors) {
  ASSERT_OK(db_->Delete(DecimalKey(84)));
  EXPECT_THAT(MeasureAll(Workload::kPresent, 1000),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("0000000000000084")));
  EXPECT_OK(MeasureAll(Workload::kAbsent, 1000));
}

TEST_F(MeasurementTest, FoundAbsentKeysAreErrors) {
  ASSERT_OK(db_->Put(DecimalKey(85), ""));
  EXPECT_THAT(MeasureAll(Workload::kAbsent, 1000),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("0000000000000085")));
  EXPECT_OK(MeasureAll(Workload::kPresent, 1000));
}

TEST_F(MeasurementTest, WrongValuesAreErrors) {
  std::string value;
  values_.Make(DecimalKey(84), &value);
  value.back() ^= 1;
  ASSERT_OK(db_->Put(DecimalKey(84), value));
  EXPECT_THAT(MeasureAll(Workload::kMixed, 1000),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("its value")));
}

}  // namespace
}  // namespace bench
