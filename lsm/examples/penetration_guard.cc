// Shows what guarded_store.h saves under a workload that mostly looks up ids that do not exist.
//
// It includes headers of bloom/examples by relative paths: copy that folder too.
//
//   add_executable(penetration_guard penetration_guard.cc)
//   target_link_libraries(penetration_guard PRIVATE Trellis::lsm)
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "../../bloom/examples/command_line.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "guarded_store.h"
#include "ids_filter.h"
#include "lsm/db.h"

namespace {

constexpr std::string_view kHelp = R"(Usage: penetration_guard STORE [options]

Looks up ids in a store, many of which do not exist, without and with a filter in front of the
store.  Prints how many lookups reached the store, and how many of its blocks they needed.  A new
store is filled first; an existing one is used as it is.

  --ids N                number of ids in a new store; 100,000
  --lookups N            number of lookups; 100,000
  --absent N             per cent of the lookups that are of ids that do not exist; 90
  --fpp F                share of these that may pass the guard; 0.01
  --new N                number of ids to write afterwards, durably, while they are looked up; 100
  --table-filters KIND   filters of the store's own tables: by-level, blocked, none, ...; by-level
  --seed N               repeats a run with a new store; random
)";

// Makes the store's random numbers repeatable.
class SeededRandom : public lsm::RandomSource {
 public:
  explicit SeededRandom(uint64_t seed) : random_(seed) {}
  uint64_t Next() override {
    const std::lock_guard lock(mutex_);
    return random_();
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
};

// Existing ids have the even numbers from 0 on.  Ids that do not exist lie between them, so key
// ranges of tables do not help.
std::string IdOf(uint64_t number) {
  char id[32];
  std::snprintf(id, sizeof(id), "user%012llu", static_cast<unsigned long long>(number));
  return id;
}

absl::StatusOr<uint64_t> CountIds(lsm::DB& db) {
  const std::unique_ptr<lsm::Iterator> entry =
      db.NewIterator({.lower_bound = examples::kIdPrefix, .upper_bound = examples::kIdsEnd});
  entry->SeekToLast();
  if (!entry->Valid()) {
    if (!entry->status().ok()) return entry->status();
    return uint64_t{0};
  }
  // There are no gaps, so the last id gives the number.
  const std::string start = examples::KeyOf("user");
  uint64_t last = 0, count = 0;
  const bool is_ours = entry->key().starts_with(start) &&
                       examples::ParseNumber(entry->key().substr(start.size()), &last) &&
                       last % 2 == 0;
  for (entry->SeekToFirst(); is_ours && entry->Valid(); entry->Next())
    if (entry->key() != examples::KeyOf(IdOf(2 * count++))) break;
  if (!entry->status().ok()) return entry->status();
  if (is_ours && count == last / 2 + 1) return count;
  return absl::DataLossError("the store holds ids that are not of this program");
}

absl::Status Fill(lsm::DB& db, uint64_t ids) {
  for (uint64_t i = 0; i < ids; ++i) {
    if (absl::Status status = db.Put(examples::KeyOf(IdOf(2 * i)), "profile"); !status.ok())
      return status;
  }
  return db.Flush();
}

struct Workload {
  uint64_t ids, lookups, absent_percent, seed;
};

template <class Cell>
void PrintLine(const char* name, Cell lookups, Cell reached, Cell for_nothing, Cell blocks,
               Cell wrong) {
  std::cout << std::left << std::setw(14) << name << std::right << std::setw(9) << lookups
            << std::setw(17) << reached << std::setw(13) << for_nothing << std::setw(8) << blocks
            << std::setw(15) << wrong << std::endl;
}

// Prints a line of the table: what `get(id)` found, and the cost for the store.
template <class Get>
absl::Status Measure(const char* name, const Workload& workload, lsm::DB& db, Get get) {
  std::mt19937_64 random(workload.seed);
  const lsm::Statistics before = db.GetStatistics();
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < workload.lookups; ++i) {
    const bool is_there = random() % 100 >= workload.absent_percent;
    const uint64_t number = is_there ? 2 * (random() % workload.ids)
                                     : 2 * (random() % std::max<uint64_t>(workload.ids - 1, 1)) + 1;
    const absl::StatusOr<std::optional<std::string>> value = get(IdOf(number));
    if (!value.ok()) return value.status();
    wrong += value->has_value() != is_there;
  }
  const lsm::Statistics after = db.GetStatistics();
  const lsm::LevelStatistics blocks = after.total.Since(before.total);
  const uint64_t reached = after.lookups - before.lookups;
  PrintLine(name, workload.lookups, reached, reached - (after.lookups_found - before.lookups_found),
            blocks.blocks_from_cache + blocks.blocks_from_file, wrong);
  return absl::OkStatus();
}

