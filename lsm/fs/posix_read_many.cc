#include "lsm/fs/posix_read_many.h"

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "lsm/fs/posix_call.h"
#include "lsm/fs/posix_files.h"
#include "lsm/fs/posix_ring.h"
#include "lsm/threads/process_mark.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A ring, and memory for its direct reads.
struct Channel {
  static constexpr size_t kPageBytes = 4096;
  // For 64 blocks of 4 KiB with trailers, each of which touches two or three pages.
  static constexpr size_t kBounceBytes = size_t{1} << 20;

  // Null without memory.
  char* BounceMemory() {
    if (bounce == nullptr) bounce = AllocateForDirectReads(kBounceBytes);
    return bounce.get();
  }

  std::unique_ptr<ReadRing> ring;
  DirectMemory bounce;
};

// The idle channels of this process.  Between Take and Give, a channel belongs to one thread.
// There are at most kChannelsMax, each with a descriptor and memory.  If more threads than that
// read at once, the device is busy without further channels.
class Channels {
 public:
  static constexpr size_t kChannelsMax = 32;

  // Null if there is none and none can be created.
  static std::unique_ptr<Channel> Take() {
    Channels* const channels = OfThisProcess();
    return channels == nullptr ? nullptr : channels->TakeOrOpen();
  }

  static void Give(std::unique_ptr<Channel> channel) {
    Channels* const channels = OfThisProcess();
    // There are as many places as channels.  So only concurrent calls of Take and Give can hide a
    // free place.
    for (std::atomic<Channel*>& place : channels->idle_) {
      Channel* empty = nullptr;
      // Release: the next thread that takes it sees what this thread did to it.
      if (place.compare_exchange_strong(empty, channel.get(), std::memory_order_release,
                                        std::memory_order_relaxed)) {
        static_cast<void>(channel.release());  // the place has it
        return;
      }
    }
    Drop(std::move(channel));
  }

  static void Drop(std::unique_ptr<Channel> channel) {
    channel.reset();
    // Relaxed: only a counter.
    OfThisProcess()->open_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  // A forked child has its parent's rings in its memory and must not use them, so it starts again.
  // (It never frees the old object, since a thread of the parent may have been changing it.)
  static Channels* OfThisProcess() {
    static std::atomic<Channels*> current{nullptr};
    // Acquire and release: a thread that finds the object sees it fully constructed.
    Channels* found = current.load(std::memory_order_acquire);
    if (found != nullptr && found->process_.IsThisOne()) return found;
    auto* const made = new (std::nothrow) Channels;
    if (made == nullptr || current.compare_exchange_strong(found, made, std::memory_order_acq_rel,
                                                           std::memory_order_acquire)) {
      return made;
    }
    delete made;  // another thread came first
    return found;
  }

  std::unique_ptr<Channel> TakeOrOpen() {
    for (std::atomic<Channel*>& place : idle_) {
      // Relaxed: only avoids useless writes to the place.
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      // Acquire: pairs with Give.
      Channel* const taken = place.exchange(nullptr, std::memory_order_acquire);
      if (taken != nullptr) return std::unique_ptr<Channel>(taken);
    }
    // Relaxed, here and below: independent counters and flags.
    if (is_hopeless_.load(std::memory_order_relaxed)) return nullptr;
    if (open_.fetch_add(1, std::memory_order_relaxed) < kChannelsMax) {
      std::unique_ptr<Channel> channel(new (std::nothrow) Channel);
      bool may_come = true;
      if (channel != nullptr) channel->ring = OpenRing(&may_come);
      if (!may_come) is_hopeless_.store(true, std::memory_order_relaxed);
      if (channel != nullptr && channel->ring != nullptr) return channel;
    }
    open_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }

  const ProcessMark process_;
  std::atomic<size_t> open_{0};  // idle and in use
  std::atomic<bool> is_hopeless_{false};
  std::array<std::atomic<Channel*>, kChannelsMax> idle_{};
};

// The requests, and the callback for each completed one.
struct Outcomes {
  std::span<ReadRequest> requests;
  const std::function<void(size_t)>& done;

  void Tell(size_t number) const {
    if (done != nullptr) done(number);
  }
  void ReadAndTell(size_t number) const {
    ReadAlone(&requests[number]);
    Tell(number);
  }
};

// The reads of one submission.
class Submission {
 public:
  Submission(Channel* channel, const Outcomes& outcomes) : channel_(channel), outcomes_(outcomes) {}

  // False if this submission has no room left.
  bool Add(size_t number) {
    if (size_ == ReadRing::kReadsMax || hit_count_ == ReadRing::kReadsMax) return false;
    const ReadRequest& request = outcomes_.requests[number];
    const auto* const file = dynamic_cast<const PosixReadFile*>(request.file);
    const Span span = file == nullptr ? Span{} : SpanOf(request, file->alignment_bytes());
    if (span.length == 0) {
      outcomes_.ReadAndTell(number);
      return true;
    }
    char* memory = request.buffer.data();
    if (file->alignment_bytes() == 1) {
      if (ReadFromPageCache(*file, &outcomes_.requests[number])) {
        hits_[hit_count_++] = number;
        return true;
      }
    } else {
      if (bounce_used_ + span.length > Channel::kBounceBytes) return false;
      memory = channel_->BounceMemory() + bounce_used_;
      // Each read begins a page of its own, since the device handles a read across two pages as
      // two.  (64 reads of 3 KiB, including opening the blocks: 13.1 µs each with this, 14.6
      // without.)
      bounce_used_ +=
          (span.length + Channel::kPageBytes - 1) / Channel::kPageBytes * Channel::kPageBytes;
    }
    numbers_[size_] = number;
    reads_[size_++] = {file->descriptor(), span.offset, {memory, span.length}, 0};
    return true;
  }

