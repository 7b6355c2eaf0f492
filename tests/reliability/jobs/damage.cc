#include "tests/reliability/jobs/damage.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/keyspace_state.h"
#include "lsm/block/format.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_format.h"
#include "lsm/table/table.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/disk.h"
#include "tests/reliability/workload/specimen.h"
#include "tests/reliability/workload/under_way.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::FileKind;
using lsm::OpenMode;
using lsm::World;

constexpr const char* kPath = Specimen::kPath;
constexpr const char* kLogsPath = Specimen::kLogsPath;

std::string NameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }

FileKind KindOf(const std::string& path) { return lsm::ParseFileName(NameIn(path))->kind; }

// The ends that an opening may drop without an error: see lsm/design/log_tail.md.
enum class Tail : uint8_t {
  // Nothing.  The damage must be detected, even if no answer depends on it.
  kShown,
  // Nothing.
  kNone,
  // The end of a log that was not closed, if it looks like a write that a crash tore.  The recovery
  // report must name it.
  kTorn,
  // The same, but the log may end with a whole record, so that the report has nothing to name.
  kCut,
};

// The file that the error may name.  The error must be DataLoss in any case: an error that blames a
// newer format, a lock or a failing disk would mislead its reader.
enum class Naming : uint8_t {
  kDamaged,  // the damaged file, by its path, at the beginning of the message
  // The damaged file anywhere in the message; or, if that is a manifest, any file of the store.  A
  // file that was swapped, lost, cut or overwritten may be sound by itself but contradict others.
  // For example, a manifest without its last edits names files that are gone or have newer
  // successors; and the later of two logs does not begin where the earlier one ends.
  kLedAstray,
};

// Inspects a damaged store with every kind of read.
class Inspection {
 public:
  // `damaged`: the paths of the damaged files.  The report counts the outcomes.
  Inspection(const Specimen& specimen, const Image& image, const std::vector<std::string>& damaged,
             Tail tail, Naming naming, OpenMode mode, DamageReport* report)
      : specimen_(specimen),
        damaged_(damaged),
        tail_(tail),
        naming_(naming),
        mode_(mode),
        report_(*report),
        world_(3, image.ToFiles()) {}

