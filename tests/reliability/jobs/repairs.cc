#include "tests/reliability/jobs/repairs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/block/block.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/limits.h"
#include "lsm/log/log_reader.h"
#include "lsm/table/table.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/store/store_forger.h"
#include "tests/reliability/faults/forgeries.h"
#include "tests/reliability/jobs/damage.h"
#include "tests/reliability/workload/specimen.h"
#include "tests/reliability/workload/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::EntryKind;
using lsm::FileKind;
using lsm::Sequence;
using lsm::World;

using Value = std::optional<std::string>;  // nothing: the key was deleted

// The readable entries of one key.
struct Versions {
  std::multimap<Sequence, Value> all;
  std::optional<Sequence> newest;  // the newest one in files of this store
};
using AllVersions = std::map<std::string, Versions>;

// The files of a store as it was before it was damaged.
struct Home {
  std::map<uint64_t, uint64_t> table_ids;
  std::map<uint64_t, uint64_t> log_ids;
};

std::optional<lsm::FileName> NameOf(const std::string& path) {
  return lsm::ParseFileName(path.substr(path.rfind('/') + 1));
}

absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenFile(lsm::MemoryFileSystem& files,
                                                        const std::string& path) {
  const size_t slash = path.rfind('/');
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::Directory> directory,
                           files.OpenDirectory(path.substr(0, slash), /*create=*/false));
  return directory->OpenRead(path.substr(slash + 1), lsm::ReadMode::kBuffered);
}

// Reads every entry in a block that verifies and every record that verifies, from all files.
class Survey {
 public:
  Survey(const Image& image, const Home& home) : image_(image), home_(home) {}

  AllVersions Take() {
    const std::unique_ptr<lsm::MemoryFileSystem> files = image_.ToFiles();
    for (const auto& [path, bytes] : image_.files) {
      const std::optional<lsm::FileName> name = NameOf(path);
      if (!name) continue;
      const auto open = [&, &file_path = path] { return OpenFile(*files, file_path); };
      if (!open().ok()) continue;
      if (name->kind == FileKind::kTable) ReadTable(name->number, open);
      if (name->kind == FileKind::kLog) ReadLog(name->number, *open());
    }
    return std::move(versions_);
  }

 private:
  void Note(std::string_view key, Sequence sequence, Value value) {
    Versions& versions = versions_[std::string(key)];
    versions.all.emplace(sequence, std::move(value));
    if (is_home_) versions.newest = std::max(versions.newest.value_or(0), sequence);
  }

  static bool IsAtHome(const std::map<uint64_t, uint64_t>& ids, uint64_t number, uint64_t id) {
    const auto place = ids.find(number);
    return place != ids.end() && place->second == id;
  }

  template <typename Open>
  void ReadTable(uint64_t number, const Open& open) {
    lsm::TableContext context;
    context.partitions_on_demand = true;
    // If the id is known, no answer depends on the header.
    if (home_.table_ids.contains(number)) context.file_id = home_.table_ids.at(number);
    absl::StatusOr<std::unique_ptr<lsm::Table>> table = lsm::Table::Open(*open(), context);
    if (!table.ok()) {
      context.file_id.reset();
      table = lsm::Table::Open(*open(), context);
    }
    if (!table.ok()) return;
    is_home_ = IsAtHome(home_.table_ids, number, (*table)->footer().file_id);
    for (size_t part = 0; part < (*table)->index_part_count(); ++part) {
      const absl::StatusOr<lsm::IndexPart> index = (*table)->ReadIndexPart(part);
      for (size_t i = index.ok() ? index->begin() : 0; index.ok() && i < index->end(); ++i)
        ReadBlock((*table)->ReadDataBlock(index->handle(i)));
    }
  }

