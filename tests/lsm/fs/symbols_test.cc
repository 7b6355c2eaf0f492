// The libraries use files, clocks, randomness and threads only through lsm/fs/posix_*,
// lsm/threads/thread_scheduler.cc and lsm/threads/repeating_thread.cc: no other object calls open,
// write, fsync, rename or a clock, or starts a thread.  Checks the symbols of the objects, because
// a search in sources would miss calls that headers hide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/support/run_program.h"

namespace lsm {
namespace {

// The symbols that each object of the library needs from others: "object.cc.o symbol", demangled.
std::set<std::string> UndefinedSymbols(const std::string& archive) {
  const auto [code, out, errors] =
      testing_support::RunProgram({"nm", "-C", "-A", "--undefined-only", archive});
  EXPECT_EQ(code, 0) << errors;
  std::set<std::string> found;
  std::istringstream lines(out);
  // ARCHIVE:OBJECT:                 U SYMBOL
  for (std::string line; std::getline(lines, line);) {
    const size_t object = line.find(':') + 1;
    const size_t end = std::min(line.find(':', object), line.size());
    const size_t kind = std::min(line.find_first_not_of(' ', end + 1), line.size());
    if (line.substr(kind, 2) == "U " || line.substr(kind, 2) == "w ")
      found.insert(line.substr(object, end - object) + " " + line.substr(kind + 2));
  }
  return found;
}

// Functions of the C library and of LZ4 that every object may call.  None of them uses files,
// clocks or randomness, or starts threads.
const std::set<std::string_view> kHarmless = {
    "abort",
    "aligned_alloc",
    "atoi",  // an optimizer makes it strtol
    "bcmp",
    "ceil",
    "floor",
    "exp",
    "exp2",  // an optimizer makes it of pow(2, x)
    "expm1",
    "fmod",
    "free",
    "ldexp",
    "llround",
    "log",
    "lround",
    "log10",
    "log1p",
    "log2",
    "malloc",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "pow",
    "pthread_atfork",      // lsm/threads/process_mark.cc
    "pthread_mutex_lock",  // lsm/threads/mutex.h; a long wait asks the scheduler
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_self",  // events/event_queue.h: whether a callback makes the call
    "round",
    "snprintf",
    "sqrt",
    "strchr",
    "strcmp",
    "strlen",
    "strtol",
    "sched_yield",  // threads/epoch.cc, while a reader still uses an object that must be freed
    "madvise",      // bloom/core/bits.cc: huge pages for large filters
    "LZ4_compress_default",
    "LZ4_decompress_safe"};

bool IsHarmless(const std::string& symbol) {
  // C++'s own runtime, the linker's, and sanitizers'.
  if (symbol.starts_with("__") || symbol.starts_with("_Unwind_") ||
      symbol.starts_with("_GLOBAL_OFFSET_TABLE_"))
    return true;
  if (kHarmless.contains(symbol)) return true;
  // C++ symbols: everything except files, clocks, threads and randomness, which would bypass the
  // environment.
  if (symbol.find("::") == symbol.npos && symbol.find('(') == symbol.npos) return false;
  static const std::regex reaching(
      "std::chrono::.*::now|std::filesystem|std::basic_[io]?f(stream|ilebuf)|std::thread|"
      "std::random_|std::this_thread|absl::.*(GetCurrentTimeNanos|Now\\(\\))");
  return !std::regex_search(symbol, reaching);
}

TEST(SymbolsTest, OnlyTheSeamCallsTheSystem) {
  size_t seen = 0, of_seam = 0;
  for (const char* archive : {TRELLIS_LSM_ARCHIVE, TRELLIS_BLOOM_ARCHIVE}) {
    for (const std::string& line : UndefinedSymbols(archive)) {
      ++seen;
      const std::string object = line.substr(0, line.find(' '));
      const std::string symbol = line.substr(object.size() + 1);
      if (object.starts_with("posix_") || object == "thread_scheduler.cc.o" ||
          object == "repeating_thread.cc.o") {
        ++of_seam;
        continue;
      }
      EXPECT_TRUE(IsHarmless(symbol)) << object << " calls " << symbol;
    }
  }
  EXPECT_GT(seen, 1000u);
  EXPECT_GT(of_seam, 50u);
}

TEST(SymbolsTest, NoticesTheCallsOfTheSeam) {
  const std::set<std::string> symbols = UndefinedSymbols(TRELLIS_LSM_ARCHIVE);
  for (const char* call :
       {"posix_call.cc.o openat", "posix_append_file.cc.o write", "posix_call.cc.o fsync",
        "posix_append_file.cc.o fdatasync", "posix_directory.cc.o renameat",
        "posix_directory.cc.o unlinkat", "posix_read_file.cc.o pread",
        "posix_clock.cc.o clock_gettime", "posix_random.cc.o getrandom"}) {
    EXPECT_TRUE(symbols.contains(call)) << call;
    EXPECT_FALSE(IsHarmless(std::string(call).substr(std::string(call).find(' ') + 1)));
  }
  EXPECT_FALSE(IsHarmless("std::chrono::_V2::steady_clock::now()"));
  EXPECT_FALSE(IsHarmless("std::thread::_M_start_thread(int)"));
  EXPECT_FALSE(IsHarmless("AbslInternalSleepFor_debian3"));
  for (const char* wait : {"pthread_cond_clockwait", "pthread_cond_timedwait",
                           "pthread_mutex_clocklock", "pthread_mutex_timedlock"})
    EXPECT_FALSE(IsHarmless(wait)) << wait;
  EXPECT_TRUE(IsHarmless("std::condition_variable::wait(std::unique_lock<std::mutex>&)"));
  EXPECT_TRUE(IsHarmless("lsm::Engine::NewFileNumber()"));
}

}  // namespace
}  // namespace lsm
