#include "tests/reliability/workload/compared_stores.h"

#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/helpers/memenv.h>
#include <leveldb/write_batch.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "tests/support/deterministic_environment.h"

namespace reliability {
namespace {

using lsm::Concat;

constexpr char kDirectory[] = "/store";

// Small, so that little data makes many tables, but not smaller, because LevelDB slows writers down
// if it has too many tables.
constexpr size_t kPeerBufferBytes = 128 << 10;

template <typename Slice>
Slice ToSlice(std::string_view bytes) {
  return Slice(bytes.data(), bytes.size());
}

template <typename Status>
absl::Status ToAbsl(const Status& status) {
  return status.ok() ? absl::OkStatus() : absl::UnknownError(status.ToString());
}

class TrellisStore final : public ComparedStore {
 public:
  explicit TrellisStore(const ComparedMaterial& material)
      : material_(material), draws_(material.seed), random_(material.seed) {}

  const char* name() const override { return "Trellis"; }
  absl::Status Open() override {
    lsm::Options options = AnyOptions(draws_);
    options.environment.file_system = &files_;
    options.environment.clock = &clock_;
    options.environment.scheduler = &scheduler_;
    options.environment.random = &random_;
    TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(kDirectory, options));
    for (size_t family = 0; family < material_.families; ++family) {
      TRELLIS_ASSIGN_OR_RETURN(families_.emplace_back(), db_->OpenKeyspace(FamilyName(family)));
    }
    return absl::OkStatus();
  }
  void Close() override {
    for (auto& snapshot : snapshots_) snapshot = nullptr;
    families_.clear();
    db_ = nullptr;
  }
  absl::Status Write(size_t family, const std::vector<Change>& changes) override {
    lsm::WriteBatch batch;
    AddTo(&batch, changes, material_.keys, material_.values, &families_[family]);
    return db_->Write(batch);
  }
  absl::StatusOr<bool> Get(size_t family, std::string_view key, size_t snapshot,
                           std::string* value) override {
    return families_[family].Get(key, value, ReadsAsOf(snapshot));
  }
  std::unique_ptr<lsm::Iterator> NewIterator(size_t family, size_t snapshot, OptionalKey lower,
                                             OptionalKey upper) override {
    lsm::ReadOptions options = ReadsAsOf(snapshot);
    options.lower_bound = lower;
    options.upper_bound = upper;
    return families_[family].NewIterator(options);
  }
  absl::Status Replace(size_t family) override {
    TRELLIS_RETURN_IF_ERROR(db_->DropKeyspace(FamilyName(family)));
    TRELLIS_ASSIGN_OR_RETURN(families_[family], db_->OpenKeyspace(FamilyName(family)));
    return absl::OkStatus();
  }
  void TakeSnapshot(size_t place) override { snapshots_[place] = db_->GetSnapshot(); }
  void ReleaseSnapshot(size_t place) override { snapshots_[place] = nullptr; }
  absl::Status Flush() override { return db_->Flush(); }
  absl::Status Compact(size_t family, OptionalKey from, OptionalKey to) override {
    return families_[family].CompactRange(from, to);
  }

  void RunBackgroundJob() override { scheduler_.Pause(0); }
  absl::Status RunBackgroundJobs() override { return db_->WaitForBackgroundWork(); }

 private:
  lsm::ReadOptions ReadsAsOf(size_t snapshot) const {
    lsm::ReadOptions options;
    if (snapshot != kNow) options.snapshot = snapshots_[snapshot].get();
    return options;
  }

  const ComparedMaterial& material_;
  Draws draws_;
  lsm::MemoryFileSystem files_;
  testing_support::SingleThreadScheduler scheduler_;
  testing_support::ManualClock clock_;
  testing_support::SeededRandom random_;
  std::unique_ptr<lsm::DB> db_;
  std::vector<lsm::Keyspace> families_;
  std::unique_ptr<const lsm::Snapshot> snapshots_[kSnapshotsHeld];
};

// The code that LevelDB and RocksDB share.  `Peer` names the types of one of them.
template <typename Peer>
class PeerStore : public ComparedStore {
 public:
  explicit PeerStore(const ComparedMaterial& material)
      : material_(material), environment_(Peer::NewMemEnv(Peer::Environment::Default())) {}
  ~PeerStore() override { PeerStore::Close(); }

