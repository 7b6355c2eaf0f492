#include "lsm/compaction/table_output.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A table that overlaps more than this many full tables of the level below would be expensive to
// compact later.
constexpr uint64_t kGrandparentTablesMax = 10;

}  // namespace

TableOutput::TableOutput(const JobContext& context, OutputFilters filters, int level, uint32_t run,
                         uint64_t table_bytes_max, OpenTables grandparents, OpenTables staying,
                         TombstoneRecord tombstones, RangeMap ranges, KeyspaceId keyspace)
    : context_(context),
      filters_(std::move(filters)),
      level_(level),
      run_(run),
      table_bytes_max_(table_bytes_max),
      grandparents_(std::move(grandparents)),
      staying_(std::move(staying)),
      tombstones_(std::move(tombstones)),
      ranges_(std::move(ranges)),
      keyspace_(keyspace) {}

TableOutput::~TableOutput() {
  if (done_) return;
  // Best effort: a file that stays is an orphan, which the next opening of the store removes.
  const auto remove = [this](uint64_t number) {
    CatchOutOfMemory([&] {
      return context_.directory->Remove(TableFileName(number));
    }).IgnoreError();
  };
  builder_.reset();
  if (number_ != 0) remove(number_);
  for (const auto& table : finished_) remove(table->meta.number);
}

bool TableOutput::ShouldEndBefore(std::string_view user_key) {
  while (next_grandparent_ < grandparents_.size() &&
         grandparents_[next_grandparent_]->meta.EndsBy(user_key)) {
    grandparent_bytes_ += grandparents_[next_grandparent_++]->meta.file_bytes;
  }
  bool beyond_one_that_stays = false;
  while (next_staying_ < staying_.size() && staying_[next_staying_]->meta.span().begin < user_key) {
    ++next_staying_;
    beyond_one_that_stays = true;
  }
  if (builder_ == nullptr) {
    grandparent_bytes_ = 0;
    return false;
  }
  const bool full = builder_->size_bytes_estimate() >= table_bytes_max_ || builder_->is_full();
  const bool wide = grandparent_bytes_ > kGrandparentTablesMax * context_.options->table_bytes;
  if (!full && !wide && !beyond_one_that_stays) return false;
  const bool holds_key = begin_ == user_key || (builder_->entry_count() > 0 &&
                                                UserKeyOf(builder_->last_key()) == user_key);
  return !holds_key;
}

std::optional<std::string_view> TableOutput::NextEdge() {
  std::optional<std::string_view> edge;
  if (next_stretch_ < ranges_.size()) edge = ranges_.boundary(next_stretch_);
  if (!is_covered()) return edge;
  const auto begin_of_next = [&] {
    return grandparents_[next_grandparent_edge_]->meta.span().begin;
  };
  while (next_grandparent_edge_ < grandparents_.size() && begin_of_next() <= *last_edge_)
    ++next_grandparent_edge_;
  if (next_grandparent_edge_ < grandparents_.size() && (!edge || begin_of_next() < *edge))
    edge = begin_of_next();
  return edge;
}

absl::Status TableOutput::AddRanges(std::optional<std::string_view> up_to) {
  for (;;) {
    const std::optional<std::string_view> edge = NextEdge();
    if (!edge || (up_to && *edge > *up_to)) return absl::OkStatus();
    if (ShouldEndBefore(*edge)) TRELLIS_RETURN_IF_ERROR(EndTableBefore(*edge));
    last_edge_ = edge;
    const bool changes = next_stretch_ < ranges_.size() && ranges_.boundary(next_stretch_) == *edge;
    next_stretch_ += changes;
    if (builder_ == nullptr) {
      if (is_covered()) TRELLIS_RETURN_IF_ERROR(BeginTable(*edge));
    } else if (changes) {
      AddStretch(*edge);
    }
  }
}

void TableOutput::AddStretch(std::string_view user_key) {
  ranges_.ListSequences(next_stretch_ - 1, &sequences_);
  builder_->AddRange(user_key, sequences_);
}

