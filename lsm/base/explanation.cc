#include "lsm/explanation.h"

#include <algorithm>
#include <string_view>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/json_writer.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Longest key in a line of text.
constexpr size_t kKeyShownBytes = 64;

// "block 3 at offset 12288, 2,113 bytes from cache"
std::string BlockText(const BlockStep& block) {
  return Concat("block ", block.ordinal, " at offset ", block.offset, ", ",
                ReadableCount(block.stored_bytes), " bytes from ",
                block.from_cache ? "cache" : "file");
}

std::string PartitionText(const PartitionStep& partition) {
  return Concat(partition.is_filter ? "filter" : "index", " partition ", partition.ordinal,
                " at offset ", partition.offset, ", ", ReadableCount(partition.stored_bytes),
                " bytes from ", partition.from_cache ? "cache" : "file");
}

// The filter's answer, and whether it was right.
std::string VerdictText(const TableStep& step) {
  switch (step.filter) {
    case FilterVerdict::kAbsent:
      return "no filter";
    case FilterVerdict::kNo:
      return "filter says no";
    case FilterVerdict::kMaybe:
      return step.false_positive ? "filter says maybe (false positive)" : "filter says maybe";
    case FilterVerdict::kDamaged:
      return "filter damaged: maybe";
    case FilterVerdict::kUnknown:
      return "filter of unknown kind: maybe";
  }
  return "";
}

bool IsAnswer(std::string_view outcome) {
  return outcome == "put" || outcome == "delete" || outcome == "expired";
}

bool IsLast(const TableStep& step) {
  return IsAnswer(step.outcome) || step.outcome == "failed" || step.outcome == "not read";
}

// ", covered by a range delete at sequence 7"
std::string RangeText(uint64_t range_sequence) {
  if (range_sequence == 0) return "";
  return Concat(", covered by a range delete at sequence ", range_sequence);
}

// ", written 2026-11-30T03:00:00Z"
std::string WrittenText(uint32_t seconds) {
  return seconds == 0 ? "" : Concat(", written ", ReadableTime(seconds));
}

std::string OutcomeText(const TableStep& step) {
  if (!IsAnswer(step.outcome)) return step.outcome;
  return Concat(step.outcome, " at sequence ", step.sequence, WrittenText(step.written));
}

std::string CutKey(std::string_view key) {
  return key.empty() ? "(empty)" : Escape(key, kKeyShownBytes);
}

std::string WholeKey(std::string_view key) { return Escape(key); }

std::string TableText(const TableStep& step, const Explanation::KeyText& key_text) {
  std::string text = Concat("    table ", step.table_number, " [", key_text(step.smallest_key),
                            " .. ", key_text(step.largest_key), "]: ", VerdictText(step), "\n");
  for (const PartitionStep& partition : step.partitions)
    text += Concat("      ", PartitionText(partition), "\n");
  for (const BlockStep& block : step.blocks) text += Concat("      ", BlockText(block), "\n");
  return text + Concat("      ", OutcomeText(step), RangeText(step.range_sequence), "\n");
}

void WritePartitions(const std::vector<PartitionStep>& partitions, JsonWriter* json) {
  json->Key("partitions");
  json->BeginArray();
  for (const PartitionStep& partition : partitions) {
    json->BeginObject();
    json->Member("of", partition.is_filter ? "filter" : "index");
    json->Member("ordinal", partition.ordinal);
    json->Member("offset", partition.offset);
    json->Member("stored_bytes", partition.stored_bytes);
    json->Member("from", partition.from_cache ? "cache" : "file");
    json->EndObject();
  }
  json->EndArray();
}

