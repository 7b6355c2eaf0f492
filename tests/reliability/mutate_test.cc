// The program that seeds bugs: a quote matches its source in any layout, and must match exactly
// once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/read_file.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"

namespace reliability {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class MutateTest : public testing::Test {
 protected:
  // Seeds `edits` into `source`.  Returns the copy, or the program's messages if it fails.
  std::string Mutate(const std::string& source, const std::string& edits) {
    std::filesystem::create_directory(scratch_.path_of("from"));
    std::ofstream(scratch_.path_of("from/a.cc")) << source;
    std::ofstream(scratch_.path_of("mutants.txt")) << "mutant bug crash A bug.\nedit a.cc\n"
                                                   << edits;
    const auto [code, out, messages] = testing_support::RunShell(
        "cd '" + scratch_.path() + "' && '" TRELLIS_MUTATE "' from to mutants.txt");
    exit_code_ = code;
    if (code != 0) return messages;
    return testing_support::ReadFile(scratch_.path_of("to/a.cc"));
  }

  // The same without the lines that the program adds.
  std::string Code(const std::string& source, const std::string& edits) {
    std::istringstream lines(Mutate(source, edits));
    std::string code;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("namespace reliability"))
        std::getline(lines, line), std::getline(lines, line);
      else if (!line.starts_with("#line"))
        code += line + "\n";
    }
    return code;
  }

  testing_support::ScratchDir scratch_;
  int exit_code_ = -1;
};

constexpr char kEdit[] = "- if (!log.Sync(a, b)) return;\n+ if (MUTANT(bug)) return;\n";

TEST_F(MutateTest, ReplacesQuotedCode) {
  EXPECT_EQ(Code("void F() {\n  if (!log.Sync(a, b)) return;\n}\n", kEdit),
            "void F() {\n  if ((::reliability::active_mutant == 1)) return;\n\n}\n");
}

TEST_F(MutateTest, IgnoresLayout) {
  for (const char* source :
       {"if(!log.Sync(a,b))return;", "  if (!log\n           .Sync(a,\n  b))\n    return ;",
        "x(); if (!log.Sync(a, b)) return; y();"}) {
    EXPECT_THAT(Mutate(source, kEdit),
                HasSubstr("if ((::reliability::active_mutant == 1)) return;"))
        << source;
    EXPECT_EQ(exit_code_, 0) << source;
  }
}

TEST_F(MutateTest, KeepsTheRestOfALine) {
  EXPECT_EQ(Code("x(); if (!log.Sync(a, b)) return; y();\n", kEdit),
            "x(); if ((::reliability::active_mutant == 1)) return;\n y();\n");
}

TEST_F(MutateTest, LinesKeepTheirNumbers) {
  EXPECT_THAT(Mutate("a\nif (!log.Sync(a,\n b)) return;\nb\n", kEdit),
              HasSubstr("#line 3 \"a.cc\"\n\nb\n"));
}

TEST_F(MutateTest, ComparesOnlyQuotedComments) {
  Mutate("if (!log.Sync(a, b))  // or else\n  return;\n", kEdit);
  EXPECT_EQ(exit_code_, 0);
  const std::string source = "f();  // the first of\n      // the two\nf();  // the second\n";
  EXPECT_EQ(Code(source, "- f();  // the first of the two\n+ g(MUTANT(bug));\n"),
            "g((::reliability::active_mutant == 1));\n\nf();  // the second\n");
  EXPECT_EQ(Code(source, "- f();  // the second\n+ g(MUTANT(bug));\n"),
            "f();  // the first of\n      // the two\ng((::reliability::active_mutant == 1));\n\n");
}

TEST_F(MutateTest, JoinsSplitStrings) {
  EXPECT_EQ(Code("f(\"a (\"\n  \"b\");\n", "- f(\"a (b\");\n+ g(MUTANT(bug));\n"),
            "g((::reliability::active_mutant == 1));\n\n");
  Mutate("f(\"a  b\");\n", "- f(\"a b\");\n+ g(MUTANT(bug));\n");
  EXPECT_EQ(exit_code_, 1) << "white space within a string counts";
}

TEST_F(MutateTest, DoesNotDivideWordsAndStrings) {
  for (const char* source :
       {"if (!blog.Sync(a, b)) return;", "if (!log.Sync(a, b)) returned;",
        "s = \"if (!log.Sync(a, b)) return;\";", "// if (!log.Sync(a, b)) return;",
        "s = R\"x(if (!log.Sync(a, b)) return;)x\";"}) {
    Mutate(source, kEdit);
    EXPECT_EQ(exit_code_, 1) << source;
  }
}

TEST_F(MutateTest, NamesQuotesWithoutAMatch) {
  EXPECT_THAT(Mutate("if (!log.Sync(a, c)) return;\n", kEdit),
              AllOf(HasSubstr("mutants.txt:3:"), HasSubstr("0 times"),
                    HasSubstr("if (!log.Sync(a, b)) return;")));
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(MutateTest, NamesQuotesWithTwoMatches) {
  EXPECT_THAT(Mutate("if (!log.Sync(a, b)) return;\nif (!log.Sync(a,\n  b)) return;\n", kEdit),
              AllOf(HasSubstr("mutants.txt:3:"), HasSubstr("2 times"), HasSubstr("lines 1, 2"),
                    HasSubstr("if (!log.Sync(a, b)) return;")));
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(MutateTest, NamesEveryFailedQuote) {
  EXPECT_THAT(Mutate("x();\n", "- y();\n+ MUTANT(bug);\n- z();\n+ z();\n"),
              AllOf(HasSubstr("mutants.txt:3:"), HasSubstr("mutants.txt:5:")));
}

// The first line of the new code would be a part of the comment, so the bug would not exist.
TEST_F(MutateTest, RefusesQuotesThatBeginWithAComment) {
  EXPECT_THAT(Mutate("// Why.\nF();\n", "- // Why.\n- F();\n+ if (!MUTANT(bug)) F();\n"),
              AllOf(HasSubstr("mutants.txt:3:"), HasSubstr("begins with a comment")));
  EXPECT_NE(exit_code_, 0);
  EXPECT_THAT(Code("F();  // Why.\n", "- F();\n- // Why.\n+ if (!MUTANT(bug)) F();\n"),
              HasSubstr("if (!(::reliability::active_mutant == 1)) F();"));
}

TEST_F(MutateTest, EditsDoNotOverlap) {
  EXPECT_THAT(Mutate("a(); b(); c();\n", "- a(); b();\n+ MUTANT(bug);\n- b(); c();\n+ d();\n"),
              HasSubstr("mutants.txt:5: changes code that another edit changes"));
  EXPECT_EQ(exit_code_, 1);
}

}  // namespace
}  // namespace reliability
