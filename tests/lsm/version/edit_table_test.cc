// Edits of the manifest as tables of text.  edits_encoded.txt has their bytes, and
// edits_applied.txt the resulting state.  An edit is written as one field per line:
//
//   snapshot | next_file_number N | last_sequence N | oldest_log N | digest_seed N | log_seed N
//   log_directory PATH
//   synced N | closed N BYTES | removed LEVEL NUMBER
//   added LEVEL NUMBER FILE_ID BYTES ENTRIES SMALLEST LARGEST [RUN]; keys as in table_text.h, or
//   none
//   dead TOMBSTONES DEAD_BYTES COVERED_BYTES OLDEST_TOMBSTONE, of the last added table
//   ranges COUNT BEGIN [END], of the last added table
//   tree ID, of the last added table: the keyspace whose tree has it
//   next_keyspace_id N | dropped_keyspace ID
//   keyspace ID own|common NAME [filter_kind=KIND] [target_fpp=P] [compression=none|lz4]
//     [style=leveled|tiered|lazy-leveled] [expire_after=SECONDS]
//
// Commands:
//   encode    prints the edit's bytes, one field per line in hexadecimal digits, and whether they
//             can be read back
//   decode    prints the edit for bytes, or the error.  The first line is `format N`.  Each other
//             line is a field, TAG PART ..., or `raw PART ...` without a tag.  The parts are:
//               v300   a varint
//               f300   a fixed64
//               F300   a fixed32
//               k:a@1  a length-prefixed internal key
//               K300   a length-prefixed internal key whose user key has 300 bytes
//               s:text a length-prefixed string
//               t:text characters
//               x0aff  bytes
//               !20    cuts the field to its first 20 bytes
//   fresh     begins a new state
//   apply     applies an edit to the state; prints the new state, or why the edit does not fit
//   refuse    the same, but restores the state from before
//   log       prints whether a log fits the state: NUMBER end=closed|torn|open bytes=N torn=N,
//             or NUMBER records=N
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/coding.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version_edit.h"
#include "tests/lsm/version/table_text.h"
#include "tests/support/text_table.h"

