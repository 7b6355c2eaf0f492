// One lookup in a store, in the library's order: the logs that opening would replay, then the
// tables, level by level.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_STORE_LOOKUP_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_STORE_LOOKUP_H_

#include <string>

#include "lsm/explanation.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {

struct StoreLookup {
  // `error` is set if a file is unreadable that may hold a newer write of the key; the session has
  // it as a problem or a note.
  lsm::Explanation explanation;
  std::string value;  // if explanation.found

  bool is_certain() const { return explanation.error.empty(); }
};

// Looks up a key of the shown keyspace.  REQUIRES files.has_state().
StoreLookup LookUpInStore(const StoreFiles& files, const std::string& key, Session* session);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_STORE_LOOKUP_H_
