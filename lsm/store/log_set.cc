#include "lsm/store/log_set.h"

#include <cassert>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

absl::Status NoteClosed(uint64_t number, const LogWriter& log,
                        std::map<uint64_t, uint64_t>* closed) {
  return CatchOutOfMemory([&] {
    closed->emplace(number, log.size_bytes());
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status LogSet::Make(uint64_t number, uint64_t file_id, Logs* made) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file,
                           directory_->CreateExclusive(LogFileName(number)));
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<LogWriter> writer,
                           LogWriter::Create(std::move(file), LogKind::kWriteAhead, file_id));
  made->emplace(number, Log{std::move(writer)});
  return absl::OkStatus();
}

void LogSet::StartLast() { newest_ = logs_.rbegin()->second.writer.get(); }

absl::Status LogSet::Start(uint64_t number, uint64_t file_id) {
  Logs made;
  TRELLIS_RETURN_IF_ERROR(Make(number, file_id, &made));
  MutexLock lock(&mutex_);
  logs_.merge(prepared_);  // from before the store was resumed
  assert(logs_.empty() || logs_.rbegin()->first < number);
  logs_.merge(made);
  StartLast();
  return absl::OkStatus();
}

std::optional<uint64_t> LogSet::StartPrepared() {
  MutexLock lock(&mutex_);
  if (prepared_.empty()) return std::nullopt;
  const uint64_t number = prepared_.begin()->first;
  assert(logs_.rbegin()->first < number);
  logs_.merge(prepared_);
  StartLast();
  return number;
}

absl::Status LogSet::Prepare(uint64_t number, uint64_t file_id) {
  Logs made;
  TRELLIS_RETURN_IF_ERROR(Make(number, file_id, &made));
  MutexLock lock(&mutex_);
  assert(prepared_.empty() && (logs_.empty() || logs_.rbegin()->first < number));
  prepared_.merge(made);
  return absl::OkStatus();
}

void LogSet::Reserve(size_t payload_bytes) { newest_->Reserve(payload_bytes); }

absl::StatusOr<uint64_t> LogSet::Append(std::string_view payload) {
  const uint64_t before = newest_->size_bytes();
  TRELLIS_RETURN_IF_ERROR(newest_->Append(payload));
  return newest_->size_bytes() - before;
}

absl::StatusOr<std::vector<uint64_t>> LogSet::Sync() {
  MutexLock lock(&mutex_);
  std::vector<uint64_t> first_time;
  for (auto& [number, log] : logs_) {
    if (!log.writer->has_unsynced()) continue;
    // Usually the flush that began with this log has synced the name (SyncNames).
    if (!log.name_is_durable) {
      TRELLIS_RETURN_IF_ERROR(directory_->Sync());
      for (auto& [of_name, named] : logs_) named.name_is_durable = true;
    }
    if (!log.synced_once) first_time.push_back(number);
    TRELLIS_RETURN_IF_ERROR(log.writer->Sync());
    log.synced_once = true;
  }
  return first_time;
}

absl::Status LogSet::SyncNames() {
  uint64_t last = 0;
  {
    MutexLock lock(&mutex_);
    if (!logs_.empty()) last = logs_.rbegin()->first;
    if (!prepared_.empty()) last = prepared_.rbegin()->first;
  }
  // Without the lock, because appends to the next log wait for it.
  TRELLIS_RETURN_IF_ERROR(directory_->Sync());
  MutexLock lock(&mutex_);
  for (Logs* logs : {&logs_, &prepared_}) {
    for (auto& [number, log] : *logs) log.name_is_durable = log.name_is_durable || number <= last;
  }
  return absl::OkStatus();
}

std::map<uint64_t, uint64_t> LogSet::Sizes() {
  MutexLock lock(&mutex_);
  std::map<uint64_t, uint64_t> sizes;
  for (const auto& [number, log] : logs_) sizes.emplace(number, log.writer->size_bytes());
  return sizes;
}

void LogSet::Remove(uint64_t number) {
  Logs removed;
  {
    MutexLock lock(&mutex_);
    while (!logs_.empty() && logs_.begin()->first < number)
      removed.insert(logs_.extract(logs_.begin()));
  }
  // Outside of the lock, because appends wait for it.
  RemoveFiles(std::move(removed));
}

// The logs' entries, if any, are in tables, so it no longer matters how the files end.  The next
// opening removes files that cannot be removed now.
void LogSet::RemoveFiles(Logs logs) {
  for (auto& log : logs) {
    log.second.writer.reset();
    CatchOutOfMemory([&] { return directory_->Remove(LogFileName(log.first)); }).IgnoreError();
  }
}

absl::Status LogSet::Close(std::map<uint64_t, uint64_t>* closed) {
  MutexLock lock(&mutex_);
  RemoveFiles(std::exchange(prepared_, {}));
  absl::Status first;
  bool names_are_durable = true;
  for (auto& [number, log] : logs_) {
    first.Update(log.writer->Close(/*sync=*/true));
    if (first.ok()) first = NoteClosed(number, *log.writer, closed);
    names_are_durable = names_are_durable && log.name_is_durable;
  }
  logs_.clear();
  newest_ = nullptr;
  if (!names_are_durable && !closed->empty()) {
    const absl::Status synced = CatchOutOfMemory([&] { return directory_->Sync(); });
    if (!synced.ok()) closed->clear();
    first.Update(synced);
  }
  return first;
}

}  // namespace lsm
