#include "lsm/version/version_edit.h"

#include "lsm/base/internal_key.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"
#include "lsm/statistics.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr char kEditFormat = 1;

enum Tag : uint32_t {
  kNextFileNumber = 1,
  kLastSequence = 2,
  kOldestLog = 3,
  kDigestSeed = 4,
  kAddedTable = 5,
  kRemovedTable = 6,
  kSnapshot = 7,
  kSyncedLog = 8,
  kClosedLog = 9,
  kLogSeed = 10,
  kSipHashKey = 11,
  kTableOfRun = 12,
  kLogDirectory = 13,
  kTableWithFields = 14,
  kKeyspace = 15,
  kDroppedKeyspace = 16,
  kNextKeyspaceId = 17,
  kTagMax = kNextKeyspaceId,
};

// The fields of a table in kTableWithFields.
enum TableField : uint32_t {
  kTombstones = 1,
  kFreeableBytes = 2,
  kOldestTombstone = 3,
  // 4 is free.
  kRanges = 5,
  kKeyspaceOfTable = 6,
  kOldestWrite = 7,
  kNewestWrite = 8,
  kTimedEntries = 9,
  kFifthWrite = 10,
};

void AppendField(std::string* out, Tag tag, std::string_view bytes) {
  AppendVarint32(out, tag);
  AppendLengthPrefixed(out, bytes);
}

void AppendFixed64Field(std::string* out, Tag tag, uint64_t value) {
  std::string bytes;
  AppendFixed64(&bytes, value);
  AppendField(out, tag, bytes);
}

void AppendDigestSeed(std::string* out, const bloom::DigestSeed& seed) {
  if (seed.hash == bloom::DigestHash::kXxh3) return AppendFixed64Field(out, kDigestSeed, seed.low);
  std::string bytes;
  AppendFixed64(&bytes, seed.low);
  AppendFixed64(&bytes, seed.high);
  AppendField(out, kSipHashKey, bytes);
}

void AppendVarintField(std::string* out, Tag tag, uint64_t value) {
  std::string bytes;
  AppendVarint64(&bytes, value);
  AppendField(out, tag, bytes);
}

void AppendTableField(std::string* out, TableField number, std::string_view contents) {
  AppendVarint32(out, number);
  AppendLengthPrefixed(out, contents);
}

// Figures that are 0 are left out.
std::string FieldsOf(const DeadEntries& dead, const RangeRecord& ranges, KeyspaceId keyspace,
                     const WriteTimes& times) {
  const auto& [timed_entries, oldest, newest, fifth] = times;
  const auto& [tombstones, dead_bytes, covered_bytes, oldest_tombstone] = dead;
  const auto& [range_count, begin, end] = ranges;
  std::string out, contents;
  if (tombstones != 0) {
    AppendVarint64(&contents, tombstones);
    AppendTableField(&out, kTombstones, contents);
  }
  if (dead_bytes != 0 || covered_bytes != 0) {
    contents.clear();
    AppendVarint64(&contents, dead_bytes);
    AppendVarint64(&contents, covered_bytes);
    AppendTableField(&out, kFreeableBytes, contents);
  }
  if (oldest_tombstone != 0) {
    contents.clear();
    AppendFixed32(&contents, static_cast<uint32_t>(oldest_tombstone));
    AppendTableField(&out, kOldestTombstone, contents);
  }
  if (range_count != 0) {
    contents.clear();
    AppendVarint64(&contents, range_count);
    AppendLengthPrefixed(&contents, begin);
    if (end) AppendLengthPrefixed(&contents, *end);
    AppendTableField(&out, kRanges, contents);
  }
  if (keyspace != kDefaultKeyspace) {
    contents.clear();
    AppendVarint32(&contents, keyspace);
    AppendTableField(&out, kKeyspaceOfTable, contents);
  }
  if (timed_entries != 0) {
    const auto append_seconds = [&](TableField field, uint32_t seconds) {
      contents.clear();
      AppendFixed32(&contents, seconds);
      AppendTableField(&out, field, contents);
    };
    append_seconds(kOldestWrite, oldest);
    append_seconds(kNewestWrite, newest);
    contents.clear();
    AppendVarint64(&contents, timed_entries);
    AppendTableField(&out, kTimedEntries, contents);
    append_seconds(kFifthWrite, fifth);
  }
  return out;
}

