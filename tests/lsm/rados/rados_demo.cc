// Loads a store in Ceph, writes it, and checks that it has every acknowledged key.  The commands
// `cluster demo` and `cluster test` of tools/dev run several of these processes, and kill and pause
// them.
//
// Each acknowledged key becomes a line of a local file: microseconds since 1970, a blank, the key.
// The line is written after the put has returned.
//
// Exit codes: 0 success, 1 failure, 2 wrong use, 3 another process has taken the store over.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/concat.h"
#include "bloom/core/status.h"
#include "lsm/bytes/split_mix.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/rados.h"
#include "tests/lsm/rados/counting_pool.h"
#include "tests/lsm/rados/test_cluster.h"

namespace {

using bloom::Concat;
using lsm::DB;
using testing_support::CountingFiles;
using testing_support::CountingPool;

constexpr std::string_view kUsage =
    R"(Usage: rados_demo [OPTION...] COMMAND, with a STORE such as rados://POOL/NAME

  load STORE KEYS ACKNOWLEDGED            writes that many keys, and flushes them into a table
  write STORE NAME SECONDS ACKNOWLEDGED   waits for the store's lock; then four threads put keys with
                                          `sync`, until the time is over, SIGTERM comes, or another
                                          process takes the store over.  NAME tells writers apart
  follow STORE ACKNOWLEDGED...            follows the store until SIGTERM comes, and looks up each key once
                                          a view must have it; at the end all, and prints what it saw.
                                          SIGUSR1 ends a time without writers: it prints the age of the
                                          oldest view until then
  check STORE ACKNOWLEDGED...             looks up every acknowledged key
  reads STORE KEYS                        counts reads from the network for loaded and absent keys

  --lock-millis N     a lock expires after that time; by default 10000
  --give-up-millis N  calls on the pool return after that time; by default they wait for the cluster
  --calls-max N       `write` kills itself before call N + 1 on the pool
)";

constexpr int kThreads = 4;
constexpr size_t kBatch = 1000;
constexpr uint64_t kLockWaitSeconds = 120;
constexpr uint64_t kPresentLookups = 5000, kAbsentLookups = 200'000;

struct Settings {
  uint64_t lock_millis = 10'000;
  uint64_t give_up_millis = 0;
  uint64_t calls_max = 0;
  std::vector<std::string> words;
};

// Keys of all writers are spread over the same range, so that only filters tell absent keys.
std::string KeyOf(std::string_view writer, uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016" PRIx64, lsm::Mix(number + 1));
  return Concat(digits, "-", writer, "-", number);
}
std::string ValueOf(std::string_view key) { return Concat(key, std::string(70, '.')); }

std::atomic<bool> stop{false}, end_of_quiet{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // signal handlers set them

class Acknowledged {
 public:
  static absl::StatusOr<std::unique_ptr<Acknowledged>> Create(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return absl::UnavailableError(Concat(path, ": cannot be created"));
    return std::unique_ptr<Acknowledged>(new Acknowledged(file));
  }
  ~Acknowledged() { ::close(file_); }
  Acknowledged(const Acknowledged&) = delete;
  Acknowledged& operator=(const Acknowledged&) = delete;

  // Written at once: the lines stay if the process is killed.
  absl::Status Add(std::span<const std::string> keys) {
    const std::lock_guard lock(mutex_);
    const uint64_t now = lsm::SystemClock().WallMicros();
    if (count_ > 0) longest_pause_ = std::max(longest_pause_, now - std::min(now, last_));
    last_ = now;
    count_ += keys.size();
    std::string lines;
    for (const std::string& key : keys) lines.append(Concat(now, " ", key, "\n"));
    if (::write(file_, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()))
      return absl::OkStatus();
    return absl::UnavailableError("cannot write the acknowledged keys");
  }

  // Not while Add runs.
  uint64_t count() const { return count_; }
  double longest_pause_seconds() const { return static_cast<double>(longest_pause_) / 1e6; }

 private:
  explicit Acknowledged(int file) : file_(file) {}

  const int file_;
  std::mutex mutex_;
  uint64_t count_ = 0, last_ = 0, longest_pause_ = 0;
};

lsm::RadosOptions OptionsFor(const lsm::RadosPlace& place, const Settings& settings) {
  lsm::RadosOptions options;
  options.pool = place.pool;
  options.user = testing_support::kTestUser;
  options.give_up_after_millis = settings.give_up_millis;
  options.lock_millis = settings.lock_millis;
  return options;
}

absl::StatusOr<std::unique_ptr<DB>> OpenStore(const std::string& path, lsm::FileSystem* files,
                                              lsm::OpenMode mode) {
  lsm::Options options;
  options.mode = mode;
  options.lock_wait_seconds = kLockWaitSeconds;
  options.environment.file_system = files;
  return DB::Open(path, options);
}

absl::StatusOr<uint64_t> ParseCount(const std::string& text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size() && count > 0) return count;
  return absl::InvalidArgumentError(Concat("\"", text, "\" is no number from 1 on"));
}

