// The machine crashes at every file-system operation of a workload, and at every one of the
// recoveries that follow; what is then found must be what was promised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "tests/lsm/engine/script.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using Unsynced = MemoryFileSystem::Unsynced;

using testing_support::kStride;

// Of the crashes, those whose recovery is crashed at each of its operations too.
constexpr uint64_t kDoubleStride = 83 * kStride;

const char* NameOf(Unsynced unsynced) { return unsynced == Unsynced::kLost ? "lost" : "kept"; }

// Opens what a crash left and checks it against the ledger; how many commits it holds.
class Inspection {
 public:
  Inspection(const Ledger& ledger, size_t least) : ledger_(ledger), least_(least) {}

  std::optional<size_t> Check(DB& db) const {
    const absl::StatusOr<Contents> contents = ReadAll(db);
    EXPECT_OK(contents);
    if (!contents.ok()) return std::nullopt;
    const std::optional<size_t> count = ledger_.Match(*contents, least_);
    EXPECT_TRUE(count.has_value())
        << "not what any number of commits from " << least_ << " to " << ledger_.commits.size()
        << " leads to; " << contents->size() << " keys, last commit "
        << (contents->contains("last commit") ? contents->at("last commit") : "none");
    // Point lookups agree with the iterator, also about keys that are not there.
    for (const std::string& key : ledger_.Keys()) {
      const absl::StatusOr<std::optional<std::string>> value = db.Get(key);
      EXPECT_OK(value);
      if (!value.ok()) return std::nullopt;
      const auto place = contents->find(key);
      const bool same = value->has_value() ? place != contents->end() && place->second == **value
                                           : place == contents->end();
      EXPECT_TRUE(same) << "Get and the iterator differ about " << key.substr(0, 20);
      if (!same) return std::nullopt;
    }
    return count;
  }

 private:
  const Ledger& ledger_;
  const size_t least_;
};

class CrashTest : public testing::Test {
 protected:
  std::unique_ptr<DB> Open(World& world) const {
    absl::StatusOr<std::unique_ptr<DB>> db =
        DB::Open(kStorePath, ScriptOptions(world, logs_apart_));
    EXPECT_OK(db);
    return db.ok() ? *std::move(db) : nullptr;
  }

  // The image is as the crash left it: checks what is recovered, that it is recovered again after
  // the power goes right behind the recovery, and that the store goes on from there.
  void CheckImage(const MemoryFileSystem& image, const Ledger& ledger, size_t least) {
    ++images_;
    World world(99, image.Clone());
    std::optional<size_t> count;
    {
      const std::unique_ptr<DB> db = Open(world);
      if (db == nullptr) return;
      count = Inspection(ledger, least).Check(*db);
      if (!count) return;
      world.files->CrashAt(0);
    }
    world.files->Restart(Unsynced::kLost);
    Ledger found{ledger.commits, *count, *count};
    found.commits.resize(*count);
    {
      SCOPED_TRACE("recovered again");
      const std::unique_ptr<DB> db = Open(world);
      if (db == nullptr) return;
      if (!Inspection(found, *count).Check(*db)) return;
      GoOn(*db, &found);
    }
    SCOPED_TRACE("after further writes");
    const std::unique_ptr<DB> db = Open(world);
    if (db != nullptr) Inspection(found, found.commits.size()).Check(*db);
  }

  static void GoOn(DB& db, Ledger* ledger) {
    const std::vector<Commit> more = {
        {{"key2", "further"}, {"last commit", "a"}},
        {{"key2", std::nullopt}, {"key4", "further"}, {"last commit", "b"}}};
    for (const Commit& commit : more) {
      EXPECT_OK(WriteCommit(db, commit, /*sync=*/false));
      ledger->commits.push_back(commit);
      EXPECT_TRUE(Inspection(*ledger, ledger->commits.size()).Check(db).has_value());
    }
  }

  // Crashes at each operation of recovering the image.
  void CrashRecoveries(const MemoryFileSystem& image, const Ledger& ledger, size_t least) {
    for (uint64_t at = 0;; ++at) {
      World world(98, image.Clone());
      world.files->ResetCounts();
      world.files->CrashAt(at);
      { const auto db = DB::Open(kStorePath, ScriptOptions(world, logs_apart_)); }
      if (!world.files->crashed()) break;
      for (const Unsynced unsynced : {Unsynced::kLost, Unsynced::kKept}) {
        SCOPED_TRACE(Concat("recovery crashed at operation ", at, ", unsynced ", NameOf(unsynced)));
        const std::unique_ptr<MemoryFileSystem> again = world.files->Clone();
        again->Restart(unsynced);
        CheckImage(*again, ledger, least);
        ++double_crashes_;
        if (HasFailure()) return;
      }
    }
  }

