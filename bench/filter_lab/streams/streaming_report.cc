// The report of the streaming experiment: its figures, and their verdict on the source's rankings.
#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/filter_lab/streams/streaming.h"
#include "bloom/core/sizing.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

Json TenthJson(const StreamTenth& tenth) {
  Json json = {{"rows", tenth.rows},
               {"distinct", tenth.distinct},
               {"false_positives", tenth.false_positives},
               {"false_negatives", tenth.false_negatives}};
  AddRate(tenth.wrong(), &json);
  return json;
}

std::string NameWithHash(const StreamRun& run) {
  return run.filter + (run.is_source ? ", source's hash" : "");
}

Table RunsTable(const StreamingResults& results) {
  Table table{"streaming", "Rows answered wrongly", {}, {}};
  table.columns = {{"stream", "", false},
                   {"filter", "", false},
                   {"memory", "", true},
                   {"distinct", "distinct rows", true},
                   {"passed", "new rows that passed", true},
                   {"denied", "old rows that were denied", true}};
  AddRateColumns(&table);
  for (const StreamRun& run : results.runs) {
    if (&run != &results.runs.front() && run.distribution != (&run - 1)->distribution)
      table.rows.emplace_back();
    table.rows.push_back({NameOf(run.distribution), NameWithHash(run),
                          lsm::ReadableBytes(run.size_bits / 8),
                          Short(static_cast<double>(run.all().distinct)),
                          Short(static_cast<double>(run.all().false_positives)),
                          Short(static_cast<double>(run.all().false_negatives))});
    AddRateCells(run.all().wrong(), &table.rows.back());
  }
  return table;
}

Table TenthsTable(const StreamingResults& results) {
  Table table{"streaming-tenths", "Rows answered wrongly after each tenth, of all so far", {}, {}};
  table.columns = {
      {"stream", "", false}, {"filter", "", false}, {"rows", "", true}, {"distinct", "", true}};
  AddRateColumns(&table);
  for (const StreamRun& run : results.runs) {
    if (!table.rows.empty()) table.rows.emplace_back();
    for (const StreamTenth& tenth : run.tenths) {
      table.rows.push_back({NameOf(run.distribution), NameWithHash(run),
                            Short(static_cast<double>(tenth.rows)),
                            Short(static_cast<double>(tenth.distinct))});
      AddRateCells(tenth.wrong(), &table.rows.back());
    }
  }
  return table;
}

// Null if that run was not made.
const StreamRun* Find(const StreamingResults& results, const std::string& filter, bool is_source,
                      Distribution distribution = Distribution::kUniform) {
  for (const StreamRun& run : results.runs) {
    if (run.distribution == distribution && run.filter == filter && run.is_source == is_source)
      return &run;
  }
  return nullptr;
}

// The names of filters with a sound hash, each once.
std::vector<std::string> SoundFilters(const StreamingResults& results) {
  std::vector<std::string> names;
  for (const StreamRun& run : results.runs) {
    if (!run.is_source && std::find(names.begin(), names.end(), run.filter) == names.end())
      names.push_back(run.filter);
  }
  return names;
}

// A row for each filter, a column for each stream.
Table TotalsTable(const StreamingResults& results) {
  Table table{"streaming-totals", "Processor time of all rows of each stream", {}, {}};
  table.columns = {{"filter", "", false}};
  for (const Distribution distribution : kDistributions) {
    const std::string name = NameOf(distribution);
    table.columns.push_back({name + ", s", name + ": seconds in all", true});
    table.columns.push_back({"filter, s", name + ": querying and adding, seconds", true});
    table.columns.push_back({"ns/row", name + ": ns per row, all included", true});
  }
  for (const std::string& filter : SoundFilters(results)) {
    std::vector<std::string> row = {filter};
    for (const Distribution distribution : kDistributions) {
      const StreamRun* const run = Find(results, filter, false, distribution);
      if (run == nullptr) break;
      row.push_back(lsm::ReadableNumber(run->filter_seconds + run->row_seconds));
      row.push_back(lsm::ReadableNumber(run->filter_seconds));
      row.push_back(lsm::ReadableNumber(run->nanos()));
    }
    // Leaves out filters that only the uniform stream has.
    if (row.size() == table.columns.size()) table.rows.push_back(std::move(row));
  }
  return table;
}

