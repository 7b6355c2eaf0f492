#include "lsm/event_listener.h"

namespace lsm::inline TRELLIS_ABI {

EventListener::~EventListener() = default;

const char* NameOf(FlushReason reason) {
  switch (reason) {
    case FlushReason::kMemtable:
      return "memtable";
    case FlushReason::kTombstones:
      return "tombstones";
    case FlushReason::kRequest:
      return "request";
    case FlushReason::kOpening:
      return "opening";
    case FlushReason::kResume:
      return "resume";
  }
  return "unknown";
}

const char* NameOf(CompactionReason reason) {
  switch (reason) {
    case CompactionReason::kLevel:
      return "level";
    case CompactionReason::kReaders:
      return "readers";
    case CompactionReason::kTombstones:
      return "tombstones";
    case CompactionReason::kDrop:
      return "drop";
    case CompactionReason::kRequest:
      return "request";
  }
  return "unknown";
}

const char* NameOf(StallCause cause) {
  switch (cause) {
    case StallCause::kMemtable:
      return "memtable";
    case StallCause::kLevel0:
      return "level0";
    case StallCause::kReserve:
      return "reserve";
    case StallCause::kLog:
      return "log";
  }
  return "unknown";
}

const char* NameOf(FailureKind kind) {
  switch (kind) {
    case FailureKind::kLog:
      return "log";
    case FailureKind::kManifest:
      return "manifest";
    case FailureKind::kFlush:
      return "flush";
    case FailureKind::kCompaction:
      return "compaction";
  }
  return "unknown";
}

}  // namespace lsm