void WriteTable(const TableStep& step, const Explanation::KeyText& key_text, JsonWriter* json) {
  json->BeginObject();
  json->Member("level", step.level);
  json->Member("table", step.table_number);
  json->Member("smallest_key", key_text(step.smallest_key));
  json->Member("largest_key", key_text(step.largest_key));
  json->Member("filter", NameOf(step.filter));
  if (!step.partitions.empty()) WritePartitions(step.partitions, json);
  json->Key("blocks");
  json->BeginArray();
  for (const BlockStep& block : step.blocks) {
    json->BeginObject();
    json->Member("ordinal", block.ordinal);
    json->Member("offset", block.offset);
    json->Member("stored_bytes", block.stored_bytes);
    json->Member("from", block.from_cache ? "cache" : "file");
    json->EndObject();
  }
  json->EndArray();
  json->Member("outcome", step.outcome);
  if (IsAnswer(step.outcome)) json->Member("sequence", step.sequence);
  if (step.written != 0) json->Member("written", step.written);
  if (step.range_sequence != 0) json->Member("range_sequence", step.range_sequence);
  json->EndObject();
}

}  // namespace

const char* NameOf(FilterVerdict verdict) {
  switch (verdict) {
    case FilterVerdict::kAbsent:
      return "absent";
    case FilterVerdict::kNo:
      return "no";
    case FilterVerdict::kMaybe:
      return "maybe";
    case FilterVerdict::kDamaged:
      return "damaged";
    case FilterVerdict::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string Explanation::ToText(const KeyText& key_text) const {
  if (!key_text) return ToText(CutKey);
  std::string text = Concat("key ", key_text(key), "\n  digest ", ReadableId(digest),
                            ", as of sequence ", sequence, "\n");
  bool is_over = false;  // answered, or failed
  for (const MemtableStep& step : memtables) {
    text += Concat("  ", step.name, ": ", step.outcome, WrittenText(step.written),
                   RangeText(step.range_sequence), "\n");
    is_over |= IsAnswer(step.outcome) || (step.outcome == "range delete" && tables.empty());
  }
  for (size_t level = 0; level < tables_by_level.size(); ++level) {
    if (tables_by_level[level] == 0) continue;
    const std::string of_tables =
        Concat(tables_by_level[level], tables_by_level[level] == 1 ? " table" : " tables");
    if (is_over) {
      text += Concat("  level ", level, ": ", of_tables, ", not reached\n");
      continue;
    }
    const auto is_here = [level](const TableStep& step) {
      return step.level == static_cast<int>(level);
    };
    text += Concat("  level ", level, ": ", std::count_if(tables.begin(), tables.end(), is_here),
                   " of ", of_tables, " considered\n");
    for (const TableStep& step : tables) {
      if (!is_here(step)) continue;
      text += TableText(step, key_text);
      // Filters below a range delete were asked until one said "maybe".
      is_over |= IsLast(step) || (step.outcome == "range delete" && &step == &tables.back());
    }
  }
  if (!error.empty()) return text + Concat("  UNKNOWN: ", error, "\n");
  const std::string_view unit = value_bytes == 1 ? " byte" : " bytes";
  return text + Concat("  ",
                       found ? Concat("found, ", ReadableCount(value_bytes), unit)
                             : std::string("not found"),
                       answered_by.empty() ? "" : "; answered by ", answered_by, "\n");
}

std::string Explanation::ToJson(const KeyText& key_text) const {
  if (!key_text) return ToJson(WholeKey);
  JsonWriter json;
  json.BeginObject();
  json.Member("key", key_text(key));
  json.Member("digest", ReadableId(digest));
  json.Member("sequence", sequence);
  json.Key("memtables");
  json.BeginArray();
  for (const MemtableStep& step : memtables) {
    json.BeginObject();
    json.Member("name", step.name);
    json.Member("outcome", step.outcome);
    if (step.written != 0) json.Member("written", step.written);
    if (step.range_sequence != 0) json.Member("range_sequence", step.range_sequence);
    json.EndObject();
  }
  json.EndArray();
  json.Key("tables_by_level");
  json.BeginArray();
  for (const uint64_t count : tables_by_level) json.Number(count);
  json.EndArray();
  json.Key("tables");
  json.BeginArray();
  for (const TableStep& step : tables) WriteTable(step, key_text, &json);
  json.EndArray();
  json.Member("found", found);
  if (answered_by.empty()) {
    json.Key("answered_by");
    json.Json("null");
  } else {
    json.Member("answered_by", answered_by);
  }
  json.Member("value_bytes", value_bytes);
  if (!error.empty()) json.Member("error", error);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace lsm
