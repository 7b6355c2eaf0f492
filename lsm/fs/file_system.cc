#include "lsm/file_system.h"

#include <algorithm>
#include <limits>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"

namespace lsm::inline TRELLIS_ABI {

namespace {
constexpr char kTakenOverMark[] = "trellis/taken-over";
}  // namespace

absl::Status TakenOver(std::string_view message) {
  return WithMark(absl::StatusCode::kFailedPrecondition, message, kTakenOverMark);
}

bool IsTakenOver(const absl::Status& status) { return HasMark(status, kTakenOverMark); }

ReadFile::~ReadFile() = default;
AppendFile::~AppendFile() = default;
FileLock::~FileLock() = default;
void FileLock::Watch(const std::function<void(const absl::Status& state)>& /*note*/) {}
Directory::~Directory() = default;
FileSystem::~FileSystem() = default;

absl::StatusOr<uint64_t> ReadFile::NextData(uint64_t offset) const { return offset; }

absl::Status AppendFile::Allocate(uint64_t bytes) {
  constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
  const std::string zeros(std::min(bytes, kChunkBytes), '\0');
  for (uint64_t left = bytes; left > 0;) {
    const uint64_t chunk = std::min(left, kChunkBytes);
    TRELLIS_RETURN_IF_ERROR(Append(std::string_view(zeros).substr(0, chunk)));
    left -= chunk;
  }
  return Sync();
}

absl::StatusOr<uint64_t> Directory::FreeBytes() { return std::numeric_limits<uint64_t>::max(); }
absl::StatusOr<uint64_t> Directory::CapacityBytes() { return std::numeric_limits<uint64_t>::max(); }

absl::Status Directory::Link(std::string_view name, Directory& to, std::string_view /*new_name*/) {
  return absl::UnimplementedError(Concat(path(), "/", name, ": cannot be linked into ", to.path()));
}

std::vector<absl::Status> Directory::RemoveAll(std::span<const std::string> names) {
  std::vector<absl::Status> outcomes(names.size());
  std::transform(names.begin(), names.end(), outcomes.begin(),
                 [this](const std::string& name) { return Remove(name); });
  return outcomes;
}

absl::StatusOr<std::vector<std::string>> Directory::ListAsOpened() { return List(); }

void Directory::RemoveLater(std::span<const std::string> names) {
  CatchOutOfMemory([&] {
    RemoveAll(names);
    return absl::OkStatus();
  }).IgnoreError();
}

absl::StatusOr<std::shared_ptr<const void>> Directory::PinTables() { return nullptr; }

absl::StatusOr<bool> Directory::Contains(const std::string& path) {
  return WithoutDetours(path).starts_with(WithoutDetours(this->path()));
}

void ReadAlone(ReadRequest* request) {
  // Must not throw: other reads of the submission may be in flight, into buffers that would be
  // freed.
  const absl::StatusOr<size_t> bytes_read =
      CatchOutOfMemory([&] { return request->file->ReadAt(request->offset, request->buffer); });
  request->status = bytes_read.status();
  request->bytes_read = bytes_read.ok() ? *bytes_read : 0;
}

void FileSystem::ReadMany(std::span<ReadRequest> requests,
                          const std::function<void(size_t)>& done) {
  for (size_t i = 0; i < requests.size(); ++i) {
    ReadAlone(&requests[i]);
    if (done != nullptr) done(i);
  }
}

absl::StatusOr<std::string> ReadWholeFile(Directory& directory, std::string_view name,
                                          uint64_t size_max_bytes) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<ReadFile> file,
                           directory.OpenRead(name, ReadMode::kBuffered));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  if (size > size_max_bytes) {
    return absl::ResourceExhaustedError(
        Concat(file->path(), ": ", size, " bytes, more than the ", size_max_bytes, " expected"));
  }
  std::string bytes(size, '\0');
  TRELLIS_ASSIGN_OR_RETURN(const size_t bytes_read, file->ReadAt(0, bytes));
  bytes.resize(bytes_read);
  return bytes;
}

std::string WithoutDetours(std::string_view path) {
  std::string plain(path.starts_with('/') ? "/" : "");
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (!part.empty() && part != ".") plain += Concat(part, "/");
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return plain;
}

absl::Status CheckBareName(std::string_view directory_path, std::string_view name) {
  constexpr size_t kLengthMax = 255;
  const bool bare = !name.empty() && name != "." && name != ".." && name.size() <= kLengthMax &&
                    name.find('/') == name.npos && name.find('\0') == name.npos;
  if (bare) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat(directory_path, ": \"", Escape(name, kLengthMax), "\" is not the name of a file"));
}

}  // namespace lsm
