#include "lsm/objects/table_pin.h"

#include "lsm/bytes/status.h"
#include "lsm/objects/object_directory.h"
#include "lsm/objects/object_writes.h"
#include "lsm/threads/process_mark.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// One holder of a pin.
class PinHold {
 public:
  explicit PinHold(std::shared_ptr<ObjectProcess> process) : process_(std::move(process)) {}
  ~PinHold() {
    // In a forked child, a thread of the parent may have the mutexes.
    if (pin_ == nullptr || !mark_.IsThisOne() || !pin_->LetGo(removals_)) return;
    process_->keeper.Remove(pin_.get());
    CatchOutOfMemory([this] {
      pin_->RemoveEntry();
      return absl::OkStatus();
    }).IgnoreError();
  }
  PinHold(const PinHold&) = delete;
  PinHold& operator=(const PinHold&) = delete;

  // As TablePin::Hold.
  bool Take(const std::shared_ptr<TablePin>& pin, uint64_t removals) {
    if (!pin->Hold(removals)) return false;
    pin_ = pin;
    removals_ = removals;
    return true;
  }

 private:
  const ProcessMark mark_;
  const std::shared_ptr<ObjectProcess> process_;
  std::shared_ptr<TablePin> pin_;  // null: none
  uint64_t removals_ = 0;
};

std::shared_ptr<TablePin> PinOf(ObjectProcess& process, const std::string& object) {
  MutexLock lock(&process.mutex);
  const auto place = process.pins.find(object);
  return place == process.pins.end() ? nullptr : place->second;
}

// Names the path.  A pin that may exist lapses, so no caller needs to know that it may.
absl::Status WithPinContext(const absl::Status& status, const IndexHandle& index) {
  const std::string context = Concat(index.path(), ": a pin of its tables for a follower");
  if (absl::IsUnknown(status)) return WithCode(absl::StatusCode::kUnavailable, status, context);
  return WithContext(status, context);
}

// The part of an index that PinTables reads.
struct PinState {
  IndexCounts counts;
  uint64_t removals = 0;
  bool has_entry = false;  // that is not damaged
};

// `pin` may be null.
absl::StatusOr<PinState> ReadPinState(IndexHandle& index, const TablePin* pin) {
  ObjectRead read;
  read.with_attributes = true;
  if (pin != nullptr) read.entries.push_back(pin->entry());
  TRELLIS_ASSIGN_OR_RETURN(const ObjectContents contents, index.pool().Read(index.object(), read));
  PinState state;
  state.counts = CountsIn(contents);
  if (pin != nullptr) {
    const auto entry = contents.entries.find(pin->entry());
    state.has_entry =
        entry != contents.entries.end() && IndexedPin::Decode(entry->second, index.path()).ok();
  }
  TRELLIS_ASSIGN_OR_RETURN(state.removals, DecodeCount(state.counts.removals, index.path()));
  return state;
}

}  // namespace

absl::Status TablePin::Write(const IndexCounts& counts) {
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t pins, DecodeCount(counts.pins, index_->path()));
  ObjectWrite write;
  write.attributes_equal[kPinsAttribute] = counts.pins;
  // The index may have been removed and made again since it was read.
  write.attributes_equal[kRemovalsAttribute] = counts.removals;
  write.set_attributes[kPinsAttribute] = EncodeCount(pins + 1);
  write.entries_equal[entry_] = "";
  {
    MutexLock lock(&mutex_);
    write.set_entries[entry_] = pin_.Encode();
  }
  return WriteObject(index_->pool(), index_->object(), write);
}

bool TablePin::Hold(uint64_t removals) {
  MutexLock lock(&mutex_);
  if (is_released_ || removals < let_go_) return false;
  held_.insert(removals);
  return true;
}

bool TablePin::LetGo(uint64_t removals) {
  MutexLock lock(&mutex_);
  held_.erase(held_.find(removals));
  is_released_ = held_.empty();
  return is_released_;
}

void TablePin::RemoveEntry() {
  // A renewal may be in flight, or have lost its answer.
  do {
    ObjectWrite write;
    {
      MutexLock lock(&mutex_);
      write.entries_equal[entry_] = pin_.Encode();
    }
    write.remove_entries.push_back(entry_);
    if (!absl::IsAborted(WriteObject(index_->pool(), index_->object(), write))) return;
  } while (ReadAgain().ok());
}

