// The tables that no reader needs, as tables of text: needless.txt.  Levels are written as
// table_text.h describes.  A table has 10 KiB by default.
//
//   tree
//     sets the levels, one per line.  Prints the tables that no reader needs: level, number, and
//     the snapshots that hold a covered one
//   under RANGE... [snapshot=N] [enough=KIB]
//     prints the bytes of tables that these range deletes of a memtable would make needless, with
//     this snapshot
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/version/tree.h"
#include "tests/lsm/version/table_text.h"
#include "tests/support/text_table.h"

namespace lsm {
namespace {

using testing_support::TextCase;

class Cases {
 public:
  std::string Run(const TextCase& one) {
    if (one.command == "tree") return SetTree(one);
    if (one.command == "under") return Under(one);
    return one.NotUnderstood();
  }

 private:
  std::string SetTree(const TextCase& one) {
    tree_ = nullptr;
    tables_ = std::make_unique<TextTables>(/*kib=*/10);
    const auto tree = Tree::Create(tables_->Levels(one.input));
    if (!tree.ok()) return tree.status().ToString();
    tree_ = *tree;
    std::string text;
    for (const NeedlessTable& needless : tree_->needless()) {
      text += Concat("L", needless.level, " ", needless.table->meta.number);
      text += needless.hidden_from == 0
                  ? std::string(" idle\n")
                  : Concat(" covered, held by snapshots in [", needless.smallest, ", ",
                           needless.hidden_from, ")\n");
    }
    return text.empty() ? "nothing\n" : text;
  }

  std::string Under(const TextCase& one) const {
    TextRanges ranges;
    for (const std::string& word : one.words) ranges.Add(word);
    const Sequence snapshot = one.Number("snapshot", kSequenceMax);
    const auto has_snapshot = [&](Sequence from, Sequence to) {
      return from <= snapshot && snapshot < to;
    };
    const uint64_t bytes =
        tree_->BytesUnder(ranges.Map(), has_snapshot, one.Number("enough", 1 << 20) << 10);
    return Concat(bytes >> 10, " KiB\n");
  }

  std::unique_ptr<TextTables> tables_;
  std::shared_ptr<const Tree> tree_;
};

TEST(NeedlessTablesTest, MatchesTheTables) {
  Cases table;
  testing_support::RunTextTable("tests/lsm/version/needless.txt",
                                [&](const TextCase& one) { return table.Run(one); });
}

}  // namespace
}  // namespace lsm