// Names every field of a table, so that a new one does not compile before it is encoded here.  Uses
// the oldest field that can express the table, so that older releases read most manifests.
void AppendAdded(std::string* out, const VersionEdit::Added& added) {
  const auto& [number, file_id, file_bytes, entries, smallest, largest, run, dead, ranges, keyspace,
               times] = added.table;
  const std::string fields = FieldsOf(dead, ranges, keyspace, times);
  std::string bytes;
  if (run != 0 || !fields.empty()) AppendVarint32(&bytes, run);
  AppendVarint32(&bytes, static_cast<uint32_t>(added.level));
  AppendVarint64(&bytes, number);
  AppendFixed64(&bytes, file_id);
  AppendVarint64(&bytes, file_bytes);
  AppendVarint64(&bytes, entries);
  AppendLengthPrefixed(&bytes, smallest);
  AppendLengthPrefixed(&bytes, largest);
  bytes += fields;
  const Tag tag = !fields.empty() ? kTableWithFields : run != 0 ? kTableOfRun : kAddedTable;
  AppendField(out, tag, bytes);
}

void AppendKeyspace(std::string* out, const KeyspaceRecord& record) {
  const auto& [id, has_own_tree, options, name, marks] = record;
  std::string bytes;
  AppendVarint32(&bytes, id);
  bytes += has_own_tree ? '\1' : '\0';
  AppendLengthPrefixed(&bytes, EncodeKeyspaceOptions(options, marks));
  AppendLengthPrefixed(&bytes, name);
  AppendField(out, kKeyspace, bytes);
}

// Describes what is wrong with the bytes; empty if nothing is.
using Problem = std::string;
// Says what this release does not know.
using Unknown = std::optional<std::string>;

Problem TakeLevel(std::string_view* input, int* level) {
  uint32_t value = 0;
  if (!TakeVarint32(input, &value)) return "a level is cut off";
  if (value >= static_cast<uint32_t>(kLevels)) return Concat("level ", value, " does not exist");
  *level = static_cast<int>(value);
  return "";
}

Problem TakeKey(std::string_view* input, std::string_view which, std::string* key) {
  std::string_view bytes;
  if (!TakeLengthPrefixed(input, &bytes)) return Concat("a table's ", which, " key is cut off");
  ParsedKey parsed;
  if (!ParseInternalKey(bytes, &parsed))
    return Concat("a table's ", which, " key is no internal key");
  if (parsed.user_key.size() > kTreeKeyBytesMax)
    return Concat("a table's ", which, " key is longer than keys may be");
  key->assign(bytes);
  return "";
}

// Both keys, or two empty ones if `may_have_none` and there are no entries.
Problem TakeKeys(std::string_view* input, bool may_have_none, TableMeta* table) {
  if (may_have_none && table->entries == 0 && input->starts_with(std::string_view("\0\0", 2))) {
    input->remove_prefix(2);
    return "";
  }
  if (Problem problem = TakeKey(input, "smallest", &table->smallest); !problem.empty())
    return problem;
  if (Problem problem = TakeKey(input, "largest", &table->largest); !problem.empty())
    return problem;
  if (CompareInternalKeys(table->smallest, table->largest) > 0)
    return Concat("table ", table->number, " has a smallest key above its largest key");
  return "";
}

// The part that all added tables have.
Problem TakeCommon(std::string_view* input, bool may_have_none, VersionEdit::Added* added) {
  TableMeta& table = added->table;
  if (Problem problem = TakeLevel(input, &added->level); !problem.empty()) return problem;
  if (!TakeVarint64(input, &table.number) || !TakeFixed64(input, &table.file_id) ||
      !TakeVarint64(input, &table.file_bytes) || !TakeVarint64(input, &table.entries)) {
    return "an added table is cut off";
  }
  return TakeKeys(input, may_have_none, &table);
}

Problem TakeAdded(std::string_view input, VersionEdit::Added* added) {
  if (Problem problem = TakeCommon(&input, /*may_have_none=*/false, added); !problem.empty())
    return problem;
  return input.empty() ? "" : "an added table is too long";
}

// Run 0 is encoded in one way only, which older releases can read.
Problem TakeTableOfRun(std::string_view input, VersionEdit::Added* added) {
  uint32_t run = 0;
  if (!TakeVarint32(&input, &run)) return "a run is cut off";
  if (Problem problem = TakeAdded(input, added); !problem.empty()) return problem;
  if (run == 0 || added->level == 0) {
    return Concat("table ", added->table.number, " of level ", added->level,
                  " is said to be of run ", run);
  }
  added->table.run = run;
  return "";
}

