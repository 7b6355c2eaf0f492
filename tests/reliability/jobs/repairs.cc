#include "tests/reliability/jobs/repairs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_reader.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/store/store_forger.h"
#include "tests/reliability/faults/forgeries.h"
#include "tests/reliability/faults/survey.h"
#include "tests/reliability/jobs/damage.h"
#include "tests/reliability/workload/specimen.h"
#include "tests/reliability/workload/under_way.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::FileKind;
using lsm::World;

using Value = SurveyedKeyspace::Value;

std::optional<lsm::FileName> NameOf(const std::string& path) {
  return lsm::ParseFileName(path.substr(path.rfind('/') + 1));
}

class Repairer {
 public:
  Repairer(const Specimen& specimen, RepairsReport* report)
      : specimen_(specimen), report_(*report) {
    const std::unique_ptr<lsm::MemoryFileSystem> files = specimen.image().ToFiles();
    before_ = StateOf(*files).value();
    for (const auto& level : before_.levels) {
      for (const auto& [number, meta] : level) home_.table_ids[number] = meta.file_id;
    }
    for (const auto& [path, bytes] : specimen.image().files) {
      const std::optional<lsm::FileName> name = NameOf(path);
      if (!name || name->kind != FileKind::kLog || name->number < before_.oldest_log) continue;
      home_.log_ids[name->number] =
          lsm::LogReader::Open(OpenFileOf(*files, path).value(), lsm::LogKind::kWriteAhead)
              .value()
              ->file_id();
    }
  }

  // The finding, or empty.
  std::string Run(const Image& image) {
    ++report_.repairs;
    const Surveyed known = SurveyStore(image, Believed(image), before_);
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
    const absl::StatusOr<lsm::ManifestState> state = StateOf(*world.files);
    if (!state.ok()) return Concat("repaired, but unreadable: ", state.status().ToString());
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(Specimen::kPath, options);
    if (!db.ok()) return Concat("repaired, but it does not open: ", db.status().ToString());
    report_.keyspaces += state->keyspaces.all().size();
    std::string problem = CheckKeyspaces(state->keyspaces, known);
    if (problem.empty()) problem = CheckContents(**db, state->keyspaces, known);
    // The rest takes most of the time of a repair.
    const bool repeats = specimen_.has_keyspaces() && report_.repairs % 4 == 0;
    if (problem.empty()) problem = CheckWrites(**db, repeats);
    if (problem.empty() && repeats) problem = CheckSecondRepair(*std::move(db), world);
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
    for (const std::string& key : specimen_.KeysToLookUp()) {
      const absl::StatusOr<Value> value = LookUp(**db, key);
      if (absl::IsDataLoss(value.status())) continue;
      const auto place = specimen_.contents().find(key);
      if (!value.ok() ||
          *value != (place == specimen_.contents().end() ? std::nullopt : Value(place->second)))
        return Concat("it opens, and a read is wrong: ", key);
    }
    const absl::StatusOr<Contents> contents = ReadStore(**db);
    if (absl::IsDataLoss(contents.status())) return "";
    if (!contents.ok() || *contents != specimen_.contents())
      return "it opens, and an iterator is wrong";
    return forgery.trace == Trace::kHarmless && verified->problems.empty() ? CheckWrites(**db, true)
                                                                           : "";
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
    absl::StatusOr<lsm::ManifestState> state = StateOf(*image.ToFiles());
    if (!state.ok()) return home;
    home.next_keyspace_id = state->keyspaces.next_id();
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
    if (HasFilesOf(*state, image)) home.manifest = *std::move(state);
    return home;
  }

  static bool HasFilesOf(const lsm::ManifestState& state, const Image& image) {
    std::set<std::string> missing;
    for (const auto& level : state.levels) {
      for (const auto& [number, meta] : level) missing.insert(lsm::TableFileName(number));
    }
    for (const uint64_t log : state.NeededLogs()) missing.insert(lsm::LogFileName(log));
    for (const auto& [path, bytes] : image.files) missing.erase(path.substr(path.rfind('/') + 1));
    return missing.empty();
  }

  static bool NamesAFile(const absl::Status& status) {
    return status.message().find(Specimen::kPath) != std::string_view::npos ||
           status.message().find(Specimen::kLogsPath) != std::string_view::npos;
  }

