#include "lsm/objects/object_files.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/objects/object_writes.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kWriteBytesMax = uint64_t{32} << 20;

// The error if a chunk that the file should have is missing.
absl::Status MissingChunk(const ChunkedFile& chunked, uint64_t number) {
  IndexHandle& index = *chunked.index;
  const std::string path = index.PathOf(chunked.name);
  // Names are removed before chunks.  If the name is gone, a missing chunk is not damage.
  if (index.required_owner().empty()) {
    const absl::StatusOr<std::string> entry = index.EntryOfAny(Concat(kFilePrefix, chunked.name));
    if (!entry.ok() && !absl::IsNotFound(entry.status())) return WithContext(entry.status(), path);
    absl::StatusOr<IndexedFile> now = absl::NotFoundError("");
    if (entry.ok() && !entry->empty()) now = IndexedFile::Decode(*entry, path);
    if (!now.ok() && !absl::IsNotFound(now.status())) return now.status();
    if (!now.ok() || now->id != chunked.file.id) {
      return absl::UnavailableError(
          Concat(path, ": another process has removed the file while it was read"));
    }
  }
  return absl::DataLossError(Concat(path, ": chunk ", number, " is missing"));
}

// A read of one chunk, for one call to the pool.
struct ChunkRead {
  uint64_t number = 0;
  std::string object;
  ObjectRead read;
  std::string owner;  // that the handle requires
};

ChunkRead PrepareRead(const ChunkedFile& chunked, uint64_t number) {
  ChunkRead chunk{number, ChunkName(chunked.file.id, number), {}, chunked.index->required_owner()};
  if (!chunk.owner.empty() && IsSealed(chunked.name, chunked.file))
    chunk.read.attributes_equal[kOwnerAttribute] = chunk.owner;
  return chunk;
}

absl::Status CheckChunkSize(const ChunkedFile& chunked, uint64_t number, uint64_t size_bytes) {
  const IndexedFile& file = chunked.file;
  const bool is_last = number + 1 >= file.chunks;
  if (size_bytes == file.chunk_bytes || (size_bytes < file.chunk_bytes && is_last))
    return absl::OkStatus();
  return absl::DataLossError(Concat(chunked.index->PathOf(chunked.name), ": chunk ", number,
                                    " has ", size_bytes, " bytes instead of ", file.chunk_bytes));
}

// Whether the file ends before this chunk, which returned `status`.  A log's chunk is registered
// before it is written, and one that is not registered may be missing, or have an earlier owner.
bool IsEnd(const ChunkedFile& chunked, uint64_t number, const absl::Status& status) {
  return chunked.file.kind == IndexedKind::kLog && number >= chunked.file.chunks &&
         (absl::IsNotFound(status) || absl::IsAborted(status));
}

// The outcome of a read, which the pool answered with `contents`.  nullopt if the file ends before
// the chunk.  TakenOver instead of DataLoss if the handle has locked the directory and another
// process has taken it over.
absl::StatusOr<std::optional<ObjectContents>> Judge(const ChunkedFile& chunked,
                                                    const ChunkRead& chunk,
                                                    absl::StatusOr<ObjectContents> contents) {
  IndexHandle& index = *chunked.index;
  const std::string path = index.PathOf(chunked.name);
  if (contents.ok()) {
    TRELLIS_RETURN_IF_ERROR(CheckChunkSize(chunked, chunk.number, contents->size_bytes));
    return *std::move(contents);
  }
  absl::Status status = contents.status();
  const bool may_be_of_another = absl::IsAborted(status) || absl::IsNotFound(status);
  if (!chunk.owner.empty() && may_be_of_another) status = index.WhyRefused(chunk.owner, status);
  if (IsEnd(chunked, chunk.number, status)) return std::nullopt;
  if (absl::IsNotFound(status)) return MissingChunk(chunked, chunk.number);
  return WithContext(status, path);
}

