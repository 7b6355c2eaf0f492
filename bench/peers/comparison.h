// The same work for several stores, in rounds that alternate between them.  A store is timed only
// when the others have no work in the background left.
#ifndef TRELLIS_BENCH_PEERS_COMPARISON_H_
#define TRELLIS_BENCH_PEERS_COMPARISON_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/machine.h"
#include "bench/peers/peer.h"
#include "bench/progress.h"
#include "bench/table.h"
#include "bench/workload.h"

namespace bench {

struct ComparisonConfig {
  uint64_t keys = 2000000;
  uint64_t value_bytes = 100;
  int rounds = 3;
  double seconds = 2;  // of one measurement of lookups
  uint64_t seed = 1;
  std::string out = "peers_out";
  PeerSettings settings;
};

// Times of one workload: [peer][round], microseconds an operation.
struct WorkloadTimes {
  std::string name;
  std::vector<std::vector<double>> micros;
};

// Grammar: Run, once; then the rest.
class Comparison {
 public:
  // The first of the peers is the one that the others are compared with.
  Comparison(const ComparisonConfig& config, std::vector<std::unique_ptr<Peer>> peers);

  // Stops at the first wrong answer or error.
  absl::Status Run();

  Table ToTable() const;
  nlohmann::ordered_json ToJson() const;
  std::string ToText() const;

 private:
  std::string DirectoryOf(size_t peer) const;
  void Record(const std::string& workload, size_t peer, double seconds, uint64_t operations);

  // Order of the peers in a round: another one is first each time, the others follow in turn.
  size_t At(int round, size_t i) const { return (i + static_cast<size_t>(round)) % peers_.size(); }

  absl::Status Fill(size_t peer);
  absl::Status CompactAndWarm(size_t peer);
  absl::Status Lookups(int round, size_t peer, QueryStream* stream, const std::string& workload);
  absl::Status CheckedGet(Peer* peer, const QueryStream::Query& query) const;
  // What the loops themselves cost: making a value; choosing a key and checking an answer.
  void MeasureFillLoop();
  void MeasureLookupLoop(QueryStream* stream, const std::string& workload);

  const ComparisonConfig config_;
  const std::vector<std::unique_ptr<Peer>> peers_;
  const ValueMaker values_;
  KeyList present_, absent_;  // in the order in which they are written
  Conditions conditions_;
  std::vector<WorkloadTimes> times_;
  std::vector<std::pair<std::string, double>> loop_micros_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_PEERS_COMPARISON_H_
