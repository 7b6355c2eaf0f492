#include "lsm/store/reserve.h"

#include <bit>
#include <memory>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/store/store_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A new log and a new manifest take about this much.
constexpr uint64_t kRecordBytes = uint64_t{1} << 20;

// At most this much must stay free beside it: an attempt that takes all free space would make other
// writes fail.
constexpr uint64_t kFreeBytes = uint64_t{1} << 20;

// The size of the file; nullopt if there is none.  FailedPrecondition if the file is not ours: it
// stays.
absl::StatusOr<std::optional<uint64_t>> FindReserve(Directory& directory) {
  const std::string name(kReserveFileName);
  const absl::StatusOr<FileInfo> info = directory.Stat(name);
  if (absl::IsNotFound(info.status())) return std::optional<uint64_t>();
  TRELLIS_RETURN_IF_ERROR(info.status());
  TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(directory, name, FileKind::kReserve));
  if (origin == Origin::kForeign) return ForeignFile(directory, name);
  return info->size_bytes;
}

}  // namespace

// Recovered logs become tables before anything is removed, and may hold two memtables; a step of a
// compaction writes its outputs before it removes its inputs.
uint64_t ReserveBytesMax(const Options& options) {
  if (options.reserve_bytes) return *options.reserve_bytes;
  return kRecordBytes + 2 * options.write_buffer_bytes + 2 * options.table_bytes;
}

uint64_t LogReserveBytesMax(const Options& options, uint64_t capacity_bytes) {
  const uint64_t bytes =
      std::min<uint64_t>(ReserveBytesMax(options), kRecordBytes + options.write_buffer_bytes);
  return bytes == 0 ? 0 : std::max(kReserveBytesMin, std::min(bytes, capacity_bytes / 4));
}

uint64_t ReserveBytesFor(uint64_t table_bytes, uint64_t memtable_bytes) {
  return std::max(kReserveBytesMin, std::bit_floor(std::max(table_bytes, 4 * memtable_bytes)));
}

bool RemoveReserve(Directory& directory) {
  return CatchOutOfMemory([&]() -> absl::Status {
           TRELLIS_ASSIGN_OR_RETURN(const std::optional<uint64_t> bytes, FindReserve(directory));
           if (!bytes) return absl::NotFoundError("");
           return directory.Remove(kReserveFileName);
         })
      .ok();
}

void Reserve::Build(uint64_t wanted_bytes, uint64_t least_bytes, Effort effort) {
  const uint64_t bytes = std::min(bytes_max_, wanted_bytes);
  MutexLock lock(&mutex_);
  // The analysis does not know that the lock is held while the lambda runs; here and below.
  const absl::Status status = CatchOutOfMemory(
      [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return BuildIfSmall(bytes, effort); });
  tried_bytes_.store(bytes, std::memory_order_relaxed);
  // Any other failure says nothing about the space.
  const bool says_nothing = !status.ok() && !IsDiskFull(status);
  failed_.store(says_nothing, std::memory_order_relaxed);
  if (!says_nothing)
    short_.store(!status.ok() && held_bytes() < std::min(bytes_max_, least_bytes),
                 std::memory_order_relaxed);
}

absl::Status Reserve::BuildIfSmall(uint64_t bytes, Effort effort) {
  TRELLIS_RETURN_IF_ERROR(LookForFile());
  const uint64_t held = held_bytes();
  if (held >= bytes && held <= bytes_max_ && *is_there_ == (bytes_max_ > 0))
    return absl::OkStatus();
  uint64_t free = 0;
  if (held < bytes) {
    TRELLIS_ASSIGN_OR_RETURN(free, CheckSpaceFor(bytes, bytes - held, effort == Effort::kInsist));
  }
  TRELLIS_RETURN_IF_ERROR(RemoveFile());
  if (bytes == 0) return absl::OkStatus();
  const absl::Status status = Make(bytes, effort);
  free_bytes_ = status.ok() ? 0 : free;
  if (status.ok()) {
    attempts_ = 0;
    return status;
  }
  is_there_ = std::nullopt;  // a part may exist
  // The space that it had before is still free.
  if (held > 0 && held < bytes && LookForFile().ok() && !*is_there_ && !Make(held, effort).ok())
    is_there_ = std::nullopt;
  return status;
}

absl::StatusOr<uint64_t> Reserve::CheckSpaceFor(uint64_t bytes, uint64_t more_bytes, bool insist) {
  const uint64_t needed = more_bytes + std::min(bytes, kFreeBytes);
  needed_bytes_.store(needed, std::memory_order_relaxed);
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t free, directory_.FreeBytes());
  if (free < needed) return DiskFull("too little is free for the reserve");
  if (insist || free > free_bytes_ || std::has_single_bit(++attempts_)) return free;
  // Fails for the same reason as before.
  return failed_.load(std::memory_order_relaxed) ? absl::UnavailableError("not tried again")
                                                 : DiskFull("not tried again");
}

absl::Status Reserve::Make(uint64_t bytes, Effort effort) {
  NewFiles made;
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> file,
                           made.AddMade(&directory_, std::string(kReserveFileName), [this] {
                             return directory_.CreateExclusive(kReserveFileName);
                           }));
  TRELLIS_RETURN_IF_ERROR(file->Append(kReserveMagic));
  TRELLIS_RETURN_IF_ERROR(file->Allocate(bytes - kReserveMagic.size()));
  if (effort != Effort::kNoWait) TRELLIS_RETURN_IF_ERROR(file->Sync());
  TRELLIS_RETURN_IF_ERROR(file->Close());
  made.Keep();
  is_there_ = true;
  held_bytes_.store(bytes, std::memory_order_relaxed);
  // Its name need not be synced: if a crash takes it, its space is free.
  return absl::OkStatus();
}

absl::Status Reserve::RemoveFile() {
  if (!*is_there_) return absl::OkStatus();
  TRELLIS_RETURN_IF_ERROR(directory_.Remove(kReserveFileName));
  is_there_ = false;
  held_bytes_.store(0, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status Reserve::LookForFile() {
  if (is_there_) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(const std::optional<uint64_t> bytes, FindReserve(directory_));
  is_there_ = bytes.has_value();
  held_bytes_.store(bytes.value_or(0), std::memory_order_relaxed);
  return absl::OkStatus();
}

bool Reserve::Release() {
  MutexLock lock(&mutex_);
  const absl::Status status =
      CatchOutOfMemory([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
        TRELLIS_RETURN_IF_ERROR(LookForFile());
        if (held_bytes() == 0) return absl::NotFoundError("there is no reserve");
        return RemoveFile();
      });
  if (!status.ok()) return false;
  short_.store(true, std::memory_order_relaxed);
  return true;
}

absl::Status Reserve::CheckMayPut() const {
  if (!is_short()) return absl::OkStatus();
  return DiskFull(
      Concat(directory_.path(), ": the disk is full: puts are refused until ",
             needed_bytes_.load(std::memory_order_relaxed),
             " bytes are free for the reserve, also by quota (delete keys, then DB::CompactRange; "
             "a smaller Options::reserve_bytes needs fewer)"));
}

}  // namespace lsm