class ObjectReader final : public ReadFile {
 public:
  ObjectReader(ChunkedFile chunked, std::shared_ptr<OpenIds> open)
      : chunked_(std::move(chunked)),
        open_(std::move(open)),
        path_(chunked_.index->PathOf(chunked_.name)) {
    if (file().kind != IndexedKind::kSmall) open_->Open(file().id);
  }
  ~ObjectReader() override {
    if (file().kind != IndexedKind::kSmall) open_->Close(file().id);
  }

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (file().kind == IndexedKind::kSmall) {
      if (offset >= file().small_bytes.size()) return 0;
      return file().small_bytes.copy(buffer.data(), buffer.size(), offset);
    }
    buffer = buffer.first(BytesMax(offset, buffer.size()));
    Filling filling{buffer};
    while (!filling.is_complete()) {
      const ChunkRead chunk = PieceAt(offset + filling.done, buffer.size() - filling.done);
      TRELLIS_RETURN_IF_ERROR(
          Take(chunk, chunked_.index->pool().Read(chunk.object, chunk.read), &filling));
    }
    return Finish(filling);
  }

  absl::StatusOr<uint64_t> Size() const override { return SizeOf(chunked_); }
  const std::string& path() const override { return path_; }

  const ObjectPool& pool() const { return chunked_.index->pool(); }

  // Adds the reads that ReadAt would make.  False, and adds none, if they depend on each other:
  // those of a log that go beyond its registered chunks.
  bool AddReads(const ReadRequest& request, std::vector<ChunkRead>* reads) const {
    if (file().kind == IndexedKind::kSmall) return false;
    const uint64_t bytes = BytesMax(request.offset, request.buffer.size());
    const uint64_t registered_bytes = file().chunks * file().chunk_bytes;
    if (bytes > registered_bytes || request.offset > registered_bytes - bytes) return false;
    for (uint64_t done = 0; done < bytes; done += reads->back().read.bytes_max)
      reads->push_back(PieceAt(request.offset + done, bytes - done));
    return true;
  }
  // The outcome of ReadAt, from the answers to those reads.
  absl::StatusOr<size_t> Assemble(const ReadRequest& request, std::span<const ChunkRead> reads,
                                  std::span<ObjectReadRequest> answers) const {
    Filling filling{request.buffer.first(BytesMax(request.offset, request.buffer.size()))};
    for (size_t i = 0; i < reads.size() && !filling.is_complete(); ++i)
      TRELLIS_RETURN_IF_ERROR(Take(reads[i], std::move(answers[i].contents), &filling));
    return Finish(filling);
  }

 private:
  // A buffer that is filled piece by piece.
  struct Filling {
    std::span<char> buffer;
    size_t done = 0;
    bool is_at_end = false;
    bool is_complete() const { return is_at_end || done == buffer.size(); }
  };

  const IndexedFile& file() const { return chunked_.file; }

  // The part of a range that ReadAt asks the pool for.
  size_t BytesMax(uint64_t offset, size_t bytes) const {
    if (file().kind != IndexedKind::kTable) return bytes;
    return std::min<uint64_t>(bytes, file().size_bytes - std::min(file().size_bytes, offset));
  }
  // The part of a range that is in the first one of its chunks.
  ChunkRead PieceAt(uint64_t offset, uint64_t bytes) const {
    ChunkRead chunk = PrepareRead(chunked_, offset / file().chunk_bytes);
    chunk.read.offset = offset % file().chunk_bytes;
    chunk.read.bytes_max = std::min(bytes, file().chunk_bytes - chunk.read.offset);
    return chunk;
  }
  absl::Status Take(const ChunkRead& chunk, absl::StatusOr<ObjectContents> contents,
                    Filling* filling) const {
    TRELLIS_ASSIGN_OR_RETURN(const std::optional<ObjectContents> found,
                             Judge(chunked_, chunk, std::move(contents)));
    const size_t bytes =
        found ? found->bytes.copy(filling->buffer.data() + filling->done, chunk.read.bytes_max) : 0;
    filling->done += bytes;
    filling->is_at_end = bytes < chunk.read.bytes_max;
    return absl::OkStatus();
  }
  absl::StatusOr<size_t> Finish(const Filling& filling) const {
    if (file().kind == IndexedKind::kTable && filling.done < filling.buffer.size())
      return absl::DataLossError(Concat(path_, ": a chunk is shorter than it was written"));
    return filling.done;
  }

  const ChunkedFile chunked_;
  const std::shared_ptr<OpenIds> open_;
  const std::string path_;
};

// Several reads of files, as reads of chunks that are submitted together.
class TogetherReads {
 public:
  TogetherReads(ObjectPool* pool, std::span<ReadRequest> requests)
      : pool_(*pool), requests_(requests) {}

