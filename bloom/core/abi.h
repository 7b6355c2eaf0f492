// The inline namespace of the libraries.  Its name carries the version of the binary interface, so
// that two versions of Trellis can live in one process.  Every header and source opens it:
//
//   namespace lsm::inline TRELLIS_ABI { ... }
//
// A user writes lsm::DB; the linker sees lsm::v0_1::DB.  The version changes with the minor version
// while the major one is 0, then with the major one, as the shared libraries' SONAME does.
#ifndef TRELLIS_BLOOM_CORE_ABI_H_
#define TRELLIS_BLOOM_CORE_ABI_H_

// Public headers include this one before any other of Trellis, so that this is the first error.
#if __cplusplus < 202002L
#error "Trellis needs C++20: compile with -std=c++20 or later (CMake: CXX_STANDARD 20)"
#endif

// Defined already only where a program builds a second copy of the libraries under another name.
#ifndef TRELLIS_ABI
#define TRELLIS_ABI v0_1
#endif

#endif  // TRELLIS_BLOOM_CORE_ABI_H_