absl::Status Load(const Settings& settings) {
  TRELLIS_ASSIGN_OR_RETURN(const lsm::RadosPlace place, lsm::ParseRadosUri(settings.words[1]));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t keys, ParseCount(settings.words[2]));
  TRELLIS_ASSIGN_OR_RETURN(const auto acknowledged, Acknowledged::Create(settings.words[3]));
  TRELLIS_ASSIGN_OR_RETURN(const auto files, lsm::OpenRados(OptionsFor(place, settings)));
  TRELLIS_ASSIGN_OR_RETURN(const auto db,
                           OpenStore(place.path, files.get(), lsm::OpenMode::kMustNotExist));
  for (uint64_t i = 0; i < keys; i += kBatch) {
    lsm::WriteBatch batch;
    std::vector<std::string> batch_keys;
    for (uint64_t number = i; number < std::min(keys, i + kBatch); ++number) {
      batch_keys.push_back(KeyOf("load", number));
      batch.Put(batch_keys.back(), ValueOf(batch_keys.back()));
    }
    TRELLIS_RETURN_IF_ERROR(db->Write(batch, {.sync = true}));
    TRELLIS_RETURN_IF_ERROR(acknowledged->Add(batch_keys));
  }
  TRELLIS_RETURN_IF_ERROR(db->Flush());
  return db->Close();
}

// Puts keys until told to stop, and returns the first error.
absl::Status PutKeys(DB& db, const std::string& writer, uint64_t until_nanos,
                     Acknowledged& acknowledged) {
  std::mutex mutex;
  absl::Status first;
  std::atomic<uint64_t> next{0};
  const auto put_some = [&]() -> absl::Status {
    while (!stop && lsm::SystemClock().MonotonicNanos() < until_nanos) {
      const std::string key = KeyOf(writer, next++);
      TRELLIS_RETURN_IF_ERROR(db.Put(key, ValueOf(key), {.sync = true}));
      TRELLIS_RETURN_IF_ERROR(acknowledged.Add({&key, 1}));
    }
    return absl::OkStatus();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const absl::Status status = put_some();
      stop = stop || !status.ok();
      const std::lock_guard lock(mutex);
      if (first.ok()) first = status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first;
}

absl::Status Write(const Settings& settings) {
  TRELLIS_ASSIGN_OR_RETURN(const lsm::RadosPlace place, lsm::ParseRadosUri(settings.words[1]));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t seconds, ParseCount(settings.words[3]));
  TRELLIS_ASSIGN_OR_RETURN(const auto acknowledged, Acknowledged::Create(settings.words[4]));
  const lsm::RadosOptions options = OptionsFor(place, settings);
  std::unique_ptr<CountingFiles> counting;
  std::unique_ptr<lsm::FileSystem> rados;
  if (settings.calls_max > 0) {
    TRELLIS_ASSIGN_OR_RETURN(counting, CountingFiles::Open(options, settings.calls_max));
  } else {
    TRELLIS_ASSIGN_OR_RETURN(rados, lsm::OpenRados(options));
  }
  lsm::FileSystem* const files = counting != nullptr ? counting->files() : rados.get();
  std::printf("waiting for the lock\n");
  TRELLIS_ASSIGN_OR_RETURN(const auto db, OpenStore(place.path, files, lsm::OpenMode::kMustExist));
  std::printf("writing\n");
  std::signal(SIGTERM, [](int) { stop = true; });  // before that it ends the process
  const uint64_t until = lsm::SystemClock().MonotonicNanos() + seconds * 1'000'000'000;
  const absl::Status status = PutKeys(*db, settings.words[2], until, *acknowledged);
  std::printf("acknowledged %" PRIu64 ", longest pause %.2f s\n", acknowledged->count(),
              acknowledged->longest_pause_seconds());
  TRELLIS_RETURN_IF_ERROR(status);
  return db->Close();
}

struct AcknowledgedKey {
  std::string key;
  uint64_t micros = 0;  // when its put had returned
};

// A file of acknowledged keys, which a writer may be extending.
class AcknowledgedFile {
 public:
  explicit AcknowledgedFile(std::string path) : path_(std::move(path)) {}