  const char* name() const override { return Peer::kName; }
  absl::Status Open() override {
    typename Peer::Database* db = nullptr;
    const absl::Status status =
        Peer::Open(Peer::OptionsOn(environment_.get()), material_.families, &db, &families_);
    db_.reset(db);
    return status;
  }
  void Close() override {
    for (size_t place = 0; place < kSnapshotsHeld; ++place) ReleaseSnapshot(place);
    families_.clear();
    db_ = nullptr;
  }
  absl::Status Write(size_t family, const std::vector<Change>& changes) override {
    typename Peer::Batch batch;
    std::string buffer;
    Peer::In(families_[family], [&](auto... in) {
      for (const auto& [rank, value, range] : changes) {
        const auto key = ToSlice<typename Peer::Bytes>(material_.keys[rank]);
        if (range) {
          Peer::DeleteRange(*range, material_.keys, &batch, in...);
        } else if (value.exists()) {
          batch.Put(in..., key,
                    ToSlice<typename Peer::Bytes>(material_.values.BytesOf(value, &buffer)));
        } else {
          batch.Delete(in..., key);
        }
      }
    });
    return ToAbsl(db_->Write({}, &batch));
  }
  absl::StatusOr<bool> Get(size_t family, std::string_view key, size_t snapshot,
                           std::string* value) override {
    const auto status = Peer::In(families_[family], [&](auto... in) {
      return db_->Get(ReadsAsOf(snapshot), in..., ToSlice<typename Peer::Bytes>(key), value);
    });
    if (status.IsNotFound()) return false;
    if (!status.ok()) return ToAbsl(status);
    return true;
  }
  std::unique_ptr<lsm::Iterator> NewIterator(size_t family, size_t snapshot, OptionalKey lower,
                                             OptionalKey upper) override {
    return std::make_unique<typename Peer::Cursor>(
        db_.get(), families_[family], ReadsAsOf(snapshot),
        snapshot == kNow ? nullptr : snapshots_[snapshot], lower, upper);
  }
  absl::Status Replace(size_t family) override {
    return Peer::Replace(db_.get(), FamilyName(family), &families_[family]);
  }
  void TakeSnapshot(size_t place) override {
    snapshots_[place] = {db_->GetSnapshot(), [db = db_.get()](const typename Peer::Held* snapshot) {
                           db->ReleaseSnapshot(snapshot);
                         }};
  }
  void ReleaseSnapshot(size_t place) override { snapshots_[place] = nullptr; }
  absl::Status Flush() override { return Peer::Flush(db_.get(), families_); }
  absl::Status Compact(size_t family, OptionalKey from, OptionalKey to) override {
    const auto begin = ToSlice<typename Peer::Bytes>(from.value_or(""));
    const auto end = ToSlice<typename Peer::Bytes>(to.value_or(""));
    return Peer::Compact(db_.get(), families_[family], from ? &begin : nullptr,
                         to ? &end : nullptr);
  }

 private:
  typename Peer::Reads ReadsAsOf(size_t snapshot) const {
    typename Peer::Reads reads;
    if (snapshot != kNow) reads.snapshot = snapshots_[snapshot].get();
    return reads;
  }

  const ComparedMaterial& material_;
  const std::unique_ptr<typename Peer::Environment> environment_;
  std::unique_ptr<typename Peer::Database> db_;
  std::vector<typename Peer::Family> families_;
  std::shared_ptr<const typename Peer::Held> snapshots_[kSnapshotsHeld];
};

struct NoFamily {};

// Adds bounds and SeekForPrev, which LevelDB's iterators lack.
class LevelDbCursor final : public lsm::Iterator {
 public:
  LevelDbCursor(leveldb::DB* db, NoFamily, const leveldb::ReadOptions& options,
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
  static constexpr char kName[] = "LevelDB";
  using Database = leveldb::DB;
  using Environment = leveldb::Env;
  using Batch = leveldb::WriteBatch;
  using Bytes = leveldb::Slice;
  using Reads = leveldb::ReadOptions;
  using Held = leveldb::Snapshot;
  using Cursor = LevelDbCursor;
  using Family = NoFamily;

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
  static absl::Status Open(const leveldb::Options& options, size_t /*families*/, leveldb::DB** db,
                           std::vector<NoFamily>* families) {
    families->assign(1, {});
    return ToAbsl(leveldb::DB::Open(options, kDirectory, db));
  }
  // Calls `use` with what a call of the family has in addition.
  template <typename Use>
  static auto In(NoFamily, const Use& use) {
    return use();
  }
  static absl::Status Replace(leveldb::DB*, const std::string&, NoFamily*) {
    return absl::OkStatus();
  }
  // LevelDB has no range deletes.
  static void DeleteRange(const RankBounds& range, const KeyPool& keys, Batch* batch) {
    for (uint32_t rank = range.first; rank < range.end; ++rank)
      batch->Delete(ToSlice<leveldb::Slice>(keys[rank]));
  }
  // LevelDB has no call for a flush.
  static absl::Status Flush(leveldb::DB*, const std::vector<NoFamily>&) { return absl::OkStatus(); }
  static absl::Status Compact(leveldb::DB* db, NoFamily, const leveldb::Slice* from,
                              const leveldb::Slice* to) {
    db->CompactRange(from, to);
    return absl::OkStatus();
  }
};

using RocksDbFamily = std::shared_ptr<rocksdb::ColumnFamilyHandle>;

class RocksDbCursor final : public lsm::Iterator {
 public:
  RocksDbCursor(rocksdb::DB* db, RocksDbFamily family, rocksdb::ReadOptions options,
                std::shared_ptr<const rocksdb::Snapshot> snapshot, OptionalKey lower,
                OptionalKey upper)
      : family_(std::move(family)),
        snapshot_(std::move(snapshot)),
        lower_(ToSlice<rocksdb::Slice>(lower.value_or(""))),
        upper_(ToSlice<rocksdb::Slice>(upper.value_or(""))) {
    if (lower) options.iterate_lower_bound = &lower_;
    if (upper) options.iterate_upper_bound = &upper_;
    inner_.reset(db->NewIterator(options, family_.get()));
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
  const RocksDbFamily family_;  // perhaps dropped
  // RocksDB 7.8 asks the snapshot for its number whenever an iterator comes to a table with ranges.
  const std::shared_ptr<const rocksdb::Snapshot> snapshot_;
  const rocksdb::Slice lower_, upper_;
  std::unique_ptr<rocksdb::Iterator> inner_;
};

struct RocksDb {
  static constexpr char kName[] = "RocksDB";
  using Database = rocksdb::DB;
  using Environment = rocksdb::Env;
  using Batch = rocksdb::WriteBatch;
  using Bytes = rocksdb::Slice;
  using Reads = rocksdb::ReadOptions;
  using Held = rocksdb::Snapshot;
  using Cursor = RocksDbCursor;
  using Family = RocksDbFamily;

