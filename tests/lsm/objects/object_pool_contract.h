// The contract of object_pool.h, as tests that run on every implementation.  A program includes
// this header once and instantiates ObjectPoolContractTest.
#ifndef TRELLIS_TESTS_LSM_OBJECTS_OBJECT_POOL_CONTRACT_H_
#define TRELLIS_TESTS_LSM_OBJECTS_OBJECT_POOL_CONTRACT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "lsm/object_pool.h"
#include "tests/support/status_matchers.h"

namespace lsm {

// Two clients of the same objects.
class PoolBackend {
 public:
  virtual ~PoolBackend() = default;
  // Whether there is a pool to test.
  virtual absl::Status status() const { return absl::OkStatus(); }
  virtual ObjectPool& pool() = 0;
  virtual ObjectPool& other_pool() = 0;
  // Lets the clock pass by which locks expire.
  virtual void Pass(uint64_t nanos) = 0;
  // Before the names of objects, so that tests do not meet.
  virtual std::string prefix() const { return ""; }
};

struct PoolFactory {
  std::string name;
  std::function<std::unique_ptr<PoolBackend>()> make;
};
inline void PrintTo(const PoolFactory& factory, std::ostream* out) { *out << factory.name; }

class ObjectPoolContractTest : public testing::TestWithParam<PoolFactory> {
 protected:
  static constexpr uint64_t kSecond = 1'000'000'000;

  void SetUp() override { ASSERT_OK(backend_->status()); }
  void TearDown() override {
    if (!backend_->status().ok()) return;
    ObjectWrite remove;
    remove.remove = true;
    for (const std::string& name : names_) pool().Write(name, remove).IgnoreError();
  }

  ObjectPool& pool() { return backend_->pool(); }
  ObjectPool& other_pool() { return backend_->other_pool(); }
  void Pass(uint64_t nanos) { backend_->Pass(nanos); }

  std::string Name(const std::string& name) {
    names_.push_back(backend_->prefix() + name);
    return names_.back();
  }
  // An object with the attribute a = "1", the entry e = "1", and the bytes "0123456789".
  std::string Object(const std::string& name) {
    std::string full = Name(name);
    EXPECT_OK(pool().Write(full, Everything()));
    return full;
  }
  static ObjectWrite Everything() {
    ObjectWrite write;
    write.set_attributes["a"] = "1";
    write.set_entries["e"] = "1";
    write.offset = 0;
    write.bytes = "0123456789";
    return write;
  }
  static ObjectRead All() {
    ObjectRead read;
    read.with_attributes = true;
    read.entries_after = "";
    read.bytes_max = 1000;
    return read;
  }
  // Everything in the object as text, or the code of the error.
  std::string Show(const std::string& object) {
    const absl::StatusOr<ObjectContents> contents = pool().Read(object, All());
    if (!contents.ok()) return absl::StatusCodeToString(contents.status().code());
    std::string text = std::to_string(contents->size_bytes) + ":" + contents->bytes;
    for (const auto& [name, value] : contents->attributes) text += " " + name + "=" + value;
    for (const auto& [name, value] : contents->entries) text += " [" + name + "]=" + value;
    return text;
  }
  static constexpr const char* kEverything = "10:0123456789 a=1 [e]=1";

  // The statuses name the object.
  static auto Refused(absl::StatusCode code, const std::string& object) {
    return testing_support::StatusIs(code, testing::HasSubstr(object));
  }
  static auto Aborted(const std::string& object) {
    return Refused(absl::StatusCode::kAborted, object);
  }
  static auto NotFound(const std::string& object) {
    return Refused(absl::StatusCode::kNotFound, object);
  }
  static auto NotHeld(const std::string& object) {
    return Refused(absl::StatusCode::kFailedPrecondition, object);
  }

