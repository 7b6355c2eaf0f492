// Functions that promise ResourceExhausted also return it if operator new fails, instead of
// throwing std::bad_alloc.  (The memory for bits comes from malloc, whose result is checked at
// once.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/counting.h"
#include "bloom/filter_policy.h"
#include "bloom/literature/digests_by_bit.h"
#include "bloom/literature/retouched.h"
#include "bloom/static_filter.h"
#include "tests/bloom/kinds.h"

namespace {

// The largest allocation that succeeds.
size_t largest_allocation = std::numeric_limits<size_t>::max();

// This many allocations succeed, the next one fails, and all others succeed.
size_t allocations_before_failure = std::numeric_limits<size_t>::max();

class LimitAllocations {
 public:
  explicit LimitAllocations(size_t bytes) { largest_allocation = bytes; }
  ~LimitAllocations() { largest_allocation = std::numeric_limits<size_t>::max(); }
};

class FailAllocation {
 public:
  explicit FailAllocation(size_t number) { allocations_before_failure = number; }
  ~FailAllocation() { allocations_before_failure = std::numeric_limits<size_t>::max(); }
};

}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  if (allocations_before_failure-- > 0 && bytes <= largest_allocation) {
    if (void* const block = std::malloc(bytes > 0 ? bytes : 1); block != nullptr) return block;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { std::free(block); }

namespace {

using bloom::StaticFilter;

constexpr size_t kKeys = 20'000;

// Runs `make` with growing limits until it succeeds.  Returns the number of failures.
template <class Make>
int FailuresOf(Make make) {
  int failures = 0;
  // Messages and similar allocations are smaller and may succeed.
  for (size_t bytes = 2048;; bytes *= 2) {
    const absl::Status status = [&] {
      const LimitAllocations limit(bytes);
      return make();
    }();
    if (status.ok()) return failures;
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status << " at " << bytes;
    EXPECT_LT(bytes, size_t{1} << 30);
    if (testing::Test::HasFailure()) return failures;
    ++failures;
  }
}

TEST(MemoryTest, BuildersReportMissingMemory) {
  const auto digests = testing_support::DigestsOfKeys(0, kKeys);
  bloom::KeyedKinds::ForEach([&]<class Kind>(Kind) {
    const auto policy = bloom::PolicyFromName(Kind::kName).value();
    const int failures = FailuresOf([&] {
      const auto builder = policy->NewBuilder({.target_fpp = 1e-9});
      for (const bloom::Digest digest : digests) builder->Add(digest);
      return builder->Finish().status();
    });
    // Fails with 2 to 128 KiB: the digests take 256.
    EXPECT_GE(failures, 7) << Kind::kName;
  });
}

TEST(MemoryTest, BuildersReportMissingMemoryInFinish) {
  auto different = testing_support::DigestsOfKeys(0, 300'000);
  auto repeated = different;
  for (size_t i = 10; i < repeated.size(); ++i) repeated[i] = repeated[i - 10];
  bloom::KeyedKinds::ForEach([&]<class Kind>(Kind) {
    for (const auto& digests : {different, repeated}) {
      const auto builder =
          bloom::PolicyFromName(Kind::kName).value()->NewBuilder({.target_fpp = 1e-6});
      for (const bloom::Digest digest : digests) builder->Add(digest);
      // Fails with 2 to 512 KiB: the bytes take 780 or more.
      EXPECT_GE(FailuresOf([&] { return builder->Finish().status(); }), 9) << Kind::kName;
    }
  });
}

TEST(MemoryTest, StaticAndCountingFiltersReportMissingMemory) {
  const auto digests = testing_support::DigestsOfKeys(0, kKeys);
  const std::vector<std::string_view> keys(kKeys, "apple");
  EXPECT_GE(FailuresOf([&] { return StaticFilter::OfKeys("ribbon", keys, 0.01).status(); }), 7);
  EXPECT_GE(FailuresOf([&] { return StaticFilter::OfDigests("ribbon", digests, 1e-9).status(); }),
            7);
  const auto counting = bloom::CountingFilter::Make(kKeys, 0.01).value();
  EXPECT_GE(FailuresOf([&] { return counting.SerializeAsStandard().status(); }), 4);
}

TEST(MemoryTest, RetouchedFiltersAddKeysWithoutMemory) {
  auto filter = bloom::RetouchedFilter::Make(kKeys, 0.01).value();
  const auto digests = testing_support::DigestsOfKeys(0, kKeys);
  for (size_t i = 0; i < kKeys; ++i) {
    const LimitAllocations limit(i < kKeys / 2 ? 64 << 10 : 1 << 20);
    filter.AddDigest(digests[i]);
  }
  for (const bloom::Digest digest : digests) ASSERT_TRUE(filter.MayContainDigest(digest));
  EXPECT_EQ(filter.added_count(), kKeys);
  // 64 KiB hold the links of some keys of the first half, at four bytes per probe.  In the second
  // half there is room again.
  const uint64_t lists = filter.bookkeeping_bytes() - 4 * filter.size_bits();
  EXPECT_GT(lists / (8 + 4 * 7), kKeys / 2 + 1000);
  EXPECT_LT(lists / (8 + 4 * 7), kKeys / 2 + 64 * 1024 / (4 * 7) + 50);
  // They are still consistent: weighed bits can be cleared.
  for (uint64_t i = 0; i < 1'000'000; ++i)
    ASSERT_TRUE(filter.AddFalsePositiveDigest(testing_support::DigestOfKey(kKeys + i)).ok());
  const uint64_t known = filter.known_false_positive_count();
  EXPECT_GT(known, 9000u);
  EXPECT_LE(filter.ClearKnownFalsePositives(bloom::ClearingScheme::kRatio).value(), known);
  for (uint64_t i = 0; i < 1'000'000; ++i)
    ASSERT_FALSE(filter.MayContainDigest(testing_support::DigestOfKey(kKeys + i)));
}

// Refuses exactly the additions that need more memory than the lists have.
TEST(MemoryTest, DigestListsFillTheirRoom) {
  using Kind = bloom::DigestsByBit::Kind;
  using Digests = std::vector<bloom::Digest>;
  auto lists = bloom::DigestsByBit::Make(50, 3, 7).value();
  ASSERT_TRUE(lists.Reserve(4).ok());
  for (const bloom::Digest digest : {1, 2, 3}) ASSERT_TRUE(lists.Put(digest, Kind::kKey));
  bool put, put_another, put_new;
  {
    const LimitAllocations limit(0);
    put = lists.Put(4, Kind::kFalsePositive);
    put_another = lists.Put(5, Kind::kKey);
    put_new = lists.PutNew(6, Kind::kFalsePositive);
  }
  EXPECT_TRUE(put && !put_another && !put_new);
  EXPECT_EQ(lists.Sorted(Kind::kKey), Digests({1, 2, 3}));
  EXPECT_EQ(lists.Sorted(Kind::kFalsePositive), Digests({4}));
  // A digest that is present needs no memory, and a removed one frees some.
  bool changed, removed;
  {
    const LimitAllocations limit(0);
    changed = lists.Put(4, Kind::kKey);
    removed = lists.Remove(1);
    put = lists.Put(5, Kind::kKey);
  }
  EXPECT_TRUE(changed && removed && put);
  EXPECT_EQ(lists.Sorted(Kind::kKey), Digests({2, 3, 4, 5}));
  EXPECT_EQ(lists.Count(Kind::kFalsePositive), 0u);
  Digests at_bits;
  for (uint64_t bit = 0; bit < 50; ++bit)
    lists.ForEachAt(bit, [&](bloom::Digest digest, Kind) { at_bits.push_back(digest); });
  std::sort(at_bits.begin(), at_bits.end());
  at_bits.erase(std::unique(at_bits.begin(), at_bits.end()), at_bits.end());
  EXPECT_EQ(at_bits, Digests({2, 3, 4, 5}));
}

// Whichever allocation fails.
TEST(MemoryTest, RetouchedFiltersMergeOrStayUnchanged) {
  auto other = bloom::RetouchedFilter::Make(1000, 0.01).value();
  for (const bloom::Digest digest : testing_support::DigestsOfKeys(1000, 3000))
    other.AddDigest(digest);
  size_t failures = 0;
  for (;; ++failures) {
    auto filter = bloom::RetouchedFilter::Make(1000, 0.01).value();
    for (const bloom::Digest digest : testing_support::DigestsOfKeys(0, 1000))
      filter.AddDigest(digest);
    for (uint64_t i = 10'000; filter.known_false_positive_count() < 10; ++i)
      ASSERT_TRUE(filter.AddFalsePositiveDigest(testing_support::DigestOfKey(i)).ok());
    const std::string before = filter.Serialize();
    absl::Status status;
    {
      const FailAllocation fail(failures);
      status = filter.Merge(other);
    }
    if (status.ok()) break;
    ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
    ASSERT_TRUE(filter.Serialize() == before) << failures;
  }
  EXPECT_EQ(failures, 3u);  // of digests, of their kinds, of links
}

TEST(MemoryTest, RetouchedFiltersReportMissingMemory) {
  // So overfilled that it passes everything.
  auto filter = bloom::RetouchedFilter::Make(10, 0.01).value();
  for (const bloom::Digest digest : testing_support::DigestsOfKeys(0, 3000))
    filter.AddDigest(digest);
  const auto others = testing_support::DigestsOfKeys(3000, 5000);
  const auto other = bloom::RetouchedFilter::Load(filter.Serialize()).value();
  const std::string before = filter.Serialize();
  {
    const LimitAllocations limit(32 << 10);
    EXPECT_TRUE(absl::IsResourceExhausted(filter.Merge(other)));
  }
  EXPECT_TRUE(filter.Serialize() == before);
  EXPECT_GE(FailuresOf([&] {
              for (const bloom::Digest digest : others) {
                const absl::Status status = filter.AddFalsePositiveDigest(digest).status();
                if (!status.ok()) return status;
              }
              return absl::OkStatus();
            }),
            4);
  EXPECT_EQ(filter.known_false_positive_count(), others.size());
}

}  // namespace
