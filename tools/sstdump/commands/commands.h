// The commands.  Each has a file of its own and a row in the table of commands.cc, from which the
// command line, the help and the calls are made.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMANDS_COMMANDS_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMANDS_COMMANDS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tools/sstdump/session.h"
#include "tools/sstdump/store/target.h"

namespace tools {

// Each shows one path.  The session has begun a result for the path, and ends it afterwards.
void ShowInfo(const Target& target, Session* session);
void ShowProperties(const Target& target, Session* session);
void ShowBlocks(const Target& target, Session* session);
void ShowFilter(const Target& target, Session* session);
void ShowEntries(const Target& target, Session* session);
void DumpStore(const Target& target, Session* session);
void ShowKey(const Target& target, Session* session);
void Verify(const Target& target, Session* session);
void ShowLog(const Target& target, Session* session);
void ShowManifest(const Target& target, Session* session);
void ShowLevels(const Target& target, Session* session);
void ExplainKey(const Target& target, Session* session);

// How a command takes a directory: as a whole, or file by file.
enum class OnDirectory { kWhole, kTables, kLogs, kLogsAndTables };

// The arguments that a command takes, besides paths and those that all have.
struct CommandArguments {
  const char* paths;                // help of PATH
  const char* limit = nullptr;      // help of --limit; null: there is none
  const char* keys_only = nullptr;  // the same of --keys-only
  bool key = false;                 // KEY, after the paths
  bool range = false;               // --from, --to, --prefix
  bool forms = false;               // --hex
  bool raw = false;                 // --raw
  bool logs = false;                // --logs
  bool records_only = false;
  bool tables = false;
  bool probes = false;
  bool pace = false;  // --rate, --threads
};

constexpr uint32_t Bit(TargetKind kind) { return uint32_t{1} << static_cast<uint32_t>(kind); }
inline constexpr uint32_t kAnyKind = UINT32_MAX;

struct Command {
  const char* name;
  const char* what;     // one line
  const char* example;  // command lines
  void (*show)(const Target& target, Session* session);
  uint32_t kinds;  // that it takes, a bit each
  OnDirectory on_directory;
  CommandArguments arguments;
  bool lines = false;  // with --json: one object a line instead of one document
};

// In the order of the help.
std::span<const Command> Commands();
// Null if there is none of that name.
const Command* FindCommand(std::string_view name);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMANDS_COMMANDS_H_
