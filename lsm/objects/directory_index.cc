#include "lsm/objects/directory_index.h"

#include <optional>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kWordDigits = 16;

std::string HexOf(uint64_t value) { return ReadableId(value).substr(2); }  // without "0x"

bool TakeHex(std::string_view* input, uint64_t* value) {
  if (input->size() < kWordDigits) return false;
  *value = 0;
  for (const char c : input->substr(0, kWordDigits)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    *value = *value << 4 | static_cast<uint64_t>(digit);
  }
  input->remove_prefix(kWordDigits);
  return true;
}

bool TakeId(std::string_view* input, std::string* id) {
  const std::string_view digits = input->substr(0, kIdDigits);
  uint64_t high = 0, low = 0;
  if (!TakeHex(input, &high) || !TakeHex(input, &low)) return false;
  *id = digits;
  return true;
}

uint64_t ChunksOf(uint64_t size_bytes, uint64_t chunk_bytes) {
  return size_bytes / chunk_bytes + (size_bytes % chunk_bytes != 0 ? 1 : 0);
}

absl::Status NotUnderstood(std::string_view path, std::string_view what) {
  return absl::DataLossError(Concat(path, ": the index has ", what));
}

}  // namespace

std::string Owner::Encode() const { return Concat(HexOf(counter), HexOf(random), " ", holder); }

absl::StatusOr<Owner> Owner::Decode(std::string_view bytes, std::string_view path) {
  Owner owner;
  if (!TakeHex(&bytes, &owner.counter) || !TakeHex(&bytes, &owner.random) ||
      !bytes.starts_with(' ')) {
    return NotUnderstood(path, "an attribute that names no owner");
  }
  owner.holder = bytes.substr(1);
  return owner;
}

std::string IndexedFile::Encode() const {
  std::string bytes(1, static_cast<char>(kind));
  if (kind == IndexedKind::kSmall) return bytes + small_bytes;
  bytes += id;
  bytes += tag;
  AppendVarint64(&bytes, chunk_bytes);
  AppendVarint64(&bytes, chunks);
  if (kind == IndexedKind::kTable) AppendVarint64(&bytes, size_bytes);
  return bytes;
}

absl::StatusOr<IndexedFile> IndexedFile::Decode(std::string_view bytes, std::string_view path) {
  IndexedFile file;
  if (bytes.empty()) return NotUnderstood(path, "an empty entry");
  file.kind = static_cast<IndexedKind>(bytes.front());
  bytes.remove_prefix(1);
  switch (file.kind) {
    case IndexedKind::kSmall:
      file.small_bytes = bytes;
      return file;
    case IndexedKind::kLog:
    case IndexedKind::kTable:
      break;
    default:
      return absl::UnimplementedError(
          Concat(path, ": the index has an entry of unknown kind ", static_cast<int>(file.kind)));
  }
  const bool is_table = file.kind == IndexedKind::kTable;
  if (!TakeId(&bytes, &file.id) || !TakeId(&bytes, &file.tag) ||
      !TakeVarint64(&bytes, &file.chunk_bytes) || !TakeVarint64(&bytes, &file.chunks) ||
      (is_table && !TakeVarint64(&bytes, &file.size_bytes)) || !bytes.empty()) {
    return NotUnderstood(path, "an entry that is cut off or too long");
  }
  if (file.chunk_bytes == 0 || file.chunks > kChunksMax || (file.chunks == 0 && !is_table) ||
      (is_table && file.size_bytes == 0 && file.chunks > 1) ||
      (file.size_bytes > 0 && file.chunks != ChunksOf(file.size_bytes, file.chunk_bytes))) {
    return NotUnderstood(path, "a file whose chunks do not fit its size");
  }
  return file;
}

std::string GoneFile::Encode() const {
  std::string bytes;
  AppendVarint64(&bytes, removal);
  return bytes + file.Encode();
}

absl::StatusOr<GoneFile> GoneFile::Decode(std::string_view bytes, std::string_view path) {
  GoneFile gone;
  if (!TakeVarint64(&bytes, &gone.removal))
    return NotUnderstood(path, "a removed file without the number of its removal");
  TRELLIS_ASSIGN_OR_RETURN(gone.file, IndexedFile::Decode(bytes, path));
  return gone;
}

std::string IndexedPin::Encode() const {
  return Concat(HexOf(removals), HexOf(renewals), HexOf(duration_nanos), " ", holder);
}

absl::StatusOr<IndexedPin> IndexedPin::Decode(std::string_view bytes, std::string_view path) {
  IndexedPin pin;
  if (!TakeHex(&bytes, &pin.removals) || !TakeHex(&bytes, &pin.renewals) ||
      !TakeHex(&bytes, &pin.duration_nanos) || !bytes.starts_with(' ')) {
    return NotUnderstood(path, "a pin that is cut off");
  }
  pin.holder = bytes.substr(1);
  return pin;
}

std::string EncodeCount(uint64_t count) { return count == 0 ? "" : HexOf(count); }

absl::StatusOr<uint64_t> DecodeCount(std::string_view bytes, std::string_view path) {
  uint64_t count = 0;
  if (bytes.empty()) return count;
  if (!TakeHex(&bytes, &count) || !bytes.empty())
    return NotUnderstood(path, "an attribute that is no number");
  return count;
}

bool IsSealed(std::string_view name, const IndexedFile& file) {
  const std::optional<FileName> parsed = ParseFileName(name);
  return file.kind == IndexedKind::kLog && parsed.has_value() &&
         (parsed->kind == FileKind::kLog || parsed->kind == FileKind::kManifest);
}

std::string ChunkName(std::string_view id, uint64_t number) { return Concat(id, ".", number); }

std::string IndexName(std::string_view path) { return Concat(kIndexPrefix, WithoutDetours(path)); }

std::string NewId(RandomSource& random) {
  const uint64_t high = random.Next();
  return Concat(HexOf(high), HexOf(random.Next()));
}

}  // namespace lsm
