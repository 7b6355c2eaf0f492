#include "tests/reliability/faults/keyspaces_trials.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/manifest.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/short_memory.h"
#include "tests/reliability/faults/spared_files.h"
#include "tests/reliability/keyspaces/repair_store.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::Keyspace;
using lsm::KeyspaceOptions;
using testing_support::Dice;
using Unsynced = lsm::MemoryFileSystem::Unsynced;

constexpr size_t kNames = 5;
constexpr size_t kKeysOfEach = 12;
constexpr int kSteps = 60;

struct KeyspaceModel {
  KeyspaceOptions options;
  lsm::Contents contents;
  bool operator==(const KeyspaceModel&) const = default;
};
// The keyspaces by name, including "default".
using StoreModel = std::map<std::string, KeyspaceModel>;

class KeyspacesTrial {
 public:
  KeyspacesTrial(uint64_t seed, KeyspacesReport* report)
      : dice_(seed), seed_(seed), report_(*report), world_(seed), files_(world_.files.get()) {
    options_ = world_.SmallOptions();
    options_.environment.file_system = &files_;
    options_.level0_compaction_tables = 2;
    states_ = {{{"default", {}}}};
  }
  ~KeyspacesTrial() { memory_.Stop(); }

  std::string Run() {
    if (std::string problem = Open(); !problem.empty()) return Finding(problem);
    for (int step = 0; step < kSteps; ++step) {
      if (std::string problem = Step(); !problem.empty())
        return Finding(Concat("step ", step, ": ", problem));
    }
    if (std::string problem = dice_.OneIn(2) ? Reopen() : ""; !problem.empty())
      return Finding(problem);
    return Finding(Repair());
  }

 private:
  std::string Finding(const std::string& problem) const {
    return problem.empty() ? "" : Concat("seed ", seed_, ": ", problem);
  }
  static std::string Failed(std::string_view call, const absl::Status& status) {
    return Concat(call, ": ", status.ToString());
  }

  std::string Step() {
    switch (dice_.Roll(14)) {
      case 0:
      case 1:
      case 2:
        return OpenOne();
      case 3:
        return OpenOneWithoutMemory();
      case 4:
        return FailACall();
      case 5: {
        if (const absl::Status status = db_->Flush(); !status.ok()) return Failed("Flush", status);
        Synced();
        return "";
      }
      case 6:
        return Compact();
      case 7:
        return dice_.OneIn(2) ? Reopen() : "";
      case 8:
        return dice_.OneIn(2) ? Crash() : "";
      default:
        return Write();
    }
  }

  // --- calls, and what they make of the model ---

  std::string RollName() { return Concat("name", dice_.Roll(kNames)); }
  KeyspaceOptions RollOptions() {
    KeyspaceOptions options;
    if (dice_.OneIn(3)) options.filter_kind = dice_.OneIn(2) ? "ribbon" : "standard";
    if (dice_.OneIn(3)) options.target_fpp = dice_.OneIn(2) ? 0.25 : 0.125;
    if (dice_.OneIn(4)) options.compression = lsm::Compression::kNone;
    if (dice_.OneIn(4)) {
      options.compaction_style =
          dice_.OneIn(2) ? lsm::CompactionStyle::kTiered : lsm::CompactionStyle::kLeveled;
    }
    // Longer than a trial takes by the clock.
    if (dice_.OneIn(4)) options.expire_after = dice_.OneIn(3) ? 0 : 100'000;
    return options;
  }
  // This is not the library's own function, because that is under test.
  static StoreModel Opened(StoreModel model, const std::string& name,
                           const KeyspaceOptions& options) {
    KeyspaceOptions& has = model[name].options;
    if (options.filter_kind) has.filter_kind = options.filter_kind;
    if (options.target_fpp) has.target_fpp = options.target_fpp;
    if (options.compression) has.compression = options.compression;
    if (options.compaction_style) has.compaction_style = options.compaction_style;
    if (options.expire_after) has.expire_after = options.expire_after;
    return model;
  }
  const StoreModel& now() const { return states_.back(); }
  void Made(StoreModel model) {
    if (model == now()) return;
    ++report_.calls;
    states_.push_back(std::move(model));
  }
  void Synced() { durable_ = states_.size() - 1; }

