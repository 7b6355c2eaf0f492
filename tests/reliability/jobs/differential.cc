#include "tests/reliability/jobs/differential.h"

#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/helpers/memenv.h>
#include <leveldb/write_batch.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "tests/reliability/workload/actions.h"
#include "tests/reliability/workload/changes.h"
#include "tests/reliability/workload/under_way.h"
#include "tests/support/deterministic_environment.h"

namespace reliability {
namespace {

using lsm::Concat;
using OptionalKey = std::optional<std::string_view>;

constexpr char kDirectory[] = "/store";

constexpr size_t kEpisodeActions = 20'000;
constexpr size_t kReductionEffortMax = 150'000;
constexpr size_t kIteratorsHeld = 3;
constexpr size_t kSnapshotsHeld = 4;
// The index that stands for no snapshot.
constexpr size_t kNow = kSnapshotsHeld;

// Small, so that little data makes many tables, but not smaller, because LevelDB slows writers down
// if it has too many tables.
constexpr size_t kPeerBufferBytes = 128 << 10;

ActionWeights WeightsOf(uint64_t seed) {
  ActionWeights weights = {};
  weights[Action::kPut] = 2700;
  weights[Action::kDelete] = 700;
  weights[Action::kBatch] = 300;
  weights[Action::kGet] = 4200;
  weights[Action::kMultiGet] = 40;
  weights[Action::kSnapshot] = 100;
  weights[Action::kNewIterator] = 200;
  weights[Action::kWalk] = 1400;
  weights[Action::kScan] = 2;
  weights[Action::kBackgroundJob] = 100;
  weights[Action::kBackground] = 5;
  weights[Action::kFlush] = 6;
  weights[Action::kCompact] = 4;
  weights[Action::kReopen] = 3;
  // Every second episode has range deletes.
  if (seed % 2 == 1) {
    Draws draws(seed);
    weights[Action::kDeleteRange] = draws.Of({10, 40, 150});
    weights[Action::kRangeBatch] = draws.Of({5, 20});
  }
  return weights;
}

// Everything about an episode that its seed determines, except its actions.
struct Material {
  explicit Material(uint64_t seed_of_all)
      : seed(seed_of_all), keys(seed, 3000), values(seed, 80, 5000) {}

  const uint64_t seed;
  const KeyPool keys;
  const ValuePool values;
};

// --- one interface for the three stores ---

// The calls that all three stores have.  Snapshots and bounds work as in lsm::ReadOptions.
class Store {
 public:
  virtual ~Store() = default;
  virtual absl::Status Open() = 0;
  // REQUIRES: no iterators exist.
  virtual void Close() = 0;
  virtual absl::Status Write(const std::vector<Change>& changes) = 0;
  virtual absl::StatusOr<bool> Get(std::string_view key, size_t snapshot, std::string* value) = 0;
  virtual std::unique_ptr<lsm::Iterator> NewIterator(size_t snapshot, OptionalKey lower,
                                                     OptionalKey upper) = 0;
  virtual void TakeSnapshot(size_t place) = 0;
  virtual void ReleaseSnapshot(size_t place) = 0;
  virtual absl::Status Flush() = 0;
  virtual absl::Status Compact(OptionalKey from, OptionalKey to) = 0;
};

template <typename Slice>
Slice ToSlice(std::string_view bytes) {
  return Slice(bytes.data(), bytes.size());
}

template <typename Status>
absl::Status ToAbsl(const Status& status) {
  return status.ok() ? absl::OkStatus() : absl::UnknownError(status.ToString());
}

class TrellisStore final : public Store {
 public:
  explicit TrellisStore(const Material& material)
      : material_(material), draws_(material.seed), random_(material.seed) {}

