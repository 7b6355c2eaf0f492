#include "lsm/table/table_claims.h"

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

class ClaimChecker {
 public:
  explicit ClaimChecker(const Table& table) : table_(table), properties_(table.properties()) {}

  bool IsStated(std::string_view name) const { return properties_.IsStated(name); }

  // Reports the offset of the properties, which make the claim.
  template <typename... What>
  void Damage(const What&... what) {
    if (status_.ok())
      status_ = DamageAt(table_.path(), table_.footer().properties.offset, Concat(what...));
  }

  template <typename... What>
  void DamageOfRanges(const What&... what) {
    if (status_.ok())
      status_ = DamageAt(table_.path(), table_.footer().ranges.offset, Concat(what...));
  }

  void Equal(std::string_view name, uint64_t stated, std::string_view where, uint64_t found) {
    if (stated != found && IsStated(name))
      Damage("the properties say ", name, " ", stated, ", ", where, " ", found);
  }
  void AtMost(std::string_view name, uint64_t stated, std::string_view bound_name, uint64_t bound) {
    if (stated > bound && IsStated(name) && IsStated(bound_name))
      Damage("the properties say ", name, " ", stated, ", more than ", bound_name, " ", bound);
  }
  void Equal(std::string_view name, std::string_view stated, std::string_view recorded) {
    if (stated != recorded && IsStated(name)) {
      Damage("the properties say ", name, " ", QuotedKey(stated), ", the manifest says ",
             QuotedKey(recorded));
    }
  }

  void CheckSequences() {
    for (const std::string_view name : {"smallest_sequence", "largest_sequence"}) {
      if (!IsStated(name)) Damage("the property \"", name, "\" is missing");
    }
    if (properties_.largest_sequence > kSequenceMax)
      Damage("the properties say largest_sequence ", properties_.largest_sequence,
             ", and sequences end at ", kSequenceMax);
    AtMost("smallest_sequence", properties_.smallest_sequence, "largest_sequence",
           properties_.largest_sequence);
  }

  void CheckCounts() {
    const TableProperties& p = properties_;
    const Footer& footer = table_.footer();
    Equal("entries", p.entries, "the footer says", footer.entries);
    Equal("data_blocks", p.data_blocks, "the footer says", footer.data_blocks);
    Equal("data_bytes", p.data_bytes, "the footer says", footer.data_end() - kTableHeaderBytes);
    Equal("index_bytes", p.index_bytes, "the footer leads to", table_.index_bytes());
    Equal("filter_bytes", p.filter_bytes, "the footer leads to", table_.filter_bytes());
    Equal("partitions", p.partitions, "the index has",
          table_.is_partitioned() ? table_.partitions().count() : 0);
    Equal("range_deletes", p.range_deletes, "the table has", table_.ranges().range_count());
    Equal("range_bytes", p.range_bytes, "the footer leads to", footer.ranges.stored_bytes);
    AtMost("deletions", p.deletions, "entries", p.entries);
    AtMost("distinct_keys", p.distinct_keys, "entries", p.entries);
  }

  // A table of an older release states nothing, so nothing was recorded.
  void CheckDeadEntries(const DeadEntries& recorded) {
    const TableProperties& p = properties_;
    if (!p.states_dead_entries()) {
      if (recorded != DeadEntries())
        Damage("the manifest records dead entries, and the properties do not state them");
      return;
    }
    const std::string_view where = "the manifest says";
    Equal("deletions", p.deletions, where, recorded.tombstones);
    Equal("dead_bytes", p.dead_bytes, where, recorded.dead_bytes);
    Equal("covered_bytes", p.covered_bytes, where, recorded.covered_bytes);
    Equal("oldest_tombstone", p.oldest_tombstone, where, recorded.oldest_tombstone);
    AtMost("dead_bytes", p.dead_bytes, "data_bytes", p.data_bytes);
  }

