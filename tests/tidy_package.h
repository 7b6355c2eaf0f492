// Rules of tidy_test.cc about what is installed.
#ifndef TRELLIS_TESTS_TIDY_PACKAGE_H_
#define TRELLIS_TESTS_TIDY_PACKAGE_H_

#include <set>
#include <string>

#include "tests/tidy_tree.h"

namespace tidy {

inline constexpr char kInstallRules[] = "tools/cmake/TrellisInstall.cmake";

// The headers of bloom/ that a header includes, directly or not, itself among them.
void AddBloomHeaders(const Tree& tree, const std::string& path, std::set<std::string>* headers);

// Headers that are installed include installed ones, and of Abseil only Status and StatusOr.  Of
// lsm/ they are those that stand there directly: the path tells what is public.
Complaints InstalledHeadersAreClosed(const Tree& tree);

// Pages that an installed header names are installed.
Complaints PagesForEmbeddersAreInstalled(const Tree& tree);

// Programs of users include the public headers of bloom/, each of them somewhere, and no others.
Complaints PublicHeadersOfBloomAreEnough(const Tree& tree);

// The version is that of the CMake project; sources get it from lsm/release.h or as a definition.
Complaints TheReleaseStandsOnce(const Tree& tree);

}  // namespace tidy

#endif  // TRELLIS_TESTS_TIDY_PACKAGE_H_
