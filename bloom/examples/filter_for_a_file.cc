// Builds a filter for a file from a complete set of keys, and reads it back.
//
//   add_executable(filter_for_a_file filter_for_a_file.cc)
//   target_link_libraries(filter_for_a_file PRIVATE Trellis::bloom)
#include <cstdint>
#include <iostream>
#include <string_view>

#include "bloom/filter_policy.h"

int main() {
  const uint64_t store_seed = 42, file_seed = 7;  // draw at random, keep with store and file
  auto policy = bloom::PolicyFromName("blocked").value();
  auto builder = policy->NewBuilder({.target_fpp = 0.01, .seed = file_seed});
  for (std::string_view key : {"apple", "cherry"}) builder->Add(bloom::DigestOf(key, store_seed));
  auto bytes = builder->Finish();  // sized for the added keys, checked with all of them
  if (!bytes.ok()) return std::cerr << bytes.status() << "\n", 1;

  auto reader = bloom::FilterReader::Open(*bytes);  // never fails; unreadable: "maybe"
  const bloom::Digest banana = bloom::DigestOf("banana", store_seed);
  std::cout << "banana: " << (reader.MayContain(banana) ? "maybe" : "no") << "\n";
}
