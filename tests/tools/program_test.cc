// The program as a user runs it: a shell, pipes, a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bloom/filter_policy.h"
#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/environment.h"
#include "tests/support/read_file.h"
#include "tests/support/run_program.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_dir.h"
#include "tests/tools/sample_store.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::ProgramResult;
using testing_support::ReadFile;

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { MakeSampleStore(lsm::PosixFileSystem(), scratch_.path_of("store")); }

  // Runs a command in the scratch directory.  `sstdump` stands for the program.
  ProgramResult Shell(const std::string& command) {
    return testing_support::RunShell(
        "cd '" + scratch_.path() +
        "' && program='" SSTDUMP_PROGRAM "' && sstdump() { \"$program\" \"$@\"; }; " + command);
  }

  // For Shell; no argument may need quotes.
  static std::string LineOf(const std::vector<std::string>& arguments) {
    std::string line = "sstdump";
    for (const std::string& argument : arguments) line += " " + argument;
    return line;
  }

  // `ulimit` with this many KiB of data besides those that the program's libraries map before it
  // starts: libceph-common alone maps 130 MiB of zeros, and touches few of them.
  std::string LimitData(uint64_t kibibytes) {
    if (testing_support::kIsSanitized) return "";  // sanitizers reserve more than any
    constexpr uint64_t kStepKibibytes = 16 << 10;
    constexpr uint64_t kMostKibibytes = 256 << 10;
    uint64_t libraries = 0;
    while (
        libraries < kMostKibibytes &&
        Shell(lsm::Concat("ulimit -d ", libraries + kStepKibibytes, "; sstdump --version")).code !=
            0) {
      libraries += kStepKibibytes;
    }
    return lsm::Concat("ulimit -d ", libraries + kibibytes, "; ");
  }

  static void WriteFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  // The program's output on a terminal with that many columns.
  static std::string OnTerminal(unsigned short columns, const std::vector<std::string>& arguments) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child < 0) {
      ADD_FAILURE() << "no terminal is available (/dev/ptmx, /dev/pts): " << std::strerror(errno);
      return "";
    }
    if (child == 0) {
      std::vector<char*> words = {const_cast<char*>(SSTDUMP_PROGRAM)};
      for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
      words.push_back(nullptr);
      unsetenv("COLUMNS");
      unsetenv("NO_COLOR");
      setenv("TERM", "xterm", 1);
      setenv("LC_ALL", "C.UTF-8", 1);
      execv(SSTDUMP_PROGRAM, words.data());
      _exit(127);
    }
    std::string out;
    char buffer[4096];
    for (ssize_t count; (count = read(terminal, buffer, sizeof(buffer))) > 0;)
      out.append(buffer, static_cast<size_t>(count));
    int status = 0;
    waitpid(child, &status, 0);
    close(terminal);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << out;
    return out;
  }

  testing_support::ScratchDir scratch_;
};

TEST_F(ProgramTest, ExitCodesMatchTheHelp) {
  EXPECT_EQ(Shell("sstdump verify store").code, 0);
  EXPECT_EQ(
      Shell(
          "printf X | dd of=store/000002.table bs=1 seek=200 conv=notrunc && sstdump verify store")
          .code,
      1);
  EXPECT_EQ(Shell("sstdump verify").code, 2);
  EXPECT_EQ(Shell("sstdump verify /etc/passwd").code, 3);
  EXPECT_EQ(Shell("sstdump --help").code, 0);
}

TEST_F(ProgramTest, DataGoesToTheStandardOutputAndMessagesToTheStandardError) {
  const ProgramResult result = Shell("sstdump info store/000002.table nothing");
  EXPECT_THAT(result.out, AllOf(HasSubstr("store/000002.table: table"), Not(HasSubstr("nothing"))));
  EXPECT_THAT(result.err, AllOf(HasSubstr("sstdump: nothing: "), Not(HasSubstr("000002"))));
}

TEST_F(ProgramTest, EndsQuietlyWithAClosedPipe) {
  const ProgramResult result = Shell(
      "for i in 1 2 3 4 5 6 7 8; do cat store/000002.table > t$i; done; "
      "sstdump scan t1 t2 t3 t4 t5 t6 t7 t8 t1 t2 t3 t4 | head -1; echo ${PIPESTATUS[0]}");
  EXPECT_THAT(result.out, AllOf(HasSubstr("key000000"), HasSubstr("\n0\n")));
  EXPECT_EQ(result.err, "");
}