  // Returns the finding, or an empty string.
  std::string Run() {
    lsm::Options options = specimen_.OptionsOn(world_);
    options.mode = mode_;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kPath, options);
    if (!db.ok()) return NotOpened(db.status());
    db_ = *std::move(db);
    LookUp();
    Walk();
    Verify();
    if (!problem_.empty()) return problem_;
    if (failed_) return Failed();
    return Answered();
  }

 private:
  using Entries = std::vector<std::pair<std::string, std::string>>;

  bool MayLoseTail() const { return tail_ == Tail::kTorn || tail_ == Tail::kCut; }

  void Problem(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  bool IsNamed(std::string_view text) const {
    return std::any_of(damaged_.begin(), damaged_.end(), [&](const std::string& path) {
      if (text.starts_with(Concat(path, ":"))) return true;
      if (naming_ == Naming::kDamaged) return false;
      return text.find(NameIn(path)) != text.npos ||
             (KindOf(path) == FileKind::kManifest &&
              (text.starts_with(Concat(kPath, "/")) || text.starts_with(Concat(kLogsPath, "/"))));
    });
  }

  // Returns what is wrong with an error, or an empty string.
  std::string ProblemOf(const absl::Status& error) const {
    if (!absl::IsDataLoss(error)) return Concat("not called damage: ", error.ToString());
    return IsNamed(lsm::MessageOf(error)) ? "" : Concat("unnamed: ", error.ToString());
  }

  std::string NotOpened(const absl::Status& status) {
    ++report_.not_opened;
    return ProblemOf(status);
  }

  void Note(const absl::Status& status) {
    if (status.ok()) return;
    failed_ = true;
    Problem(ProblemOf(status));
  }

  void LookUp() {
    const Contents& all = specimen_.contents();
    for (const std::string& key : specimen_.KeysToLookUp()) {
      const absl::StatusOr<std::optional<std::string>> value = reliability::LookUp(*db_, key);
      Note(value.status());
      if (!value.ok()) continue;
      if (*value) found_.emplace(key, **value);
      if (MayLoseTail()) continue;
      const auto place = all.find(key);
      if (*value != (place == all.end() ? std::nullopt : std::optional(place->second)))
        Problem(Concat("silently ", *value ? "wrong: " : "missing: ", key));
    }
  }

  void Walk() {
    const absl::StatusOr<std::vector<std::string>> names = db_->ListKeyspaces();
    if (!names.ok()) return Problem(Concat("no list of keyspaces: ", names.status().ToString()));
    for (const std::string& name : *names) WalkOver(name);
  }

  void WalkOver(const std::string& name) {
    const absl::StatusOr<lsm::Keyspace> keyspace = db_->OpenKeyspace(name);
    if (!keyspace.ok()) return Problem(Concat(name, ": ", keyspace.status().ToString()));
    Entries forward, backward;
    const std::unique_ptr<lsm::Iterator> iterator = keyspace->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
      forward.emplace_back(iterator->key(), iterator->value());
    const absl::Status forward_status = iterator->status();
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev())
      backward.emplace_back(iterator->key(), iterator->value());
    const Contents all = KeysOf(specimen_.contents(), name);
    if (!MayLoseTail() && (!IsBeginOf(forward, all.begin(), all.end(), forward_status.ok()) ||
                           !IsBeginOf(backward, all.rbegin(), all.rend(), iterator->status().ok())))
      Problem("an iterator shows wrong entries, and its status is OK");
    Note(forward_status);
    Note(iterator->status());
    is_same_backward_ = is_same_backward_ && std::equal(forward.begin(), forward.end(),
                                                        backward.rbegin(), backward.rend());
    if (name != lsm::kDefaultKeyspaceName) walked_.emplace(EntryOf(name), kIsThere);
    for (const auto& [key, value] : forward) walked_.emplace(KeyIn(name, key), value);
  }

  // `whole`: the entries must also end where `place` does.
  template <typename Place>
  static bool IsBeginOf(const Entries& entries, Place place, const Place& end, bool whole) {
    for (const auto& [key, value] : entries) {
      if (place == end || place->first != key || place->second != value) return false;
      ++place;
    }
    return !whole || place == end;
  }

  // Once the store has opened, only tables may still be damaged.  No reported problem may name a
  // sound file.
  void Verify() {
    if (tail_ != Tail::kShown ||
        std::none_of(damaged_.begin(), damaged_.end(),
                     [](const std::string& path) { return KindOf(path) == FileKind::kTable; }))
      return;
    const absl::StatusOr<lsm::VerifyReport> report = db_->Verify();
    if (!report.ok()) return Problem(Concat("DB::Verify fails: ", report.status().ToString()));
    if (report->problems.empty()) Problem("DB::Verify does not tell of it");
    for (const std::string& line : report->problems) {
      if (!IsNamed(line)) Problem(Concat("DB::Verify tells of another file: ", line));
      tells_of_header_ = tells_of_header_ || line.find(": offset 0:") != line.npos;
    }
    tells_of_table_ = !report->problems.empty();
    ++report_.verified;
  }

  // All keyspaces.
  bool CanCompact() {
    const absl::StatusOr<std::vector<std::string>> names = db_->ListKeyspaces();
    return names.ok() && std::all_of(names->begin(), names->end(), [&](const std::string& name) {
             return Carry({Step::kCompact, {}, false, name}, *db_).ok();
           });
  }

  // Some reads returned errors.  A compaction must not drop data that it cannot read.
  std::string Failed() {
    ++report_.not_read;
    if (mode_ == OpenMode::kReadOnly || report_.cases() % 3 != 0 || !CanCompact()) return "";
    const absl::StatusOr<size_t> count = CountCommits(*db_, specimen_.history());
    return count.ok() && *count == specimen_.history().size() ? "" : "a compaction lost something";
  }

  // All reads returned answers.
  std::string Answered() {
    if (!is_same_backward_) return "an iterator shows different entries forward and backward";
    Contents walked = walked_;
    const bool shows_all = walked == specimen_.contents();
    const std::optional<size_t> count = specimen_.history().CountOf(DigestOf(walked));
    walked.erase("last");  // not looked up
    if (walked != found_) return "an iterator and Get disagree";
    if (shows_all) {
      const bool is_filter = db_->GetStatistics().total.filters_damaged > 0;
      report_.filters += is_filter;
      // No answer depends on a table's header if the manifest has the table's id, nor on a block of
      // dead entries.  DB::Verify has told of it.
      return is_filter || tells_of_header_ || (specimen_.has_dead_blocks() && tells_of_table_) ||
                     tail_ != Tail::kShown
                 ? ""
                 : "all answers are right, but the damage is not reported";
    }
    if (!count) return "the contents are not those after any number of commits";
    // The manifest knows that the log holds synced writes, so at least its first record must be
    // there.
    if (*count <= specimen_.in_tables()) return "all writes of the log are gone without an error";
    if (tail_ == Tail::kTorn && db_->GetStatistics().recovery.dropped.empty())
      return "the recovery report does not name the end that was dropped";
    ++report_.torn;
    return "";
  }

  const Specimen& specimen_;
  const std::vector<std::string>& damaged_;
  const Tail tail_;
  const Naming naming_;
  const OpenMode mode_;
  DamageReport& report_;
  World world_;
  std::unique_ptr<DB> db_;
  bool failed_ = false;           // a read failed
  bool tells_of_table_ = false;   // DB::Verify named a table
  bool tells_of_header_ = false;  // DB::Verify named a table's header
  std::string problem_;
  Contents found_;   // by lookups
  Contents walked_;  // by iterators, forward
  bool is_same_backward_ = true;
};

