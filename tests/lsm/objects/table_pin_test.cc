// Directory::PinTables beside a process that removes tables.
#include "lsm/objects/table_pin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/fs/file_names.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

using Pin = std::shared_ptr<const void>;

constexpr char kTable1[] = "000001.table";
constexpr char kTable2[] = "000002.table";
constexpr char kBytes[] = "two chunks of it";

// Process A writes and removes tables; process B reads them.
class TablePinTest : public ObjectFixture {
 protected:
  static Pin PinAs(PoolClient& client) {
    const std::unique_ptr<Directory> directory = OpenAs(client);
    absl::StatusOr<Pin> pin = directory->PinTables();
    EXPECT_OK(pin);
    return pin.value_or(nullptr);
  }
  static std::unique_ptr<ReadFile> OpenTable(PoolClient& client, const std::string& name) {
    absl::StatusOr<std::unique_ptr<ReadFile>> file =
        OpenAs(client)->OpenRead(name, ReadMode::kBuffered);
    EXPECT_OK(file);
    return file.ok() ? *std::move(file) : nullptr;
  }
  static absl::Status ReadTable(const ReadFile& file) {
    std::string buffer(100, ' ');
    TRELLIS_ASSIGN_OR_RETURN(const size_t bytes, file.ReadAt(0, buffer));
    EXPECT_EQ(buffer.substr(0, bytes), kBytes);
    return absl::OkStatus();
  }
  size_t CountPins() {
    ObjectRead read;
    read.entries_after = kPinPrefix;
    return checker_.pool.Read(IndexName(kStore), read)->entries.size();
  }
  // A process whose clock a test moves by hand.
  testing_support::ManualClock clock_;
  PoolClient timed_{objects_, "with a clock", 5, {.clock = &clock_}};
};

TEST_F(TablePinTest, PinnedTablesStayReadable) {
  Write(kTable1, kBytes);
  Pin pin = PinAs(b_);
  const std::unique_ptr<ReadFile> file = OpenTable(b_, kTable1);
  ASSERT_OK(directory_->Remove(kTable1));
  a_.files.RenewLocks();
  EXPECT_OK(ReadTable(*file));
  pin.reset();
  EXPECT_EQ(CountPins(), 0u);
  EXPECT_EQ(CountChunks(), 2u);
  a_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_THAT(ReadTable(*file), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(kTable1)));
}

TEST_F(TablePinTest, LostChunksOfNamedTablesAreDamage) {
  Write(kTable1, kBytes);
  const Pin pin = PinAs(b_);
  const std::unique_ptr<ReadFile> file = OpenTable(b_, kTable1);
  RemoveChunk(kTable1, 1);
  EXPECT_THAT(ReadTable(*file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("chunk 1")));
}

// Another table of the same name, such as after a restore.
TEST_F(TablePinTest, ReplacedTablesAreNotDamaged) {
  Write(kTable1, kBytes);
  const std::unique_ptr<ReadFile> file = OpenTable(b_, kTable1);
  ASSERT_OK(directory_->Remove(kTable1));
  Write(kTable1, "another");
  EXPECT_THAT(ReadTable(*file), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(TablePinTest, OnlyTablesStay) {
  Write(kLog, "records");
  const Pin pin = PinAs(b_);
  ASSERT_OK(directory_->Remove(kLog));
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(TablePinTest, PinsCoverLaterRemovalsAlone) {
  Write(kTable1, kBytes);
  Write(kTable2, kBytes);
  Pin first = PinAs(b_);
  ASSERT_OK(directory_->Remove(kTable1));
  Pin second = PinAs(b_);
  ASSERT_OK(directory_->Remove(kTable2));
  EXPECT_EQ(CountPins(), 1u);
  a_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 4u);
  first.reset();
  b_.files.RenewLocks();
  a_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 2u);
  second.reset();
  a_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 0u);
}

