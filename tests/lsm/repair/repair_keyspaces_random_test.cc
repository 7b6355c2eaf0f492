// Random stores with keyspaces: some leave the common tree, some are dropped, and range deletes are
// everywhere.  The stores are closed, or crash, perhaps in a flush.  After a repair, each keyspace
// has what a model has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/keyspace.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/write_batch.h"
#include "tests/lsm/repair/repair_keyspaces_fixture.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;

struct ModelOfKeyspace {
  KeyspaceOptions options;
  Contents contents;
  std::set<std::pair<std::string, std::string>> written;  // keys and values of all times
};

class RepairKeyspacesRandomTest : public RepairKeyspacesTest {
 protected:
  static constexpr size_t kNames = 5, kKeys = 30;

  static std::string KeyOf(size_t key) { return Concat("key", 100 + key); }
  std::string RollName() { return Concat("name", dice_->Roll(kNames)); }

  void Begin(uint64_t seed) {
    db_ = nullptr;
    dice_ = std::make_unique<Dice>(seed);
    world_.files = std::make_unique<MemoryFileSystem>();
    options_ = world_.SmallOptions();
    options_.compression = Compression::kNone;
    if (dice_->OneIn(3)) options_.write_buffer_bytes = 2 << 20;  // enough for two own trees
    model_ = {{"default", {}}};
    next_id_ = kOtherKeyspaceMin;
  }

  void Make(const std::string& name) {
    KeyspaceOptions options;
    if (dice_->OneIn(3)) options.target_fpp = dice_->OneIn(2) ? 0.25 : 0.125;
    OpenKeyspace(name, options);
    if (!model_.contains(name)) ++next_id_;
    KeyspaceOptions& has = model_[name].options;
    if (options.target_fpp) has.target_fpp = options.target_fpp;
  }
  // Some existing one.
  std::string RollExisting() {
    return std::next(model_.begin(), static_cast<ptrdiff_t>(dice_->Roll(model_.size())))->first;
  }

  void Write() {
    WriteBatch batch;
    for (size_t i = 1 + dice_->Roll(5); i > 0; --i) {
      const std::string name = RollExisting(), key = KeyOf(dice_->Roll(kKeys));
      const Keyspace keyspace = OpenKeyspace(name);
      ModelOfKeyspace& model = model_[name];
      if (dice_->OneIn(5)) {
        const std::string end = KeyOf(dice_->Roll(kKeys));
        const bool is_open = dice_->OneIn(4);
        if (!is_open && end <= key) continue;
        batch.DeleteRange(keyspace, key,
                          is_open ? std::nullopt : std::optional<std::string_view>(end));
        model.contents.erase(model.contents.lower_bound(key),
                             is_open ? model.contents.end() : model.contents.lower_bound(end));
      } else if (dice_->OneIn(4)) {
        batch.Delete(keyspace, key);
        model.contents.erase(key);
      } else {
        const std::string value = Concat("value ", ++values_);
        batch.Put(keyspace, key, value);
        model.contents[key] = value;
        model.written.emplace(key, value);
      }
    }
    ASSERT_OK(db_->Write(batch));
  }

  // Half a write buffer, in few keys.
  void WriteMuch(const std::string& name) {
    if (name == "default") return;
    Keyspace keyspace = OpenKeyspace(name);
    const size_t bytes = options_.write_buffer_bytes / 2;
    for (size_t i = 0; i < 8; ++i) {
      const std::string key = KeyOf(dice_->Roll(kKeys)),
                        value = Concat("value ", ++values_, std::string(bytes / 8, 'v'));
      ASSERT_OK(keyspace.Put(key, value));
      model_[name].contents[key] = value;
      model_[name].written.emplace(key, value);
    }
  }

  void Step() {
    switch (dice_->Roll(12)) {
      case 0:
      case 1:
        return Make(RollName());
      case 2:
      case 3:
        return Flush();
      case 4: {
        const std::string name = RollExisting();
        ASSERT_OK(OpenKeyspace(name).CompactRange());
        return;
      }
      case 5: {
        const std::string name = RollExisting();
        if (name == "default" || dice_->OneIn(2)) return;
        ASSERT_OK(db_->DropKeyspace(name));
        model_.erase(name);
        return;
      }
      case 6:
      case 7:
        return WriteMuch(favorite_);
      default:
        return Write();
    }
  }

