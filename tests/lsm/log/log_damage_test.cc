// Damage to a log is reported and never taken for the result of a crash.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/coding.h"
#include "lsm/log/log_reader.h"
#include "tests/lsm/log/log_script.h"
#include "tests/lsm/log/string_files.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::Dice;
using testing_support::StatusIs;

void ExpectEveryFlipIsDamage(const Script& script) {
  for (size_t bit = 0; bit < 8 * script.bytes().size(); ++bit) {
    const LogContents contents = ReadLog(Flipped(script.bytes(), bit));
    ASSERT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("dir/000001.log")))
        << "bit " << bit << " of " << 8 * script.bytes().size();
    ASSERT_TRUE(IsPrefix(contents.payloads, script.payloads())) << "bit " << bit;
    // Everything before it is read.
    size_t sound = 0;
    while (sound < script.payloads().size() && script.end_of(sound) <= bit / 8) ++sound;
    ASSERT_EQ(contents.payloads.size(), sound) << "bit " << bit;
  }
}

TEST(LogDamageTest, ReportsFlippedBitsWithEachRecordSynced) {
  Script script;
  script.Append(Text(20)).Sync().Append("").Sync().Append(Text(500)).Sync();
  ExpectEveryFlipIsDamage(script);
}

TEST(LogDamageTest, ReportsFlippedBitsBeforeOneLastSync) {
  Script script;
  script.Append(Text(100)).Append(Text(280)).Append("").Append(Sparse(600, 512)).Sync();
  ASSERT_EQ(script.bytes()[511], '\0') << "there is padding in it";
  ExpectEveryFlipIsDamage(script);
}

TEST(LogDamageTest, ReportsFlippedBitsInClosedLogs) {
  for (const bool sync : {false, true}) {
    Script script;
    script.Append(Text(30)).Append(Text(332)).Close(sync);
    ASSERT_EQ(script.bytes().size(), 512u) << "the end record is padded";
    ExpectEveryFlipIsDamage(script);
  }
}

TEST(LogDamageTest, ReportsFlippedBitsInEmptyLogs) {
  ExpectEveryFlipIsDamage(Script());
  ExpectEveryFlipIsDamage(Script().Close());
}

TEST(LogDamageTest, ReportsFlippedBitsInLongLogs) {
  Script script;
  script.Append(Text(200000)).Append(Text(100)).Sync().Append(Text(150000)).Append("x").Sync();
  Dice dice(5);
  for (int i = 0; i < 200; ++i) {
    const size_t bit = dice.Roll(8 * script.bytes().size());
    const LogContents contents = ReadLog(Flipped(script.bytes(), bit));
    ASSERT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss)) << "bit " << bit;
  }
}

