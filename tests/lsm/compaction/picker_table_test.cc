// The choices of the picker, as tables of text: picker_*.txt.  Levels are written as table_text.h
// describes.  A table has 10 KiB by default.  The limit of level 1 is 64 KiB unless the case gives
// it, and a full table has 64 KiB.
//
//   tree [style=leveled|tiered|lazy] [level0=TABLES] [level1=KIB] [plans=kept]
//     sets the levels, one per line, and options; running plans end, unless they are kept.  Prints
//     the level that is due, and the price at which reads trigger a merge of level 0
//   pick [paid=BYTES] [day=N] [second=N] [snapshot=N] [snapshots=N,N,...]
//        [tombstones=after|first|never] [as=run]
//     prints the choice; with `paid`, the choice after readers have paid this many bytes, its
//     price, and whether a merge is paid.  `day` and `second` are the time since 1970, `snapshot`
//     is the oldest one, `snapshots` are all for drops, and `tombstones` is the turn of their rule.
//     With as=run the plan keeps running
//   flush FIRST LAST KIB FREEABLE [snapshot=N]
//     prints whether the rule for tombstones would take a table of these keys, with this size and
//     freeable bytes in KiB, and with 100 as its largest sequence
//   range LEVEL FROM TO [as=run]
//     prints the plan for a range; - is no bound
//   drop FROM TO [as=run]
//     prints the drop for a range, without snapshots
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/compaction_styles.h"
#include "lsm/compaction/picker.h"
#include "tests/lsm/version/table_text.h"
#include "tests/support/text_table.h"

namespace lsm {
namespace {

using testing_support::TextCase;

std::string KiB(uint64_t bytes) {
  EXPECT_EQ(bytes % 1024, 0u);
  return std::to_string(bytes / 1024) + " KiB";
}

class PickerTable {
 public:
  std::string Run(const TextCase& one) {
    if (one.command == "tree") return SetTree(one);
    if (one.command == "flush" && one.words.size() == 4) return Flush(one);
    std::optional<CompactionPlan> plan;
    CompactionChoice choice;
    if (one.command == "pick") {
      PickMoment moment = MomentOf(one);
      moment.snapshots = SnapshotsOf(one.Named("snapshots"));
      choice = PickCompaction(*tree_, options_, running_, moment, one.Number("paid", 0));
      plan = choice.plan;
    } else if (one.command == "range" && one.words.size() == 3) {
      plan = PlanRange(*tree_, static_cast<int>(testing_support::NumberOf(one.words[0])),
                       Bound(one.words[1]), Bound(one.words[2]));
    } else if (one.command == "drop" && one.words.size() == 2) {
      const KeySpan span = SpanOf(Bound(one.words[0]), Bound(one.words[1]));
      plan = PickDrop(*tree_, running_, SnapshotList(), span);
    } else {
      return one.NotUnderstood();
    }
    std::string text = plan ? TextOf(*plan, one.Has("paid")) : "nothing\n";
    if (choice.held_until != kSequenceMax)
      text += "held until " + std::to_string(choice.held_until) + "\n";
    for (const auto& [table, bytes] : choice.lacking)
      text += std::to_string(table->meta.number) + " lacks " + std::to_string(bytes >> 10) +
              " KiB of rent\n";
    if (one.Has("paid"))
      text += IsPaidByReaders(*tree_, options_, running_, one.Number("paid", 0)) ? "paid\n"
                                                                                 : "not paid\n";
    if (plan && one.Named("as") == "run") {
      running_.push_back(std::make_shared<const CompactionPlan>(*plan));
      text += Due();
    }
    return text;
  }

 private:
  static std::optional<std::string_view> Bound(const std::string& word) {
    if (word == "-") return std::nullopt;
    return word;
  }

  static std::vector<Sequence> SnapshotsOf(std::string text) {
    std::replace(text.begin(), text.end(), ',', ' ');
    std::vector<Sequence> snapshots;
    for (const std::string& word : testing_support::WordsOf(text))
      snapshots.push_back(testing_support::NumberOf(word));
    return snapshots;
  }

