// Malicious tables: wrong contents under right checksums.  The reader refuses a table with an error
// that names it, within bounded memory, or gives consistent answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/block/block_io.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "tests/lsm/table/table_forgery.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing_support::StatusIs;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

std::string FilterOf(const std::vector<std::string>& keys) {
  auto builder =
      bloom::PolicyFromName("blocked").value()->NewBuilder({.target_fpp = 0.01, .seed = kFileId});
  for (const std::string& key : keys) builder->Add(bloom::DigestOf(key, kTestSeed));
  return builder->Finish().value();
}

// Every way to read the data ends with DataLoss that names the file and the offset.
void ExpectDamagedBlock(const std::string& bytes, std::string_view what = "") {
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
  const auto damaged =
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr(kTablePath), HasSubstr("24"), HasSubstr(std::string(what))));
  EXPECT_THAT(AskTable(*opened.table, "a", kSequenceMax), damaged);
  EXPECT_THAT(AskTable(*opened.table, "", kSequenceMax), damaged);
  for (const size_t readahead_bytes : {0, 1000}) {
    auto iterator = opened.table->NewIterator({.readahead_bytes = readahead_bytes});
    iterator->SeekToFirst();
    for (int i = 0; i < 100 && iterator->Valid(); ++i) iterator->Next();
    EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kTablePath)));
    iterator->SeekToLast();
    for (int i = 0; i < 100 && iterator->Valid(); ++i) iterator->Prev();
    EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kTablePath)));
  }
}

TEST(HostileTableTest, SoundForgeriesAreTables) {
  Forgery forgery;
  forgery.data_blocks = {{SoundBlock("a")}, {SoundBlock("c")}};
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(forgery.Make()));
  ASSERT_OK_AND_ASSIGN(const Answer answer, AskTable(*opened.table, "c", kSequenceMax));
  EXPECT_EQ(answer.value, "value");
}

TEST(HostileTableTest, ImpossibleRestartArraysAreDamage) {
  const std::string entry = Entry(0, Key("a"), "value");
  const auto size = static_cast<uint32_t>(entry.size());
  for (const std::vector<uint32_t>& restarts :
       {std::vector<uint32_t>{}, {1}, {size}, {0, 0}, {0, size}, {0, 1000}, {0, ~0u}, {0, 5, 3}}) {
    ExpectDamagedBlock(WithBlock(BlockOf(entry, restarts)));
  }
  // Counts that exceed the block, including counts that overflow when multiplied by four.
  for (const uint32_t count : {5u, 100u, 0x40000000u, 0x40000001u, 0x80000000u, ~0u}) {
    std::string bytes = entry;
    AppendFixed32(&bytes, 0);
    AppendFixed32(&bytes, count);
    ExpectDamagedBlock(WithBlock(bytes));
  }
  for (size_t size_bytes = 0; size_bytes < 9; ++size_bytes)
    ExpectDamagedBlock(WithBlock(std::string(size_bytes, '\0')));
}

TEST(HostileTableTest, RestartsInsideAnEntryAreDamage) {
  const std::string entries =
      Entry(0, Key("a"), std::string("value")) + Entry(0, Key("b"), "value");
  for (uint32_t restart = 1; restart < entries.size(); ++restart) {
    if (restart == entries.size() / 2) continue;
    ExpectDamagedBlock(WithBlock(BlockOf(entries, {0, restart})));
  }
  // A restart at an entry that shares a prefix.
  const std::string first = Entry(0, Key("a"), "");
  ExpectDamagedBlock(
      WithBlock(BlockOf(first + Entry(1, Key("b"), ""), {0, static_cast<uint32_t>(first.size())})));
}

