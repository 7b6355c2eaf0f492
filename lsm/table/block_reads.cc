#include "lsm/table/block_reads.h"

#include <utility>

#include "lsm/block/format.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

std::optional<size_t> BlockReads::Find(const Table* table, size_t ordinal) const {
  // A linear search: there are few, and each costs a read.
  for (size_t i = 0; i < reads_.size(); ++i) {
    if (reads_[i].table == table && reads_[i].ordinal == ordinal) return i;
  }
  return std::nullopt;
}

size_t BlockReads::Add(const Table* table, const IndexPart* index, size_t ordinal) {
  if (const std::optional<size_t> number = Find(table, ordinal)) return *number;
  reads_.push_back({table, index, ordinal, {}, OutOfMemory(), {}, false});
  return reads_.size() - 1;
}

void BlockReads::ReadAll(FileSystem* files, bool fill_cache) {
  const absl::Status status = CatchOutOfMemory([&] {
    std::vector<ReadRequest> requests;
    requests.reserve(reads_.size());
    for (Read& read : reads_) {
      const BlockHandle handle = read.index->handle(read.ordinal);
      // At most kBlockBytesMax, checked when the table was opened.
      read.stored = BlockBuffer(static_cast<size_t>(handle.stored_bytes + kBlockTrailerBytes));
      requests.push_back({&read.table->file(),
                          handle.offset,
                          {read.stored.data(), read.stored.size()},
                          absl::OkStatus(),
                          0});
    }
    files->ReadMany(requests, [&](size_t i) { Open(&reads_[i], requests[i], fill_cache); });
    return absl::OkStatus();
  });
  if (status.ok()) return;
  for (Read& read : reads_) {
    if (absl::IsResourceExhausted(read.status))
      read.status = OutOfMemoryAt(read.table->path(), read.index->handle(read.ordinal).offset);
  }
}

void BlockReads::Open(Read* read, const ReadRequest& request, bool fill_cache) {
  read->status = request.status;
  if (!read->status.ok()) return;
  read->stored.Truncate(request.bytes_read);
  absl::StatusOr<BlockRef> block = CatchOutOfMemory([&] {
    return read->table->AdmitBlock(*read->index, read->ordinal, read->stored.view(), fill_cache);
  });
  read->stored = BlockBuffer();
  if (block.ok()) {
    read->block = *std::move(block);
  } else {
    read->status = block.status();
  }
}

absl::StatusOr<BlockRef> BlockReads::Take(size_t number, bool* is_first) {
  Read& read = reads_[number];
  *is_first = !std::exchange(read.is_taken, true);
  if (!read.status.ok()) return read.status;
  read.block->Ref();
  return BlockRef(read.block.get());
}

void BlockReads::Drop(size_t number) {
  reads_[number].table = nullptr;
  reads_[number].block.Reset();
}

void SeekReads::Begin() {
  reads_.Clear();
  pins_.clear();
  were_read_ = false;
}

void SeekReads::Want(const Table* table, const IndexPart* index, BlockRef pin, size_t ordinal) {
  if (pin) pins_.push_back(std::move(pin));
  reads_.Add(table, index, ordinal);
}

BlockRef SeekReads::Take(const Table* table, size_t ordinal, bool fill_cache) {
  const std::optional<size_t> number = reads_.Find(table, ordinal);
  if (!number || reads_.size() < 2) return BlockRef();
  if (!std::exchange(were_read_, true)) {
    reads_.ReadAll(files_, fill_cache);
    pins_.clear();  // the indexes are no longer needed
  }
  bool is_first = false;
  absl::StatusOr<BlockRef> block = reads_.Take(*number, &is_first);
  reads_.Drop(*number);
  return block.ok() ? *std::move(block) : BlockRef();
}

}  // namespace lsm
