#include "tests/reliability/large_store.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/disk.h"
#include "tests/reliability/workload.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::World;

constexpr char kPath[] = "/store";
constexpr uint64_t kSeed = 5;
constexpr size_t kStoreBytesMin = size_t{1} << 20;
// Of the keys, one in so many is looked up after a flip; all are walked over after one flip in so
// many.
constexpr size_t kLookUpOneIn = 97;
constexpr uint64_t kWalkOneIn = 32;

std::string KeyOf(size_t number) { return Concat("key", 1'000'000 + number); }

class LargeStore {
 public:
  // What went wrong, or empty.
  std::string Make() {
    World world(kSeed);
    lsm::Dice dice(kSeed);
    lsm::Options options = OptionsOn(world);
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, options);
    if (!db.ok()) return db.status().ToString();
    absl::Status status;
    for (size_t i = 0; Bytes(world) < kStoreBytesMin; ++i) {
      // Half of it can be compressed.
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

  // Of the bit of this number, in all files.
  std::string Flip(uint64_t bit, bool* opened) {
    const auto [file, place] = image_.PlaceOf(bit / 8);
    auto& [path, bytes] = image_.files[file];
    char& byte = bytes[place];
    const char sound = byte;
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    const std::string problem = ProblemOf(path, bit, opened);
    byte = sound;
    if (problem.empty()) return "";
    return Concat(path, ": bit ", bit % 8, " of byte ", place, ": ", problem);
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

  std::string ProblemOf(const std::string& path, uint64_t bit, bool* opened) const {
    World world(3, image_.ToFiles());
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto is_named = [&](std::string_view text) {
      // A manifest or CURRENT may lead to a file that is not there.
      return text.find(name) != std::string_view::npos ||
             (!name.ends_with(".table") && text.find(kPath) != std::string_view::npos);
    };
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, OptionsOn(world));
    *opened = db.ok();
    if (!db.ok()) {
      return is_named(db.status().ToString()) ? "" : Concat("unnamed: ", db.status().ToString());
    }
    const absl::StatusOr<lsm::VerifyReport> report = (*db)->Verify();
    if (!report.ok()) return report.status().ToString();
    if (std::none_of(report->problems.begin(), report->problems.end(), is_named))
      return "DB::Verify does not tell of it";
    size_t number = bit % kLookUpOneIn;
    for (auto place = contents_.begin(); place != contents_.end(); ++place, ++number) {
      if (number % kLookUpOneIn != 0) continue;
      const absl::StatusOr<std::optional<std::string>> value = (*db)->Get(place->first);
      if (value.ok() ? *value != place->second : !is_named(value.status().ToString()))
        return Concat("a wrong answer for ", place->first);
    }
    return bit % kWalkOneIn == 0 ? Walk(**db, is_named) : "";
  }

  template <typename IsNamed>
  std::string Walk(DB& db, const IsNamed& is_named) const {
    const std::unique_ptr<lsm::Iterator> iterator = db.NewIterator();
    auto place = contents_.begin();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++place) {
      if (place == contents_.end() || iterator->key() != place->first ||
          iterator->value() != place->second)
        return Concat("an iterator is wrong at ", iterator->key());
    }
    if (iterator->status().ok()) return place == contents_.end() ? "" : "an iterator ends early";
    return is_named(iterator->status().ToString()) ? "" : iterator->status().ToString();
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
  for (uint64_t bit = round % report.rounds; bit < 8 * store.bytes(); bit += report.rounds) {
    bool opened = false;
    report.finding = store.Flip(bit, &opened);
    if (!report.finding.empty()) return report;
    ++report.flips;
    report.not_opened += !opened;
  }
  return report;
}

}  // namespace reliability
