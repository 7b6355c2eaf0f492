#include "tools/sstdump/table_file.h"

#include <cassert>
#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/table/block.h"
#include "lsm/table/block_io.h"
#include "tools/sstdump/layout.h"

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

// What a footer that is otherwise sound would make Table::Open load.
absl::Status CheckSizes(const lsm::ReadFile& file) {
  const absl::StatusOr<lsm::Footer> footer = ReadFooter(file);
  if (!footer.ok()) return absl::OkStatus();  // Table::Open says so better
  LSM_RETURN_IF_ERROR(CheckSize(file.path(), "filter", footer->filter, lsm::kFilterBytesMax));
  LSM_RETURN_IF_ERROR(CheckSize(file.path(), "index", footer->index, lsm::kIndexBytesMax));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<lsm::Footer> ReadFooter(const lsm::ReadFile& file) {
  LSM_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  if (file_bytes < lsm::kTableHeaderBytes + lsm::kFooterBytes)
    return lsm::DamageAt(file.path(), file_bytes, "the file is too short for a table");
  std::string bytes(lsm::kFooterBytes, '\0');
  LSM_ASSIGN_OR_RETURN(const size_t read_bytes,
                       file.ReadAt(file_bytes - lsm::kFooterBytes, {bytes.data(), bytes.size()}));
  if (read_bytes != bytes.size())
    return lsm::DamageAt(file.path(), file_bytes, "the file ends before its former end");
  return lsm::Footer::Decode(bytes, file_bytes, file.path());
}

absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTable(const Target& target) {
  LSM_ASSIGN_OR_RETURN(std::unique_ptr<lsm::ReadFile> file, OpenTarget(target));
  LSM_RETURN_IF_ERROR(CheckSizes(*file));
  absl::StatusOr<std::unique_ptr<lsm::Table>> table = lsm::Table::Open(std::move(file), {});
  if (!table.ok()) return lsm::AsDamage(table.status());
  return table;
}

std::string UnknownFilterText(const lsm::Table& table) {
  if (!table.properties().digest_seed_and_hash()) {
    return Concat("its keys are hashed with ", lsm::Escape(table.properties().digest_hash),
                  ", which this release does not know");
  }
  return table.filter().Describe().problem;
}

bloom::Digest DigestFor(const lsm::Table& table, std::string_view user_key) {
  return bloom::DigestOf(user_key, table.digest_seed());
}

}  // namespace tools