// Writes another value into every byte.  Leaves out a zero in the last seal, because an incomplete
// write leaves that.
void ExpectEveryOverwrittenByteIsDamage(const Script& script, size_t stride) {
  const std::string& bytes = script.bytes();
  const size_t last_seal = bytes.find_last_not_of('\0');
  const auto check = [&](size_t at, char value) {
    if (value == bytes[at]) return;
    std::string image = bytes;
    image[at] = value;
    const LogContents contents = ReadLog(image);
    const std::string what =
        "byte " + std::to_string(at) + " is now " + std::to_string(static_cast<uint8_t>(value));
    ASSERT_TRUE(IsPrefix(contents.payloads, script.payloads())) << what;
    if (at == last_seal && value == '\0') {
      ASSERT_OK(contents.status);
      ASSERT_EQ(contents.end, LogEnd::kTorn);
      return;
    }
    ASSERT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset")))
        << what;
  };
  for (size_t at = 0; at < bytes.size(); at += stride) {
    for (const int change : {0xff, 0x18}) {
      check(at, static_cast<char>(bytes[at] ^ change));
      if (testing::Test::HasFatalFailure()) return;
    }
    for (const int value : {0x00, 0xa5}) {
      check(at, static_cast<char>(value));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(LogDamageTest, ReportsEveryOverwrittenByte) {
  for (const bool sync : {true, false}) {
    Script script;
    script.Append(Text(20));
    if (sync) script.Sync();
    script.Append("").Append(Text(90));
    ExpectEveryOverwrittenByteIsDamage(script, 1);
    ExpectEveryOverwrittenByteIsDamage(script.Close(sync), 1);
  }
}

TEST(LogDamageTest, ReportsOverwrittenBytesWithAnyPayload) {
  ExpectEveryOverwrittenByteIsDamage(Script(), 1);
  ExpectEveryOverwrittenByteIsDamage(Script().Close(), 1);
  ExpectEveryOverwrittenByteIsDamage(Script().Append(""), 1);
  ExpectEveryOverwrittenByteIsDamage(Script().Append(std::string(60, '\0')), 1);
  ExpectEveryOverwrittenByteIsDamage(Script().Append(std::string(60, '\xa5')), 1);
  // Chunks of the greatest length, a record that ends with its sector, and padding.
  ExpectEveryOverwrittenByteIsDamage(Script().Append(Text(441)).Append(Text(465)), 23);
  ExpectEveryOverwrittenByteIsDamage(Script().Append(Text(410)), 23);
}

TEST(LogDamageTest, ReportsAnyOverwrittenValue) {
  const Script script = [] {
    Script one;
    one.Append("a");
    return one;
  }();
  for (size_t at = 0; at < script.bytes().size(); ++at) {
    const bool is_last_seal = at + 1 == script.bytes().size();
    for (int change = 1; change < 256; change += is_last_seal ? 1 : 5) {
      std::string image = script.bytes();
      image[at] = static_cast<char>(image[at] ^ change);
      const bool looks_torn = is_last_seal && image[at] == '\0';
      ASSERT_EQ(ReadLog(image).status.code(),
                looks_torn ? absl::StatusCode::kOk : absl::StatusCode::kDataLoss)
          << at << ", " << change;
    }
  }
}

TEST(LogDamageTest, LostHeaderBeforeRecordsIsDamage) {
  Script script;
  script.Append("a");
  std::string image = script.bytes();
  std::fill_n(image.begin(), kLogHeaderBytes, '\0');
  EXPECT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss));
  image = script.bytes();
  std::fill_n(image.begin() + 8, 20, 'x');
  EXPECT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss));
}

// Any loss is damage if a later record states that they were synced.
TEST(LogDamageTest, LostSectorsBeforeTheDurableOffsetAreDamage) {
  Dice dice(4);
  Script script;
  script.Append(Text(700)).Append(Text(100)).Append(Text(1900)).Sync().Append("later");
  const size_t durable = script.start_of(3);
  for (size_t from = kLogHeaderBytes; from < durable; from += 37) {
    const size_t to =
        std::min({from / kDiskSectorBytes * kDiskSectorBytes + kDiskSectorBytes, durable});
    for (const bool zeros : {false, true}) {
      std::string image = script.bytes();
      for (size_t i = from; i < to; ++i) image[i] = zeros ? '\0' : static_cast<char>(dice.Next());
      const LogContents contents = ReadLog(image);
      ASSERT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("states")))
          << from;
      ASSERT_TRUE(IsPrefix(contents.payloads, script.payloads()));
    }
  }
}

TEST(LogDamageTest, DurableOffsetAtTheLostRecordIsEnough) {
  Script script;
  script.Append("short").Sync().Append("later");
  std::string image = script.bytes();
  std::fill(&image[script.start_of(0)], &image[script.end_of(0)], '\0');
  EXPECT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss));
}