absl::Status TableOutput::Add(std::string_view internal_key, std::string_view value) {
  const std::string_view user_key = UserKeyOf(internal_key);
  if (!ranges_.empty()) TRELLIS_RETURN_IF_ERROR(AddRanges(user_key));
  // An edge was asked about already.
  if (last_edge_ != user_key && ShouldEndBefore(user_key))
    TRELLIS_RETURN_IF_ERROR(EndTableBefore(user_key));
  if (builder_ == nullptr) TRELLIS_RETURN_IF_ERROR(BeginTable(user_key));
  builder_->Add(internal_key, value);
  if (IsTombstone(SuffixOf(internal_key)) && tombstones_.covered_bytes != nullptr)
    builder_->AddCoveredBytes(tombstones_.covered_bytes(user_key));
  return builder_->status();
}

absl::Status TableOutput::BeginTable(std::string_view user_key) {
  const uint64_t number = context_.new_file_number();
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file,
                           context_.directory->CreateExclusive(TableFileName(number)));
  number_ = number;
  const Options& options = *context_.options;
  TableBuildOptions build;
  build.block_bytes = options.block_bytes;
  build.block_restart_interval = options.block_restart_interval;
  build.compression = options.compression;
  const TableFilter& filter = filters_.For(user_key);
  build.filter_policy = filter.policy;
  build.target_fpp = filter.target_fpp;
  build.filter_reason = filter.reason;
  build.partition_bytes = filter.partition_bytes;
  build.digest_seed = context_.digest_seed;
  build.file_id = context_.random->Next();
  build.keyspace = keyspace_;
  build.level = level_;
  build.created_micros = context_.clock->WallMicros();
  // No later than now.  So a clock that was wrong is corrected when tombstones are written again.
  const uint64_t now = build.created_micros / 1'000'000;
  build.oldest_tombstone =
      std::min(tombstones_.oldest_tombstone, now - std::min(now, tombstones_.age_seconds));
  builder_ = std::make_unique<TableBuilder>(std::move(build), std::move(file));
  grandparent_bytes_ = 0;
  begin_.assign(user_key);
  if (is_covered()) AddStretch(user_key);
  return absl::OkStatus();
}

absl::Status TableOutput::EndTableBefore(std::string_view user_key) {
  if (is_covered()) builder_->AddRange(user_key, {});
  return EndTable();
}

absl::Status TableOutput::EndTable() {
  TRELLIS_ASSIGN_OR_RETURN(TableSummary summary, builder_->Finish());
  TableMeta meta;
  meta.number = number_;
  meta.file_id = summary.file_id;
  meta.file_bytes = summary.file_bytes;
  meta.entries = summary.properties.entries;
  meta.smallest = std::move(summary.smallest);
  meta.largest = std::move(summary.largest);
  meta.run = run_;
  meta.dead = summary.properties.dead_entries();
  meta.ranges = std::move(summary.ranges);
  meta.keyspace = keyspace_;
  meta.times = summary.properties.write_times();
  TRELLIS_ASSIGN_OR_RETURN(
      std::shared_ptr<const OpenTable> table,
      OpenTableFile(*context_.directory, meta, TableReadMode(*context_.options),
                    context_.table_context, filters_.InheritedBy(meta.span()),
                    context_.lookups_so_far == nullptr ? 0 : context_.lookups_so_far()));
  bytes_written_ += meta.file_bytes;
  finished_.push_back(std::move(table));
  builder_.reset();
  number_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<OpenTables> TableOutput::Finish() {
  TRELLIS_RETURN_IF_ERROR(AddRanges(std::nullopt));
  if (builder_ != nullptr) TRELLIS_RETURN_IF_ERROR(EndTable());
  if (!finished_.empty()) {
    TRELLIS_RETURN_IF_ERROR(context_.directory->Sync());
  }
  done_ = true;
  return std::move(finished_);
}

}  // namespace lsm
