// A file system on which a call fails, in every way in which such a call can.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_FAULTY_FILES_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_FAULTY_FILES_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lsm/memory_file_system.h"

namespace reliability {

// How a call fails, and what it does nevertheless.
enum class FaultKind : uint8_t {
  kIo,           // EIO: nothing is done
  kIoButDone,    // EIO, though it was done
  kSpace,        // ENOSPC: some of an append is done
  kDescriptors,  // EMFILE
  kShort,        // a read that ends too early, as if the file did
  kSyncLies,     // EIO; what was to be synced stays in the cache, and later syncs of it say OK and
                 // do nothing
  kSyncDrops,    // EIO; what was to be synced is zeros from now on, and later syncs say OK; of a
                 // directory, names stay as they are, and later syncs keep none that was pending
};
inline constexpr FaultKind kFaultKinds[] = {
    FaultKind::kIo,    FaultKind::kIoButDone, FaultKind::kSpace,    FaultKind::kDescriptors,
    FaultKind::kShort, FaultKind::kSyncLies,  FaultKind::kSyncDrops};
const char* NameOf(FaultKind kind);

// Whether such a call can fail so.
bool CanFailSo(lsm::FileOperation operation, FaultKind kind);

// Passes calls on to `inner`, which outlives it, numbers them, and lets those of [from, to) fail
// that can fail in the given way.  For one thread.
class FaultyFiles final : public lsm::FileSystem {
 public:
  explicit FaultyFiles(lsm::MemoryFileSystem* inner);
  ~FaultyFiles() override;

  void FailCalls(FaultKind kind, uint64_t from, uint64_t to);
  // The next call of this kind fails too.
  void FailNext(lsm::FileOperation operation, FaultKind kind);
  void CancelNext();  // if it has not come
  // As a disk of so many bytes: an append that does not fit is done as far as it fits, and fails
  // with ENOSPC.  Names and replaced files (CURRENT) take nothing, and a file with several names
  // gives its room back with the first.
  void LimitRoom(uint64_t bytes);
  // No more fails, and there is room; but a sync that lies goes on lying.
  void Heal();

  uint64_t calls() const;
  // The kind of each call so far.
  const std::vector<lsm::FileOperation>& operations() const;
  uint64_t appended_bytes() const;                     // those that did not fit too
  uint64_t taken_bytes_max() const;                    // of room, at a time
  uint64_t taken_bytes(std::string_view below) const;  // now, by files whose paths begin so
  bool has_dropped() const;                            // bytes of a file
  uint64_t failed() const;
  uint64_t failed_writes() const;    // of them, to make, append to or sync a file
  std::string failed_first() const;  // "append /store/000004.log"

  absl::StatusOr<std::unique_ptr<lsm::Directory>> OpenDirectory(const std::string& path,
                                                                bool create) override;
  absl::Status RemoveDirectory(const std::string& path) override;

  struct Shared;

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_FAULTY_FILES_H_
