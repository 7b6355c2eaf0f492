// Engine: creating, finding and changing keyspaces.
#include <algorithm>
#include <new>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/engine/store_calls.h"
#include "lsm/limits.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kShownNameBytesMax = 64;

absl::Status CheckMayKeep(std::string_view name, const KeyspaceState* state, bool changes) {
  if (state == nullptr) {
    return absl::NotFoundError(Concat("there is no keyspace \"", Escape(name),
                                      "\", and the store is open for reading only"));
  }
  if (!changes) return absl::OkStatus();
  return absl::FailedPreconditionError(Concat("the keyspace \"", Escape(name),
                                              "\" has other options, and the store is open for "
                                              "reading only"));
}

// The writes to the keyspace that this tree belongs to.
uint64_t WritesOf(const Tree& tree, const Counters& store) {
  const TreeCounters& counters = tree.reads().counters;
  if (tree.keyspace() != kDefaultKeyspace) return counters.SumOf(TreeCounters::kWrites);
  // A write adds to kWriteEntries before it adds to kWritesElsewhere.  Reading the two in the
  // opposite order counts no write elsewhere as one of this keyspace.
  const uint64_t elsewhere = counters.SumOf(TreeCounters::kWritesElsewhere);
  const uint64_t all = store.SumOf(Counter::kWriteEntries);
  return all - std::min(all, elsewhere);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const KeyspaceState>> Engine::OpenKeyspace(
    std::string_view name, const KeyspaceOptions& options) {
  TRELLIS_RETURN_IF_ERROR(WithContext(
      ValidateKeyspace(name, options, options_),
      Concat(store_.directory->path(), ": keyspace \"", Escape(name, kShownNameBytesMax), "\"")));
  TRELLIS_RETURN_IF_ERROR(CheckProcess());
  {
    MutexLock lock(&mutex_);
    TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
    keyspaces_.AssertHeld();
    std::shared_ptr<const KeyspaceState> state = keyspaces_.Find(name);
    const bool changes = state != nullptr && keyspaces_.Changes(*state, options);
    if (IsForReading(options_.mode)) {
      TRELLIS_RETURN_IF_ERROR(CheckMayKeep(name, state.get(), changes));
    }
    if (state != nullptr && !changes) return state;
  }
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::OpenKeyspace"));
  KeyspaceRequest request{name, &options};
  const auto ask = [&] {
    Writer writer{.task = Writer::Task::kKeyspace, .keyspace = &request};
    return Enqueue(&writer);
  };
  absl::Status status = ask();
  if (IsDiskFull(status)) {
    // As for a put, there may be space by now.
    LookForSpace(kKeyspaceNameBytesMax);
    status = ask();
  }
  TRELLIS_RETURN_IF_ERROR(OfOpenStore(status));
  return std::move(request.state);
}

absl::Status Engine::ChangeKeyspace(Writer* leader) {
  KeyspaceRequest& request = *leader->keyspace;
  keyspaces_.AssertHeld();
  const bool is_drop = request.options == nullptr;
  Keyspaces::Prepared prepared;
  if (is_drop) {
    prepared = keyspaces_.PrepareDrop(request.name);
    if (prepared.state == nullptr) return absl::OkStatus();
  } else {
    TRELLIS_ASSIGN_OR_RETURN(prepared, keyspaces_.Prepare(request.name, *request.options));
  }
  request.state = prepared.state;
  if (!prepared.change) return absl::OkStatus();  // an earlier writer made it
  WriteBatch batch;
  EncodedBatch::Change(&batch, *prepared.change);
  TRELLIS_RETURN_IF_ERROR(batch.status());
  leader->batch = &batch;
  if (batch.has_puts()) TRELLIS_RETURN_IF_ERROR(CheckMayPut(batch.size_bytes()));
  TRELLIS_RETURN_IF_ERROR(MakeRoom(/*seal_now=*/false));
  // Only now, since nothing waits between this call and the commit.
  keyspaces_.Announce(&prepared);
  absl::Status status;
  try {
    batch.Clear();
    EncodedBatch::Change(&batch, *prepared.change);
    status = batch.status();
    const Writer* last = leader;
    if (status.ok()) status = Commit(leader, &last);
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  }
  // After Unknown the log may have the change.  Resume follows.
  if (!status.ok() && !absl::IsUnknown(status)) keyspaces_.TakeBack(prepared);
  TRELLIS_RETURN_IF_ERROR(std::move(status));
  // Applying it needs no memory: the entry is in the log.
  keyspaces_.Apply(std::move(prepared));
  schedule_.NoteChange();  // another style may have work
  ScheduleWork();
  if (!is_drop || !CurrentView()->sealed.empty()) return absl::OkStatus();
  // As after a range delete: the job seals the memtable, or the next leader.
  mutex_.Unlock();
  SealIfDue([](const ReadView&, const SnapshotList&) { return false; });
  mutex_.Lock();
  return absl::OkStatus();
}

absl::Status Engine::DropKeyspace(std::string_view name) {
  TRELLIS_RETURN_IF_ERROR(CheckProcess());
  TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
  if (name == kDefaultKeyspaceName)
    return absl::InvalidArgumentError("the keyspace \"default\" cannot be dropped");
  if (IsForReading(options_.mode)) {
    return absl::FailedPreconditionError(Concat(
        "the keyspace \"", Escape(name), "\" is not dropped: the store is open for reading only"));
  }
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::DropKeyspace"));
  KeyspaceRequest request{name};
  Writer writer{.task = Writer::Task::kKeyspace, .keyspace = &request};
  TRELLIS_RETURN_IF_ERROR(OfOpenStore(Enqueue(&writer)));
  if (request.state != nullptr) return absl::OkStatus();
  return absl::NotFoundError(Concat("there is no keyspace \"", Escape(name), "\""));
}

absl::StatusOr<std::vector<std::string>> Engine::ListKeyspaces() {
  TRELLIS_RETURN_IF_ERROR(CheckProcess());
  MutexLock lock(&mutex_);
  TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
  keyspaces_.AssertHeld();
  return keyspaces_.Names();
}

KeyspaceStatistics Engine::GetKeyspaceStatistics(const KeyspaceState& keyspace) {
  KeyspaceStatistics statistics;
  std::shared_ptr<const ReadView> view = views_.Share();
  if (view == nullptr) return statistics;
  if (IsDropped(&keyspace)) {
    views_.LetGo(std::move(view));
    return statistics;
  }
  statistics.memtable_bytes = view->memtable_bytes(keyspace.id);
  const Version& version = *view->version;
  if (const Tree* const tree = version.TreeOf(keyspace.id); tree != nullptr) {
    SnapshotList present;
    {
      MutexLock lock(&mutex_);
      keyspaces_.AssertHeld();
      present = keyspaces_.Present();
    }
    Statistics of_tree;
    tree->Describe(&of_tree, present);
    statistics.has_own_tree = true;
    statistics.levels = std::move(of_tree.levels);
    statistics.table_bytes = tree->bytes();
    statistics.lookups = tree->LookupsSoFar(&counters_);
    statistics.writes = WritesOf(*tree, counters_);
  } else {
    statistics.table_bytes = version.ApproximateBytes(keyspace.id, "", std::nullopt);
  }
  views_.LetGo(std::move(view));
  return statistics;
}

}  // namespace lsm
