// `sstdump scan`: a table's entries, in order.
#include <memory>
#include <string>
#include <string_view>

#include "lsm/bytes/status.h"
#include "lsm/table/table_walk.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

using lsm::Concat;

// Prints one line: the key, or key, sequence, kind and value separated by tabs.  Escaped bytes
// contain no tabs.
void PrintEntry(const lsm::ParsedKey& key, std::string_view value, Session* session) {
  if (session->request().keys_only)
    return session->Print(Concat(session->Show(key.user_key, KeyColumns(*session, 0, 1)), "\n"));
  // In a pipe keys are whole.  On a terminal a long value would fill the screen.
  const size_t columns = KeyColumns(*session, 24, 2);
  const std::string line = Concat(session->Show(key.user_key, columns), "\t", key.sequence, "\t",
                                  NameOf(key.kind), "\t");
  session->Print(Concat(line, session->Show(value, RestOfLine(*session, line)), "\n"));
}

void WriteEntry(const Target& target, const lsm::ParsedKey& key, std::string_view value,
                Session* session) {
  lsm::JsonWriter& json = session->BeginLine();
  json.Member("file", target.path);
  json.Member("key", session->Show(key.user_key));
  json.Member("sequence", key.sequence);
  json.Member("kind", NameOf(key.kind));
  if (!session->request().keys_only && key.kind == lsm::EntryKind::kPut)
    json.Member("value", session->Show(value));
  session->EndLine();
}

}  // namespace

void RunScan(const Target& target, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) return session->Fail(table.status(), target);
  const Request& request = session->request();
  uint64_t left = request.limit.value_or(UINT64_MAX);
  bool past_the_end = false;
  const auto visit = [&](const lsm::ParsedKey& key, std::string_view value) {
    if (request.from && key.user_key < *request.from) return true;
    past_the_end = left == 0 || (request.to && key.user_key >= *request.to) || session->is_broken();
    if (past_the_end) return false;
    --left;
    if (session->json_wanted()) {
      WriteEntry(target, key, value, session);
    } else {
      PrintEntry(key, value, session);
    }
    return true;
  };
  lsm::TableWalk walk(**table);
  for (size_t i = request.from ? (*table)->FirstBlockFor(*request.from) : 0;
       i < (*table)->block_count(); ++i) {
    const lsm::BlockFacts facts = walk.Walk(i, visit);
    if (past_the_end || left == 0) break;
    if (!facts.status.ok()) session->Fail(facts.status, target);
    if (session->has_too_many_problems()) break;
  }
}

}  // namespace tools
