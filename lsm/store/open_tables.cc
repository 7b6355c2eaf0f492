#include "lsm/store/open_tables.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/table/table_claims.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// One thread reads the ends of this many tables at once.
constexpr size_t kTablesTogether = 32;

// Guesses how many bytes at the end of a file Table::Open needs.  They are nearly the same part of
// the file as for the table that was opened before.  Threads: any.
class EndSizes {
 public:
  // All relaxed: a wrong guess only costs the opening another read.
  bool is_known() const { return part_.load(std::memory_order_relaxed) > 0; }

  void Learn(const Table& table) {
    const auto bytes = static_cast<double>(table.file_bytes() - table.opening_offset());
    part_.store(bytes / static_cast<double>(table.file_bytes()), std::memory_order_relaxed);
  }

  // Returns Table::kEndBytes, which Table::Open would read first without a guess, if nothing is
  // known yet, or if the guess is so large that another read costs little in comparison.  Otherwise
  // returns the guess, if it is more.  Rounded up so that the bytes begin at a page boundary,
  // because the device reads whole pages; at most the file.
  size_t Guess(uint64_t file_bytes) const {
    const double wanted =
        static_cast<double>(file_bytes) * part_.load(std::memory_order_relaxed) * kMargin;
    const uint64_t bytes = wanted > kBytesMax
                               ? Table::kEndBytes
                               : std::max(static_cast<uint64_t>(wanted), Table::kEndBytes);
    if (bytes >= file_bytes) return static_cast<size_t>(file_bytes);
    return static_cast<size_t>(file_bytes - (file_bytes - bytes) / kPageBytes * kPageBytes);
  }

 private:
  static constexpr double kMargin = 1.03;  // tables of a run differ by less
  static constexpr double kBytesMax = 256 << 10;
  static constexpr uint64_t kPageBytes = 4096;

  std::atomic<double> part_{0};
};

// Reads the ends of several tables together.  Threads: one.
class EndReads {
 public:
  using Open =
      std::function<void(size_t number, std::unique_ptr<ReadFile> file, std::string_view end)>;

  // An empty object has room for any end that EndSizes guesses.
  bool HasRoomFor(size_t end_bytes) const {
    return count_ < kTablesTogether && used_bytes_ + end_bytes <= kBytes;
  }

  // REQUIRES: HasRoomFor(end_bytes), and the file is no shorter than that.  If memory runs out,
  // ReadAll does not read the end.
  void Add(size_t number, std::unique_ptr<ReadFile> file, uint64_t file_bytes, size_t end_bytes) {
    if (memory_ == nullptr) memory_.reset(new (std::nothrow) char[kBytes]);
    ReadRequest& request = requests_[count_];
    request = {};
    request.file = file.get();
    request.offset = file_bytes - end_bytes;
    if (memory_ != nullptr) request.buffer = {memory_.get() + used_bytes_, end_bytes};
    used_bytes_ += end_bytes;
    numbers_[count_] = number;
    files_[count_++] = std::move(file);
  }

  // Calls `open` for each table as soon as its end was read, while the device reads the others.  If
  // an end could not be read, `open` gets an empty one, and Table::Open reports why.  `open` must
  // not throw.
  void ReadAll(FileSystem* files, const Open& open) {
    const auto call = [this, &open](size_t i) {
      const ReadRequest& request = requests_[i];
      const bool is_there = request.status.ok() && request.bytes_read == request.buffer.size();
      open(numbers_[i], std::move(files_[i]),
           is_there ? std::string_view(request.buffer.data(), request.buffer.size())
                    : std::string_view());
    };
    CatchOutOfMemory([&] {
      files->ReadMany({requests_.data(), count_}, call);
      return absl::OkStatus();
    }).IgnoreError();
    // ReadMany ran out of memory before it reached these.
    for (size_t i = 0; i < count_; ++i) {
      if (files_[i] != nullptr) open(numbers_[i], std::move(files_[i]), {});
    }
    count_ = used_bytes_ = 0;
  }

 private:
  // Room for 25 ends of 40 KiB, which keep the device busy while three threads open tables.
  static constexpr size_t kBytes = size_t{1} << 20;

  std::unique_ptr<char[]> memory_;
  size_t used_bytes_ = 0;
  size_t count_ = 0;
  std::array<size_t, kTablesTogether> numbers_{};
  std::array<std::unique_ptr<ReadFile>, kTablesTogether> files_;
  std::array<ReadRequest, kTablesTogether> requests_;
};

// The tables to open, and the outcome for each.  The caller and its helpers share this object.  A
// late helper may start after the caller has returned.  So a helper may use the caller's objects
// (`files`, `directory`, `context` and the metas) only between TryBegin and End.
class Opening {
 public:
  using Outcome = absl::StatusOr<std::shared_ptr<const OpenTable>>;

  Opening(FileSystem* files, Directory* directory, ReadMode mode, const TableContext& context)
      : files_(*files), directory_(*directory), mode_(mode), context_(context) {}

  void Add(const TableMeta* meta) {
    metas_.push_back(meta);
    outcomes_.emplace_back(std::shared_ptr<const OpenTable>());
  }
  size_t size() const { return metas_.size(); }

  void Help() {
    if (!TryBegin()) return;
    Work();
    End();
  }