class Damager {
 public:
  // Files of `stranger`, a store of the same form, replace those of the specimen.  `check` is
  // called instead of an inspection; may be null.
  Damager(const Specimen& specimen, const Specimen& stranger, const DamageCheck& check)
      : specimen_(specimen), stranger_(stranger), check_(check), image_(specimen.image()) {}

  DamageReport Run(uint64_t first_bit, uint64_t stride) {
    LoseFiles();
    SwapFiles();
    for (size_t i = 0; i < image_.files.size(); ++i) PutStranger(i);
    for (size_t i = 0; i < image_.files.size(); ++i) Extend(i);
    SwapBlocks();
    for (size_t i = 0; i < image_.files.size(); ++i) OverwriteSectors(i);
    for (size_t i = 0; i < image_.files.size(); ++i) SwapSectors(i);
    for (size_t i = 0; i < image_.files.size(); ++i) StraySectors(i);
    for (size_t i = 0; i < image_.files.size(); ++i) MisdirectSectors(i);
    for (size_t i = 0; i < image_.files.size(); ++i)
      Cut(i, first_bit / 8, std::max<uint64_t>(stride / 8, 1));
    for (size_t i = 0; i < image_.files.size(); ++i) FlipBits(i, first_bit, stride);
    return report_;
  }

  DamageReport RunPairs(uint64_t seed, uint64_t pairs) {
    lsm::Dice dice(seed);
    while (report_.flips < pairs && !Stopped()) {
      const uint64_t bit = dice.Roll(8 * image_.bytes());
      const auto [file, byte] = image_.PlaceOf(bit / 8);
      const uint64_t first = 8 * byte + bit % 8;
      FlipPair(file, first, first + 1 + dice.Roll(dice.OneIn(2) ? 64 : 4096));
    }
    return report_;
  }

 private:
  FileKind KindOf(size_t i) const { return reliability::KindOf(image_.files[i].first); }
  // The file holds state of the store; the lock is empty.
  bool IsOfInterest(size_t i) const { return !image_.files[i].second.empty(); }
  bool Stopped() const { return !report_.finding.empty(); }

  // `files`: the damaged files.
  void Check(const std::string& what, std::initializer_list<size_t> files, Tail tail, Naming naming,
             uint64_t* count) {
    if (Stopped()) return;
    SayUnderWay(what);
    ++*count;
    if (check_ != nullptr) return RunCheck(what);
    const OpenMode mode = report_.cases() % 5 == 0 ? OpenMode::kReadOnly : OpenMode::kOpenOrCreate;
    std::vector<std::string> paths;
    for (const size_t i : files) paths.push_back(image_.files[i].first);
    const std::string problem =
        Inspection(specimen_, image_, paths, tail, naming, mode, &report_).Run();
    if (!problem.empty()) report_.finding = Concat(what, ": ", problem);
  }

  void RunCheck(const std::string& what) {
    const std::string problem = check_(specimen_, image_);
    if (!problem.empty()) report_.finding = Concat(what, ": ", problem);
  }

  void FlipBits(size_t i, uint64_t first, uint64_t stride) {
    std::string& bytes = image_.files[i].second;
    for (size_t bit = first; bit < bytes.size() * 8 && !Stopped(); bit += stride) {
      const auto mask = static_cast<char>(1 << bit % 8);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
      Check(Concat(image_.files[i].first, ": bit ", bit % 8, " of byte ", bit / 8, " of ",
                   bytes.size(), " flipped"),
            {i}, Tail::kShown, Naming::kDamaged, &report_.flips);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
    }
  }