// At this rate, reading everything would take hours.  The exit code is not 0, because the unread
// rest may be damaged.
TEST_F(ProgramTest, ClosedPipesEndASlowVerify) {
  for (const std::string arguments :
       {"--threads 1 store", "--threads 3 store", "store/000002.table", "--json store"}) {
    const ProgramResult result = Shell("timeout 20 \"$program\" verify --rate 1 " + arguments +
                                       " | true; echo ${PIPESTATUS[0]}");
    EXPECT_EQ(result.out, "3\n") << arguments;
    EXPECT_EQ(result.err, "sstdump: verify: cut short, because its output was closed\n");
  }
}

// Its output is longer than a pipe's buffer, so that a write fails.
TEST_F(ProgramTest, ClosedPipesEndALongVerify) {
  const ProgramResult result = Shell(
      "paths=$(for i in {1..3000}; do echo store/000002.table; done); "
      "sstdump verify $paths | head -1; echo ${PIPESTATUS[0]}");
  EXPECT_THAT(result.out, testing::EndsWith("\n3\n"));
  EXPECT_THAT(result.err, HasSubstr("cut short"));
  EXPECT_EQ(Shell("sstdump verify store | cat; exit ${PIPESTATUS[0]}").code, 0);
}

TEST_F(ProgramTest, FullDisksAreErrors) {
  const ProgramResult result = Shell("sstdump scan store > /dev/full");
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("cannot write"));
}

TEST_F(ProgramTest, FollowsOnlyLinksOnTheCommandLine) {
  EXPECT_EQ(Shell("ln -s store/000002.table link && sstdump info link").code, 0);
  EXPECT_EQ(Shell("ln -s store dirlink && sstdump verify dirlink dirlink/").code, 0);
  EXPECT_EQ(
      Shell(
          "mv store/000002.table away && ln -s ../away store/000002.table && sstdump verify store")
          .code,
      3);
}

TEST_F(ProgramTest, OpensOnlyRegularFiles) {
  EXPECT_EQ(Shell("sstdump info /dev/null").code, 3);
  EXPECT_EQ(Shell("mkfifo fifo && sstdump info fifo").code, 3);
  EXPECT_EQ(Shell("sstdump info fifo").err, "sstdump: fifo: is a FIFO, not a regular file\n");
  EXPECT_EQ(Shell("sstdump info .").code, 3);
  EXPECT_EQ(Shell("sstdump info ''").code, 3);
  EXPECT_EQ(Shell("sstdump info ''").err, "sstdump: the path is empty\n");
}

TEST_F(ProgramTest, NamesLinksToOpenFilesByKind) {
  const ProgramResult pipe = Shell("cat store/000002.table | sstdump scan /dev/stdin");
  EXPECT_EQ(pipe.code, 3);
  EXPECT_EQ(pipe.err,
            "sstdump: /dev/stdin: is a pipe; sstdump reads regular files that have a path\n");
  EXPECT_EQ(Shell("sstdump info /dev/stdin < store/000002.table").code, 0);
  const ProgramResult removed =
      Shell("cp store/000002.table t && exec 5< t && rm t && sstdump info /dev/fd/5");
  EXPECT_EQ(removed.code, 3);
  EXPECT_THAT(removed.err, HasSubstr("is a file that was removed"));
  EXPECT_THAT(Shell("ln -s nowhere dangling && sstdump info dangling").err,
              HasSubstr("No such file"));
}

TEST_F(ProgramTest, LeavesTheStoreUnchanged) {
  const std::string list = "ls -l --time-style=full-iso store && cat store/* | md5sum";
  const std::string before = Shell(list).out;
  for (const std::vector<std::string>& arguments : CommandsOn("store"))
    EXPECT_EQ(Shell(LineOf(arguments)).code, 0) << arguments[0];
  EXPECT_EQ(Shell(list).out, before);
}

// A store's lock belongs to its writer.  A reader takes no lock.
TEST_F(ProgramTest, ReadsLockedStores) {
  auto directory = lsm::PosixFileSystem().OpenDirectory(scratch_.path_of("store"), false).value();
  const auto lock = directory->Lock("LOCK", lsm::LockKind::kExclusive);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(Shell("sstdump verify store").code, 0);
}

TEST_F(ProgramTest, TerminalsGetColourAndFittedLines) {
  const std::string path = scratch_.path_of("store/000005.table");
  for (const unsigned short columns : {60, 100}) {
    const std::string out = OnTerminal(columns, {"scan", path});
    EXPECT_THAT(out, HasSubstr("…"));
    EXPECT_THAT(out, Not(HasSubstr(std::string(columns, 'v'))));
  }
  EXPECT_THAT(OnTerminal(80, {"verify", path}), HasSubstr("\x1b[32mok"));
  EXPECT_THAT(OnTerminal(80, {"verify", "--color=never", path}), Not(HasSubstr("\x1b[")));
  const ProgramResult piped = Shell("sstdump scan store/000005.table");
  EXPECT_THAT(piped.out, AllOf(HasSubstr(std::string(300, 'v')), Not(HasSubstr("\x1b["))));
}

