// The parts of `sstdump verify`.  Each names every damage that it finds to the session and returns
// what it counted.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMANDS_VERIFY_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMANDS_VERIFY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/table/table_check.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/log_file.h"
#include "tools/sstdump/store/target.h"

namespace tools {

// A problem, or something worth knowing.
struct Finding {
  absl::Status problem;  // OK: it is a note
  std::string note;
};

struct TableVerdict {
  std::vector<Finding> findings;
  bool is_open = false;
  std::string filter;  // its state
  uint64_t file_id = 0;
  std::optional<bloom::DigestSeed> digest_seed;  // nothing: of an unknown hash
  int level = 0;                                 // that it was made for; 0 if it does not say
  lsm::TableFacts facts;
};
// Checks all that lsm::CheckTable does.  Any thread.  `before_block` is called before each read,
// with its number of bytes, and says whether to go on.
TableVerdict CheckTableFile(const Target& target,
                            const std::function<bool(uint64_t bytes)>& before_block);
// Tells the session what was found.
void ReportTable(const Target& target, const TableVerdict& verdict, Session* session);

struct LogVerdict {
  LogSummary log;
  uint64_t entries = 0;
  uint64_t first_offset = 0;         // of the first record
  lsm::Sequence first_sequence = 0;  // 0: there are no entries
  lsm::Sequence last_sequence = 0;
};
LogVerdict VerifyLog(const Target& target, Session* session);

struct ManifestVerdict {
  bool is_open = false;
  uint64_t edits = 0;
  std::string end;
};
ManifestVerdict VerifyManifest(const Target& target, Session* session);

// Everything: CURRENT, manifest, the tables against it, the logs against it, and files that no
// store owns.
void VerifyStore(const Target& target, Session* session);

// "ok", "DAMAGED" or "not checked" (it cannot be read, or is of a newer version) after a file's
// name, and what was counted.  REQUIRES: `before` was session's tally() before the file.
void PrintVerdict(const std::string& path, Session::Tally before, const std::string& counted,
                  Session* session);

std::string TextOf(const TableVerdict& verdict);
std::string TextOf(const LogVerdict& verdict);
std::string TextOf(const ManifestVerdict& verdict);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMANDS_VERIFY_H_
