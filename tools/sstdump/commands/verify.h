// The parts of `sstdump verify`.  Each reports all damage that it finds to the session and returns
// its counts.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMANDS_VERIFY_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMANDS_VERIFY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/table/table_check.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/log_file.h"
#include "tools/sstdump/store/target.h"

namespace tools {

// A problem or a note.
struct Finding {
  absl::Status problem;  // OK: this is a note
  std::string note;
};

struct TableVerdict {
  std::vector<Finding> findings;
  bool is_open = false;
  std::string filter;  // state of the filter
  uint64_t file_id = 0;
  std::optional<bloom::DigestSeed> digest_seed;  // nothing: unknown hash
  int level = 0;  // the level for which the table was written; 0: not recorded
  uint64_t keyspace = 0;
  lsm::TableFacts facts;
  std::shared_ptr<const lsm::RangeMap> ranges;
};
// Makes all checks of lsm::CheckTable.  Any thread.  Calls `before_block` before each read with the
// number of bytes; false ends the check.
TableVerdict CheckTableFile(const Target& target,
                            const std::function<bool(uint64_t bytes)>& before_block);
// Reports the findings to the session.
void ReportTable(const Target& target, const TableVerdict& verdict, Session* session);

struct LogVerdict {
  LogSummary log;
  uint64_t entries = 0;
  uint64_t first_offset = 0;         // of the first record
  lsm::Sequence first_sequence = 0;  // 0: no entries
  lsm::Sequence last_sequence = 0;
};
// `visit` (null: nothing) gets each entry of a sound record, and the record's offset.
LogVerdict VerifyLog(
    const Target& target, Session* session,
    const std::function<void(const BatchEntry& entry, uint64_t offset)>& visit = nullptr);

struct ManifestVerdict {
  bool is_open = false;
  uint64_t edits = 0;
  std::string end;
};
ManifestVerdict VerifyManifest(const Target& target, Session* session);

// Checks CURRENT and the manifest, and compares tables and logs with the manifest.  Also reports
// files that do not belong to the store.
void VerifyStore(const Target& target, Session* session);

// Prints "ok", "DAMAGED" or "not checked" (unreadable, or of a newer version) after the file's
// name, then the counts, then the owner of a table's tree unless that is the default keyspace.
// REQUIRES: `before` was session's tally() before the file.
void PrintVerdict(const std::string& path, Session::Tally before, const std::string& counted,
                  Session* session, uint64_t tree = lsm::kDefaultKeyspace,
                  const KeyspaceNames& names = {});

std::string TextOf(const TableVerdict& verdict);
std::string TextOf(const LogVerdict& verdict);
std::string TextOf(const ManifestVerdict& verdict);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMANDS_VERIFY_H_