// Swaps sectors of the file as it is on the disk: after its end there are zeros.
std::string WithSwappedSectors(const std::string& bytes, size_t a, size_t b) {
  std::string image = bytes;
  image.resize((bytes.size() + kDiskSectorBytes - 1) / kDiskSectorBytes * kDiskSectorBytes);
  std::swap_ranges(&image[a * kDiskSectorBytes], &image[a * kDiskSectorBytes] + kDiskSectorBytes,
                   &image[b * kDiskSectorBytes]);
  image.resize(bytes.size());
  return image;
}

// One of the sectors ends with the chunk of a long record and is the last one of the file.
TEST(LogDamageTest, SwappedSectorsAreDamageAtAnyEnd) {
  for (size_t last_bytes = 400; last_bytes < 1600; last_bytes += 3) {
    Script script;
    script.Append(Text(700)).Append(Text(100)).Append(Text(2000)).Sync().Append(Text(last_bytes));
    const std::string& bytes = script.bytes();
    for (size_t a = 1; a * kDiskSectorBytes < bytes.size(); ++a) {
      for (size_t b = a + 1; b * kDiskSectorBytes < bytes.size(); ++b) {
        const LogContents contents = ReadLog(WithSwappedSectors(bytes, a, b));
        ASSERT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss))
            << a << " and " << b << " of a log of " << bytes.size() << " bytes";
        ASSERT_TRUE(IsPrefix(contents.payloads, script.payloads()));
      }
    }
  }
}

// The file with a copy of sector `from` in the place of sector `to`, as far as the file reaches.
std::string WithStraySector(const std::string& bytes, size_t from, size_t to) {
  std::string image = bytes;
  image.resize((bytes.size() + kDiskSectorBytes - 1) / kDiskSectorBytes * kDiskSectorBytes);
  std::copy_n(&image[from * kDiskSectorBytes], kDiskSectorBytes, &image[to * kDiskSectorBytes]);
  image.resize(bytes.size());
  return image;
}

// The end of the file may cut off the stray sector's last seal.
TEST(LogDamageTest, StraySectorInAnyPlaceIsDamage) {
  for (size_t last_bytes = 420; last_bytes < 1600; last_bytes += 11) {
    Script script;
    script.Append(Text(20)).Sync().Append(Text(last_bytes)).Sync();
    const std::string& bytes = script.bytes();
    const size_t sectors = (bytes.size() + kDiskSectorBytes - 1) / kDiskSectorBytes;
    for (size_t from = 0; from < sectors; ++from) {
      for (size_t to = 1; to < sectors; ++to) {
        if (from == to) continue;
        const LogContents contents = ReadLog(WithStraySector(bytes, from, to));
        ASSERT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss))
            << from << " at " << to << " of a log of " << bytes.size() << " bytes";
        ASSERT_TRUE(IsPrefix(contents.payloads, script.payloads()));
      }
    }
  }
}

// A write that went to the wrong place is missing in the right one.
TEST(LogDamageTest, MisdirectedSectorIsDamage) {
  Script script;
  script.Append(Text(20)).Sync().Append(Text(3000)).Sync();
  const std::string& bytes = script.bytes();
  const size_t sectors = (bytes.size() + kDiskSectorBytes - 1) / kDiskSectorBytes;
  for (size_t from = 1; from < sectors; ++from) {
    for (size_t to = 1; to < sectors; ++to) {
      if (from == to) continue;
      std::string image = WithStraySector(bytes, from, to);
      const size_t end = std::min(image.size(), (from + 1) * kDiskSectorBytes);
      std::fill(&image[from * kDiskSectorBytes], &image[end - 1] + 1, '\0');
      ASSERT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss))
          << from << " at " << to << " of " << sectors;
    }
  }
}