// The lowest number counts, in whichever order the holders came and went.
TEST_F(TablePinTest, EachFollowerCounts) {
  Write(kTable1, kBytes);
  Pin of_b = PinAs(b_), of_c = PinAs(c_);
  EXPECT_EQ(CountPins(), 2u);
  ASSERT_OK(directory_->Remove(kTable1));
  of_c.reset();
  a_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 2u);
  of_b.reset();
  a_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(TablePinTest, NewOwnersRespectPins) {
  Write(kTable1, kBytes);
  Pin pin = PinAs(b_);
  const std::unique_ptr<ReadFile> file = OpenTable(b_, kTable1);
  ASSERT_OK(directory_->Remove(kTable1));
  const std::unique_ptr<Directory> of_c = OpenAs(c_);
  const std::unique_ptr<FileLock> lock = TakeOver(*of_c);
  c_.files.RenewLocks();
  EXPECT_OK(ReadTable(*file));
  pin.reset();
  c_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(TablePinTest, TheEndOfADirectoryEndsPins) {
  Write(kTable1, kBytes);
  const Pin pin = PinAs(b_);
  ASSERT_OK(directory_->Remove(kTable1));
  ASSERT_OK(a_.files.RemoveDirectory(kStore));
  EXPECT_EQ(objects_->Names().size(), 0u);
  b_.files.RenewLocks();
}

TEST_F(TablePinTest, ReadersOfOneProcessDelayThePin) {
  Write(kTable1, kBytes);
  std::unique_ptr<ReadFile> own = OpenTable(a_, kTable1);
  Pin pin = PinAs(b_);
  ASSERT_OK(directory_->Remove(kTable1));
  pin.reset();
  a_.files.RenewLocks();
  EXPECT_OK(ReadTable(*own));
  own = nullptr;
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(TablePinTest, PinsThatAreNotRenewedLapse) {
  const uint64_t duration = ObjectFileSystem::Config().lock_nanos;
  Write(kTable1, kBytes);
  const Pin pin = PinAs(b_);
  ASSERT_OK(OpenAs(timed_)->Remove(kTable1));
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(duration);
    if (i % 2 == 0) b_.files.RenewLocks();
    timed_.files.RenewLocks();
    EXPECT_EQ(CountChunks(), 2u);
  }
  clock_.Advance(2 * duration);
  timed_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_EQ(CountPins(), 0u);
  // The next view gets another pin.
  b_.files.RenewLocks();
  Write(kTable1, kBytes);
  const Pin next = PinAs(b_);
  ASSERT_OK(OpenAs(timed_)->Remove(kTable1));
  timed_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 2u);
}

// The remover may already have seen the pin unchanged for nearly twice its duration.
TEST_F(TablePinTest, ViewsRenewALatePin) {
  const uint64_t duration = ObjectFileSystem::Config().lock_nanos;
  Write(kTable1, kBytes);
  Write(kTable2, kBytes);
  PoolClient follower(objects_, "a follower", 6, {.clock = &clock_});
  const Pin first = PinAs(follower);
  ASSERT_OK(OpenAs(timed_)->Remove(kTable1));
  clock_.Advance(2 * duration - 1);
  const Pin second = PinAs(follower);
  const std::unique_ptr<ReadFile> file = OpenTable(follower, kTable2);
  ASSERT_OK(OpenAs(timed_)->Remove(kTable2));
  clock_.Advance(duration);
  timed_.files.RenewLocks();
  EXPECT_OK(ReadTable(*file));
}

TEST_F(TablePinTest, DamagedPinsLapse) {
  Write(kTable1, kBytes);
  const Pin pin = PinAs(b_);
  ObjectWrite damage;
  damage.set_entries["pin:0"] = "?";
  ASSERT_OK(checker_.pool.Write(IndexName(kStore), damage));
  ASSERT_OK(OpenAs(timed_)->Remove(kTable1));
  EXPECT_EQ(CountPins(), 2u);
  clock_.Advance(1);
  timed_.files.RenewLocks();
  EXPECT_EQ(CountPins(), 1u);
}

// Each write is applied twice, and returns the second status.
TEST_F(TablePinTest, RepeatedWritesMakeOnePin) {
  PoolClient follower(objects_, "a follower", 6, {.repeats_writes = true});
  PoolClient writer(objects_, "a writer", 7, {.repeats_writes = true});
  Write(kTable1, kBytes);
  Write(kTable2, kBytes);
  Pin pin = PinAs(follower);
  EXPECT_EQ(CountPins(), 1u);
  ASSERT_OK(OpenAs(writer)->Remove(kTable1));
  follower.files.RenewLocks();
  follower.files.RenewLocks();
  const Pin later = PinAs(follower);
  pin.reset();
  follower.files.RenewLocks();
  ASSERT_OK(OpenAs(writer)->Remove(kTable2));
  writer.files.RenewLocks();
  EXPECT_EQ(CountPins(), 1u);
  EXPECT_EQ(CountChunks(), 2u);
}

