// Sanitizers make tests several times slower.  So exhaustive tests try every place only in a
// release build, and a part of the places under a sanitizer.
#ifndef TRELLIS_TESTS_SUPPORT_SANITIZED_H_
#define TRELLIS_TESTS_SUPPORT_SANITIZED_H_

#include <cstddef>

namespace testing_support {

#ifdef TRELLIS_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// Tests try one in this many places.  Under a sanitizer it is a prime, so that no kind of place is
// always skipped.
inline constexpr size_t kStride = kIsSanitized ? 5 : 1;

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_SANITIZED_H_
