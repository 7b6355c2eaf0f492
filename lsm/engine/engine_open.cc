// Engine: opening and closing.
#include <algorithm>
#include <new>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/flush_run.h"
#include "lsm/engine/engine.h"
#include "lsm/events/job_events.h"
#include "lsm/events/watched_directory.h"
#include "lsm/fs/file_names.h"
#include "lsm/release.h"
#include "lsm/store/open_tables.h"
#include "lsm/store/recovery.h"
#include "lsm/store/store_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Null without a view.
const Version* VersionOf(const std::shared_ptr<const ReadView>& view) {
  return view == nullptr ? nullptr : view->version.get();
}

absl::Status CheckMode(const std::string& path, OpenMode mode, bool exists) {
  if (exists && mode == OpenMode::kMustNotExist) {
    return absl::AlreadyExistsError(
        Concat(path, ": there is a store already (OpenMode::kMustNotExist)"));
  }
  if (!exists && (mode == OpenMode::kMustExist || IsForReading(mode))) return NoStore(path);
  return absl::OkStatus();
}

// Refuses an opening before it creates the lock file in a directory without files of a store.
// Returns whether there is a CURRENT.
absl::StatusOr<bool> LookFirst(const StoreDirectory& there, const std::string& path,
                               const Options& options) {
  bool has_current = false, has_manifest = false, exists = false;
  if (there.directory != nullptr) {
    TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, there.directory->ListAsOpened());
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      exists = exists || parsed.has_value();
      has_current = has_current || (parsed && parsed->kind == FileKind::kCurrent);
      has_manifest = has_manifest || (parsed && parsed->kind == FileKind::kManifest);
    }
    // Other products do not name their manifests as Trellis does.
    if (has_current && !has_manifest) TRELLIS_RETURN_IF_ERROR(CheckCurrentIsOurs(*there.directory));
  }
  if (IsForReading(options.mode)) return has_current;  // creates no file
  if (options.mode == OpenMode::kMustExist) {
    TRELLIS_RETURN_IF_ERROR(CheckMode(path, options.mode, exists));
  } else if (!exists && there.own_log_directory != nullptr) {
    // No opening of this store has got as far as the lock, so none can have left these logs.
    TRELLIS_RETURN_IF_ERROR(CheckLogDirectoryIsFree(*there.own_log_directory));
  }
  return has_current;
}

// Reads the manifest, or begins the state of a new store.
absl::StatusOr<ManifestContents> LoadOrBegin(const StoreDirectory& store, const Options& options) {
  Directory& directory = *store.directory;
  const absl::StatusOr<FileInfo> current = directory.Stat(kCurrentFileName);
  if (!current.ok() && !absl::IsNotFound(current.status())) return current.status();
  if (!current.ok()) {
    TRELLIS_RETURN_IF_ERROR(CheckNoStore(directory, store.log_directory()));
  }
  TRELLIS_RETURN_IF_ERROR(CheckMode(directory.path(), options.mode, current.ok()));
  if (current.ok()) return ReadManifest(directory);
  ManifestContents contents;
  contents.state.digest_seed = NewDigestSeed(options.filter_hash, *store.environment.random);
  return contents;
}

absl::Status CheckFilterHash(const std::string& path, const Options& options,
                             const bloom::DigestSeed& seed) {
  if (options.filter_hash != bloom::DigestHash::kSipHash || seed.hash == options.filter_hash)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat(path,
             ": Options::filter_hash is kSipHash, but the store was made with "
             "kXxh3, and keeps it"));
}

// Fails now, because otherwise the first read of a table would fail.
absl::Status CheckDirectReads(Directory& directory) {
  for (const std::string_view name : {kCurrentFileName, kLockFileName}) {
    const absl::Status status = TryDirectRead(directory, name);
    if (absl::IsNotFound(status)) continue;
    if (!absl::IsInvalidArgument(status)) return status;
    return absl::InvalidArgumentError(Concat("Options::direct_reads: ", MessageOf(status)));
  }
  return absl::OkStatus();
}

// CURRENT and the size of its manifest.  Each edit and each new manifest changes this.  Empty if
// they cannot be read.
std::string StateMark(Directory& directory) {
  const absl::StatusOr<Current> current = ReadCurrent(directory, kCurrentFileName);
  if (!current.ok()) return "";
  const absl::StatusOr<FileInfo> manifest =
      directory.Stat(ManifestFileName(current->manifest_number));
  return manifest.ok() ? Concat(current->Encode(), manifest->size_bytes) : "";
}

