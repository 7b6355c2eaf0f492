// A file system that shows its paths as URIs, so that all messages name the pool.  It only reads.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_URI_FILE_SYSTEM_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_URI_FILE_SYSTEM_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/file_system.h"

namespace tools {

class UriFileSystem final : public lsm::FileSystem {
 public:
  // `begin` comes before each path: "rados://POOL/".  Takes no ownership.
  UriFileSystem(lsm::FileSystem* files, std::string begin);

  absl::StatusOr<std::unique_ptr<lsm::Directory>> OpenDirectory(const std::string& path,
                                                                bool create) override;
  absl::Status RemoveDirectory(const std::string& path) override;

 private:
  lsm::FileSystem& files_;
  const std::string begin_;
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_URI_FILE_SYSTEM_H_
