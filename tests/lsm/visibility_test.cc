// A table of text (visibility.txt) shows which version of a key each reader sees, and which
// versions flushes and compactions keep.  Commands:
//
//   open [style=leveled|tiered|lazy-leveled] [level0=N]
//                begins with an empty store.  N flushes make a compaction due; without N, only
//                `compact` compacts
//   write        writes batches: each line is a batch, and each word a change.  "k=value" puts,
//                "k-" deletes.  The changes of a store have the sequences 1, 2, 3 and so on
//   snapshot S   takes a snapshot and prints its sequence
//   release S    releases it
//   iterator I   makes an iterator, for `read`
//   flush, compact, compact FROM TO, reopen
//                print the entries of all tables, one line per table: the level for which it was
//                made, then "key@sequence=value" or "key@sequence-".  `reopen` releases all readers
//   read         prints what each reader sees: `now`, then each snapshot, then each iterator
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/table/table.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/version/table_text.h"
#include "tests/support/text_table.h"

namespace lsm {
namespace {

using testing_support::TextCase;
using testing_support::WordsOf;

class VisibilityTest : public StoreTest {
 protected:
  std::string Do(const TextCase& one) {
    const std::string& command = one.command;
    if (command == "open" && one.words.empty()) return Begin(one), "";
    if (command == "write" && one.words.empty()) return Write(one.input), "";
    if (command == "read" && one.words.empty()) return ReadAll();
    if (command == "snapshot" && one.words.size() == 1) {
      snapshots_[one.words[0]] = db_->GetSnapshot();
      return "sequence " + std::to_string(snapshots_[one.words[0]]->sequence());
    }
    if (command == "release" && one.words.size() == 1) {
      EXPECT_EQ(snapshots_.erase(one.words[0]), 1u) << one.place;
      return "";
    }
    if (command == "iterator" && one.words.size() == 1) {
      iterators_[one.words[0]] = db_->NewIterator();
      return "";
    }
    if (command == "flush" && one.words.empty()) {
      Flush();
      EXPECT_OK(db_->WaitForBackgroundWork());
      return Entries();
    }
    if (command == "compact" && one.words.empty()) return CompactAll(), Entries();
    if (command == "compact" && one.words.size() == 2) {
      EXPECT_OK(db_->CompactRange(one.words[0], one.words[1]));
      return Entries();
    }
    if (command == "reopen" && one.words.empty()) return LetGo(), Open(), Entries();
    return one.NotUnderstood();
  }

  void LetGo() {
    iterators_.clear();
    snapshots_.clear();
    db_ = nullptr;
  }

 private:
  void Begin(const TextCase& one) {
    LetGo();
    written_.clear();
    world_.files = std::make_unique<MemoryFileSystem>();
    options_.environment.file_system = world_.files.get();
    constexpr CompactionStyle kStyles[] = {CompactionStyle::kLeveled, CompactionStyle::kTiered,
                                           CompactionStyle::kLazyLeveled};
    options_.compaction_style = kStyles[one.OneOf("style", {"leveled", "tiered", "lazy-leveled"})];
    options_.level0_compaction_tables = static_cast<int>(one.Number("level0", 100));
    options_.level0_stop_tables = 100;
    Open();
  }

  void Write(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      WriteBatch batch;
      for (const std::string& word : WordsOf(line)) {
        const Entry entry = EntryOf(word, 0);
        written_.insert(entry.user_key);
        if (entry.kind == EntryKind::kPut)
          batch.Put(entry.user_key, entry.value);
        else
          batch.Delete(entry.user_key);
      }
      EXPECT_OK(db_->Write(batch));
    }
  }

  std::string ReadAll() {
    std::string text = Concat("now: ", View({}), "\n");
    for (const auto& [name, snapshot] : snapshots_)
      text += Concat(name, ": ", View({.snapshot = snapshot.get()}), "\n");
    for (const auto& [name, iterator] : iterators_)
      text += Concat(name, ": ", OrNothing(Walk(*iterator)), "\n");
    return text;
  }

  // Reads in every way, which must agree.
  std::string View(const ReadOptions& options) {
    const std::string scanned = Scan(options);
    std::string found;
    std::vector<std::string_view> keys(written_.begin(), written_.end());
    const auto values = db_->MultiGet(keys, options);
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_OK(values[i]);
      if (!values[i].ok()) continue;
      EXPECT_EQ(Get(keys[i], options), values[i]->value_or("absent")) << keys[i];
      if (*values[i]) found += Concat(found.empty() ? "" : " ", keys[i], "=", **values[i]);
    }
    EXPECT_EQ(found, scanned);
    return OrNothing(scanned);
  }

  static std::string Walk(Iterator& iterator) {
    std::string text;
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next())
      text += Concat(text.empty() ? "" : " ", iterator.key(), "=", iterator.value());
    EXPECT_OK(iterator.status());
    return text;
  }
  static std::string OrNothing(const std::string& text) { return text.empty() ? "nothing" : text; }

  std::string Entries() {
    std::string text;
    const auto directory = world_.files->OpenDirectory(kStorePath, /*create=*/false);
    for (const std::string& path : world_.FilesOf(FileKind::kTable)) {
      auto file = (*directory)->OpenRead(path.substr(path.rfind('/') + 1), ReadMode::kBuffered);
      const auto table = Table::Open(*std::move(file), {});
      EXPECT_OK(table);
      if (!table.ok()) continue;
      text += Concat("L", (*table)->properties().level, " ",
                     TextOf(EntriesOf(*(*table)->NewIterator({}))), "\n");
    }
    return text.empty() ? "no tables" : text;
  }

  std::set<std::string> written_;  // keys
  std::map<std::string, std::unique_ptr<const Snapshot>> snapshots_;
  std::map<std::string, std::unique_ptr<Iterator>> iterators_;
};

TEST_F(VisibilityTest, MatchesTheTable) {
  testing_support::RunTextTable("tests/lsm/visibility.txt",
                                [&](const TextCase& one) { return Do(one); });
  LetGo();
}

}  // namespace
}  // namespace lsm
