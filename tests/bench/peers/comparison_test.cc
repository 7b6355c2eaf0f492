#include "bench/peers/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scratch_dir.h"
#include "tests/support/source_directory.h"
#include "tests/support/status_matchers.h"

namespace bench {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

// What was done to the stores, in order: "A open", "A put", "A quiet", "A get 7"; repetitions of
// puts are left out, and of gets all but the first after something else.
using Log = std::vector<std::string>;

// In memory, and with work in the background from its first put until it is waited for.
class FakePeer : public Peer {
 public:
  FakePeer(std::string name, Log* log) : name_(std::move(name)), log_(log) {}

  std::string name() const override { return name_; }
  std::string details() const override { return "in memory"; }
  absl::Status Open(const std::string&, const PeerSettings&) override {
    entries_.clear();
    Note("open");
    return absl::OkStatus();
  }
  absl::Status Close() override { return absl::OkStatus(); }
  absl::Status Put(std::string_view key, std::string_view value) override {
    entries_[std::string(key)] = value;
    Note("put");
    return absl::OkStatus();
  }
  absl::Status WaitUntilQuiet() override {
    Note("quiet");
    return absl::OkStatus();
  }
  absl::Status CompactAll() override {
    Note("compact");
    return absl::OkStatus();
  }
  absl::Status Scan(uint64_t* entries) override {
    *entries = entries_.size();
    return absl::OkStatus();
  }
  Answer Get(std::string_view key, std::string_view* value) override {
    if (log_->back().compare(0, name_.size() + 4, name_ + " get") != 0) {
      Note("get " + std::string(key));
    }
    const auto at = entries_.find(std::string(key));
    if (at == entries_.end()) return Answer::kAbsent;
    *value = at->second;
    return Answer::kFound;
  }

  std::map<std::string, std::string>* entries() { return &entries_; }

 private:
  void Note(const std::string& what) {
    const std::string line = name_ + " " + what;
    if (log_->empty() || log_->back() != line) log_->push_back(line);
  }

  const std::string name_;
  Log* const log_;
  std::map<std::string, std::string> entries_;
};

class ComparisonTest : public testing::Test {
 protected:
  ComparisonTest() {
    config_.keys = 1000;
    config_.value_bytes = 20;
    config_.rounds = 2;
    config_.seconds = 0.01;
    config_.out = scratch_.path();
    for (const char* name : {"A", "B"}) {
      peers_.push_back(std::make_unique<FakePeer>(name, &log_));
    }
  }

  const testing_support::ScratchDir scratch_;
  ComparisonConfig config_;
  Log log_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

TEST_F(ComparisonTest, AStoreIsLeftQuietBeforeTheNextOneIsTimed) {
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
    } else if (line.ends_with(" put") || line.ends_with(" compact")) {
      busy = line.substr(0, 1);
    }
  }
  EXPECT_EQ(busy, "");
}

TEST_F(ComparisonTest, TheWholeFillIsReportedApart) {
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  const nlohmann::ordered_json json = comparison.ToJson();
  const auto& figures = json["us_per_operation"];
  for (const char* row : {"fillrandom", "fillrandom, CPU", "fill until quiet",
                          "fill until quiet, CPU", "get absent", "get present"}) {
    EXPECT_TRUE(figures.contains(row)) << row;
  }
  for (const char* store : {"A", "B"}) {
    EXPECT_GE(figures["fill until quiet"][store]["min"], figures["fillrandom"][store]["min"]);
  }
  for (const char* loop : {"fillrandom", "get absent", "get present"}) {
    EXPECT_GT(json["loop_us"][loop], 0) << loop;
  }
  EXPECT_THAT(comparison.ToText(), HasSubstr("fill until quiet"));
}

TEST_F(ComparisonTest, EveryMemberOfTheJsonIsInTheReadme) {
  std::ifstream file(testing_support::SourceDirectory() / "bench/README.md");
  std::stringstream readme;
  readme << file.rdbuf();
  const size_t begin = readme.str().find("\n## peers_bench\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string text = readme.str().substr(begin);
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  const nlohmann::json json = comparison.ToJson();
  const nlohmann::json& row = json["us_per_operation"]["fillrandom"];
  std::set<std::string> members;
  for (const nlohmann::json& object : {json, row, row["A"]}) {
    for (const auto& member : object.items()) members.insert(member.key());
  }
  members.erase("A");
  members.erase("B");
  for (const std::string& member : members) EXPECT_THAT(text, HasSubstr("`" + member + "`"));
}

TEST_F(ComparisonTest, RoundsBeginAtOneKeyForAllStoresAndAtAnotherOneEachTime) {
  Comparison comparison(config_, std::move(peers_));
  ASSERT_OK(comparison.Run());
  // The last lines are those of present keys, two rounds of two stores.
  Log gets;
  for (const std::string& line : log_) {
    if (line.find(" get ") != std::string::npos) gets.push_back(line);
  }
  ASSERT_GE(gets.size(), 4u);
  const auto key = [&](size_t from_end) { return gets[gets.size() - from_end].substr(6); };
  EXPECT_EQ(key(4), key(3));
  EXPECT_EQ(key(2), key(1));
  EXPECT_NE(key(3), key(2));
}

TEST_F(ComparisonTest, AWrongValueEndsIt) {
  class Forgetful : public FakePeer {
   public:
    using FakePeer::FakePeer;
    absl::Status CompactAll() override {
      entries()->begin()->second.back() ^= 1;
      return FakePeer::CompactAll();
    }
  };
  peers_[1] = std::make_unique<Forgetful>("B", &log_);
  Comparison comparison(config_, std::move(peers_));
  EXPECT_THAT(comparison.Run(), StatusIs(absl::StatusCode::kInternal, HasSubstr("WRONG ANSWER")));
}

}  // namespace
}  // namespace bench
