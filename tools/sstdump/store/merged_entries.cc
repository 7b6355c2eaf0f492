#include "tools/sstdump/store/merged_entries.h"

#include <cassert>
#include <utility>

#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"
#include "lsm/base/merging_iterator.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/open_table.h"
#include "lsm/version/prefix_iterator.h"

namespace tools {
namespace {

using lsm::Concat;

constexpr size_t kReadaheadBytes = 256 << 10;

absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> OpenIfThere(const StoreFiles& files,
                                                                  const PlacedTable& placed) {
  absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> table = OpenPlaced(files, placed);
  if (table.ok()) return table;
  if (!IsGone(files, *files.directory, lsm::FileKind::kTable, placed.meta.number))
    return lsm::AsDamage(table.status());
  return absl::UnavailableError(Concat(files.directory->path(), "/", placed.name, kMovedOn));
}

// The tables of one run, one after the other.
class RunEntries : public lsm::InnerIterator {
 public:
  RunEntries(const StoreFiles& files, std::vector<PlacedTable> tables)
      : files_(files), tables_(std::move(tables)) {}

  bool Valid() const override { return status_.ok() && entries_ && entries_->Valid(); }

  void SeekToFirst() override {
    next_ = 0;
    OpenNext([](lsm::Iterator* entries) { entries->SeekToFirst(); });
  }
  void Seek(std::string_view target) override {
    next_ = 0;
    const std::string_view user_key = lsm::UserKeyOf(target);
    while (next_ < tables_.size() && tables_[next_].meta.span().EndsBy(user_key)) ++next_;
    OpenNext([target](lsm::Iterator* entries) { entries->Seek(target); });
  }
  void Next() override {
    last_.assign(key());
    entries_->Next();
    Settle();
    if (!Valid()) return;
    if (lsm::CompareInternalKeys(last_, key()) >= 0) {
      status_ = absl::DataLossError(Concat(files_.directory->path(), "/", tables_[next_ - 1].name,
                                           ": the keys are out of order at key ",
                                           lsm::QuotedKey(lsm::UserKeyOf(key()))));
    }
  }
  std::string_view key() const override { return entries_->key(); }
  std::string_view value() const override { return entries_->value(); }
  absl::Status status() const override {
    if (!status_.ok() || !entries_) return status_;
    return entries_->status();
  }

  void SeekToLast() override { OnlyForward(); }
  void SeekForPrev(std::string_view /*target*/) override { OnlyForward(); }
  void Prev() override { OnlyForward(); }

 private:
  void OnlyForward() {
    assert(false);
    status_ = absl::UnimplementedError("merged entries go forward only");
  }

  template <typename Begin>
  void OpenNext(const Begin& begin) {
    entries_.reset();
    table_.reset();
    if (next_ == tables_.size()) return;
    absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> table =
        OpenIfThere(files_, tables_[next_++]);
    status_ = table.status();
    if (!status_.ok()) return;
    table_ = std::move(table).value();
    entries_ = table_->table->NewIterator(
        {.fill_cache = false, .readahead_bytes = kReadaheadBytes, .count_blocks = false});
    begin(entries_.get());
    Settle();
  }

  // Moves on to the next table at the end of a table.
  void Settle() {
    while (status_.ok() && entries_ && !entries_->Valid() && entries_->status().ok()) {
      if (next_ == tables_.size()) return;
      OpenNext([](lsm::Iterator* entries) { entries->SeekToFirst(); });
    }
  }

  const StoreFiles& files_;
  const std::vector<PlacedTable> tables_;
  size_t next_ = 0;  // next table to open
  std::shared_ptr<const lsm::OpenTable> table_;
  std::unique_ptr<lsm::Iterator> entries_;
  std::string last_;
  absl::Status status_;
};

}  // namespace

std::vector<PlacedTable> TablesWithin(const StoreFiles& files, const KeyBounds& bounds) {
  const std::string from = files.keyspaces->KeyInTree(bounds.from);
  std::optional<std::string> to = bounds.to;
  if (to) to = files.keyspaces->KeyInTree(*to);
  std::vector<PlacedTable> tables = TablesOfShown(files);
  std::erase_if(tables, [&](const PlacedTable& table) {
    const lsm::KeySpan span = table.meta.span();
    return span.EndsBy(from) || (to && span.begin >= *to);
  });
  return tables;
}

absl::StatusOr<lsm::RangeMap> MergedRanges(const StoreFiles& files, const lsm::Memtable& memtable,
                                           const KeyBounds& bounds) {
  std::vector<lsm::RangeMap> maps;
  if (memtable.ranges() != nullptr) maps.push_back(memtable.ranges()->ToMap());
  const Keyspaces& keyspaces = *files.keyspaces;
  for (const PlacedTable& placed : TablesWithin(files, bounds)) {
    if (placed.meta.ranges.empty()) continue;
    TRELLIS_ASSIGN_OR_RETURN(const std::shared_ptr<const lsm::OpenTable> table,
                             OpenIfThere(files, placed));
    const lsm::RangeMap& ranges = table->table->ranges();
    maps.push_back(keyspaces.is_common() ? lsm::OutOfCommonTree(keyspaces.shown.id, ranges)
                                         : ranges);
  }
  std::vector<const lsm::RangeMap*> all;
  for (const lsm::RangeMap& map : maps) all.push_back(&map);
  return lsm::NewestRanges(all);
}

std::unique_ptr<lsm::Iterator> NewMergedEntries(const StoreFiles& files,
                                                const lsm::Memtable& memtable,
                                                const KeyBounds& bounds) {
  std::vector<std::unique_ptr<lsm::InnerIterator>> inputs;
  inputs.push_back(memtable.NewIterator());
  std::vector<PlacedTable> run;
  const auto end_run = [&] {
    if (run.empty()) return;
    std::unique_ptr<lsm::InnerIterator> entries =
        std::make_unique<RunEntries>(files, std::move(run));
    if (files.keyspaces->is_common())
      entries = lsm::NewPrefixIterator(files.keyspaces->shown.id, std::move(entries));
    inputs.push_back(std::move(entries));
    run.clear();
  };
  for (PlacedTable& table : TablesWithin(files, bounds)) {
    const bool is_same_run = !run.empty() && table.level > 0 && run.back().level == table.level &&
                             run.back().meta.run == table.meta.run;
    if (!is_same_run) end_run();
    run.push_back(std::move(table));
  }
  end_run();
  return lsm::NewMergingIterator(std::move(inputs));
}

}  // namespace tools