TEST_F(ProgramTest, JsonIsOneDocument) {
  for (std::vector<std::string> arguments : CommandsOn("store")) {
    arguments.insert(arguments.begin(), "--json");
    const ProgramResult result = Shell(LineOf(arguments));
    EXPECT_EQ(result.code, 0) << arguments[1];
    EXPECT_TRUE(ParseOutput(result.out).is_object()) << arguments[1];
  }
}

// A sparse file of 8 TiB, whose sound footer says that the whole file is a filter.
TEST_F(ProgramTest, ForgedFootersAllocateNothing) {
  const std::string path = scratch_.path_of("forged");
  const std::string whole = ReadFile(scratch_.path_of("store/000005.table"));
  const lsm::Footer real =
      lsm::Footer::Decode(std::string_view(whole).substr(whole.size() - lsm::kFooterBytes),
                          whole.size(), path)
          .value();
  constexpr uint64_t kSize = uint64_t{1} << 43;  // a size that the file system allows
  const std::string parts =
      whole.substr(real.index.offset, whole.size() - lsm::kFooterBytes - real.index.offset);
  lsm::Footer footer = real;
  footer.file_bytes = kSize;
  const uint64_t parts_offset = kSize - lsm::kFooterBytes - parts.size();
  footer.index.offset = parts_offset;
  footer.properties.offset = parts_offset + (real.properties.offset - real.index.offset);
  footer.filter = {real.filter.offset, parts_offset - real.filter.offset - lsm::kBlockTrailerBytes};
  WriteFile(path, whole.substr(0, real.filter.offset));
  std::error_code error;
  std::filesystem::resize_file(path, kSize, error);
  ASSERT_FALSE(error) << error.message();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(parts_offset));
  file << parts << footer.Encode();
  file.close();
  for (const std::string command : {"info", "filter", "verify", "scan"}) {
    const ProgramResult result = Shell("ulimit -t 10; sstdump " + command + " forged");
    EXPECT_EQ(result.code, 3) << command << result.out << result.err;
    EXPECT_THAT(result.out + result.err, HasSubstr("more than the 1.00 GiB that sstdump loads"))
        << command;
  }
}

// The most memory for a table of the usual size.
TEST_F(ProgramTest, ReadsA64MebibyteTableIn128Mebibytes) {
  const std::string limit = LimitData(128 << 10);
  const auto directory =
      lsm::PosixFileSystem().OpenDirectory(scratch_.path_of("large"), /*create=*/true).value();
  MakeTable(*directory, {.number = 1}, NumberedEntries(320'000, 1, 200));
  ASSERT_GT(std::filesystem::file_size(scratch_.path_of("large/000001.table")), 64u << 20);
  for (const std::vector<std::string>& arguments :
       CommandsOn("large/000001.table", Bit(TargetKind::kTable))) {
    const ProgramResult result = Shell(lsm::Concat(limit, LineOf(arguments), " >/dev/null"));
    EXPECT_EQ(result.code, 0) << arguments[0] << ": " << result.err;
  }
}

// There may not be enough memory for their stacks.
TEST_F(ProgramTest, VerifyWithTooManyThreadsDoesNotCrash) {
  Shell(
      "for i in $(seq 10 60); do cp store/000002.table store/0000$i.table; done; "
      "rm store/CURRENT");
  for (const uint64_t mebibytes : {32, 64, 128, 256}) {
    const std::string limit = LimitData(mebibytes << 10);
    const ProgramResult result = Shell(limit + "sstdump verify --threads 50 store");
    EXPECT_TRUE(result.code == 1 || result.code == 3) << limit << ": " << result.code;
    EXPECT_THAT(result.err, testing::AnyOf("", StartsWith("sstdump: out of memory")));
  }
}

TEST_F(ProgramTest, FindsFlippedBits) {
  const std::string path = scratch_.path_of("store/000006.table");
  const std::string whole = ReadFile(path);
  for (size_t at = 0; at < whole.size(); at += 41) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    WriteFile(path, bytes);
    const ProgramResult result = Shell("sstdump verify store/000006.table");
    EXPECT_EQ(result.code, 1) << at;
    EXPECT_THAT(result.out, HasSubstr("store/000006.table: DAMAGED")) << at;
  }
}

}  // namespace
}  // namespace tools