TEST_F(TablePinTest, LostAnswersOfRenewalsDoNotEndThePin) {
  Write(kTable1, kBytes);
  Pin pin = PinAs(b_);
  const std::unique_ptr<ReadFile> file = OpenTable(b_, kTable1);
  ASSERT_OK(directory_->Remove(kTable1));
  MemoryObjectPool::Hooks hooks;
  hooks.after = [](ObjectCall, const std::string&, uint64_t) { return false; };
  b_.pool.SetHooks(std::move(hooks));
  b_.files.RenewLocks();
  b_.pool.SetHooks({});
  const Pin again = PinAs(b_);
  EXPECT_EQ(CountPins(), 1u);
  b_.files.RenewLocks();
  a_.files.RenewLocks();
  EXPECT_OK(ReadTable(*file));
  pin.reset();
  b_.files.RenewLocks();
  a_.files.RenewLocks();
  EXPECT_EQ(CountChunks(), 0u);
}

// A remover has known the value since the first of the two renewals.
TEST_F(TablePinTest, AnEarlierRenewalDoesNotCountAsALaterOne) {
  const uint64_t duration = ObjectFileSystem::Config().lock_nanos;
  Write(kTable1, kBytes);
  PoolClient follower(objects_, "a follower", 6, {.clock = &clock_});
  const Pin pin = PinAs(follower);
  const std::unique_ptr<ReadFile> file = OpenTable(follower, kTable1);
  MemoryObjectPool::Hooks hooks;
  hooks.after = [](ObjectCall, const std::string&, uint64_t) { return false; };
  follower.pool.SetHooks(std::move(hooks));
  follower.files.RenewLocks();
  follower.pool.SetHooks({});
  ASSERT_OK(OpenAs(timed_)->Remove(kTable1));
  clock_.Advance(2 * duration - 1);
  follower.files.RenewLocks();
  clock_.Advance(1);
  timed_.files.RenewLocks();
  EXPECT_OK(ReadTable(*file));
}

// The counts of the new directory begin again, below those that the handle knew.
TEST_F(TablePinTest, LocksForgetTheCountsOfADestroyedDirectory) {
  Write(kTable1, kBytes);
  ASSERT_OK(directory_->Remove(kTable1));
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  ASSERT_OK(a_.files.RemoveDirectory(kStore));
  ASSERT_OK(a_.files.OpenDirectory(kStore, /*create=*/true));
  const std::unique_ptr<FileLock> lock = TakeOver(*of_b);
  ASSERT_NE(lock, nullptr);
  ASSERT_OK_AND_ASSIGN(const auto file, of_b->CreateExclusive(kTable1));
  ASSERT_OK(file->Append(kBytes));
  ASSERT_OK(file->Sync());
  EXPECT_OK(of_b->Remove(kTable1));
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(TablePinTest, ErrorsOfPinsNameThePath) {
  const std::unique_ptr<Directory> directory = OpenAs(b_);
  for (const ObjectCall refused : {ObjectCall::kRead, ObjectCall::kWrite}) {
    b_.pool.SetHooks({[refused](ObjectCall call, const std::string&, uint64_t) {
                        return call == refused ? MemoryObjectPool::Fate::kRefused
                                               : MemoryObjectPool::Fate::kApplied;
                      },
                      nullptr});
    EXPECT_THAT(directory->PinTables().status(),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("/store: a pin of its tables for a follower")));
  }
}

// With a pin that this process may have made, as the pool did not answer.
TEST_F(TablePinTest, PinsWithoutAnAnswerLapse) {
  b_.pool.SetHooks({nullptr, [](ObjectCall call, const std::string&, uint64_t) {
                      return call != ObjectCall::kWrite;
                    }});
  EXPECT_THAT(OpenAs(b_)->PinTables().status(), StatusIs(absl::StatusCode::kUnavailable));
  b_.pool.SetHooks({});
  EXPECT_EQ(CountPins(), 1u);
  const Pin pin = PinAs(b_);
  EXPECT_EQ(CountPins(), 2u);
}

