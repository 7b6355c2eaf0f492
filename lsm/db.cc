#include "lsm/db.h"

#include <new>
#include <utility>

#include "bloom/catalog.h"
#include "bloom/core/cpu.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/engine/store_calls.h"
#include "lsm/release.h"
#include "lsm/repair/repair.h"
#include "lsm/store/copy_store.h"
#include "lsm/store/destroy.h"

namespace lsm::inline TRELLIS_ABI {
// The functions below throw std::bad_alloc only if they return no status.

absl::StatusOr<std::unique_ptr<DB>> DB::Open(const std::string& directory, const Options& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<DB>> {
    TRELLIS_ASSIGN_OR_RETURN(std::shared_ptr<Engine> engine, Engine::Open(directory, options));
    return std::unique_ptr<DB>(new DB(std::move(engine)));
  });
}

DB::DB(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
DB::~DB() {
  if (engine_->MayBeClosedHere()) {
    engine_->Close().IgnoreError();
  } else {
    engine_->Abandon();
  }
}

absl::Status DB::Close() {
  TRELLIS_RETURN_IF_ERROR(engine_->CheckProcess());
  return engine_->Close();
}

absl::Status DB::Put(std::string_view key, std::string_view value, const WriteOptions& options) {
  WriteBatch batch;
  batch.Put(key, value);
  return Write(batch, options);
}

absl::Status DB::Delete(std::string_view key, const WriteOptions& options) {
  WriteBatch batch;
  batch.Delete(key);
  return Write(batch, options);
}

absl::Status DB::DeleteRange(std::string_view from, std::optional<std::string_view> to,
                             const WriteOptions& options) {
  WriteBatch batch;
  batch.DeleteRange(from, to);
  return Write(batch, options);
}

absl::Status DB::Write(const WriteBatch& batch, const WriteOptions& options) {
  return WriteTo(engine_.get(), batch, options);
}

absl::StatusOr<std::optional<std::string>> DB::Get(std::string_view key,
                                                   const ReadOptions& options) {
  return GetFrom(engine_.get(), /*keyspace=*/nullptr, key, options);
}

absl::StatusOr<bool> DB::Get(std::string_view key, std::string* value, const ReadOptions& options) {
  return GetFrom(engine_.get(), /*keyspace=*/nullptr, key, value, options);
}

absl::StatusOr<bool> DB::Get(std::string_view key, PinnedValue* value, const ReadOptions& options) {
  return GetFrom(engine_.get(), /*keyspace=*/nullptr, key, value, options);
}

std::vector<absl::StatusOr<std::optional<std::string>>> DB::MultiGet(
    std::span<const std::string_view> keys, const ReadOptions& options) {
  return engine_->MultiGet(/*keyspace=*/nullptr, keys, options);
}

std::unique_ptr<Iterator> DB::NewIterator(const ReadOptions& options) {
  return engine_->NewIterator(/*keyspace=*/nullptr, options);
}

std::unique_ptr<const Snapshot> DB::GetSnapshot() {
  const Engine::Moment moment = engine_->TakeSnapshot();
  const bool is_counted = moment.view == nullptr;
  try {
    return std::unique_ptr<const Snapshot>(
        new Snapshot(engine_.get(), moment.sequence, moment.view, moment.time,
                     [engine = engine_, is_counted, time = moment.time](uint64_t taken) {
                       if (is_counted) engine->ReleaseSnapshot(taken, time.get());
                     }));
  } catch (const std::bad_alloc&) {
    if (is_counted) engine_->ReleaseSnapshot(moment.sequence, moment.time.get());
    throw;
  }
}

absl::StatusOr<Keyspace> DB::OpenKeyspace(std::string_view name, const KeyspaceOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Keyspace> {
    TRELLIS_ASSIGN_OR_RETURN(std::shared_ptr<const KeyspaceState> state,
                             engine_->OpenKeyspace(name, options));
    return Keyspace(engine_, std::move(state));
  });
}

absl::Status DB::DropKeyspace(std::string_view name) {
  return CatchOutOfMemory([&] { return engine_->DropKeyspace(name); });
}

absl::StatusOr<std::vector<std::string>> DB::ListKeyspaces() {
  return CatchOutOfMemory([&] { return engine_->ListKeyspaces(); });
}

absl::Status DB::Flush() {
  return CatchOutOfMemory([&] { return OfOpenStore(engine_->Flush()); });
}

absl::Status DB::CompactRange(std::optional<std::string_view> from,
                              std::optional<std::string_view> to) {
  return CompactIn(engine_.get(), /*keyspace=*/nullptr, from, to);
}

absl::Status DB::WaitForBackgroundWork() { return OfOpenStore(engine_->WaitForBackgroundWork()); }

absl::Status DB::Resume() {
  return CatchOutOfMemory([&] { return OfOpenStore(engine_->Resume()); });
}

absl::Status DB::GetFailure() { return OfOpenStore(engine_->GetFailure()); }

uint64_t DB::ApproximateBytes(std::optional<std::string_view> from,
                              std::optional<std::string_view> to) {
  return engine_->ApproximateBytes(/*keyspace=*/nullptr, from.value_or(""), to);
}

absl::StatusOr<VerifyReport> DB::Verify(const Pace& pace) {
  return CatchOutOfMemory([&] { return engine_->Verify(pace); });
}

std::vector<std::string> DB::GetDamage() { return engine_->GetDamage(); }

absl::Status DB::Checkpoint(const std::string& directory, FileSystem* file_system,
                            std::span<const Keyspace> only) {
  return CatchOutOfMemory([&] {
    return engine_->CopyTo(directory, /*link=*/true, /*base=*/"", {}, file_system, only).status();
  });
}

absl::StatusOr<CopyReport> DB::Backup(const std::string& directory, const std::string& base,
                                      const Pace& pace, FileSystem* file_system,
                                      std::span<const Keyspace> only) {
  return CatchOutOfMemory(
      [&] { return engine_->CopyTo(directory, /*link=*/false, base, pace, file_system, only); });
}

absl::StatusOr<CopyReport> DB::Restore(const std::string& backup, const std::string& directory,
                                       const Options& options, const Pace& pace,
                                       FileSystem* file_system) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<CopyReport> {
    TRELLIS_RETURN_IF_ERROR(ValidateOptions(options));
    // An opening checks that the backup is complete, before anything is created.
    TRELLIS_RETURN_IF_ERROR(Open(backup, OptionsOfCopy(options, file_system)).status());
    return RestoreStore(backup, directory, options, pace, file_system);
  });
}

Statistics DB::GetStatistics() { return engine_->GetStatistics(); }

absl::StatusOr<Explanation> DB::Explain(std::string_view key, const ReadOptions& options) {
  return ExplainIn(engine_.get(), /*keyspace=*/nullptr, key, options);
}

absl::Status DB::Destroy(const std::string& directory, const Options& options) {
  return CatchOutOfMemory([&] { return DestroyStore(directory, options); });
}

absl::StatusOr<RepairReport> DB::Repair(const std::string& directory, const Options& options) {
  return CatchOutOfMemory([&] { return RepairStore(directory, options); });
}

std::string BuildInfo() {
  return Concat("trellis ", TRELLIS_VERSION_STRING, ", filters ", bloom::KeyedKindNames(), " (",
                bloom::BestSimd() == bloom::Simd::kAvx2 ? "AVX2" : "portable",
                "), compression lz4");
}

}  // namespace lsm
