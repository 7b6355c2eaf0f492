#include "tests/reliability/faults/range_repairs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/table/table.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/store/store_forger.h"
#include "tests/support/dice.h"
#include "tests/support/range_maps.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::EncodedBatch;
using lsm::EntryKind;
using lsm::Sequence;
using lsm::StoreForger;
using testing_support::Dice;

constexpr size_t kKeys = 24;

std::string RepairKey(size_t key) { return Concat("key", 100 + key); }

struct RepairWrite {
  bool is_range = false;
  EntryKind kind = EntryKind::kPut;
  size_t key = 0;  // or the first one of a range
  size_t end = 0;  // of a range; kKeys: it has no end
  Sequence sequence = 0;
  bool is_lost = false;

  bool Changes(size_t of_key) const {
    return is_range ? key <= of_key && of_key < end : key == of_key;
  }
  std::string value() const { return Concat("value ", sequence); }
};
struct IsBeforeKey {
  bool operator()(const std::string& a, const std::string& b) const {
    return lsm::CompareInternalKeys(a, b) < 0;
  }
};

// The writes of a table or of the log.
using Part = std::vector<RepairWrite>;

enum class Harm { kNone, kManifest, kLevel, kBlocks, kRanges, kLastSequence, kNumbers, kKinds };

class RepairTrial {
 public:
  RepairTrial(uint64_t seed, RangeRepairsReport* report)
      : dice_(seed), seed_(seed), report_(*report), options_(world_.SmallOptions()) {
    options_.level0_compaction_tables = 100;  // each flush stays a table of its own
    options_.level0_stop_tables = 101;
  }

  std::string Run() {
    harm_ = static_cast<Harm>(dice_.Roll(static_cast<size_t>(Harm::kKinds)));
    RollWrites();
    if (const absl::Status status = MakeStore(); !status.ok()) return Finding(status.ToString());
    Forge();
    // The numbers of that harm leave no room for writes.
    if (harm_ != Harm::kNumbers) {
      if (const absl::Status status = WriteLog(); !status.ok()) return Finding(status.ToString());
    }
    const bool must_not_open = DoHarm();
    if (must_not_open && Open().ok()) return Finding("the damaged store opens");
    const absl::StatusOr<lsm::RepairReport> repaired = DB::Repair(lsm::kStorePath, options_);
    if (!repaired.ok()) return Finding(repaired.status().ToString());
    const auto names_loss = [](const std::string& line) {
      return line.find("keys that they deleted may be back") != std::string::npos;
    };
    const std::vector<std::string>& lines = repaired->left_out;
    if (std::any_of(lines.begin(), lines.end(), names_loss) != has_lost_ranges_)
      return Finding("the report and the loss of range deletes differ");
    ++report_.repairs;
    absl::StatusOr<std::unique_ptr<DB>> db = Open();
    if (!db.ok()) return Finding(db.status().ToString());
    std::string problem = Compare(**db);
    if (problem.empty()) problem = Change(**db);
    return problem;
  }

 private:
  std::string Finding(const std::string& what) const {
    return Concat("seed ", seed_, ", harm ", static_cast<int>(harm_), ": ", what);
  }

  absl::StatusOr<std::unique_ptr<DB>> Open() { return DB::Open(lsm::kStorePath, options_); }

  Part RollPart(size_t count) {
    Part part;
    for (; count > 0; --count) {
      RepairWrite write;
      write.sequence = ++last_;
      write.key = dice_.Roll(kKeys);
      write.is_range = dice_.OneIn(3);
      write.end = std::min(kKeys, write.key + 1 + dice_.Roll(8));
      if (!write.is_range && dice_.OneIn(4)) write.kind = EntryKind::kDelete;
      report_.ranges += write.is_range ? 1 : 0;
      part.push_back(write);
    }
    return part;
  }

  void RollWrites() {
    for (size_t parts = 2 + dice_.Roll(4); parts > 0; --parts)
      parts_.push_back(RollPart(1 + dice_.Roll(12)));
    if (harm_ != Harm::kNumbers) return;
    for (RepairWrite& write : parts_.back()) write.sequence += lsm::kSequenceMax / 2 + 1;
    last_ = parts_.back().back().sequence;
  }

