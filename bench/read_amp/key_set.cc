#include "bench/read_amp/key_set.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bench/report/page.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/limits.h"

namespace bench {
namespace {

// One key in this many is not stored if no absent keys are given.
constexpr uint64_t kHeldOut = 5;

using KeyIndex = std::unordered_set<std::string_view>;

// Adds the lines of `bytes` without their ends ("\n" or "\r\n").  Empty lines are counted and left
// out.
absl::Status AddLines(const std::string& path, std::string_view bytes,
                      std::vector<std::string_view>* lines, uint64_t* empty_lines) {
  uint64_t number = 0;
  while (!bytes.empty()) {
    ++number;
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) {
      ++*empty_lines;
    } else if (line.size() > lsm::kKeyBytesMax) {
      return absl::InvalidArgumentError(lsm::Concat(path, ": line ", number, " has ", line.size(),
                                                    " bytes; a key may have ", lsm::kKeyBytesMax));
    } else {
      lines->push_back(line);
    }
  }
  return absl::OkStatus();
}

// The bytes of the files; the lines point into them.
struct Lines {
  std::vector<std::string> files;
  std::vector<std::string_view> lines;
};

absl::StatusOr<Lines> ReadLines(const std::vector<std::string>& paths, uint64_t* empty_lines) {
  Lines all;
  for (const std::string& path : paths) {
    TRELLIS_ASSIGN_OR_RETURN(std::string bytes, ReadWhole(path));
    all.files.push_back(std::move(bytes));
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    TRELLIS_RETURN_IF_ERROR(AddLines(paths[i], all.files[i], &all.lines, empty_lines));
  }
  return all;
}

std::string Joined(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) out += (out.empty() ? "" : ", ") + path;
  return out;
}

// Keeps the first of equal lines; returns the number of removed ones.
uint64_t RemoveDuplicates(std::vector<std::string_view>* lines, KeyIndex* index) {
  const size_t before = lines->size();
  index->reserve(before);
  std::erase_if(*lines, [&](std::string_view line) { return !index->insert(line).second; });
  return before - lines->size();
}

void AddShuffled(const std::vector<std::string_view>& keys, uint64_t seed, KeyList* list) {
  for (const uint64_t i : Shuffled(keys.size(), seed)) list->Add(keys[static_cast<size_t>(i)]);
}

// Keeps the lines between the least and the greatest of `stored`; returns the number of removed
// ones.
uint64_t KeepInside(const std::vector<std::string_view>& stored,
                    std::vector<std::string_view>* absent) {
  const auto ends = std::minmax_element(stored.begin(), stored.end());
  const std::string_view least = *ends.first, greatest = *ends.second;
  return std::erase_if(*absent,
                       [&](std::string_view key) { return key < least || key > greatest; });
}

absl::Status MakeFromFiles(const Config& config, KeySet* set) {
  KeyReport& report = set->report;
  report.source = Joined(config.key_files);
  TRELLIS_ASSIGN_OR_RETURN(Lines stored, ReadLines(config.key_files, &report.empty_lines));
  TRELLIS_ASSIGN_OR_RETURN(Lines absent, ReadLines(config.absent_key_files, &report.empty_lines));
  KeyIndex stored_index, absent_index;
  report.duplicates = RemoveDuplicates(&stored.lines, &stored_index);
  if (stored.lines.empty()) {
    return absl::InvalidArgumentError(lsm::Concat(report.source, ": no keys in it"));
  }
  if (config.absent_key_files.empty()) {
    std::vector<std::string_view> kept;
    SplitMix random(config.seed);
    for (const std::string_view key : stored.lines) {
      (random.Below(kHeldOut) == 0 ? absent.lines : kept).push_back(key);
    }
    stored.lines = std::move(kept);
    report.absent_source = "a random fifth of the keys, not stored";
  } else {
    report.absent_source = Joined(config.absent_key_files);
    report.absent_duplicates = RemoveDuplicates(&absent.lines, &absent_index);
    report.absent_stored = std::erase_if(
        absent.lines, [&](std::string_view key) { return stored_index.contains(key); });
  }
  if (!stored.lines.empty()) report.absent_outside = KeepInside(stored.lines, &absent.lines);
  AddShuffled(stored.lines, config.seed, &set->stored);
  AddShuffled(absent.lines, config.seed + 1, &set->absent);
  return absl::OkStatus();
}

void MakeSynthetic(const Config& config, KeySet* set) {
  set->report.source = "synthetic, 16 bytes";
  set->report.absent_source = "the same number of other synthetic keys";
  std::string least(1, 'g'), greatest;  // every key lies between "" and "g"
  for (uint64_t i = 0; i < config.synthetic; ++i) {
    const std::string key = SyntheticKey(i, config.seed);
    least = std::min(least, key);
    greatest = std::max(greatest, key);
    set->stored.Add(key);
  }
  for (uint64_t i = config.synthetic; i < 2 * config.synthetic; ++i) {
    const std::string key = SyntheticKey(i, config.seed);
    if (key < least || key > greatest) {
      ++set->report.absent_outside;
    } else {
      set->absent.Add(key);
    }
  }
}

}  // namespace

absl::StatusOr<KeySet> MakeKeySet(const Config& config) {
  KeySet set;
  if (config.synthetic > 0) {
    MakeSynthetic(config, &set);
  } else {
    TRELLIS_RETURN_IF_ERROR(MakeFromFiles(config, &set));
  }
  if (set.stored.empty() || set.absent.empty()) {
    const KeyReport& report = set.report;
    return absl::InvalidArgumentError(lsm::Concat(
        "nothing to measure: ", set.stored.size(), " keys are to be stored (", report.duplicates,
        " duplicates left out), ", set.absent.size(),
        " absent keys (left out: ", report.absent_duplicates, " duplicates, ", report.absent_stored,
        " that are stored, ", report.absent_outside, " outside of the stored range)"));
  }
  return set;
}

}  // namespace bench