  absl::Status Open() override {
    lsm::Options options = AnyOptions(draws_);
    options.environment.file_system = &files_;
    options.environment.clock = &clock_;
    options.environment.scheduler = &scheduler_;
    options.environment.random = &random_;
    TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(kDirectory, options));
    return absl::OkStatus();
  }
  void Close() override {
    for (auto& snapshot : snapshots_) snapshot = nullptr;
    db_ = nullptr;
  }
  absl::Status Write(const std::vector<Change>& changes) override {
    lsm::WriteBatch batch;
    AddTo(&batch, changes, material_.keys, material_.values);
    return db_->Write(batch);
  }
  absl::StatusOr<bool> Get(std::string_view key, size_t snapshot, std::string* value) override {
    return db_->Get(key, value, ReadsAsOf(snapshot));
  }
  std::unique_ptr<lsm::Iterator> NewIterator(size_t snapshot, OptionalKey lower,
                                             OptionalKey upper) override {
    lsm::ReadOptions options = ReadsAsOf(snapshot);
    options.lower_bound = lower;
    options.upper_bound = upper;
    return db_->NewIterator(options);
  }
  void TakeSnapshot(size_t place) override { snapshots_[place] = db_->GetSnapshot(); }
  void ReleaseSnapshot(size_t place) override { snapshots_[place] = nullptr; }
  absl::Status Flush() override { return db_->Flush(); }
  absl::Status Compact(OptionalKey from, OptionalKey to) override {
    return db_->CompactRange(from, to);
  }

  // The other stores have threads for background work.
  void RunBackgroundJob() { scheduler_.Pause(0); }
  absl::Status RunBackgroundJobs() { return db_->WaitForBackgroundWork(); }

 private:
  lsm::ReadOptions ReadsAsOf(size_t snapshot) const {
    lsm::ReadOptions options;
    if (snapshot != kNow) options.snapshot = snapshots_[snapshot].get();
    return options;
  }

  const Material& material_;
  Draws draws_;
  lsm::MemoryFileSystem files_;
  testing_support::SingleThreadScheduler scheduler_;
  testing_support::ManualClock clock_;
  testing_support::SeededRandom random_;
  std::unique_ptr<lsm::DB> db_;
  std::unique_ptr<const lsm::Snapshot> snapshots_[kSnapshotsHeld];
};

// The code that LevelDB and RocksDB share.  `Peer` names the types of one of them.
template <typename Peer>
class PeerStore : public Store {
 public:
  explicit PeerStore(const Material& material)
      : material_(material), environment_(Peer::NewMemEnv(Peer::Environment::Default())) {}
  ~PeerStore() override { PeerStore::Close(); }

  absl::Status Open() override {
    typename Peer::Database* db = nullptr;
    const auto status = Peer::Database::Open(Peer::OptionsOn(environment_.get()), kDirectory, &db);
    db_.reset(db);
    return ToAbsl(status);
  }
  void Close() override {
    for (size_t place = 0; place < kSnapshotsHeld; ++place) ReleaseSnapshot(place);
    db_ = nullptr;
  }
  absl::Status Write(const std::vector<Change>& changes) override {
    typename Peer::Batch batch;
    std::string buffer;
    for (const auto& [rank, value, range] : changes) {
      const auto key = ToSlice<typename Peer::Bytes>(material_.keys[rank]);
      if (range) {
        Peer::DeleteRange(*range, material_.keys, &batch);
      } else if (value.exists()) {
        batch.Put(key, ToSlice<typename Peer::Bytes>(material_.values.BytesOf(value, &buffer)));
      } else {
        batch.Delete(key);
      }
    }
    return ToAbsl(db_->Write({}, &batch));
  }
  absl::StatusOr<bool> Get(std::string_view key, size_t snapshot, std::string* value) override {
    const auto status = db_->Get(ReadsAsOf(snapshot), ToSlice<typename Peer::Bytes>(key), value);
    if (status.IsNotFound()) return false;
    if (!status.ok()) return ToAbsl(status);
    return true;
  }
  std::unique_ptr<lsm::Iterator> NewIterator(size_t snapshot, OptionalKey lower,
                                             OptionalKey upper) override {
    return std::make_unique<typename Peer::Cursor>(
        db_.get(), ReadsAsOf(snapshot), snapshot == kNow ? nullptr : snapshots_[snapshot], lower,
        upper);
  }
  void TakeSnapshot(size_t place) override {
    snapshots_[place] = {db_->GetSnapshot(), [db = db_.get()](const typename Peer::Held* snapshot) {
                           db->ReleaseSnapshot(snapshot);
                         }};
  }
  void ReleaseSnapshot(size_t place) override { snapshots_[place] = nullptr; }
  absl::Status Flush() override { return Peer::Flush(db_.get()); }
  absl::Status Compact(OptionalKey from, OptionalKey to) override {
    const auto begin = ToSlice<typename Peer::Bytes>(from.value_or(""));
    const auto end = ToSlice<typename Peer::Bytes>(to.value_or(""));
    return Peer::Compact(db_.get(), from ? &begin : nullptr, to ? &end : nullptr);
  }

