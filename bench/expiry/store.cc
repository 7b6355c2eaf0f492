#include "bench/expiry/store.h"

#include <filesystem>
#include <system_error>

namespace bench::expiry {

Files FilesOf(const std::string& path) {
  Files files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; at != end; at.increment(error)) {
    const std::string kind = at->path().extension().string();
    const uint64_t bytes = at->file_size(error);
    if (error) continue;  // a job has just removed it
    if (kind == ".table" || kind == ".sst") files.table_bytes += bytes;
    if (kind == ".log") files.log_bytes += bytes;
  }
  return files;
}

}  // namespace bench::expiry
