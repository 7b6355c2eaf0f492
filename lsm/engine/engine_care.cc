// Engine: verifying, scrubbing, and copies of the store.
#include <algorithm>
#include <utility>

#include "bloom/hash.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/store/copy_store.h"
#include "lsm/store/pacer.h"
#include "lsm/store/recovery.h"
#include "lsm/store/verify_table.h"
#include "lsm/version/key_order.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kDamageLinesMax = 100;

constexpr size_t kContradictionsMax = 100;
// Of keys and values, while which no file that they are in can be removed.
constexpr uint64_t kBytesComparedAtOnce = uint64_t{256} << 20;

// While a table is scrubbed, it is read as fast as this at least, for meanwhile its file cannot be
// removed.
constexpr uint64_t kScrubBytesPerSecondMin = uint64_t{32} << 20;

// How long scrubbing keeps who closes the store waiting.
constexpr uint64_t kScrubPauseNanos = 50'000'000;

}  // namespace

absl::StatusOr<VerifyReport> Engine::Verify(const Pace& pace) {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::Verify"));
  const Call call(this);
  TRELLIS_RETURN_IF_ERROR(call.status());
  // Tables that a compaction makes superfluous meanwhile need not be verified, nor kept.
  std::vector<PlacedTable> tables;
  uint64_t bytes_total = 0;
  {
    std::shared_ptr<const ReadView> view = view_.Share();
    for (int level = 0; level < kLevels; ++level) {
      for (const auto& table : view->version->level(level)) {
        tables.push_back({level, table});
        bytes_total += table->meta.file_bytes;
      }
    }
    LetGo(std::move(view));
  }
  const Pace until_closed = UntilClosed(pace);
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Pacer> pacer,
                           Pacer::Create(until_closed, store_.environment, bytes_total));
  VerifyReport report;
  absl::Status status = VerifyRecords(&report);
  for (size_t i = 0; i < tables.size() && status.ok(); ++i)
    status = VerifyIfThere(tables[i], pacer.get(), &report);
  // What is not as it was written cannot be compared.
  if (status.ok() && report.problems.empty()) status = VerifyKeyOrder(pacer.get(), &report);
  NoteVerified(report);
  if (!status.ok()) TRELLIS_RETURN_IF_ERROR(CheckOpen());
  TRELLIS_RETURN_IF_ERROR(status);
  return report;
}

Pace Engine::UntilClosed(const Pace& pace) const {
  return {pace.bytes_per_second, [this, progress = pace.progress](const Progress& so_far) {
            if (!CheckOpen().ok()) return false;
            const EventQueue::ProgressScope within(events_.get());
            return progress == nullptr || progress(so_far);
          }};
}

// CURRENT, the manifest and the logs.
absl::Status Engine::VerifyRecords(VerifyReport* report) {
  ManifestState state;
  {
    // No edit comes between.
    MutexLock manifest_lock(manifest_.mutex());
    report->records_left_out = !RecordsAreKnown();
    if (report->records_left_out) return absl::OkStatus();
    state = manifest_.state();
    const absl::StatusOr<ManifestContents> contents = ReadManifest(*store_.directory);
    if (absl::IsResourceExhausted(contents.status())) return contents.status();
    if (!contents.ok()) {
      report->problems.emplace_back(MessageOf(contents.status()));
    } else if (contents->state.ToSnapshot().Encode() != state.ToSnapshot().Encode()) {
      report->problems.push_back(Concat(store_.directory->path(), "/", contents->file_name,
                                        ": the manifest does not say what was written to it"));
    }
  }
  // Edits wait for the lock, and writes may wait for edits, so logs, which may be long, are read
  // without it.  What is wrong then may be that logs came or went meanwhile.
  absl::StatusOr<RecoveryReport> logs = CheckLogs(store_.log_directory(), state, logs_.Sizes());
  if (!logs.ok()) {
    MutexLock manifest_lock(manifest_.mutex());
    report->records_left_out = !RecordsAreKnown();
    if (report->records_left_out) return absl::OkStatus();
    logs = CheckLogs(store_.log_directory(), manifest_.state(), logs_.Sizes());
  }
  if (absl::IsResourceExhausted(logs.status())) return logs.status();
  if (!logs.ok()) report->problems.emplace_back(MessageOf(logs.status()));
  // The end of a log that is in use may be a write in flight.
  if (logs.ok() && options_.mode == OpenMode::kReadOnly) report->dropped = std::move(logs->dropped);
  return absl::OkStatus();
}

