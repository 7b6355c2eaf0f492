// The commands.  Each has its own file and a row in the table of commands.cc.  The command line,
// the help and the dispatch are made from that table.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMANDS_COMMANDS_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMANDS_COMMANDS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tools/sstdump/session.h"
#include "tools/sstdump/store/target.h"

namespace tools {

// Each function shows one path.  The caller begins the path's result in the session before the call
// and ends it after.
void RunInfo(const Target& target, Session* session);
void RunProperties(const Target& target, Session* session);
void RunBlocks(const Target& target, Session* session);
void RunFilter(const Target& target, Session* session);
void RunScan(const Target& target, Session* session);
void RunDump(const Target& target, Session* session);
void RunGet(const Target& target, Session* session);
void RunVerify(const Target& target, Session* session);
void RunWal(const Target& target, Session* session);
void RunManifest(const Target& target, Session* session);
void RunLevels(const Target& target, Session* session);
void RunExplain(const Target& target, Session* session);

// How a command treats a directory: as a whole, or file by file.
enum class OnDirectory { kWhole, kTables, kLogs, kLogsAndTables };

// The arguments that a command takes besides paths and the common options.
struct CommandArguments {
  const char* paths;                // help of PATH
  const char* limit = nullptr;      // help of --limit; null: no such option
  const char* keys_only = nullptr;  // help of --keys-only; null: no such option
  const char* keyspace = nullptr;   // help of --keyspace; null: no such option
  bool key = false;                 // KEY, after the paths
  bool range = false;               // --from, --to, --prefix
  bool forms = false;               // --hex
  bool raw = false;                 // --raw
  bool logs = false;                // --logs
  bool records_only = false;
  bool tables = false;
  bool probes = false;
  bool pace = false;  // --rate, --threads
  bool at = false;    // --at
};

constexpr uint32_t Bit(TargetKind kind) { return uint32_t{1} << static_cast<uint32_t>(kind); }
inline constexpr uint32_t kAnyKind = UINT32_MAX;

struct Command {
  const char* name;
  const char* what;     // one line for the help
  const char* example;  // command lines for the help
  void (*run)(const Target& target, Session* session);
  uint32_t kinds;  // accepted kinds of files, a bit each
  OnDirectory on_directory;
  CommandArguments arguments;
  bool lines = false;  // with --json: one object a line instead of one document
};

// In the order that the help shows.
std::span<const Command> Commands();
// Null if no command has that name.
const Command* FindCommand(std::string_view name);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMANDS_COMMANDS_H_