 private:
  typename Peer::Reads ReadsAsOf(size_t snapshot) const {
    typename Peer::Reads reads;
    if (snapshot != kNow) reads.snapshot = snapshots_[snapshot].get();
    return reads;
  }

  const Material& material_;
  const std::unique_ptr<typename Peer::Environment> environment_;
  std::unique_ptr<typename Peer::Database> db_;
  std::shared_ptr<const typename Peer::Held> snapshots_[kSnapshotsHeld];
};

// Adds bounds and SeekForPrev, which LevelDB's iterators lack.
class LevelDbCursor final : public lsm::Iterator {
 public:
  LevelDbCursor(leveldb::DB* db, const leveldb::ReadOptions& options,
                const std::shared_ptr<const leveldb::Snapshot>&, OptionalKey lower,
                OptionalKey upper)
      : lower_(lower), upper_(upper), inner_(db->NewIterator(options)) {}

  bool Valid() const override {
    return inner_->Valid() && !(lower_ && key() < *lower_) && !(upper_ && key() >= *upper_);
  }
  void SeekToFirst() override {
    if (lower_) {
      inner_->Seek(ToSlice<leveldb::Slice>(*lower_));
    } else {
      inner_->SeekToFirst();
    }
  }
  void SeekToLast() override {
    if (upper_) {
      inner_->Seek(ToSlice<leveldb::Slice>(*upper_));
      StepBack();
    } else {
      inner_->SeekToLast();
    }
  }
  void Seek(std::string_view target) override {
    if (lower_) target = std::max(target, *lower_);
    inner_->Seek(ToSlice<leveldb::Slice>(target));
  }
  void SeekForPrev(std::string_view target) override {
    if (upper_ && target >= *upper_) return SeekToLast();
    inner_->Seek(ToSlice<leveldb::Slice>(target));
    if (!inner_->Valid() || key() != target) StepBack();
  }
  void Next() override { inner_->Next(); }
  void Prev() override { inner_->Prev(); }
  std::string_view key() const override { return {inner_->key().data(), inner_->key().size()}; }
  std::string_view value() const override {
    return {inner_->value().data(), inner_->value().size()};
  }
  absl::Status status() const override { return ToAbsl(inner_->status()); }

 private:
  void StepBack() {
    if (inner_->Valid()) {
      inner_->Prev();
    } else {
      inner_->SeekToLast();
    }
  }

  const OptionalKey lower_, upper_;
  const std::unique_ptr<leveldb::Iterator> inner_;
};

struct LevelDb {
  using Database = leveldb::DB;
  using Environment = leveldb::Env;
  using Batch = leveldb::WriteBatch;
  using Bytes = leveldb::Slice;
  using Reads = leveldb::ReadOptions;
  using Held = leveldb::Snapshot;
  using Cursor = LevelDbCursor;

  static leveldb::Env* NewMemEnv(leveldb::Env* base) { return leveldb::NewMemEnv(base); }
  static leveldb::Options OptionsOn(leveldb::Env* environment) {
    leveldb::Options options;
    options.env = environment;
    options.create_if_missing = true;
    options.write_buffer_size = kPeerBufferBytes;
    options.block_size = 1024;
    options.compression = leveldb::kNoCompression;
    return options;
  }
  // LevelDB has no range deletes.
  static void DeleteRange(const RankBounds& range, const KeyPool& keys, Batch* batch) {
    for (uint32_t rank = range.first; rank < range.end; ++rank)
      batch->Delete(ToSlice<leveldb::Slice>(keys[rank]));
  }
  // LevelDB has no call for a flush.
  static absl::Status Flush(leveldb::DB*) { return absl::OkStatus(); }
  static absl::Status Compact(leveldb::DB* db, const leveldb::Slice* from,
                              const leveldb::Slice* to) {
    db->CompactRange(from, to);
    return absl::OkStatus();
  }
};

class RocksDbCursor final : public lsm::Iterator {
 public:
  RocksDbCursor(rocksdb::DB* db, rocksdb::ReadOptions options,
                std::shared_ptr<const rocksdb::Snapshot> snapshot, OptionalKey lower,
                OptionalKey upper)
      : snapshot_(std::move(snapshot)),
        lower_(ToSlice<rocksdb::Slice>(lower.value_or(""))),
        upper_(ToSlice<rocksdb::Slice>(upper.value_or(""))) {
    if (lower) options.iterate_lower_bound = &lower_;
    if (upper) options.iterate_upper_bound = &upper_;
    inner_.reset(db->NewIterator(options));
  }