  // All lost, all kept, and what lies between: each file that differs, in its bytes or in being
  // there, as the one or as the other.
  void CheckCrash(const MemoryFileSystem& crashed, const Ledger& ledger, bool twice) {
    const std::unique_ptr<MemoryFileSystem> lost = crashed.Clone();
    const std::unique_ptr<MemoryFileSystem> kept = crashed.Clone();
    lost->Restart(Unsynced::kLost);
    kept->Restart(Unsynced::kKept);
    {
      SCOPED_TRACE("all that was not synced is kept");
      CheckImage(*kept, ledger, ledger.acknowledged);
      if (twice && !HasFailure()) CrashRecoveries(*kept, ledger, ledger.acknowledged);
    }
    {
      SCOPED_TRACE("all that was not synced is lost");
      CheckImage(*lost, ledger, ledger.durable);
      if (twice && !HasFailure()) CrashRecoveries(*lost, ledger, ledger.durable);
    }
    const std::vector<std::string> differ = FilesThatDiffer(*lost, *kept);
    // With few of them every subset, otherwise each alone, and all but each.
    std::vector<uint32_t> subsets;
    if (differ.size() <= 3) {
      for (uint32_t subset = 1; subset + 1 < 1u << differ.size(); ++subset)
        subsets.push_back(subset);
    } else {
      for (size_t i = 0; i < differ.size(); ++i) {
        subsets.push_back(1u << i);
        subsets.push_back(((1u << differ.size()) - 1) ^ (1u << i));
      }
    }
    for (const uint32_t subset : subsets) {
      const std::unique_ptr<MemoryFileSystem> image = lost->Clone();
      std::string names;
      for (size_t i = 0; i < differ.size(); ++i) {
        if ((subset >> i & 1) == 0) continue;
        CopyFile(*kept, differ[i], image.get());
        names += Concat(" ", differ[i]);
      }
      SCOPED_TRACE(Concat("of what was not synced is kept only:", names));
      CheckImage(*image, ledger, ledger.durable);
      ++mixed_;
      if (HasFailure()) return;
    }
  }

  static std::set<std::string> AllFiles(MemoryFileSystem& files) {
    std::set<std::string> paths;
    for (const char* directory_path : {kStorePath, "/logs"}) {
      const auto directory = files.OpenDirectory(directory_path, /*create=*/false);
      if (!directory.ok()) continue;
      const std::vector<std::string> names = (*directory)->List().value();
      for (const std::string& name : names) paths.insert(Concat(directory_path, "/", name));
    }
    return paths;
  }

  static std::vector<std::string> FilesThatDiffer(MemoryFileSystem& a, MemoryFileSystem& b) {
    const std::set<std::string> of_a = AllFiles(a), of_b = AllFiles(b);
    std::set<std::string> paths = of_a;
    paths.insert(of_b.begin(), of_b.end());
    std::vector<std::string> differ;
    for (const std::string& path : paths) {
      if (of_a.contains(path) != of_b.contains(path) || a.FileBytes(path) != b.FileBytes(path))
        differ.push_back(path);
    }
    return differ;
  }

  static void CopyFile(MemoryFileSystem& from, const std::string& path, MemoryFileSystem* to) {
    if (AllFiles(from).contains(path)) {
      to->SetFileBytes(path, from.FileBytes(path));
      return;
    }
    const size_t slash = path.rfind('/');
    const auto directory = to->OpenDirectory(path.substr(0, slash), /*create=*/false);
    ASSERT_OK((*directory)->Remove(path.substr(slash + 1)));
    ASSERT_OK((*directory)->Sync());
  }

  void CrashEverywhere(uint64_t seed, size_t steps) {
    const std::vector<Step> script = MakeScript(seed, steps);
    uint64_t operations = 0;
    {
      World world(seed);
      ScriptRunner runner(&world, ScriptOptions(world, logs_apart_));
      ASSERT_TRUE(runner.Run(script));
      runner.Close();
      operations = world.files->operation_count();
    }
    for (uint64_t at = 0; at < operations && !HasFailure(); at += kStride) {
      SCOPED_TRACE(Concat("seed ", seed, ", crash at operation ", at));
      World world(seed);
      world.files->CrashAt(at);
      ScriptRunner runner(&world, ScriptOptions(world, logs_apart_));
      runner.Run(script);
      runner.Close();
      ASSERT_TRUE(world.files->crashed());
      CheckCrash(*world.files, runner.ledger(), /*twice=*/at % kDoubleStride == 0);
    }
    if (HasFailure()) return;
    std::printf(
        "seed %llu: %llu operations, %llu images, of them %llu with some files lost and some kept, "
        "%llu of crashed recoveries\n",
        static_cast<unsigned long long>(seed), static_cast<unsigned long long>(operations),
        static_cast<unsigned long long>(images_), static_cast<unsigned long long>(mixed_),
        static_cast<unsigned long long>(double_crashes_));
  }

  bool logs_apart_ = false;
  uint64_t images_ = 0;
  uint64_t mixed_ = 0;
  uint64_t double_crashes_ = 0;
};

TEST_F(CrashTest, AtEveryOperationOfAWorkload) { CrashEverywhere(1, 200); }
TEST_F(CrashTest, AtEveryOperationWithTheLogsInAnotherDirectory) {
  logs_apart_ = true;
  CrashEverywhere(2, 200);
}

}  // namespace
}  // namespace lsm