  void CheckTimes(const WriteTimes& recorded) {
    const TableProperties& p = properties_;
    const std::string_view where = "the manifest says";
    Equal("timed_entries", p.timed_entries, where, recorded.timed_entries);
    if (p.timed_entries == 0) return;
    Equal("oldest_write_seconds", p.oldest_write_seconds, where, recorded.oldest);
    Equal("newest_write_seconds", p.newest_write_seconds, where, recorded.newest);
    Equal("fifth_write_seconds", p.fifth_write_seconds, where, recorded.fifth);
    AtMost("timed_entries", p.timed_entries, "entries", p.entries);
  }

  void CheckRanges(const RangeRecord& recorded) {
    if (recorded == RangeRecord::Of(table_.ranges())) return;
    DamageOfRanges("the table has ", Described(RangeRecord::Of(table_.ranges())),
                   ", the manifest says ", Described(recorded));
  }

  // For a partitioned table whose index is in the file: checks the fences of its partitions.
  void CheckFences(const TableRecord& record) {
    const bool in_parts = table_.reads_partitions();
    const size_t count = in_parts ? table_.partitions().count() : table_.block_count();
    if (count == 0 && record.entries == 0) return;  // there are only ranges
    if (count == 0) return Damage("the table has no data block");
    const auto fence = [&](size_t i) {
      return in_parts ? table_.partitions().fence(i) : table_.block_fence(i);
    };
    const bool holds_smallest = record.smallest <= fence(0);
    const bool holds_largest =
        record.largest <= fence(count - 1) && (count == 1 || record.largest >= fence(count - 2));
    if (holds_smallest && holds_largest) return;
    status_.Update(
        DamageAt(table_.path(), table_.footer().index.offset,
                 Concat("the manifest says ",
                        holds_smallest ? Concat("largest key ", QuotedKey(record.largest))
                                       : Concat("smallest key ", QuotedKey(record.smallest)),
                        ", which is outside of the ", holds_smallest ? "last" : "first",
                        " block of the index")));
  }

  void Run(const TableRecord& record) {
    if (table_.footer().entries != record.entries) {
      status_ = DamageAt(table_.path(), 0,
                         Concat("the table has ", table_.footer().entries,
                                " entries, the manifest says ", record.entries));
    }
    CheckSequences();
    CheckCounts();
    Equal("keyspace", properties_.keyspace, "the manifest says", record.keyspace);
    Equal("smallest_key", properties_.smallest_key, record.smallest);
    Equal("largest_key", properties_.largest_key, record.largest);
    CheckDeadEntries(record.dead);
    CheckTimes(record.times);
    CheckRanges(record.ranges);
    CheckFences(record);
  }

  const absl::Status& status() const { return status_; }

 private:
  const Table& table_;
  const TableProperties& properties_;
  absl::Status status_;  // the first contradiction
};

}  // namespace

std::string Described(const RangeRecord& ranges) {
  if (ranges.empty()) return "no range deletes";
  return Concat(ranges.range_count, ranges.range_count == 1 ? " range delete" : " range deletes",
                " from ", QuotedKey(ranges.begin), " to ",
                ranges.end ? QuotedKey(*ranges.end) : "the last key");
}

absl::Status CheckClaims(const Table& table, const TableRecord& record) {
  ClaimChecker checker(table);
  checker.Run(record);
  return checker.status();
}

absl::Status CheckPlace(const Table& table, const TablePlace& place) {
  ClaimChecker checker(table);
  const TableProperties& properties = table.properties();
  if (properties.largest_sequence > place.last_sequence) {
    checker.Damage("the properties say largest_sequence ", properties.largest_sequence,
                   ", and the last sequence of the manifest is ", place.last_sequence);
  }
  if (const Sequence largest = table.ranges().largest_sequence(); largest > place.last_sequence) {
    checker.DamageOfRanges("a range delete has sequence ", largest,
                           ", and the last sequence of the manifest is ", place.last_sequence);
  }
  // Tables only move down.
  if (properties.level > place.level && checker.IsStated("level")) {
    checker.Damage("the properties say level ", properties.level, ", the manifest says level ",
                   place.level);
  }
  return checker.status();
}

}  // namespace lsm
