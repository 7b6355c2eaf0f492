#include "tests/reliability/jobs/kills.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/child.h"
#include "tests/reliability/workload/styles.h"
#include "tests/reliability/workload/workload.h"
#include "tests/support/scratch_dir.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::Dice;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr char kLogsSuffix[] = ".logs";
constexpr size_t kWriters = 3;
constexpr size_t kKeysPerWriter = 40;
constexpr uint64_t kKillsPerStore = 25;
// One in this many processes is killed while it opens the store.
constexpr size_t kOpeningOneIn = 2;
// A process that sends no message for this long hangs.
constexpr std::chrono::seconds kPatience{20};

// --- commits ---

// Each writer has its own keys, so that the values depend only on its own commits.  The store may
// order commits of different writers in any way.
std::string KeyOf(size_t writer, size_t number) { return Concat("w", writer, "/", number); }

// The entries of the first writer's keyspace have times.
std::string KeyspaceOf(size_t writer) { return writer == 0 ? kTimedKeyspace : Concat("w", writer); }

std::string ValueOf(Dice& dice, const std::string& origin) {
  size_t filling = dice.Roll(100);
  if (dice.OneIn(10)) filling = 2000;
  if (dice.OneIn(25)) filling = 20'000;
  return Concat(origin, std::string(filling, static_cast<char>('a' + dice.Roll(26))));
}

// Deletes keys of the writer.  Every fourth range goes up to the writer's last key.
Effect RangeOf(Dice& dice, size_t writer, std::string_view keyspace) {
  std::string from = KeyOf(writer, dice.Roll(kKeysPerWriter));
  std::string to = dice.OneIn(4) ? Concat("w", writer, "0")  // '0' is the character after '/'
                                 : KeyOf(writer, dice.Roll(kKeysPerWriter));
  if (to < from) std::swap(from, to);
  return DeletesRange(KeyIn(keyspace, from), KeyIn(keyspace, to));
}

