// A fixture for trees that tests make of tables.
#ifndef TRELLIS_TESTS_LSM_VERSION_TREE_FIXTURE_H_
#define TRELLIS_TESTS_LSM_VERSION_TREE_FIXTURE_H_

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/explanation.h"
#include "lsm/statistics.h"
#include "lsm/version/tree.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class TreeFixture : public testing::Test {
 protected:
  static std::shared_ptr<const Tree> TreeOf(std::array<OpenTables, kLevels> levels) {
    absl::StatusOr<std::shared_ptr<const Tree>> tree = Tree::Create(std::move(levels));
    EXPECT_OK(tree);
    return tree.value_or(nullptr);
  }
  // Below level 0.
  std::shared_ptr<const OpenTable> OfRun(uint32_t run, uint64_t number,
                                         const std::vector<Entry>& entries) {
    return maker_.Make(number, entries, /*file_bytes=*/0, run);
  }

  // The value, "deleted" or "absent", or the error.
  static std::string TextOf(const KeyLookup& lookup) {
    if (!lookup.status.ok()) return lookup.status.ToString();
    if (lookup.result.answer == TableAnswer::kFound) return std::string(lookup.result.value);
    return lookup.result.answer == TableAnswer::kDeleted ? "deleted" : "absent";
  }
  static std::vector<uint64_t> ConsideredIn(const Explanation& explanation) {
    std::vector<uint64_t> numbers;
    for (const TableStep& step : explanation.tables) numbers.push_back(step.table_number);
    return numbers;
  }
  // Returns those of the keys (each is one letter) that may exist below the run.
  static std::string Below(const Tree& tree, int level, uint32_t run, std::string_view keys) {
    std::string found;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (tree.MayExistBelow(level, run, keys.substr(i, 1))) found += keys[i];
    }
    return found;
  }

  Statistics Counted() {
    Statistics statistics;
    maker_.counters.SumInto(&statistics);
    return statistics;
  }

  TableMaker maker_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_VERSION_TREE_FIXTURE_H_
