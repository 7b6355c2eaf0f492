#include "lsm/table/table_check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/hash.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"
#include "lsm/table/dead_entries.h"
#include "lsm/table/table_walk.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Checks all entries of a table, in order.
class TableChecker {
 public:
  TableChecker(const Table& table, const TableCheckCalls& calls) : table_(table), calls_(calls) {}

  TableFacts Run() {
    // A table opened with a known id has not read its header.
    if (const absl::Status header = table_.CheckHeader(); !header.ok()) Fail(header);
    if (!table_.ranges_status().ok()) Fail(table_.ranges_status());
    if (!table_.is_partitioned() && !table_.filter_status().ok()) Fail(table_.filter_status());
    if (table_.is_partitioned() && !table_.footer().filter.is_null()) FailForFilterPartitions();
    if (table_.is_partitioned()) keys_of_partition_.resize(table_.partitions().count());
    TableWalk walk(table_);
    size_t i = 0;
    for (; i < table_.block_count() && goes_on_; ++i) {
      const uint64_t bytes = table_.block_handle(i).stored_bytes + kBlockTrailerBytes;
      goes_on_ = calls_.before_block == nullptr || calls_.before_block(bytes);
      if (goes_on_) CheckBlock(&walk, i);
    }
    std::optional<std::pair<Sequence, Sequence>> of_entries;
    if (facts_.entries > 0) {
      AppendInternalKey(&facts_.largest, last_key_, last_sequence_, last_kind_);
      of_entries = {facts_.smallest_sequence, facts_.largest_sequence};
    }
    facts_.all_sequences = table_.SequencesWith(of_entries);
    // With missing blocks the sums cannot agree, and errors about them would only distract.
    if (all_read_ && goes_on_) CheckSums();
    return facts_;
  }

 private:
  void Fail(const absl::Status& status) { goes_on_ = calls_.problem(status) && goes_on_; }
  void Damage(uint64_t offset, const std::string& message) {
    Fail(DamageAt(table_.path(), offset, message));
  }

  void FailForFilterPartitions() {
    for (size_t i = 0; i < table_.partitions().count(); ++i) {
      if (const absl::Status& status = table_.filter_partition(i).status; !status.ok())
        Fail(status);
    }
  }

  void CheckBlock(TableWalk* walk, size_t ordinal) {
    offset_ = table_.block_handle(ordinal).offset;
    first_in_block_ = true;
    if (table_.is_partitioned()) EnterPartition(table_.partitions().With(ordinal));
    const BlockFacts facts = walk->Walk(ordinal, [&](const ParsedKey& key, std::string_view value) {
      CheckEntry(ordinal, key, value);
      return goes_on_;
    });
    ++facts_.blocks;
    data_bytes_ += facts.handle.stored_bytes + kBlockTrailerBytes;
    expanded_bytes_ += facts.expanded_bytes;
    if (!facts.status.ok()) {
      Fail(facts.status);
      all_read_ = false;
    } else if (facts.entries == 0) {
      Damage(offset_, "a data block without entries");
    } else if (facts.last_key > table_.block_fence(ordinal)) {
      Damage(offset_,
             Concat("key ", QuotedKey(facts.last_key), " is after the block's place in the index, ",
                    QuotedKey(table_.block_fence(ordinal))));
    }
  }

