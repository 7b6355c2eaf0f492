#include "lsm/engine/db_iterator.h"

#include <cassert>
#include <new>
#include <string>
#include <utility>

#include "lsm/base/key_buffer.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Entries of one user key stand together, newest first:
//
//   a@9 put   a@4 put   b@8 delete   b@2 put   c@5 put
//
// Forward, the first visible entry of a key decides, so `entries_` stands on it while the iterator
// is valid.  Backward, the last visible entry of a key decides.  So the iterator passes all entries
// of the key, and keeps the deciding one in `saved_*`.
//
// A key that is overwritten often has many entries in the memtable.  After kPassedMax of them a
// seek skips the rest, so a step costs at most kPassedMax entries and a seek.
constexpr int kPassedMax = 32;  // entries of one key: about what a seek costs

class DbIterator final : public Iterator {
 public:
  DbIterator(std::unique_ptr<Iterator> entries, Sequence sequence, IteratorBounds bounds,
             const SeekTimer& timer, std::function<void(uint64_t seeks)> on_destroy)
      : entries_(std::move(entries)),
        sequence_(sequence),
        bounds_(std::move(bounds)),
        timer_(timer),
        on_destroy_(std::move(on_destroy)) {}
  ~DbIterator() override {
    entries_.reset();
    on_destroy_(seeks_);
  }

  bool Valid() const override { return valid_; }

  void SeekToFirst() override {
    CountedSeek([&] { DoSeekToFirst(); });
  }
  void SeekToLast() override {
    CountedSeek([&] { DoSeekToLast(); });
  }
  void Seek(std::string_view target) override {
    CountedSeek([&] { DoSeek(target); });
  }
  void SeekForPrev(std::string_view target) override {
    CountedSeek([&] { DoSeekForPrev(target); });
  }
  void Next() override {
    Move([&] { DoNext(); });
  }
  void Prev() override {
    Move([&] { DoPrev(); });
  }

  std::string_view key() const override {
    assert(valid_);
    return user_key_;
  }
  std::string_view value() const override {
    assert(valid_);
    return direction_ == Direction::kForward ? entries_->value() : std::string_view(saved_value_);
  }
  absl::Status status() const override {
    return out_of_memory_ ? OutOfMemory() : entries_->status();
  }

 private:
  enum class Direction : uint8_t { kForward, kBackward };

  // If there is no memory for a move, the iterator becomes invalid.  Its parts may then stand
  // anywhere, and any seek positions all of them again.
  template <typename Call>
  void Move(const Call& call) {
    out_of_memory_ = false;
    try {
      call();
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
      valid_ = false;
    }
  }

  template <typename Call>
  void CountedSeek(const Call& call) {
    if ((timer_.first + seeks_++) % kSeeksPerTime != 0 || timer_.counters == nullptr) [[likely]]
      return Move(call);
    const uint64_t from = timer_.clock->MonotonicNanos();
    Move(call);
    timer_.counters->AddTime(Timed::kSeek, timer_.clock->MonotonicNanos() - from);
  }

  void DoSeekToFirst() {
    if (bounds_.lower) {
      SeekInternal(*bounds_.lower);
    } else {
      entries_->SeekToFirst();
    }
    direction_ = Direction::kForward;
    FindForward(/*skip_saved=*/false);
  }

  void DoSeekToLast() {
    direction_ = Direction::kBackward;
    if (bounds_.upper) {
      SeekBefore(*bounds_.upper);
    } else {
      entries_->SeekToLast();
    }
    FindBackward();
  }

  void DoSeek(std::string_view target) {
    if (bounds_.lower && target < *bounds_.lower) target = *bounds_.lower;
    SeekInternal(target);
    direction_ = Direction::kForward;
    FindForward(/*skip_saved=*/false);
  }

  void DoSeekForPrev(std::string_view target) {
    if (bounds_.upper && target >= *bounds_.upper) return DoSeekToLast();
    direction_ = Direction::kBackward;
    // The oldest entry of `target` is the last one at or before it.
    seek_key_.clear();
    AppendInternalKey(&seek_key_, target, 0, EntryKind::kDelete);
    entries_->SeekForPrev(seek_key_);
    FindBackward();
  }

  void DoNext() {
    assert(valid_);
    if (direction_ == Direction::kBackward) {
      // `entries_` stands before all entries of the current key (or nowhere): goes to the first of
      // them.
      direction_ = Direction::kForward;
      if (entries_->Valid()) {
        entries_->Next();
      } else {
        entries_->SeekToFirst();
      }
      // saved_key_ holds the current key: skip what is left of it.
    } else {
      saved_key_.assign(user_key_);
      entries_->Next();
    }
    FindForward(/*skip_saved=*/true);
  }

  void DoPrev() {
    assert(valid_);
    if (direction_ == Direction::kForward) {
      saved_key_.assign(user_key_);
      direction_ = Direction::kBackward;
      // Back over all entries of the current key.
      for (int passed = 0; entries_->Valid() && UserKeyOf(entries_->key()) == saved_key_.view();) {
        ++passed <= kPassedMax ? entries_->Prev() : SeekBefore(saved_key_);
      }
    }
    FindBackward();
  }