  // Adds the keys since the last call.  A writer that was killed may leave half a line, whose key
  // does not count.
  absl::Status ReadOn(std::vector<AcknowledgedKey>* keys) {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read_));
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.good()) return absl::UnavailableError(Concat(path_, ": cannot be read"));
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      if (end == text.npos) break;
      const size_t blank = text.find(' ', begin);
      if (blank > end) return absl::DataLossError(Concat(path_, ": a line without a key"));
      AcknowledgedKey& key = keys->emplace_back();
      key.key = text.substr(blank + 1, end - blank - 1);
      std::from_chars(text.data() + begin, text.data() + blank, key.micros);
      read_ += end + 1 - begin;
      begin = end + 1;
    }
    return absl::OkStatus();
  }
  bool Exists() const { return std::filesystem::exists(path_); }

 private:
  std::string path_;
  uint64_t read_ = 0;  // bytes
};

std::vector<AcknowledgedFile> FilesIn(const Settings& settings) {
  std::vector<AcknowledgedFile> files;
  for (size_t i = 2; i < settings.words.size(); ++i) files.emplace_back(settings.words[i]);
  return files;
}

// The keys that the store lacks, or that have another value.
absl::StatusOr<uint64_t> CountLost(DB& db, std::vector<std::string> keys) {
  std::sort(keys.begin(), keys.end());
  uint64_t lost = 0;
  for (size_t i = 0; i < keys.size(); i += kBatch) {
    const std::vector<std::string_view> some(
        keys.begin() + static_cast<ptrdiff_t>(i),
        keys.begin() + static_cast<ptrdiff_t>(std::min(keys.size(), i + kBatch)));
    const auto values = db.MultiGet(some);
    for (size_t k = 0; k < some.size(); ++k) {
      TRELLIS_RETURN_IF_ERROR(values[k].status());
      if (*values[k] != ValueOf(some[k]) && ++lost <= 10)
        std::printf("LOST %s\n", std::string(some[k]).c_str());
    }
  }
  return lost;
}

absl::Status Check(const Settings& settings) {
  TRELLIS_ASSIGN_OR_RETURN(const lsm::RadosPlace place, lsm::ParseRadosUri(settings.words[1]));
  std::vector<AcknowledgedKey> acknowledged;
  for (AcknowledgedFile& file : FilesIn(settings))
    TRELLIS_RETURN_IF_ERROR(file.ReadOn(&acknowledged));
  std::vector<std::string> keys;
  for (AcknowledgedKey& key : acknowledged) keys.push_back(std::move(key.key));
  TRELLIS_ASSIGN_OR_RETURN(const auto files, lsm::OpenRados(OptionsFor(place, settings)));
  TRELLIS_ASSIGN_OR_RETURN(const auto db,
                           OpenStore(place.path, files.get(), lsm::OpenMode::kMustExist));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t lost, CountLost(*db, keys));
  std::printf("acknowledged %zu\nfound %zu\nlost %" PRIu64 "\n", keys.size(), keys.size() - lost,
              lost);
  if (lost > 0) return absl::DataLossError(Concat(lost, " acknowledged keys are lost"));
  return db->Close();
}

// The views and the keys that a follower has seen.
struct Followed {
  uint64_t views = 1, oldest_nanos = 0;
  uint64_t keys = 0, wrong = 0;  // looked up

  absl::Status LookUp(DB& db, const std::vector<std::string>& some) {
    TRELLIS_ASSIGN_OR_RETURN(const uint64_t lost, CountLost(db, some));
    keys += some.size();
    wrong += lost;
    return absl::OkStatus();
  }
};

// A view has the writes that were acknowledged before its refresh began.
absl::Status FollowKeys(DB& db, std::vector<AcknowledgedFile> files, Followed* followed) {
  std::vector<AcknowledgedKey> waiting;  // a view need not have them yet
  std::vector<std::string> all;
  uint64_t last_age = 0;
  while (!stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (AcknowledgedFile& file : files) {
      if (file.Exists()) TRELLIS_RETURN_IF_ERROR(file.ReadOn(&waiting));
    }
    const uint64_t now = lsm::SystemClock().WallMicros();  // before the age
    const uint64_t age = db.GetStatistics().view_age_nanos;
    if (age < last_age) ++followed->views;
    last_age = age;
    followed->oldest_nanos = std::max(followed->oldest_nanos, age);
    if (end_of_quiet.exchange(false))
      std::printf("quiet %.2f\n", static_cast<double>(followed->oldest_nanos) / 1e9);
    const auto has_come = [&](const AcknowledgedKey& key) { return key.micros + age / 1000 < now; };
    std::vector<std::string> some;
    for (const AcknowledgedKey& key : waiting) {
      if (has_come(key)) some.push_back(key.key);
    }
    std::erase_if(waiting, has_come);
    TRELLIS_RETURN_IF_ERROR(followed->LookUp(db, some));
    all.insert(all.end(), some.begin(), some.end());
  }
  TRELLIS_RETURN_IF_ERROR(db.Resume());
  for (const AcknowledgedKey& key : waiting) all.push_back(key.key);
  return followed->LookUp(db, all);
}

