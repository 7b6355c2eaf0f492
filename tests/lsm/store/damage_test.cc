// A small store in which a byte or a sector of a log is overwritten, or a file is cut, missing or
// swapped with another one.  Every answer is right, or an error that names the file.  No answer is
// wrong, no key is missing, and nothing crashes.  (A job of tests/reliability flips every bit.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/db.h"
#include "lsm/log/log_format.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;
using Unsynced = MemoryFileSystem::Unsynced;

using testing_support::kStride;

constexpr char kLogsPath[] = "/logs";

std::string Key(int i) { return Concat("key", 100 + i); }

bool NamesAnything(const std::string& message) { return message.find(kStorePath) != message.npos; }

// The outcomes of the damage.
struct Tally {
  uint64_t cases = 0;
  uint64_t failed_to_open = 0;
  uint64_t failed_reads = 0;  // the store opened, and some reads fail
  uint64_t right = 0;
  uint64_t filters_damaged = 0;  // right, and the statistics tell
};

class DamageTest : public testing::Test {
 protected:
  // Makes a store with two tables in level 1, two in level 0, and the newest writes in the log.  It
  // is either closed, or in the state after a kill, in which log and manifest have no end record.
  void MakeStore(bool closed) {
    contents_.clear();
    World world;
    absl::StatusOr<std::unique_ptr<DB>> opened = DB::Open(kStorePath, OptionsFor(world));
    ASSERT_OK(opened);
    std::unique_ptr<DB> db = *std::move(opened);
    int writes = 0;
    const auto put = [&](int i) {
      const std::string value = Concat("value ", ++writes, std::string(20, '.'));
      ASSERT_OK(db->Put(Key(i), value, {.sync = true}));
      contents_[Key(i)] = value;
    };
    const auto erase = [&](int i) {
      ASSERT_OK(db->Delete(Key(i), {.sync = true}));
      contents_.erase(Key(i));
    };
    for (int i = 0; i < 30; ++i) put(i);
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->CompactRange());
    for (int i = 40; i < 60; i += 2) put(i);
    ASSERT_OK(db->CompactRange());
    for (int i = 5; i < 50; i += 4) put(i);
    for (int i = 2; i < 50; i += 9) erase(i);
    ASSERT_OK(db->Flush());
    for (int i = 7; i < 60; i += 8) put(i);
    ASSERT_OK(db->Flush());
    for (int i = 0; i < 60; i += 5) put(i);
    erase(6);
    if (!closed) image_ = world.files->Clone();
    db = nullptr;
    if (closed) image_ = world.files->Clone();
    World look(2, image_->Clone());
    tables_ = look.FilesOf(FileKind::kTable);
    logs_ = look.FilesOf(FileKind::kLog, logs_apart_ ? kLogsPath : kStorePath);
    manifests_ = look.FilesOf(FileKind::kManifest);
    ASSERT_GE(tables_.size(), 3u);
    ASSERT_EQ(logs_.size(), 1u);
    ASSERT_EQ(manifests_.size(), 1u);
  }

  Options OptionsFor(World& world) const {
    Options options = world.SmallOptions();
    if (logs_apart_) options.log_directory = kLogsPath;
    options.block_bytes = 256;
    return options;
  }

  // Opens the image after `damage`, reads everything in every way, and compares it with the
  // expected contents.  Errors must name one of the files that `named` accepts.
  void Check(const std::function<void(MemoryFileSystem&)>& damage,
             const std::function<bool(const std::string&)>& named, OpenMode mode) {
    ++tally_.cases;
    World world(3, image_->Clone());
    damage(*world.files);
    Options options = OptionsFor(world);
    options.mode = mode;
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options);
    if (!db.ok()) {
      EXPECT_TRUE(named(db.status().ToString())) << db.status();
      ++tally_.failed_to_open;
      return;
    }
    bool failed = false;
    const auto is_named_error = [&](const absl::Status& status) {
      if (status.ok()) return false;
      EXPECT_TRUE(named(status.ToString())) << status;
      failed = true;
      return true;
    };
    for (int i = -1; i < 62; ++i) {
      const absl::StatusOr<std::optional<std::string>> value = (*db)->Get(Key(i));
      if (is_named_error(value.status())) continue;
      const auto place = contents_.find(Key(i));
      EXPECT_EQ(*value, place == contents_.end() ? std::nullopt : std::optional(place->second));
    }
    const std::unique_ptr<Iterator> iterator = (*db)->NewIterator();
    auto expected = contents_.begin();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++expected) {
      ASSERT_NE(expected, contents_.end());
      EXPECT_EQ(iterator->key(), expected->first);
      EXPECT_EQ(iterator->value(), expected->second);
    }
    EXPECT_TRUE(is_named_error(iterator->status()) || expected == contents_.end());
    auto backward = contents_.rbegin();
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev(), ++backward) {
      ASSERT_NE(backward, contents_.rend());
      EXPECT_EQ(iterator->key(), backward->first);
      EXPECT_EQ(iterator->value(), backward->second);
    }
    EXPECT_TRUE(is_named_error(iterator->status()) || backward == contents_.rend());
    ++(failed ? tally_.failed_reads : tally_.right);
    if (!failed && (*db)->GetStatistics().total.filters_damaged > 0) ++tally_.filters_damaged;
  }

  // Overwrites each byte with other values.  If `looks_torn`, leaves out a zero in the last seal.
  void OverwriteBytes(const std::string& path, bool looks_torn) {
    const std::string bytes = image_->FileBytes(path);
    const size_t last_seal = bytes.find_last_not_of('\0');
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto check = [&](size_t at, char value) {
      if (value == bytes[at] || (looks_torn && at == last_seal && value == '\0')) return;
      SCOPED_TRACE(Concat(path, ": byte ", at, " of ", bytes.size(), " is now ",
                          static_cast<int>(static_cast<uint8_t>(value))));
      const auto damage = [&](MemoryFileSystem& files) {
        std::string damaged = bytes;
        damaged[at] = value;
        files.SetFileBytes(path, damaged);
      };
      const auto named = [&](const std::string& message) {
        return message.find(name) != message.npos;
      };
      Check(damage, named, at % 5 == 0 ? OpenMode::kReadOnly : OpenMode::kMustExist);
    };
    for (size_t at = 0; at < bytes.size(); at += kStride) {
      for (const int change : {0xff, 0x18, 0x81}) check(at, static_cast<char>(bytes[at] ^ change));
      check(at, '\0');
      if (HasFailure()) return;
    }
    Print(name);
  }

  // Overwrites each sector of the file with zeros, ones and garbage.
  void OverwriteSectors(const std::string& path, size_t end) {
    const std::string bytes = image_->FileBytes(path);
    Dice dice(7);
    for (size_t from = 0; from < end; from += kSectorBytes) {
      const size_t count = std::min(kSectorBytes, bytes.size() - from);
      std::string garbage(count, '\0');
      for (char& byte : garbage) byte = static_cast<char>(dice.Next());
      for (const std::string& sector :
           {std::string(count, '\0'), std::string(count, '\xff'), garbage}) {
        SCOPED_TRACE(Concat(path, ": sector at ", from, " of ", bytes.size()));
        for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kMustExist}) {
          Check(
              [&](MemoryFileSystem& files) {
                std::string damaged = bytes;
                files.SetFileBytes(path, damaged.replace(from, count, sector));
              },
              NamesAnything, mode);
        }
      }
      if (HasFailure()) return;
    }
  }

  void Print(const std::string& what) {
    std::printf(
        "%s: %llu cases: open fails %llu, reads fail %llu, all right %llu, of them with a damaged "
        "filter counted %llu; none silent\n",
        what.c_str(), static_cast<unsigned long long>(tally_.cases),
        static_cast<unsigned long long>(tally_.failed_to_open),
        static_cast<unsigned long long>(tally_.failed_reads),
        static_cast<unsigned long long>(tally_.right),
        static_cast<unsigned long long>(tally_.filters_damaged));
    tally_ = {};
  }

  Contents contents_;
  bool logs_apart_ = false;
  std::unique_ptr<MemoryFileSystem> image_;
  std::vector<std::string> tables_, logs_, manifests_;
  Tally tally_;
};

