#include "bench/peers/comparison.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <utility>

#include "bench/machine.h"
#include "bench/peers/nothing_peer.h"
#include "bench/peers/openings.h"
#include "bench/peers/paced_writer.h"
#include "bench/report/page.h"
#include "lsm/bytes/status.h"

namespace bench::peers {
namespace {

constexpr double kWriterPutsPerSecond = 20000;
constexpr uint64_t kYcsbOperationsMax = 200000;  // per round
constexpr size_t kZipfianDraws = size_t{1} << 22;
constexpr double kDeletionSeconds = 40;  // about, for each store
constexpr uint64_t kDeletionCacheBytes = uint64_t{1} << 30;

// "rocksdb"; for a variant its whole name: "trellis-by-level".
std::string FolderOf(const Peer& peer) {
  std::string name = peer.name();
  if (!peer.is_variant()) name = name.substr(0, name.find(' '));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == ' ' ? '-' : static_cast<char>(std::tolower(c));
  });
  return name;
}

uint64_t YcsbOperations(const DataSize& size) { return std::min(size.keys, kYcsbOperationsMax); }

bool CanDo(const Peer& peer, const Cell& cell) {
  // Only for cells in which filters differ by level and the difference matters.
  if (peer.is_variant() && (cell.task->task != Task::kGet || cell.state != State::kFresh))
    return false;
  return (cell.cache != Cache::kDirect || peer.has_direct_reads()) &&
         (cell.task->task != Task::kMultiGet || peer.has_multi_get());
}

}  // namespace

Comparison::Comparison(const ComparisonConfig& config, std::vector<std::unique_ptr<Peer>> peers)
    : config_(config) {
  results_.options = config;
  results_.rounds = config.rounds;
  results_.single_round_bytes = config.single_round_bytes;
  results_.seconds_per_measurement = config.seconds;
  results_.settings = config.settings;
  // The first store must come first, because the others are compared with it.
  std::stable_partition(peers.begin(), peers.end(),
                        [](const auto& peer) { return !peer->is_variant(); });
  for (std::unique_ptr<Peer>& peer : peers) {
    results_.stores.emplace_back(peer->name(), peer->details());
    std::string directory = config.out + "/stores/" + FolderOf(*peer);
    stores_.push_back({std::move(peer), std::move(directory), nullptr});
  }
}

Comparison::~Comparison() = default;

std::vector<DataSize> Comparison::Sizes() const {
  std::vector<DataSize> sizes;
  for (const Cell& cell : config_.cells) {
    if (std::find(sizes.begin(), sizes.end(), cell.size) == sizes.end()) sizes.push_back(cell.size);
  }
  return sizes;
}

std::vector<Cell> Comparison::CellsOf(const DataSize& size, State state,
                                      std::optional<Cache> cache) const {
  std::vector<Cell> cells;
  for (const Cell& cell : config_.cells) {
    if (cell.size == size && cell.state == state && (!cache || cell.cache == *cache))
      cells.push_back(cell);
  }
  std::stable_sort(cells.begin(), cells.end(),
                   [](const Cell& a, const Cell& b) { return a.task < b.task; });
  return cells;
}

int Comparison::RoundsOf(const Cell& cell) const {
  const bool is_long = cell.task->passes() && cell.size.user_bytes() >= config_.single_round_bytes;
  return is_long ? 1 : config_.rounds;
}

// The estimated time of one store's turn.
double Comparison::TurnSeconds(const Cell& cell) const {
  if (cell.task->reads() && !cell.task->scans())
    return config_.seconds * (cell.cache == Cache::kTenth ? 1.5 : 1);
  if (cell.task->opens()) return 0.02 * (kOpenings + 1);
  const int passes = cell.task->task == Task::kOverload ? OverloadPasses(cell.size) : 1;
  return 5e-6 * passes * static_cast<double>(cell.size.keys);
}

double Comparison::GuessSeconds() const {
  double seconds = 0;
  for (const Cell& cell : config_.cells)
    seconds += static_cast<double>(stores_.size()) * RoundsOf(cell) * TurnSeconds(cell);
  seconds += kDeletionSeconds * static_cast<double>(stores_.size() * config_.deletions.size());
  return seconds;
}