// Without a lock, a file may be missing because a writer has gone on since `before`.
absl::Status WithoutFalseDamage(const absl::Status& status, Directory& directory,
                                const std::string& before) {
  const bool is_about_files = absl::IsDataLoss(status) || absl::IsNotFound(status);
  if (!is_about_files || StateMark(directory) == before) return status;
  return absl::UnavailableError(
      Concat(directory.path(),
             ": the store changed while it was opened; OpenMode::kFollow reads beside a writer: ",
             MessageOf(status)));
}

// Tables of keyspaces that the logs drop.
void RemoveTablesOfNone(const KeyspaceRecords& keyspaces, std::array<OpenTables, kLevels>* levels) {
  for (OpenTables& level : *levels) {
    std::erase_if(level,
                  [&](const auto& table) { return !keyspaces.HasTree(table->meta.keyspace); });
  }
}

// The tables that the version has, and the state does not.
ObsoleteFiles::Tables TablesGone(const Version& version, const ManifestState& state) {
  ObsoleteFiles::Tables gone;
  const std::array<OpenTables, kLevels> levels = version.Levels();
  for (size_t i = 0; i < levels.size(); ++i) {
    for (const auto& table : levels[i]) {
      if (!state.levels[i].contains(table->meta.number))
        gone.emplace_back(table->meta.number, table);
    }
  }
  return gone;
}

