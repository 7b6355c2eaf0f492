#include "lsm/block/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "lsm/block/block_iterator.h"
#include "lsm/block/signposts.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/shared_prefix.h"
#include "lsm/table/block_cache.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::HasSubstr;
using ::testing_support::StatusIs;

std::string BlockBytes(const Model& model, int restart_interval) {
  BlockBuilder builder(restart_interval);
  for (const auto& [key, value] : model) builder.Add(key, value);
  return std::string(builder.Finish());
}

CachedBlock* NewCachedBlock(std::string_view bytes, std::string_view largest_user_key) {
  Block block;
  EXPECT_TRUE(block.Init(bytes));
  SignpostPlan plan;
  EXPECT_EQ(InspectDataBlock(block, {std::nullopt, largest_user_key}, &plan), "");
  return CachedBlock::New(block, plan, /*stays=*/true);
}

// The block's contents in the model's form.
template <typename AnyBlock>
Answer AskBlock(const AnyBlock& block, std::string_view user_key, Sequence sequence,
                bool* skipped_newer = nullptr) {
  const LookupKey key(user_key, sequence, 0);
  Block::Hit hit;
  const Block::Answer answer = block.Find(key, &hit);
  EXPECT_NE(answer, Block::Answer::kDamaged) << Escape(user_key);
  if (skipped_newer != nullptr) *skipped_newer = hit.skipped_newer;
  if (answer != Block::Answer::kFound) return {};
  const bool is_delete = (hit.suffix & 0xff) == static_cast<uint8_t>(EntryKind::kDelete);
  return {is_delete ? TableAnswer::kDeleted : TableAnswer::kFound, std::string(hit.value),
          hit.suffix};
}

class BlockModelTest : public ::testing::TestWithParam<std::tuple<KeyShape, int>> {};
INSTANTIATE_TEST_SUITE_P(All, BlockModelTest,
                         ::testing::Combine(::testing::ValuesIn(kKeyShapes),
                                            ::testing::Values(1, 2, 16, 1000)));

TEST_P(BlockModelTest, LookupsMatchTheModel) {
  const auto [shape, restart_interval] = GetParam();
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Dice dice(seed);
    const Model model =
        RandomModel(shape, shape == KeyShape::kHuge ? 20 : 300, seed % 4 == 3 ? 40 : 2, 60, &dice);
    const std::string bytes = BlockBytes(model, restart_interval);
    Block block;
    ASSERT_TRUE(block.Init(bytes));
    const BlockRef cached(NewCachedBlock(bytes, UserKeyOf(model.rbegin()->first)));
    for (int i = 0; i < 1000; ++i) {
      const std::string probe = RandomProbe(shape, model, &dice);
      const Sequence as_of = dice.OneIn(3) ? kSequenceMax : dice.Roll(100000);
      const Answer expected = AskModel(model, probe, as_of);
      const bool is_newer_there = AskModel(model, probe, kSequenceMax) != expected;
      bool skipped_newer = false;
      ASSERT_EQ(AskBlock(block, probe, as_of, &skipped_newer), expected)
          << "seed " << seed << ", " << Escape(probe, 80);
      ASSERT_EQ(skipped_newer, is_newer_there) << "seed " << seed << ", " << Escape(probe, 80);
      ASSERT_EQ(AskBlock(*cached.get(), probe, as_of, &skipped_newer), expected)
          << "seed " << seed << ", " << Escape(probe, 80);
      ASSERT_EQ(skipped_newer, is_newer_there) << "seed " << seed << ", " << Escape(probe, 80);
    }
  }
}

TEST_P(BlockModelTest, SeeksMatchTheModel) {
  const auto [shape, restart_interval] = GetParam();
  Dice dice(99);
  const Model model = RandomModel(shape, shape == KeyShape::kHuge ? 10 : 100, 3, 20, &dice);
  const std::string bytes = BlockBytes(model, restart_interval);
  Block block;
  ASSERT_TRUE(block.Init(bytes));
  const auto iterator = block.NewIterator(/*internal_keys=*/true, "here");
  for (int i = 0; i < 500; ++i) {
    const std::string target = InternalKey(RandomProbe(shape, model, &dice), dice.Roll(30000));
    iterator->Seek(target);
    auto at = model.lower_bound(target);
    ASSERT_EQ(iterator->Valid(), at != model.end());
    if (at != model.end()) {
      ASSERT_EQ(iterator->key(), at->first);
    }
    iterator->SeekForPrev(target);
    at = model.upper_bound(target);
    ASSERT_EQ(iterator->Valid(), at != model.begin());
    if (at != model.begin()) {
      ASSERT_EQ(iterator->key(), std::prev(at)->first);
    }
    ASSERT_OK(iterator->status());
  }
}

