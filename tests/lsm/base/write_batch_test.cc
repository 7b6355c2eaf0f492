#include "lsm/write_batch.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::Dice;
using testing_support::StatusIs;

// Records the entries; fails at a given entry.
class Recorder : public EncodedBatch::Handler {
 public:
  absl::Status Put(KeyspaceId keyspace, std::string_view key, std::string_view value) override {
    return Record(keyspace, "put " + std::string(key) + "=" + std::string(value));
  }
  absl::Status Delete(KeyspaceId keyspace, std::string_view key) override {
    return Record(keyspace, "delete " + std::string(key));
  }
  absl::Status DeleteRange(KeyspaceId keyspace, std::string_view from,
                           std::optional<std::string_view> to) override {
    return Record(keyspace,
                  "delete from " + std::string(from) + (to ? " to " + std::string(*to) : ""));
  }
  absl::Status Change(const KeyspaceChange& change, size_t at) override {
    changes.push_back(change);
    return Record(change.id, Concat("change at ", at));
  }
  absl::Status Time(uint32_t seconds) override {
    time = seconds;
    return absl::OkStatus();
  }
  absl::Status Record(KeyspaceId keyspace, std::string entry) {
    if (entries.size() == fail_at) return absl::AbortedError("told to");
    if (keyspace != kDefaultKeyspace) entry = Concat(keyspace, ": ", entry);
    entries.push_back(std::move(entry));
    return absl::OkStatus();
  }

  std::vector<std::string> entries;
  std::vector<KeyspaceChange> changes;
  std::optional<uint32_t> time;
  size_t fail_at = ~size_t{0};
};

std::vector<std::string> EntriesOf(const WriteBatch& batch) {
  Recorder recorder;
  EXPECT_OK(batch.status());
  EXPECT_OK(EncodedBatch::ForEach(EncodedBatch::Of(batch), &recorder));
  EXPECT_EQ(recorder.entries.size(), batch.count());
  return recorder.entries;
}