  bool Valid() const override { return inner_->Valid(); }
  void SeekToFirst() override { inner_->SeekToFirst(); }
  void SeekToLast() override { inner_->SeekToLast(); }
  void Seek(std::string_view target) override { inner_->Seek(target); }
  void SeekForPrev(std::string_view target) override { inner_->SeekForPrev(target); }
  void Next() override { inner_->Next(); }
  void Prev() override { inner_->Prev(); }
  std::string_view key() const override { return inner_->key().ToStringView(); }
  std::string_view value() const override { return inner_->value().ToStringView(); }
  absl::Status status() const override { return ToAbsl(inner_->status()); }

 private:
  // RocksDB 7.8 asks the snapshot for its number whenever an iterator comes to a table with ranges.
  const std::shared_ptr<const rocksdb::Snapshot> snapshot_;
  const rocksdb::Slice lower_, upper_;
  std::unique_ptr<rocksdb::Iterator> inner_;
};

struct RocksDb {
  using Database = rocksdb::DB;
  using Environment = rocksdb::Env;
  using Batch = rocksdb::WriteBatch;
  using Bytes = rocksdb::Slice;
  using Reads = rocksdb::ReadOptions;
  using Held = rocksdb::Snapshot;
  using Cursor = RocksDbCursor;

  static rocksdb::Env* NewMemEnv(rocksdb::Env* base) { return rocksdb::NewMemEnv(base); }
  static rocksdb::Options OptionsOn(rocksdb::Env* environment) {
    rocksdb::Options options;
    options.env = environment;
    options.create_if_missing = true;
    options.write_buffer_size = kPeerBufferBytes;
    options.target_file_size_base = kPeerBufferBytes;
    options.max_bytes_for_level_base = 4 * kPeerBufferBytes;
    options.compression = rocksdb::kNoCompression;
    options.info_log_level = rocksdb::FATAL_LEVEL;
    // Turns off work that would only cost time.
    options.stats_dump_period_sec = 0;
    options.stats_persist_period_sec = 0;
    options.max_write_buffer_number = 8;
    options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1000;
    return options;
  }
  // RocksDB refuses ranges whose end is before their begin, and has none without an end.
  static void DeleteRange(const RankBounds& range, const KeyPool& keys, Batch* batch) {
    if (range.first >= range.end) return;
    const std::string beyond(10, '\xff');  // comes after all keys of the pool
    batch->DeleteRange(FromOf(range, keys), ToOf(range, keys).value_or(beyond));
  }
  static absl::Status Flush(rocksdb::DB* db) { return ToAbsl(db->Flush({})); }
  static absl::Status Compact(rocksdb::DB* db, const rocksdb::Slice* from,
                              const rocksdb::Slice* to) {
    return ToAbsl(db->CompactRange({}, from, to));
  }
};

// --- an episode ---

class Comparison {
 public:
  // `words`, if given, receives a line for each action.
  Comparison(const Material& material, DifferentialReport* report, std::vector<std::string>* words)
      : material_(material),
        keys_(material.keys),
        report_(*report),
        words_(words),
        trellis_(material),
        leveldb_(material),
        rocksdb_(material) {}

  Outcome Run(const std::vector<Action>& actions) {
    ForEach([](Store& store) { return store.Open(); });
    for (size_t i = 0; i < actions.size() && problem_.empty(); ++i) {
      if (words_ != nullptr) words_->push_back(NameOf(actions[i].kind));
      Draws draws(actions[i].salt);
      Make(actions[i].kind, draws);
      ++report_.operations;
      if (!problem_.empty()) return {i, problem_};
    }
    if (words_ != nullptr) words_->push_back("all keys, at the end");
    for (const bool forward : {true, false}) ScanAll(kNow, forward);
    Close();
    if (problem_.empty()) return {};
    return {actions.empty() ? 0 : actions.size() - 1, problem_};
  }

 private:
  static constexpr size_t kStores = 3;
  static constexpr const char* kNames[kStores] = {"Trellis", "LevelDB", "RocksDB"};

  // Corresponding iterators, one of each store.
  using Iterators = std::array<std::unique_ptr<lsm::Iterator>, kStores>;

