// `sstdump blocks`: offset, sizes, contents and soundness of each block of a table.
#include <memory>
#include <string>
#include <vector>

#include "lsm/block/block_io.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_walk.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/table_file.h"
#include "tools/sstdump/wrap.h"

namespace tools {
namespace {

using lsm::Concat;

struct Column {
  size_t width;
  size_t terminal_columns_min;  // the column is left out on a narrower terminal
};
constexpr Column kColumns[] = {{10, 0}, {11, 0}, {8, 0}, {8, 72}, {5, 78}, {5, 63}, {5, 0}};

std::string Padded(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

// Rows are printed one by one, so columns have fixed widths.
std::string Row(const Session& session, const std::vector<std::string>& cells) {
  std::string row;
  for (size_t i = 0; i < std::size(kColumns) && i < cells.size(); ++i) {
    if (session.columns() == 0 || session.columns() >= kColumns[i].terminal_columns_min)
      row += Padded(cells[i], kColumns[i].width) + " ";
  }
  return row;
}

void PrintBlock(const lsm::BlockFacts& facts, Session* session) {
  std::string row = Row(*session, {Concat(facts.ordinal), Concat(facts.handle.offset),
                                   Concat(facts.handle.stored_bytes), Concat(facts.expanded_bytes),
                                   NameOf(facts.compression), Concat(facts.entries)});
  row += facts.status.ok() ? session->Green("sound") : session->Red("  BAD");
  if (facts.entries > 0) {
    row += " ";
    row += KeyRange(*session, facts.first_key, facts.last_key, ColumnsShown(row));
  }
  session->Print(row + "\n");
}

void WriteBlock(const lsm::BlockFacts& facts, Session* session) {
  lsm::JsonWriter& json = session->json();
  json.BeginObject();
  json.Member("ordinal", facts.ordinal);
  json.Member("offset", facts.handle.offset);
  json.Member("stored_bytes", facts.handle.stored_bytes);
  json.Member("expanded_bytes", facts.expanded_bytes);
  json.Member("compression", NameOf(facts.compression));
  json.Member("entries", facts.entries);
  json.Member("restarts", facts.restarts);
  json.Member("first_key", session->Show(facts.first_key));
  json.Member("last_key", session->Show(facts.last_key));
  json.Member("sound", facts.status.ok());
  json.EndObject();
  session->DrainJson();
}

// Shows filter, index, ranges and properties.  Table::Open has verified the index and the
// properties.
void ShowOtherBlocks(const lsm::Table& table, Session* session) {
  struct Part {
    const char* name;
    lsm::BlockHandle handle;
    bool sound;
  };
  std::vector<Part> parts;
  const bool has_filter = !table.footer().filter.is_null();
  if (table.is_partitioned()) {
    const lsm::Partitions& partitions = table.partitions();
    for (size_t i = 0; has_filter && i < partitions.count(); ++i) {
      parts.push_back({"filter", partitions.entry(i).filter,
                       table.filter_partition(i).presence != lsm::FilterPresence::kDamaged});
    }
    for (size_t i = 0; i < partitions.count(); ++i)
      parts.push_back({"index", partitions.entry(i).index, true});
  } else if (has_filter) {
    parts.push_back({"filter", table.footer().filter,
                     table.filter_presence() != lsm::FilterPresence::kDamaged});
  }
  parts.push_back({table.is_partitioned() ? "top level" : "index", table.footer().index, true});
  if (!table.footer().ranges.is_null())
    parts.push_back({"ranges", table.footer().ranges, table.ranges_status().ok()});
  parts.push_back({"properties", table.footer().properties, true});
  if (session->json_wanted()) {
    session->json().Key("other_blocks");
    session->json().BeginArray();
  }
  for (const Part& part : parts) {
    if (session->json_wanted()) {
      lsm::JsonWriter& json = session->json();
      json.BeginObject();
      json.Member("name", part.name);
      json.Member("offset", part.handle.offset);
      json.Member("stored_bytes", part.handle.stored_bytes);
      json.Member("sound", part.sound);
      json.EndObject();
    } else {
      session->Print(Concat(Row(*session, {part.name, Concat(part.handle.offset),
                                           Concat(part.handle.stored_bytes), "", "", ""}),
                            part.sound ? session->Green("sound") : session->Red("  BAD"), "\n"));
    }
  }
  if (session->json_wanted()) session->json().EndArray();
}

}  // namespace

void RunBlocks(const Target& target, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) return session->Fail(table.status(), target);
  const uint64_t limit = session->request().limit.value_or(UINT64_MAX);
  session->Print(
      Heading(*session, target.path, Count((*table)->block_count(), "data block", "data blocks")));
  session->Print(session->Dim(Row(*session, {"block", "offset", "stored", "expanded", "codec",
                                             "count", "state"}) +
                              " keys") +
                 "\n");
  if (session->json_wanted()) {
    session->json().Member("data_blocks", (*table)->block_count());
    session->json().Key("blocks");
    session->json().BeginArray();
  }
  lsm::TableWalk walk(**table);
  for (size_t i = 0; i < (*table)->block_count() && i < limit && !session->is_broken(); ++i) {
    const lsm::BlockFacts facts =
        walk.Walk(i, [](const lsm::ParsedKey&, std::string_view) { return true; });
    if (session->json_wanted()) {
      WriteBlock(facts, session);
    } else {
      PrintBlock(facts, session);
    }
    if (!facts.status.ok()) session->Fail(facts.status, target);
  }
  if (session->json_wanted()) session->json().EndArray();
  ShowOtherBlocks(**table, session);
  for (const absl::Status& status : {(*table)->ranges_status(), (*table)->filter_status()}) {
    if (!status.ok()) session->Fail(status, target);
  }
}

}  // namespace tools