// False if they are not those of any map.
bool TakeRanges(std::string_view* input, RangeRecord* ranges) {
  std::string_view begin, end;
  if (!TakeVarint64(input, &ranges->range_count) || ranges->range_count == 0 ||
      !TakeLengthPrefixed(input, &begin) || begin.size() > kTreeBoundBytesMax)
    return false;
  ranges->begin.assign(begin);
  if (input->empty()) return true;
  if (!TakeLengthPrefixed(input, &end) || end.size() > kTreeBoundBytesMax || end <= begin)
    return false;
  ranges->end = std::string(end);
  return true;
}

// False if it is not the id of a keyspace, or is that of the default one, which no field states.
bool TakeKeyspaceOfTable(std::string_view* input, KeyspaceId* keyspace) {
  return TakeVarint32(input, keyspace) && *keyspace != kDefaultKeyspace;
}

Problem TakeTableField(uint32_t number, std::string_view contents, TableMeta* table,
                       Unknown* unknown) {
  DeadEntries* const dead = &table->dead;
  bool is_right = false;
  switch (number) {
    case kTombstones:
      is_right = TakeVarint64(&contents, &dead->tombstones) && dead->tombstones != 0;
      break;
    case kFreeableBytes:
      is_right = TakeVarint64(&contents, &dead->dead_bytes) &&
                 TakeVarint64(&contents, &dead->covered_bytes) &&
                 (dead->dead_bytes != 0 || dead->covered_bytes != 0);
      break;
    case kOldestTombstone: {
      uint32_t seconds = 0;
      is_right = TakeFixed32(&contents, &seconds) && seconds != 0;
      dead->oldest_tombstone = seconds;
      break;
    }
    case kRanges:
      is_right = TakeRanges(&contents, &table->ranges);
      break;
    case kOldestWrite:
      is_right = TakeFixed32(&contents, &table->times.oldest);
      break;
    case kNewestWrite:
      is_right = TakeFixed32(&contents, &table->times.newest) &&
                 table->times.newest >= table->times.oldest;
      break;
    case kTimedEntries:
      is_right =
          TakeVarint64(&contents, &table->times.timed_entries) && table->times.timed_entries != 0;
      break;
    case kFifthWrite:
      is_right = TakeFixed32(&contents, &table->times.fifth);
      break;
    case kKeyspaceOfTable:
      is_right = TakeKeyspaceOfTable(&contents, &table->keyspace);
      break;
    default:
      *unknown = Concat("field ", number, " of an added table is not known");
      return "";
  }
  if (is_right && contents.empty()) return "";
  return Concat("field ", number, " of an added table has an invalid value");
}

// The table of TakeTableOfRun or TakeAdded, then fields.  These have ascending numbers, and
// there is at least one.
Problem TakeTableWithFields(std::string_view input, VersionEdit::Added* added, Unknown* unknown) {
  if (!TakeVarint32(&input, &added->table.run)) return "a run is cut off";
  if (Problem problem = TakeCommon(&input, /*may_have_none=*/true, added); !problem.empty())
    return problem;
  const TableMeta& table = added->table;
  if (table.run != 0 && added->level == 0)
    return Concat("table ", table.number, " of level 0 is said to be of run ", table.run);
  uint32_t last = 0;
  do {
    uint32_t number = 0;
    std::string_view contents;
    if (!TakeVarint32(&input, &number) || !TakeLengthPrefixed(&input, &contents))
      return "a field of an added table is cut off";
    if (number <= last) return "the fields of an added table are not in order";
    last = number;
    Problem problem = TakeTableField(number, contents, &added->table, unknown);
    if (!problem.empty() || *unknown) return problem;
  } while (!input.empty());
  if (!table.has_entries() && table.ranges.empty())
    return Concat("table ", table.number, " has neither entries nor range deletes");
  if (table.dead.tombstones > table.entries) {
    return Concat("table ", table.number, " has ", table.entries, " entries and ",
                  table.dead.tombstones, " tombstones");
  }
  if (table.times.timed_entries > table.entries - table.dead.tombstones) {
    return Concat("table ", table.number, " has ", table.times.timed_entries,
                  " timed entries, too many of its ", table.entries);
  }
  if (table.times.timed_entries == 0 && table.times != WriteTimes())
    return Concat("table ", table.number, " has times, but no timed entries");
  return "";
}

Problem TakeRemoved(std::string_view input, VersionEdit::Removed* removed) {
  if (Problem problem = TakeLevel(&input, &removed->level); !problem.empty()) return problem;
  if (!TakeVarint64(&input, &removed->number)) return "a removed table is cut off";
  return input.empty() ? "" : "a removed table is too long";
}

