#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lsm/block/format.h"
#include "lsm/bytes/status.h"
#include "lsm/pieces/cached_files.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Larger reads are those of compactions, copies and verifications, which read everything once.  An
// iterator reads at most 248 KiB ahead.
constexpr uint64_t kHotReadBytesMax = uint64_t{256} << 10;

// The parts of a piece that contain [from, to), to verify them.
struct PartRange {
  PartRange(const PieceEntry& entry, uint64_t from, uint64_t to)
      : begin(from / kPartBytes * kPartBytes),
        end(std::min<uint64_t>((to + kPartBytes - 1) / kPartBytes * kPartBytes, entry.length)) {}
  uint64_t begin, end;
  size_t bytes() const { return static_cast<size_t>(end - begin); }
};

class CachedReader final : public ReadFile {
 public:
  CachedReader(std::shared_ptr<PieceContext> context, uint64_t path_hash,
               std::unique_ptr<ReadFile> below)
      : context_(std::move(context)), path_hash_(path_hash), below_(std::move(below)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override;
  absl::StatusOr<uint64_t> Size() const override { return below_->Size(); }
  absl::StatusOr<uint64_t> NextData(uint64_t offset) const override {
    return below_->NextData(offset);
  }
  const std::string& path() const override { return below_->path(); }

  const ReadFile& below() const { return *below_; }
  const PieceContext& context() const { return *context_; }

  enum class State : uint8_t { kUnknown, kTable, kOther };
  // Whether the file is a table.  kUnknown if a read of this range will tell; pass it to LearnFrom
  // once it was made.  Otherwise may read the footer.
  State StateBefore(uint64_t offset, size_t bytes) const;
  void LearnFrom(uint64_t offset, std::string_view bytes) const;

  // REQUIRES: kTable.
  const KnownTable& table() const { return table_; }
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  void Learn(std::string_view last_bytes, uint64_t file_bytes) const ABSL_LOCKS_EXCLUDED(learning_);
  // ReadAt, if the range is in one piece that is stored.
  bool ReadStored(uint64_t offset, std::span<char> buffer) const;

  const std::shared_ptr<PieceContext> context_;
  const uint64_t path_hash_;
  const std::unique_ptr<ReadFile> below_;
  mutable Mutex learning_;
  // Changes once.  The others are written before, and read after.
  mutable std::atomic<State> state_ = State::kUnknown;
  mutable KnownTable table_;
  mutable uint64_t file_bytes_ = 0;
};

CachedReader::State CachedReader::StateBefore(uint64_t offset, size_t bytes) const {
  if (!context_->store.is_usable()) return State::kOther;
  // Acquires table_ and file_bytes_.
  State state = state_.load(std::memory_order_acquire);
  if (state != State::kUnknown) return state;
  const absl::StatusOr<uint64_t> size = below_->Size();
  if (!size.ok()) return State::kOther;  // now; perhaps not for the next read
  if (*size < kFooterBytes) {
    Learn({}, *size);
  } else {
    const uint64_t footer = *size - kFooterBytes;
    if (offset <= footer && bytes >= *size - offset) return State::kUnknown;
    std::array<char, kFooterBytes> last_bytes;
    const absl::StatusOr<size_t> read = below_->ReadAt(footer, last_bytes);
    if (!read.ok()) return State::kOther;
    PieceStore::Count(&context_->store.counts.bytes_below, *read);
    Learn({last_bytes.data(), *read}, *size);
  }
  return state_.load(std::memory_order_acquire);  // as above
}

void CachedReader::LearnFrom(uint64_t offset, std::string_view bytes) const {
  const absl::StatusOr<uint64_t> size = below_->Size();
  // A file that grows is told by a later read.
  if (size.ok() && offset + bytes.size() == *size) Learn(bytes, *size);
}

void CachedReader::Learn(std::string_view last_bytes, uint64_t file_bytes) const {
  MutexLock lock(&learning_);
  // Relaxed: only threads that hold learning_ change it.
  if (state_.load(std::memory_order_relaxed) != State::kUnknown) return;
  const std::optional<TableIdentity> table = IdentityOf(path_hash_, last_bytes, file_bytes);
  if (table) {
    table_ = context_->store.Begin(*table);
    file_bytes_ = file_bytes;
  }
  // Releases table_ and file_bytes_.
  state_.store(table ? State::kTable : State::kOther, std::memory_order_release);
}

bool CachedReader::ReadStored(uint64_t offset, std::span<char> buffer) const {
  const uint64_t from = offset % kPieceBytes;
  if (buffer.empty() || from + buffer.size() > kPieceBytes) return false;
  PieceStore& store = context_->store;
  const std::optional<StoredPiece> piece =
      store.Find(table_, static_cast<uint32_t>(offset / kPieceBytes), /*makes_hot=*/true);
  if (!piece || from + buffer.size() > piece->entry.length) return false;
  const PartRange range(piece->entry, from, from + buffer.size());
  std::array<char, 4 * kPartBytes> room;  // enough for a block
  if (range.bytes() > room.size()) return false;
  const absl::StatusOr<size_t> read = piece->segment->pieces().ReadAt(
      piece->entry.offset + range.begin, {room.data(), range.bytes()});
  if (!read.ok() || *read != range.bytes() ||
      !piece->entry.Verify(range.begin, {room.data(), range.bytes()})) {
    store.DropBad(*piece, read.status());
    return false;
  }
  std::memcpy(buffer.data(), room.data() + (from - range.begin), buffer.size());
  PieceStore::Count(&store.counts.hits);
  PieceStore::Count(&store.counts.bytes_hit, buffer.size());
  return true;
}

absl::StatusOr<size_t> CachedReader::ReadAt(uint64_t offset, std::span<char> buffer) const {
  const absl::StatusOr<bool> is_read = CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    return StateBefore(offset, buffer.size()) == State::kTable && ReadStored(offset, buffer);
  });
  if (is_read.ok() && *is_read) return buffer.size();
  ReadRequest request{this, offset, buffer, {}, 0};
  ReadCachedFiles(context_.get(), {&request, 1}, nullptr);
  if (!request.status.ok()) return request.status;
  return request.bytes_read;
}