// All bytes but one: a zero in the last seal of a log without an end record is what a crash leaves
// of an unsynced write.
TEST_F(DamageTest, DetectsOverwrittenLogBytesOfKilledStores) {
  MakeStore(/*closed=*/false);
  OverwriteBytes(logs_[0], /*looks_torn=*/true);
  OverwriteBytes(manifests_[0], /*looks_torn=*/true);
}

TEST_F(DamageTest, DetectsOverwrittenLogBytesOfClosedStores) {
  MakeStore(/*closed=*/true);
  OverwriteBytes(logs_[0], /*looks_torn=*/false);
  EXPECT_EQ(tally_.right, 0u);
  OverwriteBytes(manifests_[0], /*looks_torn=*/false);
}

TEST_F(DamageTest, DetectsOverwrittenLogSectorsOfClosedStores) {
  MakeStore(/*closed=*/true);
  OverwriteSectors(logs_[0], image_->FileBytes(logs_[0]).size());
  EXPECT_EQ(tally_.failed_to_open, tally_.cases);
  OverwriteSectors(manifests_[0], image_->FileBytes(manifests_[0]).size());
  Print("sectors of a closed store");
}

// After each sector except the last one there is a record that states that it was synced.
TEST_F(DamageTest, DetectsOverwrittenLogSectorsOfKilledStores) {
  MakeStore(/*closed=*/false);
  const std::string bytes = image_->FileBytes(logs_[0]);
  ASSERT_GT(bytes.size(), 2 * kSectorBytes);
  OverwriteSectors(logs_[0], bytes.rfind(kRecordMark) / kSectorBytes * kSectorBytes);
  EXPECT_EQ(tally_.failed_to_open, tally_.cases);
}

