// A program of an embedder.  It uses each part of the public interface once, which shows that the
// installed files are complete.  It prints errors, and exits with 1 if there are any.
#include <atomic>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/filter_policy.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/event_log.h"
#include "lsm/file_system.h"
#include "lsm/release.h"
#include "lsm/scheduler.h"

namespace {

int wrong = 0;

void Expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "wrong: " << what << "\n";
  ++wrong;
}

void UseFilters() {
  auto policy = bloom::PolicyFromName("blocked");
  if (!policy.ok()) return Expect(false, policy.status().ToString());
  auto builder = (*policy)->NewBuilder({.target_fpp = 0.01, .seed = 7});
  for (int key = 0; key < 1000; ++key) builder->Add(bloom::DigestOf(std::to_string(key), 42));
  auto bytes = builder->Finish();
  if (!bytes.ok()) return Expect(false, bytes.status().ToString());
  const bloom::FilterReader reader = bloom::FilterReader::Open(*bytes);
  Expect(reader.state() == bloom::FilterState::kUsable, "the filter is not usable");
  Expect(reader.MayContain(bloom::DigestOf("5", 42)), "the filter lost a key");
}

void UseStore(lsm::DB& db) {
  Expect(db.Put("a", "1").ok() && db.Put("b", "2").ok() && db.Put("c", "3").ok(), "Put");
  const auto snapshot = db.GetSnapshot();
  Expect(db.Delete("b", {.sync = true}).ok(), "Delete");
  Expect(db.Flush().ok(), "Flush");

  std::string value;
  auto there = db.Get("a", &value);
  Expect(there.ok() && *there && value == "1", "Get into a string");
  lsm::PinnedValue pinned;
  there = db.Get("c", &pinned);
  Expect(there.ok() && *there, "Get into a pinned value");
  auto before = db.Get("b", {.snapshot = snapshot.get()});
  Expect(before.ok() && *before == "2", "Get as of a snapshot");

  const std::vector<std::string_view> keys = {"a", "b", "c"};
  auto values = db.MultiGet(keys);
  Expect(values.size() == 3 && values[0].ok() && **values[0] == "1" && values[1].ok() &&
             !values[1]->has_value(),
         "MultiGet");

  std::string seen;
  auto iterator = db.NewIterator({.lower_bound = "a", .upper_bound = "z"});
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) seen += iterator->key();
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) seen += iterator->key();
  Expect(iterator->status().ok() && seen == "acca", "iterator saw " + seen);

  Expect(db.CompactRange().ok() && db.WaitForBackgroundWork().ok(), "CompactRange");
  (void)db.ApproximateBytes("a", "z");
  Expect(db.Explain("b").ok(), "Explain");
  const lsm::Statistics before_put = db.GetStatistics();
  Expect(!before_put.ToText().empty(), "GetStatistics");
  Expect(db.Put("user:1", "4").ok() && db.GetStatistics().Since(before_put).write_entries == 1,
         "Statistics::Since");
  iterator = db.NewIterator({.lower_bound = "user:", .upper_bound = lsm::PrefixEnd("user:")});
  iterator->SeekToFirst();
  Expect(iterator->Valid() && iterator->key() == "user:1", "a scan of a prefix");
  iterator = nullptr;
  Expect(db.Close().ok() && !db.Get("a").ok(), "Close");
}

// Counts successful flushes.
class FlushCounter final : public lsm::EventListener {
 public:
  void OnFlushEnd(const lsm::FlushEnd& event) override { flushes += event.status.ok() ? 1 : 0; }
  int flushes = 0;
};

// The program's own threads, which do the work of several stores.
class Pool final : public lsm::Scheduler {
 public:
  ~Pool() override {
    for (std::thread& thread : threads_) thread.join();
  }
  void Schedule(Lane lane, std::function<void()> job) override {
    const std::lock_guard lock(mutex_);
    if (lane == Lane::kFlush) ++flushes;
    threads_.emplace_back(std::move(job));
  }
  std::atomic<int> flushes = 0;

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

void UseScheduler() {
  Pool pool;
  for (const std::string directory : {"one.store", "other.store"}) {
    Expect(lsm::DB::Destroy(directory).ok(), "Destroy");
    auto db = lsm::DB::Open(directory, {.environment = {.scheduler = &pool}});
    if (!db.ok()) return Expect(false, db.status().ToString());
    Expect((*db)->Put("a", "1").ok() && (*db)->Flush().ok() && (*db)->CompactRange().ok(),
           "a store whose work another scheduler does");
  }
  Expect(pool.flushes >= 2, "the scheduler runs flushes");
}

// EXPECTED_VERSION is the version of the package.
void UseRelease() {
  const std::string version = TRELLIS_VERSION_STRING;
  Expect(version == EXPECTED_VERSION, "the header is of version " + version);
  Expect(version == std::to_string(TRELLIS_VERSION_MAJOR) + "." +
                        std::to_string(TRELLIS_VERSION_MINOR) + "." +
                        std::to_string(TRELLIS_VERSION_PATCH),
         "the numbers are not those of " + version);
  const std::string info = lsm::BuildInfo();
  Expect(info.starts_with("trellis " + version + ", filters " + bloom::KeyedKindNames() + " ("),
         info);
}

}  // namespace

int main() {
  const std::string directory = "everything.store";
  Expect(lsm::DB::Destroy(directory).ok(), "Destroy");
  {
    const auto counter = std::make_shared<FlushCounter>();
    auto db = lsm::DB::Open(
        directory,
        {.mode = lsm::OpenMode::kMustNotExist, .filter_kind = "standard", .listener = counter});
    if (!db.ok()) return std::cerr << db.status() << "\n", 1;
    Expect(!lsm::DB::Open(directory).ok(), "a second Open of the same store is refused");
    UseStore(**db);
    Expect(counter->flushes > 0, "a listener is told of flushes");
  }
  {
    auto log = lsm::EventLog::Open({.directory = "everything.events"});
    if (!log.ok()) return std::cerr << log.status() << "\n", 1;
    auto db = lsm::DB::Open(directory, {.mode = lsm::OpenMode::kReadOnly, .listener = *log});
    Expect((*log)->lines_lost() == 0, "an event log writes its lines");
    Expect(db.ok() && !(*db)->Put("d", "4").ok(), "a store opened to be read refuses writes");
  }
  Expect(lsm::DB::Repair(directory).ok(), "Repair");
  UseScheduler();
  UseFilters();
  UseRelease();
  std::cout << lsm::BuildInfo() << "\n";
  return wrong == 0 ? 0 : 1;
}
