#include "bench/peers/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/peers/openings.h"
#include "bench/peers/report.h"
#include "bench/peers/results.h"
#include "tests/bench/peers/fake_peer.h"
#include "tests/support/read_file.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/source_directory.h"
#include "tests/support/status_matchers.h"

namespace bench::peers {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

class ComparisonTest : public testing::Test {
 protected:
  ComparisonTest() {
    config_.cells = AllCells({{1000, 20}});
    config_.rounds = 2;
    config_.seconds = 0.001;
    config_.out = scratch_.path();
    for (const char* name : {"A 1.0", "B 2.0"}) {
      peers_.push_back(std::make_unique<FakePeer>(name, &log_));
    }
  }
  FakePeer* second() { return static_cast<FakePeer*>(peers_[1].get()); }

  const testing_support::ScratchDir scratch_;
  ComparisonConfig config_;
  Log log_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

TEST_F(ComparisonTest, StoresAreQuietBeforeTheNextIsTimed) {
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  std::string busy;
  for (const std::string& line : log_) {
    SCOPED_TRACE(line);
    if (!busy.empty()) {
      ASSERT_EQ(line.substr(0, 1), busy);
    }
    if (line.ends_with(" quiet")) {
      busy.clear();
    } else if (line.ends_with(" put") || line.ends_with(" compact") || line.ends_with(" delete") ||
               line.ends_with(" reopen") || line.find(" get ") != std::string::npos) {
      busy = line.substr(0, 1);
    }
  }
  EXPECT_EQ(busy, "");
}

TEST_F(ComparisonTest, MeasuresEveryCellInEveryRound) {
  second()->has_all = false;
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  const Results& results = comparison.results();
  for (const Cell& cell : config_.cells) {
    SCOPED_TRACE(testing::Message() << cell.task->name << " " << NameOf(cell.state) << " "
                                    << NameOf(cell.cache) << " " << cell.threads);
    const CellResult* result = results.Find(cell);
    ASSERT_NE(result, nullptr);
    const bool second_can = cell.cache != Cache::kDirect && cell.task->task != Task::kMultiGet;
    EXPECT_EQ(result->samples[0].size(), 2u);
    EXPECT_EQ(result->samples[1].size(), second_can ? 2u : 0u);
    EXPECT_EQ(result->Ratio().has_value(), second_can);
    for (const std::vector<Sample>& samples : result->samples) {
      for (const Sample& sample : samples) {
        EXPECT_GT(sample.micros, 0);
        if (sample.quiet_micros) {
          EXPECT_GE(*sample.quiet_micros, sample.micros);
        }
        // Each get of a fake counts as a block.
        const bool looks_up = cell.task->task == Task::kGet || cell.task->task == Task::kMultiGet;
        if (looks_up && cell.cache != Cache::kAll) {
          EXPECT_EQ(sample.block_reads, 1.0);
        }
        EXPECT_EQ(sample.latencies.empty(), cell.task->task != Task::kOverload);
      }
    }
  }
  ASSERT_EQ(results.shapes.size(), 3u);
  for (const Shape& shape : results.shapes) {
    const bool is_read = shape.state != State::kTables;
    EXPECT_EQ(shape.RunsAfter(0), is_read ? std::optional<uint64_t>(3) : std::nullopt);
  }
  std::set<std::string> loops;
  for (const auto& [name, micros] : results.loop_micros) {
    EXPECT_GT(micros, 0) << name;
    EXPECT_TRUE(loops.insert(name).second) << name;
  }
  EXPECT_TRUE(loops.contains("get present, 1k x 20 B"));
  EXPECT_TRUE(loops.contains("fillrandom, 1k x 20 B"));
}

TEST_F(ComparisonTest, DeletionsFollowTheCells) {
  config_.cells.clear();
  config_.deletions = {&kDeletions[3], &kDeletions[5]};
  config_.deletion = {100, 0, 1};
  second()->variant = true;
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  const Results& results = comparison.results();
  ASSERT_EQ(results.deletions.size(), 2u);
  for (const DeletionResult& result : results.deletions) {
    EXPECT_FALSE(result.figures[0].empty());
    EXPECT_TRUE(result.figures[1].empty());
  }
  EXPECT_THAT(ToText(DeletionsTable(results)), HasSubstr("sliding window"));
  EXPECT_EQ(ToJson(results)["deletes"].size(),
            results.deletions[0].figures[0].size() + results.deletions[1].figures[0].size());
}

TEST_F(ComparisonTest, AStoreWithoutRangeDeletesHasADash) {
  peers_.push_back(std::make_unique<FakePeer>("C 3.0", &log_));
  second()->has_all = false;
  config_.cells.clear();
  config_.deletions = {&kDeletions[8], &kDeletions[5]};
  config_.deletion = {100, 0, 1};
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  const Table table = DeletionsTable(comparison.results());
  ASSERT_EQ(table.rows[0][0], "delete a range");
  for (const std::vector<std::string>& row : table.rows)
    EXPECT_EQ(row.size(), table.columns.size());
  EXPECT_NE(table.rows[0][2], "-");
  EXPECT_EQ(table.rows[0][3], "-");
  EXPECT_NE(table.rows[0][4], "-");
}

TEST_F(ComparisonTest, RunsOnlyRequestedCells) {
  std::erase_if(config_.cells, [](const Cell& cell) {
    return cell.state != State::kFresh || cell.task->task != Task::kGet || cell.threads > 1;
  });
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A 1.0 put"), 1);
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A 1.0 compact"), 0);
  EXPECT_EQ(comparison.results().cells.size(), config_.cells.size());
}

// A store that is one run already would keep the small tables that openings need.
TEST_F(ComparisonTest, RefillsCompactedStoresAfterOpenings) {
  std::erase_if(config_.cells, [](const Cell& cell) {
    return cell.task->task != Task::kGet && !cell.task->opens();
  });
  std::erase_if(config_.cells, [](const Cell& cell) {
    return cell.state != State::kTables && cell.state != State::kCompacted;
  });
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A 1.0 put"), 2);
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "B 2.0 put"), 2);
}