// Checks the options that depend on the store, and fills in the parts of the context that do.
absl::Status FillContext(const StoreDirectory& store, const Options& options,
                         const bloom::DigestSeed& seed, JobContext* context) {
  TRELLIS_RETURN_IF_ERROR(CheckFilterHash(store.directory->path(), options, seed));
  if (options.direct_reads) TRELLIS_RETURN_IF_ERROR(CheckDirectReads(*store.directory));
  context->directory = store.directory.get();
  context->clock = store.environment.clock;
  context->random = store.environment.random;
  context->digest_seed = seed;
  context->table_context.digest_seed = seed;
  context->table_context.partitions_on_demand = true;
  return ChooseFilters(options, context);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Engine>> Engine::Open(const std::string& directory,
                                                     const Options& options) {
  TRELLIS_RETURN_IF_ERROR(ValidateOptions(options));
  Clock* const clock = CompleteEnvironment(options.environment, options.file_access).clock;
  const auto events = std::make_shared<EventQueue>(options.listener, clock, directory);
  const uint64_t from = clock->MonotonicNanos();
  OpenBegin begin;
  begin.release = TRELLIS_VERSION_STRING;
  begin.read_only = IsForReading(options.mode);
  events->Add(std::move(begin));
  events->Deliver();
  absl::StatusOr<std::shared_ptr<Engine>> engine =
      CatchOutOfMemory([&] { return OpenReporting(directory, options, events); });
  // This event is never lost: if memory runs out, it comes without its recovery report.
  OpenEnd end;
  end.nanos = clock->MonotonicNanos() - from;
  end.status = engine.status();
  CatchOutOfMemory([&] {
    if (engine.ok()) end.recovery = (*engine)->lifetime_.recovery();
    return absl::OkStatus();
  }).IgnoreError();
  events->Add(std::move(end));
  events->Deliver();
  if (!engine.ok()) events->Close();
  return engine;
}

absl::StatusOr<std::shared_ptr<Engine>> Engine::OpenReporting(const std::string& directory,
                                                              const Options& options,
                                                              std::shared_ptr<EventQueue> events) {
  bool released = false;
  absl::StatusOr<std::shared_ptr<Engine>> engine = OpenOnce(directory, options, events, &released);
  if (!released) return engine;
  engine = OpenOnce(directory, options, std::move(events), &released);
  if (engine.ok()) (*engine)->counters_.Add(Counter::kReserveReleases, 1);
  return engine;
}

absl::StatusOr<std::shared_ptr<Engine>> Engine::OpenOnce(const std::string& directory,
                                                         const Options& options,
                                                         std::shared_ptr<EventQueue> events,
                                                         bool* released) {
  TRELLIS_ASSIGN_OR_RETURN(StoreDirectory there, StoreDirectory::Peek(directory, options));
  TRELLIS_ASSIGN_OR_RETURN(const bool has_current, LookFirst(there, directory, options));
  // The opening that made CURRENT has first made the directory's name durable.
  if (!has_current) there.directory = nullptr;
  TRELLIS_ASSIGN_OR_RETURN(StoreDirectory store,
                           StoreDirectory::Open(directory, options, std::move(there.directory)));
  if (events->on()) {
    store.directory = WatchDirectory(std::move(store.directory), events.get());
    if (store.own_log_directory != nullptr)
      store.own_log_directory = WatchDirectory(std::move(store.own_log_directory), events.get());
  }
  if (!IsForReading(options.mode))
    TRELLIS_RETURN_IF_ERROR(store.StartScheduler(options.scrub_seconds > 0));
  std::shared_ptr<Engine> engine(new Engine(options, std::move(store), std::move(events)));
  // The attempt that released the reserves has told the listener.
  engine->reserves_.SetToldRefused(*released);
  const bool is_unlocked = options.mode == OpenMode::kReadOnly && engine->store_.lock == nullptr;
  const std::string before = is_unlocked ? StateMark(*engine->store_.directory) : "";
  absl::Status started = CatchOutOfMemory([&] { return engine->Start(); });
  if (is_unlocked) started = WithoutFalseDamage(started, *engine->store_.directory, before);
  // While the engine still has the store's lock.
  *released = !IsForReading(options.mode) && IsDiskFull(started) && engine->reserves_.Release();
  TRELLIS_RETURN_IF_ERROR(started);
  return engine;
}

Engine::Engine(const Options& options, StoreDirectory store, std::shared_ptr<EventQueue> events)
    : options_(options),
      events_(std::move(events)),
      store_(std::move(store)),
      block_cache_(options.block_cache_bytes),
      logs_(&store_.log_directory()),
      reserves_(&store_, options_, &counters_, events_.get()),
      manifest_(&store_,
                [this](const absl::Status& status) {
                  MutexLock lock(&mutex_);
                  jobs_.AddFailure(FailureKind::kManifest, status);
                }),
      jobs_(store_.environment.scheduler, &counters_, events_.get(),
            [this](const absl::Status& taken_over) {
              views_.AssertHeld();
              views_.NoteLock(LiveViews::Lock::kTables, taken_over);
            }),
      writers_(&options_, store_.environment.clock),
      keyspaces_(&options_, &mutex_, store_.environment.clock),
      lifetime_(&mutex_, &jobs_),
      views_(&store_, events_.get(), &mutex_, &jobs_, &lifetime_),
      verifier_({&store_, &job_context_, &manifest_, &logs_, &views_, &lifetime_, &counters_,
                 events_.get()},
                &mutex_, &jobs_, &sequences_) {
  job_context_.options = &options_;
  job_context_.table_context.block_cache = &block_cache_;
  job_context_.table_context.counters = &counters_;
  job_context_.new_file_number = [this] { return manifest_.NewFileNumber(); };
}

Engine::~Engine() {
  // Closes the store unless its owner has closed it.
  if (!lifetime_.is_closing()) Close().IgnoreError();
}

absl::Status Engine::Close() {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::Close"));
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  const auto has_writers = [this]()
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !writers_.empty(); };
  if (const std::optional<absl::Status> outcome = lifetime_.BeginClosing(has_writers))
    return *outcome;
  if (refresher_ != nullptr) refresher_->Stop();
  bool was_opened = false;
  {
    MutexLock lock(&mutex_);
    was_opened = CurrentView() != nullptr;
    views_.AssertHeld();
    views_.Drop();
  }
  const absl::Status status = ReleaseStore(was_opened);
  // An opening that failed has OnOpenEnd as its last event.
  if (was_opened) {
    Closed event;
    event.nanos = store_.environment.clock->MonotonicNanos() - from;
    event.status = status;
    events_->Add(std::move(event));
    events_->Close();
  }
  lifetime_.EndClosing(status);
  return status;
}

