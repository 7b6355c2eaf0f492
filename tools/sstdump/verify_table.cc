#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/table/block_io.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/table_file.h"
#include "tools/sstdump/verify.h"

namespace tools {
namespace {

using lsm::Concat;

std::string Quoted(std::string_view key) {
  return Concat("\"", lsm::Escape(key, kShownKeyBytes), "\"");
}

// Meets all entries of a table in order.
class TableChecker {
 public:
  TableChecker(const Target& target, const lsm::Table& table, Session* session)
      : target_(target), table_(table), session_(session) {}

  TableVerdict Run() {
    verdict_.is_open = true;
    verdict_.file_id = table_.footer().file_id;
    verdict_.digest_seed = table_.properties().digest_seed;
    verdict_.filter = NameOf(table_.filter_presence());
    CheckFilter();
    NoteMissingProperties();
    TableWalk walk(table_);
    for (size_t i = 0; i < table_.block_count() && !session_->has_too_many_problems(); ++i)
      CheckBlock(&walk, i);
    if (verdict_.entries > 0)
      lsm::AppendInternalKey(&verdict_.largest, last_key_, last_sequence_, last_kind_);
    // Where blocks are missing, sums cannot agree, and would only hide what is wrong.
    if (all_read_) CheckSums();
    return verdict_;
  }

 private:
  void Damage(uint64_t offset, std::string message) {
    session_->Damage(target_, offset, std::move(message));
  }

  void CheckFilter() {
    if (const absl::Status status = table_.filter_status(); !status.ok())
      session_->Fail(status, target_);
    if (table_.filter_presence() == lsm::FilterPresence::kUnknown) {
      session_->Note(Concat(lsm::Escape(target_.path),
                            ": the filter cannot be asked: ", UnknownFilterText(table_)));
    }
  }

  void CheckBlock(TableWalk* walk, size_t ordinal) {
    offset_ = table_.block_handle(ordinal).offset;
    first_in_block_ = true;
    const BlockFacts facts =
        walk->Walk(ordinal, [&](const lsm::ParsedKey& key, std::string_view value) {
          CheckEntry(ordinal, key, value);
          return !session_->has_too_many_problems();
        });
    ++verdict_.blocks;
    data_bytes_ += facts.handle.stored_bytes + lsm::kBlockTrailerBytes;
    expanded_bytes_ += facts.expanded_bytes;
    if (!facts.status.ok()) {
      session_->Fail(facts.status, target_);
      all_read_ = false;
    } else if (facts.entries == 0) {
      Damage(offset_, "a data block without entries");
    } else if (facts.last_key > table_.block_fence(ordinal)) {
      Damage(offset_,
             Concat("key ", Quoted(facts.last_key), " is behind the block's place in the index, ",
                    Quoted(table_.block_fence(ordinal))));
    }
  }

  void CheckEntry(size_t ordinal, const lsm::ParsedKey& key, std::string_view value) {
    if (first_in_block_ && ordinal > 0) CheckFence(table_.block_fence(ordinal - 1), key.user_key);
    first_in_block_ = false;
    const bool is_new_key = verdict_.entries == 0 || last_key_ != key.user_key;
    if (verdict_.entries == 0) {
      lsm::AppendInternalKey(&verdict_.smallest, key.user_key, key.sequence, key.kind);
      smallest_sequence_ = key.sequence;
    }
    if (is_new_key) last_key_.assign(key.user_key);
    last_sequence_ = key.sequence;
    last_kind_ = key.kind;
    ++verdict_.entries;
    if (key.kind == lsm::EntryKind::kDelete) ++deletions_;
    smallest_sequence_ = std::min(smallest_sequence_, key.sequence);
    largest_sequence_ = std::max(largest_sequence_, key.sequence);
    raw_key_bytes_ += key.user_key.size();
    raw_value_bytes_ += value.size();
    if (is_new_key) CheckKey(key.user_key);
  }

  // The fence of the block before is the same as this block's first key only if the block before
  // ends with that key.
  void CheckFence(std::string_view fence, std::string_view first_key) {
    const bool goes_on = verdict_.entries > 0 && last_key_ == first_key;
    if (first_key == fence && all_read_ && !goes_on) {
      Damage(offset_, Concat("key ", Quoted(first_key),
                             " is before the block's place in the index, ", Quoted(fence)));
    }
  }

  void CheckKey(std::string_view user_key) {
    ++verdict_.keys;
    if (table_.filter_presence() != lsm::FilterPresence::kUsable) return;
    if (table_.MayContain(DigestFor(table_, user_key))) {
      ++verdict_.keys_in_filter;
    } else {
      Damage(table_.footer().filter.offset,
             Concat("the filter says no to the key ", Quoted(user_key), ", which is there"));
    }
  }

  // Nothing can be held against a property that is missing, which is no damage.
  bool IsStated(std::string_view name) const {
    const std::vector<std::string_view>& missing = table_.properties().missing;
    return std::find(missing.begin(), missing.end(), name) == missing.end();
  }

  void NoteMissingProperties() {
    std::string names;
    for (const std::string_view name : table_.properties().missing)
      names += Concat(names.empty() ? "" : ", ", name);
    if (names.empty()) return;
    session_->Note(Concat(lsm::Escape(target_.path), ": the properties do not state ", names));
  }

