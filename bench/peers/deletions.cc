#include "bench/peers/deletions.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "bench/machine.h"
#include "bench/peers/data_set.h"
#include "bench/spread.h"
#include "bench/workload.h"
#include "lsm/bytes/status.h"

namespace bench::peers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kValueBytes = 100;
constexpr uint64_t kLargeValues = 256;
constexpr uint64_t kMiB = 1 << 20;
constexpr double kLeftShare = 0.05;    // of the bytes, after the idle time
constexpr double kSettledShare = 0.6;  // after deletes of half of the keys
constexpr int kTimedSeeks = 1001;
constexpr uint64_t kGets = 100'000;

// The bytes of the store's files, without Trellis's reserve.
uint64_t BytesIn(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code error;  // files vanish meanwhile
  for (const auto& file : std::filesystem::directory_iterator(directory, error)) {
    if (file.path().filename() == "RESERVE") continue;
    const uintmax_t size = file.file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

// A store at work.  Keys are numbers, in the order of their age.
class Work {
 public:
  Work(const DeletionSettings& settings, uint64_t seed, const std::string& directory, Peer* peer,
       const std::function<absl::Status()>& tick)
      : settings_(settings), seed_(seed), directory_(directory), peer_(*peer), tick_(tick) {}

  std::vector<DeletionFigure> TakeFigures() { return std::move(figures_); }

  absl::Status DeleteAll(uint64_t keys) {
    const Numbers order = InRandomOrder(keys, seed_);
    TRELLIS_RETURN_IF_ERROR(PutAll(order, [](uint64_t) { return kValueBytes; }));
    return DeleteInOrder(InRandomOrder(keys, seed_ + 1));
  }

  absl::Status DeleteLargeValues() {
    const Numbers order = InTurn(std::min(kLargeValues, settings_.keys));
    const auto bytes = [&](uint64_t number) {
      return static_cast<size_t>((number % 16 + 1) * settings_.keys);
    };
    TRELLIS_RETURN_IF_ERROR(PutAll(order, bytes));
    return DeleteInOrder(order);
  }

  absl::Status Queue(uint64_t alive) {
    TRELLIS_RETURN_IF_ERROR(PutAll(InTurn(alive), [](uint64_t) { return kValueBytes; }));
    constexpr uint64_t kPopsAtOnce = 16;
    std::vector<double> find_micros, delete_micros;
    uint64_t front = 0, bytes_max = 0;
    const Clock::time_point begin = Clock::now();
    const uint64_t pops_max = std::max(4 * alive, settings_.keys);
    while (front < pops_max && SecondsSince(begin) < settings_.queue_seconds) {
      TRELLIS_RETURN_IF_ERROR(Tick());
      for (uint64_t i = 0; i < kPopsAtOnce; ++i)
        TRELLIS_RETURN_IF_ERROR(Put(front + alive + i, kValueBytes));
      double find_seconds = 0, delete_seconds = 0;
      for (uint64_t i = 0; i < kPopsAtOnce; ++i, ++front) {
        const DigitKey key = DigitKey::Present(front);
        const Clock::time_point at_begin = Clock::now();
        {
          const std::unique_ptr<Reader> reader = peer_.NewReader();
          const std::unique_ptr<Cursor> cursor = reader->NewCursor();
          cursor->SeekToFirst();
          TRELLIS_RETURN_IF_ERROR(Expect(cursor.get(), key));
        }
        const Clock::time_point at_delete = Clock::now();
        TRELLIS_RETURN_IF_ERROR(peer_.Delete(key));
        find_seconds += std::chrono::duration<double>(at_delete - at_begin).count();
        delete_seconds += SecondsSince(at_delete);
      }
      find_micros.push_back(find_seconds * 1e6 / kPopsAtOnce);
      delete_micros.push_back(delete_seconds * 1e6 / kPopsAtOnce);
      if (find_micros.size() % 64 == 0) bytes_max = std::max(bytes_max, BytesIn(directory_));
    }
    bytes_max = std::max(bytes_max, BytesIn(directory_));
    TRELLIS_ASSIGN_OR_RETURN(const double get_micros, GetMicros(front, alive, 1));
    // The queue has become long by then.
    const double find = MeanOfSecondHalf(find_micros);
    const double delete_mean = MeanOfSecondHalf(delete_micros);
    const double live = static_cast<double>(alive * (kKeyBytes + kValueBytes));
    Add("pops", static_cast<double>(front));
    Add("us/pop, to find the first", find);
    Add("us/pop, to delete it", delete_mean);
    Add("us/get", get_micros);
    Add("its search, in gets", find / get_micros);
    Add("a pop, in gets", (find + delete_mean) / get_micros, 3);
    Add("MiB at most", static_cast<double>(bytes_max) / kMiB,
        (4 * live + 2 * static_cast<double>(PeerSettings().write_buffer_bytes)) / kMiB);
    return absl::OkStatus();
  }

  absl::Status SlideWindow() {
    const uint64_t alive = settings_.keys;
    TRELLIS_RETURN_IF_ERROR(PutAll(InTurn(alive), [](uint64_t) { return kValueBytes; }));
    const uint64_t steps = 4 * alive;
    const uint64_t written_begin = ReadIoBytes().written;
    uint64_t bytes_max = 0;
    const Clock::time_point begin = Clock::now();
    for (uint64_t i = 0; i < steps; ++i) {
      TRELLIS_RETURN_IF_ERROR(Put(alive + i, kValueBytes));
      TRELLIS_RETURN_IF_ERROR(peer_.Delete(DigitKey::Present(i)));
      if (i % 16384 != 0) continue;
      bytes_max = std::max(bytes_max, BytesIn(directory_));
      TRELLIS_RETURN_IF_ERROR(Tick());
    }
    const double micros = SecondsSince(begin) * 1e6 / static_cast<double>(steps);
    TRELLIS_RETURN_IF_ERROR(peer_.WaitUntilQuiet());
    const double step_bytes = kKeyBytes + kValueBytes;
    Add("us/step", micros);
    Add("bytes written per byte put", static_cast<double>(ReadIoBytes().written - written_begin) /
                                          (static_cast<double>(steps) * step_bytes));
    Add("bytes at most per live byte",
        static_cast<double>(bytes_max) / (static_cast<double>(alive) * step_bytes));
    return absl::OkStatus();
  }

  absl::Status DeleteOneRange() {
    const uint64_t keys = 20 * settings_.keys, begin = keys / 20, end = keys - begin;
    TRELLIS_RETURN_IF_ERROR(
        PutAll(InRandomOrder(keys, seed_), [](uint64_t) { return kValueBytes; }));
    const double stored = static_cast<double>(BytesIn(directory_));
    const double covered = stored * static_cast<double>(end - begin) / static_cast<double>(keys);
    const uint64_t written_begin = ReadIoBytes().written;
    const Clock::time_point call_begin = Clock::now();
    TRELLIS_RETURN_IF_ERROR(peer_.DeleteRange(DigitKey::Present(begin), DigitKey::Present(end)));
    const double micros = SecondsSince(call_begin) * 1e6;
    const Idle idle = IdleUntil(
        [&] { return (static_cast<double>(BytesIn(directory_)) - (stored - covered)) / covered; },
        kLeftShare);
    TRELLIS_RETURN_IF_ERROR(idle.status);
    Add("us/call", micros, 1000);
    Add("MiB covered", covered / kMiB);
    Add("% of it left after idling", 100 * idle.left, 100 * kLeftShare);
    Add("seconds until 5 % are left", idle.seconds);
    Add("written, % of it",
        100 * static_cast<double>(ReadIoBytes().written - written_begin) / covered, 1);
    return ExpectNone(DigitKey::Present(begin));
  }

  absl::Status SeekPastRange() {
    const uint64_t half = settings_.keys / 2, keys = 4 * half;
    TRELLIS_RETURN_IF_ERROR(
        PutAll(InRandomOrder(keys, seed_), [](uint64_t) { return kValueBytes; }));
    TRELLIS_RETURN_IF_ERROR(
        peer_.DeleteRange(DigitKey::Present(half), DigitKey::Present(3 * half)));
    TRELLIS_RETURN_IF_ERROR(AddSeeks(half, 2));
    TRELLIS_RETURN_IF_ERROR(peer_.WaitUntilQuiet());
    TRELLIS_ASSIGN_OR_RETURN(const Seeks quiet, TimeSeeks(half));
    Add("us, first seek in the quiet store", quiet.first);
    Add("when the store is quiet, in plain ones", quiet.later / quiet.plain, 2);
    return absl::OkStatus();
  }

  absl::Status GetBesideRanges() {
    const uint64_t keys = 2 * settings_.keys, ranges = std::min<uint64_t>(10'000, keys / 20);
    TRELLIS_RETURN_IF_ERROR(
        PutAll(InRandomOrder(keys, seed_), [](uint64_t) { return kValueBytes; }));
    const uint64_t every = keys / ranges;
    // The lookups are of keys right after each range.
    const auto get_micros = [&] { return GetMicros(10, ranges, every); };
    TRELLIS_RETURN_IF_ERROR(get_micros().status());  // fills caches
    TRELLIS_ASSIGN_OR_RETURN(const double without, get_micros());
    for (uint64_t i = 0; i < ranges; ++i)
      TRELLIS_RETURN_IF_ERROR(
          peer_.DeleteRange(DigitKey::Present(i * every), DigitKey::Present(i * every + 10)));
    TRELLIS_RETURN_IF_ERROR(peer_.WaitUntilQuiet());  // a flush beside the lookups would slow them
    TRELLIS_RETURN_IF_ERROR(get_micros().status());
    TRELLIS_ASSIGN_OR_RETURN(const double with, get_micros());
    Add("us/get without them", without);
    Add("us/get", with, std::nullopt, 0.2);
    Add("times as long", with / without, 1.2);
    return ExpectNone(DigitKey::Present(every + 9));
  }

  // Seeks to the first deleted key, whose next live one is N keys later.
  absl::Status SeekPast(bool is_held) {
    const uint64_t half = settings_.keys / 2, keys = 4 * half;
    TRELLIS_RETURN_IF_ERROR(
        PutAll(InRandomOrder(keys, seed_), [](uint64_t) { return kValueBytes; }));
    const std::shared_ptr<const void> snapshot = is_held ? peer_.TakeSnapshot() : nullptr;
    const auto stored = static_cast<double>(BytesIn(directory_));
    for (uint64_t i = half; i < 3 * half; ++i) {
      TRELLIS_RETURN_IF_ERROR(peer_.Delete(DigitKey::Present(i)));
      if (i % 16384 == 0) TRELLIS_RETURN_IF_ERROR(Tick());
    }
    if (!is_held) {
      const Idle idle = IdleUntil([&] { return static_cast<double>(BytesIn(directory_)) / stored; },
                                  kSettledShare);
      TRELLIS_RETURN_IF_ERROR(idle.status);
      Add("seconds until 60 % are left", idle.seconds);
    }
    TRELLIS_RETURN_IF_ERROR(peer_.WaitUntilQuiet());
    return AddSeeks(half, 3);
  }

 private:
  struct Idle {
    absl::Status status;
    double left = 0;     // at the end
    double seconds = 0;  // until no more than the wanted share was left; infinity: never
  };

  // Microseconds: medians, but for the first ones.
  struct Seeks {
    double first = 0;  // past the deleted keys
    double later = 0;
    double first_plain = 0;  // to a key in a block that nothing has read
    double plain = 0;
  };

  // The keys from `half` to 3 `half` are deleted.
  absl::StatusOr<Seeks> TimeSeeks(uint64_t half) {
    const std::unique_ptr<Reader> reader = peer_.NewReader();
    const auto seek = [&](uint64_t from, uint64_t to) {
      return SeekMicros(reader.get(), DigitKey::Present(from), DigitKey::Present(to));
    };
    // Neither has the costs that only the first seek of all has, for example to open a table.
    TRELLIS_RETURN_IF_ERROR(seek(half / 2, half / 2).status());
    Seeks seeks;
    TRELLIS_ASSIGN_OR_RETURN(seeks.first, seek(half, 3 * half));
    TRELLIS_ASSIGN_OR_RETURN(seeks.first_plain, seek(half / 4, half / 4));
    std::vector<double> past, plain;
    for (int i = 1; i < kTimedSeeks; ++i) {
      TRELLIS_ASSIGN_OR_RETURN(past.emplace_back(), seek(half, 3 * half));
      const uint64_t beside = 3 * half + static_cast<uint64_t>(i) % half;
      TRELLIS_ASSIGN_OR_RETURN(plain.emplace_back(), seek(beside, beside));
      TRELLIS_RETURN_IF_ERROR(Tick());
      if (past.back() > 1e5 && i == 20) break;  // 20 are enough
    }
    seeks.later = SpreadOf(std::move(past)).median;
    seeks.plain = SpreadOf(std::move(plain)).median;
    return seeks;
  }

  absl::Status AddSeeks(uint64_t half, double goal) {
    TRELLIS_ASSIGN_OR_RETURN(const Seeks seeks, TimeSeeks(half));
    Add("us, first seek past them", seeks.first);
    Add("us, first plain seek", seeks.first_plain);
    Add("us, later ones", seeks.later);
    Add("us, later plain ones", seeks.plain);
    Add("first one, in first plain seeks", seeks.first / seeks.first_plain, goal);
    Add("later ones, in later plain ones", seeks.later / seeks.plain, goal);
    return absl::OkStatus();
  }

  // Waits for at most the idle time.
  template <typename ShareLeft>
  Idle IdleUntil(const ShareLeft& share_left, double wanted) {
    const Clock::time_point begin = Clock::now();
    Idle idle{absl::OkStatus(), share_left(), 0};
    while (idle.left > wanted && SecondsSince(begin) < settings_.idle_seconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      idle.status = Tick();
      if (!idle.status.ok()) return idle;
      idle.left = share_left();
    }
    idle.seconds =
        idle.left <= wanted ? SecondsSince(begin) : std::numeric_limits<double>::infinity();
    return idle;
  }

  void Add(const char* name, double value, std::optional<double> goal = std::nullopt,
           std::optional<double> share_goal = std::nullopt) {
    figures_.push_back({name, value, goal, share_goal});
  }

  absl::Status Tick() {
    if (SecondsSince(ticked_) < 0.5) return absl::OkStatus();
    ticked_ = Clock::now();
    return tick_();
  }

  absl::Status Put(uint64_t number, size_t value_bytes) {
    const DigitKey key = DigitKey::Present(number);
    ValueMaker(value_bytes).Make(key, &value_);
    return peer_.Put(key, value_);
  }

  // The store is quiet afterwards.
  template <typename Bytes>
  absl::Status PutAll(const Numbers& order, const Bytes& value_bytes) {
    for (size_t i = 0; i < order.size(); ++i) {
      TRELLIS_RETURN_IF_ERROR(Put(order[i], value_bytes(order[i])));
      if (i % 64 == 0) TRELLIS_RETURN_IF_ERROR(Tick());
    }
    return peer_.WaitUntilQuiet();
  }

  absl::Status DeleteInOrder(const Numbers& order) {
    const uint64_t stored = BytesIn(directory_);
    const uint64_t written_begin = ReadIoBytes().written;
    const Clock::time_point begin = Clock::now();
    for (size_t i = 0; i < order.size(); ++i) {
      TRELLIS_RETURN_IF_ERROR(peer_.Delete(DigitKey::Present(order[i])));
      if (i % 16384 == 0) TRELLIS_RETURN_IF_ERROR(Tick());
    }
    const double micros = SecondsSince(begin) * 1e6 / static_cast<double>(order.size());
    const Idle idle = IdleUntil(
        [&] { return static_cast<double>(BytesIn(directory_)) / static_cast<double>(stored); },
        kLeftShare);
    TRELLIS_RETURN_IF_ERROR(idle.status);
    Add("us/delete", micros);
    Add("MiB stored", static_cast<double>(stored) / kMiB);
    Add("% left after idling", 100 * idle.left, 100 * kLeftShare);
    Add("seconds until 5 % are left", idle.seconds);
    Add("bytes written per byte stored",
        static_cast<double>(ReadIoBytes().written - written_begin) / static_cast<double>(stored),
        1.2);
    const std::unique_ptr<Reader> reader = peer_.NewReader();
    const Clock::time_point seek_begin = Clock::now();
    const std::unique_ptr<Cursor> cursor = reader->NewCursor();
    cursor->SeekToFirst();
    const double seek_micros = SecondsSince(seek_begin) * 1e6;
    if (cursor->Valid()) return absl::InternalError(peer_.name() + ": a deleted key is back");
    TRELLIS_RETURN_IF_ERROR(cursor->status());
    Add("us, first seek to the first key", seek_micros);
    return absl::OkStatus();
  }

  absl::StatusOr<double> SeekMicros(Reader* reader, std::string_view target,
                                    std::string_view wanted) {
    const std::unique_ptr<Cursor> cursor = reader->NewCursor();
    const Clock::time_point begin = Clock::now();
    cursor->Seek(target);
    const double micros = SecondsSince(begin) * 1e6;
    TRELLIS_RETURN_IF_ERROR(Expect(cursor.get(), wanted));
    return micros;
  }

  // The mean time of lookups of `count` numbers, from `first` on, each `every` after the one
  // before.
  absl::StatusOr<double> GetMicros(uint64_t first, uint64_t count, uint64_t every) {
    const Numbers order = InRandomOrder(count, seed_);
    const std::unique_ptr<Reader> reader = peer_.NewReader();
    const Clock::time_point begin = Clock::now();
    for (uint64_t i = 0; i < kGets; ++i) {
      const DigitKey key = DigitKey::Present(first + every * order[static_cast<size_t>(i % count)]);
      std::string_view value;
      if (reader->Get(key, &value) != Reader::Answer::kFound) {
        TRELLIS_RETURN_IF_ERROR(reader->error());
        return absl::InternalError(lsm::Concat(peer_.name(), ": ", key, " is missing"));
      }
    }
    return SecondsSince(begin) * 1e6 / kGets;
  }

  absl::Status Expect(Cursor* cursor, std::string_view key) {
    if (cursor->Valid() && cursor->key() == key) return absl::OkStatus();
    TRELLIS_RETURN_IF_ERROR(cursor->status());
    return absl::InternalError(
        lsm::Concat(peer_.name(), ": a seek found ",
                    cursor->Valid() ? cursor->key() : std::string_view("nothing"), ", not ", key));
  }

  absl::Status ExpectNone(std::string_view key) {
    const std::unique_ptr<Reader> reader = peer_.NewReader();
    std::string_view value;
    if (reader->Get(key, &value) == Reader::Answer::kAbsent) return absl::OkStatus();
    TRELLIS_RETURN_IF_ERROR(reader->error());
    return absl::InternalError(lsm::Concat(peer_.name(), ": the deleted key ", key, " is back"));
  }

  static double MeanOfSecondHalf(const std::vector<double>& values) {
    double sum = 0;
    const size_t from = values.size() / 2;
    for (size_t i = from; i < values.size(); ++i) sum += values[i];
    return sum / static_cast<double>(values.size() - from);
  }

  const DeletionSettings& settings_;
  const uint64_t seed_;
  const std::string& directory_;
  Peer& peer_;
  const std::function<absl::Status()>& tick_;
  Clock::time_point ticked_ = Clock::now();
  std::string value_;
  std::vector<DeletionFigure> figures_;
};

absl::Status Run(Deletion deletion, const DeletionSettings& settings, Work* work) {
  switch (deletion) {
    case Deletion::kAll:
      return work->DeleteAll(settings.keys);
    case Deletion::kAllOfMany:
      return work->DeleteAll(10 * settings.keys);
    case Deletion::kLargeValues:
      return work->DeleteLargeValues();
    case Deletion::kShortQueue:
      return work->Queue(std::min<uint64_t>(1000, settings.keys));
    case Deletion::kLongQueue:
      return work->Queue(settings.keys);
    case Deletion::kWindow:
      return work->SlideWindow();
    case Deletion::kSeek:
      return work->SeekPast(/*is_held=*/false);
    case Deletion::kSeekHeld:
      return work->SeekPast(/*is_held=*/true);
    case Deletion::kRange:
      return work->DeleteOneRange();
    case Deletion::kSeekRange:
      return work->SeekPastRange();
    case Deletion::kGetBesideRanges:
      return work->GetBesideRanges();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DeletionFigure>> MeasureDeletion(
    Deletion deletion, const DeletionSettings& settings, const PeerSettings& peer_settings,
    uint64_t seed, const std::string& directory, Peer* peer,
    const std::function<absl::Status()>& tick) {
  TRELLIS_RETURN_IF_ERROR(peer->Open(directory, peer_settings, Peer::Begin::kAnew));
  Work work(settings, seed, directory, peer, tick);
  const absl::Status status = Run(deletion, settings, &work);
  TRELLIS_RETURN_IF_ERROR(peer->Close());
  TRELLIS_RETURN_IF_ERROR(status);
  return work.TakeFigures();
}

}  // namespace bench::peers
