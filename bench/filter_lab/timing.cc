#include "bench/filter_lab/timing.h"

#include <algorithm>
#include <utility>

#include "bench/filter_lab/stopwatch.h"
#include "bench/filter_lab/variants.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using bloom::Digest;

constexpr size_t kTimedBatch = 256;

// Enough queries that branch prediction cannot learn the answers.
std::vector<Digest> Questions(uint64_t keys, bool present, uint64_t salt) {
  std::vector<Digest> digests(1 << 18);
  for (uint64_t i = 0; i < digests.size(); ++i)
    digests[i] = LabDigest(present ? bloom::Remix(i, 1) % keys : keys + i, salt);
  return digests;
}

double SingleNanos(const bloom::FilterReader& reader, const std::vector<Digest>& digests,
                   int repeats) {
  uint64_t passing = 0;
  return BestNanos(repeats, digests.size(), [&] {
    for (const Digest digest : digests) passing += reader.MayContain(digest);
    asm volatile("" : "+r"(passing));
  });
}

double BatchNanos(const bloom::FilterReader& reader, const std::vector<Digest>& digests,
                  int repeats) {
  bool answers[kTimedBatch];
  return BestNanos(repeats, digests.size(), [&] {
    for (size_t i = 0; i < digests.size(); i += kTimedBatch) {
      reader.MayContainBatch({&digests[i], kTimedBatch}, answers);
      asm volatile("" : : "r"(answers) : "memory");
    }
  });
}

}  // namespace

QueryNanos TimeQueries(const bloom::FilterReader& reader, uint64_t keys, uint64_t salt,
                       int repeats) {
  const std::vector<Digest> absent = Questions(keys, false, salt);
  const std::vector<Digest> present = Questions(keys, true, salt);
  return {SingleNanos(reader, absent, repeats), SingleNanos(reader, present, repeats),
          BatchNanos(reader, absent, repeats), BatchNanos(reader, present, repeats)};
}

void AddNanos(const QueryNanos& nanos, nlohmann::ordered_json* row) {
  (*row)["absent_ns"] = nanos.absent;
  (*row)["present_ns"] = nanos.present;
  (*row)["batch_absent_ns"] = nanos.batch_absent;
  (*row)["batch_present_ns"] = nanos.batch_present;
}

absl::StatusOr<AlignedFilter> Align(std::string_view encoded) {
  AlignedFilter aligned;
  TRELLIS_ASSIGN_OR_RETURN(aligned.bytes, bloom::ZerosFor(encoded.size()));
  std::copy(encoded.begin(), encoded.end(), aligned.bytes.data());
  aligned.reader = bloom::FilterReader::Open(
      {reinterpret_cast<const char*>(aligned.bytes.data()), encoded.size()});
  return aligned;
}

}  // namespace bench