absl::Status Comparison::Run() {
  progress_ = std::make_unique<Progress>(GuessSeconds());
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(config_.out + "/stores"));
  results_.conditions = DescribeMachine(config_.out);
  absl::Status status;
  for (const DataSize& size : Sizes()) {
    status = RunSize(size);
    if (!status.ok()) break;
  }
  for (const DeletionInfo* deletion : config_.deletions) {
    if (status.ok()) status = Delete(*deletion);
  }
  results_.interrupted =
      absl::IsCancelled(status) && (!results_.cells.empty() || !results_.deletions.empty());
  results_.seconds = progress_->elapsed_seconds();
  progress_->Announce(status.ok() ? "done" : "stopped");
  progress_.reset();
  return results_.interrupted ? absl::OkStatus() : status;
}

absl::Status Comparison::RunSize(const DataSize& size) {
  orders_.random = InRandomOrder(size.keys, config_.seed);
  orders_.zipfian = Zipfian(size.keys, kZipfianDraws, kTheta, config_.seed + 1);
  for (Store& store : stores_) {
    store.contents = std::make_unique<Contents>(static_cast<size_t>(size.value_bytes));
    store.is_filled = false;
  }
  for (const Cell& cell : CellsOf(size, State::kFilling, std::nullopt)) {
    const bool is_random = cell.task->task == Task::kFillRandom;
    TRELLIS_RETURN_IF_ERROR(Rounds(cell, [&](Store* store, int) {
      store->is_filled = is_random;
      return FillOnce(store, cell, is_random ? orders_.random : InTurn(size.keys));
    }));
    TRELLIS_RETURN_IF_ERROR(MeasureLoop(cell));
  }
  TRELLIS_RETURN_IF_ERROR(FillTheRest(size));
  if (!CellsOf(size, State::kFresh, std::nullopt).empty())
    TRELLIS_RETURN_IF_ERROR(LookInto(size, State::kFresh));
  const bool opens = !CellsOf(size, State::kTables, std::nullopt).empty();
  if (opens) TRELLIS_RETURN_IF_ERROR(OpenMany(size));
  const bool reads_compacted = !CellsOf(size, State::kCompacted, std::nullopt).empty();
  const bool changes = !CellsOf(size, State::kChanged, std::nullopt).empty();
  if (opens && (reads_compacted || changes)) {
    // A store that is one run already would keep its tables, at any table size.  So the stores are
    // filled again before they are compacted into tables of the default size.
    for (Store& store : stores_) store.is_filled = store.peer->is_variant() && store.is_filled;
    TRELLIS_RETURN_IF_ERROR(FillTheRest(size));
  }
  if (reads_compacted || changes) TRELLIS_RETURN_IF_ERROR(Compact(size, 0));
  if (reads_compacted) TRELLIS_RETURN_IF_ERROR(LookInto(size, State::kCompacted));
  if (changes) TRELLIS_RETURN_IF_ERROR(Change(size));
  return Close();
}

// Fills, in random order, the stores that will be read or changed and were not filled by a cell.
absl::Status Comparison::FillTheRest(const DataSize& size) {
  const Cell fill{size, State::kFilling, Cache::kAll, 1, nullptr};
  std::vector<Cell> cells;
  for (const State state : {State::kFresh, State::kTables, State::kCompacted, State::kChanged}) {
    const std::vector<Cell> of_state = CellsOf(size, state, std::nullopt);
    cells.insert(cells.end(), of_state.begin(), of_state.end());
  }
  for (Store* store : StoresFor(cells)) {
    if (store->is_filled) continue;
    progress_->Announce(lsm::Concat("fill, ", size.name(), ", ", store->peer->name()));
    TRELLIS_RETURN_IF_ERROR(FillOnce(store, fill, orders_.random).status());
    store->is_filled = true;
  }
  return absl::OkStatus();
}

std::vector<Comparison::Store*> Comparison::StoresFor(const std::vector<Cell>& cells) {
  std::vector<Store*> stores;
  for (Store& store : stores_) {
    const bool has_some = std::any_of(cells.begin(), cells.end(),
                                      [&](const Cell& cell) { return CanDo(*store.peer, cell); });
    if (has_some || (!store.peer->is_variant() && !cells.empty())) stores.push_back(&store);
  }
  return stores;
}

