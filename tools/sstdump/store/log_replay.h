// The writes of a store's logs as recovery would apply them to the tables.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_LOG_REPLAY_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_LOG_REPLAY_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/reports.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/log_file.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {

struct LogReplay {
  struct Log {
    std::string name;
    bool is_unread = false;  // some of it could not be read; the session knows why
  };
  std::vector<Log> logs;            // oldest first
  bool is_whole = true;             // all logs were read completely
  lsm::Sequence last_sequence = 0;  // of the tables and the logs
  std::vector<lsm::DroppedLogEnd> dropped;
  lsm::KeyspaceRecords keyspaces;  // after the last entry
};

// Replays the needed logs, oldest first.  A crash may leave a gap in the sequence numbers, and
// recovery uses nothing after it.  But if a log after the gap was synced or closed, the logs before
// it were synced too, so the gap is damage.
//
// Calls `visit` with each write that recovery would use and the index of its log in `logs`.
// REQUIRES files.has_state().
LogReplay ReplayLogs(const StoreFiles& files, Session* session,
                     const std::function<void(size_t log, const BatchEntry& entry)>& visit);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_LOG_REPLAY_H_
