#include "bench/keyspaces/store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/limits.h"

namespace bench::keyspaces {
namespace {

constexpr uint32_t kEntriesPerBatch = 100;

}  // namespace

Store::Store(const Config& config, const std::string& name) : path_(config.out + "/" + name) {
  options_.write_buffer_bytes = static_cast<size_t>(config.write_buffer_bytes);
  options_.table_bytes = config.write_buffer_bytes;
  options_.level1_bytes = 4 * config.write_buffer_bytes;
  options_.compression = lsm::Compression::kNone;  // so that bytes of tables are bytes of entries
  options_.reserve_bytes = 0;                      // it would count as bytes on disk
  options_.listener = flushed_tables_;
}

Store::~Store() {
  db_.reset();
  lsm::Options options = options_;
  options.listener = nullptr;
  if (was_open_) lsm::DB::Destroy(path_, options).IgnoreError();
}

absl::Status Store::Open() {
  if (!std::exchange(was_open_, true)) {
    TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(path_, options_));
  }
  TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(path_, options_));
  return absl::OkStatus();
}

absl::Status Store::Close() {
  const absl::Status status = db_->Close();
  db_.reset();
  return status;
}

Files Store::GetFiles() const {
  Files files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path_, error), end; at != end; at.increment(error)) {
    const std::optional<lsm::FileName> name = lsm::ParseFileName(at->path().filename().string());
    const uint64_t bytes = at->file_size(error);
    if (error || !name) continue;  // a job has just removed it
    if (name->kind == lsm::FileKind::kLog) {
      files.log_bytes += bytes;
      ++files.logs;
    } else if (name->kind == lsm::FileKind::kTable) {
      files.smallest_table_bytes =
          files.tables == 0 ? bytes : std::min(files.smallest_table_bytes, bytes);
      files.table_bytes += bytes;
      ++files.tables;
    }
  }
  return files;
}

absl::Status Store::Settle() {
  TRELLIS_RETURN_IF_ERROR(db_->Flush());
  return db_->WaitForBackgroundWork();
}

absl::StatusOr<std::vector<lsm::Keyspace>> Store::OpenKeyspaces(const std::string& prefix,
                                                                uint64_t count) {
  std::vector<lsm::Keyspace> keyspaces;
  keyspaces.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    TRELLIS_ASSIGN_OR_RETURN(lsm::Keyspace keyspace, db_->OpenKeyspace(lsm::Concat(prefix, i)));
    keyspaces.push_back(std::move(keyspace));
  }
  return keyspaces;
}

Feeder::Feeder(const Config& config, lsm::DB* db, uint64_t value_bytes)
    : config_(config), db_(*db), values_(static_cast<size_t>(value_bytes)) {}

absl::Status Feeder::Put(const lsm::Keyspace* keyspace, uint64_t number) {
  const std::string key = SyntheticKey(number, config_.seed);
  values_.Make(key, &value_);
  if (keyspace == nullptr) {
    batch_.Put(key, value_);
  } else {
    batch_.Put(*keyspace, key, value_);
  }
  return batch_.count() < kEntriesPerBatch ? absl::OkStatus() : Finish();
}

absl::Status Feeder::Finish() {
  TRELLIS_RETURN_IF_ERROR(db_.Write(batch_));
  batch_.Clear();
  return config_.CheckStop();
}

absl::Status Feeder::Fill(const lsm::Keyspace* keyspace, uint64_t first, uint64_t count) {
  for (uint64_t number = first; number < first + count; ++number)
    TRELLIS_RETURN_IF_ERROR(Put(keyspace, number));
  return Finish();
}

absl::StatusOr<uint64_t> GiveOwnTree(const Config& config, Store* store,
                                     const lsm::Keyspace& keyspace) {
  // It leaves in the flush after the one that brings it to a whole write buffer.
  constexpr uint64_t kStepsPerBuffer = 2, kStepsMax = 8;
  const uint64_t step = config.write_buffer_bytes / kStepsPerBuffer / config.entry_bytes() + 1;
  Feeder feeder(config, &store->db(), config.value_bytes);
  uint64_t keys = 0;
  for (uint64_t i = 0; i < kStepsMax; ++i, keys += step) {
    if (keyspace.GetStatistics().has_own_tree) return keys;
    TRELLIS_RETURN_IF_ERROR(feeder.Fill(&keyspace, keys, step));
    TRELLIS_RETURN_IF_ERROR(store->db().Flush());
  }
  if (keyspace.GetStatistics().has_own_tree) return keys;
  return absl::InternalError(
      lsm::Concat("the keyspace ", keyspace.name(), " stays in the common tree with ",
                  lsm::ReadableBytes(keyspace.GetStatistics().table_bytes), " of tables"));
}

uint64_t Allowed(uint64_t keyspaces, std::vector<std::string>* notes) {
  if (keyspaces <= lsm::kKeyspacesMax) return keyspaces;
  notes->push_back(lsm::Concat("a store has at most ", lsm::ReadableCount(lsm::kKeyspacesMax),
                               " keyspaces, fewer than wanted"));
  return lsm::kKeyspacesMax;
}

}  // namespace bench::keyspaces
