#include "lsm/base/merging_iterator.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/base/key_head.h"
#include "lsm/bytes/coding.h"
#include "lsm/threads/epoch.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A binary heap of the valid inputs.  The top has the current entry.  After a move it mostly stays
// at the top, which takes one comparison, with the input that is next after it.
//
// At first, once: Know*.  To position it: Begin Add* Arrange
class MergeHeap {
 public:
  enum class Direction { kForward, kBackward };

  explicit MergeHeap(size_t inputs) {
    heads_.reserve(inputs);
    order_.reserve(inputs);
  }

  bool empty() const { return heads_.empty(); }
  Iterator& top() const { return *heads_.front().input; }
  std::string_view key() const { return heads_.front().key; }
  Direction direction() const { return direction_; }
  bool is_forward() const { return direction_ == Direction::kForward; }
  const absl::Status& status() const { return status_; }

  // Names an input.  Of two copies of an entry, that of the input that was named first comes first.
  void Know(const Iterator* input) { order_.push_back(input); }

  void Begin(Direction direction) {
    direction_ = direction;
    status_ = absl::OkStatus();
    Clear();
  }
  // Takes an input that stands at its first entry.  False if it has failed, and so the whole.
  bool Add(Iterator& input) {
    if (!input.Valid()) return Accept(input);
    heads_.emplace_back(&input);
    return true;
  }
  void Arrange() {
    for (size_t i = heads_.size() / 2; i-- > 0;) SiftDown(i);
  }
  void Clear() {
    heads_.clear();
    lesser_ = 0;
  }

  // Restores the heap after the top input has moved.
  void SettleTop() {
    Head& top = heads_.front();
    if (top.input->Valid()) [[likely]] {
      top.Read();
      if (lesser_ != 0 && !Precedes(heads_[lesser_], top)) return;
    } else {
      if (!Accept(*top.input)) return;
      top = heads_.back();
      heads_.pop_back();
      if (heads_.empty()) return;
    }
    SiftDown(0);
    // Which of the two children is next does not change as long as the top stays.
    lesser_ = heads_.size() < 3 ? 0 : 1 + static_cast<size_t>(Precedes(heads_[2], heads_[1]));
  }

  // An invalid input has ended or failed.  If it failed, the whole has failed.
  bool Accept(const Iterator& input) {
    status_ = input.status();
    if (!status_.ok()) heads_.clear();
    return status_.ok();
  }

 private:
  // A valid input and its position.
  struct Head {
    explicit Head(Iterator* valid) : input(valid) { Read(); }
    void Read() {
      key = input->key();
      const std::string_view user_key = UserKeyOf(key);
      first = KeyHead(user_key, 0);
      second = KeyHead(user_key, std::min(user_key.size(), kKeyHeadBytes));
    }

    Iterator* input;
    std::string_view key;  // input->key()
    // The first sixteen bytes of its user key, as two numbers.  They mostly decide, and a key is
    // compared several times.
    uint64_t first, second;
  };

  // Whether `a` comes before `b`.
  bool Precedes(const Head& a, const Head& b) const {
    if (a.first == b.first && a.second == b.second) [[unlikely]]
      return PrecedesByKey(a, b);
    // No branch: which key is less is unpredictable.
    const int is_less =
        static_cast<int>(a.first < b.first) |
        (static_cast<int>(a.first == b.first) & static_cast<int>(a.second < b.second));
    return is_less == static_cast<int>(direction_ == Direction::kForward);
  }

  // The same, by the whole keys.  Not inlined, so that Precedes stays small.
  [[gnu::noinline]] bool PrecedesByKey(const Head& a, const Head& b) const {
    int order = CompareInternalKeys(a.key, b.key);
    // The copy of the newer input comes first, as in a lookup.
    if (order == 0) order = IsKnownBefore(a.input, b.input) ? -1 : 1;
    return direction_ == Direction::kForward ? order < 0 : order > 0;
  }
  bool IsKnownBefore(const Iterator* a, const Iterator* b) const {
    const Iterator* const both[] = {a, b};
    return *std::find_first_of(order_.begin(), order_.end(), std::begin(both), std::end(both)) == a;
  }