// After a failure it is unknown what is there, and nothing of it is relied on.
bool Engine::RecordsAreKnown() {
  MutexLock lock(&mutex_);
  return failures_.OfLogOrManifest().ok();
}

absl::Status Engine::VerifyIfThere(const PlacedTable& table, Pacer* pacer, VerifyReport* report) {
  std::shared_ptr<const OpenTable> held = table.table.lock();
  if (held == nullptr) return absl::OkStatus();
  TablePlace place{table.level, 0};
  {
    MutexLock lock(&mutex_);
    place.last_sequence = last_sequence_;
  }
  const absl::Status status = VerifyTable(*store_.directory, held->meta, place,
                                          TableReadMode(options_), digest_seed_, pacer, report);
  held.reset();
  CollectGarbage();
  return status;
}

// In pieces, each of the tables that are there then, so that none has to stay for long.
absl::Status Engine::VerifyKeyOrder(Pacer* pacer, VerifyReport* report) {
  const Pacer::Uncounted uncounted(pacer);
  const std::string& path = store_.directory->path();
  TableContext context;
  context.digest_seed = digest_seed_;
  absl::Status ended;
  KeyOrderCalls calls;
  calls.problem = [&](const std::string& problem) {
    report->problems.push_back(Concat(path, ": ", problem));
    return report->problems.size() < kContradictionsMax;
  };
  calls.before_bytes = [&](uint64_t bytes) { return ended = pacer->Take(path, bytes); };
  std::optional<std::string> from("");
  while (from) {
    std::shared_ptr<const ReadView> view = view_.Share();
    absl::StatusOr<std::optional<std::string>> next =
        CompareRuns(*store_.directory, context, TablesToCompare(AgedRunsOf(*view->version)), *from,
                    kBytesComparedAtOnce, calls);
    LetGo(std::move(view));
    if (!next.ok() && (!ended.ok() || absl::IsResourceExhausted(next.status())))
      return next.status();
    if (!next.ok()) report->problems.emplace_back(MessageOf(next.status()));
    from = next.ok() ? *std::move(next) : std::nullopt;
  }
  return absl::OkStatus();
}

void Engine::NoteVerified(const VerifyReport& report) {
  counters_.Add(Counter::kTablesVerified, report.tables);
  counters_.Add(Counter::kBytesVerified, report.bytes);
  {
    MutexLock lock(&mutex_);
    for (const std::string& line : report.problems) {
      if (!damage_known_.insert(bloom::DigestOf(line, digest_seed_)).second) continue;
      counters_.Add(Counter::kDamageFound, 1);
      if (damage_.size() < kDamageLinesMax) damage_.push_back(line);
      events_->AddMade([&line] {
        DamageFound event;
        event.line = line;
        return event;
      });
    }
  }
  events_->Deliver();
}

std::vector<std::string> Engine::GetDamage() {
  MutexLock lock(&mutex_);
  return damage_;
}

// --- scrubbing: a table a job ---

bool Engine::ScheduleScrub() {
  scrub_scheduled_ = Schedule(Scheduler::Lane::kScrub, std::nullopt, [this] { ScrubNext(); });
  return scrub_scheduled_;
}

// The tables follow one another by their numbers.  A round goes through those that were there when
// it began: new ones may come faster than they can be read.
Engine::ScrubStep Engine::NextToScrub() {
  if (scrubbed_number_ == 0) scrub_end_ = manifest_.next_file_number();
  ScrubStep step;
  uint64_t bytes_total = 0, bytes = 0;
  for (int level = 0; level < kLevels; ++level) {
    for (const auto& table : current_view_->version->level(level)) {
      bytes_total += table->meta.file_bytes;
      const uint64_t number = table->meta.number;
      if (number <= scrubbed_number_ || number >= scrub_end_) continue;
      if (step.number != 0 && number >= step.number) continue;
      step.number = number;
      step.table = {level, table};
      bytes = table->meta.file_bytes;
    }
  }
  const double period = static_cast<double>(options_.scrub_seconds);
  // Where there are no tables at all, the whole time is for the next look.
  const double share =
      bytes_total == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(bytes_total);
  step.nanos = static_cast<uint64_t>(period * share * 1e9);
  step.bytes_per_second =
      std::max(kScrubBytesPerSecondMin,
               static_cast<uint64_t>(2 * static_cast<double>(bytes_total) / period));
  return step;
}

