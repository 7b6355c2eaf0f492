// `sstdump filter`: the kind and size of a table's filter, its target, and its measured FPP.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bloom/inspect.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/filter_report.h"
#include "tools/sstdump/layout.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

using lsm::Concat;
using lsm::ReadableBytes;
using lsm::ReadableCount;
using lsm::ReadableNumber;

constexpr size_t kStretches = 64;

// As many stretches as fit in one line.
size_t StretchesFor(const Session& session) {
  constexpr size_t kFrame = 6;
  if (session.columns() == 0) return kStretches;
  return std::clamp<size_t>(session.columns(), kFrame + 8, kFrame + kStretches) - kFrame;
}

std::string MeasuredText(const FilterMeasurement& measured) {
  if (measured.probes == 0) return "not measured";
  return Concat(ReadableNumber(measured.rate()), "  (", ReadableCount(measured.passed), " of ",
                ReadableCount(measured.probes), " absent keys within the key range passed; 95 %: ",
                ReadableNumber(measured.interval.low), " to ",
                ReadableNumber(measured.interval.high), ")");
}

// Green if the fill is normal, yellow if it is high, red if the filter answers almost only "maybe".
std::string ColoredSpark(double fill, const Session& session) {
  const std::string spark = Spark(fill, session.world().terminal.has_utf8);
  return fill < 0.6   ? session.Green(spark)
         : fill < 0.8 ? session.Yellow(spark)
                      : session.Red(spark);
}

void PrintPicture(const lsm::Table& table, const std::vector<double>& stretches, Session* session) {
  if (stretches.empty()) return;
  const auto [least, most] = std::minmax_element(stretches.begin(), stretches.end());
  std::string picture;
  for (const double fill : stretches) picture += ColoredSpark(fill, *session);
  session->Print(Concat("  fill along the filter, ",
                        Count(stretches.size(), "stretch", "stretches"), " of ",
                        ReadableBytes(table.filter().payload().size() / stretches.size()), ", ",
                        lsm::ReadablePercent(*least), " to ", lsm::ReadablePercent(*most),
                        ":\n    |", picture, "|\n"));
}

void PrintHistogram(const std::vector<FillBin>& bins, Session* session) {
  if (bins.empty()) return;
  constexpr size_t kFigures = 14;  // columns left of the bar
  uint64_t most = 1;
  for (const FillBin& bin : bins) most = std::max(most, bin.blocks);
  const size_t others = kFigures + 1 + ReadableCount(most).size();
  const size_t bar_columns =
      session->columns() == 0
          ? 40
          : std::clamp<size_t>(session->columns(), others + 4, others + 40) - others;
  session->Print("  blocks of 64 bytes by how full they are:\n");
  for (const FillBin& bin : bins) {
    const double share = static_cast<double>(bin.blocks) / static_cast<double>(most);
    const std::string bar = Bar(share, bar_columns, session->world().terminal.has_utf8);
    const std::string range = Concat(static_cast<int>(100 * bin.from + 0.5), "-",
                                     static_cast<int>(100 * bin.to + 0.5), " %");
    session->Print(
        Concat(std::string(12 - std::min<size_t>(12, range.size()), ' '), range, "  ", bar,
               std::string(bar_columns + 1 - std::min(bar_columns, lsm::ColumnsOf(bar)), ' '),
               ReadableCount(bin.blocks), "\n"));
  }
}

void PrintReport(const Target& target, const lsm::Table& table,
                 const bloom::FilterDescription& filter, const FilterMeasurement& measured,
                 Session* session) {
  session->Print(Heading(
      *session, target.path,
      Concat("filter of kind ", filter.kind, ", version ", filter.version, ", ",
             ReadableBytes(table.filter_memory_bytes()),
             table.is_partitioned()
                 ? Concat(" in ", Count(table.partitions().count(), "partition", "partitions"))
                 : std::string())));
  Fields fields;
  fields.push_back({"keys", Concat(ReadableCount(filter.key_count), ", ",
                                   ReadableNumber(filter.bits_per_key), " bits each")});
  fields.push_back(
      {"bits", Concat(ReadableCount(filter.size_bits), ", ",
                      filter.has_fill ? Concat(Count(filter.probes, "probe", "probes"), " a key")
                                      : std::string("solved for all keys together"))});
  if (filter.has_fill) {
    fields.push_back({"fill", Concat(lsm::ReadablePercent(filter.fill), " of the bits are ones")});
  }
  fields.push_back({"target FPP", ReadableNumber(filter.target_fpp)});
  fields.push_back(
      {"predicted FPP", Concat(ReadableNumber(filter.predicted_fpp),
                               filter.has_fill ? "  (from kind, size, probes and number of keys)"
                                               : "  (from kind and shape, for any keys)")});
  if (filter.has_fill) {
    fields.push_back({"FPP of the bits",
                      Concat(ReadableNumber(filter.current_fpp), "  (from the actual bits)")});
  }
  fields.push_back({"measured FPP", MeasuredText(measured)});
  if (measured.keys > 0) {
    fields.push_back(
        {"keys of the table",
         Concat(ReadableCount(measured.keys), " asked, ",
                measured.false_negatives == 0 ? std::string("all passed")
                                              : Concat(measured.false_negatives, " LOST"))});
  }
  session->Print(FieldsText(*session, fields));
  if (table.is_partitioned()) return;  // each partition is a separate filter
  PrintPicture(table, bloom::FillByPart(table.filter(), StretchesFor(*session)), session);
  PrintHistogram(FillHistogram(table.filter()), session);
}