  void CheckEntry(size_t ordinal, const ParsedKey& key, std::string_view value) {
    if (first_in_block_ && ordinal > 0) CheckFence(table_.block_fence(ordinal - 1), key.user_key);
    first_in_block_ = false;
    const bool is_new_key = facts_.entries == 0 || last_key_ != key.user_key;
    if (facts_.entries == 0) {
      AppendInternalKey(&facts_.smallest, key.user_key, key.sequence, key.kind);
      facts_.smallest_sequence = key.sequence;
    }
    if (is_new_key) last_key_.assign(key.user_key);
    if (key.user_key.size() > kTreeKeyBytesMax)
      Damage(offset_, Concat("a key of ", key.user_key.size(), " bytes, longer than keys may be"));
    if (table_.properties().keyspace == kCommonTree && key.user_key.size() < kKeyspacePrefixBytes)
      Damage(offset_, Concat("key ", QuotedKey(key.user_key), " is shorter than a keyspace's id"));
    last_sequence_ = key.sequence;
    last_kind_ = key.kind;
    ++facts_.entries;
    dead_entries_.Count(key, value.size(), is_new_key);
    write_times_.Count(key, value);
    facts_.smallest_sequence = std::min(facts_.smallest_sequence, key.sequence);
    facts_.largest_sequence = std::max(facts_.largest_sequence, key.sequence);
    raw_key_bytes_ += key.user_key.size();
    raw_value_bytes_ += value.size();
    if (is_new_key) ++facts_.keys;
    // The filters of both partitions must have a key that extends over the boundary.
    if (is_new_key || first_in_partition_) CheckKey(key.user_key, is_new_key);
    first_in_partition_ = false;
  }

  void EnterPartition(size_t number) {
    if (number == partition_ && facts_.entries > 0) return;
    partition_ = number;
    first_in_partition_ = true;
  }

  // The fence of the previous block equals this block's first key only if that block ends with the
  // key.
  void CheckFence(std::string_view fence, std::string_view first_key) {
    const bool goes_on = facts_.entries > 0 && last_key_ == first_key;
    if (first_key == fence && all_read_ && !goes_on) {
      Damage(offset_, Concat("key ", QuotedKey(first_key),
                             " is before the block's place in the index, ", QuotedKey(fence)));
    }
  }

  // The filter of the table, or of a partition.
  const bloom::FilterReader& FilterOf(size_t partition) const {
    return table_.is_partitioned() ? table_.filter_partition(partition).filter : table_.filter();
  }
  FilterPresence PresenceOf(size_t partition) const {
    if (!table_.is_partitioned() || table_.footer().filter.is_null())
      return table_.filter_presence();
    return table_.filter_partition(partition).presence;
  }
  uint64_t OffsetOf(size_t partition) const {
    return table_.is_partitioned() ? table_.partitions().entry(partition).filter.offset
                                   : table_.footer().filter.offset;
  }

  void CheckKey(std::string_view user_key, bool is_new_key) {
    if (table_.is_partitioned()) ++keys_of_partition_[partition_];
    if (PresenceOf(partition_) != FilterPresence::kUsable) return;
    if (FilterOf(partition_).MayContain(bloom::DigestOf(user_key, table_.digest_seed()))) {
      facts_.keys_in_filter += is_new_key;
    } else {
      Damage(OffsetOf(partition_),
             Concat("the filter denies the key ", QuotedKey(user_key), ", which the table holds"));
    }
  }

  // A missing property is not damage.
  bool IsStated(std::string_view name) const { return table_.properties().IsStated(name); }

  void CheckSum(std::string_view name, uint64_t stated, uint64_t counted) {
    if (stated == counted || !IsStated(name)) return;
    Damage(table_.footer().properties.offset,
           Concat("the properties say ", name, " ", stated, ", the table has ", counted));
  }