TEST(HostileTableTest, RestartsInsideAValueAreDamage) {
  // The second restart points to bytes that look exactly like an entry, but are part of the first
  // entry's value.
  const std::string inner = Entry(0, Key("aa"), "never written");
  const std::string outer = Entry(0, Key("a"), inner);
  const std::string bytes =
      WithBlock(BlockOf(outer, {0, static_cast<uint32_t>(outer.size() - inner.size())}));
  ASSERT_NO_FATAL_FAILURE(ExpectDamagedBlock(bytes));
  for (const size_t readahead_bytes : {0, 1000}) {
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
    auto iterator = opened.table->NewIterator({.readahead_bytes = readahead_bytes});
    iterator->SeekToLast();
    EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss));
    iterator->Seek(InternalKey("aa", 9));
    EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss));
    // An iteration that began at the first entry has checked only that entry.
    iterator->SeekToFirst();
    iterator->Seek(InternalKey("aa", 9));
    EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST(HostileTableTest, LengthsBeyondTheBlockAreDamage) {
  for (const uint32_t length : {20u, 100u, 0x7fffffffu, 0xfffffff0u, 0xffffffffu}) {
    std::string entry;
    AppendVarint32(&entry, 0);
    AppendVarint32(&entry, length);
    AppendVarint32(&entry, 5);
    ExpectDamagedBlock(WithBlock(BlockOf(entry + Key("a") + "value", {0})));
    entry.clear();
    AppendVarint32(&entry, 0);
    AppendVarint32(&entry, 9);
    AppendVarint32(&entry, length);
    ExpectDamagedBlock(WithBlock(BlockOf(entry + Key("a") + "value", {0})));
  }
  // An endless varint, and a truncated one.
  ExpectDamagedBlock(WithBlock(BlockOf(std::string(50, '\xff'), {0})));
  ExpectDamagedBlock(WithBlock(BlockOf("\x80", {0})));
}

TEST(HostileTableTest, ImpossibleSharedLengthsAreDamage) {
  const std::string first = Entry(0, Key("a"), "");
  ExpectDamagedBlock(WithBlock(BlockOf(Entry(1, Key("a"), ""), {0})));
  ExpectDamagedBlock(WithBlock(BlockOf(Entry(~0u, Key("a"), ""), {0})));
  for (const uint32_t shared : {10u, 1000u, 0x7fffffffu, ~0u}) {
    ExpectDamagedBlock(WithBlock(BlockOf(first + Entry(shared, Key("b"), ""), {0})));
  }
}

TEST(HostileTableTest, MalformedKeysAreDamage) {
  ExpectDamagedBlock(WithBlock(BlockOf(Entry(0, "", ""), {0})));
  ExpectDamagedBlock(WithBlock(BlockOf(Entry(0, "1234567", ""), {0})), "too short");
  ExpectDamagedBlock(WithBlock(BlockOf(Entry(0, Key("a"), "") + Entry(2, "12345", ""), {0})));
  for (const int kind : {2, 3, 0x7f, 0xff}) {
    ExpectDamagedBlock(WithBlock(BlockOf(Entry(0, Key("a", static_cast<uint8_t>(kind)), ""), {0})),
                       "kind");
  }
}

// The order is checked however many bytes a key shares with the key before, within the user key or
// beyond it.
TEST(HostileTableTest, OrderIgnoresSharing) {
  const uint64_t seed = 7;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  const auto any_key = [&dice](std::string_view begin) {
    std::string key(begin);
    for (uint64_t more = dice.Roll(12); more > 0; --more) key.push_back("ab\xff"[dice.Roll(3)]);
    std::string suffix(8, '\0');
    for (char& byte : suffix) byte = static_cast<char>(dice.Roll(2));  // the first is the kind
    return key + suffix;
  };
  int in_order = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string first = any_key("");
    // Often the key shares more than the user key with it.
    const size_t kept = dice.Roll(first.size() + 1);
    std::string second = dice.OneIn(2) ? first : any_key(std::string_view(first).substr(0, kept));
    if (dice.OneIn(2)) second[second.size() - 1 - dice.Roll(8)] ^= 1;
    size_t shared = 0;
    while (shared < std::min(first.size(), second.size()) && first[shared] == second[shared])
      ++shared;
    shared = dice.OneIn(2) ? shared : dice.Roll(shared + 1);
    const std::string bytes =
        BlockOf(Entry(0, first, "") + Entry(static_cast<uint32_t>(shared),
                                            std::string_view(second).substr(shared), ""),
                {0});
    Block block;
    ASSERT_TRUE(block.Init(bytes));
    const auto iterator = block.NewIterator(/*internal_keys=*/true, "here");
    iterator->SeekToFirst();
    ASSERT_TRUE(iterator->Valid());
    iterator->Next();
    const bool follows = CompareInternalKeys(first, second) < 0;
    in_order += follows;
    ASSERT_EQ(iterator->Valid(), follows)
        << Escape(first) << " " << Escape(second) << " " << shared;
    ASSERT_EQ(iterator->status().ok(), follows);
  }
  EXPECT_GT(in_order, 2000);
  EXPECT_LT(in_order, 18000);
}