TEST_F(DamageTest, FlippedFilterBitsCostOnlyReads) {
  MakeStore(/*closed=*/true);
  World look(4, image_->Clone());
  // The filter's position, from the table's own footer.
  const std::string path = tables_[0];
  const std::string bytes = image_->FileBytes(path);
  ASSERT_OK_AND_ASSIGN(const Footer footer,
                       Footer::Decode(std::string_view(bytes).substr(bytes.size() - kFooterBytes),
                                      bytes.size(), path));
  ASSERT_FALSE(footer.filter.is_null());
  for (uint64_t at = 0; at < footer.filter.stored_bytes + kBlockTrailerBytes; ++at) {
    const auto damage = [&](MemoryFileSystem& files) {
      std::string damaged = bytes;
      damaged[footer.filter.offset + at] ^= 0x04;
      files.SetFileBytes(path, damaged);
    };
    Check(
        damage, [](const std::string&) { return false; }, OpenMode::kReadOnly);
    if (HasFailure()) return;
  }
  EXPECT_EQ(tally_.right, tally_.cases);
  EXPECT_EQ(tally_.filters_damaged, tally_.cases);
}

TEST_F(DamageTest, NamesMissingFiles) {
  MakeStore(/*closed=*/true);
  std::vector<std::string> paths = tables_;
  paths.push_back(logs_[0]);
  paths.push_back(manifests_[0]);
  paths.push_back(Concat(kStorePath, "/CURRENT"));
  for (const std::string& path : paths) {
    for (const OpenMode mode : {OpenMode::kOpenOrCreate, OpenMode::kMustExist,
                                OpenMode::kMustNotExist, OpenMode::kReadOnly}) {
      World world(3, image_->Clone());
      ASSERT_OK((*world.files->OpenDirectory(kStorePath, false))
                    ->Remove(path.substr(path.rfind('/') + 1)));
      Options options = OptionsFor(world);
      options.mode = mode;
      const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options);
      if (mode == OpenMode::kMustNotExist && !path.ends_with("CURRENT")) {
        EXPECT_THAT(db, StatusIs(absl::StatusCode::kAlreadyExists));
        continue;
      }
      // Not NotFound, which would say that there is no store.
      EXPECT_THAT(db, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
    }
  }
}