  // Does nothing if the second bit lies after the end.
  void FlipPair(size_t i, size_t first, size_t second) {
    std::string& bytes = image_.files[i].second;
    if (second >= 8 * bytes.size()) return;
    const auto flip = [&bytes](size_t bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    };
    flip(first);
    flip(second);
    // The last edit of a manifest may be taken for a torn write, because no other file shows that
    // it existed.  So may the last record of a log, unless the manifest has the log's closed size.
    const bool shows =
        KindOf(i) != FileKind::kManifest && (KindOf(i) != FileKind::kLog || specimen_.closed());
    Check(Concat(image_.files[i].first, ": bits ", first, " and ", second, " of ", 8 * bytes.size(),
                 " flipped"),
          {i}, shows ? Tail::kShown : TailOf(i, second / 8 + 1),
          KindOf(i) == FileKind::kManifest ? Naming::kLedAstray : Naming::kDamaged, &report_.flips);
    flip(first);
    flip(second);
  }

  // Nothing shows where an unclosed log ended.  Only the files that a manifest's last edits lead to
  // show that these edits existed.
  Tail TailOf(size_t i) const {
    return !specimen_.closed() && KindOf(i) == FileKind::kLog ? Tail::kTorn : Tail::kNone;
  }

  // The same for damage that ends at `to`.  Bytes before the last record are not part of the tail.
  Tail TailOf(size_t i, size_t to) const {
    const size_t last = image_.files[i].second.rfind(lsm::kRecordMark);
    return last == std::string::npos || to <= last ? Tail::kNone : TailOf(i);
  }

  void Extend(size_t i) {
    const std::string bytes = image_.files[i].second;
    for (const std::string& more :
         {std::string(1, '\0'), std::string(1, 'x'), std::string(kSectorBytes, '\0'), bytes}) {
      if (bytes.empty() || Stopped()) return;
      image_.files[i].second = bytes + more;
      const bool has_end = specimen_.closed() || KindOf(i) == FileKind::kTable;
      Check(Concat(image_.files[i].first, ": ", more.size(), " bytes more"), {i},
            has_end ? Tail::kShown : TailOf(i), Naming::kDamaged, &report_.cuts);
      image_.files[i].second = bytes;
    }
  }

  struct BlockPlace {
    size_t file;
    lsm::BlockHandle handle;
  };

  // The places of all data blocks and index partitions.
  std::vector<BlockPlace> Blocks() const {
    std::vector<BlockPlace> places;
    const std::unique_ptr<lsm::MemoryFileSystem> files = image_.ToFiles();
    const auto directory = files->OpenDirectory(kPath, /*create=*/false).value();
    for (size_t i = 0; i < image_.files.size(); ++i) {
      if (KindOf(i) != FileKind::kTable) continue;
      const std::string& path = image_.files[i].first;
      const auto table =
          lsm::Table::Open(
              directory->OpenRead(path.substr(path.rfind('/') + 1), lsm::ReadMode::kBuffered)
                  .value(),
              {})
              .value();
      for (size_t b = 0; b < table->block_count(); ++b)
        places.push_back({i, table->block_handle(b)});
      for (size_t p = 0; table->is_partitioned() && p < table->partitions().count(); ++p) {
        for (const auto kind : {lsm::PartitionKind::kFilter, lsm::PartitionKind::kIndex})
          places.push_back({i, table->partitions().handle(kind, p)});
      }
    }
    return places;
  }

  // Swaps sound blocks within a table and between two tables.  The keys of data blocks and index
  // partitions show that they are in the wrong place.  For filters only a checksum does.
  void SwapBlocks() {
    const std::vector<BlockPlace> places = Blocks();
    const Image whole = image_;
    for (size_t a = 0; a < places.size() && !Stopped(); ++a) {
      for (size_t b = a + 1; b < places.size(); ++b) {
        if (places[a].handle.stored_bytes != places[b].handle.stored_bytes) continue;
        const size_t bytes = places[a].handle.stored_bytes + lsm::kBlockTrailerBytes;
        std::string& of_a = image_.files[places[a].file].second;
        std::string& of_b = image_.files[places[b].file].second;
        std::swap_ranges(of_a.begin() + static_cast<int64_t>(places[a].handle.offset),
                         of_a.begin() + static_cast<int64_t>(places[a].handle.offset + bytes),
                         of_b.begin() + static_cast<int64_t>(places[b].handle.offset));
        Check(Concat(image_.files[places[a].file].first, " and ",
                     image_.files[places[b].file].first, ": blocks at ", places[a].handle.offset,
                     " and ", places[b].handle.offset, " swapped"),
              {places[a].file, places[b].file}, Tail::kNone, Naming::kLedAstray, &report_.sectors);
        image_ = whole;
      }
    }
  }

