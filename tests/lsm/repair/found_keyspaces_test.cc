#include "lsm/repair/found_keyspaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/write_batch.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::IsEmpty;
using testing_support::StatusIs;
using Kind = KeyspaceChange::Kind;

// One thing that Repair reads.
struct Evidence {
  enum class What {
    kTable,
    kEntry,
    kName,
    kLeft,
    kDroppedName,
    kCreated,
    kDropped,
    kOptions,
    kPut
  };
  What what;
  KeyspaceId id;
  Sequence sequence = 0;
  std::string name = "";
  double fpp = 0;  // 0: the option is not set
};
using enum Evidence::What;

struct FoundCase {
  const char* what;
  bool has_manifest;  // with 2=a in the common tree and 3=b in its own, at sequence 100, next id 5
  std::vector<Evidence> evidence;
  std::string keyspaces;  // "2=a 3=b own 0.5", and the next id
  std::vector<std::string> lines = {};
};

KeyspaceOptions OptionsOf(double fpp) {
  KeyspaceOptions options;
  if (fpp != 0) options.target_fpp = fpp;
  return options;
}

class FoundKeyspacesTest : public testing::Test {
 protected:
  void Add(const Evidence& each) {
    const KeyspaceOptions options = OptionsOf(each.fpp);
    WriteBatch batch;
    switch (each.what) {
      case kTable:
        return found_.AddTable(each.id);
      case kEntry:
        return found_.AddEntry(each.id);
      case kName:
      case kLeft:
        return found_.AddName({.id = each.id,
                               .has_own_tree = each.what == kLeft,
                               .options = options,
                               .name = each.name},
                              each.sequence);
      case kDroppedName:
        return found_.AddDroppedName(each.id, each.sequence);
      case kCreated:
        EncodedBatch::Change(&batch, {Kind::kCreated, each.id, each.name, options});
        break;
      case kDropped:
        EncodedBatch::Change(&batch, {Kind::kDropped, each.id, "", {}});
        break;
      case kOptions:
        EncodedBatch::Change(&batch, {Kind::kOptions, each.id, "", options});
        break;
      case kPut:
        EncodedBatch::Put(&batch, each.id, "key", "value");
        break;
    }
    EncodedBatch::SetFirstSequence(&batch, each.sequence);
    EXPECT_OK(found_.AddBatch(EncodedBatch::Of(batch), Say()));
  }

  FoundKeyspaces::Say Say() {
    return [this](std::string line) { lines_.push_back(std::move(line)); };
  }

  std::string Keyspaces() {
    const KeyspaceRecords records = found_.Records(Say());
    std::string text;
    for (const auto& [id, record] : records.all()) {
      text += Concat(id, "=", record.name, record.has_own_tree ? " own" : "");
      if (record.options.target_fpp) text += Concat(" ", *record.options.target_fpp);
      text += ", ";
      EXPECT_EQ(found_.TreeOf(id), record.has_own_tree ? id : kCommonTree);
    }
    return Concat(text, "next ", records.next_id());
  }

  void Begin(bool has_manifest) {
    found_ = FoundKeyspaces();
    lines_.clear();
    if (!has_manifest) return;
    KeyspaceRecords manifest;
    EXPECT_EQ(manifest.Advance(5), "");
    EXPECT_EQ(manifest.Put({.id = 2, .has_own_tree = false, .options = {}, .name = "a"}), "");
    EXPECT_EQ(manifest.Put({.id = 3, .has_own_tree = true, .options = {}, .name = "b"}), "");
    found_.StartWith(manifest, 100);
  }

  FoundKeyspaces found_;
  std::vector<std::string> lines_;
};

