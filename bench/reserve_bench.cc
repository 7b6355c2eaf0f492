// The cost of the reserve for a full disk (Options::reserve_bytes, lsm/design/full_disk.md) on the
// working directory's file system: the same work with reserve_bytes 0 and with the default.
//
// A round does all of it and alternates between the two cases from one opening to the next.  The
// table has medians over the rounds in milliseconds (for openings, of each round's median), and the
// median and limits of the rounds' ratios.  Most of the time is spent in fsync.
//
//   reserve_bench [ROUNDS]
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/or_die.h"
#include "bench/spread.h"
#include "bench/table.h"
#include "bench/workload.h"
#include "lsm/bytes/readable.h"
#include "lsm/db.h"

namespace {

using bench::OrDie;

constexpr uint64_t kFlushes = 25;
constexpr uint64_t kEntriesPerFlush = 4096;
constexpr size_t kValueBytes = 1024;  // so a flush writes about 4 MiB
constexpr uint64_t kOpenings = 20;    // per round

enum Case : size_t { kCreate, kOpenEmpty, kFlush, kLoad, kOpenFull, kOpenWithout, kCases };
constexpr std::array<const char*, kCases> kNames = {
    "create a store", "open an empty store",           "flush 4 MiB", "load 100 MiB in 25 flushes",
    "open 100 MiB",   "open 100 MiB, RESERVE removed",
};

struct Store {
  std::string path;
  lsm::Options options;
  std::array<std::vector<double>, kCases> rounds;  // ms

  std::unique_ptr<lsm::DB> Open() const { return OrDie(lsm::DB::Open(path, options)); }
  void Destroy() const { OrDie(lsm::DB::Destroy(path, options)); }
};
// One store with reserve_bytes 0, one with the default.
using Pair = std::array<Store, 2>;

// The milliseconds that `work` takes.
template <typename Work>
double Timed(const Work& work) {
  const auto from = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
}

// The median time of many openings; calls `prepare` before each.
template <typename Prepare>
void TimeOpenings(Pair* pair, Case which, const Prepare& prepare) {
  std::array<std::vector<double>, 2> times;
  for (uint64_t i = 0; i < 2 * kOpenings; ++i) {
    const uint64_t turn = (i + i / 2) % 2;  // 0 1 1 0 0 1 1 0
    const Store& store = (*pair)[turn];
    prepare(store);
    std::unique_ptr<lsm::DB> db;
    times[turn].push_back(Timed([&] { db = store.Open(); }));
    OrDie(db->Close());
  }
  for (size_t i = 0; i < 2; ++i)
    (*pair)[i].rounds[which].push_back(bench::SpreadOf(times[i]).median);
}

// The values do not compress.
void Fill(lsm::DB* db, bench::SplitMix* random) {
  std::string value(kValueBytes, '\0');
  for (uint64_t i = 0; i < kEntriesPerFlush; ++i) {
    for (char& byte : value) byte = static_cast<char>(random->Next());
    OrDie(db->Put(bench::HexKey(random->Next()), value));
  }
}

void Load(Store* store) {
  const std::unique_ptr<lsm::DB> db = store->Open();
  bench::SplitMix random(1);
  std::vector<double> flushes;
  store->rounds[kLoad].push_back(Timed([&] {
    for (uint64_t i = 0; i < kFlushes; ++i) {
      Fill(db.get(), &random);
      flushes.push_back(Timed([&] { OrDie(db->Flush()); }));
      OrDie(db->WaitForBackgroundWork());
    }
  }));
  store->rounds[kFlush].push_back(bench::SpreadOf(flushes).median);
  OrDie(db->Close());
}

void RunRound(uint64_t round, Pair* pair) {
  const auto nothing = [](const Store&) {};
  TimeOpenings(pair, kCreate, [](const Store& store) { store.Destroy(); });
  TimeOpenings(pair, kOpenEmpty, nothing);
  for (const size_t turn : {round % 2, 1 - round % 2}) Load(&(*pair)[turn]);
  TimeOpenings(pair, kOpenFull, nothing);
  TimeOpenings(pair, kOpenWithout, [](const Store& store) {
    std::filesystem::remove(std::filesystem::path(store.path) / "RESERVE");
  });
}

bench::Table TableOf(const Pair& pair) {
  bench::Table table;
  table.columns.push_back({"work", "", false});
  for (const char* figure : {"0, ms", "default, ms", "ratio", "least", "most"})
    table.columns.push_back({figure, "", true});
  for (size_t i = 0; i < kCases; ++i) {
    const std::vector<double>& off = pair[0].rounds[i];
    const std::vector<double>& on = pair[1].rounds[i];
    std::vector<double> ratios;
    for (size_t round = 0; round < on.size(); ++round) ratios.push_back(on[round] / off[round]);
    const bench::Spread ratio = bench::SpreadOf(ratios);
    table.rows.push_back({kNames[i], lsm::ReadableNumber(bench::SpreadOf(off).median),
                          lsm::ReadableNumber(bench::SpreadOf(on).median),
                          lsm::ReadableNumber(ratio.median), lsm::ReadableNumber(ratio.min),
                          lsm::ReadableNumber(ratio.max)});
  }
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 15;
  if (argc > 2 || rounds == 0) {
    std::cerr << "usage: reserve_bench [ROUNDS]\n";
    return 2;
  }
  const std::filesystem::path folder = "reserve_bench_" + std::to_string(::getpid());
  Pair pair;
  pair[0].path = (folder / "none").string();
  pair[0].options.reserve_bytes = 0;
  pair[1].path = (folder / "default").string();
  for (uint64_t round = 0; round < rounds; ++round) RunRound(round, &pair);
  std::cout << bench::FileSystemOf(".") << ", " << bench::DescribeCpu() << ", " << rounds
            << " rounds\n"
            << bench::ToText(TableOf(pair));
  std::filesystem::remove_all(folder);
  return 0;
}
