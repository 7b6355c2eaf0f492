#include "bench/peers/loops.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"

namespace bench::peers {
namespace {

absl::Status Wrong(const Peer& peer, const char* what, std::string_view key) {
  return absl::InternalError(lsm::Concat("WRONG ANSWER of ", peer.name(), ": ", what,
                                         ", for the key \"", lsm::Escape(key), "\""));
}

absl::Status WrongValue(const Peer& peer, std::string_view key) {
  return Wrong(peer, "wrong value", key);
}

// Repeats a list of numbers, from a position that depends on where the loop starts.
class Circle {
 public:
  Circle(const Numbers& numbers, const Start& start)
      : numbers_(numbers),
        at_(static_cast<size_t>(
            Mix(start.seed + (uint64_t{1} << 40) * static_cast<uint64_t>(start.thread)) %
            numbers.size())) {}

  uint64_t Next() {
    const size_t i = at_;
    at_ = i + 1 == numbers_.size() ? 0 : i + 1;
    return numbers_[i];
  }

 private:
  const Numbers& numbers_;
  size_t at_;
};

// Present and absent keys in the proportion of a task.
class Questions {
 public:
  struct Question {
    DigitKey key;
    uint64_t number;
    bool present;
  };

  Questions(const TaskInfo& task, const Contents& contents, const Orders& orders,
            const Start& start)
      : circle_(task.draw == Draw::kZipfian ? orders.zipfian : orders.random, start),
        random_(start.seed),
        last_(contents.size() - 1),
        share_(task.present_share) {}

  Question Next() {
    uint64_t number = circle_.Next();
    const bool present = share_ == 1 || (share_ != 0 && random_.Fraction() < share_);
    if (present) return {DigitKey::Present(number), number, true};
    // The absent key after the last present key is out of range and would look too fast.
    if (number == last_) number = 0;
    return {DigitKey::Absent(number), number, false};
  }

 private:
  Circle circle_;
  SplitMix random_;
  const uint64_t last_;
  const double share_;
};

// A get that checks its answer.
absl::Status CheckedGet(const Subject& subject, const Questions::Question& question) {
  std::string_view value;
  const Reader::Answer answer = subject.reader->Get(question.key, &value);
  if (answer == Reader::Answer::kFound) {
    if (question.present && subject.contents->Matches(question.number, value)) return {};
    return question.present ? WrongValue(*subject.peer, question.key)
                            : Wrong(*subject.peer, "found an absent key", question.key);
  }
  if (answer == Reader::Answer::kError) return subject.reader->error();
  if (!question.present) return absl::OkStatus();
  return Wrong(*subject.peer, "did not find a present key", question.key);
}

class GetLoop : public Loop {
 public:
  GetLoop(const TaskInfo& task, const Subject& subject, const Orders& orders, const Start& start)
      : subject_(subject), questions_(task, *subject.contents, orders, start) {}

  absl::StatusOr<uint64_t> Step() override {
    for (uint64_t i = 0; i < kGroup; ++i)
      TRELLIS_RETURN_IF_ERROR(CheckedGet(subject_, questions_.Next()));
    return kGroup;
  }

 private:
  const Subject subject_;
  Questions questions_;
};

class MultiGetLoop : public Loop {
 public:
  MultiGetLoop(const TaskInfo& task, const Subject& subject, const Orders& orders,
               const Start& start)
      : subject_(subject), questions_(task, *subject.contents, orders, start) {}

  absl::StatusOr<uint64_t> Step() override {
    for (size_t i = 0; i < kMultiGetKeys; ++i) {
      asked_[i] = questions_.Next();
      keys_[i] = asked_[i].key;
    }
    TRELLIS_RETURN_IF_ERROR(subject_.reader->MultiGet(keys_, &values_));
    for (size_t i = 0; i < kMultiGetKeys; ++i) {
      if (values_[i].has_value() != asked_[i].present)
        return Wrong(*subject_.peer,
                     values_[i] ? "found an absent key" : "did not find a present key", keys_[i]);
      if (values_[i] && !subject_.contents->Matches(asked_[i].number, *values_[i]))
        return WrongValue(*subject_.peer, keys_[i]);
    }
    return kMultiGetKeys;
  }

