#include "lsm/db.h"

#include <utility>

#include "bloom/catalog.h"
#include "bloom/core/cpu.h"
#include "lsm/base/release.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/destroy.h"
#include "lsm/engine/engine.h"
#include "lsm/engine/repair.h"

namespace lsm {
namespace {

void CopyToString(void* target, LookupResult& result) {
  static_cast<std::string*>(target)->assign(result.value);
}

void CopyToOptional(void* target, LookupResult& result) {
  static_cast<std::optional<std::string>*>(target)->emplace(result.value);
}

void Pin(void* target, LookupResult& result) {
  auto* pinned = static_cast<PinnedValue*>(target);
  if (!result.pin)
    return pinned->AssignCopy(result.value);  // a memtable's: holding all of that would be dear
  pinned->AssignPinned(result.value, result.pin.Release(),
                       [](void* block) { static_cast<CachedBlock*>(block)->Unref(); });
}

void Ignore(void*, LookupResult&) {}

}  // namespace

absl::StatusOr<std::unique_ptr<DB>> DB::Open(const std::string& directory, const Options& options) {
  LSM_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Open(directory, options));
  return std::unique_ptr<DB>(new DB(std::move(engine)));
}

DB::DB(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
DB::~DB() = default;

absl::Status DB::Put(std::string_view key, std::string_view value, const WriteOptions& options) {
  WriteBatch batch;
  batch.Put(key, value);
  return engine_->Write(batch, options);
}

absl::Status DB::Delete(std::string_view key, const WriteOptions& options) {
  WriteBatch batch;
  batch.Delete(key);
  return engine_->Write(batch, options);
}

absl::Status DB::Write(const WriteBatch& batch, const WriteOptions& options) {
  return engine_->Write(batch, options);
}

absl::StatusOr<std::optional<std::string>> DB::Get(std::string_view key,
                                                   const ReadOptions& options) {
  std::optional<std::string> value;
  const absl::StatusOr<bool> found = engine_->Get(key, options, {&CopyToOptional, &value});
  if (!found.ok()) return found.status();
  return value;
}

absl::StatusOr<bool> DB::Get(std::string_view key, std::string* value, const ReadOptions& options) {
  return engine_->Get(key, options, {&CopyToString, value});
}

absl::StatusOr<bool> DB::Get(std::string_view key, PinnedValue* value, const ReadOptions& options) {
  value->Reset();
  return engine_->Get(key, options, {&Pin, value, /*pins=*/true});
}

std::vector<absl::StatusOr<std::optional<std::string>>> DB::MultiGet(
    std::span<const std::string_view> keys, const ReadOptions& options) {
  return engine_->MultiGet(keys, options);
}

std::unique_ptr<Iterator> DB::NewIterator(const ReadOptions& options) {
  return engine_->NewIterator(options);
}

std::unique_ptr<const Snapshot> DB::GetSnapshot() {
  return std::make_unique<const Snapshot>(
      engine_->TakeSnapshot(),
      [engine = engine_.get()](uint64_t sequence) { engine->ReleaseSnapshot(sequence); });
}

absl::Status DB::Flush() { return engine_->Flush(); }

absl::Status DB::CompactRange(std::optional<std::string_view> from,
                              std::optional<std::string_view> to) {
  return engine_->CompactRange(from, to);
}

absl::Status DB::WaitForBackgroundWork() { return engine_->WaitForBackgroundWork(); }

absl::Status DB::Resume() { return engine_->Resume(); }

absl::Status DB::GetFailure() { return engine_->GetFailure(); }

uint64_t DB::ApproximateBytes(std::optional<std::string_view> from,
                              std::optional<std::string_view> to) {
  return engine_->ApproximateBytes(from.value_or(""), to);
}

Statistics DB::GetStatistics() { return engine_->GetStatistics(); }

absl::StatusOr<Explanation> DB::Explain(std::string_view key, const ReadOptions& options) {
  Explanation explanation;
  const absl::StatusOr<bool> found = engine_->Get(key, options, {&Ignore, nullptr}, &explanation);
  if (!found.ok()) {
    if (explanation.answered_by.empty()) return found.status();  // the lookup was not even begun
    explanation.error = found.status().ToString();
  }
  return explanation;
}

absl::Status DB::Destroy(const std::string& directory, const Options& options) {
  return DestroyStore(directory, options);
}

absl::StatusOr<RepairReport> DB::Repair(const std::string& directory, const Options& options) {
  return RepairStore(directory, options);
}

std::string BuildInfo() {
  return Concat("trellis ", TRELLIS_VERSION_STRING, ", filters ", bloom::KeyedKindNames(), " (",
                bloom::BestSimd() == bloom::Simd::kAvx2 ? "AVX2" : "portable",
                "), compression lz4");
}

}  // namespace lsm
