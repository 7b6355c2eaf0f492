#include "bench/expiry/config.h"

#include <algorithm>

#include "bench/experiment/command_line.h"
#include "bench/expiry/store.h"

namespace bench::expiry {
namespace {

constexpr char kExamples[] = R"(Examples:
  expiry_bench --out /tmp/expiry
  expiry_bench day --keys random --peer none
  expiry_bench day --keys random --buffers 80 --scale 64
  expiry_bench gets --rounds 41)";

std::string CheckPeer(const Config& config) {
  if (config.has_peer() && !HasRocksDb())
    return "--peer: built without RocksDB: configure with -DTRELLIS_BUILD_PEERS=ON";
  return "";
}

}  // namespace

bool Config::Measures(const std::string& part) const {
  return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
}

const std::vector<std::string>& PartNames() {
  static const std::vector<std::string> names = {"day", "gets"};
  return names;
}

Parsed<Config> ParseCommandLine(int argc, char** argv) {
  Config config;
  config.peer = HasRocksDb() ? "rocksdb" : "none";
  CommandLine line("expiry_bench", "Measures what expiry costs and frees, beside its goals.",
                   kExamples, &config);
  line.Group("What is measured");
  line.AddList("PARTS", &config.parts, "Of day, gets; without: all")
      ->check(CLI::IsMember(PartNames()));
  line.Add("--keys", &config.keys, "The order of keys of a day: time, random, both")
      ->check(CLI::IsMember({"time", "random", "both"}))
      ->type_name("ORDER");
  line.Add("--peer", &config.peer, "Also measures this store: rocksdb, none")
      ->check(CLI::IsMember({"rocksdb", "none"}))
      ->type_name("STORE");
  line.Group("The day");
  line.Add("--scale", &config.scale,
           "Divides the default write buffer, table size and level 1: 64, 64 and 256 MiB")
      ->check(Between(1, 512))
      ->type_name("N");
  line.Add("--buffers", &config.buffers, "Live bytes, in write buffers; an hour writes as many")
      ->check(Between(1, 1024))
      ->type_name("N");
  line.Add("--hours", &config.hours, "Virtual hours; samples begin after the second")
      ->check(Between(3, 240))
      ->type_name("N");
  line.Add("--value-bytes", &config.value_bytes, "Bytes per value of a day")
      ->check(Between(8, 65536))
      ->type_name("BYTES");
  line.Group("Gets");
  line.Add("--get-keys", &config.get_keys, "Keys of each store, with values of 100 bytes")
      ->check(Between(1000, 1'000'000'000))
      ->type_name("N");
  line.Add("--operations", &config.operations, "Lookups of each kind and round")
      ->check(Between(100, 100'000'000))
      ->type_name("N");
  line.Add("--rounds", &config.rounds, "Rounds")->check(Between(1, 1000))->type_name("N");
  line.AddRunOptions("keys, lookups and filters (except RocksDB's)");
  const std::optional<int> exit_code = line.Parse(argc, argv, [&] { return CheckPeer(config); });
  return {config, exit_code};
}

}  // namespace bench::expiry
