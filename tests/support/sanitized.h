// Sanitizers make everything take several times as long: tests that try every place of something
// try a part of them there, and all in a release build.
#ifndef TRELLIS_TESTS_SUPPORT_SANITIZED_H_
#define TRELLIS_TESTS_SUPPORT_SANITIZED_H_

#include <cstddef>

namespace testing_support {

#ifdef TRELLIS_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// Tests try one in this many places.  It is a prime, so that no kind of place is always skipped.
inline constexpr size_t kStride = kIsSanitized ? 5 : 1;

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_SANITIZED_H_
