// What sstdump needs of the world, so that tests can be one: files, where output goes, and what
// that place can show.
#ifndef TRELLIS_TOOLS_SSTDUMP_WORLD_H_
#define TRELLIS_TOOLS_SSTDUMP_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace tools {

struct Request;

struct Terminal {
  bool is_terminal = false;  // a person looks at it: colour, and lines that fit
  size_t columns = 80;       // of a terminal
  bool allows_color = true;  // neither NO_COLOR nor TERM=dumb
  bool has_utf8 = true;      // else bars are drawn with ASCII characters
};

struct World {
  lsm::FileSystem* file_system = nullptr;
  std::ostream* out = nullptr;  // data
  std::ostream* err = nullptr;  // messages
  Terminal terminal;            // of `out`
  // The path behind symbolic links.  The user who names a link means what it leads to; links that
  // are found inside of a store are not followed.  Unavailable if it leads to something without a
  // path, such as a pipe.
  std::function<absl::StatusOr<std::string>(const std::string&)> resolve;
  // How many files of a store may be held open.
  size_t pinned_files_max = 512;
  // `err` is a terminal, on which a line may be written over.
  bool shows_progress = false;
  // A clock, and a way to wait; without them nothing waits.
  std::function<uint64_t()> now_nanos = nullptr;
  std::function<void(uint64_t nanos)> sleep_nanos = nullptr;
  // Whether the reader of `out` has gone; known without a write.  Any thread.
  std::function<bool()> output_is_gone = nullptr;
};

// Runs one command; `arguments` without the program's name.  Returns the exit code (Outcome in
// session.h).
int RunSstdump(const std::vector<std::string>& arguments, const World& world);

// The same of arguments that ParseCommandLine has read.
int RunRequest(const Request& request, const World& world);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_WORLD_H_