 private:
  const Subject subject_;
  Questions questions_;
  std::array<Questions::Question, kMultiGetKeys> asked_;
  std::array<std::string_view, kMultiGetKeys> keys_;  // of asked_
  std::vector<std::optional<std::string_view>> values_;
};

// Checks that a cursor is at this number, which is present.
absl::Status CheckAt(const Subject& subject, Cursor* cursor, uint64_t number) {
  const DigitKey key = DigitKey::Present(number);
  if (!cursor->Valid()) {
    TRELLIS_RETURN_IF_ERROR(cursor->status());
    return Wrong(*subject.peer, "a cursor ends too early", key);
  }
  if (cursor->key() != std::string_view(key))
    return Wrong(*subject.peer, "a cursor is at the wrong key", key);
  if (!subject.contents->Matches(number, cursor->value())) return WrongValue(*subject.peer, key);
  return absl::OkStatus();
}

// Each seek uses a new cursor, like a program that reads a range.
class SeekLoop : public Loop {
 public:
  SeekLoop(const Subject& subject, const Orders& orders, const Start& start)
      : subject_(subject), circle_(orders.random, start) {}

  absl::StatusOr<uint64_t> Step() override {
    constexpr uint64_t kSeeks = 8;
    const uint64_t size = subject_.contents->size();
    for (uint64_t i = 0; i < kSeeks; ++i) {
      const uint64_t number = circle_.Next() % (size - kNexts);
      const std::unique_ptr<Cursor> cursor = subject_.reader->NewCursor();
      cursor->Seek(DigitKey::Present(number));
      for (uint64_t at = number; at <= number + kNexts; ++at) {
        if (at > number) cursor->Next();
        TRELLIS_RETURN_IF_ERROR(CheckAt(subject_, cursor.get(), at));
      }
    }
    return kSeeks;
  }

 private:
  const Subject subject_;
  Circle circle_;
};

// Visits everything once; checks the key and value of every 64th entry, and the number of entries.
class ScanLoop : public Loop {
 public:
  ScanLoop(const Subject& subject, bool forward)
      : subject_(subject), forward_(forward), left_(subject.contents->size()) {}

  absl::StatusOr<uint64_t> Step() override {
    constexpr uint64_t kEntries = 64;
    if (left_ == 0) return 0;
    if (cursor_ == nullptr) {
      cursor_ = subject_.reader->NewCursor();
      forward_ ? cursor_->SeekToFirst() : cursor_->SeekToLast();
    }
    const uint64_t count = std::min(kEntries, left_);
    const uint64_t size = subject_.contents->size();
    TRELLIS_RETURN_IF_ERROR(CheckAt(subject_, cursor_.get(), forward_ ? size - left_ : left_ - 1));
    size_t bytes = 0;
    for (uint64_t i = 0; i < count && cursor_->Valid(); ++i) {
      bytes += cursor_->key().size() + cursor_->value().size();
      forward_ ? cursor_->Next() : cursor_->Prev();
    }
    value_bytes_ += bytes;
    left_ -= count;
    if (left_ > 0) return count;
    TRELLIS_RETURN_IF_ERROR(cursor_->status());
    if (cursor_->Valid())
      return Wrong(*subject_.peer, "a scan returns too many keys", cursor_->key());
    if (value_bytes_ != size * (kKeyBytes + subject_.contents->value_bytes()))
      return Wrong(*subject_.peer, "wrong length of a key or value in a scan", "");
    return count;
  }

 private:
  const Subject subject_;
  const bool forward_;
  uint64_t left_;
  uint64_t value_bytes_ = 0;
  std::unique_ptr<Cursor> cursor_;
};

class PutLoop : public Loop {
 public:
  PutLoop(const Subject& subject, const Numbers& order) : subject_(subject), order_(order) {}

