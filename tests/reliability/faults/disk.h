// The disk of a machine that may crash at any moment.  Knows which data is durable, and makes every
// image that a crash may leave.
//
// The model:
// - A file is a durable prefix, followed by bytes that were not synced.  After a crash, each
//   512-byte sector of those bytes is kept, zero, or garbage.  The file may end anywhere after the
//   durable prefix.
// - A directory is a durable set of names and the changes since its last sync (created, renamed,
//   removed).  A crash may lose any subset of these changes.
// - The sector that holds the end of the durable prefix keeps its durable part.  Its other bytes
//   are kept or zero, because disks write sectors whole.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_DISK_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_DISK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/memory_file_system.h"
#include "tests/reliability/faults/recorder.h"

namespace reliability {

inline constexpr uint64_t kSectorBytes = 512;

enum class SectorFate : uint8_t { kKept, kZero, kGarbage };

// The losses of a crash.  The lists are parallel to those of the Pending that the Loss was made
// for.
struct Loss {
  struct Tail {
    uint64_t size_bytes = 0;  // where the file ends, at or after the end of its durable prefix
    std::vector<SectorFate> fates;  // of each sector that is not wholly durable
  };
  std::vector<bool> changes_kept;
  std::vector<Tail> tails;
};

// Changes on the disk that are not durable, in order.
struct Pending {
  struct Change {  // of a name
    uint64_t event = 0;
    uint32_t folder = 0;
    Event::Kind kind = Event::kCreate;  // or kRename, kRemove
    std::string name;
    std::string to;
    uint32_t file = 0;
  };
  struct Tail {
    uint32_t file = 0;
    uint64_t durable_bytes = 0;
    uint64_t size_bytes = 0;
    std::vector<std::pair<uint64_t, uint64_t>> sizes;  // event, and the size after it

    uint64_t first_sector() const { return durable_bytes / kSectorBytes; }
    uint64_t sectors() const {
      return (size_bytes + kSectorBytes - 1) / kSectorBytes - first_sector();
    }
  };
  std::vector<Change> changes;
  std::vector<Tail> tails;
};

// Files by their paths.
struct Image {
  std::vector<std::string> directories;
  std::vector<std::pair<std::string, std::string>> files;  // ascending

  // The image of those of these directories that exist.
  static Image Of(lsm::MemoryFileSystem& files, const std::vector<std::string>& directories);

  uint64_t Digest() const;
  std::unique_ptr<lsm::MemoryFileSystem> ToFiles() const;

  uint64_t bytes() const;
  // The file of this byte, and its offset there.  `byte` counts the bytes of all files in order.
  std::pair<size_t, uint64_t> PlaceOf(uint64_t byte) const;
};

class Disk {
 public:
  Disk() = default;
  // The whole image is durable.
  explicit Disk(const Image& image);

  void Apply(const Event& event);

  // The number of files that ever existed.
  uint32_t file_count() const { return static_cast<uint32_t>(files_.size()); }

  Pending pending() const;
  Image After(const Pending& pending, const Loss& loss) const;
  // The contents that the running machine sees.
  Image Now() const;

 private:
  struct File {
    std::string bytes;
    uint64_t durable_bytes = 0;
    std::vector<std::pair<uint64_t, uint64_t>> sizes;  // since the last sync: event, size after it
  };
  using Names = std::map<std::string, uint32_t>;
  struct Folder {
    std::string path;
    Names durable;
    Names now;
    std::vector<Pending::Change> changes;
  };

  Folder& FolderOf(const std::string& path);
  static void Change(Names* names, const Pending::Change& change);

  uint64_t events_ = 0;
  std::vector<File> files_;
  std::vector<Folder> folders_;
};

// Limits the number of losses of each kind that are tried.  An atom is a change of a name, or a
// sector.
struct LossLimits {
  // With up to this many atoms, every subset of them is lost.
  size_t atoms_for_all_subsets = 12;
  // With more atoms, each atom is lost alone, and all atoms but each one.  With up to this many
  // atoms, each pair is lost, too.
  size_t atoms_for_pairs = 64;
  // With more than `atoms_for_all_subsets`, this many random subsets are lost, too.
  size_t samples = 4096;
  // The last append is cut at up to this many places.
  size_t cuts = 512;
  // Only one in this many subsets, samples and cuts is tried, chosen at random.
  uint64_t one_in = 1;
};

// Calls `visit` for these losses, until it returns false:
//
//   - nothing; everything; everything after each prefix of what happened
//   - every subset of the atoms, or the subsets that `limits` allows
//   - every cut of the last append, with every subset of the changes of names
//
// A lost part of a file is missing at its end, zeros, or garbage.
void ForEachLoss(const Pending& pending, const LossLimits& limits, uint64_t seed,
                 const std::function<bool(const Loss&)>& visit);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_DISK_H_