  // Makes those reads that can be made together.
  void Submit() {
    ends_.reserve(requests_.size());
    for (const ReadRequest& request : requests_) {
      const auto* const reader = dynamic_cast<const ObjectReader*>(request.file);
      const bool is_added =
          reader != nullptr && &reader->pool() == &pool_ && reader->AddReads(request, &reads_);
      ends_.push_back({is_added ? reader : nullptr, reads_.size()});
    }
    answers_.reserve(reads_.size());
    for (const ChunkRead& chunk : reads_)
      answers_.push_back({chunk.object, chunk.read, absl::UnavailableError("not read")});
    if (!answers_.empty()) pool_.ReadMany(answers_);
    is_submitted_ = true;
  }
  // Sets the outcome of a request.  Call it once for each.  Throws nothing.
  void Tell(size_t number) {
    ReadRequest& request = requests_[number];
    if (!is_submitted_ || ends_[number].reader == nullptr) return ReadAlone(&request);
    const size_t begin = number == 0 ? 0 : ends_[number - 1].reads;
    const size_t count = ends_[number].reads - begin;
    const absl::StatusOr<size_t> bytes_read = CatchOutOfMemory([&] {
      return ends_[number].reader->Assemble(request, std::span(reads_).subspan(begin, count),
                                            std::span(answers_).subspan(begin, count));
    });
    request.status = bytes_read.status();
    request.bytes_read = bytes_read.ok() ? *bytes_read : 0;
  }

 private:
  struct End {
    const ObjectReader* reader = nullptr;  // null: it is read alone
    size_t reads = 0;                      // of this request and of earlier ones
  };
  ObjectPool& pool_;
  const std::span<ReadRequest> requests_;
  std::vector<End> ends_;
  std::vector<ChunkRead> reads_;
  std::vector<ObjectReadRequest> answers_;
  bool is_submitted_ = false;
};

// The common part of both writers.  The first failure is final.
class ObjectWriter : public AppendFile {
 public:
  ObjectWriter(std::shared_ptr<IndexHandle> index, std::string name, IndexedFile file,
               std::string owner)
      : index_(std::move(index)),
        owner_(std::move(owner)),
        name_(std::move(name)),
        path_(index_->PathOf(name_)),
        file_(std::move(file)) {}

  absl::Status Append(std::string_view bytes) override {
    assert(!closed_);
    if (!status_.ok()) return status_;
    status_ = OutOfMemory();  // stays if memory runs out
    status_ = Add(bytes);
    return status_;
  }
  // Space cannot be taken in advance, so a store keeps no reserve.
  absl::Status Allocate(uint64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    return absl::UnimplementedError(
        Concat(path_, ": space cannot be allocated in an object store"));
  }
  absl::Status Sync() override {
    assert(!closed_);
    if (!status_.ok()) return status_;
    status_ = OutOfMemory();
    status_ = Finish();
    return status_;
  }
  absl::Status Close() override {
    assert(!closed_);
    closed_ = true;
    return absl::OkStatus();
  }
  uint64_t size_bytes() const override { return size_bytes_; }
  const std::string& path() const override { return path_; }

 protected:
  virtual absl::Status Add(std::string_view bytes) = 0;
  virtual absl::Status Finish() = 0;

  // Replaces the file's entry, if nothing else has changed it.  `later`: the change may be held.
  absl::Status ChangeEntry(const IndexedFile& file, bool later) {
    const std::string entry = Concat(kFilePrefix, name_);
    ObjectWrite write;
    write.entries_equal[entry] = file_.Encode();
    write.set_entries[entry] = file.Encode();
    const absl::Status status =
        later ? index_->ChangeLater(owner_, write) : index_->Change(owner_, write);
    if (absl::IsAborted(status) || absl::IsNotFound(status)) return Unnamed();
    if (!status.ok()) return WithContext(status, path_);
    file_ = file;
    return absl::OkStatus();
  }
  absl::Status TooLong() const {
    return absl::ResourceExhaustedError(Concat(path_, ": a file cannot have more than ", kChunksMax,
                                               " chunks of ", file_.chunk_bytes, " bytes"));
  }
  absl::Status Unnamed() const {
    return absl::UnavailableError(Concat(path_, ": the file was removed or renamed"));
  }

  const std::shared_ptr<IndexHandle> index_;
  const std::string owner_;  // when the file was made
  const std::string name_;
  const std::string path_;
  IndexedFile file_;
  uint64_t size_bytes_ = 0;

 private:
  absl::Status status_;
  bool closed_ = false;
};

class LogChunksWriter final : public ObjectWriter {
 public:
  using ObjectWriter::ObjectWriter;