absl::Status Comparison::LookInto(const DataSize& size, State state) {
  bool is_noted = false;
  for (const Cache cache : {Cache::kAll, Cache::kTenth, Cache::kDirect}) {
    const std::vector<Cell> cells = CellsOf(size, state, cache);
    if (cells.empty()) continue;
    for (Store* store : StoresFor(cells)) {
      if (cache == Cache::kDirect && !store->peer->has_direct_reads()) continue;
      progress_->Announce(lsm::Concat("warm, ", size.name(), ", ", NameOf(state), ", cache ",
                                      NameOf(cache), ", ", store->peer->name()));
      TRELLIS_RETURN_IF_ERROR(Reopen(store, SettingsFor(size, cache)));
      TRELLIS_RETURN_IF_ERROR(Warm(store, cache));
    }
    if (!std::exchange(is_noted, true)) TRELLIS_RETURN_IF_ERROR(NoteShape(size, state));
    for (const Cell& cell : cells) {
      TRELLIS_RETURN_IF_ERROR(
          Rounds(cell, [&](Store* store, int round) { return ReadOnce(store, cell, round); }));
      TRELLIS_RETURN_IF_ERROR(MeasureLoop(cell));
    }
  }
  return NoteRunsAfter(size, state);
}

absl::Status Comparison::Compact(const DataSize& size, uint64_t table_bytes) {
  PeerSettings settings = SettingsFor(size, Cache::kAll);
  settings.table_bytes = table_bytes;
  for (Store& store : stores_) {
    TRELLIS_RETURN_IF_ERROR(store.peer->Close());
    if (store.peer->is_variant()) continue;
    progress_->Announce(lsm::Concat("compact, ", size.name(), ", ", store.peer->name()));
    TRELLIS_RETURN_IF_ERROR(Reopen(&store, settings));
    TRELLIS_RETURN_IF_ERROR(store.peer->CompactAll());
    TRELLIS_RETURN_IF_ERROR(store.peer->WaitUntilQuiet());
  }
  return absl::OkStatus();
}

absl::Status Comparison::OpenMany(const DataSize& size) {
  PeerSettings settings = config_.settings;
  settings.table_bytes = ManyTablesBytes(size.user_bytes());
  settings.block_cache_bytes = kOpeningCacheBytes;
  TRELLIS_RETURN_IF_ERROR(Compact(size, settings.table_bytes));
  TRELLIS_RETURN_IF_ERROR(NoteShape(size, State::kTables));
  TRELLIS_RETURN_IF_ERROR(Close());
  for (const Cell& cell : CellsOf(size, State::kTables, std::nullopt)) {
    TRELLIS_RETURN_IF_ERROR(Rounds(cell, [&](Store* store, int round) {
      return TimeOpenings(*cell.task, store->directory, settings, store->peer.get(),
                          store->contents.get(), orders_,
                          {config_.seed + static_cast<uint64_t>(round), 0});
    }));
  }
  return absl::OkStatus();
}

absl::Status Comparison::Change(const DataSize& size) {
  for (Store& store : stores_) {
    if (store.peer->is_variant()) continue;
    TRELLIS_RETURN_IF_ERROR(Reopen(&store, SettingsFor(size, Cache::kAll)));
    TRELLIS_RETURN_IF_ERROR(Warm(&store, Cache::kAll));
    // Room for keys that the workload inserts.
    store.contents->Diversify(size.keys +
                              YcsbOperations(size) * static_cast<uint64_t>(config_.rounds));
  }
  for (const Cell& cell : CellsOf(size, State::kChanged, std::nullopt)) {
    TRELLIS_RETURN_IF_ERROR(
        Rounds(cell, [&](Store* store, int round) { return ChangeOnce(store, cell, round); }));
  }
  return absl::OkStatus();
}

