#include "lsm/block/block_iterator.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "lsm/base/key_head.h"
#include "lsm/block/block_entry.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kInternalKeyBytesMax = kTreeKeyBytesMax + kInternalKeySuffixBytes;
constexpr size_t kPassedKeyBytesMax = size_t{256} << 10;
constexpr std::string_view kMisplacedRestart =
    "a restart offset is not that of an entry with its whole key";

}  // namespace

int BlockIterator::Compare(std::string_view a, std::string_view b) const {
  return internal_keys_ ? CompareInternalKeys(a, b) : a.compare(b);
}

void BlockIterator::Invalidate() {
  valid_ = false;
  key_.clear();
  value_ = {};
}

void BlockIterator::Fail(std::string_view problem) {
  Invalidate();
  problem_ = problem;
}

absl::Status BlockIterator::status(std::string_view context) const {
  if (problem_.empty()) return absl::OkStatus();
  return absl::DataLossError(
      Concat(context, ": ", problem_, " (byte ", current_, " of the block)"));
}

void BlockIterator::GoToRestart(uint32_t restart) {
  ForgetPassed();
  SetRestart(restart);
  next_ = block_.restart_offset(restart);
  first_in_run_ = true;
  valid_ = false;
}

bool BlockIterator::InOrder(uint32_t shared, std::string_view tail) {
  const size_t suffix_bytes = internal_keys_ ? kInternalKeySuffixBytes : 0;
  const size_t size_bytes = shared + tail.size();
  // Mostly the byte after the shared ones decides, if it belongs to the user key in both.
  if (shared + suffix_bytes < std::min(key_.size(), size_bytes)) {
    const auto before = static_cast<uint8_t>(key_.view()[shared]);
    const auto after = static_cast<uint8_t>(tail[0]);
    if (before != after) return before < after;
  }
  // Skips the common bytes, except for the length of a suffix.  So versions of a long key cost no
  // more than those of a short one.
  const size_t skipped = shared - std::min<size_t>(shared, kInternalKeySuffixBytes);
  scratch_.assign(key_.view().substr(skipped, shared - skipped));
  scratch_.append(tail);
  const int order = Compare(key_.view().substr(skipped), scratch_);
  // Index keys may be equal, internal keys may not.
  return internal_keys_ ? order < 0 : order <= 0;
}

bool BlockIterator::ParseNext() {
  current_ = next_;
  if (current_ >= block_.entries_bytes()) {
    if (restart_ + 1 != block_.restart_count()) {
      Fail(kMisplacedRestart);
    } else {
      Invalidate();
    }
    return false;
  }
  BlockEntry entry;
  const char* const begin = block_.bytes().data();
  if (!ReadBlockEntry(begin + current_, begin + block_.entries_bytes(), &entry)) {
    Fail("an entry extends beyond its block");
    return false;
  }
  if (current_ >= next_restart_offset_) {
    const bool is_placed = current_ == next_restart_offset_ && entry.shared == 0;
    SetRestart(restart_ + 1);
    if (!is_placed) {
      Fail(kMisplacedRestart);
      return false;
    }
  }
  if (entry.shared > (first_in_run_ ? 0 : key_.size())) {
    Fail("an entry shares more bytes than the key before it has");
    return false;
  }
  if (internal_keys_ && entry.shared + entry.key_tail.size() < kInternalKeySuffixBytes) {
    Fail("a key is too short for an internal key");
    return false;
  }
  // Checked before the key is built: with shared bytes, small blocks can hold many huge keys.
  if (entry.shared + entry.key_tail.size() >
      (internal_keys_ ? kInternalKeyBytesMax : kTreeKeyBytesMax)) {
    Fail("a key is longer than the limit");
    return false;
  }
  if (!first_in_run_ && !InOrder(entry.shared, entry.key_tail)) {
    Fail("keys are out of order");
    return false;
  }
  key_.Splice(entry.shared, entry.key_tail);
  if (internal_keys_ && !IsSoundEntry(SuffixOf(key_), entry.value.size())) {
    Fail(IsEntryKind(SuffixOf(key_) & 0xff) ? "a value is too short for its time"
                                            : "an entry has an unknown kind");
    return false;
  }
  value_ = entry.value;
  next_ = static_cast<uint32_t>(entry.end() - begin);
  first_in_run_ = false;
  valid_ = true;
  return true;
}