void WriteReport(const lsm::Table& table, const bloom::FilterDescription& filter,
                 const FilterMeasurement& measured, lsm::JsonWriter* json) {
  json->Member("filter_kind", filter.kind);
  json->Member("filter_version", filter.version);
  json->Member("filter_bytes", table.filter_memory_bytes());
  json->Member("key_count", filter.key_count);
  json->Member("size_bits", filter.size_bits);
  json->Member("bits_per_key", filter.bits_per_key);
  json->Member("probes", filter.probes);
  json->Member("seed", lsm::ReadableId(filter.seed));
  if (filter.has_fill) json->Member("fill", filter.fill);
  json->Member("target_fpp", filter.target_fpp);
  json->Member("predicted_fpp", filter.predicted_fpp);
  json->Member("current_fpp", filter.current_fpp);
  json->Key("measured");
  json->BeginObject();
  json->Member("keys", measured.keys);
  json->Member("false_negatives", measured.false_negatives);
  json->Member("absent_keys", measured.probes);
  json->Member("false_positives", measured.passed);
  if (measured.probes > 0) {
    json->Member("fpp", measured.rate());
    json->Member("fpp_low", measured.interval.low);
    json->Member("fpp_high", measured.interval.high);
  }
  json->EndObject();
  if (!filter.has_fill || table.is_partitioned()) return;
  json->Key("fill_by_stretch");
  json->BeginArray();
  for (const double fill : bloom::FillByPart(table.filter(), kStretches)) json->Number(fill);
  json->EndArray();
  json->Key("blocks_by_fill");
  json->BeginArray();
  for (const FillBin& bin : FillHistogram(table.filter())) {
    json->BeginObject();
    json->Member("from", bin.from);
    json->Member("to", bin.to);
    json->Member("blocks", bin.blocks);
    json->EndObject();
  }
  json->EndArray();
}

std::string UnusableText(const lsm::Table& table) {
  if (table.filter_presence() != lsm::FilterPresence::kAbsent)
    return Concat("filter ", NameOf(table.filter_presence()), ": every answer is \"maybe\"");
  if (table.properties().entries == 0) return "no filter: the table has range deletes alone";
  return "no filter: every lookup within the key range reads a block";
}

// Reports a filter that cannot be used.
void ShowUnusable(const Target& target, const lsm::Table& table, Session* session) {
  if (session->json_wanted()) {
    session->json().Member("filter_bytes", table.footer().filter.stored_bytes);
  } else {
    session->Print(Heading(*session, target.path, UnusableText(table)));
  }
  if (const absl::Status& status = table.filter_status(); !status.ok())
    session->Fail(status, target);
  if (table.filter_presence() == lsm::FilterPresence::kUnknown) {
    session->Note(Concat(lsm::Escape(target.path), ": ", UnknownFilterText(table)));
  }
}

}  // namespace

void RunFilter(const Target& target, Session* session) {
  const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(target);
  if (!table.ok()) return session->Fail(table.status(), target);
  if (session->json_wanted()) session->json().Member("state", NameOf((*table)->filter_presence()));
  if ((*table)->filter_presence() != lsm::FilterPresence::kUsable)
    return ShowUnusable(target, **table, session);
  const bloom::FilterDescription filter = DescribeFilter(**table);
  const uint64_t probes = session->request().probes.value_or(ProbesFor(filter.predicted_fpp));
  FilterMeasurement measured;
  const uint64_t probe_bytes = session->request().probes ? kProbeBytesMax : kProbeBytes;
  if (probes > 0) measured = MeasureFilter(**table, probes, probe_bytes);
  if (session->json_wanted()) {
    WriteReport(**table, filter, measured, &session->json());
  } else {
    PrintReport(target, **table, filter, measured, session);
  }
  for (const absl::Status& damage : measured.damage) session->Fail(damage, target);
  if (measured.probes < probes && measured.probe_bytes >= probe_bytes) {
    session->Note(Concat(lsm::Escape(target.path), ": the keys are long: instead of ",
                         ReadableCount(probes), " absent keys, ", ReadableCount(measured.probes),
                         " were asked, ", ReadableBytes(measured.probe_bytes), " of them"));
  }
  if (probes > 0 && measured.probes == 0) {
    session->Note(Concat(lsm::Escape(target.path),
                         ": there is no room for absent keys between the table's keys"));
  }
}

}  // namespace tools
