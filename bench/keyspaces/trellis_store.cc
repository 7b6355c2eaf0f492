#include "bench/keyspaces/trellis_store.h"

#include <algorithm>
#include <utility>

#include "bench/experiment/store_of_trellis.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

// The loops.  `Target` is DB or Keyspace.
template <typename Target>
absl::Status GetEach(Target* target, std::span<const std::string> keys, bool are_present) {
  std::string value;
  for (const std::string& key : keys) {
    TRELLIS_ASSIGN_OR_RETURN(const bool found, target->Get(key, &value));
    if (found != are_present) return WrongAnswer(key);
  }
  return absl::OkStatus();
}

template <typename Target>
absl::Status MultiGetEach(Target* target, std::span<const std::string> keys) {
  std::vector<std::string_view> some;
  for (size_t i = 0; i < keys.size(); i += some.size()) {
    const auto part = keys.subspan(i, std::min(kKeysPerMultiGet, keys.size() - i));
    some.assign(part.begin(), part.end());
    for (const auto& value : target->MultiGet(some)) {
      TRELLIS_RETURN_IF_ERROR(value.status());
      if (!value->has_value()) return WrongAnswer(part.front());
    }
  }
  return absl::OkStatus();
}

template <typename Target>
absl::Status SeekEach(Target* target, std::span<const std::string> keys) {
  const std::unique_ptr<lsm::Iterator> iterator = target->NewIterator();
  for (const std::string& key : keys) {
    iterator->Seek(key);
    if (!iterator->Valid() || iterator->key() != key) return WrongAnswer(key);
    for (int i = 0; i < kStepsPerSeek && iterator->Valid(); ++i) iterator->Next();
  }
  return iterator->status();
}

template <typename Target>
absl::Status DoIn(Target* target, Work work, std::span<const std::string> keys,
                  const std::string& value) {
  switch (work) {
    case kGetPresent:
    case kGetAbsent:
      return GetEach(target, keys, work == kGetPresent);
    case kMultiGet:
      return MultiGetEach(target, keys);
    case kSeek:
      return SeekEach(target, keys);
    default:
      for (const std::string& key : keys) TRELLIS_RETURN_IF_ERROR(target->Put(key, value));
      return absl::OkStatus();
  }
}

}  // namespace

TrellisStore::TrellisStore(const StoreSettings& settings) : Store(settings) {
  options_ = OptionsOfTrellis(settings.write_buffer_bytes, settings.block_cache_bytes);
  options_.listener = flushed_tables_;
}

TrellisStore::~TrellisStore() {
  keyspaces_.clear();
  db_.reset();
  lsm::Options options = options_;
  options.listener = nullptr;
  if (was_open_) lsm::DB::Destroy(settings_.path, options).IgnoreError();
}

absl::Status TrellisStore::Open() {
  if (!std::exchange(was_open_, true)) {
    TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(settings_.path, options_));
  }
  TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(settings_.path, options_));
  return absl::OkStatus();
}

absl::Status TrellisStore::Close() {
  keyspaces_ = {};
  const absl::Status status = db_->Close();
  db_.reset();
  return status;
}

absl::Status TrellisStore::OpenKeyspaces(const std::string& prefix, uint64_t count) {
  keyspaces_.reserve(keyspaces_.size() + count);
  for (uint64_t i = 0; i < count; ++i) {
    TRELLIS_ASSIGN_OR_RETURN(lsm::Keyspace keyspace, db_->OpenKeyspace(lsm::Concat(prefix, i)));
    keyspaces_.push_back(std::move(keyspace));
  }
  return absl::OkStatus();
}

absl::Status TrellisStore::Drop(size_t keyspace) {
  return db_->DropKeyspace(keyspaces_[keyspace].name());
}

absl::Status TrellisStore::Add(size_t keyspace, std::string_view key, std::string_view value) {
  if (keyspace == kDefault) {
    batch_.Put(key, value);
  } else {
    batch_.Put(keyspaces_[keyspace], key, value);
  }
  return absl::OkStatus();
}

absl::Status TrellisStore::Write() {
  TRELLIS_RETURN_IF_ERROR(db_->Write(batch_));
  batch_.Clear();
  return absl::OkStatus();
}

absl::StatusOr<bool> TrellisStore::Get(size_t keyspace, const std::string& key,
                                       std::string* value) {
  return keyspace == kDefault ? db_->Get(key, value) : keyspaces_[keyspace].Get(key, value);
}

absl::Status TrellisStore::Do(Work work, size_t keyspace, std::span<const std::string> keys,
                              const std::string& value) {
  return keyspace == kDefault ? DoIn(db_.get(), work, keys, value)
                              : DoIn(&keyspaces_[keyspace], work, keys, value);
}

absl::Status TrellisStore::Settle() {
  TRELLIS_RETURN_IF_ERROR(db_->Flush());
  return db_->WaitForBackgroundWork();
}

absl::Status TrellisStore::Compact(size_t keyspace) {
  return keyspace == kDefault ? db_->CompactRange() : keyspaces_[keyspace].CompactRange();
}

std::unique_ptr<Store> MakeTrellis(const StoreSettings& settings) {
  return std::make_unique<TrellisStore>(settings);
}

absl::StatusOr<uint64_t> GiveOwnTree(const Config& config, TrellisStore* store, size_t keyspace) {
  // It leaves in the flush after the one that brings it to a whole write buffer.
  constexpr uint64_t kStepsPerBuffer = 2, kStepsMax = 8;
  const uint64_t step = config.write_buffer_bytes / kStepsPerBuffer / config.entry_bytes() + 1;
  Feeder feeder(config, store, config.value_bytes);
  uint64_t keys = 0;
  for (uint64_t i = 0; i < kStepsMax; ++i, keys += step) {
    if (store->HasOwnTree(keyspace)) return keys;
    TRELLIS_RETURN_IF_ERROR(feeder.Fill(keyspace, keys, step));
    TRELLIS_RETURN_IF_ERROR(store->db().Flush());
  }
  if (store->HasOwnTree(keyspace)) return keys;
  return absl::InternalError(
      lsm::Concat("the keyspace ", store->NameOf(keyspace), " stays in the common tree with ",
                  lsm::ReadableBytes(store->BytesOf(keyspace)), " of tables"));
}

}  // namespace bench::keyspaces
