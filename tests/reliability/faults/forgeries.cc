#include "tests/reliability/faults/forgeries.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "lsm/base/internal_key.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/common_keys.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::EntryKind;
using lsm::Footer;
using lsm::KeyspaceId;
using lsm::kSequenceMax;
using lsm::Sequence;
using lsm::StoreForger;
using lsm::TableMeta;
using lsm::TableProperties;
using lsm::VersionEdit;

std::string WithUserKey(std::string_view internal_key, std::string_view user_key) {
  std::string key(user_key);
  key.append(internal_key.substr(internal_key.size() - lsm::kInternalKeySuffixBytes));
  return key;
}
std::string Narrower(const std::string& smallest) {
  return WithUserKey(smallest, std::string(lsm::UserKeyOf(smallest)) + "0");
}
std::string Cut(const std::string& key) {
  const std::string_view user_key = lsm::UserKeyOf(key);
  return WithUserKey(key, user_key.substr(0, user_key.size() - 1));
}

class Catalogue {
 public:
  explicit Catalogue(const lsm::ManifestState& state) : state_(state) {}

  std::vector<Forgery> Take() {
    for (int level = 0; level < lsm::kLevels; ++level) {
      for (const auto& [number, meta] : state_.levels[static_cast<size_t>(level)]) {
        Properties(number);
        Records(number, meta, level);
        if (!meta.ranges.empty()) continue;  // they would be lost
        EntriesOf(number);
        BlocksOf(number);
      }
    }
    Pairs();
    Manifest();
    if (state_.keyspaces.any()) Keyspaces();
    return std::move(forgeries_);
  }

 private:
  void Add(std::string what, Trace trace, std::function<void(StoreForger*)> apply) {
    forgeries_.push_back({std::move(what), trace, std::move(apply)});
  }

  void Property(uint64_t table, std::string_view what,
                const std::function<void(TableProperties*, Footer*)>& change) {
    Add(Concat(lsm::TableFileName(table), ": properties: ", what), Trace::kNamed,
        [table, change](StoreForger* forger) { forger->ChangeProperties(table, change); });
  }

  void Properties(uint64_t table) {
    using P = TableProperties;
    const std::pair<const char*, uint64_t P::*> numbers[] = {
        {"entries", &P::entries},
        {"deletions", &P::deletions},
        {"distinct_keys", &P::distinct_keys},
        {"smallest_sequence", &P::smallest_sequence},
        {"largest_sequence", &P::largest_sequence},
        {"raw_key_bytes", &P::raw_key_bytes},
        {"raw_value_bytes", &P::raw_value_bytes},
        {"data_bytes", &P::data_bytes},
        {"uncompressed_data_bytes", &P::uncompressed_data_bytes},
        {"data_blocks", &P::data_blocks},
        {"index_bytes", &P::index_bytes},
        {"filter_bytes", &P::filter_bytes},
        {"partitions", &P::partitions}};
    for (const auto& number : numbers) {
      const auto name = std::get<0>(number);
      const auto member = std::get<1>(number);
      const auto set = [&](std::string_view to, const std::function<uint64_t(uint64_t)>& change) {
        Property(table, Concat(name, " ", to),
                 [member, change](P* p, Footer*) { p->*member = change(p->*member); });
      };
      set("one more", [](uint64_t value) { return value + 1; });
      set("one less", [](uint64_t value) { return value - 1; });
      set("2^56 - 1", [](uint64_t) { return kSequenceMax; });
      set("2^56", [](uint64_t) { return kSequenceMax + 1; });
      set("2^64 - 1", [](uint64_t) { return UINT64_MAX; });
    }
    Property(table, "level 6", [](P* p, Footer*) { p->level = 6; });
    Property(table, "level 700", [](P* p, Footer*) { p->level = 700; });
    Property(table, "smallest_key narrower", [](P* p, Footer*) { p->smallest_key += "0"; });
    Property(table, "smallest_key wider", [](P* p, Footer*) { p->smallest_key.pop_back(); });
    Property(table, "largest_key narrower", [](P* p, Footer*) { p->largest_key.pop_back(); });
    Property(table, "largest_key wider", [](P* p, Footer*) { p->largest_key += "0"; });
    Property(table, "none, and the footer says one entry more",
             [](P*, Footer* footer) { ++footer->entries; });
    Property(table, "none, and the footer says one block more",
             [](P*, Footer* footer) { ++footer->data_blocks; });
    Property(table, "and footer: one entry more", [](P* p, Footer* footer) {
      ++p->entries;
      ++footer->entries;
    });
  }

