// `sstdump verify`: checks that everything is as it was written.
#include "tools/sstdump/commands/verify.h"

#include <string>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/version/manifest.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/commands/table_verifier.h"

namespace tools {
namespace {

using lsm::Concat;

std::string VerifyCurrent(const Target& target, Session* session) {
  const absl::StatusOr<lsm::Current> current = lsm::ReadCurrent(*target.directory, target.name);
  if (!current.ok()) {
    session->Fail(current.status(), target);
    return "a CURRENT file";
  }
  return Concat("names manifest ", current->manifest_number);
}

}  // namespace

void PrintVerdict(const std::string& path, Session::Tally before, const std::string& counted,
                  Session* session, uint64_t tree, const KeyspaceNames& names) {
  const bool is_fine = session->tally() == before;
  const bool is_damaged = session->tally().damage != before.damage;
  if (session->json_wanted()) {
    lsm::JsonWriter& json = session->json();
    json.BeginObject();
    json.Member("file", path);
    json.Member("sound", is_fine);
    json.Member("state", is_fine ? "sound" : is_damaged ? "damaged" : "unreadable");
    json.Member("found", counted);
    WriteTree(tree, names, session);
    json.EndObject();
    return session->DrainJson();
  }
  const std::string owner =
      tree == lsm::kDefaultKeyspace ? "" : Concat(", of ", TreeText(tree, names, *session));
  session->Print(Concat("  ", lsm::Escape(path), ": ",
                        is_fine      ? session->Green("ok")
                        : is_damaged ? session->Red("DAMAGED")
                                     : session->Yellow("not checked"),
                        ", ", counted, owner, "\n"));
}

void RunVerify(const Target& target, Session* session) {
  if (target.kind == TargetKind::kDirectory) return VerifyStore(target, session);
  if (target.kind == TargetKind::kForeign) {
    return session->Fail(absl::InvalidArgumentError(Concat("this is ", target.foreign)), target);
  }
  session->set_problems_are_data();
  if (session->json_wanted()) {
    session->json().Key("files");
    session->json().BeginArray();
  }
  const Session::Tally before = session->tally();
  std::string counted;
  uint64_t tree = lsm::kDefaultKeyspace;
  if (target.kind == TargetKind::kTable) {
    const TableVerdict verdict = TableVerifier({target}, session).Next();
    ReportTable(target, verdict, session);
    counted = TextOf(verdict);
    tree = verdict.keyspace;
  }
  if (target.kind == TargetKind::kLog) counted = TextOf(VerifyLog(target, session));
  if (target.kind == TargetKind::kManifest) counted = TextOf(VerifyManifest(target, session));
  if (target.kind == TargetKind::kLock) counted = "empty, as expected";
  if (target.kind == TargetKind::kReserve) counted = "holds no data";
  if (target.kind == TargetKind::kCurrent) counted = VerifyCurrent(target, session);
  PrintVerdict(target.path, before, counted, session, tree);
  if (session->json_wanted()) session->json().EndArray();
}

}  // namespace tools
