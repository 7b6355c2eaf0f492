#include "tools/sstdump/store/keyspaces.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_reader.h"
#include "lsm/version/common_keys.h"
#include "tools/sstdump/command_line.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/log_file.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {
namespace {

using lsm::Concat;

// Applies the changes of one log.  False if an opening would use nothing after it, or if the rest
// is unreadable: commands that show the writes of logs report that.
bool ReplayChanges(const StoreFiles& files, uint64_t number, lsm::Sequence* last,
                   lsm::KeyspaceRecords* records) {
  absl::StatusOr<std::unique_ptr<lsm::ReadFile>> file =
      files.log_directory->OpenRead(lsm::LogFileName(number), lsm::ReadMode::kBuffered);
  if (!file.ok()) return false;
  const absl::StatusOr<std::unique_ptr<lsm::LogReader>> log =
      lsm::LogReader::Open(*std::move(file), lsm::LogKind::kWriteAhead);
  if (!log.ok()) return false;
  for (lsm::LogReader::Record record;;) {
    const absl::StatusOr<bool> more = (*log)->Next(&record);
    if (!more.ok()) return false;
    if (!*more) return true;
    if (record.payload.size() < lsm::EncodedBatch::kHeaderBytes ||
        lsm::EncodedBatch::FirstSequenceOf(record.payload) != *last + 1)
      return false;
    std::string problem;
    const absl::Status status = WalkBatch(record, (*log)->path(), [&](const BatchEntry& entry) {
      *last = entry.sequence;
      if (problem.empty()) problem = ReplayEntry(entry, records);
    });
    if (!status.ok() || !problem.empty()) return false;
  }
}

absl::Status NoSuchKeyspace(const std::string& name, const lsm::KeyspaceRecords& records,
                            const std::string& directory) {
  std::vector<std::string> names = {std::string(lsm::kDefaultKeyspaceName)};
  for (const auto& [id, record] : records.all()) {
    if (id != lsm::kDefaultKeyspace) names.push_back(record.name);
  }
  const std::string nearest = Nearest(name, names);
  for (std::string& shown : names) shown = lsm::Escape(shown);
  return absl::NotFoundError(Concat(
      directory, ": there is no keyspace \"", lsm::Escape(name), "\"",
      nearest.empty() ? Concat("; there ", names.size() == 1 ? "is " : "are ", NamesText(names))
                      : Concat("; did you mean \"", lsm::Escape(nearest), "\"?")));
}

}  // namespace

lsm::KeyspaceRecords RecordsWithLogs(const StoreFiles& files) {
  const lsm::ManifestState& state = files.manifest.state;
  lsm::KeyspaceRecords records = state.keyspaces;
  lsm::Sequence last = state.last_sequence;
  const std::set<uint64_t> numbers = LogNumbers(files);
  for (auto number = numbers.lower_bound(state.oldest_log); number != numbers.end(); ++number) {
    if (!ReplayChanges(files, *number, &last, &records)) break;
  }
  return records;
}

lsm::ExpiryView ExpiredIn(lsm::KeyspaceId keyspace, const lsm::KeyspaceRecords& records,
                          const Request& request) {
  const auto found = records.all().find(keyspace);
  if (!request.at || found == records.all().end()) return {};
  const lsm::KeyspaceRecord& record = found->second;
  return lsm::ExpiryLimit::AtOpening(record.options, record.marks, *request.at).At(*request.at);
}

std::string Keyspaces::KeyInTree(std::string_view key) const {
  return is_common() ? lsm::CommonKeyOf(shown.id, key) : std::string(key);
}

bool Keyspaces::MayBeIn(const lsm::TableMeta& table) const {
  if (table.keyspace != tree()) return false;
  if (!is_common()) return true;
  const lsm::CommonBounds bounds = lsm::CommonBoundsOf(shown.id, "", std::nullopt);
  const lsm::KeySpan span = table.span();
  return !span.EndsBy(bounds.from) && (!bounds.to || span.begin < *bounds.to);
}

absl::StatusOr<Keyspaces> FindKeyspaces(const StoreFiles& files, const Request& request) {
  Keyspaces keyspaces;
  for (const auto& [id, record] : files.manifest.state.keyspaces.all())
    keyspaces.names[id] = record.name;
  if (!request.keyspace || *request.keyspace == lsm::kDefaultKeyspaceName) return keyspaces;
  const lsm::KeyspaceRecords records = RecordsWithLogs(files);
  const auto found =
      std::find_if(records.all().begin(), records.all().end(),
                   [&](const auto& known) { return known.second.name == *request.keyspace; });
  if (found == records.all().end())
    return NoSuchKeyspace(*request.keyspace, records, files.directory->path());
  keyspaces.shown = found->second;
  keyspaces.names[found->first] = found->second.name;
  return keyspaces;
}

const KeyspaceNames& NamesFor(const Target& target) {
  static const KeyspaceNames none;
  return target.keyspaces == nullptr ? none : target.keyspaces->names;
}

std::string KeyspaceText(uint64_t keyspace, const KeyspaceNames& names, const Session& session) {
  const auto name = names.find(keyspace);
  if (name == names.end()) return Concat(keyspace);
  return Concat(keyspace, " ", session.Fit(session.ShowName(name->second), session.columns() / 4));
}

std::string TreeText(uint64_t tree, const KeyspaceNames& names, const Session& session) {
  if (tree == lsm::kCommonTree) return "the common tree";
  return Concat("keyspace ", tree == lsm::kDefaultKeyspace ? std::string(lsm::kDefaultKeyspaceName)
                                                           : KeyspaceText(tree, names, session));
}

void WriteKeyspace(uint64_t keyspace, const KeyspaceNames& names, Session* session) {
  if (keyspace == lsm::kDefaultKeyspace) return;
  session->json().Member("keyspace", keyspace);
  if (const auto name = names.find(keyspace); name != names.end())
    session->json().Member("keyspace_name", session->ShowName(name->second));
}

void WriteTree(uint64_t tree, const KeyspaceNames& names, Session* session) {
  if (tree == lsm::kDefaultKeyspace) return;
  session->json().Member("tree", tree == lsm::kCommonTree ? "common" : "own");
  if (tree != lsm::kCommonTree) WriteKeyspace(tree, names, session);
}

void WriteShown(const Keyspaces& keyspaces, Session* session) {
  WriteTree(keyspaces.tree(), keyspaces.names, session);
  if (keyspaces.is_common()) WriteKeyspace(keyspaces.shown.id, keyspaces.names, session);
}

void WriteRecord(const lsm::KeyspaceRecord& record, Session* session) {
  const auto& [filter_kind, target_fpp, compression, compaction_style, expire_after] =
      record.options;
  lsm::JsonWriter& json = session->json();
  json.Member("id", record.id);
  json.Member("name", session->ShowName(record.name));
  json.Member("own_tree", record.has_own_tree);
  if (filter_kind) json.Member("filter_kind", *filter_kind);
  if (target_fpp) json.Member("target_fpp", *target_fpp);
  if (compression) json.Member("compression", lsm::NameOf(*compression));
  if (compaction_style) json.Member("compaction_style", lsm::NameOf(*compaction_style));
  if (expire_after) json.Member("expire_after", *expire_after);
  if (record.marks.are_timed()) {
    json.Member("expired_before", record.marks.cutoff);
    json.Member("timed_from", record.marks.timed_from);
  }
}

}  // namespace tools
