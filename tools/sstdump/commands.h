// The commands, one file each.  Each shows one path; the session was begun for it and ends behind
// it.
//
// Those that are about tables are called once for each table of a directory, and those about logs
// once for each log; `info`, `manifest`, `levels`, `explain`, `verify` and `get --raw` take a
// directory as a whole.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMANDS_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMANDS_H_

#include "tools/sstdump/session.h"
#include "tools/sstdump/target.h"

namespace tools {

void ShowInfo(const Target& target, Session* session);        // any
void ShowProperties(const Target& target, Session* session);  // a table
void ShowBlocks(const Target& target, Session* session);      // a table
void ShowFilter(const Target& target, Session* session);      // a table
void ShowEntries(const Target& target, Session* session);     // a table
void ShowKey(const Target& target, Session* session);         // a table, a log; --raw: a directory
void Verify(const Target& target, Session* session);          // any
void ShowLog(const Target& target, Session* session);         // a log
void ShowManifest(const Target& target, Session* session);    // a manifest, CURRENT, a directory
void ShowLevels(const Target& target, Session* session);      // a directory
void ExplainKey(const Target& target, Session* session);      // a directory

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMANDS_H_
