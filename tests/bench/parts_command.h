// A fixture for a benchmark in parts (bench/experiment/figures.h), as a user runs it.
#ifndef TRELLIS_TESTS_BENCH_PARTS_COMMAND_H_
#define TRELLIS_TESTS_BENCH_PARTS_COMMAND_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/interrupted_run.h"
#include "tests/support/read_file.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"

namespace bench {

class PartsCommandTest : public testing::Test {
 protected:
  explicit PartsCommandTest(std::string program) : program_(std::move(program)) {}

  testing_support::ProgramResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program_);
    arguments.insert(arguments.end(), {"--out", out_});
    return testing_support::RunProgram(arguments);
  }
  void ExpectRefusal(const std::vector<std::string>& arguments, const std::string& why) {
    const testing_support::ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, 2);
    const std::string name = std::filesystem::path(program_).filename();
    EXPECT_THAT(result.err, testing::HasSubstr(name + ": " + why));
    EXPECT_THAT(result.out, testing::IsEmpty());
  }
  // Interrupts the program once its stderr contains `said`.  It must report the part `ended` alone.
  void ExpectReportIfInterrupted(std::vector<std::string> arguments, const std::string& said,
                                 const std::string& ended) {
    arguments.insert(arguments.end(), {"--out", out_});
    const std::string err = scratch_.path_of("stderr");
    std::filesystem::remove(err);  // of an earlier run
    EXPECT_EQ(RunInterrupted(program_, arguments, said, err), 130);
    EXPECT_THAT(FilesOfOut(), testing::ElementsAre("report.html", "report.json"));
    EXPECT_EQ(ReportJson()["interrupted"], true);
    for (const auto& [name, value] : Figures())
      EXPECT_THAT(name, testing::StartsWith(ended + ": "));
  }

  nlohmann::json ReportJson() const {
    return nlohmann::json::parse(testing_support::ReadFile(out_ + "/report.json"));
  }
  // By part and name.
  std::map<std::string, double> Figures() const {
    std::map<std::string, double> figures;
    const nlohmann::json report = ReportJson();
    for (const nlohmann::json& figure : report["figures"]) {
      figures[figure["part"].get<std::string>() + ": " + figure["name"].get<std::string>()] =
          figure["value"];
    }
    return figures;
  }
  std::set<std::string> FilesOfOut() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(out_))
      names.insert(entry.path().filename().string());
    return names;
  }

  const std::string program_;
  const testing_support::ScratchDir scratch_{testing_support::FastFolder()};
  const std::string out_ = scratch_.path_of("out");
};

}  // namespace bench

#endif  // TRELLIS_TESTS_BENCH_PARTS_COMMAND_H_