TEST_P(BlockModelTest, SignpostsFindTheLowerBound) {
  const auto [shape, restart_interval] = GetParam();
  Dice dice(7);
  const Model model = RandomModel(shape, shape == KeyShape::kHuge ? 20 : 300, 2, 60, &dice);
  const std::string largest(UserKeyOf(model.rbegin()->first));
  const BlockRef cached(NewCachedBlock(BlockBytes(model, restart_interval), largest));
  int asked = 0, landed = 0;
  for (const auto& [key, value] : model) {
    const std::string user_key(UserKeyOf(key));
    ++asked;
    const auto landing = cached->block().LandAt(user_key, cached->signposts());
    if (!landing) continue;
    ++landed;
    const auto at = model.lower_bound(InternalKey(user_key, kSequenceMax));
    ASSERT_LE(landing->entry.shared, user_key.size());
    ASSERT_EQ(user_key.substr(0, landing->entry.shared) + std::string(landing->entry.key_tail),
              at->first);
    ASSERT_EQ(landing->entry.value, at->second);
  }
  // Heads that end in zeros do not decide a comparison.
  EXPECT_GE(landed, shape == KeyShape::kDecimal || shape == KeyShape::kBinary ? asked / 2 : 0);
  const auto beyond = cached->block().LandAt(largest + "\xff", cached->signposts());
  EXPECT_FALSE(beyond.has_value()) << "there is no such entry";
}

TEST_P(BlockModelTest, SignpostSeeksContinueBothWays) {
  const auto [shape, restart_interval] = GetParam();
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Dice dice(seed);
    const Model model =
        RandomModel(shape, shape == KeyShape::kHuge ? 20 : 300, seed % 4 == 3 ? 40 : 2, 60, &dice);
    const std::string largest(UserKeyOf(model.rbegin()->first));
    const BlockRef cached(NewCachedBlock(BlockBytes(model, restart_interval), largest));
    BlockIterator iterator;
    iterator.Attach(cached->block(), /*internal_keys=*/true, cached->signposts());
    for (int i = 0; i < 300; ++i) {
      const std::string probe = RandomProbe(shape, model, &dice);
      const std::string target = InternalKey(probe, dice.Roll(30000));
      cached->PrefetchSeek(probe);
      iterator.Seek(target);
      auto at = model.lower_bound(target);
      // Makes some steps in both directions.
      for (int step = 0; step < 6 && at != model.end(); ++step) {
        ASSERT_TRUE(iterator.Valid()) << iterator.problem();
        ASSERT_EQ(iterator.key(), at->first);
        ASSERT_EQ(iterator.value(), at->second);
        if (dice.OneIn(2)) {
          iterator.Next();
          ++at;
        } else if (at == model.begin()) {
          iterator.Prev();
          at = model.end();
        } else {
          iterator.Prev();
          --at;
        }
      }
      ASSERT_EQ(iterator.Valid(), at != model.end());
      ASSERT_EQ(iterator.problem(), "");
    }
  }
}

TEST(BlockTest, BytesMatchTheDrawing) {
  BlockBuilder builder(2);
  builder.Add("apple", "1");
  builder.Add("apply", "22");
  builder.Add("apricot", "");
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(builder.Finish(),
            "\x00\x05\x01"
            "apple"
            "1"
            "\x04\x01\x02"
            "y"
            "22"
            "\x00\x07\x00"
            "apricot"
            "\x00\x00\x00\x00"
            "\x0f\x00\x00\x00"  // restarts at 0 and 15
            "\x02\x00\x00\x00"sv);
}

TEST(BlockTest, BuildersCanBeReused) {
  BlockBuilder builder(16);
  builder.Add("a", "1");
  const std::string first(builder.Finish());
  builder.Reset();
  EXPECT_TRUE(builder.empty());
  builder.Add("a", "1");
  EXPECT_EQ(builder.Finish(), first);
}

