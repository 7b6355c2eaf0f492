#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "bench/keyspaces/parts.h"
#include "bench/keyspaces/trellis_store.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/leaving.h"
#include "lsm/limits.h"

namespace bench::keyspaces {
namespace {

// The goals of lsm/design/keyspaces.md.
constexpr double kTablesPerFlushMax = 1;       // all small keyspaces share one table
constexpr double kTablesMax = 999;             // "hundreds"
constexpr double kTrickleAddsMax = 0.8;        // to write amplification
constexpr double kEvenWritesMax = 20;          // table bytes per user byte
constexpr uint64_t kTrickleBytes = 10 * 1024;  // a flush
constexpr uint64_t kStepsPerFlush = 16;        // in which a trickle comes

// The writes between two moments, and the tables at the end.
struct Spell {
  std::string name;
  uint64_t keyspaces = 0;
  uint64_t own_trees = 0;
  lsm::Statistics statistics;
  uint64_t flushed_tables = 0;
  Files files;
  double seconds = 0;

  double writes() const {
    return Ratio(statistics.flush_bytes_written + statistics.compaction_bytes_written,
                 statistics.user_bytes_written);
  }
  double tables_per_flush() const { return Ratio(flushed_tables, statistics.flushes); }
  double flush_millis() const { return Ratio(statistics.flush_nanos, statistics.flushes) / 1e6; }
  double mean_table_bytes() const { return Ratio(files.table_bytes, files.tables); }

 private:
  static double Ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

class ManyStore {
 public:
  ManyStore(const Config& config, const std::string& name)
      : config_(config), store_({config, "many-" + name}) {}

  absl::Status Open(uint64_t keyspaces) {
    TRELLIS_RETURN_IF_ERROR(store_.Open());
    TRELLIS_RETURN_IF_ERROR(store_.OpenKeyspaces("keyspace-", keyspaces));
    Begin();
    return absl::OkStatus();
  }

  TrellisStore& store() { return store_; }
  Feeder NewFeeder() { return Feeder(config_, &store_, config_.value_bytes); }
  uint64_t entries_per_buffer() const {
    return config_.write_buffer_bytes / config_.entry_bytes() + 1;
  }

  // A spell begins here.
  void Begin() {
    statistics_ = store_.db().GetStatistics();
    flushed_tables_ = store_.flushed_tables();
    begin_ = std::chrono::steady_clock::now();
  }
  absl::StatusOr<Spell> End(std::string name) {
    TRELLIS_RETURN_IF_ERROR(store_.Settle());
    Spell spell;
    spell.name = std::move(name);
    spell.seconds = SecondsSince(begin_);
    spell.keyspaces = store_.keyspaces();
    for (size_t i = 0; i < store_.keyspaces(); ++i) spell.own_trees += store_.HasOwnTree(i);
    spell.statistics = store_.db().GetStatistics().Since(statistics_);
    spell.flushed_tables = store_.flushed_tables() - flushed_tables_;
    spell.files = store_.GetFiles();
    return spell;
  }

