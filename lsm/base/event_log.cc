#include "lsm/event_log.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kFileBytesMin = 1024;
constexpr int kFilesMax = 1000;

std::string TimeOf(uint64_t wall_micros) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ",
                          absl::FromUnixMicros(static_cast<int64_t>(wall_micros)),
                          absl::UTCTimeZone());
}

bool IsPlain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(",-._/:").find(c) != std::string_view::npos;
  });
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Escape(text)) c == '"' ? quoted += "\\x22" : quoted += c;
  return quoted += '"';
}

std::string NumberList(const std::vector<TableInfo>& tables) {
  std::string numbers;
  for (const TableInfo& table : tables) numbers += Concat(numbers.empty() ? "" : ",", table.number);
  return numbers.empty() ? "-" : numbers;
}

absl::Status CheckOptions(const EventLogOptions& options) {
  const auto bad = [](const auto&... why) {
    return absl::InvalidArgumentError(Concat("EventLogOptions::", why...));
  };
  if (options.file_bytes_max < kFileBytesMin)
    return bad("file_bytes_max is ", options.file_bytes_max, ", at least ", kFileBytesMin,
               " is allowed");
  if (options.files_max < 1 || options.files_max > kFilesMax)
    return bad("files_max is ", options.files_max, ", allowed is [1, ", kFilesMax, "]");
  if (ParseFileName(options.name))
    return bad("name is ", options.name, ", the name of a store's file");
  return absl::OkStatus();
}

}  // namespace

// The files of an event log.  Thread-safe.
class EventLog::Files {
 public:
  static absl::StatusOr<std::unique_ptr<Files>> Open(const EventLogOptions& options) {
    TRELLIS_RETURN_IF_ERROR(CheckOptions(options));
    FileSystem& file_system =
        options.file_system != nullptr ? *options.file_system : PosixFileSystem();
    auto files = std::make_unique<Files>(options, &file_system);
    MutexLock lock(&files->mutex_);
    TRELLIS_RETURN_IF_ERROR(files->OpenDirectory());
    TRELLIS_RETURN_IF_ERROR(files->Rotate());
    return files;
  }

  Files(const EventLogOptions& options, FileSystem* file_system)
      : options_(options), file_system_(file_system) {}

  // Does not throw.
  void Write(std::string_view line) {
    MutexLock lock(&mutex_);
    absl::Status status;
    try {
      status = TryToWrite(line);
    } catch (const std::bad_alloc&) {
      status = OutOfMemory();
    }
    if (!status.ok()) NoteLost(status);
  }
  void LoseLine() {
    MutexLock lock(&mutex_);
    NoteLost(OutOfMemory());
  }

  uint64_t lines_lost() {
    MutexLock lock(&mutex_);
    return lines_lost_;
  }
  absl::Status status() {
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  absl::Status TryToWrite(std::string_view line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool is_full = file_ != nullptr && file_->size_bytes() > 0 &&
                         file_->size_bytes() + line.size() > options_.file_bytes_max;
    if (file_ == nullptr || is_full || !IsInPlace()) {
      absl::Status status = Rotate();
      // Unavailable means that the directory itself was removed.
      if (absl::IsUnavailable(status)) {
        TRELLIS_RETURN_IF_ERROR(OpenDirectory());
        status = Rotate();
      }
      TRELLIS_RETURN_IF_ERROR(status);
    }
    // A failed write does not rotate: while lines cannot be written, that would replace old files
    // by empty ones.
    if (is_torn_) TRELLIS_RETURN_IF_ERROR(file_->Append("\n"));
    const uint64_t before = file_->size_bytes();
    is_torn_ = true;  // until Append returns, since it may throw
    const absl::Status status = file_->Append(line);
    is_torn_ = !status.ok() && file_->size_bytes() > before;
    return status;
  }

  // Whether the open file still has the log's name.  Events are rare, so one more system call for
  // each is cheap.
  bool IsInPlace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::StatusOr<FileInfo> info = directory_->Stat(options_.name);
    return info.ok() && info->size_bytes == file_->size_bytes();
  }

