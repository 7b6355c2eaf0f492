// A memtable whose memory runs out, at each allocation of a batch and after its preparation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>
#include <string_view>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/memtable/memtable.h"
#include "lsm/write_batch.h"
#include "tests/support/status_matchers.h"

namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();
size_t allocations_before_failure = kNever;
bool fails_once = false;

// Fails one allocation, or all from it on.
class FailAllocations {
 public:
  enum class How { kOnce, kForever };
  FailAllocations(size_t first, How how) {
    fails_once = how == How::kOnce;
    allocations_before_failure = first;
  }
  ~FailAllocations() { allocations_before_failure = kNever; }
};

void* Allocate(size_t bytes) {
  if (allocations_before_failure == 0) {
    if (fails_once) allocations_before_failure = kNever;
    throw std::bad_alloc();
  }
  if (allocations_before_failure != kNever) --allocations_before_failure;
  void* const block = std::malloc(bytes > 0 ? bytes : 1);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

// These replace the global operators, so this test is a program of its own.
[[gnu::noinline]] void* operator new(size_t bytes) { return Allocate(bytes); }
[[gnu::noinline]] void* operator new[](size_t bytes) { return Allocate(bytes); }
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, size_t) noexcept { std::free(block); }

namespace lsm {
namespace {

constexpr KeyspaceId kKeyspaces = 40;
constexpr int kPasses = 30;

// Entries and ranges of many keyspaces, which split leaves of all lists.
WriteBatch SomeBatch() {
  WriteBatch batch;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (KeyspaceId i = 0; i < kKeyspaces; ++i) {
      const KeyspaceId keyspace = i == 0 ? kDefaultKeyspace : kOtherKeyspaceMin + i;
      EncodedBatch::Put(&batch, keyspace, Concat("key", 100 + pass * 7 % kPasses), Concat(pass));
      if (pass % 10 == 0)
        EncodedBatch::DeleteRange(&batch, keyspace, Concat("range", pass),
                                  Concat("range", pass, "z"));
    }
  }
  return batch;
}

bool HasAll(const Memtable& memtable) {
  if (memtable.Lists().size() != kKeyspaces) return false;
  for (const EntryList* const list : memtable.Lists()) {
    for (int pass = 0; pass < kPasses; ++pass) {
      std::string_view value;
      const LookupKey key(Concat("key", 100 + pass * 7 % kPasses), kSequenceMax, 0);
      if (list->Get(key, &value) != MemtableAnswer::kFound || value != Concat(pass)) return false;
    }
    if (list->MapOfRanges().range_count() != 3) return false;
  }
  return memtable.entry_count() == kKeyspaces * (kPasses + 3);
}

// The second step of the next batch needs no memory either.
TEST(MemtableMemoryTest, ABatchEntersWholeOrLeavesEmptyLists) {
  WriteBatch batch = SomeBatch();
  EncodedBatch::SetFirstSequence(&batch, 1);
  const std::string_view encoded = EncodedBatch::Of(batch);
  size_t failures = 0;
  for (bool was_enough = false; !was_enough; ++failures) {
    Memtable memtable(/*number_before=*/0, /*recent_max=*/64);
    absl::Status status;
    {
      const FailAllocations failing(failures, FailAllocations::How::kOnce);
      status = CatchOutOfMemory([&] { return memtable.PrepareBatch(encoded); });
    }
    was_enough = status.ok();
    if (!was_enough) {
      ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
      ASSERT_TRUE(memtable.empty());
      ASSERT_TRUE(memtable.Lists().empty());
      ASSERT_OK(memtable.PrepareBatch(encoded));
    }
    {
      const FailAllocations failing(0, FailAllocations::How::kForever);
      memtable.AddPrepared();
    }
    ASSERT_TRUE(HasAll(memtable)) << failures;
  }
  EXPECT_GT(failures, 40u) << "vectors, blocks, tables";
}

TEST(MemtableMemoryTest, LinkingNeedsNoMemory) {
  Memtable memtable;
  Sequence last = 0;
  for (int round = 0; round < 200; ++round) {
    WriteBatch batch;
    for (KeyspaceId i = 0; i < 60; ++i) {
      for (int entry = 0; entry < 20; ++entry)
        EncodedBatch::Put(&batch, kOtherKeyspaceMin + i % 30,
                          Concat((round * 7919 + entry * 31) % 1000, "/", last + i), "value");
    }
    EncodedBatch::SetFirstSequence(&batch, last + 1);
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(batch)));
    {
      const FailAllocations failing(0, FailAllocations::How::kForever);
      memtable.AddPrepared();
    }
    last += batch.count();
    ASSERT_EQ(memtable.entry_count(), last);
  }
}

}  // namespace
}  // namespace lsm
