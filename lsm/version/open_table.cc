#include "lsm/version/open_table.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/table/table_claims.h"
#include "lsm/table/table_iterator.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Iterates over one sorted run: has a position in the list of tables, and an iterator in that
// table.
class RunIterator final : public InnerIterator {
 public:
  RunIterator(TableSpan tables, const Table::ScanOptions& options)
      : tables_(tables), options_(options) {}

  bool Valid() const override { return inner_.has_value() && inner_->Valid(); }

  void SeekToFirst() override {
    Enter(0);
    if (inner_.has_value()) inner_->SeekToFirst();
    SkipForward();
  }
  void SeekToLast() override {
    Enter(tables_.empty() ? 0 : tables_.size() - 1);
    if (inner_.has_value()) inner_->SeekToLast();
    SkipBackward();
  }
  void Seek(std::string_view target) override {
    Enter(FirstBeyond(tables_, UserKeyOf(target)));
    if (inner_.has_value()) inner_->Seek(target);
    SkipForward();
  }
  void PrefetchSeek(std::string_view target, int step) override {
    if (step == 0) {
      const size_t at = FirstBeyond(tables_, UserKeyOf(target));
      is_approaching_ = at < tables_.size();
      if (is_approaching_) Enter(at);
    }
    if (is_approaching_) inner_->PrefetchSeek(target, step);
  }
  void SeekForPrev(std::string_view target) override {
    const size_t at = FirstBeyond(tables_, UserKeyOf(target));
    if (at == tables_.size()) return SeekToLast();
    Enter(at);
    if (inner_.has_value()) inner_->SeekForPrev(target);
    SkipBackward();
  }
  void Next() override {
    assert(Valid());
    inner_->Next();
    SkipForward();
  }
  void Prev() override {
    assert(Valid());
    inner_->Prev();
    SkipBackward();
  }
  std::string_view key() const override { return inner_->key(); }
  std::string_view value() const override { return inner_->value(); }
  absl::Status status() const override {
    return inner_.has_value() ? inner_->status() : absl::OkStatus();
  }

 private:
  void Enter(size_t at) {
    if (inner_.has_value() && at == at_ && inner_->status().ok()) return;
    inner_.reset();
    at_ = at;
    if (at < tables_.size()) inner_.emplace(*tables_[at]->table, options_);
  }

  // After an error the iterator stays in its table: entries of the next table must not look like
  // the entries that follow.
  bool AtEndOfTable() const {
    return inner_.has_value() && !inner_->Valid() && inner_->status().ok();
  }

  void SkipForward() {
    while (AtEndOfTable()) {
      if (at_ + 1 >= tables_.size()) return;
      Enter(at_ + 1);
      inner_->SeekToFirst();
    }
  }
  void SkipBackward() {
    while (AtEndOfTable()) {
      if (at_ == 0) return;
      Enter(at_ - 1);
      inner_->SeekToLast();
    }
  }

  const TableSpan tables_;
  const Table::ScanOptions options_;
  size_t at_ = 0;
  std::optional<TableIterator> inner_;
  bool is_approaching_ = false;  // in the steps of PrefetchSeek, with a table to seek in
};

}  // namespace

ReadMode TableReadMode(const Options& options) {
  return options.direct_reads ? ReadMode::kDirect : ReadMode::kBuffered;
}

absl::StatusOr<std::unique_ptr<ReadFile>> OpenFileOfTable(Directory& directory,
                                                          const TableMeta& meta, ReadMode mode) {
  absl::StatusOr<std::unique_ptr<ReadFile>> opened =
      directory.OpenRead(TableFileName(meta.number), mode);
  if (absl::IsNotFound(opened.status())) {
    // Not NotFound, which means that there is no store.
    return absl::DataLossError(Concat(directory.path(), "/", TableFileName(meta.number),
                                      ": the manifest names this table, but there is no such "
                                      "file"));
  }
  TRELLIS_RETURN_IF_ERROR(opened.status());
  std::unique_ptr<ReadFile> file = *std::move(opened);
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t file_bytes, file->Size());
  if (file_bytes != meta.file_bytes) {
    return DamageAt(
        file->path(), file_bytes,
        Concat("the file has ", file_bytes, " bytes, the manifest says ", meta.file_bytes));
  }
  return file;
}

absl::StatusOr<std::shared_ptr<const OpenTable>> OpenTableFile(Directory& directory,
                                                               const TableMeta& meta, ReadMode mode,
                                                               const TableContext& context,
                                                               const WastedReads& inherited,
                                                               uint64_t lookups) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file, OpenFileOfTable(directory, meta, mode));
  return OpenTableIn(std::move(file), meta, context, {}, inherited, lookups);
}

absl::StatusOr<std::shared_ptr<const OpenTable>> OpenTableIn(
    std::unique_ptr<ReadFile> file, const TableMeta& meta, const TableContext& context,
    std::string_view end, const WastedReads& inherited, uint64_t lookups) {
  TableContext with_id = context;
  with_id.file_id = meta.file_id;
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Table> table,
                           Table::Open(std::move(file), with_id, end));
  TRELLIS_RETURN_IF_ERROR(CheckClaims(*table, RecordOf(meta)));
  return std::make_shared<const OpenTable>(
      OpenTable{meta, std::move(table), std::make_unique<WastedReadCounter>(inherited, lookups)});
}

// A file of another release may lack the property.
uint64_t KeysOf(const OpenTable& table) {
  const uint64_t keys = table.table->properties().distinct_keys;
  return keys != 0 ? keys : table.meta.entries;
}

DeadEntries DeadEntriesOf(const OpenTable& table, double bytes_per_key) {
  return table.table->properties().EstimateDeadEntries(table.meta.entries, bytes_per_key);
}

double FppOf(const OpenTable& table) {
  if (table.table->filter_presence() != FilterPresence::kUsable) return 1;
  const double fpp = table.table->properties().expected_fpp;
  return fpp >= 0 && fpp <= 1 ? fpp : 1;  // a file may contain any value
}

size_t FirstBeyond(TableSpan run, std::string_view user_key) {
  const auto at = std::partition_point(
      run.begin(), run.end(), [&](const auto& table) { return table->meta.EndsBy(user_key); });
  return static_cast<size_t>(at - run.begin());
}

std::vector<TableSpan> RunsAmong(TableSpan tables) {
  std::vector<TableSpan> runs;
  for (size_t begin = 0, end = 0; begin < tables.size(); begin = end) {
    while (end < tables.size() && tables[end]->meta.run == tables[begin]->meta.run) ++end;
    runs.push_back(tables.subspan(begin, end - begin));
  }
  return runs;
}

std::unique_ptr<InnerIterator> NewRunIterator(TableSpan tables, const Table::ScanOptions& options) {
  return std::make_unique<RunIterator>(tables, options);
}

}  // namespace lsm
