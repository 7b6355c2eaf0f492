#include "tests/reliability/expiry/expiring_machine.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/snapshot.h"
#include "tests/lsm/keyspaces/own_trees.h"
#include "tests/reliability/keyspaces/comparisons.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::FileOperation;
using lsm::kStorePath;

bool IsTable(const std::string& path) {
  return lsm::IsTableFileName(std::string_view(path).substr(path.rfind('/') + 1));
}

}  // namespace

ExpiringMachine::ExpiringMachine(uint64_t seed, ExpiryReport* report)
    : dice_(seed),
      seed_(seed),
      seconds_(std::vector<uint64_t>{2, 10, 100, 3600}[dice_.Roll(4)]),
      report_(*report),
      world_(seed),
      options_(world_.SmallOptions()) {
  options_.environment.clock = &clock_;
  options_.level0_compaction_tables = 3;
  options_.level0_stop_tables = 30;
  options_.compression = lsm::Compression::kNone;
  if (seed % 4 == 1) options_.compaction_style = lsm::CompactionStyle::kTiered;
}

ExpiringMachine::~ExpiringMachine() {
  files().SetFault(nullptr);
  handles_.clear();
}

void ExpiringMachine::Start() {
  model_.keyspaces["default"].birth = ++last_birth_;
  possible_ = {model_};
  auto db = DB::Open(kStorePath, options_);
  if (!db.ok()) return Find("Open", db.status());
  db_ = *std::move(db);
  now_ = clock_.seconds();
  OpenHandle("default");
  for (const char* const name : {"common", "own", "lasting"}) Create(name, {});
  Flush();
  if (!finding_.empty()) return;
  LetGoOfStore();
  const absl::Status status =
      GiveOwnTrees(files(), kStorePath, [](const std::string& name) { return name == "own"; });
  if (!status.ok()) return Find("a manifest", status);
  Reopen();
  if (finding_.empty()) SetLimit("own", seconds_);
  Flush();
}

void ExpiringMachine::OpenHandle(const std::string& name) {
  auto keyspace = db_->OpenKeyspace(name);
  if (!keyspace.ok()) return Find("OpenKeyspace", keyspace.status());
  handles_.insert_or_assign(name, *std::move(keyspace));
}

void ExpiringMachine::Reopen(bool is_repaired) {
  const uint64_t ended = now_;
  auto db = DB::Open(kStorePath, options_);
  ++report_.openings;
  if (!db.ok()) return Find("an opening fails", db.status());
  db_ = *std::move(db);
  now_ = clock_.seconds();
  has_failed_job_ = false;
  const uint64_t sequence = db_->GetSnapshot()->sequence();
  if (is_repaired) possible_[0].sequence = sequence;
  const auto later = std::find_if(possible_.begin(), possible_.end(),
                                  [&](const auto& state) { return state.sequence > sequence; });
  if (later == possible_.begin()) {
    return Find(Concat("an opening finds writes up to ", sequence, ", and ",
                       possible_.front().sequence, " were durable"));
  }
  if (later != possible_.end()) ++report_.lossy;
  model_ = *std::prev(later);
  model_.sequence = sequence;
  const auto names = db_->ListKeyspaces();
  if (!names.ok()) return Find("ListKeyspaces", names.status());
  if (names->size() != model_.keyspaces.size()) return Find("an opening lists other keyspaces");
  for (const std::string& name : *names) {
    const auto known = model_.keyspaces.find(name);
    if (known == model_.keyspaces.end()) return Find(Concat("an opening lists ", name));
    OpenHandle(name);
    if (finding_.empty()) NoteOpening(name, &known->second, ended);
    if (!finding_.empty()) return;
  }
  possible_ = {model_};
}

void ExpiringMachine::NoteOpening(const std::string& name, ExpiringKeyspace* keyspace,
                                  uint64_t ended) {
  report_.expired += keyspace->NoteEnd(ended);
  KeysAndValues found;
  Find(ReadKeyspace(handles_.at(name), {}, &found));
  const std::string problem = keyspace->NoteOpening(now_, found, &report_.seen_again);
  if (!problem.empty())
    Find(Concat("after an opening at ", now_, " of a store that ended at ", ended, ", in ", name,
                ": ", problem, "; limit ", keyspace->options.expire_after.value_or(0), ", cutoff ",
                keyspace->cutoff));
}

void ExpiringMachine::Close() {
  const absl::Status status = db_->Close();
  if (!status.ok()) Find("Close", status);
  NoteDurable();
  LetGoOfStore();
}

void ExpiringMachine::LetGoOfStore() {
  LetGoOfReaders();
  handles_.clear();
  db_ = nullptr;
}