absl::Status Engine::ReleaseStore(bool was_opened) {
  store_.own_ticker.reset();  // joins it; it takes the mutex
  absl::Status status;
  {
    MutexLock lock(&mutex_);
    status = jobs_.failures().OfLogOrManifest();
  }
  // Acknowledged synced writes are on disk; nothing was promised for the rest.  In two cases the
  // logs stay as a crash would leave them:
  //
  //   not opened   nothing must look as if the store had been open
  //   failed       it is unknown what is on disk, so nothing is claimed.  The manifest does not
  //                even know a log that an attempt to resume has begun.  As long as that log is
  //                empty, it looks like one of an opening that failed
  VersionEdit closing;
  if (was_opened && status.ok()) status = logs_.Close(&closing.closed_logs);
  {
    MutexLock lock(manifest_.mutex());
    // From now on a log that loses its end is noticed.
    if (!closing.closed_logs.empty()) status.Update(manifest_.Record(closing));
    status.Update(manifest_.Close());
  }
  // Joins its threads, so that no job is still returning from a function of ours.
  store_.own_scheduler.reset();
  views_.Close();
  // Iterators and snapshots that are left keep this object, and need no lock: their files stay open
  // even if another opening removes the names.
  for (FileLock* lock : {store_.log_lock.get(), store_.lock.get()}) {
    if (lock != nullptr) lock->Release();
  }
  return status;
}

absl::Status Engine::Start() {
  Directory& directory = *store_.directory;
  if (options_.mode == OpenMode::kFollow) {
    const Environment& environment = store_.environment;
    refresher_ = std::make_unique<ViewRefresher>(
        ViewRefresher::Parts{&job_context_.table_context, &views_, &keyspaces_, &counters_,
                             events_.get(), environment.clock},
        StoreFollower::Place{environment.file_system, directory.path(), environment.log_file_system,
                             store_.own_log_path, TableReadMode(options_)},
        &mutex_, &sequences_);
    TRELLIS_ASSIGN_OR_RETURN(const bloom::DigestSeed seed, refresher_->Begin());
    TRELLIS_RETURN_IF_ERROR(FillContext(store_, options_, seed, &job_context_));
    return refresher_->Start();
  }
  TRELLIS_ASSIGN_OR_RETURN(const ManifestContents contents, LoadOrBegin(store_, options_));
  TRELLIS_RETURN_IF_ERROR(FillContext(store_, options_, contents.state.digest_seed, &job_context_));
  if (!IsForReading(options_.mode)) {
    TRELLIS_ASSIGN_OR_RETURN(const uint64_t next, NextFileNumber(directory, store_.log_directory(),
                                                                 contents.state.next_file_number));
    manifest_.SetNextFileNumber(next);
    MutexLock lock(&mutex_);
    schedule_.Reserve(static_cast<size_t>(jobs_.compactions_max()));
  }
  TRELLIS_ASSIGN_OR_RETURN(auto levels,
                           OpenTablesOf(*store_.environment.file_system, directory, contents.state,
                                        TableReadMode(options_), job_context_.table_context,
                                        store_.environment.scheduler));
  // Nothing needs the new files before CURRENT names them.
  if (options_.mode != OpenMode::kReadOnly) directory.HoldNames();
  std::vector<std::shared_ptr<const Memtable>> held;
  NewFiles made;  // so that on a full disk each attempt has as much room as the first
  ReplayedLogs replayed;
  replayed.last_sequence = contents.state.last_sequence;
  const MemtableSink sink = [&](std::shared_ptr<const Memtable> memtable) -> absl::Status {
    // For their options.
    TRELLIS_RETURN_IF_ERROR(keyspaces_.CheckAndStart(replayed.keyspaces, directory.path()));
    RemoveTablesOfNone(replayed.keyspaces, &levels);
    if (!IsForReading(options_.mode))
      return FlushTo(*memtable, FlushReason::kOpening, replayed.last_sequence, &levels, &made);
    held.push_back(std::move(memtable));
    return absl::OkStatus();
  };
  const bool is_new = contents.current_bytes.empty();
  if (!is_new) {
    TRELLIS_RETURN_IF_ERROR(ReplayLogs(store_.log_directory(), contents.state,
                                       options_.write_buffer_bytes, sink, &replayed));
  }
  lifetime_.NoteRecovered(std::move(replayed.report));
  {
    MutexLock lock(&mutex_);
    sequences_.Start(replayed.last_sequence);
  }
  TRELLIS_RETURN_IF_ERROR(keyspaces_.CheckAndStart(replayed.keyspaces, directory.path()));
  RemoveTablesOfNone(replayed.keyspaces, &levels);
  if (IsForReading(options_.mode)) {
    MutexLock lock(manifest_.mutex());
    manifest_.Load(contents.state);
    return StartReading(std::move(held), std::move(levels));
  }
  // The lock's name must be durable before a log's: it tells a later opening that the log may be
  // this store's.
  if (is_new && store_.own_log_directory != nullptr) TRELLIS_RETURN_IF_ERROR(directory.Sync());
  std::optional<std::string_view> expected_current;
  if (!is_new) expected_current = contents.current_bytes;
  TRELLIS_RETURN_IF_ERROR(StartWriting(contents.state, expected_current, std::move(levels), &made));
  const auto watch = [this](FileLock& lock, LiveViews::Lock which) {
    lock.Watch([this, which](const absl::Status& state) {
      MutexLock mutex_lock(&mutex_);
      if (IsTakenOver(state)) return jobs_.AddFailure(FailureKind::kLog, state);
      views_.AssertHeld();
      views_.NoteLock(which, state);
    });
  };
  watch(*store_.lock, LiveViews::Lock::kTables);
  if (store_.log_lock != nullptr) watch(*store_.log_lock, LiveViews::Lock::kLogs);
  BuildReserves(Reserve::Effort::kInsist);
  TRELLIS_RETURN_IF_ERROR(store_.StartTicker([this] { NoteReads(/*is_look=*/true); }));
  if (options_.scrub_seconds == 0) return absl::OkStatus();
  return verifier_.StartScrubbing() ? absl::OkStatus() : OutOfMemory();
}