  // Names, ids, options and places.
  static std::string CheckKeyspaces(const lsm::KeyspaceRecords& records, const Surveyed& known) {
    if (records.next_id() < known.next_id) return "an id of a keyspace may be given again";
    for (const auto& [id, keyspace] : known.keyspaces) {
      if (id == lsm::kDefaultKeyspace) continue;
      const auto found = records.all().find(id);
      const std::string problem = found == records.all().end()
                                      ? CheckAbsent(keyspace)
                                      : CheckPresent(found->second, keyspace, records);
      if (!problem.empty()) return Concat("keyspace ", id, " ", problem);
    }
    for (const auto& [id, record] : records.all()) {
      if (!known.keyspaces.contains(id)) return Concat("keyspace ", id, " never was");
    }
    return "";
  }

  static std::string CheckAbsent(const SurveyedKeyspace& keyspace) {
    const bool is_known =
        keyspace.name.are_home() || keyspace.has_home_entries || keyspace.has_tree;
    return keyspace.name.Allow(std::nullopt) || !is_known ? "" : "is lost";
  }

  static std::string CheckPresent(const lsm::KeyspaceRecord& record,
                                  const SurveyedKeyspace& keyspace,
                                  const lsm::KeyspaceRecords& records) {
    if (!keyspace.name.Allow(record.name)) {
      // A successor may have its name.
      const bool has_lost_it =
          keyspace.name.are_home() &&
          std::none_of(records.all().upper_bound(record.id), records.all().end(),
                       [&](const auto& other) { return keyspace.name.Allow(other.second.name); });
      if (has_lost_it)
        return keyspace.name.Allow(std::nullopt) ? "was dropped, and is back" : "has lost its name";
      std::string_view name = record.name;
      while (name.ends_with('-')) name.remove_suffix(1);
      if (name != Concat("keyspace-", record.id)) return Concat("has a wrong name: ", name);
    }
    const bool has_no_options =
        record.options == lsm::KeyspaceOptions() && record.marks == lsm::ExpiryMarks();
    if (!keyspace.options.Allow({record.options, record.marks}) &&
        (keyspace.options.are_home() || !has_no_options))
      return "has wrong options";
    if (record.has_own_tree ? !keyspace.may_have_tree : keyspace.has_tree)
      return record.has_own_tree ? "has a tree of its own" : "has lost its tree";
    return "";
  }

  std::string CheckContents(DB& db, const lsm::KeyspaceRecords& records, const Surveyed& known) {
    const absl::StatusOr<lsm::VerifyReport> verified = db.Verify();
    if (!verified.ok()) return Concat("DB::Verify fails: ", verified.status().ToString());
    if (!verified->problems.empty())
      return Concat("repaired, but DB::Verify says: ", verified->problems[0]);
    const absl::StatusOr<Contents> contents = ReadStore(db);
    if (!contents.ok()) return Concat("repaired, but unreadable: ", contents.status().ToString());
    report_.whole += *contents == specimen_.contents();
    for (const auto& [id, keyspace] : known.keyspaces) {
      const auto record = records.all().find(id);
      std::string name(lsm::kDefaultKeyspaceName);
      if (id != lsm::kDefaultKeyspace) {
        if (record == records.all().end()) continue;
        name = record->second.name;
      }
      const std::string problem = CheckKeys(db, name, KeysOf(*contents, name), keyspace);
      if (!problem.empty()) return Concat("keyspace ", id, ", \"", name, "\": ", problem);
    }
    return "";
  }

  static std::string CheckKeys(DB& db, const std::string& name, const Contents& contents,
                               const SurveyedKeyspace& keyspace) {
    for (const auto& [key, value] : contents) {
      if (!keyspace.keys.contains(key)) return Concat("a key that never was: ", key);
    }
    for (const auto& [key, statements] : keyspace.keys) {
      const absl::StatusOr<Value> value = LookUp(db, KeyIn(name, key));
      if (!value.ok()) return Concat("repaired, but unreadable: ", value.status().ToString());
      const auto shown = contents.find(key);
      if (*value != (shown == contents.end() ? std::nullopt : Value(shown->second)))
        return Concat("an iterator says one thing of ", key, ", and Get another one");
      // The value must be at least as new as the newest one in the store's own files.
      if (!statements.Allow(*value) && (*value || statements.are_home()))
        return Concat(*value ? "an older value of " : "missing: ", key);
    }
    return "";
  }