TEST(HostileTableTest, KeysOutOfOrderAreDamage) {
  const std::string a = Entry(0, Key("a"), "");
  const std::string b = Entry(0, Key("b"), "");
  const auto size = static_cast<uint32_t>(a.size());
  ExpectDamagedBlock(WithBlock(BlockOf(b + a, {0})), "order");
  ExpectDamagedBlock(WithBlock(BlockOf(b + a, {0, size})), "order");
  ExpectDamagedBlock(WithBlock(BlockOf(a + a, {0})), "order");
  ExpectDamagedBlock(WithBlock(BlockOf(a + a, {0, size})), "order");
  // The older version first.
  std::string old_key("a");
  AppendFixed64(&old_key, (uint64_t{6} << 8) | 1);
  ExpectDamagedBlock(WithBlock(BlockOf(Entry(0, old_key, "") + a, {0})), "order");
}

TEST(HostileTableTest, KeysOutsideTheirIndexEntryAreDamage) {
  // The index key of the first block is "b", that of the second "d".
  for (const auto& [first, second, asked] :
       {std::tuple("bb", "c", "a"), std::tuple("a", "aa", "c"), std::tuple("a", "e", "c"),
        std::tuple("c", "c", "b")}) {
    Forgery forgery;
    forgery.data_blocks = {{SoundBlock(first)}, {SoundBlock(second)}};
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(forgery.Make()));
    EXPECT_THAT(AskTable(*opened.table, asked, kSequenceMax),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("index")));
    for (const size_t readahead_bytes : {0, 1000}) {
      auto iterator = opened.table->NewIterator({.readahead_bytes = readahead_bytes});
      iterator->SeekToFirst();
      while (iterator->Valid()) iterator->Next();
      EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kTablePath)));
      iterator->SeekToLast();
      while (iterator->Valid()) iterator->Prev();
      EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kTablePath)));
    }
  }
}

TEST(HostileTableTest, RepeatedVersionsAcrossBlocksAreDamage) {
  // Both blocks hold the same version of "b", which is the index key of the first block.  Only an
  // iteration over both detects it.
  Forgery forgery;
  forgery.data_blocks = {{SoundBlock("b")}, {SoundBlock("b")}};
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(forgery.Make()));
  auto iterator = opened.table->NewIterator({});
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  iterator->Next();
  EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("order")));
  iterator->SeekToLast();
  ASSERT_TRUE(iterator->Valid());
  iterator->Prev();
  EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("order")));
}