  // Removes files that the store no longer needs.  Old tables may bring deleted keys back.
  void RemoveObsoleteFiles() {
    const ManifestState state = StateOnDisk();
    for (const FileKind kind : {FileKind::kTable, FileKind::kLog}) {
      for (const std::string& path : world_.FilesOf(kind)) {
        const uint64_t number = ParseFileName(path.substr(path.rfind('/') + 1))->number;
        const bool is_needed =
            kind == FileKind::kLog
                ? number >= state.oldest_log
                : std::any_of(state.levels.begin(), state.levels.end(),
                              [&](const auto& level) { return level.contains(number); });
        if (!is_needed) Remove(path);
      }
    }
  }

  enum class End { kClosed, kCrash, kCrashInAFlush, kKinds };

  void EndStore() {
    const End end = static_cast<End>(dice_->Roll(static_cast<size_t>(End::kKinds)));
    if (end == End::kClosed) {
      ASSERT_NO_FATAL_FAILURE(Close());
      return RemoveObsoleteFiles();
    }
    // The opening leaves only needed files, and the flush is not followed by compactions.  What it
    // leaves stays: its tables have only entries that other files have, too.
    if (end == End::kCrashInAFlush) {
      options_.level0_compaction_tables = 1000;
      options_.level0_stop_tables = 1000;
      ASSERT_NO_FATAL_FAILURE(Open());
      ASSERT_NO_FATAL_FAILURE(WriteMuch(favorite_));
      for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(Write());
    }
    const bool flushes = end == End::kCrashInAFlush;
    world_.files->CrashAt(world_.files->operation_count() + (flushes ? dice_->Roll(25) : 0));
    if (flushes) db_->Flush().IgnoreError();
    db_ = nullptr;
    world_.files->Restart(MemoryFileSystem::Unsynced::kKept);
    if (!flushes) RemoveObsoleteFiles();
  }

  // Damages a block of a table, and returns its tree.
  std::optional<KeyspaceId> DamageATable() {
    const ManifestState state = StateOnDisk();
    std::vector<std::pair<uint64_t, KeyspaceId>> tables;
    for (const auto& level : state.levels) {
      for (const auto& [number, table] : level) {
        if (table.has_entries()) tables.emplace_back(number, table.keyspace);
      }
    }
    if (tables.empty()) return std::nullopt;
    const auto [number, tree] = tables[dice_->Roll(tables.size())];
    Flip(Forger().PathOf(number), 16 + dice_->Roll(Forger().FooterOf(number).data_end() - 16));
    return tree;
  }

  // `damaged`: the tree that may lack keys, or have old ones back.  Without names, the repair may
  // also have lost options, and which keyspaces were dropped.
  void Check(std::optional<KeyspaceId> damaged, bool lacks_names) {
    std::map<std::string, std::string> names;  // in the store, by those in the model
    for (const auto& [name, model] : model_) names[name] = name;
    const KeyspaceRecords records = StateOnDisk().keyspaces;
    if (lacks_names) {
      for (const auto& [id, record] : ids_before_.all()) {
        if (record.id != kDefaultKeyspace && records.Has(id))
          names[record.name] = records.all().at(id).name;
      }
    }
    for (const auto& [name, model] : model_) {
      SCOPED_TRACE(name);
      const auto place = ids_in_model_.find(name);
      const KeyspaceId id = place == ids_in_model_.end() ? kDefaultKeyspace : place->second;
      if (lacks_names && id != kDefaultKeyspace && !records.Has(id)) continue;
      const std::string shown = names[name];
      if (id != kDefaultKeyspace) {
        ASSERT_TRUE(records.all().contains(id));
        EXPECT_EQ(records.all().at(id).name, shown);
        if (!lacks_names) {
          EXPECT_EQ(records.all().at(id).options, model.options);
        }
      }
      const Keyspace keyspace = OpenKeyspace(shown);
      Contents contents;
      const std::unique_ptr<Iterator> iterator = keyspace.NewIterator({});
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
        contents.emplace(iterator->key(), iterator->value());
      ASSERT_OK(iterator->status());
      for (size_t key = 0; key < kKeys; ++key) {
        const auto found = contents.find(KeyOf(key));
        EXPECT_EQ(Get(keyspace, KeyOf(key)), found == contents.end() ? "absent" : found->second);
      }
      const KeyspaceId tree = id == kDefaultKeyspace || trees_.contains(id) ? id : kCommonTree;
      // A leaving that is not known to be over takes the old entries, too.
      const bool is_exact = damaged != tree && (damaged != kCommonTree || !lacks_names);
      if (is_exact) {
        EXPECT_EQ(contents, model.contents);
      }
      for (const auto& entry : contents)
        EXPECT_TRUE(model.written.contains(entry)) << entry.first << "=" << entry.second;
    }
    // A dropped one whose name is gone may be back, under another name.
    for (const auto& entry : records.all()) {
      const std::string& shown = entry.second.name;
      const bool is_known = std::any_of(names.begin(), names.end(),
                                        [&](const auto& each) { return each.second == shown; });
      // With the tombstone of its name lost, it may also be back under its own.
      EXPECT_TRUE(is_known || lacks_names || shown.starts_with("keyspace-")) << shown;
    }
  }