  // Level 0 has a table for each part.
  absl::Status MakeStore() {
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, Open());
    for (size_t i = 0; i < parts_.size(); ++i) {
      TRELLIS_RETURN_IF_ERROR(db->Put("any", "value"));
      TRELLIS_RETURN_IF_ERROR(db->Flush());
    }
    return absl::OkStatus();
  }

  StoreForger Forger() { return {world_.files.get(), lsm::kStorePath}; }

  // The parts become the tables' contents.  The two oldest ones may go to deeper levels.
  void Forge() {
    StoreForger forger = Forger();
    const lsm::ManifestState state = forger.State();
    for (const auto& [number, meta] : state.levels[0]) numbers_.push_back(number);
    for (size_t i = 0; i < parts_.size(); ++i) ForgeTable(&forger, i);
    const int first = static_cast<int>(dice_.Roll(3)), second = static_cast<int>(dice_.Roll(2));
    forger.ChangeRecord(numbers_[0], [&](auto* added) { added->level = first; });
    forger.ChangeRecord(numbers_[1], [&](auto* added) { added->level = first > 1 ? second : 0; });
    forger.ChangeManifest([&](lsm::VersionEdit* edit) { edit->last_sequence = last_; });
  }

  void ForgeTable(StoreForger* forger, size_t part) {
    std::map<std::string, std::string, IsBeforeKey> entries;
    std::vector<std::string> keys;
    for (size_t key = 0; key <= kKeys; ++key) keys.push_back(RepairKey(key));
    std::vector<lsm::RangeDelete> ranges;
    std::vector<Sequence> sequences;
    for (const RepairWrite& write : parts_[part]) {
      if (write.is_range) {
        ranges.push_back(
            {keys[write.key],
             write.end == kKeys ? std::nullopt : std::optional<std::string_view>(keys[write.end]),
             write.sequence});
        sequences.push_back(write.sequence);
        continue;
      }
      std::string key;
      lsm::AppendInternalKey(&key, keys[write.key], write.sequence, write.kind);
      entries.emplace(key, write.kind == EntryKind::kPut ? write.value() : "");
    }
    forger->SetEntries(numbers_[part], {entries.begin(), entries.end()},
                       testing_support::RangesOf(ranges, sequences));
  }

  absl::Status WriteLog() {
    parts_.push_back(RollPart(dice_.Roll(8)));
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, Open());
    for (const RepairWrite& write : parts_.back()) {
      const std::string key = RepairKey(write.key), end = RepairKey(write.end);
      lsm::WriteBatch batch;
      if (write.is_range) {
        batch.DeleteRange(key,
                          write.end == kKeys ? std::nullopt : std::optional<std::string_view>(end));
      } else if (write.kind == EntryKind::kPut) {
        batch.Put(key, write.value());
      } else {
        batch.Delete(key);
      }
      TRELLIS_RETURN_IF_ERROR(db->Write(batch));
    }
    return absl::OkStatus();
  }

  // Returns whether the store must not open any more.
  bool DoHarm() {
    StoreForger forger = Forger();
    const size_t part = dice_.Roll(numbers_.size());
    switch (harm_) {
      case Harm::kManifest:
        RemoveManifest();
        return true;
      case Harm::kLevel:
        forger.ChangeRecord(numbers_.back(), [](auto* added) { added->level = 5; });
        return false;
      case Harm::kBlocks:
        FlipBlocks(part);
        Lose(part, /*ranges=*/false);
        if (dice_.OneIn(3)) RemoveManifest();
        return false;
      case Harm::kRanges: {
        const lsm::BlockHandle ranges = forger.FooterOf(numbers_[part]).ranges;
        if (ranges.is_null()) return false;
        Flip(part, ranges.offset + dice_.Roll(ranges.stored_bytes));
        Lose(part, /*ranges=*/true);
        has_lost_ranges_ = true;
        ++report_.lost;
        if (dice_.OneIn(3)) RemoveManifest();
        return true;
      }
      case Harm::kLastSequence:
        forger.ChangeManifest([](lsm::VersionEdit* edit) { edit->last_sequence = 1; });
        return false;
      case Harm::kNone:
      case Harm::kNumbers:
      case Harm::kKinds:
        break;
    }
    return false;
  }

  void Lose(size_t part, bool ranges) {
    for (RepairWrite& write : parts_[part]) write.is_lost |= write.is_range == ranges;
  }

  void Flip(size_t part, uint64_t offset) {
    const std::string path = Forger().PathOf(numbers_[part]);
    std::string bytes = world_.files->FileBytes(path);
    bytes[static_cast<size_t>(offset)] ^= 1;
    world_.files->SetFileBytes(path, bytes);
  }

  // All data blocks of the table.
  void FlipBlocks(size_t part) {
    const auto directory = world_.files->OpenDirectory(lsm::kStorePath, /*create=*/false).value();
    auto file =
        directory->OpenRead(lsm::TableFileName(numbers_[part]), lsm::ReadMode::kBuffered).value();
    const std::unique_ptr<lsm::Table> table = lsm::Table::Open(std::move(file), {}).value();
    for (size_t i = 0; i < table->block_count(); ++i) Flip(part, table->block_handle(i).offset);
  }

  void RemoveManifest() {
    const auto directory = world_.files->OpenDirectory(lsm::kStorePath, /*create=*/false).value();
    directory->Remove("CURRENT").IgnoreError();
    for (const std::string& path : world_.FilesOf(lsm::FileKind::kManifest))
      directory->Remove(path.substr(path.rfind('/') + 1)).IgnoreError();
  }

  // The value of a key by the list, or "absent".
  std::string Expected(size_t key) const {
    const RepairWrite* newest = nullptr;
    for (const Part& part : parts_) {
      for (const RepairWrite& write : part) {
        if (!write.is_lost && write.Changes(key)) newest = &write;
      }
    }
    const bool is_put = newest != nullptr && !newest->is_range && newest->kind == EntryKind::kPut;
    return is_put ? newest->value() : "absent";
  }

  std::string Compare(DB& db) {
    const absl::StatusOr<lsm::VerifyReport> verified = db.Verify();
    if (!verified.ok()) return Finding(verified.status().ToString());
    if (!verified->problems.empty()) return Finding(verified->problems[0]);
    const absl::StatusOr<lsm::Contents> contents = lsm::ReadAll(db);
    if (!contents.ok()) return Finding(contents.status().ToString());
    for (size_t key = 0; key < kKeys; ++key) {
      ++report_.answers;
      const absl::StatusOr<std::optional<std::string>> value = db.Get(RepairKey(key));
      const std::string found =
          value.ok() ? value->value_or("absent") : std::string(value.status().ToString());
      if (found != Expected(key))
        return Finding(Concat(RepairKey(key), " is ", found, ", not ", Expected(key)));
      const auto shown = contents->find(RepairKey(key));
      if ((shown == contents->end() ? "absent" : shown->second) != found)
        return Finding(Concat(RepairKey(key), " differs in an iterator"));
    }
    return "";
  }

  // Later writes must be visible, also after a compaction.
  std::string Change(DB& db) {
    for (size_t key = 0; key < kKeys; key += 5) {
      RepairWrite write;
      write.key = key;
      write.sequence = 1'000'000 + key;
      parts_.push_back({write});
      if (const absl::Status put = db.Put(RepairKey(key), write.value()); !put.ok())
        return Finding(put.ToString());
    }
    std::string problem = Compare(db);
    if (!problem.empty()) return problem;
    if (const absl::Status status = db.CompactRange(); !status.ok())
      return Finding(status.ToString());
    return Compare(db);
  }

  Dice dice_;
  const uint64_t seed_;
  RangeRepairsReport& report_;
  lsm::World world_;
  lsm::Options options_;
  Harm harm_ = Harm::kNone;
  bool has_lost_ranges_ = false;
  std::vector<Part> parts_;        // oldest first
  std::vector<uint64_t> numbers_;  // of the tables
  Sequence last_ = 0;
};

}  // namespace

RangeRepairsReport RepairRanges(uint64_t seed, uint64_t amount) {
  RangeRepairsReport report;
  while (report.repairs < amount && report.finding.empty())
    report.finding = RepairTrial(seed++, &report).Run();
  return report;
}

}  // namespace reliability
