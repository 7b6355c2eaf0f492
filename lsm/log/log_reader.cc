#include "lsm/log/log_reader.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/magic.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/huge_pages.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Size of a read.  Larger than any header or chunk.
constexpr size_t kWindowBytes = size_t{64} << 10;

// First position at or after `from` where a complete record header may begin; npos if there is
// none.
size_t FindMark(std::string_view bytes, size_t from) {
  const size_t at = bytes.find(kRecordMark, from);
  return at != bytes.npos && at + kRecordHeaderBytes <= bytes.size() ? at : bytes.npos;
}

// Whether a file with this beginning may be a log, although it has no sound header.
bool BeginsAsLog(std::string_view head) {
  return BeginsWithMagic(head, kLogMagic) || IsPieceOfMagic(head, kLogMagic);
}

// Whether changing one byte makes it a sound header, in a way that no torn write explains.
bool IsOneByteFromLogHeader(std::string head) {
  if (head.back() == '\0') return false;  // the write stopped just before this byte
  for (char& byte : head) {
    const auto was = static_cast<unsigned char>(byte);
    for (int change = 1; change < 256; ++change) {
      byte = static_cast<char>(was ^ change);
      LogHeader ignored;
      if (LoadLogHeader(head, &ignored)) return true;
    }
    byte = static_cast<char>(was);
  }
  return false;
}

}  // namespace

LogReader::LogReader(std::unique_ptr<ReadFile> file, LogKind kind)
    : file_(std::move(file)), kind_(kind) {}

absl::StatusOr<std::unique_ptr<LogReader>> LogReader::Open(std::unique_ptr<ReadFile> file,
                                                           LogKind kind) {
  std::unique_ptr<LogReader> reader(new LogReader(std::move(file), kind));
  TRELLIS_RETURN_IF_ERROR(reader->ReadLogHeader());
  return reader;
}

absl::Status LogReader::Continue() {
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t size_bytes, file_->Size());
  if (size_bytes < size_bytes_)
    return DamageAt(path(), size_bytes, "the file ends here, before its former end");
  const bool is_read = damage_.ok() && (end_ == LogEnd::kOpen || end_ == LogEnd::kClosed);
  if (is_read && size_bytes == size_bytes_) return absl::OkStatus();
  size_bytes_ = size_bytes;
  if (end_ == LogEnd::kClosed) return FinishLog(offset_).status();
  end_ = LogEnd::kNotYet;
  ends_within_record_ = false;
  torn_bytes_ = 0;
  damage_ = absl::OkStatus();
  // All bytes from the next record on are read again, whatever was found in them before.
  window_ = {};
  search_window_ = {};
  searched_to_ = 0;
  witness_ = {};
  stray_ = {};
  return log_header_.empty() ? ReadLogHeader() : absl::OkStatus();
}

absl::Status LogReader::ReadLogHeader() {
  TRELLIS_ASSIGN_OR_RETURN(size_bytes_, file_->Size());
  const auto head_bytes = static_cast<size_t>(std::min<uint64_t>(size_bytes_, kLogHeaderBytes));
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes, BytesAt(0, head_bytes));
  LogHeader header;
  if (head_bytes < kLogHeaderBytes || !LoadLogHeader(bytes, &header)) {
    return JudgeLogHeader(std::string(bytes));
  }
  const uint16_t version_max = LogVersionMax(header.kind);
  if (header.version < kLogVersionMin || header.version > version_max) {
    return absl::UnimplementedError(
        Concat(path(), ": log format version ", header.version,
               " is not known; this program reads version ", kLogVersionMin,
               version_max == kLogVersionMin ? "" : Concat(" to ", version_max)));
  }
  if (header.reserved != 0) {
    return absl::UnimplementedError(Concat(path(), ": log header: the reserved bytes are ",
                                           header.reserved, ", and this program knows only 0"));
  }
  if (header.kind != LogKind::kWriteAhead && header.kind != LogKind::kManifest) {
    return absl::UnimplementedError(
        Concat(path(), ": log kind ", static_cast<int>(header.kind), " is not known"));
  }
  if (header.kind != kind_) {
    return absl::InvalidArgumentError(Concat(path(), ": a log of kind ",
                                             static_cast<int>(header.kind), ", not ",
                                             static_cast<int>(kind_)));
  }
  log_header_ = bytes;
  file_id_ = header.file_id;
  version_ = header.version;
  offset_ = kLogHeaderBytes;
  return absl::OkStatus();
}

