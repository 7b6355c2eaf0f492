// A listener that writes a text log, one line per event, and rotates its files.
//
//   auto log = lsm::EventLog::Open({.directory = "/var/log/app"});
//   if (log.ok()) options.listener = *log;
//
// A line is a UTC time, the event, and its figures:
//
//   2026-11-26T17:05:18.123456Z event=flush_end job=3 reason=memtable entries=51200
//   outputs=12 bytes=4096000 us=31250 status=ok store="/var/lib/app"      (one line in the file)
//
// A value is quoted if it is empty, or has characters other than letters, digits and ",-._/:".
// Within quotes, `\xHH` stands for a quote or an unprintable byte, and `\\` for a backslash.
#ifndef TRELLIS_LSM_EVENT_LOG_H_
#define TRELLIS_LSM_EVENT_LOG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/event_listener.h"

namespace lsm::inline TRELLIS_ABI {

struct EventLogOptions {
  // Created if needed.  May be the store's directory; DB::Destroy then leaves the log's files
  // there.
  std::string directory = {};
  // Name of the file being written.  NAME.1 is the one before it, and so on.
  std::string name = "LOG";
  // The log begins a new file rather than let one exceed this size. 10 MiB; at least 1 KiB.
  uint64_t file_bytes_max = uint64_t{10} << 20;
  // Number of files kept, including the one being written. 5; [1, 1000].
  int files_max = 5;
  // Must outlive the log.  Null: the system's.
  FileSystem* file_system = nullptr;
};

// Thread-safe.  One EventLog may be the listener of several stores at once.  Its failures never
// reach a store: a line that cannot be written is dropped and counted.  Part of it may be in the
// file; the next line still begins on a line of its own.
//
// Only one EventLog at a time, in all processes, may use a directory and name, since it rotates its
// files itself.  If another program removes, renames, truncates or replaces the current file, or
// removes the directory, the next line begins a new file.  (The log compares sizes.  If the
// replacement has the same size, one more line goes to the old file.)
class TRELLIS_API EventLog final : public EventListener {
 public:
  // Begins a new file; a file of an earlier process becomes NAME.1.  InvalidArgument if a value is
  // out of range, or the name is one that a store's file can have.
  static absl::StatusOr<std::shared_ptr<EventLog>> Open(const EventLogOptions& options);
  ~EventLog() override;

  uint64_t lines_lost() const;
  // The error that lost the most recently lost line; OK if no line was lost.
  absl::Status status() const;

  void OnOpenBegin(const OpenBegin& event) override;
  void OnOpenEnd(const OpenEnd& event) override;
  void OnClose(const Closed& event) override;
  void OnFlushBegin(const FlushBegin& event) override;
  void OnFlushEnd(const FlushEnd& event) override;
  void OnCompactionBegin(const CompactionBegin& event) override;
  void OnCompactionEnd(const CompactionEnd& event) override;
  void OnStallBegin(const StallBegin& event) override;
  void OnStallEnd(const StallEnd& event) override;
  void OnFailure(const Failure& event) override;
  void OnResume(const Resumed& event) override;
  void OnSpaceChange(const SpaceChange& event) override;
  void OnViewWentBack(const ViewWentBack& event) override;
  void OnDamage(const DamageFound& event) override;
  void OnFileCreated(const FileCreated& event) override;
  void OnFileRemoved(const FileRemoved& event) override;

 private:
  class Files;
  class Line;
  explicit EventLog(std::unique_ptr<Files> files);

  // Writes the event's line, with the fields that `add` adds.  Does not throw.
  template <typename AddFields>
  void Write(const Event& event, const char* name, const AddFields& add);

  const std::unique_ptr<Files> files_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENT_LOG_H_