  void CheckSums() {
    const TableProperties& p = table_.properties();
    if (table_.footer().entries != facts_.entries) {
      Damage(table_.file_bytes() - kFooterBytes,
             Concat("the footer says ", table_.footer().entries, " entries, the table has ",
                    facts_.entries));
    }
    CheckSum("entries", p.entries, facts_.entries);
    CheckSum("deletions", p.deletions, dead_entries_.tombstones());
    CheckSum("dead_bytes", p.dead_bytes, dead_entries_.DeadBytesOf(data_bytes_));
    CheckSum("distinct_keys", p.distinct_keys, facts_.keys);
    const WriteTimes times = write_times_.Finish();
    CheckSum("timed_entries", p.timed_entries, times.timed_entries);
    if (times.timed_entries > 0) {
      CheckSum("oldest_write_seconds", p.oldest_write_seconds, times.oldest);
      CheckSum("newest_write_seconds", p.newest_write_seconds, times.newest);
      CheckSum("fifth_write_seconds", p.fifth_write_seconds, times.fifth);
    }
    CheckSum("smallest_sequence", p.smallest_sequence, facts_.smallest_sequence);
    CheckSum("largest_sequence", p.largest_sequence, facts_.largest_sequence);
    CheckSum("raw_key_bytes", p.raw_key_bytes, raw_key_bytes_);
    CheckSum("raw_value_bytes", p.raw_value_bytes, raw_value_bytes_);
    CheckSum("data_bytes", p.data_bytes, data_bytes_);
    CheckSum("uncompressed_data_bytes", p.uncompressed_data_bytes, expanded_bytes_);
    CheckSum("data_blocks", p.data_blocks, facts_.blocks);
    CheckSum("index_bytes", p.index_bytes, table_.index_bytes());
    CheckSum("filter_bytes", p.filter_bytes, table_.filter_bytes());
    CheckSum("partitions", p.partitions, keys_of_partition_.size());
    if (table_.ranges_status().ok())
      CheckSum("range_deletes", p.range_deletes, table_.ranges().range_count());
    CheckSum("range_bytes", p.range_bytes, table_.footer().ranges.stored_bytes);
    if (facts_.entries > 0) {
      CheckKeyProperty("smallest_key", p.smallest_key, UserKeyOf(facts_.smallest));
      CheckKeyProperty("largest_key", p.largest_key, UserKeyOf(facts_.largest));
    }
    if (!table_.is_partitioned()) CheckFilterCount(0, facts_.keys);
    for (size_t i = 0; i < keys_of_partition_.size(); ++i)
      CheckFilterCount(i, keys_of_partition_[i]);
  }

  void CheckKeyProperty(std::string_view name, std::string_view stated, std::string_view found) {
    if (stated == found || !IsStated(name)) return;
    Damage(table_.footer().properties.offset,
           Concat("the properties say ", name, " ", QuotedKey(stated), ", the table has ",
                  QuotedKey(found)));
  }

  // A filter sized for another number of keys still passes all of these, but has another FPP than
  // it states.
  void CheckFilterCount(size_t partition, uint64_t keys) {
    if (PresenceOf(partition) != FilterPresence::kUsable) return;
    const uint64_t stated = FilterOf(partition).Describe().key_count;
    if (stated == keys) return;
    Damage(OffsetOf(partition),
           Concat("the filter says that it holds ", stated, " keys, the ",
                  table_.is_partitioned() ? "partition" : "table", " has ", keys));
  }

  const Table& table_;
  const TableCheckCalls& calls_;
  TableFacts facts_;
  bool goes_on_ = true;
  uint64_t offset_ = 0;  // of the block
  bool first_in_block_ = true;
  bool all_read_ = true;
  size_t partition_ = 0;  // of the block, where the table is partitioned
  bool first_in_partition_ = false;
  std::vector<uint64_t> keys_of_partition_;
  std::string last_key_;  // with the two below: the last entry
  Sequence last_sequence_ = 0;
  EntryKind last_kind_ = EntryKind::kPut;
  DeadEntryCounter dead_entries_;
  WriteTimesCounter write_times_;
  uint64_t raw_key_bytes_ = 0, raw_value_bytes_ = 0, data_bytes_ = 0, expanded_bytes_ = 0;
};

}  // namespace

std::string QuotedInternalKey(std::string_view internal_key) {
  if (internal_key.empty()) return "none";
  return Concat(QuotedKey(UserKeyOf(internal_key)), " at sequence ",
                SequenceOf(SuffixOf(internal_key)));
}

TableFacts CheckTable(const Table& table, const TableCheckCalls& calls) {
  return TableChecker(table, calls).Run();
}

}  // namespace lsm
