#include <utility>

#include "bench/level_filters/store.h"
#include "bench/workload.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/seeded_random.h"

namespace bench::level_filters {
namespace {

constexpr uint64_t kEntriesPerBatch = 500;

class TrellisStore : public Store {
 public:
  TrellisStore(const ComparedStore& config, uint64_t seed)
      : random_(StoreSeed(seed, config.name)) {}

  absl::Status Open(const std::string& directory, const ComparedStore& config,
                    const StoreShape& shape, bool is_new) {
    directory_ = directory;
    options_.mode = is_new ? lsm::OpenMode::kMustNotExist : lsm::OpenMode::kMustExist;
    options_.filter_kind = config.filter_kind;
    if (config.filter_goal.is_none()) options_.target_fpp = config.target_fpp;
    options_.filter_goal = config.filter_goal;
    options_.write_buffer_bytes = static_cast<size_t>(shape.write_buffer_bytes);
    options_.table_bytes = shape.table_bytes;
    options_.level1_bytes = shape.level1_bytes;
    options_.environment.random = &random_;
    if (is_new) TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(directory, options_));
    TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(directory, options_));
    return absl::OkStatus();
  }

  absl::Status Write(std::string_view key, std::string_view value) override {
    batch_.Put(key, value);
    return batch_.count() < kEntriesPerBatch ? absl::OkStatus() : WriteBatch();
  }

  absl::Status Settle() override {
    TRELLIS_RETURN_IF_ERROR(WriteBatch());
    TRELLIS_RETURN_IF_ERROR(db_->Flush());
    return db_->WaitForBackgroundWork();
  }

  // Lookups could trigger a compaction of level 0.
  absl::Status HoldShape() override {
    db_ = nullptr;
    options_.mode = lsm::OpenMode::kReadOnly;
    TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(directory_, options_));
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Get(std::string_view key, std::string* value) override {
    TRELLIS_ASSIGN_OR_RETURN(std::optional<std::string> found, db_->Get(key));
    if (!found.has_value()) return false;
    *value = *std::move(found);
    return true;
  }

  uint64_t wasted_reads() override { return db_->GetStatistics().total.wasted_reads; }

  absl::StatusOr<std::optional<int>> LevelOf(std::string_view key) override {
    TRELLIS_ASSIGN_OR_RETURN(const lsm::Explanation explanation, db_->Explain(key));
    if (!explanation.found || explanation.tables.empty()) return std::nullopt;
    return explanation.tables.back().level;
  }

  absl::StatusOr<std::vector<LevelRow>> Levels() override {
    const lsm::Statistics statistics = db_->GetStatistics();
    std::vector<LevelRow> rows;
    for (size_t i = 0; i < statistics.levels.size(); ++i) {
      const lsm::LevelStatistics& level = statistics.levels[i];
      if (level.tables == 0) continue;
      LevelRow row{static_cast<int>(i), level.tables,       level.keys,
                   level.filter_bytes,  std::nullopt,       level.expected_wasted_reads,
                   level.filter_kind,   level.filter_reason};
      if (level.target_fpp > 0) row.target_fpp = level.target_fpp;
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  absl::Status WriteBatch() {
    TRELLIS_RETURN_IF_ERROR(db_->Write(batch_));
    batch_.Clear();
    return absl::OkStatus();
  }

  lsm::SeededRandom random_;
  std::string directory_;
  lsm::Options options_;
  lsm::WriteBatch batch_;
  std::unique_ptr<lsm::DB> db_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> MakeTrellis(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape, uint64_t seed) {
  auto store = std::make_unique<TrellisStore>(config, seed);
  TRELLIS_RETURN_IF_ERROR(store->Open(directory, config, shape, /*is_new=*/true));
  return store;
}

absl::StatusOr<std::unique_ptr<Store>> OpenTrellis(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape, uint64_t seed) {
  auto store = std::make_unique<TrellisStore>(config, seed);
  TRELLIS_RETURN_IF_ERROR(store->Open(directory, config, shape, /*is_new=*/false));
  return store;
}

}  // namespace bench::level_filters