absl::Status LogReader::JudgeLogHeader(const std::string& head) {
  if (head.size() == kLogHeaderBytes && IsOneByteFromLogHeader(head))
    return DamageAt(path(), 0, "a byte of the log's header was overwritten");
  if (!BeginsAsLog(head)) {
    return absl::InvalidArgumentError(Concat(path(), ": offset 0: not a log"));
  }
  if (size_bytes_ > kLogHeaderBytes) return DamageAt(path(), 0, "the log's header is damaged");
  ends_within_record_ = size_bytes_ < kLogHeaderBytes;
  Torn();
  return absl::OkStatus();
}

absl::StatusOr<bool> LogReader::Next(Record* record) {
  TRELLIS_RETURN_IF_ERROR(damage_);
  if (end_ != LogEnd::kNotYet) return false;
  if (offset_ == size_bytes_) {
    end_ = LogEnd::kOpen;
    return false;
  }
  damage_end_ = AfterTag(offset_) + 1;
  return ReadRecord(record);
}

uint64_t LogReader::NextPayloadBytes() {
  const uint64_t at = AfterTag(offset_);
  if (!damage_.ok() || end_ != LogEnd::kNotYet || size_bytes_ < at + kRecordHeaderBytes) return 0;
  const absl::StatusOr<std::string_view> bytes = BytesAt(at, kRecordHeaderBytes);
  RecordHeader header;
  return bytes.ok() && LoadRecordHeader(*bytes, file_id_, at, &header) ? header.payload_bytes : 0;
}

void LogReader::GiveBackPayload(size_t bytes) {
  if (bytes > kWindowBytes) GiveBackPages(payload_.data(), std::min(bytes, payload_.size()));
}

absl::StatusOr<bool> LogReader::ReadRecord(Record* record) {
  const uint64_t at = AfterTag(offset_);
  if (size_bytes_ < at + kRecordHeaderBytes)
    return EndWithinRecord("the file ends in a record's header");
  TRELLIS_ASSIGN_OR_RETURN(Piece piece, BeginPiece(offset_, kRecordHeaderBytes));
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes, BytesAt(at, kRecordHeaderBytes));
  RecordHeader header;
  piece.is_sound = LoadRecordHeader(bytes, file_id_, at, &header);
  if (!piece.is_sound || !piece.has_right_tag) return Judge(piece, "a record's header is damaged");
  const uint64_t end = RecordEnd(offset_, header.payload_bytes);
  damage_end_ = end;
  if (header.ordinal != next_ordinal_) {
    return Damage(
        Concat("a record with ordinal ", header.ordinal, " where ", next_ordinal_, " must follow"));
  }
  // The header is sound, so the length is right, and the file lost its end.
  if (end > size_bytes_) return EndWithinRecord("the file ends in a record");
  TRELLIS_ASSIGN_OR_RETURN(const bool is_sound, ReadPayload(header, end));
  if (!is_sound) return false;

  durable_offset_ = std::max(durable_offset_, header.durable_offset);
  if (header.type == RecordType::kEnd) return FinishLog(end);
  *record = {.offset = offset_,
             .size_bytes = end - offset_,
             .durable_offset = header.durable_offset,
             .payload = payload_};
  offset_ = end;
  ++next_ordinal_;
  return true;
}

absl::StatusOr<bool> LogReader::EndWithinRecord(std::string_view what) {
  ends_within_record_ = true;
  return DamagedOrTorn(offset_, what, /*is_overwritten=*/false);
}