 private:
  absl::Status Add(std::string_view bytes) override {
    while (!bytes.empty()) {
      const uint64_t number = size_bytes_ / file_.chunk_bytes;
      const uint64_t offset = size_bytes_ % file_.chunk_bytes;
      if (number == file_.chunks) TRELLIS_RETURN_IF_ERROR(AddChunk());
      ObjectWrite write;
      write.attributes_equal[kOwnerAttribute] = owner_;
      write.offset = offset;
      write.bytes = bytes.substr(0, std::min(kWriteBytesMax, file_.chunk_bytes - offset));
      const absl::Status status = WriteObject(index_->pool(), ChunkName(file_.id, number), write);
      if (absl::IsAborted(status) || absl::IsNotFound(status)) return Refused(status);
      if (!status.ok()) return WithContext(status, path_);
      size_bytes_ += write.bytes.size();
      bytes.remove_prefix(write.bytes.size());
    }
    return absl::OkStatus();
  }
  // Appended bytes are durable already.
  absl::Status Finish() override { return absl::OkStatus(); }

  // A chunk refused a write.
  absl::Status Refused(const absl::Status& status) const {
    if (!IsSealed(name_, file_)) return Unnamed();
    const absl::Status why = index_->WhyRefused(owner_, status);
    return absl::IsAborted(why) || absl::IsNotFound(why) ? Unnamed() : WithContext(why, path_);
  }

  // The chunk exists before the index names it: a new owner that finds it in the index can seal it.
  absl::Status AddChunk() {
    if (file_.chunks == kChunksMax) return TooLong();
    TRELLIS_RETURN_IF_ERROR(WithContext(MakeLogChunk(*index_, file_, file_.chunks, owner_), path_));
    IndexedFile longer = file_;
    ++longer.chunks;
    return ChangeEntry(longer, /*later=*/false);
  }
};

class TableChunksWriter final : public ObjectWriter {
 public:
  using ObjectWriter::ObjectWriter;

  // These wait for the chunks in flight: the file may be removed next, and a late write would make
  // a chunk again.
  ~TableChunksWriter() override { in_flight_.clear(); }
  absl::Status Close() override {
    in_flight_.clear();
    return ObjectWriter::Close();
  }

 private:
  // The next bytes of the file, which are in one chunk.
  struct Piece {
    std::string bytes;
    // After `bytes`, so that it is destroyed first.
    std::unique_ptr<PendingObjectWrite> write;
  };

  absl::Status Add(std::string_view bytes) override {
    if (bytes.size() > kChunksMax * file_.chunk_bytes - size_bytes_) return TooLong();
    size_bytes_ += bytes.size();
    while (!bytes.empty()) {
      const uint64_t room = file_.chunk_bytes - started_bytes_ % file_.chunk_bytes - buffer_.size();
      const std::string_view some = bytes.substr(0, room);
      // Doubling would let a string grow beyond the chunk.
      const uint64_t wanted = buffer_.size() + some.size();
      if (wanted > file_.chunk_bytes / 2) buffer_.reserve(file_.chunk_bytes);
      buffer_.append(some);
      if (some.size() == room) TRELLIS_RETURN_IF_ERROR(StartBuffer());
      bytes.remove_prefix(some.size());
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    if (!buffer_.empty() || !has_tag_) TRELLIS_RETURN_IF_ERROR(StartBuffer());
    while (!in_flight_.empty()) TRELLIS_RETURN_IF_ERROR(WaitForOldest());
    IndexedFile complete = file_;
    complete.size_bytes = size_bytes_;
    complete.chunks =
        std::max<uint64_t>(1, (size_bytes_ + file_.chunk_bytes - 1) / file_.chunk_bytes);
    return ChangeEntry(complete, /*later=*/true);
  }

  // Starts the write of `buffer_`, and empties it.
  absl::Status StartBuffer() {
    if (in_flight_.size() == kChunksInFlightMax) TRELLIS_RETURN_IF_ERROR(WaitForOldest());
    Piece& piece = in_flight_.emplace_back();
    piece.bytes.swap(buffer_);
    ObjectWrite write;
    write.offset = started_bytes_ % file_.chunk_bytes;
    write.bytes = piece.bytes;
    if (!std::exchange(has_tag_, true))
      write.set_attributes[kTagsAttribute] = Concat(file_.tag, " ");
    const std::string chunk = ChunkName(file_.id, started_bytes_ / file_.chunk_bytes);
    piece.write = index_->pool().StartWrite(chunk, write);
    started_bytes_ += piece.bytes.size();
    return absl::OkStatus();
  }

  absl::Status WaitForOldest() {
    const absl::Status status = WriteStatus(in_flight_.front().write->Wait());
    in_flight_.pop_front();
    return WithContext(status, path_);
  }

  std::string buffer_;          // its write has not started
  uint64_t started_bytes_ = 0;  // before `buffer_`
  bool has_tag_ = false;        // the write of the first chunk, with the file's tag, has started
  std::list<Piece> in_flight_;  // in the order of the file; addresses stay
};

}  // namespace