TEST_F(ComparisonTest, MeasuresVariantsWithoutComparingThem) {
  auto variant = std::make_unique<FakePeer>("A by level", &log_);
  FakePeer* const fake = variant.get();
  fake->variant = true;
  fake->filter_bytes = 1250;
  // Before the other stores, the variant would be taken for one of them.
  peers_.insert(peers_.begin() + 1, std::move(variant));
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  const Results& results = comparison.results();
  ASSERT_EQ(results.stores.size(), 3u);
  EXPECT_EQ(results.stores[2].first, "A by level");
  for (const CellResult& result : results.cells) {
    const bool is_beside =
        result.cell.task->task == Task::kGet && result.cell.state == State::kFresh;
    EXPECT_EQ(result.has(2), is_beside) << result.cell.task->name;
    EXPECT_EQ(result.rivals, 2u);
  }
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A by level put"), 1);
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A by level compact"), 0);
  const Table table = FiltersTable(results);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0][1], "A by level");
  EXPECT_EQ(table.rows[0][3], "10.0");
  EXPECT_EQ(table.rows[0][4], "1.00");  // each get of a fake counts as a block

  CellResult result{Goals()[0].cell, {}};
  for (const double micros : {2, 4, 1}) result.samples.emplace_back(1)[0].micros = micros;
  EXPECT_DOUBLE_EQ(result.Ratio()->median, 2);
  result.rivals = 2;
  EXPECT_DOUBLE_EQ(result.Ratio()->median, 0.5);
}

TEST_F(ComparisonTest, OpeningsHaveManyTables) {
  const FakePeer* const first = static_cast<FakePeer*>(peers_[0].get());
  std::erase_if(config_.cells, [](const Cell& cell) {
    return !cell.task->opens() && cell.task->task != Task::kDelete;
  });
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A 1.0 compact"), 2);  // and once for the deletes
  EXPECT_EQ(first->table_bytes, 0u);
  const Table table = OpeningsTable(comparison.results());
  ASSERT_EQ(table.rows.size(), 4u * 2);
  EXPECT_EQ(table.rows[0][2], "A 1.0");
  EXPECT_EQ(table.rows[0][3], "7");
  EXPECT_EQ(table.rows[0].back(), "");
  EXPECT_GT(std::stod(table.rows[1].back()), 0);
  EXPECT_EQ(ManyTablesBytes(20000000 * uint64_t{116}), 1508000u);
  EXPECT_EQ(ManyTablesBytes(1000), uint64_t{64} << 10);
}

TEST_F(ComparisonTest, FullScansOfLargeDataHaveOneRound) {
  config_.cells = AllCells({{1000, 20}, {1000, 10}});
  config_.single_round_bytes = 36000;
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  for (const CellResult& result : comparison.results().cells) {
    const std::string name = result.cell.task->name;
    const bool passes = name.starts_with("fill") || name.starts_with("scan") ||
                        name == "overwrite" || name == "overload";
    EXPECT_EQ(result.samples[0].size(), passes && result.cell.size.value_bytes == 20 ? 1u : 2u)
        << name;
  }
}