  // Which keyspace has which id, and which have trees of their own.
  void NoteIds(const KeyspaceRecords& records) {
    ids_before_ = records;
    ids_in_model_.clear();
    trees_.clear();
    for (const auto& [id, record] : records.all()) {
      ids_in_model_[record.name] = id;
      if (record.has_own_tree) trees_.insert(id);
    }
  }

  // Opens a copy of the store, and notes its keyspaces.
  void Observe() {
    const std::map<std::string, std::string> files = world_.FilesIn();
    ASSERT_NO_FATAL_FAILURE(Open());
    NoteIds(StateOnDisk().keyspaces);
    ASSERT_EQ(List().size(), model_.size());
    ASSERT_NO_FATAL_FAILURE(Close());
    const auto directory = world_.files->OpenDirectory(kStorePath, /*create=*/false).value();
    const std::vector<std::string> names = directory->List().value();
    for (const std::string& name : names) ASSERT_OK(directory->Remove(name));
    for (const auto& [name, bytes] : files)
      world_.files->SetFileBytes(Concat(kStorePath, "/", name), bytes);
  }

  std::unique_ptr<Dice> dice_;
  std::map<std::string, ModelOfKeyspace> model_;
  std::string favorite_;  // becomes large
  uint64_t values_ = 0;
  uint64_t next_id_ = 0;
  KeyspaceRecords ids_before_;
  std::map<std::string, KeyspaceId> ids_in_model_;
  std::set<KeyspaceId> trees_;
};

TEST_F(RepairKeyspacesRandomTest, EqualsTheModel) {
  constexpr uint64_t kSeeds = 120;
  uint64_t own_trees = 0, dropped = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Begin(seed);
    ASSERT_NO_FATAL_FAILURE(Open());
    for (int i = 0; i < 50; ++i) {
      if (i % 20 == 0) favorite_ = RollExisting();
      ASSERT_NO_FATAL_FAILURE(Step());
    }
    ASSERT_NO_FATAL_FAILURE(EndStore());
    ASSERT_NO_FATAL_FAILURE(Observe());
    own_trees += trees_.size();
    dropped += next_id_ - kOtherKeyspaceMin + 1 - model_.size();
    const bool has_manifest = dice_->OneIn(2);
    std::optional<KeyspaceId> damaged;
    if (dice_->OneIn(3)) damaged = DamageATable();
    SCOPED_TRACE(Concat(has_manifest ? "with a manifest" : "without a manifest",
                        damaged ? Concat(", damaged tree ", *damaged) : std::string()));
    has_manifest ? Repair() : RepairWithoutManifest();
    ASSERT_NE(db_, nullptr);
    const bool lacks_names = !has_manifest && damaged == kCommonTree;
    ASSERT_NO_FATAL_FAILURE(Check(damaged, lacks_names));
    Keyspace more = OpenKeyspace("more");
    ASSERT_OK(more.Put("key", "value"));
    Flush();
    EXPECT_GE(IdOf("more"), has_manifest ? next_id_ : kOtherKeyspaceMin);
    // A repair leaves a store that can be repaired again, without a manifest.
    model_["more"] = {{}, {{"key", "value"}}, {{"key", "value"}}};
    ids_in_model_["more"] = IdOf("more");
    if (!lacks_names) {
      ASSERT_NO_FATAL_FAILURE(Close());
      RemoveObsoleteFiles();
      RepairWithoutManifest();
      ASSERT_NE(db_, nullptr);
      ASSERT_NO_FATAL_FAILURE(Check(damaged, false));
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(own_trees, kSeeds / 10);
  EXPECT_GT(dropped, kSeeds / 2);
}

}  // namespace
}  // namespace lsm
