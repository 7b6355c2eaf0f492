#include "bench/workload.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <utility>

#include "lsm/bytes/escape.h"

namespace bench {
namespace {

// Not stored anywhere: only benchmarks' values depend on it.
uint64_t HashOf(std::string_view key, uint64_t version) {
  uint64_t hash = key.size() * 0x9e3779b97f4a7c15ULL + (version - 1);
  while (key.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, key.data(), 8);
    hash = Mix(hash ^ word);
    key.remove_prefix(8);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, key.data(), key.size());
  return Mix(hash ^ tail);
}

// The `i`-th word of a value's random half.
uint64_t WordOf(uint64_t hash, size_t i) { return Mix(hash + i * 0x9e3779b97f4a7c15ULL); }

// Yields the keys of one list in random order, in a loop.
class Deck {
 public:
  Deck(const KeyList& keys, uint64_t seed) : keys_(keys), order_(Shuffled(keys.size(), seed)) {}
  std::string_view Draw() {
    assert(!order_.empty());
    const std::string_view key = keys_[static_cast<size_t>(order_[at_])];
    at_ = at_ + 1 == order_.size() ? 0 : at_ + 1;
    return key;
  }

 private:
  const KeyList& keys_;
  std::vector<uint64_t> order_;
  size_t at_ = 0;
};

}  // namespace

uint64_t StoreSeed(uint64_t seed, std::string_view name) {
  uint64_t mixed = Mix(seed);
  for (const char c : name) mixed = Mix(mixed ^ static_cast<unsigned char>(c));
  return mixed;
}

std::vector<uint64_t> Shuffled(uint64_t count, uint64_t seed) {
  std::vector<uint64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), uint64_t{0});
  SplitMix random(seed);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(random.Below(i))]);
  }
  return order;
}

std::string SyntheticKey(uint64_t number, uint64_t seed) { return HexKey(Mix(number ^ Mix(seed))); }

std::string HexKey(uint64_t number) {
  std::string key(16, '0');
  for (size_t i = key.size(); i-- > 0; number >>= 4) key[i] = lsm::kHexDigits[number & 15];
  return key;
}

std::string DecimalKey(uint64_t number) {
  std::string key(16, '0');
  for (size_t i = key.size(); i-- > 0; number /= 10) key[i] = static_cast<char>('0' + number % 10);
  return key;
}

void KeyList::Add(std::string_view key) {
  bytes_.append(key);
  ends_.push_back(bytes_.size());
}

void ValueMaker::Make(std::string_view key, std::string* value, uint64_t version) const {
  value->resize(value_bytes_);
  const uint64_t hash = HashOf(key, version);
  const size_t half = (value_bytes_ + 1) / 2;
  for (size_t i = 0; i < half; i += 8) {
    const uint64_t word = WordOf(hash, i / 8);
    std::memcpy(value->data() + i, &word, std::min<size_t>(8, half - i));
  }
  std::memcpy(value->data() + half, value->data(), value_bytes_ - half);
}

bool ValueMaker::Matches(std::string_view key, std::string_view value, uint64_t version) const {
  if (value.size() != value_bytes_) return false;
  const uint64_t hash = HashOf(key, version);
  const size_t half = (value_bytes_ + 1) / 2;
  // Writes whole words, because this is part of most measured times.
  size_t i = 0;
  for (; i + 8 <= half; i += 8) {
    const uint64_t word = WordOf(hash, i / 8);
    if (std::memcmp(value.data() + i, &word, 8) != 0) return false;
  }
  const uint64_t word = WordOf(hash, i / 8);
  return std::memcmp(value.data() + i, &word, half - i) == 0 &&
         std::memcmp(value.data() + half, value.data(), value_bytes_ - half) == 0;
}

const char* NameOf(Workload workload) {
  switch (workload) {
    case Workload::kPresent:
      return "present";
    case Workload::kAbsent:
      return "absent";
    case Workload::kMixed:
      return "mixed";
  }
  return "?";
}

QueryStream::QueryStream(Workload workload, const KeyList& present, const KeyList& absent,
                         double present_share, size_t length, uint64_t seed)
    : workload_(workload) {
  if (workload == Workload::kPresent) present_share = 1;
  if (workload == Workload::kAbsent) present_share = 0;
  const size_t longest = (present_share > 0 ? present.size() : 0) +  //
                         (present_share < 1 ? absent.size() : 0);
  length = std::max<size_t>(1, std::min(length, longest));
  SplitMix random(seed);
  Deck present_deck(present, random.Next());
  Deck absent_deck(absent, random.Next());
  present_.reserve(length);
  for (size_t i = 0; i < length; ++i) {
    const bool is_present = random.Fraction() < present_share;
    keys_.Add(is_present ? present_deck.Draw() : absent_deck.Draw());
    present_.push_back(is_present ? 1 : 0);
  }
}

}  // namespace bench
