// Opens tables for the commands, and describes their filters.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_TABLE_FILE_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_TABLE_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/hash.h"
#include "lsm/table/table.h"
#include "tools/sstdump/store/target.h"

namespace tools {

// DataLoss or Unimplemented if the footer is not usable.
absl::StatusOr<lsm::Footer> ReadFooter(const lsm::ReadFile& file);

// Table::Open with limits:
//
// - ResourceExhausted if it would load more than fits; a forged footer in a sparse file may ask for
//   that.
// - DataLoss if the file is not a table at all, since its magic, its name or the manifest says that
//   it is one.
//
// A table with damaged range deletes opens without them.  The caller reports its ranges_status().
absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTable(const Target& target);

// The same without a check of the header: the footer identifies the blocks' file.
absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTableByFooter(const Target& target);

// Describes a filter of an unknown kind.
std::string UnknownFilterText(const lsm::Table& table);

// Describes its filter.  For a partitioned filter: sums over all partitions, and means weighted by
// keys.
bloom::FilterDescription DescribeFilter(const lsm::Table& table);

// False if the filter denies the key.
bool PassesFilter(const lsm::Table& table, std::string_view user_key);

bloom::Digest DigestFor(const lsm::Table& table, std::string_view user_key);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_TABLE_FILE_H_