  void Make(Action::Kind kind, Draws& draws) {
    switch (kind) {
      case Action::kPut:
      case Action::kDelete:
      case Action::kBatch:
      case Action::kDeleteRange:
      case Action::kRangeBatch:
        return Write(kind, draws);
      case Action::kGet: {
        const size_t snapshot = AnySnapshot(draws);
        return Get(snapshot, keys_.Any(draws));
      }
      case Action::kMultiGet: {
        const size_t snapshot = AnySnapshot(draws);
        for (size_t left = draws.Roll(20); left > 0; --left) Get(snapshot, keys_.Any(draws));
        return;
      }
      case Action::kSnapshot:
        return TakeOrReleaseSnapshot(draws);
      case Action::kNewIterator:
        return NewIterators(draws);
      case Action::kWalk: {
        const size_t place = draws.Roll(kIteratorsHeld);
        Say([&] { return Concat(" of iterator ", place); });
        return Walk(iterators_[place], draws);
      }
      case Action::kScan: {
        const size_t snapshot = AnySnapshot(draws);
        return ScanAll(snapshot, draws.OneIn(2));
      }
      case Action::kBackgroundJob:
        return trellis_.RunBackgroundJob();
      case Action::kBackground:
        return Check(kNames[0], trellis_.RunBackgroundJobs());
      case Action::kFlush:
        return ForEach([](Store& store) { return store.Flush(); });
      case Action::kCompact:
        return Compact(draws);
      case Action::kReopen:
        Close();
        ++report_.reopenings;
        return ForEach([](Store& store) { return store.Open(); });
      default:
        return;
    }
  }

  // --- findings ---

  void Check(const char* name, const absl::Status& status) {
    if (!status.ok() && problem_.empty()) problem_ = Concat(name, " fails: ", status.ToString());
  }
  // Appends `text()` to the current line, if the caller wants the lines.
  template <typename Text>
  void Say(const Text& text) {
    if (words_ != nullptr) words_->back() += text();
  }
  template <typename Call>
  void ForEach(const Call& call) {
    for (size_t i = 0; i < kStores; ++i) Check(kNames[i], call(*stores_[i]));
  }
  // Reports that the stores disagree.  `text(i)` is the answer of store i.
  template <typename Text>
  void FailWith(const std::string& what, const Text& text) {
    if (!problem_.empty()) return;
    problem_ = Concat(what, ":");
    for (size_t i = 0; i < kStores; ++i)
      problem_ += Concat(i == 0 ? " " : ", ", kNames[i], " says ", text(i));
  }

  // --- actions ---

  void Write(Action::Kind kind, Draws& draws) {
    DrawChanges(kind, keys_, material_.values, draws, &changes_);
    Say([&] { return Concat(" ", TextOf(changes_, keys_)); });
    ++report_.writes;
    ForEach([&](Store& store) { return store.Write(changes_); });
  }

  void Compact(Draws& draws) {
    const RankBounds range = AnyBounds(keys_, draws);
    Say([&] { return TextOf(range, keys_); });
    lsm::ReadOptions bounds;
    range.SetIn(keys_, &bounds);
    ForEach([&](Store& store) { return store.Compact(bounds.lower_bound, bounds.upper_bound); });
  }

  size_t AnySnapshot(Draws& draws) {
    const size_t place = draws.Roll(2 * kSnapshotsHeld);
    if (place >= kSnapshotsHeld || !has_snapshot_[place]) return kNow;
    Say([&] { return Concat(" as of snapshot ", place); });
    return place;
  }

  void TakeOrReleaseSnapshot(Draws& draws) {
    const size_t place = draws.Roll(kSnapshotsHeld);
    const bool take = has_snapshot_[place] = !has_snapshot_[place];
    Say([&] { return Concat(" ", place, take ? " taken" : " released"); });
    for (Store* store : stores_) take ? store->TakeSnapshot(place) : store->ReleaseSnapshot(place);
  }

  void Get(size_t snapshot, uint32_t rank) {
    bool found[kStores] = {};
    for (size_t i = 0; i < kStores; ++i) {
      const absl::StatusOr<bool> answer = stores_[i]->Get(keys_[rank], snapshot, &values_[i]);
      Check(kNames[i], answer.status());
      found[i] = answer.ok() && *answer;
    }
    ++report_.answers;
    for (size_t i = 1; i < kStores; ++i) {
      if (found[i] == found[0] && (!found[0] || values_[i] == values_[0])) continue;
      FailWith(keys_.TextOf(rank), [&](size_t which) {
        return TextOfValue(found[which] ? OptionalKey(values_[which]) : std::nullopt);
      });
    }
  }

