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
// of the key, and keeps the deciding one in `saved_*`.  It cannot know that an entry decides before
// it meets the next key, so it copies the value of each put.  After some copies for nothing it
// copies no more, and seeks the deciding entry in the end.
//
// A key that is overwritten often has many entries in the memtable.  After kPassedMax of them a
// seek skips the rest, so a step costs at most kPassedMax entries and a seek.
//
// A move that meets dead entries, tombstones and what they cover, asks for a known gap and jumps to
// its end.  A move that has walked over many of them records a gap: from where the move began, or
// from its first dead key, to the key that it found.  A key whose version has expired ends a gap as
// a live key does, and the next gap begins beyond it: an earlier reader may see the version.
constexpr int kPassedMax = 32;  // entries of one key: about what a seek costs
constexpr std::string_view kZeroByte("\0", 1);
// A move backward that has made this many copies of values, of this many bytes in all, makes no
// more: they cost about as much as two seeks and reading a block again.
constexpr int kCopiesMax = 4;
constexpr size_t kCopiedBytesMax = size_t{16} << 10;

class DbIterator final : public Iterator, private DeadWalkObserver {
 public:
  DbIterator(std::unique_ptr<InnerIterator> entries, Sequence sequence, const ExpiryView& expiry,
             IteratorBounds bounds, const SeekTimer& timer, GapUse gaps,
             std::function<void(const IteratorCounts&)> on_destroy)
      : entries_(std::move(entries)),
        sequence_(sequence),
        expiry_(expiry),
        bounds_(std::move(bounds)),
        timer_(timer),
        gaps_(std::move(gaps)),
        on_destroy_(std::move(on_destroy)) {
    if (gaps_.covering != nullptr) gaps_.covering->ReportTo(this);
  }
  ~DbIterator() override {
    if (gaps_.covering != nullptr) counts_.range_jumps = gaps_.covering->jumps();
    entries_.reset();
    on_destroy_(counts_);
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
    if (direction_ == Direction::kBackward) return saved_value_;
    std::string_view value = entries_->value();
    value.remove_prefix(time_bytes_);
    return value;
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
      has_found_ = false;
      dead_beyond_ = 0;
      EndWalk();
    }
  }

  template <typename Call>
  void CountedSeek(const Call& call) {
    if ((timer_.first + counts_.seeks++) % kSeeksPerTime != 0 || timer_.counters == nullptr)
        [[likely]]
      return Move(call);
    const uint64_t from = timer_.clock->MonotonicNanos();
    Move(call);
    timer_.counters->AddTime(Timed::kSeek, timer_.clock->MonotonicNanos() - from);
  }

  void DoSeekToFirst() {
    if (bounds_.lower) return SeekAndFind(*bounds_.lower);
    direction_ = Direction::kForward;
    BeginWalk(std::string_view());
    if (!SeekBeyondGap({})) entries_->SeekToFirst();
    FindForward(/*skip_saved=*/false);
  }

  void DoSeekToLast() {
    direction_ = Direction::kBackward;
    BeginWalk(bounds_.upper);
    if (bounds_.upper) {
      SeekBefore(*bounds_.upper);
    } else {
      entries_->SeekToLast();
    }
    FindBackward();
  }

  void DoSeek(std::string_view target) {
    if (bounds_.lower && target < *bounds_.lower) target = *bounds_.lower;
    SeekAndFind(target);
  }

  void SeekAndFind(std::string_view target) {
    direction_ = Direction::kForward;
    BeginWalk(target);
    if (!SeekBeyondGap(target)) SeekInternal(target);
    FindForward(/*skip_saved=*/false);
  }

  void DoSeekForPrev(std::string_view target) {
    if (bounds_.upper && target >= *bounds_.upper) return DoSeekToLast();
    direction_ = Direction::kBackward;
    BeginWalk(target, /*is_at_or_before=*/true);
    // The oldest entry of `target` is the last one at or before it.
    seek_key_.clear();
    AppendInternalKey(&seek_key_, target, 0, EntryKind::kDelete);
    entries_->SeekForPrev(seek_key_);
    FindBackward();
  }

  void DoNext() {
    assert(valid_);
    if (direction_ == Direction::kBackward) {
      // `entries_` stands before all entries of the current key, or nowhere: goes to one of them.
      // A merge with range deletes may yield other entries below the key now: those that it has
      // jumped over, or that are before the lower bound.
      direction_ = Direction::kForward;
      if (entries_->Valid() && gaps_.covering == nullptr) {
        entries_->Next();
      } else {
        SeekInternal(saved_key_);
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

  // Whether the reader sees the value of the current entry, which has this suffix.
  bool IsShown(uint64_t suffix) {
    time_bytes_ = 0;
    if (KindOf(suffix) == EntryKind::kPut) [[likely]]
      return !expiry_.HidesUntimed();
    return !IsTombstone(suffix) && IsTimedShown(suffix);
  }
  [[gnu::noinline]] bool IsTimedShown(uint64_t suffix) {
    std::string_view value = entries_->value();
    const size_t bytes = value.size();
    const Shown shown = ShowTo(expiry_, KindOf(suffix), &value);
    time_bytes_ = bytes - value.size();
    return shown == Shown::kValue;
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
    bool is_saved_dead = false, is_saved_expired = false;
    int passed = 0;
    while (entries_->Valid()) {
      const std::string_view internal_key = entries_->key();
      const std::string_view user_key = UserKeyOf(internal_key);
      const uint64_t suffix = SuffixOf(internal_key);
      if (BehindUpper(user_key)) break;
      const bool is_visible = SequenceOf(suffix) <= sequence_;
      const bool is_passed = skipping && user_key == saved_key_.view();
      if (is_visible && !is_passed) {
        if (IsShown(suffix)) [[likely]] {
          user_key_ = user_key;
          valid_ = true;
          EndForwardWalk(user_key);
          return;
        }
        passed = 0;
        is_saved_expired = !IsTombstone(suffix);
        if (!is_saved_expired && JumpOverGap(user_key)) {
          if (!range_.has_end) return EndAll();
          skipping = false;
          continue;
        }
        if (is_saved_expired) PassExpired(user_key);
        skipping = is_saved_dead = true;
      } else {
        if (is_passed && is_saved_dead) {
          ++walk_.dead;
          walk_.dead_before += is_saved_expired;
        }
        if (++passed > kPassedMax) {
          // If they belong to several keys, the step costs more.
          passed = 0;
          is_passed ? SeekToOldest(saved_key_) : SeekInternal(user_key);
          continue;
        }
      }
      entries_->Next();
    }
    EndForward();
  }

  // There is no visible key from here on, or an input has failed.
  [[gnu::noinline]] void EndForward() {
    valid_ = false;
    if (!entries_->status().ok()) return EndWalk();
    entries_->Valid() || CanEndAtBound(bounds_.upper) ? EndForwardWalk(*bounds_.upper)
                                                      : EndForwardWalk(std::nullopt);
  }

  // At a tombstone: goes to the end of a gap with this dead key, if that has an end.  False if no
  // gap is found; then the key is the saved one.
  [[gnu::noinline]] bool JumpOverGap(std::string_view dead_key) {
    if (IsGapSought() && FindGap(dead_key)) {
      if (range_.has_end) SeekInternal(range_.to);
      return true;
    }
    CountDead(1, dead_key);
    saved_key_.assign(dead_key);
    return false;
  }

  // At a version that has expired: the key becomes the saved one.
  [[gnu::noinline]] void PassExpired(std::string_view user_key) {
    RecordUpTo(user_key);
    CountDead(1, user_key);
    StartNextGap(user_key);
    walk_.edge.append(kZeroByte);
    saved_key_.assign(user_key);
  }

  // Looks up the newest visible entry of saved_key_: sets has_found_ and saved_value_.  Afterwards
  // `entries_` stands before all entries of the key, unless it has failed.
  [[gnu::noinline]] void SeekNewest() {
    SeekInternal(saved_key_);
    if (!entries_->status().ok()) return;
    has_found_ = entries_->Valid() && UserKeyOf(entries_->key()) == saved_key_.view() &&
                 IsShown(SuffixOf(entries_->key()));
    if (has_found_) saved_value_.assign(entries_->value().substr(time_bytes_));
    SeekBefore(saved_key_);
  }

  // Moves to the last user key, at or before the position of `entries_`, that a user may see.
  // Afterwards `entries_` stands before all entries of that key.
  void FindBackward() {
    uint64_t since_tombstone = 0;
    int copies = 0;
    size_t copied_bytes = 0;
    bool is_copied = true;  // whether saved_value_ has the value of the key that was found
    for (int passed = 0; entries_->Valid();) {
      const std::string_view internal_key = entries_->key();
      const std::string_view user_key = UserKeyOf(internal_key);
      const uint64_t suffix = SuffixOf(internal_key);
      if (has_found_ && user_key != saved_key_.view())
        break;  // the newest visible entry of saved_key_ was the last one met
      if (BeforeLower(user_key)) break;
      ++since_tombstone;
      if (++passed > kPassedMax) {
        // The key may have many more entries: seeks its newest visible one instead.
        passed = 0;
        saved_key_.assign(user_key);
        SeekNewest();
        if (!entries_->status().ok()) break;
        is_copied = true;
        continue;
      }
      if (SequenceOf(suffix) <= sequence_) {
        // This entry replaces what was found of the key so far: older entries.
        has_found_ = IsShown(suffix);
        if (has_found_) {
          saved_key_.assign(user_key);
          is_copied = copies < kCopiesMax || copied_bytes < kCopiedBytesMax;
          if (is_copied) [[likely]] {
            saved_value_.assign(entries_->value().substr(time_bytes_));
            ++copies;
            copied_bytes += saved_value_.size();
          }
        } else if (!IsTombstone(suffix)) {
          PassExpiredBackward(std::exchange(since_tombstone, 0), user_key);
        } else {
          if (IsGapSought() && FindGap(user_key)) {
            SeekBefore(range_.from);
            since_tombstone = 0;
            passed = 0;
            continue;
          }
          CountDead(std::exchange(since_tombstone, 0), user_key);
        }
      }
      entries_->Prev();
    }
    if (has_found_ && !is_copied && entries_->status().ok()) [[unlikely]] {
      counts_.dead_entries += std::exchange(dead_beyond_, 0);  // SeekNewest walks there again
      SeekNewest();
    }
    // An error may have hidden a newer entry of the key that was found.
    const bool has_failed = !entries_->status().ok();
    if (dead_beyond_ > 0) [[unlikely]]
      EndWalkBeyond(has_failed);
    valid_ = std::exchange(has_found_, false) && !has_failed;
    user_key_ = saved_key_;
    has_failed ? EndWalk() : EndBackwardWalk(entries_->Valid() || CanEndAtBound(bounds_.lower));
  }

  [[gnu::noinline]] void PassExpiredBackward(uint64_t entries, std::string_view user_key) {
    range_.from.assign(user_key);
    range_.from.append(kZeroByte);
    RecordFrom(range_.from);
    CountDead(entries, user_key);
    StartNextGap(user_key);
  }

  // --- known gaps ---

  // A move, as far as it has met only dead entries.
  struct Walk {
    enum class Met : uint8_t {
      kNothing,   // and there is no edge yet
      kSeek,      // which set the edge
      kDeadKeys,  // or gaps
    };
    Met met = Met::kNothing;  // one byte, since each step looks at it and leaves it like this
    bool has_edge = false;    // false: after all keys
    bool has_jumped = false;
    uint64_t dead = 0;
    uint64_t dead_before = 0;   // of `dead`, passed before the gap began
    uint64_t charged = 0;       // of `dead`
    uint64_t spared = 0;        // by jumps
    uint64_t dead_at_look = 0;  // at which the next gap is sought
    // Forward: the first key of the gap that the walk becomes.  Backward: the end of that gap.
    KeyBuffer edge;
  };
  // So that a single tombstone costs no look.
  static constexpr uint64_t kDeadBeforeLook = 2;
  static constexpr uint64_t kDeadBetweenLooks = 8;

  // A seek begins to walk at this key (none: after all keys).
  void BeginWalk(std::optional<std::string_view> edge, bool is_at_or_before = false) {
    if (gaps_.known == nullptr) return;
    walk_.met = Walk::Met::kSeek;
    walk_.has_edge = edge.has_value();
    if (edge) walk_.edge.assign(*edge);
    if (is_at_or_before) walk_.edge.append(kZeroByte);
  }

  // Jumps before anything is read, if a gap has the target.  If the gap has no end, a seek in it
  // finds out whether the entries can be read.
  bool SeekBeyondGap(std::string_view target) {
    if (gaps_.known == nullptr || gaps_.known->empty()) return false;
    if (!gaps_.known->Find(gaps_.point, target, &range_) || !range_.has_end) return false;
    NoteJump(range_);
    SeekInternal(range_.to);
    return true;
  }

  // Whether a gap is sought at the tombstone that was met.
  bool IsGapSought() {
    if (walk_.dead < walk_.dead_at_look || gaps_.known == nullptr || gaps_.known->empty())
      return false;
    if (walk_.dead == 0 && !walk_.has_jumped) {
      walk_.dead_at_look = kDeadBeforeLook;
      return false;
    }
    walk_.dead_at_look = walk_.dead + kDeadBetweenLooks;
    return true;
  }

  // Sets range_ to a gap with this dead key.
  bool FindGap(std::string_view dead_key) {
    if (!gaps_.known->Find(gaps_.point, dead_key, &range_)) return false;
    NoteJump(range_);
    return true;
  }

  // The walk continues at the other end of the range.
  void NoteJump(const KnownGaps::Range& range) {
    ++counts_.gap_jumps;
    walk_.met = Walk::Met::kDeadKeys;
    walk_.has_jumped = true;
    walk_.dead_at_look = walk_.dead + kDeadBetweenLooks;
    walk_.spared += range.walked;
    if (direction_ == Direction::kForward) {
      if (range.from.view() < walk_.edge.view()) walk_.edge.assign(range.from);
    } else if (walk_.has_edge && (!range.has_end || walk_.edge.view() < range.to.view())) {
      walk_.has_edge = range.has_end;
      if (range.has_end) walk_.edge.assign(range.to);
    }
  }

  // Dead entries were passed, the last ones of this key.  A walk that begins here includes the key
  // only if it is dead.
  void CountDead(uint64_t entries, std::string_view user_key, bool is_key_dead = true) {
    walk_.dead += entries;
    if (walk_.dead >= walk_.charged + GapUse::kDeadPerCharge) [[unlikely]] {
      const uint64_t more = walk_.dead - std::exchange(walk_.charged, walk_.dead);
      if (gaps_.charge != nullptr) gaps_.charge(gaps_.point.keyspace, user_key, more);
    }
    if (std::exchange(walk_.met, Walk::Met::kDeadKeys) != Walk::Met::kNothing) return;
    walk_.has_edge = true;
    walk_.edge.assign(user_key);
    if (is_key_dead == (direction_ == Direction::kBackward)) walk_.edge.append(kZeroByte);
  }

  // A merge with range deletes that has ended may have entries beyond the bound.
  bool CanEndAtBound(const std::optional<std::string>& bound) const {
    return gaps_.covering != nullptr && bound.has_value();
  }

  // --- walks of a merge with range deletes, within a move of this iterator ---

  // The merge goes forward to look up a key of a backward move.  That walk is no part of the move.
  bool IsOfMove(bool is_forward) const { return is_forward == (direction_ == Direction::kForward); }
  void NoteDead(uint64_t count, std::string_view user_key, bool is_forward) override {
    if (!IsOfMove(is_forward)) {
      counts_.dead_entries += count;
    } else if (has_found_) {
      dead_beyond_ += count;
    } else {
      CountDead(count, user_key, /*is_key_dead=*/false);  // a newer version may be alive
    }
  }
  std::optional<KeySpan> FindGap(std::string_view user_key, bool is_forward) override {
    if (gaps_.known == nullptr || gaps_.known->empty()) return std::nullopt;
    if (merge_range_ == nullptr) merge_range_ = std::make_unique<KnownGaps::Range>();
    const KnownGaps::Range& range = *merge_range_;
    if (!gaps_.known->Find(gaps_.point, user_key, merge_range_.get())) return std::nullopt;
    IsOfMove(is_forward) && !has_found_ ? NoteJump(range) : void(++counts_.gap_jumps);
    return KeySpan{range.from, range.has_end ? KeyEnd(range.to.view()) : std::nullopt};
  }

  void EndWalkBeyond(bool has_failed) {
    const uint64_t dead = std::exchange(dead_beyond_, 0);
    counts_.dead_entries += dead;
    if (has_failed || dead < KnownGaps::kWalkedMin || gaps_.known == nullptr) return;
    // Below the lower bound an input of the merge may have ended while others have not.
    const bool is_within = entries_->Valid() && !BeforeLower(UserKeyOf(entries_->key()));
    const std::string_view bound = bounds_.lower ? std::string_view(*bounds_.lower) : "";
    range_.from.assign(is_within ? UserKeyOf(entries_->key()) : bound);
    if (is_within) range_.from.append(kZeroByte);
    Record(range_.from, saved_key_.view(), dead);
  }

  void EndAll() {
    valid_ = false;
    EndForwardWalk(std::nullopt);
  }

  // There is no visible key before this one.
  void EndForwardWalk(std::optional<std::string_view> end) {
    if (HasMetNothing()) [[likely]]
      return;
    RecordForward(end);
  }

  [[gnu::noinline]] void RecordForward(std::optional<std::string_view> end) {
    RecordUpTo(end);
    EndWalk();
  }

  // A walk forward has met no visible key from its edge up to `end`.
  void RecordUpTo(std::optional<std::string_view> end) {
    if (IsWorthRecording()) Record(walk_.edge, end, DeadInGap() + walk_.spared);
  }
  // A walk backward has met none from `begin` up to its edge.
  void RecordFrom(std::string_view begin) {
    const auto end = walk_.has_edge ? std::optional<std::string_view>(walk_.edge) : std::nullopt;
    if (IsWorthRecording()) Record(begin, end, DeadInGap() + walk_.spared);
  }
  void Record(std::string_view from, std::optional<std::string_view> to, uint64_t walked) {
    const uint64_t order = gaps_.known->Record(gaps_.point, from, to, walked);
    if (order != 0) gaps_.point.timed->own_order = order;
  }

  // The gap that the walk becomes has its edge here, whatever it has met before.
  void StartNextGap(std::string_view edge) {
    walk_.has_edge = true;
    walk_.edge.assign(edge);
    walk_.has_jumped = false;
    walk_.spared = 0;
    walk_.dead_before = walk_.dead;
  }

  // There is no visible key after saved_key_, if the iterator is valid.  Otherwise there is none
  // after the lower bound, if that ended the walk, or after the beginning.
  void EndBackwardWalk(bool is_ended_by_bound) {
    if (HasMetNothing()) [[likely]]
      return;
    range_.from.clear();
    if (valid_) {
      range_.from.assign(saved_key_);
      range_.from.append(kZeroByte);
    } else if (is_ended_by_bound) {
      range_.from.assign(*bounds_.lower);
    }
    RecordFrom(range_.from);
    EndWalk();
  }

  // Ends the walk if it has met no dead key.
  bool HasMetNothing() {
    if (walk_.met == Walk::Met::kDeadKeys) return false;
    walk_.met = Walk::Met::kNothing;
    return true;
  }

  bool IsWorthRecording() const {
    const uint64_t dead_min = walk_.has_jumped ? KnownGaps::kGrowthMin : KnownGaps::kWalkedMin;
    return DeadInGap() >= dead_min && gaps_.known != nullptr;
  }
  uint64_t DeadInGap() const { return walk_.dead - walk_.dead_before; }

  void EndWalk() {
    counts_.dead_entries += walk_.dead;
    walk_.met = Walk::Met::kNothing;
    walk_.has_jumped = false;
    walk_.dead = walk_.dead_before = walk_.charged = walk_.spared = walk_.dead_at_look = 0;
  }

  // This type is not a base class of DbIterator.  Otherwise GCC speculates that `entries_` is a
  // DbIterator, and inlines its calls.
  std::unique_ptr<InnerIterator> entries_;
  const Sequence sequence_;
  const ExpiryView expiry_;
  const IteratorBounds bounds_;
  const SeekTimer timer_;
  GapUse gaps_;
  const std::function<void(const IteratorCounts&)> on_destroy_;
  IteratorCounts counts_;
  Direction direction_ = Direction::kForward;
  bool valid_ = false;
  bool out_of_memory_ = false;  // at the last move
  size_t time_bytes_ = 0;       // before the value of the entry that IsShown was asked about
  std::string_view user_key_;  // while valid: of the entry that `entries_` stands on, or saved_key_
  KeyBuffer seek_key_;
  KeyBuffer saved_key_;
  std::string saved_value_;
  Walk walk_;
  // A move backward has found saved_key_, and the merge goes on to the next entry below that key.
  // The dead entries on that way (dead_beyond_) become a gap of their own.
  bool has_found_ = false;
  uint64_t dead_beyond_ = 0;
  KnownGaps::Range range_;  // the last gap that was found
  // The last one that the merge asked for, if it asks.  Apart, because glibc's malloc is slow for
  // more than 1,032 bytes, and many programs make an iterator for each seek.
  std::unique_ptr<KnownGaps::Range> merge_range_;
};
static_assert(sizeof(DbIterator) <= 1032);

}  // namespace

std::unique_ptr<Iterator> NewDbIterator(std::unique_ptr<InnerIterator> entries, Sequence sequence,
                                        const ExpiryView& expiry, IteratorBounds bounds,
                                        const SeekTimer& timer, GapUse gaps,
                                        std::function<void(const IteratorCounts&)> on_destroy) {
  return std::make_unique<DbIterator>(std::move(entries), sequence, expiry, std::move(bounds),
                                      timer, std::move(gaps), std::move(on_destroy));
}

}  // namespace lsm