TEST_F(ComparisonTest, RoundsBeginAtTheSameKeyInAllStores) {
  std::erase_if(config_.cells, [](const Cell& cell) {
    return cell.state != State::kCompacted || cell.cache != Cache::kAll || cell.threads > 1 ||
           std::string_view(cell.task->name) != "get present";
  });
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  // Two readers a measurement: one whose lookups do not count, and one whose lookups do.
  std::vector<std::string> keys;
  for (const std::string& line : log_) {
    const size_t at = line.find(" get ");
    if (at != std::string::npos) keys.push_back(line.substr(at + 5));
  }
  ASSERT_EQ(keys.size(), 8u);
  EXPECT_EQ(keys[1], keys[3]);
  EXPECT_EQ(keys[5], keys[7]);
  EXPECT_NE(keys[1], keys[5]);
}

TEST_F(ComparisonTest, EndsAtAWrongValue) {
  class Forgetful : public FakePeer {
   public:
    using FakePeer::FakePeer;
    absl::Status CompactAll() override {
      entries.begin()->second.back() ^= 1;
      return FakePeer::CompactAll();
    }
  };
  peers_[1] = std::make_unique<Forgetful>("B", &log_);
  Comparison comparison(config_, std::move(peers_));
  EXPECT_THAT(comparison.Run(), StatusIs(absl::StatusCode::kInternal, HasSubstr("WRONG ANSWER")));
}

// Collects the names of members of objects at any depth, also in lists.  Skips objects whose
// members are named after their subject.
void CollectMembers(const nlohmann::json& json, std::set<std::string>* members) {
  if (!json.is_structured()) return;
  for (const auto& item : json.items()) {
    if (json.is_object()) members->insert(item.key());
    if (item.key() != "conditions" && item.key() != "loop_us")
      CollectMembers(item.value(), members);
  }
}

TEST_F(ComparisonTest, JsonPageDescribesTheReport) {
  const auto section_of = [](const char* file) {
    const std::string text = testing_support::ReadFile(testing_support::SourceDirectory() / file);
    const size_t begin = text.find("\n## peers_bench\n");
    return begin == text.npos ? std::string() : text.substr(begin);
  };
  const std::string json = section_of("bench/report/JSON.md");
  const std::string readme = section_of("bench/README.md");
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  std::set<std::string> members;
  CollectMembers(ToJson(comparison.results()), &members);
  EXPECT_GT(members.size(), 30u);
  for (const std::string& member : members) EXPECT_THAT(json, HasSubstr("`" + member + "`"));
  for (const TaskInfo& task : kTasks) EXPECT_THAT(readme, HasSubstr(task.name));
}

TEST_F(ComparisonTest, ReportHasEveryTable) {
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  const Results& results = comparison.results();
  const std::string text = ToText(results);
  ASSERT_OK(WriteReport(ReportOf(results), config_));
  const std::string html = testing_support::ReadFile(config_.out + "/report.html");
  for (const Place& place : PlacesOf(results)) {
    const Table table = TimesTable(results, place.size, place.state, place.cache);
    EXPECT_FALSE(table.rows.empty());
    EXPECT_THAT(text, HasSubstr(table.title));
    EXPECT_TRUE(html.find("id=\"table-" + table.id + "\"") != std::string::npos) << table.id;
  }
  for (const Table& table :
       {ReadsTable(results), OpeningsTable(results), LatencyTable(results), ThreadsTable(results),
        ShapesTable(results), ConditionsTable(results)}) {
    EXPECT_FALSE(table.rows.empty()) << table.title;
    EXPECT_THAT(text, HasSubstr(table.title));
    EXPECT_TRUE(html.find("id=\"table-" + table.id + "\"") != std::string::npos) << table.id;
    for (const std::vector<std::string>& row : table.rows)
      EXPECT_EQ(row.size(), table.columns.size());
  }
}

// --- derived figures ---

Results ResultsOf(const std::vector<std::pair<Cell, std::vector<std::vector<double>>>>& cells) {
  Results results;
  results.rounds = 3;
  results.stores = {{"A", ""}, {"B", ""}, {"C", ""}};
  for (const auto& [cell, micros] : cells) {
    CellResult result{cell, {}};
    for (const std::vector<double>& rounds : micros) {
      std::vector<Sample>& samples = result.samples.emplace_back();
      for (const double value : rounds) samples.emplace_back().micros = value;
    }
    results.cells.push_back(std::move(result));
  }
  return results;
}