// Disks write sectors whole, so a sector with bytes that are right was written.
TEST(LogDamageTest, OverwrittenBytesInASectorAreDamage) {
  Dice dice(6);
  Script script;
  script.Append(Text(20)).Append(Text(200)).Append(Text(1000)).Append(Text(100));
  const std::string& bytes = script.bytes();
  for (size_t at = kLogHeaderBytes; at + 16 < bytes.size(); ++at) {
    const size_t sector = at / kDiskSectorBytes * kDiskSectorBytes;
    // Skips bytes that overlap the tag at the beginning of a sector, or the seal at its end.
    if (at - sector < 8 || sector + kDiskSectorBytes < at + 24) continue;
    std::string image = bytes;
    for (size_t i = at; i < at + 16; ++i) image[i] = static_cast<char>(dice.Next());
    ASSERT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss)) << at;
    for (size_t i = at; i < at + 16; ++i) image[i] = '\0';
    ASSERT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss)) << at;
  }
}

// A value may contain a copy of a header, in a sector whose end was lost.  A sound beginning shows
// that the sector is in its own place.
TEST(LogDamageTest, HeadersInValuesKeepTornWritesHarmless) {
  Script script;
  script.Append("first");
  const std::string header = script.bytes().substr(kLogHeaderBytes, kRecordHeaderBytes);
  const size_t room = SectorRoom(script.bytes().size() + kRecordHeaderBytes) - kChunkFramingBytes;
  // A chunk's seal follows its piece.
  const size_t before = kLogHeaderBytes - kSectorTagBytes - (kChunkFramingBytes - 1);
  script.Append(std::string(room, 'x') + std::string(before, 'y') + header + "more");
  ASSERT_EQ(script.bytes().find(header, kDiskSectorBytes), kDiskSectorBytes + kLogHeaderBytes);
  std::string image = script.bytes();
  script.Append("third");
  image.resize(script.bytes().size());  // without any byte of the third record
  const LogContents contents = ReadLog(image);
  EXPECT_OK(contents.status);
  EXPECT_EQ(contents.end, LogEnd::kTorn);
  EXPECT_EQ(contents.payloads.size(), 2u);
}

// Also if the sector that states the durable offset is one of the two.
TEST(LogDamageTest, SwappedSectorsAreDamage) {
  for (const size_t last_bytes : {size_t{10}, size_t{3000}}) {
    Script script;
    script.Append(Text(700)).Append(Text(100)).Append(Text(2000)).Sync().Append(Text(last_bytes));
    script.Append("later");
    const std::string& bytes = script.bytes();
    const size_t sectors = bytes.size() / kDiskSectorBytes;
    for (size_t a = 1; a < sectors; ++a) {
      for (size_t b = a + 1; b < sectors; ++b) {
        const LogContents contents = ReadLog(WithSwappedSectors(bytes, a, b));
        ASSERT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset")))
            << a << " and " << b << " of " << sectors;
        ASSERT_TRUE(IsPrefix(contents.payloads, script.payloads()));
      }
    }
    // A misdirected write replaces the sector that belongs there.
    for (size_t a = 0; a < sectors; ++a) {
      for (size_t b = 1; b < sectors; ++b) {
        if (a == b) continue;
        std::string image = bytes;
        std::copy_n(&bytes[a * kDiskSectorBytes], kDiskSectorBytes, &image[b * kDiskSectorBytes]);
        ASSERT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss))
            << a << " at " << b;
      }
    }
  }
}

// In a log that was never synced nothing else shows it.
TEST(LogDamageTest, MisplacedSectorsNameTheirOrigin) {
  Script script;
  for (int i = 0; i < 20; ++i) script.Append(Text(100 * static_cast<size_t>(i % 7)));
  script.Append(Text(3000));
  std::string image = script.bytes().substr(0, script.start_of(20));
  const size_t last = image.size() / kDiskSectorBytes - 1;
  std::copy_n(&image[3 * kDiskSectorBytes], kDiskSectorBytes, &image[last * kDiskSectorBytes]);
  EXPECT_THAT(ReadLog(image).status,
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the bytes written at offset 1536 are at offset")));
  // A chunk that fills its sector.
  image = script.bytes();
  const size_t full = script.start_of(20) / kDiskSectorBytes + 2;
  std::copy_n(&image[full * kDiskSectorBytes], kDiskSectorBytes,
              &image[(full - 1) * kDiskSectorBytes]);
  std::fill(image.begin() + static_cast<int64_t>(full * kDiskSectorBytes), image.end(), '\0');
  EXPECT_THAT(ReadLog(image).status,
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(std::to_string(full * kDiskSectorBytes) + " are at")));
}

