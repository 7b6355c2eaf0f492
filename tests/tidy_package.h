// Rules of tidy_test.cc about what is installed, and about the top level.
#ifndef TRELLIS_TESTS_TIDY_PACKAGE_H_
#define TRELLIS_TESTS_TIDY_PACKAGE_H_

#include <set>
#include <string>

#include "tests/tidy_tree.h"

namespace tidy {

inline constexpr char kInstallRules[] = "tools/cmake/TrellisInstall.cmake";

// A header directly in bloom/ or lsm/: the path tells what is public.
bool IsPublicHeader(const std::string& path);

// A header of ours and those that it includes, directly or not.
void AddHeaders(const Tree& tree, const std::string& path, std::set<std::string>* headers);

// The public headers are installed with the headers that they include.  Those exist, are public or
// in bloom/, and include Status and StatusOr alone of Abseil.
Complaints InstalledHeadersAreClosed(const Tree& tree);

// Pages that an installed header names are installed.
Complaints PagesForEmbeddersAreInstalled(const Tree& tree);

// Programs of users include the public headers of bloom/, each of them somewhere, and no others.
Complaints PublicHeadersOfBloomAreEnough(const Tree& tree);

// The version is that of the CMake project; sources get it from lsm/release.h or as a definition.
Complaints TheReleaseStandsOnce(const Tree& tree);

// TRELLIS_ABI names the same version as the SONAME of the shared libraries, which CMake makes from
// the release.
Complaints TheInterfaceHasTheVersionOfTheRelease(const Tree& tree);

// The top level has the usual files and the folders of the parts.
Complaints TheTopLevelIsBare(const Tree& tree);

}  // namespace tidy

#endif  // TRELLIS_TESTS_TIDY_PACKAGE_H_