  void SiftDown(size_t hole) {
    const Head moving = heads_[hole];
    if (heads_.size() == 2 && hole == 0) {
      // No branch: which of two inputs has the next key is unpredictable.
      const Head both[2] = {moving, heads_[1]};
      const auto first = static_cast<size_t>(Precedes(both[1], both[0]));
      heads_[0] = both[first];
      heads_[1] = both[1 - first];
      return;
    }
    while (true) {
      size_t child = 2 * hole + 1;
      if (child >= heads_.size()) break;
      if (child + 1 < heads_.size())  // the lesser child; no branch, as above
        child += static_cast<size_t>(Precedes(heads_[child + 1], heads_[child]));
      if (!Precedes(heads_[child], moving)) break;
      heads_[hole] = heads_[child];
      hole = child;
    }
    heads_[hole] = moving;
  }

  std::vector<Head> heads_;             // of the valid inputs
  std::vector<const Iterator*> order_;  // all inputs, newest first
  size_t lesser_ = 0;                   // index of the next one after the top; 0: not known
  Direction direction_ = Direction::kForward;
  absl::Status status_;
};

using Direction = MergeHeap::Direction;

// Moves an input to the first entry at or after the key, in this direction.
void SeekInput(Iterator& input, Direction direction, std::string_view key) {
  direction == Direction::kForward ? input.Seek(key) : input.SeekForPrev(key);
}

// For a turn at the entry with this key, whose copies are skipped too.
void SkipCopy(Iterator& input, Direction direction, std::string_view key) {
  if (input.Valid() && CompareInternalKeys(input.key(), key) == 0)
    direction == Direction::kForward ? input.Next() : input.Prev();
}

// A merge whose current entry is the top of its heap.
template <typename Base>
class HeapMerge : public Base {
 public:
  explicit HeapMerge(size_t inputs) : heap_(inputs) {}

  bool Valid() const final { return !heap_.empty(); }
  std::string_view key() const final {
    assert(Valid());
    return heap_.key();
  }
  std::string_view value() const final {
    assert(Valid());
    return heap_.top().value();
  }
  absl::Status status() const final { return heap_.status(); }

 protected:
  MergeHeap heap_;
};

class MergingIterator final : public HeapMerge<InnerIterator> {
 public:
  explicit MergingIterator(std::vector<std::unique_ptr<InnerIterator>> inputs)
      : HeapMerge(inputs.size()), inputs_(std::move(inputs)) {
    for (const auto& input : inputs_) heap_.Know(input.get());
  }

  void SeekToFirst() override {
    MoveAll(Direction::kForward, [](Iterator& input) { input.SeekToFirst(); });
  }
  void SeekToLast() override {
    MoveAll(Direction::kBackward, [](Iterator& input) { input.SeekToLast(); });
  }
  void Seek(std::string_view target) override {
    PrefetchSeeks(target);
    MoveAll(Direction::kForward, [target](Iterator& input) { input.Seek(target); });
  }
  void SeekForPrev(std::string_view target) override {
    PrefetchSeeks(target);
    MoveAll(Direction::kBackward, [target](Iterator& input) { input.SeekForPrev(target); });
  }

  void Next() override {
    assert(Valid());
    if (heap_.is_forward()) {
      heap_.top().Next();
      heap_.SettleTop();
    } else {
      TurnAround(Direction::kForward);
    }
  }

  void Prev() override {
    assert(Valid());
    if (!heap_.is_forward()) {
      heap_.top().Prev();
      heap_.SettleTop();
    } else {
      TurnAround(Direction::kBackward);
    }
  }

 private:
  void PrefetchSeeks(std::string_view target) {
    const EpochGuard guard;  // so that the guards of the inputs are cheap
    for (int step = 0; step < InnerIterator::kSeekSteps; ++step) {
      for (const std::unique_ptr<InnerIterator>& input : inputs_) input->PrefetchSeek(target, step);
    }
  }

  // Positions all inputs and builds the heap.
  template <typename Move>
  void MoveAll(Direction direction, const Move& move) {
    heap_.Begin(direction);
    for (const std::unique_ptr<InnerIterator>& input : inputs_) {
      move(*input);
      if (!heap_.Add(*input)) return;
    }
    heap_.Arrange();
  }

  // The other inputs are after the current entry in the old direction.  Moves them to the nearest
  // entry on its other side.  An input with a copy of the entry skips it.
  void TurnAround(Direction direction) {
    Iterator* const current = &heap_.top();
    const std::string key(heap_.key());
    MoveAll(direction, [&](Iterator& input) {
      if (&input != current) SeekInput(input, direction, key);
      SkipCopy(input, direction, key);
    });
  }

