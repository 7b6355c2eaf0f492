#include "lsm/pieces/segment.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kSegments = 64;
constexpr uint64_t kSegmentBytesMin = uint64_t{1} << 20;
// Segments of the smallest cache, which needs one segment to fill and one to move hot pieces to.
constexpr uint64_t kSegmentsMin = 4;

constexpr std::string_view kPiecesSuffix = ".pieces";
constexpr std::string_view kIndexSuffix = ".index";

std::string NameOf(uint64_t number, std::string_view suffix) {
  std::string digits = std::to_string(number);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return Concat(digits, suffix);
}

uint64_t PaddedTo(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

SegmentSize::SegmentSize(uint64_t bytes_max) {
  const uint64_t bytes =
      std::max(bytes_max / kSegments, std::min(kSegmentBytesMin, bytes_max / kSegmentsMin));
  // Two entries for each piece of full size, since many are shorter.
  pieces_bytes = bytes / (kPieceBytes + 2 * PieceEntry::kBytes) * kPieceBytes;
  index_bytes = bytes - pieces_bytes;
}

absl::StatusOr<std::shared_ptr<Segment>> Segment::Create(Directory& directory, uint64_t number) {
  std::shared_ptr<Segment> segment(new Segment(number));
  const std::string name = NameOf(number, kPiecesSuffix);
  TRELLIS_ASSIGN_OR_RETURN(segment->pieces_out_, directory.CreateExclusive(name));
  absl::StatusOr<std::unique_ptr<AppendFile>> index =
      directory.CreateExclusive(NameOf(number, kIndexSuffix));
  absl::StatusOr<std::unique_ptr<ReadFile>> pieces = directory.OpenRead(name, ReadMode::kBuffered);
  if (index.ok() && pieces.ok()) {
    segment->index_out_ = *std::move(index);
    segment->pieces_ = *std::move(pieces);
    return segment;
  }
  segment->Remove(directory).IgnoreError();
  return index.ok() ? pieces.status() : index.status();
}

absl::StatusOr<std::shared_ptr<Segment>> Segment::Load(Directory& directory, uint64_t number,
                                                       uint64_t index_bytes_max,
                                                       std::vector<PieceEntry>* entries) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string index,
                           ReadWholeFile(directory, NameOf(number, kIndexSuffix), index_bytes_max));
  std::shared_ptr<Segment> segment(new Segment(number));
  TRELLIS_ASSIGN_OR_RETURN(segment->pieces_,
                           directory.OpenRead(NameOf(number, kPiecesSuffix), ReadMode::kBuffered));
  TRELLIS_ASSIGN_OR_RETURN(segment->pieces_bytes_, segment->pieces_->Size());
  segment->reserved_index_bytes_ = index.size();
  for (uint64_t at = 0; at < index.size(); at += PieceEntry::kBytes) {
    const std::optional<PieceEntry> entry =
        PieceEntry::Decode(std::string_view(index).substr(at), number, at);
    if (!entry) break;  // torn
    // A crash of the machine may have kept the entry and not the piece.
    const bool is_there = entry->length <= segment->pieces_bytes_ &&
                          entry->offset <= segment->pieces_bytes_ - entry->length;
    if (is_there) entries->push_back(*entry);
  }
  return segment;
}

std::optional<uint64_t> Segment::NumberOf(std::string_view name) {
  const size_t dot = std::min(name.find('.'), name.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + dot, number);
  if (error != std::errc() || end != name.data() + dot) return std::nullopt;
  if (name == NameOf(number, kPiecesSuffix) || name == NameOf(number, kIndexSuffix)) return number;
  return std::nullopt;
}

absl::Status Segment::AppendPiece(std::string_view bytes, PieceEntry* entry) {
  entry->offset = pieces_bytes_;
  entry->SetChecksums(bytes);
  const uint64_t padded_bytes = PaddedTo(bytes.size(), kPartBytes);
  pieces_bytes_ += padded_bytes;
  reserved_index_bytes_ += PieceEntry::kBytes;
  return CatchOutOfMemory([&]() -> absl::Status {
    TRELLIS_RETURN_IF_ERROR(pieces_out_->Append(bytes));
    if (padded_bytes == bytes.size()) return absl::OkStatus();
    return pieces_out_->Append(std::string(padded_bytes - bytes.size(), '\0'));
  });
}

absl::Status Segment::AppendEntry(const PieceEntry& entry) {
  if (entry.length == 0) reserved_index_bytes_ += PieceEntry::kBytes;
  return CatchOutOfMemory(
      [&] { return index_out_->Append(entry.Encode(number_, index_out_->size_bytes())); });
}

bool Segment::HasRoomFor(const SegmentSize& size, uint64_t bytes) const {
  return pieces_bytes_ + PaddedTo(bytes, kPartBytes) <= size.pieces_bytes &&
         reserved_index_bytes_ + PieceEntry::kBytes <= size.index_bytes;
}

absl::Status Segment::Remove(Directory& directory) {
  const std::string index = NameOf(number_, kIndexSuffix), pieces = NameOf(number_, kPiecesSuffix);
  pieces_out_ = nullptr;
  index_out_ = nullptr;
  is_removed_ = true;
  // The index first: without it the other file is removed by the next opening.
  absl::Status status = directory.Remove(index);
  status.Update(directory.Remove(pieces));
  return status;
}

}  // namespace lsm
