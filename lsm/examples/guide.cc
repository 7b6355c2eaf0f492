// The snippets of lsm/GUIDE.md, one function each, run in order in DIRECTORY.
//
//   guide DIRECTORY
//
// A snippet is the text between `// snippet: NAME` and `// end`; the guide quotes it.
//
//   add_executable(guide guide.cc)
//   target_link_libraries(guide PRIVATE Trellis::lsm)
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/cached_file_system.h"
#include "lsm/db.h"
#include "lsm/event_log.h"
#include "lsm/memory_file_system.h"

namespace {

// OK if `holds`; otherwise an error that names `what` and ends the program.
absl::Status Expect(bool holds, const char* what) {
  return holds ? absl::OkStatus() : absl::InternalError(what);
}

absl::Status Opening(const std::string& directory) {
  // snippet: opening
  lsm::Options options;
  options.target_fpp = 0.001;  // a table that lacks the key is read by one lookup in 1,000
  absl::StatusOr<std::unique_ptr<lsm::DB>> opened = lsm::DB::Open(directory, options);
  if (!opened.ok()) return opened.status();
  const std::unique_ptr<lsm::DB> db = *std::move(opened);
  // end
  // snippet: closing
  absl::Status closed = db->Close();
  // end
  return closed;
}

absl::Status ReadsAndWrites(lsm::DB& db) {
  // snippet: reads and writes
  absl::Status status = db.Put("apple", "red");
  if (!status.ok()) return status;

  absl::StatusOr<std::optional<std::string>> value = db.Get("apple");
  if (!value.ok()) return value.status();                // it could not be read
  if (value->has_value()) std::cout << **value << "\n";  // nullopt: there is no such key

  status = db.Delete("apple");  // OK too if the key does not exist
  // end
  return status;
}

absl::Status Reuse(lsm::DB& db) {
  if (absl::Status put = db.Put("pear", "green"); !put.ok()) return put;
  // snippet: fewer copies
  std::string buffer;  // keeps its memory from call to call
  absl::StatusOr<bool> found = db.Get("pear", &buffer);
  if (!found.ok()) return found.status();

  lsm::PinnedValue pinned;  // no copy, if the value lies in a cached block
  found = db.Get("pear", &pinned);
  if (!found.ok()) return found.status();
  std::string_view value = pinned.view();  // good until `pinned` is reset or destroyed

  const std::vector<std::string_view> keys = {"apple", "pear"};
  std::vector<absl::StatusOr<std::optional<std::string>>> values = db.MultiGet(keys);
  // end
  return Expect(buffer == "green" && value == "green" && values[1].ok() && *values[1] == "green",
                "the value of pear");
}

absl::Status RangeDeletes(lsm::DB& db) {
  for (const char* const key : {"log/2025-01-17", "log/2025-07-01", "tmp/1"}) {
    if (absl::Status put = db.Put(key, "1"); !put.ok()) return put;
  }
  // snippet: range deletes
  absl::Status status = db.DeleteRange("log/2025-01", "log/2025-07");  // the end is excluded
  if (!status.ok()) return status;
  status = db.DeleteRange("tmp/", lsm::PrefixEnd("tmp/"));  // all keys with a prefix
  // end
  if (!status.ok()) return status;
  const auto deleted = db.Get("log/2025-01-17"), kept = db.Get("log/2025-07-01"),
             temporary = db.Get("tmp/1");
  if (!deleted.ok() || !kept.ok() || !temporary.ok()) return deleted.status();
  return Expect(!deleted->has_value() && kept->has_value() && !temporary->has_value(),
                "the keys that are left");
}

absl::Status Batches(lsm::DB& db) {
  // snippet: batches
  lsm::WriteBatch batch;
  batch.Put("account/anna", "90");
  batch.Put("account/bert", "110");
  batch.Delete("transfer/17");
  absl::Status status = db.Write(batch, {.sync = true});
  // end
  return status;
}

absl::Status Snapshots(lsm::DB& db) {
  // snippet: snapshots
  std::unique_ptr<const lsm::Snapshot> before = db.GetSnapshot();
  absl::Status status = db.Put("account/anna", "0");
  if (!status.ok()) return status;
  auto old_value = db.Get("account/anna", {.snapshot = before.get()});  // still "90"
  before = nullptr;  // the store may drop the old version now
  // end
  return Expect(old_value.ok() && *old_value == "90", "the value as of the snapshot");
}

absl::Status Iterators(lsm::DB& db) {
  int count = 0;
  // snippet: iterators
  const std::string prefix = "account/";
  const std::unique_ptr<lsm::Iterator> iterator =
      db.NewIterator({.lower_bound = prefix, .upper_bound = lsm::PrefixEnd(prefix)});
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    std::cout << iterator->key() << " = " << iterator->value() << "\n";
    ++count;
  }
  if (!iterator->status().ok()) return iterator->status();  // the loop ended at an error
  // end
  return Expect(count == 2, "two accounts");
}

