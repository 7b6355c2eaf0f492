// Stores whose filters' keys are hashed with SipHash.
#include <cstdint>
#include <string>

#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "lsm/bytes/status.h"
#include "lsm/store/store_files.h"
#include "tests/lsm/engine/store_test.h"

namespace lsm {
namespace {

using bloom::DigestHash;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::StatusIs;

constexpr int kHashedKeys = 500;

std::string SipKey(int i) { return Concat("k", 1000 + 2 * i); }

class FilterHashTest : public StoreTest {
 protected:
  void Fill() {
    for (int i = 0; i < kHashedKeys; ++i) Put(SipKey(i), "v");
    Flush();
  }
  // Every key is found, and absent keys cause nearly no reads, so the filters work.
  void ExpectFiltersAnswer() {
    for (int i = 0; i < kHashedKeys; ++i) ASSERT_EQ(Get(SipKey(i)), "v");
    const uint64_t before = db_->GetStatistics().total.reads_avoided;
    for (int i = 0; i < kHashedKeys; ++i) ASSERT_EQ(Get(SipKey(i) + "x"), "absent");
    EXPECT_GE(db_->GetStatistics().total.reads_avoided - before, kHashedKeys * 9 / 10);
    EXPECT_EQ(db_->GetStatistics().filter_false_negatives, 0u);
  }
};

TEST_F(FilterHashTest, StaysAsCreated) {
  options_.filter_hash = DigestHash::kSipHash;
  Open();
  Fill();
  ExpectFiltersAnswer();
  Open();
  ExpectFiltersAnswer();
  options_.filter_hash = DigestHash::kXxh3;
  Open();
  ExpectFiltersAnswer();
  Fill();
  CompactAll();
  ExpectFiltersAnswer();
  for (const std::string& path : world_.FilesOf(FileKind::kTable))
    EXPECT_THAT(world_.files->FileBytes(path), HasSubstr("siphash-2-4"));
}

TEST_F(FilterHashTest, RefusesAnotherOption) {
  Open();
  Fill();
  db_ = nullptr;
  options_.filter_hash = DigestHash::kSipHash;
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr(kStorePath), HasSubstr("filter_hash"))));
  options_.filter_hash = DigestHash::kXxh3;
  Open();
  ExpectFiltersAnswer();
}

TEST_F(FilterHashTest, SurvivesARepairWithoutAManifest) {
  options_.filter_hash = DigestHash::kSipHash;
  Open();
  Fill();
  CompactAll();
  db_ = nullptr;
  options_.filter_hash = DigestHash::kXxh3;
  for (const std::string& path : world_.FilesOf(FileKind::kManifest))
    world_.files->SetFileBytes(path, "nonsense");
  ASSERT_OK(DB::Repair(kStorePath, options_));
  Open();
  ExpectFiltersAnswer();
}

TEST_F(FilterHashTest, DrawsAllOfItsKeyAtRandom) {
  const auto draw = [](uint64_t seed, DigestHash hash) {
    testing_support::SeededRandom random(seed);
    return NewDigestSeed(hash, random);
  };
  const bloom::DigestSeed first = draw(1, DigestHash::kSipHash);
  const bloom::DigestSeed second = draw(2, DigestHash::kSipHash);
  EXPECT_NE(first.low, second.low);
  EXPECT_NE(first.high, second.high);
  EXPECT_NE(first.low, first.high);
  EXPECT_EQ(draw(1, DigestHash::kXxh3).high, 0u);
}

// An attacker who knows a store's seed can choose keys that all pass its filter.  Under the seed of
// another store they pass as often as any other keys.
TEST(ForgedKeysTest, AreUselessUnderAnotherSeed) {
  constexpr double kFpp = 0.1;
  constexpr int kForged = 20'000;
  for (const DigestHash hash : {DigestHash::kXxh3, DigestHash::kSipHash}) {
    testing_support::SeededRandom random(3);
    const bloom::DigestSeed known = NewDigestSeed(hash, random);
    const bloom::DigestSeed other = NewDigestSeed(hash, random);
    const auto filter_under = [&](const bloom::DigestSeed& seed) {
      const auto builder = bloom::PolicyFromName("blocked").value()->NewBuilder({kFpp});
      for (int i = 0; i < kForged; ++i) builder->Add(bloom::DigestOf(Concat("key", i), seed));
      return builder->Finish().value();
    };
    const std::string of_known = filter_under(known), of_other = filter_under(other);
    const auto attacked = bloom::FilterReader::Open(of_known);
    const auto asked = bloom::FilterReader::Open(of_other);
    int forged = 0, passed = 0;
    for (int i = 0; forged < kForged; ++i) {
      const std::string key = Concat("absent", i);
      if (!attacked.MayContain(bloom::DigestOf(key, known))) continue;
      ++forged;
      passed += asked.MayContain(bloom::DigestOf(key, other));
    }
    EXPECT_NEAR(static_cast<double>(passed) / kForged, kFpp, kFpp / 10);
  }
}

}  // namespace
}  // namespace lsm