absl::Status Comparison::Rounds(const Cell& cell, const Body& body) {
  CellResult result{cell, std::vector<std::vector<Sample>>(stores_.size())};
  result.rivals =
      static_cast<size_t>(std::count_if(stores_.begin(), stores_.end(), [](const Store& store) {
        return !store.peer->is_variant();
      }));
  const int rounds = RoundsOf(cell);
  for (int round = 0; round < rounds; ++round) {
    progress_->Announce(lsm::Concat(cell.task->name, ", ", cell.size.name(), ", ",
                                    NameOf(cell.state), ", cache ", NameOf(cell.cache), ", ",
                                    cell.threads, cell.threads == 1 ? " thread" : " threads",
                                    ", round ", round + 1, " of ", rounds));
    for (size_t i = 0; i < stores_.size(); ++i) {
      // Each round begins with another store.
      const size_t at = (i + static_cast<size_t>(round)) % stores_.size();
      if (!CanDo(*stores_[at].peer, cell)) continue;
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
      TRELLIS_ASSIGN_OR_RETURN(Sample sample, body(&stores_[at], round));
      result.samples[at].push_back(std::move(sample));
      progress_->Advance(TurnSeconds(cell));
    }
  }
  results_.cells.push_back(std::move(result));
  return absl::OkStatus();
}

absl::StatusOr<Sample> Comparison::FillOnce(Store* store, const Cell& cell, const Numbers& order) {
  Peer* peer = store->peer.get();
  TRELLIS_RETURN_IF_ERROR(peer->Close());
  TRELLIS_RETURN_IF_ERROR(
      peer->Open(store->directory, SettingsFor(cell.size, Cache::kAll), Peer::Begin::kAnew));
  store->contents->Clear();
  TRELLIS_ASSIGN_OR_RETURN(
      const Sample sample,
      WriteOnce(store, NewPutLoop({peer, nullptr, store->contents.get()}, order)));
  store->contents->FillUpTo(cell.size.keys);
  return sample;
}

absl::StatusOr<Sample> Comparison::WriteOnce(Store* store, std::unique_ptr<Loop> loop) {
  const uint64_t written_begin = ReadIoBytes().written;
  const double cpu_begin = CpuSeconds();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Loop>> loops;
  loops.push_back(std::move(loop));
  TRELLIS_ASSIGN_OR_RETURN(const Measured measured, Measure(loops, std::nullopt));
  // Background work must not run during the next store's turn.
  TRELLIS_RETURN_IF_ERROR(store->peer->WaitUntilQuiet());
  const std::chrono::duration<double> until_quiet = std::chrono::steady_clock::now() - begin;
  const double operations = static_cast<double>(measured.operations);
  Sample sample;
  sample.micros = measured.micros();
  sample.cpu_micros = measured.cpu_micros();
  sample.quiet_micros = until_quiet.count() * 1e6 / operations;
  sample.quiet_cpu_micros = (CpuSeconds() - cpu_begin) * 1e6 / operations;
  sample.write_amplification =
      static_cast<double>(ReadIoBytes().written - written_begin) /
      (operations * static_cast<double>(kKeyBytes + store->contents->value_bytes()));
  return sample;
}

absl::StatusOr<Sample> Comparison::ReadOnce(Store* store, const Cell& cell, int round) {
  const uint64_t seed = config_.seed + static_cast<uint64_t>(round);
  std::vector<std::unique_ptr<Reader>> readers;
  const auto loops_from = [&](uint64_t place) {
    std::vector<std::unique_ptr<Loop>> loops;
    for (int thread = 0; thread < cell.threads; ++thread) {
      readers.push_back(store->peer->NewReader());
      loops.push_back(NewReadLoop(*cell.task,
                                  {store->peer.get(), readers.back().get(), store->contents.get()},
                                  orders_, {place, thread}));
    }
    return loops;
  };
  if (!cell.task->scans()) {
    // The processor's caches still hold the previous store's data.  And a cache that does not hold
    // everything must first hold the blocks that this workload reads often.
    const double seconds = cell.cache == Cache::kTenth ? config_.seconds / 2 : config_.seconds / 20;
    TRELLIS_RETURN_IF_ERROR(Measure(loops_from(seed + 1000), seconds).status());
  }
  const std::optional<uint64_t> blocks_begin = store->peer->data_block_reads();
  TRELLIS_ASSIGN_OR_RETURN(
      const Measured measured,
      Measure(loops_from(seed),
              cell.task->scans() ? std::nullopt : std::optional(config_.seconds)));
  const std::optional<uint64_t> blocks_end = store->peer->data_block_reads();
  Sample sample;
  sample.micros = measured.micros();
  sample.cpu_micros = measured.cpu_micros();
  const double operations = static_cast<double>(measured.operations);
  if (cell.cache != Cache::kAll) {
    if (blocks_begin && blocks_end)
      sample.block_reads = static_cast<double>(*blocks_end - *blocks_begin) / operations;
    sample.device_bytes = static_cast<double>(measured.device_bytes) / operations;
  }
  TRELLIS_RETURN_IF_ERROR(store->peer->WaitUntilQuiet());
  return sample;
}