const FoundCase kFoundCases[] = {
    {"nothing", false, {}, "next 2"},

    // --- without a manifest ---
    {"the newest name counts, in any order",
     false,
     {{kName, 2, 20, "a", 0.5}, {kName, 2, 10, "a", 0.25}, {kName, 3, 5, "b"}},
     "2=a 0.5, 3=b, next 4"},
    {"it has left", false, {{kLeft, 2, 20, "a"}, {kName, 2, 10, "a"}}, "2=a own, next 3"},
    {"its tables show its place", false, {{kName, 2, 10, "a"}, {kTable, 2}}, "2=a own, next 3"},
    {"the trees of ids 0 and 1 are no keyspaces", false, {{kTable, 0}, {kTable, 1}}, "next 2"},
    {"a tombstone: its id is not given again",
     false,
     {{kDroppedName, 7, 20}, {kName, 7, 10, "a"}, {kTable, 7}, {kEntry, 7}},
     "next 8"},
    {"a tombstone without a name, and an old log",
     false,
     {{kDroppedName, 4, 20}, {kCreated, 4, 10, "a"}, {kPut, 4, 11}},
     "next 5"},
    {"an id that a crash lost was given again",
     false,
     {{kDroppedName, 4, 10}, {kName, 4, 20, "a"}},
     "4=a, next 5"},
    {"logs make, change and drop",
     false,
     {{kCreated, 2, 1, "a", 0.5},
      {kCreated, 3, 2, "b"},
      {kOptions, 2, 3, "", 0.25},
      {kPut, 2, 4},
      {kDropped, 3, 5}},
     "2=a 0.25, next 4"},
    {"options of old logs do not count",
     false,
     {{kName, 2, 20, "a", 0.5}, {kOptions, 2, 10, "", 0.25}, {kOptions, 2, 21, "", 0.125}},
     "2=a 0.125, next 3"},
    {"options of the default keyspace",
     false,
     {{kOptions, 0, 5, "", 0.5}},
     "0=default own 0.5, next 2"},
    {"its name", false, {{kLeft, 0, 5, "default", 0.5}}, "0=default own 0.5, next 2"},
    {"without a name",
     false,
     {{kEntry, 2}, {kTable, 3}, {kPut, 4, 9}, {kOptions, 5, 9, "", 0.5}},
     "2=keyspace-2, 3=keyspace-3 own, 4=keyspace-4, 5=keyspace-5 0.5, next 6",
     {"keyspace 2 has no name in the files: it is \"keyspace-2\" now",
      "keyspace 3 has no name in the files: it is \"keyspace-3\" now",
      "keyspace 4 has no name in the files: it is \"keyspace-4\" now",
      "keyspace 5 has no name in the files: it is \"keyspace-5\" now"}},
    {"the new name is taken",
     false,
     {{kEntry, 2}, {kName, 3, 5, "keyspace-2"}},
     "2=keyspace-2-, 3=keyspace-2, next 4",
     {"keyspace 2 has no name in the files: it is \"keyspace-2-\" now"}},
    {"the drop of the first one was lost",
     false,
     {{kName, 2, 5, "a"}, {kCreated, 4, 9, "a"}},
     "2=keyspace-2, 4=a, next 5",
     {"the keyspaces 2 and 4 have the name \"a\": the first one, which was probably dropped, loses "
      "it",
      "keyspace 2 has no name in the files: it is \"keyspace-2\" now"}},
    {"two incarnations",
     false,
     {{kCreated, 2, 9, "a"}, {kCreated, 2, 10, "b"}},
     "2=b, next 3",
     {"keyspace 2 was created twice, as \"a\" and as \"b\": a crash lost one of them, and its keys "
      "may now be in the other"}},
    {"the last id of all",
     false,
     {{kPut, 0xffffffff, 9}, {kDropped, 0xffffffff, 10}},
     "next 4294967296"},

    // --- with a manifest ---
    {"alone", true, {}, "2=a, 3=b own, next 5"},
    {"names and creations of ids that it knows",
     true,
     {{kName, 2, 200, "z", 0.5},
      {kLeft, 2, 200, "a"},
      {kDroppedName, 3, 200},
      {kCreated, 2, 201, "z"}},
     "2=a, 3=b own, next 5"},
    {"it knows that 4 was dropped",
     true,
     {{kName, 4, 200, "z"},
      {kEntry, 4},
      {kPut, 4, 200},
      {kCreated, 4, 201, "z"},
      {kOptions, 4, 202}},
     "2=a, 3=b own, next 5"},
    {"the changes of the logs follow",
     true,
     {{kCreated, 5, 101, "c", 0.5}, {kOptions, 2, 102, "", 0.25}, {kDropped, 3, 103}},
     "2=a 0.25, 5=c 0.5, next 6"},
    {"options that it has already",
     true,
     {{kOptions, 2, 100, "", 0.5}, {kOptions, 3, 99, "", 0.5}},
     "2=a 0.5, 3=b own, next 5"},
    {"a drop that it should have", true, {{kDropped, 2, 9}}, "3=b own, next 5"},
    {"the record of a creation was lost",
     true,
     {{kPut, 6, 102}},
     "2=a, 3=b own, 6=keyspace-6, next 7",
     {"keyspace 6 has no name in the files: it is \"keyspace-6\" now"}},
    // Its own tables would be in the manifest.
    {"a name that is newer than the manifest",
     true,
     {{kLeft, 6, 102, "c"}},
     "2=a, 3=b own, 6=c, next 7"},
};

TEST_F(FoundKeyspacesTest, AgreesWithTheFiles) {
  for (const FoundCase& each : kFoundCases) {
    SCOPED_TRACE(each.what);
    Begin(each.has_manifest);
    for (const Evidence& evidence : each.evidence) Add(evidence);
    EXPECT_EQ(Keyspaces(), each.keyspaces);
    EXPECT_EQ(lines_, each.lines);
  }
}

TEST_F(FoundKeyspacesTest, KnowsDropsAndLeavings) {
  for (const bool has_manifest : {false, true}) {
    SCOPED_TRACE(has_manifest);
    Begin(has_manifest);
    EXPECT_FALSE(found_.IsDropped(kDefaultKeyspace));
    EXPECT_FALSE(found_.IsDropped(kCommonTree));
    EXPECT_EQ(found_.IsDropped(4), has_manifest);
    EXPECT_FALSE(found_.IsDropped(5));
    EXPECT_EQ(found_.HasLeft(3), has_manifest);
    Add({kTable, 6});
    EXPECT_FALSE(found_.HasLeft(6));
    EXPECT_EQ(found_.TreeOf(6), 6u);
    Add({kDropped, 6, 200});
    EXPECT_TRUE(found_.IsDropped(6));
    EXPECT_EQ(found_.TreeOf(kDefaultKeyspace), kDefaultKeyspace);
    EXPECT_EQ(found_.TreeOf(99), kCommonTree);
  }
}

TEST_F(FoundKeyspacesTest, AdvancesToTheIdsOfOthers) {
  found_.AdvanceTo(9);
  found_.AdvanceTo(4);
  EXPECT_EQ(Keyspaces(), "next 9");
}

// Nothing of the record counts, because nothing of it is saved.
TEST_F(FoundKeyspacesTest, IgnoresDamagedRecords) {
  WriteBatch batch;
  EncodedBatch::Change(&batch, {Kind::kCreated, 2, "a", {}});
  EncodedBatch::Put(&batch, 3, "key", "value");
  EncodedBatch::SetFirstSequence(&batch, 1);
  std::string bytes(EncodedBatch::Of(batch));
  bytes += 'x';
  EXPECT_THAT(found_.AddBatch(bytes, Say()), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(Keyspaces(), "next 2");
  EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace lsm
