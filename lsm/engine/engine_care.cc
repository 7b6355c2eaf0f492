// Engine: verifying, and copies of the store.
#include <set>
#include <utility>

#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/store/copy_store.h"
#include "lsm/store/pacer.h"

namespace lsm::inline TRELLIS_ABI {

absl::StatusOr<VerifyReport> Engine::Verify(const Pace& pace) {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::Verify"));
  const Call call(&lifetime_);
  TRELLIS_RETURN_IF_ERROR(call.status());
  return verifier_.Verify(pace);
}

absl::StatusOr<CopyReport> Engine::CopyTo(const std::string& path, bool link,
                                          const std::string& base, const Pace& pace,
                                          FileSystem* file_system, std::span<const Keyspace> only) {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("a copy of the store"));
  const Call call(&lifetime_);
  TRELLIS_RETURN_IF_ERROR(call.status());
  if (IsForReading(options_.mode)) {
    return absl::FailedPreconditionError(
        Concat(store_.directory->path(), ": the store is open for reading only"));
  }
  std::set<KeyspaceId> chosen;
  for (const Keyspace& keyspace : only) {
    if (keyspace.engine_ == nullptr) return NoKeyspace();
    if (keyspace.engine_.get() != this) {
      return absl::InvalidArgumentError(
          Concat("a copy is to have the keyspace \"", Escape(keyspace.name()), "\" of another DB"));
    }
    TRELLIS_RETURN_IF_ERROR(CheckNotDropped(keyspace.state_.get()));
    chosen.insert(keyspace.state_->id);
  }
  const Options of_copy = OptionsOfCopy(options_, file_system);
  TRELLIS_RETURN_IF_ERROR(CheckIsOutside(
      store_, CompleteEnvironment(of_copy.environment, of_copy.file_access).file_system, path));
  StoreDirectory base_store;
  ManifestContents base_contents;
  if (!base.empty()) {
    TRELLIS_ASSIGN_OR_RETURN(base_store, StoreDirectory::Open(base, of_copy));
    absl::StatusOr<ManifestContents> contents = ReadManifest(*base_store.directory);
    if (absl::IsNotFound(contents.status())) return NoStore(base);
    TRELLIS_ASSIGN_OR_RETURN(base_contents, std::move(contents));
  }
  TRELLIS_ASSIGN_OR_RETURN(const StoreDirectory store, OpenForCopy(path, of_copy));
  TRELLIS_RETURN_IF_ERROR(Flush());
  ManifestState state;
  std::shared_ptr<const Version> version;  // keeps the files
  {
    MutexLock manifest_lock(manifest_.mutex());
    TRELLIS_RETURN_IF_ERROR(manifest_.status());
    state = manifest_.state();
    MutexLock lock(&mutex_);
    version = CurrentView()->version;
  }
  CopyReport report;
  const KeyspaceRecords all = state.keyspaces;
  if (!only.empty()) {
    for (const Keyspace& keyspace : only) {
      // Its drop was not seen above, and is flushed.
      if (!state.keyspaces.Has(keyspace.state_->id)) return DroppedKeyspace(*keyspace.state_);
    }
    report.other_bytes = BytesOfOthers(*version, chosen);
    KeepOnly(chosen, &state);
  }
  const Pace until_closed = UntilClosed(pace, &lifetime_, events_.get());
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Pacer> pacer,
                           Pacer::Create(until_closed, store_.environment, TableBytesOf(state)));
  NewFiles made;
  absl::Status status = BringTables({store_.directory.get(), &state}, link,
                                    {base_store.directory.get(), &base_contents.state}, store,
                                    TableReadMode(options_), pacer.get(), &made, &report);
  version.reset();
  views_.Collect();
  if (status.ok() && !only.empty()) {
    JobContext context = job_context_;
    context.options = &of_copy;
    status = AddNames(all, std::move(context), store, &state, &made, &report);
  }
  if (!status.ok()) TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
  // Callers would take NotFound and AlreadyExists for statements about the copy or its base.
  if (absl::IsNotFound(status) || absl::IsAlreadyExists(status))
    return absl::Status(absl::StatusCode::kUnavailable, status.message());
  TRELLIS_RETURN_IF_ERROR(status);
  TRELLIS_RETURN_IF_ERROR(FoundStore(store, std::nullopt, &state, &made).status());
  return report;
}

}  // namespace lsm
