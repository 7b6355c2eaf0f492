#include "bench/keyspaces/config.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "bench/count.h"
#include "bench/experiment/command_line.h"
#include "bench/keyspaces/store.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10, kMiB = uint64_t{1} << 20, kGiB = uint64_t{1} << 30;

constexpr char kExamples[] = R"(Examples:
  keyspaces_bench --out /tmp/keyspaces
  keyspaces_bench open speed --rounds 21
  keyspaces_bench drop --size 1G --peer none
  keyspaces_bench many --even --tree-bytes 1G --write-buffer 64M)";

// "16M" -> 16777216: K, M and G are powers of 1024.
std::optional<uint64_t> ParseBytes(std::string_view text) {
  uint64_t unit = 1;
  if (text.ends_with('K')) unit = kKiB;
  if (text.ends_with('M')) unit = kMiB;
  if (text.ends_with('G')) unit = kGiB;
  if (unit > 1) text.remove_suffix(1);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number > UINT64_MAX / unit) return std::nullopt;
  return number * unit;
}

std::string ShortBytes(uint64_t bytes) {
  if (bytes % kGiB == 0) return std::to_string(bytes / kGiB) + "G";
  if (bytes % kMiB == 0) return std::to_string(bytes / kMiB) + "M";
  return bytes % kKiB == 0 ? std::to_string(bytes / kKiB) + "K" : std::to_string(bytes);
}

using ParseNumber = std::optional<uint64_t> (*)(std::string_view text);

// Checks a number with a letter, and replaces it by the whole number.
CLI::Validator Lettered(ParseNumber parse, uint64_t least, uint64_t most, const std::string& what,
                        const std::string& range) {
  return CLI::Validator(
      [=](std::string& text) {
        const std::optional<uint64_t> number = parse(text);
        if (!number || *number < least || *number > most)
          return lsm::Concat(text, " is not a ", what, " from ", range);
        text = std::to_string(*number);
        return std::string();
      },
      "");
}

class KeyspacesLine : public CommandLine {
 public:
  using CommandLine::CommandLine;

  void AddBytes(const char* name, uint64_t* bytes, const std::string& help, uint64_t least,
                uint64_t most) {
    const std::string range = ShortBytes(least) + " to " + ShortBytes(most);
    Add(name, bytes, help)
        ->transform(Lettered(&ParseBytes, least, most, "size", range))
        ->type_name("SIZE")
        ->default_str(ShortBytes(*bytes));
  }
  void AddCount(const char* name, uint64_t* count, const std::string& help, uint64_t least,
                uint64_t most) {
    const std::string range = ShortCount(least) + " to " + ShortCount(most);
    Add(name, count, help)
        ->transform(Lettered(&ParseCount, least, most, "number", range))
        ->type_name("N")
        ->default_str(ShortCount(*count));
  }
};

std::string CheckTogether(const Config& config) {
  if (config.has_peer() && !HasRocksDb())
    return "--peer: built without RocksDB: configure with -DTRELLIS_BUILD_PEERS=ON";
  if ((config.trickle || config.even) && !config.Measures("many"))
    return std::string(config.trickle ? "--trickle" : "--even") + ": belongs to the part many";
  return "";
}

}  // namespace

bool Config::Measures(const std::string& part) const {
  return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
}

const std::vector<std::string>& PartNames() {
  static const std::vector<std::string> names = {"open", "cold", "speed", "drop", "many"};
  return names;
}

Parsed<Config> ParseCommandLine(int argc, char** argv) {
  Config config;
  config.peer = HasRocksDb() ? "rocksdb" : "none";
  KeyspacesLine line("keyspaces_bench", "Measures what keyspaces cost, beside their goals.",
                     kExamples, &config);
  line.Group("What is measured");
  line.AddList("PARTS", &config.parts, "Of open, cold, speed, drop, many; without: all")
      ->check(CLI::IsMember(PartNames()));
  line.Add("--peer", &config.peer, "Also measures this store in all parts but many: rocksdb, none")
      ->check(CLI::IsMember({"rocksdb", "none"}))
      ->type_name("STORE");
  line.AddFlag("--trickle", &config.trickle,
               "Of many: trees that get 10 KiB a flush, beside a hot one");
  line.AddFlag("--even", &config.even, "Of many: trees of their own that are written evenly");
  line.Group("The stores");
  line.AddCount("--keyspaces", &config.keyspaces, "Keyspaces of open and many", 1, 1'000'000);
  line.AddCount("--cold", &config.cold, "Cold keyspaces of cold and speed", 1, 1'000'000);
  line.AddBytes("--write-buffer", &config.write_buffer_bytes,
                "Options::write_buffer_bytes; tables have its size, level 1 four times it", kMiB,
                kGiB);
  line.AddBytes("--value-bytes", &config.value_bytes, "Bytes per value", 8, 64 * kKiB);
  line.Group("The work");
  line.AddCount("--flushes", &config.flushes, "Write buffers of entries that cold and many write",
                1, 1'000'000);
  line.AddBytes("--size", &config.size_bytes, "Of the keyspace that drop drops", kMiB, 1024 * kGiB);
  line.AddBytes("--tree-bytes", &config.tree_bytes, "Of each tree of many --even", kMiB,
                1024 * kGiB);
  line.AddCount("--keys", &config.keys, "Keys of speed, in each store", 1000, 1'000'000'000);
  line.AddCount("--operations", &config.operations, "Operations of speed, of each kind and round",
                100, 100'000'000);
  line.AddCount("--rounds", &config.rounds, "Rounds of speed", 1, 1000);
  line.AddCount("--openings", &config.openings, "Openings of open, each after a flush", 1, 1000);
  line.AddRunOptions("keys and lookups");
  const std::optional<int> exit_code =
      line.Parse(argc, argv, [&] { return CheckTogether(config); });
  return {config, exit_code};
}

}  // namespace bench::keyspaces