  absl::StatusOr<uint64_t> Step() override {
    const size_t end = std::min(order_.size(), at_ + kGroup);
    const size_t begin = at_;
    for (; at_ < end; ++at_) {
      const uint64_t number = order_[at_];
      subject_.contents->MakeNext(number, &value_);
      TRELLIS_RETURN_IF_ERROR(subject_.peer->Put(DigitKey::Present(number), value_));
    }
    return end - begin;
  }

 private:
  const Subject subject_;
  const Numbers& order_;
  size_t at_ = 0;
  std::string value_;
};

class TimedPutLoop : public Loop {
 public:
  TimedPutLoop(const Subject& subject, const Numbers& order, int passes, Histogram* nanos)
      : subject_(subject), order_(order), nanos_(*nanos), passes_left_(passes) {}

  absl::StatusOr<uint64_t> Step() override {
    if (at_ == order_.size() && --passes_left_ > 0) at_ = 0;
    const size_t end = std::min(order_.size(), at_ + kGroup);
    const size_t begin = at_;
    for (; at_ < end; ++at_) {
      const uint64_t number = order_[at_];
      subject_.contents->MakeNext(number, &value_);
      const auto before = std::chrono::steady_clock::now();
      TRELLIS_RETURN_IF_ERROR(subject_.peer->Put(DigitKey::Present(number), value_));
      nanos_.Record(static_cast<uint64_t>((std::chrono::steady_clock::now() - before).count()));
      subject_.contents->Wrote(number);
    }
    return end - begin;
  }

 private:
  const Subject subject_;
  const Numbers& order_;
  Histogram& nanos_;
  int passes_left_;
  size_t at_ = 0;
  std::string value_;
};

class DeleteLoop : public Loop {
 public:
  DeleteLoop(const Subject& subject, const Numbers& order, uint64_t parts, uint64_t part)
      : subject_(subject), order_(order), parts_(parts), part_(part) {}

  absl::StatusOr<uint64_t> Step() override {
    uint64_t done = 0;
    for (; at_ < order_.size() && done < kGroup; ++at_) {
      const uint64_t number = order_[at_];
      if (number % parts_ != part_) continue;
      TRELLIS_RETURN_IF_ERROR(subject_.peer->Delete(DigitKey::Present(number)));
      subject_.contents->Removed(number);
      ++done;
    }
    return done;
  }

 private:
  const Subject subject_;
  const Numbers& order_;
  const uint64_t parts_, part_;
  size_t at_ = 0;
};

class GetBesideWriterLoop : public Loop {
 public:
  GetBesideWriterLoop(const Subject& subject, const Orders& orders, const Start& start)
      : subject_(subject), circle_(orders.random, start) {}

  absl::StatusOr<uint64_t> Step() override {
    for (uint64_t i = 0; i < kGroup; ++i) {
      const uint64_t number = circle_.Next();
      const DigitKey key = DigitKey::Present(number);
      const uint8_t before = subject_.contents->VersionOf(number);
      std::string_view value;
      switch (subject_.reader->Get(key, &value)) {
        case Reader::Answer::kFound:
          if (!subject_.contents->MatchesSince(number, value, before))
            return WrongValue(*subject_.peer, key);
          break;
        case Reader::Answer::kAbsent:
          return Wrong(*subject_.peer, "did not find a present key", key);
        case Reader::Answer::kError:
          return subject_.reader->error();
      }
    }
    return kGroup;
  }

 private:
  const Subject subject_;
  Circle circle_;
};

class YcsbLoop : public Loop {
 public:
  YcsbLoop(char letter, const Subject& subject, const Orders& orders, const Start& start,
           uint64_t operations)
      : letter_(letter),
        subject_(subject),
        circle_(orders.zipfian, start),
        random_(start.seed + static_cast<uint64_t>(letter)),
        left_(operations) {}

  absl::StatusOr<uint64_t> Step() override {
    const uint64_t count = std::min(kGroup, left_);
    for (uint64_t i = 0; i < count; ++i) TRELLIS_RETURN_IF_ERROR(One());
    left_ -= count;
    return count;
  }