TEST(HostileTableTest, ForgedLz4BlocksTakeNoMemory) {
  const std::string block = SoundBlock() + std::string(1000, 'x');
  std::string payload(2000, '\0');
  payload.resize(static_cast<size_t>(LZ4_compress_default(block.data(), payload.data(),
                                                          static_cast<int>(block.size()),
                                                          static_cast<int>(payload.size()))));
  const auto stored = [&](uint64_t size_bytes, std::string_view compressed) {
    std::string bytes;
    AppendVarint64(&bytes, size_bytes);
    return bytes + std::string(compressed);
  };
  const uint64_t size = block.size();
  for (const uint64_t claimed : {uint64_t{0}, size - 1, size + 1, 255 * payload.size()}) {
    ExpectDamagedBlock(WithBlock(stored(claimed, payload), 1), "does not expand");
  }
  // These are refused before memory is allocated.
  for (const uint64_t claimed : {255 * payload.size() + 1, kBlockBytesMax, kBlockBytesMax + 1,
                                 uint64_t{0xffffffff}, uint64_t{1} << 32, kMax}) {
    ExpectDamagedBlock(WithBlock(stored(claimed, payload), 1), "impossible expanded size");
  }
  ExpectDamagedBlock(WithBlock(stored(size, payload.substr(0, payload.size() / 2)), 1));
  ExpectDamagedBlock(WithBlock(stored(size, ""), 1));
  ExpectDamagedBlock(WithBlock("", 1));
  ExpectDamagedBlock(WithBlock(stored(1000, std::string(40, '\xff')), 1));
}

TEST(HostileTableTest, NamesUnknownCompressions) {
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(WithBlock(SoundBlock(), 7)));
  EXPECT_THAT(AskTable(*opened.table, "a", kSequenceMax),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr(kTablePath), HasSubstr("kind 7"))));
}

// The stored bytes of a block that is compressed.
std::string Lz4Of(std::string_view block) {
  std::string bytes;
  AppendVarint32(&bytes, static_cast<uint32_t>(block.size()));
  const size_t begin = bytes.size();
  const auto size = static_cast<int>(block.size());
  bytes.resize(begin + static_cast<size_t>(LZ4_compressBound(size)));
  const int stored = LZ4_compress_default(block.data(), bytes.data() + begin, size,
                                          static_cast<int>(bytes.size() - begin));
  bytes.resize(begin + static_cast<size_t>(stored));
  return bytes;
}

TEST(HostileTableTest, OnlyDataBlocksAreCompressed) {
  std::string handle;
  AppendVarint64(&handle, kTableHeaderBytes);
  AppendVarint64(&handle, SoundBlock().size());
  TableProperties properties;
  properties.digest_seed = kTestSeed;
  Forgery sound;
  sound.data_blocks = {{SoundBlock()}};
  const auto refused = StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr(kTablePath), HasSubstr("only data blocks")));

  Forgery index = sound;
  index.index_bytes = BlockOf(Entry(0, "b", handle), {0});
  EXPECT_OK(OpenTableBytes(index.Make()).status());
  index.index_bytes = Lz4Of(index.index_bytes);
  index.index_compression = 1;
  EXPECT_THAT(OpenTableBytes(index.Make()), refused);
  index.index_compression = 7;
  EXPECT_THAT(OpenTableBytes(index.Make()),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("kind 7")));

  Forgery with_properties = sound;
  with_properties.properties_bytes = Lz4Of(properties.Encode());
  with_properties.properties_compression = 1;
  EXPECT_THAT(OpenTableBytes(with_properties.Make()), refused);

  Forgery with_filter = sound;
  with_filter.filter_bytes = Lz4Of(FilterOf({"a"}));
  with_filter.filter_compression = 1;
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(with_filter.Make()));
  EXPECT_EQ(opened.table->filter_presence(), FilterPresence::kDamaged);
  EXPECT_THAT(opened.table->filter_status(), refused);
}