namespace lsm {
namespace {

using testing_support::NumberOf;
using testing_support::TextCase;
using testing_support::WordsOf;

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

std::string KeyOf(std::string_view text) {
  return text == "none" ? "" : InternalKey(EntryOf(text, 1));
}

std::string TextOfKey(std::string_view internal_key) {
  if (internal_key.empty()) return "none";
  ParsedKey key;
  EXPECT_TRUE(ParseInternalKey(internal_key, &key));
  return std::string(key.user_key) + "@" + std::to_string(key.sequence) +
         (key.kind == EntryKind::kDelete ? "-" : "");
}

KeyspaceRecord RecordOfWords(const std::vector<std::string>& words) {
  KeyspaceRecord record;
  record.id = static_cast<KeyspaceId>(NumberOf(words[1]));
  record.has_own_tree = words[2] == "own";
  record.name = words[3];
  for (size_t i = 4; i < words.size(); ++i) {
    const size_t at = words[i].find('=');
    const std::string name = words[i].substr(0, at), value = words[i].substr(at + 1);
    if (name == "filter_kind")
      record.options.filter_kind = value;
    else if (name == "target_fpp")
      record.options.target_fpp = std::stod(value);
    else if (name == "compression")
      record.options.compression = value == "lz4" ? Compression::kLz4 : Compression::kNone;
    else if (name == "style")
      record.options.compaction_style = value == "tiered"         ? CompactionStyle::kTiered
                                        : value == "lazy-leveled" ? CompactionStyle::kLazyLeveled
                                                                  : CompactionStyle::kLeveled;
    else if (name == "expire_after")
      record.options.expire_after = static_cast<uint32_t>(NumberOf(value));
    else
      ADD_FAILURE() << "not understood: " << words[i];
  }
  return record;
}

std::string TextOfRecord(const KeyspaceRecord& record) {
  const auto& [id, has_own_tree, options, name, marks] = record;
  const auto& [filter_kind, target_fpp, compression, style, expire_after] = options;
  std::ostringstream text;
  text << "keyspace " << id << (has_own_tree ? " own " : " common ") << name;
  if (filter_kind) text << " filter_kind=" << *filter_kind;
  if (target_fpp) text << " target_fpp=" << *target_fpp;
  if (compression) text << " compression=" << NameOf(*compression);
  if (style) text << " style=" << NameOf(*style);
  if (expire_after) text << " expire_after=" << *expire_after;
  if (marks.are_timed()) text << " cutoff=" << marks.cutoff << " timed_from=" << marks.timed_from;
  text << "\n";
  return text.str();
}

void SetField(const std::vector<std::string>& words, VersionEdit* edit) {
  const std::string& name = words[0];
  const auto number = [&](size_t i) { return i < words.size() ? NumberOf(words[i]) : 0; };
  if (name == "snapshot")
    edit->is_snapshot = true;
  else if (name == "next_file_number")
    edit->next_file_number = number(1);
  else if (name == "last_sequence")
    edit->last_sequence = number(1);
  else if (name == "oldest_log")
    edit->oldest_log = number(1);
  else if (name == "digest_seed")
    edit->digest_seed = number(1);
  else if (name == "log_seed")
    edit->log_seed = number(1);
  else if (name == "log_directory")
    edit->log_directory = words.at(1);
  else if (name == "synced")
    edit->synced_logs.push_back(number(1));
  else if (name == "closed")
    edit->closed_logs[number(1)] = number(2);
  else if (name == "removed")
    edit->removed.push_back({static_cast<int>(number(1)), number(2)});
  else if (name == "added" && words.size() >= 8)
    edit->added.push_back({static_cast<int>(number(1)),
                           {number(2),
                            number(3),
                            number(4),
                            number(5),
                            KeyOf(words[6]),
                            KeyOf(words[7]),
                            static_cast<uint32_t>(number(8)),
                            {},
                            {}}});
  else if (name == "dead" && words.size() == 5 && !edit->added.empty())
    edit->added.back().table.dead = {number(1), number(2), number(3), number(4)};
  else if (name == "ranges" && words.size() >= 3 && !edit->added.empty())
    edit->added.back().table.ranges = {number(1), words[2],
                                       words.size() > 3 ? std::optional(words[3]) : std::nullopt};
  else if (name == "tree" && words.size() == 2 && !edit->added.empty())
    edit->added.back().table.keyspace = static_cast<KeyspaceId>(number(1));
  else if (name == "next_keyspace_id")
    edit->next_keyspace_id = number(1);
  else if (name == "dropped_keyspace")
    edit->dropped_keyspaces.push_back(static_cast<KeyspaceId>(number(1)));
  else if (name == "keyspace" && words.size() >= 4)
    edit->keyspaces.push_back(RecordOfWords(words));
  else
    ADD_FAILURE() << "not understood: " << name;
}

VersionEdit EditOf(const TextCase& one) {
  VersionEdit edit;
  for (const std::string& line : one.input) SetField(WordsOf(line), &edit);
  return edit;
}

// The text of an edit in the form that EditOf reads.  Names every field of an edit and of a table,
// so that a new one does not compile before it has a line here and in SetField.
std::string TextOf(const VersionEdit& edit) {
  const auto& [is_snapshot, next_file_number, last_sequence, oldest_log, digest_seed, log_seed,
               log_directory, synced_logs, closed_logs, added_tables, removed_tables,
               next_keyspace_id, dropped_keyspaces, keyspaces] = edit;
  std::ostringstream text;
  const auto add = [&text](const char* name, const auto& value) {
    if (value) text << name << " " << *value << "\n";
  };
  if (is_snapshot) text << "snapshot\n";
  add("next_file_number", next_file_number);
  add("last_sequence", last_sequence);
  add("oldest_log", oldest_log);
  if (digest_seed) text << "digest_seed " << digest_seed->low << "\n";
  add("log_seed", log_seed);
  add("log_directory", log_directory);
  for (const uint64_t log : synced_logs) text << "synced " << log << "\n";
  for (const auto& [log, bytes] : closed_logs) text << "closed " << log << " " << bytes << "\n";
  add("next_keyspace_id", next_keyspace_id);
  for (const KeyspaceId id : dropped_keyspaces) text << "dropped_keyspace " << id << "\n";
  for (const KeyspaceRecord& record : keyspaces) text << TextOfRecord(record);
  for (const auto& [level, number] : removed_tables)
    text << "removed " << level << " " << number << "\n";
  for (const auto& [level, table] : added_tables) {
    const auto& [number, file_id, file_bytes, entries, smallest, largest, run, dead, ranges,
                 keyspace, times] = table;
    text << "added " << level << " " << number << " " << file_id << " " << file_bytes << " "
         << entries << " " << TextOfKey(smallest) << " " << TextOfKey(largest);
    if (run != 0) text << " " << run;
    text << "\n";
    if (keyspace != kDefaultKeyspace) text << "tree " << keyspace << "\n";
    const auto& [tombstones, dead_bytes, covered_bytes, oldest_tombstone] = dead;
    if (dead != DeadEntries()) {
      text << "dead " << tombstones << " " << dead_bytes << " " << covered_bytes << " "
           << oldest_tombstone << "\n";
    }
    const auto& [timed_entries, oldest, newest, fifth] = times;
    if (timed_entries != 0) {
      text << "times " << timed_entries << " " << oldest << " " << newest << " " << fifth << "\n";
    }
    const auto& [range_count, begin, end] = ranges;
    if (range_count == 0) continue;
    text << "ranges " << range_count << " " << (begin.empty() ? "\"\"" : begin)
         << (end ? " " + *end : "") << "\n";
  }
  return text.str();
}

void AppendPart(std::string_view part, std::string* bytes) {
  const std::string_view rest = part.substr(1);
  switch (part[0]) {
    case 'v':
      AppendVarint64(bytes, NumberOf(rest));
      break;
    case 'F':
      AppendFixed32(bytes, static_cast<uint32_t>(NumberOf(rest)));
      break;
    case 'f':
      AppendFixed64(bytes, NumberOf(rest));
      break;
    case 'k':
      AppendLengthPrefixed(bytes, KeyOf(rest.substr(1)));
      break;
    case 's':
      AppendLengthPrefixed(bytes, rest.substr(1));
      break;
    case 't':
      bytes->append(rest.substr(1));
      break;
    case '!':
      bytes->resize(NumberOf(rest));
      break;
    case 'K':
      AppendLengthPrefixed(bytes, KeyOf(std::string(NumberOf(rest), 'x') + "@1"));
      break;
    case 'x':
      for (size_t i = 0; i < rest.size(); i += 2)
        *bytes += static_cast<char>(std::stoi(std::string(rest.substr(i, 2)), nullptr, 16));
      break;
    default:
      ADD_FAILURE() << "not understood: " << part;
  }
}

std::string BytesOf(const TextCase& one) {
  std::string bytes;
  for (const std::string& line : one.input) {
    const std::vector<std::string> words = WordsOf(line);
    if (words[0] == "format") {
      bytes += static_cast<char>(NumberOf(words.at(1)));
      continue;
    }
    std::string field;
    for (size_t i = 1; i < words.size(); ++i) AppendPart(words[i], &field);
    if (words[0] == "raw") {
      bytes += field;
    } else {
      AppendVarint32(&bytes, static_cast<uint32_t>(NumberOf(words[0])));
      AppendLengthPrefixed(&bytes, field);
    }
  }
  return bytes;
}

// One line for each field: tag, length, bytes.
std::string FieldsOf(std::string_view bytes) {
  std::string text = Hex(bytes.substr(0, 1)) + "\n";
  for (bytes.remove_prefix(1); !bytes.empty();) {
    const std::string_view whole = bytes;
    uint32_t tag = 0;
    std::string_view field;
    if (!TakeVarint32(&bytes, &tag) || !TakeLengthPrefixed(&bytes, &field))
      return text + "no field\n";
    const std::string_view head = whole.substr(0, whole.size() - bytes.size() - field.size());
    text += Hex(head) + (field.empty() ? "" : " ") + Hex(field) + "\n";
  }
  return text;
}

class EditTable {
 public:
  std::string Run(const TextCase& one) {
    if (one.command == "encode") return Encode(EditOf(one));
    if (one.command == "decode") return Decode(BytesOf(one));
    if (one.command == "fresh") return state_ = {}, "";
    if (one.command == "apply") return Apply(EditOf(one), &state_);
    if (one.command == "refuse") {
      ManifestState state = state_;
      return Apply(EditOf(one), &state);
    }
    if (one.command == "log" && one.words.size() == 1) return CheckLog(one);
    return one.NotUnderstood();
  }