TEST(BlockTest, EstimateEqualsTheSize) {
  BlockBuilder builder(3);
  for (int i = 0; i < 20; ++i) {
    builder.Add(std::string(1 + static_cast<size_t>(i), 'k'), "value");
    BlockBuilder copy = builder;
    const size_t estimate = copy.size_bytes_estimate();
    EXPECT_EQ(estimate, copy.Finish().size());
  }
}

TEST(BlockTest, PlainKeysMayBeEqual) {
  BlockBuilder builder(16);
  for (const char* key : {"", "a", "a", "b"}) builder.Add(key, key);
  const std::string bytes(builder.Finish());
  Block block;
  ASSERT_TRUE(block.Init(bytes));
  const auto iterator = block.NewIterator(/*internal_keys=*/false, "here");
  int count = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++count;
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) ++count;
  EXPECT_EQ(count, 8);
  EXPECT_OK(iterator->status());
}

TEST(BlockTest, ErrorsNameTheirPlace) {
  BlockBuilder builder(16);
  builder.Add("b", "");
  builder.Add("a", "");
  const std::string bytes(builder.Finish());
  Block block;
  ASSERT_TRUE(block.Init(bytes));
  const auto iterator = block.NewIterator(/*internal_keys=*/false, "FILE: offset 7");
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  iterator->Next();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_THAT(iterator->status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       "FILE: offset 7: keys are out of order (byte 4 of the block)"));
  iterator->SeekToFirst();
  EXPECT_OK(iterator->status());
}

TEST(BlockTest, FindsKeysThatShareSuffixBytes) {
  // "a" of sequence 1 is 61 | 01 01 00 ..., and "a\x01" of sequence 1 is 61 01 | 01 01 00 ...: all
  // but the last bytes of the second key's suffix come from the first key's.
  Model model;
  for (Sequence sequence = 1; sequence <= 3; ++sequence) {
    model.emplace(InternalKey("a", sequence), "short");
    model.emplace(InternalKey("a\x01", sequence), "long");
  }
  ASSERT_LT(SharedPrefixBytes(InternalKey("a", 1), "a\x01"),
            SharedPrefixBytes(InternalKey("a", 1), InternalKey("a\x01", 1)));
  const std::string bytes = BlockBytes(model, 16);
  Block block;
  ASSERT_TRUE(block.Init(bytes));
  for (Sequence as_of = 0; as_of <= 4; ++as_of) {
    for (const char* user_key : {"a", "a\x01"}) {
      EXPECT_EQ(AskBlock(block, user_key, as_of), AskModel(model, user_key, as_of)) << as_of;
    }
  }
  // The same where the first key's older version comes right before it.
  Model two;
  two.emplace(InternalKey("a", 1), "short");
  two.emplace(InternalKey("a\x01", 1), "long");
  const std::string two_bytes = BlockBytes(two, 16);
  ASSERT_TRUE(block.Init(two_bytes));
  EXPECT_EQ(AskBlock(block, "a\x01", kSequenceMax), AskModel(two, "a\x01", kSequenceMax));
  EXPECT_EQ(AskBlock(block, "a\x01", 0), Answer());
}

TEST(BlockTest, SignpostsSkipKeysWithoutTheirPrefix) {
  Model model;
  for (int i = 100; i < 200; ++i)
    model.emplace(InternalKey("pppp" + std::to_string(i), 1), std::string(50, 'v'));
  const BlockRef cached(NewCachedBlock(BlockBytes(model, 16), "pppp199"));
  for (const char* prefix :
       {"oppp", "qppp", "ppop", "ppqp", "pppo", "pppq", "ppp", "pppp", "ppppp"}) {
    for (int i = 90; i < 210; ++i) {
      const std::string probe = prefix + std::to_string(i);
      ASSERT_EQ(AskBlock(*cached.get(), probe, kSequenceMax), AskModel(model, probe, kSequenceMax))
          << probe;
    }
  }
}

TEST(BlockTest, SignpostsCostLittleMemory) {
  Dice dice(1);
  const Model model = RandomModel(KeyShape::kDecimal, 70, 1, 100, &dice);
  const std::string bytes = BlockBytes(model, 16);
  const BlockRef cached(NewCachedBlock(bytes, UserKeyOf(model.rbegin()->first)));
  EXPECT_GT(cached->charge_bytes(), bytes.size());
  EXPECT_LT(cached->charge_bytes(), bytes.size() + bytes.size() / 20);
}

}  // namespace
}  // namespace lsm