// Between the read and the write of a pin, the directory is removed and made again.
TEST_F(TablePinTest, PinsOfAnEarlierDirectoryAreNotWritten) {
  Write(kTable1, kBytes);
  ASSERT_OK(directory_->Remove(kTable1));
  const std::unique_ptr<Directory> directory = OpenAs(b_);
  PauseAt(&b_.pool, b_.pool.call_count() + 1, /*after=*/false, [&] {
    ASSERT_OK(a_.files.RemoveDirectory(kStore));
    ASSERT_OK(a_.files.OpenDirectory(kStore, /*create=*/true));
  });
  ASSERT_OK_AND_ASSIGN(Pin pin, directory->PinTables());
  EXPECT_EQ(CountPins(), 1u);
  pin.reset();
  EXPECT_EQ(CountPins(), 0u);
}

TEST_F(TablePinTest, WithoutADirectoryThereIsNoPin) {
  const std::unique_ptr<Directory> directory = OpenAs(b_);
  ASSERT_OK(a_.files.RemoveDirectory(kStore));
  EXPECT_THAT(directory->PinTables().status(), StatusIs(absl::StatusCode::kNotFound));
}

// The follower pins, and opens each table that has a name then.
class Follower {
 public:
  explicit Follower(PoolClient* client) : client_(*client) {}
  void Look() {
    absl::StatusOr<std::unique_ptr<Directory>> directory =
        client_.files.OpenDirectory("/store", /*create=*/false);
    ASSERT_OK(directory);
    absl::StatusOr<Pin> pin = (*directory)->PinTables();
    ASSERT_OK(pin);
    for (const char* name : {kTable1, kTable2}) {
      absl::StatusOr<std::unique_ptr<ReadFile>> file =
          (*directory)->OpenRead(name, ReadMode::kBuffered);
      if (file.ok()) files_.push_back(*std::move(file));
    }
    pins_.push_back(*std::move(pin));
  }
  void ExpectReadable() const {
    for (const std::unique_ptr<ReadFile>& file : files_) {
      std::string buffer(100, ' ');
      EXPECT_OK(file->ReadAt(0, buffer));
    }
  }
  void LetFirstGo() {
    pins_.erase(pins_.begin());
    client_.files.RenewLocks();
  }
  size_t file_count() const { return files_.size(); }

 private:
  PoolClient& client_;
  std::vector<Pin> pins_;
  std::vector<std::unique_ptr<ReadFile>> files_;
};

struct PinRace {
  explicit PinRace(bool removes_early) {
    absl::StatusOr<std::unique_ptr<Directory>> made =
        writer.files.OpenDirectory("/store", /*create=*/true);
    EXPECT_OK(made);
    directory = *std::move(made);
    for (const char* name : {kTable1, kTable2}) {
      absl::StatusOr<std::unique_ptr<AppendFile>> file = directory->CreateExclusive(name);
      EXPECT_OK(file);
      EXPECT_OK((*file)->Append(kBytes));
      EXPECT_OK((*file)->Sync());
    }
    if (removes_early) Remove(kTable1);
  }
  void Remove(const char* name) {
    EXPECT_OK(directory->Remove(name));
    writer.files.RenewLocks();
  }

  const std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();
  PoolClient writer{objects, "a writer", 1}, reader{objects, "a follower", 2};
  std::unique_ptr<Directory> directory;
};

struct PinRaceCase {
  bool writer_waits;  // the follower pins at a call of the writer; otherwise the reverse
  bool after;         // the call was applied
  bool has_pin;       // the follower has another view

  // Returns whether a process has made the call with this number, and the tables that were opened.
  std::pair<bool, size_t> Run(uint64_t call) const {
    PinRace race(/*removes_early=*/call % 2 == 0);
    Follower follower(&race.reader);
    if (has_pin) follower.Look();
    const auto remove = [&] { race.Remove(kTable2); };
    const auto look = [&] { follower.Look(); };
    MemoryObjectPool& paused = writer_waits ? race.writer.pool : race.reader.pool;
    bool was_reached = false;
    PauseAt(&paused, paused.call_count() + call, after, [&] {
      was_reached = true;
      writer_waits ? look() : remove();
    });
    writer_waits ? remove() : look();
    paused.SetHooks({});
    race.writer.files.RenewLocks();
    follower.ExpectReadable();
    if (has_pin) {
      // The second pin covers its own view.
      Follower second(&race.reader);
      second.Look();
      race.writer.files.RenewLocks();
      second.ExpectReadable();
    }
    return {was_reached, follower.file_count()};
  }
};

