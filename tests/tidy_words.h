// Rules of tidy_test.cc about words in code.
#ifndef TRELLIS_TESTS_TIDY_WORDS_H_
#define TRELLIS_TESTS_TIDY_WORDS_H_

#include <cstddef>

#include "tests/tidy_tree.h"

namespace tidy {

inline constexpr size_t kTestNameMax = 60;

// No notes about what is missing, no dead code, no tests that do not run.
Complaints NothingIsPutOff(const Tree& tree);

// The project has one way to do a thing.  Examples are exempt: they include public
// headers alone.
Complaints ThereIsOneWay(const Tree& tree);

// Names of tests are short phrases: "DropsTornTail", not "WhatIsTornIsDropped".
Complaints TestNamesArePlain(const Tree& tree);

}  // namespace tidy

#endif  // TRELLIS_TESTS_TIDY_WORDS_H_