bool BlockIterator::FindRestart(std::string_view target, uint32_t* restart) {
  const char* const begin = block_.bytes().data();
  const char* const limit = begin + block_.entries_bytes();
  uint32_t low = 0;
  uint32_t high = block_.restart_count() - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    BlockEntry entry;
    if (!ReadBlockEntry(begin + block_.restart_offset(middle), limit, &entry) ||
        entry.shared != 0 || (internal_keys_ && entry.key_tail.size() < kInternalKeySuffixBytes)) {
      current_ = block_.restart_offset(middle);
      Fail(kMisplacedRestart);
      return false;
    }
    if (Compare(entry.key_tail, target) < 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  *restart = low;
  return true;
}

void BlockIterator::SeekToFirst() {
  problem_ = {};
  GoToRestart(0);
  ParseNext();
}

void BlockIterator::SeekToLast() {
  problem_ = {};
  GoToRestart(block_.restart_count() - 1);
  while (ParseNext() && next_ < block_.entries_bytes()) {
  }
}

bool BlockIterator::Land(std::string_view user_key) {
  const char* const begin = block_.bytes().data();
  __builtin_prefetch(begin + block_.bytes().size() - 1);  // the restarts
  const std::optional<Block::Landing> landing = block_.LandAt(user_key, signposts_);
  if (!landing) return false;
  const BlockEntry& entry = landing->entry;
  const size_t key_bytes = size_t{entry.shared} + entry.key_tail.size();
  // If the entry is impossible, the walk from its restart tells what is wrong.
  if (entry.key_tail.size() < kInternalKeySuffixBytes || key_bytes > kInternalKeyBytesMax ||
      !IsSoundEntry(SuffixOf(entry.key_tail), entry.value.size())) {
    return false;
  }
  ForgetPassed();
  key_.assign(user_key.substr(0, entry.shared));
  key_.append(entry.key_tail);
  value_ = entry.value;
  current_ = landing->offset;
  next_ = static_cast<uint32_t>(entry.end() - begin);
  SetRestart(block_.RestartBefore(current_));
  first_in_run_ = false;
  valid_ = true;
  return true;
}

void BlockIterator::Seek(std::string_view target) {
  problem_ = {};
  if (internal_keys_ && Land(UserKeyOf(target))) {
    // Skips versions that are too new.
    while (valid_ && Compare(key_, target) < 0) ParseNext();
    return;
  }
  uint32_t restart = 0;
  if (!FindRestart(target, &restart)) return;
  GoToRestart(restart);
  while (ParseNext() && Compare(key_, target) < 0) {
  }
}

void BlockIterator::SeekForPrev(std::string_view target) {
  Seek(target);
  if (!problem_.empty()) return;
  if (!valid_) {
    SeekToLast();
  } else if (Compare(key_, target) > 0) {
    Prev();
  }
}

void BlockIterator::Next() {
  assert(valid_);
  ForgetPassed();
  ParseNext();
}

void BlockIterator::Pass() {
  // Bounds the memory for long keys: only the last ones of the run are kept.
  if (passed_keys_.size() + key_.size() > kPassedKeyBytesMax) ForgetPassed();
  passed_.push_back({current_, next_, passed_keys_.size(), value_});
  passed_keys_.append(key_.view());
}

void BlockIterator::TakePassed() {
  const Passed& entry = passed_.back();
  current_ = entry.offset;
  next_ = entry.end;
  key_.assign(std::string_view(passed_keys_).substr(entry.key_begin));
  value_ = entry.value;
  passed_keys_.resize(entry.key_begin);
  passed_.pop_back();
}

void BlockIterator::Prev() {
  assert(valid_);
  if (!passed_.empty()) return TakePassed();
  const uint32_t original = current_;
  uint32_t restart = restart_;
  while (block_.restart_offset(restart) >= original) {
    if (restart == 0) {
      Invalidate();
      return;
    }
    --restart;
  }
  const std::string key_after(key_.view());
  GoToRestart(restart);
  while (ParseNext() && next_ < original) Pass();
  if (!valid_) return;
  if (next_ != original) {
    Fail(kMisplacedRestart);
  } else if (const int order = Compare(key_, key_after); internal_keys_ ? order >= 0 : order > 0) {
    Fail("keys are out of order");
  }
}

}  // namespace lsm
