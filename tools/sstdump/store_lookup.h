// One lookup in a store as the library makes it: over the logs that it would replay, then over the
// tables, level by level.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_LOOKUP_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_LOOKUP_H_

#include <string>

#include "lsm/base/explanation.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store_files.h"

namespace tools {

struct StoreLookup {
  lsm::Explanation explanation;
  std::string value;  // if explanation.found
  // False if something that may hold a newer write of the key could not be looked into.  The
  // session knows why, as a problem or as a note.
  bool is_certain = true;
};

// REQUIRES files.has_state().
StoreLookup LookUpInStore(const StoreFiles& files, const std::string& key, Session* session);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_LOOKUP_H_
