#include "lsm/store/store_files.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lsm/block/format.h"
#include "lsm/bytes/magic.h"
#include "lsm/bytes/status.h"
#include "lsm/log/log_format.h"
#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The size of the shortest header with a magic.  Any longer file of ours has its magic.
constexpr size_t kHeadBytes = kTableHeaderBytes;

std::string_view MagicOf(FileKind kind) {
  switch (kind) {
    case FileKind::kTable:
      return kTableMagic;
    case FileKind::kLog:
    case FileKind::kManifest:
      return kLogMagic;
    case FileKind::kCurrent:
    case FileKind::kTemporary:  // only CURRENT is ever replaced
      return kCurrentMagic;
    case FileKind::kReserve:
      return kReserveMagic;
    case FileKind::kLock:
      break;
  }
  return {};
}

// Far more than one opening of a store ever makes.
constexpr uint64_t kFileNumbersLeftMin = uint64_t{1} << 40;

}  // namespace

absl::StatusOr<Origin> OriginOf(Directory& directory, const std::string& name, FileKind kind) {
  if (kind == FileKind::kLock) return Origin::kUnknown;
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<ReadFile> file,
                           directory.OpenRead(name, ReadMode::kBuffered));
  char buffer[kHeadBytes];
  TRELLIS_ASSIGN_OR_RETURN(const size_t bytes_read, file->ReadAt(0, buffer));
  const std::string_view head(buffer, bytes_read);
  const std::string_view magic = MagicOf(kind);
  if (BeginsWithMagic(head, magic)) return Origin::kStore;
  return IsPieceOfMagic(head, magic) ? Origin::kUnknown : Origin::kForeign;
}

absl::Status CheckCurrentIsOurs(Directory& directory) {
  constexpr std::string_view kHead = "MANIFEST-";  // of LevelDB and RocksDB
  const absl::StatusOr<std::unique_ptr<ReadFile>> file =
      directory.OpenRead(kCurrentFileName, ReadMode::kBuffered);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  TRELLIS_RETURN_IF_ERROR(file.status());
  char head[kHead.size()];
  TRELLIS_ASSIGN_OR_RETURN(const size_t bytes_read, (*file)->ReadAt(0, head));
  if (std::string_view(head, bytes_read) != kHead) return absl::OkStatus();
  return ForeignFile(directory, std::string(kCurrentFileName));
}

absl::Status ForeignFile(const Directory& directory, const std::string& name) {
  return absl::FailedPreconditionError(
      Concat(directory.path(), "/", name,
             ": not a file of Trellis (LevelDB and RocksDB use such names too); nothing was "
             "changed"));
}

absl::StatusOr<bool> HoldsFiles(Directory& directory) {
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.ListAsOpened());
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return ParseFileName(name).has_value(); });
}

absl::StatusOr<std::set<uint64_t>> NumbersOf(Directory& directory, FileKind kind) {
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
  std::set<uint64_t> numbers;
  for (const std::string& name : names) {
    const std::optional<FileName> parsed = ParseFileName(name);
    if (parsed && parsed->kind == kind) numbers.insert(parsed->number);
  }
  return numbers;
}

absl::StatusOr<uint64_t> NextFileNumber(Directory& directory, Directory& log_directory,
                                        uint64_t at_least) {
  uint64_t next = at_least;
  std::string highest = "the manifest";
  for (Directory* each : {&directory, &log_directory}) {
    TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, each->List());
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      if (!parsed || parsed->number < next) continue;
      next = parsed->number + 1;
      highest = Concat(each->path(), "/", name);
    }
  }
  if (next <= kFileNumberMax - kFileNumbersLeftMin) return next;
  return absl::ResourceExhaustedError(Concat(directory.path(),
                                             ": file numbers are used up: the next one is ", next,
                                             ", according to ", highest));
}

bloom::DigestSeed NewDigestSeed(bloom::DigestHash hash, RandomSource& random) {
  if (hash == bloom::DigestHash::kXxh3) return random.Next();
  const uint64_t low = random.Next();
  return {hash, low, random.Next()};
}

absl::Status CheckHoldsNoStore(Directory& log_directory) {
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, log_directory.ListAsOpened());
  for (const std::string& name : names) {
    const std::optional<FileName> parsed = ParseFileName(name);
    if (!parsed) continue;
    bool of_store = parsed->kind == FileKind::kCurrent;
    if (parsed->kind == FileKind::kTable || parsed->kind == FileKind::kManifest) {
      TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(log_directory, name, parsed->kind));
      of_store = origin == Origin::kStore;
    }
    if (!of_store) continue;
    return absl::FailedPreconditionError(Concat(
        log_directory.path(), "/", name,
        ": Options::log_directory is the directory of a store; it must hold only the logs of the "
        "store that is opened"));
  }
  return absl::OkStatus();
}

bool IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsInvalidArgument(status) || absl::IsNotFound(status);
}

absl::Status CopyFile(Directory& from, const std::string& name, Directory& to,
                      const std::string& new_name, NewFiles* made,
                      const std::function<absl::Status(uint64_t bytes)>& before_read) {
  constexpr size_t kChunkBytes = size_t{1} << 20;
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<ReadFile> source,
                           from.OpenRead(name, ReadMode::kBuffered));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t size, source->Size());
  TRELLIS_ASSIGN_OR_RETURN(
      const std::unique_ptr<AppendFile> copy,
      made->AddMade(&to, new_name, [&] { return to.CreateExclusive(new_name); }));
  std::string buffer(std::min<uint64_t>(size, kChunkBytes), '\0');
  for (uint64_t offset = 0; offset < size;) {
    const uint64_t wanted = std::min<uint64_t>(size - offset, buffer.size());
    if (before_read != nullptr) TRELLIS_RETURN_IF_ERROR(before_read(wanted));
    TRELLIS_ASSIGN_OR_RETURN(const size_t bytes, source->ReadAt(offset, {buffer.data(), wanted}));
    if (bytes == 0) return DamageAt(source->path(), offset, "the file ends before its former end");
    TRELLIS_RETURN_IF_ERROR(copy->Append({buffer.data(), bytes}));
    offset += bytes;
  }
  TRELLIS_RETURN_IF_ERROR(copy->Sync());
  return copy->Close();
}

NewFiles::~NewFiles() {
  for (const auto& file : files_)
    CatchOutOfMemory([&] { return file.first->Remove(file.second); }).IgnoreError();
}

absl::Status TryDirectRead(Directory& directory, std::string_view name) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<ReadFile> file,
                           directory.OpenRead(name, ReadMode::kDirect));
  char byte = 0;
  return file->ReadAt(0, {&byte, 1}).status();
}

absl::StatusOr<std::unique_ptr<ManifestWriter>> CreateManifest(
    const StoreDirectory& store, uint64_t number, const ManifestState& state,
    std::optional<std::string_view> expected_current, NewFiles* made) {
  return made->AddMade(store.directory.get(), ManifestFileName(number), [&] {
    return ManifestWriter::Create(*store.directory, number, store.environment.random->Next(),
                                  state.ToSnapshot(), expected_current, [made] { made->Keep(); });
  });
}

}  // namespace lsm