void Engine::ScrubNext() {
  for (;;) {
    // Without memory or descriptors the table is due another time.
    CatchOutOfMemory([this] { return ScrubOne(); }).IgnoreError();
    MutexLock lock(&mutex_);
    if (closing_.load(std::memory_order_relaxed)) {
      scrub_scheduled_ = false;
      work_done_.SignalAll();
      return;
    }
    if (ScheduleScrub()) return;
    scrub_scheduled_ = true;  // without memory for another job this one goes on
  }
}

absl::Status Engine::ScrubOne() {
  ScrubStep step;
  {
    MutexLock lock(&mutex_);
    step = NextToScrub();
    scrubbed_number_ = step.number;
  }
  const auto is_closing = [this] { return closing_.load(std::memory_order_relaxed); };
  for (uint64_t waited = 0; waited < step.nanos && !is_closing(); waited += kScrubPauseNanos)
    scheduler_->Pause(std::min(kScrubPauseNanos, step.nanos - waited));
  if (is_closing()) return absl::OkStatus();
  VerifyReport report;
  if (step.number == 0) {
    counters_.Add(Counter::kScrubs, 1);
    TRELLIS_RETURN_IF_ERROR(VerifyRecords(&report));
  } else {
    const Pace pace{step.bytes_per_second, [&](const Progress&) { return !is_closing(); }};
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Pacer> pacer,
                             Pacer::Create(pace, store_.environment, 0));
    TRELLIS_RETURN_IF_ERROR(VerifyIfThere(step.table, pacer.get(), &report));
  }
  NoteVerified(report);
  return absl::OkStatus();
}

// --- copies ---

absl::StatusOr<CopyReport> Engine::CopyTo(const std::string& path, bool link,
                                          const std::string& base, const Pace& pace) {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("a copy of the store"));
  const Call call(this);
  TRELLIS_RETURN_IF_ERROR(call.status());
  if (options_.mode == OpenMode::kReadOnly) {
    return absl::FailedPreconditionError(
        Concat(store_.directory->path(), ": the store is open for reading only"));
  }
  TRELLIS_RETURN_IF_ERROR(CheckIsOutside(store_, path));
  const Options of_copy = OptionsOfCopy(options_);
  StoreDirectory base_store;
  ManifestContents base_contents;
  if (!base.empty()) {
    TRELLIS_ASSIGN_OR_RETURN(base_store, StoreDirectory::Open(base, of_copy));
    absl::StatusOr<ManifestContents> contents = ReadManifest(*base_store.directory);
    if (absl::IsNotFound(contents.status())) return NoStore(base);
    TRELLIS_ASSIGN_OR_RETURN(base_contents, std::move(contents));
  }
  TRELLIS_ASSIGN_OR_RETURN(const StoreDirectory store, OpenForCopy(path, of_copy));
  TRELLIS_RETURN_IF_ERROR(Flush());
  ManifestState state;
  std::shared_ptr<const Version> version;  // keeps the files
  {
    MutexLock manifest_lock(manifest_.mutex());
    TRELLIS_RETURN_IF_ERROR(manifest_.status());
    state = manifest_.state();
    MutexLock lock(&mutex_);
    version = current_view_->version;
  }
  const Pace until_closed = UntilClosed(pace);
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Pacer> pacer,
                           Pacer::Create(until_closed, store_.environment, version->bytes()));
  CopyReport report;
  NewFiles made;
  absl::Status status = BringTables({store_.directory.get(), &state}, link,
                                    {base_store.directory.get(), &base_contents.state}, store,
                                    TableReadMode(options_), pacer.get(), &made, &report);
  version.reset();
  CollectGarbage();
  if (!status.ok()) TRELLIS_RETURN_IF_ERROR(CheckOpen());
  // NotFound and AlreadyExists would speak of the backup.
  if (absl::IsNotFound(status) || absl::IsAlreadyExists(status))
    return absl::Status(absl::StatusCode::kUnavailable, status.message());
  TRELLIS_RETURN_IF_ERROR(status);
  TRELLIS_RETURN_IF_ERROR(FoundStore(store, std::nullopt, &state, &made).status());
  return report;
}

}  // namespace lsm