  static PickMoment MomentOf(const TextCase& one) {
    using Turn = PickMoment::Turn;
    PickMoment moment;
    moment.wall_seconds = one.Number("day", 0) * 24 * 60 * 60 + one.Number("second", 0);
    moment.oldest_snapshot = one.Number("snapshot", kSequenceMax);
    moment.tombstones =
        std::array{Turn::kAfterLevels, Turn::kFirst,
                   Turn::kNever}[one.OneOf("tombstones", {"after", "first", "never"})];
    return moment;
  }

  std::string SetTree(const TextCase& one) {
    if (one.Named("plans") != "kept") {
      running_.clear();
      tree_ = nullptr;
      tables_ = std::make_unique<TextTables>(/*kib=*/10);
    }
    options_ = {};
    options_.level1_bytes = one.Number("level1", 64) << 10;
    options_.table_bytes = 64 << 10;
    options_.level0_compaction_tables = static_cast<int>(one.Number("level0", 4));
    options_.compaction_style =
        kCompactionStyles[one.OneOf("style", {"leveled", "tiered", "lazy"})];
    const auto tree = Tree::Create(tables_->Levels(one.input));
    if (!tree.ok()) return tree.status().ToString();
    tree_ = *tree;
    const std::optional<uint64_t> price = PriceForReaders(*tree_, options_);
    return Due() + (price ? "readers may pay " + KiB(*price) + "\n" : "");
  }

  std::string Flush(const TextCase& one) const {
    const auto kib = [&](size_t word) { return testing_support::NumberOf(one.words[word]) << 10; };
    const TableToBe table{KeySpan::OfKeys(one.words[0], one.words[1]), kib(2),
                          static_cast<double>(kib(3)), /*largest_sequence=*/100};
    return IsWorthAFlush(*tree_, table, one.Number("snapshot", kSequenceMax)) ? "worth it\n"
                                                                              : "not worth it\n";
  }

  std::string Due() const {
    const std::optional<int> level = DueLevel({tree_.get(), &options_}, running_);
    return level ? "due L" + std::to_string(*level) + "\n" : "due none\n";
  }

  std::string TextOf(const CompactionPlan& plan, bool with_price) const {
    std::string text = "L" + std::to_string(plan.level) + " -> L" +
                       std::to_string(plan.output_level) + " run " +
                       std::to_string(plan.output_run) + "\n";
    const auto add = [&](const char* name, const OpenTables& tables) {
      if (!tables.empty()) text += std::string(name) + " " + NumbersText(tables) + "\n";
    };
    add("inputs", plan.inputs);
    add("overlapped", plan.overlapped);
    add("grandparents", plan.grandparents);
    add("staying", plan.staying);
    if (plan.trivial_move) text += "moved\n";
    if (plan.for_readers) text += "for readers\n";
    if (plan.for_tombstones) text += "for tombstones\n";
    if (plan.drops) text += "drops\n";
    if (Conflicts(plan, running_)) text += "conflicts\n";
    if (with_price) text += "price " + KiB(PriceOf(plan)) + "\n";
    return text;
  }

  std::unique_ptr<TextTables> tables_;
  Options options_;
  std::shared_ptr<const Tree> tree_;
  std::vector<std::shared_ptr<const CompactionPlan>> running_;
};

class PickerTableTest : public testing::TestWithParam<const char*> {};

TEST_P(PickerTableTest, MatchesTheTables) {
  PickerTable table;
  testing_support::RunTextTable(std::string("tests/lsm/compaction/picker_") + GetParam() + ".txt",
                                [&](const TextCase& one) { return table.Run(one); });
}

INSTANTIATE_TEST_SUITE_P(Tables, PickerTableTest,
                         testing::Values("leveled", "tiered", "lazy", "readers", "beside", "ranges",
                                         "tombstones", "drops"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace lsm