  // Opens tables until threads have taken all of them, or one has failed.  Both atomics are
  // relaxed: only the thread that took a number writes its outcome, and the mutex in End and
  // FinishAll makes the outcomes visible to the caller.
  void Work() {
    EndReads reads;
    // Shares are small enough that each thread gets some, even of few tables.
    const size_t share = std::clamp<size_t>(metas_.size() / 8, 1, kTablesTogether);
    while (!has_failed_.load(std::memory_order_relaxed)) {
      // The first table is opened alone: it tells how much to read of the others.
      const size_t count = ends_.is_known() ? share : 1;
      const size_t begin = next_.fetch_add(count, std::memory_order_relaxed);
      if (begin >= metas_.size()) return;
      const size_t end = std::min(begin + count, metas_.size());
      for (size_t i = begin; i < end; ++i) OpenFile(i, &reads);
      ReadAndOpen(&reads);
    }
  }

  // Lets no further helper begin, and waits for those that have begun.
  void FinishAll(Scheduler* helpers) {
    MutexLock lock(&mutex_);
    is_over_ = true;
    while (helping_ > 0) ended_.Wait(&mutex_, helpers);
  }

  // The outcomes, in the order of Add.  REQUIRES: FinishAll has returned.  Moves them out, because
  // a late helper may keep this object alive longer than the store, which the tables need.
  std::vector<Outcome> TakeOutcomes() { return std::move(outcomes_); }

 private:
  void OpenFile(size_t number, EndReads* reads) {
    const TableMeta& meta = *metas_[number];
    std::unique_ptr<ReadFile> file;
    const absl::Status opened = CatchOutOfMemory([&]() -> absl::Status {
      TRELLIS_ASSIGN_OR_RETURN(file, OpenFileOfTable(directory_, meta, mode_));
      return absl::OkStatus();
    });
    if (!opened.ok()) return Note(number, opened);
    const size_t end_bytes = ends_.Guess(meta.file_bytes);
    if (!reads->HasRoomFor(end_bytes)) ReadAndOpen(reads);
    reads->Add(number, std::move(file), meta.file_bytes, end_bytes);
  }

  void ReadAndOpen(EndReads* reads) {
    reads->ReadAll(&files_,
                   [this](size_t number, std::unique_ptr<ReadFile> file, std::string_view end) {
                     Outcome opened = CatchOutOfMemory([&]() -> Outcome {
                       return OpenTableIn(std::move(file), *metas_[number], context_, end);
                     });
                     if (opened.ok()) ends_.Learn(*(*opened)->table);
                     Note(number, std::move(opened));
                   });
  }

  void Note(size_t number, Outcome outcome) {
    outcomes_[number] = std::move(outcome);
    if (!outcomes_[number].ok()) has_failed_.store(true, std::memory_order_relaxed);
  }

  bool TryBegin() {
    MutexLock lock(&mutex_);
    if (is_over_) return false;
    ++helping_;
    return true;
  }

  void End() {
    MutexLock lock(&mutex_);
    if (--helping_ == 0) ended_.SignalAll();
  }

  FileSystem& files_;
  Directory& directory_;
  const ReadMode mode_;
  const TableContext& context_;
  std::vector<const TableMeta*> metas_;
  std::vector<Outcome> outcomes_;  // each written by the thread that took its number
  EndSizes ends_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> has_failed_{false};
  Mutex mutex_;
  CondVar ended_;
  int helping_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
};

// If there is no memory for a request, fewer helpers start.
void AskForHelp(const std::shared_ptr<Opening>& opening, Scheduler* helpers) {
  for (const Scheduler::Lane lane : {Scheduler::Lane::kFlush, Scheduler::Lane::kCompaction}) {
    CatchOutOfMemory([&] {
      helpers->Schedule(lane, [opening] { opening->Help(); });
      return absl::OkStatus();
    }).IgnoreError();
  }
}

std::shared_ptr<const OpenTable> FindAgain(const TablesByNumber* again, const TableMeta& meta) {
  if (again == nullptr) return nullptr;
  const auto found = again->find(meta.number);
  return found != again->end() && found->second->meta == meta ? found->second : nullptr;
}

}  // namespace

absl::StatusOr<std::array<OpenTables, kLevels>> OpenTablesOf(
    FileSystem& files, Directory& directory, const ManifestState& state, ReadMode mode,
    const TableContext& context, Scheduler* helpers, TablesByNumber* again) {
  const auto opening = std::make_shared<Opening>(&files, &directory, mode, context);
  std::array<OpenTables, kLevels> levels;  // null: the table must be opened
  for (size_t i = 0; i < levels.size(); ++i) {
    for (const auto& [number, meta] : state.levels[i]) {
      levels[i].push_back(FindAgain(again, meta));
      if (levels[i].back() == nullptr) opening->Add(&meta);
    }
  }
  // Nothing may throw between AskForHelp and FinishAll.  Otherwise a helper might use the caller's
  // objects after the caller has returned.
  if (helpers != nullptr && opening->size() >= kTablesForHelp) AskForHelp(opening, helpers);
  opening->Work();
  opening->FinishAll(helpers);

  const std::vector<Opening::Outcome> outcomes = opening->TakeOutcomes();
  for (const Opening::Outcome& outcome : outcomes) {
    if (again != nullptr && outcome.ok() && *outcome != nullptr)
      again->insert_or_assign((*outcome)->meta.number, *outcome);
  }
  // Numbers are taken in order, so all tables before the first that failed were opened.
  size_t next = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    for (std::shared_ptr<const OpenTable>& table : levels[i]) {
      if (table == nullptr) {
        const Opening::Outcome& outcome = outcomes[next++];
        if (!outcome.ok()) return AsDamage(outcome.status());
        table = *outcome;
      }
      TRELLIS_RETURN_IF_ERROR(
          CheckPlace(*table->table, {static_cast<int>(i), state.last_sequence}));
    }
  }
  return levels;
}

}  // namespace lsm
