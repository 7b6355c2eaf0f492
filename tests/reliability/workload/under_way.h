// The operation that a job is about to begin.  If the job's process dies, its parent reports this
// operation.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_UNDER_WAY_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_UNDER_WAY_H_

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace reliability {

inline constexpr size_t kUnderWayBytes = 200;

// Memory shared with the parent; null if there is none.
inline char* under_way = nullptr;

inline void SayUnderWay(std::string_view what) {
  if (under_way == nullptr) return;
  const size_t bytes = std::min(what.size(), kUnderWayBytes - 1);
  std::copy_n(what.data(), bytes, under_way);
  under_way[bytes] = '\0';
}

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_UNDER_WAY_H_