// The writer's commit with this number, counted from 0.  The values depend on the process, because
// the first commit of a process may have the same number as one that was in flight when the process
// before it ended.  `before` is what the writer's commits before this one lead to.
Commit CommitOf(uint64_t seed, uint64_t process, size_t writer, uint64_t number,
                const Contents& before) {
  Dice dice(((seed * 1'000'003 + process) * 1'000'003 + number) * kWriters + writer);
  const std::string origin = Concat("commit ", number, " of process ", process, ":");
  Commit commit;
  // Each writer creates and drops a keyspace of its own.  The last writer has none.
  const std::string own = KeyspaceOf(writer);
  const bool is_there = before.contains(EntryOf(own));
  if (writer + 1 < kWriters && dice.OneIn(is_there ? 200 : 10))
    return {{EntryOf(own), is_there ? std::nullopt : std::optional<std::string>(kIsThere)}};
  const auto add = [&](size_t deleted_one_in) {
    const std::string_view keyspace = is_there && dice.OneIn(2) ? own : lsm::kDefaultKeyspaceName;
    if (dice.OneIn(20)) return commit.push_back(RangeOf(dice, writer, keyspace));
    std::optional<std::string> value;
    if (!dice.OneIn(deleted_one_in)) value = ValueOf(dice, origin);
    commit.push_back({KeyIn(keyspace, KeyOf(writer, dice.Roll(kKeysPerWriter))), std::move(value)});
  };
  const size_t entries = dice.OneIn(3) ? 2 + dice.Roll(5) : 1;
  while (commit.size() < entries) add(/*deleted_one_in=*/6);
  // Many pages long, so that the end of the process may cut its record.
  if (dice.OneIn(300)) commit[0] = {KeyOf(writer, 0), Concat(origin, std::string(300'000, 'l'))};
  return commit;
}

absl::Status Write(DB& db, const Commit& commit, bool sync) {
  if (commit.size() > 1) return WriteCommit(db, commit, sync);
  const Effect& effect = commit.front();
  if (PlaceOf(effect.key).keyspace != lsm::kDefaultKeyspaceName)
    return WriteCommit(db, commit, sync);
  if (effect.is_range) return db.DeleteRange(effect.key, effect.to, {.sync = sync});
  return effect.value ? db.Put(effect.key, *effect.value, {.sync = sync})
                      : db.Delete(effect.key, {.sync = sync});
}

// All keys that the writer may write, and the entry of its keyspace.
std::vector<std::string> KeysOf(size_t writer) {
  const std::string own = KeyspaceOf(writer);
  std::vector<std::string> keys = {EntryOf(own)};
  for (size_t i = 0; i < kKeysPerWriter; ++i) {
    keys.push_back(KeyOf(writer, i));
    keys.push_back(KeyIn(own, KeyOf(writer, i)));
  }
  return keys;
}

// The known state of a writer's commits.
struct Track {
  uint64_t count = 0;  // commits that the store holds
  Contents contents;   // after these commits
  // The process that may have begun one more commit, which the store may hold too.
  std::optional<uint64_t> pending;

  void Add(const Commit& commit) {
    Apply(commit, &contents);
    ++count;
  }
};

// --- messages of the processes ---

struct Message {
  enum Kind : uint64_t {
    kOpened,        // the store is open and was completely read; `counts` commits of each writer
    kAcknowledged,  // the first `counts[0]` commits of `writer`
    kClosing,       // the store, in order to open it again
    kFailed,        // `counts[0]` bytes of text follow
  } kind = kOpened;
  uint64_t writer = 0;
  uint64_t counts[kWriters] = {};
};

// A message with this much text is still written atomically (PIPE_BUF).
constexpr size_t kTextBytesMax = 3000;

// --- the process that is killed ---

class Victim {
 public:
  Victim(std::string path, bool logs_apart, uint64_t seed, uint64_t process,
         std::vector<Track> tracks, int pipe)
      : path_(std::move(path)),
        logs_apart_(logs_apart),
        seed_(seed),
        process_(process),
        tracks_(std::move(tracks)),
        pipe_(pipe),
        dice_(seed * 1'000'003 + process) {}

  // Runs until the process is killed or something is wrong.
  [[noreturn]] void Live() {
    // Some processes close the store again and again.
    const uint64_t commits_max = dice_.OneIn(3) ? 3 + dice_.Roll(40) : ~uint64_t{0};
    const size_t sync_one_in = size_t{1} << (3 * dice_.Roll(5));
    for (;;) {
      Require(Open());
      Require(LookThrough());
      WriteALot(commits_max, sync_one_in);
      Say({Message::kClosing, 0, {}});
      db_ = nullptr;
    }
  }

 private:
  static absl::Status Wrong(std::string_view what) {
    return absl::InternalError(absl::string_view(what.data(), what.size()));
  }

  void Say(const Message& message) { SayBytes(&message, sizeof message); }

  // So few bytes are written atomically, also with other writers and if the process is killed.
  void SayBytes(const void* bytes, size_t size) {
    while (::write(pipe_, bytes, size) < 0) {
      if (errno != EINTR) ::_exit(2);
    }
  }

  void Require(const absl::Status& status) {
    if (status.ok()) return;
    const std::string text = status.ToString().substr(0, kTextBytesMax);
    const Message message{Message::kFailed, 0, {text.size()}};
    std::string bytes(reinterpret_cast<const char*>(&message), sizeof message);
    bytes += text;
    SayBytes(bytes.data(), bytes.size());
    ::_exit(1);
  }

  absl::Status Open() {
    lsm::Options options;
    options.write_buffer_bytes = 64 << 10;
    options.block_cache_bytes = 64 << 10;
    options.block_bytes = 512;
    options.table_bytes = 64 << 10;
    options.level1_bytes = 64 << 10;
    options.level0_compaction_tables = 2;
    options.compaction_style = StyleOf(dice_.Next());
    if (logs_apart_) options.log_directory = path_ + kLogsSuffix;
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(path_, options));
    return absl::OkStatus();
  }

  // Reads the whole store and checks it against the acknowledged commits.
  absl::Status LookThrough() {
    std::vector<Contents> found(kWriters);
    TRELLIS_RETURN_IF_ERROR(Walk(&found));
    Message message{Message::kOpened, 0, {}};
    for (size_t writer = 0; writer < kWriters; ++writer) {
      TRELLIS_RETURN_IF_ERROR(LookUp(writer, found[writer]));
      TRELLIS_RETURN_IF_ERROR(Settle(writer, found[writer]));
      message.counts[writer] = tracks_[writer].count;
    }
    Say(message);
    return absl::OkStatus();
  }

  absl::Status Walk(std::vector<Contents>* found) {
    TRELLIS_ASSIGN_OR_RETURN(const Contents all, ReadStore(*db_));
    for (const auto& [key, value] : all) {
      size_t writer = 0;
      while (writer < kWriters && !IsOf(writer, PlaceOf(key))) ++writer;
      if (writer == kWriters) return Wrong(Concat("a key that no process wrote: ", key));
      (*found)[writer].emplace(key, value);
    }
    return absl::OkStatus();
  }

  static bool IsOf(size_t writer, const Place& place) {
    return (place.keyspace == lsm::kDefaultKeyspaceName || place.keyspace == KeyspaceOf(writer)) &&
           (!place.key || place.key->starts_with(Concat("w", writer, "/")));
  }

  // Point lookups take another path.
  absl::Status LookUp(size_t writer, const Contents& found) {
    for (const std::string& key : KeysOf(writer)) {
      TRELLIS_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                               reliability::LookUp(*db_, key));
      const auto place = found.find(key);
      if (value != (place == found.end() ? std::nullopt : std::optional(place->second)))
        return Wrong(Concat("an iterator and Get disagree about ", key));
    }
    return absl::OkStatus();
  }

  // The store must hold the writer's commits.  It may also hold the commit that was in flight, but
  // only as a whole.
  absl::Status Settle(size_t writer, const Contents& found) {
    Track& track = tracks_[writer];
    const Contents acknowledged = track.contents;
    const std::optional<uint64_t> pending = std::exchange(track.pending, std::nullopt);
    if (found == acknowledged) return absl::OkStatus();
    if (pending) {
      track.Add(CommitOf(seed_, *pending, writer, track.count, track.contents));
      if (found == track.contents) return absl::OkStatus();
    }
    std::string text = Concat("writer ", writer, ": does not hold what its first ",
                              track.count - (pending ? 1 : 0), " commits",
                              pending ? ", or those and the next one, lead to:" : " lead to:");
    for (const std::string& key : KeysOf(writer)) {
      const std::string is = TextAt(found, key), was = TextAt(acknowledged, key),
                        may_be = TextAt(track.contents, key);
      if (is == was && is == may_be) continue;
      text += Concat(" ", key, " is ", is, ", was ", was);
      if (may_be != was) text += Concat(", may be ", may_be);
      text += ";";
    }
    return Wrong(text);
  }

  static std::string TextAt(const Contents& contents, const std::string& key) {
    const auto place = contents.find(key);
    if (place == contents.end()) return "not there";
    return Concat("[", lsm::Escape(place->second, 40), "]");
  }

  void WriteALot(uint64_t commits_max, size_t sync_one_in) {
    std::vector<std::thread> threads;
    for (size_t writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([this, writer, commits_max, sync_one_in, seed = dice_.Next()] {
        Dice dice(seed);
        Track& track = tracks_[writer];
        for (uint64_t i = 0; i < commits_max; ++i) {
          const Commit commit = CommitOf(seed_, process_, writer, track.count, track.contents);
          Require(lsm::WithContext(Write(*db_, commit, dice.OneIn(sync_one_in)), "a write"));
          track.Add(commit);
          Say({Message::kAcknowledged, writer, {track.count}});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const std::string path_;
  const bool logs_apart_;
  const uint64_t seed_, process_;
  std::vector<Track> tracks_;
  const int pipe_;
  Dice dice_;
  std::unique_ptr<DB> db_;
};

// --- the process that kills ---

class Killer {
 public:
  explicit Killer(uint64_t seed) : seed_(seed), dice_(seed) {}

  KillReport Run(uint64_t kills) {
    while (report_.kills < kills && report_.finding.empty()) {
      if (report_.kills % kKillsPerStore == 0) StartAfresh();
      if (!report_.finding.empty()) break;
      const uint64_t process = report_.kills;
      const std::string problem = KillOne(process);
      if (problem.empty()) continue;
      report_.finding = Concat("seed ", seed_, ", process ", process, ": ", problem, "\n", Files());
    }
    EndStore();
    return report_;
  }

 private:
  // The reports of one process.
  struct Life {
    uint64_t process = 0;
    std::string bytes;  // bytes of incomplete messages
    bool opened = false;
    bool closing = false;
    bool acknowledged = false;
    std::string failure;
  };
  enum class Heard : uint8_t { kWords, kNothing, kEnd };

  std::string path() const { return scratch_.path_of(Concat("store", report_.stores)); }

  bool logs_apart() const { return report_.stores % 2 == 0; }

  // Destroys the store through symbolic links, which must stay, like the directories that they lead
  // to; then without links.
  std::string DestroyStore() const {
    const std::string link = path() + ".link";
    lsm::Options options;
    for (const char* suffix : {"", kLogsSuffix}) {
      if (std::filesystem::exists(path() + suffix))
        std::filesystem::create_directory_symlink(path() + suffix, link + suffix);
    }
    for (const std::string& at : {link, path()}) {
      if (logs_apart()) options.log_directory = at + kLogsSuffix;
      if (const absl::Status status = DB::Destroy(at, options); !status.ok())
        return Concat(at, ": cannot be destroyed: ", status.ToString());
      for (const std::string& directory : {path(), path() + kLogsSuffix}) {
        if (std::filesystem::exists(directory) && !std::filesystem::is_empty(directory))
          return Concat(at, ": was destroyed, and something is left in ", directory);
      }
    }
    if (std::filesystem::exists(path())) return Concat(path(), ": is empty, and was not removed");
    return "";
  }

  void EndStore() {
    if (report_.stores > 0 && report_.finding.empty()) {
      const std::string problem = DestroyStore();
      if (!problem.empty()) report_.finding = Concat("seed ", seed_, ": ", problem, "\n", Files());
    }
    std::error_code ignored;
    for (const std::string& at : {path(), path() + ".link"}) {
      std::filesystem::remove_all(at, ignored);
      std::filesystem::remove_all(at + kLogsSuffix, ignored);
    }
  }

  void StartAfresh() {
    EndStore();
    ++report_.stores;
    tracks_.assign(kWriters, Track());
  }

  microseconds AnyOf(microseconds from, microseconds to) {
    return from + microseconds(dice_.Roll(static_cast<size_t>((to - from).count()) + 1));
  }

  // The finding, or empty.
  std::string KillOne(uint64_t process) {
    const auto start = Clock::now();
    std::optional<Clock::time_point> end;  // when to kill the process, once that is known
    if (dice_.OneIn(kOpeningOneIn)) end = start + AnyOf(microseconds(0), opening_time_ * 5 / 4);
    Child child(
        [&](int pipe) { Victim(path(), logs_apart(), seed_, process, tracks_, pipe).Live(); });
    if (!child.started()) return Concat("cannot be forked: ", std::strerror(errno));
    Life life;
    life.process = process;
    Heard heard = Heard::kWords;
    while (heard == Heard::kWords && (!end || Clock::now() < *end)) {
      const bool was_opened = life.opened;
      heard = Hear(child.pipe(), end.value_or(Clock::now() + kPatience), &life);
      const auto now = Clock::now();
      if (life.opened && !was_opened)
        opening_time_ = std::chrono::duration_cast<microseconds>(now - start);
      if (life.acknowledged && !end) end = now + AnyOf(microseconds(1000), microseconds(30'000));
    }
    const bool hangs = heard == Heard::kNothing && !end;
    child.Kill();
    while (Hear(child.pipe(), Clock::now() + kPatience, &life) == Heard::kWords) {
    }
    return HowItEnded(child.Wait(), hangs, life);
  }

  std::string HowItEnded(int status, bool hangs, const Life& life) {
    const char* const when = !life.opened   ? "while it opened the store"
                             : life.closing ? "while it closed the store or opened it again"
                                            : "while it wrote";
    if (!life.failure.empty()) return Concat(when, ": ", life.failure);
    if (hangs) return Concat("says nothing for ", kPatience.count(), " seconds ", when);
    if (WIFEXITED(status)) return Concat("exits with ", WEXITSTATUS(status), " ", when);
    if (WTERMSIG(status) != SIGKILL) return Concat(::strsignal(WTERMSIG(status)), " ", when);
    ++report_.kills;
    report_.while_opening += !life.opened;
    report_.while_closing += life.closing;
    return "";
  }

  // Waits for a message until the time `until`.
  Heard Hear(int pipe, Clock::time_point until, Life* life) {
    for (;;) {
      const int64_t nanos = std::max<int64_t>(
          0, std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now()).count());
      const timespec wait{nanos / 1'000'000'000, nanos % 1'000'000'000};
      pollfd source{pipe, POLLIN, 0};
      const int ready = ::ppoll(&source, 1, &wait, nullptr);
      if (ready == 0) return Heard::kNothing;
      char buffer[8192];
      const ssize_t length = ready < 0 ? ready : ::read(pipe, buffer, sizeof buffer);
      if (length < 0 && errno == EINTR) continue;
      if (length <= 0) return Heard::kEnd;
      life->bytes.append(buffer, static_cast<size_t>(length));
      Understand(life);
      return Heard::kWords;
    }
  }

  void Understand(Life* life) {
    size_t at = 0;
    Message message;
    while (life->bytes.size() - at >= sizeof message) {
      std::memcpy(&message, life->bytes.data() + at, sizeof message);
      const size_t text_bytes = message.kind == Message::kFailed ? message.counts[0] : 0;
      if (life->bytes.size() - at < sizeof message + text_bytes) break;
      if (message.kind == Message::kFailed && life->failure.empty())
        life->failure = life->bytes.substr(at + sizeof message, text_bytes);
      Note(message, life);
      at += sizeof message + text_bytes;
    }
    life->bytes.erase(0, at);
  }

  void Note(const Message& message, Life* life) {
    switch (message.kind) {
      case Message::kOpened:
        life->opened = true;
        life->closing = false;
        for (size_t writer = 0; writer < kWriters; ++writer) {
          Track& track = tracks_[writer];
          if (message.counts[writer] > track.count && track.pending) {
            track.Add(CommitOf(seed_, *track.pending, writer, track.count, track.contents));
            ++report_.kept;
          }
          track.pending = life->process;
        }
        break;
      case Message::kAcknowledged: {
        life->acknowledged = true;
        Track& track = tracks_[message.writer];
        track.Add(CommitOf(seed_, life->process, message.writer, track.count, track.contents));
        ++report_.commits;
        break;
      }
      case Message::kClosing:
        life->closing = true;
        break;
      case Message::kFailed:
        break;
    }
  }

  // The files of the store as the process left them.
  std::string Files() const {
    std::string text;
    for (const std::string& directory : {path(), path() + kLogsSuffix}) {
      std::error_code ignored;
      for (const auto& file : std::filesystem::directory_iterator(directory, ignored))
        text += Concat("  ", file.path().string(), " ", file.file_size(ignored), " bytes\n");
    }
    return text;
  }

  const uint64_t seed_;
  Dice dice_;
  testing_support::ScratchDir scratch_;
  std::vector<Track> tracks_;
  microseconds opening_time_{5000};
  KillReport report_;
};

}  // namespace

KillReport KillOverAndOver(uint64_t seed, uint64_t kills) { return Killer(seed).Run(kills); }

}  // namespace reliability