// Writes ids, while another thread looks up each as soon as the store has it.
absl::Status WriteWhileRead(examples::GuardedStore& store, uint64_t first, uint64_t count) {
  absl::Status written, read;
  std::atomic<bool> stop = false;
  uint64_t denied = 0;
  std::thread reader([&] {
    for (uint64_t i = first; i < first + count && !stop;) {
      const auto there = store.db().Get(examples::KeyOf(IdOf(2 * i)));
      if (there.ok() && !there->has_value()) continue;
      const auto found = store.Get(IdOf(2 * i));
      read = there.ok() ? found.status() : there.status();
      if (!read.ok()) return;
      if (!found->has_value()) ++denied;
      ++i;
    }
  });
  for (uint64_t i = first; i < first + count && written.ok(); ++i)
    written = store.Put(IdOf(2 * i), "profile");
  if (!written.ok()) stop = true;
  reader.join();
  if (!written.ok()) return written;
  std::cout << count << " ids written meanwhile, " << denied << " of them denied" << std::endl;
  return read;
}

absl::Status Run(examples::CommandLine& line) {
  Workload workload;
  workload.ids = line.Count("--ids", 100'000);
  workload.lookups = line.Count("--lookups", 100'000);
  workload.absent_percent = line.Count("--absent", 90, 0, 100);
  workload.seed = line.SeedOrRandom("--seed");
  const double fpp = line.Fpp("--fpp", 0.01);
  const uint64_t new_ids = line.Count("--new", 100, 0);
  lsm::Options options;
  if (line.Has("--table-filters")) options.filter_kind = line.Text("--table-filters");
  if (!line.status().ok()) return line.status();

  SeededRandom random(workload.seed);
  if (line.Has("--seed")) options.environment.random = &random;
  absl::StatusOr<std::unique_ptr<lsm::DB>> db = lsm::DB::Open(line.words()[0], options);
  if (!db.ok()) return db.status();
  absl::StatusOr<uint64_t> there = CountIds(**db);
  if (!there.ok()) return there.status();
  if (*there == 0) {
    if (absl::Status status = Fill(**db, workload.ids); !status.ok()) return status;
  } else {
    workload.ids = *there;
  }
  absl::StatusOr<examples::TakenFilter> taken =
      examples::TakeIdsFilter(**db, workload.ids + new_ids, fpp, workload.seed);
  if (!taken.ok()) return taken.status();
  std::cout << workload.ids << " ids; filter " << (taken->was_saved ? "as saved, " : "rebuilt, ")
            << taken->filter.size_bits() / 8 << " bytes\n";
  examples::GuardedStore store(*std::move(db), *std::move(taken));

  PrintLine("", "lookups", "reach the store", "for nothing", "blocks", "wrong answers");
  absl::Status status = Measure("without guard", workload, store.db(), [&](const std::string& id) {
    return store.db().Get(examples::KeyOf(id));
  });
  if (!status.ok()) return status;
  status = Measure("with guard", workload, store.db(),
                   [&](const std::string& id) { return store.Get(id); });
  if (!status.ok()) return status;
  status = WriteWhileRead(store, workload.ids, new_ids);
  return status.ok() ? store.Close() : status;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::Main(
      argc, argv,
      {.name = "penetration_guard",
       .help = kHelp,
       .options = {"--ids", "--lookups", "--absent", "--fpp", "--new", "--table-filters", "--seed"},
       .words = {1, 1}},
      Run);
}
