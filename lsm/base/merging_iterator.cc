#include "lsm/base/merging_iterator.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "lsm/base/internal_key.h"
#include "lsm/base/key_head.h"
#include "lsm/threads/epoch.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A binary heap of the valid inputs.  The top has the current entry.  After a move it mostly stays
// at the top, which takes one comparison, with the input that is next after it.
class MergingIterator final : public InnerIterator {
 public:
  explicit MergingIterator(std::vector<std::unique_ptr<InnerIterator>> inputs)
      : inputs_(std::move(inputs)) {
    heap_.reserve(inputs_.size());
  }

  bool Valid() const override { return !heap_.empty(); }

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
    if (direction_ == Direction::kForward) {
      heap_.front().input->Next();
      SettleTop();
    } else {
      TurnAround(Direction::kForward);
    }
  }

  void Prev() override {
    assert(Valid());
    if (direction_ == Direction::kBackward) {
      heap_.front().input->Prev();
      SettleTop();
    } else {
      TurnAround(Direction::kBackward);
    }
  }

  std::string_view key() const override {
    assert(Valid());
    return heap_.front().key;
  }
  std::string_view value() const override {
    assert(Valid());
    return heap_.front().input->value();
  }
  absl::Status status() const override { return status_; }

 private:
  enum class Direction { kForward, kBackward };

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
    if (a.first == b.first && a.second == b.second) [[unlikely]] {
      const int order = CompareInternalKeys(a.key, b.key);
      return direction_ == Direction::kForward ? order < 0 : order > 0;
    }
    // No branch: which key is less is unpredictable.
    const int is_less =
        static_cast<int>(a.first < b.first) |
        (static_cast<int>(a.first == b.first) & static_cast<int>(a.second < b.second));
    return is_less == static_cast<int>(direction_ == Direction::kForward);
  }

  void PrefetchSeeks(std::string_view target) {
    const EpochGuard guard;  // so that the guards of the inputs are cheap
    for (int step = 0; step < InnerIterator::kSeekSteps; ++step) {
      for (const std::unique_ptr<InnerIterator>& input : inputs_) input->PrefetchSeek(target, step);
    }
  }

  // Positions all inputs and builds the heap.
  template <typename Move>
  void MoveAll(Direction direction, const Move& move) {
    direction_ = direction;
    status_ = absl::OkStatus();
    heap_.clear();
    lesser_ = 0;
    for (const std::unique_ptr<InnerIterator>& input : inputs_) {
      move(*input);
      if (input->Valid()) {
        heap_.emplace_back(input.get());
      } else if (!Accept(*input)) {
        return;
      }
    }
    for (size_t i = heap_.size() / 2; i-- > 0;) SiftDown(i);
  }

  // The other inputs are after the current entry in the old direction.  Moves them to the nearest
  // entry on its other side.  An input with a copy of the entry skips it.
  void TurnAround(Direction direction) {
    Iterator* const current = heap_.front().input;
    const std::string key(heap_.front().key);
    MoveAll(direction, [&](Iterator& input) {
      const bool is_forward = direction == Direction::kForward;
      if (&input != current) is_forward ? input.Seek(key) : input.SeekForPrev(key);
      if (input.Valid() && input.key() == key) is_forward ? input.Next() : input.Prev();
    });
  }

  // Restores the heap after the top input has moved.
  void SettleTop() {
    Head& top = heap_.front();
    if (top.input->Valid()) [[likely]] {
      top.Read();
      if (lesser_ != 0 && !Precedes(heap_[lesser_], top)) return;
    } else {
      if (!Accept(*top.input)) return;
      top = heap_.back();
      heap_.pop_back();
      if (heap_.empty()) return;
    }
    SiftDown(0);
    // Which of the two children is next does not change as long as the top stays.
    lesser_ = heap_.size() < 3 ? 0 : 1 + static_cast<size_t>(Precedes(heap_[2], heap_[1]));
  }

  // An invalid input has ended or failed.  If it failed, the whole has failed.
  bool Accept(const Iterator& input) {
    status_ = input.status();
    if (!status_.ok()) heap_.clear();
    return status_.ok();
  }

  void SiftDown(size_t hole) {
    const Head moving = heap_[hole];
    if (heap_.size() == 2 && hole == 0) {
      // No branch: which of two inputs has the next key is unpredictable.
      const Head both[2] = {moving, heap_[1]};
      const auto first = static_cast<size_t>(Precedes(both[1], both[0]));
      heap_[0] = both[first];
      heap_[1] = both[1 - first];
      return;
    }
    while (true) {
      size_t child = 2 * hole + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size())  // the lesser child; no branch, as above
        child += static_cast<size_t>(Precedes(heap_[child + 1], heap_[child]));
      if (!Precedes(heap_[child], moving)) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = moving;
  }

  const std::vector<std::unique_ptr<InnerIterator>> inputs_;
  std::vector<Head> heap_;  // of the valid inputs
  size_t lesser_ = 0;       // index of the next one after the top; 0: not known
  Direction direction_ = Direction::kForward;
  absl::Status status_;
};

}  // namespace

std::unique_ptr<InnerIterator> NewMergingIterator(
    std::vector<std::unique_ptr<InnerIterator>> inputs) {
  if (inputs.size() == 1) return std::move(inputs.front());
  return std::make_unique<MergingIterator>(std::move(inputs));
}

}  // namespace lsm
