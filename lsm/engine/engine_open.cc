// Engine: opening and closing.
#include <algorithm>
#include <utility>

#include "bloom/filter_policy.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/engine/recovery.h"
#include "lsm/fs/file_names.h"

namespace lsm {
namespace {

ReadMode ModeOf(const Options& options) {
  return options.direct_reads ? ReadMode::kDirect : ReadMode::kBuffered;
}

absl::Status CheckMode(const std::string& path, OpenMode mode, bool exists) {
  if (exists && mode == OpenMode::kMustNotExist) {
    return absl::AlreadyExistsError(
        Concat(path, ": there is a store already (OpenMode::kMustNotExist)"));
  }
  if (!exists && (mode == OpenMode::kMustExist || mode == OpenMode::kReadOnly)) {
    return absl::NotFoundError(Concat(path, ": there is no store in this directory"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(const std::string& directory,
                                                     const Options& options) {
  LSM_RETURN_IF_ERROR(ValidateOptions(options));
  if (options.mode == OpenMode::kMustExist) {
    // Before the lock makes a file where nothing is.
    LSM_ASSIGN_OR_RETURN(const bool exists, StoreDirectory::HoldsFiles(directory, options));
    LSM_RETURN_IF_ERROR(CheckMode(directory, options.mode, exists));
  }
  LSM_ASSIGN_OR_RETURN(StoreDirectory store, StoreDirectory::Open(directory, options));
  std::unique_ptr<Engine> engine(new Engine(options, std::move(store)));
  LSM_RETURN_IF_ERROR(engine->Start());
  return engine;
}

Engine::Engine(const Options& options, StoreDirectory store)
    : options_(options),
      store_(std::move(store)),
      scheduler_(store_.environment.scheduler),
      block_cache_(options.block_cache_bytes),
      obsolete_(store_.directory.get()),
      logs_(&store_.log_directory()) {}

Engine::~Engine() {
  // Relaxed: jobs only look whether they should hurry.
  closing_.store(true, std::memory_order_relaxed);
  {
    absl::MutexLock lock(&mutex_);
    while (flush_scheduled_ || compaction_scheduled_) scheduler_->Wait(&mutex_, &work_done_);
    current_view_ = nullptr;
  }
  (void)logs_.Close();  // what was acknowledged as synced is; the rest was not promised
  {
    absl::MutexLock lock(&manifest_mutex_);
    if (manifest_ != nullptr) (void)manifest_->Close();
  }
  // Joins its threads, so that no job is still on its way out of a function of ours.
  store_.own_scheduler.reset();
  view_.Publish(nullptr);
  view_.Collect();
  obsolete_.RemoveUnused();
}

absl::Status Engine::Start() {
  Directory& directory = *store_.directory;
  LSM_ASSIGN_OR_RETURN(const ManifestContents contents, LoadOrBegin());
  digest_seed_ = contents.state.digest_seed;

  job_context_.options = &options_;
  job_context_.directory = &directory;
  job_context_.clock = store_.environment.clock;
  job_context_.random = store_.environment.random;
  job_context_.digest_seed = digest_seed_;
  job_context_.table_context.block_cache = &block_cache_;
  job_context_.table_context.counters = &counters_;
  job_context_.table_context.digest_seed = digest_seed_;
  job_context_.new_file_number = [this] { return NewFileNumber(); };
  if (options_.filter_kind != "none") {
    LSM_ASSIGN_OR_RETURN(job_context_.filter_policy, bloom::PolicyFromName(options_.filter_kind));
  }

  // No number of a file that is there is used again, even if nothing refers to that file.
  LSM_ASSIGN_OR_RETURN(const uint64_t highest, HighestFileNumber(directory));
  LSM_ASSIGN_OR_RETURN(const uint64_t highest_log, HighestFileNumber(store_.log_directory()));
  {
    absl::MutexLock lock(&mutex_);
    next_file_number_ = std::max({contents.state.next_file_number, highest + 1, highest_log + 1});
  }
  LSM_ASSIGN_OR_RETURN(auto levels, OpenTablesOf(contents.state));
  RecoveredLogs recovered;
  recovered.last_sequence = contents.state.last_sequence;
  const bool is_new = contents.current_bytes.empty();
  if (!is_new) {
    LSM_ASSIGN_OR_RETURN(
        recovered, ReplayLogs(store_.log_directory(), contents.state, options_.write_buffer_bytes));
  }
  if (options_.mode == OpenMode::kReadOnly)
    return StartReading(std::move(recovered), std::move(levels));
  return StartWriting(contents, std::move(recovered), std::move(levels));
}

absl::StatusOr<ManifestContents> Engine::LoadOrBegin() {
  Directory& directory = *store_.directory;
  const absl::StatusOr<FileInfo> current = directory.Stat(kCurrentFileName);
  if (!current.ok() && !absl::IsNotFound(current.status())) return current.status();
  if (!current.ok()) {
    LSM_RETURN_IF_ERROR(CheckNoStore(directory, store_.log_directory()));
  }
  LSM_RETURN_IF_ERROR(CheckMode(directory.path(), options_.mode, current.ok()));
  if (current.ok()) return ReadManifest(directory);
  ManifestContents contents;
  contents.state.digest_seed = store_.environment.random->Next();
  return contents;
}

absl::StatusOr<std::array<OpenTables, kLevels>> Engine::OpenTablesOf(const ManifestState& state) {
  std::array<OpenTables, kLevels> levels;
  for (size_t i = 0; i < levels.size(); ++i) {
    for (const auto& [number, meta] : state.levels[i]) {
      LSM_ASSIGN_OR_RETURN(
          std::shared_ptr<const OpenTable> table,
          OpenTableFile(*store_.directory, meta, ModeOf(options_), job_context_.table_context));
      levels[i].push_back(std::move(table));
    }
  }
  return levels;
}

absl::Status Engine::StartWriting(const ManifestContents& contents, RecoveredLogs recovered,
                                  std::array<OpenTables, kLevels> levels) {
  ManifestState state = contents.state;
  for (const auto& memtable : recovered.memtables) {
    const std::unique_ptr<Iterator> entries = memtable->NewIterator();
    LSM_ASSIGN_OR_RETURN(JobResult result, RunFlush(job_context_, *entries, {}));
    for (const auto& table : result.outputs) {
      state.levels[0].emplace(table->meta.number, table->meta);
      levels[0].push_back(table);
    }
    counters_.Add(Counter::kFlushes, 1);
    counters_.Add(Counter::kFlushBytesWritten, result.bytes_written);
  }
  const uint64_t log_number = NewFileNumber();
  LSM_RETURN_IF_ERROR(logs_.Start(log_number, store_.environment.random->Next()));
  LSM_RETURN_IF_ERROR(logs_.SyncNames());
  state.oldest_log = log_number;
  state.synced_logs.clear();
  state.started = true;  // by the snapshot that the new manifest begins with
  state.last_sequence = recovered.last_sequence;
  const uint64_t manifest_number = NewFileNumber();
  {
    absl::MutexLock lock(&mutex_);
    state.next_file_number = next_file_number_;
  }
  std::optional<std::string_view> expected_current;
  if (!contents.current_bytes.empty()) expected_current = contents.current_bytes;
  LSM_ASSIGN_OR_RETURN(
      std::unique_ptr<ManifestWriter> manifest,
      ManifestWriter::Create(*store_.directory, manifest_number, store_.environment.random->Next(),
                             state.ToSnapshot(), expected_current));
  RemoveOrphans(*store_.directory, store_.log_directory(), state, manifest_number);

  auto view = std::make_shared<ReadView>();
  view->memtable = std::make_shared<Memtable>();
  LSM_ASSIGN_OR_RETURN(view->version, Version::Create(std::move(levels)));
  {
    absl::MutexLock lock(&manifest_mutex_);
    AdoptManifest(std::move(manifest));
    manifest_state_ = std::move(state);
  }
  absl::MutexLock lock(&mutex_);
  memtable_logs_.push_back({log_number, 0});
  last_sequence_ = recovered.last_sequence;
  visible_sequence_.store(last_sequence_, std::memory_order_release);
  PublishView(std::move(view));
  ScheduleWork();
  return absl::OkStatus();
}

absl::Status Engine::StartReading(RecoveredLogs recovered, std::array<OpenTables, kLevels> levels) {
  auto view = std::make_shared<ReadView>();
  view->memtable = std::make_shared<Memtable>();
  // The view wants the newest first.
  view->sealed.assign(recovered.memtables.rbegin(), recovered.memtables.rend());
  LSM_ASSIGN_OR_RETURN(view->version, Version::Create(std::move(levels)));
  absl::MutexLock lock(&mutex_);
  last_sequence_ = recovered.last_sequence;
  visible_sequence_.store(last_sequence_, std::memory_order_release);
  PublishView(std::move(view));
  return absl::OkStatus();
}

}  // namespace lsm