Problem TakeClosedLog(std::string_view input, std::map<uint64_t, uint64_t>* logs) {
  uint64_t number = 0, file_bytes = 0;
  if (!TakeVarint64(&input, &number) || !TakeVarint64(&input, &file_bytes) || !input.empty())
    return "a closed log is not two numbers";
  if (!logs->emplace(number, file_bytes).second)
    return Concat("closed log ", number, " occurs twice");
  return "";
}

Problem TakeVarintOnce(std::string_view input, std::string_view name,
                       std::optional<uint64_t>* value) {
  if (value->has_value()) return Concat(name, " occurs twice");
  uint64_t number = 0;
  if (!TakeVarint64(&input, &number) || !input.empty()) return Concat(name, " is no number");
  *value = number;
  return "";
}

Problem TakeDigestSeedOnce(std::string_view input, bloom::DigestHash hash,
                           std::optional<bloom::DigestSeed>* seed) {
  if (seed->has_value()) return "digest seed occurs twice";
  bloom::DigestSeed taken;
  taken.hash = hash;
  if (!TakeFixed64(&input, &taken.low)) return "digest seed is not 8 bytes";
  if (hash == bloom::DigestHash::kSipHash && !TakeFixed64(&input, &taken.high))
    return "digest seed is not 16 bytes";
  if (!input.empty()) return "digest seed is too long";
  *seed = taken;
  return "";
}

Problem TakeSeedOnce(std::string_view input, std::string_view name,
                     std::optional<uint64_t>* value) {
  if (value->has_value()) return Concat(name, " occurs twice");
  uint64_t seed = 0;
  if (!TakeFixed64(&input, &seed) || !input.empty()) return Concat(name, " is not 8 bytes");
  *value = seed;
  return "";
}

Problem TakeKeyspaceId(std::string_view* input, KeyspaceId* id) {
  if (!TakeVarint32(input, id)) return "the id of a keyspace is cut off";
  if (*id != kDefaultKeyspace && *id < kOtherKeyspaceMin) return "the id of a keyspace is invalid";
  return "";
}

Problem TakeKeyspace(std::string_view input, KeyspaceRecord* record, Unknown* unknown) {
  if (Problem problem = TakeKeyspaceId(&input, &record->id); !problem.empty()) return problem;
  if (input.empty() || static_cast<uint8_t>(input.front()) > 1)
    return "the place of a keyspace is invalid";
  record->has_own_tree = input.front() == 1;
  input.remove_prefix(1);
  std::string_view options, name;
  if (!TakeLengthPrefixed(&input, &options) || !TakeLengthPrefixed(&input, &name))
    return "a keyspace is cut off";
  if (!input.empty()) return "a keyspace is too long";
  if (name.empty() || name.size() > kKeyspaceNameBytesMax)
    return Concat("the name of keyspace ", record->id, " has ", name.size(), " bytes");
  record->name.assign(name);
  const absl::Status status = DecodeKeyspaceOptions(options, &record->options, &record->marks);
  if (absl::IsUnimplemented(status)) *unknown = std::string(MessageOf(status));
  return std::string(MessageOf(status));
}

Problem TakeDroppedKeyspace(std::string_view input, KeyspaceId* id) {
  if (Problem problem = TakeKeyspaceId(&input, id); !problem.empty()) return problem;
  return input.empty() ? "" : "a dropped keyspace is too long";
}