absl::StatusOr<Sample> Comparison::ChangeOnce(Store* store, const Cell& cell, int round) {
  const std::unique_ptr<Reader> reader = store->peer->NewReader();
  Contents* contents = store->contents.get();
  const Subject subject{store->peer.get(), reader.get(), contents};
  const Start begin{config_.seed + static_cast<uint64_t>(round), 0};
  switch (cell.task->task) {
    case Task::kGetWhileWriting: {
      PacedWriter writer(subject, orders_.random, kWriterPutsPerSecond);
      std::vector<std::unique_ptr<Loop>> loops;
      loops.push_back(NewGetBesideWriterLoop(subject, orders_, begin));
      const absl::StatusOr<Measured> measured = Measure(loops, config_.seconds);
      TRELLIS_RETURN_IF_ERROR(writer.Stop());
      TRELLIS_RETURN_IF_ERROR(measured.status());
      Sample sample;
      sample.micros = measured->micros();
      sample.cpu_micros = measured->cpu_micros();
      TRELLIS_RETURN_IF_ERROR(store->peer->WaitUntilQuiet());
      return sample;
    }
    case Task::kOverwrite: {
      absl::StatusOr<Sample> sample = WriteOnce(store, NewPutLoop(subject, orders_.random));
      if (sample.ok()) contents->WroteAllOf(orders_.random);
      return sample;
    }
    case Task::kOverload: {
      Histogram nanos;
      TRELLIS_ASSIGN_OR_RETURN(
          Sample sample, WriteOnce(store, NewTimedPutLoop(subject, orders_.random,
                                                          OverloadPasses(cell.size), &nanos)));
      for (const double share : kLatencyShares)
        sample.latencies.push_back(static_cast<double>(nanos.Percentile(share)) / 1000);
      return sample;
    }
    case Task::kDelete:
      return WriteOnce(store,
                       NewDeleteLoop(subject, orders_.random, static_cast<uint64_t>(config_.rounds),
                                     static_cast<uint64_t>(round)));
    default:
      return WriteOnce(store, NewYcsbLoop(cell.task->letter, subject, orders_, begin,
                                          YcsbOperations(cell.size)));
  }
}

int Comparison::OverloadPasses(const DataSize& size) const {
  constexpr uint64_t kWriteBuffers = 40, kPassesMax = 16;
  const uint64_t bytes = kWriteBuffers * config_.settings.write_buffer_bytes;
  return static_cast<int>(std::clamp<uint64_t>(bytes / size.user_bytes() + 1, 1, kPassesMax));
}

PeerSettings Comparison::SettingsFor(const DataSize& size, Cache cache) const {
  PeerSettings settings = config_.settings;
  switch (cache) {
    case Cache::kAll:
      settings.block_cache_bytes = 4 * size.user_bytes() + (uint64_t{64} << 20);
      break;
    case Cache::kTenth:
      settings.block_cache_bytes = size.user_bytes() / 10;
      break;
    case Cache::kDirect:
      settings.block_cache_bytes = 0;
      settings.direct_reads = true;
      break;
  }
  settings.counts_reads = cache != Cache::kAll;
  return settings;
}

absl::Status Comparison::Reopen(Store* store, const PeerSettings& settings) {
  TRELLIS_RETURN_IF_ERROR(store->peer->Close());
  TRELLIS_RETURN_IF_ERROR(store->peer->Open(store->directory, settings, Peer::Begin::kAsItIs));
  return store->peer->WaitUntilQuiet();
}

absl::Status Comparison::Warm(Store* store, Cache cache) {
  if (cache == Cache::kDirect) return absl::OkStatus();
  const std::unique_ptr<Reader> reader = store->peer->NewReader();
  std::vector<std::unique_ptr<Loop>> loops;
  loops.push_back(NewReadLoop(TaskInfo{"", Task::kScanForward, 1, Draw::kUniform, 0},
                              {store->peer.get(), reader.get(), store->contents.get()}, orders_,
                              {config_.seed, 0}));
  TRELLIS_RETURN_IF_ERROR(Measure(loops, std::nullopt).status());
  return store->peer->WaitUntilQuiet();
}