  void CheckSum(std::string_view name, uint64_t stated, uint64_t counted) {
    if (stated == counted || !IsStated(name)) return;
    Damage(table_.footer().properties.offset,
           Concat("the properties say ", name, " ", stated, ", counted were ", counted));
  }

  void CheckSums() {
    const lsm::TableProperties& p = table_.properties();
    if (table_.footer().entries != verdict_.entries) {
      Damage(table_.file_bytes() - lsm::kFooterBytes,
             Concat("the footer says ", table_.footer().entries, " entries, counted were ",
                    verdict_.entries));
    }
    CheckSum("entries", p.entries, verdict_.entries);
    CheckSum("deletions", p.deletions, deletions_);
    CheckSum("distinct_keys", p.distinct_keys, verdict_.keys);
    CheckSum("smallest_sequence", p.smallest_sequence, smallest_sequence_);
    CheckSum("largest_sequence", p.largest_sequence, largest_sequence_);
    CheckSum("raw_key_bytes", p.raw_key_bytes, raw_key_bytes_);
    CheckSum("raw_value_bytes", p.raw_value_bytes, raw_value_bytes_);
    CheckSum("data_bytes", p.data_bytes, data_bytes_);
    CheckSum("uncompressed_data_bytes", p.uncompressed_data_bytes, expanded_bytes_);
    CheckSum("data_blocks", p.data_blocks, verdict_.blocks);
    CheckSum("index_bytes", p.index_bytes, table_.footer().index.stored_bytes);
    CheckSum("filter_bytes", p.filter_bytes, table_.footer().filter.stored_bytes);
    if (verdict_.entries > 0) {
      CheckKeyProperty("smallest_key", p.smallest_key, lsm::UserKeyOf(verdict_.smallest));
      CheckKeyProperty("largest_key", p.largest_key, lsm::UserKeyOf(verdict_.largest));
    }
    if (table_.filter_presence() == lsm::FilterPresence::kUsable) CheckFilterCount();
  }

  void CheckKeyProperty(std::string_view name, std::string_view stated, std::string_view found) {
    if (stated == found || !IsStated(name)) return;
    Damage(table_.footer().properties.offset,
           Concat("the properties say ", name, " ", Quoted(stated), ", found was ", Quoted(found)));
  }

  // A filter that was sized for other keys still passes all of these, at another rate than it says.
  void CheckFilterCount() {
    const uint64_t stated = table_.filter().Describe().key_count;
    if (stated == verdict_.keys) return;
    Damage(table_.footer().filter.offset, Concat("the filter says that it holds ", stated,
                                                 " keys, the table has ", verdict_.keys));
  }

  const Target& target_;
  const lsm::Table& table_;
  Session* const session_;
  TableVerdict verdict_;
  uint64_t offset_ = 0;  // of the block
  bool first_in_block_ = true;
  bool all_read_ = true;
  std::string last_key_;  // with the two below: the last entry
  lsm::Sequence last_sequence_ = 0;
  lsm::EntryKind last_kind_ = lsm::EntryKind::kPut;
  uint64_t deletions_ = 0, raw_key_bytes_ = 0, raw_value_bytes_ = 0, data_bytes_ = 0,
           expanded_bytes_ = 0;
  lsm::Sequence smallest_sequence_ = 0, largest_sequence_ = 0;
};

// Of a table that cannot be opened for what is `known`: which of its blocks are damaged besides.
void CheckParts(const Target& target, const absl::Status& known, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::ReadFile>> file = OpenTarget(target);
  if (!file.ok()) return;
  const absl::StatusOr<lsm::Footer> footer = ReadFooter(**file);
  if (!footer.ok()) return;
  for (const lsm::BlockHandle handle : {footer->filter, footer->index, footer->properties}) {
    if (handle.is_null() || handle.stored_bytes > kIndexBytesMax) continue;
    const absl::StatusOr<lsm::BlockBuffer> block =
        lsm::ReadPlainBlock(**file, footer->file_id, handle);
    if (!block.ok() && block.status() != known) session->Fail(block.status(), target);
  }
}

}  // namespace

TableVerdict VerifyTable(const Target& target, Session* session) {
  session->NextFile();
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (table.ok()) return TableChecker(target, **table, session).Run();
  session->Fail(table.status(), target);
  if (absl::IsDataLoss(table.status())) {
    CheckParts(target, table.status(), session);
    session->Note(
        Concat(lsm::Escape(target.path),
               ": without footer, index and properties its data blocks cannot be looked at"));
  }
  return {};
}

std::string TextOf(const TableVerdict& verdict) {
  if (!verdict.is_open) return "a table";
  return Concat(
      Count(verdict.blocks, "data block", "data blocks"), ", ",
      Count(verdict.entries, "entry", "entries"), ", ",
      verdict.filter == "usable"
          ? Concat(Count(verdict.keys_in_filter, "key passes", "keys pass"), " the filter")
          : Concat(Count(verdict.keys, "key", "keys"), ", filter ", verdict.filter));
}

}  // namespace tools