absl::Status Engine::FlushTo(const Memtable& memtable, FlushReason reason, Sequence last_sequence,
                             std::array<OpenTables, kLevels>* levels, NewFiles* made) {
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  // Drops nothing by time: a later log may raise a limit.
  SnapshotList snapshots;
  KeyspaceRecords records;
  VersionEdit edit;  // of the keyspaces; the new manifest has all of them anyway
  OwnOptions own_options;
  std::shared_ptr<const ReadView> before;  // null: the store is being opened
  {
    MutexLock lock(&mutex_);
    before = CurrentView();
    snapshots = sequences_.Snapshots();
    keyspaces_.AssertHeld();
    own_options = keyspaces_.own_options();
    records = keyspaces_.Records();
    keyspaces_.AddTo(memtable.changes(), &edit);
  }
  TRELLIS_ASSIGN_OR_RETURN(const std::shared_ptr<const Version> version,
                           Version::Create(*levels, records, VersionOf(before)));
  FlushRun::Calls calls;  // none leaves the common tree
  calls.version_now = [&] { return version; };
  FlushRun run(&job_context_, std::move(own_options), std::move(calls));
  JobResult result;
  TRELLIS_RETURN_IF_ERROR(WithFlushEvents(
      events_.get(), store_.environment.clock, reason, memtable, [&](JobResult* flushed) {
        absl::Status status = run.Run(ListsToFlush(memtable), last_sequence, snapshots,
                                      memtable.AgeNanos(from), &edit, flushed);
        result = *flushed;
        return status;
      }));
  for (const auto& table : result.outputs) {
    made->Add(store_.directory.get(), TableFileName(table->meta.number));
    (*levels)[0].push_back(table);
  }
  counters_.Add(Counter::kFlushes, 1);
  counters_.Add(Counter::kFlushBytesWritten, result.bytes_written);
  counters_.Add(Counter::kFlushNanos, store_.environment.clock->MonotonicNanos() - from);
  counters_.Add(Counter::kTombstonesDroppedByFlushes, result.tombstones_dropped);
  return absl::OkStatus();
}

