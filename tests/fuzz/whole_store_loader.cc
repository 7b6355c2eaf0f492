// Fuzzes a small store in memory, in which one file has arbitrary bytes.  Opens it and reads it;
// repairs a copy, opens that and reads it.  The input is:
//
//   DIRECTORY/NAME \n \n BYTES of the file
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "tests/bloom/use_loaded.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/loaders.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/keyspaces/own_trees.h"

namespace fuzz {
namespace {

using testing_support::Demand;

// The files of a store while it is open, those of a closed one, and those of one with keyspaces
// while it is open.
constexpr const char* kStores[] = {"/killed", "/closed", "/keyspaces"};

std::string NumberedKey(int number) { return "key" + std::to_string(1000 + number); }

std::vector<std::string> NamesIn(lsm::MemoryFileSystem& files, const std::string& store) {
  return files.OpenDirectory(store, false).value()->List().value();
}

// Makes a store with a keyspace that has a tree of its own, with two in the common tree, of which
// one has a limit, and with one that is dropped in the log.
void MakeStoreWithKeyspaces(lsm::MemoryFileSystem* files) {
  lsm::World world;
  const std::string path = kStores[2];
  std::vector<lsm::Keyspace> keyspaces;
  auto db = lsm::DB::Open(path, world.SmallOptions()).value();
  for (const std::string name : {"own", "timed", "plain", "dropped"}) {
    const auto limit = name == "timed" ? std::optional<uint32_t>(1'000'000'000) : std::nullopt;
    Demand(db->OpenKeyspace(name, {.expire_after = limit}).ok(), "a store takes a keyspace");
  }
  db.reset();
  Demand(
      lsm::GiveOwnTrees(*world.files, path, [](const std::string& name) { return name == "own"; })
          .ok(),
      "a keyspace can have a tree of its own");
  db = lsm::DB::Open(path, world.SmallOptions()).value();
  for (const std::string name : {"default", "own", "timed", "plain", "dropped"})
    keyspaces.push_back(db->OpenKeyspace(name).value());
  for (int round = 0; round < 3; ++round) {
    lsm::WriteBatch batch;
    for (const lsm::Keyspace& keyspace : keyspaces) {
      for (int i = round; i < 10; i += 1 + round)
        batch.Put(keyspace, NumberedKey(i), std::string(static_cast<size_t>(5 * round + i), 'v'));
      batch.Delete(keyspace, NumberedKey(2 * round));
      batch.DeleteRange(keyspace, NumberedKey(7), NumberedKey(7 + round));
    }
    Demand(db->Write(batch, {.sync = true}).ok(), "a store takes a batch of several keyspaces");
    if (round < 2) Demand(db->Flush().ok(), "a store with keyspaces can be flushed");
  }
  Demand(db->DropKeyspace("dropped").ok(), "a keyspace can be dropped");
  Demand(db->Put("z", "not synced").ok(), "a store takes a write after a drop");
  files->OpenDirectory(path, true).value();
  for (const std::string& name : NamesIn(*world.files, path))
    files->SetFileBytes(path + "/" + name, world.files->FileBytes(path + "/" + name));
}

// Makes stores with tables in three levels, with deletions, range deletes and older versions, and
// logs with writes.
std::unique_ptr<lsm::MemoryFileSystem> MakeStores() {
  lsm::World world;
  std::unique_ptr<lsm::MemoryFileSystem> files;
  for (const char* const path : {kStores[0], kStores[1]}) {
    auto db = lsm::DB::Open(path, world.SmallOptions()).value();
    for (int round = 0; round < 4; ++round) {
      for (int i = round; i < 24; i += 1 + round)
        db->Put(NumberedKey(i), std::string(static_cast<size_t>(10 * round + i), 'v'))
            .IgnoreError();
      db->Delete(NumberedKey(2 * round)).IgnoreError();
      if (round > 0) {
        const int from = 8 + 4 * round;
        const std::string to = NumberedKey(from + 3);
        const auto end = round < 3 ? std::optional<std::string_view>(to) : std::nullopt;
        Demand(db->DeleteRange(NumberedKey(from), end).ok(), "a store takes a range delete");
      }
      if (round == 0) Demand(db->CompactRange().ok(), "a store can be compacted");
      if (round < 3) Demand(db->Flush().ok(), "a store can be flushed");
    }
    Demand(db->Put("", "synced", {.sync = true}).ok(), "a store takes a synced write");
    Demand(db->Put("z", "not synced").ok(), "a store takes a write without sync");
    if (files == nullptr) files = world.files->Clone();
  }
  // The second store gets the files that its destructor left.
  files->OpenDirectory(kStores[1], true).value();
  for (const std::string& name : NamesIn(*world.files, kStores[1])) {
    const std::string path = std::string(kStores[1]) + "/" + name;
    files->SetFileBytes(path, world.files->FileBytes(path));
  }
  MakeStoreWithKeyspaces(files.get());
  return files;
}

const lsm::MemoryFileSystem& Stores() {
  static const lsm::MemoryFileSystem& stores = *MakeStores().release();
  return stores;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

Entries WalkStore(lsm::Iterator& iterator, bool forward, absl::Status* status) {
  constexpr size_t kMost = 2000;
  Entries entries;
  for (forward ? iterator.SeekToFirst() : iterator.SeekToLast();
       iterator.Valid() && entries.size() < kMost; forward ? iterator.Next() : iterator.Prev()) {
    if (!entries.empty()) {
      const int order = entries.back().first.compare(iterator.key());
      Demand(forward ? order < 0 : order > 0, "keys come in order, each once");
    }
    entries.emplace_back(iterator.key(), iterator.value());
  }
  *status = entries.size() < kMost ? iterator.status() : absl::CancelledError("too many");
  return entries;
}

// Returns true if the whole keyspace can be read.  Does not demand that Get finds each key that
// iteration yields.  A forged store may have newer versions in levels below older ones, and keys
// that the table's filter lacks.
bool ReadKeyspace(const lsm::Keyspace& db) {
  absl::Status forward_status, backward_status;
  const auto iterator = db.NewIterator();
  const Entries forward = WalkStore(*iterator, true, &forward_status);
  Entries backward = WalkStore(*iterator, false, &backward_status);
  std::reverse(backward.begin(), backward.end());
  const bool whole = forward_status.ok() && backward_status.ok();
  if (whole) Demand(forward == backward, "both directions yield the same entries");

  std::vector<std::string_view> keys = {"", "absent", "z"};
  for (size_t i = 0; i < forward.size(); i += forward.size() / 20 + 1)
    keys.push_back(forward[i].first);
  const auto answers = db.MultiGet(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto answer = db.Get(keys[i]);
    Demand(answer.ok() == answers[i].ok(), "MultiGet succeeds for the keys for which Get does");
    if (!answer.ok()) continue;
    Demand(*answer == *answers[i], "MultiGet and Get return the same values");
    const auto explained = db.Explain(keys[i]);
    Demand(!explained.ok() || explained->found == answer->has_value(),
           "Explain and Get agree whether the key is found");
  }
  return whole;
}

// A manifest may name any number of keyspaces.
bool ReadStore(lsm::DB& db) {
  constexpr size_t kMost = 20;
  std::vector<std::string> names = db.ListKeyspaces().value();
  bool whole = names.size() <= kMost;
  names.resize(std::min(names.size(), kMost));
  for (const std::string& name : names) {
    const auto keyspace = db.OpenKeyspace(name);
    Demand(keyspace.ok(), "a keyspace that is listed can be opened");
    whole = ReadKeyspace(*keyspace) && whole;
  }
  return whole;
}

bool UseStore(std::string_view bytes) {
  const WordsAndFile both = SplitWords(bytes);
  if (both.words.size() != 1) return false;
  std::string path = both.words[0];
  const std::string store = path.substr(0, path.rfind('/'));
  if (std::find(std::begin(kStores), std::end(kStores), store) == std::end(kStores) ||
      path.size() == store.size() + 1 || path.size() > 100)
    return false;
  lsm::World world(1, Stores().Clone());
  world.files->SetFileBytes(path, both.file);
  lsm::World repaired(2, world.files->Clone());

  bool sound = false;
  {
    auto db = lsm::DB::Open(store, world.SmallOptions());
    if (db.ok()) {
      sound = ReadStore(**db);
      const bool written = (*db)->Put("new", "value").ok() && (*db)->Flush().ok();
      if (written) {
        const auto value = (*db)->Get("new");
        Demand(!value.ok() || **value == "value", "a written key can be read");
      }
      (*db)->CompactRange().IgnoreError();
      ReadStore(**db);
    }
  }
  if (lsm::DB::Repair(store, repaired.SmallOptions()).ok()) {
    auto db = lsm::DB::Open(store, repaired.SmallOptions());
    Demand(db.ok(), "a repaired store opens");
    Demand(ReadStore(**db) || (*db)->ListKeyspaces()->size() > 20, "a repaired store can be read");
  }
  return sound;
}

std::vector<std::string> StoreSeeds() {
  std::vector<std::string> seeds;
  for (const std::string store : kStores) {
    const auto files = Stores().Clone();
    for (const std::string& name : NamesIn(*files, store)) {
      const std::string path = store + "/" + name;
      seeds.push_back(JoinWords({{path}, files->FileBytes(path)}));
    }
  }
  return seeds;
}

}  // namespace

Loader WholeStoreLoader() {
  return {"store",     &UseStore,       [](std::string&, uint64_t) {}, &RepairBehindWords,
          &StoreSeeds, Library::kStore, &TakeWordsAndFileApart,        &PutWordsAndFileTogether};
}

}  // namespace fuzz
