#include "tests/reliability/jobs/ranges.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/log/log_reader.h"
#include "lsm/log/log_writer.h"
#include "lsm/memory_file_system.h"
#include "lsm/memtable/memtable.h"
#include "lsm/store/memtable_filler.h"
#include "lsm/write_batch.h"
#include "tests/reliability/faults/short_memory.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::BatchKind;
using lsm::Concat;
using lsm::EncodedBatch;
using lsm::Memtable;
using lsm::MemtableAnswer;
using lsm::Sequence;
using testing_support::Dice;

constexpr size_t kKeys = 30;
constexpr size_t kGroups = 60;

std::string RangeKey(size_t key) { return Concat("key", 100 + key); }

// The keyspaces of a trial with several.  The last ones are rare.
constexpr lsm::KeyspaceId kTrialKeyspaces[] = {
    lsm::kDefaultKeyspace, 2, 300, ~lsm::KeyspaceId{0}, 3, 4, 5, 6, 7, 8};

struct RangeWrite {
  lsm::KeyspaceId keyspace;
  BatchKind kind;
  size_t key;  // or the first one of a range
  size_t end;  // of a range
  Sequence sequence;

  bool Changes(size_t of_key) const {
    return IsRange(kind) ? key <= of_key && of_key < end : key == of_key;
  }
};

// Oldest first.
using Memtables = std::vector<std::shared_ptr<const Memtable>>;

std::string AnswerOf(const Memtables& memtables, lsm::KeyspaceId keyspace, size_t key,
                     Sequence at) {
  const lsm::LookupKey lookup(RangeKey(key), at, 0);
  for (auto memtable = memtables.rbegin(); memtable != memtables.rend(); ++memtable) {
    const lsm::EntryList* const list = (*memtable)->Find(keyspace);
    if (list == nullptr) continue;
    std::string_view value;
    const MemtableAnswer answer = list->Get(lookup, &value);
    if (answer == MemtableAnswer::kFound) return Concat("value ", value);
    const lsm::RangeList* const ranges = list->ranges();
    if (answer != MemtableAnswer::kAbsent ||
        (ranges != nullptr && ranges->NewestAt(lookup.internal_key(), at) > 0))
      return "deleted";
  }
  return "absent";
}

class RangesTrial {
 public:
  RangesTrial(uint64_t seed, RangesReport* report) : dice_(seed), seed_(seed), report_(*report) {
    if (seed % 2 == 0) keyspaces_ = std::size(kTrialKeyspaces);
    log_ = *lsm::LogWriter::Create(directory_->CreateExclusive("log").value(),
                                   lsm::LogKind::kWriteAhead, /*file_id=*/1);
  }

  std::string Run() {
    Seal();
    for (size_t group = 0; group < kGroups; ++group) {
      if (dice_.OneIn(10)) Seal();
      if (dice_.OneIn(5)) {
        ++report_.failed;
        const std::vector<RangeWrite> failed = RollGroup();
        if (!Prepare(Encode(failed))) return Finding("a batch is refused");
      }
      const std::vector<RangeWrite> writes = RollGroup();
      const std::string batch = Encode(writes);
      if (!Prepare(batch)) return Finding("a batch is refused");
      if (!log_->Append(batch).ok()) return Finding("the log is not written");
      if (!AddWithoutMemory()) return Finding("prepared writes need memory");
      writes_.insert(writes_.end(), writes.begin(), writes.end());
      last_ += writes.size();
      ends_.push_back(last_);
      for (const Sequence at : {last_, ends_[dice_.Roll(ends_.size())]}) {
        const std::string finding = Compare("written", memtables_, at);
        if (!finding.empty()) return finding;
      }
      const std::string finding = CompareLists();
      if (!finding.empty()) return finding;
    }
    report_.writes += writes_.size();
    for (const RangeWrite& write : writes_) {
      report_.ranges += IsRange(write.kind);
      report_.of_other_keyspaces += write.keyspace != lsm::kDefaultKeyspace;
    }
    return Replay();
  }

 private:
  std::string Finding(std::string_view what) const { return Concat("seed ", seed_, ": ", what); }

  void Seal() {
    active_ = std::make_shared<Memtable>(last_, /*recent_max=*/16);
    memtables_.push_back(active_);
  }