// Neither can pass the other one: the writer removes a table at any call of the follower, or the
// follower pins at any call of the writer.
TEST(PinRaceTest, PinsAndRemovalsCannotPassEachOther) {
  size_t opened = 0, calls = 0;
  for (unsigned bits = 0; bits < 8; ++bits) {
    const PinRaceCase race{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    bool was_reached = true;
    for (uint64_t call = 0; was_reached; ++call) {
      SCOPED_TRACE(Concat(race.writer_waits, race.after, race.has_pin, " call ", call));
      size_t files = 0;
      std::tie(was_reached, files) = race.Run(call);
      opened += files;
      ++calls;
    }
  }
  EXPECT_GT(opened, 20u);
  EXPECT_GT(calls, 40u);
}

// Renewals, lapses, removals and reads at the same time.
TEST(PinThreadsTest, ReadersNeverFindFalseDamage) {
  constexpr int kTables = 200;
  constexpr size_t kReads = 20;
  const auto objects = std::make_shared<MemoryObjects>();
  struct Process {
    Process(const std::shared_ptr<MemoryObjects>& shared, uint64_t seed)
        : pool(shared),
          random(seed),
          files(&pool, &random, {.lock_nanos = 4'000'000, .table_chunk_bytes = 8}) {}
    MemoryObjectPool pool;
    testing_support::SeededRandom random;
    ObjectFileSystem files;
  };
  Process writer(objects, 1), reader(objects, 2);
  ASSERT_OK_AND_ASSIGN(const auto directory, writer.files.OpenDirectory("/store", true));
  ASSERT_OK_AND_ASSIGN(const auto lock, directory->Lock("LOCK", LockKind::kExclusive));
  std::atomic<bool> is_done = false;
  std::atomic<size_t> reads = 0;
  const auto follow = [&] {
    struct View {
      Pin pin;
      std::vector<std::unique_ptr<ReadFile>> files;
    };
    std::deque<View> views;
    while (!is_done) {
      ASSERT_OK_AND_ASSIGN(const auto opened, reader.files.OpenDirectory("/store", false));
      View view;
      ASSERT_OK_AND_ASSIGN(view.pin, opened->PinTables());
      ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, opened->List());
      for (const std::string& name : names) {
        absl::StatusOr<std::unique_ptr<ReadFile>> file =
            opened->OpenRead(name, ReadMode::kBuffered);
        if (file.ok()) view.files.push_back(*std::move(file));
      }
      views.push_back(std::move(view));
      for (const View& one : views) {
        for (const std::unique_ptr<ReadFile>& file : one.files) {
          std::string buffer(100, ' ');
          const absl::StatusOr<size_t> bytes = file->ReadAt(0, buffer);
          // The pin may have lapsed.
          EXPECT_TRUE(bytes.ok() || absl::IsUnavailable(bytes.status())) << bytes.status();
          reads += bytes.ok() ? 1 : 0;
        }
      }
      if (views.size() > 5) views.pop_front();
    }
  };
  std::thread first(follow), second(follow);
  // The readers may start late, so the writer goes on until they have read.  The bound is for a
  // hang.
  for (int i = 0; (i < kTables || reads < kReads) && i < 1'000'000; ++i) {
    const std::string name = TableFileName(static_cast<uint64_t>(i) + 1);
    absl::StatusOr<std::unique_ptr<AppendFile>> file = directory->CreateExclusive(name);
    EXPECT_OK(file);
    if (!file.ok()) break;
    EXPECT_OK((*file)->Append(kBytes));
    EXPECT_OK((*file)->Sync());
    std::this_thread::yield();
    EXPECT_OK(directory->Remove(name));
  }
  is_done = true;
  first.join();
  second.join();
  EXPECT_GE(reads, kReads);
  // The thread of the writer may have the files at one of these calls.
  const std::string index = IndexName("/store");
  const auto left = [&] {
    ObjectRead read;
    read.entries_after = "";
    const absl::StatusOr<ObjectContents> contents = writer.pool.Read(index, read);
    EXPECT_OK(contents);
    return contents.ok() ? contents->entries.size() : 0;  // LOCK, and what should not be there
  };
  for (int i = 0; i < 10'000 && left() > 1; ++i) {
    writer.files.RenewLocks();
    std::this_thread::yield();
  }
  EXPECT_EQ(left(), 1u);
  EXPECT_EQ(objects->Names().size(), 1u);
}

}  // namespace
}  // namespace lsm
