#include "tools/sstdump/store/table_file.h"

#include <utility>

#include "lsm/block/block.h"
#include "lsm/block/block_io.h"
#include "lsm/block/ranges_part.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace tools {
namespace {

using lsm::Concat;

absl::Status CheckSize(const std::string& path, std::string_view what,
                       const lsm::BlockHandle& handle, uint64_t bytes_max) {
  if (handle.stored_bytes <= bytes_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(Concat(path, ": offset ", handle.offset, ": the ", what,
                                             " block has ", lsm::ReadableBytes(handle.stored_bytes),
                                             ", more than the ", lsm::ReadableBytes(bytes_max),
                                             " that sstdump loads"));
}

// Checks the sizes that a footer, even a sound one, would make Table::Open load.
absl::Status CheckSizes(const lsm::ReadFile& file) {
  const absl::StatusOr<lsm::Footer> footer = ReadFooter(file);
  if (!footer.ok()) return absl::OkStatus();  // Table::Open reports it better
  TRELLIS_RETURN_IF_ERROR(CheckSize(file.path(), "filter", footer->filter, lsm::kFilterBytesMax));
  TRELLIS_RETURN_IF_ERROR(CheckSize(file.path(), "index", footer->index, lsm::kIndexBytesMax));
  TRELLIS_RETURN_IF_ERROR(CheckSize(file.path(), "ranges", footer->ranges, lsm::kRangesBytesMax));
  if (footer->is_partitioned()) {
    const uint64_t bytes = footer->index.offset - footer->index_partitions;
    TRELLIS_RETURN_IF_ERROR(
        CheckSize(file.path(), "index", {footer->index_partitions, bytes}, lsm::kIndexBytesMax));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<lsm::Footer> ReadFooter(const lsm::ReadFile& file) {
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  if (file_bytes < lsm::kTableHeaderBytes + lsm::kFooterBytes)
    return lsm::DamageAt(file.path(), file_bytes, "the file is too short for a table");
  std::string bytes(lsm::kFooterBytes, '\0');
  TRELLIS_ASSIGN_OR_RETURN(const size_t read_bytes, file.ReadAt(file_bytes - lsm::kFooterBytes,
                                                                {bytes.data(), bytes.size()}));
  if (read_bytes != bytes.size())
    return lsm::DamageAt(file.path(), file_bytes, "the file ends before its former end");
  return lsm::Footer::Decode(bytes, file_bytes, file.path());
}

absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTable(const Target& target) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::ReadFile> file, OpenTarget(target));
  TRELLIS_RETURN_IF_ERROR(CheckSizes(*file));
  lsm::TableContext context;
  context.opens_without_ranges = true;
  absl::StatusOr<std::unique_ptr<lsm::Table>> table = lsm::Table::Open(std::move(file), context);
  if (!table.ok()) return lsm::AsDamage(table.status());
  return table;
}

absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTableByFooter(const Target& target) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::ReadFile> file, OpenTarget(target));
  TRELLIS_ASSIGN_OR_RETURN(const lsm::Footer footer, ReadFooter(*file));
  TRELLIS_RETURN_IF_ERROR(CheckSizes(*file));
  lsm::TableContext context;
  context.file_id = footer.file_id;
  context.opens_without_ranges = true;
  return lsm::Table::Open(std::move(file), context);
}

std::string UnknownFilterText(const lsm::Table& table) {
  if (!table.properties().digest_seed_and_hash()) {
    return Concat("its keys are hashed with ", lsm::Escape(table.properties().digest_hash),
                  ", which this release does not know");
  }
  if (!table.is_partitioned()) return table.filter().Describe().problem;
  for (size_t i = 0; i < table.partitions().count(); ++i) {
    const lsm::FilterPart& part = table.filter_partition(i);
    if (part.presence == lsm::FilterPresence::kUnknown) return part.filter.Describe().problem;
  }
  return "";
}

bloom::FilterDescription DescribeFilter(const lsm::Table& table) {
  if (!table.is_partitioned()) return table.filter().Describe();
  bloom::FilterDescription all;
  const auto add = [](double* sum, double value, uint64_t weight) {
    *sum += value * static_cast<double>(weight);
  };
  for (size_t i = 0; i < table.partitions().count(); ++i) {
    const bloom::FilterDescription part = table.filter_partition(i).filter.Describe();
    if (i == 0) {
      all = part;
      all.key_count = all.size_bits = 0;
      all.target_fpp = all.predicted_fpp = all.fill = all.current_fpp = 0;
      all.estimated_key_count = 0;
    }
    all.key_count += part.key_count;
    all.size_bits += part.size_bits;
    all.has_fill &= part.has_fill;
    all.estimated_key_count += part.estimated_key_count;
    add(&all.target_fpp, part.target_fpp, part.key_count);
    add(&all.predicted_fpp, part.predicted_fpp, part.key_count);
    add(&all.current_fpp, part.current_fpp, part.key_count);
    add(&all.fill, part.fill, part.size_bits);
  }
  if (all.key_count == 0) return all;
  for (double* const sum : {&all.target_fpp, &all.predicted_fpp, &all.current_fpp})
    *sum /= static_cast<double>(all.key_count);
  all.fill /= static_cast<double>(all.size_bits);
  all.bits_per_key = static_cast<double>(all.size_bits) / static_cast<double>(all.key_count);
  return all;
}

bool PassesFilter(const lsm::Table& table, std::string_view user_key) {
  if (!table.is_partitioned()) return table.MayContain(DigestFor(table, user_key));
  const lsm::LookupKey key(user_key, lsm::kSequenceMax, table.digest_seed());
  const lsm::EpochGuard guard;
  return table.AskFilter({key, /*fill_cache=*/false}).passed;
}

bloom::Digest DigestFor(const lsm::Table& table, std::string_view user_key) {
  return bloom::DigestOf(user_key, table.digest_seed());
}

}  // namespace tools