  // Sometimes memory runs out, and the writer tries again.
  bool Prepare(const std::string& batch) {
    while (dice_.OneIn(3)) {
      memory_.FailOnce(dice_.Roll(12));
      try {
        if (!InStore([&] { return active_->PrepareBatch(batch); }).ok()) return false;
      } catch (const std::bad_alloc&) {
        ++report_.out_of_memory;
      }
      memory_.Stop();
    }
    return active_->PrepareBatch(batch).ok();
  }
  bool AddWithoutMemory() {
    const uint64_t failed = memory_.failed;
    memory_.FailForever(0);
    try {
      InStore([&] { active_->AddPrepared(); });
    } catch (const std::bad_alloc&) {  // counted
    }
    memory_.Stop();
    return memory_.failed == failed;
  }

  std::vector<RangeWrite> RollGroup() {
    std::vector<RangeWrite> writes;
    for (size_t i = 1 + dice_.Roll(keyspaces_ == 1 ? 4 : 12); i > 0; --i) {
      const size_t keyspace =
          dice_.Roll(dice_.OneIn(8) ? keyspaces_ : std::min(keyspaces_, size_t{4}));
      RangeWrite write = {kTrialKeyspaces[keyspace], BatchKind::kPut, dice_.Roll(kKeys), 0,
                          last_ + 1 + writes.size()};
      switch (dice_.Roll(5)) {
        case 0:
        case 1:
          break;
        case 2:
          write.kind = BatchKind::kDelete;
          break;
        case 3:
          write.kind = BatchKind::kDeleteRange;
          write.end = write.key + 1 + dice_.Roll(kKeys - write.key);
          break;
        default:
          write.kind = BatchKind::kDeleteRangeToEnd;
          // Seldom from the first keys on, so that some keys live.
          if (!dice_.OneIn(4)) write.key = kKeys - 1 - dice_.Roll(4);
          write.end = kKeys;
      }
      writes.push_back(write);
    }
    return writes;
  }

  // Values make memtables of different lengths.
  static std::string ValueOf(const RangeWrite& write) {
    return Concat(write.sequence, " ", std::string(write.sequence % 7 * 100, 'v'));
  }
  static std::string Encode(const std::vector<RangeWrite>& writes) {
    lsm::WriteBatch batch;
    for (const RangeWrite& write : writes) {
      const std::string key = RangeKey(write.key);
      if (write.kind == BatchKind::kPut) {
        EncodedBatch::Put(&batch, write.keyspace, key, ValueOf(write));
      } else if (write.kind == BatchKind::kDelete) {
        EncodedBatch::Delete(&batch, write.keyspace, key);
      } else {
        const std::string end = RangeKey(write.end);
        const bool is_open = write.kind == BatchKind::kDeleteRangeToEnd;
        EncodedBatch::DeleteRange(&batch, write.keyspace, key,
                                  is_open ? std::nullopt : std::optional<std::string_view>(end));
      }
    }
    EncodedBatch::SetFirstSequence(&batch, writes.front().sequence);
    return std::string(EncodedBatch::Of(batch));
  }

