// Rules of tidy_test.cc about the documents of a tree, and about tools/dev.
#ifndef TRELLIS_TESTS_TIDY_DOCUMENTS_H_
#define TRELLIS_TESTS_TIDY_DOCUMENTS_H_

#include "tests/tidy_tree.h"

namespace tidy {

// Targets of [text](target) that lie in the tree.
Complaints LinksLeadSomewhere(const Tree& tree);

// Paths in `code` that begin with a folder of ours, and names of sources, documents and scripts.
// Such a name may begin at the document's folder, at any folder below the document's part of the
// tree (`bloom/`, `lsm/` ...), or below `tests/`.
Complaints PathsInTextExist(const Tree& tree);

// Each program of an examples folder begins with a comment: its purpose, then the lines of CMake
// that build it in a stranger's project.
Complaints ExamplesSayHowTheyAreBuilt(const Tree& tree);

// README.md has at most 150 lines, and bench/README.md 385; the table of results in the first
// stands in the second too.
Complaints TheFrontPageIsShort(const Tree& tree);

// Lines of documents and CMake files have at most 120 characters.  Left out: tables, code and
// excerpts of documents, single words (links), and quoted arguments of CMake.
Complaints LinesAreNarrow(const Tree& tree);

// A line `<!-- FILE: NAME -->` stands before each C++ of a document: it is the snippet of that name
// in the example FILE, between the lines `// snippet: NAME` and `// end`.  With `<!-- FILE -->`, it
// is the whole program, of at most 20 lines.  Each snippet is shown; README.md shows
// a program, bloom/README.md two.
Complaints ShownCodeIsCompiled(const Tree& tree);

// `tools/dev excerpt` has put something into each place that a document keeps for it, and each of
// its excerpts has a place.
Complaints ExcerptsHoldSomething(const Tree& tree);

// A quotation after a line `<!-- also in: FILE ... -->` stands in these files word for word.
Complaints SharedSentencesAreTheSame(const Tree& tree);

// CONTRIBUTING.md has a row for each build option of CMakeLists.txt, and for no other.
Complaints BuildOptionsAreDocumented(const Tree& tree);

// The help of tools/dev lists its commands, and no others.  Documents name only its commands.
Complaints CommandsAreInTheHelp(const Tree& tree);

// `tools/dev rewrite` finds a test that compares with a file by its name.
Complaints RewrittenTestsAreNamed(const Tree& tree);

}  // namespace tidy

#endif  // TRELLIS_TESTS_TIDY_DOCUMENTS_H_
