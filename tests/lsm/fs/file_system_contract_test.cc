// The file systems that need nothing but this machine.
#include "tests/lsm/fs/file_system_contract.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/memory_file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class PosixBackend : public Backend {
 public:
  FileSystem& file_system() override { return PosixFileSystem(); }
  std::string root() const override { return scratch_.path(); }

 private:
  testing_support::ScratchDir scratch_;
};

class MemoryBackend : public Backend {
 public:
  MemoryBackend() { EXPECT_OK(file_system_.OpenDirectory(root(), /*create=*/true)); }
  FileSystem& file_system() override { return file_system_; }
  std::string root() const override { return "/memory"; }

 private:
  MemoryFileSystem file_system_;
};

class ObjectBackend : public Backend {
 public:
  explicit ObjectBackend(const PoolClientOptions& options)
      : client_(std::make_shared<MemoryObjects>(), "test", 1, options) {}
  FileSystem& file_system() override { return client_.files; }
  std::string root() const override { return "/objects"; }
  bool has_all_locks() const override { return false; }
  bool needs_sync() const override { return true; }
  bool allocates() const override { return false; }

 private:
  PoolClient client_;
};

std::unique_ptr<Backend> MakeObjects(uint64_t chunk_bytes, bool repeats_writes) {
  return std::make_unique<ObjectBackend>(
      PoolClientOptions{chunk_bytes, chunk_bytes, repeats_writes});
}

INSTANTIATE_TEST_SUITE_P(
    Backends, FileSystemContractTest,
    testing::Values(BackendFactory{"Posix", [] { return std::make_unique<PosixBackend>(); }},
                    BackendFactory{"Memory", [] { return std::make_unique<MemoryBackend>(); }},
                    BackendFactory{"Objects", [] { return MakeObjects(1 << 20, false); }},
                    BackendFactory{"RepeatedWritesToObjects",
                                   [] { return MakeObjects(1000, true); }}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace lsm