  void ReadBlock(const absl::StatusOr<std::string>& bytes) {
    lsm::Block block;
    if (!bytes.ok() || !block.Init(*bytes)) return;
    const std::unique_ptr<lsm::Iterator> entry = block.NewIterator(/*internal_keys=*/true, "");
    for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
      lsm::ParsedKey key;
      if (!ParseInternalKey(entry->key(), &key) || key.user_key.size() > lsm::kKeyBytesMax)
        continue;
      Note(key.user_key, key.sequence,
           key.kind == EntryKind::kPut ? Value(entry->value()) : std::nullopt);
    }
  }

  class Batch : public lsm::EncodedBatch::Handler {
   public:
    Batch(Survey* survey, Sequence first) : survey_(*survey), next_(first) {}
    absl::Status Put(lsm::KeyspaceId, std::string_view key, std::string_view value) override {
      survey_.Note(key, next_++, Value(value));
      return absl::OkStatus();
    }
    absl::Status Delete(lsm::KeyspaceId, std::string_view key) override {
      survey_.Note(key, next_++, std::nullopt);
      return absl::OkStatus();
    }
    absl::Status DeleteRange(lsm::KeyspaceId, std::string_view,
                             std::optional<std::string_view>) override {
      return absl::UnimplementedError("no specimen has range deletes");
    }
    absl::Status Change(const lsm::KeyspaceChange&, size_t) override {
      return absl::UnimplementedError("no specimen has keyspaces");
    }
    absl::Status Time(uint32_t) override {
      return absl::UnimplementedError("no specimen has times");
    }

   private:
    Survey& survey_;
    Sequence next_;
  };

  void ReadLog(uint64_t number, std::unique_ptr<lsm::ReadFile> file) {
    absl::StatusOr<std::unique_ptr<lsm::LogReader>> log =
        lsm::LogReader::Open(std::move(file), lsm::LogKind::kWriteAhead);
    if (!log.ok()) return;
    is_home_ = IsAtHome(home_.log_ids, number, (*log)->file_id());
    for (;;) {
      lsm::LogReader::Record record;
      const absl::StatusOr<bool> more = (*log)->Next(&record);
      if (more.ok() && !*more) return;
      if (!more.ok()) {
        const absl::StatusOr<bool> skipped = (*log)->SkipDamage();
        if (!skipped.ok() || !*skipped) return;
        continue;
      }
      if (record.payload.size() < lsm::EncodedBatch::kHeaderBytes) continue;
      Batch batch(this, lsm::EncodedBatch::FirstSequenceOf(record.payload));
      (void)lsm::EncodedBatch::ForEach(record.payload, &batch);
    }
  }

  const Image& image_;
  const Home& home_;
  bool is_home_ = false;
  AllVersions versions_;
};

class Repairer {
 public:
  Repairer(const Specimen& specimen, RepairsReport* report)
      : specimen_(specimen), report_(*report) {
    const std::unique_ptr<lsm::MemoryFileSystem> files = specimen.image().ToFiles();
    const lsm::ManifestState state = StateOf(*files).value();
    for (const auto& level : state.levels) {
      for (const auto& [number, meta] : level) home_.table_ids[number] = meta.file_id;
    }
    for (const auto& [path, bytes] : specimen.image().files) {
      const std::optional<lsm::FileName> name = NameOf(path);
      if (!name || name->kind != FileKind::kLog || name->number < state.oldest_log) continue;
      home_.log_ids[name->number] =
          lsm::LogReader::Open(OpenFile(*files, path).value(), lsm::LogKind::kWriteAhead)
              .value()
              ->file_id();
    }
  }

  // The finding, or empty.
  std::string Run(const Image& image) {
    ++report_.repairs;
    AllVersions versions = Survey(image, Believed(image)).Take();
    World world(3, image.ToFiles());
    const lsm::Options options = specimen_.OptionsOn(world);
    const absl::StatusOr<lsm::RepairReport> repaired = DB::Repair(Specimen::kPath, options);
    if (!repaired.ok()) {
      ++report_.refused;
      // The only reason in this job: the logs may belong to another store.
      if (!absl::IsFailedPrecondition(repaired.status()))
        return Concat("refused: ", repaired.status().ToString());
      return Image::Of(*world.files, {Specimen::kPath, Specimen::kLogsPath}).Digest() ==
                     image.Digest()
                 ? ""
                 : Concat("a repair that failed has changed files: ", repaired.status().ToString());
    }
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(Specimen::kPath, options);
    if (!db.ok()) return Concat("repaired, but it does not open: ", db.status().ToString());
    std::string problem = CheckContents(**db, versions);
    if (problem.empty()) problem = CheckWrites(**db);
    return problem;
  }

