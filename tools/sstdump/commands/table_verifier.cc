#include "tools/sstdump/commands/table_verifier.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <system_error>
#include <utility>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace tools {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kBetweenShown = kSecond / 4;

// Shorter sleeps cost more than the time they wait.
constexpr uint64_t kSleepMin = kSecond / 100;
constexpr uint64_t kOvershotMax = kSecond / 10;
// Longer sleeps would delay the end of the run.
constexpr uint64_t kSleepMax = kSecond / 10;

// Verdicts hold keys, which may be long, so only a few may wait to be shown.
constexpr size_t kAheadOfEachThread = 2;

uint64_t Rate(uint64_t bytes, uint64_t nanos) {
  return nanos == 0 ? 0
                    : static_cast<uint64_t>(static_cast<double>(bytes) * kSecond /
                                            static_cast<double>(nanos));
}

}  // namespace

TableVerifier::TableVerifier(std::vector<Target> tables, Session* session)
    : tables_(std::move(tables)),
      session_(session),
      begin_nanos_(NowNanos()),
      shown_nanos_(begin_nanos_) {
  for (const Target& table : tables_) bytes_total_ += table.size_bytes;
  const uint64_t threads = session->request().threads.value_or(1);
  if (threads == 1) return;
  const lsm::MutexLock lock(&mutex_);  // so that all threads see the final number of threads
  try {
    for (size_t i = 0; i < std::min<uint64_t>(threads, tables_.size()); ++i)
      threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    // If the system gives no more threads, fewer do the work, or only the caller's.
  }
}

TableVerifier::~TableVerifier() {
  {
    const lsm::MutexLock lock(&mutex_);
    if (is_over_) session_->CutShort();
    is_over_ = true;
    changed_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
  session_->ClearProgress();
}

uint64_t TableVerifier::NowNanos() const {
  return session_->world().now_nanos ? session_->world().now_nanos() : 0;
}

void TableVerifier::Work() {
  mutex_.Lock();
  while (!is_over_ && begun_ < tables_.size()) {
    if (begun_ >= taken_ + kAheadOfEachThread * threads_.size()) {
      changed_.Wait(&mutex_);
      continue;
    }
    const size_t table = begun_++;
    mutex_.Unlock();
    TableVerdict verdict = Check(table);
    mutex_.Lock();
    verdicts_.emplace(table, std::move(verdict));
    changed_.SignalAll();
  }
  mutex_.Unlock();
}

TableVerdict TableVerifier::Check(size_t table) {
  absl::StatusOr<TableVerdict> verdict =
      lsm::CatchOutOfMemoryFor(OpenedPath(tables_[table]), [&]() -> absl::StatusOr<TableVerdict> {
        return CheckTableFile(tables_[table],
                              [this](uint64_t bytes) { return BeforeBlock(bytes); });
      });
  if (verdict.ok()) return *std::move(verdict);
  TableVerdict failed;
  failed.findings.push_back({verdict.status(), ""});
  return failed;
}

TableVerdict TableVerifier::Next() {
  size_t table;
  {
    const lsm::MutexLock lock(&mutex_);
    table = taken_++;
    assert(table < tables_.size());
    changed_.SignalAll();
    while (!threads_.empty() && !is_over_ && !verdicts_.contains(table)) {
      ShowProgress();
      changed_.Wait(&mutex_);
    }
  }
  TableVerdict verdict;
  if (threads_.empty()) {
    verdict = Check(table);
  } else {
    const lsm::MutexLock lock(&mutex_);
    if (verdicts_.contains(table)) verdict = std::move(verdicts_.extract(table).mapped());
  }
  session_->ClearProgress();
  return verdict;
}

bool TableVerifier::BeforeBlock(uint64_t bytes) {
  uint64_t wait_nanos = 0;
  {
    const lsm::MutexLock lock(&mutex_);
    if (is_over_) return false;
    bytes_done_ += bytes;
    bytes_total_ = std::max(bytes_total_, bytes_done_);  // tables may be read twice
    const uint64_t now = NowNanos();
    if (const std::optional<uint64_t> rate = session_->request().rate) {
      // Later reads catch up after a sleep that took too long, but not after slow checks.
      next_read_nanos_ = std::max(next_read_nanos_, now - std::min(now, kOvershotMax));
      wait_nanos = next_read_nanos_ - std::min(now, next_read_nanos_);
      if (wait_nanos < kSleepMin) wait_nanos = 0;
      next_read_nanos_ +=
          static_cast<uint64_t>(static_cast<double>(bytes) * kSecond / static_cast<double>(*rate));
    }
    if (threads_.empty()) {
      ShowProgress();
    } else if (now - shown_nanos_ >= kBetweenShown) {
      changed_.SignalAll();  // the caller's thread prints the progress
    }
  }
  return Sleep(wait_nanos);
}

bool TableVerifier::Sleep(uint64_t nanos) {
  while (nanos > 0) {
    const uint64_t piece = std::min(nanos, kSleepMax);
    if (session_->world().sleep_nanos) session_->world().sleep_nanos(piece);
    nanos -= piece;
    const bool is_gone = session_->output_is_gone();
    const lsm::MutexLock lock(&mutex_);
    is_over_ |= is_gone;
    if (!is_over_) continue;
    changed_.SignalAll();
    return false;
  }
  return true;
}

bool TableVerifier::is_over() {
  const lsm::MutexLock lock(&mutex_);
  return is_over_;
}

void TableVerifier::ShowProgress() {
  const uint64_t now = NowNanos();
  if (now - shown_nanos_ < kBetweenShown) return;
  shown_nanos_ = now;
  const uint64_t rate = Rate(bytes_done_, now - begin_nanos_);
  const uint64_t left = bytes_total_ - std::min(bytes_total_, bytes_done_);
  std::string text =
      lsm::Concat("  table ", std::min(taken_, tables_.size()), " of ", tables_.size(), ", ",
                  lsm::ReadableBytes(bytes_done_), " of ", lsm::ReadableBytes(bytes_total_));
  if (rate > 0) {
    text += lsm::Concat(", ", lsm::ReadableBytes(rate), "/s, ",
                        lsm::ReadableCount((left + rate - 1) / rate), " s left");
  }
  session_->ShowProgress(text);
}

}  // namespace tools