absl::Status TablePin::RenewIfLate() {
  {
    MutexLock lock(&mutex_);
    if (clock_.MonotonicNanos() - renewed_nanos_ < pin_.duration_nanos) return absl::OkStatus();
  }
  return Renew();
}

absl::Status TablePin::Renew() {
  for (;;) {
    const uint64_t from = clock_.MonotonicNanos();
    ObjectWrite write;
    IndexedPin next;
    {
      MutexLock lock(&mutex_);
      if (is_released_) return absl::OkStatus();
      next = pin_;
      next.renewals = ++attempts_;
      if (!held_.empty()) next.removals = let_go_ = *held_.begin();
      write.entries_equal[entry_] = pin_.Encode();
    }
    write.set_entries[entry_] = next.Encode();
    const absl::Status status = WriteObject(index_->pool(), index_->object(), write);
    if (status.ok()) {
      MutexLock lock(&mutex_);
      pin_ = next;
      renewed_nanos_ = from;
      return status;
    }
    if (!absl::IsAborted(status)) return status;
    TRELLIS_RETURN_IF_ERROR(ReadAgain());
    // The pool may have applied this write before it refused it.  Another value may be old.
    MutexLock lock(&mutex_);
    if (pin_.renewals != next.renewals) continue;
    renewed_nanos_ = from;
    return absl::OkStatus();
  }
}

absl::Status TablePin::ReadAgain() {
  ObjectRead read;
  read.entries.push_back(entry_);
  TRELLIS_ASSIGN_OR_RETURN(const ObjectContents contents,
                           index_->pool().Read(index_->object(), read));
  const auto found = contents.entries.find(entry_);
  absl::StatusOr<IndexedPin> pin = absl::NotFoundError("");
  if (found != contents.entries.end()) pin = IndexedPin::Decode(found->second, index_->path());
  if (!pin.ok())
    return absl::NotFoundError(Concat(index_->path(), ": the pin ", entry_, " has lapsed"));
  MutexLock lock(&mutex_);
  pin_ = *std::move(pin);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const void>> PinTables(const std::shared_ptr<ObjectProcess>& process,
                                                      const std::shared_ptr<IndexHandle>& index) {
  if (process->config.has_threads)
    TRELLIS_RETURN_IF_ERROR(process->keeper.StartThreads(process->config.lock_nanos));
  const auto hold = std::make_shared<PinHold>(process);
  std::shared_ptr<TablePin> pin = PinOf(*process, index->object());
  bool is_new = false;
  if (pin != nullptr) {
    const absl::Status status = pin->RenewIfLate();
    if (!absl::IsNotFound(status)) TRELLIS_RETURN_IF_ERROR(WithPinContext(status, *index));
  }
  for (;;) {
    const absl::StatusOr<PinState> state = ReadPinState(*index, pin.get());
    if (absl::IsNotFound(state.status()))
      return absl::NotFoundError(Concat(index->path(), ": no such directory"));
    if (!state.ok()) return WithPinContext(state.status(), *index);
    if (state->has_entry && hold->Take(pin, state->removals)) {
      if (is_new) {
        process->keeper.Add(pin);
        MutexLock lock(&process->mutex);
        process->pins[index->object()] = pin;
      }
      return hold;
    }
    // Another call of this process may have replaced it.
    std::shared_ptr<TablePin> other = PinOf(*process, index->object());
    if (!is_new && other != pin) {
      pin = std::move(other);
      continue;
    }
    IndexedPin value;
    value.removals = state->removals;
    value.duration_nanos = process->config.lock_nanos;
    value.holder = process->config.holder;
    pin = std::make_shared<TablePin>(index, NewId(process->random), std::move(value),
                                     &process->clock);
    is_new = true;
    // The next read finds the entry, also if the pool applied the write before it refused it.
    const absl::Status status = pin->Write(state->counts);
    if (!absl::IsAborted(status) && !absl::IsNotFound(status))
      TRELLIS_RETURN_IF_ERROR(WithPinContext(status, *index));
  }
}

}  // namespace lsm