  // Inspects a forged store without repairing it.
  std::string Inspect(const Forgery& forgery, const Image& image) {
    World world(3, image.ToFiles());
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(Specimen::kPath, specimen_.OptionsOn(world));
    if (!db.ok()) return NamesAFile(db.status()) ? "" : Concat("unnamed: ", db.status().ToString());
    if (forgery.trace == Trace::kNone) return "";
    const absl::StatusOr<lsm::VerifyReport> verified = (*db)->Verify();
    if (!verified.ok()) return Concat("DB::Verify fails: ", verified.status().ToString());
    if (forgery.trace != Trace::kHarmless && verified->problems.empty())
      return "it opens, and DB::Verify finds nothing";
    if (forgery.trace == Trace::kVerified) return "";
    for (int i = 0; i < 150; ++i) {
      const std::string key = Specimen::Key(i);
      const absl::StatusOr<Value> value = (*db)->Get(key);
      if (absl::IsDataLoss(value.status())) continue;
      const auto place = specimen_.contents().find(key);
      if (!value.ok() ||
          *value != (place == specimen_.contents().end() ? std::nullopt : Value(place->second)))
        return Concat("it opens, and a read is wrong: ", key);
    }
    const absl::StatusOr<lsm::Contents> contents = lsm::ReadAll(**db);
    if (absl::IsDataLoss(contents.status())) return "";
    if (!contents.ok() || *contents != specimen_.contents())
      return "it opens, and an iterator is wrong";
    return forgery.trace == Trace::kHarmless && verified->problems.empty() ? CheckWrites(**db) : "";
  }