absl::Status Comparison::NoteShape(const DataSize& size, State state) {
  Shape shape{size, state, {}, {}};
  const std::vector<Store*> there = StoresFor(CellsOf(size, state, std::nullopt));
  for (Store& store : stores_) {
    PeerFigures& figures = shape.figures.emplace_back();
    if (std::find(there.begin(), there.end(), &store) == there.end()) continue;
    TRELLIS_ASSIGN_OR_RETURN(figures, store.peer->Figures());
  }
  results_.shapes.push_back(std::move(shape));
  return absl::OkStatus();
}

absl::Status Comparison::NoteRunsAfter(const DataSize& size, State state) {
  Shape& shape = results_.shapes.back();
  const std::vector<Store*> there = StoresFor(CellsOf(size, state, std::nullopt));
  for (Store& store : stores_) {
    std::optional<uint64_t>& runs = shape.runs_after.emplace_back();
    if (std::find(there.begin(), there.end(), &store) == there.end()) continue;
    TRELLIS_ASSIGN_OR_RETURN(const PeerFigures figures, store.peer->Figures());
    runs = figures.sorted_runs;
  }
  return absl::OkStatus();
}

absl::Status Comparison::MeasureLoop(const Cell& cell) {
  const bool looks_up = cell.task->task == Task::kGet || cell.task->task == Task::kMultiGet;
  if ((!cell.task->fills() && !looks_up) || cell.threads > 1) return absl::OkStatus();
  const std::string name = lsm::Concat(cell.task->name, ", ", cell.size.name());
  for (const auto& [measured_name, micros] : results_.loop_micros) {
    if (measured_name == name) return absl::OkStatus();
  }
  // Keeps few answers, so that they stay in the processor's cache, like an answer that a store has
  // just returned.
  constexpr size_t kKept = 4 * kGroup;
  constexpr int kTimes = 1000;
  Contents contents(static_cast<size_t>(cell.size.value_bytes));
  if (!cell.task->fills()) contents.FillUpTo(cell.size.keys);
  const std::unique_ptr<Peer> nothing = NewNothingPeer(&contents, kKept);
  const std::unique_ptr<Reader> reader = nothing->NewReader();
  const Subject subject{nothing.get(), reader.get(), &contents};
  uint64_t operations = 0;
  double seconds = 0;
  for (int i = 0; i <= kTimes; ++i) {
    const std::unique_ptr<Loop> loop =
        cell.task->fills() ? NewPutLoop(subject, orders_.random)
                           : NewReadLoop(*cell.task, subject, orders_, {config_.seed, 0});
    const auto begin = std::chrono::steady_clock::now();
    for (size_t done = 0; done < kKept;) {
      TRELLIS_ASSIGN_OR_RETURN(const uint64_t step, loop->Step());
      done += static_cast<size_t>(step);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (i == 0) continue;  // the first round records the answers
    operations += kKept;
    seconds += taken.count();
  }
  results_.loop_micros.emplace_back(name, seconds * 1e6 / static_cast<double>(operations));
  return absl::OkStatus();
}

absl::Status Comparison::Delete(const DeletionInfo& deletion) {
  PeerSettings settings = config_.settings;
  settings.block_cache_bytes = kDeletionCacheBytes;
  DeletionResult result{&deletion, std::vector<std::vector<DeletionFigure>>(stores_.size())};
  for (size_t i = 0; i < stores_.size(); ++i) {
    Store& store = stores_[i];
    const bool can = !deletion.needs_ranges() || store.peer->has_delete_range();
    if (store.peer->is_variant() || !can) continue;
    progress_->Announce(lsm::Concat(deletion.name, ", ", store.peer->name()));
    TRELLIS_ASSIGN_OR_RETURN(
        result.figures[i],
        MeasureDeletion(deletion.deletion, config_.deletion, settings, config_.seed,
                        store.directory, store.peer.get(), [&] { return config_.CheckStop(); }));
    progress_->Advance(kDeletionSeconds);
  }
  results_.deletions.push_back(std::move(result));
  return absl::OkStatus();
}

absl::Status Comparison::Close() {
  for (Store& store : stores_) TRELLIS_RETURN_IF_ERROR(store.peer->Close());
  return absl::OkStatus();
}

}  // namespace bench::peers
