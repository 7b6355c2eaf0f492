#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "bench/keyspaces/parts.h"
#include "bench/keyspaces/store.h"
#include "bench/spread.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

constexpr double kSecondsMax = 1;
constexpr double kHeapMax = 1024;
constexpr uint64_t kShortValueBytes = 8;
// Entries in the memtable when the heap is measured.
constexpr std::array<uint64_t, 3> kEntries = {0, 1, 15};

uint64_t HeapBytes() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

struct OpenTimes {
  double create_micros = 0;  // per keyspace
  double log_seconds = 0;    // the opening that replays the log
  std::vector<double> seconds = {};
  std::array<double, kEntries.size()> heap = {};  // of the open store, in all
};

class OpenStore {
 public:
  // `count` keyspaces, or the same entries in "default".
  OpenStore(const Config& config, uint64_t count, bool has_keyspaces, bool is_peer)
      : config_(config), count_(count), has_keyspaces_(has_keyspaces), is_peer_(is_peer) {
    StoreSettings settings(
        config, lsm::Concat("open", has_keyspaces ? "" : "-default", is_peer ? "-rocksdb" : ""));
    // Large enough for all entries, so that none leaves memory.
    settings.write_buffer_bytes =
        std::max<uint64_t>({config.write_buffer_bytes, uint64_t{64} << 20, 4096 * count});
    store_ = is_peer ? MakeRocksDb(settings) : MakeTrellis(settings);
  }

  absl::StatusOr<OpenTimes> Measure(Progress* progress) {
    progress->Announce(lsm::Concat("open: ", has_keyspaces_ ? "keyspaces" : "default",
                                   is_peer_ ? ", in RocksDB" : ""));
    TRELLIS_RETURN_IF_ERROR(store_->Open());
    const auto begin = std::chrono::steady_clock::now();
    TRELLIS_RETURN_IF_ERROR(OpenHandles());
    times_.create_micros = 1e6 * SecondsSince(begin) / static_cast<double>(count_);
    TRELLIS_RETURN_IF_ERROR(PutEach(0));
    TRELLIS_RETURN_IF_ERROR(store_->Close());
    TRELLIS_RETURN_IF_ERROR(TimeOpening(&times_.log_seconds));
    TRELLIS_RETURN_IF_ERROR(store_->Settle());
    TRELLIS_RETURN_IF_ERROR(store_->Close());
    for (uint64_t i = 0; i < config_.openings; ++i) {
      TRELLIS_RETURN_IF_ERROR(TimeOpening(&times_.seconds.emplace_back()));
      TRELLIS_RETURN_IF_ERROR(store_->Close());
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    }
    TRELLIS_RETURN_IF_ERROR(MeasureHeap());
    TRELLIS_RETURN_IF_ERROR(store_->Close());
    return times_;
  }

 private:
  absl::Status OpenHandles() {
    if (!has_keyspaces_) return absl::OkStatus();
    return store_->OpenKeyspaces("keyspace-", count_);
  }

  absl::Status PutEach(uint64_t round) {
    Feeder feeder(config_, store_.get(), kShortValueBytes);
    for (uint64_t i = 0; i < count_; ++i) {
      TRELLIS_RETURN_IF_ERROR(feeder.Put(has_keyspaces_ ? i : kDefault, round * count_ + i));
    }
    return feeder.Finish();
  }

  // Each keyspace must have its entry from before the openings.
  absl::Status CheckEach() {
    Feeder feeder(config_, store_.get(), kShortValueBytes);
    for (uint64_t i = 0; i < count_; ++i)
      TRELLIS_RETURN_IF_ERROR(feeder.Check(has_keyspaces_ ? i : kDefault, i));
    return absl::OkStatus();
  }

  absl::Status TimeOpening(double* seconds) {
    const auto begin = std::chrono::steady_clock::now();
    TRELLIS_RETURN_IF_ERROR(store_->Open());
    *seconds = SecondsSince(begin);
    return absl::OkStatus();
  }

  absl::Status MeasureHeap() {
    ::malloc_trim(0);
    const uint64_t before = HeapBytes();
    TRELLIS_RETURN_IF_ERROR(store_->Open());
    TRELLIS_RETURN_IF_ERROR(store_->WaitUntilQuiet());
    const auto taken = [&] {
      return static_cast<double>(HeapBytes()) - static_cast<double>(before);
    };
    times_.heap[0] = taken();
    TRELLIS_RETURN_IF_ERROR(OpenHandles());
    uint64_t entries = 0;
    for (size_t i = 1; i < kEntries.size(); ++i) {
      for (; entries < kEntries[i]; ++entries) TRELLIS_RETURN_IF_ERROR(PutEach(entries));
      times_.heap[i] = taken();
    }
    return CheckEach();
  }

  const Config& config_;
  const uint64_t count_;
  const bool has_keyspaces_;
  const bool is_peer_;
  std::unique_ptr<Store> store_;
  OpenTimes times_;
};

struct OpenFigures {
  OpenTimes with, without;

  double HeapOf(size_t i, uint64_t count) const {
    return (with.heap[i] - without.heap[i]) / static_cast<double>(count);
  }
};

absl::StatusOr<OpenFigures> MeasureStores(const Config& config, uint64_t count, bool is_peer,
                                          Progress* progress) {
  OpenFigures figures;
  TRELLIS_ASSIGN_OR_RETURN(figures.with, OpenStore(config, count, true, is_peer).Measure(progress));
  TRELLIS_ASSIGN_OR_RETURN(figures.without,
                           OpenStore(config, count, false, is_peer).Measure(progress));
  return figures;
}

}  // namespace

absl::StatusOr<Part> MeasureOpen(const Config& config, Progress* progress) {
  Part part{"open", "", {}};
  const uint64_t count = Allowed(config.keyspaces, &part.notes);
  part.title = lsm::Concat("open: ", lsm::ReadableCount(count), " keyspaces with a key each");
  TRELLIS_ASSIGN_OR_RETURN(const OpenFigures own, MeasureStores(config, count, false, progress));
  std::optional<OpenFigures> peer;
  if (config.has_peer()) {
    TRELLIS_ASSIGN_OR_RETURN(peer, MeasureStores(config, count, true, progress));
  }
  const auto add = [&](std::string name, const auto& value, std::string unit,
                       std::optional<double> goal = std::nullopt) {
    part.figures.push_back({std::move(name), value(own), std::move(unit), goal});
    if (peer) part.figures.back().peer = value(*peer);
  };
  using Of = const OpenFigures&;
  add(
      "create a keyspace", [](Of of) { return of.with.create_micros; }, "us");
  add(
      "open, after a flush", [](Of of) { return SpreadOf(of.with.seconds).median; }, "s",
      kSecondsMax);
  add(
      "open, after a flush, no keyspaces",
      [](Of of) { return SpreadOf(of.without.seconds).median; }, "s");
  add(
      "open, replaying the log", [](Of of) { return of.with.log_seconds; }, "s", kSecondsMax);
  add(
      "open, replaying the log, no keyspaces", [](Of of) { return of.without.log_seconds; }, "s");
  for (size_t i = 0; i < kEntries.size(); ++i) {
    const std::string state =
        i == 0 ? "at rest" : lsm::Concat(kEntries[i], kEntries[i] == 1 ? " entry" : " entries");
    add(
        "heap of a keyspace, " + state, [&](Of of) { return of.HeapOf(i, count); }, "B", kHeapMax);
  }
  return part;
}

}  // namespace bench::keyspaces
