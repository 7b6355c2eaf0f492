#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/status.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/object_file_system.h"
#include "lsm/rados.h"
#include "lsm/rados/rados_client.h"
#include "lsm/rados/rados_pool.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

class RadosFileSystem final : public FileSystem {
 public:
  RadosFileSystem(std::unique_ptr<RadosPool> pool, ObjectFileSystem::Config config)
      : pool_(std::move(pool)), files_(pool_.get(), &SystemRandom(), std::move(config)) {}

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) override {
    return files_.OpenDirectory(path, create);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return files_.RemoveDirectory(path);
  }
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done) override {
    files_.ReadMany(requests, done);
  }

 private:
  const std::unique_ptr<RadosPool> pool_;
  ObjectFileSystem files_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileSystem>> OpenRados(const RadosOptions& options) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<RadosPool> pool, RadosPool::Connect(options));
  ObjectFileSystem::Config config;
  config.lock_nanos = options.lock_millis * 1'000'000;
  config.holder = RadosProcess::Name();
  return std::make_unique<RadosFileSystem>(std::move(pool), std::move(config));
}

absl::StatusOr<GarbageReport> CollectRadosGarbage(const RadosOptions& options) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<RadosPool> pool, RadosPool::Connect(options));
  return CollectGarbage(*pool);
}

}  // namespace lsm