absl::Status Durability(lsm::DB& db) {
  // snippet: durability
  absl::Status status = db.Put("a", "1");                      // survives the end of this process
  if (status.ok()) status = db.Put("b", "2", {.sync = true});  // "a" and "b" survive a power cut
  if (status.ok()) status = db.Write({}, {.sync = true});      // makes all earlier writes durable
  // end
  return status;
}

absl::Status Keyspaces(const std::string& directory) {
  absl::StatusOr<std::unique_ptr<lsm::DB>> opened = lsm::DB::Open(directory);
  if (!opened.ok()) return opened.status();
  lsm::DB& db = **opened;
  // snippet: keyspaces
  absl::StatusOr<lsm::Keyspace> users = db.OpenKeyspace("users");
  if (!users.ok()) return users.status();
  absl::StatusOr<lsm::Keyspace> events =
      db.OpenKeyspace("events", {.compaction_style = lsm::CompactionStyle::kTiered});
  if (!events.ok()) return events.status();

  lsm::WriteBatch batch;  // over several keyspaces; applied as a whole or not at all
  batch.Put(*users, "anna", "member");
  batch.Put(*events, "1", "anna joined");
  absl::Status status = db.Write(batch);
  auto user = users->Get("anna");
  if (status.ok()) status = db.DropKeyspace("events");
  // end
  if (!status.ok()) return status;
  if (!user.ok()) return user.status();
  return Expect(*user == "member", "no keyspace");
}

// A clock that a test sets.
class TestClock : public lsm::Clock {
 public:
  uint64_t MonotonicNanos() override { return lsm::SystemClock().MonotonicNanos(); }
  uint64_t WallMicros() override { return seconds_ * 1'000'000; }
  void Add(uint64_t seconds) { seconds_ += seconds; }