// Reads into payload_; false if the record is torn.
absl::StatusOr<bool> LogReader::ReadPayload(const RecordHeader& header, uint64_t end) {
  payload_.clear();
  // Reserves once: a growing string takes up to twice the memory.  Unwritten memory costs nothing.
  payload_.reserve(std::min<size_t>(header.payload_bytes, kRecordBytesMax));
  uint64_t at = AfterTag(offset_) + kRecordHeaderBytes;
  while (payload_.size() < header.payload_bytes) {
    const size_t chunk_bytes =
        kChunkFramingBytes +
        ChunkPayloadBytes(AfterTag(at), header.payload_bytes - payload_.size());
    TRELLIS_ASSIGN_OR_RETURN(Piece piece, BeginPiece(at, chunk_bytes));
    at = AfterTag(at);
    TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes, BytesAt(at, chunk_bytes));
    std::string_view chunk;
    piece.is_sound = LoadChunk(bytes, file_id_, at, &chunk);
    if (!piece.is_sound || !piece.has_right_tag)
      return Judge(piece, Concat("a record is damaged in its chunk at offset ", at));
    payload_.append(chunk);
    at += chunk_bytes;
  }
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view padding,
                           BytesAt(at, static_cast<size_t>(end - at)));
  // The same sector has sound bytes before it, which were written with it.  So it is damaged, not
  // torn.
  if (padding.find_first_not_of('\0') != padding.npos) {
    return Damage(Concat("the padding at offset ", at, " is not zero"));
  }
  return true;
}

absl::StatusOr<bool> LogReader::FinishLog(uint64_t end) {
  if (end != size_bytes_) {
    return Damage(Concat(size_bytes_ - end, " bytes follow the end record"));
  }
  offset_ = end;
  end_ = LogEnd::kClosed;
  return false;
}

absl::StatusOr<LogReader::Piece> LogReader::BeginPiece(uint64_t offset, size_t bytes) {
  const uint64_t at = AfterTag(offset);
  Piece piece{.at = offset, .end = at + bytes};
  if (at == offset) return piece;
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view tag, BytesAt(offset, kSectorTagBytes));
  piece.has_right_tag = LoadSectorTag(tag, file_id_) == offset;
  return piece;
}

absl::StatusOr<bool> LogReader::Judge(const Piece& piece, std::string_view what) {
  if (!piece.has_right_tag) return DamagedOrTorn(piece.at, what, /*is_overwritten=*/piece.is_sound);
  // The sector was written.  If the write stopped in this piece, only zeros follow from the seal
  // on.
  const uint64_t seal = piece.end - 1;
  TRELLIS_ASSIGN_OR_RETURN(
      const std::string_view rest,
      BytesAt(seal, static_cast<size_t>(std::min<uint64_t>(SectorRoom(seal), size_bytes_ - seal))));
  return DamagedOrTorn(piece.at, what,
                       /*is_overwritten=*/rest.find_first_not_of('\0') != rest.npos);
}

absl::StatusOr<bool> LogReader::DamagedOrTorn(uint64_t from, std::string_view what,
                                              bool is_overwritten) {
  TRELLIS_ASSIGN_OR_RETURN(std::string proof, FindProof(from));
  if (proof.empty() && is_overwritten) proof = "overwritten, not torn";
  return proof.empty() ? absl::StatusOr<bool>(Torn()) : Damage(Concat(what, " (", proof, ")"));
}

absl::StatusOr<std::string> LogReader::FindProof(uint64_t from) {
  searched_to_ = std::max(searched_to_, from);
  while (true) {
    // Earlier finds are proof here too: a record states only durable offsets before it, and a crash
    // moves no sector.
    if (witness_.header.durable_offset > offset_)
      return Concat("the record at offset ", witness_.offset, " states that it was synced");
    if (stray_.at >= from && stray_.at > 0)
      return Concat("the bytes written at offset ", stray_.home, " are at offset ", stray_.at);
    if (searched_to_ >= size_bytes_) return "";
    TRELLIS_RETURN_IF_ERROR(SearchSector());
  }
}

absl::Status LogReader::SearchSector() {
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t at, SkipHole(search_window_, searched_to_));
  if (at >= size_bytes_) {
    searched_to_ = size_bytes_;
    return absl::OkStatus();
  }
  const uint64_t end = std::min(at + SectorRoom(at), size_bytes_);
  if (at % kSectorBytes == 0) {
    TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes,
                             BytesFrom(&search_window_, at, static_cast<size_t>(end - at)));
    const std::optional<uint64_t> home = HomeOf(bytes.substr(0, static_cast<size_t>(end - at)));
    if (home.has_value() && *home != at) stray_ = {at, *home};
  }
  for (uint64_t from = at; from < end;) {
    TRELLIS_ASSIGN_OR_RETURN(const std::optional<Found> found,
                             FindHeader(&search_window_, from, end));
    if (!found.has_value()) break;
    if (found->header.durable_offset > witness_.header.durable_offset) witness_ = *found;
    from = AfterTag(found->offset) + kRecordHeaderBytes;
  }
  searched_to_ = end;
  return absl::OkStatus();
}