 private:
  absl::Status One() {
    const double dice = random_.Fraction();
    switch (letter_) {
      case 'A':
        return dice < 0.5 ? Read(circle_.Next()) : Write(circle_.Next());
      case 'B':
        return dice < 0.95 ? Read(circle_.Next()) : Write(circle_.Next());
      case 'C':
        return Read(circle_.Next());
      case 'D':
        return dice < 0.95 ? Read(Latest()) : Write(subject_.contents->size());
      case 'E':
        return dice < 0.95 ? Scan(circle_.Next()) : Write(subject_.contents->size());
      default: {
        const uint64_t number = circle_.Next();
        TRELLIS_RETURN_IF_ERROR(Read(number));
        return dice < 0.5 ? absl::OkStatus() : Write(number);
      }
    }
  }

  absl::Status Read(uint64_t number) {
    return CheckedGet(subject_, {DigitKey::Present(number), number, true});
  }

  absl::Status Write(uint64_t number) {
    subject_.contents->MakeNext(number, &value_);
    TRELLIS_RETURN_IF_ERROR(subject_.peer->Put(DigitKey::Present(number), value_));
    subject_.contents->Wrote(number);
    return absl::OkStatus();
  }

  absl::Status Scan(uint64_t number) {
    const uint64_t wanted = 1 + random_.Below(kYcsbScanMax);
    const uint64_t end = std::min(subject_.contents->size(), number + wanted);
    const std::unique_ptr<Cursor> cursor = subject_.reader->NewCursor();
    cursor->Seek(DigitKey::Present(number));
    for (uint64_t at = number; at < end; ++at) {
      if (at > number) cursor->Next();
      TRELLIS_RETURN_IF_ERROR(CheckAt(subject_, cursor.get(), at));
    }
    return absl::OkStatus();
  }

  // Newer numbers are more likely: the distance from the newest has probability proportional to 1 /
  // r, a Zipf distribution except for its theta.
  uint64_t Latest() {
    const auto size = static_cast<double>(subject_.contents->size());
    const auto back = static_cast<uint64_t>(std::pow(size, random_.Fraction())) - 1;
    return subject_.contents->size() - 1 - std::min(back, subject_.contents->size() - 1);
  }

  const char letter_;
  const Subject subject_;
  Circle circle_;
  SplitMix random_;
  uint64_t left_;
  std::string value_;
};

}  // namespace

std::unique_ptr<Loop> NewReadLoop(const TaskInfo& task, const Subject& subject,
                                  const Orders& orders, const Start& start) {
  switch (task.task) {
    case Task::kMultiGet:
      return std::make_unique<MultiGetLoop>(task, subject, orders, start);
    case Task::kSeek:
      return std::make_unique<SeekLoop>(subject, orders, start);
    case Task::kScanForward:
    case Task::kScanBackward:
      return std::make_unique<ScanLoop>(subject, task.task == Task::kScanForward);
    default:
      return std::make_unique<GetLoop>(task, subject, orders, start);
  }
}

std::unique_ptr<Loop> NewPutLoop(const Subject& subject, const Numbers& order) {
  return std::make_unique<PutLoop>(subject, order);
}

std::unique_ptr<Loop> NewTimedPutLoop(const Subject& subject, const Numbers& order, int passes,
                                      Histogram* nanos) {
  return std::make_unique<TimedPutLoop>(subject, order, passes, nanos);
}

std::unique_ptr<Loop> NewDeleteLoop(const Subject& subject, const Numbers& order, uint64_t parts,
                                    uint64_t part) {
  return std::make_unique<DeleteLoop>(subject, order, parts, part);
}

std::unique_ptr<Loop> NewGetBesideWriterLoop(const Subject& subject, const Orders& orders,
                                             const Start& start) {
  return std::make_unique<GetBesideWriterLoop>(subject, orders, start);
}

std::unique_ptr<Loop> NewYcsbLoop(char letter, const Subject& subject, const Orders& orders,
                                  const Start& start, uint64_t operations) {
  return std::make_unique<YcsbLoop>(letter, subject, orders, start, operations);
}

}  // namespace bench::peers
