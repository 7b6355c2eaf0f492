// peers_bench: Trellis beside LevelDB and RocksDB, as Debian packages them.  bench/README.md
// explains it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/peers/comparison.h"
#include "bench/report/page.h"
#include "bench/seed_option.h"
#include "lsm/bytes/status.h"

namespace {

int Fail(const absl::Status& status) {
  const std::string message(lsm::MessageOf(status));
  std::fprintf(stderr, "peers_bench: %s\n", message.c_str());
  return 1;
}

std::vector<std::unique_ptr<bench::Peer>> PeersOf(const std::vector<std::string>& names) {
  std::vector<std::unique_ptr<bench::Peer>> peers;
  for (const std::string& name : names) {
    peers.push_back(name == "trellis"   ? bench::NewTrellisPeer()
                    : name == "leveldb" ? bench::NewLevelDbPeer()
                                        : bench::NewRocksDbPeer());
  }
  return peers;
}

}  // namespace

int main(int argc, char** argv) {
  bench::ComparisonConfig config;
  std::vector<std::string> stores = {"trellis", "leveldb", "rocksdb"};
  CLI::App app("Runs the same work on Trellis, LevelDB and RocksDB.", "peers_bench");
  app.add_option("--keys", config.keys, "Keys of 16 bytes")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1} << 32))
      ->capture_default_str();
  app.add_option("--value-bytes", config.value_bytes, "Bytes of each value, half compressible")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--rounds", config.rounds, "Times that each measurement is repeated")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", config.seconds, "Length of one measurement of lookups")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--stores", stores, "The first is compared with the others")
      ->check(CLI::IsMember({"trellis", "leveldb", "rocksdb"}))
      ->delimiter(',')
      ->capture_default_str();
  bench::AddSeedOption(&app, &config.seed, "Of the order of writes and lookups");
  app.add_option("--out", config.out, "Directory for the stores and report.json")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  config.settings.block_cache_bytes = 4 * config.keys * (16 + config.value_bytes) + (64 << 20);

  bench::Comparison comparison(config, PeersOf(stores));
  const absl::Status status = comparison.Run();
  if (!status.ok()) return Fail(status);
  const absl::Status written =
      bench::WriteWhole(config.out + "/report.json", comparison.ToJson().dump(2) + "\n");
  if (!written.ok()) return Fail(written);
  std::printf("%s\nReport  %s/report.json\n", comparison.ToText().c_str(), config.out.c_str());
  return 0;
}