  // Checks that writes to each keyspace are visible, and survive a compaction of "default" or of
  // all.
  static std::string CheckWrites(DB& db, bool compacts_all) {
    const absl::StatusOr<std::vector<std::string>> names = db.ListKeyspaces();
    if (!names.ok()) return Concat("no list of keyspaces: ", names.status().ToString());
    Commit commit;
    for (const std::string& name : *names) {
      for (const std::string& key : {Specimen::Key(1), Specimen::Key(77), std::string("new")})
        commit.push_back({KeyIn(name, key), Concat("written to ", name)});
    }
    if (const absl::Status put = WriteCommit(db, commit, /*sync=*/true); !put.ok())
      return Concat("no write succeeds: ", put.ToString());
    for (const bool compacts : {false, true}) {
      for (const std::string& name : *names) {
        if (!compacts || (name != lsm::kDefaultKeyspaceName && !compacts_all)) continue;
        const absl::Status status = Carry({Step::kCompact, {}, false, name}, db);
        if (!status.ok()) return Concat("no compaction succeeds: ", status.ToString());
      }
      for (const Effect& put : commit) {
        const absl::StatusOr<Value> value = LookUp(db, put.key);
        if (!value.ok() || *value != put.value)
          return Concat("a write is gone", compacts ? " after a compaction" : "", ": ", put.key);
      }
    }
    return "";
  }

  // A repair leaves a store that can be repaired without its manifest, and loses nothing by that.
  std::string CheckSecondRepair(std::unique_ptr<DB> db, World& world) {
    const absl::StatusOr<Contents> contents = ReadStore(*db);
    const absl::Status closed = db->Close();
    db = nullptr;
    const absl::StatusOr<lsm::ManifestState> before = StateOf(*world.files);
    if (!contents.ok() || !closed.ok() || !before.ok()) return "the repaired store does not close";
    lsm::StoreForger forger(world.files.get(), Specimen::kPath);
    for (const std::string& path : world.FilesOf(FileKind::kTable, Specimen::kPath)) {
      const uint64_t number = NameOf(path)->number;
      const bool is_needed = std::any_of(before->levels.begin(), before->levels.end(),
                                         [&](const auto& level) { return level.contains(number); });
      if (!is_needed) forger.RemoveTable(number);  // it may bring deleted keys back
    }
    forger.RemoveManifest();
    const lsm::Options options = specimen_.OptionsOn(world);
    const absl::StatusOr<lsm::RepairReport> repaired = DB::Repair(Specimen::kPath, options);
    if (!repaired.ok()) return Concat("the second repair fails: ", repaired.status().ToString());
    const absl::StatusOr<lsm::ManifestState> after = StateOf(*world.files);
    if (!after.ok()) return Concat("the second repair fails: ", after.status().ToString());
    std::set<std::string> returned;
    for (const auto& [id, record] : after->keyspaces.all()) {
      const auto was = before->keyspaces.all().find(id);
      if (was != before->keyspaces.all().end() && was->second == record) continue;
      // The tombstone of its name may be gone before all of its entries.
      if (before->keyspaces.Has(id) || record.name != Concat("keyspace-", id))
        return Concat("the second repair changes keyspace ", id, ", \"", record.name, "\"");
      returned.insert(record.name);
    }
    for (const auto& [id, record] : before->keyspaces.all()) {
      if (!after->keyspaces.Has(id)) return Concat("the second repair loses keyspace ", id);
    }
    absl::StatusOr<std::unique_ptr<DB>> again = DB::Open(Specimen::kPath, options);
    if (!again.ok()) return Concat("repaired twice, does not open: ", again.status().ToString());
    absl::StatusOr<Contents> now = ReadStore(**again);
    if (!now.ok()) return Concat("repaired twice, but unreadable: ", now.status().ToString());
    std::erase_if(*now, [&](const auto& entry) {
      return returned.contains(std::string(PlaceOf(entry.first).keyspace));
    });
    return *now == *contents ? "" : "the second repair changes contents";
  }

  const Specimen& specimen_;
  RepairsReport& report_;
  lsm::ManifestState before_;
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
