// Does one kind of operation COUNT times, for `tools/dev against`, which counts instructions under
// Valgrind.  What 2N operations take beyond N of them is the cost of N, without the preparations.
//
//   operations DIRECTORY OPERATION COUNT        the names of operations are below
//
// The program makes a store in DIRECTORY, which must not exist.  Operations that read find 20,000
// keys with values of 100 bytes, which are compacted and in the cache.  "fresh" ones find each
// sixteenth key in the memtable, too.  The fills write into an empty store, and flush it at the
// end.  All answers are checked.  Keys, values, order and the store's random numbers follow from
// fixed seeds.
//
// tools/dev also links it with earlier commits, so it uses only public headers of lsm/, and
// SplitMix.
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/split_mix.h"
#include "lsm/db.h"

namespace {

constexpr size_t kKeys = 20'000;
constexpr size_t kFresh = 16;  // each sixteenth key is written again

[[noreturn]] void Die(std::string_view text) {
  std::fprintf(stderr, "operations: %.*s\n", static_cast<int>(text.size()), text.data());
  std::exit(1);
}

void Check(bool holds, std::string_view text) {
  if (!holds) [[unlikely]]
    Die(text);
}

void OrDie(const absl::Status& status) {
  if (!status.ok()) [[unlikely]]
    Die(status.ToString());
}

// The number in decimal digits; even numbers are in the store.
std::string KeyOf(size_t number) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "%016zu", number);
  return text.data();
}

// The seeds of filters, so that both builds have the same false positives.
class FixedRandom : public lsm::RandomSource {
 public:
  uint64_t Next() override { return random_.Next(); }

 private:
  lsm::SplitMix random_{1};
};

struct Work {
  std::vector<std::string> present, absent;  // in order
  std::vector<std::string> values;           // of `present`
  std::vector<size_t> order;                 // random, of their indexes

  Work() : order(kKeys) {
    lsm::SplitMix random(2);
    for (size_t i = 0; i < kKeys; ++i) {
      present.push_back(KeyOf(2 * i));
      absent.push_back(KeyOf(2 * i + 1));
      std::string& value = values.emplace_back(100, 'v');
      for (size_t at = 0; at < value.size() / 2; ++at) value[at] = static_cast<char>(random.Next());
      order[i] = i;
      std::swap(order[i], order[random.Below(i + 1)]);
    }
  }
};

void Put(lsm::DB& db, const Work& work, size_t i) {
  OrDie(db.Put(work.present[i], work.values[i]));
}

void Load(lsm::DB& db, const Work& work, bool is_fresh) {
  for (const size_t i : work.order) Put(db, work, i);
  OrDie(db.CompactRange());
  OrDie(db.WaitForBackgroundWork());
  auto warm = db.NewIterator();
  for (warm->SeekToFirst(); warm->Valid(); warm->Next()) continue;
  OrDie(warm->status());
  for (size_t i = 0; is_fresh && i < kKeys; i += kFresh) Put(db, work, i);
}

void Get(lsm::DB& db, const Work& work, size_t count, bool is_present) {
  const std::vector<std::string>& keys = is_present ? work.present : work.absent;
  lsm::PinnedValue value;
  for (size_t i = 0; i < count; ++i) {
    const auto found = db.Get(keys[work.order[i % kKeys]], &value);
    Check(found.ok() && *found == is_present, "a wrong answer of a get");
  }
}

void Fill(lsm::DB& db, const Work& work, size_t count, bool is_random) {
  Check(count <= kKeys, "too many keys for a fill");
  for (size_t i = 0; i < count; ++i) Put(db, work, is_random ? work.order[i] : i);
  OrDie(db.Flush());
}

void Seek(lsm::DB& db, const Work& work, size_t count, bool is_kept) {
  std::unique_ptr<lsm::Iterator> iterator = db.NewIterator();
  for (size_t i = 0; i < count; ++i) {
    if (!is_kept) iterator = db.NewIterator();
    const std::string& key = work.present[work.order[i % kKeys]];
    iterator->Seek(key);
    Check(iterator->Valid() && iterator->key() == key, "a wrong answer of a seek");
  }
}

void Scan(lsm::DB& db, size_t count) {
  const std::unique_ptr<lsm::Iterator> iterator = db.NewIterator();
  for (size_t i = 0; i < count; ++i) {
    i % kKeys == 0 ? iterator->SeekToFirst() : iterator->Next();
    Check(iterator->Valid() && iterator->value().size() == 100, "a wrong answer of a scan");
  }
}

void Run(lsm::DB& db, std::string_view operation, size_t count) {
  const Work work;
  const auto is = [operation](std::string_view name) { return operation == name; };
  if (is("fill in order") || is("fill at random"))
    return Fill(db, work, count, is("fill at random"));
  Load(db, work, operation.ends_with(", fresh"));
  if (is("get absent") || is("get absent, fresh")) return Get(db, work, count, false);
  if (is("get present") || is("get present, fresh")) return Get(db, work, count, true);
  if (is("seek") || is("seek, fresh")) return Seek(db, work, count, true);
  if (is("new iterator + seek")) return Seek(db, work, count, false);
  if (is("scan, an entry") || is("scan, an entry, fresh")) return Scan(db, count);
  Die("unknown operation");
}

}  // namespace

int main(int argc, char** argv) {
  Check(argc == 4, "takes DIRECTORY OPERATION COUNT");
  const std::string_view text = argv[3];
  size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  Check(error == std::errc() && end == text.data() + text.size(), "COUNT is not a number");
  Check(!std::filesystem::exists(argv[1]), "DIRECTORY exists");
  FixedRandom random;
  lsm::Options options;
  options.environment.random = &random;
  auto db = lsm::DB::Open(argv[1], options);
  OrDie(db.status());
  Run(**db, argv[2], count);
  OrDie((*db)->Close());
}