TEST(HostileTableTest, ImpossibleIndexHandlesAreDamage) {
  const uint64_t size = SoundBlock().size();
  const BlockHandle first{24, size};
  const uint64_t second = 24 + size + kBlockTrailerBytes;
  for (const std::vector<BlockHandle>& handles :
       {std::vector<BlockHandle>{first, first},  // overlapping
        {first, {second - 1, size}},
        {first, {second, size - 1}},  // a gap after it
        {first, {second, size + 1}},  // into the index
        {first, {second, kMax}},
        {first, {second, kMax - second - 5}},  // overflows when added up
        {first, {kMax, 10}},
        {first, {kMax - 3, 0}},
        {first, {0, size}},
        {{second, size}, first},                                              // the wrong way round
        {first},                                                              // not all
        {first, {second, size}, {second + size + kBlockTrailerBytes, 0}}}) {  // too many
    Forgery forgery;
    forgery.data_blocks = {{SoundBlock("a")}, {SoundBlock("c")}};
    for (size_t i = 0; i < handles.size(); ++i) {
      forgery.index.emplace_back(std::string(1, static_cast<char>('b' + 2 * i)), handles[i]);
    }
    EXPECT_THAT(OpenTableBytes(forgery.Make()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("index")));
    forgery.change_footer = [&](Footer* footer) { footer->data_blocks = handles.size(); };
    EXPECT_THAT(OpenTableBytes(forgery.Make()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("index")));
  }
}

TEST(HostileTableTest, ImpossibleIndexBlocksAreDamage) {
  const uint64_t size = SoundBlock().size();
  std::string handle;
  AppendVarint64(&handle, 24);
  AppendVarint64(&handle, size);
  for (const std::string& index :
       {std::string("x"), BlockOf("", {}), BlockOf(Entry(0, "b", handle + "x"), {0}),
        BlockOf(Entry(0, "b", "\x80"), {0}), BlockOf(Entry(0, "b", ""), {0}),
        BlockOf(Entry(3, "b", handle), {0})}) {
    Forgery forgery;
    forgery.data_blocks = {{SoundBlock()}};
    forgery.index_bytes = index;
    EXPECT_THAT(OpenTableBytes(forgery.Make()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("index")));
  }
  Forgery unsorted;
  unsorted.data_blocks = {{SoundBlock("a")}, {SoundBlock("c")}};
  unsorted.index = {{"d", {24, size}}, {"b", {24 + size + kBlockTrailerBytes, size}}};
  EXPECT_THAT(OpenTableBytes(unsorted.Make()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("order")));
}

TEST(HostileTableTest, UnboundedIndexesAreDamage) {
  // 20,000 keys of 60,000 bytes in 300 KB.
  Forgery forgery;
  std::string entries;
  uint64_t offset = kTableHeaderBytes;
  for (int i = 0; i < 20000; ++i) {
    forgery.data_blocks.push_back({""});
    std::string handle;
    AppendVarint64(&handle, offset);
    AppendVarint64(&handle, 0);
    offset += kBlockTrailerBytes;
    entries += Entry(i == 0 ? 0 : 60000, i == 0 ? std::string(60000, 'k') : "", handle);
  }
  forgery.index_bytes = BlockOf(entries, {0});
  EXPECT_THAT(OpenTableBytes(forgery.Make()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("share more")));
}

TEST(HostileTableTest, ImpossibleFootersAreDamage) {
  const auto expect_damage = [](const std::function<void(Footer*)>& change) {
    Forgery forgery;
    forgery.data_blocks = {{SoundBlock()}};
    forgery.change_footer = change;
    // The checksum covers the written bytes, at the offset that the footer claims.
    forgery.change_footer_bytes = [](std::string*) {};
    EXPECT_THAT(OpenTableBytes(forgery.Make()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kTablePath)));
  };
  for (const uint64_t wrong : {uint64_t{0}, uint64_t{1}, uint64_t{23}, uint64_t{1} << 20,
                               uint64_t{1} << 63, kMax - 8, kMax}) {
    expect_damage([=](Footer* footer) { footer->index.offset = wrong; });
    expect_damage([=](Footer* footer) { footer->index.stored_bytes = wrong; });
    expect_damage([=](Footer* footer) { footer->properties.offset = wrong; });
    expect_damage([=](Footer* footer) { footer->properties.stored_bytes = wrong; });
    expect_damage([=](Footer* footer) { footer->filter = {wrong, 10}; });
    expect_damage([=](Footer* footer) { footer->filter = {30, wrong}; });
    expect_damage([=](Footer* footer) { footer->file_bytes = wrong; });
    if (wrong != 1) expect_damage([=](Footer* footer) { footer->data_blocks = wrong; });
    expect_damage([=](Footer* footer) { footer->file_id = wrong; });
  }
  expect_damage([](Footer* footer) { std::swap(footer->index, footer->properties); });
  expect_damage([](Footer* footer) { footer->index = footer->properties; });
}

