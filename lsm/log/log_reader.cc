#include "lsm/log/log_reader.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/magic.h"
#include "lsm/bytes/status.h"

namespace lsm {
namespace {

// Read at a time.  Larger than any header or chunk.
constexpr size_t kWindowBytes = size_t{64} << 10;

// Searches for one overwritten byte, in one file.  Opening a store makes at most one in each log,
// and none for what a crash leaves, which lacks its seal; repair and tools, which go on behind
// damage, may want more.  One in the longest chunk that is in vain takes 11 ms (511 * 255
// checksums).
constexpr int kTrialsMax = 16;

// Checksums that are calculated to find out from where sectors come, in one file: 0.15 s.  A log of
// 64 MiB takes 131,072 for a header, and there is rarely more than one.
constexpr uint64_t kHomeTrialsMax = uint64_t{1} << 22;

constexpr char kSealByte = static_cast<char>(kSeal);

// Where the next record header may begin in `bytes` at or behind `from`, and is whole; or npos.
size_t FindMark(std::string_view bytes, size_t from) {
  const size_t at = bytes.find(kRecordMark, from);
  return at != bytes.npos && at + kRecordHeaderBytes <= bytes.size() ? at : bytes.npos;
}

// Whether a file that begins so may be a log, though it has no sound header.
bool BeginsAsLog(std::string_view head) {
  return BeginsWithMagic(head, kLogMagic) || IsPieceOfMagic(head, kLogMagic);
}

}  // namespace

LogReader::LogReader(std::unique_ptr<ReadFile> file) : file_(std::move(file)) {}

absl::StatusOr<std::unique_ptr<LogReader>> LogReader::Open(std::unique_ptr<ReadFile> file,
                                                           LogKind kind) {
  std::unique_ptr<LogReader> reader(new LogReader(std::move(file)));
  LSM_RETURN_IF_ERROR(reader->ReadLogHeader(kind));
  return reader;
}

absl::Status LogReader::ReadLogHeader(LogKind kind) {
  LSM_ASSIGN_OR_RETURN(size_bytes_, file_->Size());
  const auto head_bytes = static_cast<size_t>(std::min<uint64_t>(size_bytes_, kLogHeaderBytes));
  LSM_ASSIGN_OR_RETURN(const std::string_view bytes, BytesAt(0, head_bytes));
  LogHeader header;
  if (head_bytes < kLogHeaderBytes || !LoadLogHeader(bytes, &header)) {
    return JudgeLogHeader(std::string(bytes));
  }
  if (header.version != kLogVersion) {
    return absl::UnimplementedError(Concat(path(), ": log format version ", header.version,
                                           " is not known; this program reads version ",
                                           kLogVersion));
  }
  if (header.reserved != 0) {
    return absl::UnimplementedError(Concat(path(), ": log header: the reserved bytes are ",
                                           header.reserved, ", and this program knows only 0"));
  }
  if (header.kind != LogKind::kWriteAhead && header.kind != LogKind::kManifest) {
    return absl::UnimplementedError(
        Concat(path(), ": log kind ", static_cast<int>(header.kind), " is not known"));
  }
  if (header.kind != kind) {
    return absl::InvalidArgumentError(Concat(path(), ": a log of kind ",
                                             static_cast<int>(header.kind), ", not ",
                                             static_cast<int>(kind)));
  }
  file_id_ = header.file_id;
  offset_ = kLogHeaderBytes;
  return absl::OkStatus();
}

absl::Status LogReader::JudgeLogHeader(const std::string& head) {
  const auto is_sound = [](std::string_view other) {
    LogHeader ignored;
    return LoadLogHeader(other, &ignored);
  };
  if (head.size() == kLogHeaderBytes) {
    LSM_ASSIGN_OR_RETURN(const bool is_overwritten, IsOneByteFromSound(0, head, is_sound));
    if (is_overwritten) return DamageAt(path(), 0, "a byte of the log's header was overwritten");
  }
  if (!BeginsAsLog(head)) {
    return absl::InvalidArgumentError(Concat(path(), ": offset 0: not a log"));
  }
  if (size_bytes_ > kLogHeaderBytes) return DamageAt(path(), 0, "the log's header is damaged");
  Torn();
  return absl::OkStatus();
}

absl::StatusOr<bool> LogReader::Next(Record* record) {
  LSM_RETURN_IF_ERROR(damage_);
  if (end_ != LogEnd::kNotYet) return false;
  if (offset_ == size_bytes_) {
    end_ = LogEnd::kOpen;
    return false;
  }
  if (size_bytes_ - offset_ < kRecordHeaderBytes) return Torn();
  return ReadRecord(record);
}

absl::StatusOr<bool> LogReader::ReadRecord(Record* record) {
  LSM_ASSIGN_OR_RETURN(const std::string_view bytes, BytesAt(offset_, kRecordHeaderBytes));
  RecordHeader header;
  if (!LoadRecordHeader(bytes, file_id_, offset_, &header)) {
    const auto is_sound = [this](std::string_view other) {
      RecordHeader ignored;
      return LoadRecordHeader(other, file_id_, offset_, &ignored);
    };
    return Judge(offset_, bytes, is_sound, offset_ + 1, "a record's header is damaged");
  }
  const uint64_t end = RecordEnd(offset_, header.payload_bytes);
  damage_end_ = end;
  if (header.ordinal != next_ordinal_) {
    return Damage(
        Concat("a record with ordinal ", header.ordinal, " where ", next_ordinal_, " must follow"));
  }
  // The header is sound, so this length is what was written, and the file lost its end.
  if (end > size_bytes_) return Torn();
  LSM_ASSIGN_OR_RETURN(const bool is_sound, ReadPayload(header, end));
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

// Into payload_; false if the record is torn.
absl::StatusOr<bool> LogReader::ReadPayload(const RecordHeader& header, uint64_t end) {
  payload_.clear();
  uint64_t at = offset_ + kRecordHeaderBytes;
  while (payload_.size() < header.payload_bytes) {
    const size_t chunk_bytes =
        kChunkFramingBytes + ChunkPayloadBytes(at, header.payload_bytes - payload_.size());
    LSM_ASSIGN_OR_RETURN(const std::string_view bytes, BytesAt(at, chunk_bytes));
    std::string_view piece;
    if (!LoadChunk(bytes, file_id_, at, &piece)) {
      const auto is_sound = [this, at](std::string_view other) {
        std::string_view ignored;
        return LoadChunk(other, file_id_, at, &ignored);
      };
      return Judge(at, bytes, is_sound, end,
                   Concat("a record is damaged in its chunk at offset ", at));
    }
    payload_.append(piece);
    at += chunk_bytes;
  }
  LSM_ASSIGN_OR_RETURN(const std::string_view padding, BytesAt(at, static_cast<size_t>(end - at)));
  // It was written with what is sound before it in the same sector, so it is damaged, not torn.
  if (padding.find_first_not_of('\0') != padding.npos) {
    return Damage(Concat("the padding at offset ", at, " is not zero"));
  }
  return true;
}

absl::StatusOr<bool> LogReader::FinishLog(uint64_t end) {
  if (end != size_bytes_) {
    return Damage(Concat(size_bytes_ - end, " bytes stand behind the end record"));
  }
  offset_ = end;
  end_ = LogEnd::kClosed;
  return false;
}

absl::StatusOr<bool> LogReader::Judge(uint64_t at, std::string_view bytes, const IsSound& is_sound,
                                      uint64_t behind, std::string_view what) {
  damage_end_ = behind;
  LSM_ASSIGN_OR_RETURN(const std::optional<uint64_t> witness, FindWitness(behind));
  if (witness.has_value()) {
    return Damage(Concat(what, " (the record at offset ", *witness, " states that it was synced)"));
  }
  LSM_ASSIGN_OR_RETURN(const std::optional<uint64_t> home, HomeOfSector(at));
  if (home.has_value())
    return Damage(Concat(what, " (what was written at offset ", *home, " stands there)"));
  LSM_ASSIGN_OR_RETURN(const bool is_overwritten, IsOneByteFromSound(at, bytes, is_sound));
  if (is_overwritten) return Damage(Concat(what, " (overwritten, not torn)"));
  return Torn();
}

absl::StatusOr<std::optional<uint64_t>> LogReader::FindWitness(uint64_t behind) {
  searched_to_ = std::max(searched_to_, behind);
  // One that an earlier damage found stands behind this one too if it states so: no record knows of
  // more than what is before it.
  while (witness_.header.durable_offset <= offset_) {
    LSM_ASSIGN_OR_RETURN(const std::optional<Found> later,
                         FindHeader(&search_window_, searched_to_));
    searched_to_ =
        later.has_value() ? RecordEnd(later->offset, later->header.payload_bytes) : size_bytes_;
    if (!later.has_value()) return std::nullopt;
    if (later->header.durable_offset > witness_.header.durable_offset) witness_ = *later;
  }
  return witness_.offset;
}

// A crash leaves no sector in another one's place: it was swapped or misdirected, and may be the
// one that held all witnesses.
absl::StatusOr<std::optional<uint64_t>> LogReader::HomeOfSector(uint64_t at) {
  if (at % kSectorBytes != 0) return std::nullopt;  // what stands before it is in its place
  const auto count = static_cast<size_t>(std::min<uint64_t>(kSectorBytes, size_bytes_ - at));
  LSM_ASSIGN_OR_RETURN(std::string_view bytes, BytesFrom(&search_window_, at, count));
  bytes = bytes.substr(0, count);
  const auto home_of = [&](const auto& is_sound_at) -> std::optional<uint64_t> {
    if (is_sound_at(at)) return std::nullopt;
    for (uint64_t home = 0; home < size_bytes_ && home_trials_ < kHomeTrialsMax;
         home += kSectorBytes) {
      ++home_trials_;
      if (is_sound_at(home)) return home;
    }
    return std::nullopt;
  };
  std::optional<uint64_t> home;
  // It may be a chunk with nothing but padding, or what was never written, behind it.
  const std::string_view chunk = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
  if (chunk.size() > kChunkFramingBytes && chunk.back() == kSealByte) {
    home = home_of([&](uint64_t offset) {
      std::string_view ignored;
      return LoadChunk(chunk, file_id_, offset, &ignored);
    });
  }
  for (size_t place = FindMark(bytes, 0); !home.has_value() && place != bytes.npos;
       place = FindMark(bytes, place + 1)) {
    home = home_of([&](uint64_t offset) {
      RecordHeader ignored;
      return LoadRecordHeader(bytes.substr(place, kRecordHeaderBytes), file_id_, offset + place,
                              &ignored);
    });
  }
  return home;
}

// Whether one overwritten byte separates them from what is sound, in a way that no torn write
// does.
absl::StatusOr<bool> LogReader::IsOneByteFromSound(uint64_t at, std::string_view bytes,
                                                   const IsSound& is_sound) {
  std::string tried(bytes);
  const char seal = tried.back();
  if (seal != kSealByte) {
    // Then it must be the seal.
    tried.back() = kSealByte;
    if (!is_sound(tried)) return false;
    if (seal != '\0') return true;
    // A write that stopped just before it leaves nothing but zeros in the sector.
    const uint64_t end = at + tried.size();
    const uint64_t sector_end = at - at % kSectorBytes + kSectorBytes;
    LSM_ASSIGN_OR_RETURN(
        const std::string_view rest,
        BytesAt(end, static_cast<size_t>(std::min(sector_end, size_bytes_) - end)));
    return rest.find_first_not_of('\0') != rest.npos;
  }
  if (trials_ == kTrialsMax) return true;  // not known: what comes behind so much damage is no tear
  ++trials_;
  for (const bool one_bit : {true, false}) {  // the likeliest first
    for (char& byte : tried) {
      const int was = byte;
      for (unsigned change = 1; change < 256; ++change) {
        if (std::has_single_bit(change) != one_bit) continue;
        byte = static_cast<char>(was ^ static_cast<int>(change));
        if (is_sound(tried)) return true;
      }
      byte = static_cast<char>(was);
    }
  }
  return false;
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
  LSM_ASSIGN_OR_RETURN(const std::optional<Found> next, FindHeader(&window_, damage_end_));
  if (!next.has_value()) return false;
  damage_ = absl::OkStatus();
  offset_ = next->offset;
  next_ordinal_ = next->header.ordinal;
  return true;
}

absl::StatusOr<std::optional<LogReader::Found>> LogReader::FindHeader(Window* window,
                                                                      uint64_t from) {
  while (from < size_bytes_ && size_bytes_ - from >= kRecordHeaderBytes) {
    LSM_ASSIGN_OR_RETURN(const std::string_view bytes, BytesFrom(window, from, kRecordHeaderBytes));
    for (size_t at = FindMark(bytes, 0); at != bytes.npos; at = FindMark(bytes, at + 1)) {
      Found found{.offset = from + at, .header = {}};
      if (LoadRecordHeader(bytes.substr(at, kRecordHeaderBytes), file_id_, found.offset,
                           &found.header)) {
        return found;
      }
    }
    // A header that the window cuts off is looked at again, whole.
    from += bytes.size() - (kRecordHeaderBytes - 1);
  }
  return std::nullopt;
}

absl::StatusOr<std::string_view> LogReader::BytesFrom(Window* window, uint64_t offset,
                                                      size_t least) {
  std::string& bytes = window->bytes;
  if (offset < window->offset || offset + least > window->offset + bytes.size()) {
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
  LSM_ASSIGN_OR_RETURN(const std::string_view bytes, BytesFrom(&window_, offset, count));
  return bytes.substr(0, count);
}

}  // namespace lsm
