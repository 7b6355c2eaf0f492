// Everything that sstdump needs from its surroundings, so that tests can replace it: files, output,
// and the terminal's abilities.
#ifndef TRELLIS_TOOLS_SSTDUMP_WORLD_H_
#define TRELLIS_TOOLS_SSTDUMP_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace tools {

struct Terminal {
  bool is_terminal = false;  // a person reads it: colour, and lines that fit
  size_t columns = 80;       // of a terminal
  bool allows_color = true;  // neither NO_COLOR nor TERM=dumb
  bool has_utf8 = true;      // otherwise bars use ASCII characters
};

// A file or directory.
struct Place {
  lsm::FileSystem* file_system = nullptr;
  std::string path;
};

struct World {
  lsm::FileSystem* file_system = nullptr;
  std::ostream* out = nullptr;  // data
  std::ostream* err = nullptr;  // messages
  Terminal terminal;            // of `out`
  // Resolves symbolic links.  A link that the user typed means its target; links found inside a
  // store are not followed.  Unavailable if the target has no path, such as a pipe.
  std::function<absl::StatusOr<std::string>(const std::string&)> resolve;
  // The number of a store's files that may be held open.
  size_t pinned_files_max = 512;
  // `err` is a terminal, where a line can be overwritten.
  bool shows_progress = false;
  // A clock, and a way to wait; without them nothing waits.
  std::function<uint64_t()> now_nanos = nullptr;
  std::function<void(uint64_t nanos)> sleep_nanos = nullptr;
  // True if the reader of `out` has gone, without writing to it.  Any thread.
  std::function<bool()> output_is_gone = nullptr;
  // Opens rados://POOL/PATH.  Null if sstdump was built without Ceph.
  std::function<absl::StatusOr<Place>(const std::string& uri)> open_rados = nullptr;
  // The machine's clock, in seconds since 1970.  Without one it shows 1970, so nothing has expired.
  std::function<uint64_t()> now_seconds = nullptr;
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_WORLD_H_
