#include "tools/sstdump/store/target.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "lsm/block/format.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_format.h"
#include "lsm/rados.h"

namespace tools {
namespace {

using lsm::Concat;
using lsm::LoadFixed64;

constexpr size_t kMagicBytes = 8;
constexpr size_t kHeadBytes = 64;

// A magic with up to this many flipped bits counts as damaged.  Two random magics differ in 32.
constexpr int kFlippedBitsMax = 4;

bool IsNearly(std::string_view bytes, std::string_view magic) {
  if (bytes.size() < kMagicBytes || magic.size() != kMagicBytes) return false;
  return std::popcount(LoadFixed64(bytes.data()) ^ LoadFixed64(magic.data())) <= kFlippedBitsMax;
}

// Tables of other stores end with eight bytes that identify the store (little-endian).
struct ForeignMagic {
  uint64_t magic;
  const char* what;
};
constexpr ForeignMagic kForeignMagics[] = {
    {0xdb4775248b80fb57,
     "a LevelDB table (or one of an early RocksDB), which sstdump does not read"},
    {0x88e241b785f4cff7, "a RocksDB table (block-based format), which sstdump does not read"},
    {0x8242229663bf9564, "a RocksDB table (plain format), which sstdump does not read"},
    {0x926789d0c5f17873, "a RocksDB table (cuckoo format), which sstdump does not read"},
    {0xb3aa9ff0b3aa9ff0, "a Pebble table, which sstdump does not read"},
};

std::string DescribeForeign(std::string_view head, std::string_view tail) {
  if (head.empty()) return "an empty file";
  if (head.starts_with("MANIFEST-")) return kForeignCurrent;
  if (tail.size() >= kMagicBytes) {
    const uint64_t magic = LoadFixed64(tail.data() + tail.size() - kMagicBytes);
    for (const ForeignMagic& foreign : kForeignMagics) {
      if (foreign.magic == magic) return foreign.what;
    }
  }
  if (head.find_first_not_of('\0') == head.npos)
    return "not a file of Trellis: it begins with zeros";
  return Concat("not a file of Trellis: it begins with \"",
                lsm::Escape(head.substr(0, kMagicBytes)), "\"");
}

// The kind of a log whose header may be damaged: the one that it states, or the nearer one.
TargetKind KindOfLog(std::string_view head) {
  if (head.size() < lsm::kLogHeaderBytes) return TargetKind::kLog;
  lsm::LogHeader header;
  if (lsm::LoadLogHeader(head.substr(0, lsm::kLogHeaderBytes), &header)) {
    return header.kind == lsm::LogKind::kManifest ? TargetKind::kManifest : TargetKind::kLog;
  }
  // Bytes 10 and 11: 1 for a log, 2 for a manifest (lsm/log/log_format.h).
  return static_cast<uint8_t>(head[10]) == 2 ? TargetKind::kManifest : TargetKind::kLog;
}

// Classifies a file that a crash left empty or full of zeros.
void ClassifyByName(Target* target) {
  const std::optional<lsm::FileName> name = lsm::ParseFileName(target->name);
  if (!name) return;
  switch (name->kind) {
    case lsm::FileKind::kTable:
      target->kind = TargetKind::kTable;
      break;
    case lsm::FileKind::kLog:
      target->kind = TargetKind::kLog;
      break;
    case lsm::FileKind::kManifest:
      target->kind = TargetKind::kManifest;
      break;
    case lsm::FileKind::kCurrent:
      target->kind = TargetKind::kCurrent;
      break;
    case lsm::FileKind::kLock:
      if (target->size_bytes == 0) target->kind = TargetKind::kLock;
      break;
    case lsm::FileKind::kReserve:
      target->kind = TargetKind::kReserve;
      break;
    case lsm::FileKind::kTemporary:
      break;
  }
}

void Classify(std::string_view head, std::string_view tail, Target* target) {
  if (IsNearly(head, lsm::kTableMagic)) {
    target->kind = TargetKind::kTable;
  } else if (IsNearly(head, lsm::kLogMagic)) {
    target->kind = KindOfLog(head);
  } else if (IsNearly(head, lsm::kCurrentMagic)) {
    target->kind = TargetKind::kCurrent;
  } else if (IsNearly(head, lsm::kReserveMagic)) {
    target->kind = TargetKind::kReserve;
  } else if (tail.ends_with(lsm::kTableMagic)) {
    target->kind = TargetKind::kTable;
  } else {
    target->kind = TargetKind::kForeign;
    target->foreign = DescribeForeign(head, tail);
    if (head.size() < kMagicBytes || head.find_first_not_of('\0') == head.npos)
      ClassifyByName(target);
  }
}

absl::StatusOr<std::string> ReadSome(const lsm::ReadFile& file, uint64_t offset,
                                     size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  TRELLIS_ASSIGN_OR_RETURN(const size_t read_bytes,
                           file.ReadAt(offset, {bytes.data(), bytes.size()}));
  bytes.resize(read_bytes);
  return bytes;
}

struct SplitPath {
  std::string directory;
  std::string name;
};

SplitPath Split(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// The status with the typed path in place of the opened one at the start of its message.
absl::Status Renamed(const absl::Status& status, const std::string& opened,
                     const std::string& typed) {
  const std::string_view message = lsm::MessageOf(status);
  if (!message.starts_with(opened + ": ")) return status;
  return absl::Status(status.code(), Concat(typed, message.substr(opened.size())));
}

}  // namespace

const char* NameOf(TargetKind kind) {
  switch (kind) {
    case TargetKind::kDirectory:
      return "directory";
    case TargetKind::kTable:
      return "table";
    case TargetKind::kLog:
      return "log";
    case TargetKind::kManifest:
      return "manifest";
    case TargetKind::kCurrent:
      return "current";
    case TargetKind::kLock:
      return "lock";
    case TargetKind::kReserve:
      return "reserve";
    case TargetKind::kForeign:
      return "foreign";
  }
  return "?";
}

std::string Describe(const Target& target) {
  switch (target.kind) {
    case TargetKind::kDirectory:
      return "a directory";
    case TargetKind::kTable:
      return "a table";
    case TargetKind::kLog:
      return "a write-ahead log";
    case TargetKind::kManifest:
      return "a manifest";
    case TargetKind::kCurrent:
      return "a CURRENT file";
    case TargetKind::kLock:
      return "a store's lock";
    case TargetKind::kReserve:
      return "a store's reserve for a full disk";
    case TargetKind::kForeign:
      return target.foreign;
  }
  return "?";
}

absl::StatusOr<Target> FindTargetIn(const std::shared_ptr<lsm::Directory>& directory,
                                    const std::string& name) {
  Target target;
  target.directory = directory;
  target.name = name;
  target.path = OpenedPath(target);
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::ReadFile> file, OpenTarget(target));
  TRELLIS_ASSIGN_OR_RETURN(target.size_bytes, file->Size());
  TRELLIS_ASSIGN_OR_RETURN(const std::string head, ReadSome(*file, 0, kHeadBytes));
  const uint64_t tail_offset =
      target.size_bytes - std::min<uint64_t>(target.size_bytes, kMagicBytes);
  TRELLIS_ASSIGN_OR_RETURN(const std::string tail, ReadSome(*file, tail_offset, kMagicBytes));
  Classify(head, tail, &target);
  return target;
}

absl::StatusOr<Place> FindPlace(const World& world, const std::string& argument) {
  if (argument.empty()) return absl::InvalidArgumentError("the path is empty");
  if (argument.starts_with(lsm::kRadosScheme)) {
    if (world.open_rados) return world.open_rados(argument);
    return absl::UnimplementedError(Concat(
        argument, ": this sstdump cannot read from Ceph (built without TRELLIS_BUILD_RADOS)"));
  }
  Place place{world.file_system, argument};
  if (world.resolve) {
    TRELLIS_ASSIGN_OR_RETURN(place.path, world.resolve(argument));
  }
  return place;
}

absl::StatusOr<Target> FindTarget(const World& world, const std::string& path) {
  TRELLIS_ASSIGN_OR_RETURN(const Place place, FindPlace(world, path));
  absl::StatusOr<std::unique_ptr<lsm::Directory>> directory =
      place.file_system->OpenDirectory(place.path, /*create=*/false);
  if (directory.ok()) {
    Target target;
    target.path = path;
    target.kind = TargetKind::kDirectory;
    target.file_system = place.file_system;
    target.directory = std::move(directory).value();
    return target;
  }
  // Only "not a directory" means that it may be a file.
  const SplitPath split = Split(place.path);
  if (!absl::IsInvalidArgument(directory.status()) || split.name.empty()) return directory.status();
  TRELLIS_ASSIGN_OR_RETURN(std::shared_ptr<lsm::Directory> parent,
                           place.file_system->OpenDirectory(split.directory, /*create=*/false));
  absl::StatusOr<Target> target = FindTargetIn(parent, split.name);
  if (!target.ok()) return Renamed(target.status(), Concat(parent->path(), "/", split.name), path);
  target->path = path;
  return target;
}

std::string OpenedPath(const Target& target) {
  if (target.kind == TargetKind::kDirectory) return target.directory->path();
  return Concat(target.directory->path(), "/", target.name);
}

absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenTarget(const Target& target) {
  return target.directory->OpenRead(target.name, lsm::ReadMode::kBuffered);
}

}  // namespace tools
