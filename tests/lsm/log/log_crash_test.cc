// A crash leaves a log with a torn tail, never with damage.  The log holds only records that were
// written, in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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

// A crash leaves all synced records, and the first few of the others.
void ExpectTornTail(const Script& script, const std::string& image, const std::string& what) {
  const LogContents contents = ReadLog(image);
  ASSERT_OK(contents.status) << what;
  ASSERT_TRUE(IsPrefix(contents.payloads, script.payloads())) << what;
  ASSERT_GE(contents.payloads.size(), script.durable_records()) << what;
  const size_t sound =
      contents.payloads.empty() ? kLogHeaderBytes : script.end_of(contents.payloads.size() - 1);
  if (contents.end == LogEnd::kOpen) {
    ASSERT_EQ(sound, image.size()) << what;
  } else if (contents.end == LogEnd::kTorn) {
    ASSERT_EQ(contents.torn_bytes, image.size() - std::min(sound, image.size())) << what;
  } else {
    ASSERT_EQ(contents.end, LogEnd::kClosed) << what;
    ASSERT_EQ(contents.payloads.size(), script.payloads().size()) << what;
  }
}

// Records whose loss leaves little trace, in every place of a sector.
std::vector<Script> CrashScripts() {
  std::vector<Script> scripts;
  for (const bool synced : {false, true}) {
    for (const bool closed : {false, true}) {
      Script script;
      script.Append(Text(40));
      if (synced) script.Sync();
      script.Append("").Append(Sparse(900, 512)).Append(std::string(700, '\0'));
      script.Append("\x01").Append(Text(300)).Append(std::string("\0\0\x80", 3));
      if (closed) script.Close(false);
      scripts.push_back(std::move(script));
    }
  }
  for (size_t size = 400; size < 480; ++size) {
    Script script;
    script.Append(Sparse(size, 64)).Append("").Append(Sparse(size, 256)).Append("b");
    scripts.push_back(std::move(script));
  }
  return scripts;
}

TEST(LogCrashTest, EveryTruncationIsATornTail) {
  for (const Script& script : CrashScripts()) {
    for (size_t size = script.durable_bytes(); size <= script.bytes().size(); ++size) {
      ExpectTornTail(script, script.bytes().substr(0, size), "cut to " + std::to_string(size));
    }
  }
}

TEST(LogCrashTest, EveryTruncationFilledWithZerosIsATornTail) {
  for (const Script& script : CrashScripts()) {
    for (size_t size = script.durable_bytes(); size < script.bytes().size(); ++size) {
      std::string image = script.bytes();
      std::fill(image.begin() + static_cast<ptrdiff_t>(size), image.end(), '\0');
      ExpectTornTail(script, image, "zeros from " + std::to_string(size));
      image.append(4096, '\0');
      ExpectTornTail(script, image, "more zeros from " + std::to_string(size));
    }
  }
}

// Each unsynced sector is written, still zero, or garbage, in all combinations.
TEST(LogCrashTest, EveryCombinationOfLostSectorsIsATornTail) {
  Dice dice(3);
  std::string garbage(1 << 16, '\0');
  for (char& byte : garbage) byte = static_cast<char>(dice.Next());
  for (const Script& script : CrashScripts()) {
    const size_t first = script.durable_bytes() / kDiskSectorBytes;
    const size_t sectors =
        (script.bytes().size() + kDiskSectorBytes - 1) / kDiskSectorBytes - first;
    ASSERT_LE(sectors, 7u);
    size_t combinations = 1;
    for (size_t i = 0; i < sectors; ++i) combinations *= 3;
    for (size_t combination = 0; combination < combinations; ++combination) {
      std::string image = script.bytes();
      size_t digits = combination;
      for (size_t i = 0; i < sectors; ++i, digits /= 3) {
        const size_t from = std::max(script.durable_bytes(), (first + i) * kDiskSectorBytes);
        const size_t to = std::min(image.size(), (first + i + 1) * kDiskSectorBytes);
        if (digits % 3 == 1) std::fill(&image[from], &image[to - 1] + 1, '\0');
        // In the sector that holds the end of the durable bytes, the rest was zeros.
        if (digits % 3 == 2 && from % kDiskSectorBytes != 0)
          std::fill(&image[from], &image[to - 1] + 1, '\0');
        else if (digits % 3 == 2)
          image.replace(from, to - from, garbage, dice.Roll(60000), to - from);
      }
      ExpectTornTail(script, image, "combination " + std::to_string(combination));
    }
  }
}

TEST(LogCrashTest, SectorsOfAnotherLogInTheTailAreATornTail) {
  const std::vector<Script> scripts = CrashScripts();
  for (const Script& script : scripts) {
    const Script other = [&] {
      Script copy(0xabcdef);  // another file's id, the same records
      for (const std::string& payload : script.payloads()) copy.Append(payload);
      return copy;
    }();
    for (size_t at =
             (script.durable_bytes() + kDiskSectorBytes - 1) / kDiskSectorBytes * kDiskSectorBytes;
         at < other.bytes().size(); at += kDiskSectorBytes) {
      std::string image = script.bytes();
      image.replace(at, image.npos, other.bytes(), at, other.bytes().npos);
      ExpectTornTail(script, image, "another log from " + std::to_string(at));
    }
  }
}

TEST(LogCrashTest, HalfCreatedLogsAreEmpty) {
  const std::string header = Script().bytes();
  for (size_t size = 0; size < header.size(); ++size) {
    for (const bool zeros : {false, true}) {
      std::string image = header.substr(0, size);
      if (zeros) image.resize(header.size(), '\0');
      const LogContents contents = ReadLog(image);
      ASSERT_OK(contents.status) << size;
      ASSERT_EQ(contents.end, LogEnd::kTorn) << size;
      ASSERT_EQ(contents.torn_bytes, image.size()) << size;
      ASSERT_TRUE(contents.payloads.empty());
    }
  }
}

// A short foreign file with a log's name does not count as a log, so it is not removed.
TEST(LogCrashTest, ShortFilesWithoutAHeaderAreNoLogs) {
  std::vector<std::string> others;
  for (const size_t size : {1, 15, 31, 32}) others.emplace_back(size, 'x');
  others.emplace_back(32, '\0').back() = 'x';
  others.emplace_back("T notes");
  for (const std::string& bytes : others) {
    EXPECT_THAT(ReadLog(bytes).status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a log")))
        << bytes;
  }
  // Almost the magic number.
  EXPECT_EQ(ReadLog("TRLSLOG\r and more").end, LogEnd::kTorn);
}

TEST(LogCrashTest, IgnoresRecordsInsidePayloads) {
  // The payload contains a whole log with sound records.
  Script inner;
  inner.Append("x").Sync().Append("y");
  Script script;
  script.Append("first").Append(inner.bytes() + std::string(1000, 'z'));
  std::string image = script.bytes();
  image.resize(script.end_of(1) - 600);
  ExpectTornTail(script, image, "cut");
}

}  // namespace
}  // namespace lsm