// Reads of any files, of which some may be CachedReaders of this context.
class CachedReads {
 public:
  // `tell` is called with the number of each request whose outcome is set.
  CachedReads(PieceContext* context, std::span<ReadRequest> requests,
              const std::function<void(size_t)>& tell)
      : context_(*context), store_(context->store), requests_(requests), tell_(tell) {}

  void ReadAll() {
    Plan();
    ReadStored();
    TellComplete();
    PlanBelow();
    ReadBelow();
  }

 private:
  // The part of a request that is in one piece.
  struct Wanted {
    size_t request;
    uint32_t number;
    uint64_t from, to;  // in the piece
    std::span<char> out;
    std::optional<StoredPiece> stored;  // not reset if it turns out to be bad
    std::vector<char> room;             // for the parts of the piece
    bool is_read = false;
  };
  // Pieces in a row that are read from below; or a request that is passed on as it is.
  struct Run {
    size_t request;
    size_t first, end;  // of wanted_; both 0: the request as it is
    std::vector<char> room;
  };

  const CachedReader* ReaderOf(const ReadRequest& request) const {
    const auto* const reader = dynamic_cast<const CachedReader*>(request.file);
    return reader != nullptr && &reader->context() == &context_ ? reader : nullptr;
  }

  void Plan();
  void AddWanted(size_t number, const CachedReader& reader);
  void ReadStored();
  void TellComplete();
  void PlanBelow();
  void ReadBelow();
  void TakePassed(size_t number, const ReadRequest& read);
  // False if the read is not complete.
  bool TakeRun(const Run& run, const ReadRequest& read);
  void Keep(const Run& run);

  PieceContext& context_;
  PieceStore& store_;
  const std::span<ReadRequest> requests_;
  const std::function<void(size_t)>& tell_;
  std::vector<size_t> passed_;  // requests that are passed on
  std::vector<Wanted> wanted_;  // those of one request are together
  std::vector<Run> runs_;
};

