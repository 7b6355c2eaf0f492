// An input of a merge, for tests.
#ifndef TRELLIS_TESTS_LSM_BASE_VECTOR_ITERATOR_H_
#define TRELLIS_TESTS_LSM_BASE_VECTOR_ITERATOR_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"

namespace lsm {

using Entry = std::pair<std::string, std::string>;  // internal key, value

inline bool Precedes(const Entry& a, const Entry& b) {
  return CompareInternalKeys(a.first, b.first) < 0;
}

inline std::string Key(std::string_view user_key, Sequence sequence) {
  std::string key;
  AppendInternalKey(&key, user_key, sequence, EntryKind::kPut);
  return key;
}

// A sorted vector, whose moves fail from the `moves_left`-th on.  key() and value() change their
// address with each move, so that sanitizers detect a view that is kept too long.
class VectorIterator : public InnerIterator {
 public:
  explicit VectorIterator(std::vector<Entry> entries, int* moves_left = nullptr)
      : entries_(std::move(entries)), at_(entries_.size()), moves_left_(moves_left) {}

  bool Valid() const override { return at_ < entries_.size(); }
  void SeekToFirst() override { MoveTo(0); }
  void SeekToLast() override { MoveTo(entries_.size() - 1); }
  void Seek(std::string_view target) override {
    NoteSeek(target);
    MoveTo(CountBefore(target));
  }
  void SeekForPrev(std::string_view target) override {
    NoteSeek(target);
    size_t at = CountBefore(target);
    if (at == entries_.size() || CompareInternalKeys(entries_[at].first, target) != 0) --at;
    MoveTo(at);
  }
  void Next() override {
    ASSERT_TRUE(Valid());
    MoveTo(at_ + 1);
  }
  void Prev() override {
    ASSERT_TRUE(Valid());
    MoveTo(at_ - 1);
  }
  std::string_view key() const override { return *key_; }
  std::string_view value() const override { return entries_[at_].second; }
  absl::Status status() const override {
    return failed_ ? absl::DataLossError("told to") : absl::OkStatus();
  }
  void PrefetchSeek(std::string_view target, int step) override {
    if (prefetches_ != nullptr) prefetches_->emplace_back(target, step);
  }
  // Records the requests to load ahead.
  void NoteIn(std::vector<std::pair<std::string, int>>* prefetches) { prefetches_ = prefetches; }

  // The calls that it got.
  struct Work {
    std::vector<std::string> seeks;  // their targets
    size_t moves = 0;                // all of them
  };
  void CountIn(Work* work) { work_ = work; }

 private:
  size_t CountBefore(std::string_view target) const {
    const auto at = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return CompareInternalKeys(entry.first, target) < 0;
    });
    return static_cast<size_t>(at - entries_.begin());
  }
  void NoteSeek(std::string_view target) {
    if (work_ != nullptr) work_->seeks.emplace_back(target);
  }
  void MoveTo(size_t at) {
    if (work_ != nullptr) ++work_->moves;
    failed_ = moves_left_ != nullptr && (*moves_left_)-- <= 0;
    at_ = failed_ ? entries_.size() : at;
    if (Valid()) key_ = std::make_unique<std::string>(entries_[at_].first);
  }

  const std::vector<Entry> entries_;
  size_t at_;
  int* const moves_left_;
  bool failed_ = false;
  std::unique_ptr<std::string> key_;
  std::vector<std::pair<std::string, int>>* prefetches_ = nullptr;
  Work* work_ = nullptr;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_BASE_VECTOR_ITERATOR_H_
