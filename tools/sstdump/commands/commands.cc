#include "tools/sstdump/commands/commands.h"

#include <algorithm>
#include <iterator>

namespace tools {
namespace {

constexpr const char* kTables = "Tables, or directories of tables";
constexpr const char* kOneKeyspace = "The keyspace of this name in a store; default: default";

using enum TargetKind;

constexpr Command kCommands[] = {
    {.name = "info",
     .what = "One screen about a file or a store",
     .example =
         "sstdump info store/                 # tables, key range, logs, manifest of a store\n"
         "  sstdump info store/000013.table     # counts, sizes, ratio and filter of a table",
     .run = &RunInfo,
     .kinds = kAnyKind,
     .on_directory = OnDirectory::kWhole,
     .arguments = {.paths = "Files, or stores", .forms = true, .logs = true}},
    {.name = "properties",
     .what = "All recorded properties of tables",
     .example = "sstdump properties store/000013.table",
     .run = &RunProperties,
     .kinds = Bit(kTable),
     .on_directory = OnDirectory::kTables,
     .arguments = {.paths = kTables}},
    {.name = "blocks",
     .what = "Each block of a table: offset, sizes, keys, soundness",
     .example = "sstdump blocks --limit 20 store/000013.table",
     .run = &RunBlocks,
     .kinds = Bit(kTable),
     .on_directory = OnDirectory::kTables,
     .arguments = {.paths = kTables,
                   .limit = "At most N data blocks of each table",
                   .forms = true}},
    {.name = "filter",
     .what = "A table's filter: size, fill, and target, predicted and measured FPP",
     .example = "sstdump filter store/000013.table\n"
                "  sstdump filter --json store/ | jq '.results[].measured.fpp'",
     .run = &RunFilter,
     .kinds = Bit(kTable),
     .on_directory = OnDirectory::kTables,
     .arguments = {.paths = kTables, .probes = true}},
    {.name = "scan",
     .what = "A table's entries in order: key, sequence, kind, value, separated by tabs",
     .example = "sstdump scan --from user1 --to user2 --limit 10 store/000013.table\n"
                "  sstdump scan --keys-only store/000013.table | wc -l",
     .run = &RunScan,
     .kinds = Bit(kTable),
     .on_directory = OnDirectory::kTables,
     .arguments = {.paths = kTables,
                   .limit = "At most N entries of each table",
                   .keys_only = "Only keys",
                   .keyspace = kOneKeyspace,
                   .range = true,
                   .forms = true,
                   .raw = true},
     .lines = true},
    {.name = "dump",
     .what = "A store's contents: each key with its newest value, logs included",
     .example = "sstdump dump --prefix user1 store/\n"
                "  sstdump dump --at 2026-11-30T03:00:00Z backup/   # what had not expired then\n"
                "  sstdump dump --json store/ | jq -r 'select(has(\"key\")) | .key'",
     .run = &RunDump,
     .kinds = Bit(kDirectory),
     .on_directory = OnDirectory::kWhole,
     .arguments = {.paths = "Stores",
                   .limit = "At most N keys of each store",
                   .keys_only = "Only keys",
                   .keyspace = kOneKeyspace,
                   .range = true,
                   .forms = true,
                   .raw = true,
                   .logs = true,
                   .at = true},
     .lines = true},
    {.name = "get",
     .what = "Searches each file for a key, and shows the result of each step",
     .example = "sstdump get store/000013.table user1234\n"
                "  sstdump get --hex store/ 00ff10     # in every log and table of a store\n"
                "  sstdump get --raw store/ user1234   # only the store's value",
     .run = &RunGet,
     .kinds = Bit(kTable) | Bit(kLog) | Bit(kDirectory),
     .on_directory = OnDirectory::kLogsAndTables,
     .arguments = {.paths = "Tables, logs, or directories of them",
                   .keyspace = kOneKeyspace,
                   .key = true,
                   .forms = true,
                   .raw = true,
                   .logs = true,
                   .at = true}},
    {.name = "verify",
     .what = "Checks everything: checksums, order, counts, index, filter",
     .example = "sstdump verify store/ && echo sound\n"
                "  sstdump verify --rate 50M store/    # in production\n"
                "  sstdump verify --threads 8 store/",
     .run = &RunVerify,
     .kinds = kAnyKind,
     .on_directory = OnDirectory::kWhole,
     .arguments = {.paths = "Files, or stores", .logs = true, .pace = true}},
    {.name = "wal",
     .what = "The records of write-ahead logs, and the writes in them",
     .example = "sstdump wal --limit 5 store/000014.log\n"
                "  sstdump wal --json store/ | jq -r '.entries[]?.key'",
     .run = &RunWal,
     .kinds = Bit(kLog),
     .on_directory = OnDirectory::kLogs,
     .arguments = {.paths = "Logs, or directories of logs",
                   .limit = "At most N records of each log",
                   .keys_only = "Writes without their values",
                   .forms = true,
                   .logs = true,
                   .records_only = true},
     .lines = true},
    {.name = "manifest",
     .what = "The edits of a manifest, and their sum",
     .example = "sstdump manifest store/             # the one that CURRENT names",
     .run = &RunManifest,
     .kinds = Bit(kManifest) | Bit(kCurrent) | Bit(kDirectory),
     .on_directory = OnDirectory::kWhole,
     .arguments = {.paths = "Manifests, CURRENT files, or stores",
                   .limit = "At most N edits, and N tables of each edit and of their sum",
                   .forms = true}},
    {.name = "levels",
     .what = "A store by level: tables, keys, filter bytes and FPP",
     .example = "sstdump levels --tables store/\n"
                "  sstdump levels --keyspace users store/",
     .run = &RunLevels,
     .kinds = Bit(kDirectory),
     .on_directory = OnDirectory::kWhole,
     .arguments = {.paths = "Stores",
                   .keyspace = "Only the tables of this keyspace; default: all",
                   .forms = true,
                   .tables = true,
                   .at = true}},
    {.name = "explain",
     .what = "Every step of a lookup in a store: logs, levels, filters, blocks",
     .example = "sstdump explain store/ user1234\n"
                "  sstdump explain --keyspace users store/ 1234",
     .run = &RunExplain,
     .kinds = Bit(kDirectory),
     .on_directory = OnDirectory::kWhole,
     .arguments = {.paths = "Stores",
                   .keyspace = kOneKeyspace,
                   .key = true,
                   .forms = true,
                   .logs = true,
                   .at = true}},
};

// Used in a static_assert: an incomplete row does not compile.
constexpr bool IsWhole(const Command& command) {
  return command.name != nullptr && command.what != nullptr && command.example != nullptr &&
         command.run != nullptr && command.kinds != 0 && command.arguments.paths != nullptr;
}
static_assert(std::all_of(std::begin(kCommands), std::end(kCommands), IsWhole));

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace tools
