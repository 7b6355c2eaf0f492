// A sample store and functions that run commands on it.
#ifndef TRELLIS_TESTS_TOOLS_COMMANDS_FIXTURE_H_
#define TRELLIS_TESTS_TOOLS_COMMANDS_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lsm/memory_file_system.h"
#include "lsm/version/version_edit.h"
#include "tests/tools/sample_store.h"

namespace tools {

class CommandsTest : public testing::Test {
 protected:
  CommandsTest() { MakeSampleStore(files_, "s"); }

  RunResult Run(const std::vector<std::string>& arguments, const Terminal& terminal = {}) {
    return tools::Run(files_, arguments, terminal);
  }
  // The only result of a command that must end with `code`.
  nlohmann::json Result(std::vector<std::string> arguments, int code = 0) {
    const nlohmann::json document = Document(std::move(arguments), code);
    EXPECT_EQ(document["results"].size(), 1u);
    return document["results"][0];
  }
  nlohmann::json Document(std::vector<std::string> arguments, int code = 0) {
    const std::string command = arguments[0];
    arguments.insert(arguments.begin(), "--json");
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, code) << result.out << result.err;
    EXPECT_EQ(result.err, "");
    nlohmann::json document = ParseOutput(result.out);
    EXPECT_EQ(document["exit_code"], code);
    EXPECT_EQ(document["command"], command);
    return document;
  }

  // Makes a store in `path` with all its writes in log 2.  Returns its directory.
  std::unique_ptr<lsm::Directory> MakeStoreOfALog(
      const std::string& path, const std::vector<std::vector<SampleEntry>>& batches) {
    auto directory = files_.OpenDirectory(path, true).value();
    lsm::VersionEdit snapshot;
    snapshot.next_file_number = 3;
    snapshot.oldest_log = 2;
    MakeManifest(*directory, snapshot);
    MakeLog(*directory, 2, batches, LogState::kOpen);
    return directory;
  }

  lsm::MemoryFileSystem files_;
};

inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The columns that a line of output takes on a terminal, without its colours.
inline size_t LineColumnsOf(const std::string& line) {
  size_t columns = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      i = line.find('m', i);
    } else if (line[i] == '\t') {
      columns += 8 - columns % 8;
    } else if ((line[i] & 0xc0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

}  // namespace tools

#endif  // TRELLIS_TESTS_TOOLS_COMMANDS_FIXTURE_H_