  // If the call succeeds, the model has the change.
  absl::Status Ask(const std::string& name, const KeyspaceOptions& options) {
    TRELLIS_ASSIGN_OR_RETURN(Keyspace handle, db_->OpenKeyspace(name, options));
    report_.keyspaces += !now().contains(name);
    report_.options += now().contains(name) && options != KeyspaceOptions();
    handles_.insert_or_assign(name, std::move(handle));
    Made(Opened(now(), name, options));
    return absl::OkStatus();
  }

  std::string OpenOne() {
    const absl::Status status = Ask(RollName(), dice_.OneIn(2) ? KeyspaceOptions() : RollOptions());
    return status.ok() ? Compare() : Failed("OpenKeyspace", status);
  }

  std::string OpenOneWithoutMemory() {
    const std::string name = RollName();
    const KeyspaceOptions options = RollOptions();
    const uint64_t failed = memory_.failed;
    memory_.FailOnce(dice_.Roll(30));
    absl::Status status;
    try {
      status = InStore([&] { return db_->OpenKeyspace(name, options).status(); });
    } catch (const std::bad_alloc&) {
      return "OpenKeyspace throws";
    }
    memory_.Stop();
    if (memory_.failed == failed && !status.ok()) return Failed("OpenKeyspace", status);
    if (status.ok()) {
      if (const absl::Status again = Ask(name, options); !again.ok())
        return Failed("OpenKeyspace", again);
      return Resume();  // perhaps a job in the background failed
    }
    report_.out_of_memory += memory_.failed - failed;
    if (!absl::IsResourceExhausted(status) && !absl::IsUnknown(status))
      return Failed("OpenKeyspace without memory", status);
    if (const std::string problem = CompareNames(); !problem.empty()) return problem;
    return Resume();
  }

  // Puts and deletes in some keyspaces.
  StoreModel FillBatch(lsm::WriteBatch* batch) {
    StoreModel model = now();
    for (size_t i = 1 + dice_.Roll(6); i > 0; --i) {
      const size_t which = dice_.Roll(handles_.size() + 1);
      const std::string key = Concat("key", dice_.Roll(kKeysOfEach)),
                        value = Concat(++values_, std::string(dice_.Roll(1500), 'v'));
      const bool is_put = !dice_.OneIn(4);
      if (which == handles_.size()) {
        is_put ? batch->Put(key, value) : batch->Delete(key);
      } else {
        const Keyspace& keyspace =
            std::next(handles_.begin(), static_cast<ptrdiff_t>(which))->second;
        is_put ? batch->Put(keyspace, key, value) : batch->Delete(keyspace, key);
      }
      const std::string name =
          which == handles_.size()
              ? "default"
              : std::next(handles_.begin(), static_cast<ptrdiff_t>(which))->first;
      lsm::Contents& contents = model.at(name).contents;
      if (is_put) {
        contents[key] = value;
      } else {
        contents.erase(key);
      }
    }
    return model;
  }

  std::string Write() {
    lsm::WriteBatch batch;
    StoreModel model = FillBatch(&batch);
    const bool sync = dice_.OneIn(6);
    if (const absl::Status status = db_->Write(batch, {.sync = sync}); !status.ok())
      return Failed("Write", status);
    Made(std::move(model));
    if (sync) Synced();
    return dice_.OneIn(4) ? Compare() : "";
  }

  std::string Compact() {
    const auto handle = handles_.find(RollName());
    const absl::Status status =
        handle == handles_.end() ? db_->CompactRange() : handle->second.CompactRange();
    if (!status.ok()) return Failed("CompactRange", status);
    Synced();  // it flushes
    return Compare();
  }

