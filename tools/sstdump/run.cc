#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "tools/sstdump/command_line.h"
#include "tools/sstdump/commands.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store_files.h"
#include "tools/sstdump/target.h"
#include "tools/sstdump/world.h"

namespace tools {
namespace {

using lsm::Concat;

// What a command makes of a directory.
enum class OnDirectory { kWhole, kTables, kLogs, kLogsAndTables };

struct Command {
  const char* name;
  void (*show)(const Target&, Session*);
  std::vector<TargetKind> kinds;  // that it takes; none: any file
  OnDirectory on_directory;
};

const std::vector<Command>& Commands() {
  using enum TargetKind;
  static const std::vector<Command>& commands = *new std::vector<Command>{
      {"info", &ShowInfo, {}, OnDirectory::kWhole},
      {"properties", &ShowProperties, {kTable}, OnDirectory::kTables},
      {"blocks", &ShowBlocks, {kTable}, OnDirectory::kTables},
      {"filter", &ShowFilter, {kTable}, OnDirectory::kTables},
      {"scan", &ShowEntries, {kTable}, OnDirectory::kTables},
      {"get", &ShowKey, {kTable, kLog, kDirectory}, OnDirectory::kLogsAndTables},
      {"verify", &Verify, {}, OnDirectory::kWhole},
      {"wal", &ShowLog, {kLog}, OnDirectory::kLogs},
      {"manifest", &ShowManifest, {kManifest, kCurrent, kDirectory}, OnDirectory::kWhole},
      {"levels", &ShowLevels, {kDirectory}, OnDirectory::kWhole},
      {"explain", &ExplainKey, {kDirectory}, OnDirectory::kWhole},
  };
  return commands;
}

const Command* FindCommand(const std::string& name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

bool Takes(const Command& command, TargetKind kind) {
  if (command.kinds.empty()) return true;
  for (const TargetKind taken : command.kinds) {
    if (taken == kind) return true;
  }
  return false;
}

const char* CommandFor(TargetKind kind) {
  switch (kind) {
    case TargetKind::kLog:
      return "wal";
    case TargetKind::kManifest:
    case TargetKind::kCurrent:
      return "manifest";
    case TargetKind::kDirectory:
      return "levels";
    default:
      return "info";
  }
}

// `get --raw` writes one value, so that it asks a store as a whole.
OnDirectory OnDirectoryOf(const Command& command, const Request& request) {
  const bool is_one_value =
      command.show == &ShowKey && request.form == ByteForm::kRaw && !request.json;
  return is_one_value ? OnDirectory::kWhole : command.on_directory;
}

// One path: it is what the command takes, or a message says what it is.
void ShowOne(const Command& command, const Target& target, Session* session) {
  session->Begin(target.path, NameOf(target.kind));
  if (Takes(command, target.kind)) {
    command.show(target, session);
  } else if (target.kind == TargetKind::kForeign) {
    session->Fail(absl::InvalidArgumentError(Concat("this is ", target.foreign)), target);
  } else {
    session->Misuse(target.path,
                    Concat("this is ", Describe(target), ", which ", command.name,
                           " does not show; sstdump ", CommandFor(target.kind), " does"));
  }
  session->End();
}

void ShowFailure(const absl::Status& status, const std::string& path, std::string_view kind,
                 Session* session) {
  session->Begin(path, kind);
  session->Fail(status, path);
  session->End();
}

// Of the logs those that are still needed, the newest first.
void KeepAsALookupAsks(const StoreFiles& files, std::vector<Target>* logs) {
  const auto is_done_with = [&](const Target& log) {
    const std::optional<lsm::FileName> name = lsm::ParseFileName(log.name);
    return files.has_state() && name && name->number < files.manifest.state.oldest_log;
  };
  logs->erase(std::remove_if(logs->begin(), logs->end(), is_done_with), logs->end());
  std::reverse(logs->begin(), logs->end());
}

// The files of a directory, one after the other.
void ShowFilesOf(const Command& command, const Target& directory, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), directory);
  if (!files.ok()) return ShowFailure(files.status(), directory.path, "directory", session);
  // Of another product's files nothing can be shown.
  if (absl::IsInvalidArgument(files->manifest_status)) {
    session->Begin(directory.path, NameOf(directory.kind));
    session->Fail(files->manifest_status, directory);
    return session->End();
  }
  std::vector<absl::Status> problems;
  std::vector<Target> targets;
  if (command.on_directory != OnDirectory::kTables) targets = LogTargets(*files, &problems);
  if (command.on_directory == OnDirectory::kLogsAndTables) KeepAsALookupAsks(*files, &targets);
  if (command.on_directory != OnDirectory::kLogs) {
    for (Target& table : TableTargets(*files, &problems)) targets.push_back(std::move(table));
  }
  // Without a CURRENT it is a directory with some files in it, which may be all that was asked for.
  const bool has_store = !absl::IsNotFound(files->manifest_status);
  const bool is_lost = has_store && !files->has_state();
  if (is_lost &&
      std::find(problems.begin(), problems.end(), files->manifest_status) == problems.end())
    problems.push_back(files->manifest_status);
  if (targets.empty() && problems.empty() && !has_store) {
    problems.push_back(absl::NotFoundError("no store, and no file that this command could show"));
  }
  if (!problems.empty()) {
    session->Begin(directory.path, NameOf(directory.kind));
    for (const absl::Status& problem : problems) session->Fail(problem, directory);
    if (is_lost && !targets.empty()) {
      session->Note(
          Concat(lsm::Escape(directory.path),
                 ": which files the store needs is not known; some of these may be out of date"));
    }
    session->End();
  }
  for (const Target& target : targets) {
    if (session->is_broken()) return;
    // As `head` does it, where lines could be of any of several files.
    if (command.show == &ShowEntries && targets.size() > 1)
      session->Print(Concat("==> ", lsm::Escape(target.path), " <==\n"));
    ShowOne(command, target, session);
  }
}

}  // namespace

int RunSstdump(const std::vector<std::string>& arguments, const World& world) {
  const ParsedCommandLine parsed = ParseCommandLine(arguments, world);
  return parsed.request ? RunRequest(*parsed.request, world) : parsed.exit_code;
}

int RunRequest(const Request& request, const World& world) {
  const Command* const command = FindCommand(request.command);
  Session session(world, request);
  for (const std::string& path : request.paths) {
    if (session.is_broken()) break;
    const absl::StatusOr<Target> target = FindTarget(world, path);
    if (!target.ok()) {
      ShowFailure(target.status(), path, "unknown", &session);
    } else if (target->kind == TargetKind::kDirectory &&
               OnDirectoryOf(*command, request) != OnDirectory::kWhole) {
      ShowFilesOf(*command, *target, &session);
    } else {
      ShowOne(*command, *target, &session);
    }
  }
  return session.Finish();
}

}  // namespace tools
