// peers_bench: Trellis beside LevelDB and RocksDB, as Debian packages them.  bench/README.md
// explains it.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/interrupt.h"
#include "bench/peers/comparison.h"
#include "bench/peers/config.h"
#include "bench/peers/report.h"
#include "lsm/bytes/status.h"

namespace {

int Fail(const absl::Status& status) {
  const std::string message(lsm::MessageOf(status));
  std::fprintf(stderr, "peers_bench: %s\n", message.c_str());
  return 1;
}

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

}  // namespace

int main(int argc, char** argv) {
  bench::peers::ParsedCommandLine parsed = bench::peers::ParseCommandLine(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  parsed.config.stop = &bench::StopOnInterrupt("peers_bench");

  bench::peers::Comparison comparison(parsed.config, PeersOf(parsed.stores));
  const absl::Status status = comparison.Run();
  if (!status.ok() && (!absl::IsCancelled(status) || comparison.results().cells.empty())) {
    const int code = Fail(status);
    return absl::IsCancelled(status) ? 130 : code;
  }
  // First, so that a report that cannot be written does not take the figures with it.
  std::printf("%s\n", bench::peers::ToText(comparison.results()).c_str());
  const std::string& out = parsed.config.out;
  const absl::Status written =
      bench::peers::WriteReports(comparison.results(), out, parsed.config.chart_js);
  if (!written.ok()) return Fail(written);
  std::printf("Report  %s/report.html (open it in a browser), %s/report.json\n", out.c_str(),
              out.c_str());
  if (std::fflush(stdout) != 0) return 1;
  return status.ok() ? 0 : 130;
}