  void Record(uint64_t table, std::string_view what, Trace trace,
              const std::function<void(VersionEdit::Added*)>& change) {
    Add(Concat(lsm::TableFileName(table), ": record: ", what), trace,
        [table, change](StoreForger* forger) { forger->ChangeRecord(table, change); });
  }

  void Records(uint64_t table, const TableMeta& meta, int level) {
    using Added = VersionEdit::Added;
    const bool has_keys_between = meta.entries > 1;
    Record(table, "one entry more", Trace::kNamed, [](Added* a) { ++a->table.entries; });
    Record(table, "one entry less", Trace::kNamed, [](Added* a) { --a->table.entries; });
    Record(table, "one more covered byte", Trace::kNamed,
           [](Added* a) { ++a->table.dead.covered_bytes; });
    Record(table, "another oldest tombstone", Trace::kNamed,
           [](Added* a) { ++a->table.dead.oldest_tombstone; });
    Record(table, "one byte more", Trace::kNamed, [](Added* a) { ++a->table.file_bytes; });
    Record(table, "another id", Trace::kNamed, [](Added* a) { ++a->table.file_id; });
    if (has_keys_between) {
      Record(table, "smallest narrower", Trace::kNamed,
             [](Added* a) { a->table.smallest = Narrower(a->table.smallest); });
      Record(table, "largest narrower", Trace::kNamed,
             [](Added* a) { a->table.largest = Cut(a->table.largest); });
    }
    Record(table, "smallest wider", Trace::kNamed,
           [](Added* a) { a->table.smallest = Cut(a->table.smallest); });
    Record(table, "largest wider", Trace::kNamed,
           [](Added* a) { a->table.largest = Narrower(a->table.largest); });
    Record(table, "smallest at another sequence", Trace::kNamed, [](Added* a) {
      std::string key(lsm::UserKeyOf(a->table.smallest));
      lsm::AppendFixed64(&key, lsm::SuffixOf(a->table.smallest) + 256);
      a->table.smallest = key;
    });
    for (const int to : {0, 1, 2, lsm::kLevels - 1}) {
      if (to == level) continue;
      Record(table, Concat("level ", to), to < level ? Trace::kNamed : Trace::kNone,
             [to](Added* a) {
               a->level = to;
               if (to == 0) a->table.run = 0;
             });
    }
    if (level > 0) Record(table, "another run", Trace::kNone, [](Added* a) { a->table.run += 3; });
    // A forgery that no other figure contradicts.
    Add(Concat(lsm::TableFileName(table), ": record and properties: largest narrower"),
        Trace::kVerified, [table, meta](StoreForger* forger) {
          const std::string narrower = Cut(meta.largest);
          forger->ChangeRecord(table, [&](Added* a) {
            a->table.largest = std::max(
                narrower, a->table.smallest,
                [](const auto& a1, const auto& b) { return lsm::CompareInternalKeys(a1, b) < 0; });
          });
          forger->ChangeProperties(table, [&](TableProperties* p, Footer*) {
            p->largest_key =
                std::max<std::string>(std::string(lsm::UserKeyOf(narrower)), p->smallest_key);
          });
        });
  }

