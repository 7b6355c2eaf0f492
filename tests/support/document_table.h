// Tables of documents, for tests that compare them with the code.
#ifndef TRELLIS_TESTS_SUPPORT_DOCUMENT_TABLE_H_
#define TRELLIS_TESTS_SUPPORT_DOCUMENT_TABLE_H_

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"

namespace testing_support {

// The rows of the first table below a heading, without the table's head; each row is a list of
// cells.  Empty if the document has no such heading or table.  No cell may contain "|".
inline std::vector<std::vector<std::string>> TableBelow(const std::string& document,
                                                        const std::string& heading) {
  std::istringstream lines(ReadFile(SourceDirectory() / document));
  std::vector<std::vector<std::string>> rows;
  std::string line;
  while (std::getline(lines, line) && line != heading) continue;
  while (std::getline(lines, line) && !line.starts_with("|---")) continue;
  while (std::getline(lines, line) && line.starts_with("|")) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (size_t begin = 1, end; (end = line.find('|', begin)) != line.npos; begin = end + 1) {
      const size_t first = line.find_first_not_of(' ', begin);
      const size_t after = line.find_last_not_of(' ', end - 1) + 1;
      cells.push_back(first < after ? line.substr(first, after - first) : "");
    }
  }
  return rows;
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_DOCUMENT_TABLE_H_
