// peers_bench: compares Trellis with Debian's LevelDB and RocksDB.  bench/README.md explains it.
#include <string>
#include <utility>
#include <vector>

#include "bench/peers/comparison.h"
#include "bench/peers/config.h"
#include "bench/peers/report.h"
#include "lsm/bytes/status.h"

namespace {

std::vector<std::unique_ptr<bench::peers::Peer>> PeersOf(const std::vector<std::string>& names) {
  std::vector<std::unique_ptr<bench::peers::Peer>> peers;
  for (const std::string& name : names) {
    peers.push_back(name == "trellis"            ? bench::peers::NewTrellisPeer()
                    : name == "trellis-by-level" ? bench::peers::NewTrellisByLevelPeer()
                    : name == "leveldb"          ? bench::peers::NewLevelDbPeer()
                                                 : bench::peers::NewRocksDbPeer());
  }
  return peers;
}

absl::StatusOr<bench::Report> Run(const bench::peers::ComparisonConfig& config) {
  bench::peers::Comparison comparison(config, PeersOf(config.stores));
  TRELLIS_RETURN_IF_ERROR(comparison.Run());
  return bench::peers::ReportOf(comparison.results());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::peers::ParseCommandLine, &Run);
}
