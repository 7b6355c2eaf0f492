#include "lsm/keyspace.h"

#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/engine/store_calls.h"
#include "lsm/write_batch.h"

namespace lsm::inline TRELLIS_ABI {

const std::string& Keyspace::name() const {
  static const std::string& none = *new std::string;
  return state_ == nullptr ? none : state_->name;
}

absl::Status Keyspace::Put(std::string_view key, std::string_view value,
                           const WriteOptions& options) {
  if (state_ == nullptr) return CatchOutOfMemory(NoKeyspace);
  WriteBatch batch;
  batch.Put(*this, key, value);
  return WriteTo(engine_.get(), batch, options);
}

absl::Status Keyspace::Delete(std::string_view key, const WriteOptions& options) {
  if (state_ == nullptr) return CatchOutOfMemory(NoKeyspace);
  WriteBatch batch;
  batch.Delete(*this, key);
  return WriteTo(engine_.get(), batch, options);
}

absl::Status Keyspace::DeleteRange(std::string_view from, std::optional<std::string_view> to,
                                   const WriteOptions& options) {
  if (state_ == nullptr) return CatchOutOfMemory(NoKeyspace);
  TRELLIS_RETURN_IF_ERROR(CheckNotDropped(state_.get()));  // an empty range changes nothing
  WriteBatch batch;
  batch.DeleteRange(*this, from, to);
  return WriteTo(engine_.get(), batch, options);
}

absl::StatusOr<std::optional<std::string>> Keyspace::Get(std::string_view key,
                                                         const ReadOptions& options) const {
  if (state_ == nullptr) return CatchOutOfMemory(NoKeyspace);
  return GetFrom(engine_.get(), state_.get(), key, options);
}

absl::StatusOr<bool> Keyspace::Get(std::string_view key, std::string* value,
                                   const ReadOptions& options) const {
  if (state_ == nullptr) return CatchOutOfMemory(NoKeyspace);
  return GetFrom(engine_.get(), state_.get(), key, value, options);
}

absl::StatusOr<bool> Keyspace::Get(std::string_view key, PinnedValue* value,
                                   const ReadOptions& options) const {
  if (state_ == nullptr) return CatchOutOfMemory(NoKeyspace);
  return GetFrom(engine_.get(), state_.get(), key, value, options);
}

std::vector<absl::StatusOr<std::optional<std::string>>> Keyspace::MultiGet(
    std::span<const std::string_view> keys, const ReadOptions& options) const {
  if (state_ == nullptr) {
    return std::vector<absl::StatusOr<std::optional<std::string>>>(keys.size(),
                                                                   CatchOutOfMemory(NoKeyspace));
  }
  return engine_->MultiGet(state_.get(), keys, options);
}

std::unique_ptr<Iterator> Keyspace::NewIterator(const ReadOptions& options) const {
  if (state_ == nullptr) return NewEmptyIterator(CatchOutOfMemory(NoKeyspace));
  return engine_->NewIterator(state_.get(), options);
}

absl::Status Keyspace::CompactRange(std::optional<std::string_view> from,
                                    std::optional<std::string_view> to) {
  if (state_ == nullptr) return CatchOutOfMemory(NoKeyspace);
  return CompactIn(engine_.get(), state_.get(), from, to);
}

uint64_t Keyspace::ApproximateBytes(std::optional<std::string_view> from,
                                    std::optional<std::string_view> to) const {
  if (state_ == nullptr) return 0;
  return engine_->ApproximateBytes(state_.get(), from.value_or(""), to);
}

absl::StatusOr<Explanation> Keyspace::Explain(std::string_view key,
                                              const ReadOptions& options) const {
  if (state_ == nullptr) return CatchOutOfMemory(NoKeyspace);
  return ExplainIn(engine_.get(), state_.get(), key, options);
}

KeyspaceStatistics Keyspace::GetStatistics() const {
  return state_ == nullptr ? KeyspaceStatistics() : engine_->GetKeyspaceStatistics(*state_);
}

}  // namespace lsm
