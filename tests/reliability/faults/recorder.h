// A file system that records every change made through it, in order.  A crash may undo these
// changes.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_RECORDER_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_RECORDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace reliability {

// One change that succeeded.
struct Event {
  enum Kind : uint8_t {
    kCreate,         // name, file
    kAppend,         // file, bytes
    kSyncFile,       // file
    kRename,         // name, to
    kLink,           // name; to: the path of the other one
    kRemove,         // name
    kSyncDirectory,  //
    kSyncName,       // name: becomes durable, but no other name does
  };
  Kind kind;
  std::string directory;  // its path; empty for kAppend and kSyncFile
  std::string name;
  std::string to;
  std::string bytes;
  uint32_t file = 0;  // numbers in the order of creation
};
const char* NameOf(Event::Kind kind);

using Journal = std::vector<Event>;

// Passes every call on to `inner`, which must outlive it, and records those that changed something.
// For one thread.
class Recorder final : public lsm::FileSystem {
 public:
  // Files that exist already get no numbers, so nothing may be appended to them.
  explicit Recorder(lsm::FileSystem* inner, uint32_t first_file = 0);
  ~Recorder() override;

  absl::StatusOr<std::unique_ptr<lsm::Directory>> OpenDirectory(const std::string& path,
                                                                bool create) override;
  absl::Status RemoveDirectory(const std::string& path) override;
  using FileSystem::ReadMany;
  void ReadMany(std::span<lsm::ReadRequest> requests,
                const std::function<void(size_t)>& done) override {
    inner_->ReadMany(requests, done);
  }

  const Journal& journal() const { return shared_->journal; }

  // Shared by the handles.
  struct Shared {
    Journal journal;
    uint32_t next_file = 0;
  };

 private:
  lsm::FileSystem* const inner_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_RECORDER_H_
