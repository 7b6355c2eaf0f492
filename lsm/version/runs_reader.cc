#include "lsm/version/runs_reader.h"

#include <algorithm>
#include <utility>

#include "lsm/base/internal_key.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {

void RunsReader::AddRun(std::vector<TableMeta> tables) {
  runs_.emplace_back().tables = std::move(tables);
}

absl::Status RunsReader::Start(std::string_view from) {
  for (size_t run = 0; run < runs_.size(); ++run) TRELLIS_RETURN_IF_ERROR(Enter(run, from));
  return absl::OkStatus();
}

bool RunsReader::IsAfter(size_t a, size_t b) const {
  const int order = CompareInternalKeys(runs_[a].iterator->key(), runs_[b].iterator->key());
  return order != 0 ? order > 0 : a > b;
}

bool RunsReader::NextHasSameKey() const {
  // The next entry is at the top of one of the two subtrees.
  for (size_t i = 1; i <= 2 && i < heap_.size(); ++i) {
    if (runs_[heap_[i]].iterator->key() == key()) return true;
  }
  return false;
}

absl::Status RunsReader::Enter(size_t number, std::string_view from) {
  // With many runs each read is smaller, so that memory is bounded.
  constexpr size_t kBytes = size_t{256} << 20, kBytesMin = size_t{16} << 10,
                   kBytesMax = size_t{1} << 20;
  Run& run = runs_[number];
  for (; run.at < run.tables.size(); ++run.at) {
    if (run.iterator == nullptr) {
      const TableMeta& meta = run.tables[run.at];
      TRELLIS_ASSIGN_OR_RETURN(
          std::unique_ptr<ReadFile> file,
          directory_.OpenRead(TableFileName(meta.number), ReadMode::kBuffered));
      TableContext context = context_;
      context.file_id = meta.file_id;
      context.partitions_on_demand = true;
      TRELLIS_ASSIGN_OR_RETURN(run.table, Table::Open(std::move(file), context));
      Table::ScanOptions scan;
      scan.fill_cache = false;
      scan.readahead_bytes = std::clamp(kBytes / runs_.size(), kBytesMin, kBytesMax);
      run.iterator = run.table->NewIterator(scan);
      std::string first;
      if (!from.empty()) AppendInternalKey(&first, from, kSequenceMax, kEntryKindMax);
      from.empty() ? run.iterator->SeekToFirst() : run.iterator->Seek(first);
    }
    TRELLIS_RETURN_IF_ERROR(run.iterator->status());
    if (run.iterator->Valid()) {
      heap_.push_back(number);
      std::push_heap(heap_.begin(), heap_.end(),
                     [this](size_t a, size_t b) { return IsAfter(a, b); });
      return absl::OkStatus();
    }
    run.iterator.reset();
    run.table.reset();
  }
  return absl::OkStatus();
}

absl::Status RunsReader::Next() {
  std::pop_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return IsAfter(a, b); });
  const size_t run = heap_.back();
  heap_.pop_back();
  runs_[run].iterator->Next();
  return Enter(run);
}

}  // namespace lsm