absl::Status Engine::StartWriting(ManifestState state,
                                  std::optional<std::string_view> expected_current,
                                  std::array<OpenTables, kLevels> levels, NewFiles* made) {
  std::shared_ptr<const ReadView> before;  // as in FlushTo
  {
    MutexLock lock(&mutex_);
    before = CurrentView();
    keyspaces_.AssertHeld();
    state.keyspaces = keyspaces_.Records();
  }
  RemoveTablesOfNone(state.keyspaces, &levels);
  state.levels = {};
  for (size_t i = 0; i < levels.size(); ++i) {
    for (const auto& table : levels[i]) state.levels[i].emplace(table->meta.number, table->meta);
  }
  // Before any existing file is changed, because tables that are sound one by one may contradict
  // one another.
  const auto view = std::make_shared<ReadView>();
  view->memtable = [this] {
    MutexLock lock(&mutex_);
    return std::make_shared<Memtable>(sequences_.last(),
                                      Memtable::RecentMax(options_.write_buffer_bytes),
                                      store_.environment.clock->MonotonicNanos());
  }();
  TRELLIS_ASSIGN_OR_RETURN(view->version,
                           Version::Create(std::move(levels), state.keyspaces, VersionOf(before)));
  before = nullptr;
  absl::Status status;
  MutexLock manifest_lock(manifest_.mutex());
  try {
    status = SwitchFiles(std::move(state), expected_current, view, made);
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  }
  if (status.ok()) return status;
  // It is unknown which log takes the records, and which manifest is the current one.  So nothing
  // may be written to either before another attempt succeeds.
  manifest_.Fail(status);
  return status;
}

absl::Status Engine::SwitchFiles(ManifestState state,
                                 std::optional<std::string_view> expected_current,
                                 const std::shared_ptr<ReadView>& view, NewFiles* made) {
  const uint64_t log_seed = store_.environment.random->Next();
  const uint64_t log_number = manifest_.NewFileNumber();
  TRELLIS_RETURN_IF_ERROR(made->AddMade(&store_.log_directory(), LogFileName(log_number), [&] {
    return logs_.Start(log_number, LogFileId(log_seed, log_number));
  }));
  TRELLIS_RETURN_IF_ERROR(logs_.SyncNames());
  state.oldest_log = log_number;
  state.log_seed = log_seed;
  state.log_directory = store_.own_log_path;
  state.synced_logs.clear();
  state.closed_logs.clear();
  state.started = true;  // by the snapshot that the new manifest begins with
  {
    MutexLock lock(&mutex_);
    state.last_sequence = sequences_.last();
  }
  MemtableLogs memtable_logs = MemtableLogs::StartingWith(log_number, log_seed);
  LiveViews::Prepared prepared = views_.Prepare(view);
  const uint64_t wall_seconds = WallSecondsOf(*store_.environment.clock);
  ObsoleteFiles::Tables superseded;  // of keyspaces that were dropped before a failure
  {
    MutexLock lock(&mutex_);
    if (CurrentView() != nullptr) superseded = TablesGone(*CurrentView()->version, state);
  }
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t manifest_number,
                           manifest_.Begin(std::move(state), expected_current, made));
  views_.Supersede(std::move(superseded));
  // In DB::Resume there may be readers.
  RemoveOrphans(*store_.directory, store_.log_directory(), manifest_.state(), manifest_number,
                [this](uint64_t table) { return views_.IsHeld(table); });
  {
    MutexLock lock(&mutex_);
    memtable_logs_ = std::move(memtable_logs);
    views_.ShowUpTo(sequences_.last());
    schedule_.NoteTime(*view->version, wall_seconds);
    PublishView(std::move(prepared));
    keyspaces_.AssertHeld();
    keyspaces_.ForgetDropped();
    keyspaces_.NoteAllRecorded();
    ScheduleWork();
  }
  logs_.Remove(log_number);
  return absl::OkStatus();
}

absl::Status Engine::StartReading(std::vector<std::shared_ptr<const Memtable>> memtables,
                                  std::array<OpenTables, kLevels> levels) {
  const auto view = std::make_shared<ReadView>();
  view->memtable = std::make_shared<Memtable>();
  // The view has the newest first.
  view->sealed.assign(memtables.rbegin(), memtables.rend());
  KeyspaceRecords records;
  {
    MutexLock lock(&mutex_);
    keyspaces_.AssertHeld();
    records = keyspaces_.Records();
  }
  TRELLIS_ASSIGN_OR_RETURN(view->version, Version::Create(std::move(levels), records));
  LiveViews::Prepared prepared = views_.Prepare(view);
  MutexLock lock(&mutex_);
  view->sequence_max = sequences_.last();
  views_.ShowUpTo(kSequenceMax);  // the view says how far
  PublishView(std::move(prepared));
  return absl::OkStatus();
}

}  // namespace lsm
