// Numbered writes, for tests that follow a store: a view tells how many it has, and what it must
// then hold.
#ifndef TRELLIS_TESTS_LSM_FOLLOW_COUNTED_WRITES_H_
#define TRELLIS_TESTS_LSM_FOLLOW_COUNTED_WRITES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"

namespace lsm {

inline constexpr uint64_t kCountedKeys = 40;

// Write `number`, from 1 on, is a batch: it counts itself in three keys of which one sorts first,
// one last and one in the middle, and puts or deletes another key.
inline WriteBatch CountedWrite(uint64_t number) {
  WriteBatch batch;
  const std::string count = std::to_string(number);
  for (const char* key : {"a", "key20+", "z"}) batch.Put(key, count);
  const std::string key = Concat("key", 10 + number * 7 % kCountedKeys);
  if (number % 5 == 0) {
    batch.Delete(key);
  } else {
    batch.Put(key, Concat(number, ":", std::string(number * 37 % 900, 'v')));
  }
  return batch;
}

// How many writes a view holds.  DataLoss unless it holds exactly those, each as a whole.
inline absl::StatusOr<uint64_t> CountOf(Iterator* iterator) {
  std::map<std::string, std::string> found;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
    found.emplace(iterator->key(), iterator->value());
  if (!iterator->status().ok()) return iterator->status();
  const uint64_t count = found.empty() ? 0 : std::stoull(found.begin()->second);
  std::map<std::string, std::string> expected;
  if (count > 0)
    for (const char* key : {"a", "key20+", "z"}) expected[key] = std::to_string(count);
  for (uint64_t number = count > kCountedKeys ? count - kCountedKeys + 1 : 1; number <= count;
       ++number) {
    if (number % 5 == 0) continue;
    expected[Concat("key", 10 + number * 7 % kCountedKeys)] =
        Concat(number, ":", std::string(number * 37 % 900, 'v'));
  }
  if (found == expected) return count;
  for (const auto& [key, value] : expected) {
    if (found[key] != value)
      return absl::DataLossError(Concat("after ", count, " writes: ", key, " is ",
                                        found[key].substr(0, 20), ", not ", value.substr(0, 20)));
  }
  return absl::DataLossError(Concat("after ", count, " writes: keys are too many"));
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_FOLLOW_COUNTED_WRITES_H_