  const std::unique_ptr<PoolBackend> backend_ = GetParam().make();
  std::vector<std::string> names_;
};

TEST_P(ObjectPoolContractTest, ReadsWhatItWrote) {
  const std::string object = Object("o");
  EXPECT_EQ(Show(object), kEverything);
  ASSERT_OK_AND_ASSIGN(const ObjectContents seen, other_pool().Read(object, All()));
  EXPECT_EQ(seen.bytes, "0123456789");
}

TEST_P(ObjectPoolContractTest, MissingObjectsAreNotFound) {
  const std::string object = Name("none");
  EXPECT_THAT(pool().Read(object, {}), NotFound(object));
  EXPECT_THAT(pool().Read(object, All()), NotFound(object));
  ObjectRead guarded;
  guarded.attributes_equal["a"] = "";
  EXPECT_THAT(pool().Read(object, guarded), NotFound(object));
  ObjectRead named;
  named.entries = {"e"};
  EXPECT_THAT(pool().Read(object, named), NotFound(object));
  ObjectWrite remove;
  remove.remove = true;
  EXPECT_THAT(pool().Write(object, remove), NotFound(object));
}

TEST_P(ObjectPoolContractTest, EveryWriteWithoutGuardsMakesTheObject) {
  const std::string nothing = Name("nothing"), entries = Name("entries"), gap = Name("gap");
  EXPECT_OK(pool().Write(nothing, {}));
  EXPECT_EQ(Show(nothing), "0:");
  ObjectWrite write;
  write.remove_entries = {"e"};
  EXPECT_OK(pool().Write(entries, write));
  EXPECT_EQ(Show(entries), "0:");
  ObjectWrite no_bytes;
  no_bytes.offset = 3;
  EXPECT_OK(pool().Write(gap, no_bytes));
  EXPECT_EQ(Show(gap), std::string("3:\0\0\0", 5));
}

TEST_P(ObjectPoolContractTest, GuardsOnMissingObjectsMakeNothing) {
  const std::string object = Name("none");
  for (const std::string value : {"", "x"}) {
    ObjectWrite attribute = Everything(), entry = Everything(), below = Everything();
    attribute.attributes_equal["a"] = value;
    entry.entries_equal["e"] = value;
    below.attributes_below["a"] = value;
    for (const ObjectWrite& write : {attribute, entry, below}) {
      EXPECT_THAT(pool().Write(object, write), NotFound(object));
      EXPECT_EQ(Show(object), "NOT_FOUND");
    }
  }
}

TEST_P(ObjectPoolContractTest, MakesNewObjectsOnlyOnce) {
  const std::string object = Name("o");
  ObjectWrite write = Everything();
  write.must_be_new = true;
  EXPECT_OK(pool().Write(object, write));
  write.set_attributes["a"] = "2";
  EXPECT_THAT(pool().Write(object, write), Refused(absl::StatusCode::kAlreadyExists, object));
  EXPECT_THAT(other_pool().Write(object, write), Refused(absl::StatusCode::kAlreadyExists, object));
  EXPECT_EQ(Show(object), kEverything);
}

TEST_P(ObjectPoolContractTest, ComparesAttributes) {
  const std::string object = Object("o");
  ObjectWrite write;
  write.set_attributes["b"] = "new";
  for (const std::string& wrong : {std::string(), std::string("2"), std::string("1\0", 2),
                                   std::string("11"), std::string("\xff")}) {
    write.attributes_equal["a"] = wrong;
    EXPECT_THAT(pool().Write(object, write), Aborted(object)) << wrong;
    EXPECT_EQ(Show(object), kEverything);
    ObjectRead read = All();
    read.attributes_equal["a"] = wrong;
    EXPECT_THAT(pool().Read(object, read), Aborted(object)) << wrong;
  }
  write.attributes_equal["a"] = "1";
  EXPECT_OK(pool().Write(object, write));
  EXPECT_EQ(Show(object), "10:0123456789 a=1 b=new [e]=1");
  ObjectRead read = All();
  read.attributes_equal["b"] = "new";
  ASSERT_OK_AND_ASSIGN(const ObjectContents contents, pool().Read(object, read));
  EXPECT_EQ(contents.bytes, "0123456789");
}

TEST_P(ObjectPoolContractTest, ComparesEntries) {
  const std::string object = Object("o");
  ObjectWrite write;
  write.set_entries["f"] = "new";
  for (const std::string& wrong :
       {std::string(), std::string("2"), std::string("1\0", 2), std::string("11")}) {
    write.entries_equal["e"] = wrong;
    EXPECT_THAT(pool().Write(object, write), Aborted(object)) << wrong;
    EXPECT_EQ(Show(object), kEverything);
  }
  write.entries_equal["e"] = "1";
  EXPECT_OK(pool().Write(object, write));
  EXPECT_EQ(Show(object), "10:0123456789 a=1 [e]=1 [f]=new");
}

TEST_P(ObjectPoolContractTest, MissingValuesCompareAsEmpty) {
  const std::string object = Object("o");
  ObjectWrite missing;
  missing.attributes_equal["none"] = "x";
  EXPECT_THAT(pool().Write(object, missing), Aborted(object));
  missing = {};
  missing.entries_equal["none"] = "x";
  EXPECT_THAT(pool().Write(object, missing), Aborted(object));
  missing.entries_equal["none"] = "";
  missing.attributes_equal["none"] = "";
  missing.set_entries["none"] = "now";
  EXPECT_OK(pool().Write(object, missing));
  EXPECT_EQ(Show(object), "10:0123456789 a=1 [e]=1 [none]=now");
  EXPECT_THAT(pool().Write(object, missing), Aborted(object));
  ObjectRead read;
  read.attributes_equal["none"] = "";
  EXPECT_OK(pool().Read(object, read));
  // The same on an object that never had an attribute or entry.
  const std::string plain = Name("plain");
  ASSERT_OK(pool().Write(plain, {}));
  EXPECT_OK(pool().Read(plain, read));
  EXPECT_OK(pool().Write(plain, missing));
}

TEST_P(ObjectPoolContractTest, ComparesWhichAttributeIsBelow) {
  const std::string object = Name("o");
  ObjectWrite first;
  first.set_attributes["a"] = "5";
  first.set_attributes["high"] = "\xf0";
  ASSERT_OK(pool().Write(object, first));
  ObjectWrite write;
  const auto is_below = [&](const std::string& name, const std::string& value) {
    write.attributes_below = {{name, value}};
    const absl::Status status = pool().Write(object, write);
    EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status.ToString();
    return status.ok();
  };
  EXPECT_TRUE(is_below("a", "6"));
  EXPECT_TRUE(is_below("a", "50"));
  EXPECT_TRUE(is_below("a", std::string("5\0", 2)));
  EXPECT_TRUE(is_below("a", "\xf0"));
  EXPECT_FALSE(is_below("a", "5"));
  EXPECT_FALSE(is_below("a", "4"));
  EXPECT_FALSE(is_below("a", "49"));
  EXPECT_FALSE(is_below("a", ""));
  EXPECT_TRUE(is_below("high", "\xf1"));
  EXPECT_FALSE(is_below("high", "5"));
  EXPECT_TRUE(is_below("none", "0"));
  EXPECT_FALSE(is_below("none", ""));
}

TEST_P(ObjectPoolContractTest, OneFailedGuardOfSeveralChangesNothing) {
  const std::string object = Object("o");
  for (int wrong = 0; wrong < 3; ++wrong) {
    ObjectWrite write;
    write.attributes_equal["a"] = wrong == 0 ? "x" : "1";
    write.entries_equal["e"] = wrong == 1 ? "x" : "1";
    write.attributes_below["a"] = wrong == 2 ? "0" : "2";
    write.set_attributes["a"] = "9";
    write.set_entries["f"] = "9";
    write.remove_entries = {"e"};
    write.offset = 20;
    write.bytes = "9";
    EXPECT_THAT(pool().Write(object, write), Aborted(object)) << wrong;
    EXPECT_EQ(Show(object), kEverything);
    write.remove = true;
    EXPECT_THAT(pool().Write(object, write), Aborted(object)) << wrong;
    EXPECT_EQ(Show(object), kEverything);
  }
}

TEST_P(ObjectPoolContractTest, ChangesEverythingAtOnce) {
  const std::string object = Object("o");
  ObjectWrite write;
  write.attributes_equal["a"] = "1";
  write.entries_equal["e"] = "1";
  write.attributes_below["a"] = "2";
  write.set_attributes["a"] = "2";
  write.set_attributes["b"] = "3";
  write.set_entries["f"] = "4";
  write.remove_entries = {"e", "none"};
  write.offset = 8;
  write.bytes = "abcd";
  EXPECT_OK(pool().Write(object, write));
  EXPECT_EQ(Show(object), "12:01234567abcd a=2 b=3 [f]=4");
  EXPECT_THAT(pool().Write(object, write), Aborted(object));
}

TEST_P(ObjectPoolContractTest, ReplacesAnEntryThatItAlsoRemoves) {
  const std::string object = Object("o");
  ObjectWrite write;
  write.remove_entries = {"e"};
  write.set_entries["e"] = "2";
  EXPECT_OK(pool().Write(object, write));
  EXPECT_EQ(Show(object), "10:0123456789 a=1 [e]=2");
}

TEST_P(ObjectPoolContractTest, KeepsAllBytesOfValues) {
  std::string value;
  for (int byte = 0; byte < 256; ++byte) value.push_back(static_cast<char>(byte));
  value.append(5000, 'v');
  const std::string object = Name("o");
  ObjectWrite write;
  write.set_attributes["a"] = value;
  write.set_entries["e/ \xff" + std::string(200, 'n')] = value;
  write.offset = 0;
  write.bytes = value;
  ASSERT_OK(pool().Write(object, write));
  ObjectRead read = All();
  read.bytes_max = 1 << 20;
  ASSERT_OK_AND_ASSIGN(const ObjectContents contents, pool().Read(object, read));
  EXPECT_EQ(contents.attributes, write.set_attributes);
  EXPECT_EQ(contents.entries, write.set_entries);
  EXPECT_EQ(contents.bytes, value);
  ObjectWrite guarded;
  guarded.attributes_equal = write.set_attributes;
  guarded.entries_equal = write.set_entries;
  EXPECT_OK(pool().Write(object, guarded));
}

TEST_P(ObjectPoolContractTest, FillsGapsWithZeros) {
  const std::string object = Name("o");
  ObjectWrite write;
  write.offset = 5;
  write.bytes = "ab";
  ASSERT_OK(pool().Write(object, write));
  EXPECT_EQ(Show(object), std::string("7:\0\0\0\0\0ab", 9));
  write.offset = 1;
  write.bytes = "x";
  ASSERT_OK(pool().Write(object, write));
  EXPECT_EQ(Show(object), std::string("7:\0x\0\0\0ab", 9));
  write.offset = 9;
  write.bytes = "y";
  ASSERT_OK(pool().Write(object, write));
  EXPECT_EQ(Show(object), std::string("10:\0x\0\0\0ab\0\0y", 13));
}

TEST_P(ObjectPoolContractTest, ReadsAreShortOnlyAtTheEnd) {
  const std::string object = Object("o");
  const auto read = [&](uint64_t offset, uint64_t bytes_max) {
    ObjectRead range;
    range.with_attributes = true;
    range.offset = offset;
    range.bytes_max = bytes_max;
    const absl::StatusOr<ObjectContents> contents = pool().Read(object, range);
    if (!contents.ok()) return contents.status().ToString();
    EXPECT_EQ(contents->size_bytes, 10u);
    EXPECT_EQ(contents->attributes, (ObjectValues{{"a", "1"}}));
    EXPECT_TRUE(contents->entries.empty());
    EXPECT_FALSE(contents->has_more_entries);
    return contents->bytes;
  };
  EXPECT_EQ(read(0, 10), "0123456789");
  EXPECT_EQ(read(3, 4), "3456");
  EXPECT_EQ(read(8, 10), "89");
  EXPECT_EQ(read(10, 1), "");
  EXPECT_EQ(read(1000, 10), "");
  EXPECT_EQ(read(0, 0), "");
  EXPECT_EQ(read(3, 0), "");
  EXPECT_EQ(read(0, UINT64_MAX), "0123456789");
}

TEST_P(ObjectPoolContractTest, ReadsEntriesByName) {
  const std::string object = Name("o");
  ObjectWrite write;
  write.set_entries = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  ASSERT_OK(pool().Write(object, write));
  ObjectRead read;
  read.entries = {"c", "none", "a"};
  ASSERT_OK_AND_ASSIGN(const ObjectContents contents, pool().Read(object, read));
  EXPECT_EQ(contents.entries, (ObjectValues{{"a", "1"}, {"c", "3"}}));
  EXPECT_FALSE(contents.has_more_entries);
}

TEST_P(ObjectPoolContractTest, ReadsEntriesInPages) {
  const std::string object = Name("o");
  ObjectValues entries;
  for (int i = 0; i < 2 * static_cast<int>(kObjectEntriesMax) + 500; ++i) {
    std::string digits = std::to_string(i);
    entries["n" + std::string(5 - digits.size(), '0') + digits] = digits;
  }
  ObjectWrite write;
  write.set_entries = entries;
  ASSERT_OK(pool().Write(object, write));
  ObjectValues found;
  ObjectRead read;
  read.entries_after = "";
  for (bool has_more = true; has_more;) {
    ASSERT_OK_AND_ASSIGN(ObjectContents page, pool().Read(object, read));
    ASSERT_LE(page.entries.size(), kObjectEntriesMax);
    has_more = page.has_more_entries;
    if (has_more) {
      ASSERT_FALSE(page.entries.empty());
      read.entries_after = std::prev(page.entries.end())->first;
    }
    found.merge(page.entries);
    EXPECT_TRUE(page.entries.empty()) << "came twice";
  }
  EXPECT_EQ(found, entries);
  // Only greater names; the last page of exactly the largest size has none after it.
  read.entries_after = "n01499";
  ASSERT_OK_AND_ASSIGN(const ObjectContents last, pool().Read(object, read));
  EXPECT_EQ(last.entries.begin()->first, "n01500");
  EXPECT_EQ(last.has_more_entries, last.entries.size() < kObjectEntriesMax);
  read.entries_after = "n02499";
  ASSERT_OK_AND_ASSIGN(const ObjectContents none, pool().Read(object, read));
  EXPECT_TRUE(none.entries.empty());
  EXPECT_FALSE(none.has_more_entries);
}

TEST_P(ObjectPoolContractTest, RemovesObjects) {
  const std::string object = Object("o");
  ObjectWrite remove;
  remove.remove = true;
  remove.attributes_equal["a"] = "1";
  EXPECT_OK(pool().Write(object, remove));
  EXPECT_EQ(Show(object), "NOT_FOUND");
  EXPECT_THAT(pool().Write(object, remove), NotFound(object));
  // A new object has nothing of the old one.
  EXPECT_OK(pool().Write(object, {}));
  EXPECT_EQ(Show(object), "0:");
}

TEST_P(ObjectPoolContractTest, ClientsSwapAValueOneAfterAnother) {
  const std::string object = Name("o");
  ASSERT_OK(pool().Write(object, {}));
  constexpr int kRounds = 20;
  std::atomic<int> swapped{0};
  const auto count = [&](ObjectPool& client) {
    for (int i = 0; i < kRounds; ++i) {
      for (;;) {
        const absl::StatusOr<ObjectContents> seen = client.Read(object, All());
        if (!seen.ok()) return;
        const auto place = seen->attributes.find("count");
        const std::string before = place == seen->attributes.end() ? "" : place->second;
        ObjectWrite write;
        write.attributes_equal["count"] = before;
        write.set_attributes["count"] = before + "x";
        const absl::Status status = client.Write(object, write);
        if (status.ok()) break;
        if (!absl::IsAborted(status)) return;
      }
      ++swapped;
    }
  };
  std::thread other([&] { count(other_pool()); });
  count(pool());
  other.join();
  EXPECT_EQ(swapped, 2 * kRounds);
  EXPECT_EQ(Show(object), "0: count=" + std::string(2 * kRounds, 'x'));
}

TEST_P(ObjectPoolContractTest, AppliesStartedWritesInOrder) {
  const std::string object = Name("o"), elsewhere = Name("elsewhere");
  ASSERT_OK(pool().Write(object, {}));
  constexpr int kWrites = 50;
  std::vector<std::string> bytes;
  for (int i = 0; i < kWrites; ++i) bytes.push_back(std::to_string(i) + ";");
  std::vector<std::unique_ptr<PendingObjectWrite>> writes;
  std::string expected;
  for (int i = 0; i < kWrites; ++i) {
    ObjectWrite write;
    write.attributes_equal["last"] = i == 0 ? "" : std::to_string(i - 1);
    write.set_attributes["last"] = std::to_string(i);
    write.offset = expected.size();
    write.bytes = bytes[static_cast<size_t>(i)];
    expected += bytes[static_cast<size_t>(i)];
    writes.push_back(pool().StartWrite(object, write));
    if (i % 10 == 0) writes.push_back(pool().StartWrite(elsewhere, {}));
  }
  for (auto write = writes.rbegin(); write != writes.rend(); ++write) EXPECT_OK((*write)->Wait());
  EXPECT_EQ(Show(object), std::to_string(expected.size()) + ":" + expected + " last=49");
}

TEST_P(ObjectPoolContractTest, StartedWritesTellTheirOutcome) {
  const std::string object = Object("o"), none = Name("none");
  ObjectWrite refused = Everything();
  refused.attributes_equal["a"] = "x";
  const std::unique_ptr<PendingObjectWrite> aborted = pool().StartWrite(object, refused);
  const std::unique_ptr<PendingObjectWrite> missing = pool().StartWrite(none, refused);
  EXPECT_THAT(missing->Wait(), NotFound(none));
  EXPECT_THAT(aborted->Wait(), Aborted(object));
  EXPECT_EQ(Show(object), kEverything);
}

TEST_P(ObjectPoolContractTest, DestroyingAStartedWriteWaitsForIt) {
  const std::string object = Name("o");
  const std::string bytes(1 << 20, 'b');
  ObjectWrite write;
  write.offset = 0;
  write.bytes = bytes;
  pool().StartWrite(object, write).reset();
  ASSERT_OK_AND_ASSIGN(const ObjectContents contents, other_pool().Read(object, {}));
  EXPECT_EQ(contents.size_bytes, bytes.size());
}

TEST_P(ObjectPoolContractTest, ReadsManyWithSeparateOutcomes) {
  const std::string object = Object("o"), none = Name("none");
  std::vector<ObjectReadRequest> requests;
  for (uint64_t i = 0; i < 40; ++i) {
    ObjectRead read;
    read.offset = i % 10;
    read.bytes_max = 1;
    if (i % 4 == 1) read.attributes_equal["a"] = "x";
    requests.push_back({i % 4 == 0 ? none : object, read, absl::UnknownError("not done")});
  }
  pool().ReadMany(requests);
  for (uint64_t i = 0; i < requests.size(); ++i) {
    const absl::StatusOr<ObjectContents>& contents = requests[i].contents;
    if (i % 4 == 0) {
      EXPECT_THAT(contents, NotFound(none));
    } else if (i % 4 == 1) {
      EXPECT_THAT(contents, Aborted(object));
    } else {
      ASSERT_OK(contents);
      EXPECT_EQ(contents->bytes, std::to_string(i % 10));
    }
  }
  pool().ReadMany({});
}

TEST_P(ObjectPoolContractTest, ListsEachObject) {
  std::set<std::string> made;
  for (int i = 0; i < 30; ++i) made.insert(Object("listed " + std::to_string(i)));
  ObjectWrite remove;
  remove.remove = true;
  ASSERT_OK(pool().Write(*made.begin(), remove));
  std::set<std::string> listed;
  ASSERT_OK(other_pool().List(
      [&](const std::string& object) { EXPECT_TRUE(listed.insert(object).second) << object; }));
  EXPECT_FALSE(listed.contains(*made.begin()));
  made.erase(made.begin());
  for (const std::string& object : made) EXPECT_TRUE(listed.contains(object)) << object;
}

TEST_P(ObjectPoolContractTest, LocksExcludeEachOther) {
  const std::string object = Object("o");
  ASSERT_OK(pool().Lock(object, "A", 60 * kSecond));
  EXPECT_THAT(pool().Lock(object, "B", 60 * kSecond), NotHeld(object));
  EXPECT_THAT(other_pool().Lock(object, "C", 60 * kSecond), NotHeld(object));
  EXPECT_THAT(pool().Lock(object, "A", 60 * kSecond), NotHeld(object));  // own lock again
  // A lock hinders no write, and is no attribute.
  ObjectWrite write;
  write.attributes_equal["a"] = "1";
  EXPECT_OK(other_pool().Write(object, write));
  EXPECT_EQ(Show(object), kEverything);
  EXPECT_OK(pool().Unlock(object, "A"));
  EXPECT_EQ(Show(object), kEverything);
  EXPECT_OK(other_pool().Lock(object, "C", 60 * kSecond));
  EXPECT_THAT(pool().Lock(object, "A", 60 * kSecond), NotHeld(object));
}

TEST_P(ObjectPoolContractTest, OnlyHoldersRenewAndUnlock) {
  const std::string object = Object("o");
  EXPECT_THAT(pool().Renew(object, "A", 60 * kSecond), NotHeld(object));
  EXPECT_OK(pool().Unlock(object, "A"));
  ASSERT_OK(pool().Lock(object, "A", 60 * kSecond));
  EXPECT_THAT(pool().Renew(object, "B", 60 * kSecond), NotHeld(object));
  EXPECT_THAT(other_pool().Renew(object, "C", 60 * kSecond), NotHeld(object));
  EXPECT_OK(pool().Unlock(object, "B"));
  EXPECT_OK(other_pool().Unlock(object, "C"));
  EXPECT_THAT(other_pool().Lock(object, "C", 60 * kSecond), NotHeld(object));
  EXPECT_OK(pool().Renew(object, "A", 60 * kSecond));
}

TEST_P(ObjectPoolContractTest, LocksExpireUnlessRenewed) {
  const std::string object = Object("o");
  ASSERT_OK(pool().Lock(object, "A", 2 * kSecond));
  Pass(kSecond);
  EXPECT_THAT(other_pool().Lock(object, "B", 60 * kSecond), NotHeld(object));
  EXPECT_OK(pool().Renew(object, "A", 3 * kSecond));
  Pass(2 * kSecond);  // later than the first duration
  EXPECT_THAT(other_pool().Lock(object, "B", 60 * kSecond), NotHeld(object));
  Pass(3 * kSecond / 2);
  EXPECT_THAT(pool().Renew(object, "A", 60 * kSecond), NotHeld(object));
  EXPECT_OK(other_pool().Lock(object, "B", 60 * kSecond));
  EXPECT_THAT(pool().Renew(object, "A", 60 * kSecond), NotHeld(object));
}

TEST_P(ObjectPoolContractTest, LocksNeedTheirObject) {
  const std::string object = Name("none");
  EXPECT_THAT(pool().Lock(object, "A", 60 * kSecond), NotFound(object));
  EXPECT_FALSE(pool().Renew(object, "A", 60 * kSecond).ok());
  pool().Unlock(object, "A").IgnoreError();
  EXPECT_EQ(Show(object), "NOT_FOUND");
  // A lock ends with its object.
  ASSERT_OK(pool().Write(object, {}));
  ASSERT_OK(pool().Lock(object, "A", 60 * kSecond));
  ObjectWrite remove;
  remove.remove = true;
  ASSERT_OK(pool().Write(object, remove));
  ASSERT_OK(pool().Write(object, {}));
  EXPECT_OK(other_pool().Lock(object, "B", 60 * kSecond));
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_OBJECTS_OBJECT_POOL_CONTRACT_H_
