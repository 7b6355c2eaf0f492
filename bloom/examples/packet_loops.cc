// Detects routing loops with a filter in the header of each packet: if a router finds itself in the
// filter, the packet has been there before.
//
// The packet's header, with a filter that has no header of its own (bloom/payload.h):
//
//     0                8                        24
//     +----------------+------------------------+- - - - -+
//     | number: u64    | filter: 128 bits       | the rest
//     +----------------+------------------------+- - - - -+
//
//   number  of the packet, little-endian; also the seed of the filter
//   filter  of the routers passed so far: kind `standard`, 6 probes
//
//   add_executable(packet_loops packet_loops.cc)
//   target_link_libraries(packet_loops PRIVATE Trellis::bloom)
#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/payload.h"
#include "command_line.h"
#include "csv.h"
#include "files.h"

namespace {

constexpr std::string_view kHelp =
    R"(Usage: packet_loops ROUTES.csv FROM TO [--tries N] [--number N] [--headers yes]

Sends a packet along the routes and prints the routers that it passes, one line for each try.
ROUTES.csv has the columns router, destination and next.  A router that finds itself in the
packet's filter drops the packet: the packet was there before, or this is a false positive.  The
sender then tries again with another number, under which the filter has other false positives.

  --tries N       number of tries after which the route counts as a loop; 3
  --number N      number of the first packet; random by default
  --headers yes   prints the header with which each router sends the packet on, in hexadecimal
)";

// A path of 12 routers is dropped because of a false positive with a probability of 1.1 %.
constexpr bloom::Shape kFilterShape = {.size = 128, .probes = 6};
constexpr size_t kFilterAt = 8, kHeaderBytes = 24;
using Header = std::array<uint8_t, kHeaderBytes>;

Header HeaderOf(uint64_t number) {
  Header header = {};
  for (size_t i = 0; i < sizeof number; ++i) header[i] = static_cast<uint8_t>(number >> (8 * i));
  return header;
}
uint64_t NumberOf(const Header& header) {
  uint64_t number = 0;
  for (size_t i = sizeof number; i-- > 0;) number = number << 8 | header[i];
  return number;
}

// A router processes a packet's header.  Returns false to drop the packet.
absl::StatusOr<bool> Accept(std::string_view router, Header* header) {
  auto routers = bloom::PayloadFilter<bloom::Standard>::Over(std::span(*header).subspan(kFilterAt),
                                                             kFilterShape, NumberOf(*header));
  if (!routers.ok()) return routers.status();
  return routers->AddIfAbsent(router);
}

// The next router, by current router and destination.
using Routes = std::map<std::pair<std::string, std::string>, std::string>;

absl::StatusOr<Routes> ReadRoutes(const std::string& path) {
  const absl::StatusOr<std::string> text = examples::ReadWhole(path);
  if (!text.ok()) return text.status();
  Routes routes;
  examples::CsvReader reader(*text);
  for (examples::CsvRecord record;;) {
    const absl::StatusOr<bool> more = reader.Next(&record);
    if (!more.ok()) return absl::DataLossError(path + ": " + std::string(more.status().message()));
    if (!*more) break;
    const std::string place = path + ": line " + std::to_string(record.line) + ": ";
    const auto& fields = record.fields;
    if (record.line == 1) {
      if (fields != std::vector<std::string>{"router", "destination", "next"})
        return absl::DataLossError(place + "the columns are not router,destination,next");
    } else if (fields.size() != 3) {
      return absl::DataLossError(place + "has not three fields");
    } else if (!routes.try_emplace({fields[0], fields[1]}, fields[2]).second) {
      return absl::DataLossError(place + "a second route from " + fields[0] + " to " + fields[1]);
    }
  }
  return routes;
}

void PrintHeader(const Header& header) {
  std::string text = "  ";
  for (const uint8_t byte : header) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  std::cout << text << '\n';
}

// Returns whether the packet arrived.  Prints the routers on its path.
absl::StatusOr<bool> Send(const Routes& routes, const std::string& from, const std::string& to,
                          uint64_t number, bool show_headers) {
  Header header = HeaderOf(number);
  std::vector<Header> headers;
  std::string router = from;
  bool is_dropped = false;
  std::cout << router;
  while (router != to) {
    const absl::StatusOr<bool> accepted = Accept(router, &header);
    if (!accepted.ok()) return accepted.status();
    is_dropped = !*accepted;
    if (is_dropped) break;
    headers.push_back(header);
    const auto route = routes.find({router, to});
    if (route == routes.end())
      return absl::FailedPreconditionError(router + " has no route to " + to);
    router = route->second;
    std::cout << ' ' << router;
  }
  std::cout << (is_dropped ? " dropped\n" : "\n");
  if (show_headers) std::for_each(headers.begin(), headers.end(), PrintHeader);
  return !is_dropped;
}

absl::Status Run(examples::CommandLine& line) {
  const uint64_t tries = line.Count("--tries", 3, 1, 1000);
  const uint64_t number = line.SeedOrRandom("--number");
  if (!line.status().ok()) return line.status();
  const std::string &from = line.words()[1], &to = line.words()[2];
  const absl::StatusOr<Routes> routes = ReadRoutes(line.words()[0]);
  if (!routes.ok()) return routes.status();
  for (uint64_t i = 0; i < tries; ++i) {
    const absl::StatusOr<bool> arrived = Send(*routes, from, to, number + i, line.Has("--headers"));
    if (!arrived.ok()) return arrived.status();
    if (!*arrived) continue;
    std::cerr << "packet_loops: arrived, try " << i + 1 << "\n";
    return absl::OkStatus();
  }
  std::cerr << "packet_loops: a loop, after " << tries << " tries\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  return examples::Main(argc, argv,
                        {.name = "packet_loops",
                         .help = kHelp,
                         .options = {"--tries", "--number", "--headers"},
                         .words = {3, 3}},
                        Run);
}