  // Fails an append or a sync of the log.
  std::string FailACall() {
    const auto failing =
        dice_.OneIn(2) ? lsm::FileOperation::kAppend : lsm::FileOperation::kSyncFile;
    world_.files->SetFault([=](lsm::FileOperation operation, const std::string& path, uint64_t) {
      return operation == failing && path.ends_with(".log")
                 ? absl::UnavailableError(Concat(path, ": broken"))
                 : absl::OkStatus();
    });
    lsm::WriteBatch batch;
    StoreModel model = FillBatch(&batch);
    absl::Status status;
    if (dice_.OneIn(2)) {
      status = Ask(RollName(), RollOptions());
    } else {
      status = db_->Write(batch, {.sync = failing == lsm::FileOperation::kSyncFile});
      if (status.ok()) return "a write succeeds without a log";
    }
    world_.files->SetFault(nullptr);
    if (const std::string problem = CompareNames(); !problem.empty()) return problem;
    return Resume();
  }

  // After it, the store has exactly what reads have shown.
  std::string Resume() {
    const bool has_failed = !db_->GetFailure().ok();
    if (const absl::Status status = db_->Resume(); !status.ok()) return Failed("Resume", status);
    if (has_failed) {
      ++report_.resumed;
      Synced();
    }
    return Compare();
  }

  // --- openings ---

  std::string Open() {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open("/store", options_);
    if (!db.ok()) return Failed("Open", db.status());
    db_ = *std::move(db);
    handles_.clear();
    return "";
  }

  std::string Reopen() {
    handles_.clear();
    if (const absl::Status status = db_->Close(); !status.ok()) return Failed("Close", status);
    Synced();
    db_ = nullptr;
    return OpenAndCompare(nullptr);
  }

  // Ends the machine or the process while a call or a flush runs.
  std::string Crash() {
    ++report_.crashes;
    const bool is_process = dice_.OneIn(2);
    world_.files->CrashAt(world_.files->operation_count() + dice_.Roll(12));
    std::optional<StoreModel> pending;  // of the call that fails
    for (int i = 0; i < 6; ++i) {
      if (dice_.OneIn(3)) {
        const std::string name = RollName();
        const KeyspaceOptions options = RollOptions();
        if (Ask(name, options).ok()) continue;
        pending = Opened(now(), name, options);
        break;
      }
      if (dice_.OneIn(4)) {
        if (!db_->Flush().ok()) break;
        Synced();
        continue;
      }
      lsm::WriteBatch batch;
      StoreModel model = FillBatch(&batch);
      const bool sync = dice_.OneIn(2);
      if (!db_->Write(batch, {.sync = sync}).ok()) {
        pending = std::move(model);
        break;
      }
      Made(std::move(model));
      if (sync) Synced();
    }
    handles_.clear();
    db_ = nullptr;
    world_.files->Restart(is_process ? Unsynced::kKept : Unsynced::kLost);
    if (is_process) Synced();
    return OpenAndCompare(pending ? &*pending : nullptr);
  }

  // The store must have one of the states from the last durable one on.
  std::string OpenAndCompare(const StoreModel* pending) {
    if (std::string problem = Open(); !problem.empty()) return problem;
    if (pending != nullptr) states_.push_back(*pending);
    const absl::StatusOr<std::vector<std::string>> names = db_->ListKeyspaces();
    if (!names.ok()) return Failed("ListKeyspaces", names.status());
    for (const std::string& name : *names) {
      if (name == "default") continue;
      absl::StatusOr<Keyspace> handle = db_->OpenKeyspace(name);
      if (!handle.ok()) return Failed("OpenKeyspace", handle.status());
      handles_.emplace(name, *std::move(handle));
    }
    const absl::StatusOr<StoreModel> found = ReadStore();
    if (!found.ok()) return Failed("a read", found.status());
    ++report_.compared;
    for (size_t i = states_.size(); i-- > durable_;) {
      if (states_[i] != *found) continue;
      states_ = {*found};  // an opening flushes and begins a new manifest, so this state is durable
      durable_ = 0;
      return "";
    }
    return Concat("after an opening: ", Difference(*found));
  }