 private:
  const Config& config_;
  TrellisStore store_;
  lsm::Statistics statistics_;
  uint64_t flushed_tables_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

// As many trees as the store allows.
uint64_t TreesOf(const Config& config) {
  return std::min<uint64_t>(lsm::OwnTreesMax(config.write_buffer_bytes), lsm::kKeyspacesMax);
}

absl::StatusOr<Spell> MeasureSmall(const Config& config, uint64_t keyspaces, Progress* progress) {
  progress->Announce("many: small keyspaces, evenly");
  ManyStore many(config, "small");
  TRELLIS_RETURN_IF_ERROR(many.Open(keyspaces));
  Feeder feeder = many.NewFeeder();
  const uint64_t puts = config.flushes * many.entries_per_buffer();
  for (uint64_t i = 0; i < puts; ++i) TRELLIS_RETURN_IF_ERROR(feeder.Put(i % keyspaces, i));
  TRELLIS_RETURN_IF_ERROR(feeder.Finish());
  return many.End("small, evenly");
}

// Puts to the first keyspace, as many as fill `flushes` write buffers; with a trickle, also to each
// other one.
absl::Status PutHot(const Config& config, ManyStore* many, uint64_t keys, bool trickles) {
  SplitMix random(config.seed);
  Feeder feeder = many->NewFeeder();
  const uint64_t puts_per_step = many->entries_per_buffer() / kStepsPerFlush + 1;
  const uint64_t trickle = kTrickleBytes / kStepsPerFlush / config.entry_bytes() + 1;
  for (uint64_t step = 0; step < config.flushes * kStepsPerFlush; ++step) {
    for (uint64_t i = 0; i < puts_per_step; ++i)
      TRELLIS_RETURN_IF_ERROR(feeder.Put(0, random.Below(keys)));
    for (size_t other = 1; trickles && other < many->store().keyspaces(); ++other) {
      for (uint64_t i = 0; i < trickle; ++i)
        TRELLIS_RETURN_IF_ERROR(feeder.Put(other, random.Below(keys)));
    }
  }
  return feeder.Finish();
}

absl::Status MeasureTrickle(const Config& config, Progress* progress, std::vector<Spell>* spells) {
  progress->Announce("many: trees that trickle");
  ManyStore many(config, "trickle");
  TRELLIS_RETURN_IF_ERROR(many.Open(TreesOf(config)));
  uint64_t keys = 0;
  for (size_t i = 0; i < many.store().keyspaces(); ++i) {
    TRELLIS_ASSIGN_OR_RETURN(keys, GiveOwnTree(config, &many.store(), i));
  }
  keys *= 2;  // the hot one is larger
  // First to the size that it has from then on, since larger trees write more.
  TRELLIS_RETURN_IF_ERROR(PutHot(config, &many, keys, false));
  for (const bool trickles : {false, true}) {
    TRELLIS_RETURN_IF_ERROR(many.store().Settle());
    many.Begin();
    TRELLIS_RETURN_IF_ERROR(PutHot(config, &many, keys, trickles));
    TRELLIS_ASSIGN_OR_RETURN(Spell spell, many.End(trickles ? "hot, others trickle" : "hot alone"));
    spells->push_back(std::move(spell));
  }
  return absl::OkStatus();
}

absl::StatusOr<Spell> MeasureEven(const Config& config, Progress* progress) {
  progress->Announce("many: own trees, evenly");
  ManyStore many(config, "even");
  const uint64_t trees = TreesOf(config);
  TRELLIS_RETURN_IF_ERROR(many.Open(trees));
  Feeder feeder = many.NewFeeder();
  const uint64_t puts = trees * (config.tree_bytes / config.entry_bytes() + 1);
  for (uint64_t i = 0; i < puts; ++i) TRELLIS_RETURN_IF_ERROR(feeder.Put(i % trees, i));
  TRELLIS_RETURN_IF_ERROR(feeder.Finish());
  return many.End("own trees, evenly");
}

Table SpellTable(const std::vector<Spell>& spells) {
  Table table{"many",
              "",
              {{"keyspaces are written", "", false},
               {"number", "keyspaces"},
               {"trees", "keyspaces with trees of their own, at the end"},
               {"written", "user bytes"},
               {"flushes", ""},
               {"tables/flush", "tables that a flush writes, mean"},
               {"ms/flush", "milliseconds of a flush, mean"},
               {"tables", "tables at the end"},
               {"smallest", "smallest table at the end"},
               {"mean", "mean table at the end"},
               {"write", "table bytes written per user byte"},
               {"+ log", "table and log bytes written per user byte"},
               {"s", "seconds"}},
              {}};
  for (const Spell& spell : spells) {
    table.rows.push_back(
        {spell.name, lsm::ReadableCount(spell.keyspaces), lsm::ReadableCount(spell.own_trees),
         lsm::ReadableBytes(spell.statistics.user_bytes_written),
         lsm::ReadableCount(spell.statistics.flushes),
         lsm::ReadableNumber(spell.tables_per_flush()), lsm::ReadableNumber(spell.flush_millis()),
         lsm::ReadableCount(spell.files.tables),
         lsm::ReadableBytes(spell.files.smallest_table_bytes),
         lsm::ReadableBytes(static_cast<uint64_t>(spell.mean_table_bytes())),
         lsm::ReadableNumber(spell.writes()),
         lsm::ReadableNumber(spell.statistics.write_amplification()),
         lsm::ReadableNumber(spell.seconds)});
  }
  return table;
}

void AddFigures(const Spell& spell, Part* part) {
  const auto add = [&](const char* name, double value, std::string unit = "",
                       std::optional<double> goal = std::nullopt) {
    part->figures.push_back({spell.name + ": " + name, value, std::move(unit), goal});
  };
  const bool is_even = spell.name == "own trees, evenly";
  add("trees", static_cast<double>(spell.own_trees));
  add("tables per flush", spell.tables_per_flush(), "",
      spell.own_trees == 0 ? std::optional(kTablesPerFlushMax) : std::nullopt);
  add("time of a flush", spell.flush_millis(), "ms");
  add("tables", static_cast<double>(spell.files.tables));
  add("smallest table", static_cast<double>(spell.files.smallest_table_bytes), "B");
  add("mean table", spell.mean_table_bytes(), "B");
  add("write amplification", spell.writes(), "",
      is_even ? std::optional(kEvenWritesMax) : std::nullopt);
}

}  // namespace

absl::StatusOr<Part> MeasureMany(const Config& config, Progress* progress) {
  Part part{"many", "many: tables and bytes written", {}};
  const bool all = !config.trickle && !config.even;
  std::vector<Spell> spells;
  if (all) {
    const uint64_t keyspaces = Allowed(config.keyspaces, &part.notes);
    TRELLIS_ASSIGN_OR_RETURN(Spell spell, MeasureSmall(config, keyspaces, progress));
    spells.push_back(std::move(spell));
  }
  std::optional<double> added;
  if (all || config.trickle) {
    TRELLIS_RETURN_IF_ERROR(MeasureTrickle(config, progress, &spells));
    added = spells.back().writes() - spells[spells.size() - 2].writes();
  }
  if (all || config.even) {
    TRELLIS_ASSIGN_OR_RETURN(Spell spell, MeasureEven(config, progress));
    spells.push_back(std::move(spell));
  }
  uint64_t most_tables = 0;
  for (const Spell& spell : spells) {
    AddFigures(spell, &part);
    most_tables = std::max(most_tables, spell.files.tables);
  }
  part.figures.push_back({"most tables", static_cast<double>(most_tables), "", kTablesMax});
  if (added) {
    part.figures.push_back({"trickles add to write amplification", *added, "", kTrickleAddsMax});
  }
  part.tables = {SpellTable(spells)};
  part.tables[0].title = part.title;
  return part;
}

}  // namespace bench::keyspaces
