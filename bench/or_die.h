// Ends a micro benchmark after an error, with a message.
#ifndef TRELLIS_BENCH_OR_DIE_H_
#define TRELLIS_BENCH_OR_DIE_H_

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bench {

inline void OrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename Value>
Value OrDie(absl::StatusOr<Value> result) {
  OrDie(result.status());
  return *std::move(result);
}

}  // namespace bench

#endif  // TRELLIS_BENCH_OR_DIE_H_
