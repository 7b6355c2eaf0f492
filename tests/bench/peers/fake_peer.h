// A store in memory that records the operations on it.
#ifndef TRELLIS_TESTS_BENCH_PEERS_FAKE_PEER_H_
#define TRELLIS_TESTS_BENCH_PEERS_FAKE_PEER_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "bench/peers/peer.h"
#include "lsm/threads/mutex.h"

namespace bench::peers {

// The operations on the stores in order: "A open", "A put", "A quiet", "A get 7".  Repeated puts
// are left out, and all gets of a reader but the first.
using Log = std::vector<std::string>;

class FakePeer : public Peer {
 public:
  using Entries = std::map<std::string, std::string, std::less<>>;

  FakePeer(std::string name, Log* log) : name_(std::move(name)), log_(log) {}

  std::string name() const override { return name_; }
  std::string details() const override { return "in memory"; }
  bool has_direct_reads() const override { return has_all; }
  bool has_multi_get() const override { return has_all; }
  bool has_delete_range() const override { return has_all; }

  absl::Status Open(const std::string&, const PeerSettings& settings, Begin begin) override {
    table_bytes = settings.table_bytes;
    if (begin == Begin::kAnew) entries.clear();
    Note(begin == Begin::kAnew ? "open" : "reopen");
    return absl::OkStatus();
  }
  absl::Status Close() override { return absl::OkStatus(); }
  absl::Status Put(std::string_view key, std::string_view value) override {
    entries.insert_or_assign(std::string(key), std::string(value));
    Note("put");
    return absl::OkStatus();
  }
  absl::Status Delete(std::string_view key) override {
    const auto at = entries.find(key);
    if (at != entries.end()) entries.erase(at);
    Note("delete");
    return absl::OkStatus();
  }
  absl::Status DeleteRange(std::string_view from, std::string_view to) override {
    entries.erase(entries.lower_bound(from), entries.lower_bound(to));
    Note("delete");
    return absl::OkStatus();
  }
  absl::Status WaitUntilQuiet() override {
    Note("quiet");
    return absl::OkStatus();
  }
  absl::Status CompactAll() override {
    Note("compact");
    return absl::OkStatus();
  }
  std::unique_ptr<Reader> NewReader() override { return std::make_unique<FakeReader>(this); }
  std::shared_ptr<const void> TakeSnapshot() override {
    Note("snapshot");
    return nullptr;
  }
  std::optional<uint64_t> data_block_reads() override { return reads.load(); }
  absl::StatusOr<PeerFigures> Figures() override { return PeerFigures{3, 1000, filter_bytes, 7}; }
  bool is_variant() const override { return variant; }

  Entries entries;
  bool has_all = true;
  bool variant = false;
  std::optional<uint64_t> filter_bytes;
  uint64_t table_bytes = 0;        // the value with which it was last opened
  std::atomic<uint64_t> reads{0};  // one per get
  int slow_seeks = 0;              // this many of the next ones take a millisecond

 private:
  class FakeCursor : public Cursor {
   public:
    explicit FakeCursor(FakePeer* peer)
        : entries_(peer->entries), at_(entries_.end()), slow_seeks_(peer->slow_seeks) {}
    void SeekToFirst() override { at_ = entries_.begin(); }
    void SeekToLast() override {
      at_ = entries_.empty() ? entries_.end() : std::prev(entries_.end());
    }
    void Seek(std::string_view key) override {
      if (std::exchange(slow_seeks_, std::max(slow_seeks_ - 1, 0)) > 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      at_ = entries_.lower_bound(key);
    }
    void Next() override { ++at_; }
    void Prev() override { at_ = at_ == entries_.begin() ? entries_.end() : std::prev(at_); }
    bool Valid() override { return at_ != entries_.end(); }
    std::string_view key() override { return at_->first; }
    std::string_view value() override { return at_->second; }
    absl::Status status() override { return absl::OkStatus(); }

   private:
    const Entries& entries_;
    Entries::const_iterator at_;
    int& slow_seeks_;
  };

  class FakeReader : public Reader {
   public:
    explicit FakeReader(FakePeer* peer) : peer_(*peer) {}
    Answer Get(std::string_view key, std::string_view* value) override {
      if (!std::exchange(has_asked_, true)) peer_.Note("get " + std::string(key));
      ++peer_.reads;
      const auto at = peer_.entries.find(key);
      if (at == peer_.entries.end()) return Answer::kAbsent;
      *value = at->second;
      return Answer::kFound;
    }
    absl::Status MultiGet(std::span<const std::string_view> keys,
                          std::vector<std::optional<std::string_view>>* values) override {
      values->clear();
      for (const std::string_view key : keys) {
        std::string_view value;
        const bool found = Get(key, &value) == Answer::kFound;
        values->push_back(found ? std::optional(value) : std::nullopt);
      }
      return absl::OkStatus();
    }
    std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<FakeCursor>(&peer_); }

   private:
    FakePeer& peer_;
    bool has_asked_ = false;
  };

  void Note(const std::string& what) {
    const std::string line = name_ + " " + what;
    lsm::MutexLock lock(&mutex_);
    if (log_->empty() || log_->back() != line) log_->push_back(line);
  }

  const std::string name_;
  lsm::Mutex mutex_;
  Log* const log_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace bench::peers

#endif  // TRELLIS_TESTS_BENCH_PEERS_FAKE_PEER_H_