void CachedReads::Plan() {
  for (size_t i = 0; i < requests_.size(); ++i) {
    const ReadRequest& request = requests_[i];
    const CachedReader* const reader = ReaderOf(request);
    if (reader == nullptr || request.buffer.empty() ||
        reader->StateBefore(request.offset, request.buffer.size()) != CachedReader::State::kTable ||
        request.offset >= reader->file_bytes()) {
      passed_.push_back(i);
    } else {
      AddWanted(i, *reader);
    }
  }
}

void CachedReads::AddWanted(size_t number, const CachedReader& reader) {
  const ReadRequest& request = requests_[number];
  const uint64_t bytes =
      std::min<uint64_t>(request.buffer.size(), reader.file_bytes() - request.offset);
  const bool makes_hot = bytes <= kHotReadBytesMax;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t offset = request.offset + done;
    Wanted wanted;
    wanted.request = number;
    wanted.number = static_cast<uint32_t>(offset / kPieceBytes);
    wanted.from = offset % kPieceBytes;
    wanted.to = std::min(kPieceBytes, wanted.from + bytes - done);
    wanted.out = request.buffer.subspan(done, wanted.to - wanted.from);
    wanted.stored = store_.Find(reader.table(), wanted.number, makes_hot);
    if (wanted.stored && wanted.to > wanted.stored->entry.length) wanted.stored.reset();
    done += wanted.out.size();
    wanted_.push_back(std::move(wanted));
  }
}

void CachedReads::ReadStored() {
  std::vector<ReadRequest> reads;
  std::vector<size_t> places;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    Wanted& wanted = wanted_[i];
    if (!wanted.stored) continue;
    const PartRange range(wanted.stored->entry, wanted.from, wanted.to);
    wanted.room.resize(range.bytes());
    reads.push_back({&wanted.stored->segment->pieces(),
                     wanted.stored->entry.offset + range.begin,
                     wanted.room,
                     {},
                     0});
    places.push_back(i);
  }
  if (reads.empty()) return;
  context_.local.ReadMany(reads, [&](size_t i) {
    Wanted& wanted = wanted_[places[i]];
    const PartRange range(wanted.stored->entry, wanted.from, wanted.to);
    const ReadRequest& read = reads[i];
    wanted.is_read =
        read.status.ok() && read.bytes_read == range.bytes() &&
        wanted.stored->entry.Verify(range.begin, {wanted.room.data(), wanted.room.size()});
    if (!wanted.is_read) return store_.DropBad(*wanted.stored, read.status);
    std::memcpy(wanted.out.data(), wanted.room.data() + (wanted.from - range.begin),
                wanted.out.size());
    PieceStore::Count(&store_.counts.hits);
    PieceStore::Count(&store_.counts.bytes_hit, wanted.out.size());
  });
}

// Tells of the requests that need nothing from below.
void CachedReads::TellComplete() {
  for (size_t first = 0, end = 0; first < wanted_.size(); first = end) {
    const size_t request = wanted_[first].request;
    size_t bytes = 0;
    bool is_complete = true;
    for (; end < wanted_.size() && wanted_[end].request == request; ++end) {
      is_complete = is_complete && wanted_[end].is_read;
      bytes += wanted_[end].out.size();
    }
    requests_[request].status = absl::OkStatus();
    requests_[request].bytes_read = bytes;
    if (is_complete) tell_(request);
  }
}

void CachedReads::PlanBelow() {
  for (const size_t request : passed_) runs_.push_back({request, 0, 0, {}});
  for (size_t first = 0, end = 0; first < wanted_.size(); first = end) {
    end = first + 1;
    if (wanted_[first].is_read) continue;
    while (end < wanted_.size() && wanted_[end].request == wanted_[first].request &&
           !wanted_[end].is_read)
      ++end;
    runs_.push_back({wanted_[first].request, first, end, {}});
  }
}