// The reader searches in windows of 64 KiB, and the record may lie in two of them.
TEST(LogDamageTest, DistantRecordsStateADurableOffset) {
  for (size_t payload_bytes = 64200; payload_bytes < 64500; ++payload_bytes) {
    Script script;
    script.Append(std::string(payload_bytes, 'p')).Sync().Append("later");
    std::string image = script.bytes();
    std::fill_n(&image[kLogHeaderBytes], kRecordHeaderBytes, '\0');
    ASSERT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss)) << payload_bytes;
  }
}

TEST(LogDamageTest, LostSectorsOfAClosedLogAreDamage) {
  Script script;
  script.Append(Text(700)).Append(Text(100)).Append(Text(1500)).Close();
  for (size_t from = kLogHeaderBytes; from < script.end_of(2); from += 64) {
    std::string image = script.bytes();
    std::fill(&image[from], &image[std::min(from + 64, script.end_of(2))], '\0');
    ASSERT_THAT(ReadLog(image).status, StatusIs(absl::StatusCode::kDataLoss)) << from;
  }
}

TEST(LogDamageTest, BytesAfterAnEndRecordAreDamage) {
  Script script;
  script.Append("a").Close();
  EXPECT_THAT(ReadLog(script.bytes() + "x").status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("1 bytes follow the end record")));
}

TEST(LogDamageTest, RefusesMisplacedRecords) {
  // Two records of the same size, in the same place of two sectors.
  Script script;
  script.Append(std::string(441, 'a')).Append(std::string(465, 'b')).Append(std::string(465, 'c'));
  ASSERT_EQ(script.end_of(2), 3 * kDiskSectorBytes);
  std::string swapped = script.bytes();
  swapped.replace(512, 512, script.bytes(), 1024, 512);
  swapped.replace(1024, 512, script.bytes(), 512, 512);
  LogContents contents = ReadLog(swapped);
  EXPECT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss)) << "not torn, if not synced";
  EXPECT_EQ(contents.payloads, std::vector<std::string>{script.payloads()[0]});

  // The record is repeated after itself, as if it was written twice.
  contents = ReadLog(script.bytes() + script.bytes().substr(1024, 512));
  EXPECT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(contents.payloads, script.payloads());

  script.Sync().Append("later");
  swapped.append(script.bytes(), 1536);
  EXPECT_THAT(ReadLog(swapped).status, StatusIs(absl::StatusCode::kDataLoss));
}

