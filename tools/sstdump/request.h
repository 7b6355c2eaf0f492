// The request of a user, parsed from the command line.
#ifndef TRELLIS_TOOLS_SSTDUMP_REQUEST_H_
#define TRELLIS_TOOLS_SSTDUMP_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tools {

// The form in which keys and values are shown, and keys are typed.
enum class ByteForm { kEscaped, kHex, kRaw };

struct Command;

struct Request {
  const Command* command = nullptr;
  std::vector<std::string> paths;
  bool json = false;
  bool color = false;
  ByteForm form = ByteForm::kEscaped;

  // Options of single commands.  Keys are bytes, no longer escaped.
  std::string key;                           // get, explain
  std::optional<std::string> keyspace;       // its name, of commands that show keys
  std::optional<std::string> from;           // scan, dump
  std::optional<std::string> to;             // scan, dump
  std::optional<uint64_t> limit;             // scan, dump, wal, manifest, blocks
  bool keys_only = false;                    // scan, dump, wal
  bool records_only = false;                 // wal
  bool with_tables = false;                  // levels
  std::optional<uint64_t> probes;            // filter
  std::optional<uint64_t> rate;              // verify: bytes a second
  std::optional<uint64_t> threads;           // verify
  std::optional<std::string> log_directory;  // commands that read a store's logs
  // The time as of which a store is shown, in seconds since 1970: that of --at, or else the
  // present.  nullopt for commands without --at.
  std::optional<uint32_t> at;
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_REQUEST_H_
