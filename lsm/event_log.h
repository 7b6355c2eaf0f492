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
// Values with other characters than letters, digits and ",-._/:" are quoted; in them `\xHH` stands
// for a quote and for bytes that are not printable.
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
  // Created if needed.  May be the store's own, but DB::Destroy leaves the log's files there.
  std::string directory = {};
  // NAME is written to; NAME.1 is the one before, and so on.
  std::string name = "LOG";
  // The next line begins another file if it would make this one longer.  10 MiB; at least 1 KiB.
  uint64_t file_bytes_max = uint64_t{10} << 20;
  // Files kept, with the one written to.  5; [1, 1000].
  int files_max = 5;
  // Outlives the log; null: the system's.
  FileSystem* file_system = nullptr;
};

// Thread-safe; may be the listener of several stores at once.  Its failures never reach a store: a
// line that cannot be written is dropped and counted.  A part of it may be in the file; the next
// line begins on a line of its own.
//
// It rotates its files itself: only one EventLog at a time may have a directory and name, in all
// processes.  If another program removes, renames, cuts or replaces the file that is written to, or
// removes the directory, the next line begins another file.  It compares sizes: if the file in its
// place has the same size, the next line is still written to the old file, and the one after that
// begins another.
class EventLog final : public EventListener {
 public:
  // Begins a new file; one of an earlier process becomes NAME.1.  InvalidArgument for a value out
  // of range, and for a name that is one of a store's files.
  static absl::StatusOr<std::shared_ptr<EventLog>> Open(const EventLogOptions& options);
  ~EventLog() override;

  uint64_t lines_lost() const;
  // Why the last of them was lost; OK if none was.
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
  void OnDamage(const DamageFound& event) override;
  void OnFileCreated(const FileCreated& event) override;
  void OnFileRemoved(const FileRemoved& event) override;

 private:
  class Files;
  class Line;
  explicit EventLog(std::unique_ptr<Files> files);

  // Writes the event's line with what `add` adds to it.  Throws nothing.
  template <typename AddFields>
  void Write(const Event& event, const char* name, const AddFields& add);

  const std::unique_ptr<Files> files_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENT_LOG_H_
