// Loads a filter from arbitrary bytes and, if that succeeds, uses the filter in every way.  Asserts
// what must hold for every filter.  Shared by the tests of forged bytes and by the fuzzers.
#ifndef TRELLIS_TESTS_BLOOM_USE_LOADED_H_
#define TRELLIS_TESTS_BLOOM_USE_LOADED_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/literature/retouched.h"
#include "tests/bloom/kinds.h"

namespace testing_support {

// Ends the program if `holds` is false: a fuzzer then keeps the bytes, and a test shows the
// message.
inline void Demand(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "violated for the loaded bytes: " << what << std::endl;
  std::abort();
}

// A copy of exactly the same size, so that AddressSanitizer detects reads outside it.
class ExactCopy {
 public:
  explicit ExactCopy(std::string_view bytes) : size_(bytes.size()), bytes_(new char[size_]) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<char[]> bytes_;
};

template <class F>
absl::Status LoadAndUse(std::string_view bytes) {
  const ExactCopy copy(bytes);
  absl::StatusOr<F> filter = F::Load(copy.view());
  if (!filter.ok()) return filter.status();
  absl::StatusOr<F> again = F::Load(filter->Serialize());
  Demand(again.ok(), "a serialized filter can be loaded");
  Demand(again->Serialize() == filter->Serialize(),
         "a reloaded filter serializes to the same bytes");
  for (uint64_t i = 0; i < 50; ++i) {
    filter->MayContainDigest(DigestOfKey(i));
    filter->AddDigest(DigestOfKey(i));
    Demand(filter->MayContainDigest(DigestOfKey(i)), "a key is in once it was added");
  }
  filter->PredictedFpp(10);
  filter->CurrentFpp();
  if constexpr (requires { filter->EstimatedKeyCount(); }) filter->EstimatedKeyCount();
  // Choosing bits to clear visits all bytes.
  if constexpr (requires { filter->known_false_positive_count(); }) {
    for (uint64_t i = 0; i < 100; ++i) {
      filter->AddFalsePositiveDigest(DigestOfKey(i)).IgnoreError();
      const auto scheme = static_cast<bloom::ClearingScheme>(i % 4);
      if (i % 10 == 9) filter->SelectiveClearingDigest(DigestOfKey(i), scheme).IgnoreError();
    }
    if (filter->ClearKnownFalsePositives(bloom::ClearingScheme::kRatio).ok())
      Demand(filter->known_false_positive_count() == 0, "ClearKnownFalsePositives forgets them");
  }
  bool passed[50];
  for (uint64_t i = 0; i < 50; ++i) passed[i] = filter->MayContainDigest(DigestOfKey(i));
  // Some filters forget keys.  They refuse a merge that would have to forget some.
  if (filter->Merge(*again).ok()) {
    for (uint64_t i = 0; i < 50; ++i)
      Demand(!passed[i] || filter->MayContainDigest(DigestOfKey(i)), "merging loses no key");
  }
  Demand(F::Load(filter->Serialize()).ok(), "a changed filter can be saved and loaded");
  filter->Clear();
  return absl::OkStatus();
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_USE_LOADED_H_