TEST(ResultsTest, RatiosCompareWithTheBestPeerOfEachRound) {
  const Cell cell = Goals()[0].cell;
  const Results results = ResultsOf({{cell, {{1, 2, 30}, {2, 10, 10}, {4, 5, 40}}}});
  EXPECT_DOUBLE_EQ(results.cells[0].Ratio()->median, 0.5);  // of 1/2, 2/5, 30/10
  EXPECT_DOUBLE_EQ(results.cells[0].Ratio()->max, 3);
  EXPECT_FALSE(ResultsOf({{cell, {{1, 2, 3}, {}, {}}}}).cells[0].Ratio().has_value());
}

TEST(ResultsTest, WorstMissedGoalsComeFirst) {
  const auto with_ratio = [](const Goal& goal, double factor) {
    const double micros = goal.ratio * factor;
    return std::pair<Cell, std::vector<std::vector<double>>>{goal.cell, {{micros}, {1}, {2}}};
  };
  const Results results = ResultsOf(
      {with_ratio(Goals()[0], 0.5), with_ratio(Goals()[1], 3), with_ratio(Goals()[2], 1.5)});
  const Table table = GoalsTable(results);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0][0], Goals()[1].cell.task->name);
  EXPECT_EQ(table.rows[0].back(), "missed");
  EXPECT_EQ(table.rows[1].back(), "missed");
  EXPECT_EQ(table.rows[2].back(), "reached");
}

// A goal is an upper limit, of the first store's value or of its part of the best other's.
TEST(ResultsTest, DeletionsReachGoalsFromBelow) {
  Results results = ResultsOf({});
  const auto row_ends = [&](double micros, double ratio, double other, double better) {
    const auto figures = [](double get, double times) {
      return std::vector<DeletionFigure>{{"us/get", get, std::nullopt, 0.2},
                                         {"times as long", times, 1.2, std::nullopt}};
    };
    results.deletions = {
        {&kDeletions.back(), {figures(micros, ratio), figures(other, 1), figures(better, 1)}}};
    std::string ends;
    const Table table = DeletionsTable(results);
    for (const std::vector<std::string>& row : table.rows) {
      EXPECT_EQ(row.size(), table.columns.size());
      ends += (ends.empty() ? "" : " ") + (row.back().empty() ? "-" : row.back());
    }
    return ends;
  };
  EXPECT_EQ(row_ends(1, 1.1, 9, 6), "- reached reached");
  EXPECT_EQ(row_ends(1, 1.3, 9, 6), "- reached missed");
  EXPECT_EQ(row_ends(1, 1.1, 9, 4), "- missed reached") << "a quarter of the better one";
  EXPECT_EQ(row_ends(1, 1.3, 4, 9), "- missed missed");
  EXPECT_EQ(DeletionsTable(results).rows[1][2], "0.250");
  EXPECT_DOUBLE_EQ(ToJson(results)["deletes"][0]["share"], 0.25);
  // Without another store there is nothing to compare with.
  results.deletions[0].figures = {results.deletions[0].figures[0], {}, {}};
  EXPECT_EQ(DeletionsTable(results).rows.size(), 2u);
}

TEST(ResultsTest, GoalsAreMeasurableCells) {
  const std::vector<Cell> cells = AllCells({{2000000, 100}, {20000000, 100}});
  for (const Goal& goal : Goals()) {
    EXPECT_EQ(std::count(cells.begin(), cells.end(), goal.cell), 1) << goal.cell.task->name;
    EXPECT_EQ(GoalOf(goal.cell), &goal);
  }
}

TEST(DataSizeTest, ReadsSizes) {
  EXPECT_EQ(ParseDataSize("20M:100"), (DataSize{20000000, 100}));
  EXPECT_EQ(ParseDataSize("1500:1k"), (DataSize{1500, 1000}));
  EXPECT_EQ((DataSize{2000000, 100}).name(), "2M x 100 B");
  for (const char* const bad : {"", "20M", "20M:", ":100", "20G:100", "-1:100", "999:1", "1M:1x",
                                "5000M:1", "1M:2M", "99999999999999999999M:1"})
    EXPECT_EQ(ParseDataSize(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace bench::peers