  absl::Status OpenDirectory() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TRELLIS_ASSIGN_OR_RETURN(directory_,
                             file_system_->OpenDirectory(options_.directory, /*create=*/true));
    return absl::OkStatus();
  }

  // Renames NAME.1 to NAME.2, NAME to NAME.1, and so on, up to the first free name.  If no name is
  // free, the oldest file is replaced.  So a repeated failure moves no more files.
  absl::Status Rotate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    file_.reset();
    const auto name_of = [&](int age) {
      return age == 0 ? options_.name : Concat(options_.name, ".", age);
    };
    absl::Status status;
    if (options_.files_max == 1) status = directory_->Remove(options_.name);
    int free = 0;
    while (free < options_.files_max - 1 && directory_->Stat(name_of(free)).ok()) ++free;
    for (int age = free; age > 0; --age)
      status = directory_->Rename(name_of(age - 1), name_of(age));
    // The name of the current file could not be freed.
    if (!status.ok() && !absl::IsNotFound(status)) return status;
    TRELLIS_ASSIGN_OR_RETURN(file_, directory_->CreateExclusive(options_.name));
    is_torn_ = false;
    return absl::OkStatus();
  }

  void NoteLost(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++lines_lost_;
    status_ = status;
  }

  const EventLogOptions options_;
  FileSystem* const file_system_;
  Mutex mutex_;
  std::unique_ptr<Directory> directory_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<AppendFile> file_ ABSL_GUARDED_BY(mutex_);  // null if none could be created
  bool is_torn_ ABSL_GUARDED_BY(mutex_) = false;              // the file ends within a line
  uint64_t lines_lost_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class EventLog::Line {
 public:
  Line(const Event& event, std::string_view name)
      : text_(Concat(TimeOf(event.wall_micros), " event=", name)) {
    if (event.lost > 0) Add("lost_events", event.lost);
  }

  template <typename Value>
  Line& Add(std::string_view name, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
      Append(name, value ? "yes" : "no");
    } else if constexpr (std::is_same_v<Value, absl::Status>) {
      const std::string text = value.ok() ? "ok" : value.ToString();
      Append(name, IsPlain(text) ? text : Quoted(text));
    } else if constexpr (std::is_arithmetic_v<Value>) {
      Append(name, std::to_string(value));
    } else {
      const std::string_view text = value;
      Append(name, IsPlain(text) ? std::string(text) : Quoted(text));
    }
    return *this;
  }

  const std::string& Finish() { return text_ += '\n'; }

 private:
  void Append(std::string_view name, std::string_view value) {
    text_ += Concat(" ", name, "=", value);
  }

  std::string text_;
};

absl::StatusOr<std::shared_ptr<EventLog>> EventLog::Open(const EventLogOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::shared_ptr<EventLog>> {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Files> files, Files::Open(options));
    return std::shared_ptr<EventLog>(new EventLog(std::move(files)));
  });
}

EventLog::EventLog(std::unique_ptr<Files> files) : files_(std::move(files)) {}
EventLog::~EventLog() = default;

uint64_t EventLog::lines_lost() const { return files_->lines_lost(); }
absl::Status EventLog::status() const { return files_->status(); }

template <typename AddFields>
void EventLog::Write(const Event& event, const char* name, const AddFields& add) {
  try {
    Line line(event, name);
    add(&line);
    line.Add("store", event.store);
    files_->Write(line.Finish());
  } catch (const std::bad_alloc&) {
    files_->LoseLine();
  }
}

void EventLog::OnOpenBegin(const OpenBegin& event) {
  Write(event, "open_begin",
        [&](Line* line) { line->Add("release", event.release).Add("read_only", event.read_only); });
}

void EventLog::OnOpenEnd(const OpenEnd& event) {
  Write(event, "open_end", [&](Line* line) {
    line->Add("us", event.nanos / 1000)
        .Add("logs", event.recovery.logs)
        .Add("records", event.recovery.records)
        .Add("writes", event.recovery.writes)
        .Add("dropped_bytes", event.recovery.dropped_bytes());
    for (const DroppedLogEnd& dropped : event.recovery.dropped)
      line->Add("dropped", dropped.Describe());
    line->Add("status", event.status);
  });
}