void OpenIds::BeginLookup() {
  MutexLock lock(&mutex_);
  ++lookups_;
}

void OpenIds::EndLookup() {
  {
    MutexLock lock(&mutex_);
    --lookups_;
  }
  RunRemovals();
}

void OpenIds::Open(const std::string& id) {
  MutexLock lock(&mutex_);
  ++open_[id].readers;
}

void OpenIds::Close(const std::string& id) {
  {
    MutexLock lock(&mutex_);
    const auto place = open_.find(id);
    if (--place->second.readers == 0) {
      removals_.splice(removals_.end(), place->second.removals);
      open_.erase(place);
    }
  }
  RunRemovals();
}

void OpenIds::WhenClosed(std::list<Removal> removals) {
  {
    MutexLock lock(&mutex_);
    removals_.splice(removals_.end(), removals);
  }
  RunRemovals();
}

void OpenIds::RunRemovals() {
  std::list<Removal> due;
  {
    MutexLock lock(&mutex_);
    if (lookups_ > 0) return;
    while (!removals_.empty()) {
      const auto open = open_.find(removals_.front().id);
      std::list<Removal>& to = open == open_.end() ? due : open->second.removals;
      to.splice(to.end(), removals_, removals_.begin());
    }
  }
  for (const Removal& removal : due) removal.run();
  for (const Removal& removal : due) removal.finish();
}

bool OpenIds::IsOpen(const std::string& id) const {
  MutexLock lock(&mutex_);
  return open_.contains(id);
}

absl::StatusOr<uint64_t> SizeOf(const ChunkedFile& chunked) {
  const IndexedFile& file = chunked.file;
  if (file.kind == IndexedKind::kSmall) return file.small_bytes.size();
  if (file.kind == IndexedKind::kTable) return file.size_bytes;
  uint64_t size = 0;
  for (uint64_t number = 0;; ++number) {
    const ChunkRead chunk = PrepareRead(chunked, number);
    TRELLIS_ASSIGN_OR_RETURN(
        const std::optional<ObjectContents> contents,
        Judge(chunked, chunk, chunked.index->pool().Read(chunk.object, chunk.read)));
    if (!contents) return size;
    size += contents->size_bytes;
    if (contents->size_bytes < file.chunk_bytes) return size;
  }
}

void ReadObjectFiles(ObjectPool* pool, std::span<ReadRequest> requests,
                     const std::function<void(size_t)>& done) {
  TogetherReads together(pool, requests);
  // Without memory, each is read alone.
  CatchOutOfMemory([&] {
    together.Submit();
    return absl::OkStatus();
  }).IgnoreError();
  for (size_t i = 0; i < requests.size(); ++i) {
    together.Tell(i);
    if (done != nullptr) done(i);
  }
}

std::unique_ptr<ReadFile> NewObjectReader(ChunkedFile chunked, std::shared_ptr<OpenIds> open) {
  return std::make_unique<ObjectReader>(std::move(chunked), std::move(open));
}

std::unique_ptr<AppendFile> NewLogWriter(std::shared_ptr<IndexHandle> index, std::string name,
                                         IndexedFile file, std::string owner) {
  return std::make_unique<LogChunksWriter>(std::move(index), std::move(name), std::move(file),
                                           std::move(owner));
}

std::unique_ptr<AppendFile> NewTableWriter(std::shared_ptr<IndexHandle> index, std::string name,
                                           IndexedFile file, std::string owner) {
  return std::make_unique<TableChunksWriter>(std::move(index), std::move(name), std::move(file),
                                             std::move(owner));
}

absl::Status MakeLogChunk(IndexHandle& index, const IndexedFile& file, uint64_t number,
                          const std::string& owner) {
  const std::string chunk = ChunkName(file.id, number);
  ObjectWrite write;
  write.must_be_new = true;
  write.set_attributes[kOwnerAttribute] = owner;
  if (number == 0) write.set_attributes[kTagsAttribute] = Concat(file.tag, " ");
  const absl::Status status = WriteObject(index.pool(), chunk, write);
  if (!absl::IsAlreadyExists(status)) return status;
  // IDs are unique, so the pool has applied the write before it was refused.
  ObjectRead read;
  read.attributes_equal[kOwnerAttribute] = owner;
  const absl::Status found = index.pool().Read(chunk, read).status();
  return absl::IsAborted(found) || absl::IsNotFound(found) ? index.WhyRefused(owner, found) : found;
}

}  // namespace lsm
