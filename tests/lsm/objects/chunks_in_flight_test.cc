// Tables whose chunks are written several at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "lsm/file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

// Chunks have 8 bytes.
class ChunksInFlightTest : public ObjectFixture {
 protected:
  void SetUp() override {
    ObjectFixture::SetUp();
    a_.pool.HoldStartedWrites();
  }
  std::unique_ptr<AppendFile> NewTable() {
    absl::StatusOr<std::unique_ptr<AppendFile>> file = directory_->CreateExclusive(kTable);
    EXPECT_OK(file);
    return file.ok() ? *std::move(file) : nullptr;
  }
  static std::string Letters(size_t size) {
    std::string bytes;
    for (size_t i = 0; i < size; ++i) bytes += static_cast<char>('a' + i % 26);
    return bytes;
  }
};

TEST_F(ChunksInFlightTest, FourAreInFlight) {
  for (const size_t append_bytes : {1, 3, 8, 27, 99}) {
    const std::string bytes = Letters(99);
    const std::unique_ptr<AppendFile> file = NewTable();
    size_t in_flight_max = 0;
    a_.pool.SetHooks({[&](ObjectCall, const std::string&, uint64_t) {
                        // The hook runs when one of them has been taken for its application.
                        in_flight_max = std::max(in_flight_max, a_.pool.writes_in_flight() + 1);
                        return MemoryObjectPool::Fate::kApplied;
                      },
                      nullptr});
    for (size_t at = 0; at < bytes.size(); at += append_bytes) {
      ASSERT_OK(file->Append(std::string_view(bytes).substr(at, append_bytes)));
      const size_t full_chunks = std::min(at + append_bytes, bytes.size()) / 8;
      EXPECT_EQ(a_.pool.writes_in_flight(), std::min<size_t>(full_chunks, 4));
    }
    a_.pool.SetHooks({});
    EXPECT_EQ(in_flight_max, 4u);
    ASSERT_OK(file->Sync());
    EXPECT_EQ(a_.pool.writes_in_flight(), 0u);
    EXPECT_EQ(Read(kTable), bytes);
    ASSERT_OK(directory_->Remove(kTable));
    EXPECT_EQ(CountChunks(), 0u);
  }
}

// The size of a table is in the index only once its bytes are in the pool.
TEST_F(ChunksInFlightTest, SyncWaits) {
  const std::unique_ptr<AppendFile> file = NewTable();
  ASSERT_OK(file->Append(Letters(27)));
  EXPECT_EQ(CountChunks(), 0u);
  size_t chunks = 0;
  a_.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                      if (call == ObjectCall::kWrite && object.starts_with("index:"))
                        chunks = CountChunks();
                      return MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  ASSERT_OK(file->Sync());
  EXPECT_EQ(chunks, 4u);
  EXPECT_EQ(Read(kTable), Letters(27));
}

TEST_F(ChunksInFlightTest, ChunksArriveInAnyOrder) {
  const std::unique_ptr<AppendFile> file = NewTable();
  ASSERT_OK(file->Append(Letters(35)));
  a_.pool.ApplyStartedWrites();
  EXPECT_EQ(CountChunks(), 4u);
  ASSERT_OK(file->Append("!"));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(Read(kTable), Letters(35) + "!");
  // The rest of a chunk follows its first bytes.
  ASSERT_OK(file->Append("?"));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(Read(kTable), Letters(35) + "!?");
}

// A table that is given up is removed next.  A late write would make a chunk again.
TEST_F(ChunksInFlightTest, CloseAndDestructorWait) {
  for (const bool closes : {false, true}) {
    std::unique_ptr<AppendFile> file = NewTable();
    ASSERT_OK(file->Append(Letters(27)));
    EXPECT_EQ(a_.pool.writes_in_flight(), 3u);
    if (closes) {
      ASSERT_OK(file->Close());
    } else {
      file = nullptr;
    }
    EXPECT_EQ(a_.pool.writes_in_flight(), 0u);
    ASSERT_OK(directory_->Remove(kTable));
    a_.pool.ApplyStartedWrites();
    EXPECT_EQ(CountChunks(), 0u);
  }
}

// The call that waits for the chunk, and each later one, returns its error.
TEST_F(ChunksInFlightTest, FailedChunksFailTheTable) {
  for (const bool waits_in_append : {false, true}) {
    for (const uint64_t failed : {0, 1, 2}) {
      std::unique_ptr<AppendFile> file = NewTable();
      a_.pool.SetHooks({[&](ObjectCall, const std::string& object, uint64_t) {
                          return object.ends_with("." + std::to_string(failed))
                                     ? MemoryObjectPool::Fate::kRefused
                                     : MemoryObjectPool::Fate::kApplied;
                        },
                        nullptr});
      const auto refused = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/store/000002"));
      ASSERT_OK(file->Append(Letters(27)));
      if (waits_in_append) {
        EXPECT_THAT(file->Append(Letters(99)), refused);
      }
      EXPECT_THAT(file->Sync(), refused);
      a_.pool.SetHooks({});
      EXPECT_THAT(file->Sync(), refused);
      EXPECT_THAT(file->Append("x"), refused);
      EXPECT_EQ(Read(kTable), "");
      file = nullptr;
      EXPECT_EQ(a_.pool.writes_in_flight(), 0u);
      ASSERT_OK(directory_->Remove(kTable));
      EXPECT_EQ(CountChunks(), 0u);
    }
  }
}

// Any subset of the chunks in flight may have arrived when the writer dies.
TEST_F(ChunksInFlightTest, NewOwnersRemoveAnyThatArrived) {
  for (unsigned arrived = 0; arrived < 16; ++arrived) {
    PoolClient a(objects_, "D", 10 + arrived);
    a.pool.HoldStartedWrites();
    const std::unique_ptr<Directory> of_a = OpenAs(a);
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<AppendFile> file, of_a->CreateExclusive(kTable));
    ASSERT_OK(file->Append(Letters(48)));
    EXPECT_EQ(a.pool.writes_in_flight(), 4u);
    a.pool.SetHooks({[&](ObjectCall, const std::string& object, uint64_t) {
                       const unsigned number = static_cast<unsigned>(object.back() - '0');
                       return number >= 2 && (arrived >> (number - 2) & 1) != 0
                                  ? MemoryObjectPool::Fate::kApplied
                                  : MemoryObjectPool::Fate::kRefused;
                     },
                     nullptr});
    file = nullptr;
    EXPECT_GE(CountChunks(), 2u);
    ASSERT_OK(directory_->Remove(kTable));
    EXPECT_EQ(CountChunks(), 0u) << arrived;
  }
}

}  // namespace
}  // namespace lsm