void ExpiringMachine::Settle(std::string_view what, const absl::Status& status, ExpiringStore next,
                             uint64_t entries) {
  next.sequence += entries;
  if (status.ok()) {
    model_ = std::move(next);
    possible_.push_back(model_);
  } else if (is_crashing_) {
    // Perhaps the record is in the log.  The store refuses what follows.
    if (possible_.back().sequence == model_.sequence) possible_.push_back(std::move(next));
  } else if (!is_failing_) {
    Find(what, status);
  }
}
void ExpiringMachine::NoteDurable(uint64_t sequence) {
  std::erase_if(possible_, [&](const ExpiringStore& state) { return state.sequence < sequence; });
}

void ExpiringMachine::Create(const std::string& name, const lsm::KeyspaceOptions& options) {
  ExpiringStore next = model_;
  ExpiringKeyspace& created = next.keyspaces[name];
  created.birth = ++last_birth_;
  created.Change(options, now_);
  auto keyspace = db_->OpenKeyspace(name, options);
  Settle("OpenKeyspace", keyspace.status(), std::move(next), 1);
  if (keyspace.ok()) handles_.insert_or_assign(name, *std::move(keyspace));
}

void ExpiringMachine::SetLimit(const std::string& name, const lsm::KeyspaceOptions& options) {
  ExpiringStore next = model_;
  ExpiringKeyspace& keyspace = next.keyspaces.at(name);
  const ExpiringKeyspace before = keyspace;
  const bool changes = keyspace.Change(options, now_);
  const absl::Status status = db_->OpenKeyspace(name, options).status();
  // Until now, readers have used the old limit.
  if (changes) keyspace.cutoff = before.LiveFrom(now_);
  if (changes || !status.ok()) Settle("OpenKeyspace", status, std::move(next), 1);
  report_.limits += changes && status.ok();
}

void ExpiringMachine::Put(const std::string& name, const std::string& key, uint64_t size,
                          bool sync) {
  ExpiringStore next = model_;
  ExpiringKeyspace& keyspace = next.keyspaces.at(name);
  const ExpiringPut put = NewPut(keyspace, size);
  keyspace.puts[key] = put;
  const absl::Status status = handles_.at(name).Put(key, put.Value(), {.sync = sync});
  Settle("Put", status, std::move(next), 1);
  if (status.ok() && sync) NoteDurable();
}

ExpiringPut ExpiringMachine::NewPut(const ExpiringKeyspace& keyspace, uint64_t size) {
  return {++last_number_, size, keyspace.timed_from == 0 ? std::nullopt : std::optional(now_)};
}

void ExpiringMachine::Advance(uint64_t seconds) {
  clock_.Add(seconds);
  (void)db_->GetSnapshot();
  now_ = std::max(now_, clock_.seconds());
}

void ExpiringMachine::Flush() {
  const uint64_t sequence = model_.sequence;
  const absl::Status status = db_->Flush();
  if (status.ok()) return NoteDurable(sequence);
  if (!is_crashing_) Find("Flush", status);
}

void ExpiringMachine::RunToEnd(const std::function<absl::Status()>& work,
                               const std::function<void()>& beside, size_t tables_before) {
  uint64_t calls = 0;
  bool is_done = beside == nullptr;
  files().SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (++calls > kCallsMax) return absl::UnavailableError(Concat(path, ": too many calls"));
    if (is_done || operation != FileOperation::kCreate || !IsTable(path) || tables_before-- > 0)
      return absl::OkStatus();
    is_done = true;
    beside();
    return absl::OkStatus();
  });
  const absl::Status status = work();
  files().SetFault(nullptr);
  if (calls > kCallsMax) return Find("background work does not end");
  if (!status.ok()) Find("work", status);
}

void ExpiringMachine::FailLog(FileOperation operation, const std::function<void()>& calls) {
  is_failing_ = true;
  files().SetFault([=](FileOperation called, const std::string& path, uint64_t) {
    return called == operation && path.ends_with(".log") ? absl::UnavailableError("told to")
                                                         : absl::OkStatus();
  });
  calls();
  files().SetFault(nullptr);
  is_failing_ = false;
  Resume();
}

void ExpiringMachine::Resume() {
  if (const absl::Status status = db_->Resume(); !status.ok()) return Find("Resume", status);
  ++report_.resumed;
  // A write that failed has perhaps used numbers up.
  model_.sequence = db_->GetSnapshot()->sequence();
  Put("default", "resumed", 0, /*sync=*/true);
}

void ExpiringMachine::Find(std::string_view what, const absl::Status& status) {
  Find(Concat(what, ": ", status.ToString()));
}
void ExpiringMachine::Find(const std::string& when, const std::string& problem) {
  if (!problem.empty()) Find(Concat(when, ": ", problem));
}

}  // namespace reliability
