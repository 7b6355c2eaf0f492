// Damaged and forged bytes of a filter that wraps another one (bloom/core/wrapped.h).
//
// `load` loads a filter from bytes and, if that succeeds, uses the filter in every way.  It returns
// the status of loading.  It gets copies of exactly the right size, so that AddressSanitizer
// detects reads outside them.
#ifndef TRELLIS_TESTS_BLOOM_WRAPPED_BYTES_H_
#define TRELLIS_TESTS_BLOOM_WRAPPED_BYTES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/bits.h"
#include "tests/bloom/hostile_bytes.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace testing_support {

using LoadWrapped = std::function<absl::Status(std::string_view bytes)>;

inline void ExpectWrappedDamageIsDataLoss(const std::string& sound, const LoadWrapped& load) {
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  ASSERT_THAT(LoadExactCopy(sound, load), IsOk());
  for (size_t bit = 0; bit < 8 * sound.size(); ++bit) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_THAT(LoadExactCopy(damaged, load), StatusIs(kLoss)) << "bit " << bit;
    // With the right outer checksum, the inner checksum or the comparison of the two headers
    // detects it.
    if (bit / 8 < kInnerAt || bit / 8 >= kInnerAt + bloom::Load64(&sound[32])) continue;
    RepairChecksum(damaged);
    ASSERT_THAT(LoadExactCopy(damaged, load), StatusIs(kLoss)) << "bit " << bit;
  }
  for (size_t size = 0; size < sound.size(); ++size) {
    ASSERT_THAT(LoadExactCopy(std::string_view(sound).substr(0, size), load), StatusIs(kLoss))
        << size;
  }
  ASSERT_THAT(LoadExactCopy(sound + '\0', load), StatusIs(kLoss));
  // The probes, seed, key count and target FPP; the outer header has copies of these fields.
  for (const size_t at : {10, 16, 24, 40}) {
    std::string other = sound;
    other[at] = static_cast<char>(other[at] ^ 1);
    RepairChecksum(other);
    ASSERT_THAT(LoadExactCopy(other, load), StatusIs(kLoss, testing::HasSubstr("inside"))) << at;
  }
  // The bytes end with the inner filter, but the header says that it is one byte longer.
  const uint64_t inner_bytes = bloom::Load64(&sound[32]);
  std::string longer = sound.substr(0, kInnerAt + inner_bytes);
  bloom::Store64(&longer[32], inner_bytes + 1);
  RepairChecksum(longer);
  ASSERT_THAT(LoadExactCopy(longer, load), StatusIs(kLoss));
}

inline void ExpectOtherWrappedAreRefusedByName(const std::string& sound, const LoadWrapped& load) {
  const auto with = [&sound](size_t at, uint8_t value) {
    std::string changed = sound;
    changed[at] = static_cast<char>(value);
    RepairBothChecksums(changed);
    return changed;
  };
  const auto is = [](absl::StatusCode code, const char* what) {
    return StatusIs(code, testing::HasSubstr(what));
  };
  EXPECT_THAT(LoadExactCopy(with(8, 200), load),
              is(absl::StatusCode::kInvalidArgument, "kind 200"));
  EXPECT_THAT(LoadExactCopy(with(9, 99), load), is(absl::StatusCode::kUnimplemented, "version 99"));
  EXPECT_THAT(LoadExactCopy(with(12, 9), load), is(absl::StatusCode::kUnimplemented, "hash id 9"));
  EXPECT_THAT(LoadExactCopy(with(kInnerAt + 8, 200), load),
              is(absl::StatusCode::kInvalidArgument, "kind 200"));
  EXPECT_THAT(LoadExactCopy(with(kInnerAt + 9, 99), load),
              is(absl::StatusCode::kUnimplemented, "version 99"));
}

// Forged bytes: fields and payloads changed under right checksums.  Loading and using them ends and
// does no harm.
inline void ExpectForgedWrappedDoNoHarm(const std::string& sound, int rounds,
                                        const LoadWrapped& load) {
  Dice dice(20'261'122);
  const uint64_t inner_bytes = bloom::Load64(&sound[32]);
  const uint64_t edges[] = {0,
                            1,
                            2,
                            63,
                            64,
                            512,
                            inner_bytes,
                            inner_bytes - 1,
                            inner_bytes + 1,
                            sound.size(),
                            sound.size() - 64,
                            uint64_t{1} << 32,
                            uint64_t{1} << 56,
                            UINT64_MAX - 63,
                            UINT64_MAX};
  int loaded = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = sound;
    for (uint64_t changes = 1 + dice.Roll(3); changes > 0; --changes) {
      const size_t header = dice.OneIn(2) || bytes.size() < 128 ? 0 : kInnerAt;
      const size_t field = header + 16 + 8 * dice.Roll(5);
      switch (dice.Roll(6)) {
        case 0:
          bytes[header + 9 + dice.Roll(4)] = static_cast<char>(dice.Roll(40));
          break;
        case 1:
          bloom::Store64(&bytes[field], edges[dice.Roll(std::size(edges))]);
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
        case 5:  // fields of both headers: seed, key count, target FPP
          if (bytes.size() >= 128) bytes.replace(16, 16, bytes, kInnerAt + 16, 16);
          if (bytes.size() >= 128) bytes.replace(40, 8, bytes, kInnerAt + 40, 8);
          break;
      }
    }
    RepairBothChecksums(bytes);
    loaded += LoadExactCopy(bytes, load).ok();
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
  EXPECT_GT(loaded, 0);  // some forgeries pass the checks
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_WRAPPED_BYTES_H_