TEST_F(DamageTest, DetectsSwappedFiles) {
  MakeStore(/*closed=*/true);
  std::vector<std::string> paths = tables_;
  paths.push_back(logs_[0]);
  paths.push_back(manifests_[0]);
  paths.push_back(Concat(kStorePath, "/CURRENT"));
  for (const std::string& a : paths) {
    for (const std::string& b : paths) {
      if (a >= b) continue;
      SCOPED_TRACE(Concat(a, " and ", b));
      Check(
          [&](MemoryFileSystem& files) {
            const std::string of_a = files.FileBytes(a);
            files.SetFileBytes(a, files.FileBytes(b));
            files.SetFileBytes(b, of_a);
          },
          NamesAnything, OpenMode::kOpenOrCreate);
    }
  }
  EXPECT_EQ(tally_.failed_to_open, tally_.cases);
}

TEST_F(DamageTest, NamesForeignFiles) {
  MakeStore(/*closed=*/true);
  std::vector<std::string> paths = tables_;
  paths.push_back(logs_[0]);
  paths.push_back(manifests_[0]);
  paths.push_back(Concat(kStorePath, "/CURRENT"));
  for (const std::string& path : paths) {
    for (const std::string& foreign :
         {std::string(), std::string("x"), std::string(3000, '\0'), std::string(5000, 'x')}) {
      SCOPED_TRACE(Concat(path, " replaced by ", foreign.size(), " bytes"));
      World world(3, image_->Clone());
      world.files->SetFileBytes(path, foreign);
      // Not InvalidArgument: the caller did nothing wrong.
      EXPECT_THAT(DB::Open(kStorePath, OptionsFor(world)),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
      EXPECT_EQ(world.files->FileBytes(path), foreign);
    }
    // As long as the sound file, so that the size does not show the damage.
    World world(3, image_->Clone());
    world.files->SetFileBytes(path, std::string(image_->FileBytes(path).size(), 'x'));
    EXPECT_THAT(DB::Open(kStorePath, OptionsFor(world)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
  }
  // Logs of the other kind.
  for (const auto& [path, other] :
       {std::pair(logs_[0], manifests_[0]), {manifests_[0], logs_[0]}}) {
    World world(3, image_->Clone());
    world.files->SetFileBytes(path, image_->FileBytes(other));
    EXPECT_THAT(DB::Open(kStorePath, OptionsFor(world)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
  }
}

TEST_F(DamageTest, NewerVersionsAreNoDamage) {
  MakeStore(/*closed=*/true);
  const std::string table = tables_[0];
  std::string footer = image_->FileBytes(table);
  const size_t at = footer.size() - kFooterBytes;
  footer[at + 80] = 4;  // the version
  StoreFixed64(footer.data() + at + 96, Checksum(std::string_view(footer).substr(at, 96),
                                                 LoadFixed64(footer.data() + at + 48), at));
  std::string log = image_->FileBytes(logs_[0]);
  StoreLogHeader(log.data(), {.version = 4, .kind = LogKind::kWriteAhead, .file_id = 1});
  std::string manifest = image_->FileBytes(manifests_[0]);
  StoreLogHeader(manifest.data(), {.version = 3, .kind = LogKind::kManifest, .file_id = 1});
  for (const auto& [path, bytes, version] :
       {std::tuple(table, footer, 4), {logs_[0], log, 4}, {manifests_[0], manifest, 3}}) {
    World world(3, image_->Clone());
    world.files->SetFileBytes(path, bytes);
    EXPECT_THAT(DB::Open(kStorePath, OptionsFor(world)),
                StatusIs(absl::StatusCode::kUnimplemented,
                         AllOf(HasSubstr(path), HasSubstr(Concat("version ", version)))));
  }
}

// The manifest has the log's length.
TEST_F(DamageTest, NamesTruncatedLogsOfClosedStores) {
  for (const bool apart : {false, true}) {
    logs_apart_ = apart;
    MakeStore(/*closed=*/true);
    const std::string bytes = image_->FileBytes(logs_[0]);
    for (size_t length = 0; length < bytes.size(); ++length) {
      SCOPED_TRACE(Concat(logs_[0], " cut after ", length, " of ", bytes.size(), " bytes"));
      World world(3, image_->Clone());
      world.files->SetFileBytes(logs_[0], bytes.substr(0, length));
      Options options = OptionsFor(world);
      for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kMustExist}) {
        options.mode = mode;
        EXPECT_THAT(
            DB::Open(kStorePath, options),
            StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(logs_[0]), HasSubstr("offset"))));
      }
      EXPECT_EQ(world.files->FileBytes(logs_[0]).size(), length) << "and nothing is changed";
      if (HasFailure()) return;
    }
  }
}

TEST_F(DamageTest, RepairNamesTruncatedClosedLogs) {
  MakeStore(/*closed=*/true);
  const std::string bytes = image_->FileBytes(logs_[0]);
  for (size_t length = 0; length < bytes.size(); length += 41) {
    SCOPED_TRACE(Concat("cut after ", length, " of ", bytes.size(), " bytes"));
    World world(3, image_->Clone());
    world.files->SetFileBytes(logs_[0], bytes.substr(0, length));
    ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, OptionsFor(world)));
    EXPECT_THAT(report.left_out, ElementsAre(AllOf(HasSubstr(logs_[0]), HasSubstr("offset"))));
    EXPECT_EQ(world.files->FileBytes(logs_[0] + ".damaged").size(), length);
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, OptionsFor(world));
    ASSERT_OK(db);
    EXPECT_EQ(*(*db)->Get(Key(12)).value_or(std::nullopt), contents_[Key(12)]) << "of a table";
  }
}

