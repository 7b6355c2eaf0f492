// The addresses of those functions of Filter that depend on the CPU for which a file is compiled.
#ifndef TRELLIS_TESTS_BLOOM_FILTER_FUNCTIONS_H_
#define TRELLIS_TESTS_BLOOM_FILTER_FUNCTIONS_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "bloom/filter.h"
#include "bloom/variants/blocked.h"

namespace testing_support {

using FunctionAddresses = std::array<uintptr_t, 7>;

// Each file that includes this gets its own functions.
namespace {

template <class Function>
uintptr_t AddressOf(Function function) {
  uintptr_t address;
  static_assert(sizeof function >= sizeof address);  // of a member: the address, then an offset
  std::memcpy(&address, &function, sizeof address);
  return address;
}

[[maybe_unused]] FunctionAddresses AddressesInThisFile() {
  using F = bloom::Filter<bloom::Blocked>;
  return {AddressOf(&F::Add),
          AddressOf(&F::AddDigest),
          AddressOf(&F::AddIfAbsent),
          AddressOf(&F::AddDigestIfAbsent),
          AddressOf(&F::AddDigestsIfAbsent),
          AddressOf(&F::MayContain),
          AddressOf(&F::MayContainDigest)};
}

}  // namespace

// The addresses in a file that is compiled for any CPU.
FunctionAddresses AddressesForAnyCpu();

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_FILTER_FUNCTIONS_H_
