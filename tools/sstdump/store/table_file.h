// A table as the commands open it, and what they say about its filter.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_TABLE_FILE_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_TABLE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/hash.h"
#include "lsm/table/table.h"
#include "tools/sstdump/store/target.h"

namespace tools {

// DataLoss, or Unimplemented, if there is none that is sound.
absl::StatusOr<lsm::Footer> ReadFooter(const lsm::ReadFile& file);

// Table::Open; ResourceExhausted if it would have to load more than can be, as a forged footer may
// ask for in a file that is mostly holes; DataLoss for what is no table at all, as the target was
// taken for one by its magic, its name or the manifest.
absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTable(const Target& target);

// The same of a table whose header is not looked at, for its footer says whose blocks they are.
absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTableByFooter(const Target& target);

// Of a filter that is not known: what it is.
std::string UnknownFilterText(const lsm::Table& table);

// Of its filter; of a partitioned one all partitions together: sums, and means weighed by keys.
bloom::FilterDescription DescribeFilter(const lsm::Table& table);

// Whether the filter does not deny the key.
bool PassesFilter(const lsm::Table& table, std::string_view user_key);

bloom::Digest DigestFor(const lsm::Table& table, std::string_view user_key);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_TABLE_FILE_H_
