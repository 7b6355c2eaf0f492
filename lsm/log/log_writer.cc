#include "lsm/log/log_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A larger scratch buffer is freed after the record that needed it.
constexpr size_t kScratchBytesKept = size_t{1} << 20;

// Starts the kernel's writeback after each piece of this size, so that the first sync after many
// unsynced writes has little to do.  After 1.5 million puts of 116 bytes that sync took 87 ms
// (median) without this, 28 ms with pieces of 1 MiB, and 15 ms with these.
constexpr uint64_t kWritebackBytes = uint64_t{256} << 10;

}  // namespace

LogWriter::LogWriter(std::unique_ptr<AppendFile> file, uint64_t file_id)
    : file_(std::move(file)), file_id_(file_id) {}

absl::StatusOr<std::unique_ptr<LogWriter>> LogWriter::Create(std::unique_ptr<AppendFile> file,
                                                             LogKind kind, uint64_t file_id) {
  if (file->size_bytes() != 0) {
    return absl::InvalidArgumentError(Concat(file->path(), ": a log must start as an empty file"));
  }
  std::unique_ptr<LogWriter> writer(new LogWriter(std::move(file), file_id));
  char header[kLogHeaderBytes];
  StoreLogHeader(header, {.version = LogVersionMax(kind), .kind = kind, .file_id = file_id});
  TRELLIS_RETURN_IF_ERROR(writer->AppendBytes({header, sizeof(header)}));
  TRELLIS_RETURN_IF_ERROR(writer->Sync());
  return writer;
}

absl::Status LogWriter::Append(std::string_view payload) {
  if (payload.size() > kRecordBytesMax) {
    return absl::InvalidArgumentError(Concat(path(), ": a record of ", payload.size(),
                                             " bytes; at most ", kRecordBytesMax, " are possible"));
  }
  return AppendRecord(RecordType::kData, payload);
}

void LogWriter::Reserve(size_t payload_bytes) {
  const uint64_t record_bytes = RecordEnd(size_bytes(), payload_bytes) - size_bytes();
  // Doubles, since the records of a log reach their usual size only once.
  if (record_bytes > scratch_.capacity())
    scratch_.reserve(std::max<size_t>(record_bytes, 2 * scratch_.capacity()));
}

absl::Status LogWriter::AppendRecord(RecordType type, std::string_view payload) {
  TRELLIS_RETURN_IF_ERROR(status_);
  const uint64_t start = size_bytes();
  const uint64_t end = RecordEnd(start, payload.size());
  if (next_ordinal_ == std::numeric_limits<uint32_t>::max() || end > kLogBytesMax) {
    return status_ = absl::ResourceExhaustedError(
               Concat(path(), ": the log has no numbers left for ", "records or sectors"));
  }
  scratch_.resize(static_cast<size_t>(end - start));
  uint64_t at = start;
  const auto place = [&] { return scratch_.data() + (at - start); };
  const auto store_tag = [&] {
    if (AfterTag(at) == at) return;
    StoreSectorTag(place(), file_id_, at);
    at = AfterTag(at);
  };
  store_tag();
  StoreRecordHeader(place(),
                    {.type = type,
                     .payload_bytes = static_cast<uint32_t>(payload.size()),
                     .ordinal = next_ordinal_,
                     .durable_offset = durable_offset_},
                    file_id_, at);
  at += kRecordHeaderBytes;
  while (!payload.empty()) {
    store_tag();
    const size_t piece_bytes = ChunkPayloadBytes(at, payload.size());
    StoreChunk(place(), payload.substr(0, piece_bytes), file_id_, at);
    payload.remove_prefix(piece_bytes);
    at += kChunkFramingBytes + piece_bytes;
  }
  std::memset(place(), 0, static_cast<size_t>(end - at));
  TRELLIS_RETURN_IF_ERROR(AppendBytes(scratch_));
  ++next_ordinal_;
  if (scratch_.capacity() > kScratchBytesKept) std::string().swap(scratch_);
  return absl::OkStatus();
}

absl::Status LogWriter::AppendBytes(std::string_view bytes) {
  // After any failure the content of the file is unknown.
  status_ = CatchOutOfMemory([&] { return file_->Append(bytes); });
  if (!status_.ok()) return status_;
  // Relaxed, and no atomic addition: only the appending thread writes it.
  size_bytes_.store(size_bytes() + bytes.size(), std::memory_order_relaxed);
  if (size_bytes() / kWritebackBytes != (size_bytes() - bytes.size()) / kWritebackBytes)
    file_->StartWriteback();
  return status_;
}

absl::Status LogWriter::Sync() {
  TRELLIS_RETURN_IF_ERROR(status_);
  if (!has_unsynced()) return absl::OkStatus();
  status_ = CatchOutOfMemory([&] { return file_->Sync(); });
  if (status_.ok()) durable_offset_ = size_bytes();
  return status_;
}

absl::Status LogWriter::Close(bool sync) {
  if (sync) Sync().IgnoreError();  // stays in status_
  if (status_.ok()) status_ = CatchOutOfMemory([&] { return AppendRecord(RecordType::kEnd, {}); });
  if (sync) Sync().IgnoreError();  // likewise
  const absl::Status closed = CatchOutOfMemory([&] { return file_->Close(); });
  if (status_.ok()) status_ = closed;
  const absl::Status result = status_;
  if (status_.ok()) {
    status_ = CatchOutOfMemory(
        [&] { return absl::FailedPreconditionError(Concat(path(), ": the log is closed")); });
  }
  return result;
}

}  // namespace lsm