Table TimesTable(const StreamingResults& results) {
  Table table{"streaming-times", "Processor time of a row of the uniform stream", {}, {}};
  table.columns = {{"filter", "", false},
                   {"filter ns", "querying and adding, ns", true},
                   {"row ns", "drawing the row, its text and digest, ns", true},
                   {"together", "together, ns", true},
                   {"its hash", "with the source's hash in the same run, ns", true},
                   {"faster", "times faster than that", true},
                   {"source ns", "the source's program, ns", true},
                   {"faster", "times faster than the source's program", true},
                   {"wrong, source", "answered wrongly by the source's program", true}};
  for (const StreamRun& run : results.runs) {
    if (run.distribution != Distribution::kUniform) continue;
    const auto rows = static_cast<double>(run.all().rows);
    const std::optional<double> faster = run.times_faster();
    std::vector<std::string> row = {
        NameWithHash(run), lsm::ReadableNumber(1e9 * run.filter_seconds / rows),
        lsm::ReadableNumber(1e9 * run.row_seconds / rows), lsm::ReadableNumber(run.nanos())};
    const StreamRun* const its_hash = run.is_source ? nullptr : Find(results, run.filter, true);
    if (its_hash != nullptr) {
      row.push_back(lsm::ReadableNumber(its_hash->nanos()));
      row.push_back(Fixed(its_hash->nanos() / run.nanos(), 2));
    } else {
      row.insert(row.end(), 2, "-");
    }
    if (faster.has_value()) {
      const SourceFigures figures = *FiguresOfSource(run.filter);
      row.push_back(lsm::ReadableNumber(1e9 * figures.seconds / static_cast<double>(kSourceRows)));
      row.push_back(Fixed(*faster, 2));
      row.push_back(results.is_full ? Fixed(100 * figures.wrong_share, 2) + " %" : "-");
    } else {
      row.insert(row.end(), 3, "-");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// "36.67 < 37.31 %"
std::string Ordered(double a, double b, int digits = 2) {
  return Fixed(100 * a, digits) + (a < b ? " < " : " > ") + Fixed(100 * b, digits) + " %";
}

// Compares two filters that the source ranks: by its figures, by its hash here, by a sound hash
// here, and by theory.
void AddRanking(const StreamingResults& results, const std::string& better,
                const std::string& worse, Table* table) {
  const StreamRun *sound_a = Find(results, better, false), *sound_b = Find(results, worse, false);
  const StreamRun *source_a = Find(results, better, true), *source_b = Find(results, worse, true);
  if (sound_a == nullptr || sound_b == nullptr || source_a == nullptr || source_b == nullptr)
    return;
  const double theory_a = sound_a->theory_of_source.value_or(0);
  const double theory_b = sound_b->theory_of_source.value_or(0);
  const double memory =
      static_cast<double>(sound_a->size_bits) / static_cast<double>(sound_b->size_bits);
  std::string verdict = "true";
  if (theory_a >= theory_b) {
    verdict = "artefact of the hash";
  } else if (memory > 1.01) {
    verdict = lsm::Concat("true, for ", Fixed(memory, 0), " times the bits");
  }
  table->rows.push_back(
      {better + " before " + worse,
       Ordered(FiguresOfSource(better)->wrong_share, FiguresOfSource(worse)->wrong_share),
       Ordered(source_a->all().wrong().measured(), source_b->all().wrong().measured()),
       Ordered(sound_a->all().wrong().measured(), sound_b->all().wrong().measured()),
       Ordered(theory_a, theory_b, 3), verdict});
}

Table RankingsTable(const StreamingResults& results) {
  Table table{"streaming-rankings", "The source's rankings by rows answered wrongly", {}, {}};
  table.columns = {{"ranking", "", false},
                   {"source", "the source, 10^8 rows", true},
                   {"its hash, here", "with its hash, here", true},
                   {"sound hash, here", "with a sound hash, here", true},
                   {"theory, 10^8", "theory, 10^8 rows", true},
                   {"verdict", "verdict, by theory", false}};
  AddRanking(results, "shifting", "standard", &table);
  AddRanking(results, "shifting-double", "standard", &table);
  AddRanking(results, "spatial", "standard", &table);
  AddRanking(results, "shifting-double", "spatial", &table);
  return table;
}

std::string EqualMemoryText(const StreamingResults& results) {
  const StreamRun* doubled = Find(results, "shifting-double", false);
  const StreamRun* larger = Find(results, "standard, 2 m", false);
  const StreamRun* spatial = Find(results, "spatial", false);
  std::string text;
  if (doubled != nullptr && larger != nullptr) {
    text += lsm::Concat(" With the memory of shifting-double, a standard filter answers ",
                        PercentText(larger->all().wrong().measured()), " wrongly, against ",
                        PercentText(doubled->all().wrong().measured()), ".");
  }
  if (spatial != nullptr) {
    const StreamTenth& all = spatial->all();
    text += lsm::Concat(
        " Spatial makes another kind of error: of ", PercentText(all.wrong().measured()), ", ",
        PercentText(static_cast<double>(all.false_negatives) / static_cast<double>(all.rows)),
        " are old rows that it denies, because a key of a higher area took their cells. A filter "
        "that removes duplicates must not do that. A standard filter with the same memory would "
        "let ",
        PercentText(bloom::StandardFpp(spatial->size_bits, spatial->probes, all.distinct)),
        " of new rows pass at the end, and deny none.");
  }
  return text;
}

// Says how much of the source's experiment the run covers.
std::string PartText(const StreamingResults& results, const StreamRun& run) {
  if (results.is_full) return "";
  if (run.cells < kSourceCells)
    return " These are small filters for a quick check, and say nothing about the source's.";
  return " This is the beginning of the source's stream of 10^8 rows, with filters of the same "
         "size. Here the filters are just full; there they are overfilled (run with --full). So "
         "rates cannot be compared, and times only to our disadvantage: the first rows, most of "
         "which are new, cost most.";
}

std::string RowsText(const StreamingResults& results) {
  const StreamRun* standard = Find(results, "standard", false);
  if (standard == nullptr) return "";
  const double keys = static_cast<double>(standard->all().distinct);
  return lsm::Concat(
      lsm::ReadableCount(standard->all().rows), " rows of each stream, in filters of ",
      lsm::ReadableCount(standard->cells), " cells and ", standard->probes, " probes; ",
      Fixed(static_cast<double>(standard->cells) / keys, 2),
      " cells per distinct row of the uniform stream at the end.", PartText(results, *standard));
}

}  // namespace

Json ToJson(const StreamRun& run) {
  const std::optional<SourceFigures> figures = FiguresOfSource(run.filter);
  const std::optional<double> faster = run.times_faster();
  Json json = {{"distribution", NameOf(run.distribution)},
               {"filter", run.filter},
               {"hash", run.is_source ? "source" : "sound"},
               {"probes", run.probes},
               {"cells", run.cells},
               {"memory_bytes", run.size_bits / 8},
               {"filter_seconds", run.filter_seconds},
               {"row_seconds", run.row_seconds},
               {"ns_per_row", run.nanos()},
               {"times_faster", faster.has_value() ? Json(*faster) : Json()},
               {"source", nullptr}};
  if (faster.has_value()) {
    json["source"] = {{"seconds", figures->seconds},
                      {"authors_seconds", figures->authors_seconds},
                      {"wrong_share", figures->wrong_share},
                      {"theory", *run.theory_of_source}};
  }
  json.update(TenthJson(run.all()));
  json["tenths"] = Json::array();
  for (const StreamTenth& tenth : run.tenths) json["tenths"].push_back(TenthJson(tenth));
  return json;
}

Json ToJson(const StreamingResults& results) {
  Json json = {{"is_full", results.is_full}, {"runs", Json::array()}};
  for (const StreamRun& run : results.runs) json["runs"].push_back(ToJson(run));
  return json;
}

std::vector<Section> SectionsOf(const StreamingResults& results) {
  return {{"Streams: answered wrongly",
           RowsText(results) +
               " Each row is queried, then added; whether it occurred before is known exactly. "
               "Lines are theory, marks are measured. The spatial filter assigns an area to each "
               "key by its hash, and says \"seen\" if the area that it reports is the key's own.",
           "streaming",
           {RunsTable(results), TenthsTable(results)}},
          {"Streams: the source's rankings that are artefacts of its hash",
           "The source's program uses one polynomial hash plus a constant for each of its k "
           "hashes, modulo 1,610,612,741. So keys that collide in one probe collide in most of "
           "them. The report shows the same filters with such a hash and with a sound one." +
               EqualMemoryText(results),
           "streaming_hash",
           {RankingsTable(results)}},
          {"Streams: total time",
           "Processor time of all rows of the three streams, by filter: for drawing the rows with "
           "text and digest, and for querying and adding. Repeated rows are only queried, so "
           "querying and adding take longest if many rows are new.",
           "streaming_totals",
           {TotalsTable(results)}},
          {"Streams: times of this program and of the source's",
           "Processor time per row, here and in the source's program on the reference machine "
           "(uniform stream, its 10^8 rows). The source's time includes drawing the rows, so it is "
           "compared with the sum of ours.",
           "streaming_times",
           {TimesTable(results)}}};
}

std::vector<std::pair<std::string, std::vector<Table>>> ExcerptsOf(
    const StreamingResults& results) {
  // Only the uniform stream: the source published no figures for the others.
  Table runs = RunsTable(results), times = TimesTable(results);
  std::erase_if(runs.rows, [](const std::vector<std::string>& row) {
    return row.empty() || row[0] != NameOf(Distribution::kUniform);
  });
  // The last column is the source's rate; keeps only filters that the source measured.
  std::erase_if(times.rows, [](const std::vector<std::string>& row) { return row.back() == "-"; });
  return {{"streams", {runs}}, {"stream-times", {times}}};
}

}  // namespace bench