void CachedReads::ReadBelow() {
  std::vector<ReadRequest> reads;
  // Pieces that were read are still to come for the request of a run.
  std::vector<size_t> runs_left(requests_.size(), 0);
  std::vector<char> has_failed(requests_.size(), 0);
  for (Run& run : runs_) {
    const ReadRequest& request = requests_[run.request];
    const CachedReader* const reader = ReaderOf(request);
    const ReadFile* const file = reader != nullptr ? &reader->below() : request.file;
    ++runs_left[run.request];
    if (run.end == 0) {
      reads.push_back({file, request.offset, request.buffer, {}, 0});
      continue;
    }
    const uint64_t begin = wanted_[run.first].number * kPieceBytes;
    const uint64_t end =
        std::min(reader->file_bytes(), (wanted_[run.end - 1].number + uint64_t{1}) * kPieceBytes);
    run.room.resize(static_cast<size_t>(end - begin));
    reads.push_back({file, begin, run.room, {}, 0});
  }
  if (reads.empty()) return;
  context_.below.ReadMany(reads, [&](size_t i) {
    const Run& run = runs_[i];
    if (run.end == 0) {
      TakePassed(run.request, reads[i]);
      return tell_(run.request);
    }
    if (!TakeRun(run, reads[i])) has_failed[run.request] = 1;
    // One that failed is read again, exactly as it was asked for.
    if (--runs_left[run.request] == 0 && has_failed[run.request] == 0) tell_(run.request);
  });
  for (const Run& run : runs_)
    if (run.end != 0 && has_failed[run.request] == 0) Keep(run);
}

void CachedReads::TakePassed(size_t number, const ReadRequest& read) {
  ReadRequest& request = requests_[number];
  request.status = read.status;
  request.bytes_read = read.bytes_read;
  const CachedReader* const reader = ReaderOf(request);
  if (reader == nullptr || !read.status.ok()) return;
  PieceStore::Count(&store_.counts.bytes_below, read.bytes_read);
  // Must not throw while other reads are in flight.  Without memory, a later read learns it.
  CatchOutOfMemory([&] {
    if (store_.is_usable()) reader->LearnFrom(read.offset, {read.buffer.data(), read.bytes_read});
    return absl::OkStatus();
  }).IgnoreError();
}

bool CachedReads::TakeRun(const Run& run, const ReadRequest& read) {
  if (!read.status.ok() || read.bytes_read != run.room.size()) return false;
  const uint64_t begin = wanted_[run.first].number * kPieceBytes;
  for (size_t i = run.first; i < run.end; ++i) {
    const Wanted& wanted = wanted_[i];
    std::memcpy(wanted.out.data(),
                run.room.data() + (wanted.number * kPieceBytes - begin + wanted.from),
                wanted.out.size());
  }
  PieceStore::Count(&store_.counts.misses, run.end - run.first);
  PieceStore::Count(&store_.counts.bytes_below, run.room.size());
  return true;
}

void CachedReads::Keep(const Run& run) {
  const std::string_view bytes(run.room.data(), run.room.size());
  const KnownTable& table = ReaderOf(requests_[run.request])->table();
  for (size_t i = run.first; i < run.end; ++i)
    store_.Add(table, wanted_[i].number, bytes.substr((i - run.first) * kPieceBytes, kPieceBytes));
}

}  // namespace

std::unique_ptr<ReadFile> NewCachedReader(std::shared_ptr<PieceContext> context, uint64_t path_hash,
                                          std::unique_ptr<ReadFile> below) {
  return std::make_unique<CachedReader>(std::move(context), path_hash, std::move(below));
}

void ReadCachedFiles(PieceContext* context, std::span<ReadRequest> requests,
                     const std::function<void(size_t)>& done) {
  std::vector<char> is_told;
  const std::function<void(size_t)> tell = [&](size_t i) {
    is_told[i] = 1;
    if (done != nullptr) done(i);
  };
  CatchOutOfMemory([&] {
    is_told.resize(requests.size());
    CachedReads(context, requests, tell).ReadAll();
    return absl::OkStatus();
  }).IgnoreError();
  // Those that failed below, and those for which there was no memory.
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!is_told.empty() && is_told[i] != 0) continue;
    ReadRequest& request = requests[i];
    const auto* const reader = dynamic_cast<const CachedReader*>(request.file);
    ReadRequest alone{
        reader != nullptr ? &reader->below() : request.file, request.offset, request.buffer, {}, 0};
    ReadAlone(&alone);
    request.status = alone.status;
    request.bytes_read = alone.bytes_read;
    if (done != nullptr) done(i);
  }
}

}  // namespace lsm
