#include "lsm/log/log_reader.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"

namespace lsm {
namespace {

// Read at a time.  Larger than any header or chunk.
constexpr size_t kWindowBytes = size_t{64} << 10;

// Whether a single flipped bit separates `bytes` from what `is_sound` accepts.
template <typename IsSound>
bool IsOneFlipFromSound(std::string bytes, const IsSound& is_sound) {
  for (char& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      if (is_sound(bytes)) return true;
      byte = static_cast<char>(byte ^ (1 << bit));
    }
  }
  return false;
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
  if (size_bytes_ < kLogHeaderBytes) {
    Torn();
    return absl::OkStatus();
  }
  LSM_ASSIGN_OR_RETURN(const std::string_view bytes, BytesAt(0, kLogHeaderBytes));
  LogHeader header;
  if (!LoadLogHeader(bytes, &header)) {
    const auto is_sound = [](std::string_view other) {
      LogHeader ignored;
      return LoadLogHeader(other, &ignored);
    };
    if (IsOneFlipFromSound(std::string(bytes), is_sound)) {
      return DamageAt(path(), 0, "a bit of the log's header is flipped");
    }
    if (size_bytes_ == kLogHeaderBytes) {
      Torn();
      return absl::OkStatus();
    }
    if (bytes.starts_with(kLogMagic) || bytes.find_first_not_of('\0') == bytes.npos) {
      return DamageAt(path(), 0, "the log's header is damaged");
    }
    return absl::InvalidArgumentError(Concat(path(), ": offset 0: not a log"));
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
    return Judge(IsOneFlipFromSound(std::string(bytes), is_sound), offset_ + 1,
                 "a record's header is damaged");
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
      return Judge(IsOneFlipFromSound(std::string(bytes), is_sound), end,
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

absl::StatusOr<bool> LogReader::Judge(bool is_one_flip, uint64_t search_from,
                                      std::string_view what) {
  if (is_one_flip) {
    damage_end_ = search_from;
    return Damage(Concat(what, " (a flipped bit)"));
  }
  uint64_t from = search_from;
  while (true) {
    LSM_ASSIGN_OR_RETURN(const std::optional<Found> later, FindHeader(from));
    if (!later.has_value()) return Torn();
    if (later->header.durable_offset > offset_) {
      damage_end_ = search_from;
      return Damage(
          Concat(what, " (the record at offset ", later->offset, " states that it was synced)"));
    }
    from = later->offset + 1;
  }
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
  LSM_ASSIGN_OR_RETURN(const std::optional<Found> next, FindHeader(damage_end_));
  if (!next.has_value()) return false;
  damage_ = absl::OkStatus();
  offset_ = next->offset;
  next_ordinal_ = next->header.ordinal;
  return true;
}

// The first sound record header at or behind `from`.
absl::StatusOr<std::optional<LogReader::Found>> LogReader::FindHeader(uint64_t from) {
  char mark[4];
  StoreFixed32(mark, kRecordMark);
  const std::string_view wanted(mark, sizeof(mark));
  while (from < size_bytes_ && size_bytes_ - from >= kRecordHeaderBytes) {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(kWindowBytes, size_bytes_ - from));
    LSM_ASSIGN_OR_RETURN(const std::string_view bytes, BytesAt(from, count));
    size_t at = bytes.find(wanted);
    for (; at != bytes.npos && at + kRecordHeaderBytes <= count; at = bytes.find(wanted, at + 1)) {
      Found found{.offset = from + at, .header = {}};
      if (LoadRecordHeader(bytes.substr(at, kRecordHeaderBytes), file_id_, found.offset,
                           &found.header)) {
        return found;
      }
    }
    // A header that the window cuts off is looked at again, whole.
    from += count - (kRecordHeaderBytes - 1);
  }
  return std::nullopt;
}

absl::StatusOr<std::string_view> LogReader::BytesAt(uint64_t offset, size_t count) {
  if (offset < window_offset_ || offset + count > window_offset_ + window_.size()) {
    window_.resize(static_cast<size_t>(
        std::min<uint64_t>(std::max(count, kWindowBytes), size_bytes_ - offset)));
    window_offset_ = offset;
    const absl::StatusOr<size_t> read = file_->ReadAt(offset, {window_.data(), window_.size()});
    if (!read.ok()) {
      window_.clear();
      return read.status();
    }
    window_.resize(*read);
    if (window_.size() < count) {
      return DamageAt(path(), offset + window_.size(), "the file ends here, before its former end");
    }
  }
  return std::string_view(window_).substr(static_cast<size_t>(offset - window_offset_), count);
}

}  // namespace lsm