  // False if the channel is broken.
  bool Run() {
    // Reports the hits together.  Reporting each one between two system calls makes a MultiGet of
    // 64 keys 3 % to 5 % slower.
    for (size_t i = 0; i < hit_count_; ++i) outcomes_.Tell(hits_[i]);
    hit_count_ = 0;
    const bool is_good =
        size_ == 0 || channel_->ring->Read({reads_.data(), size_}, [this](size_t i) {
          Finish(&outcomes_.requests[numbers_[i]], reads_[i]);
          outcomes_.Tell(numbers_[i]);
        });
    size_ = bounce_used_ = 0;
    return is_good;
  }

 private:
  // A range of the file.
  struct Span {
    uint64_t offset = 0;
    size_t length = 0;  // 0: cannot use a ring
  };

  Span SpanOf(const ReadRequest& request, size_t alignment) {
    const size_t before = request.offset % alignment;
    const size_t wanted = request.buffer.size();
    // A larger read is so expensive that a call of its own hardly matters.  The limit also prevents
    // overflows.
    if (wanted == 0 || wanted > Channel::kBounceBytes / 4 || request.offset > kOffsetMax) return {};
    if (alignment > 1 && channel_->BounceMemory() == nullptr) return {};
    return {request.offset - before, (before + wanted + alignment - 1) / alignment * alignment};
  }

  // Reads from the page cache, and returns whether it had everything.  This check is cheaper than
  // the ring: each of 64 reads of 4 KiB takes 0.83 µs instead of 0.95 (fs_bench).  On a miss the
  // kernel starts reading (from Linux 5.9 on).  So the device works while hits are processed, and
  // the ring finds the read in flight.  If nothing is cached, MultiGet takes 17.9 µs/key with 8
  // keys instead of 23.1, and 13.5 with 64 keys instead of 14.4 (a virtual disk).  If every other
  // one of 64 is cached, the reads by themselves took 4 % to 13 % longer than without the check.
  bool ReadFromPageCache([[maybe_unused]] const PosixReadFile& file,
                         [[maybe_unused]] ReadRequest* request) {
#ifdef RWF_NOWAIT
    if (!may_ask_cache_) return false;
    const iovec place{request->buffer.data(), request->buffer.size()};
    const ssize_t length =
        ::preadv2(file.descriptor(), &place, 1, static_cast<off_t>(request->offset), RWF_NOWAIT);
    // Not supported by every kernel and file system.  The ring reports other errors.
    if (length < 0 && errno != EAGAIN) may_ask_cache_ = false;
    if (length < 0 || static_cast<size_t>(length) < request->buffer.size()) return false;
    request->status = absl::OkStatus();
    request->bytes_read = request->buffer.size();
    return true;
#else
    return false;
#endif
  }

  static void Finish(ReadRequest* request, const RingRead& read) {
    const size_t before = request->offset - read.offset;
    const size_t wanted = request->buffer.size();
    // ReadAt finds out why the read is incomplete (an error or the end of the file).
    if (read.result < static_cast<int64_t>(before + wanted)) return ReadAlone(request);
    if (read.buffer.data() != request->buffer.data()) {
      std::memcpy(request->buffer.data(), read.buffer.data() + before, wanted);
    }
    request->status = absl::OkStatus();
    request->bytes_read = wanted;
  }

  // Far below the limit of a signed offset.
  static constexpr uint64_t kOffsetMax = uint64_t{1} << 62;

  Channel* const channel_;
  const Outcomes& outcomes_;
  bool may_ask_cache_ = true;
  size_t size_ = 0;
  size_t bounce_used_ = 0;
  size_t hit_count_ = 0;
  std::array<size_t, ReadRing::kReadsMax> hits_;     // requests answered by the page cache
  std::array<size_t, ReadRing::kReadsMax> numbers_;  // of the requests
  std::array<RingRead, ReadRing::kReadsMax> reads_;
};

}  // namespace

void PosixReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done) {
  const Outcomes outcomes{requests, done};
  std::unique_ptr<Channel> channel = requests.size() < 2 ? nullptr : Channels::Take();
  size_t next = 0;
  if (channel != nullptr) {
    Submission submission(channel.get(), outcomes);
    bool is_good = true;
    while (is_good && next < requests.size()) {
      while (next < requests.size() && submission.Add(next)) ++next;
      is_good = submission.Run();
    }
    if (is_good) {
      Channels::Give(std::move(channel));
    } else {
      Channels::Drop(std::move(channel));
    }
  }
  for (; next < requests.size(); ++next) outcomes.ReadAndTell(next);
}

}  // namespace lsm