TEST(HostileTableTest, NamesLaterVersionsAndFlags) {
  const auto open = [](size_t at, uint32_t value) {
    Forgery forgery;
    forgery.data_blocks = {{SoundBlock()}};
    forgery.change_footer_bytes = [=](std::string* bytes) {
      StoreFixed32(bytes->data() + at, value);
    };
    return OpenTableBytes(forgery.Make()).status();
  };
  EXPECT_THAT(open(80, 4), StatusIs(absl::StatusCode::kUnimplemented,
                                    AllOf(HasSubstr("version 4"), HasSubstr(kTablePath))));
  EXPECT_THAT(open(80, 0), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 0")));
  EXPECT_THAT(open(84, 9),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("checksum kind 9")));
  EXPECT_THAT(open(88, 1), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("flags")));
}

TEST(HostileTableTest, ImpossiblePropertiesAreDamage) {
  const auto open = [](const std::string& properties) {
    Forgery forgery;
    forgery.data_blocks = {{SoundBlock()}};
    forgery.properties_bytes = properties;
    return OpenTableBytes(forgery.Make());
  };
  const auto property = [](std::string_view name, std::string_view type_and_value) {
    std::string bytes;
    AppendLengthPrefixed(&bytes, name);
    return bytes + std::string(type_and_value);
  };
  using std::string_view_literals::operator""sv;
  const std::string seed = property("digest_seed", "\x01\x05");
  EXPECT_OK(open(seed).status());
  for (const std::string& properties :
       {std::string("x"), seed + "x", seed + seed, property("zzz", "\x01\x05") + seed,
        property("entries", "\x01\x05"), property("digest_seed", "\x03\x01\x05"),
        property("digest_seed", "\x01"), property("digest_seed", "\x01\xff"),
        seed + property("entries",
                        "\x02"
                        "12345678"),
        seed + property("filter_kind", "\x03\xff\xff\xff\xff\x0f"),
        seed + property("level", "\x01\xe8\x07"), seed + property("zzz", "\x04\x05"),
        seed + property("zzz", "\x00"sv), seed + property("zzz", "")}) {
    EXPECT_THAT(open(properties), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("propert")))
        << properties;
  }
  // Names of later releases are kept.
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened,
                       open(property("aaa", "\x03\x02x\n") + seed + property("zzz", "\x01\x05")));
  EXPECT_EQ(opened.table->properties().others,
            (std::map<std::string, std::string>{{"aaa", "x\\x0a"}, {"zzz", "5"}}));
}

// A file that is a hole, except for some pieces.  Records the largest read.
class SparseFile final : public ReadFile {
 public:
  explicit SparseFile(uint64_t* most) : most_(*most) {}
  void Put(uint64_t offset, std::string bytes) {
    size_ = std::max(size_, offset + bytes.size());
    pieces_.emplace_back(offset, std::move(bytes));
  }
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    most_ = std::max<uint64_t>(most_, buffer.size());
    const size_t count =
        static_cast<size_t>(std::min<uint64_t>(buffer.size(), size_ - std::min(size_, offset)));
    std::fill_n(buffer.begin(), count, '\0');
    for (const auto& [at, bytes] : pieces_) {
      for (size_t i = 0; i < bytes.size(); ++i) {
        if (at + i >= offset && at + i < offset + count) buffer[at + i - offset] = bytes[i];
      }
    }
    return count;
  }
  absl::StatusOr<uint64_t> Size() const override { return size_; }
  const std::string& path() const override { return path_; }

 private:
  uint64_t& most_;
  const std::string path_ = kTablePath;
  uint64_t size_ = 0;
  std::vector<std::pair<uint64_t, std::string>> pieces_;
};

