// The inline namespace of the libraries.  Its name contains the version of the binary interface, so
// that two versions of Trellis can live in one process.  Every header and source opens it:
//
//   namespace lsm::inline TRELLIS_ABI { ... }
//
// Users write lsm::DB; the linker sees lsm::v0_1::DB.  Like the SONAME of the shared libraries, the
// version changes with the minor version while the major one is 0, and later with the major one.  A
// release that changes a public class or signature raises both (CONTRIBUTING.md, build options).
#ifndef TRELLIS_BLOOM_CORE_ABI_H_
#define TRELLIS_BLOOM_CORE_ABI_H_

// Public headers include this one before any other header of Trellis, so this error comes first.
// The header below does not exist: it ends the compilation before other errors bury this one.
#if __cplusplus < 202002L
#error "Trellis needs C++20: compile with -std=c++20 or later (CMake: CXX_STANDARD 20)"
#include <Trellis needs C++20>
#endif

// Already defined only if a program builds a second copy of the libraries under another name.
#ifndef TRELLIS_ABI
#define TRELLIS_ABI v0_1
#endif

// Marks the classes and functions that a program may link: all that the public headers declare, and
// the few private functions that their inline code calls.  The shared libraries export these and
// nothing else.  Trellis's own build sets TRELLIS_EXPORTS when it makes shared libraries.  Programs
// never set it: they need no mark to use a symbol, and without the mark a program that links the
// static libraries exports none of their symbols.
#ifdef TRELLIS_EXPORTS
#define TRELLIS_API [[gnu::visibility("default")]]
#else
#define TRELLIS_API
#endif

#endif  // TRELLIS_BLOOM_CORE_ABI_H_
