// Uses the smallest part of Abseil that a user of Trellis needs.
#include <iostream>

#include "absl/status/statusor.h"

int main(int argc, char**) {
  const absl::StatusOr<int> answer =
      argc > 1 ? absl::StatusOr<int>(argc) : absl::InvalidArgumentError("no argument");
  std::cout << answer.status() << "\n";
}