absl::Status Follow(const Settings& settings) {
  TRELLIS_ASSIGN_OR_RETURN(const lsm::RadosPlace place, lsm::ParseRadosUri(settings.words[1]));
  std::signal(SIGTERM, [](int) { stop = true; });
  std::signal(SIGUSR1, [](int) { end_of_quiet = true; });
  TRELLIS_ASSIGN_OR_RETURN(const auto files, lsm::OpenRados(OptionsFor(place, settings)));
  TRELLIS_ASSIGN_OR_RETURN(const auto db,
                           OpenStore(place.path, files.get(), lsm::OpenMode::kFollow));
  std::printf("following\n");
  Followed followed;
  TRELLIS_RETURN_IF_ERROR(FollowKeys(*db, FilesIn(settings), &followed));
  std::printf("views %" PRIu64 "\noldest %.2f\nkeys %" PRIu64 "\nwrong %" PRIu64 "\n",
              followed.views, static_cast<double>(followed.oldest_nanos) / 1e9, followed.keys,
              followed.wrong);
  if (followed.wrong > 0) return absl::DataLossError("the follower read wrong values");
  return db->Close();
}

// Looks up keys that no block cache holds, and prints the reads of each.
absl::Status CountReads(DB& db, const CountingPool& pool, std::string_view writer, uint64_t keys,
                        uint64_t lookups) {
  const uint64_t before = pool.reads();
  const bool exists = writer == "load";
  lsm::SplitMix random(1);
  for (uint64_t i = 0; i < lookups; ++i) {
    const std::string key = KeyOf(writer, random.Below(keys));
    TRELLIS_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                             db.Get(key, {.fill_cache = false}));
    if (value.has_value() != exists)
      return absl::DataLossError(Concat(key, exists ? ": is lost" : ": should be absent"));
  }
  std::printf("%s %.4f\n", exists ? "present" : "absent",
              static_cast<double>(pool.reads() - before) / static_cast<double>(lookups));
  return absl::OkStatus();
}

absl::Status Reads(const Settings& settings) {
  TRELLIS_ASSIGN_OR_RETURN(const lsm::RadosPlace place, lsm::ParseRadosUri(settings.words[1]));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t keys, ParseCount(settings.words[2]));
  TRELLIS_ASSIGN_OR_RETURN(const auto counting,
                           CountingFiles::Open(OptionsFor(place, settings), 0));
  {
    TRELLIS_ASSIGN_OR_RETURN(const auto db,
                             OpenStore(place.path, counting->files(), lsm::OpenMode::kMustExist));
    TRELLIS_RETURN_IF_ERROR(db->CompactRange());
    TRELLIS_RETURN_IF_ERROR(db->Close());
  }
  TRELLIS_ASSIGN_OR_RETURN(const auto db,
                           OpenStore(place.path, counting->files(), lsm::OpenMode::kMustExist));
  TRELLIS_RETURN_IF_ERROR(db->WaitForBackgroundWork());
  TRELLIS_RETURN_IF_ERROR(CountReads(*db, counting->pool(), "none", keys, kAbsentLookups));
  TRELLIS_RETURN_IF_ERROR(CountReads(*db, counting->pool(), "load", keys, kPresentLookups));
  std::printf("predicted %.4f\n", db->GetStatistics().total.expected_wasted_reads);
  return db->Close();
}

struct Command {
  std::string_view name;
  size_t words_least, words_most;
  absl::Status (*run)(const Settings& settings);
};
constexpr Command kCommands[] = {{"load", 4, 4, Load},
                                 {"write", 5, 5, Write},
                                 {"follow", 3, 1000, Follow},
                                 {"check", 3, 1000, Check},
                                 {"reads", 3, 3, Reads}};

absl::Status Run(std::vector<std::string> words) {
  Settings settings;
  const std::map<std::string_view, uint64_t*> options = {
      {"--lock-millis", &settings.lock_millis},
      {"--give-up-millis", &settings.give_up_millis},
      {"--calls-max", &settings.calls_max}};
  while (words.size() > 2 && options.contains(words[0])) {
    TRELLIS_ASSIGN_OR_RETURN(*options.at(words[0]), ParseCount(words[1]));
    words.erase(words.begin(), words.begin() + 2);
  }
  settings.words = std::move(words);
  for (const Command& command : kCommands) {
    const size_t count = settings.words.size();
    if (count >= command.words_least && count <= command.words_most &&
        settings.words[0] == command.name)
      return command.run(settings);
  }
  return absl::InvalidArgumentError(Concat(kUsage));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a script reads the lines while the process runs
  const absl::Status status = Run({argv + 1, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  if (lsm::IsTakenOver(status)) return 3;
  return absl::IsInvalidArgument(status) ? 2 : 1;
}