  Iterators IteratorsOver(size_t snapshot, const RankBounds& bounds) {
    lsm::ReadOptions options;
    bounds.SetIn(keys_, &options);
    Iterators iterators;
    for (size_t i = 0; i < kStores; ++i)
      iterators[i] = stores_[i]->NewIterator(snapshot, options.lower_bound, options.upper_bound);
    return iterators;
  }

  void NewIterators(Draws& draws) {
    const size_t place = draws.Roll(kIteratorsHeld);
    Say([&] { return Concat(" ", place); });
    const size_t snapshot = AnySnapshot(draws);
    const RankBounds bounds = AnyBounds(keys_, draws);
    Say([&] { return TextOf(bounds, keys_); });
    iterators_[place] = IteratorsOver(snapshot, bounds);
    Walk(iterators_[place], draws);
  }

  void Walk(const Iterators& iterators, Draws& draws) {
    if (iterators[0] == nullptr) return;
    for (size_t left = 1 + draws.Roll(12); left > 0 && problem_.empty(); --left) {
      const Move move = AnyMove(iterators[0]->Valid(), keys_, draws);
      Say([&] { return Concat(", ", TextOf(move, keys_)); });
      MoveAll(move, iterators);
    }
  }

  void ScanAll(size_t snapshot, bool forward) {
    const Iterators iterators = IteratorsOver(snapshot, {});
    MoveAll({forward ? Move::kSeekToFirst : Move::kSeekToLast, 0}, iterators);
    while (problem_.empty() && iterators[0]->Valid())
      MoveAll({forward ? Move::kNext : Move::kPrev, 0}, iterators);
  }

  void MoveAll(const Move& move, const Iterators& iterators) {
    bool same = true;
    ++report_.answers;
    for (size_t i = 0; i < kStores; ++i) {
      MakeMove(move, keys_, iterators[i].get());
      Check(kNames[i], iterators[i]->status());
      same = same && iterators[i]->Valid() == iterators[0]->Valid() &&
             (!iterators[i]->Valid() || (iterators[i]->key() == iterators[0]->key() &&
                                         iterators[i]->value() == iterators[0]->value()));
    }
    if (same) return;
    FailWith(TextOf(move, keys_), [&](size_t i) {
      if (!iterators[i]->Valid()) return std::string("no key");
      return Concat(TextOfKey(iterators[i]->key()), " = ", TextOfValue(iterators[i]->value()));
    });
  }

  void Close() {
    for (Iterators& iterators : iterators_) iterators = {};
    for (bool& has : has_snapshot_) has = false;
    for (Store* store : stores_) store->Close();
  }

  const Material& material_;
  const KeyPool& keys_;
  DifferentialReport& report_;
  std::vector<std::string>* const words_;
  std::string problem_;
  TrellisStore trellis_;
  PeerStore<LevelDb> leveldb_;
  PeerStore<RocksDb> rocksdb_;
  Store* const stores_[kStores] = {&trellis_, &leveldb_, &rocksdb_};
  Iterators iterators_[kIteratorsHeld];
  bool has_snapshot_[kSnapshotsHeld] = {};
  std::string values_[kStores];
  std::vector<Change> changes_;
};

}  // namespace

DifferentialReport CompareWithPeers(uint64_t seed, uint64_t operations) {
  DifferentialReport report;
  for (; report.operations < operations && report.finding.empty(); ++seed) {
    SayUnderWay(Concat("the episode of seed ", seed, " (as amount, ", report.operations + 1, ")"));
    const Material material(seed);
    const std::vector<Action> actions = MakeActions(seed, WeightsOf(seed), kEpisodeActions);
    ++report.episodes;
    const std::optional<size_t> failed_at =
        Comparison(material, &report, nullptr).Run(actions).failed_at;
    if (!failed_at) continue;
    report.finding =
        Concat("seed ", seed, ", ",
               FindingOf(actions, *failed_at, "", kReductionEffortMax,
                         [&](const std::vector<Action>& some, std::vector<std::string>* words) {
                           DifferentialReport unused;
                           return Comparison(material, &unused, words).Run(some);
                         }));
  }
  return report;
}

}  // namespace reliability