  // Seeks to the newest visible entry of `user_key`, or the entry after its place.
  void SeekInternal(std::string_view user_key) {
    seek_key_.clear();
    AppendInternalKey(&seek_key_, user_key, sequence_, kEntryKindMax);
    entries_->Seek(seek_key_);
  }

  // Seeks to the oldest possible entry of `user_key`, or the entry after its place.
  void SeekToOldest(std::string_view user_key) {
    seek_key_.clear();
    AppendInternalKey(&seek_key_, user_key, 0, EntryKind::kDelete);
    entries_->Seek(seek_key_);
  }

  // Seeks to the last entry of the last user key before `user_key`.
  void SeekBefore(std::string_view user_key) {
    seek_key_.clear();
    AppendInternalKey(&seek_key_, user_key, kSequenceMax, kEntryKindMax);
    entries_->SeekForPrev(seek_key_);
    // No entry can have that very key, unless one was written with the highest sequence number.
    while (entries_->Valid() && UserKeyOf(entries_->key()) >= user_key) entries_->Prev();
  }

  bool BehindUpper(std::string_view user_key) const {
    return bounds_.upper && user_key >= *bounds_.upper;
  }
  bool BeforeLower(std::string_view user_key) const {
    return bounds_.lower && user_key < *bounds_.lower;
  }

  // Moves to the first entry, from the position of `entries_` on, that a user may see.  Skips
  // entries of deleted keys and, with `skip_saved`, those of saved_key_.
  void FindForward(bool skip_saved) {
    bool skipping = skip_saved;
    int passed = 0;
    while (entries_->Valid()) {
      const std::string_view internal_key = entries_->key();
      const std::string_view user_key = UserKeyOf(internal_key);
      const uint64_t suffix = SuffixOf(internal_key);
      if (BehindUpper(user_key)) break;
      const bool is_visible = SequenceOf(suffix) <= sequence_;
      const bool is_passed = skipping && user_key == saved_key_.view();
      if (is_visible && !is_passed) {
        if (!IsTombstone(suffix)) {
          user_key_ = user_key;
          valid_ = true;
          return;
        }
        saved_key_.assign(user_key);
        skipping = true;
        passed = 0;
      } else if (++passed > kPassedMax) {
        // If they belong to several keys, the step costs more.
        passed = 0;
        is_passed ? SeekToOldest(saved_key_) : SeekInternal(user_key);
        continue;
      }
      entries_->Next();
    }
    valid_ = false;
  }

  // Moves to the last user key, at or before the position of `entries_`, that a user may see.
  // Afterwards `entries_` stands before all entries of that key.
  void FindBackward() {
    bool found = false;
    for (int passed = 0; entries_->Valid();) {
      const std::string_view internal_key = entries_->key();
      const std::string_view user_key = UserKeyOf(internal_key);
      const uint64_t suffix = SuffixOf(internal_key);
      if (found && user_key != saved_key_.view())
        break;  // the newest visible entry of saved_key_ was the last one met
      if (BeforeLower(user_key)) break;
      if (++passed > kPassedMax) {
        // The key may have many more entries: seeks its newest visible one instead.
        passed = 0;
        saved_key_.assign(user_key);
        SeekInternal(saved_key_);
        if (!entries_->status().ok()) break;
        found = entries_->Valid() && UserKeyOf(entries_->key()) == saved_key_.view();
        found = found && !IsTombstone(SuffixOf(entries_->key()));
        if (found) saved_value_.assign(entries_->value());
        SeekBefore(saved_key_);
        continue;
      }
      if (SequenceOf(suffix) <= sequence_) {
        found = !IsTombstone(suffix);  // which hides the older entries met so far
        if (found) {
          saved_key_.assign(user_key);
          saved_value_.assign(entries_->value());
        }
      }
      entries_->Prev();
    }
    // An error may have hidden a newer entry of the key that was found.
    valid_ = found && entries_->status().ok();
    user_key_ = saved_key_;
  }

  std::unique_ptr<Iterator> entries_;
  const Sequence sequence_;
  const IteratorBounds bounds_;
  const SeekTimer timer_;
  const std::function<void(uint64_t seeks)> on_destroy_;
  uint64_t seeks_ = 0;
  Direction direction_ = Direction::kForward;
  bool valid_ = false;
  bool out_of_memory_ = false;  // at the last move
  std::string_view user_key_;  // while valid: of the entry that `entries_` stands on, or saved_key_
  KeyBuffer seek_key_;
  KeyBuffer saved_key_;
  std::string saved_value_;
};

}  // namespace

std::unique_ptr<Iterator> NewDbIterator(std::unique_ptr<Iterator> entries, Sequence sequence,
                                        IteratorBounds bounds, const SeekTimer& timer,
                                        std::function<void(uint64_t seeks)> on_destroy) {
  return std::make_unique<DbIterator>(std::move(entries), sequence, std::move(bounds), timer,
                                      std::move(on_destroy));
}

}  // namespace lsm