  void EntriesOf(uint64_t table) {
    const std::string name = lsm::TableFileName(table);
    const auto sequences = [&](std::string_view what,
                               const std::function<Sequence(Sequence)>& change) {
      Add(Concat(name, ": sequences ", what), Trace::kNamed,
          [table, change](StoreForger* forger) { forger->ChangeSequences(table, change); });
    };
    sequences("beyond the last one", [](Sequence s) { return s + 100'000; });
    sequences("2^56 - 1", [](Sequence) { return kSequenceMax; });
    sequences("near 2^56", [](Sequence s) { return kSequenceMax - 1000 + s % 1000; });
    Add(Concat(name, ": sequences beyond the last one, and the properties deny it"), Trace::kNamed,
        [table](StoreForger* forger) {
          forger->ChangeSequences(table, [](Sequence s) { return s + 100'000; });
          forger->ChangeProperties(table, [](TableProperties* p, Footer*) {
            p->smallest_sequence -= 100'000;
            p->largest_sequence -= 100'000;
          });
        });
    Add(Concat(name, ": a key longer than keys may be"), Trace::kNamed,
        [table](StoreForger* forger) {
          StoreForger::Entries entries = forger->EntriesOf(table);
          const std::string last = entries.back().first;
          entries.emplace_back(
              WithUserKey(last, std::string(lsm::UserKeyOf(last)) + std::string(70'000, 'x')),
              "long");
          forger->SetEntries(table, entries);
        });
  }

  // Two blocks in the wrong order, each with its keys in order.
  void BlocksOf(uint64_t table) {
    Add(Concat(lsm::TableFileName(table), ": blocks in the wrong order"), Trace::kVerified,
        [table](StoreForger* forger) {
          const StoreForger::Entries entries = forger->EntriesOf(table);
          const auto half = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
          forger->SetBlocks(table, {{half, entries.end()}, {entries.begin(), half}});
        });
  }

  // And their entries can be written again without the loss of range deletes.
  static bool AreOfOneTree(const TableMeta& a, const TableMeta& b) {
    return a.keyspace == b.keyspace && a.ranges.empty() && b.ranges.empty();
  }

  void Pairs() {
    const auto& level0 = state_.levels[0];
    for (auto a = level0.begin(); a != level0.end(); ++a) {
      for (auto b = std::next(a); b != level0.end(); ++b) {
        if (!AreOfOneTree(a->second, b->second)) continue;
        Add(Concat(lsm::TableFileName(a->first), " and ", lsm::TableFileName(b->first),
                   ": entries swapped"),
            Trace::kNamed, [first = a->first, second = b->first](StoreForger* forger) {
              const StoreForger::Entries older = forger->EntriesOf(first);
              forger->SetEntries(first, forger->EntriesOf(second));
              forger->SetEntries(second, older);
            });
      }
    }
    for (size_t level = 1; level < state_.levels.size(); ++level) {
      const auto& tables = state_.levels[level];
      for (const auto& [a, a_meta] : tables) {
        for (const auto& [b, b_meta] : tables) {
          if (a == b || a_meta.run != b_meta.run || !AreOfOneTree(a_meta, b_meta)) continue;
          if (lsm::UserKeyOf(a_meta.largest) >= lsm::UserKeyOf(b_meta.smallest)) continue;
          Add(Concat(lsm::TableFileName(a), ": holds the keys of ", lsm::TableFileName(b)),
              Trace::kNamed, [a = a, b = b](StoreForger* forger) {
                StoreForger::Entries entries = forger->EntriesOf(a);
                const StoreForger::Entries more = forger->EntriesOf(b);
                entries.insert(entries.end(), more.begin(), more.end());
                forger->SetEntries(a, entries);
              });
        }
      }
    }
  }

  void Edit(std::string_view what, Trace trace, const std::function<void(VersionEdit*)>& change) {
    Add(Concat("manifest: ", what), trace,
        [change](StoreForger* forger) { forger->ChangeManifest(change); });
  }

  void Manifest() {
    Edit("last sequence 0", Trace::kHarmless, [](VersionEdit* edit) { edit->last_sequence = 0; });
    Edit("last sequence one less", Trace::kHarmless,
         [](VersionEdit* edit) { --*edit->last_sequence; });
    Edit("last sequence one more", Trace::kHarmless,
         [](VersionEdit* edit) { ++*edit->last_sequence; });
    Edit("last sequence 2^56 - 1", Trace::kHarmless,
         [](VersionEdit* edit) { edit->last_sequence = kSequenceMax; });
    Edit("next file number 1", Trace::kHarmless,
         [](VersionEdit* edit) { edit->next_file_number = 1; });
    Edit("next file number the last", Trace::kHarmless,
         [](VersionEdit* edit) { edit->next_file_number = lsm::kFileNumberMax; });
    Edit("oldest log one higher", Trace::kHarmless, [](VersionEdit* edit) { ++*edit->oldest_log; });
    Edit("oldest log far beyond", Trace::kHarmless,
         [](VersionEdit* edit) { *edit->oldest_log += 1000; });
    Edit("oldest log 0", Trace::kHarmless, [](VersionEdit* edit) { edit->oldest_log = 0; });
    Edit("another log seed", Trace::kHarmless, [](VersionEdit* edit) { ++*edit->log_seed; });
    Edit("no log seed", Trace::kHarmless, [](VersionEdit* edit) { edit->log_seed.reset(); });
    Edit("another digest seed", Trace::kHarmless,
         [](VersionEdit* edit) { ++edit->digest_seed->low; });
    Edit("a synced log that never was", Trace::kHarmless,
         [](VersionEdit* edit) { edit->synced_logs.push_back(*edit->next_file_number + 5); });
    Edit("a closed log that never was", Trace::kHarmless,
         [](VersionEdit* edit) { edit->closed_logs.emplace(*edit->next_file_number + 5, 1000); });
    Edit("a table that never was", Trace::kHarmless, [](VersionEdit* edit) {
      VersionEdit::Added added = edit->added.front();
      added.table.number = (*edit->next_file_number)++;
      edit->added.push_back(added);
    });
    Edit("a table twice", Trace::kHarmless,
         [](VersionEdit* edit) { edit->added.push_back(edit->added.front()); });
  }

  // --- keyspaces ---

  void Keyspaces() {
    for (const auto& level : state_.levels) {
      for (const auto& [number, meta] : level) TreeOf(number, meta);
    }
    RecordsOfKeyspaces();
    Names();
  }

  void TreeOf(uint64_t table, const TableMeta& meta) {
    const std::string name = lsm::TableFileName(table);
    std::vector<uint64_t> others = {lsm::kDefaultKeyspace, lsm::kCommonTree};
    const uint64_t next = state_.keyspaces.next_id();
    for (uint64_t id = lsm::kOtherKeyspaceMin; id < next; ++id) {
      const auto record = state_.keyspaces.all().find(static_cast<KeyspaceId>(id));
      const bool was_dropped = record == state_.keyspaces.all().end();
      if (was_dropped || record->second.has_own_tree) others.push_back(id);
    }
    others.push_back(next + 70);  // it never was
    for (const uint64_t other : others) {
      if (other == meta.keyspace) continue;
      const auto id = static_cast<KeyspaceId>(other);
      Record(table, Concat("keyspace ", id), Trace::kNamed,
             [id](VersionEdit::Added* added) { added->table.keyspace = id; });
      Property(table, Concat("keyspace ", id),
               [id](TableProperties* p, Footer*) { p->keyspace = id; });
      // Nothing contradicts the table if this tree exists.
      if (state_.keyspaces.HasTree(id)) continue;
      Add(Concat(name, ": record and properties: keyspace ", id), Trace::kNamed,
          [table, id](StoreForger* forger) {
            forger->ChangeProperties(table, [&](TableProperties* p, Footer*) { p->keyspace = id; });
            forger->ChangeRecord(table,
                                 [&](VersionEdit::Added* added) { added->table.keyspace = id; });
          });
    }
    Add(Concat(name, ": no manifest, and properties: entries one more"), Trace::kHarmless,
        [table](StoreForger* forger) {
          forger->ChangeProperties(table, [](TableProperties* p, Footer*) { ++p->entries; });
          forger->RemoveManifest();
        });
    Property(table, "keyspace 2^32",
             [](TableProperties* p, Footer*) { p->keyspace = lsm::KeyspaceRecords::kIdEnd; });
  }

  void RecordsOfKeyspaces() {
    Edit("two keyspaces of one name", Trace::kHarmless,
         [](VersionEdit* edit) { edit->keyspaces.back().name = edit->keyspaces.front().name; });
    Edit("one keyspace twice", Trace::kHarmless, [](VersionEdit* edit) {
      edit->keyspaces.push_back(edit->keyspaces.front());
      edit->keyspaces.back().name += "2";
    });
    Edit("a keyspace less", Trace::kNone, [](VersionEdit* edit) {
      std::erase_if(edit->keyspaces, [](const auto& record) { return !record.has_own_tree; });
    });
    Edit("no keyspaces", Trace::kHarmless, [](VersionEdit* edit) { edit->keyspaces.clear(); });
    Edit("next keyspace the first", Trace::kHarmless,
         [](VersionEdit* edit) { edit->next_keyspace_id = lsm::kOtherKeyspaceMin; });
    Edit("no tree of a keyspace's own", Trace::kHarmless, [](VersionEdit* edit) {
      for (auto& record : edit->keyspaces) record.has_own_tree = false;
    });
  }

  // Changes the names in the common tree, with the manifest and without it.
  void ChangeNames(std::string_view what,
                   const std::function<void(StoreForger::Entries*)>& change) {
    const auto apply = [change, levels = state_.levels](StoreForger* forger) {
      for (const auto& level : levels) {
        for (const auto& [number, meta] : level) {
          if (meta.keyspace != lsm::kCommonTree) continue;
          StoreForger::Entries entries = forger->EntriesOf(number);
          change(&entries);
          const lsm::RangeMap ranges = forger->RangesOf(number);
          if (entries.empty() && ranges.empty()) {
            forger->ChangeManifest([number = number](VersionEdit* edit) {
              std::erase_if(edit->added,
                            [&](const auto& added) { return added.table.number == number; });
            });
            forger->RemoveTable(number);
          } else {
            forger->SetEntries(number, entries, ranges);
          }
        }
      }
    };
    Add(Concat("names: ", what), Trace::kHarmless, apply);
    Add(Concat("no manifest, and names: ", what), Trace::kHarmless, [apply](StoreForger* forger) {
      apply(forger);
      forger->RemoveManifest();
    });
  }

  static bool IsName(const std::pair<std::string, std::string>& entry) {
    return lsm::KeyspaceOf(lsm::UserKeyOf(entry.first)) == lsm::kNamesInCommonTree;
  }
  static bool IsTombstoneOf(const std::pair<std::string, std::string>& entry) {
    return lsm::IsTombstone(lsm::SuffixOf(entry.first));
  }

  void Names() {
    ChangeNames("unchanged", [](StoreForger::Entries*) {});
    ChangeNames("none", [](StoreForger::Entries* entries) { std::erase_if(*entries, IsName); });
    ChangeNames("no tombstones", [](StoreForger::Entries* entries) {
      std::erase_if(*entries, [](const auto& e) { return IsName(e) && IsTombstoneOf(e); });
    });
    ChangeNames("all the same", [](StoreForger::Entries* entries) {
      for (auto& entry : *entries) {
        if (!IsName(entry) || IsTombstoneOf(entry)) continue;
        lsm::KeyspaceRecord record;
        if (!lsm::DecodeName(entry.second, &record).ok()) continue;
        record.name = "same";
        entry.second = lsm::EncodeName(record);
      }
    });
    ChangeNames("all dropped", [](StoreForger::Entries* entries) {
      for (auto& [key, value] : *entries) {
        if (!IsName({key, value})) continue;
        std::string tombstone;
        lsm::AppendInternalKey(&tombstone, lsm::UserKeyOf(key), lsm::SequenceOf(lsm::SuffixOf(key)),
                               EntryKind::kDelete);
        key = tombstone;
        value.clear();
      }
    });
  }

  const lsm::ManifestState& state_;
  std::vector<Forgery> forgeries_;
};

}  // namespace

std::vector<Forgery> ForgeriesOf(const lsm::ManifestState& state) {
  return Catalogue(state).Take();
}

}  // namespace reliability