// Files may be mostly holes, so a forger can claim large parts at no cost.
TEST(HostileTableTest, RefusesOversizedParts) {
  struct Part {
    BlockHandle Footer::*handle;
    uint64_t bytes_max;
    std::string sound;
  };
  Forgery forgery;
  forgery.data_blocks = {{SoundBlock("a")}};
  forgery.filter_bytes = FilterOf({"a"});
  const std::string whole = forgery.Make();
  const Footer real = Footer::Decode(std::string_view(whole).substr(whole.size() - kFooterBytes),
                                     whole.size(), kTablePath)
                          .value();
  const auto sound = [&](const BlockHandle& handle) {
    return whole.substr(handle.offset, handle.stored_bytes);
  };
  const Part parts[] = {{&Footer::filter, kFilterBytesMax, sound(real.filter)},
                        {&Footer::index, kIndexBytesMax, sound(real.index)},
                        {&Footer::properties, kPropertiesBytesMax, sound(real.properties)}};
  for (const Part& large : parts) {
    uint64_t most = 0;
    auto file = std::make_unique<SparseFile>(&most);
    file->Put(0, whole.substr(0, real.filter.offset));
    Footer footer = real;
    uint64_t offset = real.filter.offset;
    for (const Part& part : parts) {
      const bool is_large = part.handle == large.handle;
      footer.*part.handle = {offset, is_large ? part.bytes_max + 1 : part.sound.size()};
      if (!is_large) {
        std::string bytes = part.sound + '\0';
        AppendFixed64(&bytes, Checksum(bytes, kFileId, offset));
        file->Put(offset, bytes);
      }
      offset += (footer.*part.handle).stored_bytes + kBlockTrailerBytes;
    }
    footer.file_bytes = offset + kFooterBytes;
    file->Put(offset, footer.Encode());
    const absl::StatusOr<std::unique_ptr<Table>> table = Table::Open(std::move(file), {});
    const std::string said = Concat("a block of ", large.bytes_max + 1, " bytes, but at most ",
                                    large.bytes_max, " are allowed");
    if (large.handle == &Footer::filter) {  // the table's answers do not need it
      ASSERT_OK(table);
      EXPECT_EQ((*table)->filter_presence(), FilterPresence::kDamaged);
      EXPECT_THAT((*table)->filter_status(),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr(said)));
    } else {
      EXPECT_THAT(table.status(), StatusIs(absl::StatusCode::kDataLoss,
                                           AllOf(HasSubstr(kTablePath), HasSubstr(said))));
    }
    EXPECT_LT(most, Table::kEndBytes + 10'000u);
  }
}

// --- filters ---

TEST(HostileTableTest, UnknownFiltersPassAndAreReported) {
  for (const std::string& filter :
       {std::string("?"), std::string(64, '\0'), std::string(1000, 'x')}) {
    Forgery forgery;
    forgery.data_blocks = {{SoundBlock()}};
    forgery.filter_bytes = filter;
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(forgery.Make()));
    EXPECT_NE(opened.table->filter_presence(), FilterPresence::kUsable);
    EXPECT_NE(opened.table->filter_presence(), FilterPresence::kAbsent);
    ASSERT_OK_AND_ASSIGN(const Answer answer, AskTable(*opened.table, "a", kSequenceMax));
    EXPECT_EQ(answer.kind, TableAnswer::kFound);
  }
}

TEST(HostileTableTest, EmptyFiltersOfFullTablesDenyNone) {
  Forgery forgery;
  forgery.data_blocks = {{SoundBlock()}};
  forgery.filter_bytes = FilterOf({});
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(forgery.Make()));
  EXPECT_EQ(opened.table->filter_presence(), FilterPresence::kDamaged);
  EXPECT_THAT(opened.table->filter_status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(kTablePath), HasSubstr("filter"), HasSubstr("empty"))));
  ASSERT_OK_AND_ASSIGN(const Answer answer, AskTable(*opened.table, "a", kSequenceMax));
  EXPECT_EQ(answer.kind, TableAnswer::kFound);
}