  void Cut(size_t i, size_t first, size_t step) {
    const std::string bytes = image_.files[i].second;
    for (size_t length = first % step; length < bytes.size() && !Stopped(); length += step) {
      image_.files[i].second = bytes.substr(0, length);
      Check(Concat(image_.files[i].first, ": cut after ", length, " of ", bytes.size(), " bytes"),
            {i}, TailOf(i) == Tail::kTorn ? Tail::kCut : TailOf(i), Naming::kLedAstray,
            &report_.cuts);
    }
    image_.files[i].second = bytes;
  }

  void OverwriteSectors(size_t i) {
    const std::string bytes = image_.files[i].second;
    testing_support::SeededRandom random(7);
    for (size_t from = 0; from < bytes.size() && !Stopped(); from += kSectorBytes) {
      const size_t count = std::min<size_t>(kSectorBytes, bytes.size() - from);
      std::string garbage(count, '\0');
      for (char& byte : garbage) byte = static_cast<char>(random.Next());
      for (const std::string& sector :
           {std::string(count, '\0'), std::string(count, '\xff'), garbage}) {
        if (bytes.substr(from, count) == sector) continue;
        image_.files[i].second.replace(from, count, sector);
        Check(Concat(image_.files[i].first, ": sector at ", from, " of ", bytes.size(),
                     " overwritten"),
              {i}, TailOf(i, from + count), Naming::kLedAstray, &report_.sectors);
        image_.files[i].second = bytes;
      }
    }
  }

  void SwapSectors(size_t i) {
    const std::string bytes = image_.files[i].second;
    const size_t sectors = (bytes.size() + kSectorBytes - 1) / kSectorBytes;
    for (size_t a = 0; a < sectors && !Stopped(); ++a) {
      for (size_t b = a + 1; b < sectors; ++b) {
        std::string& swapped = image_.files[i].second;
        swapped.resize(sectors * kSectorBytes);  // as they are on the disk
        std::swap_ranges(swapped.begin() + static_cast<int64_t>(a * kSectorBytes),
                         swapped.begin() + static_cast<int64_t>((a + 1) * kSectorBytes),
                         swapped.begin() + static_cast<int64_t>(b * kSectorBytes));
        swapped.resize(bytes.size());
        if (swapped != bytes) {
          Check(Concat(image_.files[i].first, ": sectors ", a, " and ", b, " swapped"), {i},
                Tail::kNone, Naming::kLedAstray, &report_.sectors);
        }
        swapped = bytes;
      }
    }
  }

  // A copy of a sector in the place of another one: whole, or as far as the file reaches.
  void StraySectors(size_t i) {
    const std::string bytes = image_.files[i].second;
    const size_t sectors = (bytes.size() + kSectorBytes - 1) / kSectorBytes;
    for (size_t a = 0; a < sectors && !Stopped(); ++a) {
      for (size_t b = 0; b < sectors; ++b) {
        std::string stray = bytes.substr(a * kSectorBytes, kSectorBytes);
        stray.resize(kSectorBytes);  // as it is on the disk
        stray.resize(std::min<size_t>(kSectorBytes, bytes.size() - b * kSectorBytes));
        if (bytes.substr(b * kSectorBytes, kSectorBytes) == stray) continue;
        image_.files[i].second.replace(b * kSectorBytes, stray.size(), stray);
        Check(Concat(image_.files[i].first, ": sector ", a, " in the place of sector ", b, " of ",
                     bytes.size(), " bytes"),
              {i}, Tail::kNone, Naming::kLedAstray, &report_.sectors);
        image_.files[i].second = bytes;
      }
    }
  }

