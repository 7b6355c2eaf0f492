// Rules of tidy_test.cc about the language of documents and comments.
#ifndef TRELLIS_TESTS_TIDY_PROSE_H_
#define TRELLIS_TESTS_TIDY_PROSE_H_

#include "tests/tidy_tree.h"

namespace tidy {

// At most 2 % of a document's sentences, or one of them, have more than 35 words.  Code and
// headings are left out; a list item and a cell of a table begin a sentence; `code` counts as one
// word.  In cells, which often list fields, a semicolon ends an item, and `code` does not count.
Complaints SentencesAreShort(const Tree& tree);

// No sentence of a document and no line of a comment begins with "What", "Whatever" or "Of", except
// questions: it names its subject.
Complaints SentencesHaveSubjects(const Tree& tree);

// No clause in a document or a comment begins with "who" and lacks the person that it tells of.
Complaints WhoHasAnActor(const Tree& tree);

// Documents, comments and strings in code use the field's words ("again", "wasted", "recover"), and
// not those for which English has better ones.
Complaints WordsAreTheFields(const Tree& tree);

}  // namespace tidy

#endif  // TRELLIS_TESTS_TIDY_PROSE_H_