TEST(HostileTableTest, FiltersOfOtherSeedsPassAndAreReported) {
  Forgery forgery;
  forgery.data_blocks = {{SoundBlock()}};
  forgery.filter_bytes = FilterOf({"a"});
  TableContext context;
  context.digest_seed = kTestSeed + 1;
  const std::string bytes = forgery.Make();
  ASSERT_OK_AND_ASSIGN(auto table,
                       Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes)), context));
  EXPECT_EQ(table->filter_presence(), FilterPresence::kUnknown);
  EXPECT_TRUE(table->MayContain(bloom::DigestOf("a", kTestSeed + 1)));
  EXPECT_TRUE(table->MayContain(bloom::DigestOf("b", kTestSeed + 1)));
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
  EXPECT_EQ(opened.table->filter_presence(), FilterPresence::kUsable);
  EXPECT_FALSE(opened.table->MayContain(bloom::DigestOf("b", kTestSeed)));
}

// --- random changes ---

TEST(HostileTableTest, ForgedContentsNeverYieldKeysOutOfOrder) {
  const uint64_t seed = 20240501;
  Dice dice(seed);
  size_t opened_count = 0;
  size_t damaged_count = 0;
  for (int round = 0; round < 4000; ++round) {
    Forgery forgery;
    const size_t blocks = 1 + dice.Roll(3);
    for (size_t i = 0; i < blocks; ++i) {
      BlockBuilder builder(1 + static_cast<int>(dice.Roll(5)));
      for (size_t e = 0; e < 1 + dice.Roll(100); ++e) {
        char user_key[8];
        std::snprintf(user_key, sizeof(user_key), "%c%03d", static_cast<char>('a' + 2 * i),
                      static_cast<int>(e));
        builder.Add(Key(user_key), std::string(dice.Roll(40), 'v'));
      }
      std::string bytes(builder.Finish());
      for (size_t change = dice.Roll(4); change > 0; --change)
        bytes[dice.Roll(bytes.size())] = static_cast<char>(dice.Next());
      if (dice.OneIn(10)) bytes.resize(dice.Roll(bytes.size()));
      forgery.data_blocks.push_back({bytes, static_cast<uint8_t>(dice.OneIn(30) ? 1 : 0)});
    }
    std::string file = forgery.Make();
    if (dice.OneIn(4)) {
      // Something in index or properties.
      TableProperties properties;
      properties.digest_seed = kTestSeed;
      forgery.properties_bytes = properties.Encode();
      forgery.properties_bytes[dice.Roll(forgery.properties_bytes.size())] =
          static_cast<char>(dice.Next());
      file = forgery.Make();
    }
    auto opened = OpenTableBytes(file);
    if (!opened.ok()) {
      ++damaged_count;
      EXPECT_THAT(opened.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kTablePath)));
      continue;
    }
    ++opened_count;
    for (int i = 0; i < 10; ++i) {
      const auto answer =
          AskTable(*opened->table, RandomKey(KeyShape::kBinary, &dice), kSequenceMax);
      damaged_count += !answer.ok();
    }
    auto iterator = opened->table->NewIterator({.readahead_bytes = dice.Roll(2) * 1000});
    std::string last;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      ASSERT_TRUE(last.empty() || CompareInternalKeys(last, iterator->key()) < 0)
          << "seed " << seed << " round " << round;
      last = iterator->key();
    }
    last.clear();
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      ASSERT_TRUE(last.empty() || CompareInternalKeys(iterator->key(), last) < 0)
          << "seed " << seed << " round " << round;
      last = iterator->key();
    }
    iterator->Seek(InternalKey(RandomKey(KeyShape::kBinary, &dice), 7));
    iterator->SeekForPrev(InternalKey(RandomKey(KeyShape::kBinary, &dice), 7));
  }
  EXPECT_GT(opened_count, 1000u);
  EXPECT_GT(damaged_count, 1000u);
}

}  // namespace
}  // namespace lsm
