#include <utility>

#include "bench/peers/peer.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"

namespace bench::peers {
namespace {

class TrellisCursor : public Cursor {
 public:
  explicit TrellisCursor(std::unique_ptr<lsm::Iterator> iterator)
      : iterator_(std::move(iterator)) {}

  void SeekToFirst() override { iterator_->SeekToFirst(); }
  void SeekToLast() override { iterator_->SeekToLast(); }
  void Seek(std::string_view key) override { iterator_->Seek(key); }
  void Next() override { iterator_->Next(); }
  void Prev() override { iterator_->Prev(); }
  bool Valid() override { return iterator_->Valid(); }
  std::string_view key() override { return iterator_->key(); }
  std::string_view value() override { return iterator_->value(); }
  absl::Status status() override { return iterator_->status(); }

 private:
  const std::unique_ptr<lsm::Iterator> iterator_;
};

class TrellisReader : public Reader {
 public:
  explicit TrellisReader(lsm::DB* db) : db_(*db) {}

  Answer Get(std::string_view key, std::string_view* value) override {
    const absl::StatusOr<bool> found = db_.Get(key, &value_);
    if (!found.ok()) [[unlikely]] {
      error_ = found.status();
      return Answer::kError;
    }
    if (!*found) return Answer::kAbsent;
    *value = value_.view();
    return Answer::kFound;
  }

  absl::Status MultiGet(std::span<const std::string_view> keys,
                        std::vector<std::optional<std::string_view>>* values) override {
    answers_ = db_.MultiGet(keys);
    values->clear();
    for (const absl::StatusOr<std::optional<std::string>>& answer : answers_) {
      TRELLIS_RETURN_IF_ERROR(answer.status());
      values->push_back(*answer);
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Cursor> NewCursor() override {
    return std::make_unique<TrellisCursor>(db_.NewIterator());
  }

 private:
  lsm::DB& db_;
  lsm::PinnedValue value_;
  std::vector<absl::StatusOr<std::optional<std::string>>> answers_;
};

class TrellisPeer : public Peer {
 public:
  explicit TrellisPeer(bool by_level) : by_level_(by_level) {}

  std::string name() const override { return by_level_ ? "Trellis by level" : "Trellis"; }
  bool is_variant() const override { return by_level_; }

  std::string details() const override {
    if (by_level_)
      return "the same with a filter goal: as many bits per key as the others, spread over the "
             "levels, blocked or ribbon by level; only lookups of the fresh store";
    return lsm::BuildInfo() +
           "; LZ4; filter blocked, set by target FPP; checksums verified on each read";
  }

  bool has_direct_reads() const override { return true; }
  bool has_multi_get() const override { return true; }
  bool has_delete_range() const override { return true; }

  absl::Status Open(const std::string& directory, const PeerSettings& settings,
                    Begin begin) override {
    lsm::Options options;
    if (begin == Begin::kAnew) TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(directory, options));
    options.mode = begin == Begin::kAnew ? lsm::OpenMode::kMustNotExist : lsm::OpenMode::kMustExist;
    options.write_buffer_bytes = settings.write_buffer_bytes;
    options.block_cache_bytes = settings.block_cache_bytes;
    options.block_bytes = settings.block_bytes;
    options.direct_reads = settings.direct_reads;
    if (settings.table_bytes > 0) options.table_bytes = settings.table_bytes;
    if (by_level_) {
      options.filter_goal = lsm::FilterGoal::BitsPerKey(settings.bits_per_key);
    } else {
      // The other stores' filters are similar: as fast and as large.
      options.filter_kind = "blocked";
      options.target_fpp = settings.target_fpp;
    }
    TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(directory, options));
    return absl::OkStatus();
  }

  absl::Status Close() override {
    db_.reset();
    return absl::OkStatus();
  }

  absl::Status Put(std::string_view key, std::string_view value) override {
    return db_->Put(key, value);
  }
  absl::Status Delete(std::string_view key) override { return db_->Delete(key); }
  absl::Status DeleteRange(std::string_view from, std::string_view to) override {
    return db_->DeleteRange(from, to);
  }
  absl::Status WaitUntilQuiet() override { return db_->WaitForBackgroundWork(); }
  absl::Status CompactAll() override { return db_->CompactRange(); }

  std::unique_ptr<Reader> NewReader() override {
    return std::make_unique<TrellisReader>(db_.get());
  }
  std::shared_ptr<const void> TakeSnapshot() override { return db_->GetSnapshot(); }

  std::optional<uint64_t> data_block_reads() override {
    const lsm::Statistics statistics = db_->GetStatistics();
    return statistics.total.blocks_from_file + statistics.scan_blocks_from_file;
  }

  std::optional<uint64_t> table_bytes_read() override {
    const lsm::Statistics statistics = db_->GetStatistics();
    return statistics.opening_bytes_read + statistics.total.bytes_from_file +
           statistics.total.partition_bytes_from_file;
  }

  absl::StatusOr<PeerFigures> Figures() override {
    const lsm::Statistics statistics = db_->GetStatistics();
    return PeerFigures{statistics.total.runs, statistics.total.table_bytes,
                       statistics.total.filter_bytes, statistics.total.tables};
  }

 private:
  const bool by_level_;
  std::unique_ptr<lsm::DB> db_;
};

}  // namespace

std::unique_ptr<Peer> NewTrellisPeer() { return std::make_unique<TrellisPeer>(false); }
std::unique_ptr<Peer> NewTrellisByLevelPeer() { return std::make_unique<TrellisPeer>(true); }

}  // namespace bench::peers
