// `sstdump explain`: every step of a lookup in a store: the logs first, then the tables in the
// order in which the library asks them.
#include <string>
#include <string_view>

#include "lsm/bytes/status.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/store_files.h"
#include "tools/sstdump/store/store_lookup.h"

namespace tools {

using lsm::Concat;

void RunExplain(const Target& target, Session* session) {
  const absl::StatusOr<StoreFiles> files =
      LookAtStore(session->world(), session->request(), target);
  if (!files.ok()) return session->Fail(files.status(), target);
  if (!files->has_state()) return session->Fail(StateProblem(*files), target);
  const std::string& key = session->request().key;
  const lsm::Explanation explanation = LookUpInStore(*files, key, session).explanation;
  const Keyspaces& keyspaces = *files->keyspaces;
  if (session->json_wanted()) {
    WriteShown(keyspaces, session);
    session->json().Key("explanation");
    session->json().Json(
        explanation.ToJson([&](std::string_view shown) { return session->Show(shown); }));
    return;
  }
  std::string where;
  if (keyspaces.shown.id != lsm::kDefaultKeyspace)
    where = Concat(" in keyspace ", KeyspaceText(keyspaces.shown.id, keyspaces.names, *session));
  session->Print(
      Heading(*session, target.path,
              Concat("lookup of ",
                     session->ShowKey(key, KeyColumns(*session, 20 + where.size(), 1)), where)));
  constexpr size_t kAroundKeys = 50;  // room for the rest of a line that shows two keys
  const size_t columns = KeyColumns(*session, kAroundKeys, 2);
  session->Print(
      explanation.ToText([&](std::string_view shown) { return session->ShowKey(shown, columns); }));
}

}  // namespace tools
