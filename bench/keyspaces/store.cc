#include "bench/keyspaces/store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"

namespace bench::keyspaces {

absl::Status WrongAnswer(std::string_view key) {
  return absl::InternalError(lsm::Concat("a wrong answer for the key ", key));
}

Files Store::GetFiles() const {
  Files files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(settings_.path, error), end; at != end;
       at.increment(error)) {
    const std::string kind = at->path().extension().string();
    const uint64_t bytes = at->file_size(error);
    if (error) continue;  // a job has just removed it
    if (kind == ".log") {
      files.log_bytes += bytes;
      ++files.logs;
    } else if (kind == ".table" || kind == ".sst") {
      files.smallest_table_bytes =
          files.tables == 0 ? bytes : std::min(files.smallest_table_bytes, bytes);
      files.table_bytes += bytes;
      ++files.tables;
    }
  }
  return files;
}

Feeder::Feeder(const Config& config, Store* store, uint64_t value_bytes)
    : config_(config), store_(*store), values_(static_cast<size_t>(value_bytes)) {}

absl::Status Feeder::Put(size_t keyspace, uint64_t number) {
  return PutKey(keyspace, SyntheticKey(number, config_.seed));
}

absl::Status Feeder::PutKey(size_t keyspace, const std::string& key) {
  values_.Make(key, &value_);
  TRELLIS_RETURN_IF_ERROR(store_.Add(keyspace, key, value_));
  return ++entries_ < kEntriesPerBatch ? absl::OkStatus() : Finish();
}

absl::Status Feeder::Finish() {
  entries_ = 0;
  TRELLIS_RETURN_IF_ERROR(store_.Write());
  return config_.CheckStop();
}

absl::Status Feeder::Fill(size_t keyspace, uint64_t first, uint64_t count) {
  for (uint64_t number = first; number < first + count; ++number)
    TRELLIS_RETURN_IF_ERROR(Put(keyspace, number));
  return Finish();
}

absl::Status Feeder::Check(size_t keyspace, uint64_t number) {
  const std::string key = SyntheticKey(number, config_.seed);
  TRELLIS_ASSIGN_OR_RETURN(const bool found, store_.Get(keyspace, key, &value_));
  return found && values_.Matches(key, value_) ? absl::OkStatus() : WrongAnswer(key);
}

uint64_t Allowed(uint64_t keyspaces, std::vector<std::string>* notes) {
  if (keyspaces <= lsm::kKeyspacesMax) return keyspaces;
  notes->push_back(lsm::Concat("a store has at most ", lsm::ReadableCount(lsm::kKeyspacesMax),
                               " keyspaces, fewer than wanted"));
  return lsm::kKeyspacesMax;
}

}  // namespace bench::keyspaces