void EventLog::OnClose(const Closed& event) {
  Write(event, "close",
        [&](Line* line) { line->Add("us", event.nanos / 1000).Add("status", event.status); });
}

void EventLog::OnFlushBegin(const FlushBegin& event) {
  Write(event, "flush_begin", [&](Line* line) {
    line->Add("job", event.job)
        .Add("reason", NameOf(event.reason))
        .Add("entries", event.entries)
        .Add("memtable_bytes", event.memtable_bytes);
  });
}

void EventLog::OnFlushEnd(const FlushEnd& event) {
  Write(event, "flush_end", [&](Line* line) {
    line->Add("job", event.job)
        .Add("reason", NameOf(event.reason))
        .Add("entries", event.entries)
        .Add("outputs", NumberList(event.outputs))
        .Add("bytes", event.bytes_written)
        .Add("us", event.nanos / 1000)
        .Add("status", event.status);
  });
}

void EventLog::OnCompactionBegin(const CompactionBegin& event) {
  Write(event, "compaction_begin", [&](Line* line) {
    line->Add("job", event.job)
        .Add("reason", NameOf(event.reason))
        .Add("level", event.level)
        .Add("output_level", event.output_level)
        .Add("inputs", NumberList(event.inputs));
  });
}

void EventLog::OnCompactionEnd(const CompactionEnd& event) {
  Write(event, "compaction_end", [&](Line* line) {
    line->Add("job", event.job)
        .Add("reason", NameOf(event.reason))
        .Add("level", event.level)
        .Add("output_level", event.output_level)
        .Add("moved", event.moved)
        .Add("inputs", NumberList(event.inputs))
        .Add("outputs", NumberList(event.outputs))
        .Add("read", event.bytes_read)
        .Add("written", event.bytes_written)
        .Add("dropped_entries", event.entries_dropped)
        .Add("us", event.nanos / 1000)
        .Add("status", event.status);
  });
}

void EventLog::OnStallBegin(const StallBegin& event) {
  Write(event, "stall_begin", [&](Line* line) { line->Add("cause", NameOf(event.cause)); });
}

void EventLog::OnStallEnd(const StallEnd& event) {
  Write(event, "stall_end",
        [&](Line* line) { line->Add("cause", NameOf(event.cause)).Add("us", event.nanos / 1000); });
}

void EventLog::OnFailure(const Failure& event) {
  Write(event, "failure", [&](Line* line) {
    line->Add("kind", NameOf(event.kind))
        .Add("writes_stopped", event.writes_stopped)
        .Add("status", event.status);
  });
}

void EventLog::OnResume(const Resumed& event) {
  Write(event, "resume",
        [&](Line* line) { line->Add("us", event.nanos / 1000).Add("status", event.status); });
}

void EventLog::OnSpaceChange(const SpaceChange& event) {
  Write(event, "space_change", [&](Line* line) {
    line->Add("puts_refused", event.puts_refused).Add("reserve_bytes", event.reserve_bytes);
  });
}

void EventLog::OnViewWentBack(const ViewWentBack& event) {
  Write(event, "view_went_back", [&](Line* line) {
    line->Add("from_sequence", event.from_sequence).Add("to_sequence", event.to_sequence);
  });
}

void EventLog::OnDamage(const DamageFound& event) {
  Write(event, "damage", [&](Line* line) { line->Add("what", event.line); });
}

void EventLog::OnFileCreated(const FileCreated& event) {
  Write(event, "file_created",
        [&](Line* line) { line->Add("path", event.path).Add("bytes", event.bytes); });
}

void EventLog::OnFileRemoved(const FileRemoved& event) {
  Write(event, "file_removed",
        [&](Line* line) { line->Add("path", event.path).Add("bytes", event.bytes); });
}

}  // namespace lsm