std::optional<uint64_t> LogReader::HomeOf(std::string_view sector) const {
  // The first sector begins with the file's header.
  constexpr size_t kBytesMin = kSectorTagBytes + kChunkFramingBytes + 1;
  if (sector.size() >= kBytesMin && log_header_.starts_with(sector.substr(0, kLogHeaderBytes)))
    return 0;
  if (sector.size() < kSectorTagBytes) return std::nullopt;
  return LoadSectorTag(sector.substr(0, kSectorTagBytes), file_id_);
}

absl::Status LogReader::Damage(std::string_view what) {
  damage_ = DamageAt(path(), offset_, what);
  return damage_;
}

bool LogReader::Torn() {
  end_ = LogEnd::kTorn;
  torn_bytes_ = size_bytes_ - offset_;
  return false;
}

absl::StatusOr<bool> LogReader::SkipDamage() {
  if (damage_.ok()) return false;
  TRELLIS_ASSIGN_OR_RETURN(const std::optional<Found> next,
                           FindHeader(&window_, damage_end_, size_bytes_));
  if (!next.has_value()) return false;
  damage_ = absl::OkStatus();
  offset_ = next->offset;
  next_ordinal_ = next->header.ordinal;
  return true;
}

absl::StatusOr<std::optional<LogReader::Found>> LogReader::FindHeader(Window* window, uint64_t from,
                                                                      uint64_t to) {
  while (from < to) {
    TRELLIS_ASSIGN_OR_RETURN(from, SkipHole(*window, from));
    if (from >= to) break;
    // A header never spans two sectors.
    const auto count = static_cast<size_t>(std::min<uint64_t>(SectorRoom(from), to - from));
    TRELLIS_ASSIGN_OR_RETURN(std::string_view bytes, BytesFrom(window, from, count));
    bytes = bytes.substr(0, count);
    for (size_t mark = FindMark(bytes, 0); mark != bytes.npos; mark = FindMark(bytes, mark + 1)) {
      const uint64_t at = from + mark;
      Found found{at % kSectorBytes == kSectorTagBytes ? at - kSectorTagBytes : at, {}};
      if (LoadRecordHeader(bytes.substr(mark, kRecordHeaderBytes), file_id_, at, &found.header))
        return found;
    }
    from += count;
  }
  return std::nullopt;
}

// A hole has no headers and no tags, and need not be read.
absl::StatusOr<uint64_t> LogReader::SkipHole(const Window& window, uint64_t from) const {
  if (IsIn(window, from, 1)) return from;
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t data, file_->NextData(from));
  return std::max(from, data - data % kSectorBytes);
}

bool LogReader::IsIn(const Window& window, uint64_t offset, size_t count) {
  return offset >= window.offset && offset + count <= window.offset + window.bytes.size();
}

absl::StatusOr<std::string_view> LogReader::BytesFrom(Window* window, uint64_t offset,
                                                      size_t least) {
  std::string& bytes = window->bytes;
  if (!IsIn(*window, offset, least)) {
    bytes.resize(static_cast<size_t>(
        std::min<uint64_t>(std::max(least, kWindowBytes), size_bytes_ - offset)));
    window->offset = offset;
    const absl::StatusOr<size_t> read = file_->ReadAt(offset, {bytes.data(), bytes.size()});
    if (!read.ok()) {
      bytes.clear();
      return read.status();
    }
    bytes.resize(*read);
    if (bytes.size() < least) {
      return DamageAt(path(), offset + bytes.size(), "the file ends here, before its former end");
    }
  }
  return std::string_view(bytes).substr(static_cast<size_t>(offset - window->offset));
}

absl::StatusOr<std::string_view> LogReader::BytesAt(uint64_t offset, size_t count) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes, BytesFrom(&window_, offset, count));
  return bytes.substr(0, count);
}

}  // namespace lsm