  // A sector of a log that was written in the place of another one, and so is missing in its own
  // place.
  void MisdirectSectors(size_t i) {
    if (KindOf(i) != FileKind::kLog && KindOf(i) != FileKind::kManifest) return;
    const std::string bytes = image_.files[i].second;
    const size_t sectors = (bytes.size() + kSectorBytes - 1) / kSectorBytes;
    for (size_t a = 1; a < sectors && !Stopped(); ++a) {
      for (size_t b = 1; b < sectors; ++b) {
        if (a == b) continue;
        std::string& damaged = image_.files[i].second;
        damaged.resize(sectors * kSectorBytes);  // as they are on the disk
        damaged.replace(b * kSectorBytes, kSectorBytes, damaged, a * kSectorBytes, kSectorBytes);
        damaged.replace(a * kSectorBytes, kSectorBytes, kSectorBytes, '\0');
        damaged.resize(bytes.size());
        Check(Concat(image_.files[i].first, ": sector ", a, " written in the place of sector ", b),
              {i}, Tail::kNone, Naming::kLedAstray, &report_.sectors);
        damaged = bytes;
      }
    }
  }

  void SwapFiles() {
    for (size_t a = 0; a < image_.files.size() && !Stopped(); ++a) {
      for (size_t b = a + 1; b < image_.files.size(); ++b) {
        if (!IsOfInterest(a) || !IsOfInterest(b)) continue;
        std::swap(image_.files[a].second, image_.files[b].second);
        Check(Concat(image_.files[a].first, " and ", image_.files[b].first, " swapped"), {a, b},
              Tail::kNone, Naming::kLedAstray, &report_.files);
        std::swap(image_.files[a].second, image_.files[b].second);
      }
    }
  }

  void PutStranger(size_t i) {
    const auto& strangers = stranger_.image().files;
    const auto same_name = std::find_if(strangers.begin(), strangers.end(), [&](const auto& file) {
      return file.first == image_.files[i].first;
    });
    if (same_name == strangers.end() || !IsOfInterest(i)) return;
    const std::string bytes = std::exchange(image_.files[i].second, same_name->second);
    Check(Concat(image_.files[i].first, ": another store's"), {i}, Tail::kNone, Naming::kLedAstray,
          &report_.files);
    image_.files[i].second = bytes;
  }

  void LoseFiles() {
    for (size_t i = 0; i < image_.files.size() && !Stopped(); ++i) {
      if (!IsOfInterest(i)) continue;
      const Image whole = image_;
      // Tries an empty file of this name, which an error can name, and no file at all.
      image_.files[i].second.clear();
      Check(Concat(image_.files[i].first, ": emptied"), {i}, Tail::kNone, Naming::kLedAstray,
            &report_.files);
      image_ = whole;
      const std::string path = image_.files[i].first;
      image_.files[i].first += ".away";
      CheckLost(path);
      image_ = whole;
    }
  }

  void CheckLost(const std::string& path) {
    ++report_.files;
    if (check_ != nullptr) return RunCheck(Concat(path, ": missing"));
    World world(3, image_.ToFiles());
    const absl::Status status = DB::Open(kPath, specimen_.OptionsOn(world)).status();
    if (absl::IsDataLoss(status) && lsm::MessageOf(status).find(path) != std::string::npos) {
      ++report_.not_opened;
    } else if (report_.finding.empty()) {
      report_.finding = Concat(path, ": missing: ", status.ToString());
    }
  }

  const Specimen& specimen_;
  const Specimen& stranger_;
  const DamageCheck& check_;
  Image image_;  // as it is, or with one thing changed
  DamageReport report_;
};

template <typename How>
DamageReport Damage(uint64_t seed, const DamageCheck& check, const How& how) {
  Specimen specimen(seed);
  Specimen stranger(seed + 24);  // of the same form
  DamageReport report;
  for (Specimen* each : {&specimen, &stranger}) {
    if (const std::string problem = each->Make(); !problem.empty()) {
      report.finding = Concat("seed ", seed, ", no damage yet: ", problem);
      return report;
    }
  }
  Damager damager(specimen, stranger, check);
  report = how(damager);
  if (!report.finding.empty()) report.finding = Concat("seed ", seed, ", ", report.finding);
  return report;
}

}  // namespace

DamageReport DamageEverything(uint64_t seed, uint64_t stride, const DamageCheck& check) {
  return Damage(seed, check, [&](Damager& damager) { return damager.Run(seed % stride, stride); });
}

DamageReport FlipPairs(uint64_t seed, uint64_t pairs) {
  return Damage(seed, nullptr,
                [seed, pairs](Damager& damager) { return damager.RunPairs(seed, pairs); });
}

}  // namespace reliability