  // --- comparisons ---

  // Options are those of the manifest, which an opening, a flush and Resume bring up to date.
  absl::StatusOr<StoreModel> ReadStore() {
    StoreModel found;
    TRELLIS_ASSIGN_OR_RETURN(found["default"].contents, lsm::ReadAll(*db_));
    for (const auto& [name, handle] : handles_) {
      lsm::Contents& contents = found[name].contents;
      const std::unique_ptr<lsm::Iterator> iterator = handle.NewIterator();
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
        contents.emplace(iterator->key(), iterator->value());
      TRELLIS_RETURN_IF_ERROR(iterator->status());
    }
    TRELLIS_ASSIGN_OR_RETURN(const auto directory, world_.files->OpenDirectory("/store", false));
    TRELLIS_ASSIGN_OR_RETURN(const lsm::ManifestContents contents, lsm::ReadManifest(*directory));
    for (const auto& [id, record] : contents.state.keyspaces.all()) {
      const auto place = found.find(record.name);
      if (place == found.end()) return absl::DataLossError("a keyspace that is not listed");
      place->second.options = record.options;
    }
    return found;
  }

  std::string Difference(const StoreModel& found) const {
    const StoreModel& expected = now();
    for (const auto& [name, keyspace] : found) {
      const auto place = expected.find(name);
      if (place == expected.end()) return Concat(name, " is not the last state's");
      if (place->second.options != keyspace.options) return Concat(name, " has other options");
      if (place->second.contents != keyspace.contents) return Concat(name, " has other keys");
    }
    return Concat(found.size(), " keyspaces, not ", expected.size());
  }

  std::string CompareNames() const {
    const absl::StatusOr<std::vector<std::string>> names = db_->ListKeyspaces();
    if (!names.ok()) return Failed("ListKeyspaces", names.status());
    std::vector<std::string> expected;
    for (const auto& [name, keyspace] : now()) expected.push_back(name);
    return *names == expected ? "" : "other names are listed";
  }

  std::string Compare() {
    if (std::string problem = CompareNames(); !problem.empty()) return problem;
    if (dice_.OneIn(2)) return "";
    if (const absl::Status status = db_->Flush(); !status.ok()) return Failed("Flush", status);
    Synced();
    for (const auto& [name, keyspace] : now()) {
      if (name == "default" || handles_.contains(name)) continue;
      if (const absl::Status status = Ask(name, {}); !status.ok())
        return Failed("OpenKeyspace", status);
    }
    const absl::StatusOr<StoreModel> found = ReadStore();
    if (!found.ok()) return Failed("a read", found.status());
    ++report_.compared;
    return *found == now() ? "" : Difference(*found);
  }

  std::string Repair() {
    handles_.clear();
    if (const absl::Status status = db_->Close(); !status.ok()) return Failed("Close", status);
    Synced();
    db_ = nullptr;
    // The second time, because what a repair writes must serve another one.
    for (const bool has_manifest : {dice_.OneIn(2), false}) {
      std::string problem =
          RepairStoreWithKeyspaces(world_.files.get(), "/store", options_, has_manifest);
      if (!problem.empty()) return problem;
      ++report_.repairs;
    }
    return OpenAndCompare(nullptr);
  }

  Dice dice_;
  const uint64_t seed_;
  KeyspacesReport& report_;
  lsm::World world_;
  SparedFiles files_;
  lsm::Options options_;
  ShortMemory& memory_ = ShortMemory::OfThisThread();
  std::unique_ptr<DB> db_;
  std::map<std::string, Keyspace> handles_;
  std::vector<StoreModel> states_;  // after each call
  size_t durable_ = 0;              // the first of these that may be left
  uint64_t values_ = 0;
};

}  // namespace

KeyspacesReport CheckKeyspaces(uint64_t seed, uint64_t amount) {
  KeyspacesReport report;
  while (report.calls < amount && report.finding.empty())
    report.finding = KeyspacesTrial(seed++, &report).Run();
  return report;
}

}  // namespace reliability