TEST_F(DamageTest, OpeningAndClosingLosesNothing) {
  MakeStore(/*closed=*/true);
  World world(3, image_->Clone());
  for (int round = 0; round < 4; ++round) {
    Options options = OptionsFor(world);
    options.mode = round % 2 == 0 ? OpenMode::kMustExist : OpenMode::kReadOnly;
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options);
    ASSERT_OK(db);
    EXPECT_EQ(*ReadAll(**db), contents_);
  }
  // A cut of its empty log would be detected, too.
  const std::string log = world.FilesOf(FileKind::kLog)[0];
  const std::string bytes = world.files->FileBytes(log);
  for (size_t length = 0; length < bytes.size(); ++length) {
    world.files->SetFileBytes(log, bytes.substr(0, length));
    EXPECT_THAT(DB::Open(kStorePath, OptionsFor(world)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(log)));
  }
}

TEST_F(DamageTest, TruncatedLogsKeepEarlierWrites) {
  MakeStore(/*closed=*/false);
  // Only the bytes of an unclosed log show where it ends.  So a cut looks as if the rest was never
  // written.  Records before the cut stay.
  const std::string bytes = image_->FileBytes(logs_[0]);
  size_t least = 0;
  for (size_t length = 0; length <= bytes.size(); ++length) {
    World world(3, image_->Clone());
    world.files->SetFileBytes(logs_[0], bytes.substr(0, length));
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, OptionsFor(world));
    if (!db.ok()) {
      EXPECT_THAT(db, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(logs_[0])));
      EXPECT_EQ(least, 0u);  // the manifest says that the log was not empty
      continue;
    }
    const absl::StatusOr<Contents> contents = ReadAll(**db);
    ASSERT_OK(contents);
    size_t right = 0;
    for (const auto& [key, value] : contents_)
      right += contents->contains(key) && contents->at(key) == value;
    EXPECT_GE(right, least);
    least = right;
  }
  EXPECT_EQ(least, contents_.size());
}

}  // namespace
}  // namespace lsm
