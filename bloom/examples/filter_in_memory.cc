// A filter in memory, to which keys are added one by one.
//
//   add_executable(filter_in_memory filter_in_memory.cc)
//   target_link_libraries(filter_in_memory PRIVATE Trellis::bloom)
#include <iostream>

#include "bloom/filter.h"

int main() {
  auto filter = bloom::Filter<bloom::Standard>::Make(1'000'000, 0.01);
  if (!filter.ok()) return std::cerr << filter.status() << "\n", 1;
  filter->Add("apple");
  std::cout << "banana: " << (filter->MayContain("banana") ? "maybe" : "no") << "\n";
}
