#include "tests/fuzz/loaders.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "bloom/family.h"
#include "bloom/filter_policy.h"
#include "bloom/inspect.h"
#include "tests/bloom/kinds.h"
#include "tests/bloom/use_loaded.h"

namespace fuzz {
namespace {

using testing_support::BuildFilter;
using testing_support::Demand;
using testing_support::DigestOfKey;
using testing_support::DigestsOfKeys;
using testing_support::ExactCopy;

bool UseReader(std::string_view bytes) {
  const ExactCopy copy(bytes);
  const bloom::FilterReader reader = bloom::FilterReader::Open(copy.view());
  const bool usable = reader.state() == bloom::FilterState::kUsable;
  const auto digests = DigestsOfKeys(0, 150);
  bool answers[150];
  reader.MayContainBatch(digests, answers);
  for (size_t i = 0; i < digests.size(); ++i) {
    reader.Prefetch(digests[i]);
    Demand(reader.MayContain(digests[i]) == answers[i],
           "a batch gives the same answers as single lookups");
    Demand(usable || answers[i], "MayContain is true without a usable filter");
  }
  const bloom::FilterDescription description = reader.Describe();
  Demand(description.problem.empty() == usable,
         "the description has a problem exactly if the filter is not usable");
  bloom::FillByPart(reader, 10);
  return usable;
}

std::vector<std::string> ReaderSeeds() {
  std::vector<std::string> seeds;
  bloom::KeyedKinds::ForEach([&seeds]<class K>(K) {
    for (const uint64_t keys : {0, 1, 20, 300, 2000}) {
      for (const double fpp : {0.3, 0.01, 1e-5}) {
        if (keys * fpp < 20)
          seeds.push_back(
              BuildFilter(K::kName, {.target_fpp = fpp, .seed = keys}, DigestsOfKeys(0, keys)));
      }
    }
  });
  return seeds;
}

template <class F>
bool UseFilter(std::string_view bytes) {
  return testing_support::LoadAndUse<F>(bytes).ok();
}

template <class F>
std::vector<std::string> FilterSeeds() {
  std::vector<std::string> seeds;
  for (const uint64_t keys : {0, 1, 20, 60}) {
    for (const double fpp : {0.3, 0.01}) {
      auto filter = F::Make(20, fpp, 7).value();
      for (uint64_t i = 0; i < keys; ++i) filter.AddDigest(DigestOfKey(i));
      if constexpr (requires { filter.known_false_positive_count(); }) {
        for (uint64_t i = 1000; i < 1100; ++i)
          filter.AddFalsePositiveDigest(DigestOfKey(i)).value();
      }
      seeds.push_back(filter.Serialize());
    }
  }
  return seeds;
}

template <class... Filters>
void AddFamily(bloom::FilterList<Filters...>, std::vector<Loader>& loaders) {
  (loaders.push_back({std::string(Filters::kName), &UseFilter<Filters>, &ReshapeHeader,
                      &RepairHeader, &FilterSeeds<Filters>}),
   ...);
}

}  // namespace

void RepairHeader(std::string& bytes) {
  if (bytes.size() >= bloom::kFilterHeaderBytes) testing_support::RepairChecksum(bytes);
}

// The unit of a size is a bit, a line of 32 or 64 bytes, a number of `detail` bits, or a slot of
// one bit per probe.  After the last bit there may be 56 to 63 bits of padding, for a load that
// begins at it.
void ReshapeHeader(std::string& bytes, uint64_t random) {
  if (bytes.size() <= bloom::kFilterHeaderBytes) return;
  const uint64_t payload_bits = 8 * (bytes.size() - bloom::kFilterHeaderBytes);
  const uint64_t detail = random / 6 % 70;
  const uint64_t probes = std::max<uint64_t>(static_cast<uint8_t>(bytes[10]), 1);
  const uint64_t sizes[] = {
      payload_bits,          payload_bits / 256,
      payload_bits / 512,    payload_bits / std::max<uint64_t>(detail, 1),
      payload_bits / probes, payload_bits - std::min<uint64_t>(payload_bits, 56 + detail % 8)};
  const uint64_t choice = random % std::size(sizes);
  bloom::Store64(&bytes[32], sizes[choice]);
  if (choice == 3) bloom::Store64(&bytes[48], detail);
}

const std::vector<Loader>& Loaders() {
  static const auto& all = *new std::vector<Loader>([] {
    std::vector<Loader> loaders;
    loaders.push_back({"reader", &UseReader, &ReshapeHeader, &RepairHeader, &ReaderSeeds});
    AddFamily(bloom::Family(), loaders);
    for (Loader& loader : OtherLoaders()) loaders.push_back(std::move(loader));
    for (Loader& loader : StoreLoaders()) loaders.push_back(std::move(loader));
    return loaders;
  }());
  return all;
}

std::string PackCorpus(const std::vector<std::string>& inputs) {
  std::string packed;
  for (const std::string& input : inputs) {
    for (int shift = 0; shift < 32; shift += 8)
      packed += static_cast<char>(input.size() >> shift & 255);
    packed += input;
  }
  return packed;
}

std::vector<std::string> UnpackCorpus(std::string_view packed) {
  std::vector<std::string> inputs;
  while (!packed.empty()) {
    size_t size = 0;
    for (size_t i = 0; i < 4 && i < packed.size(); ++i)
      size |= size_t{static_cast<uint8_t>(packed[i])} << (8 * i);
    Demand(packed.size() >= 4 && size <= packed.size() - 4,
           "a corpus is a sequence of sizes and inputs");
    inputs.emplace_back(packed.substr(4, size));
    packed.remove_prefix(4 + size);
  }
  return inputs;
}

}  // namespace fuzz
