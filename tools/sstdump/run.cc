#include "tools/sstdump/run.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "tools/sstdump/command_line.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/store_files.h"
#include "tools/sstdump/store/target.h"
#include "tools/sstdump/world.h"

namespace tools {
namespace {

using lsm::Concat;

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

// `get --raw` writes one value, so it takes a store as a whole.
OnDirectory OnDirectoryOf(const Command& command, const Request& request) {
  const bool is_one_value =
      command.run == &RunGet && request.form == ByteForm::kRaw && !request.json;
  return is_one_value ? OnDirectory::kWhole : command.on_directory;
}

// Shows one path, or says why the command does not take it.
void ShowOne(const Command& command, const Target& target, Session* session) {
  session->Begin(target.path, NameOf(target.kind));
  const bool is_of_store = target.kind == TargetKind::kDirectory || target.keyspaces != nullptr;
  if (session->request().keyspace && !is_of_store) {
    session->Misuse(target.path, Concat("this is ", Describe(target),
                                        "; --keyspace takes the directory of a store, whose "
                                        "manifest has the names"));
  } else if ((command.kinds & Bit(target.kind)) != 0) {
    command.run(target, session);
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
void ShowFailure(const absl::Status& status, const Target& target, Session* session) {
  session->Begin(target.path, NameOf(target.kind));
  session->Fail(status, target);
  session->End();
}

// The files of a directory that the command will show, and why others are left out.
struct ChosenFiles {
  std::vector<Target> targets;
  std::vector<absl::Status> problems;
  std::vector<std::string> out_of_range;  // tables that cannot hold the key
};

// Keeps only logs that are still needed, newest first.
void KeepAsALookupAsks(const StoreFiles& files, std::vector<Target>* logs) {
  const auto is_done_with = [&](const Target& log) {
    const std::optional<lsm::FileName> name = lsm::ParseFileName(log.name);
    return files.has_state() && name && name->number < files.manifest.state.oldest_log;
  };
  logs->erase(std::remove_if(logs->begin(), logs->end(), is_done_with), logs->end());
  std::reverse(logs->begin(), logs->end());
}

ChosenFiles Choose(const Command& command, const StoreFiles& files, const Request& request) {
  ChosenFiles chosen;
  const bool is_lookup = command.on_directory == OnDirectory::kLogsAndTables;
  if (command.on_directory != OnDirectory::kTables)
    chosen.targets = LogTargets(files, &chosen.problems);
  if (is_lookup) KeepAsALookupAsks(files, &chosen.targets);
  if (command.on_directory == OnDirectory::kLogs) return chosen;
  const std::string key = files.keyspaces->KeyInTree(request.key);
  const bool shows_one = command.arguments.keyspace != nullptr;
  const auto is_wanted = [&](const PlacedTable& table) {
    if (shows_one && !files.keyspaces->MayBeIn(table.meta)) return false;
    if (!is_lookup || table.MayHold(key)) return true;
    chosen.out_of_range.push_back(table.name);
    return false;
  };
  for (Target& table : TableTargets(files, is_wanted, &chosen.problems))
    chosen.targets.push_back(std::move(table));
  return chosen;
}

void ShowProblems(const StoreFiles& files, const Target& directory, ChosenFiles* chosen,
                  Session* session) {
  std::vector<absl::Status>& problems = chosen->problems;
  // Without a CURRENT the directory is not a store, but the user may want to see its files.
  const bool has_store = !absl::IsNotFound(files.manifest_status);
  const bool is_lost = has_store && !files.has_state();
  if (is_lost &&
      std::find(problems.begin(), problems.end(), files.manifest_status) == problems.end())
    problems.push_back(files.manifest_status);
  if (chosen->targets.empty() && problems.empty() && !has_store) {
    problems.push_back(
        absl::NotFoundError("not a store, and no file that this command could show"));
  }
  if (problems.empty()) return;
  session->Begin(directory.path, NameOf(directory.kind));
  for (const absl::Status& problem : problems) session->Fail(problem, directory);
  if (is_lost && !chosen->targets.empty()) {
    session->Note(
        Concat(lsm::Escape(directory.path),
               ": the files that the store needs are unknown; some of these may be obsolete"));
  }
  session->End();
}

// Whether the command shows one keyspace of several.
bool ShowsOneOfSeveral(const Command& command, const StoreFiles& files) {
  return command.arguments.keyspace != nullptr && files.has_state() &&
         !files.manifest.state.keyspaces.all().empty();
}

// A store without tables is fine; a note says so.  A store always has a log.
void SayThatThereAreNoTables(const Command& command, const StoreFiles& files,
                             const Target& directory, Session* session) {
  session->Begin(directory.path, NameOf(directory.kind));
  session->Note(Concat(lsm::Escape(directory.path), ": ",
                       ShowsOneOfSeveral(command, files)
                           ? Concat("keyspace ", lsm::Escape(files.keyspaces->shown.name),
                                    " has no tables; the store's")
                           : std::string("the store has no tables; its"),
                       " logs may hold writes (sstdump dump, sstdump wal)"));
  session->End();
}

void SayWhatScanLeavesOut(const Command& command, const StoreFiles& files, const Target& directory,
                          Session* session) {
  if (!files.has_state()) return;
  const std::set<uint64_t> numbers = LogNumbers(files);
  const auto logs = static_cast<uint64_t>(
      std::distance(numbers.lower_bound(files.manifest.state.oldest_log), numbers.end()));
  session->Begin(directory.path, NameOf(directory.kind));
  session->Note(
      Concat(lsm::Escape(directory.path), ": table by table, with old versions and deletions",
             ShowsOneOfSeveral(command, files)
                 ? Concat("; only keyspace ", lsm::Escape(files.keyspaces->shown.name))
                 : std::string(),
             logs == 0 ? std::string()
                       : Concat("; writes in ", Count(logs, "log", "logs"), " are left out"),
             " (sstdump dump shows what the store holds)"));
  session->End();
}

// Uses one line, because there may be many names.
void ShowOutOfRange(const Target& directory, const std::vector<std::string>& names,
                    Session* session) {
  if (names.empty()) return;
  session->Begin(directory.path, NameOf(directory.kind));
  if (session->json_wanted()) {
    session->json().Key("out_of_range");
    session->json().BeginArray();
    for (const std::string& name : names) session->json().String(name);
    session->json().EndArray();
  }
  const std::string key = session->ShowKey(session->request().key, KeyColumns(*session, 60, 1));
  session->Print(Heading(*session, directory.path,
                         Concat(Count(names.size(), "other table", "other tables"), " cannot hold ",
                                key, ", by key range: ", NamesText(names))));
  session->End();
}

// Each answer above is about one file, but a missing file may hold a newer entry.
void SayThatTheAnswerIsUnknown(const Target& directory, Session* session) {
  session->Begin(directory.path, NameOf(directory.kind));
  const std::string& key = session->request().key;
  if (session->json_wanted()) {
    session->json().Member("key", session->Show(key));
    session->json().Member("answer", "unknown");
  }
  session->Print(Heading(*session, directory.path,
                         Concat("key ", session->ShowKey(key, KeyColumns(*session, 20, 2)))));
  session->Print("  answer  unknown: a file that may hold it cannot be read\n");
  session->End();
}

// Shows the files of a directory one by one.
void ShowFilesOf(const Command& command, const Target& directory, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), directory);
  if (!files.ok()) return ShowFailure(files.status(), directory.path, "directory", session);
  // sstdump cannot show another product's files.
  if (absl::IsInvalidArgument(files->manifest_status))
    return ShowFailure(files->manifest_status, directory, session);
  const bool is_lookup = command.on_directory == OnDirectory::kLogsAndTables;
  if (is_lookup && files->has_state()) {
    files->keyspaces->expired =
        ExpiredIn(files->keyspaces->shown.id, RecordsWithLogs(*files), session->request());
  }
  ChosenFiles chosen = Choose(command, *files, session->request());
  ShowProblems(*files, directory, &chosen, session);
  if (command.run == &RunScan && !chosen.targets.empty())
    SayWhatScanLeavesOut(command, *files, directory, session);
  if (chosen.targets.empty() && chosen.problems.empty() && chosen.out_of_range.empty())
    SayThatThereAreNoTables(command, *files, directory, session);
  for (const Target& target : chosen.targets) {
    if (session->is_broken()) return;
    if (command.run == &RunScan && chosen.targets.size() > 1) session->Announce(target.path);
    ShowOne(command, target, session);
  }
  ShowOutOfRange(directory, chosen.out_of_range, session);
  if (is_lookup && !chosen.problems.empty() && !absl::IsNotFound(files->manifest_status))
    SayThatTheAnswerIsUnknown(directory, session);
}

void ShowPath(const Command& command, const std::string& path, Session* session) {
  const absl::StatusOr<Target> target = FindTarget(session->world(), path);
  if (!target.ok()) {
    ShowFailure(target.status(), path, "unknown", session);
  } else if (target->kind == TargetKind::kDirectory &&
             OnDirectoryOf(command, session->request()) != OnDirectory::kWhole) {
    ShowFilesOf(command, *target, session);
  } else {
    ShowOne(command, *target, session);
  }
}

}  // namespace

int RunSstdump(const std::vector<std::string>& arguments, const World& world) {
  const ParsedCommandLine parsed = ParseCommandLine(arguments, world);
  return parsed.request ? RunRequest(*parsed.request, world) : parsed.exit_code;
}

int RunRequest(const Request& request, const World& world) {
  const Command* const command = request.command;
  Session session(world, request);
  for (const std::string& path : request.paths) {
    if (session.is_broken()) break;
    // Commands name a table, log or manifest that needs too much memory.  Any other lack of memory
    // ends the run in the middle of its output.
    const absl::Status status = lsm::CatchOutOfMemoryFor(path, [&] {
      ShowPath(*command, path, &session);
      return absl::OkStatus();
    });
    if (status.ok()) continue;
    world.out->flush();
    *world.err << "sstdump: " << lsm::MessageOf(status) << " (sstdump takes no more than 4 GiB)\n";
    return static_cast<int>(Outcome::kUnreadable);
  }
  // The loops above and the command end early once nothing can be written.
  if (command->run == &RunVerify && session.is_broken()) session.CutShort();
  return session.Finish();
}

}  // namespace tools
