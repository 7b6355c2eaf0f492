// Walks a log record by record and continues after damage.  Used by wal, get, explain, manifest and
// verify.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_LOG_FILE_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_LOG_FILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/hash.h"
#include "lsm/base/encoded_batch.h"
#include "lsm/base/internal_key.h"
#include "lsm/log/log_reader.h"
#include "lsm/reports.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version_edit.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/target.h"

namespace tools {

struct LogSummary {
  bool is_open = false;  // its header is readable
  uint64_t file_id = 0;
  uint16_t version = 0;
  uint64_t size_bytes = 0;
  uint64_t records = 0;
  uint64_t record_bytes = 0;
  uint64_t durable_offset = 0;
  lsm::LogEnd end = lsm::LogEnd::kNotYet;
  uint64_t torn_bytes = 0;
};

// Calls `visit` for each sound record; false stops.  Reports damage to the session under
// target.path and goes on after it.
LogSummary WalkLog(const Target& target, lsm::LogKind kind, Session* session,
                   const std::function<bool(const lsm::LogReader::Record&)>& visit);

// Records that recovery does not use because earlier ones are missing.
struct UnusedRecords {
  uint64_t records = 0;
  uint64_t offset = 0;  // of the first one
};
// The end of a sound log that recovery drops.  `was_durable`: the manifest says that the log holds
// synced writes.
std::optional<lsm::DroppedLogEnd> DroppedEndOf(const Target& target, const LogSummary& log,
                                               bool was_durable, const UnusedRecords& unused);
void NoteDropped(const lsm::DroppedLogEnd& end, Session* session);

// "0x0123456789abcdef", or "siphash-2-4 0x" and 32 digits.
std::string ReadableSeed(const bloom::DigestSeed& seed);

// A walk through a manifest's edits.
struct ManifestWalk {
  LogSummary log;
  uint64_t edits = 0;
  lsm::ManifestState state;  // after all edits up to the first damage
};
// Calls `visit` for each decodable edit.  Reports damage to the session; an edit that does not fit
// the earlier ones, and a manifest without edits, are damage too.
ManifestWalk WalkManifest(
    const Target& target, Session* session,
    const std::function<void(uint64_t offset, const lsm::VersionEdit& edit)>& visit);

// One write of a batch.
struct BatchEntry {
  lsm::Sequence sequence = 0;
  lsm::KeyspaceId keyspace = lsm::kDefaultKeyspace;
  lsm::BatchKind kind = lsm::BatchKind::kPut;
  std::string_view key;                // or the begin of a range, or the name of a new keyspace
  std::string_view value;              // of a put
  std::optional<std::string_view> to;  // of a range; nullopt: to the end
  const lsm::KeyspaceChange* change = nullptr;  // null: it changes no keyspace
  // For puts: when the record was written, in seconds since 1970, if it says so.
  std::optional<uint32_t> written = std::nullopt;

  bool is_put() const { return kind == lsm::BatchKind::kPut; }
  bool is_range() const { return IsRange(kind); }
  // False for a change of keyspaces.
  bool is_of_default() const { return keyspace == lsm::kDefaultKeyspace && change == nullptr; }
  // Whether it changes a key of the keyspace.
  bool Changes(lsm::KeyspaceId of_keyspace, std::string_view of_key) const {
    if (keyspace != of_keyspace || change != nullptr) return false;
    return is_range() ? key <= of_key && (!to || of_key < *to) : key == of_key;
  }
};
// Applies a change of keyspaces.  Returns why recovery, with these keyspaces so far, would refuse
// the entry; empty if it would not.
std::string ReplayEntry(const BatchEntry& entry, lsm::KeyspaceRecords* keyspaces);
// Visits the entries of a log's record.  DataLoss if the record does not hold a whole batch;
// entries before the damage have been visited by then.
absl::Status WalkBatch(const lsm::LogReader::Record& record, std::string_view file,
                       const std::function<void(const BatchEntry&)>& visit);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_LOG_FILE_H_
