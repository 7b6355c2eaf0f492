#include "bench/peers/data_set.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace bench::peers {
namespace {

// "00" "01" ... "99"
constexpr std::array<char, 200> MakePairs() {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}
constexpr std::array<char, 200> kPairs = MakePairs();

uint8_t After(uint8_t version) { return version == 255 ? 1 : static_cast<uint8_t>(version + 1); }

}  // namespace

DigitKey::DigitKey(uint64_t value) {
  for (size_t at = kKeyBytes; at > 0; at -= 2, value /= 100)
    std::memcpy(&digits_[at - 2], &kPairs[2 * (value % 100)], 2);
}

Numbers InTurn(uint64_t n) {
  Numbers numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), uint32_t{0});
  return numbers;
}

Numbers InRandomOrder(uint64_t n, uint64_t seed) {
  const std::vector<uint64_t> order = Shuffled(n, seed);
  return Numbers(order.begin(), order.end());
}

Numbers Zipfian(uint64_t n, size_t length, double theta, uint64_t seed) {
  assert(n > 0 && theta > 0 && theta < 1);
  double zeta = 0;
  for (uint64_t rank = 1; rank <= n; ++rank) zeta += std::pow(static_cast<double>(rank), -theta);
  const double zeta2 = 1 + std::pow(0.5, theta);
  const double alpha = 1 / (1 - theta);
  const double eta =
      n < 2 ? 0 : (1 - std::pow(2 / static_cast<double>(n), 1 - theta)) / (1 - zeta2 / zeta);
  const Numbers numbers_by_rank = InRandomOrder(n, seed);
  SplitMix random(seed + 1);
  Numbers drawn(length);
  for (uint32_t& number : drawn) {
    const double u = random.Fraction();
    const double uz = u * zeta;
    uint64_t rank = 0;
    if (uz >= zeta2) {
      rank = static_cast<uint64_t>(static_cast<double>(n) * std::pow(eta * u - eta + 1, alpha));
    } else if (uz >= 1) {
      rank = 1;
    }
    number = numbers_by_rank[static_cast<size_t>(std::min(rank, n - 1))];
  }
  return drawn;
}

void Contents::Reset(uint64_t size, uint8_t version) {
  versions_.reset();
  size_ = size;
  capacity_ = 0;
  uniform_ = version;
}

void Contents::Diversify(uint64_t capacity) {
  if (versions_ != nullptr && capacity <= capacity_) return;
  auto versions = std::make_unique<std::atomic<uint8_t>[]>(static_cast<size_t>(capacity));
  for (uint64_t i = 0; i < capacity; ++i)
    versions[i].store(VersionOf(i), std::memory_order_relaxed);  // no other thread exists yet
  versions_ = std::move(versions);
  capacity_ = capacity;
}

void Contents::MakeNext(uint64_t number, std::string* value) const {
  values_.Make(DigitKey::Present(number), value, After(VersionOf(number)));
}

void Contents::Wrote(uint64_t number) {
  assert(number < capacity_);
  size_ = std::max(size_, number + 1);
  // Release: see VersionOf.
  versions_[number].store(After(VersionOf(number)), std::memory_order_release);
}

void Contents::Removed(uint64_t number) {
  assert(number < capacity_);
  versions_[number].store(0, std::memory_order_release);
}

void Contents::WroteAllOf(const Numbers& numbers) {
  for (const uint32_t number : numbers) Wrote(number);
}

bool Contents::MatchesSince(uint64_t number, std::string_view value, uint8_t before) const {
  const uint8_t last = After(VersionOf(number));
  for (uint8_t version = before;; version = After(version)) {
    if (values_.Matches(DigitKey::Present(number), value, version)) return true;
    if (version == last) return false;
  }
}

}  // namespace bench::peers