Problem TakeField(uint32_t tag, std::string_view field, VersionEdit* edit, Unknown* unknown) {
  switch (tag) {
    case kNextFileNumber:
      return TakeVarintOnce(field, "next file number", &edit->next_file_number);
    case kLastSequence: {
      Problem problem = TakeVarintOnce(field, "last sequence", &edit->last_sequence);
      if (problem.empty() && *edit->last_sequence > kSequenceMax)
        return "last sequence is beyond the largest one";
      return problem;
    }
    case kOldestLog:
      return TakeVarintOnce(field, "oldest log", &edit->oldest_log);
    case kDigestSeed:
      return TakeDigestSeedOnce(field, bloom::DigestHash::kXxh3, &edit->digest_seed);
    case kSipHashKey:
      return TakeDigestSeedOnce(field, bloom::DigestHash::kSipHash, &edit->digest_seed);
    case kAddedTable:
      return TakeAdded(field, &edit->added.emplace_back());
    case kTableOfRun:
      return TakeTableOfRun(field, &edit->added.emplace_back());
    case kTableWithFields:
      return TakeTableWithFields(field, &edit->added.emplace_back(), unknown);
    case kRemovedTable:
      return TakeRemoved(field, &edit->removed.emplace_back());
    case kSnapshot:
      if (!field.empty() || edit->is_snapshot)
        return "the snapshot mark is not empty, or occurs twice";
      edit->is_snapshot = true;
      return "";
    case kSyncedLog:
      if (!TakeVarint64(&field, &edit->synced_logs.emplace_back()) || !field.empty())
        return "synced log is no number";
      return "";
    case kClosedLog:
      return TakeClosedLog(field, &edit->closed_logs);
    case kLogSeed:
      return TakeSeedOnce(field, "log seed", &edit->log_seed);
    case kLogDirectory:
      if (field.empty() || edit->log_directory)
        return "the log directory is empty, or occurs twice";
      edit->log_directory = std::string(field);
      return "";
    case kKeyspace:
      return TakeKeyspace(field, &edit->keyspaces.emplace_back(), unknown);
    case kDroppedKeyspace:
      return TakeDroppedKeyspace(field, &edit->dropped_keyspaces.emplace_back());
    case kNextKeyspaceId: {
      Problem problem = TakeVarintOnce(field, "next keyspace id", &edit->next_keyspace_id);
      if (problem.empty() && *edit->next_keyspace_id > KeyspaceRecords::kIdEnd)
        return "next keyspace id is beyond the largest one";
      return problem;
    }
    default:
      return "";  // unreachable: Decode rejects it before
  }
}

}  // namespace

std::string VersionEdit::Encode() const {
  std::string out(1, kEditFormat);
  if (is_snapshot) AppendField(&out, kSnapshot, "");
  if (next_file_number) AppendVarintField(&out, kNextFileNumber, *next_file_number);
  if (last_sequence) AppendVarintField(&out, kLastSequence, *last_sequence);
  if (oldest_log) AppendVarintField(&out, kOldestLog, *oldest_log);
  if (digest_seed) AppendDigestSeed(&out, *digest_seed);
  if (log_seed) AppendFixed64Field(&out, kLogSeed, *log_seed);
  if (log_directory) AppendField(&out, kLogDirectory, *log_directory);
  for (const uint64_t number : synced_logs) AppendVarintField(&out, kSyncedLog, number);
  if (next_keyspace_id) AppendVarintField(&out, kNextKeyspaceId, *next_keyspace_id);
  for (const KeyspaceId id : dropped_keyspaces) AppendVarintField(&out, kDroppedKeyspace, id);
  for (const KeyspaceRecord& record : keyspaces) AppendKeyspace(&out, record);
  std::string bytes;
  for (const auto& [number, file_bytes] : closed_logs) {
    bytes.clear();
    AppendVarint64(&bytes, number);
    AppendVarint64(&bytes, file_bytes);
    AppendField(&out, kClosedLog, bytes);
  }
  for (const Removed& removed_table : removed) {
    bytes.clear();
    AppendVarint32(&bytes, static_cast<uint32_t>(removed_table.level));
    AppendVarint64(&bytes, removed_table.number);
    AppendField(&out, kRemovedTable, bytes);
  }
  for (const Added& added_table : added) AppendAdded(&out, added_table);
  return out;
}

absl::StatusOr<VersionEdit> VersionEdit::Decode(std::string_view bytes, std::string_view file,
                                                uint64_t offset) {
  if (bytes.empty()) return DamageAt(file, offset, "the edit is empty");
  if (bytes.front() != kEditFormat) {
    return absl::UnimplementedError(Concat(file, ": offset ", offset, ": edit of format ",
                                           static_cast<int>(static_cast<uint8_t>(bytes.front())),
                                           "; this library knows format 1"));
  }
  VersionEdit edit;
  std::string_view input = bytes.substr(1);
  while (!input.empty()) {
    uint32_t tag = 0;
    std::string_view field;
    if (!TakeVarint32(&input, &tag) || !TakeLengthPrefixed(&input, &field)) {
      return DamageAt(file, offset, "a field of the edit is cut off");
    }
    if (tag < kNextFileNumber || tag > kTagMax) {
      return absl::UnimplementedError(
          Concat(file, ": offset ", offset, ": field ", tag, " of the edit is not known"));
    }
    Unknown unknown;
    const Problem problem = TakeField(tag, field, &edit, &unknown);
    if (unknown) return absl::UnimplementedError(Concat(file, ": offset ", offset, ": ", *unknown));
    if (!problem.empty()) return DamageAt(file, offset, problem);
  }
  return edit;
}

}  // namespace lsm