 private:
  std::atomic<uint64_t> seconds_{1'800'000'000};
};

absl::Status Expiry() {
  TestClock clock;
  lsm::MemoryFileSystem files;
  lsm::Options options;
  options.environment = {.file_system = &files, .clock = &clock};
  absl::StatusOr<std::unique_ptr<lsm::DB>> opened = lsm::DB::Open("/store", options);
  if (!opened.ok()) return opened.status();
  lsm::DB& db = **opened;
  const auto an_hour_passes = [&] { clock.Add(3601); };
  // snippet: expiry
  absl::StatusOr<lsm::Keyspace> sessions = db.OpenKeyspace("sessions", {.expire_after = 3600});
  if (!sessions.ok()) return sessions.status();
  absl::Status status = sessions->Put("token", "anna");
  if (!status.ok()) return status;
  auto user = sessions->Get("token");  // "anna"
  an_hour_passes();
  auto later = sessions->Get("token");  // nullopt
  // end
  if (!user.ok() || !later.ok()) return user.ok() ? later.status() : user.status();
  return Expect(*user == "anna" && !later->has_value(), "a session lives for an hour");
}

absl::Status Memory(const std::string& directory) {
  // snippet: memory
  lsm::Options options;
  options.write_buffer_bytes = size_t{32} << 20;           // up to two of these
  options.block_cache_bytes = size_t{256} << 20;           // data blocks
  options.filter_goal = lsm::FilterGoal::Bytes(64 << 20);  // all filters together
  // end
  return lsm::DB::Open(directory, options).status();
}

absl::Status Copies(lsm::DB& db, const std::string& directory) {
  const std::string monday = directory + "/monday", tuesday = directory + "/tuesday",
                    restored = directory + "/restored";
  // snippet: backups
  absl::StatusOr<lsm::CopyReport> backup = db.Backup(monday);
  if (backup.ok()) backup = db.Backup(tuesday, /*base=*/monday);  // links what Monday has
  if (!backup.ok()) return backup.status();

  absl::StatusOr<lsm::CopyReport> copy = lsm::DB::Restore(tuesday, restored);
  // end
  return copy.status();
}

absl::Status Verifying(lsm::DB& db) {
  // snippet: verify
  absl::StatusOr<lsm::VerifyReport> report = db.Verify({.bytes_per_second = 50 << 20});
  if (!report.ok()) return report.status();  // it could not be carried out
  for (const std::string& problem : report->problems) std::cerr << problem << "\n";
  // end
  return Expect(report->problems.empty(), "a sound store");
}

absl::Status Repairing(const std::string& directory, const lsm::Options& options) {
  // snippet: repair
  absl::StatusOr<lsm::RepairReport> report = lsm::DB::Repair(directory, options);
  if (!report.ok()) return report.status();  // nothing was changed
  for (const std::string& line : report->left_out) std::cerr << line << "\n";
  // end
  return Expect(report->left_out.empty(), "nothing left out");
}

absl::Status Statistics(lsm::DB& db) {
  // snippet: statistics
  const lsm::Statistics before = db.GetStatistics();
  // ... some minutes later:
  const lsm::Statistics last_minutes = db.GetStatistics().Since(before);
  std::cout << last_minutes.wasted_reads_per_lookup() << "\n"
            << last_minutes.get_times.Percentile(0.99) << " ns\n"
            << last_minutes.ToText();  // ToJson() for programs

  absl::StatusOr<lsm::Explanation> explanation = db.Explain("banana");
  if (explanation.ok()) std::cout << explanation->ToText();  // each step of that lookup
  // end
  return explanation.status();
}

absl::Status Events(const std::string& directory) {
  // snippet: events
  absl::StatusOr<std::shared_ptr<lsm::EventLog>> log =
      lsm::EventLog::Open({.directory = directory + "/logs"});
  if (!log.ok()) return log.status();
  lsm::Options options;
  options.listener = *log;  // or a class of yours that derives from lsm::EventListener
  // end
  return lsm::DB::Open(directory + "/watched", options).status();
}

absl::Status Errors(lsm::DB& db) {
  // snippet: errors
  absl::Status status = db.Put("key", "value");
  if (absl::IsResourceExhausted(status)) {
    // The disk is full: delete keys, compact, or make space; then puts succeed again.
  } else if (absl::IsAborted(status)) {
    // An earlier write failed.  Once its cause is gone:
    status = db.Resume();
  }
  // end
  return status;
}

absl::Status OnObjects(lsm::FileSystem* files) {
  // snippet: object stores
  lsm::Options options;
  options.environment.file_system = files;  // of lsm::OpenRados; outlives the store
  options.lock_wait_seconds = 3600;         // a standby waits until the writer closes or dies
  absl::StatusOr<std::unique_ptr<lsm::DB>> opened = lsm::DB::Open("/store", options);
  if (!opened.ok()) return opened.status();

  absl::Status status = (*opened)->Put("a", "1");
  if (lsm::IsTakenOver(status)) std::cerr << "another process has the store now\n";
  // end
  return status;
}

absl::Status WithLocalCache(lsm::FileSystem* files, const std::string& directory) {
  // snippet: a local cache
  lsm::CachedFileSystem::Config config;
  config.directory = directory;  // on a local SSD, of this cache alone
  config.bytes_max = uint64_t{10} << 30;
  lsm::CachedFileSystem cached(files, config);  // outlives the store
  if (!cached.status().ok()) std::cerr << "without the cache: " << cached.status() << "\n";
  lsm::Options options;
  options.environment.file_system = &cached;
  // end
  absl::StatusOr<std::unique_ptr<lsm::DB>> opened = lsm::DB::Open("/cached", options);
  if (!opened.ok()) return opened.status();
  absl::Status status = (*opened)->Put("a", "1");
  std::cout << cached.statistics().hits << " pieces from the disk, " << cached.statistics().misses
            << " from the cluster\n";
  return status;
}

absl::Status OwnTests() {
  // snippet: tests of your own
  lsm::MemoryFileSystem files;  // outlives the store
  lsm::Options options;
  options.environment.file_system = &files;
  absl::StatusOr<std::unique_ptr<lsm::DB>> opened = lsm::DB::Open("/store", options);
  if (!opened.ok()) return opened.status();
  absl::Status status = (*opened)->Put("a", "1", {.sync = true});
  if (status.ok()) status = (*opened)->Put("b", "2");

  files.CrashAt(0);  // the power fails now
  opened->reset();
  files.Restart(lsm::MemoryFileSystem::Unsynced::kLost);
  opened = lsm::DB::Open("/store", options);  // has "a", and not "b"
  // end
  if (!status.ok()) return status;
  if (!opened.ok()) return opened.status();
  const auto a = (*opened)->Get("a"), b = (*opened)->Get("b");
  return Expect(a.ok() && a->has_value() && b.ok() && !b->has_value(), "what a crash leaves");
}

absl::Status Followers(lsm::DB& writer, const std::string& directory) {
  if (absl::Status status = writer.Put("apple", "green"); !status.ok()) return status;
  // snippet: followers
  lsm::Options options;
  options.mode = lsm::OpenMode::kFollow;
  absl::StatusOr<std::unique_ptr<lsm::DB>> follower = lsm::DB::Open(directory, options);
  if (!follower.ok()) return follower.status();
  auto value = (*follower)->Get("apple");  // at most about half a second old

  absl::Status fresh = (*follower)->Resume();  // sees all writes that were acknowledged before
  uint64_t age = (*follower)->GetStatistics().view_age_nanos;
  // end
  if (!fresh.ok()) return fresh;
  return Expect(value.ok() && *value == "green" && age > 0, "what a follower sees");
}

// Runs all snippets in new stores.
absl::Status Run(const std::string& directory) {
  for (const char* name :
       {"/store", "/small", "/keyspaces", "/watched", "/monday", "/tuesday", "/restored"}) {
    if (absl::Status status = lsm::DB::Destroy(directory + name); !status.ok()) return status;
  }
  const std::string store = directory + "/store";
  absl::Status status = Opening(store);
  if (status.ok()) status = Memory(directory + "/small");
  if (status.ok()) status = Keyspaces(directory + "/keyspaces");
  if (status.ok()) status = Expiry();
  if (status.ok()) status = Events(directory);
  if (status.ok()) status = OwnTests();
  lsm::MemoryFileSystem files;
  if (status.ok()) status = OnObjects(&files);
  if (status.ok()) status = WithLocalCache(&files, directory + "/cache");
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<lsm::DB>> opened = lsm::DB::Open(store);
  if (!opened.ok()) return opened.status();
  lsm::DB& db = **opened;
  for (const auto snippet : {ReadsAndWrites, Reuse, RangeDeletes, Batches, Snapshots, Iterators,
                             Durability, Verifying, Statistics, Errors}) {
    if (status = snippet(db); !status.ok()) return status;
  }
  if (status = Followers(db, store); !status.ok()) return status;
  if (status = Copies(db, directory); !status.ok()) return status;
  if (status = db.Close(); !status.ok()) return status;
  return Repairing(store, {});
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::cerr << "usage: guide DIRECTORY\n", 2;
  const absl::Status status = Run(arguments[1]);
  if (!status.ok()) std::cerr << "guide: " << status << "\n";
  return status.ok() ? 0 : 1;
}