TEST(EncodedBatchTest, ATimeComesFirstAndIsNotCounted) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  std::string timed(EncodedBatch::Of(batch));
  EncodedBatch::SetTime(&timed, 1'700'000'000);
  EXPECT_EQ(timed.size(), batch.size_bytes() + 5);
  Recorder recorder;
  EXPECT_OK(EncodedBatch::ForEach(timed, &recorder));
  EXPECT_EQ(recorder.time, 1'700'000'000u);
  EXPECT_EQ(recorder.entries, EntriesOf(batch));
  std::string twice = timed;
  EncodedBatch::SetTime(&twice, 1);
  for (const std::string& wrong : {twice, timed.substr(0, 16), timed + timed.substr(12, 5)}) {
    Recorder other;
    EXPECT_THAT(EncodedBatch::ForEach(wrong, &other), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST(WriteBatchTest, NewBatchesAreEmpty) {
  WriteBatch batch;
  EXPECT_EQ(batch.count(), 0u);
  EXPECT_EQ(batch.size_bytes(), EncodedBatch::kHeaderBytes);
  EXPECT_TRUE(EntriesOf(batch).empty());
}

TEST(WriteBatchTest, ReturnsEntriesInOrder) {
  WriteBatch batch;
  batch.Put("b", "1");
  batch.Delete("a");
  batch.Put("", "");
  batch.Put(std::string("\0\xff", 2), std::string(300, 'v'));
  EXPECT_EQ(EntriesOf(batch), (std::vector<std::string>{
                                  "put b=1", "delete a",
                                  "put =", std::string("put \0\xff=", 7) + std::string(300, 'v')}));
  batch.Clear();
  EXPECT_EQ(batch.count(), 0u);
  EXPECT_TRUE(EntriesOf(batch).empty());
}

TEST(WriteBatchTest, EncodingMatchesTheDrawing) {
  WriteBatch batch;
  EncodedBatch::SetFirstSequence(&batch, 0x0102030405);
  batch.Put("key", "value");
  batch.Delete("k");
  EXPECT_EQ(EncodedBatch::Of(batch), std::string("\x05\x04\x03\x02\x01\0\0\0"
                                                 "\x02\0\0\0"
                                                 "\x01\x03key\x05value"
                                                 "\0\x01k",
                                                 12 + 11 + 3));
  EXPECT_EQ(EncodedBatch::FirstSequenceOf(EncodedBatch::Of(batch)), 0x0102030405u);
  EXPECT_EQ(EncodedBatch::CountOf(EncodedBatch::Of(batch)), 2u);
}

TEST(WriteBatchTest, EncodingOfRangesMatchesTheDrawing) {
  WriteBatch batch;
  EncodedBatch::SetFirstSequence(&batch, 1);
  batch.DeleteRange("", "b");
  batch.DeleteRange("key", std::nullopt);
  EXPECT_EQ(EncodedBatch::Of(batch).substr(EncodedBatch::kHeaderBytes), std::string("\x02\0\x01"
                                                                                    "b\x03\x03key",
                                                                                    4 + 5));
  EXPECT_EQ(batch.count(), 2u);
  EXPECT_EQ(batch.user_bytes(), 4u);
  EXPECT_FALSE(batch.has_puts());
  EXPECT_EQ(EntriesOf(batch), (std::vector<std::string>{"delete from  to b", "delete from key"}));
}

TEST(WriteBatchTest, EncodingOfKeyspacesMatchesTheDrawing) {
  WriteBatch batch;
  EncodedBatch::Put(&batch, 2, "key", "value");
  EncodedBatch::Delete(&batch, 300, "k");
  EncodedBatch::DeleteRange(&batch, ~KeyspaceId{0}, "a", "b");
  EncodedBatch::DeleteRange(&batch, 2, "", std::nullopt);
  EncodedBatch::Put(&batch, kDefaultKeyspace, "d", "");
  EncodedBatch::SetFirstSequence(&batch, 1);
  EXPECT_EQ(EncodedBatch::Of(batch).substr(EncodedBatch::kHeaderBytes),
            std::string("\x41\x02\x03key\x05value"
                        "\x40\xac\x02\x01k"
                        "\x42\xff\xff\xff\xff\x0f\x01"
                        "a\x01"
                        "b"
                        "\x43\x02\0"
                        "\x01\x01"
                        "d\0",
                        12 + 5 + 10 + 3 + 4));
  EXPECT_EQ(EntriesOf(batch), (std::vector<std::string>{"2: put key=value", "300: delete k",
                                                        "4294967295: delete from a to b",
                                                        "2: delete from ", "put d="}));
  EXPECT_EQ(batch.user_bytes(), 8u + 1 + 2 + 0 + 1);
  EXPECT_TRUE(batch.has_puts());
}

// A store without keyspaces has the bytes of earlier releases.
TEST(WriteBatchTest, TheDefaultKeyspaceHasNoId) {
  WriteBatch batch, same;
  for (int i = 0; i < 300; i += 50) {
    const std::string key(static_cast<size_t>(i), 'k');
    batch.Put(key, key + "value");
    batch.Delete(key);
    batch.DeleteRange(key, key + "k");
    batch.DeleteRange(key, std::nullopt);
    EncodedBatch::Put(&same, kDefaultKeyspace, key, key + "value");
    EncodedBatch::Delete(&same, kDefaultKeyspace, key);
    EncodedBatch::DeleteRange(&same, kDefaultKeyspace, key, key + "k");
    EncodedBatch::DeleteRange(&same, kDefaultKeyspace, key, std::nullopt);
  }
  EXPECT_EQ(EncodedBatch::Of(batch), EncodedBatch::Of(same));
}

TEST(WriteBatchTest, RangesWithoutKeysAreNoEntries) {
  WriteBatch batch;
  batch.DeleteRange("b", "b");
  batch.DeleteRange("b", "a");
  batch.DeleteRange("", "");
  EXPECT_OK(batch.status());
  EXPECT_EQ(batch.count(), 0u);
  EXPECT_EQ(batch.size_bytes(), EncodedBatch::kHeaderBytes);
}

// The next possible key after the longest one.
TEST(WriteBatchTest, BoundsMayBeOneByteLongerThanKeys) {
  WriteBatch batch;
  EncodedBatch::SetFirstSequence(&batch, 1);
  const std::string longest(kKeyBytesMax + 1, 'a');
  batch.DeleteRange(longest, std::string(kKeyBytesMax + 1, 'b'));
  batch.DeleteRange(longest, std::nullopt);
  EXPECT_EQ(EntriesOf(batch).size(), 2u);
  for (const bool is_end : {false, true}) {
    WriteBatch spoilt = batch;
    spoilt.DeleteRange(is_end ? "a" : longest + "a",
                       is_end ? std::optional(longest + "a") : std::nullopt);
    EXPECT_THAT(spoilt.status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("a bound of a range of 65538 bytes; at most 65537")));
    EXPECT_EQ(spoilt.count(), 2u);
  }
}

TEST(WriteBatchTest, AppendAddsAllEntries) {
  WriteBatch batch, other;
  batch.Put("a", "1");
  EncodedBatch::SetFirstSequence(&batch, 7);
  other.Delete("b");
  other.Put("c", "3");
  EncodedBatch::SetFirstSequence(&other, 99);
  batch.Append(other);
  EXPECT_EQ(EntriesOf(batch), (std::vector<std::string>{"put a=1", "delete b", "put c=3"}));
  EXPECT_EQ(EncodedBatch::FirstSequenceOf(EncodedBatch::Of(batch)), 7u);
  EXPECT_EQ(EntriesOf(other).size(), 2u);
  batch.Append(batch);
  EXPECT_EQ(batch.count(), 6u);
  EXPECT_EQ(EntriesOf(batch)[5], "put c=3");
}

TEST(WriteBatchTest, KnowsWhetherItHasPuts) {
  WriteBatch batch, other;
  batch.Delete("a");
  batch.DeleteRange("a", "b");
  EXPECT_FALSE(batch.has_puts());
  other.Put("b", "1");
  EXPECT_TRUE(other.has_puts());
  batch.Append(other);
  EXPECT_TRUE(batch.has_puts());
  batch.Clear();
  EXPECT_FALSE(batch.has_puts());
}

TEST(WriteBatchTest, AcceptsKeysAndValuesUpToTheirLimits) {
  WriteBatch batch;
  batch.Put(std::string(kKeyBytesMax, 'k'), std::string(kValueBytesMax, 'v'));
  EXPECT_EQ(EntriesOf(batch).size(), 1u);
}

TEST(WriteBatchTest, EntriesBeyondALimitSpoilTheBatch) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put(std::string(kKeyBytesMax + 1, 'k'), "v");
  EXPECT_THAT(batch.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("a key of 65537 bytes; at most 65536")));
  const std::string before(EncodedBatch::Of(batch));
  batch.Put("b", "2");
  batch.Delete("b");
  EXPECT_EQ(EncodedBatch::Of(batch), before) << "it stays spoilt";

  WriteBatch other;
  other.Put("x", "");
  other.Append(batch);
  EXPECT_THAT(other.status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(other.count(), 1u);

  batch.Clear();
  EXPECT_OK(batch.status());
  batch.Delete(std::string(kKeyBytesMax + 1, 'k'));
  EXPECT_THAT(batch.status(), StatusIs(absl::StatusCode::kInvalidArgument));
  batch.Clear();
  batch.Put("k", std::string(kValueBytesMax + 1, 'v'));
  EXPECT_THAT(batch.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("a value of 67108865 bytes; at most 67108864")));
}

TEST(WriteBatchTest, BatchesHaveASizeLimit) {
  WriteBatch batch;
  const std::string value(kValueBytesMax - 100, 'v');
  for (int i = 0; i < 4; ++i) batch.Put("k", value);
  EXPECT_OK(batch.status());
  WriteBatch small;
  small.Put("k", std::string(1000, 'v'));
  WriteBatch sum = batch;
  sum.Append(small);
  EXPECT_THAT(sum.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a batch of")));
  EXPECT_EQ(sum.count(), 4u);
  batch.Put("k", std::string(1000, 'v'));
  EXPECT_THAT(batch.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a batch of")));
  EXPECT_LE(batch.size_bytes(), kBatchBytesMax);
}

TEST(WriteBatchTest, HandlerErrorsEndTheWalk) {
  WriteBatch batch;
  for (int i = 0; i < 5; ++i) batch.Put("k", "v");
  Recorder recorder;
  recorder.fail_at = 2;
  EXPECT_THAT(EncodedBatch::ForEach(EncodedBatch::Of(batch), &recorder),
              StatusIs(absl::StatusCode::kAborted, "told to"));
  EXPECT_EQ(recorder.entries.size(), 2u);
}

TEST(WriteBatchTest, EveryTruncationIsDamage) {
  WriteBatch batch;
  batch.Put("key", "value");
  EncodedBatch::SetFirstSequence(&batch, 1);
  batch.Delete("gone");
  batch.DeleteRange("from", "to");
  batch.DeleteRange("from", std::nullopt);
  batch.Put(std::string(200, 'k'), std::string(300, 'v'));
  EncodedBatch::Put(&batch, 77'777, std::string(200, 'k'), "value");
  EncodedBatch::Delete(&batch, 2, "gone");
  EncodedBatch::DeleteRange(&batch, ~KeyspaceId{0}, "from", "to");
  EncodedBatch::DeleteRange(&batch, 130, "from", std::nullopt);
  for (size_t size = 0; size < batch.size_bytes(); ++size) {
    Recorder recorder;
    EXPECT_THAT(EncodedBatch::ForEach(EncodedBatch::Of(batch).substr(0, size), &recorder),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("write batch: offset")))
        << size;
  }
  Recorder recorder;
  EXPECT_THAT(EncodedBatch::ForEach(std::string(EncodedBatch::Of(batch)) + "x", &recorder),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more bytes than")));
}

std::string Encoded(Sequence sequence, uint32_t count, std::string_view entries) {
  std::string bytes;
  AppendFixed64(&bytes, sequence);
  AppendFixed32(&bytes, count);
  return bytes.append(entries);
}

TEST(WriteBatchTest, ImpossibleBatchesAreDamage) {
  const std::string_view put = "\x01\x01k\x01v";
  const auto walk = [](const std::string& encoded) {
    Recorder recorder;
    return EncodedBatch::ForEach(encoded, &recorder);
  };
  EXPECT_OK(walk(Encoded(1, 1, put)));
  EXPECT_OK(walk(Encoded(kSequenceMax - 1, 1, put)));
  EXPECT_THAT(walk(Encoded(1, 2, put)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("fewer")));
  EXPECT_THAT(walk(Encoded(1, 0, put)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more")));
  EXPECT_THAT(walk(Encoded(1, ~0u, put)), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(
      walk(Encoded(1, 1, "\x04\x01k\x01v")),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 12: an entry of unknown kind")));
  EXPECT_THAT(walk(Encoded(kSequenceMax, 1, put)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("sequence")));
  EXPECT_THAT(walk(Encoded(~uint64_t{0}, 1, put)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("sequence")));

  EXPECT_OK(walk(Encoded(1, 1, "\x02\x01k\x01v")));
  for (const std::string_view end : {"\x01k", "\x01j"}) {
    EXPECT_THAT(walk(Encoded(1, 1, Concat("\x02\x01k", end))),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ends where it begins")));
  }
  EXPECT_THAT(walk(Encoded(0, 1, "\x03\x01k")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("with number 0")));
  for (const char kind : {'\2', '\3'}) {
    std::string long_bound = Encoded(1, 1, std::string(1, kind));
    AppendLengthPrefixed(&long_bound, kind == '\2' ? "k" : std::string(kKeyBytesMax + 2, 'k'));
    if (kind == '\2') AppendLengthPrefixed(&long_bound, std::string(kKeyBytesMax + 2, 'l'));
    EXPECT_THAT(walk(long_bound),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bound of a range is too long")));
  }

  EXPECT_OK(walk(Encoded(1, 1, "\x41\x02\x01k\x01v")));
  // Ids may have more bytes than they need, like lengths.
  EXPECT_OK(walk(Encoded(1, 1, std::string_view("\x41\x82\x80\0\x01k\x01v", 8))));
  EXPECT_OK(walk(Encoded(1, 1, "\x41\xff\xff\xff\xff\x0f\x01k\x01v")));
  for (const std::string_view id : {std::string_view("\0", 1), std::string_view("\x80\0", 2),
                                    std::string_view("\x01", 1), std::string_view("\x81\0", 2)}) {
    EXPECT_THAT(walk(Encoded(1, 1, Concat("\x41", id, "\x01k\x01v"))),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("offset 12: the id of a keyspace is below 2")));
  }
  for (const std::string_view id :
       {"\xff\xff\xff\xff\x10", "\xff\xff\xff\xff\xff\x01", "\x82\x80\x80\x80\x80\x80", "\x82"}) {
    EXPECT_THAT(walk(Encoded(1, 1, Concat("\x40", id))),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("offset 12: the id of a keyspace is damaged")));
  }
  for (const std::string_view kind : {"\x44", "\x80", "\x81", "\xc1", "\x61"}) {
    EXPECT_THAT(
        walk(Encoded(1, 1, Concat(kind, "\x02\x01k\x01v"))),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 12: an entry of unknown kind")));
  }
  for (const char kind : {'\4', '\x45', '\x46', '\x47', '\x48'}) {
    EXPECT_THAT(
        walk(Encoded(1, 1, Concat(std::string(1, kind), "\x02\x01k\x01v"))),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 12: an entry of unknown kind")));
  }
  EXPECT_THAT(walk(Encoded(0, 1, "\x43\x02\x01k")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("with number 0")));

  std::string long_key = Encoded(1, 1, "");
  long_key += '\0';
  AppendLengthPrefixed(&long_key, std::string(kKeyBytesMax + 1, 'k'));
  EXPECT_THAT(walk(long_key), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("key is too long")));

  std::string long_value = Encoded(1, 1, std::string_view("\x01\x01k", 3));
  AppendLengthPrefixed(&long_value, std::string(kValueBytesMax + 1, 'v'));
  EXPECT_THAT(walk(long_value),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("value is too long")));
}

TEST(WriteBatchTest, KeepsChangesOfKeyspaces) {
  using Kind = KeyspaceChange::Kind;
  const KeyspaceOptions options = {"ribbon", 0.25, Compression::kNone, CompactionStyle::kTiered,
                                   UINT32_MAX};
  const std::vector<KeyspaceChange> changes = {
      {Kind::kCreated, 2, std::string(1, '\0'), {}},
      {Kind::kCreated, ~0u, std::string(255, 'x'), options},
      {Kind::kOptions, 0, "", {.expire_after = 0}},
      {Kind::kOptions, 300, "", options},
      {Kind::kDropped, 2, "", {}}};
  WriteBatch batch;
  for (const KeyspaceChange& change : changes) {
    EncodedBatch::Change(&batch, change);
    WriteBatch alone;
    EncodedBatch::Change(&alone, change);
    EXPECT_EQ(alone.has_puts(), change.kind == Kind::kCreated) << "only a creation counts as a put";
  }
  EXPECT_TRUE(batch.has_puts());
  batch.Put("key", "value");
  Recorder recorder;
  ASSERT_OK(EncodedBatch::ForEach(EncodedBatch::Of(batch), &recorder));
  EXPECT_EQ(recorder.changes, changes);
  EXPECT_EQ(recorder.entries.size(), 6u);
  EXPECT_EQ(recorder.entries.front(), "2: change at 12");
  for (size_t size = EncodedBatch::kHeaderBytes; size < batch.size_bytes(); ++size)
    EXPECT_THAT(EncodedBatch::ForEach(EncodedBatch::Of(batch).substr(0, size), &recorder),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("write batch: offset")));
}

// Keeps zero bytes inside the literal.
template <size_t kSize>
std::string_view Bytes(const char (&literal)[kSize]) {
  return {literal, kSize - 1};
}

TEST(WriteBatchTest, ImpossibleChangesOfKeyspacesAreRefused) {
  const auto refused = [](std::string_view entry, absl::StatusCode code, const std::string& text) {
    Recorder recorder;
    EXPECT_THAT(EncodedBatch::ForEach(Encoded(1, 1, entry), &recorder),
                StatusIs(code, HasSubstr(Concat("write batch: offset 12: ", text))));
    EXPECT_TRUE(recorder.changes.empty());
  };
  const auto lost = absl::StatusCode::kDataLoss, newer = absl::StatusCode::kUnimplemented;
  refused(Bytes("\5\1\1a\0"), lost, "a change of a keyspace has an invalid id");
  refused(Bytes("\5\0\1a\0"), lost, "a change of a keyspace has an invalid id");
  refused(Bytes("\6\0"), lost, "a change of a keyspace has an invalid id");
  refused(Bytes("\7\1\0"), lost, "a change of a keyspace has an invalid id");
  refused(Bytes("\6\xff\xff\xff\xff\x10"), lost, "the id of a keyspace is damaged");
  refused(Bytes("\5\2\0\0"), lost, "the name of a keyspace is damaged");
  refused(Concat("\5\2\x80\2", std::string(256, 'x'), Bytes("\0")), lost,
          "the name of a keyspace is damaged");
  refused(Bytes("\7\2\1"), lost, "the options of a keyspace are cut off");
  refused(Bytes("\7\2\1\1"), lost, "an option of a keyspace is cut off");
  refused(Bytes("\7\2\3\3\1\2"), lost, "option 3 of a keyspace has an invalid value");
  refused(Bytes("\7\2\6\3\1\1\3\1\1"), lost, "the options of a keyspace are not in order");
  refused(Bytes("\7\2\3\7\1\1"), newer, "option 7 of a keyspace is not known");
  refused(Bytes("\7\2\5\1\3xyz"), newer, "filter kind \"xyz\" of a keyspace is not known");
}

TEST(WriteBatchTest, FlippedBitsNeverCrash) {
  WriteBatch batch;
  batch.Put("key", "value");
  EncodedBatch::SetFirstSequence(&batch, 1);
  batch.Delete("gone");
  batch.DeleteRange("from", "to");
  EncodedBatch::Delete(&batch, 2, "gone");
  EncodedBatch::DeleteRange(&batch, 300, "from", "to");
  EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kCreated, 2, "name", {"ribbon", 0.25}});
  batch.Put(std::string(200, 'k'), std::string(20, 'v'));
  for (size_t bit = 0; bit < 8 * batch.size_bytes(); ++bit) {
    std::string bytes(EncodedBatch::Of(batch));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    Recorder recorder;
    const absl::Status status = EncodedBatch::ForEach(bytes, &recorder);
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status) || absl::IsUnimplemented(status)) << status;
  }
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Dice dice(seed);
    std::string bytes(EncodedBatch::Of(batch));
    for (int i = 0; i < 4; ++i) bytes[dice.Roll(bytes.size())] = static_cast<char>(dice.Next());
    bytes.resize(dice.Roll(bytes.size() + 20));
    Recorder recorder;
    const absl::Status status = EncodedBatch::ForEach(bytes, &recorder);
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status) || absl::IsUnimplemented(status)) << seed;
  }
}

}  // namespace
}  // namespace lsm