 private:
  static absl::StatusOr<lsm::ManifestState> StateOf(lsm::MemoryFileSystem& files) {
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::Directory> directory,
                             files.OpenDirectory(Specimen::kPath, /*create=*/false));
    TRELLIS_ASSIGN_OR_RETURN(lsm::ManifestContents contents, lsm::ReadManifest(*directory));
    return std::move(contents.state);
  }

  // The files that a readable manifest names as the store's own.
  Home Believed(const Image& image) const {
    Home home = home_;
    const absl::StatusOr<lsm::ManifestState> state = StateOf(*image.ToFiles());
    if (!state.ok()) return home;
    std::erase_if(home.table_ids, [&](const auto& table) {
      return std::none_of(state->levels.begin(), state->levels.end(), [&](const auto& level) {
        const auto place = level.find(table.first);
        return place != level.end() && place->second.file_id == table.second;
      });
    });
    // If the log that is recorded as the oldest is missing, older logs count too.
    const bool has_oldest =
        std::any_of(image.files.begin(), image.files.end(), [&](const auto& file) {
          return file.first.ends_with("/" + lsm::LogFileName(state->oldest_log));
        });
    std::erase_if(home.log_ids, [&](const auto& log) {
      return (has_oldest && log.first < state->oldest_log) ||
             (state->log_seed && !state->IsLogId(log.first, log.second));
    });
    return home;
  }

  static bool NamesAFile(const absl::Status& status) {
    return status.message().find(Specimen::kPath) != std::string_view::npos ||
           status.message().find(Specimen::kLogsPath) != std::string_view::npos;
  }

  std::string CheckContents(DB& db, const AllVersions& versions) {
    const absl::StatusOr<lsm::VerifyReport> verified = db.Verify();
    if (!verified.ok()) return Concat("DB::Verify fails: ", verified.status().ToString());
    if (!verified->problems.empty())
      return Concat("repaired, but DB::Verify says: ", verified->problems[0]);
    const absl::StatusOr<lsm::Contents> contents = lsm::ReadAll(db);
    if (!contents.ok()) return Concat("repaired, but unreadable: ", contents.status().ToString());
    report_.whole += *contents == specimen_.contents();
    for (const auto& [key, value] : *contents) {
      if (!versions.contains(key)) return Concat("a key that never was: ", key);
    }
    for (const auto& [key, known] : versions) {
      const absl::StatusOr<Value> value = db.Get(key);
      if (!value.ok()) return Concat("repaired, but unreadable: ", value.status().ToString());
      const auto shown = contents->find(key);
      if (*value != (shown == contents->end() ? std::nullopt : Value(shown->second)))
        return Concat("an iterator says one thing of ", key, ", and Get another one");
      // The value must be at least as new as the newest one in the store's own files.
      const auto from = known.newest ? known.all.lower_bound(*known.newest) : known.all.begin();
      const bool is_known =
          (!*value && !known.newest) ||
          std::any_of(from, known.all.end(), [&](const auto& v) { return v.second == *value; });
      if (!is_known) return Concat(*value ? "an older value of " : "missing: ", key);
    }
    return "";
  }

  // Checks that writes are visible and survive a compaction.
  static std::string CheckWrites(DB& db) {
    for (const std::string& key : {Specimen::Key(1), Specimen::Key(77), std::string("new")}) {
      const absl::Status put = db.Put(key, "written", {.sync = true});
      if (!put.ok()) return Concat("no write succeeds: ", put.ToString());
    }
    for (const bool compacts : {false, true}) {
      if (compacts) {
        if (const absl::Status status = db.CompactRange(); !status.ok())
          return Concat("no compaction succeeds: ", status.ToString());
      }
      for (const std::string& key : {Specimen::Key(1), Specimen::Key(77), std::string("new")}) {
        const absl::StatusOr<Value> value = db.Get(key);
        if (!value.ok() || *value != "written")
          return Concat("a write is gone", compacts ? " after a compaction" : "", ": ", key);
      }
    }
    return "";
  }

  const Specimen& specimen_;
  RepairsReport& report_;
  Home home_;
};

void RepairForgeries(const Specimen& specimen, Repairer* repairer, RepairsReport* report) {
  const std::unique_ptr<lsm::MemoryFileSystem> sound = specimen.image().ToFiles();
  for (const Forgery& forgery :
       ForgeriesOf(lsm::StoreForger(sound.get(), Specimen::kPath).State())) {
    SayUnderWay(forgery.what);
    const std::unique_ptr<lsm::MemoryFileSystem> files = specimen.image().ToFiles();
    lsm::StoreForger forger(files.get(), Specimen::kPath);
    forgery.apply(&forger);
    const Image image = Image::Of(*files, {Specimen::kPath, Specimen::kLogsPath});
    ++report->forged;
    std::string problem = repairer->Inspect(forgery, image);
    if (problem.empty()) problem = repairer->Run(image);
    if (problem.empty()) continue;
    report->finding = Concat(forgery.what, ": ", problem);
    return;
  }
}

}  // namespace

RepairsReport RepairDamages(uint64_t seed, uint64_t one_in) {
  RepairsReport report;
  lsm::Dice dice(seed);
  Specimen specimen(seed);
  report.finding = specimen.Make();
  if (report.finding.empty()) {
    Repairer repairer(specimen, &report);
    RepairForgeries(specimen, &repairer, &report);
    if (report.finding.empty()) {
      const auto repair = [&](const Specimen&, const Image& image) {
        return dice.OneIn(one_in) ? repairer.Run(image) : "";
      };
      report.finding = DamageEverything(seed, /*stride=*/1, repair).finding;
      return report;
    }
  }
  report.finding = Concat("seed ", seed, ", ", report.finding);
  return report;
}

}  // namespace reliability