 private:
  static std::string Encode(const VersionEdit& edit) {
    const std::string bytes = edit.Encode();
    const auto decoded = VersionEdit::Decode(bytes, "dir/M", 77);
    return FieldsOf(bytes) +
           (decoded.ok() && *decoded == edit ? "reads back" : "does not read back");
  }

  static std::string Decode(const std::string& bytes) {
    const auto edit = VersionEdit::Decode(bytes, "dir/M", 77);
    return edit.ok() ? TextOf(*edit) : edit.status().ToString();
  }

  static std::string Apply(const VersionEdit& edit, ManifestState* state) {
    const absl::Status status = state->Apply(edit, "M", 5);
    if (!status.ok()) return status.ToString();
    std::string text = TextOf(state->ToSnapshot()) + "needed logs";
    for (const uint64_t log : state->NeededLogs()) text += " " + std::to_string(log);
    return text;
  }

  std::string CheckLog(const TextCase& one) const {
    const uint64_t number = NumberOf(one.words[0]);
    if (one.Has("records"))
      return state_.CheckSyncedLog(number, "L", one.Number("records", 0)).ToString();
    constexpr LogEnd kEnds[] = {LogEnd::kOpen, LogEnd::kTorn, LogEnd::kClosed};
    return state_
        .CheckClosedLog(number, "L", kEnds[one.OneOf("end", {"open", "torn", "closed"})],
                        one.Number("bytes", 0), one.Number("torn", 0))
        .ToString();
  }

  ManifestState state_;
};

class EditTableTest : public testing::TestWithParam<const char*> {};

TEST_P(EditTableTest, MatchesTheTables) {
  EditTable table;
  testing_support::RunTextTable(std::string("tests/lsm/version/edits_") + GetParam() + ".txt",
                                [&](const TextCase& one) { return table.Run(one); });
}

INSTANTIATE_TEST_SUITE_P(Tables, EditTableTest, testing::Values("encoded", "applied"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace lsm
