// The costs and savings of partitioned filters and indexes: a store whose filters and indexes are
// several times its block cache, whole and partitioned, with direct reads.
//
//   partition_bench [--excerpt] [KEYS [CACHE_KIB]]      4,000,000 keys, a cache of 1024 KiB
//
// KEYS keys "%016d" with values of 20 bytes are loaded in random order and compacted, by a store
// with a large cache (whole) and by one with CACHE_KIB (partitioned).  Both are then opened with
// direct reads:
//
//   whole                 a cache of CACHE_KIB, filters and indexes resident on top
//   partitioned           a cache of CACHE_KIB, partitions within it
//   partitioned, as much  a cache so large that the total memory equals that of `whole`
//
// Lookups ask present and absent keys, uniformly, or 9 times in 10 within one hundredth of the key
// range (local).  After as many uncounted lookups it prints for each: memory, reads and bytes from
// files per lookup (data blocks and partitions), and lookups per second.  Every answer is checked.
// The stores are in the working directory and are removed at the end.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "bench/machine.h"
#include "bench/or_die.h"
#include "bench/table.h"
#include "bench/workload.h"
#include "lsm/bytes/readable.h"
#include "lsm/db.h"

namespace {

using bench::OrDie;

constexpr size_t kValueBytes = 20;
constexpr uint64_t kLookups = 40'000;
constexpr uint64_t kWarmUp = 40'000;

struct Config {
  uint64_t keys = 4'000'000;
  size_t cache_bytes = size_t{1} << 20;
};

const bench::ValueMaker& TheValues() {
  static const bench::ValueMaker values(kValueBytes);
  return values;
}

lsm::Options OptionsOf(size_t cache_bytes) {
  lsm::Options options;
  options.block_cache_bytes = cache_bytes;
  options.table_bytes = uint64_t{16} << 20;
  return options;
}

// Even numbers are present, odd ones absent.
void Load(const std::string& path, const Config& config, size_t cache_bytes) {
  const std::unique_ptr<lsm::DB> db = OrDie(lsm::DB::Open(path, OptionsOf(cache_bytes)));
  std::string value;
  lsm::WriteBatch batch;
  for (const uint64_t i : bench::Shuffled(config.keys, 1)) {
    const std::string key = bench::DecimalKey(2 * i);
    TheValues().Make(key, &value);
    batch.Put(key, value);
    if (batch.count() < 1000) continue;
    OrDie(db->Write(batch));
    batch.Clear();
  }
  OrDie(db->Write(batch));
  OrDie(db->CompactRange());
}

uint64_t Draw(bench::SplitMix* random, uint64_t keys, bool local) {
  const uint64_t part = keys / 100;
  if (local && random->Below(10) > 0) return 37 * part + random->Below(part);
  return random->Below(keys);
}

void Ask(lsm::DB* db, bench::SplitMix* random, const Config& config, bool local, bool present,
         uint64_t lookups) {
  for (uint64_t i = 0; i < lookups; ++i) {
    const std::string key =
        bench::DecimalKey(2 * Draw(random, config.keys, local) + (present ? 0 : 1));
    const std::optional<std::string> value = OrDie(db->Get(key));
    if (value.has_value() != present || (present && !TheValues().Matches(key, *value))) {
      std::cerr << "a wrong answer for " << key << "\n";
      std::exit(1);
    }
  }
}

void AddRow(lsm::DB* db, const std::string& name, const Config& config, bool local, bool present,
            bench::Table* table) {
  bench::SplitMix random(7);
  Ask(db, &random, config, local, present, kWarmUp);
  const lsm::Statistics before = db->GetStatistics();
  const auto from = std::chrono::steady_clock::now();
  Ask(db, &random, config, local, present, kLookups);
  const double seconds = bench::SecondsSince(from);
  const lsm::Statistics now = db->GetStatistics();
  const lsm::LevelStatistics since = now.total.Since(before.total);
  const auto per_lookup = [](uint64_t count) {
    return lsm::ReadableNumber(static_cast<double>(count) / kLookups);
  };
  const uint64_t resident = now.total.filter_bytes + now.total.index_bytes;
  table->rows.push_back({name, local ? "local" : "uniform", present ? "present" : "absent",
                         lsm::ReadableBytes(resident + now.block_cache_bytes),
                         lsm::ReadableBytes(resident), per_lookup(since.blocks_from_file),
                         per_lookup(since.partitions_from_file),
                         per_lookup(since.bytes_from_file + since.partition_bytes_from_file),
                         bench::Short(kLookups / seconds)});
}

// Returns the memory in use besides the cache.
uint64_t Measure(const std::string& path, const std::string& name, size_t cache_bytes,
                 const Config& config, bench::Table* table, bench::Table* openings) {
  lsm::Options options = OptionsOf(cache_bytes);
  options.direct_reads = true;
  const auto from = std::chrono::steady_clock::now();
  const std::unique_ptr<lsm::DB> db = OrDie(lsm::DB::Open(path, options));
  const double seconds = bench::SecondsSince(from);
  const lsm::Statistics now = db->GetStatistics();
  openings->rows.push_back(
      {name, std::to_string(now.total.tables), lsm::ReadableBytes(now.total.table_bytes),
       lsm::ReadableBytes(cache_bytes), std::to_string(now.opening_reads),
       lsm::ReadableBytes(now.opening_bytes_read), lsm::ReadableNumber(seconds * 1e3)});
  for (const bool local : {false, true}) {
    for (const bool present : {false, true}) AddRow(db.get(), name, config, local, present, table);
  }
  return now.total.filter_bytes + now.total.index_bytes;
}

}  // namespace

int main(int argc, char** argv) {
  Config config;
  // --excerpt: prints only the table of bench/README.md, as Markdown.
  const bool excerpt = argc > 1 && std::string_view(argv[1]) == "--excerpt";
  if (excerpt) --argc, ++argv;
  if (argc > 1) config.keys = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) config.cache_bytes = std::strtoull(argv[2], nullptr, 10) << 10;
  if (argc > 3 || config.keys < 1000 || config.cache_bytes == 0) {
    std::cerr << "usage: partition_bench [--excerpt] [KEYS [CACHE_KIB]]\n";
    return 2;
  }
  const std::filesystem::path folder = "partition_bench_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const std::string whole = (folder / "whole").string();
  const std::string partitioned = (folder / "partitioned").string();
  Load(whole, config, size_t{1} << 30);
  Load(partitioned, config, config.cache_bytes);
  bench::Table table;
  for (const char* text : {"store", "keys", "are"}) table.columns.push_back({text, "", false});
  for (const char* figure :
       {"memory", "of it resident", "block reads", "partition reads", "bytes read", "lookups/s"})
    table.columns.push_back({figure, "", true});
  bench::Table openings;
  openings.columns.push_back({"store", "", false});
  for (const char* figure : {"tables", "in files", "cache", "opening reads", "bytes", "ms"})
    openings.columns.push_back({figure, "", true});
  const uint64_t of_whole = Measure(whole, "whole", config.cache_bytes, config, &table, &openings);
  const uint64_t of_parts =
      Measure(partitioned, "partitioned", config.cache_bytes, config, &table, &openings);
  Measure(partitioned, "partitioned, as much", config.cache_bytes + of_whole - of_parts, config,
          &table, &openings);
  if (excerpt) {
    std::cout << "```text\n" << bench::ToText(table) << "```\n";
  } else {
    std::cout << bench::ToText(openings) << "\n" << bench::ToText(table);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
