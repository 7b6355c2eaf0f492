#include <memory>
#include <string>
#include <string_view>

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

// Nothing can be held against a property that is missing, which is no damage.
void NoteMissingProperties(const Target& target, const lsm::Table& table, Session* session) {
  std::string names;
  for (const std::string_view name : table.properties().missing)
    names += Concat(names.empty() ? "" : ", ", name);
  if (names.empty()) return;
  session->Note(Concat(lsm::Escape(target.path), ": the properties do not state ", names));
}

TableVerdict CheckOpenTable(const Target& target, const lsm::Table& table, Session* session) {
  if (table.filter_presence() == lsm::FilterPresence::kUnknown) {
    session->Note(Concat(lsm::Escape(target.path),
                         ": the filter cannot be asked: ", UnknownFilterText(table)));
  }
  NoteMissingProperties(target, table, session);
  TableVerdict verdict;
  verdict.is_open = true;
  verdict.file_id = table.footer().file_id;
  verdict.digest_seed = table.properties().digest_seed_and_hash();
  verdict.filter = NameOf(table.filter_presence());
  lsm::TableCheckCalls calls;
  calls.problem = [&](const absl::Status& status) {
    session->Fail(status, target);
    return !session->has_too_many_problems();
  };
  verdict.facts = lsm::CheckTable(table, calls);
  return verdict;
}

// Of a table that cannot be opened for what is `known`: which of its blocks are damaged besides.
void CheckParts(const Target& target, const absl::Status& known, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::ReadFile>> file = OpenTarget(target);
  if (!file.ok()) return;
  const absl::StatusOr<lsm::Footer> footer = ReadFooter(**file);
  if (!footer.ok()) return;
  // Partitions are not looked at without the top-level block that says where they lie.
  const lsm::BlockHandle filter = footer->is_partitioned() ? lsm::BlockHandle() : footer->filter;
  for (const lsm::BlockHandle handle : {filter, footer->index, footer->properties}) {
    if (handle.is_null() || handle.stored_bytes > lsm::kIndexBytesMax) continue;
    const absl::StatusOr<lsm::BlockBuffer> block =
        lsm::ReadPlainBlock(**file, footer->file_id, handle, lsm::kIndexBytesMax);
    if (!block.ok() && block.status() != known) session->Fail(block.status(), target);
  }
}

}  // namespace

TableVerdict VerifyTable(const Target& target, Session* session) {
  session->NextFile();
  absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (table.ok()) return CheckOpenTable(target, **table, session);
  if (absl::IsDataLoss(table.status())) {
    // If that is the header's alone, all else can be looked at, and it is named among that.
    absl::StatusOr<std::unique_ptr<lsm::Table>> without_header = OpenTableByFooter(target);
    if (without_header.ok()) return CheckOpenTable(target, **without_header, session);
  }
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
      Count(verdict.facts.blocks, "data block", "data blocks"), ", ",
      Count(verdict.facts.entries, "entry", "entries"), ", ",
      verdict.filter == "usable"
          ? Concat(Count(verdict.facts.keys_in_filter, "key passes", "keys pass"), " the filter")
          : Concat(Count(verdict.facts.keys, "key", "keys"), ", filter ", verdict.filter));
}

}  // namespace tools
