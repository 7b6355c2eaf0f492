#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lsm/block/block_io.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "tools/sstdump/commands/verify.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

using lsm::Concat;

void AddProblem(const absl::Status& problem, TableVerdict* verdict) {
  verdict->findings.push_back({problem, ""});
}

void AddNote(const Target& target, const std::string& note, TableVerdict* verdict) {
  verdict->findings.push_back({absl::OkStatus(), Concat(lsm::Escape(target.path), ": ", note)});
}

// A missing property cannot be checked.  It is not damage.
void NoteMissingProperties(const Target& target, const lsm::Table& table, TableVerdict* verdict) {
  std::string names;
  for (const std::string_view name : table.properties().missing)
    names += Concat(names.empty() ? "" : ", ", name);
  if (names.empty()) return;
  AddNote(target, Concat("the properties do not state ", names), verdict);
}

void CheckOpenTable(const Target& target, const lsm::Table& table,
                    const std::function<bool(uint64_t bytes)>& before_block,
                    TableVerdict* verdict) {
  if (table.filter_presence() == lsm::FilterPresence::kUnknown)
    AddNote(target, Concat("the filter cannot be used: ", UnknownFilterText(table)), verdict);
  NoteMissingProperties(target, table, verdict);
  verdict->is_open = true;
  verdict->file_id = table.footer().file_id;
  verdict->digest_seed = table.properties().digest_seed_and_hash();
  verdict->level = table.properties().level;
  verdict->keyspace = table.properties().keyspace;
  verdict->filter = NameOf(table.filter_presence());
  verdict->ranges = std::make_shared<const lsm::RangeMap>(table.ranges());
  // Bytes read to open the table.
  uint64_t bytes_opening = table.file_bytes();
  for (size_t i = 0; i < table.block_count(); ++i) {
    const uint64_t block = table.block_handle(i).stored_bytes + lsm::kBlockTrailerBytes;
    bytes_opening -= std::min(bytes_opening, block);
  }
  if (!before_block(bytes_opening)) return;
  size_t problems = 0;
  lsm::TableCheckCalls calls;
  calls.problem = [&](const absl::Status& status) {
    AddProblem(status, verdict);
    return ++problems < Session::kProblemsMax;
  };
  calls.before_block = before_block;
  verdict->facts = lsm::CheckTable(table, calls);
}

// For a table that fails to open with `known`: finds which of its blocks are damaged too.
void CheckParts(const Target& target, const absl::Status& known, TableVerdict* verdict) {
  const absl::StatusOr<std::unique_ptr<lsm::ReadFile>> file = OpenTarget(target);
  if (!file.ok()) return;
  const absl::StatusOr<lsm::Footer> footer = ReadFooter(**file);
  if (!footer.ok()) return;
  // Without the top-level block the partitions' offsets are unknown.
  const lsm::BlockHandle filter = footer->is_partitioned() ? lsm::BlockHandle() : footer->filter;
  for (const lsm::BlockHandle handle :
       {filter, footer->index, footer->ranges, footer->properties}) {
    if (handle.is_null() || handle.stored_bytes > lsm::kIndexBytesMax) continue;
    const absl::StatusOr<lsm::BlockBuffer> block =
        lsm::ReadPlainBlock(**file, footer->file_id, handle, lsm::kIndexBytesMax);
    if (!block.ok() && block.status() != known) AddProblem(block.status(), verdict);
  }
}

}  // namespace

TableVerdict CheckTableFile(const Target& target,
                            const std::function<bool(uint64_t bytes)>& before_block) {
  TableVerdict verdict;
  absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  const absl::Status problem = table.status();
  // If only the header is damaged, everything else is checked and the header is reported there.
  if (absl::IsDataLoss(problem)) {
    absl::StatusOr<std::unique_ptr<lsm::Table>> without_header = OpenTableByFooter(target);
    if (without_header.ok()) table = std::move(without_header);
  }
  if (table.ok()) {
    CheckOpenTable(target, **table, before_block, &verdict);
    return verdict;
  }
  AddProblem(problem, &verdict);
  if (absl::IsDataLoss(problem)) {
    CheckParts(target, problem, &verdict);
    AddNote(target, "without footer, index and properties its data blocks cannot be checked",
            &verdict);
  }
  return verdict;
}

void ReportTable(const Target& target, const TableVerdict& verdict, Session* session) {
  session->NextFile();
  for (const Finding& finding : verdict.findings) {
    if (finding.problem.ok()) {
      session->Note(finding.note);
    } else {
      session->Fail(finding.problem, target);
    }
  }
}

std::string TextOf(const TableVerdict& verdict) {
  if (!verdict.is_open) return "a table";
  return Concat(
      Count(verdict.facts.blocks, "data block", "data blocks"), ", ",
      Count(verdict.facts.entries, "entry", "entries"), ", ",
      verdict.ranges->empty()
          ? ""
          : Concat(Count(verdict.ranges->range_count(), "range delete", "range deletes"), ", "),
      verdict.filter == "usable"
          ? Concat(Count(verdict.facts.keys_in_filter, "key passes", "keys pass"), " the filter")
          : Concat(Count(verdict.facts.keys, "key", "keys"), ", filter ", verdict.filter));
}

}  // namespace tools
