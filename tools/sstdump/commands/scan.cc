// `sstdump scan`: a table's entries and range deletes, in the order of keys.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lsm/base/encoded_batch.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_walk.h"
#include "lsm/version/common_keys.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

using lsm::Concat;

// The field for the time of a put, in a table that has such: "2026-11-30T03:00:00Z\t", or "-\t".
constexpr size_t kTimeColumns = 24;
std::string TimeField(const lsm::ParsedKey& key, std::string_view value) {
  const std::optional<uint32_t> written = WrittenOf(key.kind, value);
  return written ? Concat(lsm::ReadableTime(*written), "\t") : "-\t";
}

// Prints one line: the key, or key, sequence, kind, perhaps time, and value separated by tabs.
// Escaped bytes contain no tabs.
void PrintEntry(const lsm::ParsedKey& key, std::string_view value, bool has_times,
                Session* session) {
  if (session->request().keys_only)
    return session->Print(Concat(session->Show(key.user_key, KeyColumns(*session, 0, 1)), "\n"));
  // In a pipe keys are whole.  On a terminal a long value would fill the screen.
  const size_t columns = KeyColumns(*session, 24 + (has_times ? kTimeColumns : 0), 2);
  const std::string line = Concat(session->Show(key.user_key, columns), "\t", key.sequence, "\t",
                                  NameOf(key.kind), "\t", has_times ? TimeField(key, value) : "");
  session->Print(
      Concat(line, session->Show(lsm::ValueOf(key.kind, value), RestOfLine(*session, line)), "\n"));
}

void WriteEntry(const Target& target, const lsm::ParsedKey& key, std::string_view value,
                Session* session) {
  lsm::JsonWriter& json = session->BeginLine();
  json.Member("file", target.path);
  json.Member("key", session->Show(key.user_key));
  json.Member("sequence", key.sequence);
  json.Member("kind", NameOf(key.kind));
  if (const auto written = WrittenOf(key.kind, value)) json.Member("written", *written);
  if (!session->request().keys_only && key.kind != lsm::EntryKind::kDelete)
    json.Member("value", session->Show(lsm::ValueOf(key.kind, value)));
  session->EndLine();
}

// One row for each sequence of a stretch.  Without `to`, it goes on to the end.
void PrintRange(std::string_view from, std::optional<std::string_view> to, lsm::Sequence sequence,
                bool has_times, Session* session) {
  const size_t columns = KeyColumns(*session, 30 + (has_times ? kTimeColumns : 0), 2);
  std::string line = Concat(session->Show(from, columns), "\t", sequence, "\t",
                            NameOf(lsm::BatchKind::kDeleteRange), "\t", has_times ? "-\t" : "");
  if (to) line += session->Show(*to, RestOfLine(*session, line));
  session->Print(line + "\n");
}

void WriteRange(const Target& target, std::string_view from, std::optional<std::string_view> to,
                lsm::Sequence sequence, Session* session) {
  lsm::JsonWriter& json = session->BeginLine();
  json.Member("file", target.path);
  json.Member("from", session->Show(from));
  if (to) json.Member("to", session->Show(*to));
  json.Member("sequence", sequence);
  json.Member("kind", NameOf(lsm::BatchKind::kDeleteRange));
  session->EndLine();
}

// Shows all entries.  But if the table is of the common tree of a store, only those of the shown
// keyspace, without its id.
class TableScan {
 public:
  TableScan(const Target& target, const lsm::Table& table, Session* session)
      : target_(target),
        table_(table),
        session_(session),
        request_(session->request()),
        has_times_(table.properties().timed_entries > 0),
        ranges_(&table.ranges()),
        left_(request_.limit.value_or(UINT64_MAX)) {
    if (target.keyspaces != nullptr && target.keyspaces->is_common()) {
      const lsm::KeyspaceId id = target.keyspaces->shown.id;
      keyspace_ = lsm::CommonBoundsOf(id, "", std::nullopt);
      ranges_of_keyspace_ = lsm::OutOfCommonTree(id, table.ranges());
      ranges_ = &ranges_of_keyspace_;
    }
    if (request_.keys_only) next_ = ranges_->size();  // a range is no key
  }

  void Run() {
    lsm::TableWalk walk(table_);
    const auto visit = [this](const lsm::ParsedKey& key, std::string_view value) {
      return Visit(key, value);
    };
    const std::string from =
        (keyspace_ ? keyspace_->from : std::string()) + request_.from.value_or("");
    for (size_t i = from.empty() ? 0 : table_.FirstBlockFor(from);
         i < table_.block_count() && !is_over_; ++i) {
      const lsm::BlockFacts facts = walk.Walk(i, visit);
      if (is_over_ || left_ == 0) break;
      if (!facts.status.ok()) session_->Fail(facts.status, target_);
      if (session_->has_too_many_problems()) return;
    }
    ShowRangesUpTo(std::nullopt);
    if (const absl::Status& status = table_.ranges_status(); !status.ok())
      session_->Fail(status, target_);
  }

 private:
  // Whether another row may be shown.
  bool Take() {
    if (left_ == 0 || session_->is_broken()) return false;
    --left_;
    return true;
  }

  bool Visit(lsm::ParsedKey key, std::string_view value) {
    if (keyspace_) {
      if (key.user_key < keyspace_->from) return true;
      is_over_ = keyspace_->to && key.user_key >= *keyspace_->to;
      if (is_over_) return false;
      key.user_key.remove_prefix(keyspace_->from.size());
    }
    if (request_.from && key.user_key < *request_.from) return true;
    ShowRangesUpTo(key.user_key);
    is_over_ = (request_.to && key.user_key >= *request_.to) || !Take();
    if (is_over_) return false;
    if (session_->json_wanted()) {
      WriteEntry(target_, key, value, session_);
    } else {
      PrintEntry(key, value, has_times_, session_);
    }
    return true;
  }

  // The ranges that begin at or before the key, without those before or after the bounds.
  void ShowRangesUpTo(std::optional<std::string_view> key) {
    const lsm::RangeMap& ranges = *ranges_;
    for (; next_ < ranges.size(); ++next_) {
      const std::string_view from = ranges.boundary(next_);
      if ((key && from > *key) || (request_.to && from >= *request_.to)) return;
      std::optional<std::string_view> to;
      if (next_ + 1 < ranges.size()) to = ranges.boundary(next_ + 1);
      if (request_.from && to && *to <= *request_.from) continue;
      for (size_t i = 0; i < ranges.sequence_count(next_) && Take(); ++i)
        ShowRange(from, to, ranges.sequence(next_, i));
    }
  }
  void ShowRange(std::string_view from, std::optional<std::string_view> to,
                 lsm::Sequence sequence) {
    if (session_->json_wanted()) {
      WriteRange(target_, from, to, sequence, session_);
    } else {
      PrintRange(from, to, sequence, has_times_, session_);
    }
  }

  const Target& target_;
  const lsm::Table& table_;
  Session* const session_;
  const Request& request_;
  const bool has_times_;  // some puts have a time, so each row has a field for it
  const lsm::RangeMap* ranges_;
  uint64_t left_;
  std::optional<lsm::CommonBounds> keyspace_;  // set: only its entries are shown
  lsm::RangeMap ranges_of_keyspace_;           // without its id
  size_t next_ = 0;                            // the next stretch
  bool is_over_ = false;
};

}  // namespace

void RunScan(const Target& target, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) return session->Fail(table.status(), target);
  TableScan(target, **table, session).Run();
}

}  // namespace tools