  std::string Expected(lsm::KeyspaceId keyspace, size_t key, Sequence at) const {
    for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
      if (write->keyspace != keyspace || write->sequence > at || !write->Changes(key)) continue;
      return write->kind == BatchKind::kPut ? "value " + ValueOf(*write) : "deleted";
    }
    return "absent";
  }

  std::string Compare(std::string_view what, const Memtables& memtables, Sequence at) {
    // All keys of the default keyspace, and those of two others.
    const lsm::KeyspaceId others[] = {kTrialKeyspaces[dice_.Roll(keyspaces_)],
                                      kTrialKeyspaces[dice_.Roll(keyspaces_)]};
    for (const lsm::KeyspaceId keyspace : {lsm::kDefaultKeyspace, others[0], others[1]}) {
      for (size_t key = 0; key < kKeys; ++key) {
        ++report_.lookups;
        const std::string answer = AnswerOf(memtables, keyspace, key, at),
                          expected = Expected(keyspace, key, at);
        if (answer == expected) continue;
        return Finding(Concat(what, ", keyspace ", keyspace, ", ", RangeKey(key), " at ", at, ": ",
                              answer.substr(0, 20), ", not ", expected.substr(0, 20)));
      }
      if (keyspaces_ == 1) break;
    }
    return "";
  }

  // A walk over the newest memtable meets each keyspace that has writes there, by ascending id.
  std::string CompareLists() const {
    std::set<lsm::KeyspaceId> expected;
    for (auto write = writes_.rbegin();
         write != writes_.rend() && write->sequence > active_->number_before(); ++write)
      expected.insert(write->keyspace);
    std::vector<lsm::KeyspaceId> met;
    for (const lsm::EntryList* const list : active_->Lists()) met.push_back(list->keyspace());
    return std::equal(met.begin(), met.end(), expected.begin(), expected.end())
               ? ""
               : Finding("a walk does not meet the keyspaces that have writes");
  }

  std::string Replay() {
    if (!log_->Close(/*sync=*/true).ok()) return Finding("the log is not closed");
    Memtables memtables;
    lsm::MemtableFiller filler(4096 + dice_.Roll(64 << 10),
                               [&](std::shared_ptr<const Memtable> memtable) {
                                 memtables.push_back(std::move(memtable));
                                 return absl::OkStatus();
                               });
    const auto log =
        lsm::LogReader::Open(directory_->OpenRead("log", lsm::ReadMode::kBuffered).value(),
                             lsm::LogKind::kWriteAhead)
            .value();
    for (;;) {
      absl::Status status = filler.MakeRoomForNext(log.get());
      lsm::LogReader::Record record;
      const absl::StatusOr<bool> more = log->Next(&record);
      status.Update(more.status());
      if (status.ok() && !*more) break;
      // CheckBatch refuses keyspaces that no log has created.  This log creates none.
      if (status.ok() && keyspaces_ == 1) {
        lsm::KeyspaceRecords none;
        status = lsm::CheckBatch(record.payload, &none);
      }
      if (status.ok())
        status = filler.Add(
            record.payload, log.get(), [](lsm::KeyspaceId) { return true; },
            [](lsm::KeyspaceId) { return false; });
      if (!status.ok()) return Finding(Concat("the replay: ", status.ToString()));
    }
    if (const absl::Status status = filler.HandOver(); !status.ok())
      return Finding(Concat("the replay: ", status.ToString()));
    report_.replayed += memtables.size();
    // No entry and no range may be in a memtable before one with lower numbers.
    Sequence last = 0;
    uint64_t entries = 0;
    for (const auto& memtable : memtables) {
      entries += memtable->entry_count();
      Sequence last_here = last;
      const auto is_later = [&](Sequence first, Sequence until) {
        last_here = std::max(last_here, until);
        return first > last;
      };
      for (const lsm::EntryList* const list : memtable->Lists()) {
        const std::unique_ptr<lsm::Iterator> entry = list->NewIterator();
        for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
          const Sequence number = lsm::SequenceOf(lsm::SuffixOf(entry->key()));
          if (!is_later(number, number)) return Finding("a replay changes the order of memtables");
        }
        const lsm::RangeMap map = list->MapOfRanges();
        if (!map.empty() && !is_later(map.smallest_sequence(), map.largest_sequence()))
          return Finding("a replay changes the order of memtables");
      }
      last = last_here;
    }
    if (entries != writes_.size()) return Finding("a replay loses writes");
    return Compare("replayed", memtables, lsm::kSequenceMax);
  }

  Dice dice_;
  const uint64_t seed_;
  RangesReport& report_;
  size_t keyspaces_ = 1;
  ShortMemory& memory_ = ShortMemory::OfThisThread();
  lsm::MemoryFileSystem files_;
  std::unique_ptr<lsm::Directory> directory_ = files_.OpenDirectory("logs", true).value();
  std::unique_ptr<lsm::LogWriter> log_;
  std::shared_ptr<Memtable> active_;
  Memtables memtables_;
  std::vector<RangeWrite> writes_;
  Sequence last_ = 0;
  std::vector<Sequence> ends_;  // the last numbers of groups; readers stand there
};

}  // namespace

RangesReport CheckRanges(uint64_t seed, uint64_t amount) {
  RangesReport report;
  while (report.writes < amount && report.finding.empty())
    report.finding = RangesTrial(seed++, &report).Run();
  return report;
}

}  // namespace reliability
