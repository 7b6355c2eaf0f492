// A program that wants the filters alone.
#include <iostream>

#include "bloom/filter_policy.h"

int main() {
  auto policy = bloom::PolicyFromName("standard");
  if (!policy.ok()) return std::cerr << policy.status() << "\n", 1;
  auto builder = (*policy)->NewBuilder({.target_fpp = 0.01});
  const bloom::Digest apple = bloom::DigestOf("apple", 42), pear = bloom::DigestOf("pear", 42);
  builder->Add(apple);
  auto bytes = builder->Finish();
  if (!bytes.ok()) return std::cerr << bytes.status() << "\n", 1;
  const bloom::FilterReader reader = bloom::FilterReader::Open(*bytes);
  std::cout << "apple: " << reader.MayContain(apple) << ", pear: " << reader.MayContain(pear)
            << "\n";
  return reader.MayContain(apple) ? 0 : 1;
}
