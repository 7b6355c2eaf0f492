// Surveys a damaged store: reads every entry in a block that verifies, every record of a log that
// verifies, and the statements about keyspaces in these and in the manifest.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_SURVEY_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_SURVEY_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/base/range_map.h"
#include "lsm/version/manifest.h"
#include "tests/reliability/faults/disk.h"

namespace reliability {

// The statements about one thing, by their sequences.  Those in the store's own files count.  Those
// in other files, for example in another store's, may be taken for true or not.
template <typename T>
class Statements {
 public:
  void Note(lsm::Sequence sequence, T value, bool is_home) {
    all_.emplace(sequence, std::move(value));
    if (is_home) newest_ = std::max(newest_.value_or(0), sequence);
  }
  // Whether a statement says this that is at least as new as the newest one in files of the store.
  bool Allow(const T& value) const {
    return std::any_of(newest_ ? all_.lower_bound(*newest_) : all_.begin(), all_.end(),
                       [&](const auto& each) { return each.second == value; });
  }
  bool are_home() const { return newest_.has_value(); }  // any is in a file of the store

 private:
  std::multimap<lsm::Sequence, T> all_;
  std::optional<lsm::Sequence> newest_;
};

// A store's own files, as far as they are known.
struct Home {
  std::map<uint64_t, uint64_t> table_ids;
  std::map<uint64_t, uint64_t> log_ids;
  // The manifest that CURRENT names, if it is readable and has all files that it needs.
  std::optional<lsm::ManifestState> manifest;
  uint64_t next_keyspace_id = lsm::kOtherKeyspaceMin;  // of that manifest, if it is readable
};

struct SurveyedKeyspace {
  using Value = std::optional<std::string>;  // nullopt: the key was deleted
  using Options = std::pair<lsm::KeyspaceOptions, lsm::ExpiryMarks>;

  std::map<std::string, Statements<Value>> keys;
  Statements<std::optional<std::string>> name;  // nullopt: the keyspace was dropped
  Statements<Options> options;
  bool has_home_entries = false;
  // Whether a statement says that it has a tree of its own, or a table of this tree exists.
  bool may_have_tree = false;
  bool has_tree = false;  // the same, in files of the store
  bool has_left = false;  // its entries in the common tree are dead

  // Range deletes, and whether they are in files of the store.
  std::vector<std::pair<lsm::RangeMap, bool>> ranges;
};

struct Surveyed {
  std::map<lsm::KeyspaceId, SurveyedKeyspace>
      keyspaces;                              // "default" is one, and the common tree none
  uint64_t next_id = lsm::kOtherKeyspaceMin;  // above all that are in files of the store
};

// `before`: the manifest before the store was damaged.  A repair may still have it, in a file that
// CURRENT does not name.
Surveyed SurveyStore(const Image& image, const Home& home, const lsm::ManifestState& before);

// The file with this path, which ends with a name of a file of the store.
absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenFileOf(lsm::MemoryFileSystem& files,
                                                          const std::string& path);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_SURVEY_H_