  static rocksdb::Env* NewMemEnv(rocksdb::Env* base) { return rocksdb::NewMemEnv(base); }
  static rocksdb::Options OptionsOn(rocksdb::Env* environment) {
    rocksdb::Options options;
    options.env = environment;
    options.create_if_missing = options.create_missing_column_families = true;
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
  static absl::Status Open(const rocksdb::Options& options, size_t families, rocksdb::DB** db,
                           std::vector<RocksDbFamily>* opened) {
    std::vector<rocksdb::ColumnFamilyDescriptor> wanted;
    for (size_t family = 0; family < families; ++family)
      wanted.emplace_back(FamilyName(family), options);
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    const rocksdb::Status status = rocksdb::DB::Open(options, kDirectory, wanted, &handles, db);
    for (rocksdb::ColumnFamilyHandle* const handle : handles) opened->emplace_back(handle);
    return ToAbsl(status);
  }
  template <typename Use>
  static auto In(const RocksDbFamily& family, const Use& use) {
    return use(family.get());
  }
  static absl::Status Replace(rocksdb::DB* db, const std::string& name, RocksDbFamily* family) {
    rocksdb::ColumnFamilyHandle* made = nullptr;
    rocksdb::Status status = db->DropColumnFamily(family->get());
    if (status.ok()) status = db->CreateColumnFamily(db->GetOptions(family->get()), name, &made);
    family->reset(made);
    return ToAbsl(status);
  }
  // RocksDB refuses ranges whose end is before their begin, and has none without an end.
  static void DeleteRange(const RankBounds& range, const KeyPool& keys, Batch* batch,
                          rocksdb::ColumnFamilyHandle* family) {
    if (range.first >= range.end) return;
    const std::string beyond(10, '\xff');  // comes after all keys of the pool
    batch->DeleteRange(family, FromOf(range, keys), ToOf(range, keys).value_or(beyond));
  }
  static absl::Status Flush(rocksdb::DB* db, const std::vector<RocksDbFamily>& families) {
    rocksdb::Status status;
    for (size_t i = 0; status.ok() && i < families.size(); ++i)
      status = db->Flush({}, families[i].get());
    return ToAbsl(status);
  }
  static absl::Status Compact(rocksdb::DB* db, const RocksDbFamily& family,
                              const rocksdb::Slice* from, const rocksdb::Slice* to) {
    return ToAbsl(db->CompactRange({}, family.get(), from, to));
  }
};

}  // namespace

std::string FamilyName(size_t family) {
  return family == 0 ? rocksdb::kDefaultColumnFamilyName : Concat("family", family);
}

std::vector<std::unique_ptr<ComparedStore>> MakeStores(const ComparedMaterial& material) {
  std::vector<std::unique_ptr<ComparedStore>> stores;
  stores.push_back(std::make_unique<TrellisStore>(material));
  stores.push_back(std::make_unique<PeerStore<RocksDb>>(material));
  stores.push_back(std::make_unique<PeerStore<LevelDb>>(material));
  return stores;
}

}  // namespace reliability