TEST(LogDamageTest, RefusesRecordsOfOtherLogs) {
  Script ours(1), theirs(2);
  ours.Append("aaa").Append("bbb");
  theirs.Append("xxx").Append("yyy");
  LogContents contents =
      ReadLog(ours.bytes().substr(0, ours.end_of(0)) + theirs.bytes().substr(theirs.start_of(1)));
  EXPECT_THAT(contents.status, StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(contents.payloads, std::vector<std::string>{"aaa"});

  // A crash could leave a whole sector of it.
  ours.Append(Text(2000));
  theirs.Append(Text(2000));
  contents = ReadLog(ours.bytes().substr(0, 1024) + theirs.bytes().substr(1024));
  EXPECT_OK(contents.status);
  EXPECT_EQ(contents.payloads.size(), 2u);
  EXPECT_EQ(contents.end, LogEnd::kTorn);
}

TEST(LogDamageTest, OmittedRecordsAreDamage) {
  std::string bytes = Script(9).Append("a").bytes();
  char header[kRecordHeaderBytes];
  StoreRecordHeader(header, {.type = RecordType::kData, .ordinal = 2}, 9, bytes.size());
  bytes.append(header, sizeof(header));
  EXPECT_THAT(ReadLog(bytes).status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ordinal 2")));
}

std::vector<std::string> ReadSkipping(const std::string& bytes, int* damages, LogEnd* end) {
  auto reader =
      LogReader::Open(std::make_unique<StringReadFile>(bytes), LogKind::kWriteAhead).value();
  std::vector<std::string> payloads;
  LogReader::Record record;
  *damages = 0;
  while (true) {
    const absl::StatusOr<bool> more = reader->Next(&record);
    if (!more.ok()) {
      ++*damages;
      EXPECT_EQ(reader->Next(&record).status(), more.status()) << "it stays there";
      if (!reader->SkipDamage().value()) break;
      continue;
    }
    if (!*more) break;
    payloads.emplace_back(record.payload);
  }
  *end = reader->end();
  return payloads;
}

TEST(LogDamageTest, RepairContinuesAfterDamage) {
  Script script;
  for (int i = 0; i < 6; ++i) script.Append("record " + std::to_string(i) + Text(100)).Sync();
  const std::vector<std::string>& all = script.payloads();
  int damages;
  LogEnd end;
  for (size_t lost = 0; lost < 6; ++lost) {
    for (const size_t at : {0, 5, 22, 30, 60}) {  // header, payload
      const std::string image = Flipped(script.bytes(), 8 * (script.start_of(lost) + at));
      std::vector<std::string> expected = all;
      expected.erase(expected.begin() + static_cast<ptrdiff_t>(lost));
      EXPECT_EQ(ReadSkipping(image, &damages, &end), expected) << lost << ", " << at;
      EXPECT_EQ(damages, 1);
      EXPECT_EQ(end, lost < 5 ? LogEnd::kOpen : LogEnd::kNotYet);
    }
  }
  std::string image = Flipped(script.bytes(), 8 * script.start_of(1));
  image = Flipped(image, 8 * script.start_of(2) + 8 * 50);
  image = Flipped(image, 8 * script.start_of(4) + 8 * 9);
  EXPECT_EQ(ReadSkipping(image, &damages, &end),
            (std::vector<std::string>{all[0], all[3], all[5]}));
  EXPECT_EQ(end, LogEnd::kOpen);
}

// Each search for a later record continues where the last one ended, and does not read buffered
// bytes again.  So each byte is read at most twice (to read the log and to search it), except where
// windows meet.
uint64_t BytesReadSkipping(const std::string& bytes, size_t* records, int* damages) {
  uint64_t bytes_read = 0;
  auto reader =
      LogReader::Open(std::make_unique<StringReadFile>(bytes, &bytes_read), LogKind::kWriteAhead)
          .value();
  LogReader::Record record;
  *records = 0;
  *damages = 0;
  while (true) {
    const absl::StatusOr<bool> more = reader->Next(&record);
    if (more.ok() && !*more) break;
    if (more.ok()) {
      ++*records;
      continue;
    }
    ++*damages;
    if (!reader->SkipDamage().value()) break;
  }
  return bytes_read;
}

TEST(LogDamageTest, DamageDoesNotRepeatReads) {
  Script script;
  for (int i = 0; i < 20000; ++i) script.Append(Text(20));  // none of them synced
  const std::string& whole = script.bytes();
  size_t records;
  int damages;
  EXPECT_LE(BytesReadSkipping(whole, &records, &damages), whole.size() + whole.size() / 100);
  EXPECT_EQ(records, 20000u);

  std::string torn = whole;
  std::fill_n(&torn[kDiskSectorBytes], kDiskSectorBytes, '\0');
  EXPECT_LE(BytesReadSkipping(torn, &records, &damages), whole.size() + whole.size() / 5);
  EXPECT_LT(records, 20u);
  EXPECT_EQ(damages, 0) << "a torn tail";

  // The last record states that everything before was synced.
  script.Sync().Append("last");
  std::string damaged = script.bytes();
  for (size_t i = 0; i < 20000; i += 2) damaged[script.start_of(i) + kRecordHeaderBytes] ^= 1;
  EXPECT_LE(BytesReadSkipping(damaged, &records, &damages),
            2 * damaged.size() + damaged.size() / 5);
  EXPECT_EQ(records, 10001u);
  EXPECT_EQ(damages, 10000);

  // No record states it.
  Script unsynced;
  for (int i = 0; i < 400; ++i) unsynced.Append(Text(1500));
  damaged = unsynced.bytes();
  for (size_t i = 1; i < 400; i += 2) damaged[unsynced.start_of(i) + 7] ^= 1;
  EXPECT_LE(BytesReadSkipping(damaged, &records, &damages),
            2 * damaged.size() + damaged.size() / 5);
  EXPECT_EQ(damages, 200);
}

TEST(LogDamageTest, RepairSkipsNothingWithoutDamage) {
  auto reader = LogReader::Open(std::make_unique<StringReadFile>(Script().Append("a").bytes()),
                                LogKind::kWriteAhead)
                    .value();
  EXPECT_FALSE(reader->SkipDamage().value());
  LogReader::Record record;
  EXPECT_TRUE(reader->Next(&record).value());
}

// For any change of bytes, every record that is read was written, and the order is right.
TEST(LogDamageTest, RandomDamageNeverYieldsAWrongRecord) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Dice dice(seed);
    Script script;
    while (script.bytes().size() < 3000) {
      script.Append(dice.OneIn(2) ? Text(dice.Roll(700)) : Sparse(dice.Roll(700), 100));
      if (dice.OneIn(3)) script.Sync();
    }
    std::string image = script.bytes();
    for (uint64_t left = 1 + dice.Roll(3); left > 0; --left) {
      const size_t at = dice.Roll(image.size());
      const size_t count = std::min<size_t>(1 + dice.Roll(600), image.size() - at);
      switch (dice.Roll(5)) {
        case 0:
          image = Flipped(image, 8 * at);
          break;
        case 1:
          image.resize(at + 1);
          break;
        case 2:
          for (size_t i = at; i < at + count; ++i) image[i] = static_cast<char>(dice.Next());
          break;
        case 3:
          std::fill_n(&image[at], count, '\0');
          break;
        case 4:
          image.replace(at, count, script.bytes(), dice.Roll(script.bytes().size()), count);
          break;
      }
    }
    const LogContents contents = ReadLog(image);
    ASSERT_TRUE(contents.status.ok() || contents.status.code() == absl::StatusCode::kDataLoss ||
                contents.status.code() == absl::StatusCode::kInvalidArgument)
        << "seed " << seed << ": " << contents.status;
    ASSERT_TRUE(IsPrefix(contents.payloads, script.payloads())) << "seed " << seed;
  }
}

