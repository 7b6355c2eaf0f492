#include "tests/reliability/jobs/large_store.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/disk.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::World;

constexpr char kPath[] = "/store";
constexpr uint64_t kSeed = 5;
constexpr size_t kStoreBytesMin = size_t{1} << 20;
// One in kLookUpOneIn keys is looked up after each group of flips.  An iterator visits all of them
// after one in kWalkOneIn groups.
constexpr size_t kLookUpOneIn = 97;
constexpr uint64_t kWalkOneIn = 32;
constexpr size_t kKeysLeftOut = 20;  // about as many as a block has

struct Bit {
  size_t file = 0;
  uint64_t number = 0;  // in the file
};
using Bits = std::vector<Bit>;

std::string KeyOf(size_t number) { return Concat("key", 1'000'000 + number); }

class LargeStore {
 public:
  // The finding, or empty.
  std::string Make() {
    World world(kSeed);
    lsm::Dice dice(kSeed);
    lsm::Options options = OptionsOn(world);
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, options);
    if (!db.ok()) return db.status().ToString();
    absl::Status status;
    for (size_t i = 0; Bytes(world) < kStoreBytesMin; ++i) {
      // Half of the value can be compressed.
      std::string value(60, '.');
      for (size_t at = 0; at < 30; ++at) value[at] = static_cast<char>(dice.Next());
      const std::string key = KeyOf(dice.Roll(20'000));
      status.Update((*db)->Put(key, value));
      contents_[key] = value;
      if (i % 512 == 511) status.Update((*db)->WaitForBackgroundWork());
    }
    for (int i = 0; i < 20; ++i) {
      status.Update((*db)->Put(KeyOf(30'000), Concat(i), {.sync = true}));
      contents_[KeyOf(30'000)] = Concat(i);
    }
    if (!status.ok()) return status.ToString();
    *db = nullptr;
    image_ = Image::Of(*world.files, {kPath});
    return "";
  }

  uint64_t bytes() const { return image_.bytes(); }

  // Selects one in `one_in` of all bits, in groups that are flipped together.  A group has at most
  // one bit of each table, so DB::Verify must name each table, and any other error must name one of
  // them.  Bits near the ends of tables have their own groups, because they prevent the store from
  // opening.
  std::vector<Bits> GroupsOf(uint64_t first, uint64_t one_in) const {
    std::vector<Bits> groups;
    uint64_t number = 0;
    std::vector<Bits> alone;
    for (size_t file = 0; file < image_.files.size(); ++file) {
      const auto& [path, bytes] = image_.files[file];
      const uint64_t end = number + 8 * bytes.size();
      Bits bits;
      for (uint64_t bit = number + (first + one_in - number % one_in) % one_in; bit < end;
           bit += one_in)
        bits.push_back({file, bit - number});
      number = end;
      const bool is_table = path.ends_with(".table");
      groups.resize(std::max(groups.size(), is_table ? bits.size() : 0));
      for (size_t i = 0; i < bits.size(); ++i) {
        if (is_table) {
          groups[bits.size() - 1 - i].push_back(bits[i]);
        } else {
          alone.push_back({bits[i]});
        }
      }
    }
    groups.insert(groups.end(), alone.begin(), alone.end());
    return groups;
  }

  // Flips all of these bits and returns the finding.  If the store does not open, flips each bit
  // alone.
  std::string Flip(const Bits& bits, uint64_t* not_opened) {
    for (const Bit& bit : bits) Toggle(bit);
    bool opened = false;
    const std::string problem = ProblemOf(bits, &opened);
    for (const Bit& bit : bits) Toggle(bit);
    if (bits.size() > 1 && (!opened || !problem.empty())) {
      for (const Bit& bit : bits) {
        const std::string of_one = Flip({bit}, not_opened);
        if (!of_one.empty()) return of_one;
      }
    } else {
      *not_opened += !opened;
    }
    if (problem.empty()) return "";
    std::string flipped;
    for (const Bit& bit : bits) {
      flipped += Concat(PathOf(bit), ": bit ", bit.number % 8, " of byte ", bit.number / 8, ": ");
    }
    return Concat(flipped, problem);
  }

 private:
  static lsm::Options OptionsOn(World& world) {
    lsm::Options options = world.SmallOptions();
    options.write_buffer_bytes = 128 << 10;
    options.level1_bytes = 256 << 10;
    options.block_bytes = 1024;
    return options;
  }

  static uint64_t Bytes(World& world) {
    uint64_t bytes = 0;
    for (const std::string& path : world.FilesOf(lsm::FileKind::kTable))
      bytes += world.files->FileBytes(path).size();
    return bytes;
  }

  const std::string& PathOf(const Bit& bit) const { return image_.files[bit.file].first; }

  void Toggle(const Bit& bit) {
    char& byte = image_.files[bit.file].second[bit.number / 8];
    byte = static_cast<char>(byte ^ (1 << bit.number % 8));
  }

  // True if the text names this bit's file.
  bool Names(std::string_view text, const Bit& bit) const {
    return text.starts_with(Concat(PathOf(bit), ":"));
  }

  std::string ProblemOf(const Bits& bits, bool* opened) const {
    World world(3, image_.ToFiles());
    const auto is_named = [&](std::string_view text) {
      return std::any_of(bits.begin(), bits.end(),
                         [&](const Bit& bit) { return Names(text, bit); });
    };
    const auto is_told = [&](const absl::Status& error) {
      return absl::IsDataLoss(error) && is_named(lsm::MessageOf(error));
    };
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, OptionsOn(world));
    *opened = db.ok();
    if (!db.ok())
      return is_told(db.status()) ? "" : Concat("not told so: ", db.status().ToString());
    const absl::StatusOr<lsm::VerifyReport> report = (*db)->Verify();
    if (!report.ok()) return report.status().ToString();
    for (const Bit& bit : bits) {
      if (std::none_of(report->problems.begin(), report->problems.end(),
                       [&](const std::string& text) { return Names(text, bit); }))
        return Concat("DB::Verify does not tell of ", PathOf(bit));
    }
    for (const std::string& text : report->problems) {
      if (!is_named(text)) return Concat("DB::Verify tells of another file: ", text);
    }
    size_t number = bits.front().number % kLookUpOneIn;
    for (auto place = contents_.begin(); place != contents_.end(); ++place, ++number) {
      if (number % kLookUpOneIn != 0) continue;
      const absl::StatusOr<std::optional<std::string>> value = (*db)->Get(place->first);
      if (value.ok() ? *value != place->second : !is_told(value.status()))
        return Concat("a wrong answer for ", place->first, ": ", value.status().ToString());
    }
    return bits.front().number % kWalkOneIn == 0 ? Walk(**db, is_told) : "";
  }

  template <typename IsTold>
  std::string Walk(DB& db, const IsTold& is_told) const {
    const std::unique_ptr<lsm::Iterator> iterator = db.NewIterator();
    auto place = contents_.begin();
    iterator->SeekToFirst();
    for (;;) {
      for (; iterator->Valid(); iterator->Next(), ++place) {
        if (place == contents_.end() || iterator->key() != place->first ||
            iterator->value() != place->second)
          return Concat("an iterator is wrong at ", iterator->key());
      }
      if (iterator->status().ok()) return place == contents_.end() ? "" : "an iterator ends early";
      if (!is_told(iterator->status())) return iterator->status().ToString();
      // Goes on after the entries that cannot be read.
      for (size_t i = 0; i < kKeysLeftOut && place != contents_.end(); ++i) ++place;
      if (place == contents_.end()) return "";
      iterator->Seek(place->first);
    }
  }

  Image image_;
  Contents contents_;
};

}  // namespace

LargeStoreReport FlipInLargeStore(uint64_t round, uint64_t flips) {
  LargeStoreReport report;
  LargeStore store;
  report.finding = store.Make();
  if (!report.finding.empty()) return report;
  report.store_bytes = store.bytes();
  report.rounds = std::max<uint64_t>(8 * store.bytes() / std::max<uint64_t>(flips, 1), 1);
  for (const Bits& bits : store.GroupsOf(round % report.rounds, report.rounds)) {
    report.finding = store.Flip(bits, &report.not_opened);
    if (!report.finding.empty()) return report;
    report.flips += bits.size();
  }
  return report;
}

}  // namespace reliability
