#include "lsm/runtime/store_verifier.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "bloom/hash.h"
#include "lsm/bytes/status.h"
#include "lsm/store/recovery.h"
#include "lsm/store/store_files.h"
#include "lsm/store/verify_table.h"
#include "lsm/version/key_order.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kDamageLinesMax = 100;

constexpr size_t kContradictionsMax = 100;
// Bytes of keys and values.  While they are compared, their files cannot be removed.
constexpr uint64_t kBytesComparedAtOnce = uint64_t{256} << 20;

// While a table is scrubbed, it is read at least this fast, since its file cannot be removed
// meanwhile.
constexpr uint64_t kScrubBytesPerSecondMin = uint64_t{32} << 20;

// The longest time for which scrubbing keeps Close waiting.
constexpr uint64_t kScrubPauseNanos = 50'000'000;

// The id of the next tree; nullopt if there is none.
std::optional<KeyspaceId> TreeAfter(const Version& version, KeyspaceId keyspace) {
  for (const auto& [id, tree] : version.trees()) {
    if (id > keyspace) return id;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<VerifyReport> StoreVerifier::Verify(const Pace& pace) {
  uint64_t bytes_total = 0;
  const std::vector<PlacedTable> tables = TablesOfNow(&bytes_total);
  const Pace until_closed = UntilClosed(pace, parts_.lifetime, parts_.events);
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Pacer> pacer,
                           Pacer::Create(until_closed, parts_.store->environment, bytes_total));
  VerifyReport report;
  absl::Status status = VerifyRecords(&report);
  for (size_t i = 0; i < tables.size() && status.ok(); ++i)
    status = VerifyIfThere(tables[i], pacer.get(), &report);
  // Damaged tables cannot be compared.
  if (status.ok() && report.problems.empty() && !IsFollower())
    status = VerifyKeyOrder(pacer.get(), &report);
  status.Update(NoteVerified(report));
  if (!status.ok()) TRELLIS_RETURN_IF_ERROR(parts_.lifetime->Check());
  TRELLIS_RETURN_IF_ERROR(status);
  return report;
}

StoreVerifier::Moment StoreVerifier::ShareCurrent() {
  MutexLock lock(mutex_);
  parts_.views->AssertHeld();
  return {parts_.views->Current(), sequences_->last()};
}

// Tables that a compaction makes obsolete meanwhile need not be verified or kept.
std::vector<StoreVerifier::PlacedTable> StoreVerifier::TablesOfNow(uint64_t* bytes) {
  std::vector<PlacedTable> tables;
  auto [view, last_sequence] = ShareCurrent();
  for (const auto& [id, tree] : view->version->trees()) {
    for (int level = 0; level < kLevels; ++level) {
      for (const auto& table : tree->level(level)) {
        tables.push_back({{level, last_sequence}, table});
        *bytes += table->meta.file_bytes;
      }
    }
  }
  parts_.views->LetGo(std::move(view));
  return tables;
}

absl::Status StoreVerifier::VerifyRecords(VerifyReport* report) {
  report->records_left_out = IsFollower();
  if (report->records_left_out) return absl::OkStatus();
  ManifestKeeper& manifest = *parts_.manifest;
  Directory& directory = *parts_.store->directory;
  Directory& log_directory = parts_.store->log_directory();
  ManifestState state;
  {
    // With the lock, so that no edit comes between.
    MutexLock manifest_lock(manifest.mutex());
    report->records_left_out = !RecordsAreKnown();
    if (report->records_left_out) return absl::OkStatus();
    state = manifest.state();
    const absl::StatusOr<ManifestContents> contents = ReadManifest(directory);
    if (absl::IsResourceExhausted(contents.status())) return contents.status();
    if (!contents.ok()) {
      report->problems.emplace_back(MessageOf(contents.status()));
    } else if (contents->state.ToSnapshot().Encode() != state.ToSnapshot().Encode()) {
      report->problems.push_back(Concat(directory.path(), "/", contents->file_name,
                                        ": the manifest does not say what was written to it"));
    }
  }
  // Logs may be long, so they are read without the lock: edits wait for it, and writes may wait for
  // edits.  A problem may only mean that logs were made or removed meanwhile.  So after a problem
  // they are read again with the lock.
  absl::StatusOr<RecoveryReport> logs = CheckLogs(log_directory, state, parts_.logs->Sizes());
  if (!logs.ok()) {
    MutexLock manifest_lock(manifest.mutex());
    report->records_left_out = !RecordsAreKnown();
    if (report->records_left_out) return absl::OkStatus();
    logs = CheckLogs(log_directory, manifest.state(), parts_.logs->Sizes());
  }
  if (absl::IsResourceExhausted(logs.status())) return logs.status();
  if (!logs.ok()) report->problems.emplace_back(MessageOf(logs.status()));
  // The end of a log that is in use may be a write in flight.
  if (logs.ok() && IsForReading(parts_.context->options->mode))
    report->dropped = std::move(logs->dropped);
  return absl::OkStatus();
}

// After a failure of log or manifest it is unknown what is on disk, so nothing there can be
// verified.
bool StoreVerifier::RecordsAreKnown() {
  MutexLock lock(mutex_);
  return jobs_->failures().OfLogOrManifest().ok();
}

absl::Status StoreVerifier::VerifyIfThere(const PlacedTable& table, Pacer* pacer,
                                          VerifyReport* report) {
  std::shared_ptr<const OpenTable> held = table.table.lock();
  if (held == nullptr) return absl::OkStatus();
  const bloom::DigestSeed& digest_seed = parts_.context->digest_seed;
  const absl::Status status =
      IsFollower()
          ? VerifyOpenTable(held->table->file(), held->meta, table.place, digest_seed, pacer,
                            report)
          : VerifyTable(*parts_.store->directory, held->meta, table.place,
                        TableReadMode(*parts_.context->options), digest_seed, pacer, report);
  held.reset();
  parts_.views->Collect();
  return status;
}

// Compares each tree in pieces.  Each piece has the tables of its moment, so no table has to be
// kept for long.
absl::Status StoreVerifier::VerifyKeyOrder(Pacer* pacer, VerifyReport* report) {
  const Pacer::Uncounted uncounted(pacer);
  const std::string& path = parts_.store->directory->path();
  TableContext context;
  context.digest_seed = parts_.context->digest_seed;
  absl::Status ended;
  KeyOrderCalls calls;
  calls.problem = [&](const std::string& problem) {
    report->problems.push_back(Concat(path, ": ", problem));
    return report->problems.size() < kContradictionsMax;
  };
  calls.before_bytes = [&](uint64_t bytes) { return ended = pacer->Take(path, bytes); };
  std::optional<KeyspaceId> keyspace = kDefaultKeyspace;
  std::string from;
  while (keyspace && report->problems.size() < kContradictionsMax) {
    std::shared_ptr<const ReadView> view = ShareCurrent().view;
    absl::StatusOr<std::optional<std::string>> next =
        CompareRuns(*parts_.store->directory, context,
                    TablesToCompare(AgedRunsOf(*view->version->ShareTree(*keyspace))), from,
                    kBytesComparedAtOnce, calls);
    const bool goes_on = next.ok() && next->has_value();
    from = goes_on ? std::move(**next) : std::string();
    if (!goes_on) keyspace = TreeAfter(*view->version, *keyspace);
    parts_.views->LetGo(std::move(view));
    if (!next.ok() && (!ended.ok() || absl::IsResourceExhausted(next.status())))
      return next.status();
    if (!next.ok()) report->problems.emplace_back(MessageOf(next.status()));
  }
  return absl::OkStatus();
}

absl::Status StoreVerifier::NoteVerified(const VerifyReport& report) {
  FileLock* const store_lock = parts_.store->lock.get();
  if (!report.problems.empty() && store_lock != nullptr)
    TRELLIS_RETURN_IF_ERROR(store_lock->Confirm());
  parts_.counters->Add(Counter::kTablesVerified, report.tables);
  parts_.counters->Add(Counter::kBytesVerified, report.bytes);
  {
    MutexLock lock(mutex_);
    for (const std::string& line : report.problems) {
      const uint64_t digest = bloom::DigestOf(line, parts_.context->digest_seed);
      if (!damage_known_.insert(digest).second) continue;
      parts_.counters->Add(Counter::kDamageFound, 1);
      if (damage_.size() < kDamageLinesMax) damage_.push_back(line);
      parts_.events->AddMade([&line] {
        DamageFound event;
        event.line = line;
        return event;
      });
    }
  }
  parts_.events->Deliver();
  return absl::OkStatus();
}

std::vector<std::string> StoreVerifier::GetDamage() {
  MutexLock lock(mutex_);
  return damage_;
}

// --- scrubbing: one table per job ---

bool StoreVerifier::StartScrubbing() {
  MutexLock lock(mutex_);
  return jobs_->Schedule(BackgroundJobs::Job::kScrub, std::nullopt, [this] { ScrubNext(); });
}

StoreVerifier::ScrubStep StoreVerifier::NextToScrub() {
  parts_.views->AssertHeld();
  if (scrubbed_number_ == 0) scrub_end_ = parts_.manifest->next_file_number();
  const uint64_t scrubbed = scrubbed_number_, end = scrub_end_, last_sequence = sequences_->last();
  ScrubStep step;
  uint64_t bytes_total = 0, bytes = 0;
  const auto consider = [&](int level, const std::shared_ptr<const OpenTable>& table) {
    bytes_total += table->meta.file_bytes;
    const uint64_t number = table->meta.number;
    if (number <= scrubbed || number >= end) return;
    if (step.number != 0 && number >= step.number) return;
    step.number = number;
    step.table = {{level, last_sequence}, table};
    bytes = table->meta.file_bytes;
  };
  for (const auto& [id, tree] : parts_.views->Current()->version->trees()) {
    for (int level = 0; level < kLevels; ++level) {
      for (const auto& table : tree->level(level)) consider(level, table);
    }
  }
  const double period = static_cast<double>(parts_.context->options->scrub_seconds);
  // Without tables, the whole period passes before the next step.
  const double share =
      bytes_total == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(bytes_total);
  step.nanos = static_cast<uint64_t>(period * share * 1e9);
  step.bytes_per_second =
      std::max(kScrubBytesPerSecondMin,
               static_cast<uint64_t>(2 * static_cast<double>(bytes_total) / period));
  return step;
}

void StoreVerifier::ScrubNext() {
  for (;;) {
    // Without memory or descriptors, the table waits for the next round.
    CatchOutOfMemory([this] { return ScrubOne(); }).IgnoreError();
    MutexLock lock(mutex_);
    if (jobs_->is_stopping()) {
      jobs_->End(BackgroundJobs::Job::kScrub);
      return;
    }
    if (jobs_->ScheduleAgain(BackgroundJobs::Job::kScrub, [this] { ScrubNext(); })) return;
    // Without memory for another job, this one continues.
  }
}

absl::Status StoreVerifier::ScrubOne() {
  ScrubStep step;
  {
    MutexLock lock(mutex_);
    step = NextToScrub();
    scrubbed_number_ = step.number;
  }
  const auto is_closing = [this] { return parts_.lifetime->is_closing(); };
  Scheduler* const scheduler = parts_.store->environment.scheduler;
  for (uint64_t waited = 0; waited < step.nanos && !is_closing(); waited += kScrubPauseNanos)
    scheduler->Pause(std::min(kScrubPauseNanos, step.nanos - waited));
  if (is_closing()) return absl::OkStatus();
  VerifyReport report;
  if (step.number == 0) {
    parts_.counters->Add(Counter::kScrubs, 1);
    TRELLIS_RETURN_IF_ERROR(VerifyRecords(&report));
  } else {
    const Pace pace{step.bytes_per_second, [&](const Progress&) { return !is_closing(); }};
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Pacer> pacer,
                             Pacer::Create(pace, parts_.store->environment, 0));
    TRELLIS_RETURN_IF_ERROR(VerifyIfThere(step.table, pacer.get(), &report));
  }
  return NoteVerified(report);
}

}  // namespace lsm