// A file of some bytes, followed by endless zeros.  Records the reads.
class SparseReadFile : public ReadFile {
 public:
  SparseReadFile(std::string bytes, uint64_t size, size_t* longest_read)
      : bytes_(std::move(bytes)), size_(size), longest_read_(longest_read) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    *longest_read_ = std::max(*longest_read_, buffer.size());
    const size_t count = static_cast<size_t>(std::min<uint64_t>(buffer.size(), size_ - offset));
    std::fill_n(buffer.begin(), count, '\0');
    if (offset < bytes_.size()) bytes_.copy(buffer.data(), count, static_cast<size_t>(offset));
    return count;
  }
  absl::StatusOr<uint64_t> Size() const override { return size_; }
  const std::string& path() const override { return path_; }

 private:
  const std::string bytes_;
  const uint64_t size_;
  size_t* const longest_read_;
  const std::string path_ = "sparse";
};

TEST(LogDamageTest, StatedLengthsAllocateNothing) {
  std::string bytes = Script(9).bytes();
  char header[kRecordHeaderBytes];
  StoreRecordHeader(header, {.type = RecordType::kData, .payload_bytes = 300u << 20}, 9,
                    bytes.size());
  bytes.append(header, sizeof(header));

  LogContents contents = ReadLog(bytes);
  EXPECT_OK(contents.status);
  EXPECT_EQ(contents.end, LogEnd::kTorn);

  size_t longest_read = 0;
  auto reader =
      LogReader::Open(std::make_unique<SparseReadFile>(bytes, uint64_t{330} << 20, &longest_read),
                      LogKind::kWriteAhead)
          .value();
  LogReader::Record record;
  EXPECT_FALSE(reader->Next(&record).value());
  EXPECT_EQ(reader->end(), LogEnd::kTorn);
  EXPECT_LE(longest_read, size_t{64} << 10);
}