  const std::vector<std::unique_ptr<InnerIterator>> inputs_;
};

// It keeps a region: keys around the current one at which no cover changes.  So an entry costs a
// comparison with the region's edge, and one with the newest sequence there.  A seek and a jump
// begin with a plan for all inputs:
//
//   input   cover          target of a seek to c
//     0     -              c
//     1     [b, f)         c, or f if it has no newer entry there
//     2     -              f
//     3     [e, h)         f, or h
//     4     -              h
//
// Backward, a target is an excluded key: before a cover [b, f), the last entry before b is sought.
class CoveringMerge final : public HeapMerge<CoveringIterator> {
 public:
  CoveringMerge(std::vector<std::unique_ptr<InnerIterator>> inputs,
                std::span<const RangeCover* const> covers, Sequence sequence, IteratorBounds bounds)
      : HeapMerge(inputs.size()), sequence_(sequence), bounds_(std::move(bounds)) {
    assert(inputs.size() == covers.size());
    inputs_.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      Input& made = inputs_.emplace_back();
      made.entries = std::move(inputs[i]);
      made.cover = covers[i];
      heap_.Know(made.entries.get());
    }
  }

  void ReportTo(DeadWalkObserver* observer) override { observer_ = observer; }
  uint64_t jumps() const override { return jumps_; }

  void SeekToFirst() override {
    start_.clear();
    AppendSuffix(&start_);
    SeekAll(Direction::kForward);
    SkipHidden();
  }
  // A plan begins at a target, and there is no last key.  So each input goes to its own end.  If
  // the entry there is hidden, SkipHidden jumps.
  void SeekToLast() override {
    heap_.Begin(Direction::kBackward);
    MoveAll([](Input& input) { input.entries->SeekToLast(); });
    SkipHidden();
  }
  void Seek(std::string_view target) override {
    start_.assign(target);
    SeekAll(Direction::kForward);
    SkipHidden();
  }
  void SeekForPrev(std::string_view target) override {
    start_.assign(target);
    SeekAll(Direction::kBackward);
    SkipHidden();
  }
  void Next() override {
    assert(Valid());
    Step(Direction::kForward);
  }
  void Prev() override {
    assert(Valid());
    Step(Direction::kBackward);
  }

 private:
  struct Input {
    std::unique_ptr<InnerIterator> entries;
    const RangeCover* cover = nullptr;
    CoverStretch stretch = {
        .newest = 0, .begin = {}, .end = ""};  // the last one; at first of no key
    bool has_ended = false;  // by a jump to or beyond the bounds; `entries` stand anywhere

    // The plan.
    bool is_moved = false;   // it need not look at the start of the plan
    bool is_beyond = false;  // it has nothing more within the bounds
    std::string target;      // if it is moved, but not beyond
  };

  void Step(Direction direction) {
    if (direction != heap_.direction()) {
      TurnAround(direction);
    } else {
      StepTop();
    }
    SkipHidden();
  }

  void StepTop() {
    heap_.is_forward() ? heap_.top().Next() : heap_.top().Prev();
    heap_.SettleTop();
  }

  // Moves on to an entry that no range hides.
  void SkipHidden() {
    while (!heap_.empty()) {
      const std::string_view key = heap_.key();
      if (!IsInRegion(UserKeyOf(key))) [[unlikely]]
        FindRegion(key);
      if (!IsTopHidden()) [[likely]]
        return;
      PassHidden();
    }
  }

  bool IsInRegion(std::string_view user_key) const {
    if (heap_.is_forward()) return !region_.end || CompareUserKeys(user_key, *region_.end) < 0;
    return CompareUserKeys(user_key, region_.begin) >= 0;
  }

  // REQUIRES: it is in the region.
  bool IsTopHidden() const { return SequenceOf(SuffixOf(heap_.key())) < region_.newest; }

  void FindRegion(std::string_view internal_key) {
    const std::string_view user_key = UserKeyOf(internal_key);
    region_ = {};
    for (Input& input : inputs_) {
      if (input.cover == nullptr) continue;
      CoverStretch& stretch = input.stretch;
      if (!stretch.Holds(user_key)) stretch = input.cover->StretchAt(internal_key, sequence_);
      region_.newest = std::max(region_.newest, stretch.newest);
      region_.begin = std::max(region_.begin, stretch.begin);
      if (stretch.end && (!region_.end || *stretch.end < *region_.end)) region_.end = stretch.end;
    }
  }

  void PassHidden() {
    ++walked_;
    if (++passed_ <= jump_after_) return StepTop();
    passed_ = 0;
    start_.assign(heap_.key());
    if (Jump()) return;
    // The entries of this input have to be walked.  So that the plans cost no more than the walk,
    // it doubles before each.
    jump_after_ *= 2;
    Report(std::exchange(walked_, 0));
    if (observer_ == nullptr) return StepTop();
    const std::optional<KeySpan> gap = observer_->FindGap(UserKeyOf(start_), heap_.is_forward());
    gap ? SeekBeyond(*gap) : StepTop();
  }

  void Report(uint64_t dead) {
    if (observer_ != nullptr && dead > 0)
      observer_->NoteDead(dead, UserKeyOf(start_), heap_.is_forward());
  }

  void SeekBeyond(const KeySpan& gap) {
    if (heap_.is_forward() && !gap.end) return heap_.Clear();
    start_.clear();
    heap_.is_forward() ? gap.end->AppendTo(&start_) : void(start_.append(gap.begin));
    AppendSuffix(&start_);
    SeekAll(heap_.direction());
  }

  // --- the plan ---

  static constexpr uint64_t kFirstSuffix =
      (kSequenceMax << 8) | static_cast<uint8_t>(kEntryKindMax);
  // Makes an internal key that comes before all entries of the user key.
  static void AppendSuffix(std::string* user_key) { AppendFixed64(user_key, kFirstSuffix); }

  void Plan() {
    uint64_t stretches = 0;
    heap_.is_forward() ? PlanForward(&stretches) : PlanBackward(&stretches);
    if (stretches > kPassedMax) Report(stretches);  // fewer are no reason to know a gap
  }

  void PlanForward(uint64_t* stretches) {
    target_ = start_;
    bool is_moved = false, is_beyond = false;
    const auto is_end = [&](std::optional<std::string_view> end) {
      return !end || (bounds_.upper && *end >= *bounds_.upper);
    };
    for (Input& input : inputs_) {
      SetTarget(&input, is_moved, is_beyond);
      if (input.cover == nullptr || is_beyond) continue;
      if (!input.stretch.Holds(UserKeyOf(target_)))
        input.stretch = input.cover->StretchAt(target_, sequence_);
      if (input.stretch.newest == 0) continue;
      const CoverEnds ends = input.cover->EndsOfCover(target_, sequence_, stretches);
      if (ends.of_itself != UserKeyOf(target_))
        MoveTarget(&input, ends.of_itself.value_or(""), is_end(ends.of_itself));
      is_moved = true;
      is_beyond = is_end(ends.of_older);
      if (is_beyond) continue;
      target_.assign(*ends.of_older);
      AppendSuffix(&target_);
    }
  }

  void PlanBackward(uint64_t* stretches) {
    // The start's user key is included, unless the start is before all its entries.
    target_.assign(UserKeyOf(start_));
    if (SuffixOf(start_) != kFirstSuffix) target_ += '\0';
    AppendSuffix(&target_);
    bool is_moved = false, is_beyond = false;
    const auto is_end = [&](std::string_view begin) {
      return begin.empty() || (bounds_.lower && begin <= *bounds_.lower);
    };
    for (Input& input : inputs_) {
      SetTarget(&input, is_moved, is_beyond);
      if (input.cover == nullptr || is_beyond) continue;
      const CoverBegins begins = input.cover->BeginsOfCover(target_, sequence_, stretches);
      if (begins.of_older == UserKeyOf(target_)) continue;
      if (begins.of_itself != UserKeyOf(target_))
        MoveTarget(&input, begins.of_itself, is_end(begins.of_itself));
      is_moved = true;
      is_beyond = is_end(begins.of_older);
      if (is_beyond) continue;
      target_.assign(begins.of_older);
      AppendSuffix(&target_);
    }
  }

  void SetTarget(Input* input, bool is_moved, bool is_beyond) {
    input->is_moved = is_moved;
    input->is_beyond = is_beyond;
    if (is_moved && !is_beyond) input->target = target_;
  }
  static void MoveTarget(Input* input, std::string_view user_key, bool is_beyond) {
    input->is_moved = true;
    input->is_beyond = is_beyond;
    if (is_beyond) return;
    input->target.assign(user_key);
    AppendSuffix(&input->target);
  }

  // --- moves of inputs, as planned ---

  void SeekInput(Input& input) {
    jumps_ += static_cast<uint64_t>(input.is_moved);
    input.has_ended = input.is_beyond;
    if (!input.is_beyond)
      lsm::SeekInput(*input.entries, heap_.direction(), input.is_moved ? input.target : start_);
  }

  // Positions all inputs and builds the heap, after heap_.Begin.
  template <typename Move>
  void MoveAll(const Move& move) {
    for (Input& input : inputs_) {
      input.has_ended = false;
      move(input);
      if (!input.has_ended && !heap_.Add(*input.entries)) return;
    }
    Arrange();
    // A seek that lands on a hidden entry jumps at once.
    passed_ = !heap_.empty() && IsTopHidden() ? kPassedMax : 0;
  }

  // The inputs were sought.
  void Arrange() {
    heap_.Arrange();
    jump_after_ = kPassedMax;
    walked_ = 0;
    if (!heap_.empty()) FindRegion(heap_.key());
  }

  // From start_ on.
  void SeekAll(Direction direction) {
    heap_.Begin(direction);
    Plan();
    PrefetchSeeks();
    MoveAll([&](Input& input) { SeekInput(input); });
  }

  void PrefetchSeeks() {
    const EpochGuard guard;  // so that the guards of the inputs are cheap
    for (int step = 0; step < InnerIterator::kSeekSteps; ++step) {
      for (const Input& input : inputs_) {
        if (!input.is_beyond)
          input.entries->PrefetchSeek(input.is_moved ? input.target : start_, step);
      }
    }
  }

  // As MergingIterator::TurnAround.
  void TurnAround(Direction direction) {
    Iterator* const current = &heap_.top();
    start_.assign(heap_.key());
    heap_.Begin(direction);
    Plan();
    MoveAll([&](Input& input) {
      if (input.is_moved || input.entries.get() != current) SeekInput(input);
      if (!input.is_moved) SkipCopy(*input.entries, direction, start_);
    });
  }

  // Moves the inputs that stand in a cover of a newer input, or of their own, at the current entry,
  // whose key is start_.  False if the current entry stays.
  bool Jump() {
    const Iterator* const top = &heap_.top();
    Plan();
    bool has_moved = false, has_top_moved = false;
    for (Input& input : inputs_) {
      if (!input.is_moved || input.has_ended || !input.entries->Valid() || HasPassedTarget(input))
        continue;
      has_moved = true;
      has_top_moved |= input.entries.get() == top;
      SeekInput(input);
    }
    if (!has_moved) return false;
    heap_.Begin(heap_.direction());
    for (const Input& input : inputs_) {
      if (!input.has_ended && !heap_.Add(*input.entries)) return true;
    }
    has_top_moved ? Arrange() : heap_.Arrange();
    return has_top_moved;
  }

  bool HasPassedTarget(const Input& input) const {
    if (input.is_beyond) return false;
    const std::string_view key = UserKeyOf(input.entries->key());
    const std::string_view target = UserKeyOf(input.target);
    return heap_.is_forward() ? key >= target : key < target;
  }

  const Sequence sequence_;
  const IteratorBounds bounds_;
  DeadWalkObserver* observer_ = nullptr;
  std::vector<Input> inputs_;
  CoverStretch region_;  // keys around the current one, and the newest sequence that covers them
  uint64_t passed_ = 0;  // hidden entries since the last plan
  uint64_t jump_after_ = kPassedMax;
  uint64_t walked_ = 0;  // hidden entries that are not yet reported
  uint64_t jumps_ = 0;
  std::string start_;   // an internal key
  std::string target_;  // of the next input, while a plan is made
};

}  // namespace

std::unique_ptr<InnerIterator> NewMergingIterator(
    std::vector<std::unique_ptr<InnerIterator>> inputs) {
  if (inputs.size() == 1) return std::move(inputs.front());
  return std::make_unique<MergingIterator>(std::move(inputs));
}

std::unique_ptr<CoveringIterator> NewCoveringIterator(
    std::vector<std::unique_ptr<InnerIterator>> inputs, std::span<const RangeCover* const> covers,
    Sequence sequence, IteratorBounds bounds) {
  return std::make_unique<CoveringMerge>(std::move(inputs), covers, sequence, std::move(bounds));
}

}  // namespace lsm
