// Recovery of logs that are many times larger than a memtable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "lsm/write_batch.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/support/dice.h"
#include "tests/support/memory_taken.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;
using testing_support::InChild;
using testing_support::MemoryTakenBy;
using testing_support::ScratchDir;
using testing_support::StatusIs;
using Unsynced = MemoryFileSystem::Unsynced;

constexpr size_t kBufferBytes = size_t{8} << 20;

// The records of a log.
struct Shape {
  std::string name;
  size_t record_bytes = 0;
  // Sizes of the values, in order; the last one is repeated.
  std::vector<size_t> value_bytes;
  // The size of the log, in write buffers.  Logs of empty values are shorter, because millions of
  // values take long; six buffers are still twice the bound.
  int buffers = 12;
  bool compressible = true;
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

Options OptionsOf(size_t write_buffer_bytes) {
  Options options;
  options.write_buffer_bytes = write_buffer_bytes;
  // Only opening the store takes memory.
  options.level0_compaction_tables = options.level0_stop_tables = 1000;
  return options;
}

std::string ValueOf(size_t bytes, bool compressible) {
  std::string value(bytes, 'v');
  Dice dice(1);
  if (!compressible) {
    for (char& byte : value) byte = static_cast<char>(dice.Next() >> 8);
  }
  return value;
}

size_t RecordsOf(const Shape& shape) {
  return static_cast<size_t>(shape.buffers) * kBufferBytes / shape.record_bytes;
}

WriteBatch RecordOf(const Shape& shape, size_t number) {
  WriteBatch batch;
  size_t value_bytes = 0;
  do {
    value_bytes = shape.value_bytes[std::min<size_t>(batch.count(), shape.value_bytes.size() - 1)];
    batch.Put(Concat("key", 100000 + number, " ", batch.count()),
              ValueOf(value_bytes, shape.compressible));
  } while (batch.size_bytes() + value_bytes < shape.record_bytes);
  return batch;
}

// A killed store with this log.
void MakeLog(const std::string& path, const Shape& shape, uint64_t* entries) {
  *entries = RecordOf(shape, 0).count() * RecordsOf(shape);
  ASSERT_EQ(InChild([&] {
              const auto db = DB::Open(path, OptionsOf(size_t{2} << 30));
              if (!db.ok()) return db.status().ToString();
              absl::Status status;
              for (size_t i = 0; i < RecordsOf(shape); ++i)
                status.Update((*db)->Write(RecordOf(shape, i)));
              if (status.ok()) ::_exit(0);
              return status.ToString();
            }),
            "");
}

std::vector<Shape> Shapes() {
  const auto part = [](double buffers) {
    return static_cast<size_t>(buffers * static_cast<double>(kBufferBytes));
  };
  const bool incompressible = false;
  return {
      {"records of 4 KiB, values of 1 KiB", 4 << 10, {1024}},
      {"records of 4 KiB, empty values", 4 << 10, {0}, 6},
      {"records of 0.97 buffers, values of 1 KiB", part(0.97), {1024}},
      {"records of 0.5 buffers, empty values", part(0.5), {0}, 6},
      {"records of 0.75 buffers, empty values", part(0.75), {0}, 6},
      {"records of 0.97 buffers, empty values", part(0.97), {0}, 6},
      {"one value of 0.55 buffers", part(0.55), {part(0.55) - 64}},
      {"one value of 0.97 buffers", part(0.97), {part(0.97) - 64}},
      {"one random value of 0.55 buffers", part(0.55), {part(0.55) - 64}, 12, incompressible},
      {"one random value of 0.97 buffers", part(0.97), {part(0.97) - 64}, 12, incompressible},
      {"a random value of 0.6 buffers and empty ones",
       part(0.97),
       {part(0.6), 0},
       4,
       incompressible},
      {"a random value of 0.4 buffers between empty ones",
       part(0.97),
       {0, part(0.4), 0},
       4,
       incompressible},
      {"records of 2 buffers, values of 1 KiB", part(2), {1024}},
      {"records of 2 buffers, empty values", part(2), {0}},
      {"one random value of 2 buffers", part(2), {part(2) - 64}, 12, incompressible},
  };
}

class RecoveryMemoryTest : public testing::TestWithParam<Shape> {
 protected:
  // Measures in units of the larger of the write buffer and the record.
  void ExpectAtMostThree(std::string_view what, double bytes) {
    const double unit = static_cast<double>(std::max(kBufferBytes, GetParam().record_bytes));
    EXPECT_GT(bytes, 0) << what;
    EXPECT_LE(bytes / unit, 3) << what;
    RecordProperty(std::string(what), std::to_string(bytes / unit));
  }
};

TEST_P(RecoveryMemoryTest, TakesAtMostThreeWriteBuffers) {
  if (testing_support::kIsSanitized) return;  // sanitizers take memory of their own
  const ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  uint64_t entries = 0;
  ASSERT_NO_FATAL_FAILURE(MakeLog(path, GetParam(), &entries));
  const double taken = MemoryTakenBy([&] {
    auto db = DB::Open(path, OptionsOf(kBufferBytes));
    if (!db.ok()) return false;
    (void)db->release();  // the child ends here
    return true;
  });
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(path, OptionsOf(kBufferBytes)));
  const Statistics statistics = db->GetStatistics();
  const LevelStatistics& total = statistics.total;
  EXPECT_EQ(total.entries, entries);
  EXPECT_GT(statistics.levels[0].tables, 1u) << "or it took no second memtable";
  // An open store keeps these until it is closed.
  ExpectAtMostThree("opening", taken - static_cast<double>(total.index_bytes + total.filter_bytes));
}

