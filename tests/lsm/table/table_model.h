// A model of a table in a std::map, which gives the right answers; and tables, keys and queries to
// compare with it.
#ifndef TRELLIS_TESTS_LSM_TABLE_TABLE_MODEL_H_
#define TRELLIS_TESTS_LSM_TABLE_TABLE_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/table/table.h"
#include "lsm/table/table_builder.h"
#include "lsm/threads/epoch.h"
#include "tests/lsm/table/table_files.h"
#include "tests/support/dice.h"

namespace lsm {

inline constexpr uint64_t kTestSeed = 0xd16e57;

struct InternalLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return CompareInternalKeys(a, b) < 0;
  }
};
// Internal keys and values.
using Model = std::map<std::string, std::string, InternalLess>;
using testing_support::Dice;

inline std::string InternalKey(std::string_view user_key, Sequence sequence,
                               EntryKind kind = EntryKind::kPut) {
  std::string key;
  AppendInternalKey(&key, user_key, sequence, kind);
  return key;
}

// Eight digits, so that keys are in the order of the numbers.
std::string NumberKey(int number);

// The shapes of keys.
enum class KeyShape { kDecimal, kBinary, kExtremes, kNested, kLongPrefix, kHuge };
inline constexpr KeyShape kKeyShapes[] = {KeyShape::kDecimal,    KeyShape::kBinary,
                                          KeyShape::kExtremes,   KeyShape::kNested,
                                          KeyShape::kLongPrefix, KeyShape::kHuge};
const char* NameOf(KeyShape shape);
std::string RandomKey(KeyShape shape, Dice* dice);

// `entries` versions, on average `versions` of each user key, some of them tombstones; values up to
// `value_bytes_max`.
Model RandomModel(KeyShape shape, size_t entries, size_t versions, size_t value_bytes_max,
                  Dice* dice);

// Draws a key that is in the model, close to one of its keys, or far from all of them.
std::string RandomProbe(KeyShape shape, const Model& model, Dice* dice);

// The file of a table with these entries and ranges.  Aborts if it cannot be built.
std::string BuildTable(const TableBuildOptions& options, const Model& model,
                       TableSummary* summary = nullptr, const RangeMap& ranges = {});

// A table, the file it is read from, and the cache it uses (if any).
struct OpenedTable {
  std::shared_ptr<FileState> file;
  std::unique_ptr<BlockCache> cache;
  std::unique_ptr<Table> table;
};
absl::StatusOr<OpenedTable> OpenTableBytes(std::string bytes,
                                           std::optional<size_t> cache_bytes = 1 << 20,
                                           bool partitions_on_demand = false);

// The answer of one lookup.  `value` is a copy.
struct Answer {
  TableAnswer kind = TableAnswer::kAbsent;
  std::string value;
  uint64_t suffix = 0;
  bool operator==(const Answer&) const = default;
};
void PrintTo(const Answer& answer, std::ostream* out);

Answer AskModel(const Model& model, std::string_view user_key, Sequence sequence);
absl::StatusOr<Answer> AskTable(const Table& table, std::string_view user_key, Sequence sequence,
                                LevelCounts* counts = nullptr);

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_TABLE_TABLE_MODEL_H_
