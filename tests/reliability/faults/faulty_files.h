// A file system on which chosen calls fail, in every way in which such a call can fail.
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

// How a call fails, and what it still does.
enum class FaultKind : uint8_t {
  kIo,           // EIO: nothing is done
  kIoButDone,    // EIO, but the call was done
  kSpace,        // ENOSPC: part of an append is done
  kDescriptors,  // EMFILE
  kShort,        // a read ends too early, as if the file did
  // EIO.  The unsynced data stays in the cache; later syncs of it return OK and do nothing.
  kSyncLies,
  // EIO.  The unsynced bytes of a file become zeros.  The names of a directory stay, but those that
  // were pending never become durable.  Later syncs return OK.
  kSyncDrops,
};
inline constexpr FaultKind kFaultKinds[] = {
    FaultKind::kIo,    FaultKind::kIoButDone, FaultKind::kSpace,    FaultKind::kDescriptors,
    FaultKind::kShort, FaultKind::kSyncLies,  FaultKind::kSyncDrops};
const char* NameOf(FaultKind kind);

// True if this operation can fail in this way.
bool CanFailSo(lsm::FileOperation operation, FaultKind kind);

// Passes calls on to `inner`, which must outlive it, and numbers them.  The calls in [from, to)
// fail if they can fail in the given way.  For one thread.
class FaultyFiles final : public lsm::FileSystem {
 public:
  explicit FaultyFiles(lsm::MemoryFileSystem* inner);
  ~FaultyFiles() override;

  void FailCalls(FaultKind kind, uint64_t from, uint64_t to);
  // Also lets the next call of this operation fail.
  void FailNext(lsm::FileOperation operation, FaultKind kind);
  void CancelNext();  // undoes FailNext, if that call has not come yet
  // Behaves like a disk of this size.  An append that does not fit is done as far as it fits, and
  // returns ENOSPC.  Names and replaced files (CURRENT) take no space.  A file with several names
  // frees its space when the first name is removed.
  void LimitRoom(uint64_t bytes);
  // Ends all faults and LimitRoom, except that files whose sync lied keep lying.
  void Heal();

  uint64_t calls() const;
  // The kind of each call so far.
  const std::vector<lsm::FileOperation>& operations() const;
  uint64_t appended_bytes() const;                     // including bytes that did not fit
  uint64_t taken_bytes_max() const;                    // the most space in use at one time
  uint64_t taken_bytes(std::string_view below) const;  // in use now by files with this path prefix
  bool has_dropped() const;                            // a sync has dropped bytes of a file
  uint64_t failed() const;                             // the number of calls that failed
  uint64_t failed_writes() const;    // of these, calls that create, append to or sync a file
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