// A file of 1 TiB that stores a few MiB, in distant pieces.
class HolesReadFile : public ReadFile {
 public:
  HolesReadFile(std::string bytes, uint64_t* read_bytes)
      : bytes_(std::move(bytes)), read_bytes_(read_bytes) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(buffer.size(), kSize - offset));
    *read_bytes_ += count;
    std::fill_n(buffer.begin(), count, '\0');
    if (offset < bytes_.size()) bytes_.copy(buffer.data(), count, static_cast<size_t>(offset));
    for (size_t i = 0; i < count; ++i) {
      if ((offset + i) % kApart >= kApart - kPiece) buffer[i] = 'x';
    }
    return count;
  }
  absl::StatusOr<uint64_t> Size() const override { return kSize; }
  absl::StatusOr<uint64_t> NextData(uint64_t offset) const override {
    if (offset < bytes_.size() || offset % kApart >= kApart - kPiece) return offset;
    return offset - offset % kApart + kApart - kPiece;
  }
  const std::string& path() const override { return path_; }

  static constexpr uint64_t kSize = uint64_t{1} << 40;
  static constexpr uint64_t kApart = uint64_t{1} << 32;
  static constexpr uint64_t kPiece = 4096;

 private:
  const std::string bytes_;
  uint64_t* const read_bytes_;
  const std::string path_ = "holes";
};

TEST(LogDamageTest, ReadsOnlyTheStoredPartsOfASparseLog) {
  constexpr uint64_t kWindow = 64 << 10;
  const std::string log = Script(9).Append("a").Append(std::string(2000, 'b')).Append("c").bytes();
  for (const bool damaged : {false, true}) {
    std::string bytes = log;
    if (damaged) bytes[kLogHeaderBytes + 5] ^= 1;
    uint64_t read_bytes = 0;
    auto reader =
        LogReader::Open(std::make_unique<HolesReadFile>(bytes, &read_bytes), LogKind::kWriteAhead)
            .value();
    LogReader::Record record;
    absl::StatusOr<bool> more = true;
    while (more.ok() && *more) {
      more = reader->Next(&record);
      if (!more.ok()) more = reader->SkipDamage();
    }
    EXPECT_OK(more);
    // Each piece is at the end of at most two windows.
    const uint64_t pieces = HolesReadFile::kSize / HolesReadFile::kApart;
    EXPECT_LE(read_bytes, 3 * (bytes.size() + 2 * pieces * kWindow + kWindow));
  }
}

TEST(LogDamageTest, RefusesLengthsBeyondAllLimits) {
  std::string bytes = Script(9).bytes();
  char header[kRecordHeaderBytes];
  StoreRecordHeader(header, {.type = RecordType::kData, .payload_bytes = ~0u}, 9, bytes.size());
  RecordHeader loaded;
  EXPECT_FALSE(LoadRecordHeader({header, sizeof(header)}, 9, bytes.size(), &loaded));
}

}  // namespace
}  // namespace lsm