TEST_P(RecoveryMemoryTest, RepairTakesAtMostThreeWriteBuffers) {
  if (testing_support::kIsSanitized) return;
  const ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  uint64_t entries = 0;
  ASSERT_NO_FATAL_FAILURE(MakeLog(path, GetParam(), &entries));
  ExpectAtMostThree("repair",
                    MemoryTakenBy([&] { return DB::Repair(path, OptionsOf(kBufferBytes)).ok(); }));
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(path, OptionsOf(kBufferBytes)));
  EXPECT_EQ(db->GetStatistics().total.entries, entries);
}

INSTANTIATE_TEST_SUITE_P(All, RecoveryMemoryTest, testing::ValuesIn(Shapes()),
                         [](const auto& shape) {
                           std::string name = shape.param.name;
                           std::erase_if(name, [](char c) { return c == ',' || c == '.'; });
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

// A store whose log becomes many tables.
class LongReplayTest : public StoreTest {
 protected:
  LongReplayTest() {
    options_.write_buffer_bytes = 4 << 20;
    Open();
    for (int i = 0; i < 100; ++i)
      EXPECT_OK(db_->Put(Concat("k", 100 + i), std::string(4096, 'x'), {.sync = i == 99}));
    expected_ = *ReadAll(*db_);
    image_ = world_.files->Clone();
    db_ = nullptr;
  }
  static Options SmallOptionsOn(World* world) {
    Options options = world->SmallOptions();
    options.level0_compaction_tables = options.level0_stop_tables = 100;
    return options;
  }
  static std::vector<std::string> Names(World* world) {
    return (*world->files->OpenDirectory(kStorePath, false))->List().value();
  }

  Contents expected_;
  std::unique_ptr<MemoryFileSystem> image_;
};

TEST_F(LongReplayTest, DamageAfterManyTablesLeavesNothing) {
  World world(4, image_->Clone());
  const std::string log = world.FilesOf(FileKind::kLog)[0];
  std::string bytes = world.files->FileBytes(log);
  bytes[bytes.size() - 100] ^= 1;
  world.files->SetFileBytes(log, bytes);
  const std::vector<std::string> names = Names(&world);
  EXPECT_THAT(DB::Open(kStorePath, SmallOptionsOn(&world)),
              StatusIs(absl::StatusCode::kDataLoss, testing::HasSubstr(log)));
  EXPECT_EQ(Names(&world), names);
}

TEST_F(LongReplayTest, FaultsAndCrashesChangeNothing) {
  uint64_t operations = 0;
  {
    World world(4, image_->Clone());
    world.files->ResetCounts();
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, SmallOptionsOn(&world)));
    operations = world.files->operation_count();
    EXPECT_GT(db->GetStatistics().levels[0].tables, 4u);
  }
  for (uint64_t at = 0; at < operations; ++at) {
    for (const int how : {0, 1, 2}) {
      World world(4, image_->Clone());
      world.files->ResetCounts();
      if (how == 0) {
        world.files->SetFault([at](FileOperation, const std::string& path, uint64_t number) {
          return number == at ? absl::UnavailableError(path) : absl::OkStatus();
        });
      } else {
        world.files->CrashAt(at);
      }
      (void)DB::Open(kStorePath, SmallOptionsOn(&world));
      if (how == 0) {
        world.files->SetFault(nullptr);
      } else {
        world.files->Restart(how == 1 ? Unsynced::kLost : Unsynced::kKept);
      }
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, SmallOptionsOn(&world)));
      EXPECT_EQ(*ReadAll(*db), expected_) << at;
      EXPECT_EQ(world.FilesOf(FileKind::kTable).size(), db->GetStatistics().total.tables) << at;
    }
  }
}

}  // namespace
}  // namespace lsm
