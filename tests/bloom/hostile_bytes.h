// Damaged and forged bytes, for loaders that must cope with any bytes.
//
// `load` loads a filter from bytes and, if that succeeds, uses the filter in every way.  It returns
// the status of loading.  It gets copies of exactly the right size, so that AddressSanitizer
// detects reads outside them.
#ifndef TRELLIS_TESTS_BLOOM_HOSTILE_BYTES_H_
#define TRELLIS_TESTS_BLOOM_HOSTILE_BYTES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/bits.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace testing_support {

template <class Load>
absl::Status LoadExactCopy(std::string_view bytes, const Load& load) {
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return load(std::string_view(copy.get(), bytes.size()));
}

// Flips every bit, cuts at every length, and adds a byte.  Each must give DataLoss.
template <class Load>
void ExpectAllDamageIsDataLoss(const std::string& sound, Load load) {
  ASSERT_TRUE(LoadExactCopy(sound, load).ok());
  for (size_t bit = 0; bit < 8 * sound.size(); ++bit) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_EQ(LoadExactCopy(damaged, load).code(), absl::StatusCode::kDataLoss) << "bit " << bit;
  }
  for (size_t size = 0; size < sound.size(); ++size) {
    ASSERT_EQ(LoadExactCopy(std::string_view(sound).substr(0, size), load).code(),
              absl::StatusCode::kDataLoss)
        << "first " << size;
  }
  ASSERT_EQ(LoadExactCopy(sound + '\0', load).code(), absl::StatusCode::kDataLoss);
}

// Expects the right errors for bytes of another kind, version or hash.
template <class Load>
void ExpectOthersAreRefusedByName(const std::string& sound, Load load) {
  const auto of_others = [&](size_t at, uint8_t value) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(value);
    RepairChecksum(bytes);
    return LoadExactCopy(bytes, load);
  };
  EXPECT_THAT(of_others(8, 200),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("kind 200")));
  EXPECT_THAT(of_others(9, 99),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("version 99")));
  EXPECT_THAT(of_others(12, 9),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("hash id 9")));
}

// Overwrites a header field or a part of the payload, with the right checksum.  Loading and using
// such bytes must end and do no harm.  Some of them must load; otherwise only the checks were
// tested.
template <class Load>
void ExpectForgeriesDoNoHarm(const std::string& sound, uint64_t seed, int rounds, Load load) {
  Dice dice(seed);
  const uint64_t payload = sound.size() - 64;
  const uint64_t edges[] = {0,
                            1,
                            2,
                            8,
                            7,
                            57,
                            58,
                            64,
                            512,
                            payload,
                            8 * payload,
                            uint64_t{1} << 32,
                            uint64_t{1} << 56,
                            UINT64_MAX / 64 + 1,
                            UINT64_MAX};
  int loaded = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = sound;
    for (uint64_t changes = 1 + dice.Roll(4); changes > 0; --changes) {
      const size_t field = 16 + 8 * dice.Roll(5);  // seed to detail
      const uint64_t edge = edges[dice.Roll(std::size(edges))];
      switch (dice.Roll(6)) {
        case 0:
          bytes[9 + dice.Roll(4)] = static_cast<char>(dice.Roll(40));
          break;
        case 1:
          bloom::Store64(&bytes[field], edge);
          break;
        case 2:
          bloom::Store64(&bytes[field], dice.Next() >> dice.Roll(64));
          break;
        case 3:
          bytes.resize(64 + dice.Roll(2 * sound.size()));
          break;
        case 4:
          if (bytes.size() > 64)
            bytes[64 + dice.Roll(bytes.size() - 64)] = static_cast<char>(dice.Next());
          break;
        case 5:
          if (bytes.size() >= 72) bloom::Store64(&bytes[64 + dice.Roll(bytes.size() - 71)], edge);
          break;
      }
    }
    RepairChecksum(bytes);
    loaded += LoadExactCopy(bytes, load).ok();
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
  EXPECT_GT(loaded, 0);
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_HOSTILE_BYTES_H_
